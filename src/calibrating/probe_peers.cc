// SPDX-License-Identifier: Apache-2.0
// Micro-kernels of what cores and ranks do together: copies, flags, barriers, launches.
#include <algorithm>
#include <atomic>

#include "base/strings.h"
#include "calibrating/probes.h"

namespace tandem {
namespace {

void spin(double ns) {
  const double end = now_ns() + ns;
  while (now_ns() < end) {
  }
}

}  // namespace

// Copies into the next rank's window, and from it: in one piece, and from or to rows of 512 bytes
// that lie apart. Places change, so that a copy finds them in no core's own cache.
void probe_copies(ProbeRank& probe, const std::string& suffix, Values& values, bool active) {
  const int self = probe.rank();
  const int peer = (self + 1) % probe.world().size();
  constexpr std::int64_t kRowBytes = 512;
  constexpr int kColdTimes = 12;
  constexpr std::int64_t kSizes[] = {4 << 10, 64 << 10, 1 << 20};
  for (const std::int64_t bytes : kSizes) {
    Samples whole;
    Samples rows;
    Samples reads;
    Samples cold;
    Samples small;
    ProbeRank::Kernel kernel;
    kernel.vector = [&](VectorCore& core) {
      const std::int64_t places = ProbeRank::kWindowBytes / bytes;
      const auto view = [&](int rank, Buffer buffer, std::int64_t i, std::int64_t row,
                            std::int64_t pitch) {
        const std::int64_t place = i * 37 % places;
        return View{rank, buffer, place * bytes * pitch / row, bytes / row, row, pitch};
      };
      Channel& channel = core.channel(peer);
      const auto write = [&](std::int64_t i) {
        channel.write_nbi(view(peer, Buffer::window_data, i, bytes, bytes),
                          view(self, Buffer::staging, i, bytes, bytes));
      };
      for (std::int64_t i = 0; i < places; ++i) write(i);  // the first touch maps the pages
      for (int i = 0; i < kColdTimes && bytes >= 64 << 10; ++i) {
        probe.forget();
        time_each(cold, 1, [&](std::int64_t) { write(i * 5); });
      }
      time_each(whole, 96, write);
      time_each(small, 96, [&](std::int64_t i) {
        channel.write_nbi(view(peer, Buffer::window_data, 0, 64, 64).slice_rows(i % 16, 1),
                          view(self, Buffer::staging, 0, 64, 64).slice_rows(i % 16, 1));
      });
      time_each(rows, 96, [&](std::int64_t i) {
        channel.write_nbi(view(peer, Buffer::window_data, i + 96, kRowBytes, kRowBytes),
                          view(self, Buffer::staging, i + 96, kRowBytes, 2 * kRowBytes));
      });
      time_each(reads, 96, [&](std::int64_t i) {
        channel.read_nbi(view(self, Buffer::c, i + 192, kRowBytes, 2 * kRowBytes),
                         view(peer, Buffer::window_data, i + 192, kRowBytes, kRowBytes));
      });
    };
    if (!active) kernel.vector = nullptr;
    probe.run(kernel);
    if (!active) continue;
    values[cat("write ", bytes, suffix)] = lower_quartile(whole);
    values[cat("write small", suffix)] = lower_quartile(small);
    if (!cold.empty()) values[cat("write cold ", bytes, suffix)] = lower_quartile(cold);
    values[cat("write rows ", bytes, suffix)] = lower_quartile(rows);
    values[cat("read rows ", bytes, suffix)] = lower_quartile(reads);
  }
}

// A flag there and one back, between the cores of a block.
void probe_flags(ProbeRank& probe, Values& values) {
  Samples samples;
  Samples calls;
  constexpr int kTurns = 200;
  ProbeRank::Kernel kernel;
  kernel.cube = [&](CubeCore& core) {
    for (int i = 0; i < kTurns; ++i) {
      core.wait_flag(FlagId{0});
      core.set_flag(Pipe::fix, FlagId{1});
    }
  };
  kernel.vector = [&](VectorCore& core) {
    time_each(samples, kTurns, [&](int) {
      core.set_flag(Pipe::mte3, FlagId{0});
      core.wait_flag(FlagId{1});
    });
    time_each(calls, kTurns, [&](int) {
      for (int i = 0; i < 100; ++i) core.pipe_barrier(Pipe::all);
    });
  };
  probe.run(kernel);
  values["flag"] = lower_quartile(samples) / 2;
  values["call"] = lower_quartile(calls) / 100;
}

// From a store into a peer's word until the peer, which has been waiting, goes on. The time of the
// store travels in the window.
void probe_epochs(ProbeRank& probe, Values& values) {
  const int ranks = probe.world().size();
  if (ranks < 2 || probe.rank() > 1) return void(probe.run({.epochs = 200}));
  const int peer = 1 - probe.rank();
  Samples samples;
  Samples stores;
  constexpr int kTurns = 100;
  ProbeRank::Kernel kernel;
  kernel.epochs = 200;
  kernel.vector = [&](VectorCore& core) {
    const auto tell = [&](std::uint64_t turn) {
      spin(50'000);
      const double told = now_ns();
      std::atomic_ref<double>(probe.stamp(peer)).store(told);
      core.store_epoch(peer, {EpochSlot::Kind::arrived, probe.rank()}, turn);
      stores.push_back(now_ns() - told);
    };
    const auto hear = [&](std::uint64_t turn) {
      core.wait_epoch({EpochSlot::Kind::arrived, peer}, turn);
      const double heard = now_ns();
      samples.push_back(heard - std::atomic_ref<double>(probe.stamp(probe.rank())).load());
    };
    for (int turn = 1; turn <= kTurns; ++turn) {
      if (probe.rank() == 0) {
        tell(turn);
        hear(turn);
      } else {
        hear(turn);
        tell(turn);
      }
    }
  };
  probe.run(kernel);
  values["epoch"] = lower_quartile(samples);
  values["store epoch"] = lower_quartile(stores);
}

// From the last core's arrival until the others go on, with a block on each worker; and on one.
void probe_syncs(ProbeRank& probe, int workers, Values& values) {
  constexpr int kTurns = 100;
  for (const int blocks : {workers, 2 * workers}) {
    std::vector<Samples> left(blocks);
    std::vector<std::vector<double>> came(blocks);
    ProbeRank::Kernel kernel;
    kernel.blocks = blocks;
    kernel.vector = [&](VectorCore& core) {
      const int block = core.block();
      for (int turn = 0; turn < kTurns; ++turn) {
        if (turn % blocks == block) spin(30'000);
        came[block].push_back(now_ns());
        core.sync_all();
        left[block].push_back(now_ns());
      }
    };
    probe.run(kernel);
    Samples samples;
    for (int turn = 0; turn < kTurns; ++turn) {
      double last = 0;
      double out = 0;
      for (int block = 0; block < blocks; ++block) {
        last = std::max(last, came[block][turn]);
        out = std::max(out, left[block][turn]);
      }
      samples.push_back(out - last);
    }
    values[cat("sync ", blocks == workers ? 1 : 2, " blocks a worker, ", workers, " workers")] =
        lower_quartile(samples);
  }
}

// Nothing, and a meeting of all ranks as each operator has one at its start.
void probe_launches(ProbeRank& probe, Values& values) {
  const int ranks = probe.world().size();
  ProbeRank::Kernel kernel;
  kernel.blocks = 2;
  values["launch"] = median(probe.run_often(kernel, 60));
  kernel.epochs = 1;
  kernel.vector = [&](VectorCore& core) {
    if (core.block() > 0) return;
    for (int peer = 0; peer < ranks; ++peer) {
      if (peer != probe.rank()) core.store_epoch(peer, {EpochSlot::Kind::arrived, probe.rank()}, 1);
    }
    for (int peer = 0; peer < ranks; ++peer) {
      if (peer != probe.rank()) core.wait_epoch({EpochSlot::Kind::arrived, peer}, 1);
    }
  };
  values["launch and meet"] = median(probe.run_often(kernel, 60));
}

}  // namespace tandem
