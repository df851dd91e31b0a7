// SPDX-License-Identifier: Apache-2.0
#include "selection.h"

#include <functional>

#include "all_pairs.h"

namespace tandem::differential {

const std::vector<Shape> kShapes = {
    {64, 64, 64},   {37, 41, 43},  {0, 24, 40},  {1, 40, 72},   {19, 21, 0},
    {9, 33, 1},     {17, 20, 33},  {33, 18, 40}, {21, 48, 96},  {23, 1, 65},
    {3, 10304, 33}, {300, 16, 32}, {16, 0, 32},  {8, 520, 129}, {26, 35, 545},
};
const std::vector<int> kRankCounts = {1, 2, 3, 4, 5, 8};
const std::vector<int> kTileCounts = {1, 2, 3, 7, 17};

namespace {

// Sets of all pairs: with three, most combinations of three values meet too. Sanitizers look for
// other faults than wrong bits, at a tenth of the speed.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kSelections = 1;
#else
constexpr int kSelections = 3;
#endif

// A parameter: how many values it has, and what each one does to a case.
struct Parameter {
  int count;
  std::function<void(Case&, int)> set;
};

template <typename T>
Parameter of_values(std::vector<T> values, std::function<void(Case&, const T&)> set) {
  const int count = static_cast<int>(values.size());
  return {count, [values, set](Case& one, int index) { set(one, values[index]); }};
}

// All spellings of an enumeration, as values of a field of Problem.
template <typename E>
Parameter of_words(E Problem::*field) {
  return {static_cast<int>(kEnumNames<E>.size()),
          [field](Case& one, int index) { one.problem.*field = kEnumNames<E>[index].first; }};
}

Parameter of_switch(bool Problem::*field) {
  return {2, [field](Case& one, int index) { one.problem.*field = index == 1; }};
}

void set_shape(Case& one, const Shape& shape) {
  one.problem.m = shape.m;
  one.problem.n = shape.n;
  one.problem.k = shape.k;
}

void set_types(Case& one, int pair) {
  one.problem.dtype_a = pair / 2 == 0 ? ElementFormat::e4m3 : ElementFormat::e5m2;
  one.problem.dtype_b = pair % 2 == 0 ? ElementFormat::e4m3 : ElementFormat::e5m2;
}

// A count of tiles, −rows of a tile, or 0 for the default.
void set_tiles(Case& one, int tiles) {
  if (tiles > 0) one.problem.tiles = tiles;
  if (tiles < 0) one.problem.tile_rows = -tiles;
}

// Blocks and what depends on them: separate roles need two at least, and the single-slot barrier is
// sound with one communicating block only.
struct Blocks {
  int count;  // 0: chosen by the plan
  CoreMapping cores = CoreMapping::separate;
  BarrierLayout barrier = BarrierLayout::per_peer;
};

void set_blocks(Case& one, const Blocks& blocks) {
  if (blocks.count > 0) one.problem.blocks = blocks.count;
  one.problem.cores = blocks.cores;
  one.problem.barrier = blocks.barrier;
}

std::vector<Parameter> common_parameters() {
  return {
      of_values<int>(kRankCounts, [](Case& one, int ranks) { one.problem.ranks = ranks; }),
      of_values<Shape>(kShapes, set_shape),
      of_values<int>({0, 1, 2, 3, 7, 17, -5}, [](Case& one, int tiles) { set_tiles(one, tiles); }),
      of_values<int>({0, 1, 2, 3}, [](Case& one, int pair) { set_types(one, pair); }),
      of_words(&Problem::dtype_c),
      of_switch(&Problem::trans_a),
      of_switch(&Problem::trans_b),
      of_switch(&Problem::bias),
      of_words(&Problem::flags),
      of_values<std::string>({"shm", "threads"},
                             [](Case& one, const std::string& name) { one.transport = name; }),
      of_values<InputKind>({InputKind::normal, InputKind::coded, InputKind::extreme},
                           [](Case& one, InputKind kind) { one.inputs = kind; }),
      of_values<int>({1, 2}, [](Case& one, int workers) { one.workers = workers; }),
  };
}

Parameter blocks_parameter(OperatorKind op) {
  using enum CoreMapping;
  std::vector<Blocks> blocks = {{0}, {1}, {2}, {3}, {6}, {1, separate, BarrierLayout::single_slot}};
  if (op == OperatorKind::matmul_reduce_scatter) {
    blocks = {{0},         {2},
              {3},         {6},
              {0, shared}, {1, shared},
              {2, shared}, {3, shared},
              {6, shared}, {1, shared, BarrierLayout::single_slot}};
  }
  return of_values<Blocks>(blocks, set_blocks);
}

std::vector<Parameter> parameters_of(OperatorKind op) {
  std::vector<Parameter> parameters = common_parameters();
  parameters.push_back(blocks_parameter(op));
  if (op != OperatorKind::matmul_all_gather) parameters.push_back(of_words(&Problem::transfer));
  const Parameter slots =
      of_values<int>({0, 1, 2, 3}, [](Case& one, int count) { one.problem.slots = count; });
  switch (op) {
    case OperatorKind::all_to_all_matmul:
      parameters.push_back(
          of_values<int>({0, 1, 2}, [](Case& one, int mode) { one.problem.local_matmul = mode; }));
      break;
    case OperatorKind::all_gather_matmul:
      parameters.push_back(slots);
      parameters.push_back(of_words(&Problem::product));
      break;
    case OperatorKind::matmul_all_gather:
      parameters.push_back(slots);
      break;
    case OperatorKind::matmul_reduce_scatter:
      parameters.push_back(
          of_values<OutputType>({OutputType::bf16, OutputType::fp32},
                                [](Case& one, OutputType type) { one.problem.staging = type; }));
      parameters.push_back(of_words(&Problem::reduction));
      parameters.push_back(of_words(&Problem::product));
      parameters.push_back(of_words(&Problem::ub));
      parameters.push_back(of_words(&Problem::strided));
      parameters.push_back(of_words(&Problem::fence));
      break;
  }
  return parameters;
}

}  // namespace

std::vector<Case> everyday_cases(OperatorKind op) {
  const std::vector<Parameter> parameters = parameters_of(op);
  std::vector<int> counts;
  for (const Parameter& parameter : parameters) counts.push_back(parameter.count);
  std::vector<Case> cases;
  for (int selection = 1; selection <= kSelections; ++selection) {
    for (const Combination& combination : all_pairs(counts, selection)) {
      Case one;
      one.problem.op = op;
      for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i].set(one, combination[i]);
      one.seed = cases.size() + 1;
      cases.push_back(one);
    }
  }
  return cases;
}

