// SPDX-License-Identifier: Apache-2.0
// The files of devices/, embedded at build time.
#pragma once

#include <span>
#include <string_view>

namespace tandem {

struct EmbeddedDevice {
  std::string_view name;  // of the file, without its ending
  std::string_view text;
};

std::span<const EmbeddedDevice> embedded_devices();

}  // namespace tandem
