// SPDX-License-Identifier: Apache-2.0
#include "tandem/operator.h"

#include <algorithm>
#include <map>

#include "base/check.h"
#include "base/strings.h"
#include "cases/test_fault.h"
#include "gemm/tile_product.h"
#include "host/launch_site.h"
#include "launches.h"
#include "link_figures.h"
#include "ops/registry.h"
#include "plan/print.h"
#include "problem_fields.h"
#include "tandem/error.h"
#include "tandem/version.h"
#include "transpose.h"
#include "world_impl.h"

namespace tandem {
namespace {

// A plan and the cores that run it.
struct Prepared {
  Plan plan;
  std::unique_ptr<host::LaunchSite> site;
};

}  // namespace

struct Operator::Impl {
  World* world = nullptr;
  Problem problem;
  Device device;
  host::Windows windows;
  std::int64_t window_bytes = 0;
  std::int64_t slice_rows = 0;  // of a round, in the plan of the largest m; 0: not made yet
  std::map<std::int64_t, Prepared> prepared;  // by m
  Prepared* current = nullptr;
  std::unique_ptr<gemm::PackedWeights> weights;
  std::vector<std::byte> staging;
  std::vector<std::uint8_t> canonical_a;

  ~Impl() {
    prepared.clear();
    if (world != nullptr) world->impl().rank->free_windows(windows);
  }

