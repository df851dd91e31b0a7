// SPDX-License-Identifier: Apache-2.0
// The part of the happens-before observer that looks at memory.
#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "check/happens_before.h"

namespace tandem::check {

// One new access against what the shadow remembers.
class AccessCheck final : public ShadowListener {
 public:
  AccessCheck(HappensBefore& owner, const Clock& clock, std::uint32_t agent, std::uint32_t epoch,
              std::uint32_t what)
      : owner_(owner), clock_(clock), agent_(agent), epoch_(epoch), what_(what) {}

  void look_at(const sim::Access& access) { access_ = &access; }

  bool ordered(const Stamp& earlier) override {
    if (earlier.agent == agent_ && earlier.epoch == epoch_) return true;  // the same operation
    return clock_.knows(owner_.agent_from(earlier.agent), earlier.epoch);
  }

  void conflict(const Stamp& earlier, Earlier what, std::int64_t first, std::int64_t end) override {
    Finding finding;
    finding.code = classify(earlier, what);
    finding.object = cat(owner_.object_name(access_->object), "@", first, "+", end - first);
    finding.sides = {owner_.side_of(earlier.agent, earlier.what), owner_.side_of(agent_, what_)};
    if (what == Earlier::read_of_nothing) std::swap(finding.sides[0], finding.sides[1]);
    finding.detail = explain(earlier, what, finding);
    owner_.findings_.add(finding);
  }

  void uninitialised(std::int64_t first, std::int64_t end) override {
    Finding finding;
    finding.code = FindingCode::uninit;
    finding.object = cat(owner_.object_name(access_->object), "@", first, "+", end - first);
    finding.sides = {owner_.side_of(agent_, what_)};
    finding.detail = "read before anything was written there in this launch";
    owner_.findings_.add(finding);
  }

 private:
  bool posted_before(const Stamp& earlier) const {
    if (earlier.post == 0) return false;
    const Agent queue = owner_.agent_from(earlier.agent);
    for (std::size_t i = 0; i < owner_.channels_.size(); ++i) {
      const auto& channel = owner_.channels_[i];
      const sim::SimCore& core = *owner_.machine_->cores()[owner_.machine_->channels()[i]->core];
      if (!channel || core.rank != queue.rank || channel->home != queue.core) continue;
      return clock_.knows(owner_.agent_of(core, 0), earlier.post);
    }
    return false;
  }

  FindingCode classify(const Stamp& earlier, Earlier what) const {
    const bool earlier_writes = what == Earlier::write || what == Earlier::atomic;
    const bool new_writes = access_->kind != sim::AccessKind::read;
    const bool new_atomic = access_->kind == sim::AccessKind::atomic;
    if (earlier_writes && (what == Earlier::atomic) != new_atomic && new_writes) {
      return FindingCode::atomic_mix;
    }
    // The run let the read go first, and it found nothing: it was meant to come second.
    if (what == Earlier::read_of_nothing && earlier.agent != agent_) return FindingCode::race_raw;
    if (posted_before(earlier)) {
      return earlier_writes ? FindingCode::race_inflight_dst : FindingCode::race_inflight_src;
    }
    if (earlier.agent == agent_) return FindingCode::race_intrapipe;
    if (!earlier_writes) return FindingCode::race_war;
    return new_writes ? FindingCode::race_waw : FindingCode::race_raw;
  }

  std::string explain(const Stamp& earlier, Earlier what, const Finding& finding) const {
    const FindingSide& before = finding.sides[0];
    const FindingSide& after = finding.sides[1];
    const std::string edge = cat("missing: end of ", before.verb, " on rank ", before.rank, " ",
                                 before.place(), " before ", after.verb, " on rank ", after.rank,
                                 " ", after.place());
    if (finding.code == FindingCode::race_inflight_dst) {
      return edge + "; the transfer was posted before, its completion was not waited for";
    }
    if (finding.code == FindingCode::race_inflight_src) {
      return edge + "; the source is reused while the transfer may still read it";
    }
    if (finding.code == FindingCode::race_intrapipe) {
      return edge +
             "; operations of one pipe start in order, the next may start before the "
             "previous has ended";
    }
    if (finding.code == FindingCode::atomic_mix) {
      return edge + "; plain and atomic stores to one place must be ordered";
    }
    if (what == Earlier::read_of_nothing) return edge + "; in this run the read found nothing";
    return edge + nearest(earlier);
  }

  // A pipe that the new access does know something of on the other core: the synchronisation
  // that is there, and orders something else.
  std::string nearest(const Stamp& earlier) const {
    const Agent agent = owner_.agent_from(earlier.agent);
    std::string known;
    for (int lane = 0; lane < sim::kLanes; ++lane) {
      if (lane == agent.lane || !clock_.knows({agent.rank, agent.core, lane}, 1)) continue;
      known += cat(known.empty() ? "" : ", ", to_string(static_cast<sim::Lane>(lane)));
    }
    if (known.empty()) return "; nothing orders the two cores at all";
    return cat("; what is waited for orders only ", known, " of that core");
  }

