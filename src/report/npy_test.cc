// SPDX-License-Identifier: Apache-2.0
#include "report/npy.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <utility>

#include "tandem/error.h"

namespace tandem {
namespace {

using Bytes = std::vector<std::uint8_t>;

class NpyFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "tandem-npy-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  std::filesystem::path folder_;
};

Bytes make_file(int major, const std::string& header, const Bytes& data) {
  Bytes file{0x93, 'N', 'U', 'M', 'P', 'Y', static_cast<std::uint8_t>(major), 0};
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i) {
    file.push_back(static_cast<std::uint8_t>(header.size() >> (8 * i)));
  }
  file.insert(file.end(), header.begin(), header.end());
  file.insert(file.end(), data.begin(), data.end());
  return file;
}

std::string header_of(const std::string& descr, const std::string& order,
                      const std::string& shape) {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape +
         ", }   \n";
}

// The message of the refusal, or "accepted".
std::string refusal(const Bytes& file) {
  try {
    parse_npy(file, "x.npy");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::refused);
    return error.what();
  }
  return "accepted";
}

NpyArray make_array(NpyType dtype, std::vector<std::int64_t> shape) {
  NpyArray array{dtype, std::move(shape), {}};
  std::int64_t bytes = element_bytes(dtype);
  for (std::int64_t extent : array.shape) bytes *= extent;
  for (std::int64_t i = 0; i < bytes; ++i) {
    array.bytes.push_back(static_cast<std::uint8_t>(i * 37 + 11));
  }
  return array;
}

// read ∘ write = identity.
TEST_F(NpyFile, EveryTypeAndShapeComesBackAsWritten) {
  for (NpyType dtype : {NpyType::uint8, NpyType::uint16, NpyType::fp16, NpyType::fp32}) {
    for (const auto& shape : std::vector<std::vector<std::int64_t>>{{7}, {3, 5}, {0}, {0, 4}}) {
      NpyArray written = make_array(dtype, shape);
      write_npy(path("a.npy"), written);
      NpyArray read = read_npy(path("a.npy"));
      EXPECT_EQ(read.dtype, dtype);
      EXPECT_EQ(read.shape, shape);
      EXPECT_EQ(read.bytes, written.bytes);
      std::uintmax_t front = std::filesystem::file_size(path("a.npy")) - written.bytes.size();
      EXPECT_EQ(front % 64, 0U);
    }
  }
}

TEST_F(NpyFile, WritingReplacesALongerFile) {
  write_npy(path("a.npy"), make_array(NpyType::fp32, {64, 64}));
  write_npy(path("a.npy"), make_array(NpyType::fp32, {2}));
  EXPECT_EQ(read_npy(path("a.npy")).shape, std::vector<std::int64_t>{2});
}

TEST(NpyParser, ReadsVersionTwoAndAnyOrderOfKeys) {
  Bytes data(24, 9);
  Bytes file = make_file(2, "{\"shape\":(2,3),'fortran_order':False,'descr':'<f4'}", data);
  NpyArray array = parse_npy(file, "x.npy");
  EXPECT_EQ(array.dtype, NpyType::fp32);
  EXPECT_EQ(array.shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(array.bytes, data);
}

TEST(NpyParser, TakesTheVoidTypesThatMlDtypesWrites) {
  EXPECT_EQ(parse_npy(make_file(1, header_of("<V2", "False", "(1,)"), {1, 2}), "x").dtype,
            NpyType::uint16);
  EXPECT_EQ(parse_npy(make_file(1, header_of("|V1", "False", "(1,)"), {1}), "x").dtype,
            NpyType::uint8);
}

TEST(NpyParser, RefusesOtherLayoutsWithARemedy) {
  Bytes eight(8, 0);
  auto message = [&](const char* descr, const char* order, const char* shape) {
    return refusal(make_file(1, header_of(descr, order, shape), eight));
  };
  EXPECT_NE(message("<f4", "True", "(2, 1)").find("numpy.ascontiguousarray"), std::string::npos);
  EXPECT_NE(message(">f4", "False", "(2,)").find("dtype '>f4'"), std::string::npos);
  EXPECT_NE(message("<f8", "False", "(1,)").find("x.astype('<f4')"), std::string::npos);
  EXPECT_NE(message("|O", "False", "(1,)").find("not supported"), std::string::npos);
  EXPECT_NE(message("<f4", "False", "()").find("shape () has 0 extents"), std::string::npos);
  EXPECT_NE(message("<f4", "False", "(1, 2, 1)").find("3 extents"), std::string::npos);
}

TEST(NpyParser, RefusesFaultyHeaders) {
  Bytes eight(8, 0);
  for (const char* header :
       {"", "{", "{}", "[1]", "{'descr': '<f4'}", "{'descr': '<f4, 'shape': (2,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} x",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'more': 1}",
        "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2 3)}",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}"}) {
    EXPECT_NE(refusal(make_file(1, header, eight)).find("x.npy: header of the .npy file, byte "),
              std::string::npos)
        << header;
  }
}

