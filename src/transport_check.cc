// SPDX-License-Identifier: Apache-2.0
#include "tandem/transport_check.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <sstream>

#include "base/strings.h"
#include "host/launch_site.h"
#include "host/link/link.h"
#include "tandem/error.h"
#include "world_impl.h"

namespace tandem {
namespace {

using host::Clock;
using Microseconds = std::chrono::duration<double, std::micro>;

constexpr std::int64_t kBytes = 1 << 20;
constexpr int kOrderTurns = 300;
constexpr int kAdditions = 200;
constexpr int kRoundTrips = 300;
constexpr int kWrites = 32;
// The target computes for so long; a transfer that waits for it takes as long.
constexpr std::chrono::milliseconds kBusy{300};
constexpr std::chrono::milliseconds kProgressMax{150};

// One rank: writes to its right neighbour, hears from its left one.
class Neighbour {
 public:
  explicit Neighbour(World& world)
      : world_(world),
        rank_(*world.impl().rank),
        windows_(rank_.allocate_windows(kBytes)),
        local_(kBytes) {}
  ~Neighbour() { rank_.free_windows(windows_); }

  std::string run() {
    std::string lines;
    const auto note = [&](const char* name, bool passed, const std::string& observation) {
      lines += cat(name, '\t', passed ? 1 : 0, '\t', observation, '\n');
    };
    const int disordered = order();
    note("order", disordered == 0, cat(disordered, " of ", kOrderTurns, " notifications overtook"));
    const std::int64_t unseen = visibility();
    note("visibility", unseen == 0, cat(unseen, " of ", kBytes, " drained bytes were not there"));
    const std::uint64_t lost = atomics();
    note("atomics", lost == 0, cat(lost, " of ", kAdditions * world_.size(), " additions lost"));
    const double progress = transfer_to_a_busy_target();
    note("progress", progress < Microseconds(kProgressMax).count(),
         cat(std::llround(progress), " us to a target that computes for ", kBusy.count(), " ms"));
    const auto [neighbours, requests] = shared_memory();
    note("memory", requests == 0,
         cat("shared with ", neighbours, " of ", world_.size() - 1, " peers; ", requests,
             " requests to them over the link"));
    note("latency", true, cat(std::round(latency() * 10) / 10, " us"));
    note("bandwidth", true, cat(std::llround(bandwidth()), " MB/s"));
    return lines;
  }

 private:
  int right() const { return (world_.rank() + 1) % world_.size(); }
  int left() const { return (world_.rank() + world_.size() - 1) % world_.size(); }
  View own(std::int64_t bytes) const { return {world_.rank(), Buffer::c, 0, 1, bytes, bytes}; }
  View far(int peer, std::int64_t bytes) const {
    return {peer, Buffer::window_data, 0, 1, bytes, bytes};
  }
  const std::byte* window() const { return windows_.addresses[world_.rank()]; }

  // A launch of one block whose vector core runs `kernel`.
  void launch(const std::function<void(VectorCore&)>& kernel) {
    Launch made;
    made.blocks = 1;
    made.epochs = 2 * kRoundTrips + kOrderTurns;
    made.cube = [](CubeCore&) {};
    made.vector = kernel;
    for (const Buffer buffer : {Buffer::c, Buffer::window_data}) {
      made.extents[static_cast<std::size_t>(buffer)].bytes = kBytes;
    }
    host::LaunchSite site(rank_, *world_.impl().pool, std::move(made), windows_);
    host::Bindings bindings;
    bindings.local[static_cast<std::size_t>(Buffer::c)] = local_.data();
    world_.barrier();
    site.run(bindings);
    world_.barrier();
  }

  // Data of 64 KiB, then a word: whoever sees the word sees the data.
  int order() {
    constexpr std::int64_t kPart = 64 * 1024;
    int wrong = 0;
    launch([&](VectorCore& core) {
      for (int turn = 1; turn <= kOrderTurns; ++turn) {
        std::memset(local_.data(), turn % 251 + 1, kPart);
        core.channel(right()).write_notify_nbi(far(right(), kPart), own(kPart),
                                               {EpochSlot::Kind::arrived, world_.rank()}, turn);
        core.wait_epoch({EpochSlot::Kind::arrived, left()}, turn);
        const auto want = static_cast<std::byte>(turn % 251 + 1);
        wrong += std::any_of(window(), window() + kPart, [want](std::byte b) { return b != want; });
        core.channel(right()).drain();
        core.store_epoch(left(), {EpochSlot::Kind::core, 1}, turn);
        core.wait_epoch({EpochSlot::Kind::core, 1}, turn);
      }
    });
    return wrong;
  }

  std::int64_t visibility() {
    std::memset(local_.data(), 0x5A, kBytes);
    launch([&](VectorCore& core) {
      core.channel(right()).write_nbi(far(right(), kBytes), own(kBytes));
      core.channel(right()).drain();
    });
    return kBytes - std::count(window(), window() + kBytes, std::byte{0x5A});
  }

