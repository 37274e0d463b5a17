// Tensor maps and the copies that use them, against plain formulas over bytes.
#include <random>

#include "ptx/memory/tensor_map.h"
#include "tests/unit/ptx/row_testing.h"

namespace tarsia::ptx::tensor_test {
namespace {

constexpr uint32_t kBoxBytes = 8192;  // of shared memory that is looked at
constexpr uint8_t kUntouched = 0xEE;

// An entry over a warp; p1 says that a thread is the first. rd0 is the address of the map, rd1 of
// what is written, c0 to c4 are coordinates, r1 an mbarrier for one arrival, r2 the box, which is
// aligned to 1024 bytes and holds 0xEE.., r3 the thread's number in bytes of its word.
std::string Entry(const std::string& body) {
  return R"(.version 8.6
.target sm_90a
.address_size 64
.shared .align 16 .b8 bar[16];
.shared .align 1024 .b8 box[8192];
.visible .entry k(.param .align 64 .b8 map[128], .param .u64 out, .param .u64 at0,
                  .param .u64 at1, .param .u64 at2, .param .u64 at3, .param .u64 at4) {
.reg .pred p<8>; .reg .b16 h<4>; .reg .b32 r<24>; .reg .b32 c<5>; .reg .b64 rd<16>;
mov.u64 rd0, map; cvta.param.u64 rd0, rd0; ld.param.u64 rd1, [out]; mov.u64 rd9, 0;
ld.param.u32 c0, [at0]; ld.param.u32 c1, [at1]; ld.param.u32 c2, [at2]; ld.param.u32 c3, [at3];
ld.param.u32 c4, [at4];
mov.u32 r0, %tid.x; setp.eq.u32 p1, r0, 0; mov.u32 r1, bar; mov.u32 r2, box; shl.b32 r3, r0, 2;
mov.u32 r4, r3;
fill: add.u32 r5, r2, r4; st.shared.u32 [r5], 0xEEEEEEEE;
add.u32 r4, r4, 128; setp.lt.u32 p2, r4, 8192; @p2 bra fill;
@p1 mbarrier.init.shared.b64 [r1], 1;
fence.mbarrier_init.release.cluster; fence.proxy.async;
barrier.cluster.arrive; barrier.cluster.wait;
)" + body +
         "\nret;\n}\n";
}

// Waits for the mbarrier and copies the box to where rd1 points.
constexpr char kDump[] = R"(
spin: mbarrier.try_wait.parity.shared.b64 p3, [r1], 0;
@!p3 bra spin;
mov.u32 r4, r3; cvt.u64.u32 rd2, r3; add.u64 rd2, rd2, rd1;
dump: add.u32 r5, r2, r4; ld.shared.u32 r6, [r5]; st.global.u32 [rd2], r6;
add.u64 rd2, rd2, 128; add.u32 r4, r4, 128; setp.lt.u32 p2, r4, 8192; @p2 bra dump;
)";

std::string Coordinates(int rank) {
  std::string list;
  for (int i = 0; i < rank; ++i) list += fmt::format("{}c{}", i == 0 ? "" : ", ", i);
  return "{" + list + "}";
}

struct Tensor {
  TensorMap::Tiles tiles;
  std::vector<uint8_t> bytes;  // from the address on
};

// A tensor of random bytes whose rows are longer than their elements.
Tensor MakeTensor(MapType type, const std::vector<uint64_t>& sizes,
                  const std::vector<uint32_t>& box, MapSwizzle swizzle = MapSwizzle::kNone) {
  Tensor tensor;
  TensorMap::Tiles& tiles = tensor.tiles;
  tiles.type = type;
  tiles.swizzle = swizzle;
  tiles.rank = static_cast<int>(sizes.size());
  uint64_t stride = static_cast<uint64_t>(BytesOf(InfoOf(type).type));
  for (size_t i = 0; i < sizes.size(); ++i) {
    tiles.sizes[i] = sizes[i];
    tiles.box[i] = box[i];
    stride = (stride * sizes[i] + 15) / 16 * 16 + (i == 0 ? 32 : 0);
    if (i < 4) tiles.strides[i] = stride;
  }
  tensor.bytes.resize(stride);
  std::mt19937 random(static_cast<uint32_t>(stride) + static_cast<uint32_t>(swizzle));
  for (uint8_t& byte : tensor.bytes) byte = static_cast<uint8_t>(random());
  return tensor;
}

std::vector<uint64_t> WordsOf(const TensorMap& map, uint64_t out,
                              const std::vector<int32_t>& corner) {
  const auto bytes = map.Encode();
  std::vector<uint64_t> words(16);
  std::memcpy(words.data(), bytes.data(), bytes.size());
  words.push_back(out);
  for (size_t i = 0; i < 5; ++i) {
    words.push_back(i < corner.size() ? static_cast<uint32_t>(corner[i]) : 0);
  }
  return words;
}

// f(offset in a tensor or nothing, place in shared memory after the box's address) of every
// element. `base` is where the box begins after a multiple of 1024.
template <typename F>
void ForElements(const TensorMap::Tiles& t, const std::vector<int32_t>& corner, uint64_t base,
                 const F& f) {
  const uint64_t size = static_cast<uint64_t>(BytesOf(InfoOf(t.type).type));
  std::vector<uint64_t> count(5, 1);
  for (int d = 0; d < t.rank; ++d) {
    const uint32_t step = d == 0 ? 1 : t.element_strides[d];
    count[d] = (t.box[d] + step - 1) / step;
  }
  const uint64_t spans[] = {0, 32, 64, 128};
  const uint64_t pitch = std::max(count[0] * size, spans[static_cast<size_t>(t.swizzle)]);
  uint64_t row = 0;
  for (uint64_t a = 0; a < count[4]; ++a) {
    for (uint64_t b = 0; b < count[3]; ++b) {
      for (uint64_t c = 0; c < count[2]; ++c) {
        for (uint64_t d = 0; d < count[1]; ++d, ++row) {
          for (uint64_t e = 0; e < count[0]; ++e) {
            const uint64_t at[] = {e, d, c, b, a};
            bool inside = true;
            uint64_t offset = 0;
            for (int i = 0; i < t.rank; ++i) {
              const int64_t x = corner[i] + static_cast<int64_t>(at[i]) *
                                                (i == 0 ? 1 : int64_t{t.element_strides[i]});
              inside = inside && x >= 0 && x < static_cast<int64_t>(t.sizes[i]);
              offset += static_cast<uint64_t>(x) * (i == 0 ? size : t.strides[i - 1]);
            }
            uint64_t place = base + row * pitch + e * size;
            // The published rule: chunks of 16 bytes are exchanged by the row within 1024 bytes.
            const uint64_t chunk = place / 16 % 8;
            const uint64_t line = place / 128 % 8;
            uint64_t moved = chunk;
            if (t.swizzle == MapSwizzle::k128B) moved = chunk ^ line;
            if (t.swizzle == MapSwizzle::k64B) moved = chunk ^ (line % 4);
            if (t.swizzle == MapSwizzle::k32B) moved = chunk ^ (line % 2);
            place = place - chunk * 16 + moved * 16;
            f(inside, offset, place, size);
          }
        }
      }
    }
  }
}

// Loads a box `base` bytes into the shared one and gives all of that.
std::vector<uint8_t> RunLoad(Tensor tensor, const std::vector<int32_t>& corner, uint64_t base,
                             const std::string& form = "shared::cluster.global.tile",
                             const std::string& hint = "", bool map_in_global = false) {
  const int rank = tensor.tiles.rank;
  const std::string load = fmt::format(
      "@p1 cp.async.bulk.tensor.{}d.{}.mbarrier::complete_tx::bytes{} [r7], [rd0, {}], [r1]{};\n",
      rank, form, hint, Coordinates(rank), hint.empty() ? "" : ", rd9");
  Machine scratch(Entry(""));
  uint64_t bytes = static_cast<uint64_t>(BytesOf(InfoOf(tensor.tiles.type).type));
  for (int d = 0; d < rank; ++d) {
    const uint32_t step = d == 0 ? 1 : tensor.tiles.element_strides[d];
    bytes *= (tensor.tiles.box[d] + step - 1) / step;
  }
  Machine machine(Entry((map_in_global ? "add.u64 rd0, rd1, 8192;\n" : "") +
                        fmt::format("add.u32 r7, r2, {};\n@p1 mbarrier.arrive.expect_tx.shared.b64 "
                                    "_, [r1], {};\n",
                                    base, bytes) +
                        load + kDump));
  tensor.tiles.address = machine.Put(tensor.bytes);
  const auto map = TensorMap::Tiled(tensor.tiles);
  EXPECT_TRUE(map.ok());
  if (!map.ok()) return {};
  std::vector<uint8_t> out_bytes(kBoxBytes, 0);
  const auto encoded = map->Encode();
  out_bytes.insert(out_bytes.end(), encoded.begin(), encoded.end());
  const uint64_t out = machine.Put(out_bytes);
  std::vector<uint64_t> words = WordsOf(*map, out, corner);
  if (map_in_global) std::fill(words.begin(), words.begin() + 16, 0);
  EXPECT_EQ(Text(machine.Run("k", {1}, {32}, words)), "") << load;
  return machine.Get<uint8_t>(out, kBoxBytes);
}

void CheckLoad(const Tensor& tensor, const std::vector<int32_t>& corner, uint64_t base = 0,
               const std::string& form = "shared::cluster.global.tile",
               const std::string& hint = "", bool map_in_global = false) {
  std::vector<uint8_t> expected(kBoxBytes, kUntouched);
  uint64_t fill = 0;
  if (tensor.tiles.fill == MapFill::kNaN) fill = 0x7FFF;
  if (tensor.tiles.fill == MapFill::kNaN && BytesOf(InfoOf(tensor.tiles.type).type) == 4) {
    fill = 0x7FFFFFFF;
  }
  ForElements(tensor.tiles, corner, base,
              [&](bool inside, uint64_t offset, uint64_t place, uint64_t size) {
                if (inside) {
                  std::memcpy(&expected[place], &tensor.bytes[offset], size);
                } else {
                  std::memcpy(&expected[place], &fill, size);
                }
              });
  EXPECT_EQ(RunLoad(tensor, corner, base, form, hint, map_in_global), expected)
      << form << " rank " << tensor.tiles.rank;
}

TEST(Tensor, LoadsBoxesOfEveryRank) {
  CheckLoad(MakeTensor(MapType::kU32, {40}, {24}), {3}, 0, "shared::cta.global");
  CheckLoad(MakeTensor(MapType::kU8, {70, 20}, {32, 9}), {5, 2}, 128, "shared::cluster.global");
  CheckLoad(MakeTensor(MapType::kU16, {30, 9, 5}, {16, 4, 3}), {2, 1, 1}, 0,
            "shared::cta.global.tile");
  CheckLoad(MakeTensor(MapType::kF64, {8, 5, 4, 3}, {4, 3, 2, 2}), {1, 1, 1, 1}, 256,
            "shared::cluster.global.tile", ".L2::cache_hint");
  CheckLoad(MakeTensor(MapType::kBF16, {16, 4, 3, 3, 2}, {8, 2, 2, 2, 2}), {4, 1, 0, 1, 0}, 0,
            "shared::cluster.global.tile", "", true);
  Covers(Op::kTensorLoad);
}

TEST(Tensor, FillsWhatIsBeyondTheTensor) {
  for (const MapFill fill : {MapFill::kZeros, MapFill::kNaN}) {
    for (const MapType type : {MapType::kF16, MapType::kTF32, MapType::kBF16}) {
      Tensor tensor = MakeTensor(type, {20, 7, 3}, {16, 5, 2});
      tensor.tiles.fill = fill;
      CheckLoad(tensor, {-3, -2, 0});
      CheckLoad(tensor, {11, 4, 2});
      CheckLoad(tensor, {100, 0, 0});
      CheckLoad(tensor, {0, 0, -5});
    }
  }
}

TEST(Tensor, Swizzles) {
  for (const MapSwizzle swizzle : {MapSwizzle::k32B, MapSwizzle::k64B, MapSwizzle::k128B}) {
    const uint32_t span = 16U << static_cast<uint32_t>(swizzle);
    for (const uint64_t base : {0, 128, 640}) {
      CheckLoad(MakeTensor(MapType::kU8, {200, 40}, {span, 24}, swizzle), {7, 3}, base);
      CheckLoad(MakeTensor(MapType::kF16, {100, 20, 3}, {span / 2, 8, 2}, swizzle), {-5, 15, 1},
                base);
      CheckLoad(MakeTensor(MapType::kU32, {50, 20}, {span / 4, 9}, swizzle), {45, 2}, base);
    }
  }
  // Rows that are shorter than the swizzle's span are a span apart.
  CheckLoad(MakeTensor(MapType::kF16, {64, 20}, {16, 8}, MapSwizzle::k128B), {3, 2});
}

TEST(Tensor, StepsOverElements) {
  Tensor tensor = MakeTensor(MapType::kU16, {32, 20, 9}, {16, 7, 5});
  tensor.tiles.element_strides = {1, 3, 2, 1, 1};
  CheckLoad(tensor, {4, 6, 2});
  tensor.tiles.swizzle = MapSwizzle::k32B;
  CheckLoad(tensor, {20, 10, 3});
}

TEST(Tensor, FlushesSubnormals) {
  Tensor tensor = MakeTensor(MapType::kF32Ftz, {4}, {4});
  const uint32_t words[] = {0x00000001, 0x807FFFFF, 0x3F800000, 0x00800000};
  std::memcpy(tensor.bytes.data(), words, sizeof words);
  const auto got = RunLoad(tensor, {0}, 0);
  uint32_t out[4];
  std::memcpy(out, got.data(), sizeof out);
  EXPECT_EQ(std::vector<uint32_t>(out, out + 4),
            (std::vector<uint32_t>{0, 0x80000000, 0x3F800000, 0x00800000}));
}

// ---- stores and reductions -------------------------------------------------------------------

// Stores the box, filled with words 0x1000 + i, and gives the tensor's bytes afterwards.
std::vector<uint8_t> RunStore(Tensor tensor, const std::vector<int32_t>& corner,
                              const std::string& instruction, const std::string& hint = "") {
  const int rank = tensor.tiles.rank;
  Machine machine(
      Entry(fmt::format(R"(
mov.u32 r4, r3;
words: add.u32 r5, r2, r4; shr.u32 r6, r4, 2; add.u32 r6, r6, 0x1000; st.shared.u32 [r5], r6;
add.u32 r4, r4, 128; setp.lt.u32 p2, r4, 8192; @p2 bra words;
fence.proxy.async.shared::cta; bar.warp.sync -1;
@p1 {}.bulk_group{} [rd0, {}], [r2]{};
@p1 cp.async.bulk.commit_group;
@p1 cp.async.bulk.wait_group 0;
)",
                        instruction, hint, Coordinates(rank), hint.empty() ? "" : ", rd9")));
  tensor.tiles.address = machine.Put(tensor.bytes);
  const auto map = TensorMap::Tiled(tensor.tiles);
  EXPECT_TRUE(map.ok());
  if (!map.ok()) return {};
  EXPECT_EQ(Text(machine.Run("k", {1}, {32}, WordsOf(*map, 0, corner))), "") << instruction;
  return machine.Get<uint8_t>(tensor.tiles.address, tensor.bytes.size());
}

