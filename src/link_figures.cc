// SPDX-License-Identifier: Apache-2.0
#include "link_figures.h"

#include <algorithm>
#include <cmath>

#include "base/strings.h"
#include "host/launch_site.h"
#include "report/device_json.h"
#include "world_impl.h"

namespace tandem {
namespace {

using host::Clock;

constexpr std::int64_t kBytes = 64 * 1024;
constexpr int kTurns = 16;
constexpr int kWritesMax = 256;
constexpr std::chrono::milliseconds kLongEnough{5};

double nanoseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

// Each rank writes to its right neighbour and hears from its left one.
class Probe {
 public:
  explicit Probe(World& world)
      : rank_(*world.impl().rank),
        pool_(*world.impl().pool),
        windows_(rank_.allocate_windows(kBytes)),
        local_(kBytes) {}
  ~Probe() { rank_.free_windows(windows_); }

  LinkFigures run() {
    Launch made;
    made.blocks = 1;
    made.epochs = kTurns;
    made.cube = [](CubeCore&) {};
    made.vector = [this](VectorCore& core) {
      figures_.latency_ns = latency(core);
      figures_.mb_s = bandwidth(core);
    };
    for (const Buffer buffer : {Buffer::c, Buffer::window_data}) {
      made.extents[static_cast<std::size_t>(buffer)].bytes = kBytes;
    }
    host::LaunchSite site(rank_, pool_, std::move(made), windows_);
    host::Bindings bindings;
    bindings.local[static_cast<std::size_t>(Buffer::c)] = local_.data();
    rank_.meet("the measurement of the links");
    site.run(bindings);
    rank_.meet("the measurement of the links");
    return figures_;
  }

 private:
  int right() const { return (rank_.rank() + 1) % rank_.ranks(); }
  int left() const { return (rank_.rank() + rank_.ranks() - 1) % rank_.ranks(); }
  View own(std::int64_t bytes) const { return {rank_.rank(), Buffer::c, 0, 1, bytes, bytes}; }
  View far(std::int64_t bytes) const { return {right(), Buffer::window_data, 0, 1, bytes, bytes}; }

  // Nobody is more than a turn ahead of its neighbours, so that a turn takes the slowest link's
  // latency. The first ones warm up.
  std::int64_t latency(VectorCore& core) {
    constexpr int kWarmUp = kTurns / 4;
    Clock::time_point start;
    for (int turn = 1; turn <= kTurns; ++turn) {
      if (turn == kWarmUp + 1) start = Clock::now();
      core.channel(right()).write_notify_nbi(far(8), own(8),
                                             {EpochSlot::Kind::arrived, rank_.rank()}, turn);
      core.wait_epoch({EpochSlot::Kind::arrived, left()}, turn);
    }
    const double time = nanoseconds_since(start);
    core.channel(right()).drain();
    return std::llround(time / (kTurns - kWarmUp));
  }

  std::int64_t bandwidth(VectorCore& core) {
    for (int writes = 1;; writes *= 2) {
      const auto start = Clock::now();
      for (int i = 0; i < writes; ++i) core.channel(right()).write_nbi(far(kBytes), own(kBytes));
      core.channel(right()).drain();
      const double time = nanoseconds_since(start);
      const bool is_enough = time >= std::chrono::nanoseconds(kLongEnough).count();
      if (!is_enough && writes < kWritesMax) continue;
      return std::max<std::int64_t>(
          1, std::llround(1000 * static_cast<double>(writes * kBytes) / time));
    }
  }

  host::HostRank& rank_;
  host::WorkerPool& pool_;
  host::Windows windows_;
  std::vector<std::byte> local_;
  LinkFigures figures_;
};

LinkFigures measure(World& world) {
  host::HostRank& rank = *world.impl().rank;
  if (all_share_memory(world)) return {};
  const LinkFigures own = Probe(world).run();
  LinkFigures slowest = own;
  const auto texts = rank.exchange("the figures of the links", cat(own.mb_s, ' ', own.latency_ns));
  for (const std::string& text : texts) {
    std::size_t end = 0;
    slowest.mb_s = std::min<std::int64_t>(slowest.mb_s, std::stoll(text, &end));
    slowest.latency_ns = std::max<std::int64_t>(slowest.latency_ns, std::stoll(text.substr(end)));
  }
  return slowest;
}

}  // namespace

const LinkFigures& link_figures(World& world) {
  std::optional<LinkFigures>& kept = world.impl().link;
  if (!kept) kept = measure(world);
  return *kept;
}

bool all_share_memory(World& world) {
  std::optional<bool>& kept = world.impl().shares_memory;
  if (kept) return *kept;
  host::HostRank& rank = *world.impl().rank;
  if (rank.link() == nullptr || rank.ranks() < 2) {
    kept = true;
  } else {
    const auto maps =
        rank.exchange("the ways between ranks", rank.maps_all() ? "memory" : "a link");
    kept = std::ranges::count(maps, "memory") == rank.ranks();
  }
  return *kept;
}

Device device_before(const WorldOptions& world, int ranks) {
  Device device = load_device("host");
  device.cores = world.workers.value_or(default_workers(ranks));
  const bool far = std::ranges::any_of(host::all_transports(), [&](const auto& transport) {
    return transport.name == world.transport && transport.reach == host::Reach::many_hosts;
  });
  device.linked = far && ranks > 1 && same_host_of(world) == SameHost::linked;
  return device;
}

Device device_of(World& world, const Problem& problem) {
  Device device = load_device("host");
  device.cores = world.workers();
  for (const std::string& text :
       world.impl().rank->exchange("the count of workers", cat(world.workers()))) {
    device.cores = std::min(device.cores, std::stoi(text));
  }
  device.linked = !all_share_memory(world);
  if (!device.linked || problem.tiles || problem.tile_rows) return device;
  const LinkFigures& link = link_figures(world);
  device.costs.link_mb_s = link.mb_s;
  device.costs.link_latency_ns = std::max<std::int64_t>(1, link.latency_ns);
  return device;
}

}  // namespace tandem
