// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/findings.h"
#include "sim/machine.h"
#include "sim/observer.h"

namespace tandem::check {

// When nothing can go on: who waits for whom, and where the chain of waits ends.
class WaitGraph final : public sim::Observer {
 public:
  explicit WaitGraph(Findings& findings) : findings_(findings) {}
  void attach(sim::Machine& machine) { machine_ = &machine; }

  void stuck() override;

 private:
  Findings& findings_;
  sim::Machine* machine_ = nullptr;
};

}  // namespace tandem::check
