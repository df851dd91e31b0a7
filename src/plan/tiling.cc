// SPDX-License-Identifier: Apache-2.0
#include "plan/tiling.h"

#include <algorithm>

#include "base/check.h"
#include "plan/swat.h"

namespace tandem {
namespace {

// The tile product below the machine interface walks K itself, so one step spans all of it.
Tiling fixed_tiling(const TilingRequest& request, const Device& device) {
  Tiling tiling;
  tiling.m = request.m;
  tiling.n = request.n;
  tiling.k = request.k;
  tiling.base_m = std::min(device.base_m, request.m);
  tiling.base_n = std::min(device.base_n, request.n);
  tiling.base_k = request.k;
  tiling.scale_k_l1 = request.k;
  tiling.used_cores = request.cores;
  tiling.step_k = 1;
  tiling.buffers = 2;
  tiling.l0c_buffers = 2;
  return tiling;
}

}  // namespace

Tiling make_tiling(const TilingRequest& request, const Device& device) {
  TANDEM_CHECK(request.m >= 1 && request.n >= 1 && request.k >= 1 && request.cores >= 1,
               "a tiling needs a product and a core");
  if (device.base_m > 0) return fixed_tiling(request, device);
  return swat_tiling(request, device.memory);
}

}  // namespace tandem
