// SPDX-License-Identifier: Apache-2.0
#include "check/waits/wait_report.h"

#include <algorithm>
#include <tuple>

#include "base/strings.h"

namespace tandem::check {
namespace {

using sim::Lane;

constexpr std::size_t kLinesMax = 12;  // of cycles, of groups of waits, each
constexpr std::size_t kSidesMax = 6;

class WaitReport {
 public:
  WaitReport(const std::vector<Wait>& waits, sim::Machine& machine)
      : waits_(waits), machine_(machine) {}

  Finding report() {
    find_components();
    Finding finding;
    finding.code = FindingCode::deadlock;
    finding.object = "nothing can go on";
    tell_roots(finding);
    tell_cycles(finding);
    tell_rest(finding);
    return finding;
  }

 private:
  // Strongly connected components (Kosaraju), without recursion: chains of waits are long.
  void find_components() {
    const int count = static_cast<int>(waits_.size());
    std::vector<std::vector<int>> back(count);
    for (int i = 0; i < count; ++i) {
      for (int to : waits_[i].edges) back[to].push_back(i);
    }
    std::vector<int> order;
    std::vector<bool> seen(count);
    for (int start = 0; start < count; ++start) {
      std::vector<std::pair<int, std::set<int>::const_iterator>> path;
      if (!seen[start]) path.emplace_back(start, waits_[start].edges.begin());
      seen[start] = true;
      while (!path.empty()) {
        auto& [node, next] = path.back();
        if (next == waits_[node].edges.end()) {
          order.push_back(node);
          path.pop_back();
        } else if (const int to = *next++; !seen[to]) {
          seen[to] = true;
          path.emplace_back(to, waits_[to].edges.begin());
        }
      }
    }
    component_.assign(count, -1);
    for (auto node = order.rbegin(); node != order.rend(); ++node) {
      if (component_[*node] >= 0) continue;
      std::vector<int> members{*node};
      component_[*node] = static_cast<int>(components_.size());
      for (std::size_t i = 0; i < members.size(); ++i) {
        for (int from : back[members[i]]) {
          if (component_[from] >= 0) continue;
          component_[from] = component_[*node];
          members.push_back(from);
        }
      }
      std::ranges::sort(members);
      components_.push_back(std::move(members));
    }
    std::ranges::sort(components_);  // what is told first is the first by rank and block
  }

  bool is_cycle(const std::vector<int>& members) const {
    if (members.size() == 1 && !waits_[members[0]].edges.contains(members[0])) return false;
    return std::ranges::all_of(members, [&](int member) {
      return std::ranges::all_of(waits_[member].edges,
                                 [&](int to) { return component_[to] == component_[member]; });
    });
  }

  // The shortest way from a wait back to itself.
  std::vector<int> shortest_cycle(int start) const {
    std::map<int, int> from{{start, -1}};
    std::vector<int> queue{start};
    for (std::size_t i = 0; i < queue.size(); ++i) {
      for (int to : waits_[queue[i]].edges) {
        if (to == start) {
          std::vector<int> cycle;
          for (int node = queue[i]; node >= 0; node = from.at(node)) cycle.push_back(node);
          std::ranges::reverse(cycle);
          return cycle;
        }
        if (from.emplace(to, queue[i]).second) queue.push_back(to);
      }
    }
    return {start};
  }

  using Group = std::vector<int>;
  // Waits that differ only in rank, block and numbers.
  std::vector<Group> fold(const std::vector<int>& waits) const {
    std::map<std::tuple<bool, Lane, std::string, int, std::string>, std::size_t> index;
    std::vector<Group> groups;
    for (int i : waits) {
      const Wait& wait = waits_[i];
      std::string words;
      for (char c : wait.what) {
        if (c < '0' || c > '9') words += c;
      }
      const auto [found, fresh] =
          index.emplace(std::tuple{wait.core->vector, wait.lane, std::string(wait.site.file),
                                   wait.site.line, words.substr(0, words.find(';'))},
                        groups.size());
      if (fresh) groups.emplace_back();
      groups[found->second].push_back(i);
    }
    return groups;
  }

