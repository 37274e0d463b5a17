// Files that are damaged or lie: a clear error for each, never a crash.
#include <gtest/gtest.h>

#include <cstring>

#include "runtime/importers/gguf_file.h"
#include "runtime/weights/tsw.h"
#include "tests/data/test_data.h"
#include "tests/weights/files.h"
#include "tests/weights/layer.h"

namespace tarsia::weights {
namespace {

// ---- .tsw --------------------------------------------------------------------------------------

PackedWeights Packed(bool gathers = false) {
  CodeSource source;
  WeightInfo& info = source.info;
  info.type = kU4;
  info.k = info.whole_k = 70;
  info.n = info.whole_n = 33;
  info.group = 35;
  info.zero = ZeroPoint::kInteger;
  info.zero_type = kU8;
  source.scales.assign(66, 0.5F);
  source.zeros.assign(66, 3.0F);
  for (int32_t i = 0; gathers && i < 70; ++i) source.gather.push_back(69 - i);
  source.codes = [](const Region& region, uint8_t* out, int64_t stride) {
    for (int64_t i = 0; i < region.rows; ++i) {
      for (int64_t j = 0; j < region.columns; ++j)
        out[i * stride + j] = static_cast<uint8_t>((i + j) % 16);
    }
  };
  auto packed = PackedWeights::Pack(source);
  EXPECT_TRUE(packed.ok()) << packed.error().message;
  return *std::move(packed);
}

std::vector<uint8_t> Image(const PackedWeights& packed) {
  return {packed.image().begin(), packed.image().end()};
}

std::string ErrorOf(const std::vector<uint8_t>& image) {
  const auto loaded = PackedWeights::FromBytes(image);
  return loaded.ok() ? "no error" : std::string(loaded.error().info->id);
}

// The header's hashes again, as an attacker would compute them.
std::string WithHashes(std::vector<uint8_t> image, const WeightInfo& info) {
  WriteTswHeader(info, image);
  return ErrorOf(image);
}

// A seed that no longer loads, because of its map's version, say, makes the fuzzer idle.
TEST(Damage, SeedsOfTheFuzzerLoad) {
  for (const char* const name : {"f8", "i3", "nf4", "u2", "u4", "u4-gather"}) {
    const auto loaded = PackedWeights::Load(TestData(std::string("tests/fuzz/corpus/tsw/") + name));
    EXPECT_TRUE(loaded.ok()) << name << ": " << loaded.error().message;
  }
}

TEST(Damage, Tsw) {
  const std::vector<uint8_t> whole = Image(Packed());
  EXPECT_EQ(ErrorOf(whole), "no error");
  EXPECT_EQ(ErrorOf({}), "tsw-magic");
  EXPECT_EQ(ErrorOf({whole.begin(), whole.begin() + 100}), "tsw-truncated");
  EXPECT_EQ(ErrorOf({whole.begin(), whole.end() - 1}), "tsw-size");
  std::vector<uint8_t> longer = whole;
  longer.push_back(0);
  EXPECT_EQ(ErrorOf(longer), "tsw-size");
  std::vector<uint8_t> other = whole;
  other[8] = 2;
  EXPECT_EQ(ErrorOf(other), "tsw-version");
}

// Any bit of the file: an error, because one of the hashes differs.
TEST(Damage, EveryBitOfATswMatters) {
  const std::vector<uint8_t> whole = Image(Packed(true));
  for (size_t bit = 0; bit < whole.size() * 8; bit += bit < 256 * 8 ? 1 : 97) {
    std::vector<uint8_t> damaged = whole;
    damaged[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    ASSERT_NE(ErrorOf(damaged), "no error") << "bit " << bit;
  }
}

TEST(Damage, TswWhoseHashesFit) {
  const PackedWeights packed = Packed(true);
  const WeightInfo& info = packed.info();
  const auto offset = [&](WeightPart part) { return packed.places()[part].offset; };
  const auto changed = [&](size_t at, uint8_t to) {
    std::vector<uint8_t> image = Image(packed);
    image[at] = to;
    return WithHashes(image, info);
  };
  const size_t codes = offset(WeightPart::kCodes), scales = offset(WeightPart::kScales);
  EXPECT_EQ(changed(codes + packed.part(WeightPart::kCodes).size() - 1, 1), "tsw-padding");
  EXPECT_EQ(changed(scales + packed.part(WeightPart::kScales).size() - 1, 1), "tsw-padding");
  EXPECT_EQ(changed(scales + 1, 0x7E), "weights-not-finite");
  EXPECT_EQ(changed(offset(WeightPart::kGather), 70), "weights-gather");
  EXPECT_EQ(changed(offset(WeightPart::kGather), 68), "weights-gather");  // twice
  const auto with = [&](auto change) {
    WeightInfo other = info;
    change(other);
    return WithHashes(Image(packed), other);
  };
  EXPECT_EQ(with([](WeightInfo& i) { i.k = 71; }), "weights-group");
  EXPECT_EQ(with([](WeightInfo& i) { i.k = i.whole_k = i.group = 141; }), "tsw-size");
  EXPECT_EQ(with([](WeightInfo& i) { i.group = 0; }), "weights-group");
  EXPECT_EQ(with([](WeightInfo& i) { i.n = -1; }), "weights-shape");
  EXPECT_EQ(with([](WeightInfo& i) { i.n = i.whole_n = int64_t{1} << 60; }), "weights-too-large");
  EXPECT_EQ(with([](WeightInfo& i) { i.type = kF32; }), "weights-type");
  EXPECT_EQ(with([](WeightInfo& i) { i.scale_type = kU8; }), "weights-scale-type");
  EXPECT_EQ(with([](WeightInfo& i) { i.zero_type = kF32; }), "weights-zero-type");
  EXPECT_EQ(with([](WeightInfo& i) { i.type = kF4E2M1; }), "weights-zero-points");
  EXPECT_EQ(with([](WeightInfo& i) { i.first_n = 1; }), "weights-shard");
  EXPECT_EQ(with([](WeightInfo& i) { i.whole_k = 140; }), "weights-gather-shard");
  EXPECT_EQ(with([](WeightInfo& i) { i.tensor_scale = 1.0F / 0.0F; }), "weights-tensor-scale");
  EXPECT_EQ(with([](WeightInfo& i) { i.compute = kF32; }), "lanes-compute");
}

// ---- GGUF --------------------------------------------------------------------------------------

std::string ErrorOfGguf(const std::string& file) {
  const auto parsed = ParseGguf({reinterpret_cast<const uint8_t*>(file.data()), file.size()});
  return parsed.ok() ? "no error" : parsed.error().info->id + (": " + parsed.error().message);
}

TEST(Damage, Gguf) {
  const std::string bytes(18 * 4, 'x');
  const std::string whole = GgufFile({{"a", 2, {32, 4}, bytes}, {"b", 2, {64, 2}, bytes}});
  EXPECT_EQ(ErrorOfGguf(whole), "no error");
  EXPECT_EQ(ErrorOfGguf(""), "gguf-magic: not a GGUF file: it does not begin with GGUF");
  std::string other = whole;
  other[4] = 1;
  EXPECT_EQ(ErrorOfGguf(other), "gguf-version: version 1 of GGUF is unknown");
  EXPECT_EQ(ErrorOfGguf(whole.substr(0, 60)),
            "gguf-truncated: the file ends within its header, at byte 60");
  EXPECT_EQ(ErrorOfGguf(whole.substr(0, whole.size() - 1)),
            "import-tensor: tensor `b`: its data lies beyond the end of the file");
  EXPECT_EQ(ErrorOfGguf(GgufFile({{"a", 2, {33, 4}, bytes}})),
            "import-tensor: tensor `a`: 33 elements in a row are no whole blocks of 32");
  EXPECT_EQ(ErrorOfGguf(GgufFile({{"a", 2, {32, 4}, bytes}, {"a", 2, {32, 4}, bytes}})),
            "import-tensor: tensor `a`: it stands twice");
  EXPECT_EQ(ErrorOfGguf(GgufFile({{"a", 2, {32, 4}, ""}, {"b", 2, {32, 4}, bytes}})),
            "import-tensor: tensor `b`: its data overlaps that of `a`");
  EXPECT_EQ(ErrorOfGguf(GgufFile({{"a", 2, {32, INT32_MAX, INT32_MAX, INT32_MAX}, bytes}})),
            "import-tensor: tensor `a`: it is too large");
  EXPECT_EQ(ErrorOfGguf(GgufFile({{"a", 2, {32, int64_t{1} << 40}, bytes}})).substr(0, 11),
            "gguf-header");
}

// Arrays of `depth` dimensions: one element each, at last two bytes.
std::string NestedArray(int depth) {
  std::string out;
  for (int i = 1; i < depth; ++i) {
    out += BytesOf(std::vector<uint32_t>{9}) + BytesOf(std::vector<uint64_t>{1});
  }
  return out + BytesOf(std::vector<uint32_t>{0}) + BytesOf(std::vector<uint64_t>{2}) + "xy";
}

TEST(Damage, PairsOfGguf) {
  const auto with = [](const RawPair& pair) {
    return ErrorOfGguf(GgufFile({{"a", 2, {32, 1}, std::string(18, 'x')}}, {pair}));
  };
  EXPECT_EQ(with({"x", 9, NestedArray(1)}), "no error");
  EXPECT_EQ(with({"x", 9, NestedArray(8)}), "no error");
  EXPECT_NE(with({"x", 9, NestedArray(9)}).find("arrays are nested more than 8 deep"),
            std::string::npos);
  // Two arrays, the first without elements.
  const std::string none = BytesOf(std::vector<uint32_t>{9}) + BytesOf(std::vector<uint64_t>{0});
  const std::string two = BytesOf(std::vector<uint32_t>{9}) + BytesOf(std::vector<uint64_t>{2});
  EXPECT_EQ(with({"x", 9, two + none + NestedArray(2)}), "no error");
  const std::string huge =
      BytesOf(std::vector<uint32_t>{9}) + BytesOf(std::vector<uint64_t>{uint64_t{1} << 63});
  EXPECT_NE(with({"x", 9, huge + NestedArray(1)}), "no error");
  EXPECT_NE(with({"x", 13, ""}).find("a value has the type 13, which is unknown"),
            std::string::npos);
  EXPECT_NE(with({"split.count", 6, "1234"}).find("`split.count` is no integer"),
            std::string::npos);
  std::string big = GgufFile({});
  std::swap(big[4], big[7]);
  EXPECT_EQ(ErrorOfGguf(big), "gguf-big-endian: this GGUF file is big-endian");
}

// A file that ends at any place.
TEST(Damage, TruncatedGguf) {
  const std::string whole = GgufFile({{"a", 2, {32, 4}, std::string(72, 'x')}});
  for (size_t size = 0; size < whole.size(); ++size) {
    ASSERT_NE(ErrorOfGguf(whole.substr(0, size)), "no error") << size;
  }
}

// The weights of a model, each with the error of reading it.
std::vector<std::string> ErrorsOf(const std::string& name, const std::string& file) {
  Folder folder;
  const auto model = Model::Open(folder.Write(name, file), {});
  if (!model.ok()) return {model.error().message};
  std::vector<std::string> out;
  for (const ModelWeights& weights : model->weights()) {
    const auto source = weights.read();
    out.push_back(weights.name + ", " + weights.format + ": " +
                  (source.ok() ? "no error" : source.error().message));
  }
  return out;
}

using Lines = std::vector<std::string>;

// One error for a tensor, none of whose matrices is lost without one.
TEST(Damage, GgufTensorsThatCannotBeImported) {
  const auto errors = [](const RawGguf& tensor) {
    return ErrorsOf("m.gguf", GgufFile({tensor, {"norm", 0, {1}, "1234"}}));
  };
  EXPECT_EQ(errors({"w", 2, {32, 1, 2, 1}, std::string(36, '\0')}),
            Lines({"w.0, Q4_0: no error", "w.1, Q4_0: no error"}));
  EXPECT_EQ(errors({"w", 2, {32, 1, 70, 70}, std::string(size_t{18} * 4900, '\0')}),
            Lines({"w, Q4_0: tensor `w`: it has 4900 matrices, and at most 4096 can be imported"}));
  EXPECT_EQ(errors({"w", 2, {32, 0, INT32_MAX, INT32_MAX}, ""}),
            Lines({"w, Q4_0: tensor `w`: an extent of its shape is 0"}));
  EXPECT_EQ(errors({"w", 2, {32}, std::string(18, '\0')}),
            Lines({"w, Q4_0: tensor `w`: it is no matrix"}));
  EXPECT_EQ(errors({"w", 23, {256, 1}, std::string(136, '\0')}),
            Lines({"w, IQ4_XS: tensor `w`: weights of the type IQ4_XS cannot be imported"}));
  EXPECT_EQ(errors({"w", 99, {256, 1}, std::string(136, '\0')}),
            Lines({"w, 99: tensor `w`: weights of the type 99 cannot be imported"}));
}

// Part `part` of two, with one tensor.
std::string GgufPart(uint16_t part, const std::string& tensor) {
  return GgufFile({{tensor, 2, {32, 1}, std::string(18, '\0')}},
                  {{"split.no", 2, BytesOf(std::vector<uint16_t>{part})},
                   {"split.count", 2, BytesOf(std::vector<uint16_t>{2})}});
}

TEST(Damage, PartsOfGguf) {
  Folder folder;
  std::string path = folder.Write("m-00001-of-00002.gguf", GgufPart(0, "b"));
  const std::string start = path.substr(0, path.size() - 15);
  const auto opened = [&](const std::string& of) {
    const auto model = Model::Open(of, {});
    std::string out = model.ok() ? "" : model.error().message;
    for (const ModelWeights& weights :
         model.ok() ? model->weights() : std::span<const ModelWeights>()) {
      out += weights.name + (weights.read().ok() ? ";" : " fails;");
    }
    for (size_t at = out.find(start); at != std::string::npos; at = out.find(start)) {
      out.replace(at, start.size(), "M");
    }
    return out;
  };
  EXPECT_EQ(opened(path),
            "this is part 1 of 2 of a model, and cannot open M2-of-00002.gguf: No "
            "such file or directory");
  const std::string second = folder.Write("m-00002-of-00002.gguf", GgufPart(1, "a"));
  EXPECT_EQ(opened(path), "a;b;");
  EXPECT_EQ(opened(second), "a;b;");
  folder.Write("m-00002-of-00002.gguf", GgufPart(1, "b"));
  EXPECT_EQ(opened(path), "tensor `b`: it stands in M1-of-00002.gguf and in M2-of-00002.gguf");
  folder.Write("m-00002-of-00002.gguf", GgufPart(0, "a"));
  EXPECT_EQ(opened(path), "this is part 1 of 2 of a model, and M2-of-00002.gguf is part 1 of 2");
  folder.Write("m-00002-of-00002.gguf", "GGUX");
  EXPECT_EQ(opened(path),
            "this is part 1 of 2 of a model, and M2-of-00002.gguf: not a GGUF file: "
            "it does not begin with GGUF");
  path = folder.Write("part.gguf", GgufPart(0, "b"));
  EXPECT_EQ(opened(path),
            "this is part 1 of 2 of a model, and its name does not end in "
            "-00001-of-00002.gguf");
}

// ---- .safetensors ------------------------------------------------------------------------------

// The error of importing the only layer of a file.
std::string ImportError(const std::vector<RawTensor>& tensors, const ModelOptions& options = {}) {
  Folder folder;
  const auto model = Model::Open(folder.Write("m.safetensors", SafetensorsFile(tensors)), options);
  if (!model.ok()) return model.error().message;
  const auto source = model->weights()[0].read();
  if (!source.ok()) return source.error().message;
  const auto packed = PackedWeights::Pack(*source);
  return packed.ok() ? "no error" : packed.error().message;
}

std::string Words(size_t count, uint32_t value = 0) {
  return BytesOf(std::vector<uint32_t>(count, value));
}
std::string Halves(size_t count) { return BytesOf(std::vector<uint16_t>(count, 0x3800)); }

struct Shapes {
  std::vector<int64_t> qweight = {8, 32}, qzeros = {2, 4}, scales = {2, 32};
};

std::vector<RawTensor> GptqFile(const Shapes& shapes, const std::string& g_idx = "") {
  const auto count = [](const std::vector<int64_t>& shape) {
    return static_cast<size_t>(shape[0] * shape[1]);
  };
  std::vector<RawTensor> out = {{"l.qweight", "I32", shapes.qweight, Words(count(shapes.qweight))},
                                {"l.qzeros", "I32", shapes.qzeros, Words(count(shapes.qzeros))},
                                {"l.scales", "F16", shapes.scales, Halves(count(shapes.scales))}};
  if (!g_idx.empty()) {
    out.push_back({"l.g_idx", "I32", {static_cast<int64_t>(g_idx.size() / 4)}, g_idx});
  }
  return out;
}

TEST(Damage, GptqTensors) {
  const ModelOptions four{"gptq-v2", 4, 0};
  EXPECT_EQ(ImportError(GptqFile({}), four), "no error");
  EXPECT_NE(ImportError(GptqFile({})).find("the version of GPTQ is unknown"), std::string::npos);
  EXPECT_EQ(ImportError(GptqFile({}), {"gptq-v1", 0, 0}),
            "tensor `l.qweight`: it does not say how many bits a code has");
  EXPECT_EQ(ImportError(GptqFile({}), {"gptq-v2", 4, 16}),
            "tensor `l.scales`: its groups have 32 rows, and should have 16");
  EXPECT_EQ(ImportError(GptqFile({}), {"gptq-v2", 4, 48}),
            "tensor `l.scales`: groups of 48 rows do not divide 64 rows");
  EXPECT_EQ(ImportError(GptqFile({}), {"gptq-v2", 4, -1}),
            "tensor `l.scales`: its groups have 32 rows, and should have 64");
  const auto one_group = GptqFile({{8, 32}, {1, 4}, {1, 32}});
  EXPECT_EQ(ImportError(one_group, {"gptq-v2", 4, -1}), "no error");
  EXPECT_EQ(ImportError(one_group, {"gptq-v2", 4, 128}), "no error");  // of 64 rows, all there are
  EXPECT_EQ(ImportError(GptqFile({{8, 32}, {2, 3}, {2, 32}}), four),
            "tensor `l.qzeros`: its shape is [2, 3], and should be [2, 4]");
  EXPECT_EQ(ImportError(GptqFile({{8, 32}, {3, 4}, {3, 32}}), four),
            "tensor `l.scales`: 3 groups do not divide 64 rows");
  EXPECT_EQ(ImportError(GptqFile({{8, 32}, {2, 4}, {2, 31}}), four),
            "tensor `l.scales`: its shape is [2, 31], and should be [2, 32]");
  EXPECT_EQ(ImportError(GptqFile({}, Words(64, 2)), four),
            "tensor `l.g_idx`: row 0 is in group 2 of 2");
  EXPECT_EQ(ImportError(GptqFile({}, Words(64, 1)), four),
            "tensor `l.g_idx`: group 0 has 0 rows, and should have 32");
  auto floats = GptqFile({});
  floats[0].type = "F32";
  EXPECT_EQ(ImportError(floats, four), "tensor `l.qweight`: its type is f32, and should be i32");
  auto missing = GptqFile({});
  missing.erase(missing.begin() + 1);
  EXPECT_EQ(ImportError(missing, four), "tensor `l.qzeros`: it is missing");
  auto empty = GptqFile({{0, 32}, {2, 4}, {2, 32}});
  EXPECT_EQ(ImportError(empty, four),
            "tensor `l.qweight`: the extent 0 of its shape is not between 1 and 2147483647");
  auto nan = GptqFile({});
  nan[2].bytes = BytesOf(std::vector<uint16_t>(64, 0x7E00));
  EXPECT_EQ(ImportError(nan, four), "the scale of group 0, column 0 is nan");
}

TEST(Damage, OtherTensors) {
  EXPECT_NE(ImportError({{"l.weight", "F32", {2, 2}, Words(4)}}).find("no weights"),
            std::string::npos);
  EXPECT_EQ(ImportError({{"l.weight_packed", "I32", {4, 2}, Words(8)},
                         {"l.weight_shape", "I64", {2}, BytesOf(std::vector<int64_t>{4, 99})},
                         {"l.weight_scale", "F16", {4, 1}, Halves(4)}}),
            "tensor `l.weight_packed`: 2 words in a row do not hold weights [4, 99] of 0 bits");
  EXPECT_EQ(ImportError({{"l.weight", "I8", {4, 6}, std::string(24, 'x')},
                         {"l.weight_scale", "F32", {4, 4}, Words(16)}}),
            "tensor `l.weight_scale`: scales [4, 4] do not fit weights [4, 6]");
  EXPECT_EQ(ImportError({{"l.weight", "U8", {8, 1}, "abcdefgh"},
                         {"l.weight.absmax", "F32", {1}, Words(1)}}),
            "tensor `l.weight.quant_state.bitsandbytes__nf4`: it is missing, or not u8");
  EXPECT_EQ(ImportError({{"l.weight", "U8", {8, 1}, "abcdefgh"},
                         {"l.weight.absmax", "F32", {1}, Words(1)},
                         {"l.weight.quant_state.bitsandbytes__nf4", "U8", {2}, "[}"}}),
            "tensor `l.weight.quant_state.bitsandbytes__nf4`: it is no JSON object");
  EXPECT_EQ(ImportError({{"l.W_q", "U8", {2, 8}, std::string(16, 'x')},
                         {"l.nbits", "I32", {}, Words(1, 4)},
                         {"l.axis", "I32", {}, Words(1, 0)}}),
            "tensor `l.axis`: groups that do not lie along K are not supported");
}

TEST(Damage, ExpertsThatCannotBeImported) {
  const auto errors = [](int64_t experts) {
    const auto count = static_cast<size_t>(experts);
    return ErrorsOf(
        "m.safetensors",
        SafetensorsFile({{"l_blocks", "U8", {experts, 1, 1, 16}, std::string(16 * count, 'x')},
                         {"l_scales", "U8", {experts, 1, 1}, std::string(count, 'x')}}));
  };
  EXPECT_EQ(errors(2), Lines({"l.0, mxfp4: no error", "l.1, mxfp4: no error"}));
  EXPECT_EQ(errors(0), Lines({"l, mxfp4: tensor `l_blocks`: an extent of its shape is 0"}));
  EXPECT_EQ(errors(4097), Lines({"l, mxfp4: tensor `l_blocks`: it has 4097 matrices, and at most "
                                 "4096 can be imported"}));
}

// The only tensor that is lost is the one of an unknown type, and only where it matters.
TEST(Damage, TypesThatAreUnknown) {
  const RawTensor weight = {"l.weight", "I8", {1, 1}, "x"};
  const RawTensor scale = {"l.weight_scale", "F32", {1}, Words(1, 0x3F000000)};
  EXPECT_EQ(ErrorsOf("m.safetensors", SafetensorsFile({weight, scale, {"bias", "F4", {3}, "xx"}})),
            Lines({"l, compressed-tensors: no error"}));
  EXPECT_EQ(
      ErrorsOf("m.safetensors", SafetensorsFile({weight, {"l.weight_scale", "F6_E2M3", {1}, "x"}})),
      Lines({"l, compressed-tensors: tensor `l.weight_scale`: its type F6_E2M3 is unknown"}));
  EXPECT_EQ(ErrorsOf("m.safetensors",
                     SafetensorsFile({weight, scale, {"l.weight_zero_point", "U4", {2}, "x"}})),
            Lines({"l, compressed-tensors: tensor `l.weight_zero_point`: its type U4 is unknown"}));
  EXPECT_EQ(
      ErrorsOf("m.safetensors", SafetensorsFile({weight, scale, {"m.weight", "F4", {2, 1}, "x"}})),
      Lines(
          {"l, compressed-tensors: no error", "m, F4: tensor `m.weight`: its type F4 is unknown"}));
  auto gptq = GptqFile({});
  gptq[2] = {"l.scales", "F4", {2, 64}, std::string(64, 'x')};
  EXPECT_EQ(ImportError(gptq, {"gptq-v2", 4, 0}), "tensor `l.scales`: its type F4 is unknown");
}

TEST(Damage, NamesWithControlCharacters) {
  auto gptq = GptqFile({});
  for (RawTensor& tensor : gptq) tensor.name.insert(1, "\\n\\u001b");  // as JSON escapes them
  EXPECT_EQ(ImportError(gptq, {"gptq-v2", 4, 16}),
            "tensor `l\\x0a\\x1b.scales`: its groups have 32 rows, and should have 16");
}

TEST(Damage, FileNames) {
  EXPECT_EQ(FileNameOf("model.layers.0.q_proj"), "model.layers.0.q_proj");
  EXPECT_EQ(FileNameOf("../../etc/passwd"), "_.._.._etc_passwd");
  EXPECT_EQ(FileNameOf(""), "_");
}

}  // namespace
}  // namespace tarsia::weights
