// Cases of the suite `compile`: for each kernel of the standard library, the time of all passes,
// from a program to the program that code is made of, and that of choosing its layouts.
#include <fmt/format.h>

#include <optional>
#include <string_view>
#include <utility>

#include "compiler/pass.h"
#include "compiler/target.h"
#include "isa/specialise.h"
#include "runtime/api/handles.h"
#include "tools/bench/suite.h"
#include "tools/handles.h"

namespace tarsia::tools::bench {
namespace {

constexpr std::string_view kLayouts = "layouts";

struct Settings {
  const char* kernel;
  const char* variant;  // "": the defaults of the kernel, but for the sizes
  std::vector<Binding> bindings;
};

std::vector<Settings> AllSettings() {
  const Binding k = {"K", "4096"};
  const Binding n = {"N", "4096"};
  const Binding packed = {"PACK",
                          "packed(permute(local(1, 4) * mma.m16n8k16.f16.a, [1, 0]), lanes(f16))"};
  return {{"matmul", "", {k, n}},
          {"matmul", "/packed", {k, n, packed}},
          {"matmul_scaled", "", {k, n, {"G", "128"}}},
          {"matmul_scaled", "/packed", {k, n, {"G", "128"}, packed}},
          {"gemm", "", {k, n, {"M", "4096"}}},
          {"attention", "", {{"LENGTH", "4096"}}},
          {"attention", "/128", {{"LENGTH", "4096"}, {"D", "128"}}},
          {"softmax", "", {}}};
}

class PassCase final : public Case {
 public:
  PassCase(bool only_layouts, Settings settings)
      : only_layouts_(only_layouts),
        settings_(std::move(settings)),
        name_(fmt::format("{}/{}{}", only_layouts ? kLayouts : "passes", settings_.kernel,
                          settings_.variant)) {}
  [[nodiscard]] const std::string& name() const override { return name_; }

  std::string Prepare() override {
    tarsia_blob* text = nullptr;
    std::string error = ErrorOf(tarsia_library_text(settings_.kernel, &text));
    const Handle<tarsia_blob> owned(text);
    if (!error.empty()) return error;
    auto options = Sized<tarsia_module_options>();
    options.name = settings_.kernel;
    tarsia_module* made = nullptr;
    error = ErrorOf(tarsia_module_create(tarsia_blob_data(text), tarsia_blob_size(text), &options,
                                         &made, nullptr));
    const Handle<tarsia_module> module(made);
    if (!error.empty()) return error;
    Diagnostics errors;
    program_ = Specialise(module->valid, settings_.kernel, settings_.bindings,
                          compiler::LimitsOf(kTarget), errors);
    return program_ ? "" : errors.Render(*module->source);
  }

  // The form after each pass keeps what the pass promises.
  std::string Verify() override {
    std::string fault;
    compiler::PassOptions options;
    options.target = kTarget;
    options.after = [&](const compiler::Pass& pass, const compiler::tile::Form& form) {
      if (fault.empty()) fault = FindFaultAfter(pass, form);
    };
    RunPasses(*program_, options);
    options.until = kLayouts;
    options.after = nullptr;
    before_ = RunPasses(*program_, options);
    return fault;
  }

  std::string Run() override {
    compiler::PassOptions options;
    options.target = kTarget;
    if (!only_layouts_) {
      const auto after = ProgramAfter(*program_, options, compiler::LimitsOf(kTarget));
      return after.ok() ? "" : after.error().message;
    }
    compiler::tile::Form form = before_;
    (*compiler::FindPass(std::string(kLayouts)))->run(form, kTarget);
    return "";
  }

 private:
  static constexpr compiler::Target kTarget = compiler::Target::kSm90a;
  const bool only_layouts_;
  const Settings settings_;
  const std::string name_;
  std::optional<Program> program_;
  compiler::tile::Form before_;  // the pass `layouts`
};

}  // namespace

std::vector<std::unique_ptr<Case>> PassCases() {
  std::vector<std::unique_ptr<Case>> out;
  for (const bool only_layouts : {false, true}) {
    for (Settings& settings : AllSettings()) {
      out.push_back(std::make_unique<PassCase>(only_layouts, std::move(settings)));
    }
  }
  return out;
}

}  // namespace tarsia::tools::bench
