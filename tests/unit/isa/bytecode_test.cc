// The bytecode, byte by byte: expectations are written out by hand from docs/bytecode.md, with a
// separate writer, so that neither side of isa/bytecode/bytecode.h is tested only by the other.
#include "isa/bytecode/bytecode.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <set>
#include <vector>

#include "isa/text/parser.h"
#include "isa/text/printer.h"
#include "isa/validate.h"
#include "tests/unit/isa/bytecode_file.h"

namespace tarsia::bytecode_test {
namespace {

using bytecode_file::Decoded;
using bytecode_file::FileOf;
using bytecode_file::Fixed;
using bytecode_file::Section;
using namespace std::string_literals;  // NOLINT: "\0"s

constexpr char kMatmul[] = R"(
kernel matmul(%x: ptr<f16>, %w: ptr<u8>, %y: ptr<f16>, %m: i32)
  const K: int
  const N: int
  const W: dtype = u4
  const PACK: memlayout = row_major
  const BM: int = 16 tune {16, 32, 64}
  const BN: int = 128 tune {64, 128, 256}
  const BK: int = 64
  const STAGES: int = 4 tune {3, 4, 6}
  const FLAG: bool = true
  const ACC: reglayout = spatial(8, 4) * local(2, 32)
  const BITS: bitlayout = lanes(f16)
  require K % BK == 0 and N % BN == 0, "K and N must be multiples of the tile"
  require not (K < 1)
  assume %x align 16
  assume %m >= 0 and %m < 1000000000000
  grid (ceildiv(%m, BM), N / BN)
  warps 1
  fast
{
  %bx = block.x
  %row = mul %bx, BM
  %by = block.y
  %col = mul %by, BN
  %gx = view %x : global<f16>[%m, K]
  %gw = view %w : global<W>[K, N] PACK
  %acc = fill 0.0 : reg<f32>[BM, BN]
  for %t = 0 to K / BK unroll 2 pipeline STAGES {
    %k = mul %t, BK
    %a = load %gx[%row, %k] cache evict_first : [BM, BK]
    %b = load %gw[%k, %col] : [BK, BN]
    %bh = cast %b rounding toward_zero sat : f16
    %acc = dot %a, %bh, %acc
  }
  %n = mov -(5) + -4611686018427387904
  while %n > 0 and not (FLAG or %n == -7) {
    if %n % 2 == 0 {
      %n = sub %n, 1
    } else {
      %n = sub %n, 2
      %best, %at = reduce.argmax %acc axis 1 keepdims
    }
    if FLAG {
    }
  }
  %codes = fill 3 : reg<u4>[16, 128] spatial(8, 4) * local(2, 32) bits lanes(u4, 64, f16)
  %q, %bias = unpack %codes : f16
  %r = rand 1, %n : u32 [16, 128]
  %f = fill nan : f32 [16, 128]
  %s = cast %f, %r rounding stochastic : f8e4m3fn
  print "s = \"\x80\"\n", %s
  %gy = view %y : global<f16>[%m, N] strided(shape=[4, 4], strides=[4, 1])
  %v.1 = permute %f order [1, 0]
  exit
}

kernel empty()
{
}
)";

Module Parsed(const std::string& text) {
  const SourceFile source("bytecode.tsa", text);
  Diagnostics diagnostics;
  std::optional<Module> module = Parse(source, diagnostics);
  EXPECT_TRUE(module) << diagnostics.Render(source);
  return module ? *std::move(module) : Module();
}

std::string Encoded(const Module& module, const EncodeOptions& options = {}) {
  const auto bytes = Encode(module, options);
  EXPECT_TRUE(bytes.ok()) << bytes.error().message;
  return bytes.ok() ? *bytes : "";
}

EncodeOptions NoDebug() {
  EncodeOptions options;
  options.debug = false;
  return options;
}

// The id of the error that the bytes give; "" when they are accepted.
std::string ErrorOf(const std::string& bytes) {
  const auto module = Decoded(bytes);
  return module.ok() ? "" : module.error().info->id;
}

// ---- an independent writer -------------------------------------------------------------------

// Corrects length and checksum after a change of the bytes.
std::string Sealed(std::string bytes) {
  if (bytes.size() < 32) return bytes;
  bytes.replace(16, 8, Fixed(uint64_t{bytes.size()}));
  bytes.replace(24, 8, Fixed(uint64_t{XXH3_64bits(bytes.data() + 32, bytes.size() - 32)}));
  return bytes;
}

std::string File(const std::string& strings, const std::string& types, const std::string& kernels) {
  return FileOf({{1, 0x300, strings}, {2, 0x300, types}, {3, 0x300, kernels}});
}

// A kernel without header: name 0, no parameters or anything else, and a body.
std::string Kernel(const std::string& body) {
  EXPECT_LT(body.size(), 128u);
  return "\x01"s + "\0\0\0\0\0\0\0\0"s + static_cast<char>(body.size()) + body;
}

// ---- what is written -------------------------------------------------------------------------

TEST(Bytecode, SmallestModule) {
  EXPECT_EQ(Encoded(Module()), File("\0"s, "\0"s, "\0"s));
  EXPECT_EQ(Encoded(Parsed("kernel k()\n{\n}\n"), NoDebug()),
            File("\1\1k"s, "\0"s, Kernel("\0\0\0"s)));
}

TEST(Bytecode, InstructionsByHand) {
  const Module module = Parsed(R"(kernel k(%p: ptr<f16>)
{
  %t = view %p : global<f16>[4]
  %x = load %t[0] : [2]
})");
  const std::string strings = "\x04\x01k\x01p\x01t\x01x"s;
  const std::string types =
      "\x02"                      // two types:
      "\x0d\x14\x18\x3c\x01\x22"  //   global, dtype 24, list of 1: small 4
      "\x08\x3c\x01\x12"s;        //   no space, list of 1: small 2
  const std::string kernels =
      "\x01\x00\x00"                            // one kernel: name 0, not fast
      "\x01\x01\x14\x18\x01"                    // one parameter: pointer to dtype 24, name 1
      "\x00\x00\x00\x00\x00"                    // constants, requires, assumes, grid, warps
      "\x12\x03\x02\x05"                        // 18 bytes: 3 values, 2 instructions, 5 arguments
      "\x20\x10\x00\x00\x02\x01"                // view: type 0, new value named 2, of value 0
      "\x24\x10\x01\x00\x03\x05\x3c\x01\x02"s;  // load: type 1, named 3, value 1, [0]
  EXPECT_EQ(Encoded(module, NoDebug()), File(strings, types, kernels));
}

TEST(Bytecode, BlocksAndExpressionsByHand) {
  const Module module = Parsed(R"(kernel k()
{
  if true {
    sync
  } else {
    exit
  }
  for %i = -3 to 1000000000000 step 2 pipeline 3 {
  }
  %s = mov -(1.5) * ~2 % K
  copy.wait ceildiv(a=7, 2)
})");
  const std::string strings = "\x05\x01k\x01i\x01s\x01K\x01"s + "a";
  const std::string body =
      "\x02\x06\x09"                  // values, instructions, arguments
      "\x09\x40\x02\x01\x10"          // if: 2 inside, else after 1; true
      "\xc0\x00"                      // sync
      "\x0a\x00"                      // exit
      "\x07\x02\x00\x00\x01\x16"s     // for: attribute 1, 0 inside, new, named 1; small -3
      "\x04\x80\xc0\xa8\xca\x9a\x3a"  // zigzag 2 * 10^12
      "\x12\x1a"                      // small 2; small 3
      "\x06\x00\x00\x02"s             // mov: new, named 2
      "\x70\x68\x24\x08\x00\x00\x00\x00\x00\x00\xf8\x3f"s  // %: *: negate: 1.5
      "\x38\x12\x1c\x03"                                   // ~2; K
      "\x29\x00"s                                          // copy.wait
      "\x30\x15\x02\x34\x04\x3a\x12"s;                     // function 21 of 2: a = 7; 2
  EXPECT_EQ(Encoded(module, NoDebug()), File(strings, "\0"s, Kernel(body)));
}

TEST(Bytecode, DebugLocationsByHand) {
  const Module module = Parsed("kernel k()\n{\n  sync\n\n  exit\n}\n");
  const std::string debug =
      "\x0c"s + "bytecode.tsa" +
      "\x01"            // with the instructions
      "\x03\x08\x01"    // the name: line +1 (zigzag 2, plus 1), column 8, 1 byte
      "\x00\x00"        // no grid, no warps
      "\x05\x03\x04"    // sync: line +2, column 3, 4 bytes
      "\x05\x03\x04"s;  // exit: line +2
  const std::string kernel = Kernel("\x00\x02\x00\xc0\x00\x0a\x00"s);
  EXPECT_EQ(
      Encoded(module),
      FileOf({{1, 0x300, "\1\1k"s}, {2, 0x300, "\0"s}, {3, 0x300, kernel}, {4, 0x301, debug}}));
}

TEST(Bytecode, EqualModulesGiveEqualBytes) {
  const Module module = Parsed(kMatmul);
  const std::string bytes = Encoded(module, NoDebug());
  // Comments, other locations, and pools that were filled in another order have no effect.
  const Module moved = Parsed("// moved\n\n" + Print(module));
  EXPECT_EQ(Encoded(moved, NoDebug()), bytes);
  const Module second =
      Parsed("kernel other(%q: ptr<W>)\n  const W: dtype\n{\n}\n" + Print(module));
  Module alone = second.Clone();
  alone.kernels.erase(alone.kernels.begin());
  EXPECT_EQ(Encoded(alone, NoDebug()), bytes);
}

TEST(Bytecode, RoundTrip) {
  const Module module = Parsed(kMatmul);
  for (const bool debug : {true, false}) {
    EncodeOptions options;
    options.debug = debug;
    const std::string bytes = Encoded(module, options);
    const auto decoded = Decoded(bytes);
    ASSERT_TRUE(decoded.ok()) << decoded.error().message;
    EXPECT_TRUE(Equal(module, *decoded));
    EXPECT_EQ(Print(module), Print(*decoded));
    EXPECT_EQ(Encoded(*decoded), bytes);
  }
}

TEST(Bytecode, LocationsComeBack) {
  const Module module = Parsed(kMatmul);
  const auto decoded = Decoded(Encoded(module));
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded->source_name, "bytecode.tsa");
  for (size_t k = 0; k < module.kernels.size(); ++k) {
    EXPECT_EQ(decoded->kernels[k].locations, module.kernels[k].locations);
    EXPECT_EQ(decoded->kernels[k].location, module.kernels[k].location);
  }
  EXPECT_EQ(decoded->kernels[0].constants[3].location, module.kernels[0].constants[3].location);
  EXPECT_EQ(decoded->kernels[0].params[2].location, module.kernels[0].params[2].location);
}