  // "rank *, vector 1-3 S"
  std::string who(const Group& group) const {
    std::map<int, std::set<int>> blocks;  // by rank
    for (int i : group) blocks[waits_[i].core->rank].insert(waits_[i].core->block);
    const Wait& first = waits_[group[0]];
    const bool alike = std::ranges::all_of(
        blocks, [&](const auto& entry) { return entry.second == blocks.begin()->second; });
    std::set<int> rank_set;
    for (const auto& [rank, in_rank] : blocks) rank_set.insert(rank);
    const bool every = rank_set.size() > 1 && static_cast<int>(rank_set.size()) == machine_.ranks();
    const std::string rank_text = every ? "rank *" : cat("rank ", ranges(rank_set));
    if (!alike) {
      return cat(group.size(), " ", kind_name(*first.core), " cores of ", rank_text, " ",
                 to_string(first.lane));
    }
    return cat(rank_text, ", ", kind_name(*first.core), " ", ranges(blocks.begin()->second), " ",
               to_string(first.lane));
  }

  std::string line(const Wait& wait) const {
    return cat(wait.verb, " at ", wait.site.file, ":", wait.site.line, " for ", wait.what);
  }

  void add_side(Finding& finding, const Group& group) const {
    if (finding.sides.size() >= kSidesMax) return;
    const Wait& first = waits_[group[0]];
    std::set<int> blocks;
    for (int i : group) {
      if (waits_[i].core->rank == first.core->rank) blocks.insert(waits_[i].core->block);
    }
    finding.sides.push_back({first.core->rank, cat(kind_name(*first.core), " ", ranges(blocks)),
                             std::string(to_string(first.lane)), std::string(first.verb),
                             first.site, machine_.launch_of(first.core->rank)});
  }

  void tell_groups(Finding& finding, const std::vector<Group>& groups, std::string_view word) {
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (i == kLinesMax) {
        finding.detail += cat("\n  ", word, ": ", groups.size() - i, " more kinds of waits");
        return;
      }
      const Wait& first = waits_[groups[i][0]];
      finding.detail +=
          cat(finding.detail.empty() ? "" : "\n  ", word, ": ", who(groups[i]), ": ", line(first));
      if (groups[i].size() > 1)
        finding.detail += cat(" (as seen by rank ", first.core->rank, " ", first.core->name(), ")");
      add_side(finding, groups[i]);
      told_.insert(groups[i].begin(), groups[i].end());
    }
  }

  void tell_roots(Finding& finding) {
    std::vector<int> roots;
    for (int i = 0; i < static_cast<int>(waits_.size()); ++i) {
      if (waits_[i].hopeless) roots.push_back(i);
    }
    tell_groups(finding, fold(roots), "root");
  }

  // One cycle of each shape, edge by edge.
  void tell_cycles(Finding& finding) {
    std::map<std::string, std::pair<std::vector<int>, int>> shapes;
    std::vector<std::string> order;
    for (const auto& members : components_) {
      if (!is_cycle(members)) continue;
      const std::vector<int> cycle = shortest_cycle(members[0]);
      std::set<std::string> places;
      for (int i : cycle) {
        places.insert(cat(kind_name(*waits_[i].core), to_string(waits_[i].lane),
                          waits_[i].site.file, waits_[i].site.line));
      }
      told_.insert(cycle.begin(), cycle.end());
      std::string shape;
      for (const std::string& place : places) shape += place + "|";
      const auto [found, fresh] = shapes.emplace(shape, std::pair{cycle, 0});
      if (fresh) order.push_back(shape);
      ++found->second.second;
    }
    for (const std::string& shape : order) {
      const auto& [cycle, count] = shapes.at(shape);
      finding.detail += cat(finding.detail.empty() ? "" : "\n  ", "cycle of ", cycle.size(),
                            " waits", count > 1 ? cat(" (", count, " alike)") : std::string(), ":");
      for (std::size_t i = 0; i < cycle.size(); ++i) {
        if (i == kLinesMax) {
          finding.detail += cat("\n    ", cycle.size() - i, " more");
          break;
        }
        const Wait& wait = waits_[cycle[i]];
        finding.detail += cat("\n    rank ", wait.core->rank, " ", wait.core->name(), " ",
                              to_string(wait.lane), ": ", line(wait));
        add_side(finding, {cycle[i]});
      }
    }
  }

  void tell_rest(Finding& finding) {
    std::vector<int> rest;
    for (int i = 0; i < static_cast<int>(waits_.size()); ++i) {
      if (!told_.contains(i)) rest.push_back(i);
    }
    tell_groups(finding, fold(rest), "behind");
  }

  const std::vector<Wait>& waits_;
  sim::Machine& machine_;
  std::vector<int> component_;
  std::vector<std::vector<int>> components_;
  std::set<int> told_;
};

}  // namespace

Finding report_waits(const std::vector<Wait>& waits, sim::Machine& machine) {
  return WaitReport(waits, machine).report();
}

}  // namespace tandem::check
