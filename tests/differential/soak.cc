// SPDX-License-Identifier: Apache-2.0
#include "soak.h"

#include <chrono>
#include <fstream>
#include <memory>
#include <thread>
#include <vector>

#include "base/strings.h"
#include "base/test_sanitizers.h"
#include "harness.h"
#include "tandem/error.h"

namespace tandem::differential {
namespace {

constexpr OperatorKind kOperatorKinds[] = {
    OperatorKind::all_to_all_matmul, OperatorKind::all_gather_matmul,
    OperatorKind::matmul_all_gather, OperatorKind::matmul_reduce_scatter};
constexpr int kDataSets = 2;
constexpr int kStragglesOneIn = 50;  // launches
constexpr int kStraggleUsMax = 3000;
constexpr int kMadeAnewOneIn = 40;  // launches
// A sanitizer keeps what was freed.
constexpr std::int64_t kGrowthKibMax =
    kAddressSanitizer || kThreadSanitizer ? INT64_MAX : std::int64_t{1024};

// Resident memory of this process, counted page by page.
std::int64_t resident_kib() {
  std::ifstream file("/proc/self/smaps_rollup");
  std::string word;
  std::int64_t kib = 0;
  while (file >> word) {
    if (word == "Rss:" && file >> kib) return kib;
  }
  throw Error(ErrorKind::environment, "soak: /proc/self/smaps_rollup cannot be read");
}

// `direct`: nothing is copied, where an operator can.
Problem problem_of(OperatorKind op, int ranks, bool wide, bool direct) {
  Problem problem;
  problem.op = op;
  problem.ranks = ranks;
  problem.m = wide ? 19 : 6;
  problem.n = wide ? 9 : 22;
  problem.k = wide ? 200 : 70;
  problem.tiles = wide ? 4 : 1;
  problem.dtype_c = wide ? OutputType::fp32 : OutputType::bf16;
  problem.bias = wide;
  const bool has_ring =
      op == OperatorKind::all_gather_matmul || op == OperatorKind::matmul_all_gather;
  if (wide && has_ring) problem.slots = 2;
  if (direct && op != OperatorKind::matmul_all_gather) problem.transfer = Transfer::direct;
  return problem;
}

// What an operator gets and gives at one m.
struct Shape {
  std::vector<Case> cases;  // one per set of inputs
  std::vector<std::unique_ptr<Data>> data;
  std::unique_ptr<Output> output;
};

struct Subject {
  Problem problem;
  std::vector<Shape> shapes;
  std::unique_ptr<Operator> op;
};

Shape make_shape(const World& world, const Problem& problem) {
  Shape shape;
  for (int set = 0; set < kDataSets; ++set) {
    Case one;
    one.problem = problem;
    one.inputs = set == 0 ? InputKind::coded : InputKind::normal;
    one.transport = world.options().transport;
    one.workers = world.workers();
    one.seed = static_cast<std::uint64_t>(set) + 11;
    shape.cases.push_back(one);
    shape.data.push_back(std::make_unique<Data>(one, world.rank()));
  }
  shape.output = std::make_unique<Output>(problem, world.rank());
  return shape;
}

std::vector<Subject> make_subjects(World& world) {
  std::vector<Subject> subjects;
  const std::string& transport = world.options().transport;
  const bool has_memory = transport == "shm" || transport == "threads";
  for (const OperatorKind kind : kOperatorKinds) {
    for (const bool wide : {false, true}) {
      Subject subject;
      subject.problem = problem_of(kind, world.size(), wide, wide && has_memory);
      for (const std::int64_t m : {subject.problem.m, subject.problem.m / 2, std::int64_t{1}}) {
        Problem smaller = subject.problem;
        smaller.m = m;
        subject.shapes.push_back(make_shape(world, smaller));
      }
      subject.op = std::make_unique<Operator>(world, subject.problem);
      subjects.push_back(std::move(subject));
    }
  }
  return subjects;
}

// All ranks draw the same launches; each has its own delays.
class SoakingRank {
 public:
  SoakingRank(World& world, std::uint64_t seed)
      : world_(world),
        draws_(seed),
        delays_(1000 * seed + world.rank()),
        subjects_(make_subjects(world)) {}

  std::string run(int first, int end) {
    for (int launch = first; launch < end; ++launch) {
      const std::string failure = run_one(launch);
      if (!failure.empty()) return failure;
    }
    return "";
  }

 private:
  std::string run_one(int launch) {
    Subject& subject = subjects_[draws_.below(subjects_.size())];
    Shape& shape = subject.shapes[draws_.below(subject.shapes.size())];
    const std::size_t set = draws_.below(kDataSets);
    if (draws_.below(kMadeAnewOneIn) == 0) {
      subject.op.reset();
      subject.op = std::make_unique<Operator>(world_, subject.problem);
    }
    if (subject.op->problem().m != shape.cases[0].problem.m) {
      subject.op->set_m(shape.cases[0].problem.m);
    }
    subject.op->prepare(shape.data[set]->inputs().b(world_.rank()));
    if (delays_.below(kStragglesOneIn) == 0) {
      const std::uint64_t us = delays_.below(kStraggleUsMax);
      std::this_thread::sleep_for(std::chrono::microseconds(us));
    }
    const Origin origin{shape.cases[set], world_.rank(), subject.op->rounds(), launch};
    return launch_and_compare(*subject.op, origin, *shape.data[set], *shape.output);
  }

  World& world_;
  Rng draws_;
  Rng delays_;
  std::vector<Subject> subjects_;
};

std::string soak_and_weigh(World& world, int launches) {
  SoakingRank rank(world, 7);
  std::string failure = rank.run(0, launches / 4);
  const std::int64_t settled_kib = resident_kib();
  if (failure.empty()) failure = rank.run(launches / 4, launches);
  if (!failure.empty()) return failure;
  const std::int64_t grown_kib = resident_kib() - settled_kib;
  world.progress(cat("rank ", world.rank(), ": ", launches, " launches, resident memory grew ",
                     grown_kib, " KiB of ", settled_kib));
  if (grown_kib < kGrowthKibMax) return "";
  return cat("resident memory grew by ", grown_kib, " KiB after the first ", launches / 4, " of ",
             launches, " launches");
}

}  // namespace

std::string soak_in(World& world, std::uint64_t seed, int launches) {
  return SoakingRank(world, seed).run(0, launches);
}

std::string run_soak(const Soak& soak) {
  // Each launch takes two values or more, so they pass 2^64 before the middle.
  const auto values = static_cast<std::uint64_t>(soak.launches);
  const WorldOptions options{
      .ranks = soak.ranks, .transport = soak.transport, .workers = 1, .epoch_start = 0 - values};
  return run_world(options, [&soak](World& world) { return soak_and_weigh(world, soak.launches); });
}

}  // namespace tandem::differential
