// SPDX-License-Identifier: Apache-2.0
#include "calibrating/probe.h"

#include <algorithm>

#include "world_impl.h"

namespace tandem {
namespace {

constexpr std::int64_t kUbBytes = 184320;  // of the host device
constexpr std::int64_t kCacheLine = 64;
constexpr std::size_t kOtherBytes = std::size_t{48} << 20;  // more than caches hold

std::int64_t first_k(int segment) {
  std::int64_t first = 0;
  for (int i = 0; i < segment; ++i) first += ProbeRank::kDepths[i];
  return first;
}

double quantile(Samples samples, double part) {
  if (samples.empty()) return 0;
  std::ranges::sort(samples);
  return samples[static_cast<std::size_t>(static_cast<double>(samples.size() - 1) * part)];
}

}  // namespace

double lower_quartile(Samples samples) { return quantile(std::move(samples), 0.25); }
double median(Samples samples) { return quantile(std::move(samples), 0.5); }

ProbeRank::ProbeRank(World& world) : world_(world), c_(kBytes), staging_(kBytes) {
  windows_ = world.impl().rank->allocate_windows(kWindowBytes + kCacheLine);
  Problem problem{.op = OperatorKind::all_gather_matmul,
                  .ranks = world.size(),
                  .m = kRows,
                  .n = kColumns,
                  .k = kDepth};
  const auto source = make_generator(problem, {});
  a_ = std::make_unique<MxRows>(problem.dtype_a, kRows, kDepth);
  source->fill_a(rank(), {0, kRows}, *a_, 0);
  const MxRows b = columns_of_b(problem, *source, rank());
  std::vector<MxMatrix> segments;
  for (int segment = 0; segment < static_cast<int>(std::size(kDepths)); ++segment) {
    MxMatrix part = b.view();
    part.k = kDepths[segment];
    part.codes += first_k(segment);
    part.scales += first_k(segment) / kGroup;
    segments.push_back(part);
  }
  weights_ = std::make_unique<gemm::PackedWeights>(segments);
  const auto bytes = [](const void* address) {
    return static_cast<std::byte*>(const_cast<void*>(address));
  };
  bindings_.local[static_cast<std::size_t>(Buffer::a)] = bytes(a_->view().codes);
  bindings_.local[static_cast<std::size_t>(Buffer::a_scale)] = bytes(a_->view().scales);
  bindings_.local[static_cast<std::size_t>(Buffer::c)] = c_.data();
  bindings_.local[static_cast<std::size_t>(Buffer::staging)] = staging_.data();
  bindings_.weights = weights_.get();
  std::fill_n(windows_.addresses[rank()], kWindowBytes, std::byte{0});
  world.barrier();
}

ProbeRank::~ProbeRank() { world_.impl().rank->free_windows(windows_); }

Launch ProbeRank::launch_of(const Kernel& kernel) const {
  Launch launch;
  launch.blocks = kernel.blocks;
  launch.numerics = {ElementFormat::e4m3, ElementFormat::e4m3, kernel.order};
  const auto extent = [&launch](Buffer buffer) -> BufferExtent& {
    return launch.extents[static_cast<std::size_t>(buffer)];
  };
  extent(Buffer::a).bytes = kRows * kDepth;
  extent(Buffer::a_scale).bytes = kRows * scale_row_bytes(kDepth);
  for (Buffer buffer : {Buffer::c, Buffer::staging}) {
    extent(buffer) = {.bytes = kBytes, .type = kernel.type};
  }
  extent(Buffer::window_data) = {.bytes = kWindowBytes, .type = kernel.type};
  launch.ub_bytes = kUbBytes;
  launch.epochs = kernel.epochs;
  launch.cube = kernel.cube ? kernel.cube : [](CubeCore&) {};
  launch.vector = kernel.vector ? kernel.vector : [](VectorCore&) {};
  return launch;
}

double ProbeRank::run(const Kernel& kernel) { return run_often(kernel, 1)[0]; }

Samples ProbeRank::run_often(const Kernel& kernel, int times) {
  World::Impl& world = world_.impl();
  host::LaunchSite site(*world.rank, *world.pool, launch_of(kernel), windows_);
  Samples samples;
  for (int i = 0; i < times; ++i) {
    world_.barrier();
    const double begin = now_ns();
    site.run(bindings_);
    samples.push_back(now_ns() - begin);
  }
  return samples;
}

void ProbeRank::forget() {
  if (other_.empty()) other_.assign(kOtherBytes / sizeof(std::uint64_t), 1);
  for (std::uint64_t word : other_) digest_ += word;
}

double& ProbeRank::stamp(int rank) const {
  return *reinterpret_cast<double*>(windows_.addresses[rank] + kWindowBytes);
}

Fragment ProbeRank::rows_of_a(int segment, Slice rows) const {
  const std::int64_t k = kDepths[segment];
  const std::int64_t scales = scale_row_bytes(kDepth);
  return {
      .data = {rank(), Buffer::a, rows.first * kDepth + first_k(segment), rows.count, k, kDepth},
      .scale = {rank(), Buffer::a_scale, rows.first * scales + first_k(segment) / kGroup,
                rows.count, scale_row_bytes(k), scales}};
}

}  // namespace tandem
