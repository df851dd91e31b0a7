// SPDX-License-Identifier: Apache-2.0
// Rows of elements = mx/'s scalar codecs, element by element, on each SIMD target.
#include "gemm/convert.h"

#include <cstring>
#include <functional>

#include "gemm/test_operands.h"
#include "mx/output.h"

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace tandem::gemm {
namespace {

constexpr OutputType kTypes[] = {OutputType::bf16, OutputType::fp16, OutputType::fp32};

std::uint32_t element_bits(OutputType type, const void* element) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, element, static_cast<std::size_t>(element_bytes(type)));
  return bits;
}

bool is_nan(OutputType type, std::uint32_t bits) { return std::isnan(widen(type, &bits)); }

bool is_quiet(OutputType type, std::uint32_t bits) {
  const std::uint32_t quiet = type == OutputType::bf16   ? 0x40
                              : type == OutputType::fp16 ? 0x200
                                                         : 0x400000;
  return (bits & quiet) != 0;
}

// All upper halves of an FP32 with lower halves around each rounding boundary of bf16 and fp16.
std::vector<float> all_upper_halves() {
  constexpr std::uint32_t kLower[] = {0x0000, 0x0001, 0x0FFF, 0x1000, 0x1001, 0x7FFF,
                                      0x8000, 0x8001, 0xEFFF, 0xF000, 0xFFFF};
  std::vector<float> values;
  for (std::uint32_t upper = 0; upper < 0x10000; ++upper) {
    for (std::uint32_t lower : kLower) values.push_back(std::bit_cast<float>(upper << 16 | lower));
  }
  return values;
}

// As all_upper_halves, with random lower halves.
std::vector<float> random_patterns(std::int64_t count, Rng& rng) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) {
    values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(rng.next())));
  }
  return values;
}

void check_store(const std::vector<float>& values, OutputType type) {
  const auto count = static_cast<std::int64_t>(values.size());
  const std::int64_t bytes = element_bytes(type);
  std::vector<std::uint8_t> out(static_cast<std::size_t>(count * bytes), 0xA5);
  store_row(values.data(), nullptr, count, type, out.data());
  for (std::int64_t j = 0; j < count; ++j) {
    const float value = values[static_cast<std::size_t>(j)];
    std::uint32_t expected = 0;
    round_to(type, value, &expected);
    const std::uint32_t got = element_bits(type, out.data() + j * bytes);
    if (is_nan(type, expected)) {
      ASSERT_TRUE(is_nan(type, got)) << std::hex << std::bit_cast<std::uint32_t>(value);
      if (type != OutputType::fp32) {
        ASSERT_TRUE(is_quiet(type, got));
      }
    } else {
      ASSERT_EQ(got, expected) << std::hex << std::bit_cast<std::uint32_t>(value);
    }
  }
}

