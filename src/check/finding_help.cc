// SPDX-License-Identifier: Apache-2.0
#include "check/finding_help.h"

namespace tandem::check {
namespace {

constexpr FindingHelp kHelp[] = {
    {FindingCode::deadlock, "nothing can go on and not everything has ended",
     "make the core named as root set what is waited for, or break the cycle"},
    {FindingCode::flag_overflow, "in some schedule a flag counts beyond 15",
     "let the producer take a release from its consumer before it runs further ahead"},
    {FindingCode::flag_residue, "a launch ends with a count that nobody took",
     "take every count, on every early exit too, or do not set it"},
    {FindingCode::flag_alias, "the kernel and sync_all count on one flag", "use another flag id"},
    {FindingCode::flag_range, "a flag id beyond 15; the device cuts it to four bits",
     "use ids 0 to 10 and 15"},
    {FindingCode::flag_reserved, "a kernel uses one of the flags 11 to 14, which sync_all needs",
     "use ids 0 to 10 and 15"},
    {FindingCode::event_double_set, "an event is set a second time before it was waited for",
     "wait between the two sets, or use another event id"},
    {FindingCode::event_residue, "a launch ends with an event that is still set",
     "wait for every event that is set, pre-fired ones too"},
    {FindingCode::event_range, "an event id beyond 7", "use ids 0 to 7"},
    {FindingCode::race_raw, "memory is read without knowing that its writer has ended",
     "add the flag, event or barrier that is named as missing, on the pipe that is named"},
    {FindingCode::race_war, "memory is written although an earlier reader may still read it",
     "release the memory from the reader to the writer before it is used again"},
    {FindingCode::race_waw, "memory is written twice without order", "order the two writers"},
    {FindingCode::race_intrapipe,
     "two operations of one pipe touch the same memory; the second may "
     "start before the first has ended",
     "put a pipe_barrier on that pipe between them"},
    {FindingCode::race_inflight_src, "the source of a transfer is overwritten before a drain",
     "drain the channel before the source is used again"},
    {FindingCode::race_inflight_dst,
     "the destination of a transfer is used before it was drained "
     "and fenced",
     "drain the channel, then fence, before the peer uses the data"},
    {FindingCode::atomic_mix, "plain and atomic stores to one place without order",
     "order the first plain store before all atomic ones"},
    {FindingCode::uninit, "memory is read that nothing has written in this launch",
     "write it first, or do not read it; look at tails and at dropped rows"},
    {FindingCode::out_of_bounds,
     "an operation reaches beyond its buffer, or to memory that cannot "
     "be reached",
     "compare the extents of the view with those of the buffer"},
    {FindingCode::overlay, "two uses of one memory overlap that must not",
     "give each use a range of its own"},
    {FindingCode::alias_local,
     "an operation reads and writes overlapping tensors of the unified "
     "buffer",
     "use separate tensors: widening in place destroys what is read next"},
    {FindingCode::budget, "a tensor lies outside of the unified buffer",
     "make the segments shorter, or the batch smaller"},
    {FindingCode::hardware_limit, "a parameter is beyond what the device executes",
     "split the operation"},
    {FindingCode::barrier_merged,
     "several cores store into one barrier word, so a wait may be "
     "satisfied by the wrong one",
     "give each peer a word of its own"},
    {FindingCode::count_ambiguous,
     "a counting wait may be satisfied by other arrivals than those "
     "that are meant",
     "give each arrival a word or a count of its own"},
    {FindingCode::put_undrained, "a kernel ends with transfers that no drain covers",
     "drain every channel before the kernel ends, on early exits too"},
    {FindingCode::channel_self, "a channel to the own rank, or to none",
     "skip the own rank, copy locally"},
    {FindingCode::nonconfluent,
     "one run does not speak for all schedules and not all were run, or what is executed differs",
     "decide by rank, core and plan, not by what came first; --strategy exhaustive may settle it"},
    {FindingCode::wrong_value, "an element of C is not the reference's",
     "if nothing else is reported, look at addresses and extents; else at the other findings "
     "first"},
    {FindingCode::coverage, "a byte of C is never written in a launch",
     "look at tails, clamped blocks and empty ranks"},
};

}  // namespace

std::span<const FindingHelp> all_help() { return kHelp; }

const FindingHelp* find_help(std::string_view code) {
  for (const FindingHelp& help : kHelp) {
    if (to_string(help.code) == code) return &help;
  }
  return nullptr;
}

std::string list_help() {
  std::string text;
  for (const FindingHelp& help : kHelp) {
    std::string line(to_string(help.code));
    line.resize(20, ' ');
    text += line + std::string(help.meaning) + "; fix: " + std::string(help.fix) + "\n";
  }
  return text;
}

}  // namespace tandem::check