template <typename F>
void CheckStore(const Tensor& tensor, const std::vector<int32_t>& corner,
                const std::string& instruction, const F& formula, const std::string& hint = "") {
  std::vector<uint8_t> box(kBoxBytes);
  for (uint32_t i = 0; i < kBoxBytes / 4; ++i) {
    const uint32_t word = 0x1000 + i;
    std::memcpy(&box[i * 4], &word, 4);
  }
  std::vector<uint8_t> expected = tensor.bytes;
  ForElements(tensor.tiles, corner, 0,
              [&](bool inside, uint64_t offset, uint64_t place, uint64_t size) {
                if (!inside) return;
                uint64_t old = 0;
                uint64_t value = 0;
                std::memcpy(&old, &tensor.bytes[offset], size);
                std::memcpy(&value, &box[place], size);
                value = formula(old, value);
                std::memcpy(&expected[offset], &value, size);
              });
  EXPECT_EQ(RunStore(tensor, corner, instruction, hint), expected) << instruction;
}

TEST(Tensor, StoresBoxesOfEveryRank) {
  const auto last = [](uint64_t, uint64_t value) { return value; };
  const std::string start = "cp.async.bulk.tensor.";
  CheckStore(MakeTensor(MapType::kU8, {40}, {32}), {20}, start + "1d.global.shared::cta", last);
  CheckStore(MakeTensor(MapType::kF16, {70, 20}, {64, 9}, MapSwizzle::k128B), {-5, 15},
             start + "2d.global.shared::cta.tile", last, ".L2::cache_hint");
  CheckStore(MakeTensor(MapType::kU32, {30, 9, 5}, {8, 4, 3}, MapSwizzle::k32B), {2, 1, 3},
             start + "3d.global.shared::cta.tile", last);
  CheckStore(MakeTensor(MapType::kS64, {8, 5, 4, 3}, {4, 3, 2, 2}), {1, 1, 3, 1},
             start + "4d.global.shared::cta.tile", last);
  CheckStore(MakeTensor(MapType::kBF16, {16, 4, 3, 3, 2}, {8, 2, 2, 2, 2}), {4, 1, 0, 2, 0},
             start + "5d.global.shared::cta.tile", last);
  Covers(Op::kTensorStore);
}

