// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>
#include <string>

#include "cli/commands.h"
#include "tandem/error.h"
#include "tandem/version.h"

namespace tandem::cli {
namespace {

constexpr const char* kFooter =
    "exit codes: 0 pass, 1 wrong result, 2 refused, 3 time-out or lost rank, 4 a check found "
    "something,\n5 something is lacking, 130 interrupted, 134 a bug of this program";

// "tandem run", or "tandem" where no command was recognised.
std::string command_of(const CLI::App& program) {
  for (const CLI::App* command : program.get_subcommands()) return "tandem " + command->get_name();
  return "tandem";
}

std::string command_names(const CLI::App& program) {
  std::string names;
  for (const CLI::App* command : program.get_subcommands({})) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", command->get_name());
  }
  return names;
}

int refuse(const CLI::App& program, const CLI::ParseError& error, const char* first_argument) {
  const std::string command = command_of(program);
  std::string observation = error.what();
  std::ranges::replace(observation, '\n', ' ');
  if (command == "tandem") {
    if (first_argument != nullptr && *first_argument != '-') {
      observation = fmt::format("command '{}' is unknown", first_argument);
    }
    fmt::print(stderr, "tandem: {}; use one of {}\n", observation, command_names(program));
    return exit_code(ErrorKind::refused);
  }
  fmt::print(stderr, "{}: {}; '{} --help' lists what there is\n", command, observation, command);
  return exit_code(ErrorKind::refused);
}

// A table that nobody received is no success: the disk behind stdout may be full.
int written(int code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  fmt::print(stderr, "tandem: the output could not be written; free some space\n");
  return code == 0 ? exit_code(ErrorKind::environment) : code;
}

int main(int argc, char** argv) {
  CLI::App program("Fused communication-computation operators, checked to the bit.", "tandem");
  program.set_version_flag("--version", fmt::format("tandem {}", kVersion));
  program.require_subcommand(1);
  program.footer(kFooter);
  int code = 0;
  add_run(program, code);
  add_bench(program, code);
  add_check(program, code);
  add_plan(program, code);
  add_route(program, code);
  add_list(program, code);
  add_simulate(program, code);
  add_selftest(program, code);
  try {
    program.parse(argc, argv);
  } catch (const CLI::Success& success) {
    return program.exit(success);  // help or version
  } catch (const CLI::ParseError& error) {
    return refuse(program, error, argv[1]);
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return exit_code(error.kind());
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "tandem: out of memory; use a smaller shape\n");
    return exit_code(ErrorKind::environment);
  }
  return written(code);
}

}  // namespace
}  // namespace tandem::cli

int main(int argc, char** argv) { return tandem::cli::main(argc, argv); }
