// tarsia matmul: multiplies by packed weights, or checks and times a product of made numbers.
#include "tools/matmul/matmul.h"

#include <fmt/format.h>

#include <array>
#include <iterator>
#include <string_view>

#include "tools/commands.h"
#include "tools/matmul/spec.h"
#include "tools/output.h"

namespace tarsia::tools {
namespace {

// In the order of runtime::Activation.
constexpr std::array<std::string_view, runtime::kActivations> kActivationNames = {
    "none", "gelu", "gelu_tanh", "silu", "relu"};

void DeclareBoth(Command& command, MatmulRequest* request) {
  DeclareProduct(command, request);
  command.Value("--candidate", "TEXT", &request->candidate,
                "The kernel to take: one of those that --candidates lists");
  command.Flag("--candidates", &request->candidates,
               "Only list the kernels for these rows, the best first, with predicted times");
  command.Flag("--json", &request->json, "Print the summary as JSON");
}

void DeclareFiles(Command& command, MatmulRequest* request) {
  command.Value("--in", "X", &request->in,
                "x [.., K]: x.npy, m.safetensors:TENSOR, - for a .npy on standard input; f16, f32 "
                "or f64, rounded to the type that the weights are packed for; if that has 8 bits, "
                "each row by its largest magnitude, unless --x-scales is given");
  command.Value("--x-scales", "S", &request->x_scales,
                "The scales of the rows of x [..], f32, f16 or f64, for x of i8 or f8e4m3fn");
  command.Value("--weights", "W", &request->weights, "The packed weights: a .tsw file");
  command.Value("--bias", "B", &request->bias, "The bias [N] (with --gated of both halves)");
  command.Value("--residual", "R", &request->residual, "What is added to y, of the same shape");
  command.Value("--out", "Y", &request->out, "The file for y [.., N], as .npy");
}

void DeclareTrial(Command& command, MatmulRequest* request) {
  command.Value("--m", "M", &request->m, "Rows of x: makes numbers, checks the product, times it");
  command.Value("--n", "N", &request->n, "Columns of w");
  command.Value("--k", "K", &request->k, "Rows of w");
  command.Value("--w", "T", &request->type,
                "The type of the weights: u4, i3, f6e3m2, .., or a codebook: nf4, iq4_nl, fp4");
  command.Flag("--tune", &request->tune, "Check and time every candidate, and list them by time");
  DeclareMade(command, request);
}

int CheckForm(const Command& command, const MatmulRequest& request, bool* files) {
  *files = !request.in.empty() || !request.weights.empty() || !request.out.empty() ||
           !request.x_scales.empty() || !request.bias.empty() || !request.residual.empty();
  const bool made = request.m || request.n || request.k || !request.type.empty();
  if (*files && made) {
    return command.Misuse("--in, --weights and --out exclude --m, --n, --k and --w");
  }
  if (!*files && !made) {
    return command.Misuse("give --in, --weights and --out, or --m, --n, --k and --w");
  }
  if (!*files) return kDone;
  if (request.weights.empty()) return command.Misuse("--weights is required");
  if (request.in.empty()) return command.Misuse("--in is required");
  if (request.out.empty() && !request.candidates) return command.Misuse("--out is required");
  return kDone;
}

}  // namespace

void DeclareProduct(Command& command, MatmulRequest* request) {
  command.Choice("--act", &request->activation, {kActivationNames.begin(), kActivationNames.end()},
                 "The activation, after the bias; the default is none");
  command.Flag("--gated", &request->gated,
               "The weights have the columns of two halves: y is the activation of the first "
               "times the second");
  command.Choice("--y-type", &request->output, {"f16", "bf16", "f32"},
                 "The type of y; the default is that of x, or f16 where x has 8 bits");
  command.Value("--device", "D", &request->device, "The device; see `tarsia devices`");
  command.Flag("--deterministic", &request->deterministic, "The same bits in every run");
  command.Flag("--batch-invariant", &request->batch_invariant,
               "The same bits of a row for any number of rows");
}

runtime::Activation MatmulRequest::Act() const {
  for (size_t i = 0; i < kActivationNames.size(); ++i) {
    if (kActivationNames[i] == activation) return static_cast<runtime::Activation>(i);
  }
  return runtime::Activation::kNone;
}

DType MatmulRequest::OutputFor(DType compute_type) const {
  return output.empty() ? runtime::UsualOutput(compute_type) : *FindDType(output);
}

runtime::MatmulOptions MatmulRequest::Options() const {
  runtime::MatmulOptions options;
  options.choice.batch_invariant = batch_invariant;
  options.choice.deterministic = deterministic || batch_invariant;
  if (!candidate.empty()) options.candidate = candidate;
  return options;
}

int OpenDeviceOf(const MatmulRequest& request, std::shared_ptr<runtime::Device>* out) {
  auto device = runtime::OpenDevice(request.device);
  if (!device.ok()) {
    PrintError(device.error());
    return kEnvironment;
  }
  *out = *std::move(device);
  return kDone;
}

int PrintCandidates(const runtime::MatmulProblem& problem, runtime::Device& device,
                    const MatmulRequest& request) {
  const auto all = RankMatmul(problem, device.Model(), device.Limits().shared_bytes,
                              request.Options().choice, problem.m_max);
  Json json;
  json.Begin('[');
  std::string text;
  for (const runtime::MatmulCandidate& one : all) {
    json.Begin('{').Key("candidate").String(one.Text());
    json.Key("predicted_us").Raw(fmt::format("{:.3f}", one.microseconds)).End('}');
    text += one.microseconds > 0 ? fmt::format("{:9.2f} us  {}\n", one.microseconds, one.Text())
                                 : one.Text() + "\n";
  }
  PrintOut(request.json ? json.End(']').Take() : text);
  return kDone;
}

int Matmul(const Args& args) {
  Command command("matmul",
                  "Multiplies by packed weights; or, with --m, --n, --k and --w, makes numbers, "
                  "checks the product, and times it.",
                  {"tarsia pack weights.npy --type i4 --group 32 -o w.tsw && "
                   "tarsia matmul --in rows.npy --weights w.tsw --out y.npy",
                   "tarsia matmul --m 16 --n 1024 --k 1024 --w u4 --group 128 --device cpu"});
  MatmulRequest request;
  DeclareFiles(command, &request);
  DeclareTrial(command, &request);
  DeclareBoth(command, &request);
  if (const auto code = command.Parse(args)) return *code;
  bool files = false;
  if (const int code = CheckForm(command, request, &files); code != kDone) return code;
  return files ? MultiplyFiles(request) : TryMatmul(command, request);
}

}  // namespace tarsia::tools
