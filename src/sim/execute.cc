// SPDX-License-Identifier: Apache-2.0
#include "sim/execute.h"

#include <cstring>

#include "gemm/convert.h"

namespace tandem::sim {
namespace {

class Execution {
 public:
  Execution(Machine& machine, Op& op)
      : machine_(machine), op_(op), core_(*machine.cores()[op.core]) {}

  void load_l1() {
    auto& codes = core_.slot_codes[op_.id];
    auto& scales = core_.slot_scales[op_.id];
    codes.clear();
    scales.clear();
    for (const Fragment& fragment : op_.a) {
      append(codes, fragment.data);
      append(scales, fragment.scale);
    }
    core_.slots[op_.id].assign(op_.a.begin(), op_.a.end());
    core_.slot_weights[op_.id] = op_.b;
  }

  // From here on the L1 slot may be loaded again.
  void stage_l0() {
    core_.staged.push_back({core_.slots[op_.id], core_.slot_codes[op_.id],
                            core_.slot_scales[op_.id], core_.slot_weights[op_.id]});
  }

  void multiply(gemm::PackedRows& packed) {
    const StagedOperands staged = std::move(core_.staged.front());
    core_.staged.pop_front();
    const Rank& rank = machine_.program().ranks[core_.rank];
    std::vector<MxMatrix> parts;
    const std::byte* codes = staged.codes.data();
    const std::byte* scales = staged.scales.data();
    for (const Fragment& fragment : staged.fragments) {
      parts.push_back({.format = rank.launch.numerics.dtype_a,
                       .rows = fragment.data.rows,
                       .k = fragment.data.row_bytes,
                       .codes = reinterpret_cast<const std::uint8_t*>(codes),
                       .pitch = fragment.data.row_bytes,
                       .scales = reinterpret_cast<const std::uint8_t*>(scales),
                       .scale_pitch = fragment.scale.row_bytes});
      codes += fragment.data.bytes();
      scales += fragment.scale.bytes();
    }
    packed.pack(parts, rank.launch.numerics.order);
    const WeightTile& b = staged.weights;
    auto& sums = core_.halves[op_.half];
    const auto needed = static_cast<std::size_t>(packed.rows() * b.columns.count);
    if (sums.size() < needed) sums.resize(needed);
    gemm::multiply(
        packed, *rank.weights, b.segment, b.columns.first, b.columns.count,
        rank.launch.numerics.order,
        op_.accumulate == Accumulate::init ? gemm::Start::from_zero : gemm::Start::from_stored,
        {sums.data(), b.columns.count}, [] {});
  }

  void store_c() {
    const float* sums = core_.halves[op_.half].data();
    const float* bias = op_.bias ? reinterpret_cast<const float*>(address(*op_.bias)) : nullptr;
    for (const View& view : op_.c) {
      const OutputType type = type_of(view);
      const std::int64_t columns = view.row_bytes / element_bytes(type);
      for (std::int64_t row = 0; row < view.rows; ++row, sums += columns) {
        std::byte* target = address(view) + row * view.pitch;
        if (op_.mode == StoreMode::atomic_add) {
          gemm::add_row(sums, columns, type, target);
        } else {
          gemm::store_row(sums, bias, columns, type, target);
        }
      }
    }
  }

  void load_ub() {
    for (std::int64_t row = 0; row < op_.v0.rows; ++row) {
      std::memcpy(ub(op_.t0, row), address(op_.v0) + row * op_.v0.pitch, op_.v0.row_bytes);
    }
  }

  void accumulate() {
    const OutputType type = staging_type();
    for (std::int64_t row = 0; row < op_.t0.rows; ++row) {
      float* sums = reinterpret_cast<float*>(ub(op_.t0, row));
      float* wide = reinterpret_cast<float*>(ub(op_.t1, row));
      gemm::widen_row(ub(op_.t2, row), type, op_.t0.columns, wide);
      if (op_.accumulate == Accumulate::init) {
        gemm::widen_row(wide, OutputType::fp32, op_.t0.columns, sums);
      } else {
        gemm::widen_add_row(wide, OutputType::fp32, op_.t0.columns, sums);
      }
    }
  }

