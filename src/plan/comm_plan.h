// SPDX-License-Identifier: Apache-2.0
// Where every byte of one communication object goes: computed once, used by the writer, the
// reader and whoever allocates.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/view.h"

namespace tandem {

// What a communication object does with a peer. Put: the source writes into the destination's
// window. Get: the destination reads from the source's window.
enum class Hook : std::uint8_t { all_to_all_put, all_to_all_get, all_gather_put, all_gather_get };

std::string_view to_string(Hook hook);
constexpr bool is_put(Hook hook) {
  return hook == Hook::all_to_all_put || hook == Hook::all_gather_put;
}

// One communication object. A *chunk* is what one source sends to one destination in a launch; it
// moves in rounds, slice by slice along its rows.
struct CommPlan {
  Hook hook = Hook::all_to_all_put;
  int ranks = 0;
  Buffer local = Buffer::a;  // put: source; get: destination
  Buffer window = Buffer::window_data;
  std::vector<Slice> slices;               // rows of the largest chunk, by round
  std::vector<std::int64_t> chunk_rows;    // [destination]: rows of the chunks it receives
  std::vector<std::int64_t> row_bytes;     // [source]
  std::vector<std::int64_t> local_row;     // [peer]: first row of its chunk in `local`
  std::vector<std::int64_t> local_column;  // [peer]: first byte of its chunk in a row of `local`
  std::vector<std::int64_t> local_pitch;   // [self]
  int slots = 0;                           // ring slots in the window; 0: one chunk per source
  std::int64_t part_bytes = 0;    // room for one chunk, or for one slice where there are slots
  std::int64_t window_bytes = 0;  // per rank

  int rounds() const { return static_cast<int>(slices.size()); }
  // Rows that move to `destination` in `round`: a shorter chunk ends earlier.
  Slice rows(int destination, int round) const;
};

// The rows of `round` exchanged with `peer` in the own local buffer: source of a put, destination
// of a get.
View local_view(const CommPlan& plan, int self, int peer, int round);

// Their place in `owner`'s window. `other` is the source of a put or the requester of a get.
View window_view(const CommPlan& plan, int owner, int other, int round);

// Places of part_bytes in a window, or in each of its ring slots: one for each rank that shares it.
int window_parts(const CommPlan& plan);

// Fills part_bytes and window_bytes from the rest, in checked arithmetic.
void lay_out_window(CommPlan& plan);

// The peers that `job` of `jobs` serves: contiguous, the same for transfers and for barriers.
Slice targets_of_job(int ranks, int jobs, int job);

}  // namespace tandem
