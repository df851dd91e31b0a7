// SPDX-License-Identifier: Apache-2.0
#include "check/wait_graph.h"

#include "base/strings.h"

namespace tandem::check {
namespace {

std::string describe(const sim::Machine& machine, const sim::SimCore& core) {
  using Kind = sim::Blocked::Kind;
  const sim::Blocked& blocked = core.blocked;
  switch (blocked.kind) {
    case Kind::none:
      return "can run";
    case Kind::queue:
      return "a full queue";
    case Kind::idle:
      return "its own queues";
    case Kind::flag:
      return cat("flag ", blocked.id);
    case Kind::drain:
    case Kind::result:
      return "a channel";
    case Kind::epoch:
      return cat("barrier word of ", blocked.slot.kind == EpochSlot::Kind::arrived ? "rank " : "job ",
                 blocked.slot.index, ", expected ", blocked.value, ", is ",
                 machine.epoch_word(core.rank, blocked.slot));
  }
  return "?";
}

}  // namespace

void WaitGraph::stuck() {
  Finding finding;
  finding.code = FindingCode::deadlock;
  finding.object = "nothing can go on";
  for (const auto& core : machine_->cores()) {
    if (core->finished) continue;
    finding.detail += cat(finding.detail.empty() ? "" : "\n  ", "rank ", core->rank, " ",
                          core->name(), " S waits for ", describe(*machine_, *core), " at ",
                          core->blocked.site.file, ":", core->blocked.site.line);
  }
  findings_.add(finding);
}

}  // namespace tandem::check