TEST(Bytecode, WithoutLocationsThereAreByteOffsets) {
  const auto decoded = Decoded(Encoded(Parsed("kernel k()\n{\n  sync\n  exit\n}\n"), NoDebug()));
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded->source_name, "bytes.tsb");
  // 32 of the file, 16 + 8 of strings and of types, 16 + 10 + 3 of kernels.
  EXPECT_EQ(decoded->kernels[0].locations,
            (std::vector<Location>{Location::AtByte(109), Location::AtByte(111)}));
}

// ---- sections --------------------------------------------------------------------------------

TEST(Bytecode, UnknownSectionsAreKeptInPlace) {
  const Section strings{1, 0x300, "\1\1k"s}, types{2, 0x300, "\0"s},
      kernels{3, 0x300, Kernel("\0\0\0"s)};
  const Section first{77, 0x301, "first"}, second{78, 0x0C01, "4096 bytes apart"},
      third{77, 0x80000301u, ""}, producer{5, 0x301, "someone"};
  const std::string file = FileOf({first, strings, second, third, types, kernels, producer, first});
  const auto decoded = Decoded(file);
  ASSERT_TRUE(decoded.ok()) << decoded.error().message;
  EXPECT_EQ(decoded->opaque.size(), 5u);
  EXPECT_EQ(Encoded(*decoded), file);
  EncodeOptions options;
  options.producer = "another";
  EXPECT_EQ(Encoded(*decoded, options),
            FileOf({first, strings, second, third, types, kernels, first, {5, 0x301, "another"}}));
}

