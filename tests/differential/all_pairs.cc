// SPDX-License-Identifier: Apache-2.0
#include "all_pairs.h"

#include <numeric>

#include "base/rng.h"

namespace tandem::differential {
namespace {

constexpr int kCandidates = 16;  // tried for each combination; the best is kept

// Which pairs of values have not met yet. Values of all parameters are numbered through.
class OpenPairs {
 public:
  explicit OpenPairs(const std::vector<int>& counts) : first_(counts.size() + 1, 0) {
    std::partial_sum(counts.begin(), counts.end(), first_.begin() + 1);
    values_ = first_.back();
    open_.assign(static_cast<std::size_t>(values_) * values_, false);
    for (std::size_t p = 0; p < counts.size(); ++p) {
      for (std::size_t q = p + 1; q < counts.size(); ++q) {
        for (int i = first_[p]; i < first_[p + 1]; ++i) {
          for (int j = first_[q]; j < first_[q + 1]; ++j) {
            open_[i * values_ + j] = open_[j * values_ + i] = true;
            ++count_;
          }
        }
      }
    }
  }

  int count() const { return count_; }
  bool is_open(std::size_t p, int i, std::size_t q, int j) const {
    return open_[(first_[p] + i) * values_ + first_[q] + j];
  }
  // The open pair that comes at or after a place, so that a random place gives a random pair.
  void seed_with(std::uint64_t place, Combination& combination) const {
    std::size_t index = place % open_.size();
    while (!open_[index]) index = (index + 1) % open_.size();
    for (int value : {static_cast<int>(index / values_), static_cast<int>(index % values_)}) {
      std::size_t p = 0;
      while (first_[p + 1] <= value) ++p;
      combination[p] = value - first_[p];
    }
  }
  void close(const Combination& combination) {
    for (std::size_t p = 0; p < combination.size(); ++p) {
      for (std::size_t q = p + 1; q < combination.size(); ++q) {
        const int i = first_[p] + combination[p];
        const int j = first_[q] + combination[q];
        if (!open_[i * values_ + j]) continue;
        open_[i * values_ + j] = open_[j * values_ + i] = false;
        --count_;
      }
    }
  }

 private:
  std::vector<int> first_;  // number of a parameter's first value
  int values_ = 0;
  std::vector<bool> open_;
  int count_ = 0;
};

// Open pairs of value i of parameter p with the values chosen so far (−1: none).
int gain(const OpenPairs& open, const Combination& chosen, std::size_t p, int i) {
  int pairs = 0;
  for (std::size_t q = 0; q < chosen.size(); ++q) {
    if (q != p && chosen[q] >= 0 && open.is_open(p, i, q, chosen[q])) ++pairs;
  }
  return pairs;
}

int fill(const OpenPairs& open, const std::vector<int>& counts, Rng& rng,
         Combination& combination) {
  std::vector<std::size_t> order(counts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
  int total = 0;
  for (std::size_t p : order) {
    if (combination[p] >= 0) continue;
    const int start = static_cast<int>(rng.below(counts[p]));  // ties go to a random value
    int best = -1;
    for (int step = 0; step < counts[p]; ++step) {
      const int value = (start + step) % counts[p];
      const int pairs = gain(open, combination, p, value);
      if (pairs <= best) continue;
      best = pairs;
      combination[p] = value;
    }
    total += best;
  }
  return total;
}

}  // namespace

std::vector<Combination> all_pairs(const std::vector<int>& counts, std::uint64_t seed) {
  Rng rng(seed);
  OpenPairs open(counts);
  std::vector<Combination> combinations;
  while (open.count() > 0) {
    Combination best;
    int best_gain = -1;
    for (int i = 0; i < kCandidates; ++i) {
      Combination candidate(counts.size(), -1);
      open.seed_with(rng.next(), candidate);
      const int candidate_gain = fill(open, counts, rng, candidate);
      if (candidate_gain <= best_gain) continue;
      best_gain = candidate_gain;
      best = candidate;
    }
    open.close(best);
    combinations.push_back(best);
  }
  return combinations;
}

}  // namespace tandem::differential
