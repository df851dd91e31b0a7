// SPDX-License-Identifier: Apache-2.0
#include "machine/recording.h"

#include <algorithm>

namespace tandem {
namespace {

// Transfers with one peer, noted in the list of the core that has the channel.
class RecordingChannel final : public Channel {
 public:
  RecordingChannel(VerbList& verbs, int peer, Channel* inner)
      : verbs_(verbs), peer_(peer), inner_(inner) {}

  void write_nbi(View destination, View source, Site site) override {
    append(Verb::write_nbi, site, {destination, source});
    if (inner_ != nullptr) inner_->write_nbi(destination, source, site);
  }
  void read_nbi(View destination, View source, Site site) override {
    append(Verb::read_nbi, site, {destination, source});
    if (inner_ != nullptr) inner_->read_nbi(destination, source, site);
  }
  void write_notify_nbi(View destination, View source, EpochSlot slot, std::uint64_t value,
                        Site site) override {
    VerbRecord& record = append(Verb::write_notify_nbi, site, {destination, source});
    record.epoch = slot;
    record.value = value;
    if (inner_ != nullptr) inner_->write_notify_nbi(destination, source, slot, value, site);
  }
  void write_reduce_nbi(View destination, View source, Site site) override {
    append(Verb::write_reduce_nbi, site, {destination, source});
    if (inner_ != nullptr) inner_->write_reduce_nbi(destination, source, site);
  }
  void write_value_nbi(View destination, std::uint32_t value, Site site) override {
    append(Verb::write_value_nbi, site, {destination}).value = value;
    if (inner_ != nullptr) inner_->write_value_nbi(destination, value, site);
  }
  std::uint64_t fetch_add(View word, std::uint64_t value, Site site) override {
    append(Verb::fetch_add, site, {word}).value = value;
    return inner_ != nullptr ? inner_->fetch_add(word, value, site) : 0;
  }
  void drain(Site site) override {
    append(Verb::drain, site, {});
    if (inner_ != nullptr) inner_->drain(site);
  }

 private:
  VerbRecord& append(Verb verb, Site site, std::vector<View> views) {
    VerbRecord record;
    record.verb = verb;
    record.site = site;
    record.peer = peer_;
    record.views = std::move(views);
    verbs_.push_back(std::move(record));
    return verbs_.back();
  }

