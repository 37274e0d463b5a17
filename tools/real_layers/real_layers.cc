// The main job: layers of a real model are quantised, multiplied by examples/matmul_scaled.tsa
// through the C API on a device, and checked against a direct formula; then the same kernels are
// compiled for every target, and one case of the size of a tile runs on the PTX emulator.
//
//   real_layers --model model.safetensors [--program matmul_scaled.tsa] [--m 16] [--group 128]
//               [--device D]
//
// Exit status: 0 when every element is within its bound, 1 when one is not, 2 for a wrong call,
// 3 when the model or the device is not there.
#include <fmt/core.h>

#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tarsia/tarsia.h"
#include "tools/handles.h"
#include "tools/real_layers/formula.h"
#include "tools/real_layers/launch.h"
#include "tools/real_layers/layers.h"

namespace tarsia::real_layers {
namespace {

// The matrices of one transformer layer, stored as [outputs, inputs].
constexpr std::string_view kLayers[] = {
    "encoder.layer.0.attention.self.query.weight",
    "encoder.layer.0.attention.output.dense.weight",
    "encoder.layer.0.intermediate.dense.weight",
    "encoder.layer.0.output.dense.weight",
};
constexpr std::string_view kTypes[] = {"i4", "u4", "f4e2m1", "i8", "f6e3m2", "i3", "i2"};

struct Options {
  std::string model;
  std::string program = "examples/matmul_scaled.tsa";
  int64_t m = 16;
  int64_t group = 128;
  std::string device;
};

Options ParseOptions(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    if (flag == "--help") {
      fmt::print(
          "Quantises layers of a model, multiplies by a VM program, checks the results, compiles "
          "the program for every target.\n"
          "usage: real_layers --model FILE.safetensors [--program FILE.tsa] [--m 16] [--group "
          "128] [--device D]\n");
      std::exit(0);
    }
    if (i + 1 >= argc) Fail(2, fmt::format("{} needs a value; see --help", flag));
    const std::string value = argv[++i];
    if (flag == "--model") {
      options.model = value;
    } else if (flag == "--program") {
      options.program = value;
    } else if (flag == "--device") {
      options.device = value;
    } else if (flag == "--m" || flag == "--group") {
      char* end = nullptr;
      const int64_t number = std::strtoll(value.c_str(), &end, 10);
      if (*end != '\0' || value.empty() || number < 1 || number > 65536) {
        Fail(2, fmt::format("{} takes a number from 1 to 65536, not `{}`", flag, value));
      }
      (flag == "--m" ? options.m : options.group) = number;
    } else {
      Fail(2, fmt::format("unknown flag `{}`; see --help", flag));
    }
  }
  if (options.model.empty()) Fail(2, "--model is missing; see --help");
  return options;
}

// "layer.0.attention.self.query" of "encoder.layer.0.attention.self.query.weight".
std::string ShortName(std::string_view name) {
  name.remove_prefix(std::string_view("encoder.").size());
  name.remove_suffix(std::string_view(".weight").size());
  return std::string(name);
}

// Rounds a matrix to a type, in groups along K.
Quantised Quantise(const Matrix& matrix, std::string_view type_name, int64_t group) {
  QuantiseSpec spec;
  spec.type = *FindDType(type_name);
  spec.group = matrix.k % group == 0 ? group : matrix.k;
  spec.zero = spec.type.kind == DTypeKind::kUnsigned ? ZeroPoint::kInteger : ZeroPoint::kNone;
  spec.scale_type = kF16;
  auto q = QuantiseGroups(matrix.w, matrix.k, matrix.n, spec);
  if (!q.ok()) Fail(1, q.error().message);
  return *std::move(q);
}

void PrintHeader() {
  fmt::print("{:32} {:>11} {:>7} {:>9} {:>6} {:>10} {:>10} {:>10} {:>6} {:>9}\n", "layer", "K x N",
             "type", "bytes", "of f16", "vs full", "vs formula", "bound", "used", "time");
}

// Runs one case and prints its row; whether every element is within its bound.
bool RunCase(const tarsia_module* module, const char* device, const std::string& label,
             const Job& job) {
  const Run run = Execute(module, device, job);
  const Verdict verdict = Judge(job, run.y);
  fmt::print(
      "{:32} {:>11} {:>7} {:>9} {:>5.1f}% {:>9.2f}% {:>10.2e} {:>10.2e} {:>5.0f}% {:>6.2f} ms\n",
      label, fmt::format("{} x {}", job.matrix.k, job.matrix.n), job.type_name, run.weight_bytes,
      100.0 * static_cast<double>(run.weight_bytes) /
          (2.0 * static_cast<double>(job.matrix.w.size())),
      100 * verdict.against_full, verdict.largest_error, verdict.largest_bound,
      100 * verdict.worst_share, run.milliseconds);
  std::fflush(stdout);
  return verdict.worst_share <= 1;
}

void PrintCodeRow(const tarsia_module* module, const Job& job, const char* target) {
  const CodeFigures code = CompileFor(module, target, job);
  fmt::print("{:>11} {:>7} {:>8} {:>9}", fmt::format("{} x {}", job.matrix.k, job.matrix.n),
             job.type_name, target, code.ptx_bytes);
  if (code.assembled) {
    fmt::print(" {:>9} {:>9} {:>7}", code.machine.cubin_bytes, code.machine.registers,
               code.machine.spill_store_bytes + code.machine.spill_load_bytes);
  } else {
    fmt::print(" {:>9} {:>9} {:>7}", "-", "-", "-");
  }
  fmt::print(" {:>7.1f} ms\n", code.compile_ms);
  std::fflush(stdout);
}

class MainJob {
 public:
  explicit MainJob(const Options& options)
      : options_(options), file_(Open(options.model)), tensors_(Header(file_)) {
    auto text = ReadFile(options.program);
    if (!text.ok()) Fail(3, text.error().message);
    auto with = tools::Sized<tarsia_module_options>();
    with.name = options.program.c_str();
    tarsia_module* module = nullptr;
    if (tarsia_module_create(text->data(), text->size(), &with, &module, nullptr) !=
        TARSIA_STATUS_OK) {
      Fail(1, tarsia_last_error());
    }
    module_.reset(module);
  }

