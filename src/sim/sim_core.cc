// SPDX-License-Identifier: Apache-2.0
#include "sim/sim_core.h"

#include <map>

#include "base/strings.h"
#include "sim/access.h"
#include "sim/machine.h"

namespace tandem::sim {
namespace {

constexpr int kEventIds = 8;

// What both kinds of core do alike.
template <typename Base>
class CommonCore : public Base {
 public:
  CommonCore(Machine& machine, SimCore& state, Lane sync_lane, int sync_flag)
      : Base(state.rank, state.block),
        machine_(machine),
        state_(state),
        sync_lane_(sync_lane),
        sync_flag_(sync_flag) {}

  void set_flag(Pipe pipe, FlagId id, Site site) override {
    auto op = machine_.new_op(state_, OpKind::set_flag, lane_of(pipe), site);
    op->id = id.value;
    machine_.enqueue(state_, std::move(op));
  }
  void wait_flag(FlagId id, Site site) override { machine_.take_flag(state_, id.value, site); }
  void gate(Pipe pipe, FlagId id, Site site) override {
    if (machine_.program().profile.gate_blocks_all) {
      machine_.take_flag(state_, id.value, site);
      return;
    }
    auto op = machine_.new_op(state_, OpKind::gate, lane_of(pipe), site);
    op->id = id.value;
    machine_.enqueue(state_, std::move(op));
  }
  // Composed as the device does: drain, raise the mode-0 flag, wait for everybody's.
  void sync_all(Site site) override {
    machine_.wait_idle(state_, site);
    machine_.enqueue(state_, machine_.new_op(state_, OpKind::set_sync, sync_lane_, site));
    machine_.take_flag(state_, sync_flag_, site);
  }
  void pipe_barrier(Pipe pipe, Site site) override {
    if (pipe == Pipe::all) {
      machine_.wait_idle(state_, site);
      return;
    }
    machine_.enqueue(state_, machine_.new_op(state_, OpKind::pipe_barrier, lane_of(pipe), site));
  }
  void set_event(EventKind kind, int id, Site site) override {
    queue_event(OpKind::set_event, kind, id, lane_of(setter_of(kind)), site);
  }
  void wait_event(EventKind kind, int id, Site site) override {
    queue_event(OpKind::wait_event, kind, id, lane_of(waiter_of(kind)), site);
  }
  void scalar(ScalarWork work, Site) override { machine_.scalar_work(state_, work); }

 protected:
  void queue_event(OpKind what, EventKind kind, int id, Lane lane, Site site) {
    if (id < 0 || id >= kEventIds) {
      machine_.violation(FindingCode::event_range, state_, site,
                         cat("event ", to_string(kind), "(", id, ")"), "events are 0 to 7");
    }
    auto op = machine_.new_op(state_, what, lane, site);
    op->event = kind;
    op->id = id;
    machine_.enqueue(state_, std::move(op));
  }

  Machine& machine_;
  SimCore& state_;
  Lane sync_lane_;
  int sync_flag_;
};

class SimCube final : public CommonCore<CubeCore> {
 public:
  SimCube(Machine& machine, SimCore& state) : CommonCore(machine, state, Lane::fix, 11) {}

  void load(int slot, std::span<const Fragment> a, WeightTile b, Site site) override {
    auto op = machine_.new_op(state_, OpKind::load_l1, Lane::mte2, site);
    op->id = slot;
    op->a.assign(a.begin(), a.end());
    op->b = b;
    op->hint = hint_;
    std::int64_t bytes = 0;
    for (const Fragment& fragment : a) {
      add_view(machine_, *op, fragment.data, AccessKind::read);
      add_view(machine_, *op, fragment.scale, AccessKind::read);
      bytes += fragment.data.bytes() + fragment.scale.bytes();
    }
    slot_bytes_[slot] = bytes;
    add_local(*op, {Object::Kind::l1_slot, state_.index, slot}, AccessKind::write, bytes);
    rows_[slot] = rows_of(a);
    columns_[slot] = b.columns.count;
    machine_.enqueue(state_, std::move(op));
  }

