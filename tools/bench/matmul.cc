#include "tools/bench/matmul.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/files/file.h"
#include "runtime/weights/parallel.h"
#include "tools/bench/report.h"
#include "tools/matmul/measured.h"
#include "tools/matmul/spec.h"
#include "tools/output.h"
#include "tools/progress.h"

namespace tarsia::tools::bench {
namespace {

constexpr uint32_t kGroup = 128;

struct Shape {
  int64_t k = 0, n = 0;
};

// The linear layers of Llama-70B, Qwen2.5-32B and Gemma-2-9B.
constexpr std::array<Shape, 12> kLayersOfModels = {{{8192, 10240},
                                                    {8192, 8192},
                                                    {8192, 57344},
                                                    {28672, 8192},
                                                    {5120, 7168},
                                                    {5120, 5120},
                                                    {5120, 55296},
                                                    {27648, 5120},
                                                    {3584, 8192},
                                                    {4096, 3584},
                                                    {3584, 28672},
                                                    {14336, 3584}}};
// For devices that are no GPU.
constexpr std::array<Shape, 2> kSmallShapes = {{{256, 384}, {1024, 256}}};
constexpr std::array<const char*, 12> kTypes = {"u1", "u2", "u3",     "u4",     "u5",       "u6",
                                                "u7", "u8", "f4e2m1", "f6e3m2", "f8e4m3fn", "nf4"};

struct Choice {
  MatmulRequest all;  // what all cases have
  std::vector<std::string> shapes, types, rows;
  std::string filter, json;
};

struct MatmulCase {
  std::string name;
  MatmulRequest request;
  LayerSpec spec;
};

// "u4/m=1/8192x8192", then the options that all cases have besides --group 128.
std::string NameOf(const MatmulRequest& request) {
  std::string out = fmt::format("{}/m={}/{}x{}", request.type, *request.m, *request.k, *request.n);
  for (const std::string& word : OtherOptions(request, kGroup)) out += " " + word;
  return out;
}

// One row of the table.
std::string RowText(const MatmulCase& one, const Measured& measured) {
  std::string out = fmt::format("{:<32}", one.name);
  if (measured.errors.wrong != 0) return out + " FAILED: " + WrongText(measured.errors) + "\n";
  if (measured.counted) {
    return out +
           fmt::format("{:>7.2f} instructions of PTX a weight, {:.2f} MB moved, floor {:.2f} MB\n",
                       measured.InstructionsPerWeight(one.spec), measured.Traffic() / 1e6,
                       measured.bound.bytes / 1e6);
  }
  return out + fmt::format("{:>11.2f} us  +-{:>4.1f}%   floor {:>9.2f} us, {:>5.1f}% of the time\n",
                           measured.Median(), measured.Spread() * 50, measured.bound.microseconds,
                           100 * measured.bound.microseconds / measured.Median());
}

class MatmulSuite {
 public:
  MatmulSuite(const Command& command, Choice choice)
      : command_(command), choice_(std::move(choice)) {}

  int Run() {
    if (const int code = OpenDeviceOf(choice_.all, &device_); code != kDone) return code;
    if (const int code = ListCases(); code != kDone) return code;
    const auto rate = CopyRate(*device_);
    if (!rate.ok()) {
      PrintError(rate.error());
      return kRejected;
    }
    copy_rate_ = *rate;
    if (const int code = WriteJson(); code != kDone) return code;  // before the work
    PrintHeader();
    CompileAll();
    bool ok = true;
    ProgressBar bar("cases");
    for (size_t i = 0; i < cases_.size(); ++i) {
      bar.Show(i, cases_.size());
      ok = RunCase(cases_[i], &bar) && ok;
      // After each case: what is measured is not lost if the run is stopped.
      if (const int code = WriteJson(); code != kDone) return code;
    }
    return ok ? kDone : kRejected;
  }