TEST(Bytecode, BadSections) {
  const Section strings{1, 0x300, "\1\1k"s}, types{2, 0x300, "\0"s},
      kernels{3, 0x300, Kernel("\0\0\0"s)};
  EXPECT_EQ(ErrorOf(FileOf({strings, types, kernels})), "");
  const std::vector<std::vector<Section>> bad = {
      {},
      {strings, types},
      {strings, kernels, types},
      {strings, strings, types, kernels},
      {strings, types, kernels, {9, 0x300, "not skippable"}},
      {strings, types, kernels, {0, 0x301, "no id"}},
      {strings, types, kernels, {9, 0x201, "alignment"}},
      {strings, types, kernels, {9, 0xD01, "alignment"}},
      {{1, 0x301, strings.bytes}, types, kernels},
      {{1, 0x400, strings.bytes}, types, kernels},
  };
  for (const auto& sections : bad) EXPECT_EQ(ErrorOf(FileOf(sections)), "bytecode-section");
  std::string longer = FileOf({strings, types, kernels});
  longer[32 + 8] = '\x7f';
  EXPECT_EQ(ErrorOf(Sealed(longer)), "bytecode-section");
}

// ---- versions --------------------------------------------------------------------------------

TEST(Bytecode, Versions) {
  const Module module = Parsed("kernel k()\n{\n}\n");
  EXPECT_EQ(LowestVersion(module), (BytecodeVersion{0, 1}));
  EncodeOptions options;
  options.version = BytecodeVersion{0, 0};
  const auto old = Encode(module, options);
  ASSERT_FALSE(old.ok());
  EXPECT_EQ(old.error().message, "`kernel` needs bytecode of version 0.1, but 0.0 was requested");
  options.version =
      BytecodeVersion{7, 0};  // an upper limit: the lowest sufficient version is written
  EXPECT_EQ(Encoded(module, options), Encoded(module));

  const Module bounded = Parsed("kernel k()\n  registers 64\n{\n}\n");
  EXPECT_EQ(LowestVersion(bounded), (BytecodeVersion{0, 3}));
  options.version = BytecodeVersion{0, 2};
  const auto older = Encode(bounded, options);
  ASSERT_FALSE(older.ok());
  EXPECT_EQ(older.error().message,
            "`registers` needs bytecode of version 0.3, but 0.2 was requested");

  const Module finite = Parsed(
      "kernel k()\n{\n  %a = fill 1 : f16 [4]\n  %b = cast %a finite : f32\n"
      "  %c = cast %a sat finite : f32\n  %d = cast %a sat : f32\n}\n");
  EXPECT_EQ(LowestVersion(finite), (BytecodeVersion{0, 4}));
  options.version = BytecodeVersion{0, 3};
  const auto before = Encode(finite, options);
  ASSERT_FALSE(before.ok());
  EXPECT_EQ(before.error().message,
            "`finite` needs bytecode of version 0.4, but 0.3 was requested");
  const auto again = Decoded(Encoded(finite));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(Encoded(*again), Encoded(finite));
  EXPECT_EQ(again->kernels[0].code[1].attrs, 1 << 4);
  EXPECT_EQ(again->kernels[0].code[2].attrs, 1 << 4 | 1 << 1);

  const Module fast = Parsed("kernel k()\n{\n  %a = fill 1.0 : f32 [4]\n  %b = exp %a fast\n}\n");
  EXPECT_EQ(LowestVersion(fast), (BytecodeVersion{0, 4}));
  const auto slow = Encode(fast, options);
  ASSERT_FALSE(slow.ok());
  EXPECT_EQ(slow.error().message, "`fast` needs bytecode of version 0.4, but 0.3 was requested");
  const auto same = Decoded(Encoded(fast));
  ASSERT_TRUE(same.ok());
  EXPECT_EQ(Encoded(*same), Encoded(fast));

  const Module via = Parsed(
      "kernel k(%x: ptr<f32>)\n{\n  %g = view %x : global<f32>[4]\n"
      "  %a = load %g[0] via shared : [4]\n}\n");
  EXPECT_EQ(LowestVersion(via), (BytecodeVersion{0, 4}));
  const auto plain = Encode(via, options);
  ASSERT_FALSE(plain.ok());
  EXPECT_EQ(plain.error().message, "`via` needs bytecode of version 0.4, but 0.3 was requested");
  const auto back = Decoded(Encoded(via));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(Encoded(*back), Encoded(via));

  const std::vector<Section> sections = {
      {1, 0x300, "\1\1k"s}, {2, 0x300, "\0"s}, {3, 0x300, Kernel("\0\0\0"s)}};
  EXPECT_EQ(ErrorOf(FileOf(sections, 0, 1)), "");
  EXPECT_EQ(ErrorOf(FileOf(sections, 0, 0)), "bytecode-older");
  EXPECT_EQ(ErrorOf(FileOf(sections, 0, 2)), "bytecode-older");  // 0.1 is enough
  EXPECT_EQ(ErrorOf(FileOf(sections, 0, kBytecodeVersion.minor + 1)), "bytecode-newer");
  EXPECT_EQ(ErrorOf(FileOf(sections, 1, 0)), "bytecode-newer");
}

