// SPDX-License-Identifier: Apache-2.0
#include "check/schedules.h"

#include <algorithm>

namespace tandem::check {
namespace {

using Strategy = ScheduleSpec::Strategy;
using What = Starved::What;
using sim::Entity;
using sim::OpKind;

constexpr int kCubeSync = 11;
constexpr int kVectorSync = 14;
constexpr int kCoresStarvedMax = 64;  // one by one

int word_of(EpochSlot slot) {
  return (slot.kind == EpochSlot::Kind::arrived ? 0 : kRanksMax) + slot.index;
}

class RandomSchedule final : public sim::Schedule {
 public:
  explicit RandomSchedule(std::uint64_t seed) : rng_(seed) {}
  std::size_t pick(const sim::Machine&, const std::vector<int>& ready) override {
    return rng_.below(ready.size());
  }

 private:
  Rng rng_;
};

class DeviatingSchedule final : public sim::Schedule {
 public:
  explicit DeviatingSchedule(const std::vector<Deviation>& deviations) {
    for (const Deviation& deviation : deviations) at_[deviation.step] = deviation.entity;
  }
  std::size_t pick(const sim::Machine& machine, const std::vector<int>& ready) override {
    std::size_t index = turns_.pick(machine, ready);
    if (const auto found = at_.find(step_++); found != at_.end()) {
      for (std::size_t i = 0; i < ready.size(); ++i) {
        if (machine.entity(ready[i]) == found->second) index = i;
      }
    }
    turns_.took(ready[index]);
    return index;
  }

 private:
  std::map<std::uint64_t, Entity> at_;
  Turns turns_;
  std::uint64_t step_ = 0;
};

// Burckhardt, Kothari, Musuvathi, Nagarakatte: A randomized scheduler with probabilistic guarantees
// of finding bugs, ASPLOS 2010. A bug of depth d shows with probability at least 1 / (n·k^(d−1)).
class PctSchedule final : public sim::Schedule {
 public:
  explicit PctSchedule(const ScheduleSpec& spec) : seed_(spec.seed) {
    Rng rng(spec.seed ^ 0xC2B2AE3D27D4EB4Fu);
    for (int change = 1; change < spec.depth; ++change) {
      const std::uint64_t step = rng.below(std::max<std::uint64_t>(1, spec.steps));
      changes_.emplace(step, static_cast<std::uint64_t>(change));
    }
  }
  std::size_t pick(const sim::Machine& machine, const std::vector<int>& ready) override {
    std::size_t index = highest(machine, ready);
    if (const auto found = changes_.find(step_++); found != changes_.end()) {
      priorities_[ready[index]] = found->second;  // below every first priority
      index = highest(machine, ready);
    }
    return index;
  }

 private:
  std::uint64_t priority(const sim::Machine& machine, int number) {
    if (static_cast<std::size_t>(number) >= priorities_.size()) priorities_.resize(number + 1);
    std::uint64_t& priority = priorities_[number];
    if (priority == 0) {
      const Entity entity = machine.entity(number);
      const auto name = static_cast<std::uint64_t>(entity.core) * 512 +
                        static_cast<std::uint64_t>(entity.kind) * 128 +
                        static_cast<std::uint64_t>(entity.part);
      priority = Rng(seed_ * 0x9E3779B97F4A7C15u + name).next() | std::uint64_t{1} << 63;
    }
    return priority;
  }
  std::size_t highest(const sim::Machine& machine, const std::vector<int>& ready) {
    std::size_t best = 0;
    std::uint64_t best_priority = 0;
    for (std::size_t i = 0; i < ready.size(); ++i) {
      const std::uint64_t mine = priority(machine, ready[i]);
      if (mine <= best_priority) continue;
      best = i;
      best_priority = mine;
    }
    return best;
  }