TEST(Tensor, Reduces) {
  struct Case {
    std::string op;
    uint64_t (*formula)(uint64_t old, uint64_t value);
  };
  const Case cases[] = {
      {"1d.global.shared::cta.add", [](uint64_t a, uint64_t b) { return a + b; }},
      {"2d.global.shared::cta.min.tile", [](uint64_t a, uint64_t b) { return std::min(a, b); }},
      {"3d.global.shared::cta.max.tile", [](uint64_t a, uint64_t b) { return std::max(a, b); }},
      {"4d.global.shared::cta.inc", [](uint64_t a, uint64_t b) { return a >= b ? 0 : a + 1; }},
      {"5d.global.shared::cta.dec",
       [](uint64_t a, uint64_t b) { return a == 0 || a > b ? b : a - 1; }},
      {"1d.global.shared::cta.and", [](uint64_t a, uint64_t b) { return a & b; }},
      {"2d.global.shared::cta.or", [](uint64_t a, uint64_t b) { return a | b; }},
      {"3d.global.shared::cta.xor", [](uint64_t a, uint64_t b) { return a ^ b; }},
  };
  const std::vector<uint64_t> sizes = {20, 5, 3, 2, 2};
  const std::vector<uint32_t> box = {8, 4, 2, 1, 2};
  const std::vector<int32_t> corner = {15, -1, 1, 0, 0};
  for (const Case& c : cases) {
    const auto rank = static_cast<size_t>(c.op[0] - '0');
    CheckStore(MakeTensor(MapType::kU32, {sizes.begin(), sizes.begin() + rank},
                          {box.begin(), box.begin() + rank}, MapSwizzle::k32B),
               {corner.begin(), corner.begin() + static_cast<int>(rank)},
               "cp.reduce.async.bulk.tensor." + c.op, c.formula,
               rank == 2 ? ".L2::cache_hint" : "");
  }
  Covers(Op::kTensorReduce);
}

