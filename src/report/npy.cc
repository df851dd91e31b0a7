// SPDX-License-Identifier: Apache-2.0
#include "report/npy.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "base/check.h"
#include "base/checked.h"
#include "report/npy_header.h"
#include "tandem/error.h"

namespace tandem {
namespace {

static_assert(std::endian::native == std::endian::little, "arrays are kept as they lie in a file");

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kPreambleBytes = 8;  // magic, major, minor
constexpr std::size_t kHeaderBytesMax = 1 << 16;
constexpr std::size_t kAlignment = 64;  // NumPy pads so that the data starts on such a border

struct Spelling {
  NpyType type;
  std::string_view descr;
};

// The first spelling of a type is the one that is written.
constexpr std::array<Spelling, 8> kSpellings{{{NpyType::uint8, "|u1"},
                                              {NpyType::uint8, "<u1"},
                                              {NpyType::uint8, "|V1"},
                                              {NpyType::uint8, "<V1"},
                                              {NpyType::uint16, "<u2"},
                                              {NpyType::uint16, "<V2"},
                                              {NpyType::fp16, "<f2"},
                                              {NpyType::fp32, "<f4"}}};

[[noreturn]] void refuse(const std::string& subject, const std::string& observation) {
  throw Error(ErrorKind::refused, subject + ": " + observation);
}

std::string to_string(const std::vector<std::int64_t>& shape) {
  std::string text = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + (shape.size() == 1 ? ",)" : ")");
}

NpyType find_type(const std::string& descr, const std::string& subject) {
  for (const Spelling& spelling : kSpellings) {
    if (spelling.descr == descr) return spelling.type;
  }
  refuse(subject, "dtype '" + printable(descr) +
                      "' is not supported; use x.astype('<f4') or '<f2', or uint8 codes, or "
                      "BF16 as uint16 bits");
}

// Where the data starts, and the text of the header.
std::pair<std::size_t, std::string_view> split_header(std::span<const std::uint8_t> file,
                                                      const std::string& subject) {
  std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (!text.starts_with(kMagic)) refuse(subject, "not a .npy file; save it with numpy.save");
  if (file.size() < kPreambleBytes) {
    refuse(subject, "the file ends inside its header; copy it again");
  }
  int major = file[6];
  if (major != 1 && major != 2) {
    refuse(subject, "version " + std::to_string(major) +
                        " of .npy is not supported; save a plain dtype (numpy then writes "
                        "version 1)");
  }
  std::size_t length_bytes = major == 1 ? 2 : 4;
  if (file.size() < kPreambleBytes + length_bytes) {
    refuse(subject, "the file ends inside its header; copy it again");
  }
  std::size_t length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i) {
    length |= std::size_t{file[kPreambleBytes + i]} << (8 * i);
  }
  std::size_t start = kPreambleBytes + length_bytes;
  if (length > kHeaderBytesMax) {
    refuse(subject, "a header of " + std::to_string(length) +
                        " bytes is no plain array's; save the array again with numpy.save");
  }
  if (length > file.size() - start) {
    refuse(subject, "the file ends inside its header; copy it again");
  }
  return {start + length, text.substr(start, length)};
}

// The array without its bytes, and where these start.
std::pair<NpyArray, std::size_t> parse_front(std::span<const std::uint8_t> front,
                                             std::uint64_t file_bytes, const std::string& subject) {
  auto [start, text] = split_header(front, subject);
  NpyHeader header = parse_npy_header(text, subject);
  NpyArray array;
  array.dtype = find_type(header.descr, subject);
  array.shape = std::move(header.shape);
  if (header.fortran_order) {
    refuse(subject, "fortran_order is True (column after column); save numpy.ascontiguousarray(x)");
  }
  if (array.shape.empty() || array.shape.size() > 2) {
    refuse(subject, "shape " + to_string(array.shape) + " has " +
                        std::to_string(array.shape.size()) +
                        " extents; save one or two (x.reshape(rows, columns))");
  }
  auto bytes = try_multiply(
      {array.shape[0], array.shape.size() == 2 ? array.shape[1] : 1, element_bytes(array.dtype)});
  std::uint64_t held = file_bytes - start;
  if (!bytes || static_cast<std::uint64_t>(*bytes) != held) {
    refuse(subject, "shape " + to_string(array.shape) + " of " +
                        std::string(to_string(array.dtype)) + " needs " +
                        (bytes ? std::to_string(*bytes) : "more than 2^63 - 1") +
                        " bytes, the file holds " + std::to_string(held) + "; copy it again");
  }
  return {std::move(array), start};
}

// Sign, exponent and fraction of FP16 moved to their places in FP32; subnormals are normalised.
float widen_fp16(std::uint16_t bits) {
  std::uint32_t sign = std::uint32_t{bits & 0x8000U} << 16;
  std::uint32_t exponent = (bits >> 10) & 0x1FU;
  std::uint32_t fraction = bits & 0x3FFU;
  if (exponent == 0) {
    float magnitude = static_cast<float>(fraction) * 0x1p-24F;
    return sign ? -magnitude : magnitude;
  }
  std::uint32_t wide = exponent == 31 ? 0xFFU : exponent + 127 - 15;
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

}  // namespace

std::string_view to_string(NpyType type) {
  switch (type) {
    case NpyType::uint8:
      return "uint8";
    case NpyType::uint16:
      return "uint16";
    case NpyType::fp16:
      return "fp16";
    case NpyType::fp32:
      return "fp32";
  }
  return "?";
}

std::int64_t element_bytes(NpyType type) {
  switch (type) {
    case NpyType::uint8:
      return 1;
    case NpyType::uint16:
    case NpyType::fp16:
      return 2;
    case NpyType::fp32:
      return 4;
  }
  return 0;
}

std::int64_t NpyArray::elements() const {
  return static_cast<std::int64_t>(bytes.size()) / element_bytes(dtype);
}

NpyArray parse_npy(std::span<const std::uint8_t> file, const std::string& subject) {
  auto [array, start] = parse_front(file, file.size(), subject);
  array.bytes.assign(file.begin() + static_cast<std::ptrdiff_t>(start), file.end());
  return std::move(array);
}

NpyArray read_npy(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    refuse(path, "no such file; give a .npy file");
  }
  std::uint64_t file_bytes = std::filesystem::file_size(path, error);
  std::ifstream stream(path, std::ios::binary);
  if (error || !stream) refuse(path, "cannot be opened for reading; check its permissions");
  constexpr std::size_t kFrontBytesMax = kPreambleBytes + 4 + kHeaderBytesMax;
  std::vector<std::uint8_t> front(std::min<std::uint64_t>(file_bytes, kFrontBytesMax));
  stream.read(reinterpret_cast<char*>(front.data()), static_cast<std::streamsize>(front.size()));
  front.resize(static_cast<std::size_t>(stream.gcount()));
  auto [array, start] = parse_front(front, file_bytes, path);
  array.bytes.resize(file_bytes - start);
  stream.clear();
  stream.seekg(static_cast<std::streamoff>(start));
  stream.read(reinterpret_cast<char*>(array.bytes.data()),
              static_cast<std::streamsize>(array.bytes.size()));
  if (static_cast<std::uint64_t>(stream.gcount()) != array.bytes.size()) {
    refuse(path, "became shorter while it was read; write it to its end first");
  }
  return std::move(array);
}

