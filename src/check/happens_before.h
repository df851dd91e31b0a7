// SPDX-License-Identifier: Apache-2.0
// The happens-before observer: start and end clocks per pipe, tokens that carry clocks, shadow
// memory. Finds races of all schedules of an input in one run; docs/checker.md gives the rules.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "check/clock.h"
#include "check/findings.h"
#include "check/shadow.h"
#include "sim/machine.h"
#include "sim/observer.h"

namespace tandem::check {

// Why one run may not speak for all schedules, if it may not.
struct Confluence {
  std::vector<std::string> reasons;  // empty: it does
  void doubt(const std::string& reason);
};

class HappensBefore final : public sim::Observer {
 public:
  // The relation's hash costs more than the checks; ask for it only to compare runs.
  enum class Hash : std::uint8_t { off, on };
  HappensBefore(Findings& findings, Hash hash) : findings_(findings), hash_(hash) {}
  // Before the run: sizes depend on the machine.
  void attach(sim::Machine& machine);

  const Confluence& confluence() const { return confluence_; }
  // A number that depends on all operations and what each of them knows, not on their order in
  // the run: equal numbers, equal happens-before relation.
  std::uint64_t relation_hash() const { return relation_hash_; }
  std::size_t shadow_segments() const;

  void launch_begins(int rank, int launch) override;
  void launch_ends(int rank, int launch) override;
  void issue(sim::Op& op) override;
  void begin(sim::Op& op) override;
  void end(sim::Op& op) override;
  void set(sim::Op& op, sim::Token& token) override;
  void take(sim::SimCore& core, sim::Op* op, const sim::Token& token, Site site) override;
  void merge(sim::Token& whole, const sim::Token& part) override;
  void idle(sim::SimCore& core) override;
  void drained(sim::SimCore& core, sim::SimChannel& channel) override;
  void store_epoch(sim::SimCore& core, sim::Op* notify, sim::Token& token) override;
  void epoch_arrives(int rank, EpochSlot slot, std::uint64_t value,
                     const sim::Token& token) override;
  void take_epoch(sim::SimCore& core, EpochSlot slot, std::uint64_t value, Site site) override;
  // Overflow of this one run is no news: check_overflow() looks at all of them.
  void violation(const Finding& finding) override {
    if (finding.code != FindingCode::flag_overflow) findings_.add(finding);
  }

 private:
  friend class AccessCheck;
  struct LaneState {
    Clock start;
    Clock ended;
    std::uint32_t epoch = 0;
  };
  struct CoreState {
    std::array<LaneState, sim::kLanes> lanes;  // lane 0: only `start`, the scalar stream's clock
    Clock& scalar() { return lanes[0].start; }
    // A new epoch of the scalar stream: what it knows now is part of it.
    std::uint32_t advance_scalar() {
      const std::uint32_t epoch = ++lanes[0].epoch;
      lanes[0].start.set_own(0, epoch);
      lanes[0].start.settle(epoch);
      return epoch;
    }
  };
  // Whoever launches on a rank: a core behind the channels.
  struct HostState {
    Clock clock;
    std::uint32_t epoch = 0;
  };
  struct ChannelState {
    Clock clock;   // of the queue; its lanes are the read and the write end
    int home = 0;  // its core number within the rank
    std::uint32_t epoch = 0;
  };
  struct TokenState {
    Clock clock;
    KnowledgeRef published;  // made when another core needs it
    bool merged = false;
    int shares = 1;
    std::uint32_t epoch = 0;  // of the lane that set it; 0: of none
  };
  struct OpRecord {
    Clock issue;
    KnowledgeRef published;  // of transfers
    std::uint32_t post = 0;
  };
  struct FlagState {
    int consumer_lane = -1;
    int producer = -1;  // core × lanes + lane
    std::uint64_t sets = 0;
    std::size_t known = 0;                             // waits that the last setter knew
    std::vector<std::pair<int, std::uint32_t>> waits;  // lane, epoch of each
  };
  struct SlotStore {
    std::uint64_t value = 0;
    int writer = 0;
    std::uint32_t epoch = 0;  // of the writer's scalar stream; 0: a notification
    KnowledgeRef published;
    Site site;
  };
  struct SlotWait {
    std::uint64_t want = 0;
    int core = 0;
    std::uint32_t epoch = 0;
    int writer = -1;
  };
  struct SlotState {
    std::vector<SlotStore> stores;
    std::vector<SlotWait> waits;
  };

  int core_number(const sim::SimCore& core) const { return core.block * 2 + (core.vector ? 1 : 0); }
  Agent agent_of(const sim::SimCore& core, int lane) const;
  std::uint32_t number(const Agent& agent) const;
  Agent agent_from(std::uint32_t number) const;
  int host_core() const { return cores_per_rank_ - 1; }
  ChannelState& channel_state(int channel);
  ShadowBuffer& shadow(const sim::Object& object);
  std::uint32_t describe(const sim::Op& op);
  bool serial(sim::Lane lane) const;
  void check_accesses(sim::Op& op, const Clock& clock, std::uint32_t agent, std::uint32_t epoch,
                      std::uint32_t post, bool writes, bool reads);
  void check_overflow(sim::SimCore& to, int id, const Clock& setter, const sim::Op& op);
  void watch_flag(sim::SimCore& to, int id, const sim::Op& op);
  void poison_old(int rank);
  KnowledgeRef fill_window(int rank, int launch);
  std::uint32_t describe(Site site, sim::OpKind kind, int launch);
  void check_growth(int rank, EpochSlot slot, SlotState& state, const SlotStore& store);
  FindingSide side_of_store(const SlotStore& store) const;
  void report_merged(int rank, EpochSlot slot, const SlotStore& one, const SlotStore& other);
  std::string object_name(const sim::Object& object) const;
  FindingSide side_of(std::uint32_t agent, std::uint32_t what) const;
  void hash_op(const sim::Op& op, const Clock& clock, std::uint32_t epoch);

  struct What {
    Site site;
    sim::OpKind kind;
    int launch = 0;
  };

  Findings& findings_;
  Hash hash_;
  Confluence confluence_;
  sim::Machine* machine_ = nullptr;
  int cores_per_rank_ = 0;
  std::vector<CoreState> cores_;
  std::vector<HostState> hosts_;  // by rank
  std::vector<std::unique_ptr<ChannelState>> channels_;
  std::vector<int> channels_of_rank_;
  std::unordered_map<std::uint32_t, TokenState> tokens_;
  std::vector<OpRecord> records_;
  std::vector<std::uint32_t> free_records_;
  std::vector<std::array<FlagState, 16>> flags_;
  std::map<std::pair<int, int>, SlotState> slots_;
  std::vector<KnowledgeRef> rank_end_;
  static constexpr int kLocalMemories = 5;  // of a core: UB, two L1 slots, two L0C halves
  std::vector<std::unique_ptr<ShadowBuffer>> shadows_;  // buffers by rank, then memories by core
  std::vector<What> whats_;
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> what_index_;  // by hash
  std::uint64_t relation_hash_ = 0;
};

}  // namespace tandem::check
