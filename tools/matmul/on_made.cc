// tarsia matmul with made numbers: checks the product, then times or counts it.
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "runtime/weights/parallel.h"
#include "tools/matmul/matmul.h"
#include "tools/matmul/measured.h"
#include "tools/matmul/spec.h"
#include "tools/output.h"
#include "tools/progress.h"

namespace tarsia::tools {
namespace {

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
  std::string out =
      fmt::format("counts    {:.2f} instructions of PTX a weight, {} barriers of warps\n",
                  measured.InstructionsPerWeight(spec), counts.barriers);
  out += fmt::format(
      "          {:.2f} MB read and written where {:.2f} MB are the floor; {} sectors, at best "
      "{}\n",
      measured.Traffic() / 1e6, measured.bound.bytes / 1e6, counts.global_sectors,
      counts.global_ideal_sectors);
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

int Report(const MatmulTrial& trial, const MatmulRequest& request, const Measured& measured) {
  const LayerSpec& spec = trial.layer().spec();
  const int64_t columns = trial.matmul().plan().problem().columns();
  const bool ok = measured.errors.wrong == 0;
  if (request.json) {
    Json json;
    json.Begin('{');
    AppendMeasured(trial, request, measured, &json);
    PrintOut(json.End('}').Take());
  }
  if (!ok) {
    PrintError(WrongText(measured.errors));
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
  const auto rate = CopyRate((*trial)->device());
  const auto measured = rate.ok() ? Measure(**trial, *rate) : Result<Measured>(rate.error());
  if (!measured.ok()) {
    PrintError(measured.error());
    return kRejected;
  }
  return Report(**trial, request, *measured);
}

}  // namespace tarsia::tools
