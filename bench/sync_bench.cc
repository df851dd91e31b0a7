// SPDX-License-Identifier: Apache-2.0
// Round trips and transfers of the host machine: what a kernel pays for each of its verbs.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "bench/bench_support.h"
#include "benchmarking/limits.h"
#include "host/launch_site.h"
#include "tandem/error.h"
#include "tandem/world.h"
#include "world_impl.h"

namespace tandem::bench {
namespace {

int trips() { return only_checks() ? 20 : 20'000; }

// Runs one block per rank, each rank pinned to a core, and returns rank 0's seconds of a launch
// after one that warms up. `bytes` are those of each window. Throws Error if the world fails.
double launch_seconds(int ranks, std::int64_t bytes, const Launch& launch) {
  const auto outcomes = World::spawn({.ranks = ranks, .workers = 1}, [&](World& world) {
    pin_rank(world.rank(), world.size());
    World::Impl& impl = world.impl();
    const host::Windows windows = impl.rank->allocate_windows(bytes);
    std::vector<std::byte> local(static_cast<std::size_t>(bytes), std::byte{7});
    double seconds = 0;
    {
      host::LaunchSite site(*impl.rank, *impl.pool, launch, windows);
      host::Bindings bindings;
      bindings.local[static_cast<std::size_t>(Buffer::staging)] = local.data();
      for (int i = 0; i < 2; ++i) {
        world.barrier();
        seconds = seconds_of([&] { site.run(bindings); });
      }
      world.barrier();
    }
    const std::byte* own = windows.addresses[static_cast<std::size_t>(world.rank())];
    const bool arrived =
        std::all_of(own, own + bytes, [](std::byte b) { return b == std::byte{7}; });
    impl.rank->free_windows(windows);
    if (bytes > 0 && world.rank() > 0 && !arrived) return std::string("wrong");
    return std::to_string(seconds * 1e9);
  });
  for (const RankOutcome& outcome : outcomes) {
    if (outcome.exit_code != 0) throw Error(ErrorKind::lost_rank, outcome.message);
    if (outcome.result == "wrong") throw Error(ErrorKind::lost_rank, "a put byte is not there");
  }
  return std::stod(outcomes[0].result) * 1e-9;
}

// Reports a launch's seconds for each of `count` things.
void report(benchmark::State& state, int ranks, std::int64_t bytes, const Launch& launch,
            double count) {
  try {
    for (auto _ : state) state.SetIterationTime(launch_seconds(ranks, bytes, launch) / count);
  } catch (const Error& error) {
    state.SkipWithError(error.what());
  }
}

Launch empty_launch() {
  Launch launch;
  launch.blocks = 1;
  launch.cube = [](CubeCore&) {};
  launch.vector = [](VectorCore&) {};
  return launch;
}

// Cube to vector and back, on one worker: two switches of fibres.
void flag_round_trip(benchmark::State& state) {
  Launch launch = empty_launch();
  launch.cube = [](CubeCore& core) {
    for (int i = 0; i < trips(); ++i) {
      core.set_flag(Pipe::fix, FlagId{0});
      core.wait_flag(FlagId{1});
    }
  };
  launch.vector = [](VectorCore& core) {
    for (int i = 0; i < trips(); ++i) {
      core.wait_flag(FlagId{0});
      core.set_flag(Pipe::mte3, FlagId{1});
    }
  };
  report(state, 1, 0, launch, trips());
}
BENCHMARK(flag_round_trip)->UseManualTime()->Iterations(5)->Unit(benchmark::kNanosecond);

// One rank stores a word at the other, which answers; each on its own core where there are two.
void epoch_round_trip(benchmark::State& state) {
  Launch launch = empty_launch();
  launch.epochs = static_cast<std::uint64_t>(trips()) + 1;
  launch.vector = [](VectorCore& core) {
    const int peer = 1 - core.rank();
    for (int i = 1; i <= trips(); ++i) {
      const auto value = static_cast<std::uint64_t>(i);
      const EpochSlot mine{EpochSlot::Kind::arrived, core.rank()};
      const EpochSlot theirs{EpochSlot::Kind::arrived, peer};
      if (core.rank() == 0) core.store_epoch(peer, mine, value);
      core.wait_epoch(theirs, value);
      if (core.rank() == 1) core.store_epoch(peer, mine, value);
    }
  };
  report(state, 2, 0, launch, trips());
}
BENCHMARK(epoch_round_trip)->UseManualTime()->Iterations(5)->Unit(benchmark::kNanosecond);

// A launch of cores that do nothing: fibres are made, run and joined.
void empty_launches(benchmark::State& state) { report(state, 1, 0, empty_launch(), 1); }
BENCHMARK(empty_launches)->UseManualTime()->Iterations(5)->Unit(benchmark::kNanosecond);

// All ranks meet outside of kernels, where they sleep.
void world_barrier(benchmark::State& state) {
  const int ranks = static_cast<int>(state.range(0));
  const int count = only_checks() ? 5 : 500;
  for (auto _ : state) {
    const auto outcomes = World::spawn({.ranks = ranks, .workers = 1}, [&](World& world) {
      pin_rank(world.rank(), world.size());
      world.barrier();
      const double seconds = seconds_of([&] {
        for (int i = 0; i < count; ++i) world.barrier();
      });
      return std::to_string(seconds * 1e9 / count);
    });
    for (const RankOutcome& outcome : outcomes) {
      if (outcome.exit_code != 0) return state.SkipWithError(outcome.message.c_str());
    }
    state.SetIterationTime(std::stod(outcomes[0].result) * 1e-9);
  }
}
BENCHMARK(world_barrier)
    ->Arg(2)
    ->Arg(4)
    ->UseManualTime()
    ->Iterations(5)
    ->Unit(benchmark::kMicrosecond);

// Rank 0 puts 8 MiB into the window of rank 1.
void put(benchmark::State& state) {
  const std::int64_t bytes = only_checks() ? 4096 : std::int64_t{8} << 20;
  Launch launch = empty_launch();
  launch.extents[static_cast<std::size_t>(Buffer::staging)].bytes = bytes;
  launch.extents[static_cast<std::size_t>(Buffer::window_data)].bytes = bytes;
  launch.vector = [bytes](VectorCore& core) {
    if (core.rank() != 0) return;
    const View from{0, Buffer::staging, 0, 1, bytes, bytes};
    const View to{1, Buffer::window_data, 0, 1, bytes, bytes};
    core.channel(1).write_nbi(to, from);
    core.channel(1).drain();
  };
  report(state, 2, bytes, launch, 1);
  state.SetBytesProcessed(state.iterations() * bytes);
}
BENCHMARK(put)->UseManualTime()->Iterations(5)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace tandem::bench
