// SPDX-License-Identifier: Apache-2.0
#include "calibrating/costs.h"

#include <gtest/gtest.h>

#include "base/checked.h"

namespace tandem {
namespace {

// A machine that follows the model: costs are what its times were made from.
Measured exact_machine() {
  Measured measured;
  for (ProductPoint point : product_points()) {
    const auto rows = static_cast<double>(point.rows);
    const auto codes = static_cast<double>(point.columns * point.k);
    if (point.order == SumOrder::panel) {
      const auto steps =
          static_cast<double>(ceil_div(point.rows, 6) * ceil_div(point.columns, 16) * point.k);
      point.ns = 2 * steps + 150 + (point.streams ? codes * kPackedWeightBytes / 40 : 0);
    } else {
      point.ns = codes * (static_cast<double>(ceil_div(point.rows, 8)) / 10 + rows / 50);
    }
    measured.products.push_back(point);
  }
  measured.ns = {{"rows", 120},
                 {"rows cold", 300},
                 {"store cold", 144 * 512 / 4.0},
                 {"load ub", 40},
                 {"reduce 16", 30},
                 {"store ub bf16", 0.25},
                 {"reduce bf16", 0.2},
                 {"convert bf16", 0.1},
                 {"write small", 45},
                 {"write 65536", 65536 / 10.0},
                 {"write cold 65536", 65536 / 8.0},
                 {"write cold 65536 alone", 65536 / 9.0},
                 {"call", 2},
                 {"flag", 55},
                 {"epoch", 9000},
                 {"launch", 400},
                 {"launch and meet", 9900},
                 {"sync 1 blocks a worker, 1 workers", 30},
                 {"sync 1 blocks a worker, 4 workers", 20000}};
  return measured;
}

TEST(MeasuredDevice, HasTheCostsThatTheTimesWereMadeFrom) {
  const DeviceFile file = measured_device(exact_machine(), 4);
  const DeviceCosts& costs = file.device.costs;
  EXPECT_EQ(costs.steps_per_kcycle * costs.clock_mhz, 500 * 1000);
  EXPECT_EQ(costs.product_start_ns, 150);
  EXPECT_NEAR(static_cast<double>(costs.mte2_mb_s), 40000, 1);
  EXPECT_EQ(costs.lane_mb_s, 10000);
  EXPECT_EQ(costs.lane_products_us, 50000);
  EXPECT_EQ(costs.rows_start_ns, 120);
  EXPECT_EQ(costs.rows_cold_ns, 300);
  EXPECT_EQ(costs.fix_mb_s, 4000);
  EXPECT_EQ(costs.mte3_mb_s, 8000);
  EXPECT_EQ(costs.accumulate_elements_us, 5000);
  EXPECT_EQ(costs.convert_elements_us, 10000);
  EXPECT_EQ(costs.link_mb_s, 8000);
  EXPECT_EQ(costs.launch_ns, 900);
  EXPECT_EQ(costs.sync_all_ns, 20000);
  EXPECT_EQ(costs.processors, 4);
}

TEST(MeasuredDevice, SaysWhereEachCostComesFrom) {
  const DeviceFile file = measured_device(exact_machine(), 4);
  const DeviceFile again = parse_device_file(print_device_file(file), "measured");
  EXPECT_EQ(again.sources, file.sources);
  int measured = 0;
  for (const auto& [path, source] : file.sources) {
    EXPECT_FALSE(path.starts_with("costs.") && source.starts_with("guess")) << path;
    measured += source.starts_with("measured");
  }
  EXPECT_GE(measured, 22);
  EXPECT_NE(costs_text(file).find("epoch_ns"), std::string::npos);
}

TEST(MeasuredDevice, CopesWithTimesBelowTheNoise) {
  Measured measured = exact_machine();
  measured.ns["rows cold"] = -5;         // other work came in between
  measured.ns["launch and meet"] = 100;  // faster than the wait alone
  for (ProductPoint& point : measured.products) point.streams = point.order == SumOrder::lane;
  const DeviceFile file = measured_device(measured, 1);
  EXPECT_EQ(file.device.costs.rows_cold_ns, 0);
  EXPECT_EQ(file.device.costs.launch_ns, 400);
  EXPECT_EQ(file.device.costs.mte2_mb_s, 0);  // nothing streamed: no limit
}

}  // namespace
}  // namespace tandem