// ---- what is refused -------------------------------------------------------------------------

TEST(Bytecode, BadFiles) {
  const std::string good = File("\1\1k"s, "\0"s, Kernel("\0\0\0"s));
  EXPECT_EQ(ErrorOf(good), "");
  EXPECT_EQ(ErrorOf(""), "bytecode-ends");
  EXPECT_EQ(ErrorOf("kernel k()\n{\n}\n"), "bytecode-magic");
  EXPECT_EQ(ErrorOf(good.substr(0, 20)), "bytecode-ends");
  EXPECT_EQ(ErrorOf(good + '\0'), "bytecode-length");
  EXPECT_EQ(ErrorOf(good.substr(0, good.size() - 8)), "bytecode-length");
  std::string damaged = good;
  damaged[48] ^= 1;
  EXPECT_EQ(ErrorOf(damaged), "bytecode-checksum");
  std::string padded = good;
  padded[12] = 1;
  EXPECT_EQ(ErrorOf(padded), "bytecode-form");
  padded = good;
  padded[51] = 1;  // after the strings
  EXPECT_EQ(ErrorOf(Sealed(padded)), "bytecode-form");
}

TEST(Bytecode, BadStringsAndTypes) {
  const std::string kernel = Kernel("\0\0\0"s);
  EXPECT_EQ(ErrorOf(File("\2\1k\1k"s, "\0"s, kernel)), "bytecode-order") << "twice the same";
  EXPECT_EQ(ErrorOf(File("\2\1k\1l"s, "\0"s, kernel)), "bytecode-order") << "not used";
  EXPECT_EQ(ErrorOf(File("\0"s, "\0"s, kernel)), "bytecode-reference");
  EXPECT_EQ(ErrorOf(File("\x81\0\1k"s, "\0"s, kernel)), "bytecode-integer");
  EXPECT_EQ(ErrorOf(File("\x7f\1k"s, "\0"s, kernel)), "bytecode-count");
  EXPECT_EQ(ErrorOf(File("\1\2k"s, "\0"s, kernel)), "bytecode-ends");
  EXPECT_EQ(ErrorOf(File("\1\1kk"s, "\0"s, kernel)), "bytecode-rest");
  EXPECT_EQ(ErrorOf(File("\1\xff\xff\xff\xff\x1fk"s, "\0"s, kernel)), "bytecode-integer");
  EXPECT_EQ(ErrorOf(File("\1\1-"s, "\0"s, kernel)), "bytecode-name");
  EXPECT_EQ(ErrorOf(File("\1\1k"s, "\1\4\x14\x18"s, kernel)), "bytecode-order") << "not used";
  EXPECT_EQ(ErrorOf(File("\1\1k"s, "\2\4\x14\x18\4\x14\x18"s, kernel)), "bytecode-order");
  for (const std::string& type : {"\0\0"s, "\1\x3c\0"s, "\x14\x14\x18\x14\x18"s, "\x44\x14\x18"s}) {
    EXPECT_EQ(ErrorOf(File("\1\1k"s, "\1" + type, kernel)), "bytecode-form");
  }
  EXPECT_EQ(ErrorOf(File("\1\1k"s, "\1\x08\x12"s, kernel)), "bytecode-form") << "shape: no list";
  EXPECT_EQ(ErrorOf(File("\1\1k"s, "\1\4\x14\xee"s, kernel)), "bytecode-code") << "no such dtype";
}

