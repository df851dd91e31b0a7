// SPDX-License-Identifier: Apache-2.0
#include "check/mutants/data_flow.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace tandem::check {
namespace {

using sim::OpKind;

std::uint64_t mix(std::initializer_list<std::uint64_t> parts) {
  std::uint64_t hash = 0x243F6A8885A308D3u;
  for (std::uint64_t part : parts) {
    hash = (hash ^ part) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 32;
    hash *= 0xD6E8FEB86659FD93u;
    hash ^= hash >> 29;
  }
  return hash;
}

std::uint64_t number(std::int64_t value) { return static_cast<std::uint64_t>(value); }

// Sums of 1, b and b² over [first, end): exact, then modulo 2^64.
struct Sums {
  std::uint64_t ones, firsts, squares;
};
Sums sums_over(std::int64_t first, std::int64_t end) {
  const auto below = [](std::int64_t n) {
    const auto wide = static_cast<unsigned __int128>(n);
    return std::pair{static_cast<std::uint64_t>(wide * (wide - 1) / 2),
                     static_cast<std::uint64_t>((wide - 1) * wide * (2 * wide - 1) / 6)};
  };
  if (end == 0) return {0, 0, 0};
  const auto [sum_end, squares_end] = below(end);
  if (first == 0) return {number(end), sum_end, squares_end};
  const auto [sum_first, squares_first] = below(first);
  return {number(end - first), sum_end - sum_first, squares_end - squares_first};
}

constexpr std::uint64_t kPlaceWeight = 0xA0761D6478BD642Fu;

}  // namespace

DataFlow::Memory& DataFlow::memory(const sim::Object& object) {
  const std::tuple key{static_cast<int>(object.kind), object.owner, object.index};
  const auto [found, fresh] = memories_.try_emplace(key);
  if (fresh) {
    found->second.constant =
        mix({number(std::get<0>(key)), number(object.owner), number(object.index)});
    found->second.slope = mix({found->second.constant});
  }
  return found->second;
}

// Operands change from launch to launch, and so does what memory held before.
void DataFlow::launch_begins(int rank, int launch) {
  for (Buffer buffer : {Buffer::a, Buffer::a_scale, Buffer::bias, Buffer::c, Buffer::staging}) {
    Memory& fresh = memory({sim::Object::Kind::buffer, rank, static_cast<int>(buffer)});
    fresh.pieces.clear();
    fresh.constant = mix({number(rank), number(static_cast<int>(buffer)), number(launch), 1});
    fresh.slope = mix({fresh.constant});
  }
}

void DataFlow::launch_ends(int rank, int launch) {
  const sim::Object c{sim::Object::Kind::buffer, rank, static_cast<int>(Buffer::c)};
  const std::int64_t bytes = program_.ranks[rank].launch.extents[static_cast<int>(Buffer::c)].bytes;
  outcome_ += mix({read(memory(c), 0, bytes), number(rank), number(launch)});
}

void DataFlow::split(Memory& memory, std::int64_t at) {
  auto found = memory.pieces.lower_bound(at);
  if (found == memory.pieces.begin()) return;
  --found;
  Piece& piece = found->second;
  if (piece.end <= at) return;
  const Piece rest = piece;
  piece.end = at;
  memory.pieces.emplace(at, rest);
}

// The bytes and their places, independent of how they are cut into pieces.
std::uint64_t DataFlow::read(Memory& memory, std::int64_t first, std::int64_t end) {
  std::uint64_t sum = 0;
  const auto add = [&](std::int64_t from, std::int64_t to, std::uint64_t constant,
                       std::uint64_t slope) {
    const Sums sums = sums_over(from, to);
    const std::uint64_t weight = 1 - kPlaceWeight * number(first);
    sum += constant * weight * sums.ones;
    sum += (slope * weight + constant * kPlaceWeight) * sums.firsts;
    sum += slope * kPlaceWeight * sums.squares;
  };
  split(memory, first);
  split(memory, end);
  std::int64_t reached = first;
  for (auto at = memory.pieces.lower_bound(first); at != memory.pieces.end() && at->first < end;
       ++at) {
    if (at->first > reached) add(reached, at->first, memory.constant, memory.slope);
    add(at->first, at->second.end, at->second.constant, at->second.slope);
    reached = at->second.end;
  }
  if (reached < end) add(reached, end, memory.constant, memory.slope);
  return mix({sum});
}