  void matmul(int slot, int half, Accumulate accumulate, Site site) override {
    auto stage = machine_.new_op(state_, OpKind::stage_l0, Lane::mte1, site);
    stage->id = slot;
    add_local(*stage, {Object::Kind::l1_slot, state_.index, slot}, AccessKind::read,
              slot_bytes_[slot]);
    stage->t0.rows = rows_[slot];
    stage->t0.columns = columns_[slot];
    machine_.enqueue(state_, std::move(stage));
    auto op = machine_.new_op(state_, OpKind::multiply, Lane::m, site);
    op->id = slot;
    op->half = half;
    op->accumulate = accumulate;
    op->t0.rows = rows_[slot];
    op->t0.columns = columns_[slot];
    half_bytes_[half] = rows_[slot] * columns_[slot] * 4;
    const Object target{Object::Kind::l0c_half, state_.index, half};
    if (accumulate == Accumulate::add) {
      add_local(*op, target, AccessKind::read, half_bytes_[half]);
    }
    add_local(*op, target, AccessKind::write, half_bytes_[half]);
    machine_.enqueue(state_, std::move(op));
  }

  void store(int half, std::span<const View> c, StoreMode mode, std::optional<View> bias,
             Site site) override {
    auto op = machine_.new_op(state_, OpKind::store_c, Lane::fix, site);
    op->half = half;
    op->c.assign(c.begin(), c.end());
    op->mode = mode;
    op->bias = bias;
    add_local(*op, {Object::Kind::l0c_half, state_.index, half}, AccessKind::read,
              half_bytes_[half]);
    for (const View& view : c) {
      add_view(machine_, *op, view,
               mode == StoreMode::atomic_add ? AccessKind::atomic : AccessKind::write);
    }
    if (bias) add_view(machine_, *op, *bias, AccessKind::read);
    machine_.enqueue(state_, std::move(op));
  }

  void cache_hint(CacheHint hint, Site) override { hint_ = hint; }

 private:
  static std::int64_t rows_of(std::span<const Fragment> a) {
    std::int64_t rows = 0;
    for (const Fragment& fragment : a) rows += fragment.data.rows;
    return rows;
  }

  CacheHint hint_ = CacheHint::keep;
  std::int64_t slot_bytes_[2] = {0, 0};
  std::int64_t rows_[2] = {0, 0};
  std::int64_t columns_[2] = {0, 0};
  std::int64_t half_bytes_[2] = {0, 0};
};

class QueueChannel final : public Channel {
 public:
  QueueChannel(Machine& machine, SimCore& state, int peer)
      : machine_(machine), state_(state), peer_(peer) {}

  void write_nbi(View destination, View source, Site site) override {
    transfer(OpKind::write, destination, source, AccessKind::write, site);
  }
  void read_nbi(View destination, View source, Site site) override {
    transfer(OpKind::read, destination, source, AccessKind::write, site);
  }
  void write_notify_nbi(View destination, View source, EpochSlot slot, std::uint64_t value,
                        Site site) override {
    auto op = make(OpKind::write_notify, destination, source, AccessKind::write, site);
    op->slot = slot;
    op->value = value;
    machine_.post(state_, peer_, std::move(op));
  }
  void write_reduce_nbi(View destination, View source, Site site) override {
    transfer(OpKind::write_reduce, destination, source, AccessKind::atomic, site);
  }
  void write_value_nbi(View destination, std::uint32_t value, Site site) override {
    check_peer(site);
    auto op = machine_.new_op(state_, OpKind::write_value, Lane::scalar, site);
    op->v0 = destination;
    op->value = value;
    add_view(machine_, *op, destination, AccessKind::write);
    machine_.post(state_, peer_, std::move(op));
  }
  std::uint64_t fetch_add(View word, std::uint64_t value, Site site) override {
    check_peer(site);
    std::uint64_t result = 0;
    auto op = machine_.new_op(state_, OpKind::fetch_add, Lane::scalar, site);
    op->v0 = word;
    op->value = value;
    op->result = &result;
    add_view(machine_, *op, word, AccessKind::atomic);
    machine_.post(state_, peer_, std::move(op));
    drain(site);
    return result;
  }
  void drain(Site site) override {
    check_peer(site);
    machine_.drain(state_, peer_, site);
  }

 private:
  void check_peer(Site site) {
    if (peer_ != state_.rank && peer_ >= 0 && peer_ < machine_.ranks()) return;
    machine_.violation(FindingCode::channel_self, state_, site, cat("channel to rank ", peer_),
                       "a rank has channels to its peers only");
  }
  std::unique_ptr<Op> make(OpKind kind, View destination, View source, AccessKind write,
                           Site site) {
    check_peer(site);
    auto op = machine_.new_op(state_, kind, Lane::scalar, site);
    op->v0 = destination;
    op->v1 = source;
    add_view(machine_, *op, source, AccessKind::read);
    add_view(machine_, *op, destination, write);
    if (static_cast<std::uint64_t>(source.bytes()) > machine_.program().profile.put_bytes_max) {
      machine_.violation(FindingCode::hardware_limit, state_, site,
                         cat("transfer of ", source.bytes(), " bytes"),
                         cat("one transfer moves at most ",
                             machine_.program().profile.put_bytes_max));
    }
    if (destination.rows != source.rows || destination.row_bytes != source.row_bytes) {
      machine_.violation(FindingCode::out_of_bounds, state_, site,
                         cat(to_string(source), " to ", to_string(destination)),
                         "source and destination differ in extent");
      op->void_op = true;
    }
    return op;
  }
  void transfer(OpKind kind, View destination, View source, AccessKind write, Site site) {
    machine_.post(state_, peer_, make(kind, destination, source, write, site));
  }