TEST(StoreRow, RoundsEveryPatternLikeTheScalarCodec) {
  Rng rng(1);
  const std::vector<float> upper = all_upper_halves();
  const std::vector<float> random = random_patterns(200'001, rng);
  for (OutputType type : kTypes) {
    for_each_target([&] {
      check_store(upper, type);
      check_store(random, type);
    });
  }
}

TEST(WidenRow, WidensEveryCodeExactly) {
  std::vector<std::uint16_t> codes(0x10000);
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::uint16_t>(i);
  for (OutputType type : {OutputType::bf16, OutputType::fp16}) {
    for_each_target([&] {
      std::vector<float> sums(codes.size(), -1.0f);
      widen_row(codes.data(), type, 0x10000, sums.data());
      for (std::size_t i = 0; i < codes.size(); ++i) {
        const float expected = widen(type, &codes[i]);
        if (std::isnan(expected)) {
          ASSERT_TRUE(std::isnan(sums[i])) << i;
        } else {
          ASSERT_EQ(std::bit_cast<std::uint32_t>(sums[i]), std::bit_cast<std::uint32_t>(expected))
              << i;
        }
      }
    });
  }
}

// One row of each operation, of every short length, with canaries behind the destination.
struct Row {
  std::vector<float> sums, bias;
  std::vector<std::uint8_t> elements;  // of the type, as stored before
};

Row make_row(OutputType type, std::int64_t count, Rng& rng) {
  Row row;
  row.elements.assign(static_cast<std::size_t>((count + 1) * element_bytes(type)), 0xA5);
  for (std::int64_t j = 0; j < count; ++j) {
    const auto shift = static_cast<int>(rng.below(60)) - 30;
    row.sums.push_back(std::ldexp(rng.normal(), shift));
    row.bias.push_back(std::ldexp(rng.normal(), shift));
    const float stored = std::ldexp(rng.normal(), shift);
    round_to(type, stored, row.elements.data() + j * element_bytes(type));
  }
  return row;
}

void check_short_rows(const std::function<void(Row&, OutputType, std::int64_t)>& act,
                      const std::function<void(Row&, OutputType, std::int64_t)>& act_on_element) {
  for (OutputType type : kTypes) {
    for (std::int64_t count = 0; count <= 67; ++count) {
      for_each_target([&] {
        Rng rng(static_cast<std::uint64_t>(count) + 1);
        Row row = make_row(type, count, rng);
        Row expected = row;
        act(row, type, count);
        for (std::int64_t j = 0; j < count; ++j) act_on_element(expected, type, j);
        ASSERT_EQ(row.elements, expected.elements) << "count " << count;
        for (std::size_t j = 0; j < row.sums.size(); ++j) {
          ASSERT_EQ(row.sums[j], expected.sums[j]) << "count " << count << " at " << j;
        }
      });
    }
  }
}

void* element(Row& row, OutputType type, std::int64_t j) {
  return row.elements.data() + j * element_bytes(type);
}

TEST(StoreRow, AddsTheBiasBeforeRounding) {
  check_short_rows(
      [](Row& row, OutputType type, std::int64_t count) {
        store_row(row.sums.data(), row.bias.data(), count, type, row.elements.data());
      },
      [](Row& row, OutputType type, std::int64_t j) {
        const auto i = static_cast<std::size_t>(j);
        round_to(type, row.sums[i] + row.bias[i], element(row, type, j));
      });
}

TEST(StoreRow, WorksWithoutABias) {
  check_short_rows(
      [](Row& row, OutputType type, std::int64_t count) {
        store_row(row.sums.data(), nullptr, count, type, row.elements.data());
      },
      [](Row& row, OutputType type, std::int64_t j) {
        round_to(type, row.sums[static_cast<std::size_t>(j)], element(row, type, j));
      });
}

void check_sum(OutputType from, OutputType to, std::size_t row_count, std::int64_t count,
               Rng& rng) {
  const std::int64_t bytes = element_bytes(from);
  std::vector<std::vector<std::uint8_t>> rows(row_count);
  std::vector<const void*> addresses;
  for (std::vector<std::uint8_t>& row : rows) {
    for (std::int64_t j = 0; j < count; ++j) {
      // Small integers and a fraction: a sum in another order would round differently.
      const float value = static_cast<float>(static_cast<int>(rng.next() % 4096)) * 0x1p-11f *
                          static_cast<float>(1 << rng.next() % 12);
      row.resize(row.size() + static_cast<std::size_t>(bytes));
      round_to(from, value, row.data() + j * bytes);
    }
    addresses.push_back(row.data());
  }
  const std::int64_t out_bytes = element_bytes(to);
  std::vector<std::uint8_t> got(static_cast<std::size_t>((count + 1) * out_bytes), 0xA5);
  sum_rows(addresses, from, count, to, got.data());
  for (std::int64_t j = 0; j < count; ++j) {
    float sum = widen(from, rows[0].data() + j * bytes);
    for (std::size_t i = 1; i < row_count; ++i) sum += widen(from, rows[i].data() + j * bytes);
    std::uint32_t expected = 0;
    round_to(to, sum, &expected);
    ASSERT_EQ(element_bits(to, got.data() + j * out_bytes), expected);
  }
  for (std::int64_t i = count * out_bytes; i < (count + 1) * out_bytes; ++i) {
    ASSERT_EQ(got[static_cast<std::size_t>(i)], 0xA5) << "beyond the row";
  }
}

// round(stored + round(sum)): two roundings.
TEST(AddRow, AddsInTheTypeOfTheElements) {
  check_short_rows(
      [](Row& row, OutputType type, std::int64_t count) {
        add_row(row.sums.data(), count, type, row.elements.data());
      },
      [](Row& row, OutputType type, std::int64_t j) {
        std::uint32_t rounded = 0;
        round_to(type, row.sums[static_cast<std::size_t>(j)], &rounded);
        const float stored = widen(type, element(row, type, j));
        round_to(type, stored + widen(type, &rounded), element(row, type, j));
      });
}

TEST(WidenRow, OverwritesTheSums) {
  check_short_rows(
      [](Row& row, OutputType type, std::int64_t count) {
        widen_row(row.elements.data(), type, count, row.sums.data());
      },
      [](Row& row, OutputType type, std::int64_t j) {
        row.sums[static_cast<std::size_t>(j)] = widen(type, element(row, type, j));
      });
}

TEST(WidenAddRow, AddsToTheSums) {
  check_short_rows(
      [](Row& row, OutputType type, std::int64_t count) {
        widen_add_row(row.elements.data(), type, count, row.sums.data());
      },
      [](Row& row, OutputType type, std::int64_t j) {
        row.sums[static_cast<std::size_t>(j)] += widen(type, element(row, type, j));
      });
}

// One to nine rows of a type, summed in FP32 in their order and rounded once to another.
TEST(SumRows, AddsInTheRowsOrder) {
  Rng rng(7);
  for (OutputType from : kTypes) {
    for (OutputType to : kTypes) {
      for_each_target([&] {
        for (const std::int64_t count : {0, 1, 7, 16, 31, 32, 33, 100}) {
          for (std::size_t rows = 1; rows <= 9; ++rows) check_sum(from, to, rows, count, rng);
        }
      });
    }
  }
}

#if defined(__SSE__)

// FP32 subnormals and FP16 subnormals survive a caller's flush-to-zero; the mode stays its own.
TEST(Conversions, KeepSubnormalsUnderFlushToZero) {
  const std::vector<float> upper = all_upper_halves();
  constexpr unsigned kHostile = 0x1F80 | 0x8040 | 0x6000;  // FTZ, DAZ, truncation
  for (OutputType type : kTypes) {
    for_each_target([&] {
      const auto count = static_cast<std::int64_t>(upper.size());
      const auto bytes = static_cast<std::size_t>(count * element_bytes(type));
      const std::vector<float> bias(upper.size(), 0x1p-149f);
      std::vector<std::uint8_t> expected(bytes), got(bytes);
      std::vector<float> expected_sums(upper.size()), sums(upper.size());
      const auto convert = [&](std::vector<std::uint8_t>& out, std::vector<float>& wide) {
        store_row(upper.data(), bias.data(), count, type, out.data());
        add_row(bias.data(), count, type, out.data());
        widen_row(out.data(), type, count, wide.data());
        widen_add_row(out.data(), type, count, wide.data());
      };
      convert(expected, expected_sums);
      _mm_setcsr(kHostile);
      convert(got, sums);
      const unsigned after = _mm_getcsr();
      _mm_setcsr(0x1F80);
      ASSERT_EQ(after, kHostile);
      ASSERT_EQ(got, expected);
      ASSERT_EQ(std::memcmp(sums.data(), expected_sums.data(), sums.size() * sizeof(float)), 0);
    });
  }
}

#endif

}  // namespace
}  // namespace tandem::gemm
