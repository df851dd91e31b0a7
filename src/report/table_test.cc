// SPDX-License-Identifier: Apache-2.0
#include "report/table.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

TEST(TextTable, NumbersStandRightWordsLeftAndLinesEndWithoutBlanks) {
  TextTable table({"operator", "m", "verdict"});
  table.add_row({"all-gather-matmul", "64", "PASS"});
  table.add_row({"x", "4096", "FAIL at 3"});
  EXPECT_EQ(table.to_string(),
            "operator              m  verdict\n"
            "all-gather-matmul    64  PASS\n"
            "x                  4096  FAIL at 3\n");
}

TEST(TextTable, OneWordMakesAColumnText) {
  TextTable table({"a", "bb"});
  table.add_row({"1", "22"});
  table.add_row({"word", "3"});
  EXPECT_EQ(table.to_string(), "a     bb\n1     22\nword   3\n");
}

TEST(TextTable, AbsentNumbersKeepAColumnRight) {
  TextTable table({"ms", "note"});
  table.add_row({"12.5", ""});
  table.add_row({"-", ""});
  table.add_row({"–", ""});
  table.add_row({"", ""});
  EXPECT_EQ(table.to_string(), "  ms  note\n12.5\n   -\n   –\n\n");
}

TEST(TextTable, NumbersAreSignedScaledPercentOrNotANumber) {
  for (const char* number :
       {"1", "-1", "+1", "0.5", ".5", "1e9", "1e-9", "98%", "98 %", "nan", "-inf", "1e999"}) {
    TextTable table({"long header"});
    table.add_row({number});
    EXPECT_TRUE(table.to_string().ends_with(std::string("  ") + number + "\n")) << number;
  }
  for (const char* word : {"1x", "x1", "1-5", "1.2.3", "%", "+", "0x1f", "1,5", "1 2"}) {
    TextTable table({"long header"});
    table.add_row({word});
    EXPECT_TRUE(table.to_string().ends_with(std::string("\n") + word + "\n")) << word;
  }
}

TEST(TextTable, ColumnsAlignByWhatATerminalShows) {
  TextTable table({"unit", "n"});
  table.add_row({"µs", "1"});
  table.add_row({"列列", "2"});
  table.add_row({"e\xCC\x81", "3"});
  EXPECT_EQ(table.to_string(),
            "unit  n\n"
            "µs    1\n"
            "列列  2\n"
            "e\xCC\x81     3\n");
}

TEST(TextTable, ARowStaysOnOneLine) {
  TextTable table({"message"});
  table.add_row({"first\nsecond\tthird"});
  EXPECT_EQ(table.to_string(), "message\nfirst second third\n");
}

TEST(TextTable, ARowOfAnotherLengthIsABug) {
  TextTable table({"a", "b"});
  EXPECT_DEATH(table.add_row({"1"}), "1 cells for 2 columns");
}

TEST(DisplayWidth, CountsColumnsOfATerminal) {
  EXPECT_EQ(display_width(""), 0);
  EXPECT_EQ(display_width("abc"), 3);
  EXPECT_EQ(display_width("m × n – µs"), 10);
  EXPECT_EQ(display_width("列"), 2);
  EXPECT_EQ(display_width("😀"), 2);
  EXPECT_EQ(display_width("e\xCC\x81"), 1);
}

TEST(DisplayWidth, BytesThatAreNoUtf8CountOneEach) {
  EXPECT_EQ(display_width("\xFF\xFE"), 2);
  EXPECT_EQ(display_width("\xE2\x82"), 2);
  EXPECT_EQ(display_width("\xC0\x80"), 2);
  EXPECT_EQ(display_width("a\x80z"), 3);
}

}  // namespace
}  // namespace tandem
