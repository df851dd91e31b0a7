// SPDX-License-Identifier: Apache-2.0
#include "launches.h"

#include "ops/registry.h"

namespace tandem {
namespace {

BufferExtents extents_of(const Plan& plan, int rank) {
  BufferExtents extents;
  const auto at = [&](Buffer buffer) -> BufferExtent& {
    return extents[static_cast<std::size_t>(buffer)];
  };
  const Problem& problem = plan.problem;
  const std::int64_t k = plan.k_of(rank).count;
  at(Buffer::a).bytes = plan.a_rows(rank) * k;
  at(Buffer::a_scale).bytes = plan.a_rows(rank) * scale_row_bytes(k);
  at(Buffer::bias) = {.bytes = problem.bias ? problem.n * 4 : 0, .type = OutputType::fp32};
  at(Buffer::c) = {.bytes = plan.c_rows(rank) * problem.n * element_bytes(problem.dtype_c),
                   .type = problem.dtype_c};
  at(Buffer::staging) = {.bytes = plan.staging_bytes, .type = problem.staging};
  if (plan.is_direct()) {
    at(Buffer::a).in_window = at(Buffer::a_scale).in_window = plan.has_a_in_window();
    at(Buffer::a_scale).window_offset = plan.window_scale_offset;
    at(Buffer::staging).in_window = !plan.has_a_in_window();
    return extents;
  }
  const bool holds_partials = problem.op == OperatorKind::matmul_reduce_scatter;
  at(Buffer::window_data) = {.bytes = plan.comm[0].window_bytes,
                             .type = holds_partials ? problem.staging : problem.dtype_c};
  if (plan.comm.size() > 1) {
    at(Buffer::window_scale) = {.bytes = plan.comm[1].window_bytes,
                                .window_offset = plan.window_scale_offset};
  }
  return extents;
}

}  // namespace

Launch make_launch(const Plan& plan, int rank) {
  const OperatorEntry& entry = find_operator(plan.problem.op);
  Launch launch;
  launch.blocks = plan.blocks;
  launch.numerics = {plan.problem.dtype_a, plan.problem.dtype_b, plan.order};
  launch.extents = extents_of(plan, rank);
  launch.ub_bytes = plan.reduction.ub_bytes;
  launch.epochs = plan.epochs;
  launch.cube = [&plan, &entry](CubeCore& core) { entry.cube(core, plan); };
  launch.vector = [&plan, &entry](VectorCore& core) { entry.vector(core, plan); };
  return launch;
}

gemm::PackedWeights pack_weights(const Plan& plan, const MxMatrix& b, SumOrder order) {
  std::vector<MxMatrix> segments;
  for (int segment = 0; segment < plan.k_segments(); ++segment) {
    const Slice k = plan.k_segments() > 1 ? plan.k_of(segment) : Slice{0, plan.problem.k};
    MxMatrix& part = segments.emplace_back(b);
    part.k = k.count;
    part.codes += k.first;
    part.scales += k.first / kGroup;
  }
  return gemm::PackedWeights(segments, order);
}

}  // namespace tandem
