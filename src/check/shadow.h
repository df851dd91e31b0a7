// SPDX-License-Identifier: Apache-2.0
// Shadow memory: for every byte of a buffer, who wrote it last and who has read it since, as
// sorted intervals in pages.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "sim/op.h"

namespace tandem::check {

inline constexpr std::uint32_t kNobody = 0xFFFFFFFF;

// One access: an agent's number, its epoch, what it was, and for a transfer the scalar epoch at
// which it was posted.
struct Stamp {
  std::uint32_t agent = kNobody;
  std::uint32_t epoch = 0;
  std::uint32_t what = 0;
  std::uint32_t post = 0;
  bool of_nothing = false;  // it read what nobody had written
};

struct Segment {
  std::int64_t first = 0;
  std::int64_t end = 0;
  bool initialised = false;
  bool atomic = false;  // the last write was an atomic update
  Stamp write;
  std::vector<Stamp> readers;
};

// What an earlier access was; a read of nothing found memory that was not initialised.
enum class Earlier : std::uint8_t { read, read_of_nothing, write, atomic };

// Visits conflicts: `earlier` and the new access touch [first, end) without order.
class ShadowListener {
 public:
  virtual ~ShadowListener() = default;
  virtual bool ordered(const Stamp& earlier) = 0;  // does the new access know it?
  virtual void conflict(const Stamp& earlier, Earlier what, std::int64_t first,
                        std::int64_t end) = 0;
  virtual void uninitialised(std::int64_t first, std::int64_t end) = 0;
};

class ShadowBuffer {
 public:
  // A buffer of `bytes`; inputs count as initialised.
  ShadowBuffer(std::int64_t bytes, bool initialised);

  void access(const sim::Access& range, const Stamp& stamp, ShadowListener& listener);
  // Forgets that anything was written: what is read next must be written first.
  void poison();
  // The same for what was written by accesses that are `old`.
  void poison_if(const std::function<bool(const Stamp& write)>& old);
  // First interval that is not initialised, or {−1, −1}.
  std::pair<std::int64_t, std::int64_t> first_gap() const;
  std::size_t segment_count() const;

 private:
  using Page = std::vector<Segment>;
  static constexpr std::int64_t kPageBytes = 16384;

  void touch(std::int64_t first, std::int64_t end, sim::AccessKind kind, const Stamp& stamp,
             ShadowListener& listener);
  void touch_page(Page& page, std::int64_t first, std::int64_t end, sim::AccessKind kind,
                  const Stamp& stamp, ShadowListener& listener);
  void apply(Segment& segment, sim::AccessKind kind, const Stamp& stamp, ShadowListener& listener);

  std::int64_t bytes_;
  bool initialised_;
  std::vector<Page> pages_;  // as far as they were touched
};

}  // namespace tandem::check