 private:
  int ListCases() {
    std::vector<std::string> shapes = choice_.shapes;
    const bool small = device_->kind() != runtime::DeviceKind::kGpu;
    if (shapes.empty()) shapes = small ? TextsOf(kSmallShapes) : TextsOf(kLayersOfModels);
    int code = AddCases(shapes);
    if (code == kDone && cases_.empty() && choice_.shapes.empty() && small) {
      code = AddCases(TextsOf(kLayersOfModels));
    }
    if (code != kDone || !cases_.empty()) return code;
    PrintError("no case of the suite has `" + choice_.filter + "` in its name",
               "names have the form u4/m=1/8192x8192");
    return kUsage;
  }

  template <size_t kCount>
  static std::vector<std::string> TextsOf(const std::array<Shape, kCount>& shapes) {
    std::vector<std::string> out;
    for (const Shape& shape : shapes) out.push_back(fmt::format("{}x{}", shape.k, shape.n));
    return out;
  }

  // Cases that differ in their rows follow each other: they share their weights.
  int AddCases(const std::vector<std::string>& shapes) {
    for (const std::string& shape : shapes) {
      const size_t cross = shape.find('x');
      if (cross == std::string::npos) {
        return command_.Misuse("--shape " + shape + ": it is not of the form 8192x57344 (K x N)");
      }
      for (const std::string& type : choice_.types) {
        for (const std::string& m : choice_.rows) {
          MatmulCase one;
          one.request = choice_.all;
          one.request.type = type;
          one.request.m = m;
          one.request.k = shape.substr(0, cross);
          one.request.n = shape.substr(cross + 1);
          one.name = NameOf(one.request);
          if (one.name.find(choice_.filter) == std::string::npos) continue;
          const int code = ReadSpec(command_, one.request, &one.spec);
          if (code != kDone) return code;
          cases_.push_back(std::move(one));
        }
      }
    }
    return kDone;
  }

  void PrintHeader() const {
    std::string out =
        fmt::format("suite matmul, {} cases on {}\n", cases_.size(), device_->Description());
    if (copy_rate_ == 0) {
      out += "each case is verified, then counted: the emulator has no times\n";
    } else {
      out += fmt::format(
          "each case is verified, then timed: median of its runs; a copy reaches {:.0f} GB/s\n",
          copy_rate_ / 1e3);
    }
    PrintOut(out);
    std::fflush(stdout);
  }

  // Kernels, several at a time: what a case compiles is then known to this process. The made
  // numbers are all finite. Errors are those of the case.
  void CompileAll() {
    if (!device_->CodeTarget()) return;
    ProgressBar bar("kernels compiled");
    compiled_.resize(cases_.size());
    ParallelFor(
        static_cast<int64_t>(cases_.size()),
        [&](int64_t i) {
          const MatmulCase& one = cases_[static_cast<size_t>(i)];
          auto plan = runtime::MatmulPlan::Make(ProblemOf(one.spec, one.spec.weights), device_,
                                                one.request.Options());
          if (plan.ok()) compiled_[static_cast<size_t>(i)] = *std::move(plan);
        },
        [&](uint64_t done, uint64_t total) {
          bar.Show(done, total);
          return true;
        });
  }

  // Whether the case is right; prints its row.
  bool RunCase(const MatmulCase& one, ProgressBar* bar) {
    Result<Measured> measured = MeasureCase(one);
    bar->Clear();
    if (!measured.ok()) {
      PrintOut(fmt::format("{:<32} FAILED: {}\n", one.name, measured.error().message));
      rows_.Begin('{').Key("name").String(one.name);
      rows_.Key("error").String(measured.error().message);
      rows_.Key("reproduce").String(Reproduce(one.request, device_->name())).End('}');
      return false;
    }
    PrintOut(RowText(one, *measured));
    std::fflush(stdout);
    return measured->errors.wrong == 0;
  }

