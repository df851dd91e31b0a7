// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace tandem {

// Ranks of different versions refuse each other.
inline constexpr std::string_view kVersion = "0.1.0";

}  // namespace tandem
