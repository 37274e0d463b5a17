// Tensor maps that a kernel changes field by field: what comes out is the map that the driver would
// have encoded.
#include "ptx/memory/tensor_map.h"
#include "tests/unit/ptx/row_testing.h"

namespace tarsia::ptx::tensormap_test {
namespace {

std::vector<uint8_t> BytesOf(const TensorMap::Tiles& tiles) {
  const auto map = TensorMap::Tiled(tiles);
  EXPECT_TRUE(map.ok());
  if (!map.ok()) return {};
  const auto bytes = map->Encode();
  return {bytes.begin(), bytes.end()};
}

// A warp that has the map at [p] in shared memory at r1, p1 being its first thread.
std::string Entry(const std::string& body) {
  return R"(.version 8.6
.target sm_90a
.address_size 64
.shared .align 128 .b8 map[128];
.visible .entry k(.param .u64 p, .param .u64 o) {
.reg .pred p<4>; .reg .b32 r<8>; .reg .b64 rd<8>;
ld.param.u64 rd0, [p]; ld.param.u64 rd1, [o]; mov.u32 r0, %tid.x; mov.u32 r1, map;
setp.eq.u32 p1, r0, 0; mul.wide.u32 rd2, r0, 4; add.u64 rd2, rd2, rd0;
shl.b32 r2, r0, 2; add.u32 r2, r2, r1; ld.global.u32 r3, [rd2]; st.shared.u32 [r2], r3;
mov.u64 rd3, 0x12340; mov.u32 r4, 48; mov.u64 rd4, 4096;
bar.warp.sync -1;
)" + body +
         "\nret;\n}\n";
}

std::string Copy(const std::string& scope = "gpu") {
  return "\nbar.warp.sync "
         "-1;\ntensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release." +
         scope + ".sync.aligned [rd1], [r1], 128;";
}

TensorMap::Tiles Before() {
  TensorMap::Tiles tiles;
  tiles.type = MapType::kU8;
  tiles.rank = 3;
  tiles.address = 0x1000;
  tiles.sizes = {64, 8, 4, 1, 1};
  tiles.strides = {64, 512, 0, 0};
  tiles.box = {16, 4, 2, 1, 1};
  return tiles;
}

std::vector<uint8_t> Changed(const std::string& body) {
  Machine machine(Entry(body));
  const uint64_t from = machine.Put(BytesOf(Before()));
  const uint64_t to = machine.Room(128);
  EXPECT_EQ(Text(machine.Run("k", {1}, {32}, {from, to})), "");
  return machine.Get<uint8_t>(to, 128);
}

TEST(Tensormap, ReplacesEveryField) {
  TensorMap::Tiles after;
  after.type = MapType::kBF16;
  after.rank = 4;
  after.address = 0x12340;
  after.sizes = {48, 3, 5, 7, 1};
  after.strides = {96, 4096, 16384, 0};
  after.box = {16, 2, 3, 4, 1};
  after.element_strides = {1, 2, 1, 3, 1};
  after.swizzle = MapSwizzle::k64B;
  after.fill = MapFill::kNaN;
  const std::string replace = "@p1 tensormap.replace.tile.";
  EXPECT_EQ(Changed(replace + "elemtype.shared::cta.b1024.b32 [r1], 10;\n" + replace +
                    "rank.shared::cta.b1024.b32 [r1], 3;\n" + replace +
                    "global_address.shared::cta.b1024.b64 [r1], rd3;\n" + replace +
                    "global_dim.shared::cta.b1024.b32 [r1], 0, r4;\n" + replace +
                    "global_dim.shared::cta.b1024.b32 [r1], 1, 3;\n" + replace +
                    "global_dim.shared::cta.b1024.b32 [r1], 2, 5;\n" + replace +
                    "global_dim.shared::cta.b1024.b32 [r1], 3, 7;\n" + replace +
                    "global_stride.shared::cta.b1024.b64 [r1], 0, 96;\n" + replace +
                    "global_stride.shared::cta.b1024.b64 [r1], 1, rd4;\n" + replace +
                    "global_stride.shared::cta.b1024.b64 [r1], 2, 16384;\n" + replace +
                    "box_dim.shared::cta.b1024.b32 [r1], 1, 2;\n" + replace +
                    "box_dim.shared::cta.b1024.b32 [r1], 2, 3;\n" + replace +
                    "box_dim.shared::cta.b1024.b32 [r1], 3, 4;\n" + replace +
                    "element_stride.shared::cta.b1024.b32 [r1], 1, 2;\n" + replace +
                    "element_stride.shared::cta.b1024.b32 [r1], 3, 3;\n" + replace +
                    "swizzle_mode.shared::cta.b1024.b32 [r1], 2;\n" + replace +
                    "fill_mode.shared::cta.b1024.b32 [r1], 1;\n" + Copy()),
            BytesOf(after));
  Covers(Op::kTensormapReplace);
  Covers(Op::kTensormapReplaceNumbered);
  Covers(Op::kTensormapCopy);
}

// 128 zero bytes, and then every field: Triton makes its maps so.
TEST(Tensormap, BeginsAsZeros) {
  TensorMap::Tiles after;
  after.type = MapType::kF16;
  after.rank = 5;
  after.address = 0x12340;
  after.sizes = {48, 3, 5, 7, 9};
  after.strides = {96, 4096, 16384, 32768};
  after.box = {16, 2, 3, 4, 5};
  after.element_strides = {1, 2, 1, 3, 1};
  after.swizzle = MapSwizzle::k32B;
  std::string body = "st.shared.u32 [r2], 0;\nbar.warp.sync -1;\n";
  const auto replace = [&](const std::string& field, const std::string& type,
                           const std::string& values) {
    body += "@p1 tensormap.replace.tile." + field + ".shared::cta.b1024." + type + " [r1], " +
            values + ";\n";
  };
  replace("global_address", "b64", "rd3");
  replace("rank", "b32", "4");
  for (size_t i = 0; i < 5; ++i) {
    replace("box_dim", "b32", fmt::format("{}, {}", i, after.box[i]));
    replace("global_dim", "b32", fmt::format("{}, {}", i, after.sizes[i]));
    replace("element_stride", "b32", fmt::format("{}, {}", i, after.element_strides[i]));
    if (i < 4) replace("global_stride", "b64", fmt::format("{}, {}", i, after.strides[i]));
  }
  replace("elemtype", "b32", "6");
  replace("interleave_layout", "b32", "0");
  replace("swizzle_mode", "b32", "1");
  replace("fill_mode", "b32", "0");
  EXPECT_EQ(Changed(body + Copy()), BytesOf(after));
}

// PTX numbers the types in an order of its own.
TEST(Tensormap, KnowsEveryType) {
  const MapType types[] = {MapType::kU8,     MapType::kU16, MapType::kU32,  MapType::kS32,
                           MapType::kU64,    MapType::kS64, MapType::kF16,  MapType::kF32,
                           MapType::kF32Ftz, MapType::kF64, MapType::kBF16, MapType::kTF32,
                           MapType::kTF32Ftz};
  for (size_t i = 0; i < std::size(types); ++i) {
    TensorMap::Tiles after = Before();
    after.type = types[i];
    EXPECT_EQ(Changed(fmt::format("@p1 tensormap.replace.tile.elemtype.b1024.b32 [rd5], {};\n", i)
                          .insert(0, "mov.u64 rd5, map; cvta.shared.u64 rd5, rd5;\n") +
                      Copy(i % 2 == 0 ? "cta" : "sys")),
              BytesOf(after));
  }
  TensorMap::Tiles after = Before();
  after.interleave = MapInterleave::k16B;
  EXPECT_EQ(Changed("@p1 tensormap.replace.tile.interleave_layout.shared::cta.b1024.b32 [r1], 1;" +
                    Copy("cluster")),
            BytesOf(after));
}

TEST(Tensormap, ReplacesInGlobalMemory) {
  Machine machine(
      Entry("@p1 tensormap.replace.tile.global_address.global.b1024.b64 [rd0], rd3;\n"
            "@p1 tensormap.replace.tile.box_dim.global.b1024.b32 [rd0], 1, 8;"));
  const uint64_t map = machine.Put(BytesOf(Before()));
  EXPECT_EQ(Text(machine.Run("k", {1}, {32}, {map, 0})), "");
  TensorMap::Tiles after = Before();
  after.address = 0x12340;
  after.box[1] = 8;
  EXPECT_EQ(machine.Get<uint8_t>(map, 128), BytesOf(after));
}

TEST(Tensormap, FindsFaults) {
  const auto found = [](const std::string& body) {
    Machine machine(Entry(body));
    return Text(machine.Run("k", {1}, {32}, {machine.Put(BytesOf(Before())), machine.Room(128)}));
  };
  const auto expect = [](const std::string& text, const std::string& words) {
    EXPECT_NE(text.find(words), std::string::npos) << text;
  };
  const std::string rank = "@p1 tensormap.replace.tile.rank.shared::cta.b1024.b32 ";
  expect(found("@p1 st.shared.u32 [r1+8], 77;\n" + rank + "[r1], 1;"), "are not a tensor map");
  // Bytes that nobody wrote are no zeros.
  expect(found(".shared .align 128 .b8 raw[128];\nmov.u32 r1, raw;\n" + rank + "[r1], 1;"),
         "the tensor map depends on bits that were never written");
  expect(found(rank + "[r1+64], 1;"), "out_of_bounds");
  expect(found(rank + "[r1+32], 1;"), "misaligned");
  expect(found(rank + "[r1], r5;"), "uninitialised");
  expect(found("setp.lt.u32 p2, r0, 9; @p2 bra half; bra done; half:" + Copy() + "\ndone:"),
         "divergence");
  for (const char* text :
       {"replace.tile.elemtype.b1024.b32 [rd0], 13;", "replace.tile.elemtype.b1024.b32 [rd0], r0;",
        "replace.tile.rank.b1024.b64 [rd0], 1;", "replace.tile.global_address.b1024.b32 [rd0], 1;",
        "replace.tile.box_dim.b1024.b32 [rd0], 5, 1;",
        "replace.tile.global_stride.b1024.b64 [rd0], 4, 16;",
        "replace.tile.global_stride.b1024.b32 [rd0], 1, 16;",
        "replace.tile.box_dim.b1024.b32 [rd0], 16;"}) {
    EXPECT_NE(ErrorsOf(Entry("tensormap." + std::string(text))), "") << text;
  }
}

}  // namespace
}  // namespace tarsia::ptx::tensormap_test