// ---- clusters, hints, faults -----------------------------------------------------------------

TEST(Tensor, SendsToManyBlocks) {
  for (const std::string words : {"2d.shared::cluster.global.tile", "2d.shared::cluster.global"}) {
    for (const std::string hint : {"", ".L2::cache_hint"}) {
      Machine machine(Entry(R"(
mov.u32 r8, %cluster_ctarank; mul.wide.u32 rd3, r8, 8192; add.u64 rd1, rd1, rd3; mov.b16 h1, 5;
setp.eq.u32 p4, r8, 2; and.pred p5, p1, p4; setp.eq.u32 p6, r8, 1;
@p6 bra done;
@p1 mbarrier.arrive.expect_tx.shared.b64 _, [r1], 512;
@p5 cp.async.bulk.tensor.)" +
                            words + ".mbarrier::complete_tx::bytes.multicast::cluster" + hint +
                            " [r2], [rd0, {c0, c1}], [r1], h1" + (hint.empty() ? "" : ", rd9") +
                            ";\n" + kDump + "done: barrier.cluster.arrive; barrier.cluster.wait;"));
      Tensor tensor = MakeTensor(MapType::kF16, {50, 20}, {32, 8}, MapSwizzle::k64B);
      tensor.tiles.address = machine.Put(tensor.bytes);
      const uint64_t out = machine.Put(std::vector<uint8_t>(3 * kBoxBytes, 1));
      LaunchConfig config;
      config.cluster = {3, 1, 1};
      const auto map = TensorMap::Tiled(tensor.tiles);
      ASSERT_TRUE(map.ok());
      EXPECT_EQ(Text(machine.Run("k", {3}, {32}, WordsOf(*map, out, {5, 6}), config)), "");
      std::vector<uint8_t> box(kBoxBytes, kUntouched);
      ForElements(tensor.tiles, {5, 6}, 0,
                  [&](bool inside, uint64_t offset, uint64_t place, uint64_t size) {
                    ASSERT_TRUE(inside);
                    std::memcpy(&box[place], &tensor.bytes[offset], size);
                  });
      EXPECT_EQ(machine.Get<uint8_t>(out, kBoxBytes), box);
      EXPECT_EQ(machine.Get<uint8_t>(out + kBoxBytes, kBoxBytes),
                std::vector<uint8_t>(kBoxBytes, 1));
      EXPECT_EQ(machine.Get<uint8_t>(out + 2 * kBoxBytes, kBoxBytes), box);
    }
  }
  for (const std::string other : {"1d", "3d", "4d", "5d"}) {
    const int rank = other[0] - '0';
    Machine machine(
        Entry("@p1 mbarrier.arrive.expect_tx.shared.b64 _, [r1], 16; mov.b16 h1, 1;\n"
              "@p1 cp.async.bulk.tensor." +
              other +
              ".shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::"
              "cluster [r2], [rd0, " +
              Coordinates(rank) + "], [r1], h1;\n" + kDump));
    Tensor tensor = MakeTensor(MapType::kU8, std::vector<uint64_t>(static_cast<size_t>(rank), 16),
                               rank == 1   ? std::vector<uint32_t>{16}
                               : rank == 3 ? std::vector<uint32_t>{16, 1, 1}
                               : rank == 4 ? std::vector<uint32_t>{16, 1, 1, 1}
                                           : std::vector<uint32_t>{16, 1, 1, 1, 1});
    tensor.tiles.address = machine.Put(tensor.bytes);
    const uint64_t out = machine.Room(kBoxBytes);
    const auto map = TensorMap::Tiled(tensor.tiles);
    ASSERT_TRUE(map.ok());
    EXPECT_EQ(Text(machine.Run("k", {1}, {32}, WordsOf(*map, out, {0, 0, 0, 0, 0}))), "");
    EXPECT_EQ(machine.Get<uint8_t>(out, 16),
              std::vector<uint8_t>(tensor.bytes.begin(), tensor.bytes.begin() + 16));
  }
  Covers(Op::kTensorMulticast);
}

