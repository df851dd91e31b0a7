// SPDX-License-Identifier: Apache-2.0
#include "check/mutants/generated_mutants.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/strings.h"
#include "check/mutants/data_flow.h"
#include "check/mutants/sound_configurations.h"
#include "check/schedules.h"

namespace tandem::check {
namespace {

using Site3 = std::tuple<CoreKind, Verb, std::string_view, int>;

struct Place {
  Where where;
  std::string name;
  VerbRecord first;  // the first call from there
};

bool is_transfer(Verb verb) { return verb == Verb::write_nbi || verb == Verb::read_nbi; }

bool is_mutated(Verb verb) {
  constexpr Verb kVerbs[] = {Verb::set_flag,   Verb::wait_flag,    Verb::gate,
                             Verb::sync_all,   Verb::pipe_barrier, Verb::set_event,
                             Verb::wait_event, Verb::store_epoch,  Verb::wait_epoch,
                             Verb::drain,      Verb::write_nbi,    Verb::read_nbi};
  return std::ranges::find(kVerbs, verb) != std::end(kVerbs);
}

// "all_gather_matmul/kernel.cc"
std::string_view short_file(std::string_view file) {
  const std::size_t name = file.rfind('/');
  if (name == std::string_view::npos || name == 0) return file;
  const std::size_t folder = file.rfind('/', name - 1);
  return folder == std::string_view::npos ? file : file.substr(folder + 1);
}

std::vector<Place> places_of(const BuiltProgram& correct) {
  std::map<Site3, VerbRecord> sites;
  for (std::size_t rank = 0; rank < correct.program.ranks.size(); ++rank) {
    for (const CoreRecording& core :
         record_launch(correct.program.ranks[rank].launch, static_cast<int>(rank))) {
      for (const VerbRecord& call : core.verbs) {
        if (!is_mutated(call.verb)) continue;
        sites.emplace(Site3{core.kind, call.verb, call.site.file, call.site.line}, call);
      }
    }
  }
  std::vector<Place> places;
  std::map<std::tuple<CoreKind, Verb, std::string_view>, int> numbers;
  for (const auto& [site, call] : sites) {
    const auto& [kind, verb, file, line] = site;
    const int number = ++numbers[{kind, verb, file}];
    Where where{.kind = kind, .verb = verb, .file_end = file, .site_number = number};
    places.push_back(
        {where, cat(to_string(kind), " ", to_string(verb), " ", short_file(file), "#", number),
         call});
  }
  return places;
}

class Generator {
 public:
  explicit Generator(const BuiltProgram& correct) : ranks_(correct.plan(0).ranks) {
    for (const Place& place : places_of(correct)) {
      drops(place);
      moves(place);
      parameters(place);
      if (is_transfer(place.where.verb)) extents(place);
    }
  }
  std::vector<GeneratedMutant> take() { return std::move(mutants_); }

 private:
  void add_mutant(const Place& place, const Where& where, Edit edit, std::string_view what) {
    mutants_.push_back({cat(place.name, ": ", what), {.edits = {{where, std::move(edit)}}}});
  }

  void drops(const Place& place) {
    const Where& where = place.where;
    add_mutant(place, where, drop(), "dropped");
    add_mutant(place, where.block(0), drop(), "dropped on block 0");
    add_mutant(place, where.rank(0), drop(), "dropped on rank 0");
    add_mutant(place, where.nth(1), drop(), "first dropped");
    add_mutant(place, where.nth(2), drop(), "second dropped");
    add_mutant(place, where.nth(-1), drop(), "last dropped");
    add_mutant(place, where.launch(1), drop(), "dropped in launch 1");
    if (!is_transfer(where.verb)) add_mutant(place, where.nth(1), duplicate(), "first doubled");
  }

  void moves(const Place& place) {
    add_mutant(place, place.where, earlier(1), "one call earlier");
    add_mutant(place, place.where, tandem::check::later(1), "one call later");
    if (is_transfer(place.where.verb)) {
      add_mutant(place, place.where, swap_with_next(), "changes places with the next");
    }
  }

  void parameters(const Place& place) {
    const Verb verb = place.where.verb;
    if (verb == Verb::set_flag || verb == Verb::gate || verb == Verb::pipe_barrier) {
      for (Pipe other : {Pipe::mte1, Pipe::mte2, Pipe::mte3, Pipe::m, Pipe::v, Pipe::fix}) {
        if (other == place.first.pipe) continue;
        add_mutant(place, place.where, pipe(other), cat("on ", to_string(other)));
      }
    }
    const bool flag = verb == Verb::set_flag || verb == Verb::wait_flag || verb == Verb::gate;
    if (flag || verb == Verb::set_event || verb == Verb::wait_event) {
      add_mutant(place, place.where, add_to_id(1), "id + 1");
      if (place.first.id > 0) add_mutant(place, place.where.id(1), add_to_id(-1), "id 1 is 0");
    }
    if (verb == Verb::gate) add_mutant(place, place.where, hold_all(), "as wait_flag");
    if (verb == Verb::wait_flag) {
      add_mutant(place, place.where, hold_only(Pipe::mte2), "as gate of MTE2");
      add_mutant(place, place.where, hold_only(Pipe::fix), "as gate of FIX");
    }
    if (verb == Verb::store_epoch || verb == Verb::wait_epoch) epochs(place);
  }

  void epochs(const Place& place) {
    add_mutant(place, place.where, change([](VerbRecord& call) { ++call.value; }), "value + 1");
    add_mutant(place, place.where, change([](VerbRecord& call) { --call.value; }), "value - 1");
    const int ranks = ranks_;
    add_mutant(place, place.where, change([ranks](VerbRecord& call) {
                 call.epoch.index = (call.epoch.index + 1) % ranks;
               }),
               "next word");
    if (place.where.verb != Verb::store_epoch) return;
    add_mutant(place, place.where,
               change([ranks](VerbRecord& call) { call.peer = (call.peer + 1) % ranks; }),
               "to the next rank");
  }

