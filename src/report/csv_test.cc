// SPDX-License-Identifier: Apache-2.0
#include "report/csv.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "tandem/error.h"

namespace tandem {
namespace {

using Fields = std::vector<std::string>;

std::string refusal(const std::string& text) {
  try {
    parse_csv(text, "cases.csv");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::refused);
    return error.what();
  }
  return "accepted";
}

TEST(Csv, RowsCarryTheirLineAndOneFieldPerColumn) {
  CsvTable table = parse_csv("m,k,n\n1,2,3\n\n# small\n4, 5 ,\n", "cases.csv");
  EXPECT_EQ(table.columns, (Fields{"m", "k", "n"}));
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(table.rows[0].line, 2);
  EXPECT_EQ(table.rows[0].fields, (Fields{"1", "2", "3"}));
  EXPECT_EQ(table.rows[1].line, 5);
  EXPECT_EQ(table.rows[1].fields, (Fields{"4", "5", ""}));
}

TEST(Csv, LineEndsByteOrderMarkAndMissingLastNewlineChangeNothing) {
  CsvTable plain = parse_csv("m,k\n1,2\n", "x");
  for (const char* text : {"m,k\r\n1,2\r\n", "\xEF\xBB\xBFm,k\n1,2\n", "m,k\n1,2", "\n\nm,k\n1,2",
                           "# head\nm,k\n  # body\n1,2\n", "m ,\tk\n1\t,2 \n"}) {
    CsvTable table = parse_csv(text, "x");
    EXPECT_EQ(table.columns, plain.columns) << text;
    ASSERT_EQ(table.rows.size(), 1U) << text;
    EXPECT_EQ(table.rows[0].fields, plain.rows[0].fields) << text;
  }
}

TEST(Csv, QuotesKeepCommasBlanksAndQuotes) {
  CsvTable table = parse_csv("name,m\n\" a, \"\"b\"\" \" ,1\n\"\",2\n", "x");
  EXPECT_EQ(table.rows[0].fields, (Fields{" a, \"b\" ", "1"}));
  EXPECT_EQ(table.rows[1].fields, (Fields{"", "2"}));
}

TEST(Csv, ColumnNamesAreCaseSensitive) {
  CsvTable table = parse_csv("M,m\n1,2\n", "x");
  EXPECT_EQ(table.find_column("m"), 1U);
  EXPECT_EQ(table.find_column("M"), 0U);
  EXPECT_FALSE(table.find_column("k").has_value());
}

TEST(Csv, EveryFaultyLineIsReportedAtOnce) {
  EXPECT_EQ(refusal("m,k\n1\n1,2\n1,2,3\n\"1,2\n\"1\"x,2\n"),
            "cases.csv:2: 1 fields, the header has 2; give one per column\n"
            "cases.csv:4: 3 fields, the header has 2; give one per column\n"
            "cases.csv:5: a quoted field has no end or text behind it; close its quotes\n"
            "cases.csv:6: a quoted field has no end or text behind it; close its quotes");
}

TEST(Csv, LongListsOfFaultsAreCut) {
  std::string text = "m,k\n";
  for (int i = 0; i < 50; ++i) text += "1\n";
  std::string message = refusal(text);
  EXPECT_TRUE(message.ends_with("\nand 30 more")) << message;
  EXPECT_NE(message.find("cases.csv:21: "), std::string::npos);
  EXPECT_EQ(message.find("cases.csv:22: "), std::string::npos);
}

TEST(Csv, HeadersMustNameEachColumnOnce) {
  EXPECT_EQ(refusal("m,,m\n1,2,3\n"),
            "cases.csv:1: column 2 has no name; name it or remove it\n"
            "cases.csv:1: column m stands twice; remove one");
  EXPECT_EQ(refusal("# nothing\n\n"),
            "cases.csv: no header row; name the columns in the first line");
  EXPECT_EQ(refusal(""), refusal("\n"));
}

TEST(Csv, BinaryFilesAreRefused) {
  EXPECT_EQ(refusal(std::string("m,k\n1,\0\n", 8)),
            "cases.csv:2: holds a zero byte; give a text file");
}

TEST(Csv, FilesAreReadOrNamedInTheRefusal) {
  auto path = std::filesystem::temp_directory_path() /
              ("tandem-csv-" + std::to_string(std::filesystem::hash_value(__FILE__)) + ".csv");
  std::filesystem::remove(path);
  EXPECT_THROW(read_csv(path.string()), Error);
  std::ofstream(path) << "m,ranks\n128,4\n";
  CsvTable table = read_csv(path.string());
  std::filesystem::remove(path);
  EXPECT_EQ(table.columns, (Fields{"m", "ranks"}));
  EXPECT_EQ(table.rows.at(0).fields, (Fields{"128", "4"}));
}

}  // namespace
}  // namespace tandem
