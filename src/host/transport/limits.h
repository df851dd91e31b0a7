// SPDX-License-Identifier: Apache-2.0
// What this process may still have of memory and descriptors.
#pragma once

#include <cstdint>
#include <string>

namespace tandem::host {

// Memory that the kernel can give without swapping, the control group of a container and the limit
// of the address space allow; or a number that no window reaches.
std::int64_t available_bytes();

// Throws Error{environment} with both figures if fewer descriptors than these can still be opened.
void check_descriptors(const std::string& subject, std::int64_t needed);

}  // namespace tandem::host