// Bodies of a kernel `k`; the second string names a value. All but the first are wrong somewhere.
TEST(Bytecode, BadBodies) {
  const auto error = [](const std::string& body, const std::string& strings = "\2\1k\1x"s) {
    return ErrorOf(File(strings, "\0"s, Kernel(body)));
  };
  const std::string only_k = "\1\1k"s;
  EXPECT_EQ(error("\1\1\2\x06\0\0\1\x12"s), "") << "%x = mov 2";
  EXPECT_EQ(error("\1\1\2\x06\0\0\1\x05"s), "bytecode-reference") << "%x = mov %(1)";
  EXPECT_EQ(error("\1\1\2\x06\0\0\1\x01"s), "bytecode-reference") << "%x = mov %x";
  EXPECT_EQ(error("\1\1\2\x06\0\1\x12"s, only_k), "bytecode-reference") << "of no value";
  EXPECT_EQ(error("\2\1\2\x06\0\0\1\x12"s), "bytecode-form") << "two values announced";
  EXPECT_EQ(error("\1\1\1\x06\0\0\1\x12"s), "bytecode-form") << "one argument announced";
  EXPECT_EQ(error("\1\1\2\x06\0\0\1"s), "bytecode-ends");
  EXPECT_EQ(error("\1\1\2\x06\0\0\1\x12\0"s), "bytecode-rest");
  EXPECT_EQ(error("\1\1\2\x06\0\0\1\x13"s), "bytecode-code") << "head 3";
  EXPECT_EQ(error("\1\1\2\x06\0\0\1\0"s), "bytecode-form") << "no expression";
  EXPECT_EQ(error("\1\1\2\x06\0\0\1\x04\x12"s), "bytecode-integer") << "9, written wide";
  EXPECT_EQ(error("\1\1\2\x06\0\0\1\x08\0\0\0\0\0\0\xf8\xff"s), "bytecode-form") << "-NaN";
  EXPECT_EQ(error("\1\1\2\x06\0\0\1\x2c"s), "bytecode-code") << "tag 11";
  EXPECT_EQ(error("\1\1\2\x06\0\0\1\x74\2\2"s), "bytecode-code") << "tag 29";
  EXPECT_EQ(error("\1\1\2\x06\0\0\1\x30\x77\0"s), "bytecode-code") << "function 119";
  EXPECT_EQ(error("\1\1\2\x06\0\0\1\x34\1\2"s), "bytecode-form") << "keyword outside of a call";
  EXPECT_EQ(error("\1\1\2\x06\0\0\1\x3c\x7f"s), "bytecode-count");
  EXPECT_EQ(error("\0\1\0\xee\0"s, only_k), "bytecode-code") << "opcode";
  EXPECT_EQ(error("\0\1\0\xc0\1"s, only_k), "bytecode-form") << "sync has no attributes";
  EXPECT_EQ(error("\0\1\0\xc0\x20"s, only_k), "bytecode-form") << "sync has no operand to lack";
  EXPECT_EQ(error("\0\1\0\xc0\x40"s, only_k), "bytecode-form") << "sync has no else";
  EXPECT_EQ(error("\0\1\0\xc0\x80"s, only_k), "bytecode-form");
  EXPECT_EQ(error("\0\1\0\xc0\x10\0"s, only_k), "bytecode-reference") << "there is no type";
  EXPECT_EQ(error("\0\1\1\x08\0\1\x10"s, only_k), "bytecode-form") << "while: runs over its end";
  EXPECT_EQ(error("\0\2\1\x09\x40\1\1\x10\xc0\0"s, only_k), "bytecode-form") << "empty else";
  EXPECT_EQ(error("\0\1\1\x0b\0\x10\x10"s, only_k), "bytecode-form") << "assert: no message";
  EXPECT_EQ(error("\0\x7f\0"s, only_k), "bytecode-count");
  EXPECT_EQ(error("\x7f\0\0"s, only_k), "bytecode-count");
  EXPECT_EQ(error("\0\0\x7f"s, only_k), "bytecode-count");
  EXPECT_EQ(error("\1\1\4\x07\0\0\0\1\2\2\2"s), "") << "for %x = 0 to 0 step 0";
}

