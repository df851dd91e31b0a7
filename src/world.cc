// SPDX-License-Identifier: Apache-2.0
#include "tandem/world.h"

#include <sched.h>

#include <algorithm>
#include <exception>
#include <map>

#include "base/check.h"
#include "base/strings.h"
#include "cases/test_fault.h"
#include "host/link/link.h"
#include "host/member.h"
#include "host/net/socket.h"
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

std::unique_ptr<World::Impl> join(host::Transport& transport, const WorldOptions& options, int rank,
                                  host::HostRank* whole = nullptr) {
  // The ranks, or the members of a group, may be on many hosts: those on this one share its
  // processors.
  int ranks_here = options.ranks;
  host::Link* link = transport.join(rank, std::chrono::milliseconds(options.timeout_ms));
  if (link != nullptr) ranks_here = link->ranks_here();
  const int workers = options.workers.value_or(default_workers(ranks_here));
  auto impl = std::make_unique<World::Impl>();
  impl->transport = &transport;
  impl->options = options;
  impl->rank = std::make_unique<host::HostRank>(
      transport, rank,
      host::HostOptions{.workers = workers,
                        .oversubscribed = workers * ranks_here > usable_processors(),
                        .timeout_ms = options.timeout_ms,
                        .epoch_start = options.epoch_start},
      whole);
  impl->pool = std::make_unique<host::WorkerPool>(workers);
  return impl;
}

template <typename Refuse>
void check_membership(const WorldOptions& options, const Refuse& refuse) {
  const Membership& seat = *options.membership;
  if (seat.size != options.ranks) {
    refuse(cat("R is ", options.ranks, ", but ", seat.size,
               " ranks were started; make both the same"));
  }
  if (seat.rank < 0 || seat.rank >= seat.size) {
    refuse(cat("the rank is ", seat.rank, " of ", seat.size, "; ranks count from 0 to size - 1"));
  }
  if (seat.size > 1 && seat.root.empty()) {
    refuse("no root is given; name host:port of rank 0 (--root or TANDEM_ROOT)");
  } else if (seat.size > 1 && !host::parse_socket_address(seat.root)) {
    refuse(cat("the root is '", seat.root, "'; give host:port of rank 0, such as node1:7000"));
  }
}

host::TransportOptions transport_options(const WorldOptions& options) {
  host::TransportOptions made;
  if (const auto& seat = options.membership) {
    made.seat = host::Seat{.rank = seat->rank, .root = seat->root, .job = seat->job};
  }
  made.same_host = same_host_of(options);
  return made;
}

}  // namespace

World::Impl::~Impl() {
  pool.reset();
  const int index = rank != nullptr ? rank->rank() : 0;
  // The others need not wait for a rank that unwinds, and may not know yet why it does.
  std::string failure;
  if (rank != nullptr && std::uncaught_exceptions() > 0) {
    const std::string why = rank->why_broken();
    failure = cat(rank->name(index), ": its program left the world", why.empty() ? "" : ": ", why);
  }
  rank.reset();
  if (own_transport != nullptr) own_transport->leave(index, failure);
}

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
  std::string far_names;
  const host::TransportEntry* found = nullptr;
  for (const host::TransportEntry& entry : host::all_transports()) {
    if (entry.name == options.transport) found = &entry;
    names += (names.empty() ? "" : ", ") + std::string(entry.name);
    if (entry.reach == host::Reach::one_host) continue;
    far_names += (far_names.empty() ? "" : ", ") + std::string(entry.name);
  }
  if (found == nullptr) {
    refuse(cat("the transport is '", options.transport, "'; use one of ", names));
  } else if (options.membership && found->reach == host::Reach::one_host) {
    refuse(cat("the transport is ", options.transport,
               ", whose ranks are started by one process; ranks that are started one by one need ",
               far_names));
  }
  if (found != nullptr && options.same_host && found->reach == host::Reach::one_host) {
    refuse(cat("ranks of one host are to be ", to_string(*options.same_host), ", but all ranks of ",
               options.transport, " share memory; leave it out or use ", far_names));
  }
  if (options.membership) check_membership(options, refuse);
  if (!reasons.empty()) throw Error(ErrorKind::refused, reasons);
}

