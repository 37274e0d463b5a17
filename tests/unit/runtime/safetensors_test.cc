// .safetensors headers: valid ones, and all errors.
#include "runtime/files/safetensors.h"

#include <gtest/gtest.h>

namespace tarsia::safetensors_test {
namespace {

// Parses a header before `data` bytes of data.
Result<std::vector<NamedTensor>> Parse(const std::string& header, uint64_t data) {
  return ParseSafetensorsHeader(header, 8 + header.size() + data);
}

std::string ErrorOf(const std::string& header, uint64_t data) {
  const auto parsed = Parse(header, data);
  return parsed.ok() ? "no error" : parsed.error().info->id + (": " + parsed.error().message);
}

std::string Tensor(const std::string& name, const std::string& dtype, const std::string& shape,
                   const std::string& offsets) {
  return "\"" + name + "\": {\"dtype\": \"" + dtype + "\", \"shape\": " + shape +
         ", \"data_offsets\": " + offsets + "}";
}

TEST(Safetensors, Reads) {
  const std::string header = "{\"__metadata__\": {\"format\": \"pt\", \"a\": \"b\"}, " +
                             Tensor("w", "F16", "[2, 3]", "[4, 16]") + ", " +
                             Tensor("b", "F32", "[]", "[0, 4]") + ", " +
                             Tensor("none", "I8", "[0, 5]", "[16, 16]") + "}  ";
  const auto parsed = Parse(header, 16);
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  ASSERT_EQ(parsed->size(), 3u);
  const auto w = FindTensor(*parsed, "w");
  ASSERT_TRUE(w.ok());
  EXPECT_EQ(w->type, kF16);
  EXPECT_EQ(w->shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(w->offset, 8 + header.size() + 4);
  EXPECT_EQ(w->bytes, 12u);
  EXPECT_EQ(FindTensor(*parsed, "none")->bytes, 0u);
  EXPECT_EQ(FindTensor(*parsed, "nine").error().help, "did you mean `none`?");
}

TEST(Safetensors, NamesEveryType) {
  const std::pair<const char*, DType> types[] = {
      {"F16", kF16},       {"BF16", kBF16},        {"F32", kF32},        {"F64", kF64},
      {"I8", kI8},         {"I16", kI16},          {"I32", kI32},        {"I64", kI64},
      {"U8", kU8},         {"U16", kU16},          {"U32", kU32},        {"U64", kU64},
      {"BOOL", kBoolType}, {"F8_E4M3", kF8E4M3FN}, {"F8_E5M2", kF8E5M2}, {"F8_E8M0", kE8M0},
      {"C64", kC64}};
  for (const auto& [name, type] : types) {
    const int bytes = 3 * type.bits / 8;
    const auto parsed =
        Parse("{" + Tensor("t", name, "[3]", "[0, " + std::to_string(bytes) + "]") + "}", bytes);
    ASSERT_TRUE(parsed.ok()) << name << ": " << parsed.error().message;
    EXPECT_EQ((*parsed)[0].tensor.type, type) << name;
    EXPECT_EQ(SafetensorsTypeName(type), name);
  }
  EXPECT_EQ(SafetensorsTypeName(kU4), "");
}

// Types that are newer than the reader: the file's other tensors are read.
TEST(Safetensors, ATensorOfAnUnknownType) {
  const auto parsed = Parse(
      "{" + Tensor("f", "F4", "[3]", "[0, 2]") + ", " + Tensor("t", "I8", "[1]", "[2, 3]") + "}",
      3);
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_TRUE(FindTensor(*parsed, "t").ok());
  EXPECT_EQ(FindTensor(*parsed, "f").error().message, "tensor `f`: element type `F4` is unknown");
}

TEST(Safetensors, RefusesTensors) {
  const auto error = [](const std::string& tensor, uint64_t data) {
    return ErrorOf("{" + tensor + "}", data);
  };
  EXPECT_EQ(error(Tensor("t", "F16", "[3]", "[0, 5]"), 5),
            "safetensors-tensor: tensor `t`: [3] of F16 is 6 bytes, but its offsets span 5");
  EXPECT_EQ(error(Tensor("t", "F16", "[3]", "[0, 6]"), 5),
            "safetensors-tensor: tensor `t`: its data lies beyond the end of the file");
  EXPECT_EQ(error(Tensor("t", "F16", "[3]", "[18446744073709551615, 18446744073709551615]"), 5),
            "safetensors-tensor: tensor `t`: its data lies beyond the end of the file");
  EXPECT_EQ(error(Tensor("t", "F16", "[1]", "[2, 0]"), 2),
            "safetensors-json: bad .safetensors header at byte 0: tensor `t`: its data ends before "
            "it begins");
  EXPECT_EQ(error(Tensor("t", "F12", "[1]", "[0, 3]"), 2),
            "safetensors-tensor: tensor `t`: its data lies beyond the end of the file");
  EXPECT_EQ(error(Tensor("t", "F64", "[4611686018427387904, 4]", "[0, 2]"), 2).substr(0, 16),
            "tensor-too-large");
  EXPECT_EQ(
      error(Tensor("t", "I8", "[1]", "[0, 1]") + ", " + Tensor("t", "I8", "[1]", "[1, 2]"), 2),
      "safetensors-tensor: tensor `t`: it stands twice");
}

TEST(Safetensors, RefusesGapsAndOverlaps) {
  const std::string a = Tensor("a", "I8", "[2]", "[0, 2]");
  const auto with = [&](const char* offsets) {
    return "{" + a + ", " + Tensor("b", "I8", "[2]", offsets) + "}";
  };
  EXPECT_EQ(ErrorOf(with("[2, 4]"), 4), "no error");
  EXPECT_EQ(ErrorOf(with("[1, 3]"), 3),
            "safetensors-coverage: the tensors do not cover the data: two share byte 1");
  EXPECT_EQ(ErrorOf(with("[3, 5]"), 5),
            "safetensors-coverage: the tensors do not cover the data: none has byte 2");
  EXPECT_EQ(
      ErrorOf(with("[2, 4]"), 7),
      "safetensors-coverage: the tensors do not cover the data: 3 bytes are left over at the end");
}

TEST(Safetensors, RefusesJson) {
  const char* const bad[] = {
      "",
      " {}",
      "[]",
      "{",
      "{\"a\"",
      "{\"a\": 1}",
      "{\"a\": []}",
      "{\"a\": {}}",
      "{\"a\": \"b\"}",
      "{\"a\": {\"dtype\": 1}}",
      "{\"a\": {\"shape\": 1}}",
      "{\"a\": {\"shape\": [[1]]}}",
      "{\"a\": {\"shape\": [-1]}}",
      "{\"a\": {\"shape\": [1.5]}}",
      "{\"a\": {\"more\": 1}}",
      "{\"a\": {\"data_offsets\": [1]}}",
      "{\"a\": {\"data_offsets\": [1, 2, 3]}}",
      "{\"a\": {\"shape\": [], \"shape\": []}}",
      "{\"a\": {\"shape\": {}}}",
      "{\"a\": null}",
      "{\"a\": true}",
      "{\"__metadata__\": 1}",
      "{\"__metadata__\": {\"a\": 1}}",
      "{\"__metadata__\": {\"a\": {}}}",
      "{\"__metadata__\": {}, \"__metadata__\": {}}",
      "{} {}",
      "{\"a\xFF\": {}}",
      "{\"a\": {\"shape\": [1e999]}}",
      "{\"a\": {\"shape\": [99999999999999999999]}}",
  };
  for (const char* header : bad) {
    EXPECT_EQ(ErrorOf(header, 0).substr(0, 16), "safetensors-json") << header;
  }
  // Depth costs no stack.
  EXPECT_EQ(ErrorOf("{\"a\": " + std::string(1 << 20, '['), 0).substr(0, 16), "safetensors-json");
  EXPECT_EQ(ErrorOf("{}", 0), "no error");
}

TEST(Safetensors, HeaderLength) {
  const uint8_t length[] = {16, 0, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(*SafetensorsHeaderLength(length, 24), 16u);
  EXPECT_EQ(SafetensorsHeaderLength(length, 23).error().message,
            "the header would have 16 bytes, but only 15 follow");
  EXPECT_EQ(SafetensorsHeaderLength({length, 3}, 3).error().message,
            "not a .safetensors file: it has 3 bytes, but the header's length alone takes 8");
  const uint8_t huge[] = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
  EXPECT_EQ(SafetensorsHeaderLength(huge, 1 << 20).error().message,
            "the header would have 18446744073709551615 bytes, but the format allows 100000000");
}

}  // namespace
}  // namespace tarsia::safetensors_test