TEST(Bytecode, ScopesOfBytecodeAreThoseOfText) {
  const auto error = [](const std::string& body) {
    return ErrorOf(File("\3\1k\1x\1y"s, "\0"s, Kernel(body)));
  };
  const std::string loop = "\x07\0\1\0\1\2\2\2"s;  // for %x { one instruction }
  const std::string use = "\x06\0\0\2\1"s;         // %y = mov %x
  EXPECT_EQ(error("\2\2\6"s + loop + use), "");
  const std::string empty_loop = "\x07\0\0\0\1\2\2\2"s;
  EXPECT_EQ(error("\2\2\6"s + empty_loop + use), "bytecode-reference") << "%x outlives its loop";
  const std::string again = "\x06\0\0\1\2"s;  // %x = mov 0, as a new value
  EXPECT_EQ(error("\3\3\10"s + loop + again + use), "bytecode-repeated");
  const std::string known = "\x06\0\1\2"s;  // value 0 = mov 0
  EXPECT_EQ(error("\2\3\10"s + loop + known + "\x06\0\0\2\2"s), "");
  EXPECT_EQ(error("\2\3\10"s + empty_loop + "\x06\0\0\2\2"s + known), "bytecode-reference");
}

TEST(Bytecode, BadHeaders) {
  const std::string body = "\x03\0\0\0"s;
  const auto error = [&](const std::string& head, const std::string& strings = "\1\1k"s) {
    return ErrorOf(File(strings, "\0"s, "\1" + head + body));
  };
  EXPECT_EQ(error("\0\0\0\0\0\0\0\0"s), "");
  EXPECT_EQ(error("\0\4\0\0\0\0\0\0"s), "bytecode-form") << "a flag that nobody knows";
  EXPECT_EQ(error("\0\2\0\0\0\0\0\0\0"s), "bytecode-form") << "registers, but none";
  EXPECT_EQ(error("\0\0\0\0\0\0\4\2\2\2\2\0"s), "bytecode-form") << "four dimensions";
  EXPECT_EQ(error("\0\0\0\1\1\0\0\0\0\0\0\0"s, "\2\1k\1C"s), "") << "const C: int";
  EXPECT_EQ(error("\0\0\0\1\1\6\0\0\0\0\0\0"s, "\2\1k\1C"s), "bytecode-code") << "kind 6";
  EXPECT_EQ(error("\0\0\0\1\1\0\0\2\0\0\0\0"s, "\2\1k\1C"s), "bytecode-form") << "tune 0";
  EXPECT_EQ(error("\0\0\0\1\1\0\0\0\0\0\0\0"s, "\2\1k\3f16"s), "bytecode-name");
  EXPECT_EQ(error("\0\0\0\1\1\0\0\0\0\0\0\0"s, "\2\1k\3mov"s), "bytecode-name");
  EXPECT_EQ(error("\0\0\0\2\1\0\0\0\1\0\0\0\0\0\0\0"s, "\2\1k\1C"s), "bytecode-repeated");
  EXPECT_EQ(error("\0\0\0\0\1\x1c\1\1\0\0\0"s, "\2\1k\3not"s), "bytecode-name") << "require not";
  EXPECT_EQ(error("\0\0\0\0\1\x20\1\1\0\0\0"s, "\2\1k\2kk"s), "bytecode-name") << "no fragment";
  EXPECT_EQ(error("\0\0\0\0\1\x20\1\1\0\0\0"s, "\2\1k\3k.k"s), "");
  EXPECT_EQ(error("\0\0\0\0\1\1\1\0\0\0"s, "\2\1k\1m"s), "bytecode-reference") << "%0 of none";
  EXPECT_EQ(
      ErrorOf(File("\1\1k"s, "\0"s, "\2\0\0\0\0\0\0\0\0"s + body + "\0\0\0\0\0\0\0\0"s + body)),
      "bytecode-repeated");
}

