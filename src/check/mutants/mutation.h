// SPDX-License-Identifier: Apache-2.0
// An error put into a correct operator. A kernel takes no decisions, so an error is either a wrong
// plan or a wrong stream of machine calls: calls are recorded, edited and replayed.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "machine/recording.h"
#include "plan/plan.h"
#include "sim/machine.h"
#include "tandem/problem.h"

namespace tandem::check {

using WorldRecording = std::vector<RankRecording>;  // by rank

// Calls in a recording. A place is counted, not named by its line: `site` 2 is the second place of
// the file from which cores of this kind call the verb.
struct Where {
  CoreKind kind = CoreKind::vector;
  Verb verb = Verb::drain;
  std::string_view file_end;  // empty: any file
  int site_number = 0;        // 0: every place
  int occurrence = 0;         // n: the n-th call of a core, −n: the n-th from its end
  int first_occurrence = 1;   // or all from this one on
  std::optional<int> on_rank, on_block, in_launch;
  std::function<bool(const VerbRecord&)> also;

  Where in(std::string_view file, int number = 0) const;
  Where nth(int number) const;
  Where from(int number) const;
  Where rank(int number) const;
  Where block(int number) const;
  Where launch(int number) const;
  Where when(std::function<bool(const VerbRecord&)> condition) const;
  Where id(int flag_or_event) const;
  Where event(EventKind event_kind) const;
  Where peer(int rank) const;     // of a transfer or of a store into a barrier word
  Where on(Buffer buffer) const;  // the first view names this buffer
};

Where cube(Verb verb);
Where vector(Verb verb);

struct EditContext {
  const Plan& plan;
  int rank;
  int block;
};

// What happens to a chosen call. `at` is its place in the core's list.
struct Edit {
  std::function<void(VerbList& calls, std::size_t at, const EditContext& context)> apply;
  enum class Order { last_first, first_first } order = Order::last_first;
};

Edit drop();
Edit duplicate();
Edit change(std::function<void(VerbRecord&)> how);
Edit change_with(std::function<void(VerbRecord&, const EditContext&)> how);
// Adds a call that differs from the chosen one, behind it.
Edit add(std::function<void(VerbRecord&)> how);
Edit add_with(std::function<void(VerbRecord&, const EditContext&)> how);
// Behind the next `calls` calls of the core, or before the previous ones.
Edit later(int calls);
Edit earlier(int calls);
// Behind the next call of that verb, or before the previous one.
Edit behind_next(Verb verb);
Edit before_previous(Verb verb);
// Changes place with the next call of the same verb.
Edit swap_with_next();
// wait_flag becomes gate on a pipe, gate becomes wait_flag.
Edit hold_only(Pipe pipe);
Edit hold_all();
Edit pipe(Pipe pipe);
Edit id(int flag_or_event);
Edit add_to_id(int difference);
// Of all views of the call.
Edit add_rows(std::int64_t rows);
Edit add_to_offset_rows(std::int64_t rows);

struct StreamEdit {
  Where where;
  Edit edit;
};

// The places chosen in a core's list. `sites` are the lines of the verb's places, sorted.
std::vector<std::size_t> choose(const Where& where, const CoreRecording& core, int launch,
                                const std::vector<int>& sites);
// Does the edit to all cores of one launch.
void edit(WorldRecording& world, const StreamEdit& what, const Plan& plan, int launch);

struct Mutation {
  std::function<void(Problem&, int rank)> problem;
  std::function<void(Plan&, int rank)> plan;
  std::function<void(Launch&, int rank)> launch;
  std::function<void(sim::Profile&)> profile;
  std::vector<StreamEdit> edits;
  std::function<void(WorldRecording&, const Plan&, int launch)> world;

  bool edits_calls() const { return !edits.empty() || world != nullptr; }
};

// Replaces the kernels of `program` by edited recordings of them, one for each launch, and changes
// launches and profile. Problem and plan must have been changed before the program was made.
void mutate_program(const Mutation& mutation, const Plan& plan, sim::Program& program);

}  // namespace tandem::check