  HappensBefore& owner_;
  const Clock& clock_;
  std::uint32_t agent_;
  std::uint32_t epoch_;
  std::uint32_t what_;
  const sim::Access* access_ = nullptr;
};

void HappensBefore::check_accesses(sim::Op& op, const Clock& clock, std::uint32_t agent,
                                   std::uint32_t epoch, std::uint32_t post, bool writes,
                                   bool reads) {
  if (op.accesses.empty()) return;
  const std::uint32_t what = describe(op);
  AccessCheck check(*this, clock, agent, epoch, what);
  for (const sim::Access& access : op.accesses) {
    const bool is_read = access.kind == sim::AccessKind::read;
    if (is_read ? !reads : !writes) continue;
    check.look_at(access);
    shadow(access.object).access(access, {agent, epoch, what, post}, check);
  }
}

// What the cores of a rank know when a launch begins. Operands that peers read in place are written
// before, each launch's anew: peers of the launch before must have read, those of this one must
// wait.
KnowledgeRef HappensBefore::fill_window(int rank, int launch) {
  HostState& host = hosts_[rank];
  const BufferExtents& extents = machine_->program().ranks[rank].launch.extents;
  host.clock.join_other(rank_end_[rank]);
  const std::uint32_t epoch = ++host.epoch;
  host.clock.set_own(0, epoch);
  bool filled = false;
  const std::uint32_t agent = number({rank, host_core(), 0});
  for (Buffer buffer : {Buffer::a, Buffer::a_scale}) {
    const BufferExtent& extent = extents[static_cast<std::size_t>(buffer)];
    if (!extent.in_window || extent.bytes == 0) continue;
    const std::uint32_t what = describe({}, sim::OpKind::fill_window, launch);
    AccessCheck check(*this, host.clock, agent, epoch, what);
    const sim::Access access{.object = {sim::Object::Kind::buffer, rank, static_cast<int>(buffer)},
                             .kind = sim::AccessKind::write,
                             .row_bytes = extent.bytes,
                             .pitch = extent.bytes};
    check.look_at(access);
    shadow(access.object).access(access, {agent, epoch, what, 0}, check);
    filled = true;
  }
  return filled ? host.clock.publish(epoch) : rank_end_[rank];
}

ShadowBuffer& HappensBefore::shadow(const sim::Object& object) {
  std::size_t place = object.owner * kBufferCount + object.index;
  if (object.kind != sim::Object::Kind::buffer) {
    const int memory = object.kind == sim::Object::Kind::ub        ? 0
                       : object.kind == sim::Object::Kind::l1_slot ? 1 + object.index
                                                                   : 3 + object.index;
    place = machine_->ranks() * kBufferCount + object.owner * kLocalMemories + memory;
  }
  auto& buffer = shadows_[place];
  if (buffer) return *buffer;
  std::int64_t bytes = 0;
  bool initialised = false;
  switch (object.kind) {
    case sim::Object::Kind::buffer: {
      const auto which = static_cast<Buffer>(object.index);
      const BufferExtent& extent =
          machine_->program().ranks[object.owner].launch.extents[object.index];
      bytes = extent.bytes;
      const bool input = which == Buffer::a || which == Buffer::a_scale || which == Buffer::bias;
      initialised = input && !extent.in_window;
      break;
    }
    case sim::Object::Kind::ub:
      bytes = machine_->program().ranks[0].launch.ub_bytes;
      break;
    case sim::Object::Kind::l1_slot:
    case sim::Object::Kind::l0c_half:
      bytes = std::int64_t{1} << 32;  // pages come as they are touched
      break;
  }
  buffer = std::make_unique<ShadowBuffer>(bytes, initialised);
  return *buffer;
}

std::uint32_t HappensBefore::describe(const sim::Op& op) {
  return describe(op.site, op.kind, machine_->launch_of(machine_->cores()[op.core]->rank));
}

std::uint32_t HappensBefore::describe(Site site, sim::OpKind kind, int launch) {
  const std::uint64_t key = static_cast<std::uint64_t>(site.line) << 32 ^
                            static_cast<std::uint64_t>(launch) << 8 ^
                            static_cast<std::uint64_t>(kind);
  std::vector<std::uint32_t>& alike = what_index_[key];  // they differ in their files
  for (std::uint32_t what : alike) {
    if (whats_[what].site.file == site.file) return what;
  }
  alike.push_back(static_cast<std::uint32_t>(whats_.size()));
  whats_.push_back({site, kind, launch});
  return alike.back();
}

std::string HappensBefore::object_name(const sim::Object& object) const {
  switch (object.kind) {
    case sim::Object::Kind::buffer:
      return cat(to_string(static_cast<Buffer>(object.index)), "[", object.owner, "]");
    case sim::Object::Kind::ub:
      return cat("UB of ", machine_->cores()[object.owner]->name());
    case sim::Object::Kind::l1_slot:
      return cat("L1 slot ", object.index, " of ", machine_->cores()[object.owner]->name());
    case sim::Object::Kind::l0c_half:
      return cat("L0C half ", object.index, " of ", machine_->cores()[object.owner]->name());
  }
  return "?";
}

FindingSide HappensBefore::side_of(std::uint32_t number, std::uint32_t what) const {
  const Agent agent = agent_from(number);
  FindingSide side;
  side.rank = agent.rank;
  side.verb = std::string(to_string(whats_[what].kind));
  side.site = whats_[what].site;
  side.launch = whats_[what].launch;
  if (agent.core < 2 * machine_->blocks()) {
    side.core = cat(agent.core % 2 == 1 ? "vector " : "cube ", agent.core / 2);
    side.pipe = std::string(to_string(static_cast<sim::Lane>(agent.lane)));
    return side;
  }
  if (agent.core == host_core()) {
    side.core = "host";
    return side;
  }
  for (std::size_t i = 0; i < channels_.size(); ++i) {
    const sim::SimCore& core = *machine_->cores()[machine_->channels()[i]->core];
    if (!channels_[i] || core.rank != agent.rank || channels_[i]->home != agent.core) continue;
    side.core = core.name();
    side.pipe = cat("channel to ", machine_->channels()[i]->peer);
  }
  return side;
}

}  // namespace tandem::check
