#include "tests/harness/assembly.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/assemble/assemble.h"
#include "compiler/assemble/tools.h"
#include "tests/harness/joined_kernels.h"
#include "tests/settings.h"

namespace tarsia::harness {
namespace {

using compiler::Target;

constexpr size_t kKernelsOfCall = 256;
// The most bytes of text, so that a call takes less than a minute on a busy machine.
constexpr size_t kBytesOfCall = size_t{8} << 20;
constexpr size_t kOneInOfSame = 16;
constexpr size_t kOneInOfOthers = 4;
// Tiles that fill the registers may spill a little at the point of highest pressure. More is bad
// code.
constexpr int64_t kMostSpillBytes = 4096;

// ---- what waits --------------------------------------------------------------------------------

struct Pending {
  compiler::CompiledKernel kernel;
  size_t body = 0;  // hash of the PTX without its header
};

enum class Amount : uint8_t { kNone, kCover, kAll };

Amount AmountWanted() {
  const std::string_view wanted = Environment("TARSIA_ASSEMBLE");
  if (wanted == "none") return Amount::kNone;
  if (wanted == "all" || IsLong()) return Amount::kAll;
  return Amount::kCover;
}

class Assembly {
 public:
  static Assembly& Get() {
    static Assembly assembly;
    return assembly;
  }

  void Add(const compiler::CompiledKernel& kernel, Target target) {
    if (amount_ == Amount::kNone || paused_ > 0) return;
    const size_t header = kernel.ptx.find(".address_size");
    const size_t body = std::hash<std::string_view>()(std::string_view(kernel.ptx).substr(header));
    if (!seen_[target].insert(body).second) return;
    pending_[target].push_back({kernel, body});
    pending_bytes_ += kernel.ptx.size();
    if (pending_[target].size() >= kKernelsOfCall || pending_bytes_ >= kBytesOfCall) Flush();
  }

  void Pause(int by) { paused_ += by; }
  void SetMostSpills(int64_t bytes) { most_spill_bytes_ = bytes; }
  void AssembleEverything() {
    if (amount_ == Amount::kCover) amount_ = Amount::kAll;
  }

  void Flush() {
    pending_bytes_ = 0;
    const auto tool = compiler::FindTool(compiler::Tool::kPtxas);
    for (auto& [target, kernels] : pending_) {
      const std::vector<Pending> now = std::move(kernels);
      kernels.clear();
      if (!tool.ok()) {
        missing_ += now.size();
      } else {
        AssembleFew(Chosen(now, target), target);
      }
    }
    if (!tool.ok() && missing_ != 0) {
      std::printf("[  SKIPPED ] %zu kernels are not assembled: %s\n", missing_,
                  tool.error().message.c_str());
    }
  }

 private:
  std::vector<const Pending*> Chosen(const std::vector<Pending>& kernels, Target target) {
    std::vector<const Pending*> out;
    for (const Pending& one : kernels) {
      const size_t one_in = target == Target::kSm90a                   ? 1
                            : seen_[Target::kSm90a].contains(one.body) ? kOneInOfSame
                                                                       : kOneInOfOthers;
      if (amount_ == Amount::kAll || one.body % one_in == 0) out.push_back(&one);
    }
    return out;
  }

  static void AssembleFew(const std::vector<const Pending*>& kernels, Target target) {
    if (kernels.empty()) return;
    std::vector<const compiler::CompiledKernel*> texts;
    for (const Pending* one : kernels) texts.push_back(&one->kernel);
    const std::string joined = JoinKernels(texts);
    const std::string where = "ptxas for " + std::string(Row(target).name);
    const auto assembled = compiler::Assemble(joined, target);
    if (!assembled.ok()) {
      ADD_FAILURE() << where << ": " << assembled.error().message << "\n" << Keep(joined);
      return;
    }
    EXPECT_EQ(assembled->kernels.size(), kernels.size()) << where;
    for (const std::string& warning : assembled->warnings) {
      ADD_FAILURE() << where << ": " << warning << "\n" << Keep(joined);
    }
    for (const compiler::KernelResources& kernel : assembled->kernels) {
      EXPECT_LE(kernel.spill_store_bytes + kernel.spill_load_bytes, Get().most_spill_bytes_)
          << where << ": " << kernel.name << " spills with " << kernel.registers << " registers\n"
          << Keep(joined);
    }
  }

  // Keeps a failing text, which has many kernels.
  static std::string Keep(const std::string& ptx) {
    const std::string path =
        testing::TempDir() + "assembly-" + std::to_string(std::hash<std::string>()(ptx)) + ".ptx";
    std::FILE* const file = std::fopen(path.c_str(), "w");
    if (file == nullptr) return "";
    std::fwrite(ptx.data(), 1, ptx.size(), file);
    std::fclose(file);
    return "the text is in " + path;
  }

  Amount amount_ = AmountWanted();
  int64_t most_spill_bytes_ = kMostSpillBytes;  // of a kernel
  std::map<Target, std::set<size_t>> seen_;
  std::map<Target, std::vector<Pending>> pending_;
  size_t pending_bytes_ = 0;  // of their texts
  size_t missing_ = 0;
  int paused_ = 0;  // how many NotAssembled live
};

class AtTheEnd final : public testing::Environment {
 public:
  void TearDown() override { Assembly::Get().Flush(); }
};

[[maybe_unused]] testing::Environment* const registered =
    testing::AddGlobalTestEnvironment(new AtTheEnd);

}  // namespace

void Collect(const compiler::CompiledKernel& kernel, Target target) {
  Assembly::Get().Add(kernel, target);
}

NotAssembled::NotAssembled(bool applies) : applies_(applies) {
  if (applies_) Assembly::Get().Pause(1);
}

NotAssembled::~NotAssembled() {
  if (applies_) Assembly::Get().Pause(-1);
}

void AllowSpills() { Assembly::Get().SetMostSpills(std::numeric_limits<int64_t>::max()); }

void ForbidSpills() { Assembly::Get().SetMostSpills(0); }

void AssembleEverything() { Assembly::Get().AssembleEverything(); }

}  // namespace tarsia::harness