TEST(NpyParser, ReportsTheByteAtWhichTheHeaderIsFaulty) {
  EXPECT_EQ(refusal(make_file(1, "{'descr' '<f4'}", {})),
            "x.npy: header of the .npy file, byte 9: ':' is missing; save the array again with "
            "numpy.save");
}

// A shape is believed only if the file holds exactly its bytes, so no length allocates more.
TEST(NpyParser, RefusesShapesThatTheFileDoesNotHold) {
  Bytes eight(8, 0);
  for (const char* shape : {"(3,)", "(1,)", "(9223372036854775807,)", "(4611686018427387904, 4)",
                            "(1099511627776, 1099511627776)", "(99999999999999999999,)", "(0,)"}) {
    std::string message = refusal(make_file(1, header_of("<f4", "False", shape), eight));
    EXPECT_NE(message, "accepted") << shape;
    EXPECT_TRUE(message.find("the file holds 8") != std::string::npos ||
                message.find("exceeds 2^63") != std::string::npos)
        << message;
  }
}

TEST(NpyParser, RefusesEveryTruncation) {
  Bytes file = make_file(1, header_of("<f4", "False", "(2,)"), Bytes(8, 1));
  ASSERT_EQ(refusal(file), "accepted");
  for (std::size_t length = 0; length < file.size(); ++length) {
    EXPECT_NE(refusal(Bytes(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(length))),
              "accepted")
        << length;
  }
}

TEST(NpyParser, RefusesForeignFilesAndVersions) {
  EXPECT_NE(refusal({'P', 'K', 3, 4}).find("not a .npy file"), std::string::npos);
  EXPECT_NE(refusal(make_file(3, "{}", {})).find("version 3"), std::string::npos);
  Bytes huge_header{0x93, 'N', 'U', 'M', 'P', 'Y', 2, 0, 0xFF, 0xFF, 0xFF, 0xFF};
  EXPECT_NE(refusal(huge_header).find("4294967295 bytes"), std::string::npos);
}

// Each byte of a sound file replaced by each value: refused or read, never more bytes than given.
TEST(NpyParser, SurvivesEveryChangedByte) {
  Bytes file = make_file(1, header_of("<f4", "False", "(2, 1)"), Bytes(8, 1));
  int accepted = 0;
  for (std::size_t i = 0; i < file.size(); ++i) {
    for (int value = 0; value < 256; ++value) {
      Bytes changed = file;
      changed[i] = static_cast<std::uint8_t>(value);
      if (refusal(changed) != "accepted") continue;
      ++accepted;
      EXPECT_LE(parse_npy(changed, "x").bytes.size(), changed.size());
    }
  }
  EXPECT_GT(accepted, 8 * 256);  // every data byte
  EXPECT_LT(accepted, static_cast<int>(file.size()) * 128);
}

TEST_F(NpyFile, NamesTheFileThatCannotBeReadOrCreated) {
  auto message = [](auto&& action) -> std::string {
    try {
      action();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::refused);
      return error.what();
    }
    return "accepted";
  };
  std::string absent = path("absent.npy");
  EXPECT_EQ(message([&] { read_npy(absent); }), absent + ": no such file; give a .npy file");
  EXPECT_NE(message([&] { read_npy(folder_.string()); }), "accepted");
  std::string nowhere = path("no/such/folder.npy");
  EXPECT_EQ(message([&] { write_npy(nowhere, make_array(NpyType::uint8, {1})); }),
            nowhere + ": cannot be created; check the folder and its permissions");
}

