// SPDX-License-Identifier: Apache-2.0
// Micro-kernels of what a core does by itself: products, stores, the reduction.
#include <algorithm>

#include "base/strings.h"
#include "calibrating/probes.h"

namespace tandem {
namespace {

int segment_of(std::int64_t k) {
  const auto* found = std::ranges::find(ProbeRank::kDepths, k);
  return static_cast<int>(found - ProbeRank::kDepths);
}

}  // namespace

std::string name_of(const ProductPoint& point) {
  return cat("product ", to_string(point.order), " ", point.rows, " ", point.columns, " ", point.k,
             " ", point.streams);
}

std::vector<ProductPoint> product_points() {
  std::vector<ProductPoint> points;
  for (std::int64_t k : ProbeRank::kDepths) {
    for (std::int64_t rows : {6, 12, 24, 48, 96, 144}) {
      for (std::int64_t columns : {64, 256}) {
        points.push_back({SumOrder::panel, rows, columns, k, false});
      }
      points.push_back({SumOrder::panel, rows, 256, k, true});
    }
    for (std::int64_t rows : {1, 4, 8}) points.push_back({SumOrder::lane, rows, 256, k, true});
  }
  return points;
}

// The same tile again and again, or one column block of B after the other.
void probe_products(ProbeRank& probe, Values& values) {
  for (const ProductPoint& point : product_points()) {
    Samples samples;
    const int segment = segment_of(point.k);
    ProbeRank::Kernel kernel;
    kernel.order = point.order;
    kernel.cube = [&](CubeCore& core) {
      const Fragment rows = probe.rows_of_a(segment, {0, point.rows});
      const double work = static_cast<double>(point.rows * point.columns * point.k);
      const int times = std::clamp(static_cast<int>(2e8 / work), 9, 400);
      const auto product = [&](int i) {
        const std::int64_t column = point.streams ? i * point.columns % ProbeRank::kColumns : 0;
        core.load(0, {&rows, 1}, {segment, {column, point.columns}});
        core.matmul(0, 0, Accumulate::init);
      };
      product(0);  // packs the rows
      time_each(samples, times, product);
    };
    probe.run(kernel);
    values[name_of(point)] = lower_quartile(samples);
  }
}

// What comes from memory because it has not been used for long: rows of A, C.
void probe_cold(ProbeRank& probe, Values& values) {
  constexpr int kTimes = 16;
  constexpr std::int64_t kTall = 144;
  constexpr std::int64_t kPitch = 2048;  // of C
  Samples rows;
  Samples stores;
  ProbeRank::Kernel kernel;
  kernel.cube = [&](CubeCore& core) {
    for (int i = 0; i < kTimes; ++i) {
      probe.forget();
      const Fragment a = probe.rows_of_a(1, {i % 6 * kTall, kTall});
      const auto product = [&](Slice columns) {
        core.load(0, {&a, 1}, {1, columns});
        core.matmul(0, 0, Accumulate::init);
      };
      time_each(rows, 1, [&](int) { product({0, 16}); });
      product({0, 256});
      time_each(stores, 1, [&](int) {
        const View c{probe.rank(), Buffer::c, i * kTall * kPitch, kTall, 512, kPitch};
        core.store(0, {&c, 1}, StoreMode::plain, std::nullopt);
      });
    }
  };
  probe.run(kernel);
  const auto elements = static_cast<double>(kTall * ProbeRank::kDepths[1]);
  values["rows cold"] = (lower_quartile(rows) - values.at("rows and product")) / elements * 1024;
  values["store cold"] = lower_quartile(stores);
}

// Rows are decoded when they change; the narrowest product shows them. Per 1024 elements.
void probe_rows(ProbeRank& probe, Values& values) {
  Samples fresh;
  Samples same;
  ProbeRank::Kernel kernel;
  constexpr std::int64_t kTall = 144;
  kernel.cube = [&](CubeCore& core) {
    const auto product = [&](std::int64_t first) {
      const Fragment rows = probe.rows_of_a(1, {first, kTall});
      core.load(0, {&rows, 1}, {1, {0, 16}});
      core.matmul(0, 0, Accumulate::init);
    };
    time_each(fresh, 48, [&](int i) { product(i % 6 * kTall); });
    product(0);
    time_each(same, 48, [&](int) { product(0); });
  };
  probe.run(kernel);
  const double elements = static_cast<double>(kTall * ProbeRank::kDepths[1]);
  values["rows and product"] = lower_quartile(fresh);
  values["rows"] = (lower_quartile(fresh) - lower_quartile(same)) / elements * 1024;
}

// Converting and storing tiles of 144 × 256, by type of C.
void probe_stores(ProbeRank& probe, Values& values) {
  for (const auto& [type, name] : kEnumNames<OutputType>) {
    Samples samples;
    Samples small;
    ProbeRank::Kernel kernel;
    kernel.type = type;
    const std::int64_t element = type == OutputType::fp32 ? 4 : 2;
    const std::int64_t pitch = 1024 * element;
    kernel.cube = [&](CubeCore& core) {
      for (const std::int64_t rows : {std::int64_t{144}, std::int64_t{6}}) {
        const Fragment a = probe.rows_of_a(0, {0, rows});
        core.load(0, {&a, 1}, {0, {0, 256}});
        core.matmul(0, 0, Accumulate::init);
        time_each(rows == 6 ? small : samples, 64, [&](int i) {
          const View c{probe.rank(), Buffer::c,     i % 16 * rows * pitch + i % 4 * 256 * element,
                       rows,         256 * element, pitch};
          core.store(0, {&c, 1}, StoreMode::plain, std::nullopt);
        });
      }
    };
    probe.run(kernel);
    values[cat("store ", name)] = lower_quartile(samples) / static_cast<double>(144 * 256);
    values[cat("store small ", name)] = lower_quartile(small);
  }
}

// The reduction, per element. A sum and its conversion are put off until the store, which takes
// longer by so much for each source; the rest is the store's own.
void probe_reduction(ProbeRank& probe, Values& values) {
  constexpr std::int64_t kWide = 1024;
  constexpr std::int64_t kTall = 8;
  constexpr int kFew = 2;
  constexpr int kMany = 6;
  const auto elements = static_cast<double>(kTall * kWide);
  for (const auto& [type, name] : kEnumNames<OutputType>) {
    Samples of_few, of_many, conversions, loads, short_ones;
    ProbeRank::Kernel kernel;
    kernel.type = type;
    const std::int64_t element = type == OutputType::fp32 ? 4 : 2;
    const auto tensor = [&](std::int64_t offset, std::int64_t bytes) {
      return UbTensor{offset, kTall, kWide, kWide * bytes, bytes};
    };
    kernel.vector = [&](VectorCore& core) {
      const UbTensor source = tensor(0, element);
      const UbTensor sum = tensor(40960, 4);
      const UbTensor out = tensor(81920, element);
      UbTensor corner = source;
      corner.rows = 1;
      corner.columns = 16;
      const std::int64_t row_bytes = kWide * element;
      const auto view = [&](Buffer buffer, int i) {
        // Not the places used just before, so that rows come from beyond a core's own cache.
        return View{probe.rank(), buffer,    i * 37 % 256 * kTall * row_bytes,
                    kTall,        row_bytes, row_bytes};
      };
      for (int i = 0; i < 96; ++i) {
        const int sources = i % 2 == 0 ? kFew : kMany;
        for (int part = 0; part < sources; ++part) {
          const Buffer from = part % 2 == 0 ? Buffer::staging : Buffer::window_data;
          time_each(loads, 1, [&](int) { core.load(source, view(from, i + 41 * part)); });
          core.accumulate(sum, {}, source, part == 0 ? Accumulate::init : Accumulate::add);
        }
        time_each(conversions, 1, [&](int) { core.convert(out, sum); });
        time_each(sources == kFew ? of_few : of_many, 1,
                  [&](int) { core.store(view(Buffer::c, i), out); });
        time_each(short_ones, 1,
                  [&](int) { core.accumulate(tensor(122880, 4), {}, corner, Accumulate::init); });
      }
    };
    probe.run(kernel);
    const double few = lower_quartile(of_few) / elements;
    const double source = (lower_quartile(of_many) / elements - few) / (kMany - kFew);
    values[cat("reduce ", name)] = source;
    values[cat("convert ", name)] = lower_quartile(conversions) / elements;
    values[cat("store ub ", name)] = std::max(few - kFew * source, 0.0);
    values["load ub"] = lower_quartile(loads);
    values["reduce 16"] = lower_quartile(short_ones);
  }
}

}  // namespace tandem
