// SPDX-License-Identifier: Apache-2.0
#include "mx/e5m2.h"

#include <gtest/gtest.h>

#include "mx/codec_for_test.h"
#include "mx/fp16.h"

namespace tandem {
namespace {

TEST(E5m2, DecodesAll256CodesAndEncodesThemBack) {
  expect_round_trip(
      ElementFormat::e5m2, [](std::uint8_t code) { return decode_e5m2(code); }, encode_e5m2);
}

TEST(E5m2, IsTheUpperByteOfBinary16) {
  for (int c = 0; c < 256; ++c) {
    const std::uint8_t code = static_cast<std::uint8_t>(c);
    if (is_nan_e5m2(code)) continue;
    const float half = decode_fp16(static_cast<std::uint16_t>(c << 8));
    EXPECT_EQ(bits_of(decode_e5m2(code)), bits_of(half)) << c;
  }
}

TEST(E5m2, DecodesTheNamedCodes) {
  EXPECT_EQ(bits_of(decode_e5m2(0x01)), 0x37800000u);
  EXPECT_EQ(bits_of(decode_e5m2(0x02)), 0x38000000u);
  EXPECT_EQ(bits_of(decode_e5m2(0x03)), 0x38400000u);
  EXPECT_EQ(bits_of(decode_e5m2(0x04)), 0x38800000u);
  EXPECT_EQ(decode_e5m2(0x7B), 57344.0f);
  EXPECT_EQ(bits_of(decode_e5m2(0x7C)), 0x7F800000u);
  EXPECT_EQ(bits_of(decode_e5m2(0xFC)), 0xFF800000u);
  for (std::uint8_t code : {0x7D, 0x7E, 0x7F, 0xFD, 0xFE, 0xFF}) {
    EXPECT_TRUE(std::isnan(decode_e5m2(code)));
    EXPECT_TRUE(is_nan_e5m2(code));
  }
}

TEST(E5m2, EncodesTheEdgeCaseTable) {
  expect_table({{"T01", 0x00000000, 0x00, 0x00}, {"T02", 0x3F880000, 0x3C, 0x3C},
                {"T03", 0x3F880001, 0x3C, 0x3C}, {"T04", 0x3F980000, 0x3D, 0x3D},
                {"T05", 0x3FE815A5, 0x3F, 0x3F}, {"T06", 0x43780000, 0x5C, 0x5C},
                {"T07", 0x43800000, 0x5C, 0x5C}, {"T07", 0x43900000, 0x5C, 0x5C},
                {"T08", 0x43880000, 0x5C, 0x5C}, {"T08", 0x43880001, 0x5C, 0x5C},
                {"T09", 0x43E00000, 0x5F, 0x5F}, {"T10", 0x43E10000, 0x5F, 0x5F},
                {"T11", 0x43E80000, 0x5F, 0x5F}, {"T12", 0x43E80001, 0x5F, 0x5F},
                {"T12", 0x43E88000, 0x5F, 0x5F}, {"T13", 0x44280000, 0x61, 0x61},
                {"T14", 0x7F7FFFFF, 0x7C, 0x7B}, {"T15", 0x7F800000, 0x7C, 0x7C},
                {"T17", 0x3C800000, 0x24, 0x24}, {"T17", 0x3C7FFFFF, 0x24, 0x24},
                {"T18", 0x3C780000, 0x24, 0x24}, {"T19", 0x3B000000, 0x18, 0x18},
                {"T20", 0x3A800000, 0x14, 0x14}, {"T20", 0x3A800001, 0x14, 0x14},
                {"T21", 0x3AC00000, 0x16, 0x16}, {"T22", 0x3B400000, 0x1A, 0x1A},
                {"T23", 0x00000001, 0x00, 0x00}, {"T23", 0x007FFFFF, 0x00, 0x00},
                {"T23", 0x00800000, 0x00, 0x00}, {"T24", 0x47600000, 0x7B, 0x7B},
                {"T25", 0x47629000, 0x7B, 0x7B}, {"T26", 0x476FFFFF, 0x7B, 0x7B},
                {"T26", 0x47700000, 0x7C, 0x7B}, {"T27", 0x38800000, 0x04, 0x04},
                {"T27", 0x38600000, 0x04, 0x04}, {"T28", 0x37800000, 0x01, 0x01},
                {"T28", 0x37000000, 0x00, 0x00}, {"T28", 0x37000001, 0x01, 0x01}},
               encode_e5m2);
}

TEST(E5m2, T16NanStaysAnyNan) {
  for (Saturation saturation : {Saturation::none, Saturation::saturate}) {
    for (std::uint32_t bits : {0x7F800001u, 0x7FC00000u, 0xFFC00000u}) {
      EXPECT_TRUE(is_nan_e5m2(encode_e5m2(from_bits(bits), saturation)));
    }
  }
}

TEST(E5m2, EncodesToTheNearestOfAllCodes) {
  expect_searched_codes(ElementFormat::e5m2, encode_e5m2);
}

}  // namespace
}  // namespace tandem
