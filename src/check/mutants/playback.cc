// SPDX-License-Identifier: Apache-2.0
#include "check/mutants/playback.h"

#include <array>
#include <span>
#include <utility>

#include "base/check.h"

namespace tandem::check {
namespace {

// The verbs that both kinds of core have. False: it is another one.
bool perform_common(Core& core, const VerbRecord& call) {
  if (call.verb == Verb::set_flag) {
    core.set_flag(call.pipe, FlagId{call.id}, call.site);
  } else if (call.verb == Verb::wait_flag) {
    core.wait_flag(FlagId{call.id}, call.site);
  } else if (call.verb == Verb::gate) {
    core.gate(call.pipe, FlagId{call.id}, call.site);
  } else if (call.verb == Verb::sync_all) {
    core.sync_all(call.site);
  } else if (call.verb == Verb::pipe_barrier) {
    core.pipe_barrier(call.pipe, call.site);
  } else if (call.verb == Verb::set_event) {
    core.set_event(call.event, call.id, call.site);
  } else if (call.verb == Verb::wait_event) {
    core.wait_event(call.event, call.id, call.site);
  } else if (call.verb == Verb::scalar) {
    core.scalar(call.work, call.site);
  } else {
    return false;
  }
  return true;
}

// A call may block, and a stack that is dropped while it does must own no heap memory.
void perform_load(CubeCore& core, const VerbRecord& call) {
  std::array<Fragment, kRanksMax> fragments;
  const std::size_t count = call.views.size() / 2;
  TANDEM_CHECK(count <= fragments.size(), "a load has more fragments than there can be ranks");
  for (std::size_t i = 0; i < count; ++i) {
    fragments[i] = {call.views[2 * i], call.views[2 * i + 1]};
  }
  core.load(call.slot, std::span(fragments.data(), count), call.weights, call.site);
}

void perform_store(CubeCore& core, const VerbRecord& call) {
  std::span<const View> c(call.views);
  std::optional<View> bias;
  if (call.has_bias) {
    bias = c.back();
    c = c.first(c.size() - 1);
  }
  core.store(call.half, c, call.mode, bias, call.site);
}

bool perform_transfer(Channel& channel, const VerbRecord& call) {
  const auto& views = call.views;
  if (call.verb == Verb::write_nbi) {
    channel.write_nbi(views[0], views[1], call.site);
  } else if (call.verb == Verb::read_nbi) {
    channel.read_nbi(views[0], views[1], call.site);
  } else if (call.verb == Verb::write_notify_nbi) {
    channel.write_notify_nbi(views[0], views[1], call.epoch, call.value, call.site);
  } else if (call.verb == Verb::write_reduce_nbi) {
    channel.write_reduce_nbi(views[0], views[1], call.site);
  } else if (call.verb == Verb::write_value_nbi) {
    channel.write_value_nbi(views[0], static_cast<std::uint32_t>(call.value), call.site);
  } else if (call.verb == Verb::fetch_add) {
    channel.fetch_add(views[0], call.value, call.site);
  } else if (call.verb == Verb::drain) {
    channel.drain(call.site);
  } else {
    return false;
  }
  return true;
}

}  // namespace

void perform(CubeCore& core, const VerbRecord& call) {
  if (perform_common(core, call)) return;
  if (call.verb == Verb::load) {
    perform_load(core, call);
  } else if (call.verb == Verb::matmul) {
    core.matmul(call.slot, call.half, call.accumulate, call.site);
  } else if (call.verb == Verb::store) {
    perform_store(core, call);
  } else if (call.verb == Verb::cache_hint) {
    core.cache_hint(call.hint, call.site);
  } else {
    TANDEM_CHECK(false, "a cube core has no such verb");
  }
}

void perform(VectorCore& core, const VerbRecord& call) {
  if (perform_common(core, call)) return;
  const auto& tensors = call.tensors;
  if (call.verb == Verb::load) {
    core.load(tensors[0], call.views[0], call.site);
  } else if (call.verb == Verb::accumulate) {
    core.accumulate(tensors[0], tensors[1], tensors[2], call.accumulate, call.site);
  } else if (call.verb == Verb::convert) {
    core.convert(tensors[0], tensors[1], call.site);
  } else if (call.verb == Verb::store) {
    core.store(call.views[0], tensors[0], call.site);
  } else if (call.verb == Verb::store_epoch) {
    core.store_epoch(call.peer, call.epoch, call.value, call.site);
  } else if (call.verb == Verb::wait_epoch) {
    core.wait_epoch(call.epoch, call.value, call.site);
  } else {
    TANDEM_CHECK(perform_transfer(core.channel(call.peer), call), "a vector core has no such verb");
  }
}

void play_back(std::shared_ptr<const std::vector<WorldRecording>> recordings,
               sim::Program& program) {
  // The machine says which launch begins; the kernels cannot ask.
  auto current = std::make_shared<std::vector<int>>(program.ranks.size(), 0);
  program.before = [current, inner = program.before](sim::Machine& machine, int rank, int launch) {
    (*current)[rank] = launch;
    if (inner) inner(machine, rank, launch);
  };
  const auto list_of = [recordings, current](int rank, int block, int kind) -> const VerbList& {
    return (*recordings)[(*current)[rank]][rank][2 * block + kind].verbs;
  };
  for (sim::Rank& rank : program.ranks) {
    rank.launch.cube = [list_of](CubeCore& core) {
      for (const VerbRecord& call : list_of(core.rank(), core.block(), 0)) perform(core, call);
    };
    rank.launch.vector = [list_of](VectorCore& core) {
      for (const VerbRecord& call : list_of(core.rank(), core.block(), 1)) perform(core, call);
    };
  }
}

}  // namespace tandem::check