void DataFlow::write(Memory& memory, std::int64_t first, std::int64_t end, std::uint64_t value,
                     Write how) {
  if (first >= end) return;
  // The value belongs to the operation: its bytes are counted from the first.
  const std::uint64_t slope = mix({value, 7});
  const std::uint64_t constant = value - slope * number(first);
  split(memory, first);
  split(memory, end);
  auto at = memory.pieces.lower_bound(first);
  if (how == Write::add) {
    std::int64_t reached = first;
    while (reached < end) {
      if (at == memory.pieces.end() || at->first > reached) {
        const std::int64_t stop = at == memory.pieces.end() ? end : std::min(end, at->first);
        memory.pieces.emplace(reached,
                              Piece{stop, memory.constant + constant, memory.slope + slope});
        reached = stop;
      } else {
        at->second.constant += constant;
        at->second.slope += slope;
        reached = at->second.end;
        ++at;
      }
    }
    return;
  }
  while (at != memory.pieces.end() && at->first < end) at = memory.pieces.erase(at);
  memory.pieces.emplace(first, Piece{end, constant, slope});
}

// What an operation computes, from what it reads and how it was called.
std::uint64_t DataFlow::value_of(const sim::Op& op) {
  // An operation's other fields are those of whatever it was before.
  std::uint64_t value = mix({static_cast<std::uint64_t>(op.kind)});
  if (op.kind == OpKind::multiply || op.kind == OpKind::accumulate) {
    value = mix({value, static_cast<std::uint64_t>(op.accumulate)});
  }
  if (op.kind == OpKind::load_l1) {
    value =
        mix({value, number(op.b.segment), number(op.b.columns.first), number(op.b.columns.count)});
  }
  std::uint64_t row_number = 0;
  for (const sim::Access& access : op.accesses) {
    if (access.kind != sim::AccessKind::read) continue;
    Memory& from = memory(access.object);
    for (std::int64_t row = 0; row < access.rows; ++row) {
      const std::int64_t first = access.offset + row * access.pitch;
      value = mix({value, read(from, first, first + access.row_bytes), row_number++});
    }
  }
  if (op.kind == OpKind::stage_l0) staged_[op.core].push_back(value);
  if (op.kind == OpKind::multiply) {
    value = mix({value, staged_[op.core].front()});
    staged_[op.core].pop_front();
  }
  return value;
}

void DataFlow::begin(sim::Op& op) {
  const bool moves = op.kind == OpKind::write || op.kind == OpKind::read;
  if (op.accesses.empty() && op.kind != OpKind::stage_l0 && op.kind != OpKind::multiply) return;
  const std::uint64_t value = value_of(op);
  std::uint64_t row_number = 0;
  const sim::Access* source = moves && !op.accesses.empty() ? &op.accesses.front() : nullptr;
  for (const sim::Access& access : op.accesses) {
    if (access.kind == sim::AccessKind::read) continue;
    Memory& to = memory(access.object);
    const Write how = access.kind == sim::AccessKind::atomic ? Write::add : Write::replace;
    for (std::int64_t row = 0; row < access.rows; ++row) {
      const std::int64_t first = access.offset + row * access.pitch;
      std::uint64_t row_value = mix({value, row_number++});
      // A copied row is what it was, wherever it comes from and however many are copied at once.
      if (source != nullptr && source->row_bytes == access.row_bytes) {
        const std::int64_t from = source->offset + row * source->pitch;
        row_value = read(memory(source->object), from, from + source->row_bytes);
      }
      write(to, first, first + access.row_bytes, row_value, how);
    }
  }
}

}  // namespace tandem::check
