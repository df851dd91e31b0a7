// SPDX-License-Identifier: Apache-2.0
// What a kernel may do. A block is one cube core and one vector core with the same index; a rank
// runs `blocks` of them. Everything above this header is written against it and cannot ask where
// it runs: on CPU workers, in virtual time, or on a recorder.
//
// A verb may block, and it may throw Error{timeout, lost_rank or cancelled}; nothing else does.
// A verb call stands on one line, so that its Site is the same for every compiler.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/site.h"
#include "base/view.h"

namespace tandem {

// The asynchronous instruction queues of a core.
enum class Pipe : std::uint8_t { mte1, mte2, mte3, m, v, fix, all };

// Orders two pipes of one core: the first named sets, the second waits.
enum class EventKind : std::uint8_t {
  mte2_v,
  v_mte2,
  v_mte3,
  mte3_v,
  m_fix,
  fix_m,
  mte1_mte2,
  mte2_mte1,
};

enum class Accumulate : std::uint8_t { init, add };
enum class StoreMode : std::uint8_t { plain, atomic_add };
enum class CacheHint : std::uint8_t { keep, stream };

std::string_view to_string(Pipe pipe);
std::string_view to_string(EventKind kind);

// The pipe whose queue sets an event, and the one whose queue waits for it.
Pipe setter_of(EventKind kind);
Pipe waiter_of(EventKind kind);

// Scalar work that a device pays for although it moves no data.
enum class ScalarWork : std::uint8_t { product_parameters, fragment_list };

// 0 to 15; a device cuts larger numbers to four bits.
struct FlagId {
  int value = 0;
  friend bool operator==(FlagId, FlagId) = default;
};

// Rows of A that belong to one rank inside a virtually concatenated operand, with their scales.
struct Fragment {
  View data;
  View scale;
};

// Columns of one K segment of the prepared B.
struct WeightTile {
  int segment = 0;
  Slice columns;
};

// A place in a vector core's unified buffer (UB). Elements are BF16, FP16 or FP32 by `bytes`.
struct UbTensor {
  std::int64_t offset = 0;  // bytes from the start of the UB
  std::int64_t rows = 0;
  std::int64_t columns = 0;  // elements
  std::int64_t pitch = 0;    // bytes between rows
  std::int64_t element_bytes = 0;
};

// A word of the barrier area. An area has room for 64 peers and 64 jobs whatever is used, so its
// layout depends on no shape and no job count.
struct EpochSlot {
  enum class Kind : std::uint8_t { arrived, core } kind = Kind::arrived;
  int index = 0;  // arrived: the peer that stores; core: the job that stores
};
inline constexpr int kRanksMax = 64;

// One-sided transfers to and from one peer. In flight until drained; what was written is visible
// to the peer only after drain and a barrier.
class Channel {
 public:
  virtual ~Channel() = default;
  virtual void write_nbi(View destination, View source, Site site = Site::here()) = 0;
  virtual void read_nbi(View destination, View source, Site site = Site::here()) = 0;
  // Writes, then stores `value` into the peer's epoch slot behind the data.
  virtual void write_notify_nbi(View destination, View source, EpochSlot slot, std::uint64_t value,
                                Site site = Site::here()) = 0;
  // Adds elements of C's type onto the destination, in the peer's memory.
  virtual void write_reduce_nbi(View destination, View source, Site site = Site::here()) = 0;
  // Fills the destination with a 32-bit value.
  virtual void write_value_nbi(View destination, std::uint32_t value, Site site = Site::here()) = 0;
  // Adds to a 64-bit word of the peer and returns what it held.
  virtual std::uint64_t fetch_add(View word, std::uint64_t value, Site site = Site::here()) = 0;
  virtual void drain(Site site = Site::here()) = 0;
};

// What both kinds of core can do.
class Core {
 public:
  Core(int rank, int block) : rank_(rank), block_(block) {}
  virtual ~Core() = default;
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  int rank() const { return rank_; }
  int block() const { return block_; }

  // Counts up flag `id` of the paired core once everything queued on `pipe` is done.
  virtual void set_flag(Pipe pipe, FlagId id, Site site = Site::here()) = 0;
  // The scalar stream waits for the flag and takes one count.
  virtual void wait_flag(FlagId id, Site site = Site::here()) = 0;
  // Only the queue of `pipe` waits; the scalar stream goes on and may issue to other pipes.
  virtual void gate(Pipe pipe, FlagId id, Site site = Site::here()) = 0;
  // All cores of the same kind of the rank meet.
  virtual void sync_all(Site site = Site::here()) = 0;
  // Drains one pipe, or all of them.
  virtual void pipe_barrier(Pipe pipe, Site site = Site::here()) = 0;
  virtual void set_event(EventKind kind, int id, Site site = Site::here()) = 0;
  virtual void wait_event(EventKind kind, int id, Site site = Site::here()) = 0;
  virtual void scalar(ScalarWork work, Site site = Site::here()) = 0;

 private:
  int rank_;
  int block_;
};

// The matrix core.
class CubeCore : public Core {
 public:
  using Core::Core;
  // Brings operands into slot 0 or 1 of L1: rows of A by fragment, columns of one segment of B.
  virtual void load(int slot, std::span<const Fragment> a, WeightTile b,
                    Site site = Site::here()) = 0;
  // One tile product of the whole K segment, from an L1 slot into an L0C half (0 or 1).
  virtual void matmul(int slot, int half, Accumulate accumulate, Site site = Site::here()) = 0;
  // Converts an L0C half to the destination's type and scatters its rows over the views, in
  // order. The bias of the tile's columns is added to the FP32 sum first.
  virtual void store(int half, std::span<const View> c, StoreMode mode, std::optional<View> bias,
                     Site site = Site::here()) = 0;
  // How the next loads of B go through the shared cache.
  virtual void cache_hint(CacheHint hint, Site site = Site::here()) = 0;
};

// The core that communicates and reduces.
class VectorCore : public Core {
 public:
  using Core::Core;
  virtual Channel& channel(int peer) = 0;  // peer ≠ rank()

  virtual void load(UbTensor destination, View source, Site site = Site::here()) = 0;
  // Widens `source` into `wide` (FP32), then adds it onto `sum`, or starts `sum` with it.
  virtual void accumulate(UbTensor sum, UbTensor wide, UbTensor source, Accumulate accumulate,
                          Site site = Site::here()) = 0;
  // Rounds FP32 to the type of `destination`, nearest even.
  virtual void convert(UbTensor destination, UbTensor sum, Site site = Site::here()) = 0;
  virtual void store(View destination, UbTensor source, Site site = Site::here()) = 0;

  // Stores an epoch into a slot of a rank's barrier area (its own rank included), behind
  // everything that was drained. Values count from 1 in each launch; the machine adds its base.
  virtual void store_epoch(int peer, EpochSlot slot, std::uint64_t value,
                           Site site = Site::here()) = 0;
  // Waits until the own slot holds at least `value`.
  virtual void wait_epoch(EpochSlot slot, std::uint64_t value, Site site = Site::here()) = 0;
};

}  // namespace tandem
