// SPDX-License-Identifier: Apache-2.0
#include "mx/e4m3.h"

#include <gtest/gtest.h>

#include "mx/codec_for_test.h"

namespace tandem {
namespace {

TEST(E4m3, DecodesAll256CodesAndEncodesThemBack) {
  expect_round_trip(
      ElementFormat::e4m3, [](std::uint8_t code) { return decode_e4m3(code); }, encode_e4m3);
}

TEST(E4m3, DecodesTheNamedCodes) {
  const std::uint32_t subnormals[] = {0x3B000000, 0x3B800000, 0x3BC00000, 0x3C000000,
                                      0x3C200000, 0x3C400000, 0x3C600000};
  for (int m = 1; m <= 7; ++m) {
    EXPECT_EQ(bits_of(decode_e4m3(static_cast<std::uint8_t>(m))), subnormals[m - 1]);
  }
  EXPECT_EQ(bits_of(decode_e4m3(0x08)), 0x3C800000u);
  EXPECT_EQ(bits_of(decode_e4m3(0x0F)), 0x3CF00000u);
  EXPECT_EQ(decode_e4m3(0x70), 128.0f);
  EXPECT_EQ(decode_e4m3(0x77), 240.0f);
  EXPECT_EQ(decode_e4m3(0x78), 256.0f);
  EXPECT_EQ(decode_e4m3(0x7B), 352.0f);
  EXPECT_EQ(decode_e4m3(0x7D), 416.0f);
  EXPECT_EQ(decode_e4m3(0x7E), 448.0f);
  EXPECT_EQ(bits_of(decode_e4m3(0x80)), 0x80000000u);
}

TEST(E4m3, OnlyAllOnesIsNan) {
  int count = 0;
  for (int code = 0; code < 256; ++code) count += is_nan_e4m3(static_cast<std::uint8_t>(code));
  EXPECT_EQ(count, 2);
  EXPECT_TRUE(is_nan_e4m3(0x7F));
  EXPECT_TRUE(is_nan_e4m3(0xFF));
}

TEST(E4m3, EncodesTheEdgeCaseTable) {
  expect_table({{"T01", 0x00000000, 0x00, 0x00}, {"T02", 0x3F880000, 0x38, 0x38},
                {"T03", 0x3F880001, 0x39, 0x39}, {"T04", 0x3F980000, 0x3A, 0x3A},
                {"T05", 0x3FE815A5, 0x3F, 0x3F}, {"T06", 0x43780000, 0x78, 0x78},
                {"T07", 0x43800000, 0x78, 0x78}, {"T07", 0x43900000, 0x79, 0x79},
                {"T08", 0x43880000, 0x78, 0x78}, {"T08", 0x43880001, 0x79, 0x79},
                {"T09", 0x43E00000, 0x7E, 0x7E}, {"T10", 0x43E10000, 0x7E, 0x7E},
                {"T11", 0x43E80000, 0x7E, 0x7E}, {"T12", 0x43E80001, 0x7F, 0x7E},
                {"T12", 0x43E88000, 0x7F, 0x7E}, {"T13", 0x44280000, 0x7F, 0x7E},
                {"T14", 0x7F7FFFFF, 0x7F, 0x7E}, {"T15", 0x7F800000, 0x7F, 0x7F},
                {"T17", 0x3C800000, 0x08, 0x08}, {"T17", 0x3C7FFFFF, 0x08, 0x08},
                {"T18", 0x3C780000, 0x08, 0x08}, {"T19", 0x3B000000, 0x01, 0x01},
                {"T20", 0x3A800000, 0x00, 0x00}, {"T20", 0x3A800001, 0x01, 0x01},
                {"T21", 0x3AC00000, 0x01, 0x01}, {"T22", 0x3B400000, 0x02, 0x02},
                {"T23", 0x00000001, 0x00, 0x00}, {"T23", 0x007FFFFF, 0x00, 0x00},
                {"T23", 0x00800000, 0x00, 0x00}, {"T24", 0x47600000, 0x7F, 0x7E},
                {"T25", 0x47629000, 0x7F, 0x7E}, {"T26", 0x476FFFFF, 0x7F, 0x7E},
                {"T26", 0x47700000, 0x7F, 0x7E}, {"T27", 0x38800000, 0x00, 0x00},
                {"T27", 0x38600000, 0x00, 0x00}, {"T28", 0x37800000, 0x00, 0x00},
                {"T28", 0x37000000, 0x00, 0x00}, {"T28", 0x37000001, 0x00, 0x00}},
               encode_e4m3);
}

TEST(E4m3, T16NanKeepsItsSign) {
  for (Saturation saturation : {Saturation::none, Saturation::saturate}) {
    EXPECT_EQ(encode_e4m3(from_bits(0x7F800001), saturation), 0x7F);
    EXPECT_EQ(encode_e4m3(from_bits(0x7FC00000), saturation), 0x7F);
    EXPECT_EQ(encode_e4m3(from_bits(0xFFC00000), saturation), 0xFF);
  }
}

TEST(E4m3, EncodesToTheNearestOfAllCodes) {
  expect_searched_codes(ElementFormat::e4m3, encode_e4m3);
}

}  // namespace
}  // namespace tandem