  Machine& machine_;
  SimCore& state_;
  int peer_;
};

class SimVector final : public CommonCore<VectorCore> {
 public:
  SimVector(Machine& machine, SimCore& state) : CommonCore(machine, state, Lane::mte3, 14) {}

  Channel& channel(int peer) override {
    auto& slot = channels_[peer];
    if (!slot) slot = std::make_unique<QueueChannel>(machine_, state_, peer);
    return *slot;
  }

  void load(UbTensor destination, View source, Site site) override {
    auto op = machine_.new_op(state_, OpKind::load_ub, Lane::mte2, site);
    const std::int64_t limit = machine_.program().profile.strided_rows_max;
    if (limit > 0 && source.pitch != source.row_bytes && source.rows > limit) {
      machine_.violation(FindingCode::hardware_limit, state_, site,
                         cat("strided copy of ", source.rows, " rows"),
                         cat("the device moves ", limit, " and drops the rest silently"));
      source.rows = limit;
      destination.rows = limit;
    }
    op->t0 = destination;
    op->v0 = source;
    add_view(machine_, *op, source, AccessKind::read);
    add_tensor(machine_, *op, destination, AccessKind::write);
    machine_.enqueue(state_, std::move(op));
  }

  void accumulate(UbTensor sum, UbTensor wide, UbTensor source, Accumulate accumulate,
                  Site site) override {
    auto op = machine_.new_op(state_, OpKind::accumulate, Lane::v, site);
    if (overlap(wide, source) || overlap(sum, source) || overlap(sum, wide)) {
      machine_.violation(FindingCode::alias_local, state_, site,
                         cat("UB tensors at ", sum.offset, ", ", wide.offset, ", ", source.offset),
                         "widening in place overwrites elements before they are read");
    }
    op->t0 = sum;
    op->t1 = wide;
    op->t2 = source;
    op->accumulate = accumulate;
    add_tensor(machine_, *op, source, AccessKind::read);
    add_tensor(machine_, *op, wide, AccessKind::write);
    if (accumulate == Accumulate::add) add_tensor(machine_, *op, sum, AccessKind::read);
    add_tensor(machine_, *op, sum, AccessKind::write);
    machine_.enqueue(state_, std::move(op));
  }

  void convert(UbTensor destination, UbTensor sum, Site site) override {
    auto op = machine_.new_op(state_, OpKind::convert, Lane::v, site);
    op->t0 = destination;
    op->t1 = sum;
    add_tensor(machine_, *op, sum, AccessKind::read);
    add_tensor(machine_, *op, destination, AccessKind::write);
    machine_.enqueue(state_, std::move(op));
  }

  void store(View destination, UbTensor source, Site site) override {
    auto op = machine_.new_op(state_, OpKind::store_ub, Lane::mte3, site);
    op->t0 = source;
    op->v0 = destination;
    add_tensor(machine_, *op, source, AccessKind::read);
    add_view(machine_, *op, destination, AccessKind::write);
    machine_.enqueue(state_, std::move(op));
  }

  void store_epoch(int peer, EpochSlot slot, std::uint64_t value, Site site) override {
    machine_.store_epoch(state_, peer, slot, value, nullptr, site);
  }
  void wait_epoch(EpochSlot slot, std::uint64_t value, Site site) override {
    machine_.wait_epoch(state_, slot, value, site);
  }

 private:
  static bool overlap(const UbTensor& x, const UbTensor& y) {
    return x.offset < y.offset + y.rows * y.pitch && y.offset < x.offset + x.rows * x.pitch;
  }

  std::map<int, std::unique_ptr<QueueChannel>> channels_;
};

}  // namespace

std::unique_ptr<Core> make_sim_core(Machine& machine, SimCore& state) {
  if (state.vector) return std::make_unique<SimVector>(machine, state);
  return std::make_unique<SimCube>(machine, state);
}

}  // namespace tandem::sim
