// SPDX-License-Identifier: Apache-2.0
// From times of micro-kernels to the costs of a device: straight lines through the points, weighted
// so that relative errors count.
#include "calibrating/costs.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "base/strings.h"
#include "report/table.h"

namespace tandem {
namespace {

constexpr std::int64_t kPanelRows = 6;  // src/gemm/simd/kernels.h
constexpr std::int64_t kPanelColumns = 16;
constexpr std::int64_t kLaneRows = 8;

struct Line {
  double x = 0;  // ns per unit of the first variable
  double y = 0;
};

// ns ≈ x · a + y · b, squares of relative errors least.
class Fit {
 public:
  void add(double a, double b, double ns) {
    aa_ += a * a / (ns * ns);
    ab_ += a * b / (ns * ns);
    bb_ += b * b / (ns * ns);
    a_ += a / ns;
    b_ += b / ns;
  }
  Line solve() const {
    const double determinant = aa_ * bb_ - ab_ * ab_;
    if (determinant <= 0) return {a_ / aa_, 0};
    return {(a_ * bb_ - b_ * ab_) / determinant, (b_ * aa_ - a_ * ab_) / determinant};
  }

 private:
  double aa_ = 0, ab_ = 0, bb_ = 0, a_ = 0, b_ = 0;
};

std::int64_t whole(double value) {
  return std::max<std::int64_t>(0, static_cast<std::int64_t>(std::llround(value)));
}

// Amounts a microsecond; one at least, because 0 is no limit.
std::int64_t per_us(double ns_each) {
  return ns_each > 0 ? std::max<std::int64_t>(1, whole(1000 / ns_each)) : 0;
}

class Costs {
 public:
  Costs(const Measured& measured, DeviceFile& file) : measured_(measured), file_(file) {}

  void all(int processors) {
    products();
    rows();
    lanes();
    moves();
    waits();
    set(&DeviceCosts::processors, "processors", processors, "processors that this process may use");
  }

 private:
  double ns(const std::string& name) const { return measured_.ns.at(name); }

  void set(std::int64_t DeviceCosts::*cost, const std::string& name, std::int64_t value,
           const std::string& how) {
    file_.device.costs.*cost = value;
    file_.sources["costs." + name] = "measured: " + how;
  }

  static double steps(const ProductPoint& point) {
    return static_cast<double>(ceil_div(point.rows, kPanelRows) *
                               ceil_div(point.columns, kPanelColumns) * point.k);
  }

  void products() {
    Fit warm;
    for (const ProductPoint& point : measured_.products) {
      if (point.order == SumOrder::panel && !point.streams) warm.add(steps(point), 1, point.ns);
    }
    const Line line = warm.solve();
    // What streaming adds, for tiles of B that no core's own cache holds.
    double extra = 0;
    double bytes = 0;
    for (const ProductPoint& point : measured_.products) {
      if (point.order != SumOrder::panel || !point.streams || point.k < 1024) continue;
      extra += std::max(0.0, point.ns - line.x * steps(point) - line.y);
      bytes += static_cast<double>(point.columns * point.k * kPackedWeightBytes);
    }
    DeviceCosts& costs = file_.device.costs;
    costs.clock_mhz = 1000;
    costs.cube_m = kPanelRows;
    costs.cube_n = kPanelColumns;
    costs.cube_k = 1;
    for (const char* name : {"cube_m", "cube_n", "cube_k"}) {
      file_.sources[cat("costs.", name)] = "src/gemm/simd/kernels.h: a panel step";
    }
    const std::string points = "warm tiles of 6 to 144 rows, 64 and 256 columns, k 256 to 2048";
    set(&DeviceCosts::steps_per_kcycle, "steps_per_kcycle", per_us(line.x), "slope over " + points);
    set(&DeviceCosts::product_start_ns, "product_start_ns", whole(line.y), "rest over " + points);
    set(&DeviceCosts::mte2_mb_s, "mte2_mb_s", bytes > 0 ? per_us(extra / bytes) : 0,
        "what products of 256 columns take longer over 2048 columns in turn, by bytes of B");
    set(&DeviceCosts::l2_bytes, "l2_bytes",
        std::max<std::int64_t>(sysconf(_SC_LEVEL2_CACHE_SIZE), 1 << 20),
        "second-level cache, as the system tells; at least 1 MiB");
  }

