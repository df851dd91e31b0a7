// SPDX-License-Identifier: Apache-2.0
// Ranks for the tests of this layer: a transport, a HostRank on each rank, and findings that come
// back from processes as text.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/strings.h"
#include "host/host_rank.h"
#include "host/spawn.h"
#include "host/transport/transport.h"

namespace tandem::host {

// Collects what a rank found wrong. Ranks are processes, whose own test results nobody would see.
class Findings {
 public:
  template <typename... Parts>
  void expect(bool condition, const Parts&... what) {
    if (!condition) text_ += cat(what..., "\n");
  }
  template <typename A, typename B>
  void expect_equal(const A& got, const B& want, const std::string& what) {
    expect(got == want, what, ": got ", got, ", want ", want);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

constexpr std::string_view kShared = "_shared";  // "tcp_shared": tcp between neighbours

// Each that was built, and each that reaches other hosts also with memory shared beside its link.
inline std::vector<std::string> built_transports() {
  std::vector<std::string> names;
  for (const TransportEntry& entry : all_transports()) {
    if (entry.built == Built::no) continue;
    names.emplace_back(entry.name);
    if (entry.reach == Reach::many_hosts) names.push_back(cat(entry.name, kShared));
  }
  return names;
}

inline std::unique_ptr<Transport> make_test_transport(std::string_view name, int ranks) {
  TransportOptions options;
  if (name.ends_with(kShared)) {
    name.remove_suffix(kShared.size());
    options.same_host = SameHost::shared;
  }
  return make_transport(name, ranks, options);
}

using TestMain = std::function<void(HostRank& rank, Findings& findings)>;

// Runs `main` on every rank of a new world. All ranks have met once before it.
inline std::vector<RankOutcome> run_test_world(std::string_view transport_name, int ranks,
                                               const HostOptions& options, const TestMain& main) {
  const auto transport = make_test_transport(transport_name, ranks);
  const auto rank_main = [&](int index) {
    HostRank rank(*transport, index, options);
    rank.meet("the start of the test");
    Findings findings;
    main(rank, findings);
    return findings.text();
  };
  const auto run = transport_name == "threads" ? run_as_threads : run_as_processes;
  return run(*transport, rank_main, {});
}

// What all ranks found, and how those ended that failed. Empty if all is well.
inline std::string failures_of(const std::vector<RankOutcome>& outcomes) {
  std::string text;
  for (std::size_t rank = 0; rank < outcomes.size(); ++rank) {
    const RankOutcome& outcome = outcomes[rank];
    if (outcome.exit_code == 0 && outcome.result.empty()) continue;
    text += cat("rank ", rank, " ended with ", outcome.exit_code, ": ", outcome.result,
                outcome.message, "\n");
  }
  return text;
}

}  // namespace tandem::host