struct Faulty {
  LaunchReport report;
  std::string text;
};

Faulty RunFaulty(const std::string& body, Tensor tensor, bool good_map = true) {
  Machine machine(Entry(body));
  tensor.tiles.address = machine.Put(tensor.bytes);
  const auto map = TensorMap::Tiled(tensor.tiles);
  EXPECT_TRUE(map.ok());
  auto words = WordsOf(*map, machine.Room(256), {0, 0, 0, 0, 0});
  if (!good_map) words[4] ^= 1;
  Faulty faulty;
  faulty.report = machine.Run("k", {1}, {32}, words);
  faulty.text = Text(faulty.report);
  return faulty;
}

TEST(Tensor, PrefetchesAreHints) {
  for (int rank = 1; rank <= 5; ++rank) {
    const std::string at = "[rd0, " + Coordinates(rank) + "]";
    const Faulty run =
        RunFaulty(fmt::format("prefetch.tensormap [rd0]; prefetch.param.tensormap [map];\n"
                              "cp.async.bulk.prefetch.tensor.{}d.L2.global.tile {};\n"
                              "cp.async.bulk.prefetch.tensor.{}d.L2.global.L2::cache_hint {}, rd9;",
                              rank, at, rank, at),
                  MakeTensor(MapType::kU32, std::vector<uint64_t>(static_cast<size_t>(rank), 4),
                             {4, 1, 1, 1, 1}));
    EXPECT_EQ(run.text, "");
  }
  // A map among the constants is none unless something put it there.
  Machine machine(std::string(kHeader) +
                  ".const .align 64 .b8 map[128];\n.visible .entry k() {\n"
                  "prefetch.const.tensormap [map]; ret; }\n");
  const LaunchReport report = machine.Run("k", {1}, {1}, {});
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_EQ(report.findings[0].kind, FindingKind::kOutOfBounds);
  Covers(Op::kTensorPrefetch);
  Covers(Op::kPrefetchTensormap);
}

