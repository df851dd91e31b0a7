// SPDX-License-Identifier: Apache-2.0
// Schedules as text: what a failing run prints, and what runs it again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/machine.h"

namespace tandem::check {

// At `step` this entity goes next instead of the one in turn.
struct Deviation {
  std::uint64_t step = 0;
  sim::Entity entity;
  friend bool operator==(const Deviation&, const Deviation&) = default;
};

// Whom a starvation policy lets run only when nothing else can.
struct Starved {
  enum class What : std::uint8_t { lane, kind, rank, core, channels, wires } what = What::lane;
  int number = 0;  // lane; 0 cube, 1 vector; rank; core; rank whose channels or stores, −1: all
  friend bool operator==(const Starved&, const Starved&) = default;
};

// Everything that makes a schedule, and with the program a run.
//
// | token                | schedule                                                              |
// |----------------------|-----------------------------------------------------------------------|
// | canonical            | each until it must wait, first come, first served                     |
// | turns[:S@E,S@E,…]    | each until it must wait, in a fixed order; at step S entity E instead |
// | random:SEED          | any that can, drawn                                                   |
// | pct:D:STEPS:SEED     | priorities, lowered at D − 1 of STEPS steps                           |
// | starve:WHAT          | in turn, without WHAT as long as anything else can go on              |
//
// Entities: 5.MTE2 (lane of core 5), 5>1 (its channel to rank 1), 5~1 (its epoch stores to rank 1).
// WHAT: lane=MTE3, kind=cube, rank=1, core=5, channels[=RANK], wires[=RANK].
struct ScheduleSpec {
  enum class Strategy : std::uint8_t { canonical, turns, random, pct, starve };
  Strategy strategy = Strategy::canonical;
  std::uint64_t seed = 0;
  std::uint64_t steps = 0;
  int depth = 1;
  Starved starved;
  std::vector<Deviation> deviations;
  friend bool operator==(const ScheduleSpec&, const ScheduleSpec&) = default;
};

std::string to_token(const ScheduleSpec& spec);
// Throws Error{refused} if the text is no token.
ScheduleSpec parse_token(std::string_view token);

}  // namespace tandem::check
