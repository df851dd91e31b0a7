// SPDX-License-Identifier: Apache-2.0
// What the simulated machine tells whoever checks or times a run. Every call is made at the moment
// the thing happens in the chosen schedule.
#pragma once

#include <cstdint>

#include "base/finding.h"
#include "sim/op.h"

namespace tandem::sim {

class Machine;
struct SimCore;
struct SimChannel;

class Observer {
 public:
  virtual ~Observer() = default;
  // All cores of a rank start launch `launch`; all have ended it.
  virtual void launch_begins(int /*rank*/, int /*launch*/) {}
  virtual void launch_ends(int /*rank*/, int /*launch*/) {}
  // The scalar stream handed `op` to its queue; it starts; it has ended.
  virtual void issue(Op& /*op*/) {}
  virtual void begin(Op& /*op*/) {}
  virtual void end(Op& /*op*/) {}
  // `op` publishes a token; the scalar stream of `core` (op == null) or `op` takes one.
  virtual void set(Op& /*op*/, Token& /*token*/) {}
  virtual void take(SimCore& /*core*/, Op* /*op*/, const Token& /*token*/, Site /*site*/) {}
  // A sync_all released: `part` is one of the sets that `whole` stands for.
  virtual void merge(Token& /*whole*/, const Token& /*part*/) {}
  // The scalar stream knows that all its queues have ended.
  virtual void idle(SimCore& /*core*/) {}
  virtual void drained(SimCore& /*core*/, SimChannel& /*channel*/) {}
  // An epoch leaves the scalar stream (or follows `notify`), arrives, satisfies a wait.
  virtual void store_epoch(SimCore& /*core*/, Op* /*notify*/, Token& /*token*/) {}
  virtual void epoch_arrives(int /*rank*/, EpochSlot /*slot*/, std::uint64_t /*value*/,
                             const Token& /*token*/) {}
  virtual void take_epoch(SimCore& /*core*/, EpochSlot /*slot*/, std::uint64_t /*value*/,
                          Site /*site*/) {}
  // Something that the machine itself sees, whatever the schedule.
  virtual void violation(const Finding& /*finding*/) {}
  // Nothing can go on and not everything has ended.
  virtual void stuck() {}
};

}  // namespace tandem::sim
