// SPDX-License-Identifier: Apache-2.0
#include "benchmarking/muted_cores.h"

#include "machine/forwarding.h"

namespace tandem {
namespace {

class MutedCube final : public ForwardingCore<CubeCore> {
 public:
  using ForwardingCore::ForwardingCore;
  void load(int, std::span<const Fragment>, WeightTile, Site) override {}
  void matmul(int, int, Accumulate, Site) override {}
  void store(int, std::span<const View>, StoreMode, std::optional<View>, Site) override {}
  void cache_hint(CacheHint, Site) override {}
};

class MutedChannel final : public Channel {
 public:
  void write_nbi(View, View, Site) override {}
  void read_nbi(View, View, Site) override {}
  void write_notify_nbi(View, View, EpochSlot, std::uint64_t, Site) override {}
  void write_reduce_nbi(View, View, Site) override {}
  void write_value_nbi(View, std::uint32_t, Site) override {}
  std::uint64_t fetch_add(View, std::uint64_t, Site) override { return 0; }
  void drain(Site) override {}
};

class MutedVector final : public ForwardingCore<VectorCore> {
 public:
  using ForwardingCore::ForwardingCore;
  Channel& channel(int) override { return channel_; }
  void load(UbTensor, View, Site) override {}
  void accumulate(UbTensor, UbTensor, UbTensor, Accumulate, Site) override {}
  void convert(UbTensor, UbTensor, Site) override {}
  void store(View, UbTensor, Site) override {}
  void store_epoch(int, EpochSlot, std::uint64_t, Site) override {}
  void wait_epoch(EpochSlot, std::uint64_t, Site) override {}

 private:
  MutedChannel channel_;
};

}  // namespace

Launch products_of(Launch launch) {
  launch.vector = [vector = std::move(launch.vector)](VectorCore& core) {
    MutedVector muted(core);
    vector(muted);
  };
  return launch;
}

Launch transfers_of(Launch launch) {
  launch.cube = [cube = std::move(launch.cube)](CubeCore& core) {
    MutedCube muted(core);
    cube(muted);
  };
  return launch;
}

}  // namespace tandem
