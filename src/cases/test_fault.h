// SPDX-License-Identifier: Apache-2.0
// Faults that tests plant from outside, by the environment variable TANDEM_TEST_FAULT:
//   absent:rank=1               never joins the world
//   late:rank=1,ms=500          joins late
//   field:rank=2,name=n,value=70  tells the others another value at the creation of an operator
//   memory:rank=1,mib=4         may have so much more memory when its windows are allocated
//   stop:rank=1,launch=0        stops (SIGSTOP) before a launch
//   kill:rank=1,launch=0        dies (SIGKILL) before a launch
//   corrupt:rank=1,index=37     flips the lowest bit of an element of C before it is verified
// Without the variable nothing here does anything.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tandem/types.h"

namespace tandem {

using Fields = std::vector<std::pair<std::string, std::string>>;

// Throws Error{refused} if the variable holds something else, a fault that would end more than its
// rank on this transport, or one that would plant nothing: on a rank that there is not, or in a
// field that is none of `fields` (where these are given).
void check_test_fault(std::string_view transport, int ranks, const Fields& fields = {});

void fault_before_join(int rank);
void fault_in_fields(int rank, Fields& fields);
void fault_before_windows(int rank);
void fault_before_launch(int rank, int launch);
void fault_in_result(int rank, OutputType type, std::span<std::uint8_t> c);

}  // namespace tandem