World::World(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
World::~World() = default;

std::vector<RankOutcome> World::spawn(const WorldOptions& options, const Main& main,
                                      const Progress& progress) {
  check_world_options(options);
  check_test_fault(options.transport, options.ranks);
  const auto transport =
      host::make_transport(options.transport, options.ranks, transport_options(options));
  const auto rank_main = [&](int rank) {
    if (!options.membership) fault_before_join(rank);
    World world(join(*transport, options, rank));
    world.barrier();
    return main(world);
  };
  const auto run = [&](const auto& how) { return how(*transport, rank_main, progress); };
  std::vector<host::RankOutcome> ended;
  if (options.membership) {
    const std::chrono::milliseconds timeout(options.timeout_ms);
    fault_before_join(options.membership->rank);
    ended = host::run_as_member(*transport, options.membership->rank, timeout, rank_main, progress);
  } else {
    ended = run(options.transport == "threads" ? host::run_as_threads : host::run_as_processes);
  }
  std::vector<RankOutcome> outcomes;
  for (host::RankOutcome& outcome : ended) {
    outcomes.push_back({outcome.exit_code, std::move(outcome.result), std::move(outcome.message),
                        outcome.secondary});
  }
  return outcomes;
}

std::unique_ptr<World> World::from_env(WorldOptions options) {
  if (!options.membership) options.membership = membership_from_env();
  if (!options.membership) options.membership = Membership{};
  options.ranks = options.membership->size;
  if (options.transport == WorldOptions{}.transport) options.transport = "tcp";
  check_world_options(options);
  auto transport =
      host::make_transport(options.transport, options.ranks, transport_options(options));
  auto impl = join(*transport, options, options.membership->rank);
  impl->own_transport = std::move(transport);
  std::unique_ptr<World> world(new World(std::move(impl)));
  world->barrier();
  return world;
}

std::unique_ptr<World> World::group(const std::vector<int>& members) {
  std::string text;
  for (const int member : members) text += cat(text.empty() ? "" : " ", member);
  agree("group", {{"members", text}});
  std::vector<bool> named(size());
  for (const int member : members) {
    if (member < 0 || member >= size() || named[member]) {
      throw Error(ErrorKind::refused,
                  cat("group: of its ranks ", text, ", rank ", member,
                      " is named twice or none of ", size(), "; name each member once"));
    }
    named[member] = true;
  }
  if (members.empty()) throw Error(ErrorKind::refused, "group: it has no ranks; name one or more");
  auto transport = impl_->transport->make_group(*impl_->rank, members);
  if (transport == nullptr) return nullptr;
  WorldOptions options = impl_->options;
  options.ranks = static_cast<int>(members.size());
  options.workers = workers();
  options.membership.reset();
  const auto place = std::ranges::find(members, rank()) - members.begin();
  auto impl = join(*transport, options, static_cast<int>(place), impl_->rank.get());
  impl->own_transport = std::move(transport);
  std::unique_ptr<World> made(new World(std::move(impl)));
  made->barrier();
  return made;
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
  host::HostRank& own_rank = *impl_->rank;
  const auto texts = own_rank.exchange("the comparison of " + subject, own);
  const auto first = parse_text(texts[0]);
  std::string reasons;
  for (int peer = 1; peer < size(); ++peer) {
    const auto other = parse_text(texts[peer]);
    for (const auto& [name, value] : first) {
      const auto found = other.find(name);
      const std::string seen = found == other.end() ? "missing" : found->second;
      if (seen == value) continue;
      reasons += cat(reasons.empty() ? "" : "\n", subject, ": ", name, " is ", seen, " on ",
                     own_rank.name(peer), " and ", value, " on ", own_rank.name(0),
                     "; give all ranks the same");
    }
    for (const auto& [name, value] : other) {
      if (first.contains(name)) continue;
      reasons += cat(reasons.empty() ? "" : "\n", subject, ": ", name, " is ", value, " on ",
                     own_rank.name(peer), " and missing on ", own_rank.name(0),
                     "; give all ranks the same");
    }
  }
  if (!reasons.empty()) throw Error(ErrorKind::refused, reasons);
}

}  // namespace tandem
