// SPDX-License-Identifier: Apache-2.0
#include "cli/request.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <limits>
#include <system_error>

#include "cli/output.h"
#include "tandem/error.h"

namespace tandem::cli {
namespace {

template <typename E>
std::string words_of(const char* separator) {
  std::string words;
  for (const auto& [enumerator, name] : kEnumNames<E>) {
    words += fmt::format("{}{}", words.empty() ? "" : separator, name);
  }
  return words;
}

template <typename E>
void add_word(CLI::App& app, Request& request, const std::string& name, E& target,
              const std::string& help) {
  const auto take = [&request, &target, name](const std::string& text) {
    if (const auto parsed = try_parse<E>(text)) {
      target = *parsed;
    } else {
      request.refuse(fmt::format("{} is '{}'", name, text), "use one of " + words_of<E>(", "));
    }
  };
  app.add_option_function<std::string>(name, take, fmt::format("{} [{}]", help, to_string(target)))
      ->type_name(words_of<E>("|"));
}

template <typename T>
struct IntegerOf {
  using Type = T;
};
template <typename T>
struct IntegerOf<std::optional<T>> {
  using Type = T;
};

// T is an integer or an optional one.
template <typename T>
CLI::Option* add_integer(CLI::App& app, Request& request, const std::string& name, T& target,
                         const std::string& help) {
  using Integer = typename IntegerOf<T>::Type;
  const auto take = [&request, &target, name](const std::string& text) {
    Integer value{};
    const char* end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, value);
    if (!text.empty() && parsed.ec == std::errc() && parsed.ptr == end) {
      target = value;
    } else {
      request.refuse(
          fmt::format("{} is '{}'", name, text),
          fmt::format("use a whole number from {} to {}", std::numeric_limits<Integer>::min(),
                      std::numeric_limits<Integer>::max()));
    }
  };
  return app.add_option_function<std::string>(name, take, help)->type_name("N");
}

struct DefaultShape {
  std::int64_t m, n, k;
};

// A few hundred milliseconds each, with odd rows, columns that split unevenly and short groups.
DefaultShape default_shape(OperatorKind op) {
  switch (op) {
    case OperatorKind::all_to_all_matmul:
      return {250, 517, 2000};
    case OperatorKind::all_gather_matmul:
      return {256, 512, 1024};
    case OperatorKind::matmul_all_gather:
      return {509, 1030, 1000};
    case OperatorKind::matmul_reduce_scatter:
      return {1022, 512, 768};
  }
  return {};
}

void add_variant_options(CLI::App& app, Request& request) {
  Problem& problem = request.options.problem;
  add_integer(app, request, "--blocks", problem.blocks, "pairs of a cube and a vector core");
  add_word(app, request, "--cores", problem.cores, "roles of vector cores (reduce-scatter)");
  add_word(app, request, "--flags", problem.flags, "flag ids: one that counts, or by round");
  add_word(app, request, "--reduction", problem.reduction, "rows per vector operation");
  add_word(app, request, "--product", problem.product, "one product of fragments, or one per rank");
  add_word(app, request, "--ub", problem.ub, "unified buffer: static offsets or queues");
  add_word(app, request, "--strided", problem.strided, "copies of long rows");
  add_word(app, request, "--barrier", problem.barrier, "arrival words of the barrier");
  add_word(app, request, "--fence", problem.fence, "who fences in reduce-scatter");
  add_word(app, request, "--transfer", problem.transfer, "copy to the peer, or read in place");
}

}  // namespace

void Request::refuse(const std::string& observation, const std::string& remedy) {
  reasons.push_back(fmt::format("{}: {}; {}", command, observation, remedy));
}

bool Request::check_output(const std::string& option, const std::string& path) {
  if (path.empty()) return true;
  const std::filesystem::path file(path);
  std::error_code error;
  const bool exists = std::filesystem::exists(file, error);
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  const bool writable =
      exists ? !std::filesystem::is_directory(file, error) && access(path.c_str(), W_OK) == 0
             : std::filesystem::is_directory(folder, error) && access(folder.c_str(), W_OK) == 0;
  if (writable) return true;
  refuse(fmt::format("{} {} cannot be written", option, path),
         "name a file in a folder that exists and may be written");
  return false;
}

void Request::collect(const std::function<void()>& step) {
  try {
    step();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::refused) throw;
    reasons.emplace_back(error.what());
  }
}

bool Request::is_refused() const {
  print_reasons(reasons);
  return !reasons.empty();
}

CLI::Option* add_number(CLI::App& app, Request& request, const std::string& name,
                        std::int64_t& target, const std::string& help) {
  return add_integer(app, request, name, target, help);
}

CLI::Option* add_number(CLI::App& app, Request& request, const std::string& name,
                        std::optional<std::int64_t>& target, const std::string& help) {
  return add_integer(app, request, name, target, help);
}

