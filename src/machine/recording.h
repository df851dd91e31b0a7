// SPDX-License-Identifier: Apache-2.0
// What a kernel did, verb by verb: a machine that only takes notes, and notes taken on another
// machine while it runs. Two machines are compared by their lists, and plans are checked on them
// without any schedule.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "machine/core.h"
#include "machine/launch.h"

namespace tandem {

enum class Verb : std::uint8_t {
  set_flag,
  wait_flag,
  gate,
  sync_all,
  pipe_barrier,
  set_event,
  wait_event,
  scalar,
  load,
  matmul,
  store,
  cache_hint,
  accumulate,
  convert,
  store_epoch,
  wait_epoch,
  write_nbi,
  read_nbi,
  write_notify_nbi,
  write_reduce_nbi,
  write_value_nbi,
  fetch_add,
  drain,
};

std::string_view to_string(Verb verb);

// One call. Fields that the verb does not have keep their defaults.
struct VerbRecord {
  Verb verb = Verb::drain;
  Site site;
  Pipe pipe = Pipe::all;
  EventKind event = EventKind::mte2_v;
  ScalarWork work = ScalarWork::product_parameters;
  CacheHint hint = CacheHint::keep;
  Accumulate accumulate = Accumulate::init;
  StoreMode mode = StoreMode::plain;
  bool has_bias = false;  // the last view is the bias
  int id = 0;             // of a flag or an event
  int slot = 0;           // of L1
  int half = 0;           // of L0C
  int peer = -1;          // of a channel or an epoch
  WeightTile weights;
  EpochSlot epoch;
  std::uint64_t value = 0;
  std::vector<View> views;        // as in the call; a load's fragments as data, scale, data, …
  std::vector<UbTensor> tensors;  // as in the call

  friend bool operator==(const VerbRecord& left, const VerbRecord& right);
};

using VerbList = std::vector<VerbRecord>;

// "src/" and what stands before it is cut off.
enum class SiteText : std::uint8_t { none, file, file_and_line };

// "write_nbi peer 1 window-data[1]@0+4x64 a[0]@0+4x64 | comm/registry.cc:14".
std::string to_text(const VerbRecord& record, SiteText site);
// One call a line.
std::string to_text(const VerbList& verbs, SiteText site = SiteText::file_and_line);

// The index of the first call that differs, or the shorter length; nothing if they are equal.
std::optional<std::size_t> first_difference(const VerbList& left, const VerbList& right);

enum class CoreKind : std::uint8_t { cube, vector };
std::string_view to_string(CoreKind kind);

struct CoreRecording {
  CoreKind kind = CoreKind::cube;
  int rank = 0;
  int block = 0;
  VerbList verbs;
};

// The cores of one rank: by block, cube before vector.
using RankRecording = std::vector<CoreRecording>;

// "== rank 0 block 1 cube" above the calls of each core.
std::string to_text(const RankRecording& cores, SiteText site = SiteText::file_and_line);

// Runs all cores of `rank` one after the other on recorders whose waits return at once.
RankRecording record_launch(const Launch& launch, int rank);

// The same launch, which also writes each core's calls into `into` while it runs. A core writes
// only its own list. `into` is resized here and must outlive the launch.
Launch recorded(const Launch& launch, int rank, RankRecording& into);

// The verbs that both kinds of core have. With an inner core each call is recorded, then forwarded.
template <typename Kind>
class RecordingCore : public Kind {
 public:
  RecordingCore(int rank, int block, VerbList& verbs, Kind* inner)
      : Kind(rank, block), verbs_(verbs), inner_(inner) {}

  void set_flag(Pipe pipe, FlagId id, Site site) override;
  void wait_flag(FlagId id, Site site) override;
  void gate(Pipe pipe, FlagId id, Site site) override;
  void sync_all(Site site) override;
  void pipe_barrier(Pipe pipe, Site site) override;
  void set_event(EventKind kind, int id, Site site) override;
  void wait_event(EventKind kind, int id, Site site) override;
  void scalar(ScalarWork work, Site site) override;

 protected:
  VerbRecord& append(Verb verb, Site site);

  VerbList& verbs_;
  Kind* inner_;
};

class RecordingCube final : public RecordingCore<CubeCore> {
 public:
  RecordingCube(int rank, int block, VerbList& verbs, CubeCore* inner = nullptr)
      : RecordingCore(rank, block, verbs, inner) {}

  void load(int slot, std::span<const Fragment> a, WeightTile b, Site site) override;
  void matmul(int slot, int half, Accumulate accumulate, Site site) override;
  void store(int half, std::span<const View> c, StoreMode mode, std::optional<View> bias,
             Site site) override;
  void cache_hint(CacheHint hint, Site site) override;
};

class RecordingVector final : public RecordingCore<VectorCore> {
 public:
  RecordingVector(int rank, int block, VerbList& verbs, VectorCore* inner = nullptr)
      : RecordingCore(rank, block, verbs, inner) {}

  Channel& channel(int peer) override;
  void load(UbTensor destination, View source, Site site) override;
  void accumulate(UbTensor sum, UbTensor wide, UbTensor source, Accumulate accumulate,
                  Site site) override;
  void convert(UbTensor destination, UbTensor sum, Site site) override;
  void store(View destination, UbTensor source, Site site) override;
  void store_epoch(int peer, EpochSlot slot, std::uint64_t value, Site site) override;
  void wait_epoch(EpochSlot slot, std::uint64_t value, Site site) override;

 private:
  std::vector<std::unique_ptr<Channel>> channels_;  // [peer], made when first asked for
};

}  // namespace tandem
