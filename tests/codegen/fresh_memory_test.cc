// Codes that share bytes, stored to unwritten memory: the emulator finds no fault in the code that
// preserves their neighbours, and the codes are correct.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/devices/device.h"
#include "tests/harness/program.h"

namespace tarsia::harness {
namespace {

struct Stored {
  std::string findings;
  std::vector<uint8_t> bytes;
};

// Runs a kernel with one pointer, to this many fresh bytes, and one scalar %n.
Stored OnFreshMemory(const std::string& text, const std::string& type, int64_t n, uint64_t bytes,
                     const char* target = "ptx:sm_80") {
  Stored out;
  const SourceFile source("test.tsa", text);
  const Made made = MakeProgram(source, "", {{"W", type}});
  EXPECT_TRUE(made.program) << made.error;
  if (!made.program) return out;
  const auto device = runtime::OpenDevice(target);
  const auto kernel = (*device)->Load(*made.program);
  EXPECT_TRUE(kernel.ok()) << (kernel.ok() ? "" : kernel.error().message);
  if (!kernel.ok()) return out;
  const runtime::DevicePointer memory = *(*device)->Allocate(bytes);
  const std::vector<launch::Argument> args = {launch::Buffer{memory, bytes, true},
                                              launch::ScalarValue{kI32, static_cast<uint64_t>(n)}};
  runtime::LaunchRequest request;
  request.args = args;
  const std::vector<uint64_t> scalars = {0, static_cast<uint64_t>(n)};
  const uint64_t workspace = *(*kernel)->WorkspaceBytes(scalars);
  request.workspace = *(*device)->Allocate(workspace);
  EXPECT_TRUE((*kernel)->InitWorkspace(scalars, request.workspace, workspace, nullptr).ok());
  const auto result = (*kernel)->Launch(request);
  if (!result.ok()) {
    out.findings = result.error().message;
  } else {
    for (const launch::Finding& finding : result->report.findings) {
      out.findings += finding.diagnostic.message + "\n";
    }
  }
  out.bytes.resize(bytes);
  EXPECT_TRUE((*device)->Read(out.bytes.data(), memory, bytes, nullptr).ok());
  return out;
}

// Code number k of `width` bits each, the lowest bit first.
uint64_t CodeAt(const std::vector<uint8_t>& bytes, int64_t k, int width) {
  uint64_t code = 0;
  for (int bit = 0; bit < width; ++bit) {
    const auto at = static_cast<size_t>(k * width + bit);
    code |= uint64_t{bytes[at / 8] >> (at % 8) & 1u} << bit;
  }
  return code;
}

// Expects the low bits of k + `first` as code k, of `count`.
void ExpectCodes(const std::string& text, int width, int64_t n, int64_t count, int64_t first = 0) {
  const std::string type = "u" + std::to_string(width);
  const auto bytes = static_cast<uint64_t>(count * width + 7) / 8;
  const Stored run = OnFreshMemory(text, type, n, bytes);
  EXPECT_EQ(run.findings, "") << type << " n = " << n << text;
  for (int64_t k = 0; k < count && !run.bytes.empty(); ++k) {
    const uint64_t mask = (uint64_t{1} << width) - 1;
    EXPECT_EQ(CodeAt(run.bytes, k, width), static_cast<uint64_t>(k + first) & mask)
        << type << " n = " << n << " k = " << k << text;
  }
}

// The buffer ends in every place of a word, within a byte and between two; a thread has one code
// of the last byte, or some, or all.
TEST(FreshMemory, StoresThatEndAnywhere) {
  const char* const text = R"(
kernel k(%y: ptr<u8>, %n: i32)
  const W: dtype
  warps 1
{
  %gy = view %y : global<W>[%n]
  %t = iota : i32 [64]
  %v = cast %t wrap : W
  store %gy[0], %v
}
)";
  for (const int width : {1, 3, 4, 5, 7}) {
    for (const int n : {1, 2, 4, 5, 8, 12, 13, 31, 33, 63}) ExpectCodes(text, width, n, n);
  }
}

// Rows of odd extents meet within bytes, and blocks of the grid share them.
TEST(FreshMemory, BlocksThatShareBytes) {
  const char* const text = R"(
kernel k(%y: ptr<u8>, %n: i32)
  const W: dtype
  grid (3)
  warps 2
{
  %b = block.x
  %gy = view %y : global<W>[3, %n]
  %t = iota axis 1 : i32 [1, 16]
  %first = mov %b * %n : i32
  %u = add %t, %first
  %v = cast %u wrap : W
  store %gy[%b, 0], %v
}
)";
  for (const int width : {2, 3, 4, 6}) {
    for (const int n : {3, 5, 7, 9}) ExpectCodes(text, width, n, int64_t{3} * n);
  }
}

// Writers of one element, and of its neighbours, compare words that were mostly never written.
TEST(FreshMemory, Scatter) {
  const char* const text = R"(
kernel k(%y: ptr<u8>, %n: i32)
  const W: dtype
  warps 2
{
  %gy = view %y : global<W>[%n]
  %i = iota : i32 [40]
  %back = sub 39, %i
  %v = cast %back wrap : W
  scatter %gy, %back, %v
  scatter %gy, %back, %v
}
)";
  for (const int width : {1, 3, 4, 7}) {
    for (const int n : {1, 13, 16, 39}) ExpectCodes(text, width, n, n);
  }
}

// Scratch of the block and of the grid is as fresh as the caller's memory.
TEST(FreshMemory, ScatterToScratch) {
  const char* const text = R"(
kernel k(%y: ptr<u8>, %n: i32)
  const W: dtype
  warps 1
{
  %i = iota : i32 [13]
  %back = sub 12, %i
  %v = cast %back wrap : W
  %s = alloc.shared : W [13]
  scatter %s, %back, %v
  %g = alloc.global : W [%n]
  scatter %g, %back, %v
  sync
  %a = load %s[0] : [13]
  %b = load %g[0] : [13]
  %x = cast %a : i32
  %z = cast %b : i32
  %sum = add %x, %z
  %half = shr %sum, 1
  %w = cast %half wrap : W
  %gy = view %y : global<W>[13]
  store %gy[0], %w
}
)";
  for (const int width : {3, 4}) ExpectCodes(text, width, 13, 13);
}

// Undefined codes are reported: a code of scratch that was never written.
TEST(FreshMemory, CodesThatNobodyWroteAreFound) {
  const char* const text = R"(
kernel k(%y: ptr<u8>, %n: i32)
  const W: dtype
  warps 1
{
  %s = alloc.shared : W [13]
  %i = iota : i32 [12]
  %v = cast %i wrap : W
  store %s[0], %v
  sync
  %a = load %s[0] : [13]
  %gy = view %y : global<W>[13]
  store %gy[0], %a
}
)";
  const Stored run = OnFreshMemory(text, "u4", 13, 7);
  EXPECT_NE(run.findings.find("never written"), std::string::npos) << run.findings;
}

}  // namespace
}  // namespace tarsia::harness