  // A launch keeps a pointer to its plan, which therefore stays in the map.
  void use(std::int64_t m);
  // What is asked for fewer rows: slices no taller than those that the windows are made for.
  Problem with_m(std::int64_t m) const;
  // Bytes that every plan of m rows or fewer fits into.
  std::int64_t largest_window() const;
  // Where A lies in the window of this rank; null if it does not.
  MxPlace place_of_a() const;
};

Problem Operator::Impl::with_m(std::int64_t m) const {
  Problem smaller = problem;
  smaller.m = m;
  if (!smaller.tiles && slice_rows > 0) smaller.tile_rows = slice_rows;
  return smaller;
}

std::int64_t Operator::Impl::largest_window() const {
  const std::int64_t bytes = current->plan.window_bytes;
  if (problem.slots == 0 || slice_rows == 0) return bytes;
  // Where the ring does not turn, all-gather has room for the own rows too.
  const std::int64_t rows = std::min(problem.m, problem.slots * slice_rows);
  return std::max(bytes, make_plan(with_m(rows), device).window_bytes);
}

MxPlace Operator::Impl::place_of_a() const {
  if (!current->plan.has_a_in_window()) return {};
  auto* window =
      reinterpret_cast<std::uint8_t*>(windows.addresses[static_cast<std::size_t>(world->rank())]);
  if (window == nullptr) return {};
  return {window, window + current->plan.window_scale_offset};
}

void Operator::Impl::use(std::int64_t m) {
  auto found = prepared.find(m);
  if (found == prepared.end()) {
    found = prepared.emplace(m, Prepared{make_plan(with_m(m), device), nullptr}).first;
    Prepared& made = found->second;
    TANDEM_CHECK(made.plan.window_bytes <= window_bytes || prepared.size() == 1,
                 "a smaller m needs a larger window");
  }
  current = &found->second;
}

Operator::Operator(World& world, const Problem& problem) : impl_(std::make_unique<Impl>()) {
  Impl& impl = *impl_;
  impl.problem = problem;
  if (problem.ranks != world.size()) {
    throw Error(ErrorKind::refused,
                cat("operator: the problem is for ", problem.ranks, " ranks, the world has ",
                    world.size(), "; use the world's size"));
  }
  auto fields = problem_fields(problem);
  fields.emplace_back("version", std::string(kVersion));
  fault_in_fields(world.rank(), fields);
  world.agree(std::string(to_string(problem.op)), fields);
  impl.device = device_of(world, problem);
  impl.use(problem.m);
  const auto& slices = impl.current->plan.slices;
  impl.slice_rows = slices.empty() ? 0 : slices.front().count;
  impl.window_bytes = impl.largest_window();
  fault_before_windows(world.rank());
  impl.windows = world.impl().rank->allocate_windows(impl.window_bytes);
  impl.world = &world;
  impl.staging.resize(impl.current->plan.private_staging_bytes());
}

Operator::~Operator() = default;
Operator::Operator(Operator&&) noexcept = default;
Operator& Operator::operator=(Operator&&) noexcept = default;

const Problem& Operator::problem() const { return impl_->current->plan.problem; }
Shapes Operator::shapes() const { return shapes_of(problem(), impl_->world->rank()); }
std::string Operator::plan() const { return print_plan(impl_->current->plan); }
int Operator::rounds() const { return impl_->current->plan.rounds(); }
std::int64_t Operator::window_bytes() const { return impl_->window_bytes; }
std::int64_t Operator::weights_bytes() const {
  return impl_->weights ? impl_->weights->bytes() : 0;
}

void Operator::set_m(std::int64_t m) {
  if (m < 0 || m > impl_->problem.m) {
    throw Error(ErrorKind::refused, cat("operator: m ", m, " is outside 0 to ", impl_->problem.m,
                                        ", for which it was made; make another operator"));
  }
  impl_->world->agree("operator", {{"m", std::to_string(m)}});
  impl_->use(m);
}

MxPlace Operator::window_a() const { return problem().trans_a ? MxPlace{} : impl_->place_of_a(); }

void Operator::prepare(const MxOperand& b) {
  const Plan& plan = impl_->current->plan;
  const Shapes held = shapes();
  std::vector<std::uint8_t> canonical;
  const std::uint8_t* codes = b.codes;
  if (!plan.problem.trans_b) {
    canonical.resize(held.b_columns * held.b_k);
    transpose_bytes(b.codes, held.b_k, held.b_columns, canonical.data());
    codes = canonical.data();
  }
  const MxMatrix columns{.format = plan.problem.dtype_b,
                         .rows = held.b_columns,
                         .k = held.b_k,
                         .codes = codes,
                         .pitch = held.b_k,
                         .scales = b.scales,
                         .scale_pitch = scale_bytes(held.b_k)};
  // Products of fewer rows than the largest m's sum in lane order if it does.
  const SumOrder order = impl_->prepared.at(impl_->problem.m).plan.order;
  impl_->weights = std::make_unique<gemm::PackedWeights>(pack_weights(plan, columns, order));
}

void Operator::run(const MxOperand& a, void* c, const float* bias) {
  Impl& impl = *impl_;
  World::Impl& world = impl.world->impl();
  const host::OnlyLaunch only(*world.rank);
  Prepared& prepared = *impl.current;
  if (impl.weights == nullptr) {
    throw Error(ErrorKind::refused, "operator: it has no weights; call prepare(b) first");
  }
  const bool has_columns = shapes().c_columns > 0;
  if (bias != nullptr ? !prepared.plan.problem.bias : prepared.plan.problem.bias && has_columns) {
    throw Error(ErrorKind::refused,
                "operator: a bias must be given exactly if the problem has one");
  }
  if (prepared.site == nullptr) {
    prepared.site = std::make_unique<host::LaunchSite>(
        *world.rank, *world.pool, make_launch(prepared.plan, world.rank->rank()), impl.windows);
  }
  const std::uint8_t* codes = a.codes;
  if (prepared.plan.problem.trans_a) {
    const Shapes held = shapes();
    std::uint8_t* to = impl.place_of_a().codes;
    if (to == nullptr) {
      impl.canonical_a.resize(held.a_rows * held.a_k);
      to = impl.canonical_a.data();
    }
    transpose_bytes(a.codes, held.a_k, held.a_rows, to);
    codes = to;
  }
  // Machines write to views of A only if a plan says so, and none does.
  const auto bytes = [](const void* address) {
    return static_cast<std::byte*>(const_cast<void*>(address));
  };
  host::Bindings bindings;
  bindings.local[static_cast<std::size_t>(Buffer::a)] = bytes(codes);
  bindings.local[static_cast<std::size_t>(Buffer::a_scale)] = bytes(a.scales);
  bindings.local[static_cast<std::size_t>(Buffer::bias)] = bytes(bias);
  bindings.local[static_cast<std::size_t>(Buffer::c)] = static_cast<std::byte*>(c);
  bindings.local[static_cast<std::size_t>(Buffer::staging)] =
      impl.staging.empty() ? nullptr : impl.staging.data();
  bindings.weights = impl.weights.get();
  prepared.site->run(bindings);
}

void Operator::run(const MxOperand& a, const MxOperand& b, void* c, const float* bias) {
  prepare(b);
  run(a, c, bias);
}

}  // namespace tandem