TEST(Bytecode, BadDebugLocations) {
  const auto error = [](const std::string& debug) {
    return ErrorOf(FileOf({{1, 0x300, "\1\1k"s},
                           {2, 0x300, "\0"s},
                           {3, 0x300, Kernel("\0\1\0\xc0\0"s)},
                           {4, 0x301, debug}}));
  };
  EXPECT_EQ(error("\0\1\3\1\1\0\0\3\1\1"s), "");
  EXPECT_EQ(error("\0\0\3\1\1\0\0"s), "");
  EXPECT_EQ(error("\0\0\0\0\0"s), "bytecode-form") << "says nothing";
  EXPECT_EQ(error("\0\1\3\1\1\0\0\0"s), "bytecode-form") << "says nothing of instructions";
  EXPECT_EQ(error("\0\2\3\1\1\0\0\0"s), "bytecode-form");
  EXPECT_EQ(error("\0\0\1\1\1\0\0"s), "bytecode-form") << "line 0";
  EXPECT_EQ(error("\0\0\2\1\1\0\0"s), "bytecode-form") << "line -1";
  EXPECT_EQ(error("\0\0\xff\xff\xff\xff\x1f\1\1\0\0"s), "") << "line 2^32 - 1";
  EXPECT_EQ(error("\0\0\x81\x80\x80\x80\x20\1\1\0\0"s), "bytecode-form") << "line 2^32";
  EXPECT_EQ(error("\0\0\3\1\1\0\0\0"s), "bytecode-rest");
}

