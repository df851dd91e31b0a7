// SPDX-License-Identifier: Apache-2.0
#include "benchmarking/blas.h"

#include <dlfcn.h>

#include <cstdlib>

namespace tandem {
namespace {

void call_cblas(void* function, const SgemmCall& call) {
  using Cblas =
      void (*)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
               const float* a, int lda, const float* b, int ldb, float beta, float* c, int ldc);
  constexpr int kRowMajor = 101, kNo = 111, kTransposed = 112;
  reinterpret_cast<Cblas>(function)(
      kRowMajor, kNo, call.b_is_transposed ? kTransposed : kNo, static_cast<int>(call.m),
      static_cast<int>(call.n), static_cast<int>(call.k), 1.0f, call.a,
      static_cast<int>(call.a_pitch), call.b, static_cast<int>(call.b_pitch), 0.0f, call.c,
      static_cast<int>(call.c_pitch));
}

void call_onednn(void* function, const SgemmCall& call) {
  using OneDnn = int (*)(char trans_a, char trans_b, std::int64_t m, std::int64_t n, std::int64_t k,
                         float alpha, const float* a, std::int64_t lda, const float* b,
                         std::int64_t ldb, float beta, float* c, std::int64_t ldc);
  reinterpret_cast<OneDnn>(function)('N', call.b_is_transposed ? 'T' : 'N', call.m, call.n, call.k,
                                     1.0f, call.a, call.a_pitch, call.b, call.b_pitch, 0.0f, call.c,
                                     call.c_pitch);
}

struct Candidate {
  const char* name;
  const char* file;
  const char* package;
  const char* symbol;
  void (*call)(void* function, const SgemmCall& call);
};

constexpr Candidate kCandidates[] = {
    {"OpenBLAS", "libopenblas.so.0", "libopenblas0-pthread", "cblas_sgemm", call_cblas},
    {"BLIS", "libblis.so.4", "libblis4-pthread", "cblas_sgemm", call_cblas},
    {"oneDNN", "libdnnl.so.2", "libdnnl2", "dnnl_sgemm", call_onednn},
};

std::vector<SgemmLibrary> load(int threads) {
  // The libraries read these when they are loaded. A rank is a process of its own.
  const std::string count = std::to_string(threads);
  for (const char* name : {"OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS", "OMP_NUM_THREADS"}) {
    setenv(name, count.c_str(), 1);
  }
  std::vector<SgemmLibrary> found;
  for (const Candidate& candidate : kCandidates) {
    // Local: two of them export the same name.
    void* library = dlopen(candidate.file, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) continue;
    void* function = dlsym(library, candidate.symbol);
    if (function != nullptr) found.push_back({candidate.name, candidate.call, function});
  }
  return found;
}

}  // namespace

const std::vector<SgemmLibrary>& sgemm_libraries(int threads) {
  static const std::vector<SgemmLibrary> libraries = load(threads);
  return libraries;
}

std::string sgemm_packages() {
  std::string names;
  for (const Candidate& candidate : kCandidates) {
    names += (names.empty() ? "" : ", or ") + std::string(candidate.package);
  }
  return names;
}

}  // namespace tandem
