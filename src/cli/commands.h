// SPDX-License-Identifier: Apache-2.0
// The commands. Each adds itself to the program and, when it was asked for, runs and sets the exit
// code.
#pragma once

#include <CLI/CLI.hpp>

namespace tandem::cli {

void add_run(CLI::App& program, int& exit_code);
void add_bench(CLI::App& program, int& exit_code);
void add_check(CLI::App& program, int& exit_code);
void add_plan(CLI::App& program, int& exit_code);
void add_route(CLI::App& program, int& exit_code);
void add_list(CLI::App& program, int& exit_code);
void add_simulate(CLI::App& program, int& exit_code);
void add_selftest(CLI::App& program, int& exit_code);

}  // namespace tandem::cli
