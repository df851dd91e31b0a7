// SPDX-License-Identifier: Apache-2.0
#include "check/replay.h"

#include <charconv>
#include <optional>

#include "base/strings.h"
#include "tandem/error.h"

namespace tandem::check {
namespace {

using Strategy = ScheduleSpec::Strategy;
using What = Starved::What;

std::string entity_text(const sim::Entity& entity) {
  switch (entity.kind) {
    case sim::Entity::Kind::lane:
      return cat(entity.core, ".", to_string(static_cast<sim::Lane>(entity.part)));
    case sim::Entity::Kind::channel:
      return cat(entity.core, ">", entity.part);
    case sim::Entity::Kind::wire:
      return cat(entity.core, "~", entity.part);
  }
  return "?";
}

std::string starved_text(const Starved& starved) {
  switch (starved.what) {
    case What::lane:
      return cat("lane=", to_string(static_cast<sim::Lane>(starved.number)));
    case What::kind:
      return starved.number == 0 ? "kind=cube" : "kind=vector";
    case What::rank:
      return cat("rank=", starved.number);
    case What::core:
      return cat("core=", starved.number);
    case What::channels:
      return starved.number < 0 ? "channels" : cat("channels=", starved.number);
    case What::wires:
      return starved.number < 0 ? "wires" : cat("wires=", starved.number);
  }
  return "?";
}

// Takes the text apart from the left.
class Reader {
 public:
  explicit Reader(std::string_view token) : token_(token), rest_(token) {}

  [[noreturn]] void refuse() const {
    throw Error(ErrorKind::refused, cat("schedule token '", token_, "': not understood at '", rest_,
                                        "'; use a token that a report printed"));
  }
  bool ended() const { return rest_.empty(); }
  bool skip(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  void expect(std::string_view word) {
    if (!skip(word)) refuse();
  }
  template <typename T>
  T number() {
    T value{};
    const auto parsed = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (parsed.ec != std::errc() || value < T{}) refuse();
    rest_.remove_prefix(parsed.ptr - rest_.data());
    return value;
  }
  int lane() {
    // MTE1 before M, so that the longer name wins.
    for (int lane : {1, 2, 3, 4, 5, 6, 0}) {
      if (skip(to_string(static_cast<sim::Lane>(lane)))) return lane;
    }
    refuse();
  }

 private:
  std::string_view token_;
  std::string_view rest_;
};

sim::Entity read_entity(Reader& reader) {
  sim::Entity entity;
  entity.core = reader.number<int>();
  if (reader.skip(".")) {
    entity.part = reader.lane();
  } else if (reader.skip(">")) {
    entity.kind = sim::Entity::Kind::channel;
    entity.part = reader.number<int>();
  } else {
    reader.expect("~");
    entity.kind = sim::Entity::Kind::wire;
    entity.part = reader.number<int>();
  }
  return entity;
}

Starved read_starved(Reader& reader) {
  if (reader.skip("lane=")) return {What::lane, reader.lane()};
  if (reader.skip("kind=cube")) return {What::kind, 0};
  if (reader.skip("kind=vector")) return {What::kind, 1};
  if (reader.skip("rank=")) return {What::rank, reader.number<int>()};
  if (reader.skip("core=")) return {What::core, reader.number<int>()};
  const What what = reader.skip("channels") ? What::channels : What::wires;
  if (what == What::wires) reader.expect("wires");
  return {what, reader.skip("=") ? reader.number<int>() : -1};
}

void read_deviations(Reader& reader, ScheduleSpec& spec) {
  do {
    Deviation deviation;
    deviation.step = reader.number<std::uint64_t>();
    reader.expect("@");
    deviation.entity = read_entity(reader);
    spec.deviations.push_back(deviation);
  } while (reader.skip(","));
}

}  // namespace

std::string to_token(const ScheduleSpec& spec) {
  switch (spec.strategy) {
    case Strategy::canonical:
      return "canonical";
    case Strategy::turns: {
      std::string text = "turns";
      for (std::size_t i = 0; i < spec.deviations.size(); ++i) {
        text += cat(i == 0 ? ":" : ",", spec.deviations[i].step, "@",
                    entity_text(spec.deviations[i].entity));
      }
      return text;
    }
    case Strategy::random:
      return cat("random:", spec.seed);
    case Strategy::pct:
      return cat("pct:", spec.depth, ":", spec.steps, ":", spec.seed);
    case Strategy::starve:
      return "starve:" + starved_text(spec.starved);
  }
  return "?";
}

ScheduleSpec parse_token(std::string_view token) {
  Reader reader(token);
  ScheduleSpec spec;
  if (reader.skip("canonical")) {
    spec.strategy = Strategy::canonical;
  } else if (reader.skip("turns")) {
    spec.strategy = Strategy::turns;
    if (reader.skip(":")) read_deviations(reader, spec);
  } else if (reader.skip("random:")) {
    spec.strategy = Strategy::random;
    spec.seed = reader.number<std::uint64_t>();
  } else if (reader.skip("pct:")) {
    spec.strategy = Strategy::pct;
    spec.depth = reader.number<int>();
    reader.expect(":");
    spec.steps = reader.number<std::uint64_t>();
    reader.expect(":");
    spec.seed = reader.number<std::uint64_t>();
  } else {
    reader.expect("starve:");
    spec.strategy = Strategy::starve;
    spec.starved = read_starved(reader);
  }
  if (!reader.ended()) reader.refuse();
  return spec;
}

}  // namespace tandem::check