  void extents(const Place& place) {
    add_mutant(place, place.where, add_rows(1), "one row more");
    add_mutant(place, place.where, add_rows(-1), "one row less");
    for (int side : {0, 1}) {
      for (int step : {1, -1}) {
        add_mutant(
            place, place.where, change([side, step](VerbRecord& call) {
              call.views[side].offset += step * call.views[side].pitch;
            }),
            cat(side == 0 ? "destination" : "source", " one row ", step > 0 ? "further" : "back"));
      }
    }
  }

  int ranks_;
  std::vector<GeneratedMutant> mutants_;
};

// All accesses of a run, whatever their order.
class AccessSum final : public sim::Observer {
 public:
  void begin(sim::Op& op) override {
    for (const sim::Access& access : op.accesses) {
      std::uint64_t hash = 0;
      for (std::int64_t part :
           {static_cast<std::int64_t>(op.core), static_cast<std::int64_t>(op.kind),
            static_cast<std::int64_t>(access.object.kind), std::int64_t{access.object.owner},
            std::int64_t{access.object.index}, static_cast<std::int64_t>(access.kind),
            access.offset, access.rows, access.row_bytes, access.pitch}) {
        hash = (hash ^ static_cast<std::uint64_t>(part)) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 29;
      }
      sum_ += hash;
    }
  }
  std::uint64_t sum() const { return sum_; }

 private:
  std::uint64_t sum_ = 0;
};

struct Observed {
  RunReport report;
  std::uint64_t accesses = 0;
  std::uint64_t outcome = 0;

  bool silent() const { return report.clean() && report.confluent(); }
};

Observed observe(const sim::Program& program, sim::Schedule* schedule = nullptr) {
  AccessSum accesses;
  DataFlow flow(program);
  Observed observed;
  observed.report = run_checked(program, schedule, HappensBefore::Hash::on, {&accesses, &flow});
  observed.accesses = accesses.sum();
  observed.outcome = flow.outcome();
  return observed;
}

// Other orders in which an error would show: each kind of thing held back, and some drawn.
std::vector<ScheduleSpec> other_schedules(const sim::Program& program) {
  std::vector<ScheduleSpec> specs = starvation_policies(program);
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    specs.push_back({.strategy = ScheduleSpec::Strategy::random, .seed = seed});
  }
  return specs;
}

// What shows that a mutant about which the canonical run says nothing is an error; empty: nothing.
std::string find_effect(const Observed& original, const Observed& changed,
                        const sim::Program& program) {
  if (changed.outcome != original.outcome) return "other results in the canonical schedule";
  for (const ScheduleSpec& spec : other_schedules(program)) {
    const Observed other = observe(program, make_schedule(spec).get());
    if (!other.silent()) return cat("findings in schedule ", to_token(spec));
    if (other.outcome != original.outcome) return cat("other results in schedule ", to_token(spec));
  }
  return {};
}

}  // namespace

double GeneratedReport::score() const {
  const int errors = total - equivalent - without_effect;
  return errors > 0 ? static_cast<double>(caught) / errors : 1.0;
}

std::vector<GeneratedMutant> generate_mutants(const BuiltProgram& correct) {
  return Generator(correct).take();
}

std::vector<Configuration> generated_configurations() {
  const auto local = [](int form) {
    return [form](Problem& problem) { problem.local_matmul = form; };
  };
  const auto direct = [](Problem& problem) { problem.transfer = Transfer::direct; };
  return {to_all(3, 3, 3),
          to_all(3, 2, 2).with(local(1)),
          to_all(2, 2, 16).shape(16, 16, 128),
          gather(3, 3, 3),
          gather(2, 3, 5).slots(2),
          get_ring(2, 2, 4, 4),
          get_ring(3, 3, 5, 2),
          scatter(3, 6, 3),
          scatter(2, 4, 2).shape(1152, 256, 64),
          scatter_shared(3, 3, 3),
          to_all(3, 2, 1).with(direct),
          gather(2, 3, 1).with(direct),
          scatter(3, 6, 2).with(direct)};
}

GeneratedReport run_generated_mutants(const Makers& makers,
                                      const std::vector<Configuration>& configurations,
                                      const GeneratedOptions& options,
                                      const std::function<void(int)>& progress) {
  GeneratedReport report;
  int number = 0;
  for (const Configuration& config : configurations) {
    const BuiltProgram correct = build(makers, config, nullptr);
    const Observed original = observe(correct.program);
    for (const GeneratedMutant& mutant : generate_mutants(correct)) {
      if (number++ % options.every != 0 || !mutant.name.ends_with(options.ending)) continue;
      BuiltProgram built = build(makers, config, &mutant.mutation);
      const Observed changed = observe(built.program);
      ++report.total;
      if (!changed.silent()) {
        ++report.caught;
      } else if (changed.report.relation_hash == original.report.relation_hash &&
                 changed.accesses == original.accesses) {
        ++report.equivalent;
      } else if (std::string effect = find_effect(original, changed, built.program);
                 effect.empty()) {
        ++report.without_effect;
        report.harmless.push_back(mutant.name);
      } else if (makers.wrong_values && !makers.wrong_values(std::move(built)).empty()) {
        ++report.caught;
        ++report.caught_by_values;
      } else {
        report.survivors.push_back({describe(config), mutant.name, std::move(effect)});
      }
      if (progress) progress(report.total);
    }
  }
  return report;
}

}  // namespace tandem::check
