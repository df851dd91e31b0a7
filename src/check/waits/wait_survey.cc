// SPDX-License-Identifier: Apache-2.0
#include "check/waits/wait_survey.h"

#include <algorithm>

#include "base/strings.h"

namespace tandem::check {
namespace {

using sim::Lane;
using sim::OpKind;
using sim::SimCore;

constexpr int kCubeSync = 11;  // flags that sync_all waits for
constexpr int kVectorSync = 14;

class Survey {
 public:
  Survey(const WaitHistory& history, sim::Machine& machine) : history_(history), machine_(machine) {
    for (const auto& core : machine.cores()) {
      if (!core->finished) add(*core, Lane::scalar, core->blocked.site, "scalar");
      for (int lane = 1; lane < sim::kLanes; ++lane) {
        const auto& ops = core->pipes[lane].ops;
        if (ops.empty()) continue;
        const sim::Op& head = *ops.front();
        add(*core, static_cast<Lane>(lane), head.site, to_string(head.kind));
      }
    }
    for (Wait& wait : waits_) {
      wait.lane == Lane::scalar ? explain_scalar(wait) : explain_head(wait);
    }
  }

  std::vector<Wait> take() { return std::move(waits_); }

 private:
  void add(const SimCore& core, Lane lane, Site site, std::string_view verb) {
    index_[{core.index, lane}] = static_cast<int>(waits_.size());
    waits_.push_back({&core, lane, site, verb, {}, {}, false});
  }

  // The wait that `lane` of a core stands in; its scalar stream's if the pipe itself is free.
  // False: the core has ended, and nothing of it is left.
  bool follow(Wait& wait, const SimCore& core, Lane lane) {
    auto found = index_.find({core.index, lane});
    if (found == index_.end()) found = index_.find({core.index, Lane::scalar});
    if (found == index_.end()) return false;
    wait.edges.insert(found->second);
    return true;
  }

  // The pipe of `core` in which an operation that `matches` stands behind the head.
  template <typename Matches>
  static Lane queued_in(const SimCore& core, const Matches& matches) {
    for (int lane = 1; lane < sim::kLanes; ++lane) {
      for (const auto& op : core.pipes[lane].ops) {
        if (matches(*op)) return static_cast<Lane>(lane);
      }
    }
    return Lane::scalar;
  }

  void explain_scalar(Wait& wait) {
    using Kind = sim::Blocked::Kind;
    const SimCore& core = *wait.core;
    const sim::Blocked& blocked = core.blocked;
    switch (blocked.kind) {
      case Kind::none:
      case Kind::time:
        break;
      case Kind::queue: {
        const auto lane = static_cast<Lane>(blocked.id);
        wait.verb = "issue";
        wait.what = cat("room in its ", to_string(lane), " queue");
        follow(wait, core, lane);
        break;
      }
      case Kind::idle:
        wait.verb = "pipe_barrier";
        wait.what = "its own queues to end";
        for (int lane = 1; lane < sim::kLanes; ++lane) {
          if (!core.pipes[lane].ops.empty()) follow(wait, core, static_cast<Lane>(lane));
        }
        break;
      case Kind::flag:
        if (is_sync(core)) {
          explain_sync(wait);
        } else {
          wait.verb = "wait_flag";
          explain_flag(wait, blocked.id & 15);
        }
        break;
      case Kind::drain:
      case Kind::result:
        wait.verb = "drain";
        wait.what = cat("transfers to rank ", machine_.channels()[blocked.id]->peer);
        break;
      case Kind::epoch:
        wait.verb = "wait_epoch";
        explain_epoch(wait, blocked);
        break;
    }
  }

  bool is_sync(const SimCore& core) const {
    const auto& counts = history_.cores[core.index];
    return core.blocked.id == (core.vector ? kVectorSync : kCubeSync) && counts.syncs > 0 &&
           core.blocked.site.line == counts.sync_site.line &&
           std::string_view(core.blocked.site.file) == counts.sync_site.file;
  }

  // AND: all members that have not come yet.
  void explain_sync(Wait& wait) {
    const SimCore& core = *wait.core;
    const int needed = history_.cores[core.index].syncs;
    wait.verb = "sync_all";
    std::set<int> missing, ended;
    for (int block = 0; block < machine_.blocks(); ++block) {
      const SimCore& member = machine_.core_of(core.rank, block, core.vector);
      if (history_.cores[member.index].syncs >= needed) continue;
      (follow(wait, member, Lane::scalar) ? missing : ended).insert(block);
    }
    wait.what = "sync_all";
    if (!missing.empty())
      wait.what += cat(", not reached by ", kind_name(core), " ", ranges(missing));
    if (!ended.empty()) {
      wait.what +=
          cat(", never reached by ", kind_name(core), " ", ranges(ended), ", which has FINISHED");
      wait.hopeless = true;
    }
    // Its counter is shared: somebody else took what the members gave.
    if (missing.empty() && ended.empty()) {
      wait.what += ", which all have reached: another wait took a count of its flag";
      wait.hopeless = true;
    }
  }

