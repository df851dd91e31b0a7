// SPDX-License-Identifier: Apache-2.0
#include "base/finding.h"

#include "base/strings.h"

namespace tandem {

std::string_view to_string(FindingCode code) {
  switch (code) {
    case FindingCode::deadlock:
      return "DEADLOCK";
    case FindingCode::flag_overflow:
      return "FLAG-OVERFLOW";
    case FindingCode::flag_residue:
      return "FLAG-RESIDUE";
    case FindingCode::flag_alias:
      return "FLAG-ALIAS";
    case FindingCode::flag_range:
      return "FLAG-RANGE";
    case FindingCode::flag_reserved:
      return "FLAG-RESERVED";
    case FindingCode::event_double_set:
      return "EVENT-DOUBLE-SET";
    case FindingCode::event_residue:
      return "EVENT-RESIDUE";
    case FindingCode::event_range:
      return "EVENT-RANGE";
    case FindingCode::race_raw:
      return "RACE-RAW";
    case FindingCode::race_war:
      return "RACE-WAR";
    case FindingCode::race_waw:
      return "RACE-WAW";
    case FindingCode::race_intrapipe:
      return "RACE-INTRAPIPE";
    case FindingCode::race_inflight_src:
      return "RACE-INFLIGHT-SRC";
    case FindingCode::race_inflight_dst:
      return "RACE-INFLIGHT-DST";
    case FindingCode::atomic_mix:
      return "ATOMIC-MIX";
    case FindingCode::uninit:
      return "UNINIT";
    case FindingCode::out_of_bounds:
      return "OOB";
    case FindingCode::overlay:
      return "OVERLAY";
    case FindingCode::alias_local:
      return "ALIAS-LOCAL";
    case FindingCode::budget:
      return "BUDGET";
    case FindingCode::hardware_limit:
      return "HW-LIMIT";
    case FindingCode::barrier_merged:
      return "BARRIER-MERGED";
    case FindingCode::count_ambiguous:
      return "COUNT-AMBIGUOUS";
    case FindingCode::put_undrained:
      return "PUT-UNDRAINED";
    case FindingCode::channel_self:
      return "CHANNEL-SELF";
    case FindingCode::nonconfluent:
      return "NONCONFLUENT";
    case FindingCode::wrong_value:
      return "VALUE";
    case FindingCode::coverage:
      return "COVERAGE";
  }
  return "?";
}

std::string to_text(const Finding& finding) {
  std::string text = cat(to_string(finding.code), " ", finding.object);
  if (finding.count > 1) text += cat(" (", finding.count, " alike)");
  for (const FindingSide& side : finding.sides) {
    text += cat("\n  rank ", side.rank, " ", side.place(), ": ", side.verb);
    if (side.site.line > 0) text += cat(" at ", side.site.file, ":", side.site.line);
    text += cat(", launch ", side.launch);
  }
  if (!finding.detail.empty()) text += "\n  " + finding.detail;
  return text;
}

}  // namespace tandem
