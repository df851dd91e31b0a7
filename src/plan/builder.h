// SPDX-License-Identifier: Apache-2.0
// The steps that operators share when they fill a plan. Every step reports violated rules into
// `reasons` and goes on, so that a refusal names all of them at once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace tandem {

struct PlanBuilder {
  Plan plan;  // problem, device and ranks are set; the steps fill the rest
  std::vector<std::string> reasons;

  const Problem& problem() const { return plan.problem; }
  const Device& device() const { return plan.device; }
  // Adds "<operator> on <device>: <observation>; <remedy>".
  void refuse(const std::string& observation, const std::string& remedy);
  void note(const std::string& text) { plan.notes.push_back(text); }
};

// Ranges and options that make sense for no device and no shape. False: don't plan any further.
bool check_ranges(PlanBuilder& builder);

// The rules of the device that concern every operator: extents, K of one product, stored rows.
void check_device(PlanBuilder& builder);

// `name` = `extent` is shared out over the ranks; some devices want equal parts.
void check_equal_parts(PlanBuilder& builder, std::string_view name, std::int64_t extent);

// What becomes of the rows of a tail: nothing that limits their count; they are stored as they are,
// or padded to whole blocks where --tail pad asks for it.
enum class TailUse : std::uint8_t { any_rows, stored_rows, padded_rows };

// Cuts `rows` of a chunk into rounds: plan.slices. `head_rows` is the slice an accelerator would
// choose itself.
void make_rounds(PlanBuilder& builder, std::int64_t rows, std::int64_t head_rows, TailUse use);

// plan.blocks and plan.jobs, from the workers or cores and the organisation.
void make_blocks(PlanBuilder& builder, CommBlocks comm_blocks);

// plan.slots from problem.slots for operators with a ring: as many as rounds where it does not
// turn.
void make_slots(PlanBuilder& builder);

// plan.flags: the operator's counting ids, or its ids by round. 0 … 10 are free beside sync_all's
// 11 … 14.
void make_flags(PlanBuilder& builder, const FlagPlan& counting, const FlagPlan& by_round);

// plan.window_bytes from plan.comm; the scales lie behind the data.
void make_window(PlanBuilder& builder);

// plan.grids for plan.regions. `window` is the scheduling window in block rows.
void make_grids(PlanBuilder& builder, int window);

// plan.reduction for rows of plan.problem.n columns.
void make_reduction(PlanBuilder& builder);

// Sum order by the rows that a rank multiplies, and the warnings that every plan may carry.
void finish_plan(PlanBuilder& builder, std::int64_t product_rows);

}  // namespace tandem
