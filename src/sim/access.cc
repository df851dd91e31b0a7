// SPDX-License-Identifier: Apache-2.0
#include "sim/access.h"

#include "base/strings.h"

namespace tandem::sim {

void add_view(Machine& machine, Op& op, const View& view, AccessKind kind) {
  if (view.bytes() == 0) return;
  const SimCore& core = *machine.cores()[op.core];
  const auto in_window = [&] {
    return is_in_window(machine.program().ranks[view.rank].launch.extents, view.buffer);
  };
  const bool reachable =
      view.rank >= 0 && view.rank < machine.ranks() && (view.rank == core.rank || in_window());
  const std::int64_t bytes =
      reachable
          ? machine.program().ranks[view.rank].launch.extents[static_cast<int>(view.buffer)].bytes
          : 0;
  if (!reachable || view.offset < 0 || view.end() > bytes) {
    machine.violation(FindingCode::out_of_bounds, core, op.site, to_string(view),
                      reachable ? cat("the buffer has ", bytes, " bytes")
                                : std::string("no such memory can be reached from this rank"));
    op.void_op = true;
    return;
  }
  op.accesses.push_back({{Object::Kind::buffer, view.rank, static_cast<int>(view.buffer)},
                         kind,
                         view.offset,
                         view.rows,
                         view.row_bytes,
                         view.pitch});
}

void add_tensor(Machine& machine, Op& op, const UbTensor& tensor, AccessKind kind) {
  if (tensor.rows == 0 || tensor.columns == 0) return;
  const SimCore& core = *machine.cores()[op.core];
  const std::int64_t bytes = machine.program().ranks[core.rank].launch.ub_bytes;
  const std::int64_t end = tensor.offset + tensor.rows * tensor.pitch;
  if (tensor.offset < 0 || end > bytes) {
    machine.violation(FindingCode::budget, core, op.site, cat("UB tensor at ", tensor.offset),
                      cat("it ends at ", end, " of ", bytes, " bytes"));
    op.void_op = true;
    return;
  }
  op.accesses.push_back({{Object::Kind::ub, op.core, 0},
                         kind,
                         tensor.offset,
                         tensor.rows,
                         tensor.columns * tensor.element_bytes,
                         tensor.pitch});
}

void add_local(Op& op, Object object, AccessKind kind, std::int64_t bytes) {
  if (bytes > 0) op.accesses.push_back({object, kind, 0, 1, bytes, bytes});
}

}  // namespace tandem::sim