TEST(Tensor, FindsMisuse) {
  const Tensor tensor = MakeTensor(MapType::kU32, {32, 8}, {8, 4});
  const std::string expect = "@p1 mbarrier.arrive.expect_tx.shared.b64 _, [r1], 128;\n";
  const std::string wait =
      "spin: mbarrier.try_wait.parity.shared.b64 p3, [r1], 0;\n@!p3 bra spin;\n";
  const auto load = [](const std::string& to, const std::string& rank, const std::string& at) {
    return "@p1 cp.async.bulk.tensor." + rank +
           ".shared::cta.global.mbarrier::complete_tx::bytes " + to + ", [rd0, " + at +
           "], [r1];\n";
  };
  const auto expect_one = [](const Faulty& faulty, FindingKind kind, const std::string& words) {
    ASSERT_EQ(faulty.report.findings.size(), 1U) << faulty.text;
    EXPECT_EQ(faulty.report.findings[0].kind, kind) << faulty.text;
    EXPECT_NE(faulty.text.find(words), std::string::npos) << faulty.text;
  };
  const std::string good = load("[r2]", "2d", "{c0, c1}");
  expect_one(RunFaulty(load("[r2+64]", "2d", "{c0, c1}"), tensor), FindingKind::kMisaligned,
             "is not a multiple of 128");
  expect_one(RunFaulty(load("[r2]", "3d", "{c0, c1, c2}"), tensor), FindingKind::kOutOfBounds,
             "a tensor map of 2 dimensions, used with 3");
  expect_one(RunFaulty(good, tensor, false), FindingKind::kOutOfBounds, "are not a tensor map");
  expect_one(RunFaulty("@p1 add.u64 rd0, rd0, 8;\n" + good, tensor), FindingKind::kMisaligned,
             "is not a multiple of 64");
  expect_one(RunFaulty(load("[r2+8128]", "2d", "{c0, c1}"), tensor), FindingKind::kMisaligned,
             "is not a multiple of 128");
  expect_one(RunFaulty(expect + load("[r2+8192]", "2d", "{c0, c1}") + wait, tensor),
             FindingKind::kOutOfBounds, "writes 32 bytes at shared address");
  expect_one(RunFaulty(expect + good + "ld.shared.u32 r5, [r2];\n" + wait, tensor),
             FindingKind::kAsync, "has not been waited for");
  expect_one(
      RunFaulty("@p1 mbarrier.arrive.expect_tx.shared.b64 _, [r1], 100;\n" + good + wait, tensor),
      FindingKind::kDeadlock, "0 of 1 arrivals and -28 bytes missing");
  // A box of 8 terabytes.
  Tensor huge = MakeTensor(MapType::kU64, {2, 2, 2, 2, 2}, {256, 256, 256, 256, 256});
  expect_one(RunFaulty(load("[r2]", "5d", "{c0, c1, c2, c3, c4}"), huge), FindingKind::kOutOfBounds,
             "a box of 8796093022208 bytes");
  // The tensor is said to be larger than its memory.
  Tensor large = tensor;
  large.tiles.sizes[1] = 1 << 20;
  large.tiles.strides[0] = 1 << 20;
  expect_one(RunFaulty(expect + good + wait, large), FindingKind::kOutOfBounds,
             "reads 32 bytes at global address");
  expect_one(RunFaulty("@p1 cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.bulk_group "
                       "[rd0, {c0}], [r2];",
                       MakeTensor(MapType::kU8, {32}, {16})),
             FindingKind::kUnknownInstruction, "no such reduction of u8");
}

