// SPDX-License-Identifier: Apache-2.0
// Where recorded calls put bytes: each byte of C once, nothing over what is still in use, nothing
// read that was not written.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "mx/matrix.h"
#include "ops/test_balance.h"

namespace tandem {

// A set of bytes of one buffer, as disjoint ascending intervals once normalised.
class ByteSet {
 public:
  void add(const View& view) {
    if (view.bytes() == 0) return;
    if (view.pitch == view.row_bytes) {
      parts_.emplace_back(view.offset, view.offset + view.bytes());
      return;
    }
    for (std::int64_t row = 0; row < view.rows; ++row) {
      const std::int64_t begin = view.offset + row * view.pitch;
      parts_.emplace_back(begin, begin + view.row_bytes);
    }
  }

  // Merges intervals; false if some byte was added twice.
  bool normalise() {
    bool disjoint = true;
    std::ranges::sort(parts_);
    std::size_t last = 0;
    for (std::size_t i = 1; i < parts_.size(); ++i) {
      disjoint = disjoint && parts_[i].first >= parts_[last].second;
      if (parts_[i].first <= parts_[last].second) {
        parts_[last].second = std::max(parts_[last].second, parts_[i].second);
      } else {
        parts_[++last] = parts_[i];
      }
    }
    if (!parts_.empty()) parts_.resize(last + 1);
    return disjoint;
  }

  void merge(const ByteSet& other) {
    parts_.insert(parts_.end(), other.parts_.begin(), other.parts_.end());
    normalise();
  }
  // Both normalised.
  bool contains(const ByteSet& other) const {
    for (const auto& [begin, end] : other.parts_) {
      const auto after = std::ranges::upper_bound(parts_, begin, {}, &Interval::first);
      if (after == parts_.begin() || std::prev(after)->second < end) return false;
    }
    return true;
  }
  bool is_exactly(std::int64_t bytes) const {
    if (bytes == 0) return parts_.empty();
    return parts_.size() == 1 && parts_[0] == Interval{0, bytes};
  }
  friend bool operator==(const ByteSet&, const ByteSet&) = default;

 private:
  using Interval = std::pair<std::int64_t, std::int64_t>;
  std::vector<Interval> parts_;
};

// What peers may read where it lies.
inline bool is_lent(const Plan& plan, Buffer buffer) {
  if (!plan.is_direct()) return false;
  return plan.problem.op == OperatorKind::matmul_reduce_scatter
             ? buffer == Buffer::staging
             : buffer == Buffer::a || buffer == Buffer::a_scale;
}

inline std::int64_t extent_of(const Plan& plan, int rank, Buffer buffer) {
  const std::int64_t k = plan.k_of(rank).count;
  switch (buffer) {
    case Buffer::a:
      return plan.a_rows(rank) * k;
    case Buffer::a_scale:
      return plan.a_rows(rank) * scale_row_bytes(k);
    case Buffer::bias:
      return plan.problem.bias ? plan.problem.n * 4 : 0;
    case Buffer::c:
      return plan.c_rows(rank) * plan.problem.n * element_bytes(plan.problem.dtype_c);
    case Buffer::staging:
      return plan.staging_bytes;
    case Buffer::window_data:
      return plan.is_direct() ? 0 : plan.comm[0].window_bytes;
    case Buffer::window_scale:
      return plan.comm.size() > 1 && !plan.is_direct() ? plan.comm[1].window_bytes : 0;
  }
  return 0;
}

// Sorts the accesses of a whole launch by buffer, round and turn of the ring.
class ByteLedger {
 public:
  ByteLedger(const Plan& plan, const WorldRecording& world) : plan_(plan) {
    for (const RankRecording& cores : world) {
      for (const CoreRecording& core : cores) {
        if (core.kind == CoreKind::cube) add_cube(core);
        if (core.kind == CoreKind::vector) add_vector(core);
      }
    }
  }

  std::vector<std::string> check() {
    for (int rank = 0; rank < plan_.ranks; ++rank) {
      check_output(rank);
      check_staging(rank);
      check_lent(rank);
    }
    check_windows();
    return std::move(complaints_);
  }

 private:
  using Place = std::pair<int, Buffer>;       // rank, buffer
  using Turn = std::tuple<int, Buffer, int>;  // and turn or round
  using Reader = std::tuple<int, int, int>;   // owner, reader, round

  void inside(const CoreRecording& core, const VerbRecord& record, const View& view, int rank) {
    const bool fits = view.rank == rank && view.offset >= 0 && view.rows >= 0 &&
                      view.row_bytes >= 0 &&
                      (view.bytes() == 0 || view.end() <= extent_of(plan_, rank, view.buffer));
    if (fits) return;
    complaints_.push_back(cat(name_of(core), ": ", to_text(record, SiteText::file_and_line),
                              " leaves ", to_string(view.buffer), " of rank ", rank));
  }

  void read(const CoreRecording& core, const VerbRecord& record, const View& view) {
    const int owner = is_lent(plan_, view.buffer) ? view.rank : core.rank;
    inside(core, record, view, owner);
    read_[{owner, view.buffer}].add(view);
  }

  int turn_of(Buffer window, int round) const {
    const CommPlan& comm = window == Buffer::window_data ? plan_.comm[0] : plan_.comm[1];
    return comm.slots > 0 ? round / comm.slots : 0;
  }