  void convert() {
    const OutputType type = extent(Buffer::c).type;
    for (std::int64_t row = 0; row < op_.t1.rows; ++row) {
      gemm::store_row(reinterpret_cast<const float*>(ub(op_.t1, row)), nullptr, op_.t1.columns,
                      type, ub(op_.t0, row));
    }
  }

  void store_ub() {
    for (std::int64_t row = 0; row < op_.v0.rows; ++row) {
      std::memcpy(address(op_.v0) + row * op_.v0.pitch, ub(op_.t0, row), op_.v0.row_bytes);
    }
  }

  void copy() {
    for (std::int64_t row = 0; row < op_.v0.rows; ++row) {
      std::memmove(address(op_.v0) + row * op_.v0.pitch, address(op_.v1) + row * op_.v1.pitch,
                   op_.v0.row_bytes);
    }
  }

  void reduce() {
    const OutputType type = type_of(op_.v0);
    const std::int64_t columns = op_.v0.row_bytes / element_bytes(type);
    std::vector<float> sums(columns);
    for (std::int64_t row = 0; row < op_.v0.rows; ++row) {
      std::byte* target = address(op_.v0) + row * op_.v0.pitch;
      gemm::widen_row(target, type, columns, sums.data());
      gemm::widen_add_row(address(op_.v1) + row * op_.v1.pitch, type, columns, sums.data());
      gemm::store_row(sums.data(), nullptr, columns, type, target);
    }
  }

  void fill() {
    const auto value = static_cast<std::uint32_t>(op_.value);
    for (std::int64_t row = 0; row < op_.v0.rows; ++row) {
      for (std::int64_t i = 0; i + 4 <= op_.v0.row_bytes; i += 4) {
        std::memcpy(address(op_.v0) + row * op_.v0.pitch + i, &value, 4);
      }
    }
  }

  void fetch_add() {
    std::uint64_t word;
    std::memcpy(&word, address(op_.v0), 8);
    if (op_.result != nullptr) *op_.result = word;
    word += op_.value;
    std::memcpy(address(op_.v0), &word, 8);
  }

 private:
  const BufferExtent& extent(Buffer buffer) const {
    return machine_.program().ranks[core_.rank].launch.extents[static_cast<int>(buffer)];
  }
  OutputType type_of(const View& view) const { return extent(view.buffer).type; }
  OutputType staging_type() const { return extent(Buffer::staging).type; }
  std::byte* address(const View& view) {
    return machine_.memory(view.rank, view.buffer) + view.offset;
  }
  std::byte* ub(const UbTensor& tensor, std::int64_t row) {
    if (core_.ub.empty()) core_.ub.resize(machine_.program().ranks[core_.rank].launch.ub_bytes);
    return core_.ub.data() + tensor.offset + row * tensor.pitch;
  }
  void append(std::vector<std::byte>& to, const View& view) {
    for (std::int64_t row = 0; row < view.rows; ++row) {
      const std::byte* from = address(view) + row * view.pitch;
      to.insert(to.end(), from, from + view.row_bytes);
    }
  }

  Machine& machine_;
  Op& op_;
  SimCore& core_;
};

}  // namespace

void execute(Machine& machine, gemm::PackedRows& packed, Op& op) {
  Execution execution(machine, op);
  switch (op.kind) {
    case OpKind::load_l1:
      return execution.load_l1();
    case OpKind::stage_l0:
      return execution.stage_l0();
    case OpKind::multiply:
      return execution.multiply(packed);
    case OpKind::store_c:
      return execution.store_c();
    case OpKind::load_ub:
      return execution.load_ub();
    case OpKind::accumulate:
      return execution.accumulate();
    case OpKind::convert:
      return execution.convert();
    case OpKind::store_ub:
      return execution.store_ub();
    case OpKind::write:
    case OpKind::read:
    case OpKind::write_notify:
      return execution.copy();
    case OpKind::write_reduce:
      return execution.reduce();
    case OpKind::write_value:
      return execution.fill();
    case OpKind::fetch_add:
      return execution.fetch_add();
    case OpKind::set_flag:
    case OpKind::set_sync:
    case OpKind::gate:
    case OpKind::set_event:
    case OpKind::wait_event:
    case OpKind::fill_window:
    case OpKind::pipe_barrier:
      return;
  }
}

}  // namespace tandem::sim