  void rows() {
    set(&DeviceCosts::rows_start_ns, "rows_start_ns", whole(ns("rows")),
        "products of 16 columns with rows that change and rows that stay");
    set(&DeviceCosts::rows_cold_ns, "rows_cold_ns", whole(ns("rows cold")),
        "the same after 48 MiB of other memory was read");
  }

  void lanes() {
    Fit fit;
    for (const ProductPoint& point : measured_.products) {
      if (point.order != SumOrder::lane) continue;
      const auto codes = static_cast<double>(point.columns * point.k);
      fit.add(codes * static_cast<double>(ceil_div(point.rows, kLaneRows)),
              codes * static_cast<double>(point.rows), point.ns);
    }
    const Line line = fit.solve();
    const std::string points = "tiles of 1, 4 and 8 rows";
    set(&DeviceCosts::lane_mb_s, "lane_mb_s", per_us(line.x),
        "share of each eight rows, " + points);
    set(&DeviceCosts::lane_products_us, "lane_products_us", per_us(line.y),
        "share of each row, " + points);
  }

  void moves() {
    // C is written once in a launch, so its lines come from memory.
    set(&DeviceCosts::fix_mb_s, "fix_mb_s", per_us(ns("store cold") / (144 * 512)),
        "BF16 tiles of 144 x 256 after 48 MiB of other memory was read");
    set(&DeviceCosts::move_start_ns, "move_start_ns", whole(ns("load ub")),
        "naming rows for a reduction");
    set(&DeviceCosts::mte3_mb_s, "mte3_mb_s", per_us(ns("store ub bf16") / 2),
        "stores of 8 reduced rows of 1024 BF16 elements, but for their sources");
    set(&DeviceCosts::vector_start_ns, "vector_start_ns", whole(ns("reduce 16")),
        "accumulation of 16 elements");
    set(&DeviceCosts::accumulate_elements_us, "accumulate_elements_us", per_us(ns("reduce bf16")),
        "what each further BF16 source of a stored sum adds, rows of 1024 elements from memory");
    set(&DeviceCosts::convert_elements_us, "convert_elements_us", per_us(ns("convert bf16")),
        "rows of 1024 sums to BF16: put off until they are stored");
    const double copy = ns("write cold 65536");
    set(&DeviceCosts::link_mb_s, "link_mb_s", per_us(copy / 65536),
        cat("copies of 64 KiB into a peer's window, all ranks at once, after 48 MiB of other "
            "memory "
            "was read; one rank alone ",
            per_us(ns("write cold 65536 alone") / 65536), "; not so cold ",
            per_us(ns("write 65536") / 65536)));
    set(&DeviceCosts::post_ns, "post_ns", whole(ns("write small")), "a copy of 64 bytes");
  }

  void waits() {
    set(&DeviceCosts::call_ns, "call_ns", whole(ns("call")), "a verb that does nothing");
    set(&DeviceCosts::flag_ns, "flag_ns", whole(ns("flag")), "half of a flag there and back");
    set(&DeviceCosts::epoch_ns, "epoch_ns", whole(ns("epoch")),
        "from a store until a peer that waited goes on");
    set(&DeviceCosts::epoch_own_ns, "epoch_own_ns", whole(ns("flag")), "as a flag");
    set(&DeviceCosts::launch_ns, "launch_ns",
        whole(std::max(ns("launch"), ns("launch and meet") - ns("epoch"))),
        "launches in which ranks only meet, without their wait");
    const auto sync = std::ranges::find_if(measured_.ns, [](const auto& value) {
      return value.first.starts_with("sync") && !value.first.ends_with(" 1 workers");
    });
    set(&DeviceCosts::sync_all_ns, "sync_all_ns",
        whole(sync == measured_.ns.end() ? ns("flag") : sync->second),
        "from the last core until the others go on, one on each worker of a rank");
  }

  const Measured& measured_;
  DeviceFile& file_;
};

}  // namespace

DeviceFile measured_device(const Measured& measured, int processors) {
  DeviceFile file = parse_device_file(device_text("host"), "host");
  Costs(measured, file).all(processors);
  return file;
}

std::string costs_text(const DeviceFile& file) {
  TextTable table({"cost", "value", "from"});
  visit_costs(file.device.costs, [&](std::string_view name, std::int64_t value) {
    const std::string& source = file.sources.at(cat("costs.", name));
    if (source.starts_with("measured")) table.add_row({std::string(name), cat(value), source});
  });
  return table.to_string();
}

}  // namespace tandem
