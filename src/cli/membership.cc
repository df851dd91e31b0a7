// SPDX-License-Identifier: Apache-2.0
#include "cli/membership.h"

#include "tandem/error.h"

namespace tandem::cli {
namespace {

constexpr const char* kRank = "--rank";
constexpr const char* kSize = "--size";
constexpr const char* kRoot = "--root";
constexpr const char* kJob = "--job";
constexpr const char* kSameHost = "--same-host";

}  // namespace

void add_membership_options(CLI::App& app, Request& request) {
  add_number(app, request, kRank, request.rank,
             "this process is one rank, the others are started elsewhere");
  add_number(app, request, kSize, request.size, "how many ranks are started");
  app.add_option(kRoot, request.root, "where rank 0 listens, the same on all ranks")
      ->type_name("HOST:PORT");
  app.add_option(kJob, request.job, "a word that ranks of other jobs do not know")
      ->type_name("WORD");
  const auto take = [&request](const std::string& text) {
    request.world.same_host = try_parse<SameHost>(text);
    if (request.world.same_host) return;
    request.refuse("--same-host is '" + text + "'", "use one of shared, linked");
  };
  app.add_option_function<std::string>(
         kSameHost, take,
         "ranks of one host: by memory, or by the link [shared if started one by one, else linked]")
      ->type_name("shared|linked");
}

void take_membership(const CLI::App& app, Request& request) {
  const bool has_rank = app.count(kRank) > 0;
  const bool has_size = app.count(kSize) > 0;
  std::optional<Membership> seat;
  try {
    seat = membership_from_env();
  } catch (const Error& error) {
    if (!has_rank) request.reasons.emplace_back(error.what());
  }
  if (has_rank != has_size) {
    request.refuse("--rank and --size go together", "give both, or none");
  }
  if (has_rank && has_size) {
    if (!seat) seat = Membership{};
    seat->rank = static_cast<int>(request.rank);
    seat->size = static_cast<int>(request.size);
  }
  if (!seat) {
    if (app.count(kRoot) > 0) request.refuse("--root is given without --rank", "give both");
    return;
  }
  if (app.count(kRoot) > 0) seat->root = request.root;
  if (app.count(kJob) > 0) seat->job = request.job;
  if (app.count("--ranks") == 0) request.options.problem.ranks = seat->size;
  if (app.count("--transport") == 0) request.world.transport = "tcp";
  request.world.membership = seat;
}

}  // namespace tandem::cli
