// SPDX-License-Identifier: Apache-2.0
// The deadlock report. When nothing can go on, every wait is known: who waits for whom, which of
// them have ended and never will, and which wait for each other in a circle.
#pragma once

#include "check/findings.h"
#include "check/waits/wait_survey.h"
#include "sim/machine.h"
#include "sim/observer.h"

namespace tandem::check {

class WaitGraph final : public sim::Observer {
 public:
  explicit WaitGraph(Findings& findings) : findings_(findings) {}
  void attach(sim::Machine& machine);

  void launch_begins(int rank, int launch) override;
  void set(sim::Op& op, sim::Token& token) override;
  void epoch_arrives(int rank, EpochSlot slot, std::uint64_t value,
                     const sim::Token& token) override;
  void stuck() override;

 private:
  Findings& findings_;
  sim::Machine* machine_ = nullptr;
  WaitHistory history_;
};

}  // namespace tandem::check
