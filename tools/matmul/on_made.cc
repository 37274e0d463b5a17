// tarsia matmul with made numbers: checks the product, then times or counts it.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "runtime/weights/parallel.h"
#include "tools/matmul/matmul.h"
#include "tools/matmul/trial.h"
#include "tools/output.h"
#include "tools/progress.h"
#include "tools/weights/weight_types.h"

namespace tarsia::tools {
namespace {

constexpr int64_t kMostSize = 1 << 30;

int ReadSize(const Command& command, const char* option, const std::optional<std::string>& text,
             int64_t least, int64_t* out) {
  if (!text) return command.Misuse(fmt::format("{} is required", option));
  const char* const end = text->data() + text->size();
  const auto [rest, error] = std::from_chars(text->data(), end, *out);
  if (error == std::errc() && rest == end && *out >= least && *out <= kMostSize) return kDone;
  return command.Misuse(
      fmt::format("{} {}: it is a number from {} to {}", option, *text, least, kMostSize));
}

int ReadSpec(const Command& command, const MatmulRequest& request, LayerSpec* out) {
  WeightInfo& w = out->weights;
  int code = ReadSize(command, "--m", request.m, 0, &out->m);
  if (code == kDone) code = ReadSize(command, "--n", request.n, 1, &w.n);
  if (code == kDone) code = ReadSize(command, "--k", request.k, 1, &w.k);
  if (code == kDone && request.type.empty()) code = command.Misuse("--w is required");
  WeightTypes types;
  if (code == kDone) {
    code = FindWeightTypes(command, "--w", request.type, request.compute, &types);
  }
  if (code != kDone) return code;
  w.type = types.weight;
  w.compute = types.compute;
  out->codebook = types.codebook;
  w.group = request.group == 0 ? w.k : request.group;
  if (w.k % w.group != 0) {
    return command.Misuse(fmt::format("--group {} does not divide the {} rows", w.group, w.k));
  }
  w.scale_type = *FindDType(request.scale);
  w.zero = ZeroPointOf(request.zero);
  if (w.zero != ZeroPoint::kNone) {
    if (w.type.IsFloat() || types.codebook != nullptr) {
      return command.Misuse("--zero: only integers have zero points");
    }
    w.zero_type = w.zero == ZeroPoint::kFloat ? kF32 : w.type.IsUnsigned() ? kU8 : kI8;
  }
  out->activation = request.Act();
  out->gated = request.gated;
  out->bias = request.with_bias;
  out->residual = request.with_residual;
  out->output = request.OutputFor(w.compute);
  return kDone;
}

// The command line that repeats it.
std::string Reproduce(const MatmulRequest& request, const std::string& device) {
  std::string out = fmt::format("tarsia matmul --m {} --n {} --k {} --w {}", *request.m, *request.n,
                                *request.k, request.type);
  if (request.group != 0) out += fmt::format(" --group {}", request.group);
  const MatmulRequest none;
  if (request.zero != none.zero) out += " --zero " + request.zero;
  if (request.scale != none.scale) out += " --scale " + request.scale;
  if (request.activation != none.activation) out += " --act " + request.activation;
  if (!request.compute.empty()) out += " --compute " + request.compute;
  if (!request.output.empty()) out += " --y-type " + request.output;
  if (request.gated) out += " --gated";
  if (request.with_bias) out += " --with-bias";
  if (request.with_residual) out += " --with-residual";
  if (request.deterministic) out += " --deterministic";
  if (request.batch_invariant) out += " --batch-invariant";
  if (!request.candidate.empty()) out += fmt::format(" --candidate '{}'", request.candidate);
  return out + " --device " + device;
}

struct Measured {
  LayerErrors errors;
  std::vector<double> times;  // empty: there are none
  MatmulBound bound;
  ptx::Counts counts;
  bool counted = false;

