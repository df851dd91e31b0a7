// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "tandem/types.h"

namespace tandem {

// One row of the table: an operator in one form on one device, over ranks and rounds.
std::string check_table_row(OperatorKind op, std::string_view variant, const std::string& device);

}  // namespace tandem
