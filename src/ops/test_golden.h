// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace tandem {

// The text must be that of tests/golden/<name>. With TANDEM_UPDATE_GOLDEN=1 the file is written
// instead (tools/dev golden). A test that calls this has Golden in its name.
inline void expect_golden(const std::string& name, const std::string& text) {
  const std::string path = std::string(TANDEM_GOLDEN_DIR) + "/" + name;
  const char* update = std::getenv("TANDEM_UPDATE_GOLDEN");
  if (update != nullptr && std::string(update) == "1") {
    std::ofstream(path, std::ios::binary) << text;
    return;
  }
  std::ifstream file(path, std::ios::binary);
  ASSERT_TRUE(file) << "tests/golden/" << name << " is missing; run tools/dev golden";
  std::istringstream expected(std::string(std::istreambuf_iterator<char>(file), {}));
  std::istringstream found(text);
  std::string expected_line;
  std::string found_line;
  for (int line = 1;; ++line) {
    const bool more_expected = static_cast<bool>(std::getline(expected, expected_line));
    const bool more_found = static_cast<bool>(std::getline(found, found_line));
    if (!more_expected && !more_found) break;
    ASSERT_EQ(more_found ? found_line : "(end)", more_expected ? expected_line : "(end)")
        << "tests/golden/" << name << ":" << line << " differs; if that is meant, run "
        << "tools/dev golden";
  }
}

}  // namespace tandem
