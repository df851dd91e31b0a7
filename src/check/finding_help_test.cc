// SPDX-License-Identifier: Apache-2.0
#include "check/finding_help.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace tandem::check {
namespace {

TEST(FindingHelp, HasEveryCodeOnceInOrder) {
  const auto help = all_help();
  ASSERT_EQ(static_cast<int>(help.size()), static_cast<int>(FindingCode::coverage) + 1);
  for (std::size_t i = 0; i < help.size(); ++i) {
    EXPECT_EQ(static_cast<std::size_t>(help[i].code), i);
    EXPECT_EQ(find_help(to_string(help[i].code)), &help[i]);
  }
  EXPECT_EQ(find_help("NO-SUCH-CODE"), nullptr);
}

TEST(FindingHelp, IsWhatTheDocumentSays) {
  std::ifstream file(TANDEM_DOCS_DIR "/checker.md");
  ASSERT_TRUE(file) << TANDEM_DOCS_DIR;
  std::ostringstream text;
  text << file.rdbuf();
  for (const FindingHelp& help : all_help()) {
    const std::string row = "| " + std::string(to_string(help.code)) + " | " +
                            std::string(help.meaning) + " | " + std::string(help.fix) + " |";
    EXPECT_NE(text.str().find(row), std::string::npos) << row;
  }
}

}  // namespace
}  // namespace tandem::check
