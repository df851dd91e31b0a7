// SPDX-License-Identifier: Apache-2.0
#include "mx/e8m0.h"

#include <gtest/gtest.h>

#include "mx/operand_for_test.h"

namespace tandem {
namespace {

TEST(E8m0Scale, DecodesAll256Bytes) {
  // value = 2^(byte - 127), 0xFF excepted
  for (int byte = 0; byte < 255; ++byte) {
    EXPECT_EQ(decode_e8m0(static_cast<std::uint8_t>(byte)), std::ldexp(1.0, byte - 127)) << byte;
  }
  EXPECT_TRUE(std::isnan(decode_e8m0(0xFF)));
}

TEST(E8m0Scale, DecodesTheNamedBytes) {
  EXPECT_EQ(bits_of(decode_e8m0(0x00)), 0x00400000u);
  EXPECT_EQ(bits_of(decode_e8m0(0x01)), 0x00800000u);
  EXPECT_EQ(bits_of(decode_e8m0(0x7F)), 0x3F800000u);
  EXPECT_EQ(bits_of(decode_e8m0(0x86)), 0x43000000u);
  EXPECT_EQ(bits_of(decode_e8m0(0xFE)), 0x7F000000u);
}

TEST(E8m0Scale, ReciprocalTimesValueIsOne) {
  for (int byte = 0; byte < 255; ++byte) {
    const std::uint8_t scale = static_cast<std::uint8_t>(byte);
    EXPECT_EQ(static_cast<double>(decode_e8m0(scale)) * reciprocal_e8m0(scale), 1.0) << byte;
  }
  EXPECT_TRUE(std::isnan(reciprocal_e8m0(0xFF)));
}

}  // namespace
}  // namespace tandem
