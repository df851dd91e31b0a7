// SPDX-License-Identifier: Apache-2.0
// NumPy's .npy files, versions 1 and 2: the form in which operands enter and results leave.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tandem {

enum class NpyType : std::uint8_t {
  uint8,   // 8-bit codes or scale bytes: '|u1', also '|V1' as ml_dtypes saves its FP8 types
  uint16,  // bits of BF16: '<u2', also '<V2' as ml_dtypes saves bfloat16
  fp16,    // '<f2'
  fp32,    // '<f4'
};

std::string_view to_string(NpyType type);
std::int64_t element_bytes(NpyType type);

// An array in C order, little-endian, of one or two extents.
struct NpyArray {
  NpyType dtype = NpyType::fp32;
  std::vector<std::int64_t> shape;
  std::vector<std::uint8_t> bytes;

  std::int64_t elements() const;
};

// Reads a file. Throws Error{refused} if it is none of the above, and allocates no more than the
// file holds.
NpyArray read_npy(const std::string& path);

// The same from memory; `subject` opens each message.
NpyArray parse_npy(std::span<const std::uint8_t> file, const std::string& subject);

// Writes version 1, replacing what is there. Throws Error{refused} if the file cannot be created
// and Error{environment} if it cannot be filled.
void write_npy(const std::string& path, const NpyArray& array);

// The values as FP32; uint16 holds BF16. Exact. Throws Error{refused} for uint8, whose codes mean
// nothing without a format and scales; `subject` opens the message.
std::vector<float> widen_to_float(const NpyArray& array, const std::string& subject);

}  // namespace tandem
