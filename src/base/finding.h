// SPDX-License-Identifier: Apache-2.0
// What a checker reports. Codes are stable: scripts and docs/checker.md refer to them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/site.h"

namespace tandem {

enum class FindingCode : std::uint8_t {
  deadlock,
  flag_overflow,
  flag_residue,
  flag_alias,
  flag_range,
  flag_reserved,
  event_double_set,
  event_residue,
  event_range,
  race_raw,
  race_war,
  race_waw,
  race_intrapipe,
  race_inflight_src,
  race_inflight_dst,
  atomic_mix,
  uninit,
  out_of_bounds,
  overlay,
  alias_local,
  budget,
  hardware_limit,
  barrier_merged,
  count_ambiguous,
  put_undrained,
  channel_self,
  nonconfluent,
  wrong_value,
  coverage,
};

std::string_view to_string(FindingCode code);

// One side of a finding: who did what, where.
struct FindingSide {
  int rank = -1;
  std::string core;  // "cube 0", "vector 3", folded: "cube 0-3"; "host": whoever launches
  std::string pipe;  // "MTE2", "S", "channel to 1"; empty: none
  std::string verb;
  Site site;  // line 0: none
  int launch = 0;

  std::string place() const { return pipe.empty() ? core : core + " " + pipe; }
};

struct Finding {
  FindingCode code = FindingCode::deadlock;
  std::string object;  // buffer and range, flag id, event, slot
  std::vector<FindingSide> sides;
  std::string detail;  // what is missing, the nearest synchronisation, the wait-for graph
  int count = 1;       // how many symmetric places show the same
};

// One finding as text: a headline and indented lines.
std::string to_text(const Finding& finding);

}  // namespace tandem
