// SPDX-License-Identifier: Apache-2.0
// The orders in which a program is run. All of them are determined by their ScheduleSpec.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "check/replay.h"
#include "sim/machine.h"
#include "sim/observer.h"

namespace tandem::check {

// Null for the canonical schedule.
std::unique_ptr<sim::Schedule> make_schedule(const ScheduleSpec& spec);

// Every starvation policy of a program, the coarse ones first.
std::vector<ScheduleSpec> starvation_policies(const sim::Program& program);

// Each entity until it must wait, then the next one that can, in the order of Entity. What other
// schedules deviate from.
class Turns {
 public:
  std::size_t pick(const sim::Machine& machine, const std::vector<int>& ready) const;
  void took(int number) { last_ = number; }

 private:
  int last_ = -1;
};

// Runs another schedule and writes down where it left the turns.
class Recorder final : public sim::Schedule {
 public:
  explicit Recorder(sim::Schedule& schedule) : schedule_(schedule) {}
  std::size_t pick(const sim::Machine& machine, const std::vector<int>& ready) override;
  ScheduleSpec spec() const;

 private:
  sim::Schedule& schedule_;
  Turns turns_;
  std::uint64_t step_ = 0;
  std::vector<Deviation> deviations_;
};

// What one run showed to be decided by the order of things: barrier words that several cores
// store into, flags that several queues set or take, updates of one place from several sides.
class Ambiguity final : public sim::Observer {
 public:
  void attach(const sim::Machine& machine) { machine_ = &machine; }
  bool empty() const { return words_.empty() && flags_.empty() && !updates_; }
  std::size_t size() const { return words_.size() + flags_.size() + (updates_ ? 1 : 0); }
  // Would the next step of an entity use one of them?
  bool concerns(const sim::Machine& machine, int number) const;

  void begin(sim::Op& op) override;
  void set(sim::Op& op, sim::Token& token) override;
  void take(sim::SimCore& core, sim::Op* op, const sim::Token& token, Site site) override;
  void epoch_arrives(int rank, EpochSlot slot, std::uint64_t value,
                     const sim::Token& token) override;

 private:
  using Key = std::pair<int, int>;
  void note(std::map<Key, int>& first, std::set<Key>& found, Key key, int who);

  const sim::Machine* machine_ = nullptr;
  std::map<Key, int> writers_, setters_, takers_;
  std::set<Key> words_;  // rank, word
  std::set<Key> flags_;  // core, flag
  int updater_ = -1;
  bool updates_ = false;
};

// Depth first over the orders of ambiguous steps; everything else commutes and runs in turn, first.
class Enumeration final : public sim::Schedule {
 public:
  explicit Enumeration(const Ambiguity& ambiguity) : ambiguity_(ambiguity) {}
  // Prepares the next order; false: there is none left.
  bool next();
  std::size_t pick(const sim::Machine& machine, const std::vector<int>& ready) override;

 private:
  struct Choice {
    std::size_t taken = 0;
    std::size_t options = 0;
  };
  const Ambiguity& ambiguity_;
  Turns turns_;
  std::vector<Choice> choices_;
  std::size_t depth_ = 0;
  bool started_ = false;
};

}  // namespace tandem::check
