// Runs PTX text in tests: parses, loads, launches, and hands back memory and findings.
#ifndef TARSIA_TESTS_UNIT_PTX_RUN_TESTING_H_
#define TARSIA_TESTS_UNIT_PTX_RUN_TESTING_H_

#include <gtest/gtest.h>

#include <array>
#include <bitset>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "ptx/machine/emulator.h"

namespace tarsia::ptx {

inline constexpr char kHeader[] = ".version 8.4\n.target sm_90a\n.address_size 64\n";

// For what came with Blackwell.
inline constexpr char kNewHeader[] = ".version 8.8\n.target sm_100\n.address_size 64\n";

// What of the table tests have run: the instructions by row, with their modifiers and types.
struct Used {
  Op op = Op{};
  std::bitset<kModCount> mods;
  std::array<Type, 4> types{};
};
inline std::vector<Used>& UsedInstructions() {
  static std::vector<Used> used;
  return used;
}

// A module in a memory of its own.
class Machine {
 public:
  explicit Machine(const std::string& text) {
    const SourceFile source("test.ptx", text);
    Diagnostics diagnostics;
    module_ = ParseModule(source, &diagnostics);
    EXPECT_TRUE(diagnostics.ok()) << diagnostics.Render(source);
    if (module_ == nullptr) return;
    auto image = Image::Load(module_, &memory_);
    EXPECT_TRUE(image.ok());
    if (image.ok()) image_ = *std::move(image);
  }

  [[nodiscard]] bool ok() const { return image_ != nullptr; }
  Memory& memory() { return memory_; }
  const Image& image() { return *image_; }

  template <typename T>
  uint64_t Put(const std::vector<T>& values) {
    const uint64_t address = *memory_.Allocate(values.size() * sizeof(T));
    EXPECT_TRUE(memory_
                    .CopyIn(address, {reinterpret_cast<const uint8_t*>(values.data()),
                                      values.size() * sizeof(T)})
                    .ok());
    return address;
  }
  uint64_t Room(uint64_t bytes) { return *memory_.Allocate(bytes); }
  template <typename T>
  std::vector<T> Get(uint64_t address, size_t count) {
    std::vector<T> values(count);
    EXPECT_TRUE(
        memory_.CopyOut(address, {reinterpret_cast<uint8_t*>(values.data()), count * sizeof(T)})
            .ok());
    return values;
  }

  // Parameters are 64-bit words unless `bytes` gives the block as it is.
  LaunchReport Run(const std::string& entry, Dim3 grid, Dim3 block,
                   const std::vector<uint64_t>& words, LaunchConfig config = {}) {
    if (!ok()) return {};
    config.grid = grid;
    config.block = block;
    const EntryImage* found = image_->FindEntry(entry);
    std::vector<uint8_t> bytes(words.size() * 8);
    if (!words.empty()) std::memcpy(bytes.data(), words.data(), bytes.size());
    if (found != nullptr) bytes.resize(found->entry->param_bytes);
    config.parameters = bytes;
    if (config.instruction_limit == 0) config.instruction_limit = 100'000'000;
    auto report = Launch(*image_, entry, config);
    if (report.ok()) NoteUsed();
    EXPECT_TRUE(report.ok()) << (report.ok() ? "" : report.error().message);
    return report.ok() ? *std::move(report) : LaunchReport{};
  }

 private:
  void NoteUsed() {
    for (const Function& function : module_->functions) {
      for (const Inst& inst : function.code) {
        UsedInstructions().push_back({inst.op, inst.mods, inst.type});
      }
    }
  }

  std::shared_ptr<const Module> module_;
  Memory memory_;
  std::unique_ptr<Image> image_;
};

inline std::string Text(const LaunchReport& report) {
  std::string text = report.finished ? "" : "not finished\n";
  for (const Finding& finding : report.findings) text += ToString(finding, "test.ptx") + "\n";
  return text;
}

// The errors of a text, as a user sees them.
inline std::string ErrorsOf(const std::string& text) {
  const SourceFile source("test.ptx", text);
  Diagnostics diagnostics;
  (void)ParseModule(source, &diagnostics);
  return diagnostics.Render(source);
}

}  // namespace tarsia::ptx

#endif  // TARSIA_TESTS_UNIT_PTX_RUN_TESTING_H_
