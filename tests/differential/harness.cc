// SPDX-License-Identifier: Apache-2.0
#include "harness.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <sstream>

#include "base/strings.h"
#include "host/transport/transport.h"
#include "ops/registry.h"
#include "reference_api.h"
#include "report/device_json.h"
#include "tandem/error.h"

namespace tandem::differential {
namespace {

constexpr char kSeparator = '\x1f';  // between the texts of a rank's result
constexpr std::size_t kFailuresShown = 5;
constexpr std::string_view kShared = "_shared";

// What one rank did with its cases.
struct RankSummary {
  std::int64_t cases = 0;
  std::int64_t elements = 0;
  std::vector<std::string> failures;
};

std::string to_text(const RankSummary& summary) {
  std::string text = cat(summary.cases, kSeparator, summary.elements);
  for (const std::string& failure : summary.failures) text += kSeparator + failure;
  return text;
}

RankSummary parse_summary(const std::string& text) {
  RankSummary summary;
  std::istringstream stream(text);
  std::string part;
  if (std::getline(stream, part, kSeparator)) summary.cases = std::stoll(part);
  if (std::getline(stream, part, kSeparator)) summary.elements = std::stoll(part);
  while (std::getline(stream, part, kSeparator)) summary.failures.push_back(part);
  return summary;
}

void run_case(World& world, const Case& one, const Options& options, DataCache& cache,
              RankSummary& summary) {
  Operator op(world, one.problem);
  const Data& data = cache.get(one, world.rank());
  Output output(one.problem, world.rank());
  op.prepare(data.inputs().b(world.rank()));
  for (int launch = 0; launch < options.launches; ++launch) {
    const Origin origin{one, world.rank(), op.rounds(), launch};
    const std::string failure = launch_and_compare(op, origin, data, output);
    summary.elements +=
        static_cast<std::int64_t>(output.view().size()) / element_bytes(one.problem.dtype_c);
    if (failure.empty()) continue;
    summary.failures.push_back(failure);
    break;
  }
  ++summary.cases;
}

std::string run_group(World& world, std::span<const Case* const> cases, const Options& options) {
  RankSummary summary;
  DataCache cache;
  for (const Case* one : cases) {
    try {
      run_case(world, *one, options, cache, summary);
    } catch (const Error& error) {
      const std::string text = cat(error.what(), "; ", reproduce(*one));
      // A refusal is the same on all ranks and leaves the world whole; nothing else does.
      if (error.kind() != ErrorKind::refused) throw Error(error.kind(), text);
      summary.failures.push_back(text);
    }
    if (world.rank() == 0 && options.progress) world.progress("");
  }
  return to_text(summary);
}

Summary summarise(const std::vector<RankOutcome>& outcomes, std::size_t case_count) {
  Summary summary;
  summary.cases = static_cast<std::int64_t>(case_count);
  for (std::size_t rank = 0; rank < outcomes.size(); ++rank) {
    const RankOutcome& outcome = outcomes[rank];
    if (outcome.exit_code != 0) {
      summary.cases = 0;
      summary.failures.push_back(
          cat("rank ", rank, " ended with ", outcome.exit_code, ": ", outcome.message));
      continue;
    }
    const RankSummary part = parse_summary(outcome.result);
    summary.cases = std::min(summary.cases, part.cases);
    summary.elements += part.elements;
    summary.failures.insert(summary.failures.end(), part.failures.begin(), part.failures.end());
  }
  return summary;
}

}  // namespace

Data::Data(const Case& one, int rank)
    : inputs_(one.problem, one.inputs, one.seed),
      reference_(make_reference(one.problem, inputs_, rank, one.inputs != InputKind::extreme)) {}

Reference make_reference(const Problem& problem, const Inputs& inputs, int rank, bool wants_exact) {
  const Plan plan = make_plan(problem, load_device("host"));
  std::vector<CanonicalOperands> held;
  std::vector<RankOperands> views;
  for (int i = 0; i < problem.ranks; ++i) {
    held.emplace_back(problem, i, inputs.a(i), inputs.b(i), inputs.bias(i));
    views.push_back(held.back().view);
  }
  Reference out;
  out.wants_exact = wants_exact;
  find_operator(problem.op).reference(plan, views, rank, out);
  return out;
}

const Data& DataCache::get(const Case& one, int rank) {
  std::string key = data_key(one);
  if (data_ == nullptr || key != key_) {
    data_ = std::make_unique<Data>(one, rank);
    key_ = std::move(key);
  }
  return *data_;
}

std::string launch_and_compare(Operator& op, const Origin& origin, const Data& data,
                               Output& output) {
  output.poison();
  op.run(data.inputs().a(origin.rank), output.c(), data.inputs().bias(origin.rank));
  if (!output.canaries_are_whole()) {
    return cat(to_string(origin.one.problem.op), " on rank ", origin.rank, ", launch ",
               origin.launch, ": bytes beside C were written; ", reproduce(origin.one));
  }
  std::string failure = compare(origin, output.view(), data.reference().c);
  if (failure.empty() && data.is_finite()) {
    failure = compare_with_bound(origin, data.reference(), output.view());
  }
  return failure;
}

void Summary::add(const Summary& other) {
  cases += other.cases;
  elements += other.elements;
  failures.insert(failures.end(), other.failures.begin(), other.failures.end());
}

std::string Summary::text() const {
  std::string text = cat(failures.size(), " failures");
  for (std::size_t i = 0; i < failures.size() && i < kFailuresShown; ++i) {
    text += '\n' + failures[i];
  }
  return text;
}

Summary run_cases(std::span<const Case> cases, const Options& options) {
  std::map<std::string, std::vector<const Case*>> groups;
  for (const Case& one : cases) groups[world_key(one)].push_back(&one);
  Summary summary;
  std::int64_t done = 0;
  for (const auto& [key, group] : groups) {
    const Case& first = *group.front();
    const WorldOptions world{.ranks = first.problem.ranks,
                             .transport = first.transport,
                             .timeout_ms = options.timeout_ms,
                             .workers = first.workers,
                             .epoch_start = options.epoch_start,
                             .membership = options.membership};
    const auto main = [&](World& rank) { return run_group(rank, group, options); };
    const auto progress = [&](int, const std::string&) {
      ++done;
      if (options.progress) options.progress(done);
    };
    summary.add(summarise(World::spawn(resolve_transport(world), main, progress), group.size()));
  }
  return summary;
}

WorldOptions resolve_transport(WorldOptions options) {
  if (!options.transport.ends_with(kShared)) return options;
  options.transport.resize(options.transport.size() - kShared.size());
  options.same_host = SameHost::shared;
  return options;
}

bool is_built(std::string_view transport) {
  if (transport.ends_with(kShared)) transport.remove_suffix(kShared.size());
  return std::ranges::any_of(host::all_transports(),
                             [transport](const host::TransportEntry& entry) {
                               return entry.name == transport && entry.built == host::Built::yes;
                             });
}

std::string run_world(const WorldOptions& options, const std::function<std::string(World&)>& main) {
  std::string failures;
  const auto print = [](int, const std::string& line) { std::printf("%s\n", line.c_str()); };
  const auto outcomes = World::spawn(resolve_transport(options), main, print);
  for (std::size_t rank = 0; rank < outcomes.size(); ++rank) {
    const RankOutcome& outcome = outcomes[rank];
    if (outcome.exit_code == 0 && outcome.result.empty()) continue;
    failures += cat("rank ", rank, " on ", options.transport, " ended with ", outcome.exit_code,
                    ": ", outcome.result, outcome.message, "\n");
  }
  return failures;
}

}  // namespace tandem::differential
