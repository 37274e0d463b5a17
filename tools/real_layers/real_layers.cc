// The main job: layers of a real model are quantised, multiplied by examples/matmul_scaled.tsa
// through the C API, and checked against a direct formula. Prints one row a layer and type.
//
//   real_layers --model model.safetensors [--program matmul_scaled.tsa] [--m 16] [--group 128]
//
// Exit status: 0 when every element is within its bound, 1 when one is not, 2 for a wrong call,
// 3 when the model is not there.
#include <fmt/core.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dtypes/bits.h"
#include "dtypes/bulk.h"
#include "dtypes/quantize.h"
#include "runtime/file.h"
#include "runtime/safetensors.h"
#include "tarsia/tarsia.h"

namespace {

using tarsia::DType;

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
};

[[noreturn]] void Fail(int status, const std::string& message) {
  fmt::print(stderr, "real_layers: {}\n", message);
  std::exit(status);
}

Options ParseOptions(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    if (flag == "--help") {
      fmt::print(
          "Quantises layers of a model, multiplies by a VM program, checks the results.\n"
          "usage: real_layers --model FILE.safetensors [--program FILE.tsa] [--m 16] [--group "
          "128]\n");
      std::exit(0);
    }
    if (i + 1 >= argc) Fail(2, fmt::format("{} needs a value; see --help", flag));
    const std::string value = argv[++i];
    if (flag == "--model") {
      options.model = value;
    } else if (flag == "--program") {
      options.program = value;
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

struct Matrix {
  int64_t k = 0, n = 0;
  std::vector<float> w;  // [K, N]
};

// Reads [outputs, inputs] and turns it into w[K, N].
Matrix ReadLayer(const tarsia::InputFile& file, const std::vector<tarsia::NamedTensor>& tensors,
                 std::string_view name) {
  auto info = tarsia::FindTensor(tensors, name);
  if (!info.ok()) Fail(3, info.error().message);
  if (info->shape.size() != 2 || info->type != tarsia::kF32) {
    Fail(3, fmt::format("{} is not a matrix of f32", name));
  }
  auto data = tarsia::ReadTensor(file, *info);
  if (!data.ok()) Fail(3, data.error().message);
  Matrix out{info->shape[1], info->shape[0], {}};
  std::vector<float> stored(static_cast<size_t>(out.k * out.n));
  std::memcpy(stored.data(), data->data(), stored.size() * sizeof(float));
  out.w.resize(stored.size());
  for (int64_t k = 0; k < out.k; ++k) {
    for (int64_t n = 0; n < out.n; ++n) {
      out.w[static_cast<size_t>(k * out.n + n)] = stored[static_cast<size_t>(n * out.k + k)];
    }
  }
  return out;
}

// Activations in [-2, 2] with three decimals, from a fixed linear congruential generator.
std::vector<float> Activations(int64_t count) {
  std::vector<float> x(static_cast<size_t>(count));
  uint64_t state = 20250101;
  for (float& value : x) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    value = static_cast<float>(static_cast<int64_t>(state >> 33) % 2001) / 1000.0f;
    if ((state & 1u << 20) != 0) value = -value;
  }
  return x;
}

std::vector<uint16_t> ToF16(const std::vector<float>& values) {
  std::vector<uint16_t> out(values.size());
  tarsia::CastBulk(tarsia::kF32, values.data(), tarsia::kF16, out.data(), values.size());
  return out;
}

// The value of a code, straight from the definition of the types used here (finite floats with
// subnormals, two's complement, unsigned), without the library's decoder.
double ValueOf(DType type, unsigned code) {
  if (!type.IsFloat()) {
    const bool negative = type.IsSigned() && (code >> (type.bits - 1)) != 0;
    return static_cast<double>(code) - (negative ? std::ldexp(1.0, type.bits) : 0.0);
  }
  const unsigned mantissa = code & ((1u << type.mantissa) - 1);
  const unsigned exponent = code >> type.mantissa & ((1u << type.exponent) - 1);
  const int bias = (1 << (type.exponent - 1)) - 1;
  const double fraction = std::ldexp(static_cast<double>(mantissa), -type.mantissa);
  const double magnitude = exponent == 0
                               ? std::ldexp(fraction, 1 - bias)
                               : std::ldexp(1.0 + fraction, static_cast<int>(exponent) - bias);
  return (code >> (type.bits - 1)) != 0 ? -magnitude : magnitude;
}

double F16Value(uint16_t code) {
  const int exponent = code >> 10 & 31;
  const double fraction = (code & 1023) / 1024.0;
  const double magnitude =
      exponent == 0 ? std::ldexp(fraction, -14) : std::ldexp(1.0 + fraction, exponent - 15);
  return (code >> 15) != 0 ? -magnitude : magnitude;
}

struct Job {
  const Matrix& matrix;
  const tarsia::Quantised& q;
  int64_t m;
  const std::vector<uint16_t>& x;
};

struct Run {
  std::vector<uint16_t> y;
  uint64_t weight_bytes = 0;
  double milliseconds = 0;
};

// Everything the C API is asked for: module, plan, launch.
Run Execute(const tarsia_module* module, const Job& job, std::string_view type_name) {
  const auto& q = job.q;
  const std::string values[] = {std::to_string(q.k), std::to_string(q.n),
                                std::to_string(q.spec.group), std::string(type_name),
                                q.zeros.empty() ? "false" : "true"};
  const char* names[] = {"K", "N", "G", "W", "ZERO"};
  tarsia_binding bindings[5];
  for (size_t i = 0; i < 5; ++i)
    bindings[i] = {sizeof(tarsia_binding), names[i], values[i].c_str()};
  tarsia_plan_options options{};
  options.size = sizeof options;
  options.bindings = bindings;
  options.binding_count = 5;
  tarsia_plan* plan = nullptr;
  if (tarsia_plan_create(module, &options, &plan, nullptr) != TARSIA_STATUS_OK) {
    Fail(1, tarsia_last_error());
  }
  Run run;
  const size_t count = q.codes.size();
  std::vector<uint8_t> packed((count * q.spec.type.bits + 7) / 8);
  tarsia::PackBits(q.codes.data(), q.spec.type.bits, count, packed.data(), 0);
  const std::vector<uint16_t> scales = ToF16(q.scales);
  std::vector<uint8_t> zeros;
  for (const float zero : q.zeros) zeros.push_back(static_cast<uint8_t>(zero));
  run.weight_bytes = packed.size() + scales.size() * 2 + zeros.size();
  run.y.assign(static_cast<size_t>(job.m * q.n), 0x7E00);  // NaN: nothing may stay as it was
  const tarsia_arg args[] = {
      tarsia_arg_const_pointer(job.x.data(), job.x.size() * 2),
      tarsia_arg_const_pointer(packed.data(), packed.size()),
      tarsia_arg_const_pointer(scales.data(), scales.size() * 2),
      tarsia_arg_const_pointer(zeros.data(), zeros.size()),
      tarsia_arg_pointer(run.y.data(), run.y.size() * 2),
      tarsia_arg_i32(static_cast<int32_t>(job.m)),
  };
  for (int turn = 0; turn < 2; ++turn) {  // the second one finds everything warm
    const auto begin = std::chrono::steady_clock::now();
    if (tarsia_execute(plan, args, 6, nullptr, nullptr, nullptr, nullptr) != TARSIA_STATUS_OK) {
      Fail(1, tarsia_last_error());
    }
    run.milliseconds =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  }
  tarsia_plan_destroy(plan);
  return run;
}

struct Verdict {
  double against_full = 0;   // relative to the norm of the full-precision result
  double largest_error = 0;  // against the formula
  double largest_bound = 0;
  double worst_share = 0;  // of its bound that an element uses; at most 1
};

// y = x * ((code value - zero) * scale) in double. An element may differ by
// (4 sqrt(K) + 8) * 2^-24 * sum |x| |w|, for the sum in f32, and half a unit of f16.
Verdict Judge(const Job& job, const Run& run) {
  const auto& q = job.q;
  std::vector<double> w(q.codes.size());
  for (int64_t k = 0; k < q.k; ++k) {
    for (int64_t n = 0; n < q.n; ++n) {
      const auto group = static_cast<size_t>(k / q.spec.group * q.n + n);
      const auto at = static_cast<size_t>(k * q.n + n);
      const double zero = q.zeros.empty() ? 0.0 : static_cast<double>(q.zeros[group]);
      w[at] = (ValueOf(q.spec.type, q.codes[at]) - zero) * static_cast<double>(q.scales[group]);
    }
  }
  Verdict out;
  double difference = 0, norm = 0;
  const double slack = (4 * std::sqrt(static_cast<double>(q.k)) + 8) * std::ldexp(1.0, -24);
  std::vector<double> y(static_cast<size_t>(q.n)), sum(y.size()), full(y.size());
  for (int64_t i = 0; i < job.m; ++i) {
    std::fill(y.begin(), y.end(), 0.0);
    std::fill(sum.begin(), sum.end(), 0.0);
    std::fill(full.begin(), full.end(), 0.0);
    for (int64_t k = 0; k < q.k; ++k) {
      const double x = F16Value(job.x[static_cast<size_t>(i * q.k + k)]);
      for (int64_t n = 0; n < q.n; ++n) {
        const auto at = static_cast<size_t>(k * q.n + n);
        const auto j = static_cast<size_t>(n);
        y[j] += x * w[at];
        sum[j] += std::abs(x * w[at]);
        full[j] += x * static_cast<double>(job.matrix.w[at]);
      }
    }
    for (size_t j = 0; j < y.size(); ++j) {
      const double got = F16Value(run.y[static_cast<size_t>(i * q.n) + j]);
      const bool is_nan = (run.y[static_cast<size_t>(i * q.n) + j] & 0x7C00) == 0x7C00;
      const double error = is_nan ? INFINITY : std::abs(got - y[j]);
      const double bound =
          slack * sum[j] + std::max(std::abs(y[j]) * std::ldexp(1.0, -11), std::ldexp(1.0, -25)) *
                               (1 + std::ldexp(1.0, -10));
      out.largest_error = std::max(out.largest_error, error);
      out.largest_bound = std::max(out.largest_bound, bound);
      out.worst_share = std::max(out.worst_share, error / bound);
      difference += (got - full[j]) * (got - full[j]);
      norm += full[j] * full[j];
    }
  }
  out.against_full = std::sqrt(difference / norm);
  return out;
}

// "layer.0.attention.self.query" of "encoder.layer.0.attention.self.query.weight".
std::string ShortName(std::string_view name) {
  name.remove_prefix(std::string_view("encoder.").size());
  name.remove_suffix(std::string_view(".weight").size());
  return std::string(name);
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = ParseOptions(argc, argv);
  auto file = tarsia::InputFile::Open(options.model);
  if (!file.ok()) Fail(3, file.error().message);
  auto tensors = tarsia::ReadSafetensorsHeader(*file);
  if (!tensors.ok()) Fail(3, tensors.error().message);
  auto text = tarsia::ReadFile(options.program);
  if (!text.ok()) Fail(3, text.error().message);
  tarsia_module_options module_options{};
  module_options.size = sizeof module_options;
  module_options.name = options.program.c_str();
  tarsia_module* module = nullptr;
  if (tarsia_module_create(text->data(), text->size(), &module_options, &module, nullptr) !=
      TARSIA_STATUS_OK) {
    Fail(1, tarsia_last_error());
  }

  fmt::print("y[{}, N] = x[{}, K] * w[K, N] by {}, groups of {}, device cpu\n\n", options.m,
             options.m, options.program, options.group);
  fmt::print("{:32} {:>11} {:>7} {:>9} {:>6} {:>10} {:>10} {:>10} {:>6} {:>9}\n", "layer", "K x N",
             "type", "bytes", "of f16", "vs full", "vs formula", "bound", "used", "time");
  bool ok = true;
  for (const std::string_view name : kLayers) {
    const Matrix matrix = ReadLayer(*file, *tensors, name);
    const std::vector<uint16_t> x = ToF16(Activations(options.m * matrix.k));
    for (const std::string_view type_name : kTypes) {
      tarsia::QuantiseSpec spec;
      spec.type = *tarsia::FindDType(type_name);
      spec.group = matrix.k % options.group == 0 ? options.group : matrix.k;
      spec.zero = spec.type.kind == tarsia::DTypeKind::kUnsigned ? tarsia::ZeroPoint::kInteger
                                                                 : tarsia::ZeroPoint::kNone;
      spec.scale_type = tarsia::kF16;
      auto q = tarsia::QuantiseGroups(matrix.w, matrix.k, matrix.n, spec);
      if (!q.ok()) Fail(1, q.error().message);
      const Job job{matrix, *q, options.m, x};
      const Run run = Execute(module, job, type_name);
      const Verdict verdict = Judge(job, run);
      ok = ok && verdict.worst_share <= 1;
      fmt::print(
          "{:32} {:>11} {:>7} {:>9} {:>5.1f}% {:>9.2f}% {:>10.2e} {:>10.2e} {:>5.0f}% {:>6.2f} "
          "ms\n",
          ShortName(name), fmt::format("{} x {}", matrix.k, matrix.n), type_name, run.weight_bytes,
          100.0 * static_cast<double>(run.weight_bytes) /
              (2.0 * static_cast<double>(matrix.w.size())),
          100 * verdict.against_full, verdict.largest_error, verdict.largest_bound,
          100 * verdict.worst_share, run.milliseconds);
    }
  }
  tarsia_module_destroy(module);
  fmt::print(
      "\nbytes: codes, scales, zero points. vs full: against the unquantised weights, relative.\n"
      "vs formula: the largest difference to the direct formula in double; bound: the largest\n"
      "allowed; used: the most of its own bound that an element uses.\n{}\n",
      ok ? "Every element is within its bound." : "AN ELEMENT IS OUTSIDE OF ITS BOUND.");
  return ok ? 0 : 1;
}
