// SPDX-License-Identifier: Apache-2.0
#include "checking/check_data.h"

#include <algorithm>
#include <cstring>
#include <iomanip>
#include <limits>
#include <sstream>

#include "base/strings.h"
#include "launches.h"
#include "mx/output.h"
#include "ops/registry.h"

namespace tandem {
namespace {

constexpr int kPoison = 0xFF;
constexpr std::uint64_t kSeedStep = 1000003;  // between launches

void copy_into(sim::Machine& machine, int rank, Buffer buffer, const void* from) {
  const auto& extents = machine.program().ranks[rank].launch.extents;
  const auto bytes = static_cast<std::size_t>(extents[static_cast<int>(buffer)].bytes);
  if (bytes > 0) std::memcpy(machine.memory(rank, buffer), from, bytes);
}

void poison(sim::Machine& machine, int rank, Buffer buffer) {
  const auto& extents = machine.program().ranks[rank].launch.extents;
  const auto bytes = static_cast<std::size_t>(extents[static_cast<int>(buffer)].bytes);
  if (bytes > 0) std::memset(machine.memory(rank, buffer), kPoison, bytes);
}

std::string shown(OutputType type, const std::uint8_t* cell) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, cell, static_cast<std::size_t>(element_bytes(type)));
  std::ostringstream text;
  text << "0x" << std::hex << std::setfill('0')
       << std::setw(static_cast<int>(2 * element_bytes(type))) << bits << std::dec << " ("
       << std::setprecision(9) << widen(type, cell) << ")";
  return text.str();
}

}  // namespace

CheckValues::CheckValues(const Plan& plan, int launches, std::uint64_t seed) : plan_(plan) {
  const Problem& problem = plan.problem;
  // Weights are packed once per operator; A and the bias are new in each launch.
  const auto fixed = make_generator(problem, {.kind = InputKind::normal, .seed = seed});
  std::vector<MxRows> b;
  for (int rank = 0; rank < plan.ranks; ++rank) {
    b.push_back(columns_of_b(problem, *fixed, rank));
    weights_.push_back(pack_weights(plan, b.back().view(), plan.order));
  }
  for (int launch = 0; launch < launches; ++launch) {
    const auto source = make_generator(
        problem, {.kind = InputKind::normal,
                  .seed = seed + kSeedStep * (static_cast<std::uint64_t>(launch) + 1)});
    LaunchData& data = launches_.emplace_back();
    std::vector<RankOperands> operands;
    for (int rank = 0; rank < plan.ranks; ++rank) {
      const Shapes held = shapes_of(problem, rank);
      MxRows& a = data.a.emplace_back(problem.dtype_a, held.a_rows, held.a_k);
      source->fill_a(rank, {0, held.a_rows}, a, 0);
      data.bias.push_back(source->bias(rank));
    }
    for (int rank = 0; rank < plan.ranks; ++rank) {
      operands.push_back({data.a[rank].view(), b[rank].view(),
                          data.bias[rank].empty() ? nullptr : data.bias[rank].data()});
    }
    for (int rank = 0; rank < plan.ranks; ++rank) {
      Reference reference;
      find_operator(problem.op).reference(plan, operands, rank, reference);
      data.c.push_back(std::move(reference.c));
    }
  }
}

void CheckValues::attach(sim::Program& program, check::Findings& findings) const {
  program.values = true;
  for (int rank = 0; rank < plan_.ranks; ++rank) program.ranks[rank].weights = &weights_[rank];
  // A mutated stream of calls wants to know of the launch too.
  program.before = [this, inner = program.before](sim::Machine& machine, int rank, int launch) {
    if (inner) inner(machine, rank, launch);
    fill(machine, rank, launch);
  };
  program.after = [this, &findings](sim::Machine& machine, int rank, int launch) {
    compare(machine, rank, launch, findings);
  };
}

void CheckValues::fill(sim::Machine& machine, int rank, int launch) const {
  const LaunchData& data = launches_[launch];
  const MxMatrix a = data.a[rank].view();
  copy_into(machine, rank, Buffer::a, a.codes);
  copy_into(machine, rank, Buffer::a_scale, a.scales);
  copy_into(machine, rank, Buffer::bias, data.bias[rank].data());
  for (Buffer buffer : {Buffer::c, Buffer::staging, Buffer::window_data, Buffer::window_scale}) {
    poison(machine, rank, buffer);
  }
  for (const auto& core : machine.cores()) {
    if (core->rank != rank) continue;
    std::ranges::fill(core->ub, static_cast<std::byte>(kPoison));
    for (auto& half : core->halves) {
      std::ranges::fill(half, std::numeric_limits<float>::quiet_NaN());
    }
  }
}

void CheckValues::compare(sim::Machine& machine, int rank, int launch,
                          check::Findings& findings) const {
  const Problem& problem = plan_.problem;
  const std::vector<std::uint8_t>& want = launches_[launch].c[rank];
  if (want.empty()) return;
  const auto* got = reinterpret_cast<const std::uint8_t*>(machine.memory(rank, Buffer::c));
  if (std::memcmp(got, want.data(), want.size()) == 0) return;
  const auto size = static_cast<std::size_t>(element_bytes(problem.dtype_c));
  std::size_t differing = 0;
  std::size_t first = 0;
  for (std::size_t at = 0; at < want.size(); at += size) {
    if (std::memcmp(got + at, want.data() + at, size) == 0) continue;
    if (differing++ == 0) first = at;
  }
  const auto index = static_cast<std::int64_t>(first / size);
  Finding finding;
  finding.code = FindingCode::wrong_value;
  finding.object = cat("c[", rank, "] element ", index);
  finding.detail = cat("launch ", launch, ", row ", index / problem.n, ", column ",
                       index % problem.n, ": got ", shown(problem.dtype_c, got + first),
                       ", the reference has ", shown(problem.dtype_c, want.data() + first), "; ",
                       differing, " of ", want.size() / size, " elements differ");
  findings.add(finding);
}

std::vector<Finding> find_wrong_values(check::BuiltProgram built) {
  const CheckValues values(built.plan(0), built.program.launches, 1);
  check::Findings wrong;
  values.attach(built.program, wrong);
  check::run_checked(built.program, nullptr, check::HappensBefore::Hash::off, {});
  return wrong.list();
}

}  // namespace tandem