  // All ranks but 0 add to one word of rank 0, which adds its own share by itself.
  std::uint64_t atomics() {
    if (world_.rank() == 0) std::memset(windows_.addresses[0], 0, 8);
    const View word{0, Buffer::window_data, 0, 1, 8, 8};
    launch([&](VectorCore& core) {
      for (int i = 0; i < kAdditions; ++i) {
        if (core.rank() != 0) {
          core.channel(0).fetch_add(word, 1);
        } else {
          auto* own_word = reinterpret_cast<std::uint64_t*>(windows_.addresses[0]);
          std::atomic_ref<std::uint64_t>(*own_word).fetch_add(1);
        }
      }
    });
    std::uint64_t sum = 0;
    rank_.read_window(windows_, 0, 0, &sum, 8);
    world_.barrier();
    return static_cast<std::uint64_t>(kAdditions) * world_.size() - sum;
  }

  double transfer_to_a_busy_target() {
    double time = 0;
    launch([&](VectorCore& core) {
      if (core.rank() % 2 == 1) {
        const auto end = Clock::now() + kBusy;
        while (Clock::now() < end) {
        }
        return;
      }
      if (right() % 2 == 0) return;  // with an odd count the last one has no busy neighbour
      const auto start = Clock::now();
      core.channel(right()).write_nbi(far(right(), kBytes), own(kBytes));
      core.channel(right()).drain();
      time = Microseconds(Clock::now() - start).count();
    });
    return time;
  }

  // The peers whose memory is mapped, and what was sent to them over a link all the same.
  std::pair<int, std::uint64_t> shared_memory() {
    int neighbours = 0;
    std::uint64_t requests = 0;
    for (int peer = 0; peer < world_.size(); ++peer) {
      if (peer == world_.rank() || rank_.area_of(peer) == nullptr) continue;
      ++neighbours;
      if (host::Link* link = rank_.link()) requests += link->memory_requests(peer);
    }
    return {neighbours, requests};
  }

  double latency() {
    double time = 0;
    const bool paired = (world_.rank() ^ 1) < world_.size();
    const int peer = world_.rank() ^ 1;
    launch([&](VectorCore& core) {
      if (!paired) return;
      const EpochSlot mine{EpochSlot::Kind::arrived, core.rank()};
      const EpochSlot theirs{EpochSlot::Kind::arrived, peer};
      const auto start = Clock::now();
      for (int turn = 1; turn <= kRoundTrips; ++turn) {
        if (core.rank() % 2 == 1) core.wait_epoch(theirs, turn);
        core.channel(peer).write_notify_nbi(far(peer, 8), own(8), mine, turn);
        if (core.rank() % 2 == 0) core.wait_epoch(theirs, turn);
      }
      time = Microseconds(Clock::now() - start).count() / (2 * kRoundTrips);
      core.channel(peer).drain();
    });
    return time;
  }

  double bandwidth() {
    double rate = 0;
    launch([&](VectorCore& core) {
      const auto start = Clock::now();
      for (int i = 0; i < kWrites; ++i) {
        core.channel(right()).write_nbi(far(right(), kBytes), own(kBytes));
      }
      core.channel(right()).drain();
      rate = static_cast<double>(kWrites * kBytes) / Microseconds(Clock::now() - start).count();
    });
    return rate;
  }

  World& world_;
  host::HostRank& rank_;
  host::Windows windows_;
  std::vector<std::byte> local_;
};

// A rank's lines, joined to those of the ranks before: what failed on one has failed.
void merge(const std::string& lines, int rank, std::vector<TransportCheck>& checks) {
  std::istringstream stream(lines);
  std::string name, passed, observation;
  for (std::size_t i = 0; std::getline(stream, name, '\t'); ++i) {
    std::getline(stream, passed, '\t');
    std::getline(stream, observation);
    if (i == checks.size()) checks.push_back({name, observation, passed == "1"});
    if (passed == "1" || !checks[i].passed) continue;
    checks[i].passed = false;
    checks[i].observation = cat("rank ", rank, ": ", observation);
  }
}

}  // namespace

std::vector<TransportCheck> check_transport(const WorldOptions& options) {
  if (options.ranks < 2) {
    throw Error(ErrorKind::refused, cat("selftest: a transport between ", options.ranks,
                                        " ranks connects nothing; use 2 or more"));
  }
  const auto outcomes = World::spawn(options, [](World& world) { return Neighbour(world).run(); });
  std::vector<TransportCheck> checks;
  for (const RankOutcome& outcome : outcomes) {
    if (outcome.exit_code == 0 || outcome.secondary) continue;
    const bool lacking = outcome.exit_code == exit_code(ErrorKind::environment);
    throw Error(lacking ? ErrorKind::environment : ErrorKind::lost_rank, outcome.message);
  }
  for (std::size_t rank = 0; rank < outcomes.size(); ++rank) {
    merge(outcomes[rank].result, static_cast<int>(rank), checks);
  }
  return checks;
}

}  // namespace tandem