TEST(Bytecode, DepthIsLimitedAsInText) {
  const auto nested = [](int levels) {
    std::string text = "kernel k()\n{\n  %x = mov ";
    for (int i = 1; i < levels; ++i) text += "not ";
    return text + "true\n}\n";
  };
  const Module module = Parsed(nested(ExprPool::kMaxDepth));
  const auto decoded = Decoded(Encoded(module));
  ASSERT_TRUE(decoded.ok()) << decoded.error().message;
  EXPECT_TRUE(Equal(Parsed(Print(*decoded)), module));
  Diagnostics diagnostics;
  EXPECT_FALSE(Parse(SourceFile("deep", nested(ExprPool::kMaxDepth + 1)), diagnostics));
  // One `not` (tag 10) more than the text may have.
  std::string body = "\1\1\2\x06\0\0\1"s + std::string(ExprPool::kMaxDepth, '\x28') + '\x10';
  const std::string kernel = "\x01"s + "\0\0\0\0\0\0\0\0"s + "\x88\x01"s + body;
  ASSERT_EQ(body.size(), 0x88u);
  EXPECT_EQ(ErrorOf(File("\2\1k\1x"s, "\0"s, kernel)), "bytecode-depth");
}

TEST(Bytecode, BlocksNestAsDeepAsInText) {
  const auto error = [](size_t depth) {
    std::string body = "\0"s + static_cast<char>(depth) + static_cast<char>(depth);
    for (size_t i = depth; i-- > 0;) body += "\x08\0"s + static_cast<char>(i) + '\x10';
    std::string length = {static_cast<char>(body.size() | 0x80),
                          static_cast<char>(body.size() >> 7)};
    return ErrorOf(File("\1\1k"s, "\0"s, "\1\0\0\0\0\0\0\0\0"s + length + body));
  };
  EXPECT_EQ(error(64), "");
  EXPECT_EQ(error(65), "bytecode-depth");
}

TEST(Bytecode, EveryDiagnosticHasItsOwnId) {
  const std::vector<std::string> ids = {
#define DIAG(name, id, format, help) id,
#include "isa/bytecode/diagnostics.def"
#undef DIAG
  };
  EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), ids.size());
}

TEST(Bytecode, ErrorsHaveByteOffsets) {
  const auto module = Decoded(File("\1\1k"s, "\0"s, Kernel("\0\1\0\xee\0"s)));
  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.error().message, "238 is not a valid instruction");
  EXPECT_FALSE(module.error().location.IsText());
  EXPECT_EQ(module.error().location.column, 111u);  // after the two bytes of the instruction
}

// ---- damage ----------------------------------------------------------------------------------

// Damaged bytes cause an error, or make a module that is written as the same bytes.
void CheckDamaged(const std::string& bytes, int& accepted) {
  const auto module = Decoded(bytes);
  if (!module.ok()) return;
  ++accepted;
  EXPECT_EQ(Encoded(*module), bytes);
  Diagnostics diagnostics;
  Module copy = module->Clone();
  if (!Validate(std::move(copy), diagnostics)) return;
  const Module again = Parsed(Print(*module));
  EXPECT_EQ(Encoded(again, NoDebug()), Encoded(
                                           [&] {
                                             Module bare = module->Clone();
                                             bare.opaque.clear();
                                             return bare;
                                           }(),
                                           NoDebug()));
}

TEST(Bytecode, DamageIsNoticed) {
  std::mt19937_64 random(20);  // NOLINT: the same every time
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  int accepted = 0;
  for (const bool debug : {true, false}) {
    EncodeOptions options;
    options.debug = debug;
    options.producer = "test";
    const std::string good = Encoded(Parsed(kMatmul), options);
    for (int i = 0; i < 20000; ++i) {
      std::string bytes = good;
      const size_t changes = 1 + below(3);
      for (size_t j = 0; j < changes; ++j) {
        const size_t at = 32 + below(bytes.size() - 32);
        switch (below(4)) {
          case 0:
            bytes[at] = static_cast<char>(random());
            break;
          case 1:
            bytes[at] ^= static_cast<char>(1 << below(8));
            break;
          case 2:
            bytes[at] = good[32 + below(good.size() - 32)];
            break;
          default:
            bytes[at] = static_cast<char>(bytes[at] + (below(2) == 0 ? 1 : -1));
            break;
        }
      }
      CheckDamaged(Sealed(bytes), accepted);
    }
    for (size_t size = 0; size < good.size(); ++size) {
      EXPECT_NE(ErrorOf(good.substr(0, size)), "");
      CheckDamaged(Sealed(good.substr(0, size)), accepted);
    }
  }
  EXPECT_GT(accepted, 100) << "the damage hides everything after it";
}

}  // namespace
}  // namespace tarsia::bytecode_test
