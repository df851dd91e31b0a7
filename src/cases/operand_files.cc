// SPDX-License-Identifier: Apache-2.0
#include "cases/operand_files.h"

#include <array>
#include <cstring>
#include <utility>

#include "base/strings.h"
#include "cases/transposed.h"
#include "mx/output.h"
#include "mx/quantise.h"
#include "plan/plan.h"
#include "report/npy.h"
#include "tandem/error.h"

namespace tandem {
namespace {

// The parts of an operand that one file holds. Rows are rows of A or columns of B.
struct FileLayout {
  int parts = 1;            // stacked along the first axis
  bool transposed = false;  // a part is [k, rows]
};

bool differs_by_rank(OperatorKind op) {
  return op == OperatorKind::all_gather_matmul || op == OperatorKind::matmul_reduce_scatter;
}

FileLayout layout_of_a(const Problem& problem) {
  return {differs_by_rank(problem.op) ? problem.ranks : 1, problem.trans_a};
}

FileLayout layout_of_b(const Problem& problem) {
  return {differs_by_rank(problem.op) ? problem.ranks : 1, !problem.trans_b};
}

int bias_parts(const Problem& problem) {
  return problem.op == OperatorKind::all_gather_matmul ? problem.ranks : 1;
}

// "all-gather-matmul reads a [R·m, k], b [R·k, n], bias [R·n]": how the parts are stacked.
std::string layout_text(const Problem& problem) {
  const FileLayout a = layout_of_a(problem);
  const FileLayout b = layout_of_b(problem);
  const bool blocks = problem.op == OperatorKind::all_to_all_matmul;
  const char* stacked = problem.ranks > 1 ? "R·" : "";
  const auto shape = [&](const FileLayout& layout, const char* rows, const char* columns) {
    return cat("[", layout.parts > 1 ? stacked : "", layout.transposed ? columns : rows, ", ",
               layout.transposed ? rows : columns, "]");
  };
  return cat(to_string(problem.op), ": with R ", problem.ranks, ", --a holds ",
             shape(a, blocks ? "R·m" : "m", "k"), ", --b ", shape(b, "n", "k"), ", --bias [",
             bias_parts(problem) > 1 ? stacked : "", "n]; stack the parts of the ranks so");
}

struct ReadFiles {
  std::optional<NpyArray> a;
  std::optional<NpyArray> b;
  std::optional<NpyArray> bias;
};

// Throws Error{refused} with what is wrong with any of the files.
ReadFiles read_files(const OperandFiles& files) {
  ReadFiles read;
  std::string reasons;
  for (auto [path, target] :
       {std::pair{&files.a, &read.a}, {&files.b, &read.b}, {&files.bias, &read.bias}}) {
    if (path->empty()) continue;
    try {
      *target = read_npy(*path);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::refused) throw;
      reasons += cat(reasons.empty() ? "" : "\n", error.what());
    }
  }
  if (!reasons.empty()) throw Error(ErrorKind::refused, reasons);
  return read;
}

// What the files say about m, n and k, and whatever they contradict.
class ShapeFit {
 public:
  ShapeFit(const Problem& problem, const Extents& given) : problem_(problem) {
    if (given.m) learn(m_, *given.m, "the request");
    if (given.n) learn(n_, *given.n, "the request");
    if (given.k) learn(k_, *given.k, "the request");
  }

  void add_a(const NpyArray& array, const std::string& path) {
    // All-to-all gives each rank a block of the rows.
    const int blocks = problem_.op == OperatorKind::all_to_all_matmul ? problem_.ranks : 1;
    add_operand(array, path, layout_of_a(problem_), m_, blocks);
  }

  void add_b(const NpyArray& array, const std::string& path) {
    add_operand(array, path, layout_of_b(problem_), n_, 1);
  }

  void add_bias(const NpyArray& array, const std::string& path) {
    problem_.bias = true;
    if (const auto n = share(path, array.elements(), bias_parts(problem_))) learn(n_, *n, path);
  }