void write_npy(const std::string& path, const NpyArray& array) {
  TANDEM_CHECK(array.shape.size() == 1 || array.shape.size() == 2, "one or two extents");
  std::int64_t elements = array.shape[0];
  if (array.shape.size() == 2) elements = multiply({elements, array.shape[1]});
  TANDEM_CHECK(multiply({elements, element_bytes(array.dtype)}) ==
                   static_cast<std::int64_t>(array.bytes.size()),
               "shape " + to_string(array.shape) + " against " +
                   std::to_string(array.bytes.size()) + " bytes");
  auto spelling = std::find_if(kSpellings.begin(), kSpellings.end(),
                               [&](const Spelling& s) { return s.type == array.dtype; });
  std::string header = "{'descr': '" + std::string(spelling->descr) +
                       "', 'fortran_order': False, 'shape': " + to_string(array.shape) + ", }";
  std::size_t front = kPreambleBytes + 2;
  std::size_t padded = (front + header.size() + 1 + kAlignment - 1) / kAlignment * kAlignment;
  header.resize(padded - front - 1, ' ');
  header += '\n';

  std::ofstream stream(path, std::ios::binary | std::ios::trunc);
  if (!stream) refuse(path, "cannot be created; check the folder and its permissions");
  stream << kMagic << '\x01' << '\x00' << static_cast<char>(header.size() & 0xFF)
         << static_cast<char>(header.size() >> 8) << header;
  stream.write(reinterpret_cast<const char*>(array.bytes.data()),
               static_cast<std::streamsize>(array.bytes.size()));
  stream.close();
  if (!stream) {
    throw Error(ErrorKind::environment,
                path + ": writing " + std::to_string(array.bytes.size()) +
                    " bytes failed; check the free space of its file system");
  }
}

std::vector<float> widen_to_float(const NpyArray& array, const std::string& subject) {
  if (array.dtype == NpyType::uint8) {
    refuse(subject,
           "uint8 codes have no value without format and scales; save fp32, fp16 or "
           "BF16 bits (uint16)");
  }
  std::vector<float> values(static_cast<std::size_t>(array.elements()));
  if (array.dtype == NpyType::fp32) {
    if (!values.empty()) std::memcpy(values.data(), array.bytes.data(), array.bytes.size());
    return values;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, array.bytes.data() + 2 * i, 2);
    values[i] = array.dtype == NpyType::fp16 ? widen_fp16(bits)
                                             : std::bit_cast<float>(std::uint32_t{bits} << 16);
  }
  return values;
}

}  // namespace tandem