void add_problem_options(CLI::App& app, Request& request) {
  Problem& problem = request.options.problem;
  app.add_option("OPERATOR", request.operator_word, "name of an operator; see 'tandem list'");
  add_ranks_option(app, request, "ranks [4]");
  add_integer(app, request, "-m", request.given.m,
              "rows: of a rank for all-gather-matmul and all-to-all-matmul, else of all");
  add_integer(app, request, "-n", request.given.n, "columns of C");
  add_integer(app, request, "-k", request.given.k, "length of the products; all-to-all splits it");
  add_word(app, request, "--dtype-a", problem.dtype_a, "elements of A");
  add_word(app, request, "--dtype-b", problem.dtype_b, "elements of B");
  add_word(app, request, "--dtype-c", problem.dtype_c, "elements of C");
  add_word(app, request, "--staging", problem.staging, "partial results of reduce-scatter");
  app.add_flag("--trans-a", problem.trans_a, "A is given as [k, m]");
  app.add_flag("--trans-b", problem.trans_b, "B is given as [n, k]");
  add_integer(app, request, "--local-matmul", problem.local_matmul,
              "all-to-all: 0 fused, 1 own part first, 2 deferred wait [0]");
  add_integer(app, request, "--tiles", problem.tiles, "rounds of communication");
  add_integer(app, request, "--tile-rows", problem.tile_rows, "rows of one round, in its place");
  add_word(app, request, "--tail", problem.tail, "the last slice on an accelerator");
  add_integer(app, request, "--slots", problem.slots, "ring slots of a window; 0: one a round [0]");
  add_variant_options(app, request);
}

CLI::Option* add_ranks_option(CLI::App& app, Request& request, const std::string& help) {
  return add_integer(app, request, "-R,--ranks", request.options.problem.ranks, help);
}

void add_timeout_option(CLI::App& app, Request& request) {
  add_integer(app, request, "--timeout-ms", request.world.timeout_ms, "of every wait [30000]");
}

void add_workers_option(CLI::App& app, Request& request) {
  add_integer(app, request, "--workers", request.world.workers,
              "threads of a rank; default: its share of the processors");
}

void add_input_options(CLI::App& app, Request& request) {
  InputOptions& inputs = request.options.inputs;
  add_word(app, request, "--input", inputs.kind, "values of the operands");
  add_integer(app, request, "--seed", inputs.seed, "of the operands [1]");
  add_word(app, request, "--scale-mode", inputs.scale_mode, "choice of the group scales");
}

void add_world_options(CLI::App& app, Request& request) {
  app.add_option("--transport", request.world.transport, "shm, threads, tcp or ucx [shm]")
      ->type_name("NAME");
  add_timeout_option(app, request);
  add_workers_option(app, request);
}

void add_run_options(CLI::App& app, Request& request) {
  CaseOptions& options = request.options;
  add_input_options(app, request);
  app.add_option("--a", options.files.a, "A of all ranks from a .npy file, FP32 or FP16")
      ->type_name("FILE");
  app.add_option("--b", options.files.b, "B of all ranks from a .npy file")->type_name("FILE");
  app.add_option("--out", options.files.out,
                 "C of all ranks to a .npy file: FP16 for fp16, else FP32 (bf16 is widened)")
      ->type_name("FILE");
  add_integer(app, request, "--repeat", options.repeat, "launches, each of them checked [1]");
  add_world_options(app, request);
  add_integer(app, request, "--epoch-start", request.world.epoch_start,
              "first value of the barrier words [0]");
  app.add_flag_callback(
         "--allow-unsound", [&options] { options.unsound = UnsoundPlans::allowed; },
         "run variants that are wrong by design")
      ->group("");
}

std::vector<OperatorKind> operators_of(Request& request, AllOperators all) {
  std::vector<OperatorKind> kinds;
  std::string names;
  const bool wants_all = all == AllOperators::allowed && request.operator_word == "all";
  for (const auto& [kind, name] : kEnumNames<OperatorKind>) {
    if (wants_all || request.operator_word == name) kinds.push_back(kind);
    names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
  }
  if (kinds.empty()) {
    if (all == AllOperators::allowed) names += ", all";
    const std::string& word = request.operator_word;
    request.refuse(
        word.empty() ? "no operator is named" : fmt::format("operator '{}' is unknown", word),
        "use one of " + names);
  }
  return kinds;
}

Problem problem_of(const Request& request, OperatorKind op) {
  Problem problem = request.options.problem;
  const DefaultShape shape = default_shape(op);
  problem.op = op;
  problem.m = request.given.m.value_or(shape.m);
  problem.n = request.given.n.value_or(shape.n);
  problem.k = request.given.k.value_or(shape.k);
  return problem;
}

}  // namespace tandem::cli
