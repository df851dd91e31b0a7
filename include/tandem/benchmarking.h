// SPDX-License-Identifier: Apache-2.0
// How fast an operator is here, beside what one would use in its place. All arms run on the same
// ranks in turn, so that the machine's moods hit them alike; what counts are the ratios.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tandem/case.h"
#include "tandem/inputs.h"
#include "tandem/problem.h"
#include "tandem/types.h"
#include "tandem/world.h"

namespace tandem {

// | arm      | what runs                                                                          |
// |----------|------------------------------------------------------------------------------------|
// | fused    | the operator                                                                       |
// | serial   | its two halves one after the other, each in one round: our product, our collective |
// | baseline | FP8 through shared memory, dequantised, sgemm of a library, rounded                |
// | compute  | the fused plan's products alone                                                    |
// | comm     | the fused plan's transfers, barriers and reduction alone                           |
enum class BenchArm : std::uint8_t { fused, serial, baseline, compute, comm };
inline constexpr int kBenchArms = 5;

enum class BenchCaches : std::uint8_t { cold, warm };
// What products are in timed launches. sleep stands for an accelerator: a core is parked for as
// long as the product would take it, and its worker goes on. C then means nothing.
enum class BenchCompute : std::uint8_t { real, sleep };
enum class Pinning : std::uint8_t { on, off };
enum class SweepRounds : std::uint8_t { no, yes };

template <>
inline constexpr std::array<EnumName<BenchArm>, kBenchArms> kEnumNames<BenchArm>{
    {{BenchArm::fused, "fused"},
     {BenchArm::serial, "serial"},
     {BenchArm::baseline, "baseline"},
     {BenchArm::compute, "compute"},
     {BenchArm::comm, "comm"}}};
template <>
inline constexpr std::array<EnumName<BenchCaches>, 2> kEnumNames<BenchCaches>{
    {{BenchCaches::cold, "cold"}, {BenchCaches::warm, "warm"}}};
template <>
inline constexpr std::array<EnumName<BenchCompute>, 2> kEnumNames<BenchCompute>{
    {{BenchCompute::real, "real"}, {BenchCompute::sleep, "sleep"}}};
template <>
inline constexpr std::array<EnumName<Pinning>, 2> kEnumNames<Pinning>{
    {{Pinning::on, "on"}, {Pinning::off, "off"}}};

struct BenchOptions {
  // Empty: all. The baseline is then left out where no BLAS is found, over links, whose ranks share
  // no memory for its exchange, and beside products that sleep.
  std::vector<BenchArm> arms;
  BenchCaches caches = BenchCaches::cold;  // before each timed launch: a flush, or a warm-up launch
  Pinning pin = Pinning::on;               // ranks to cores of their own, where there are enough
  InputOptions inputs;
  int launches = 0;    // timed launches of each arm; 0: as many as fit into `seconds`
  double seconds = 3;  // of timed launches and flushes, a case
  BenchCompute compute = BenchCompute::real;
  // Of a rank whose products sleep, in 1e9 flop/s; none: products take as long as transfers.
  std::optional<double> sleep_gflops;
};

// Of the timed launches, each the maximum over the ranks.
struct BenchSpread {
  double median = 0;
  double low = 0;  // 10 % of the launches are below, 10 % above `high`
  double high = 0;
};

// The arm's time over the fused one's, launch by launch of neighbours in time; above 1 the fused
// operator is faster. The interval holds the true median with 95 %: order statistics.
struct BenchRatio {
  double median = 0;
  double low = 0;
  double high = 0;
};

struct BenchArmResult {
  BenchArm arm = BenchArm::fused;
  BenchSpread seconds;
  BenchRatio ratio;  // zero where the fused arm does not run
  int launches = 0;
  int flushes = 0;  // of every rank's caches; equals `launches` where caches are cold
};

struct BenchResult {
  Problem problem;
  BenchOptions options;
  Verdict verdict = Verdict::failed;
  int exit_code = 0;
  std::vector<std::string> messages;  // why it was refused or failed, or what is wrong
  std::vector<std::string> notes;     // arms that were left out, ranks that are not pinned
  std::string reproduce;
  int rounds = 0;
  int blocks = 0;
  std::vector<BenchArmResult> arms;
  std::string sgemm;   // library and layout of the baseline's product
  double masking = 0;  // (compute + comm − fused) / min(compute, comm); 0 without these arms
  double ideal_masking = 0;  // what the plan's rounds allow
  std::string cannot_hide;   // what they do not, in words
  std::string transport;
  double sleep_gflops = 0;    // of a rank, where products slept
  double flops = 0;           // of all ranks
  double bytes = 0;           // that all ranks must move at least: codes and scales of A and B, C
  // Flop/s of all ranks at once, from registers: FP32, and what our products are made of.
  double fma_peak = 0;
  double product_peak = 0;
  double read_bandwidth = 0;  // byte/s of all ranks at once, from memory
  std::int64_t flush_bytes = 0;       // of one rank
  std::int64_t checked_elements = 0;  // of the fused C, against the scalar reference
  double baseline_bound = 0;  // largest |baseline − exact| / bound on those, docs/numerics.md 9
};

// Plans, spawns a world for each case, checks the arms against each other, then times them. With a
// membership one world runs all cases, and every rank returns the same results. Does not throw for
// what happens to a case: the verdict says it.
std::vector<BenchResult> bench_cases(const WorldOptions& world,
                                     const std::vector<CaseOptions>& cases,
                                     const BenchOptions& options,
                                     const CaseProgress& progress = {});

// The case with 1, 2, 4, … rounds, while a round has 16 rows.
std::vector<CaseOptions> sweep_rounds(const CaseOptions& base);

// One row per case and arm. A ratio below 1 is marked: there the fused operator loses.
std::string bench_table(const std::vector<BenchResult>& results);
// "PASS 4/4": cases whose arms agree; losing is no failure.
std::string bench_verdict(const std::vector<BenchResult>& results);
int bench_exit_code(const std::vector<BenchResult>& results);
std::string bench_json(const std::vector<BenchResult>& results);
// The curve over tile counts as HTML, nothing loaded from elsewhere.
std::string bench_page(const std::vector<BenchResult>& results);

}  // namespace tandem
