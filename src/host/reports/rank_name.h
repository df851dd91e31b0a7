// SPDX-License-Identifier: Apache-2.0
// How reports name ranks. A group counts its ranks anew, and a reader looks for the one of the
// whole world.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/strings.h"

namespace tandem::host {

// "rank 1 (pid 4711)", without brackets if there is no more to say. In a group, whose members are
// given as ranks of the whole world: "rank 1 (2 of the group 2 0 1, pid 4711)".
inline std::string name_rank(int rank, std::span<const int> group, std::string_view more = {}) {
  if (group.empty()) return cat("rank ", rank, more.empty() ? "" : cat(" (", more, ')'));
  std::string members;
  for (const int member : group) members += cat(' ', member);
  return cat("rank ", group[rank], " (", rank, " of the group", members, more.empty() ? "" : ", ",
             more, ')');
}

// Members of a group as ranks of the whole world, where `group` is what they are ranks of.
inline std::vector<int> whole_ranks(std::span<const int> group, std::vector<int> members) {
  for (int& member : members) member = group.empty() ? member : group[member];
  return members;
}

}  // namespace tandem::host