  VerbList& verbs_;
  int peer_;
  Channel* inner_;
};

std::vector<CoreRecording> empty_recording(int blocks, int rank) {
  std::vector<CoreRecording> cores;
  for (int block = 0; block < blocks; ++block) {
    cores.push_back({CoreKind::cube, rank, block, {}});
    cores.push_back({CoreKind::vector, rank, block, {}});
  }
  return cores;
}

}  // namespace

template <typename Kind>
VerbRecord& RecordingCore<Kind>::append(Verb verb, Site site) {
  VerbRecord record;
  record.verb = verb;
  record.site = site;
  verbs_.push_back(std::move(record));
  return verbs_.back();
}

template <typename Kind>
void RecordingCore<Kind>::set_flag(Pipe pipe, FlagId id, Site site) {
  VerbRecord& record = append(Verb::set_flag, site);
  record.pipe = pipe;
  record.id = id.value;
  if (inner_ != nullptr) inner_->set_flag(pipe, id, site);
}

template <typename Kind>
void RecordingCore<Kind>::wait_flag(FlagId id, Site site) {
  append(Verb::wait_flag, site).id = id.value;
  if (inner_ != nullptr) inner_->wait_flag(id, site);
}

template <typename Kind>
void RecordingCore<Kind>::gate(Pipe pipe, FlagId id, Site site) {
  VerbRecord& record = append(Verb::gate, site);
  record.pipe = pipe;
  record.id = id.value;
  if (inner_ != nullptr) inner_->gate(pipe, id, site);
}

template <typename Kind>
void RecordingCore<Kind>::sync_all(Site site) {
  append(Verb::sync_all, site);
  if (inner_ != nullptr) inner_->sync_all(site);
}

template <typename Kind>
void RecordingCore<Kind>::pipe_barrier(Pipe pipe, Site site) {
  append(Verb::pipe_barrier, site).pipe = pipe;
  if (inner_ != nullptr) inner_->pipe_barrier(pipe, site);
}

template <typename Kind>
void RecordingCore<Kind>::set_event(EventKind kind, int id, Site site) {
  VerbRecord& record = append(Verb::set_event, site);
  record.event = kind;
  record.id = id;
  if (inner_ != nullptr) inner_->set_event(kind, id, site);
}

template <typename Kind>
void RecordingCore<Kind>::wait_event(EventKind kind, int id, Site site) {
  VerbRecord& record = append(Verb::wait_event, site);
  record.event = kind;
  record.id = id;
  if (inner_ != nullptr) inner_->wait_event(kind, id, site);
}

template <typename Kind>
void RecordingCore<Kind>::scalar(ScalarWork work, Site site) {
  append(Verb::scalar, site).work = work;
  if (inner_ != nullptr) inner_->scalar(work, site);
}

template class RecordingCore<CubeCore>;
template class RecordingCore<VectorCore>;

void RecordingCube::load(int slot, std::span<const Fragment> a, WeightTile b, Site site) {
  VerbRecord& record = append(Verb::load, site);
  record.slot = slot;
  record.weights = b;
  for (const Fragment& fragment : a) {
    record.views.push_back(fragment.data);
    record.views.push_back(fragment.scale);
  }
  if (inner_ != nullptr) inner_->load(slot, a, b, site);
}

void RecordingCube::matmul(int slot, int half, Accumulate accumulate, Site site) {
  VerbRecord& record = append(Verb::matmul, site);
  record.slot = slot;
  record.half = half;
  record.accumulate = accumulate;
  if (inner_ != nullptr) inner_->matmul(slot, half, accumulate, site);
}

void RecordingCube::store(int half, std::span<const View> c, StoreMode mode,
                          std::optional<View> bias, Site site) {
  VerbRecord& record = append(Verb::store, site);
  record.half = half;
  record.mode = mode;
  record.views.assign(c.begin(), c.end());
  record.has_bias = bias.has_value();
  if (bias) record.views.push_back(*bias);
  if (inner_ != nullptr) inner_->store(half, c, mode, bias, site);
}

void RecordingCube::cache_hint(CacheHint hint, Site site) {
  append(Verb::cache_hint, site).hint = hint;
  if (inner_ != nullptr) inner_->cache_hint(hint, site);
}

Channel& RecordingVector::channel(int peer) {
  const auto index = static_cast<std::size_t>(peer);
  if (channels_.size() <= index) channels_.resize(index + 1);
  if (channels_[index] == nullptr) {
    Channel* inner = inner_ != nullptr ? &inner_->channel(peer) : nullptr;
    channels_[index] = std::make_unique<RecordingChannel>(verbs_, peer, inner);
  }
  return *channels_[index];
}

void RecordingVector::load(UbTensor destination, View source, Site site) {
  VerbRecord& record = append(Verb::load, site);
  record.tensors = {destination};
  record.views = {source};
  if (inner_ != nullptr) inner_->load(destination, source, site);
}

void RecordingVector::accumulate(UbTensor sum, UbTensor wide, UbTensor source,
                                 Accumulate accumulate, Site site) {
  VerbRecord& record = append(Verb::accumulate, site);
  record.tensors = {sum, wide, source};
  record.accumulate = accumulate;
  if (inner_ != nullptr) inner_->accumulate(sum, wide, source, accumulate, site);
}

void RecordingVector::convert(UbTensor destination, UbTensor sum, Site site) {
  append(Verb::convert, site).tensors = {destination, sum};
  if (inner_ != nullptr) inner_->convert(destination, sum, site);
}

void RecordingVector::store(View destination, UbTensor source, Site site) {
  VerbRecord& record = append(Verb::store, site);
  record.views = {destination};
  record.tensors = {source};
  if (inner_ != nullptr) inner_->store(destination, source, site);
}

void RecordingVector::store_epoch(int peer, EpochSlot slot, std::uint64_t value, Site site) {
  VerbRecord& record = append(Verb::store_epoch, site);
  record.peer = peer;
  record.epoch = slot;
  record.value = value;
  if (inner_ != nullptr) inner_->store_epoch(peer, slot, value, site);
}

void RecordingVector::wait_epoch(EpochSlot slot, std::uint64_t value, Site site) {
  VerbRecord& record = append(Verb::wait_epoch, site);
  record.epoch = slot;
  record.value = value;
  if (inner_ != nullptr) inner_->wait_epoch(slot, value, site);
}

RankRecording record_launch(const Launch& launch, int rank) {
  RankRecording cores = empty_recording(launch.blocks, rank);
  for (CoreRecording& core : cores) {
    if (core.kind == CoreKind::cube) {
      RecordingCube cube(rank, core.block, core.verbs);
      launch.cube(cube);
    } else {
      RecordingVector vector(rank, core.block, core.verbs);
      launch.vector(vector);
    }
  }
  return cores;
}

Launch recorded(const Launch& launch, int rank, RankRecording& into) {
  into = empty_recording(launch.blocks, rank);
  Launch noted = launch;
  noted.cube = [run = launch.cube, &into](CubeCore& core) {
    RecordingCube cube(core.rank(), core.block(), into[2 * core.block()].verbs, &core);
    run(cube);
  };
  noted.vector = [run = launch.vector, &into](VectorCore& core) {
    RecordingVector vector(core.rank(), core.block(), into[2 * core.block() + 1].verbs, &core);
    run(vector);
  };
  return noted;
}

}  // namespace tandem