// ---- maps ------------------------------------------------------------------------------------

TEST(TensorMap, IsWrittenAndRead) {
  TensorMap::Tiles tiles = MakeTensor(MapType::kU16, {9, 8, 7, 6, 5}, {8, 5, 4, 3, 256}).tiles;
  tiles.address = 0x70000001230;
  tiles.sizes[4] = uint64_t{1} << 32;
  tiles.element_strides = {2, 3, 4, 5, 8};
  tiles.interleave = MapInterleave::k16B;
  tiles.promotion = MapPromotion::k256B;
  const auto map = TensorMap::Tiled(tiles);
  ASSERT_TRUE(map.ok());
  auto bytes = map->Encode();
  const auto read = TensorMap::Decode(bytes.data());
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->tiles().address, tiles.address);
  EXPECT_EQ(read->tiles().sizes, tiles.sizes);
  EXPECT_EQ(read->tiles().strides, tiles.strides);
  EXPECT_EQ(read->tiles().box, tiles.box);
  EXPECT_EQ(read->tiles().element_strides, tiles.element_strides);
  EXPECT_EQ(read->tiles().interleave, tiles.interleave);
  EXPECT_EQ(read->tiles().promotion, tiles.promotion);
  EXPECT_EQ(read->BoxBytes(), 2U * 4 * 2 * 1 * 1 * 32);
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] ^= 0x10;
    EXPECT_FALSE(TensorMap::Decode(bytes.data()).has_value()) << i;
    bytes[i] ^= 0x10;
  }
}

