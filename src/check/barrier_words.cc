// SPDX-License-Identifier: Apache-2.0
// The part of the happens-before observer that looks at barrier words: which store a wait may
// count on in every schedule, and which stores can hide each other.
#include <algorithm>

#include "base/strings.h"
#include "check/happens_before.h"

namespace tandem::check {
namespace {

constexpr std::size_t kSlotHistory = 8;  // stores and waits of a slot that can still matter

int slot_number(EpochSlot slot) {
  return (slot.kind == EpochSlot::Kind::arrived ? 0 : kRanksMax) + slot.index;
}

std::string word_name(int rank, EpochSlot slot) {
  return cat("barrier word ", slot.kind == EpochSlot::Kind::arrived ? "of peer " : "of job ",
             slot.index, " on rank ", rank);
}

bool below(std::uint64_t value, std::uint64_t other) {
  return static_cast<std::int64_t>(value - other) < 0;
}

}  // namespace

void HappensBefore::store_epoch(sim::SimCore& core, sim::Op* notify, sim::Token& token) {
  TokenState& state = tokens_[token.id];
  if (notify != nullptr) {
    const ChannelState& channel = channel_state(notify->channel);
    state.published = channel.clock.publish(channel.epoch);
  } else {
    state.epoch = cores_[core.index].advance_scalar();
    state.published = cores_[core.index].scalar().publish(state.epoch);
  }
}

void HappensBefore::epoch_arrives(int rank, EpochSlot slot, std::uint64_t value,
                                  const sim::Token& token) {
  SlotState& state = slots_[{rank, slot_number(slot)}];
  const TokenState& known = tokens_.at(token.id);
  SlotStore store{value, token.core, known.epoch, known.published, token.site};
  tokens_.erase(token.id);
  check_growth(rank, slot, state, store);
  for (const SlotWait& wait : state.waits) {
    // It could have come before that wait, and satisfied it in the other's place.
    if (wait.writer == store.writer || wait.want > value) continue;
    const sim::SimCore& core = *machine_->cores()[wait.core];
    if (knows(store.published, agent_of(core, 0), wait.epoch)) continue;
    report_merged(rank, slot, store, store);
  }
  state.stores.push_back(std::move(store));
  if (state.stores.size() > kSlotHistory) state.stores.erase(state.stores.begin());
}

// A word only grows. A store that does not make it grow looks to a wait like the one before; and
// of two stores without order the smaller one can hide the larger one.
void HappensBefore::check_growth(int rank, EpochSlot slot, SlotState& state,
                                 const SlotStore& store) {
  const SlotStore* hides = nullptr;
  bool after_all = true;
  for (const SlotStore& earlier : state.stores) {
    const sim::SimCore& core = *machine_->cores()[earlier.writer];
    const bool ordered = earlier.writer == store.writer || earlier.epoch == 0 ||
                         knows(store.published, agent_of(core, 0), earlier.epoch);
    after_all = after_all && ordered;
    if (!ordered && earlier.value != store.value) hides = &earlier;
  }
  if (hides == nullptr && !state.stores.empty() && state.stores.back().writer == store.writer &&
      !below(state.stores.back().value, store.value)) {
    hides = &state.stores.back();
  }
  if (hides != nullptr) {
    Finding finding;
    finding.code = FindingCode::count_ambiguous;
    finding.object = word_name(rank, slot);
    finding.sides = {side_of_store(*hides), side_of_store(store)};
    finding.detail = cat("stores of ", hides->value, " and of ", store.value,
                         hides->writer == store.writer
                             ? ": the word does not grow, so a wait cannot tell them apart"
                             : " come in any order: the smaller one can hide the other");
    findings_.add(finding);
    return;
  }
  // Taken back by somebody who knows all stores so far: they count no longer.
  const auto lower = [&](const SlotStore& earlier) { return below(store.value, earlier.value); };
  if (after_all && std::ranges::any_of(state.stores, lower)) state.stores.clear();
}

FindingSide HappensBefore::side_of_store(const SlotStore& store) const {
  const sim::SimCore& core = *machine_->cores()[store.writer];
  return {core.rank, core.name(), "S", "store_epoch", store.site, machine_->launch_of(core.rank)};
}

void HappensBefore::take_epoch(sim::SimCore& core, EpochSlot slot, std::uint64_t value,
                               Site /*site*/) {
  SlotState& state = slots_[{core.rank, slot_number(slot)}];
  CoreState& taker = cores_[core.index];
  const SlotStore* guaranteed = nullptr;
  bool ambiguous = false;
  for (const SlotStore& store : state.stores) {
    if (below(store.value, value)) continue;
    if (guaranteed == nullptr) {
      guaranteed = &store;
    } else if (store.writer != guaranteed->writer) {
      ambiguous = true;
      report_merged(core.rank, slot, *guaranteed, store);
    }
  }
  if (guaranteed != nullptr && !ambiguous) taker.scalar().join_other(guaranteed->published);
  const std::uint32_t epoch = taker.advance_scalar();
  if (guaranteed == nullptr) return;
  state.waits.push_back({value, core.index, epoch, guaranteed->writer});
  if (state.waits.size() > kSlotHistory) state.waits.erase(state.waits.begin());
}

void HappensBefore::report_merged(int rank, EpochSlot slot, const SlotStore& one,
                                  const SlotStore& other) {
  confluence_.doubt("C3: several cores store into one barrier word");
  Finding finding;
  finding.code = FindingCode::barrier_merged;
  finding.object = word_name(rank, slot);
  finding.sides.push_back(side_of_store(one));
  if (&one != &other) finding.sides.push_back(side_of_store(other));
  finding.detail =
      "several cores store into it: a wait may be satisfied by a core whose transfers are not the "
      "ones waited for; give each peer a word of its own";
  findings_.add(finding);
}

}  // namespace tandem::check
