// SPDX-License-Identifier: Apache-2.0
// What holds for every correct kernel whatever the schedule, checked on recorded calls: flags,
// events, meetings and epochs balance. test_bytes.h does the same for bytes.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/strings.h"
#include "machine/recording.h"
#include "ops/registry.h"

namespace tandem {

using WorldRecording = std::vector<RankRecording>;

inline Launch launch_of(const Plan& plan) {
  const OperatorEntry& entry = find_operator(plan.problem.op);
  Launch launch;
  launch.blocks = plan.blocks;
  launch.cube = [&plan, &entry](CubeCore& core) { entry.cube(core, plan); };
  launch.vector = [&plan, &entry](VectorCore& core) { entry.vector(core, plan); };
  return launch;
}

// All cores of all ranks.
inline WorldRecording record_plan(const Plan& plan) {
  WorldRecording world;
  for (int rank = 0; rank < plan.ranks; ++rank) {
    world.push_back(record_launch(launch_of(plan), rank));
  }
  return world;
}

inline std::string name_of(const CoreRecording& core) {
  return cat("rank ", core.rank, " block ", core.block, " ", to_string(core.kind));
}

inline bool takes_flag(const VerbRecord& record) {
  return record.verb == Verb::wait_flag || record.verb == Verb::gate;
}

inline constexpr int kFlagIds = 16;
inline constexpr std::size_t kFlagCountMax = 15;  // a flag's counter has four bits

// Positions in a core's list, by flag id.
struct FlagPositions {
  explicit FlagPositions(const VerbList& verbs) {
    for (std::size_t i = 0; i < verbs.size(); ++i) {
      if (verbs[i].verb == Verb::set_flag) sets[verbs[i].id].push_back(i);
      if (takes_flag(verbs[i])) takes[verbs[i].id].push_back(i);
    }
  }
  std::array<std::vector<std::size_t>, kFlagIds> sets;
  std::array<std::vector<std::size_t>, kFlagIds> takes;
};

// Most counts of `id` that can be outstanding: before each set the consumer is at least behind the
// calls that released the producer so far. A gate counts as taken where it stands.
inline std::size_t backlog(const FlagPositions& producer, const FlagPositions& consumer, int id) {
  std::size_t worst = 0;
  for (std::size_t count = 1; count <= producer.sets[id].size(); ++count) {
    const std::size_t here = producer.sets[id][count - 1];
    std::size_t reached = 0;
    for (int other = 0; other < kFlagIds; ++other) {
      const auto& takes = producer.takes[other];
      const auto released =
          static_cast<std::size_t>(std::ranges::lower_bound(takes, here) - takes.begin());
      if (released == 0 || released > consumer.sets[other].size()) continue;
      reached = std::max(reached, consumer.sets[other][released - 1]);
    }
    const auto& takes = consumer.takes[id];
    const auto taken =
        static_cast<std::size_t>(std::ranges::lower_bound(takes, reached) - takes.begin());
    worst = std::max(worst, count - std::min(count, taken));
  }
  return worst;
}

inline void check_flags(const CoreRecording& producer, const CoreRecording& consumer,
                        std::vector<std::string>& complaints) {
  for (const VerbRecord& record : producer.verbs) {
    const bool flag = record.verb == Verb::set_flag || takes_flag(record);
    // 11 to 14 belong to the meetings of all cores of a kind.
    if (flag && (record.id < 0 || record.id > 10)) {
      complaints.push_back(cat(name_of(producer), ": flag ", record.id, " is not in 0 to 10"));
      return;
    }
  }
  const FlagPositions from(producer.verbs);
  const FlagPositions to(consumer.verbs);
  for (int id = 0; id < kFlagIds; ++id) {
    if (from.sets[id].size() != to.takes[id].size()) {
      complaints.push_back(cat(name_of(producer), ": flag ", id, " set ", from.sets[id].size(),
                               " times, taken ", to.takes[id].size(), " times"));
    } else if (const std::size_t most = backlog(from, to, id); most > kFlagCountMax) {
      complaints.push_back(cat(name_of(producer), ": flag ", id, " may count to ", most));
    }
  }
}

inline void check_events(const CoreRecording& core, std::vector<std::string>& complaints) {
  std::map<std::pair<EventKind, int>, bool> open;
  for (const VerbRecord& record : core.verbs) {
    if (record.verb != Verb::set_event && record.verb != Verb::wait_event) continue;
    bool& is_open = open[{record.event, record.id}];
    const bool sets = record.verb == Verb::set_event;
    if (sets == is_open) {
      complaints.push_back(cat(name_of(core), ": ", to_text(record, SiteText::file_and_line),
                               sets ? " twice in a row" : " without a set"));
    }
    is_open = sets;
  }
  for (const auto& [event, is_open] : open) {
    if (is_open) {
      complaints.push_back(cat(name_of(core), ": event ", to_string(event.first), " ", event.second,
                               " is never taken"));
    }
  }
}

inline void check_meetings(const RankRecording& cores, std::vector<std::string>& complaints) {
  std::array<std::ptrdiff_t, 2> first{-1, -1};
  for (const CoreRecording& core : cores) {
    const std::ptrdiff_t meetings =
        std::ranges::count(core.verbs, Verb::sync_all, &VerbRecord::verb);
    std::ptrdiff_t& expected = first[static_cast<std::size_t>(core.kind)];
    if (expected < 0) expected = meetings;
    if (meetings != expected) {
      complaints.push_back(cat(name_of(core), ": ", meetings, " sync_all, block 0 has ", expected));
    }
  }
}

// Values of each word ascend by one; a word has one writer, unless all jobs share it; each wait
// has its store.
inline void check_epochs(const Plan& plan, const WorldRecording& world,
                         std::vector<std::string>& complaints) {
  using Word = std::tuple<int, EpochSlot::Kind, int>;  // owner, kind, index
  std::map<Word, std::uint64_t> highest;
  std::map<Word, const CoreRecording*> writer;
  for (const RankRecording& cores : world) {
    for (const CoreRecording& core : cores) {
      std::map<Word, std::uint64_t> last;
      for (const VerbRecord& record : core.verbs) {
        if (record.verb != Verb::store_epoch) continue;
        const Word word{record.peer, record.epoch.kind, record.epoch.index};
        const bool arrived = record.epoch.kind == EpochSlot::Kind::arrived;
        const CoreRecording*& first = writer.try_emplace(word, &core).first->second;
        const bool shared = arrived && plan.problem.barrier == BarrierLayout::single_slot;
        const bool own = arrived ? record.epoch.index == core.rank : record.peer == core.rank;
        if (++last[word] != record.value || record.value > plan.epochs || !own ||
            (first != &core && !shared)) {
          complaints.push_back(cat(name_of(core), ": ", to_text(record, SiteText::file_and_line),
                                   " is out of order, beyond ", plan.epochs,
                                   " epochs, or in another core's word"));
        }
        highest[word] = std::max(highest[word], record.value);
      }
    }
  }
  for (const RankRecording& cores : world) {
    for (const CoreRecording& core : cores) {
      for (const VerbRecord& record : core.verbs) {
        if (record.verb != Verb::wait_epoch) continue;
        const auto found = highest.find({core.rank, record.epoch.kind, record.epoch.index});
        if (found != highest.end() && found->second >= record.value) continue;
        complaints.push_back(
            cat(name_of(core), ": ", to_text(record, SiteText::file_and_line), " has no store"));
      }
    }
  }
}

// Every complaint about signals; none for a sound recording.
inline std::vector<std::string> check_balance(const Plan& plan, const WorldRecording& world) {
  std::vector<std::string> complaints;
  for (const RankRecording& cores : world) {
    for (std::size_t i = 0; i + 1 < cores.size(); i += 2) {
      check_flags(cores[i], cores[i + 1], complaints);
      check_flags(cores[i + 1], cores[i], complaints);
    }
    for (const CoreRecording& core : cores) check_events(core, complaints);
    check_meetings(cores, complaints);
  }
  check_epochs(plan, world, complaints);
  return complaints;
}

}  // namespace tandem