  void explain_flag(Wait& wait, int id) {
    const SimCore& core = *wait.core;
    const SimCore& setter = machine_.core_of(core.rank, core.block, !core.vector);
    const Lane lane = queued_in(setter, [id](const sim::Op& op) {
      return op.kind == OpKind::set_flag && (op.id & 15) == id;
    });
    const int sets = history_.cores[setter.index].sets[id];
    wait.what = cat("flag ", id, " of its ", kind_name(setter), " core, which has set it ", sets,
                    sets == 1 ? " time" : " times");
    wait.hopeless = !follow(wait, setter, lane);
    if (!wait.hopeless) return;
    wait.what += " and has FINISHED";
    std::map<int, std::set<int>> peers;  // sets → blocks
    for (int block = 0; block < machine_.blocks(); ++block) {
      const int count =
          history_.cores[machine_.core_of(core.rank, block, !core.vector).index].sets[id];
      if (count != sets) peers[count].insert(block);
    }
    for (const auto& [count, blocks] : peers) {
      wait.what += cat("; ", kind_name(setter), " ", ranges(blocks), " set it ", count,
                       count == 1 ? " time" : " times");
    }
  }

  // OR: any core that may store into the word; the one that did before, if there was one.
  void explain_epoch(Wait& wait, const sim::Blocked& blocked) {
    const SimCore& core = *wait.core;
    const bool from_peer = blocked.slot.kind == EpochSlot::Kind::arrived;
    const int rank = from_peer ? blocked.slot.index : core.rank;
    wait.what =
        cat("the barrier word of ", from_peer ? "rank " : "job ", blocked.slot.index, ": expected ",
            blocked.value, ", is ", machine_.epoch_word(core.rank, blocked.slot));
    if (rank >= machine_.ranks()) {
      wait.hopeless = true;
      return;
    }
    const auto known = history_.writers.find({core.rank, word_of(blocked.slot)});
    std::vector<const SimCore*> writers;
    if (known != history_.writers.end()) {
      writers = {machine_.cores()[known->second].get()};
    } else {
      for (int block = 0; block < machine_.blocks(); ++block) {
        writers.push_back(&machine_.core_of(rank, block, true));
      }
    }
    bool any = false;
    for (const SimCore* writer : writers) any |= follow(wait, *writer, Lane::scalar);
    const std::string who = writers.size() == 1 ? cat("rank ", rank, " ", writers[0]->name())
                                                : cat("any vector core of rank ", rank);
    if (any) {
      wait.what += cat("; ", who, " would store it");
      return;
    }
    // A rank that is behind starts its next launch when its own waits end.
    if (machine_.launch_of(rank) < machine_.launch_of(core.rank)) follow_rank(wait, rank);
    wait.hopeless = wait.edges.empty();
    wait.what += cat("; ", who, wait.hopeless ? " has FINISHED" : " is a launch behind");
  }

  void follow_rank(Wait& wait, int rank) {
    for (int block = 0; block < machine_.blocks(); ++block) {
      for (bool vector : {false, true}) {
        follow(wait, machine_.core_of(rank, block, vector), Lane::scalar);
      }
    }
  }

  void explain_head(Wait& wait) {
    const SimCore& core = *wait.core;
    const sim::Op& head = *core.pipes[static_cast<int>(wait.lane)].ops.front();
    if (head.kind == OpKind::gate) {
      explain_flag(wait, head.id & 15);
    } else if (head.kind == OpKind::wait_event) {
      const Lane setter = sim::lane_of(setter_of(head.event));
      const Lane lane = queued_in(core, [&head](const sim::Op& op) {
        return op.kind == OpKind::set_event && op.event == head.event && op.id == head.id;
      });
      wait.what = cat("event ", to_string(head.event), "(", head.id, ") of ", to_string(setter));
      wait.hopeless = !follow(wait, core, lane);
      if (wait.hopeless) wait.what += "; the core has FINISHED without setting it";
    } else {  // a product whose operands are not staged yet
      wait.what = "its operands";
      wait.hopeless = !follow(wait, core, Lane::mte1);
    }
  }

  const WaitHistory& history_;
  sim::Machine& machine_;
  std::vector<Wait> waits_;
  std::map<std::pair<int, Lane>, int> index_;
};

}  // namespace

int word_of(EpochSlot slot) {
  return (slot.kind == EpochSlot::Kind::arrived ? 0 : kRanksMax) + slot.index;
}

std::string kind_name(const sim::SimCore& core) { return core.vector ? "vector" : "cube"; }

// "0-3, 5"
std::string ranges(const std::set<int>& numbers) {
  std::string text;
  for (auto first = numbers.begin(); first != numbers.end();) {
    auto last = first;
    while (std::next(last) != numbers.end() && *std::next(last) == *last + 1) ++last;
    text += cat(text.empty() ? "" : ", ", *first);
    if (last != first) text += cat("-", *last);
    first = std::next(last);
  }
  return text;
}

std::vector<Wait> survey_waits(const WaitHistory& history, sim::Machine& machine) {
  return Survey(history, machine).take();
}

}  // namespace tandem::check
