// SPDX-License-Identifier: Apache-2.0
// The options that commands share. A value that makes no sense does not end the parse: its reason
// is kept, so that the user learns of everything at once.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tandem/case.h"
#include "tandem/inputs.h"
#include "tandem/world.h"

namespace tandem::cli {

struct Request {
  std::string command;        // "tandem run", opens each message
  std::string operator_word;  // of OPERATOR
  Extents given;
  CaseOptions options;
  WorldOptions world;
  std::string device = "host";
  std::int64_t rank = 0;  // of --rank; see membership.h
  std::int64_t size = 0;
  std::string root;
  std::string job;
  std::vector<std::string> reasons;

  void refuse(const std::string& observation, const std::string& remedy);
  // Refuses a result file that could not be written: better now than after an hour. Makes none.
  // False: refused.
  bool check_output(const std::string& option, const std::string& path);
  // Runs `step` and keeps its refusal among the reasons; other errors pass.
  void collect(const std::function<void()>& step);
  // Prints the reasons, if there are any; then the command ends with exit code 2.
  bool is_refused() const;
};

// OPERATOR, shapes, types and variants: everything in a Problem.
void add_problem_options(CLI::App& app, Request& request);
// What operands are drawn from.
void add_input_options(CLI::App& app, Request& request);
// How the ranks run.
void add_world_options(CLI::App& app, Request& request);
// Both, and files and repetitions.
void add_run_options(CLI::App& app, Request& request);
void add_workers_option(CLI::App& app, Request& request);
CLI::Option* add_ranks_option(CLI::App& app, Request& request, const std::string& help);
void add_timeout_option(CLI::App& app, Request& request);

// An option with a whole number. The target stays as it is where the text is none.
CLI::Option* add_number(CLI::App& app, Request& request, const std::string& name,
                        std::int64_t& target, const std::string& help);
CLI::Option* add_number(CLI::App& app, Request& request, const std::string& name,
                        std::optional<std::int64_t>& target, const std::string& help);

enum class AllOperators { allowed, refused };

// The operators that OPERATOR names; none, and a reason, if it names none.
std::vector<OperatorKind> operators_of(Request& request, AllOperators all);

// The problem of one operator: with its default extents where none is given.
Problem problem_of(const Request& request, OperatorKind op);

}  // namespace tandem::cli
