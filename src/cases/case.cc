// SPDX-License-Identifier: Apache-2.0
#include "tandem/case.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>

#include "base/check.h"
#include "base/strings.h"
#include "cases/operand_files.h"
#include "cases/results.h"
#include "cases/shared_bytes.h"
#include "cases/test_fault.h"
#include "link_figures.h"
#include "ops/registry.h"
#include "problem_fields.h"
#include "tandem/error.h"

namespace tandem {
namespace {

// A case that may run, made before any rank exists.
struct PreparedCase {
  int index = 0;
  CaseOptions options;
  Plan plan;
  std::unique_ptr<OperandSource> source;
  std::unique_ptr<SharedBytes> out;  // C of all ranks, if a file wants it
  std::string command;
};

// Runs `step` and keeps its refusal.
template <typename Step>
void collect(std::vector<std::string>& reasons, const Step& step) {
  try {
    step();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::refused) throw;
    reasons.emplace_back(error.what());
  }
}

// What ranks must have in common beside the problem, or they wait or verify for different data.
std::vector<std::pair<std::string, std::string>> input_fields(const CaseOptions& options) {
  return {{"input", std::string(to_string(options.inputs.kind))},
          {"seed", std::to_string(options.inputs.seed)},
          {"scale-mode", std::string(to_string(options.inputs.scale_mode))},
          {"repeat", std::to_string(options.repeat)}};
}

std::vector<std::string> prepare(const WorldOptions& world, PreparedCase& prepared) {
  const CaseOptions& options = prepared.options;
  std::vector<std::string> reasons = options.reasons;
  if (!options.operator_name.empty()) return reasons;
  WorldOptions checked = world;
  checked.ranks = std::clamp(options.problem.ranks, 1, 64);  // the planner names bad counts
  collect(reasons, [&] { check_world_options(checked); });
  collect(reasons, [&] {
    prepared.plan = make_plan(options.problem, device_before(world, options.problem.ranks));
  });
  collect(reasons, [&] {
    auto fields = problem_fields(options.problem);
    std::ranges::copy(input_fields(options), std::back_inserter(fields));
    check_test_fault(world.transport, options.problem.ranks, fields);
  });
  const std::string name(to_string(options.problem.op));
  if (options.repeat < 1) {
    reasons.push_back(cat(name, ": --repeat is ", options.repeat, "; use 1 or more"));
  }
  if (world.membership && !options.files.out.empty()) {
    reasons.push_back(cat(name,
                          ": --out gathers C from ranks that share memory; leave it out, or "
                          "start all ranks with one command"));
  }
  if (options.unsound == UnsoundPlans::refused) {
    for (const std::string& why : prepared.plan.unsound) {
      reasons.push_back(cat(name, ": ", why, "; the variant exists to be checked, not to be run"));
    }
  }
  if (!reasons.empty()) return reasons;
  collect(reasons, [&] {
    prepared.source = make_operand_source(options.problem, options.inputs, options.files);
  });
  if (!options.files.out.empty()) {
    const Problem& problem = options.problem;
    prepared.out = std::make_unique<SharedBytes>(
        multiply({result_rows(problem), problem.n, element_bytes(problem.dtype_c)}));
  }
  return reasons;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// Launches as often as asked and returns what C was, up to two different answers.
std::vector<LaunchResult> launch(World& world, Operator& op, const PreparedCase& prepared,
                                 RankReport& report) {
  const Problem& problem = prepared.options.problem;
  Operands operands = lay_out(problem, *prepared.source, world.rank());
  op.prepare(operands.b());
  operands.b_codes = {};
  operands.b_scales = {};
  const Shapes held = op.shapes();
  std::vector<std::uint8_t> c(
      static_cast<std::size_t>(held.c_rows * held.c_columns * element_bytes(problem.dtype_c)));
  std::vector<LaunchResult> results;
  std::vector<double> seconds;
  for (int index = 0; index < prepared.options.repeat; ++index) {
    std::ranges::fill(c, Verifier::kPoison);
    world.barrier();
    fault_before_launch(world.rank(), index);
    const auto start = std::chrono::steady_clock::now();
    op.run(operands.a(), c.data(), operands.bias_or_null());
    seconds.push_back(seconds_since(start));
    const bool seen =
        std::ranges::any_of(results, [&](const LaunchResult& result) { return result.c == c; });
    if (!seen && results.size() < 2) results.push_back({index, c});
  }
  report.seconds = median(std::move(seconds));
  report.weights_bytes = op.weights_bytes();
  fault_in_result(world.rank(), problem.dtype_c, results[0].c);
  return results;
}

// The ranks meet after each step, so that none waits longer for a slower one than for a step.
void verify_in_steps(World& world, const PreparedCase& prepared,
                     std::span<const LaunchResult> results, RankReport& report) {
  VerifyOptions options;
  options.exact_work_max = prepared.options.exact_work_max;
  // 2^16 products take far less than a millisecond, also where ranks share a processor.
  options.step_work_max =
      std::min(options.step_work_max, multiply({world.options().timeout_ms, 1 << 16}));
  Verifier verifier(prepared.plan, *prepared.source, world.rank(), options);
  for (std::int64_t step = 0; step < verifier.steps(); ++step) {
    verifier.run_step(step, results);
    world.barrier();
    if (world.rank() == 0) {
      world.progress(cat("verifying ", step + 1, " of ", verifier.steps(), ": ", prepared.command));
    }
  }
  report.found = verifier.verification();
}

std::unique_ptr<Operator> make_agreed(World& world, const CaseOptions& options) {
  auto fields = input_fields(options);
  fault_in_fields(world.rank(), fields);
  world.agree(std::string(to_string(options.problem.op)), fields);
  return std::make_unique<Operator>(world, options.problem);
}

RankReport run_on_rank(World& world, const PreparedCase& prepared) {
  RankReport report;
  const Problem& problem = prepared.options.problem;
  std::unique_ptr<Operator> op;
  try {
    op = make_agreed(world, prepared.options);
  } catch (const Error& error) {
    // These are thrown on all ranks alike, so that the next case may go on.
    if (error.kind() != ErrorKind::refused && error.kind() != ErrorKind::environment) throw;
    report.verdict = error.kind() == ErrorKind::refused ? Verdict::refused : Verdict::failed;
    report.exit_code = exit_code(error.kind());
    report.message = error.what();
    return report;
  }
  report.rounds = op->rounds();
  report.window_bytes = op->window_bytes();
  const std::vector<LaunchResult> results = launch(world, *op, prepared, report);
  verify_in_steps(world, prepared, results, report);
  if (prepared.out != nullptr) {
    const std::int64_t row_bytes = problem.n * element_bytes(problem.dtype_c);
    const std::int64_t first = result_first_row(problem, world.rank());
    const bool writes = problem.op != OperatorKind::matmul_all_gather || world.rank() == 0;
    const std::vector<std::uint8_t>& c = results[0].c;
    if (writes && !c.empty()) {
      std::memcpy(prepared.out->data() + first * row_bytes, c.data(), c.size());
    }
  }
  return report;
}

using Group = std::span<PreparedCase* const>;

class GroupRun {
 public:
  GroupRun(const WorldOptions& world, Group group, const CaseProgress& progress)
      : world_(world), group_(group), progress_(progress), reports_(group.size()) {
    world_.ranks = group[0]->options.problem.ranks;
  }

  // Fills the results up to the first case that the world did not survive; returns how many.
  std::size_t run(std::vector<CaseResult>& results) {
    set_reproduce_line(group_[0]->command);
    std::vector<RankOutcome> outcomes;
    try {
      outcomes = World::spawn(
          world_, [this](World& world) { return rank_main(world); },
          [this](int, const std::string& line) { take_line(line); });
    } catch (const Error& error) {
      outcomes = {{exit_code(error.kind()), {}, error.what(), false}};
    }
    for (std::size_t i = 0; i < group_.size(); ++i) {
      CaseResult& result = results[group_[i]->index];
      if (static_cast<int>(reports_[i].size()) < world_.ranks) {
        note_world_failure(outcomes, result);
        return i + 1;
      }
      merge_reports(reports_[i], result);
      if (group_[i]->out != nullptr && has_run(result)) save(*group_[i], result);
    }
    return group_.size();
  }

 private:
  std::string rank_main(World& world) {
    const bool own_process = world_.transport != "threads";
    for (std::size_t i = 0; i < group_.size(); ++i) {
      // Threads of one process share the line; it then names the first case.
      if (own_process) set_reproduce_line(group_[i]->command);
      if (world.rank() == 0) world.progress(group_[i]->command);
      RankReport report = run_on_rank(world, *group_[i]);
      report.case_index = static_cast<int>(i);
      world.progress(to_json(report));
    }
    return {};
  }

  void take_line(const std::string& line) {
    const std::scoped_lock lock(mutex_);  // ranks that are threads call this at the same time
    if (is_rank_report(line)) {
      const RankReport report = parse_rank_report(line);
      reports_[report.case_index].push_back(report);
    } else if (progress_) {
      progress_(line);
    }
  }

  static void save(const PreparedCase& prepared, CaseResult& result) {
    try {
      write_result(prepared.options.files.out, prepared.options.problem, prepared.out->bytes());
    } catch (const Error& error) {
      result.verdict = Verdict::failed;
      result.exit_code = exit_code(error.kind());
      result.messages.emplace_back(error.what());
    }
  }

  WorldOptions world_;
  Group group_;
  const CaseProgress& progress_;
  std::mutex mutex_;
  std::vector<std::vector<RankReport>> reports_;
};

bool is_interrupted(const CaseResult& result) {
  return result.exit_code > 128 && result.exit_code != 134;
}

// Fills in what is known without a run. False: refused.
bool start_result(const WorldOptions& world, PreparedCase& prepared, CaseResult& result) {
  const CaseOptions& options = prepared.options;
  result.problem = options.problem;
  result.seed = options.inputs.seed;
  result.operator_name = options.operator_name.empty() ? std::string(to_string(options.problem.op))
                                                       : options.operator_name;
  prepared.command = command_line(world, options);
  result.reproduce = prepared.command;
  try {
    result.messages = prepare(world, prepared);
    result.verdict = Verdict::refused;
    result.exit_code = exit_code(ErrorKind::refused);
  } catch (const Error& error) {
    result.messages = {error.what()};
    result.exit_code = exit_code(error.kind());
  }
  if (!result.messages.empty()) return false;
  result.verdict = Verdict::failed;
  result.blocks = prepared.plan.blocks;
  result.slots = prepared.plan.slots;
  result.order = prepared.plan.order;
  result.notes = prepared.plan.notes;
  return true;
}

}  // namespace

std::vector<CaseResult> run_cases(const WorldOptions& world, const std::vector<CaseOptions>& cases,
                                  const CaseProgress& progress) {
  std::vector<CaseResult> results(cases.size());
  std::vector<std::unique_ptr<PreparedCase>> prepared;
  std::vector<PreparedCase*> waiting;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    auto& made = prepared.emplace_back(std::make_unique<PreparedCase>());
    made->index = static_cast<int>(i);
    made->options = cases[i];
    if (start_result(world, *made, results[i])) waiting.push_back(made.get());
  }
  std::size_t done = 0;
  while (done < waiting.size()) {
    std::size_t end = done + 1;
    while (end < waiting.size() &&
           waiting[end]->options.problem.ranks == waiting[done]->options.problem.ranks) {
      ++end;
    }
    const Group group{waiting.data() + done, end - done};
    done += GroupRun(world, group, progress).run(results);
    const CaseResult& last = results[waiting[done - 1]->index];
    const bool interrupted = is_interrupted(last);
    // Ranks that were started elsewhere may be gone: nobody is there to make a new world with.
    const bool ended = world.membership && last.verdict == Verdict::failed;
    if (!interrupted && !ended) continue;
    for (std::size_t i = done; i < waiting.size(); ++i) {
      CaseResult& skipped = results[waiting[i]->index];
      skipped.exit_code = last.exit_code;
      skipped.messages = {interrupted ? "not run: interrupted" : "not run: the world has ended"};
    }
    break;
  }
  return results;
}

CaseResult run_case(const WorldOptions& world, const CaseOptions& options,
                    const CaseProgress& progress) {
  return run_cases(world, {options}, progress)[0];
}

}  // namespace tandem
