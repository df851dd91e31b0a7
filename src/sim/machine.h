// SPDX-License-Identifier: Apache-2.0
// The machine in virtual time: one fibre per core for its scalar stream, pipes and channels as
// queues of operations, flags, events and barrier words. A schedule picks what happens next.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "base/fiber.h"
#include "gemm/tile_product.h"
#include "machine/launch.h"
#include "sim/observer.h"
#include "sim/op.h"

namespace tandem::sim {

// What differs between chips and what a check may make stricter.
struct Profile {
  int queue_depth = 32;          // of a pipe
  bool serial_v = true;          // vector operations of a core end in order before the next starts
  bool drain_is_remote = true;   // drain means "arrived", not only "source may be reused"
  bool gate_blocks_all = false;  // older chips: the gate of one pipe stops the scalar stream
  int strided_rows_max = 32;     // rows of a strided copy that really move; 0: all
  std::uint64_t put_bytes_max = 256u << 20;
};

struct Rank {
  Launch launch;  // its extents and kernels
  const gemm::PackedWeights* weights = nullptr;
};

// What runs: every rank, `launches` times over.
struct Program {
  std::vector<Rank> ranks;
  int launches = 2;
  Profile profile;
  bool values = true;  // move bytes and multiply; otherwise only addresses
  // Between launches of a rank, on its memory: new inputs, poison, comparison. May be empty.
  std::function<void(Machine&, int rank, int launch)> before;
  std::function<void(Machine&, int rank, int launch)> after;
  std::size_t stack_bytes = 128 * 1024;
};

// Why a scalar stream stands still.
struct Blocked {
  enum class Kind : std::uint8_t { none, queue, idle, flag, drain, epoch, result, time };
  Kind kind = Kind::none;
  int id = 0;  // lane, flag, channel
  EpochSlot slot;
  std::uint64_t value = 0;
  Site site;
};

struct PipeQueue {
  std::deque<std::unique_ptr<Op>> ops;
  bool active = false;       // the head has begun and not ended
  bool streaming = false;    // timed: the rest of an ended load still moves
  std::deque<Token> stages;  // M only: stage_l0 operations that ended
};

// Operands on their way from an L1 slot to the matrix unit.
struct StagedOperands {
  std::vector<Fragment> fragments;
  std::vector<std::byte> codes, scales;
  WeightTile weights;
};

struct SimCore {
  int index = 0;
  int rank = 0;
  int block = 0;
  bool vector = false;
  std::unique_ptr<Fiber> fiber;
  std::unique_ptr<Core> core;
  Blocked blocked;
  std::unique_ptr<Op> held;  // what waits for a full queue: a dropped stack owns nothing
  bool finished = true;
  std::array<PipeQueue, kLanes> pipes;
  std::array<std::deque<Token>, 16> flags;   // untaken counts
  std::map<int, Token> events;               // by kind × 16 + id
  std::map<int, int> channels;               // peer → channel index
  std::array<std::uint8_t, 16> protocols{};  // who used the counter: 1 the kernel, 2 sync_all
  std::vector<std::byte> ub;
  std::array<std::vector<float>, 2> halves;
  std::array<std::vector<Fragment>, 2> slots;
  std::array<std::vector<std::byte>, 2> slot_codes, slot_scales;
  std::array<WeightTile, 2> slot_weights;
  std::deque<StagedOperands> staged;

  std::string name() const;  // "vector 3"
};

// A queue of one core towards one peer: transfers, or epoch stores on their way.
struct SimChannel {
  int core = 0;
  int peer = 0;
  std::deque<std::unique_ptr<Op>> ops;
  bool active = false;
  std::uint64_t posted = 0;
  std::uint64_t done = 0;
  std::uint64_t drained = 0;  // posts that a drain has covered
};

struct EpochStore {
  int rank = 0;  // where it goes
  EpochSlot slot;
  std::uint64_t value = 0;
  Token token;
};
struct Wire {
  int core = 0;
  int peer = 0;
  std::deque<EpochStore> stores;
};

// What can go on by itself: a scalar stream or pipe of a core, a channel, or epoch stores on their
// way. Unlike its number in a run, it does not depend on the order in which things were first used.
struct Entity {
  enum class Kind : std::uint8_t { lane, channel, wire } kind = Kind::lane;
  int core = 0;
  int part = 0;  // lane, or peer
  friend auto operator<=>(const Entity&, const Entity&) = default;
};

// Chooses the next entity among those that can go on.
class Schedule {
 public:
  virtual ~Schedule() = default;
  // `ready` is not empty; returns an index into it.
  virtual std::size_t pick(const Machine& machine, const std::vector<int>& ready) = 0;
};

class TimedRun;

class Machine {
 public:
  Machine(Program program, std::vector<Observer*> observers);
  ~Machine();

