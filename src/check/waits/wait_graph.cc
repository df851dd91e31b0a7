// SPDX-License-Identifier: Apache-2.0
#include "check/waits/wait_graph.h"

#include "check/waits/wait_report.h"

namespace tandem::check {

void WaitGraph::attach(sim::Machine& machine) {
  machine_ = &machine;
  history_.cores.assign(machine.cores().size(), {});
}

void WaitGraph::launch_begins(int rank, int /*launch*/) {
  for (int block = 0; block < machine_->blocks(); ++block) {
    for (bool vector : {false, true})
      history_.cores[machine_->core_of(rank, block, vector).index] = {};
  }
}

void WaitGraph::set(sim::Op& op, sim::Token& /*token*/) {
  WaitHistory::Core& counts = history_.cores[op.core];
  if (op.kind == sim::OpKind::set_flag) ++counts.sets[op.id & 15];
  if (op.kind != sim::OpKind::set_sync) return;
  ++counts.syncs;
  counts.sync_site = op.site;
}

void WaitGraph::epoch_arrives(int rank, EpochSlot slot, std::uint64_t /*value*/,
                              const sim::Token& token) {
  history_.writers[{rank, word_of(slot)}] = token.core;
}

void WaitGraph::stuck() {
  findings_.add(report_waits(survey_waits(history_, *machine_), *machine_));
}

}  // namespace tandem::check
