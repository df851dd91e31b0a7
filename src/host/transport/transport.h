// SPDX-License-Identifier: Apache-2.0
// How ranks reach each other's memory. One object per world, made before the ranks start; each
// rank calls it with its own number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "host/control_area.h"

namespace tandem::host {

// A part of a rank's window memory.
struct WindowRange {
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
};

class Transport {
 public:
  virtual ~Transport() = default;
  virtual std::string_view name() const = 0;
  virtual int ranks() const = 0;
  virtual ControlArea& control() = 0;

  // Reserves zeroed window memory of `rank` that peers can map. Throws Error{environment} with
  // the bytes needed and why they can't be had.
  virtual WindowRange reserve(int rank, std::int64_t bytes) = 0;
  // The address, in this process, of a range that `owner` reserved.
  virtual std::byte* map(int owner, const WindowRange& range) = 0;
  virtual void unmap(int owner, std::byte* address, const WindowRange& range) = 0;
  // Gives the memory back; every rank has unmapped it.
  virtual void release(int rank, const WindowRange& range) = 0;
};

struct TransportEntry {
  std::string_view name;
  std::string_view summary;
  std::unique_ptr<Transport> (*make)(int ranks);
};

std::span<const TransportEntry> all_transports();
// Throws Error{refused} with the names there are.
std::unique_ptr<Transport> make_transport(std::string_view name, int ranks);

}  // namespace tandem::host
