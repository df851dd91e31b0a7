// SPDX-License-Identifier: Apache-2.0
// The planner: any problem on any device is refused with reasons or becomes a plan whose tiles
// cover each region exactly.
#include <fuzzer/FuzzedDataProvider.h>

#include <cstdlib>

#include "ops/registry.h"
#include "report/device_json.h"
#include "tandem/error.h"

namespace tandem {
namespace {

Problem draw(FuzzedDataProvider& data) {
  Problem problem;
  const auto word = [&]<typename E>(E& target) {
    target = data.PickValueInArray(kEnumNames<E>).first;
  };
  const auto extent = [&] { return data.ConsumeIntegralInRange<std::int64_t>(-1, 3000); };
  word(problem.op);
  problem.ranks = data.ConsumeIntegralInRange(-1, 66);
  problem.m = extent();
  problem.n = extent();
  problem.k = extent();
  problem.trans_a = data.ConsumeBool();
  problem.bias = data.ConsumeBool();
  problem.local_matmul = data.ConsumeIntegralInRange(-1, 3);
  if (data.ConsumeBool()) problem.tiles = data.ConsumeIntegralInRange(-1, 70);
  if (data.ConsumeBool()) problem.tile_rows = extent();
  problem.slots = data.ConsumeIntegralInRange(-1, 20);
  if (data.ConsumeBool()) problem.blocks = data.ConsumeIntegralInRange(-1, 70);
  word(problem.tail);
  word(problem.cores);
  word(problem.flags);
  word(problem.reduction);
  word(problem.product);
  word(problem.staging);
  word(problem.dtype_c);
  return problem;
}

// Rows × columns of all tiles of a region, by all cores of one rank.
std::int64_t covered(const Plan& plan, int region, int rank) {
  std::int64_t area = 0;
  for (int core = 0; core < plan.blocks; ++core) {
    for (const Tile& tile : plan.tiles(region, rank, core)) {
      area += tile.rows.count * tile.columns.count;
    }
  }
  return area;
}

void check(const Plan& plan) {
  if (plan.window_bytes < 0 || plan.staging_bytes < 0 || plan.blocks < 1) std::abort();
  for (int region = 0; region < static_cast<int>(plan.regions.size()); ++region) {
    const std::int64_t first = covered(plan, region, 0);
    if (first < 0 || (first == 0 && plan.problem.n > 0 && plan.regions[region].rows.count > 0 &&
                      plan.regions[region].ranks == RegionRanks::own)) {
      std::abort();
    }
  }
}

}  // namespace
}  // namespace tandem

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  FuzzedDataProvider data(bytes, size);
  static const tandem::Device devices[] = {tandem::load_device("host"),
                                           tandem::load_device("ascend950pr")};
  const tandem::Device& device = devices[data.ConsumeBool() ? 1 : 0];
  try {
    tandem::check(tandem::make_plan(tandem::draw(data), device));
  } catch (const tandem::Error& error) {
    if (error.kind() != tandem::ErrorKind::refused) std::abort();
  }
  return 0;
}