TEST_F(NpyFile, AFullFileSystemIsTheEnvironmentsFault) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  try {
    write_npy("/dev/full", make_array(NpyType::fp32, {4096}));
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::environment);
  }
}

// value = (−1)^s · 2^(e − 15) · (1 + f/1024), or (−1)^s · f · 2^−24 for e = 0.
TEST(NpyWidening, AllFp16CodesAreExact) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    NpyArray array{NpyType::fp16,
                   {1},
                   {static_cast<std::uint8_t>(bits), static_cast<std::uint8_t>(bits >> 8)}};
    float value = widen_to_float(array, "x")[0];
    int exponent = static_cast<int>(bits >> 10 & 31);
    int fraction = static_cast<int>(bits & 1023);
    EXPECT_EQ(std::signbit(value), bits >= 32768) << bits;
    if (exponent == 31) {
      EXPECT_EQ(std::isnan(value), fraction != 0) << bits;
      EXPECT_EQ(std::isinf(value), fraction == 0) << bits;
    } else {
      double magnitude =
          exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
      EXPECT_EQ(std::abs(static_cast<double>(value)), magnitude) << bits;
    }
  }
}

TEST(NpyWidening, Bf16IsTheUpperHalfOfFp32) {
  NpyArray array{NpyType::uint16, {4}, {0x80, 0x3F, 0x49, 0xC0, 0x80, 0x7F, 0x01, 0x00}};
  EXPECT_EQ(widen_to_float(array, "x"),
            (std::vector<float>{1.0F, -3.140625F, std::numeric_limits<float>::infinity(),
                                std::ldexp(1.0F, -133)}));
}

TEST(NpyWidening, Fp32IsCopiedAndCodesAreRefused) {
  std::vector<float> values{1.5F, -0.0F, 3e38F};
  NpyArray array{NpyType::fp32, {3}, Bytes(12)};
  std::memcpy(array.bytes.data(), values.data(), 12);
  EXPECT_EQ(widen_to_float(array, "x"), values);
  EXPECT_THROW(widen_to_float(make_array(NpyType::uint8, {3}), "x"), Error);
}

// NumPy itself judges what was written, and writes what is read.
TEST_F(NpyFile, NumpyReadsAndWritesTheSameArrays) {
  if (std::system("python3 -c 'import numpy' >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "python3 with numpy is not installed";
  }
  NpyArray written{NpyType::fp32, {2, 3}, Bytes(24)};
  std::vector<float> values{0, 1, 2, 3, 4, 5};
  std::memcpy(written.bytes.data(), values.data(), 24);
  write_npy(path("a.npy"), written);
  std::ofstream(path("judge.py")) << R"(
import sys, numpy
folder = sys.argv[1]
a = numpy.load(folder + "/a.npy")
assert a.dtype == numpy.float32 and a.shape == (2, 3) and a.flags.c_contiguous, a
assert (a == numpy.arange(6).reshape(2, 3)).all(), a
numpy.save(folder + "/half.npy", (a + 0.5).astype(numpy.float16))
numpy.save(folder + "/codes.npy", a.astype(numpy.uint8))
numpy.save(folder + "/bits.npy", a.astype(numpy.uint16).ravel())
numpy.save(folder + "/columns.npy", numpy.asfortranarray(a))
)";
  std::string command = "python3 '" + path("judge.py") + "' '" + folder_.string() + "'";
  ASSERT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(widen_to_float(read_npy(path("half.npy")), "half"),
            (std::vector<float>{0.5F, 1.5F, 2.5F, 3.5F, 4.5F, 5.5F}));
  EXPECT_EQ(read_npy(path("codes.npy")).bytes, (Bytes{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(read_npy(path("codes.npy")).dtype, NpyType::uint8);
  EXPECT_EQ(read_npy(path("bits.npy")).shape, std::vector<std::int64_t>{6});
  EXPECT_EQ(read_npy(path("bits.npy")).dtype, NpyType::uint16);
  EXPECT_THROW(read_npy(path("columns.npy")), Error);
}

}  // namespace
}  // namespace tandem