  // Every layer in every type on the device; whether all are right.
  bool RunLayers() {
    tarsia_device* opened = nullptr;
    const char* const name = options_.device.empty() ? nullptr : options_.device.c_str();
    if (tarsia_device_open(name, &opened) != TARSIA_STATUS_OK) Fail(3, tarsia_last_error());
    const tools::Handle<tarsia_device> device(opened);
    fmt::print("y[{}, N] = x[{}, K] * w[K, N] by {}, groups of {}, device {}\n\n", options_.m,
               options_.m, options_.program, options_.group, tarsia_device_name(opened));
    PrintHeader();
    bool ok = true;
    for (const std::string_view layer : kLayers) {
      const Matrix matrix = ReadLayer(file_, tensors_, layer);
      const std::vector<uint16_t> x = ToF16(Activations(options_.m * matrix.k));
      for (const std::string_view type : kTypes) {
        const Quantised q = Quantise(matrix, type, options_.group);
        const Job job{matrix, q, std::string(type), options_.m, x};
        ok = RunCase(module_.get(), tarsia_device_name(opened), ShortName(layer), job) && ok;
      }
    }
    fmt::print(
        "\nbytes: codes, scales, zero points. vs full: against the unquantised weights, relative.\n"
        "vs formula: the largest difference to the direct formula in double; bound: the largest\n"
        "allowed; used: the most of its own bound that an element uses.\n");
    return ok;
  }

  // The kernels of the first layer for every target.
  void Compile() {
    fmt::print(
        "\nThe kernel as code, groups of {}:\n\n{:>11} {:>7} {:>8} {:>9} {:>9} {:>9} {:>7} "
        "{:>10}\n",
        options_.group, "K x N", "type", "target", "PTX", "cubin", "registers", "spilled",
        "to PTX");
    const Matrix matrix = ReadLayer(file_, tensors_, kLayers[0]);
    const std::vector<uint16_t> x = ToF16(Activations(options_.m * matrix.k));
    for (const std::string_view type : kTypes) {
      const Quantised q = Quantise(matrix, type, options_.group);
      const Job job{matrix, q, std::string(type), options_.m, x};
      for (size_t i = 0; i < tarsia_target_count(); ++i) {
        PrintCodeRow(module_.get(), job, tarsia_target_name(i));
      }
    }
    fmt::print("\nPTX, cubin, spilled: bytes; registers: per thread; -: ptxas is not available.\n");
  }

  // One case of the size of a tile on the emulator; whether it is right.
  bool Emulate() {
    fmt::print("\nOn the PTX emulator, which checks every access:\n\n");
    PrintHeader();
    const Matrix matrix = Corner(ReadLayer(file_, tensors_, kLayers[0]), 128, 128);
    constexpr int64_t kRows = 16;
    const std::vector<uint16_t> x = ToF16(Activations(kRows * matrix.k));
    const Quantised q = Quantise(matrix, "u4", 64);
    const Job job{matrix, q, "u4", kRows, x};
    bool ok = true;
    for (size_t i = 0; i < tarsia_target_count(); ++i) {
      const std::string device = std::string("ptx:") + tarsia_target_name(i);
      ok = RunCase(module_.get(), device.c_str(), "corner of the first, " + device, job) && ok;
    }
    return ok;
  }

 private:
  static InputFile Open(const std::string& path) {
    auto file = InputFile::Open(path);
    if (!file.ok()) Fail(3, file.error().message);
    return *std::move(file);
  }
  static std::vector<NamedTensor> Header(const InputFile& file) {
    auto tensors = ReadSafetensorsHeader(file);
    if (!tensors.ok()) Fail(3, tensors.error().message);
    return *std::move(tensors);
  }

  const Options options_;
  const InputFile file_;
  const std::vector<NamedTensor> tensors_;
  tools::Handle<tarsia_module> module_;
};

}  // namespace
}  // namespace tarsia::real_layers

int main(int argc, char** argv) {
  tarsia::real_layers::MainJob job(tarsia::real_layers::ParseOptions(argc, argv));
  bool ok = job.RunLayers();
  job.Compile();
  ok = job.Emulate() && ok;
  fmt::print("\n{}\n",
             ok ? "Every element is within its bound." : "AN ELEMENT IS OUTSIDE OF ITS BOUND.");
  return ok ? 0 : 1;
}
