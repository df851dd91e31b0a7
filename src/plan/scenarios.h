// SPDX-License-Identifier: Apache-2.0
// Which scenario serves a requirement: exactly one, an official kernel, or none. Criteria speak
// only of what is required (mathematics, distribution, direction), never of how it is done.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/types.h"

namespace tandem {

enum class Collective : std::uint8_t { all_to_all, all_gather, reduce_scatter, all_reduce, none };
enum class Product : std::uint8_t { quant_matmul, matmul, grouped_matmul, none };
enum class Direction : std::uint8_t { put, get, compute_first };
enum class SplitAxis : std::uint8_t { m, n, k, none };
enum class Reduction : std::uint8_t { cross_rank_sum, in_axis, none };
enum class Link : std::uint8_t { udma, ubmem, hccl, ccu };
enum class ScenarioStatus : std::uint8_t { implemented, planned, not_found };
enum class Route : std::uint8_t { apace_native, apace_custom, unsupported };

template <>
inline constexpr std::array<EnumName<Collective>, 5> kEnumNames<Collective>{
    {{Collective::all_to_all, "all-to-all"},
     {Collective::all_gather, "all-gather"},
     {Collective::reduce_scatter, "reduce-scatter"},
     {Collective::all_reduce, "all-reduce"},
     {Collective::none, "none"}}};
template <>
inline constexpr std::array<EnumName<Product>, 4> kEnumNames<Product>{
    {{Product::quant_matmul, "quant-matmul"},
     {Product::matmul, "matmul"},
     {Product::grouped_matmul, "grouped-matmul"},
     {Product::none, "none"}}};
template <>
inline constexpr std::array<EnumName<Direction>, 3> kEnumNames<Direction>{
    {{Direction::put, "put"},
     {Direction::get, "get"},
     {Direction::compute_first, "compute-first"}}};
template <>
inline constexpr std::array<EnumName<SplitAxis>, 4> kEnumNames<SplitAxis>{
    {{SplitAxis::m, "m"}, {SplitAxis::n, "n"}, {SplitAxis::k, "k"}, {SplitAxis::none, "none"}}};
template <>
inline constexpr std::array<EnumName<Reduction>, 3> kEnumNames<Reduction>{
    {{Reduction::cross_rank_sum, "cross-rank-sum"},
     {Reduction::in_axis, "in-axis"},
     {Reduction::none, "none"}}};
template <>
inline constexpr std::array<EnumName<Link>, 4> kEnumNames<Link>{
    {{Link::udma, "udma"}, {Link::ubmem, "ubmem"}, {Link::hccl, "hccl"}, {Link::ccu, "ccu"}}};
template <>
inline constexpr std::array<EnumName<ScenarioStatus>, 3> kEnumNames<ScenarioStatus>{
    {{ScenarioStatus::implemented, "implemented"},
     {ScenarioStatus::planned, "planned"},
     {ScenarioStatus::not_found, "not_found"}}};
template <>
inline constexpr std::array<EnumName<Route>, 3> kEnumNames<Route>{
    {{Route::apace_native, "apace_native"},
     {Route::apace_custom, "apace_custom"},
     {Route::unsupported, "unsupported"}}};

// What somebody needs. An empty field is not known yet; nothing is assumed for it.
struct Requirement {
  std::optional<Collective> collective;  // the logical one, however it is carried out
  std::optional<Product> product;
  std::optional<Direction> direction;
  std::optional<SplitAxis> input_split;   // axis of the product along which ranks hold parts
  std::optional<SplitAxis> output_split;  // none: each rank holds all of C
  std::optional<Reduction> reduction;     // what happens to the ranks' parts of a sum
  std::optional<Link> link;
  std::optional<bool> native_gap;                 // no official kernel can be used, with evidence
  std::optional<bool> production_implementation;  // somebody runs one already

  friend bool operator==(const Requirement&, const Requirement&) = default;
};

// Calls visit(name, field) for each field, in order. R is Requirement or const Requirement.
template <typename R, typename Visitor>
void visit_fields(R& requirement, Visitor&& visit) {
  visit("collective", requirement.collective);
  visit("product", requirement.product);
  visit("direction", requirement.direction);
  visit("input_split", requirement.input_split);
  visit("output_split", requirement.output_split);
  visit("reduction", requirement.reduction);
  visit("link", requirement.link);
  visit("native_gap", requirement.native_gap);
  visit("production_implementation", requirement.production_implementation);
}

enum class Need : std::uint8_t {
  decisive,    // must be given and be one of the words
  consistent,  // may be open, but must not contradict
};

struct Criterion {
  std::string_view field;               // a name of visit_fields
  std::vector<std::string_view> words;  // allowed spellings
  Need need = Need::decisive;
};

// A row of the registry, or an official kernel.
struct Scenario {
  std::string_view id;
  std::string_view support = {};                        // the range it covers, for people
  std::optional<OperatorKind> op = {};                  // the operator here that implements it
  ScenarioStatus status = ScenarioStatus::implemented;  // here
  ScenarioStatus upstream_status = ScenarioStatus::implemented;  // in the original design
  // An existing production implementation never blocks the route; its guide then also serves as
  // the handbook for changing that implementation.
  bool production_exempt = true;
  std::vector<Criterion> criteria = {};
};

// The registered scenarios. Pairwise exclusive.
std::span<const Scenario> scenarios();
// Official kernels that need no scenario. Exclusive to each other and to the scenarios.
std::span<const Scenario> native_kernels();

struct RouteAnswer {
  Route route = Route::unsupported;
  std::string id;                      // of the scenario or kernel; empty if unsupported
  const Scenario* scenario = nullptr;  // likewise; points into the tables routed with
  std::vector<std::string> reasons;    // why not, one sentence each
  std::vector<std::string> missing;    // fields without which no decision is possible
  std::vector<std::string> open;       // fields to settle before a design starts
  std::vector<std::string> notes;
};

// The id to record: of the scenario, "apace_native" or "unsupported".
std::string selected_scenario(const RouteAnswer& answer);

RouteAnswer route(const Requirement& requirement);
RouteAnswer route(const Requirement& requirement, std::span<const Scenario> rows,
                  std::span<const Scenario> native);

// How a row judges a requirement.
struct Judgement {
  std::vector<const Criterion*> violated;
  std::vector<const Criterion*> missing;  // decisive and not given
  std::vector<const Criterion*> open;     // consistent and not given

  bool hit() const { return violated.empty() && missing.empty(); }
};
Judgement judge(const Requirement& requirement, const Scenario& row);

}  // namespace tandem
