// SPDX-License-Identifier: Apache-2.0
// What the order of a plan's rounds allows, if nothing but data held anybody back.
#pragma once

#include <string>

#include "base/timeline.h"
#include "plan/plan.h"

namespace tandem {

struct Ideal {
  Picoseconds time = 0;     // of products that take `products` and transfers that take `transfers`
  std::string exposed;      // what this order cannot hide
};

Ideal ideal_of(const Plan& plan, Picoseconds products, Picoseconds transfers);

// (products + transfers − fused) / min(products, transfers): 1 hides the shorter one, 0 hides
// nothing. 0 where one of them takes no time.
double masking_degree(Picoseconds products, Picoseconds transfers, Picoseconds fused);

}  // namespace tandem