  // Runs everything under `schedule` (null: canonical, each entity until it blocks, first come
  // first served). False: it got stuck.
  bool run(Schedule* schedule);

  // State, for observers, schedules and reports.
  const Program& program() const { return program_; }
  int ranks() const { return static_cast<int>(program_.ranks.size()); }
  int blocks() const { return program_.ranks[0].launch.blocks; }
  std::vector<std::unique_ptr<SimCore>>& cores() { return cores_; }
  std::vector<std::unique_ptr<SimChannel>>& channels() { return channels_; }
  const SimCore& core(int index) const { return *cores_[index]; }
  SimCore& core_of(int rank, int block, bool vector);
  int launch_of(int rank) const { return launch_[rank]; }
  std::uint64_t steps() const { return steps_; }
  std::uint64_t ops() const { return ops_; }
  std::byte* memory(int rank, Buffer buffer);
  std::uint64_t epoch_word(int rank, EpochSlot slot) const;
  Entity entity(int number) const;
  // The store that a wire delivers next, or null.
  const EpochStore* next_store(int number) const;
  std::string entity_name(int number) const;

  // For the cores' verbs; they run on the core's fibre.
  std::unique_ptr<Op> new_op(SimCore& core, OpKind kind, Lane lane, Site site);
  void enqueue(SimCore& core, std::unique_ptr<Op> op);
  void post(SimCore& core, int peer, std::unique_ptr<Op> op);
  void block(SimCore& core, const Blocked& blocked);
  void scalar_work(SimCore& core, ScalarWork work);
  void take_flag(SimCore& core, int id, Site site);
  void wait_idle(SimCore& core, Site site);
  void drain(SimCore& core, int peer, Site site);
  void store_epoch(SimCore& core, int peer, EpochSlot slot, std::uint64_t value, Op* notify,
                   Site site);
  void wait_epoch(SimCore& core, EpochSlot slot, std::uint64_t value, Site site);
  void violation(FindingCode code, const SimCore& core, Site site, std::string object,
                 std::string detail);

 private:
  friend class Executor;
  friend class TimedRun;
  // Entities: core × 8 + lane; then channels and wires in order of their first use.
  int entity_count() const;
  bool enabled(int entity) const;
  void touch(int entity);
  void step(int entity, bool until_blocked);
  bool run_fiber(SimCore& core);
  bool run_pipe(SimCore& core, int lane);
  bool run_channel(SimChannel& channel);
  bool run_wire(Wire& wire);
  bool head_ready(const SimCore& core, int lane) const;
  bool unblocked(const SimCore& core) const;
  void start_launch(int rank);
  void core_finished(SimCore& core);
  void end_launch(int rank);
  void deliver_flag(SimCore& to, int id, Token token);
  void deliver_event(SimCore& core, int key, const Token& token);
  void release_sync(int rank, bool vector);
  void begin_op(Op& op);
  void end_op(Op& op);
  Wire& wire_of(SimCore& core, int peer);
  template <typename Call>
  void tell(Call call) {
    for (Observer* observer : observers_) call(*observer);
  }

  Program program_;
  std::vector<Observer*> observers_;
  std::vector<std::unique_ptr<SimCore>> cores_;
  std::vector<std::unique_ptr<SimChannel>> channels_;
  std::vector<std::unique_ptr<Wire>> wires_;
  std::map<std::pair<int, int>, int> wire_index_;  // core, peer
  std::vector<int> extra_entities_;                // channel i: i; wire i: −1 − i
  std::vector<int> channel_entity_, wire_entity_;
  std::vector<std::vector<std::byte>> memory_;         // rank × buffer
  std::vector<std::uint64_t> words_;                   // rank × (arrived, core)
  std::vector<std::vector<std::deque<Token>>> syncs_;  // rank × kind: sets by member
  std::vector<int> launch_, running_;
  std::vector<std::uint64_t> epoch_base_;
  std::vector<std::unique_ptr<Op>> spare_;
  std::vector<int> ready_;  // entities that may go on, in order
  std::vector<int> place_;  // entity → 1 + place in ready_, 0: not there
  std::deque<int> queue_;   // the same for the canonical schedule
  bool canonical_ = true;
  bool explored_ = false;  // a Schedule chooses; waits are places where others may go first
  std::uint32_t next_token_ = 1;
  std::uint64_t steps_ = 0;
  std::uint64_t ops_ = 0;
  gemm::PackedRows packed_;
  TimedRun* timed_ = nullptr;  // null: nothing takes time
};

}  // namespace tandem::sim
