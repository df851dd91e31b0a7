// SPDX-License-Identifier: Apache-2.0
#include "check/mutants/mutation.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "check/mutants/playback.h"

namespace tandem::check {
namespace {

bool chosen(const Where& where, const VerbRecord& call, const std::vector<int>& sites) {
  if (call.verb != where.verb || !std::string_view(call.site.file).ends_with(where.file_end)) {
    return false;
  }
  if (where.site_number > 0) {
    const auto index = static_cast<std::size_t>(where.site_number - 1);
    if (index >= sites.size() || sites[index] != call.site.line) return false;
  }
  return !where.also || where.also(call);
}

void move_call(VerbList& calls, std::size_t from, std::size_t to) {
  const auto at = [&](std::size_t index) {
    return calls.begin() + static_cast<std::ptrdiff_t>(index);
  };
  if (from < to) {
    std::rotate(at(from), at(from + 1), at(to + 1));
  } else {
    std::rotate(at(to), at(from), at(from + 1));
  }
}

}  // namespace

Where Where::in(std::string_view file, int number) const {
  Where copy = *this;
  copy.file_end = file;
  copy.site_number = number;
  return copy;
}

Where Where::nth(int number) const {
  Where copy = *this;
  copy.occurrence = number;
  return copy;
}

Where Where::from(int number) const {
  Where copy = *this;
  copy.first_occurrence = number;
  return copy;
}

Where Where::rank(int number) const {
  Where copy = *this;
  copy.on_rank = number;
  return copy;
}

Where Where::block(int number) const {
  Where copy = *this;
  copy.on_block = number;
  return copy;
}

Where Where::launch(int number) const {
  Where copy = *this;
  copy.in_launch = number;
  return copy;
}

Where Where::when(std::function<bool(const VerbRecord&)> condition) const {
  Where copy = *this;
  if (!also) {
    copy.also = std::move(condition);
  } else {
    copy.also = [first = also, second = std::move(condition)](const VerbRecord& call) {
      return first(call) && second(call);
    };
  }
  return copy;
}

Where Where::id(int flag_or_event) const {
  return when([flag_or_event](const VerbRecord& call) { return call.id == flag_or_event; });
}

Where Where::event(EventKind event_kind) const {
  return when([event_kind](const VerbRecord& call) { return call.event == event_kind; });
}

Where Where::peer(int rank) const {
  return when([rank](const VerbRecord& call) { return call.peer == rank; });
}

Where Where::on(Buffer buffer) const {
  return when([buffer](const VerbRecord& call) {
    return !call.views.empty() && call.views.front().buffer == buffer;
  });
}

Where cube(Verb verb) { return {.kind = CoreKind::cube, .verb = verb}; }
Where vector(Verb verb) { return {.kind = CoreKind::vector, .verb = verb}; }

Edit drop() {
  return {[](VerbList& calls, std::size_t at, const EditContext&) {
    calls.erase(calls.begin() + static_cast<std::ptrdiff_t>(at));
  }};
}

Edit duplicate() {
  return add([](VerbRecord&) {});
}

Edit change(std::function<void(VerbRecord&)> how) {
  return {[how = std::move(how)](VerbList& calls, std::size_t at, const EditContext&) {
    how(calls[at]);
  }};
}

Edit change_with(std::function<void(VerbRecord&, const EditContext&)> how) {
  return {[how = std::move(how)](VerbList& calls, std::size_t at, const EditContext& context) {
    how(calls[at], context);
  }};
}

Edit add(std::function<void(VerbRecord&)> how) {
  return add_with([how = std::move(how)](VerbRecord& call, const EditContext&) { how(call); });
}

Edit add_with(std::function<void(VerbRecord&, const EditContext&)> how) {
  return {[how = std::move(how)](VerbList& calls, std::size_t at, const EditContext& context) {
    VerbRecord more = calls[at];
    how(more, context);
    calls.insert(calls.begin() + static_cast<std::ptrdiff_t>(at) + 1, std::move(more));
  }};
}

Edit later(int distance) {
  return {[distance](VerbList& calls, std::size_t at, const EditContext&) {
    move_call(calls, at, std::min(calls.size() - 1, at + static_cast<std::size_t>(distance)));
  }};
}

Edit earlier(int distance) {
  return {[distance](VerbList& calls, std::size_t at, const EditContext&) {
            const auto wanted = static_cast<std::size_t>(distance);
            move_call(calls, at, at > wanted ? at - wanted : 0);
          },
          Edit::Order::first_first};
}

Edit behind_next(Verb verb) {
  return {[verb](VerbList& calls, std::size_t at, const EditContext&) {
    for (std::size_t to = at + 1; to < calls.size(); ++to) {
      if (calls[to].verb != verb) continue;
      move_call(calls, at, to);
      return;
    }
  }};
}

Edit before_previous(Verb verb) {
  return {[verb](VerbList& calls, std::size_t at, const EditContext&) {
            for (std::size_t to = at; to-- > 0;) {
              if (calls[to].verb != verb) continue;
              move_call(calls, at, to);
              return;
            }
          },
          Edit::Order::first_first};
}

Edit swap_with_next() {
  return {[](VerbList& calls, std::size_t at, const EditContext&) {
    for (std::size_t other = at + 1; other < calls.size(); ++other) {
      if (calls[other].verb != calls[at].verb) continue;
      std::swap(calls[at], calls[other]);
      return;
    }
  }};
}

Edit hold_only(Pipe pipe) {
  return change([pipe](VerbRecord& call) {
    call.verb = Verb::gate;
    call.pipe = pipe;
  });
}

Edit hold_all() {
  return change([](VerbRecord& call) { call.verb = Verb::wait_flag; });
}

Edit pipe(Pipe pipe) {
  return change([pipe](VerbRecord& call) { call.pipe = pipe; });
}

Edit id(int flag_or_event) {
  return change([flag_or_event](VerbRecord& call) { call.id = flag_or_event; });
}

Edit add_to_id(int difference) {
  return change([difference](VerbRecord& call) { call.id += difference; });
}

Edit add_rows(std::int64_t rows) {
  return change([rows](VerbRecord& call) {
    for (View& view : call.views) view.rows += rows;
    for (UbTensor& tensor : call.tensors) tensor.rows += rows;
  });
}

Edit add_to_offset_rows(std::int64_t rows) {
  return change([rows](VerbRecord& call) {
    for (View& view : call.views) view.offset += rows * view.pitch;
  });
}

std::vector<std::size_t> choose(const Where& where, const CoreRecording& core, int launch,
                                const std::vector<int>& sites) {
  std::vector<std::size_t> places;
  if (core.kind != where.kind || where.on_rank.value_or(core.rank) != core.rank ||
      where.on_block.value_or(core.block) != core.block ||
      where.in_launch.value_or(launch) != launch) {
    return places;
  }
  for (std::size_t at = 0; at < core.verbs.size(); ++at) {
    if (chosen(where, core.verbs[at], sites)) places.push_back(at);
  }
  if (where.occurrence == 0) {
    const auto skipped = static_cast<std::size_t>(where.first_occurrence - 1);
    const std::size_t before = std::min(places.size(), skipped);
    places.erase(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(before));
    return places;
  }
  const auto count = static_cast<int>(places.size());
  const int index = where.occurrence > 0 ? where.occurrence - 1 : count + where.occurrence;
  if (index < 0 || index >= count) return {};
  return {places[static_cast<std::size_t>(index)]};
}

void edit(WorldRecording& world, const StreamEdit& what, const Plan& plan, int launch) {
  std::set<int> lines;
  for (const RankRecording& rank : world) {
    for (const CoreRecording& core : rank) {
      if (core.kind != what.where.kind) continue;
      for (const VerbRecord& call : core.verbs) {
        const bool here = std::string_view(call.site.file).ends_with(what.where.file_end);
        if (call.verb == what.where.verb && here) lines.insert(call.site.line);
      }
    }
  }
  const std::vector<int> sites(lines.begin(), lines.end());
  for (RankRecording& rank : world) {
    for (CoreRecording& core : rank) {
      std::vector<std::size_t> places = choose(what.where, core, launch, sites);
      if (what.edit.order == Edit::Order::last_first) std::ranges::reverse(places);
      const EditContext context{plan, core.rank, core.block};
      for (std::size_t at : places) what.edit.apply(core.verbs, at, context);
    }
  }
}

void mutate_program(const Mutation& mutation, const Plan& plan, sim::Program& program) {
  if (mutation.profile) mutation.profile(program.profile);
  for (int rank = 0; rank < static_cast<int>(program.ranks.size()); ++rank) {
    if (mutation.launch) mutation.launch(program.ranks[rank].launch, rank);
  }
  if (!mutation.edits_calls()) return;
  std::vector<WorldRecording> launches(program.launches);
  for (int launch = 0; launch < program.launches; ++launch) {
    WorldRecording& world = launches[launch];
    for (int rank = 0; rank < static_cast<int>(program.ranks.size()); ++rank) {
      world.push_back(record_launch(program.ranks[rank].launch, rank));
    }
    for (const StreamEdit& what : mutation.edits) edit(world, what, plan, launch);
    if (mutation.world) mutation.world(world, plan, launch);
  }
  play_back(std::make_shared<const std::vector<WorldRecording>>(std::move(launches)), program);
}

}  // namespace tandem::check