  std::uint64_t seed_;
  std::map<std::uint64_t, std::uint64_t> changes_;  // step → new priority
  std::vector<std::uint64_t> priorities_;           // 0: not drawn yet
  std::uint64_t step_ = 0;
};

class StarvingSchedule final : public sim::Schedule {
 public:
  explicit StarvingSchedule(const Starved& starved) : starved_(starved) {}
  std::size_t pick(const sim::Machine& machine, const std::vector<int>& ready) override {
    fed_.clear();
    places_.clear();
    for (std::size_t i = 0; i < ready.size(); ++i) {
      if (hungry(machine, machine.entity(ready[i]))) continue;
      fed_.push_back(ready[i]);
      places_.push_back(i);
    }
    const std::size_t index =
        fed_.empty() ? turns_.pick(machine, ready) : places_[turns_.pick(machine, fed_)];
    turns_.took(ready[index]);
    return index;
  }

 private:
  bool hungry(const sim::Machine& machine, const Entity& entity) const {
    const sim::SimCore& core = machine.core(entity.core);
    const bool of_rank = starved_.number < 0 || core.rank == starved_.number;
    switch (starved_.what) {
      case What::lane:
        return entity.kind == Entity::Kind::lane && entity.part == starved_.number;
      case What::kind:
        return entity.kind == Entity::Kind::lane && core.vector == (starved_.number == 1);
      case What::rank:
        return core.rank == starved_.number;
      case What::core:
        return entity.core == starved_.number;
      case What::channels:
        return entity.kind == Entity::Kind::channel && of_rank;
      case What::wires:
        return entity.kind == Entity::Kind::wire && of_rank;
    }
    return false;
  }

