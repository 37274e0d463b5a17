// Runs random executable programs on the interpreter: nothing is found by `--check`, and what they
// compute depends neither on checking nor on the number of threads. TARSIA_RANDOM_MODULES says how
// many (a third of it), TARSIA_RANDOM_SEED where they begin.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "isa/parser.h"
#include "isa/specialise.h"
#include "isa/validate.h"
#include "tests/random/random_module.h"
#include "tests/random/rng.h"
#include "vm/interpreter.h"

namespace tarsia {
namespace {

uint64_t FromEnvironment(const char* name, uint64_t fallback) {
  const char* const text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : fallback;
}

// A small number as a code of a scalar type.
uint64_t ScalarCode(DType type, int64_t value) {
  if (type.IsBool()) return static_cast<uint64_t>(value & 1);
  if (type.IsInteger()) return static_cast<uint64_t>(value);
  if (type == kF16) return 0x3C00;   // 1.0
  if (type == kBF16) return 0x3F80;  // 1.0
  const auto wide = static_cast<double>(value);
  const auto narrow = static_cast<float>(value);
  uint64_t code = 0;
  if (type == kF64) {
    std::memcpy(&code, &wide, sizeof wide);
  } else {
    std::memcpy(&code, &narrow, sizeof narrow);
  }
  return code;
}

// Any bytes will do, except that a bool is 0 or 1.
std::vector<uint8_t> RandomBytes(Rng& rng, const RandomArgument& argument) {
  const auto bits = static_cast<uint64_t>(argument.elements) * argument.dtype.bits;
  std::vector<uint8_t> bytes((bits + 7) / 8);
  for (uint8_t& byte : bytes) {
    byte = static_cast<uint8_t>(rng.Next() & (argument.dtype.IsBool() ? 1 : 0xFF));
  }
  return bytes;
}

// Memory as aligned as a program may assume it to be.
class AlignedBytes {
 public:
  AlignedBytes() = default;
  explicit AlignedBytes(const std::vector<uint8_t>& bytes)
      : room_(bytes.size() + kAlignment), size_(bytes.size()) {
    begin_ = kAlignment - reinterpret_cast<uintptr_t>(room_.data()) % kAlignment;
    std::copy(bytes.begin(), bytes.end(), data());
  }
  [[nodiscard]] uint8_t* data() { return room_.data() + begin_; }
  [[nodiscard]] std::vector<uint8_t> Bytes() const {
    const auto begin = room_.begin() + static_cast<ptrdiff_t>(begin_);
    return {begin, begin + static_cast<ptrdiff_t>(size_)};
  }

 private:
  static constexpr size_t kAlignment = 4096;
  std::vector<uint8_t> room_;
  size_t begin_ = 0;
  size_t size_ = 0;
};

struct Outcome {
  std::vector<std::vector<uint8_t>> buffers;
  std::vector<vm::Finding> findings;
};

void Run(const Program& program, const RandomKernel& kernel, uint64_t seed,
         const vm::LaunchOptions& options, Outcome& outcome) {
  Rng rng(seed);
  vm::LaunchArgs args;
  std::vector<AlignedBytes> memory(kernel.arguments.size());
  for (size_t i = 0; i < kernel.arguments.size(); ++i) {
    const RandomArgument& argument = kernel.arguments[i];
    if (argument.kind == RandomArgument::Kind::kScalar) {
      args.params.emplace_back(
          vm::ScalarValue{argument.dtype, ScalarCode(argument.dtype, argument.value)});
      continue;
    }
    const std::vector<uint8_t> bytes = RandomBytes(rng, argument);
    memory[i] = AlignedBytes(bytes);
    const bool writable = argument.kind != RandomArgument::Kind::kInput;
    args.params.emplace_back(vm::Buffer{memory[i].data(), bytes.size(), writable});
  }
  const auto report = vm::Launch(program, args, options);
  ASSERT_TRUE(report.ok()) << report.error().message;
  outcome.findings = report->findings;
  for (const AlignedBytes& bytes : memory) outcome.buffers.push_back(bytes.Bytes());
}

void CheckKernel(const Program& program, const RandomKernel& kernel, uint64_t seed) {
  vm::LaunchOptions one_thread;
  one_thread.threads = 1;
  vm::LaunchOptions checked;
  checked.check = true;
  Outcome plain, alone, found;
  Run(program, kernel, seed, {}, plain);
  Run(program, kernel, seed, one_thread, alone);
  Run(program, kernel, seed, checked, found);
  for (const vm::Finding& finding : found.findings) {
    ADD_FAILURE() << kernel.name << ":" << finding.diagnostic.location.line << ": "
                  << finding.diagnostic.message;
  }
  EXPECT_EQ(plain.buffers, alone.buffers) << kernel.name;
  EXPECT_EQ(plain.buffers, found.buffers) << kernel.name;
}

TEST(RandomExecute, ProgramsMeanOneThing) {
  const uint64_t first = FromEnvironment("TARSIA_RANDOM_SEED", 1);
  const uint64_t count = FromEnvironment("TARSIA_RANDOM_MODULES", 300) / 3;
  RandomOptions options;
  options.executable = true;
  for (uint64_t seed = first; seed < first + count && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RandomProgram program = MakeRandomProgram(seed, options);
    const SourceFile source("random.tsa", program.text);
    Diagnostics diagnostics;
    auto module = Parse(source, diagnostics);
    ASSERT_TRUE(module) << diagnostics.Render(source);
    const auto valid = Validate(*std::move(module), diagnostics);
    ASSERT_TRUE(valid) << diagnostics.Render(source);
    for (const RandomKernel& kernel : program.kernels) {
      const auto concrete = Specialise(*valid, kernel.name, {}, {}, diagnostics);
      ASSERT_TRUE(concrete) << diagnostics.Render(source);
      CheckKernel(*concrete, kernel, seed);
    }
    if (HasFailure()) ADD_FAILURE() << program.text;
  }
}

}  // namespace
}  // namespace tarsia