  void add_cube(const CoreRecording& core) {
    int round = 0;  // of products that peers read: each ends with one flag
    for (const VerbRecord& record : core.verbs) {
      if (record.verb == Verb::set_flag) ++round;
      if (record.verb != Verb::load && record.verb != Verb::store) continue;
      if (record.verb == Verb::load) {
        for (const View& view : record.views) read(core, record, view);
        continue;
      }
      for (const View& view : record.views) inside(core, record, view, core.rank);
      for (std::size_t i = 0; i + (record.has_bias ? 1 : 0) < record.views.size(); ++i) {
        const View& view = record.views[i];
        if (record.mode == StoreMode::atomic_add) {
          added_[core.rank].add(view);
        } else if (view.buffer == Buffer::window_data) {
          written_[{core.rank, view.buffer, turn_of(view.buffer, round)}].add(view);
          offered_[{core.rank, round}].add(view);
        } else {
          stored_[{core.rank, view.buffer}].add(view);
        }
      }
    }
  }

  void add_vector(const CoreRecording& core) {
    std::map<std::pair<int, Buffer>, int> sent;  // transfers with a peer so far: one a round
    for (const VerbRecord& record : core.verbs) {
      if (record.verb == Verb::load) read(core, record, record.views[0]);
      if (record.verb == Verb::store) {
        inside(core, record, record.views[0], core.rank);
        stored_[{core.rank, record.views[0].buffer}].add(record.views[0]);
      }
      if (record.verb != Verb::write_nbi && record.verb != Verb::read_nbi) continue;
      const bool writes = record.verb == Verb::write_nbi;
      const View& destination = record.views[0];
      const View& source = record.views[1];
      inside(core, record, destination, writes ? record.peer : core.rank);
      inside(core, record, source, writes ? core.rank : record.peer);
      const Buffer window = writes ? destination.buffer : source.buffer;
      const int round = sent[{record.peer, window}]++;
      if (destination.rows != source.rows || destination.row_bytes != source.row_bytes) {
        complaints_.push_back(
            cat(name_of(core), ": shapes differ in ", to_text(record, SiteText::file_and_line)));
      }
      if (writes) {
        written_[{record.peer, window, turn_of(window, round)}].add(destination);
        read_[{core.rank, source.buffer}].add(source);
      } else {
        stored_[{core.rank, destination.buffer}].add(destination);
        pulled_[{record.peer, core.rank, round}].add(source);
      }
    }
  }

  void check_output(int rank) {
    ByteSet& stored = stored_[{rank, Buffer::c}];
    if (!stored.normalise()) complain(rank, "a byte of C is stored twice");
    const std::int64_t bytes = extent_of(plan_, rank, Buffer::c);
    if (!stored.is_exactly(bytes)) complain(rank, "C is not covered by stores");
    const auto added = added_.find(rank);
    const bool adds = plan_.problem.local_matmul == 1 && plan_.ranks > 1;
    if (adds != (added != added_.end()) && bytes > 0)
      complain(rank, "atomic adds where none belong");
    if (added == added_.end()) return;
    if (!added->second.normalise()) complain(rank, "a byte of C is added to twice");
    if (!added->second.is_exactly(bytes)) complain(rank, "C is not covered by atomic adds");
  }

  void check_staging(int rank) {
    ByteSet& stored = stored_[{rank, Buffer::staging}];
    ByteSet& read = read_[{rank, Buffer::staging}];
    if (!stored.normalise()) complain(rank, "a byte of staging is stored twice");
    if (!stored.is_exactly(plan_.staging_bytes)) complain(rank, "staging is not covered by stores");
    read.normalise();
    if (!stored.contains(read)) complain(rank, "staging is read where nothing was stored");
    // Each partial row is sent or reduced.
    if (!(read == stored)) complain(rank, "staging is stored where nobody reads");
  }

  // Every row of A that peers may read is read by somebody.
  void check_lent(int rank) {
    for (const Buffer buffer : {Buffer::a, Buffer::a_scale}) {
      if (!is_lent(plan_, buffer) || plan_.problem.n == 0) continue;
      ByteSet& read = read_[{rank, buffer}];
      read.normalise();
      if (!read.is_exactly(extent_of(plan_, rank, buffer))) {
        complain(rank, cat(to_string(buffer), " is lent and not read to its end"));
      }
    }
  }

  void check_windows() {
    std::map<Place, ByteSet> ever;
    for (auto& [turn, bytes] : written_) {
      const auto& [rank, buffer, number] = turn;
      if (!bytes.normalise()) {
        complain(rank, cat("a byte of ", to_string(buffer), " is written twice in turn ", number));
      }
      ByteSet& all = ever[{rank, buffer}];
      all.merge(bytes);
    }
    for (auto& [place, bytes] : read_) {
      if (place.second != Buffer::window_data && place.second != Buffer::window_scale) continue;
      bytes.normalise();
      if (!ever[place].contains(bytes)) {
        complain(place.first, cat(to_string(place.second), " is read where nothing was written"));
      }
    }
    for (auto& [key, bytes] : pulled_) {
      const auto& [owner, reader, round] = key;
      ByteSet& offered = offered_[{owner, round}];
      offered.normalise();
      if (!bytes.normalise() || !(bytes == offered)) {
        complain(reader,
                 cat("reads other bytes of rank ", owner, " than it stored in round ", round));
      }
    }
  }

  void complain(int rank, const std::string& text) {
    complaints_.push_back(cat("rank ", rank, ": ", text));
  }

  const Plan& plan_;
  std::map<Place, ByteSet> stored_;                 // plain, but not into windows
  std::map<int, ByteSet> added_;                    // onto C
  std::map<Turn, ByteSet> written_;                 // into windows, by turn of the ring
  std::map<std::pair<int, int>, ByteSet> offered_;  // into the own window, by round
  std::map<Reader, ByteSet> pulled_;                // out of peers' windows, by round
  std::map<Place, ByteSet> read_;
  std::vector<std::string> complaints_;
};

inline std::vector<std::string> check_bytes(const Plan& plan, const WorldRecording& world) {
  return ByteLedger(plan, world).check();
}

}  // namespace tandem
