// The suite `compile`: the time from text to a checked module, to PTX, to machine code.
#include <fmt/format.h>

#include "tools/bench/kernel.h"
#include "tools/bench/suite.h"

namespace tarsia::tools::bench {
namespace {

// The stages that a case measures, all starting from text.
enum class Stage : uint8_t { kRead, kPtx, kCubin };

class CompileCase final : public Case {
 public:
  CompileCase(Stage stage, const char* target, std::string type, int bits)
      : stage_(stage), target_(target), type_(std::move(type)), bits_(bits) {
    switch (stage) {
      case Stage::kRead:
        name_ = "read/matmul";
        break;
      case Stage::kPtx:
        name_ = fmt::format("ptx/matmul/{}/{}", type_, target);
        break;
      case Stage::kCubin:
        name_ = fmt::format("cubin/matmul/{}/{}", type_, target);
        break;
    }
  }
  [[nodiscard]] const std::string& name() const override { return name_; }

  std::string Prepare() override {
    tarsia_blob* text = nullptr;
    auto error = ErrorOf(tarsia_library_text("matmul", &text));
    const Handle<tarsia_blob> owned(text);
    if (error.empty()) text_.assign(tarsia_blob_data(text), tarsia_blob_size(text));
    return error;
  }

  // The same program, compiled for the same target, must run correctly on the emulator.
  std::string Verify() override {
    if (stage_ == Stage::kRead) return Run();
    MatmulKernel kernel(type_, bits_, 3, 40, 70);
    const std::string device = std::string("ptx:") + target_;
    auto error = kernel.Prepare(device.c_str());
    return error.empty() ? kernel.Verify() : error;
  }

  std::string Run() override {
    // A program of the same name would not be compiled again.
    const std::string name = fmt::format("run {}", ++runs_);
    auto source = Sized<tarsia_module_options>();
    source.name = name.c_str();
    tarsia_module* made = nullptr;
    auto error = ErrorOf(tarsia_module_create(text_.data(), text_.size(), &source, &made, nullptr));
    const Handle<tarsia_module> module(made);
    if (!error.empty() || stage_ == Stage::kRead) return error;
    const tarsia_binding bindings[] = {{sizeof(tarsia_binding), "K", "4096"},
                                       {sizeof(tarsia_binding), "N", "4096"},
                                       {sizeof(tarsia_binding), "W", type_.c_str()}};
    auto options = Sized<tarsia_code_options>();
    options.target = target_;
    options.bindings = bindings;
    options.binding_count = std::size(bindings);
    tarsia_code* compiled = nullptr;
    error = ErrorOf(tarsia_code_create(made, &options, &compiled, nullptr));
    const Handle<tarsia_code> code(compiled);
    if (!error.empty() || stage_ == Stage::kPtx) return error;
    auto resources = Sized<tarsia_code_resources>();
    return ErrorOf(tarsia_code_assemble(compiled, &resources));
  }

 private:
  const Stage stage_;
  const char* const target_;
  const std::string type_;
  const int bits_;
  std::string name_;
  std::string text_;
  int runs_ = 0;
};

}  // namespace

std::vector<std::unique_ptr<Case>> CompileCases() {
  std::vector<std::unique_ptr<Case>> out;
  out.push_back(std::make_unique<CompileCase>(Stage::kRead, "sm_90a", "u4", 4));
  for (const auto& [type, bits] : {std::pair("u4", 4), {"i3", 3}, {"i8", 8}}) {
    for (size_t i = 0; i < tarsia_target_count(); ++i) {
      out.push_back(std::make_unique<CompileCase>(Stage::kPtx, tarsia_target_name(i), type, bits));
    }
  }
  out.push_back(std::make_unique<CompileCase>(Stage::kCubin, "sm_90a", "u4", 4));
  for (std::unique_ptr<Case>& one : PassCases()) out.push_back(std::move(one));
  return out;
}

}  // namespace tarsia::tools::bench