  Problem finish() {
    if (!reasons_.empty()) {
      throw Error(ErrorKind::refused, cat(reasons_, "\n", layout_text(problem_)));
    }
    problem_.m = m_.value.value_or(problem_.m);
    problem_.n = n_.value.value_or(problem_.n);
    problem_.k = k_.value.value_or(problem_.k);
    return problem_;
  }

 private:
  struct Axis {
    char name;
    std::optional<std::int64_t> value;
    std::string from;
  };

  void refuse(const std::string& path, const std::string& text) {
    reasons_ += cat(reasons_.empty() ? "" : "\n", path, ": ", text);
  }

  void add_operand(const NpyArray& array, const std::string& path, FileLayout layout, Axis& rows,
                   int blocks) {
    if (array.shape.size() != 2) {
      refuse(path, cat("it has ", array.shape.size(), " extent; an operand has two"));
      return;
    }
    const auto first = share(path, array.shape[0], layout.parts);
    const std::int64_t second = array.shape[1];
    if (!first) return;
    learn(k_, layout.transposed ? *first : second, path);
    const auto count = share(path, layout.transposed ? second : *first, blocks);
    if (count) learn(rows, *count, path);
  }

  std::optional<std::int64_t> share(const std::string& path, std::int64_t total, int count) {
    if (total % count == 0) return total / count;
    refuse(path, cat(total, " does not divide over ", count, " ranks; stack one part per rank"));
    return std::nullopt;
  }

  void learn(Axis& axis, std::int64_t value, const std::string& from) {
    if (!axis.value) {
      axis.value = value;
      axis.from = from;
    } else if (*axis.value != value) {
      refuse(from, cat(axis.name, " is ", value, ", and ", *axis.value, " in ", axis.from,
                       "; make them equal, or leave -", axis.name, " out"));
    }
  }

  Problem problem_;
  Axis m_{'m', {}, {}};
  Axis n_{'n', {}, {}};
  Axis k_{'k', {}, {}};
  std::string reasons_;
};

Problem fit(const Problem& problem, const OperandFiles& files, const ReadFiles& read,
            const Extents& given) {
  if (problem.ranks < 1) return problem;  // the planner says so
  ShapeFit shapes(problem, given);
  if (read.a) shapes.add_a(*read.a, files.a);
  if (read.b) shapes.add_b(*read.b, files.b);
  if (read.bias) shapes.add_bias(*read.bias, files.bias);
  return shapes.finish();
}

struct QuantiseRequest {
  FileLayout layout;
  std::int64_t rows;  // of a part
  std::int64_t k;
  ElementFormat format;
  ScaleMode mode;
};

std::vector<MxRows> quantise_parts(const NpyArray& array, const std::string& path,
                                   const QuantiseRequest& request) {
  const std::vector<float> values = widen_to_float(array, path);
  const std::int64_t rows = request.rows;
  const std::int64_t k = request.k;
  std::vector<MxRows> parts;
  for (int index = 0; index < request.layout.parts; ++index) {
    const float* part = values.data() + index * rows * k;
    std::vector<float> turned;
    if (request.layout.transposed) {
      turned = transposed(part, k, rows);
      part = turned.data();
    }
    MxRows& out = parts.emplace_back(request.format, rows, k);
    quantise_rows(part, rows, k, k, request.format, request.mode, out.codes(0), k, out.scales(0),
                  scale_row_bytes(k));
  }
  return parts;
}

// Copies rows of one part, and of these the columns `k`, which start at a pair of groups.
void copy_rows(const MxMatrix& part, Slice rows, Slice k, MxRows& out, std::int64_t at) {
  for (std::int64_t i = 0; i < rows.count; ++i) {
    const std::uint8_t* codes = part.row(rows.first + i) + k.first;
    const std::uint8_t* scales = part.scale_row(rows.first + i) + k.first / kGroup;
    std::copy_n(codes, k.count, out.codes(at + i));
    std::copy_n(scales, scale_row_bytes(k.count), out.scales(at + i));
  }
}

class FileSource : public OperandSource {
 public:
  FileSource(const Problem& problem, const InputOptions& options, const OperandFiles& files,
             const ReadFiles& read)
      : drawn_(make_generator(problem, options)) {
    shapes_.problem = problem;
    shapes_.ranks = problem.ranks;
    if (read.a) {
      const bool blocks = problem.op == OperatorKind::all_to_all_matmul;
      a_ = quantise_parts(*read.a, files.a,
                          {layout_of_a(problem), problem.m * (blocks ? problem.ranks : 1),
                           problem.k, problem.dtype_a, options.scale_mode});
    }
    if (read.b) {
      b_ = quantise_parts(
          *read.b, files.b,
          {layout_of_b(problem), problem.n, problem.k, problem.dtype_b, options.scale_mode});
    }
    if (read.bias) bias_ = widen_to_float(*read.bias, files.bias);
  }

