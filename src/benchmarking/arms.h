// SPDX-License-Identifier: Apache-2.0
// The arms on one rank. They share operands, packed weights and windows, so that none of them has
// its data in a better place than another.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "benchmarking/baseline.h"
#include "benchmarking/setup.h"
#include "gemm/tile_product.h"
#include "host/host_rank.h"
#include "host/launch_site.h"
#include "tandem/world.h"

namespace tandem {

class BenchArms {
 public:
  // Collective. Throws Error{environment} where the windows find no memory. `near`: where the ranks
  // meet if they share memory; without it there is no baseline.
  BenchArms(World& world, const BenchSetup& setup, SpinBarrier* near);
  ~BenchArms();
  BenchArms(const BenchArms&) = delete;
  BenchArms& operator=(const BenchArms&) = delete;

  // Collective: one launch.
  void run(BenchArm arm);
  // C of the last launch that has one.
  const std::vector<std::uint8_t>& c() const { return c_; }
  // C, staging and this rank's window, which peers may not use now: an arm that relied on what an
  // earlier launch left there would show.
  void poison();
  bool has_baseline() const { return baseline_ != nullptr; }
  // Library and layout; empty without a baseline.
  std::string sgemm() const { return baseline_ ? baseline_->sgemm() : ""; }

 private:
  std::unique_ptr<host::LaunchSite> make_site(Launch launch);
  void make_sites();

  World& world_;
  const BenchSetup& setup_;
  MxRows a_;
  std::vector<float> bias_;
  std::unique_ptr<gemm::PackedWeights> weights_;
  std::vector<std::byte> staging_;
  std::vector<std::uint8_t> c_;
  host::Windows windows_;
  host::Bindings bindings_;
  std::unique_ptr<host::LaunchSite> fused_, products_, transfers_;
  std::unique_ptr<host::LaunchSite> serial_products_, serial_transfers_;
  std::unique_ptr<Baseline> baseline_;
};

}  // namespace tandem
