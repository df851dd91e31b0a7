// SPDX-License-Identifier: Apache-2.0
// Device models as JSON: one key per field of Device, all required, and a "sources" object that
// says for each number where it comes from, or "guess".
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/device.h"
#include "tandem/types.h"

namespace tandem {

template <>
inline constexpr std::array<EnumName<RoundsRule>, 2> kEnumNames<RoundsRule>{
    {{RoundsRule::balanced, "balanced"}, {RoundsRule::heads_tail, "heads_tail"}}};

struct DeviceFile {
  Device device;
  std::map<std::string, std::string> sources;  // "rules.ranks_max" → where the number comes from
};

// Throw Error{refused} with every problem of the text; `name_for_errors` begins each line.
DeviceFile parse_device_file(std::string_view json_text, std::string_view name_for_errors);
Device parse_device(std::string_view json_text, std::string_view name_for_errors);

// JSON that parse_device_file reads back to the same values.
std::string print_device_file(const DeviceFile& file);

// Names of the built-in devices, sorted.
std::vector<std::string> device_names();

// The text of a built-in device; throws Error{refused} for another name.
std::string_view device_text(std::string_view name);

// A built-in device by name, or the device in a JSON file by path.
Device load_device(std::string_view name_or_path);

}  // namespace tandem