  void fill_a(int rank, Slice rows, MxRows& out, std::int64_t at) const override {
    if (a_.empty()) return drawn_->fill_a(rank, rows, out, at);
    copy_rows(a_[a_.size() > 1 ? rank : 0].view(), rows, shapes_.k_of(rank), out, at);
  }

  void fill_b(int rank, Slice columns, MxRows& out, std::int64_t at) const override {
    if (b_.empty()) return drawn_->fill_b(rank, columns, out, at);
    columns.first += shapes_.columns_of(rank).first;
    copy_rows(b_[b_.size() > 1 ? rank : 0].view(), columns, {0, shapes_.problem.k}, out, at);
  }

  std::vector<float> bias(int rank) const override {
    const Problem& problem = shapes_.problem;
    if (!problem.bias || bias_.empty()) return drawn_->bias(rank);
    const std::int64_t first = bias_parts(problem) > 1 ? rank * problem.n : 0;
    return {bias_.begin() + first, bias_.begin() + first + problem.n};
  }

 private:
  Plan shapes_;  // its shape functions need the problem alone
  std::unique_ptr<OperandSource> drawn_;
  std::vector<MxRows> a_;
  std::vector<MxRows> b_;
  std::vector<float> bias_;
};

Plan shapes_only(const Problem& problem) {
  Plan plan;
  plan.problem = problem;
  plan.ranks = problem.ranks;
  return plan;
}

}  // namespace

Problem fit_to_files(const Problem& problem, const OperandFiles& files, const Extents& given) {
  return fit(problem, files, read_files(files), given);
}

std::unique_ptr<OperandSource> make_operand_source(const Problem& problem,
                                                   const InputOptions& options,
                                                   const OperandFiles& files) {
  const ReadFiles read = read_files(files);
  fit(problem, files, read, {problem.m, problem.n, problem.k});
  return std::make_unique<FileSource>(problem, options, files, read);
}

std::int64_t result_first_row(const Problem& problem, int rank) {
  switch (problem.op) {
    case OperatorKind::all_to_all_matmul:
    case OperatorKind::matmul_reduce_scatter:
      return shapes_only(problem).rows_of(rank).first;
    case OperatorKind::all_gather_matmul:
      return rank * problem.ranks * problem.m;
    case OperatorKind::matmul_all_gather:
      return 0;
  }
  return 0;
}

std::int64_t result_rows(const Problem& problem) {
  const int last = problem.ranks - 1;
  return result_first_row(problem, last) + shapes_of(problem, last).c_rows;
}

void write_result(const std::string& path, const Problem& problem,
                  std::span<const std::uint8_t> c) {
  NpyArray array;
  array.shape = {result_rows(problem), problem.n};
  array.dtype = problem.dtype_c == OutputType::fp16 ? NpyType::fp16 : NpyType::fp32;
  if (problem.dtype_c != OutputType::bf16) {
    array.bytes.assign(c.begin(), c.end());
  } else {
    array.bytes.resize(c.size() * 2);
    for (std::size_t i = 0; i < c.size() / 2; ++i) {
      const float value = widen(OutputType::bf16, c.data() + 2 * i);
      std::memcpy(array.bytes.data() + 4 * i, &value, sizeof value);
    }
  }
  write_npy(path, array);
}

}  // namespace tandem
