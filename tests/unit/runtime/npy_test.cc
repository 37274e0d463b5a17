// .npy: headers of NumPy, and all errors.
#include "runtime/files/npy.h"

#include <gtest/gtest.h>

#include <cstring>

namespace tarsia::npy_test {
namespace {

// A file made by hand: prefix, header as given, then `data` bytes of zeros.
std::string File(const std::string& header, size_t data, int major = 1) {
  std::string out = "\x93NUMPY";
  out += static_cast<char>(major);
  out += '\0';
  const size_t n = header.size();
  out += static_cast<char>(n & 0xFF);
  out += static_cast<char>(n >> 8 & 0xFF);
  if (major > 1) out += {static_cast<char>(n >> 16 & 0xFF), static_cast<char>(n >> 24 & 0xFF)};
  return out + header + std::string(data, '\0');
}

Result<TensorInfo> Parse(const std::string& file) {
  return ParseNpyHeader({reinterpret_cast<const uint8_t*>(file.data()), file.size()}, file.size());
}

std::string ErrorOf(const std::string& file) {
  const auto parsed = Parse(file);
  return parsed.ok() ? "no error" : parsed.error().info->id + (": " + parsed.error().message);
}

std::string Header(const std::string& descr, const std::string& shape) {
  return "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }\n";
}

TEST(NpyRead, NamesEveryType) {
  struct Case {
    const char* descr;
    std::optional<DType> type;
    uint64_t bytes;
  };
  const Case cases[] = {
      {"<f2", kF16, 2},         {"<f4", kF32, 4},
      {"<f8", kF64, 8},         {"|i1", kI8, 1},
      {"<i2", kI16, 2},         {"<i4", kI32, 4},
      {"<i8", kI64, 8},         {"|u1", kU8, 1},
      {"<u2", kU16, 2},         {"<u4", kU32, 4},
      {"<u8", kU64, 8},         {"|b1", kBoolType, 1},
      {"<c8", kC64, 8},         {"|V1", std::nullopt, 1},
      {"<V2", std::nullopt, 2}, {"|V16", std::nullopt, 16},
      {">u1", kU8, 1},
  };
  for (const Case& c : cases) {
    const auto parsed = Parse(File(Header(c.descr, "(2, 3)"), 6 * c.bytes));
    ASSERT_TRUE(parsed.ok()) << c.descr << ": " << parsed.error().message;
    EXPECT_EQ(parsed->type, c.type) << c.descr;
    EXPECT_EQ(parsed->item_bytes, c.bytes) << c.descr;
    EXPECT_EQ(parsed->bytes, 6 * c.bytes);
    EXPECT_EQ(parsed->shape, (std::vector<int64_t>{2, 3}));
  }
}

TEST(NpyRead, Shapes) {
  EXPECT_TRUE(Parse(File(Header("<f4", "()"), 4))->shape.empty());
  EXPECT_EQ(Parse(File(Header("<f4", "(5,)"), 20))->shape, std::vector<int64_t>{5});
  EXPECT_EQ(Parse(File(Header("<f4", "(0, 7)"), 0))->bytes, 0u);
  EXPECT_EQ(Parse(File(Header("<f4", "( 2 ,3, )"), 24))->shape, (std::vector<int64_t>{2, 3}));
  // An empty tensor may have extents whose product alone would overflow.
  EXPECT_EQ(Parse(File(Header("<f8", "(9223372036854775807, 9223372036854775807, 0)"), 0))->bytes,
            0u);
}

TEST(NpyRead, Versions) {
  for (const int major : {1, 2, 3}) {
    const auto parsed = Parse(File(Header("<f2", "(1,)"), 2, major));
    ASSERT_TRUE(parsed.ok()) << major;
    EXPECT_EQ(parsed->offset, (major == 1 ? 10 : 12) + Header("<f2", "(1,)").size());
  }
  EXPECT_EQ(ErrorOf(File(Header("<f2", "(1,)"), 2, 4)),
            "npy-version: version 4.0 of .npy is unknown");
}

TEST(NpyRead, FortranOrder) {
  const auto with = [](const char* shape) {
    return std::string("{'descr': '<f4', 'fortran_order': True, 'shape': ") + shape + "}";
  };
  EXPECT_EQ(ErrorOf(File(with("(2, 3)"), 24)), "npy-fortran-order: the array is in Fortran order");
  EXPECT_TRUE(Parse(File(with("(1, 3)"), 12)).ok());  // both orders are one
}

TEST(NpyRead, RefusesTypes) {
  EXPECT_EQ(ErrorOf(File(Header(">f4", "(1,)"), 4)),
            "npy-byte-order: element type `>f4` is big-endian");
  for (const char* descr :
       {"<f16", "<c16", "<U4", "|O", "<M8", "|V0", "|V17", "|V", "f4", "", "<", "<f"}) {
    EXPECT_EQ(ErrorOf(File(Header(descr, "(1,)"), 4)).substr(0, 8), "npy-type") << descr;
  }
}

TEST(NpyRead, RefusesSizes) {
  EXPECT_EQ(ErrorOf(File(Header("<f4", "(3,)"), 11)),
            "npy-size: the header says [3] of <f4, which is 12 bytes, but 11 follow it");
  EXPECT_EQ(ErrorOf(File(Header("<f4", "(3,)"), 13)).substr(0, 8), "npy-size");
  EXPECT_EQ(ErrorOf(File(Header("<f4", "(4611686018427387904, 4)"), 0)).substr(0, 16),
            "tensor-too-large");
  EXPECT_EQ(ErrorOf(File(Header("<f4", "(9223372036854775808,)"), 0)),
            "npy-header: bad .npy header: an extent of `shape` is not a number of at most 63 bits");
  std::string many = "(";
  for (int i = 0; i < 65; ++i) many += "1, ";
  EXPECT_EQ(ErrorOf(File(Header("<f4", many + ")"), 4)),
            "npy-header: bad .npy header: more than 64 dimensions");
}

TEST(NpyRead, RefusesHeaders) {
  const std::string good = Header("<f4", "(1,)");
  for (size_t i = 0; i < 10 + good.size(); ++i) {  // every truncation
    EXPECT_FALSE(Parse(File(good, 4).substr(0, i)).ok()) << i;
  }
  const char* const bad[] = {
      "",
      "{",
      "{}",
      "[]",
      "{'descr': '<f4'}",
      "{'descr' '<f4'}",
      "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 1}",
      "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (1)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': [1]}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (,)}",
      "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x",
      "{'descr': '<f4' 'fortran_order': False, 'shape': (1,)}",
  };
  for (const char* header : bad) {
    EXPECT_EQ(ErrorOf(File(header, 4)).substr(0, 10), "npy-header") << header;
  }
  EXPECT_EQ(ErrorOf("NUMPY"), "npy-magic: not a .npy file: it does not begin with \\x93NUMPY");
  // A header that claims 4 GB.
  EXPECT_EQ(ErrorOf(std::string("\x93NUMPY\x02\x00\xFF\xFF\xFF\xFF", 12)),
            "npy-header: bad .npy header: it is longer than 65536 bytes");
}

TEST(NpyWrite, HeaderIsWhatNumpyWrites) {
  // numpy.lib.format pads to a multiple of 64 with blanks and ends in a newline.
  const int64_t shape[] = {16, 128};
  const std::string header = NpyHeader("<f2", shape);
  EXPECT_EQ(header.size(), 128u);
  EXPECT_EQ(header.substr(0, 10), std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  EXPECT_EQ(header.substr(10, 62),
            "{'descr': '<f2', 'fortran_order': False, 'shape': (16, 128), }");
  EXPECT_EQ(header.back(), '\n');
  const int64_t one[] = {3};
  EXPECT_NE(NpyHeader("|u1", one).find("'shape': (3,), }"), std::string::npos);
  EXPECT_NE(NpyHeader("|u1", {}).find("'shape': (), }"), std::string::npos);
}

TEST(NpyWrite, ReadsBack) {
  const std::string path = testing::TempDir() + "tarsia_npy_test.npy";
  const int64_t shape[] = {2, 2};
  const uint8_t data[] = {1, 2, 3, 4, 5, 6, 7, 8};
  ASSERT_TRUE(WriteNpy(path, NpyTypeName(kF16), shape, data).ok());
  const auto file = InputFile::Open(path);
  ASSERT_TRUE(file.ok());
  const auto info = ReadNpyHeader(*file);
  ASSERT_TRUE(info.ok());
  EXPECT_EQ(info->type, kF16);
  EXPECT_EQ(info->offset % 64, 0u);
  const auto read = ReadTensor(*file, *info);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(std::memcmp(read->data(), data, sizeof data), 0);
}

TEST(NpyWrite, TypeNames) {
  EXPECT_EQ(NpyTypeName(kF16), "<f2");
  EXPECT_EQ(NpyTypeName(kU8), "|u1");
  EXPECT_EQ(NpyTypeName(kBoolType), "|b1");
  EXPECT_EQ(NpyTypeName(kC64), "<c8");
  for (const DType type : {kBF16, kTF32, kU4, kI1, kF8E4M3, kE8M0, kC32}) {
    EXPECT_EQ(NpyTypeName(type), "") << DTypeName(type);
  }
}

}  // namespace
}  // namespace tarsia::npy_test