  Result<Measured> MeasureCase(const MatmulCase& one) {
    TARSIA_TRY(const std::unique_ptr<MatmulTrial> trial,
               MatmulTrial::Make(one.spec, device_, {}, PackedOf(one)));
    packed_ = trial->packed();
    packed_for_ = &one;
    TARSIA_TRY(DeviceMatmul::Plan plan,
               runtime::MatmulPlan::Make(trial->Problem(), device_, one.request.Options()));
    TARSIA_CHECK(trial->Choose(std::move(plan)));
    TARSIA_TRY(Measured measured, Measure(*trial, copy_rate_));
    rows_.Begin('{').Key("name").String(one.name);
    AppendMeasured(*trial, one.request, measured, &rows_);
    if (measured.errors.wrong != 0) rows_.Key("error").String(WrongText(measured.errors));
    rows_.Key("options").Begin('[');
    for (const std::string& word : OtherOptions(one.request, kGroup)) rows_.String(word);
    rows_.End(']').End('}');
    return measured;
  }

  // The weights of the case before, if they are the same.
  [[nodiscard]] std::shared_ptr<const PackedWeights> PackedOf(const MatmulCase& one) const {
    if (packed_for_ == nullptr) return nullptr;
    const MatmulRequest& then = packed_for_->request;
    const bool same =
        then.type == one.request.type && then.k == one.request.k && then.n == one.request.n;
    return same ? packed_ : nullptr;
  }

  int WriteJson() {
    if (choice_.json.empty()) return kDone;
    const SuiteResult about = Begin("matmul");
    Json json;
    json.Begin('{').Key("suite").String("matmul").Key("tarsia").String(tarsia_version());
    json.Key("device").String(device_->Description());
    json.Key("date").String(about.date).Key("machine").String(about.machine);
    json.Key("copy_bytes_per_us").Raw(fmt::format("{:.0f}", copy_rate_));
    Json rows = rows_;
    json.Key("rows").Raw(rows.End(']').Take());
    const Status written = WriteFile(choice_.json, json.End('}').Take());
    if (written.ok()) return kDone;
    PrintError(written.error());
    return kEnvironment;
  }

  const Command& command_;
  const Choice choice_;
  std::shared_ptr<runtime::Device> device_;
  std::vector<MatmulCase> cases_;
  std::vector<DeviceMatmul::Plan> compiled_;
  double copy_rate_ = 0;  // bytes a microsecond
  std::shared_ptr<const PackedWeights> packed_;
  const MatmulCase* packed_for_ = nullptr;
  Json rows_ = std::move(Json().Begin('['));
};

}  // namespace

int RunMatmulSuite(const Args& args) {
  Command command(
      "bench matmul",
      "Checks the quantised matmul and measures it, by layers of models (Llama-70B, Qwen2.5-32B, "
      "Gemma-2-9B), types of weights and rows; on `ptx` it counts. Where there is no GPU the "
      "layers "
      "are small, unless --shape or --filter names others.",
      {"tarsia bench matmul --w u4 --w nf4 --m 1 --device cpu --json result.json",
       "tarsia bench matmul --shape 256x128 --w u3 --m 2 --device ptx"});
  Choice choice;
  choice.all.packing.group = kGroup;
  command.Values("--shape", "KxN", &choice.shapes, "A layer: rows and columns of w");
  command.Values("--w", "T", &choice.types,
                 "A type of the weights; the default is u1 to u8, f4e2m1, f6e3m2, f8e4m3fn, nf4");
  command.Values("--m", "M", &choice.rows, "Rows of x; the default is 1 and 16");
  DeclareMade(command, &choice.all);
  DeclareProduct(command, &choice.all);
  command.Value("--filter", "TEXT", &choice.filter,
                "Only cases with this text in their name: u4/m=1/8192x57344");
  command.Value("--json", "FILE", &choice.json, "Also write the results as JSON, after each case");
  if (const auto code = command.Parse(args)) return *code;
  if (choice.types.empty()) choice.types = {kTypes.begin(), kTypes.end()};
  if (choice.rows.empty()) choice.rows = {"1", "16"};
  return MatmulSuite(command, std::move(choice)).Run();
}

}  // namespace tarsia::tools::bench
