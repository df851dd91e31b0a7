// SPDX-License-Identifier: Apache-2.0
#include "tandem/world.h"

#include <sched.h>

#include <algorithm>
#include <map>

#include "base/check.h"
#include "base/strings.h"
#include "cases/test_fault.h"
#include "host/spawn.h"
#include "tandem/error.h"
#include "world_impl.h"

namespace tandem {
namespace {

// Processors that this process may use.
int usable_processors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

// "name\tvalue\n" for each field. Values hold neither.
std::string to_text(const std::vector<std::pair<std::string, std::string>>& fields) {
  std::string text;
  for (const auto& [name, value] : fields) text += name + '\t' + value + '\n';
  return text;
}

std::map<std::string, std::string> parse_text(const std::string& text) {
  std::map<std::string, std::string> fields;
  std::size_t first = 0;
  while (first < text.size()) {
    const std::size_t end = text.find('\n', first);
    const std::size_t tab = text.find('\t', first);
    fields[text.substr(first, tab - first)] = text.substr(tab + 1, end - tab - 1);
    first = end + 1;
  }
  return fields;
}

std::unique_ptr<World::Impl> join(host::Transport& transport, const WorldOptions& options,
                                  int rank) {
  const int workers = options.workers.value_or(default_workers(options.ranks));
  auto impl = std::make_unique<World::Impl>();
  impl->options = options;
  impl->rank = std::make_unique<host::HostRank>(
      transport, rank,
      host::HostOptions{.workers = workers,
                        .oversubscribed = workers * options.ranks > usable_processors(),
                        .timeout_ms = options.timeout_ms,
                        .epoch_start = options.epoch_start});
  impl->pool = std::make_unique<host::WorkerPool>(workers);
  return impl;
}

}  // namespace

int default_workers(int ranks) { return std::max(1, usable_processors() / std::max(1, ranks)); }

void check_world_options(const WorldOptions& options) {
  std::string reasons;
  const auto refuse = [&](const std::string& reason) {
    reasons += (reasons.empty() ? "world: " : "\nworld: ") + reason;
  };
  if (options.ranks < 1 || options.ranks > kRanksMax) {
    refuse(cat("R is ", options.ranks, "; use 1 to ", kRanksMax, " ranks"));
  }
  if (options.timeout_ms < 1) {
    refuse(cat("the time-out is ", options.timeout_ms, " ms; use 1 or more"));
  }
  if (options.workers && (*options.workers < 1 || *options.workers > 256)) {
    refuse(cat("the rank has ", *options.workers, " workers; use 1 to 256"));
  }
  std::string names;
  bool known = false;
  for (const host::TransportEntry& entry : host::all_transports()) {
    known |= entry.name == options.transport;
    names += (names.empty() ? "" : ", ") + std::string(entry.name);
  }
  if (!known) refuse(cat("the transport is '", options.transport, "'; use one of ", names));
  if (!reasons.empty()) throw Error(ErrorKind::refused, reasons);
}

World::World(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
World::~World() = default;

std::vector<RankOutcome> World::spawn(const WorldOptions& options, const Main& main,
                                      const Progress& progress) {
  check_world_options(options);
  check_test_fault(options.transport, options.ranks);
  const auto transport = host::make_transport(options.transport, options.ranks);
  const auto rank_main = [&](int rank) {
    fault_before_join(rank);
    World world(join(*transport, options, rank));
    world.barrier();
    return main(world);
  };
  const auto run = options.transport == "threads" ? host::run_as_threads : host::run_as_processes;
  std::vector<RankOutcome> outcomes;
  for (host::RankOutcome& outcome : run(*transport, rank_main, progress)) {
    outcomes.push_back({outcome.exit_code, std::move(outcome.result), std::move(outcome.message),
                        outcome.secondary});
  }
  return outcomes;
}

int World::rank() const { return impl_->rank->rank(); }
int World::size() const { return impl_->rank->ranks(); }
int World::workers() const { return impl_->rank->options().workers; }
const WorldOptions& World::options() const { return impl_->options; }
void World::barrier() { impl_->rank->meet("a barrier of all ranks"); }
void World::progress(const std::string& line) { host::send_progress(line); }

void World::agree(const std::string& subject,
                  const std::vector<std::pair<std::string, std::string>>& fields) {
  const std::string own = to_text(fields);
  if (own.size() >= host::kTextBytes) {
    throw Error(ErrorKind::refused,
                cat(subject, ": the fields to compare take ", own.size(), " bytes, at most ",
                    host::kTextBytes - 1, " are allowed; compare fewer or a digest of them"));
  }
  const auto texts = impl_->rank->exchange("the comparison of " + subject, own);
  const auto first = parse_text(texts[0]);
  std::string reasons;
  for (int peer = 1; peer < size(); ++peer) {
    const auto other = parse_text(texts[peer]);
    for (const auto& [name, value] : first) {
      const auto found = other.find(name);
      const std::string seen = found == other.end() ? "missing" : found->second;
      if (seen == value) continue;
      reasons += cat(reasons.empty() ? "" : "\n", subject, ": ", name, " is ", seen, " on rank ",
                     peer, " and ", value, " on rank 0; give all ranks the same");
    }
    for (const auto& [name, value] : other) {
      if (first.contains(name)) continue;
      reasons += cat(reasons.empty() ? "" : "\n", subject, ": ", name, " is ", value, " on rank ",
                     peer, " and missing on rank 0; give all ranks the same");
    }
  }
  if (!reasons.empty()) throw Error(ErrorKind::refused, reasons);
}

}  // namespace tandem
