// SPDX-License-Identifier: Apache-2.0
// The parsers of what users hand in: any bytes are read or refused, nothing else happens. The
// first byte chooses the parser.
#include <string_view>

#include "report/csv.h"
#include "report/device_json.h"
#include "report/npy.h"
#include "report/requirement_json.h"
#include "tandem/error.h"

namespace tandem {
namespace {

void parse(int parser, std::span<const std::uint8_t> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  try {
    switch (parser % 4) {
      case 0:
        widen_to_float(parse_npy(bytes, "fuzz.npy"), "fuzz.npy");
        break;
      case 1:
        parse_csv(text, "fuzz.csv");
        break;
      case 2:
        route_text(route(parse_requirement(text, "fuzz.json")));
        break;
      case 3:
        parse_device(text, "fuzz.json");
        break;
    }
  } catch (const Error&) {
    // refused: what a parser may do
  }
}

}  // namespace
}  // namespace tandem

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 0) tandem::parse(data[0], {data + 1, size - 1});
  return 0;
}
