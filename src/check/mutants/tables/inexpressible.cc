// SPDX-License-Identifier: Apache-2.0
// Errors for which the machine's interface has no words: a kernel cannot make them.
#include "check/mutants/mutants.h"

namespace tandem::check {
namespace {

Mutant row(std::string_view id, std::string_view title, std::string_view reason) {
  return {.id = id, .title = title, .kind = Mutant::Kind::not_expressible, .reason = reason};
}

}  // namespace

Mutants inexpressible() {
  return {
      row("A24", "flag set in one mode, waited for in another", "flags have one mode"),
      row("B03", "SyncAll of both kinds, called by one", "sync_all joins cores of one kind"),
      row("B20", "barrier word stored before MTE3's rows",
          "peers' memory is written through channels, and drain waits for these"),
      row("C08", "a transfer without a doorbell", "posting commits"),
      row("C13", "a cumulative signal satisfied by a later chunk",
          "barrier words are stored, never added to"),
      row("C16", "a full send queue", "queues of channels have no bound in the machine"),
      row("C17", "a return code ignored", "verbs throw"),
      row("C18", "a put of rows that MTE3 still stores",
          "no kernel puts what its vector core has stored"),
      row("C22", "transfers of one queue that overtake each other",
          "queues of channels keep order"),
      row("D16", "the scalar stream reads UB", "no verb reads UB into the scalar stream"),
      row("E12", "a field of an object that was never initialised",
          "the plan holds what cores share"),
      row("E15", "flags sized for the first shape", "barrier words depend on no shape"),
      row("E16", "flags that move with the shape", "barrier words depend on no shape"),
      row("E18", "an UB address that is not aligned", "the machine has no rule of alignment"),
      row("F10", "a reduction on one core", "slow, not wrong: a matter for the simulator"),
      row("F11", "rows copied one by one", "slow, not wrong: a matter for the simulator"),
      row("F12", "parameters built once per rank and round",
          "slow, not wrong: a matter for the simulator"),
      row("G05", "sums in BF16", "accumulate has FP32 sums only"),
      row("H03", "a scalar cache that is not invalidated", "kernels keep nothing between launches"),
      row("H04", "an epoch in 32 bits", "epochs have 64 bits, and the machine adds their base"),
      row("H05", "a window freed while a peer reads it", "windows outlive all launches; see C21"),
      row("H08", "more blocks than can be resident", "all blocks of a rank are resident"),
  };
}

}  // namespace tandem::check
