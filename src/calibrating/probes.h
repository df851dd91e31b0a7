// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "calibrating/probe.h"
#include "tandem/calibrating.h"

namespace tandem {

// One product that was timed.
struct ProductPoint {
  SumOrder order = SumOrder::panel;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t k = 0;
  bool streams = false;  // B comes from beyond the caches
  double ns = 0;
};

std::vector<ProductPoint> product_points();
// What a product is called among the values: "product panel 144 256 1024 0".
std::string name_of(const ProductPoint& point);

// What the micro-kernels of a rank found, nanoseconds by name.
using Values = std::map<std::string, double>;

template <typename Action>
void time_each(Samples& samples, int times, const Action& action) {
  for (int i = 0; i < times; ++i) {
    const double begin = now_ns();
    action(i);
    samples.push_back(now_ns() - begin);
  }
}

// Collective, as are the kernels below; each adds its values. Rows come before what is cold.
void probe_products(ProbeRank& probe, Values& values);
void probe_rows(ProbeRank& probe, Values& values);
void probe_cold(ProbeRank& probe, Values& values);
void probe_stores(ProbeRank& probe, Values& values);
void probe_reduction(ProbeRank& probe, Values& values);
// Ranks that are not `active` keep still, and add nothing.
void probe_copies(ProbeRank& probe, const std::string& suffix, Values& values, bool active);
void probe_flags(ProbeRank& probe, Values& values);
void probe_epochs(ProbeRank& probe, Values& values);
void probe_syncs(ProbeRank& probe, int workers, Values& values);
void probe_launches(ProbeRank& probe, Values& values);

// The same of the machine.
struct Measured {
  std::vector<ProductPoint> products;
  Values ns;
};

// Runs all of them, with as many ranks as there are processors and with one. Takes seconds.
Measured run_probes(int processors, const CalibrateProgress& progress);

}  // namespace tandem
