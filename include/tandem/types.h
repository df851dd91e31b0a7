// SPDX-License-Identifier: Apache-2.0
// The words of the library: element types, modes and variants, with their spelling in the command
// line and in JSON.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace tandem {

enum class ElementFormat : std::uint8_t { e4m3, e5m2 };      // one byte an element, OCP OFP8
enum class OutputType : std::uint8_t { bf16, fp16, fp32 };   // of C, of staging
enum class ScaleMode : std::uint8_t { floor, rceil, even };  // choice of the shared E8M0 scale
enum class Saturation : std::uint8_t { none, saturate };     // finite overflow when encoding
enum class SumOrder : std::uint8_t { panel, lane };          // docs/numerics.md, section 5
enum class OperatorKind : std::uint8_t {
  all_to_all_matmul,
  all_gather_matmul,
  matmul_all_gather,
  matmul_reduce_scatter,
};
enum class TailStrategy : std::uint8_t { divide, single, pad };     // of an accelerator's rounds
enum class CoreMapping : std::uint8_t { separate, shared };         // vector cores' roles
enum class FlagNumbering : std::uint8_t { counting, round };        // one id, or ids by round
enum class ReductionForm : std::uint8_t { batched, rows };          // rows per vector operation
enum class ProductForm : std::uint8_t { fragments, subcalls };      // one call, or one per rank
enum class UbManagement : std::uint8_t { fixed, pipe };             // static offsets, or queues
enum class StridedCopy : std::uint8_t { rows32, single };           // N beyond one UB segment
enum class BarrierLayout : std::uint8_t { per_peer, single_slot };  // of the arrival words
enum class FenceJobs : std::uint8_t { all, first };                 // who fences in reduce-scatter
enum class Transfer : std::uint8_t { copy, direct };                // put, or read in place
enum class SameHost : std::uint8_t { shared, linked };              // see WorldOptions

template <typename E>
using EnumName = std::pair<E, std::string_view>;

// Specialised below for each enumeration: its enumerators and their spelling, in order.
template <typename E>
inline constexpr auto kEnumNames = nullptr;

template <>
inline constexpr std::array<EnumName<ElementFormat>, 2> kEnumNames<ElementFormat>{
    {{ElementFormat::e4m3, "e4m3"}, {ElementFormat::e5m2, "e5m2"}}};
template <>
inline constexpr std::array<EnumName<OutputType>, 3> kEnumNames<OutputType>{
    {{OutputType::bf16, "bf16"}, {OutputType::fp16, "fp16"}, {OutputType::fp32, "fp32"}}};
template <>
inline constexpr std::array<EnumName<ScaleMode>, 3> kEnumNames<ScaleMode>{
    {{ScaleMode::floor, "floor"}, {ScaleMode::rceil, "rceil"}, {ScaleMode::even, "even"}}};
template <>
inline constexpr std::array<EnumName<SumOrder>, 2> kEnumNames<SumOrder>{
    {{SumOrder::panel, "panel"}, {SumOrder::lane, "lane"}}};
template <>
inline constexpr std::array<EnumName<OperatorKind>, 4> kEnumNames<OperatorKind>{
    {{OperatorKind::all_to_all_matmul, "all-to-all-matmul"},
     {OperatorKind::all_gather_matmul, "all-gather-matmul"},
     {OperatorKind::matmul_all_gather, "matmul-all-gather"},
     {OperatorKind::matmul_reduce_scatter, "matmul-reduce-scatter"}}};
template <>
inline constexpr std::array<EnumName<TailStrategy>, 3> kEnumNames<TailStrategy>{
    {{TailStrategy::divide, "divide"},
     {TailStrategy::single, "single"},
     {TailStrategy::pad, "pad"}}};
template <>
inline constexpr std::array<EnumName<CoreMapping>, 2> kEnumNames<CoreMapping>{
    {{CoreMapping::separate, "separate"}, {CoreMapping::shared, "shared"}}};
template <>
inline constexpr std::array<EnumName<FlagNumbering>, 2> kEnumNames<FlagNumbering>{
    {{FlagNumbering::counting, "counting"}, {FlagNumbering::round, "round"}}};
template <>
inline constexpr std::array<EnumName<ReductionForm>, 2> kEnumNames<ReductionForm>{
    {{ReductionForm::batched, "batched"}, {ReductionForm::rows, "rows"}}};
template <>
inline constexpr std::array<EnumName<ProductForm>, 2> kEnumNames<ProductForm>{
    {{ProductForm::fragments, "fragments"}, {ProductForm::subcalls, "subcalls"}}};
template <>
inline constexpr std::array<EnumName<UbManagement>, 2> kEnumNames<UbManagement>{
    {{UbManagement::fixed, "static"}, {UbManagement::pipe, "pipe"}}};
template <>
inline constexpr std::array<EnumName<StridedCopy>, 2> kEnumNames<StridedCopy>{
    {{StridedCopy::rows32, "rows32"}, {StridedCopy::single, "single"}}};
template <>
inline constexpr std::array<EnumName<BarrierLayout>, 2> kEnumNames<BarrierLayout>{
    {{BarrierLayout::per_peer, "per-peer"}, {BarrierLayout::single_slot, "single-slot"}}};
template <>
inline constexpr std::array<EnumName<FenceJobs>, 2> kEnumNames<FenceJobs>{
    {{FenceJobs::all, "all"}, {FenceJobs::first, "first"}}};
template <>
inline constexpr std::array<EnumName<Transfer>, 2> kEnumNames<Transfer>{
    {{Transfer::copy, "copy"}, {Transfer::direct, "direct"}}};
template <>
inline constexpr std::array<EnumName<SameHost>, 2> kEnumNames<SameHost>{
    {{SameHost::shared, "shared"}, {SameHost::linked, "linked"}}};

// The spelling of an enumerator.
template <typename E>
constexpr std::string_view to_string(E value) {
  for (const auto& [enumerator, name] : kEnumNames<E>) {
    if (enumerator == value) return name;
  }
  return "?";
}

// The enumerator with this spelling, if there is one.
template <typename E>
constexpr std::optional<E> try_parse(std::string_view word) {
  for (const auto& [enumerator, name] : kEnumNames<E>) {
    if (name == word) return enumerator;
  }
  return std::nullopt;
}

// Bytes of one element of C or staging.
constexpr std::int64_t element_bytes(OutputType type) { return type == OutputType::fp32 ? 4 : 2; }

}  // namespace tandem