TEST(TensorMap, RefusesWhatADriverRefuses) {
  const auto refusal = [](auto&& change) {
    TensorMap::Tiles tiles = MakeTensor(MapType::kF16, {64, 64, 4}, {32, 8, 2}).tiles;
    change(tiles);
    const auto map = TensorMap::Tiled(tiles);
    return map.ok() ? "" : map.error().message.substr(34);
  };
  using Tiles = TensorMap::Tiles;
  EXPECT_EQ(refusal([](Tiles&) {}), "");
  EXPECT_EQ(refusal([](Tiles& t) { t.rank = 0; }), "rank 0 is not in 1 to 5");
  EXPECT_EQ(refusal([](Tiles& t) { t.rank = 6; }), "rank 6 is not in 1 to 5");
  EXPECT_EQ(refusal([](Tiles& t) { t.address = 8; }), "the address 0x8 is not a multiple of 16");
  EXPECT_EQ(refusal([](Tiles& t) { t.sizes[1] = 0; }), "size 0 of dimension 1 is not in 1 to 2^32");
  EXPECT_EQ(refusal([](Tiles& t) { t.sizes[1] = (uint64_t{1} << 32) + 1; }),
            "size 4294967297 of dimension 1 is not in 1 to 2^32");
  EXPECT_EQ(refusal([](Tiles& t) { t.strides[0] = 136; }),
            "stride 136 of dimension 1 is not a multiple of 16 below 2^40");
  EXPECT_EQ(refusal([](Tiles& t) { t.strides[1] = uint64_t{1} << 40; }),
            "stride 1099511627776 of dimension 2 is not a multiple of 16 below 2^40");
  EXPECT_EQ(refusal([](Tiles& t) { t.box[1] = 0; }), "box 0 of dimension 1 is not in 1 to 256");
  EXPECT_EQ(refusal([](Tiles& t) { t.box[1] = 257; }), "box 257 of dimension 1 is not in 1 to 256");
  EXPECT_EQ(refusal([](Tiles& t) { t.box[0] = 20; }),
            "the box's 40 bytes of dimension 0 are not a multiple of 16");
  EXPECT_EQ(refusal([](Tiles& t) { t.element_strides[2] = 9; }),
            "element stride 9 of dimension 2 is not in 1 to 8");
  EXPECT_EQ(refusal([](Tiles& t) { t.swizzle = MapSwizzle::k32B; }),
            "the box's 64 bytes of dimension 0 are more than the swizzle's 32");
  EXPECT_EQ(refusal([](Tiles& t) { t.swizzle = MapSwizzle::k64B; }), "");
  EXPECT_EQ(refusal([](Tiles& t) {
              t.type = MapType::kU16;
              t.fill = MapFill::kNaN;
            }),
            "u16 has no NaN to fill with");
  EXPECT_EQ(refusal([](Tiles& t) {
              t.rank = 2;
              t.interleave = MapInterleave::k16B;
            }),
            "an interleaved tensor has at least 3 dimensions");
  EXPECT_EQ(refusal([](Tiles& t) { t.interleave = MapInterleave::k32B; }),
            "an interleave of 32 bytes goes with a swizzle of 32 bytes");
  EXPECT_EQ(refusal([](Tiles& t) {
              t.interleave = MapInterleave::k32B;
              t.swizzle = MapSwizzle::k32B;
              t.strides[0] = 144;
            }),
            "stride 144 of dimension 1 is not a multiple of 32 below 2^40");
}

}  // namespace
}  // namespace tarsia::ptx::tensor_test