std::vector<Case> everyday_cases_over(const std::string& transport, OperatorKind op) {
  std::vector<Case> cases = everyday_cases(op);
  const bool has_memory = transport.ends_with("_shared");
  for (Case& one : cases) {
    one.transport = transport;
    if (!has_memory) one.problem.transfer = Transfer::copy;
  }
  return cases;
}

std::vector<Case> full_cases(OperatorKind op, int local_matmul, int ranks) {
  std::vector<Case> cases;
  std::uint64_t data = 0;
  for (const std::string transport : {"shm", "threads"}) {
    for (const Shape& shape : kShapes) {
      for (int bits = 0; bits < 32; ++bits) {  // two of types, two of transposes, one of bias
        ++data;
        for (int tiles : kTileCounts) {
          Case one;
          one.problem.op = op;
          one.problem.ranks = ranks;
          one.problem.local_matmul = local_matmul;
          set_shape(one, shape);
          set_types(one, bits % 4);
          one.problem.trans_a = (bits & 4) != 0;
          one.problem.trans_b = (bits & 8) != 0;
          one.problem.bias = (bits & 16) != 0;
          one.problem.tiles = tiles;
          one.transport = transport;
          one.inputs = data % 3 == 0 ? InputKind::extreme : InputKind::normal;
          one.seed = data;
          cases.push_back(one);
          if (tiles != 3 || op == OperatorKind::matmul_all_gather) continue;
          one.problem.transfer = Transfer::direct;
          cases.push_back(one);
        }
      }
    }
  }
  return cases;
}

}  // namespace tandem::differential