  Starved starved_;
  Turns turns_;
  std::vector<int> fed_;
  std::vector<std::size_t> places_;
};

}  // namespace

std::unique_ptr<sim::Schedule> make_schedule(const ScheduleSpec& spec) {
  switch (spec.strategy) {
    case Strategy::canonical:
      return nullptr;
    case Strategy::turns:
      return std::make_unique<DeviatingSchedule>(spec.deviations);
    case Strategy::random:
      return std::make_unique<RandomSchedule>(spec.seed);
    case Strategy::pct:
      return std::make_unique<PctSchedule>(spec);
    case Strategy::starve:
      return std::make_unique<StarvingSchedule>(spec.starved);
  }
  return nullptr;
}

std::vector<ScheduleSpec> starvation_policies(const sim::Program& program) {
  std::vector<ScheduleSpec> policies;
  const auto add = [&policies](What what, int number) {
    ScheduleSpec& spec = policies.emplace_back();
    spec.strategy = Strategy::starve;
    spec.starved = {what, number};
  };
  const int ranks = static_cast<int>(program.ranks.size());
  const int cores = ranks * program.ranks[0].launch.blocks * 2;
  add(What::channels, -1);
  add(What::wires, -1);
  for (int lane = 0; lane < sim::kLanes; ++lane) add(What::lane, lane);
  for (int kind : {0, 1}) add(What::kind, kind);
  for (int rank = 0; rank < ranks; ++rank) {
    add(What::rank, rank);
    add(What::channels, rank);
    add(What::wires, rank);
  }
  for (int core = 0; core < std::min(cores, kCoresStarvedMax); ++core) add(What::core, core);
  return policies;
}

std::size_t Turns::pick(const sim::Machine& machine, const std::vector<int>& ready) const {
  const Entity last = last_ < 0 ? Entity{} : machine.entity(last_);
  std::size_t next = ready.size();
  std::size_t first = 0;
  for (std::size_t i = 0; i < ready.size(); ++i) {
    if (ready[i] == last_) return i;
    const Entity entity = machine.entity(ready[i]);
    if (entity < machine.entity(ready[first])) first = i;
    if (entity > last && (next == ready.size() || entity < machine.entity(ready[next]))) next = i;
  }
  return next == ready.size() ? first : next;
}

std::size_t Recorder::pick(const sim::Machine& machine, const std::vector<int>& ready) {
  const std::size_t usual = turns_.pick(machine, ready);
  const std::size_t index = schedule_.pick(machine, ready);
  if (index != usual) deviations_.push_back({step_, machine.entity(ready[index])});
  ++step_;
  turns_.took(ready[index]);
  return index;
}

ScheduleSpec Recorder::spec() const {
  ScheduleSpec spec;
  spec.strategy = Strategy::turns;
  spec.deviations = deviations_;
  return spec;
}

void Ambiguity::note(std::map<Key, int>& first, std::set<Key>& found, Key key, int who) {
  if (first.emplace(key, who).first->second != who) found.insert(key);
}

void Ambiguity::begin(sim::Op& op) {
  if (op.kind != OpKind::write_reduce && op.kind != OpKind::fetch_add) return;
  if (updater_ < 0) updater_ = op.channel;
  updates_ |= updater_ != op.channel;
}

void Ambiguity::set(sim::Op& op, sim::Token&) {
  if (op.kind != OpKind::set_flag) return;
  const sim::SimCore& core = machine_->core(op.core);
  const int to = op.core ^ 1;  // the paired core
  const int id = op.id & 15;
  note(setters_, flags_, {to, id}, op.core * 8 + static_cast<int>(op.lane));
  // sync_all sets it too.
  if (id == (core.vector ? kCubeSync : kVectorSync)) flags_.insert({to, id});
}

void Ambiguity::take(sim::SimCore& core, sim::Op* op, const sim::Token&, Site) {
  if (op == nullptr) {
    note(takers_, flags_, {core.index, core.blocked.id & 15}, 0);
  } else if (op->kind == OpKind::gate) {
    note(takers_, flags_, {core.index, op->id & 15}, static_cast<int>(op->lane));
  }
}

void Ambiguity::epoch_arrives(int rank, EpochSlot slot, std::uint64_t, const sim::Token& token) {
  note(writers_, words_, {rank, word_of(slot)}, token.core);
}

bool Ambiguity::concerns(const sim::Machine& machine, int number) const {
  const Entity entity = machine.entity(number);
  const sim::SimCore& core = machine.core(entity.core);
  if (entity.kind == Entity::Kind::wire) {
    // What was ready once may have been taken since.
    const sim::EpochStore* store = machine.next_store(number);
    return store != nullptr && words_.contains({store->rank, word_of(store->slot)});
  }
  if (entity.kind == Entity::Kind::channel) return updates_;
  if (entity.part == 0) {
    const sim::Blocked& blocked = core.blocked;
    if (blocked.kind == sim::Blocked::Kind::epoch) {
      return words_.contains({core.rank, word_of(blocked.slot)});
    }
    return blocked.kind == sim::Blocked::Kind::flag &&
           flags_.contains({core.index, blocked.id & 15});
  }
  if (core.pipes[entity.part].ops.empty()) return false;
  const sim::Op& head = *core.pipes[entity.part].ops.front();
  if (head.kind == OpKind::gate) return flags_.contains({core.index, head.id & 15});
  if (head.kind == OpKind::set_flag) return flags_.contains({core.index ^ 1, head.id & 15});
  return head.kind == OpKind::set_sync &&
         flags_.contains({core.index, core.vector ? kVectorSync : kCubeSync});
}

bool Enumeration::next() {
  turns_ = {};
  depth_ = 0;
  if (!started_) {
    started_ = true;
    return true;
  }
  while (!choices_.empty() && choices_.back().taken + 1 == choices_.back().options) {
    choices_.pop_back();
  }
  if (choices_.empty()) return false;
  ++choices_.back().taken;
  return true;
}

std::size_t Enumeration::pick(const sim::Machine& machine, const std::vector<int>& ready) {
  std::vector<int> free;
  std::vector<std::size_t> places;
  std::vector<std::size_t> doubtful;
  for (std::size_t i = 0; i < ready.size(); ++i) {
    if (ambiguity_.concerns(machine, ready[i])) {
      doubtful.push_back(i);
    } else {
      free.push_back(ready[i]);
      places.push_back(i);
    }
  }
  std::size_t index;
  if (!free.empty()) {
    index = places[turns_.pick(machine, free)];
  } else if (doubtful.size() == 1) {
    index = doubtful[0];
  } else {
    std::ranges::sort(doubtful, {}, [&](std::size_t i) { return machine.entity(ready[i]); });
    if (depth_ == choices_.size()) choices_.push_back({0, doubtful.size()});
    index = doubtful[choices_[depth_++].taken];
  }
  turns_.took(ready[index]);
  return index;
}

}  // namespace tandem::check
