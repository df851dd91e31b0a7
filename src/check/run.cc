// SPDX-License-Identifier: Apache-2.0
#include "check/run.h"

#include "check/layout.h"
#include "check/waits/wait_graph.h"

namespace tandem::check {

RunReport run_checked(const sim::Program& program, sim::Schedule* schedule,
                      HappensBefore::Hash hash, const std::vector<sim::Observer*>& more) {
  Findings findings;
  check_layout(program, findings);
  HappensBefore order(findings, hash);
  WaitGraph waits(findings);
  std::vector<sim::Observer*> observers{&order, &waits};
  observers.insert(observers.end(), more.begin(), more.end());
  sim::Machine machine(program, observers);
  order.attach(machine);
  waits.attach(machine);
  RunReport report;
  report.finished = machine.run(schedule);
  report.findings = findings.list();
  report.doubts = order.confluence().reasons;
  report.steps = machine.steps();
  report.ops = machine.ops();
  report.relation_hash = order.relation_hash();
  report.shadow_segments = order.shadow_segments();
  return report;
}

}  // namespace tandem::check
