// SPDX-License-Identifier: Apache-2.0
#include "host/transport/limits.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "host/net/socket.h"
#include "host/test_descriptors.h"
#include "host/transport/transport.h"
#include "tandem/error.h"

namespace tandem::host {
namespace {

class Descriptors : public testing::Test {
 protected:
  void SetUp() override {
    if (!kCanHaveNone) GTEST_SKIP() << "this build needs descriptors of its own";
  }
};

// What check_descriptors() says, or nothing if so many can be had.
std::string refusal_of(int needed) {
  try {
    check_descriptors("a test", needed);
  } catch (const Error& error) {
    return error.kind() == ErrorKind::environment ? error.what() : "another kind of error";
  }
  return "";
}

std::string expected_of(int needed, int free) {
  return cat("a test: ", needed, " more descriptors are needed, ", free, " are free of the ",
             FewDescriptors::kFew,
             " that this process may have; raise ulimit -n or use fewer ranks");
}

// As many can be had as can be opened, down to none at all.
TEST_F(Descriptors, AreCountedToTheLastOne) {
  for (int free = 0; free <= 12; ++free) {
    const FewDescriptors few(free);
    EXPECT_EQ(refusal_of(free), "") << free;
    EXPECT_EQ(refusal_of(free + 1), expected_of(free + 1, free));
  }
}

// Numbers that the limit does not allow any more take nothing away from those that it does.
TEST_F(Descriptors, BeyondTheLimitDoNotCount) {
  std::vector<Socket> beyond;
  for (int i = 0; i < 5; ++i) {
    const Socket file(open("/dev/null", O_RDONLY | O_CLOEXEC));
    beyond.emplace_back(fcntl(file.file(), F_DUPFD_CLOEXEC, FewDescriptors::kFew));
    ASSERT_TRUE(beyond.back().open());
  }
  const FewDescriptors few(3);
  EXPECT_EQ(refusal_of(3), "");
  EXPECT_EQ(refusal_of(4), expected_of(4, 3));
}

// The reason is the lack, not what was done with a socket that is none.
TEST_F(Descriptors, AListenerWithoutOneSaysSo) {
  const FewDescriptors few(0);
  try {
    listen_on({"127.0.0.1", "0"});
    FAIL() << "it listens";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::environment);
    EXPECT_STREQ(error.what(), "tcp: no socket: Too many open files; raise ulimit -n");
  }
}

// Whatever a world of forked ranks opens first, what it needs is said, and what there is.
TEST_F(Descriptors, AWorldThatCannotHaveThemIsRefusedBeforeItOpensAny) {
  for (const TransportEntry& entry : all_transports()) {
    if (entry.built == Built::no || entry.name == "threads") continue;
    for (int free = 0; free < 3; ++free) {
      const FewDescriptors few(free);
      try {
        make_transport(entry.name, 3);
        ADD_FAILURE() << entry.name << " was made with " << free;
      } catch (const Error& error) {
        const std::string text = error.what();
        EXPECT_NE(text.find(cat("more descriptors are needed, ", free, " are free of the ")),
                  std::string::npos)
            << text;
      }
    }
  }
}

}  // namespace
}  // namespace tandem::host
