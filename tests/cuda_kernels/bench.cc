#include "tests/cuda_kernels/bench.h"

namespace tarsia::cuda_kernels {
namespace {

// Warp instructions: more than any case needs; stops endless loops.
constexpr uint64_t kLimit = 3'000'000;

}  // namespace

Bench::Bench(const std::string& name, const std::string& text, bool faulty,
             const Schedule& schedule)
    : schedule_(schedule), faulty_(faulty) {
  const SourceFile source(name, text);
  Diagnostics diagnostics;
  const auto module = ptx::ParseModule(source, &diagnostics);
  EXPECT_TRUE(diagnostics.ok()) << diagnostics.Render(source);
  if (module == nullptr) return;
  auto image = ptx::Image::Load(module, &memory_);
  EXPECT_TRUE(image.ok()) << (image.ok() ? "" : image.error().message);
  if (image.ok()) image_ = *std::move(image);
}

uint64_t Bench::Allocate(size_t bytes) {
  const auto address = memory_.Allocate(bytes);
  EXPECT_TRUE(address.ok());
  return address.ok() ? *address : 0;
}

void Bench::Write(uint64_t address, std::span<const uint8_t> bytes) {
  EXPECT_TRUE(memory_.CopyIn(address, bytes).ok());
}

void Bench::Read(uint64_t address, std::span<uint8_t> bytes) {
  const auto defined = memory_.IsDefined(address, bytes.size());
  EXPECT_TRUE(defined.ok() && *defined) << "not all of the result was written";
  EXPECT_TRUE(memory_.CopyOut(address, bytes).ok());
}

uint64_t Bench::Symbol(const std::string& name) {
  const auto found = image_->FindGlobal(name);
  EXPECT_TRUE(found.has_value()) << name;
  return found.has_value() ? found->address : 0;
}

void Bench::Launch(const std::string& entry, const Shape& shape, const Arguments& arguments) {
  ptx::LaunchConfig config;
  config.grid = shape.grid;
  config.block = shape.block;
  config.dynamic_shared = shape.dynamic_shared;
  config.parameters = arguments.bytes();
  config.instruction_limit = kLimit;
  config.host_threads = schedule_.host_threads;
  config.seed = schedule_.seed;
  const auto report = ptx::Launch(*image_, entry, config);
  ASSERT_TRUE(report.ok()) << entry << ": " << report.error().message;
  findings_.insert(findings_.end(), report->findings.begin(), report->findings.end());
  output_ += report->output;
  EXPECT_TRUE(report->finished || !report->findings.empty()) << entry << " ended in silence";
}

}  // namespace tarsia::cuda_kernels