  [[nodiscard]] double Median() const { return times[times.size() / 2]; }
};

Result<Measured> Measure(const MatmulTrial& trial) {
  Measured out;
  TARSIA_TRY(out.errors, trial.Verify());
  if (out.errors.wrong != 0) return out;
  if (trial.HasTimes()) {
    TARSIA_TRY(out.times, trial.Time());
  } else {
    TARSIA_TRY(const ptx::LaunchCounts counts, trial.Count());
    out.counts = counts.Total().counts;
    out.counted = true;
  }
  TARSIA_TRY(out.bound, trial.Bound());
  return out;
}

std::string TimesText(const Measured& measured) {
  const double median = measured.Median();
  const MatmulBound& bound = measured.bound;
  std::string out = fmt::format(
      "time      {:.2f} us, from {:.2f} to {:.2f} of {} runs: {:.3g} GB/s, {:.3g} TFLOP/s\n",
      median, measured.times.front(), measured.times.back(), measured.times.size(),
      bound.bytes / median / 1e3, bound.operations / median / 1e6);
  out += fmt::format("floor     {:.2f} us, {}: {:.1f}% of the time\n", bound.microseconds,
                     bound.by_operations ? fmt::format("{:.3g} operations", bound.operations)
                                         : fmt::format("{:.2f} MB at the {:.0f} GB/s of a copy",
                                                       bound.bytes / 1e6, bound.bytes_per_us / 1e3),
                     100 * bound.microseconds / median);
  return out;
}

std::string CountsText(const Measured& measured, const LayerSpec& spec) {
  const ptx::Counts& counts = measured.counts;
  const double weights = static_cast<double>(spec.weights.k) * static_cast<double>(spec.weights.n);
  std::string out =
      fmt::format("counts    {:.2f} instructions of PTX a weight, {} barriers of warps\n",
                  static_cast<double>(counts.warp_instructions) * 32 / weights, counts.barriers);
  out += fmt::format(
      "          {:.2f} MB read and written where {:.2f} MB are the floor; {} sectors, at best "
      "{}\n",
      static_cast<double>(counts.global_read_bytes + counts.global_written_bytes) / 1e6,
      measured.bound.bytes / 1e6, counts.global_sectors, counts.global_ideal_sectors);
  out += fmt::format("          {} passes over the banks of shared memory, at best {}\n",
                     counts.shared_wavefronts, counts.shared_ideal_wavefronts);
  return out;
}

std::string ErrorsText(const LayerErrors& errors, int64_t elements) {
  std::string out = errors.compared == elements
                        ? fmt::format("all {} elements", elements)
                        : fmt::format("{} of {} elements", errors.compared, elements);
  return fmt::format("checked   {}: the largest error is {:.2f} of its bound\n", out,
                     errors.largest);
}

std::string MeasuredJson(const MatmulTrial& trial, const MatmulRequest& request,
                         const Measured& measured) {
  const LayerSpec& spec = trial.layer().spec();
  Json json;
  json.Begin('{').Key("w").String(request.type).Key("m").Number(spec.m);
  json.Key("n").Number(spec.weights.n).Key("k").Number(spec.weights.k);
  json.Key("group").Number(spec.weights.group).Key("device").String(trial.device().name());
  const auto* const range = trial.matmul().range();
  if (range != nullptr) {
    json.Key("candidate").String(range->candidate.Text());
    json.Key("predicted_us").Raw(fmt::format("{:.3f}", range->candidate.microseconds));
  }
  json.Key("ok").Bool(measured.errors.wrong == 0);
  json.Key("compared").Number(measured.errors.compared);
  json.Key("largest_error").Raw(fmt::format("{:.4f}", measured.errors.largest));
  if (!measured.times.empty()) {
    json.Key("median_us").Raw(fmt::format("{:.4f}", measured.Median()));
    json.Key("least_us").Raw(fmt::format("{:.4f}", measured.times.front()));
    json.Key("runs").Number(static_cast<int64_t>(measured.times.size()));
    json.Key("floor_us").Raw(fmt::format("{:.4f}", measured.bound.microseconds));
    json.Key("copy_bytes_per_us").Raw(fmt::format("{:.0f}", measured.bound.bytes_per_us));
  }
  json.Key("bytes").Raw(fmt::format("{:.0f}", measured.bound.bytes));
  if (measured.counted) {
    json.Key("counts").Begin('{');
    for (const ptx::CountInfo& info : ptx::CountInfos()) {
      json.Key(info.name).Number(static_cast<int64_t>(measured.counts.*info.field));
    }
    json.End('}');
  }
  json.Key("reproduce").String(Reproduce(request, trial.device().name()));
  return json.End('}').Take();
}

int Report(const MatmulTrial& trial, const MatmulRequest& request, const Measured& measured) {
  const LayerSpec& spec = trial.layer().spec();
  const int64_t columns = trial.matmul().plan().problem().columns();
  const bool ok = measured.errors.wrong == 0;
  if (request.json) PrintOut(MeasuredJson(trial, request, measured));
  if (!ok) {
    PrintError(fmt::format("{} of {} elements are wrong; {}", measured.errors.wrong,
                           measured.errors.compared, measured.errors.first));
    return kRejected;
  }
  if (request.json) return kDone;
  std::string out = fmt::format("{} x {} [{}, {}], {} rows, group {}, on {}\n", request.type,
                                DTypeName(spec.weights.compute), spec.weights.k, spec.weights.n,
                                spec.m, spec.weights.group, trial.device().Description());
  const auto* const range = trial.matmul().range();
  if (range != nullptr) {
    out += "kernel    " + range->candidate.Text();
    if (range->candidate.microseconds > 0) {
      out += fmt::format(", predicted {:.2f} us", range->candidate.microseconds);
    }
    out += "\n";
  }
  out += ErrorsText(measured.errors, spec.m * columns);
  if (!measured.times.empty()) out += TimesText(measured);
  if (measured.counted) out += CountsText(measured, spec);
  PrintOut(out + Reproduce(request, trial.device().name()) + "\n");
  return kDone;
}

struct TunedRow {
  runtime::MatmulCandidate candidate;
  DeviceMatmul::Plan plan;
  double median = 0, largest_error = 0;
  std::string error;
};

// Makes the plans of all candidates, several at a time.
std::vector<TunedRow> PlanAll(const runtime::MatmulProblem& problem,
                              const std::shared_ptr<runtime::Device>& device,
                              const runtime::MatmulOptions& options) {
  std::vector<TunedRow> rows;
  for (const auto& candidate : RankMatmul(problem, device->Model(), device->Limits().shared_bytes,
                                          options.choice, problem.m_max)) {
    rows.push_back({candidate, nullptr, 0, 0, ""});
  }
  ProgressBar bar("kernels compiled");
  ParallelFor(
      static_cast<int64_t>(rows.size()),
      [&](int64_t i) {
        TunedRow& row = rows[static_cast<size_t>(i)];
        runtime::MatmulOptions one = options;
        one.candidate = row.candidate.Text();
        auto plan = runtime::MatmulPlan::Make(problem, device, one);
        if (plan.ok()) {
          row.plan = *std::move(plan);
        } else {
          row.error = plan.error().message;
        }
      },
      [&](uint64_t done, uint64_t total) {
        if (ProgressBar::wanted()) bar.Show(done, total);
        return true;
      });
  return rows;
}

void MeasureRow(MatmulTrial& trial, TunedRow* row) {
  if (!row->error.empty()) return;
  const Status chosen = trial.Choose(std::move(row->plan));
  if (!chosen.ok()) {
    row->error = chosen.error().message;
    return;
  }
  const auto errors = trial.Verify(MatmulTrial::kProducts / 20);
  const auto times = trial.Time();
  if (!errors.ok() || !times.ok()) {
    row->error = errors.ok() ? times.error().message : errors.error().message;
  } else if (errors->wrong != 0) {
    row->error = errors->first;
  } else {
    row->median = (*times)[times->size() / 2];
    row->largest_error = errors->largest;
  }
}

// Checks and times each candidate, and lists them by time.
int Tune(MatmulTrial& trial, const std::shared_ptr<runtime::Device>& device,
         const MatmulRequest& request) {
  std::vector<TunedRow> rows = PlanAll(trial.Problem(), device, request.Options());
  ProgressBar bar("candidates timed");
  for (size_t i = 0; i < rows.size(); ++i) {
    bar.Show(i, rows.size());
    MeasureRow(trial, &rows[i]);
  }
  std::stable_sort(rows.begin(), rows.end(), [](const TunedRow& a, const TunedRow& b) {
    return std::pair(!a.error.empty(), a.median) < std::pair(!b.error.empty(), b.median);
  });
  Json json;
  json.Begin('[');
  std::string text = "     time   predicted  candidate\n";
  bool ok = true;
  for (const TunedRow& row : rows) {
    ok = ok && row.error.empty();
    json.Begin('{').Key("candidate").String(row.candidate.Text());
    json.Key("predicted_us").Raw(fmt::format("{:.3f}", row.candidate.microseconds));
    if (row.error.empty()) {
      json.Key("median_us").Raw(fmt::format("{:.4f}", row.median));
      json.Key("largest_error").Raw(fmt::format("{:.4f}", row.largest_error));
      text += fmt::format("{:9.2f}   {:9.2f}  {}\n", row.median, row.candidate.microseconds,
                          row.candidate.Text());
    } else {
      json.Key("error").String(row.error);
      text += fmt::format("   FAILED   {:9.2f}  {}: {}\n", row.candidate.microseconds,
                          row.candidate.Text(), row.error);
    }
    json.End('}');
  }
  PrintOut(request.json ? json.End(']').Take() : text);
  return ok ? kDone : kRejected;
}

}  // namespace

int TryMatmul(const Command& command, const MatmulRequest& request) {
  LayerSpec spec;
  if (const int code = ReadSpec(command, request, &spec); code != kDone) return code;
  std::shared_ptr<runtime::Device> device;
  if (const int code = OpenDeviceOf(request, &device); code != kDone) return code;
  if (request.candidates) return PrintCandidates(ProblemOf(spec, spec.weights), *device, request);
  Result<std::unique_ptr<MatmulTrial>> trial = [&] {
    ProgressBar bar("blocks of weights");
    Progress progress;
    if (ProgressBar::wanted()) {
      progress = [&](uint64_t done, uint64_t total) {
        bar.Show(done, total);
        return true;
      };
    }
    return MatmulTrial::Make(spec, device, progress);
  }();
  if (!trial.ok()) {
    PrintError(trial.error());
    return kRejected;
  }
  if (request.tune) {
    if (!(*trial)->HasTimes()) {
      PrintError(fmt::format("--tune: the device {} has no times", (*trial)->device().name()));
      return kRejected;
    }
    return Tune(**trial, device, request);
  }
  auto plan = runtime::MatmulPlan::Make((*trial)->Problem(), device, request.Options());
  const Status chosen = plan.ok() ? (*trial)->Choose(*std::move(plan)) : Status(plan.error());
  if (!chosen.ok()) {
    PrintError(chosen.error());
    return kRejected;
  }
  const auto measured = Measure(**trial);
  if (!measured.ok()) {
    PrintError(measured.error());
    return kRejected;
  }
  return Report(**trial, request, *measured);
}

}  // namespace tarsia::tools
