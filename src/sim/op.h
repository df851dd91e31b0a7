// SPDX-License-Identifier: Apache-2.0
// What the queues of the simulated machine hold: operations with the memory they touch.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/site.h"
#include "base/view.h"
#include "machine/core.h"

namespace tandem::sim {

// Execution lanes of a core: the scalar stream and the pipes of machine/core.h.
enum class Lane : std::uint8_t { scalar, mte1, mte2, mte3, m, v, fix };
inline constexpr int kLanes = 7;
Lane lane_of(Pipe pipe);  // not Pipe::all
std::string_view to_string(Lane lane);

enum class OpKind : std::uint8_t {
  load_l1,     // MTE2: operand rows into an L1 slot
  stage_l0,    // MTE1: L1 slot towards the matrix unit
  multiply,    // M: tile product into an L0C half
  store_c,     // FIX: L0C half to memory
  load_ub,     // MTE2
  accumulate,  // V
  convert,     // V
  store_ub,    // MTE3
  set_flag,
  set_sync,  // the mode-0 flag of sync_all
  gate,
  set_event,
  wait_event,
  pipe_barrier,
  write,  // channel
  read,
  write_notify,
  write_reduce,
  write_value,
  fetch_add,
  fill_window,  // of no queue: the launch puts operands where peers read them
};
std::string_view to_string(OpKind kind);

enum class AccessKind : std::uint8_t { read, write, atomic };

// A shared buffer of a rank, or a local memory of a core.
struct Object {
  enum class Kind : std::uint8_t { buffer, ub, l1_slot, l0c_half } kind = Kind::buffer;
  int owner = 0;  // rank of a buffer, core index of a local memory
  int index = 0;  // buffer number, slot or half
  friend bool operator==(const Object&, const Object&) = default;
};

struct Access {
  Object object;
  AccessKind kind = AccessKind::read;
  std::int64_t offset = 0;
  std::int64_t rows = 1;
  std::int64_t row_bytes = 0;
  std::int64_t pitch = 0;
};

// Who set something and where: a count of a flag, an event, the end of a stage.
struct Token {
  std::uint32_t id = 0;  // observers keep what they know of it under this number
  int core = -1;
  Lane lane = Lane::scalar;
  Site site;
  std::uint64_t time = 0;
  bool sync = false;  // made by sync_all
  int shares = 1;     // how often it is taken
};

struct Op {
  OpKind kind = OpKind::set_flag;
  Lane lane = Lane::scalar;
  int core = 0;
  int channel = -1;  // of channel operations
  Site site;
  std::uint32_t record = 0;  // observers' number for what they know of it
  std::vector<Access> accesses;
  // Parameters, as the verb had them.
  int id = 0;  // flag, event, L1 slot
  int half = 0;
  EventKind event = EventKind::mte2_v;
  std::vector<Fragment> a;
  WeightTile b;
  Accumulate accumulate = Accumulate::init;
  std::vector<View> c;
  std::optional<View> bias;
  StoreMode mode = StoreMode::plain;
  UbTensor t0, t1, t2;
  View v0, v1;
  EpochSlot slot;
  std::uint64_t value = 0;
  std::uint64_t* result = nullptr;  // of fetch_add
  bool void_op = false;             // out of bounds or beyond a budget: reported, has no effect
  std::uint64_t issue_time = 0;
  CacheHint hint = CacheHint::keep;  // of the weights of a load
  std::int64_t slice = -1;           // of a timed run: what issued it, then its own
};

}  // namespace tandem::sim
