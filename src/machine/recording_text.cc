// SPDX-License-Identifier: Apache-2.0
// Recorded calls as text, and their comparison.
#include <algorithm>
#include <tuple>

#include "base/strings.h"
#include "machine/recording.h"

namespace tandem {
namespace {

std::string_view relative_to_src(std::string_view file) {
  if (file.starts_with("src/")) return file.substr(4);
  const std::size_t at = file.rfind("/src/");
  return at == std::string_view::npos ? file : file.substr(at + 5);
}

std::string_view to_word(ScalarWork work) {
  switch (work) {
    case ScalarWork::product_parameters:
      return "product-parameters";
    case ScalarWork::fragment_list:
      return "fragment-list";
  }
  return "?";
}

std::string_view to_word(Accumulate accumulate) {
  return accumulate == Accumulate::init ? "init" : "add";
}

std::string to_word(const EpochSlot& slot) {
  return cat(slot.kind == EpochSlot::Kind::arrived ? "arrived " : "core ", slot.index);
}

// "ub@1088+3x64x2/256": offset, rows x columns x element bytes, pitch.
std::string to_word(const UbTensor& tensor) {
  std::string text =
      cat("ub@", tensor.offset, "+", tensor.rows, "x", tensor.columns, "x", tensor.element_bytes);
  if (tensor.rows > 1 && tensor.pitch != tensor.columns * tensor.element_bytes) {
    text += cat("/", tensor.pitch);
  }
  return text;
}

// Everything but views and tensors.
std::string words_of(const VerbRecord& record) {
  switch (record.verb) {
    case Verb::set_flag:
    case Verb::gate:
      return cat(" ", to_string(record.pipe), " ", record.id);
    case Verb::wait_flag:
      return cat(" ", record.id);
    case Verb::pipe_barrier:
      return cat(" ", to_string(record.pipe));
    case Verb::set_event:
    case Verb::wait_event:
      return cat(" ", to_string(record.event), " ", record.id);
    case Verb::scalar:
      return cat(" ", to_word(record.work));
    case Verb::matmul:
      return cat(" slot ", record.slot, " half ", record.half, " ", to_word(record.accumulate));
    case Verb::load:
      if (!record.tensors.empty()) return "";
      return cat(" slot ", record.slot, " b[", record.weights.segment,
                 "]:", record.weights.columns.first, "+", record.weights.columns.count);
    case Verb::store:
      if (!record.tensors.empty()) return "";
      return cat(" half ", record.half, record.mode == StoreMode::plain ? "" : " atomic-add",
                 record.has_bias ? " with-bias" : "");
    case Verb::cache_hint:
      return record.hint == CacheHint::keep ? " keep" : " stream";
    case Verb::accumulate:
      return cat(" ", to_word(record.accumulate));
    case Verb::store_epoch:
      return cat(" rank ", record.peer, " ", to_word(record.epoch), " = ", record.value);
    case Verb::wait_epoch:
      return cat(" ", to_word(record.epoch), " >= ", record.value);
    case Verb::write_notify_nbi:
      return cat(" peer ", record.peer, " ", to_word(record.epoch), " = ", record.value);
    case Verb::write_value_nbi:
    case Verb::fetch_add:
      return cat(" peer ", record.peer, " ", record.value);
    case Verb::write_nbi:
    case Verb::read_nbi:
    case Verb::write_reduce_nbi:
    case Verb::drain:
      return cat(" peer ", record.peer);
    case Verb::sync_all:
    case Verb::convert:
      return "";
  }
  return "?";
}

auto scalars_of(const VerbRecord& record) {
  return std::tuple(
      record.verb, std::string_view(record.site.file), record.site.line, record.pipe, record.event,
      record.work, record.hint, record.accumulate, record.mode, record.has_bias, record.id,
      record.slot, record.half, record.peer, record.weights.segment, record.weights.columns.first,
      record.weights.columns.count, record.epoch.kind, record.epoch.index, record.value);
}

auto fields_of(const UbTensor& tensor) {
  return std::tuple(tensor.offset, tensor.rows, tensor.columns, tensor.pitch, tensor.element_bytes);
}

}  // namespace

std::string_view to_string(Verb verb) {
  constexpr std::string_view kNames[] = {
      "set_flag",
      "wait_flag",
      "gate",
      "sync_all",
      "pipe_barrier",
      "set_event",
      "wait_event",
      "scalar",
      "load",
      "matmul",
      "store",
      "cache_hint",
      "accumulate",
      "convert",
      "store_epoch",
      "wait_epoch",
      "write_nbi",
      "read_nbi",
      "write_notify_nbi",
      "write_reduce_nbi",
      "write_value_nbi",
      "fetch_add",
      "drain",
  };
  static_assert(std::size(kNames) == static_cast<std::size_t>(Verb::drain) + 1);
  return kNames[static_cast<std::size_t>(verb)];
}

std::string_view to_string(CoreKind kind) { return kind == CoreKind::cube ? "cube" : "vector"; }

bool operator==(const VerbRecord& left, const VerbRecord& right) {
  return scalars_of(left) == scalars_of(right) && left.views == right.views &&
         std::ranges::equal(left.tensors, right.tensors, {}, fields_of, fields_of);
}

std::string to_text(const VerbRecord& record, SiteText site) {
  std::string text = cat(to_string(record.verb), words_of(record));
  const bool store_to_view = record.verb == Verb::store && !record.tensors.empty();
  const auto add_tensors = [&] {
    for (const UbTensor& tensor : record.tensors) text += cat(" ", to_word(tensor));
  };
  if (!store_to_view) add_tensors();
  for (const View& view : record.views) text += cat(" ", to_string(view));
  if (store_to_view) add_tensors();
  if (site == SiteText::none) return text;
  text += cat(" | ", relative_to_src(record.site.file));
  if (site == SiteText::file_and_line) text += cat(":", record.site.line);
  return text;
}

std::string to_text(const VerbList& verbs, SiteText site) {
  std::string text;
  for (const VerbRecord& record : verbs) text += to_text(record, site) + '\n';
  return text;
}

std::string to_text(const RankRecording& cores, SiteText site) {
  std::string text;
  for (const CoreRecording& core : cores) {
    text += cat("== rank ", core.rank, " block ", core.block, " ", to_string(core.kind), "\n",
                to_text(core.verbs, site));
  }
  return text;
}

std::optional<std::size_t> first_difference(const VerbList& left, const VerbList& right) {
  const auto [at, other] = std::ranges::mismatch(left, right);
  if (at == left.end() && other == right.end()) return std::nullopt;
  return static_cast<std::size_t>(at - left.begin());
}

}  // namespace tandem
