#include "tools/matmul/measured.h"

#include <fmt/format.h>

#include "tools/matmul/spec.h"

namespace tarsia::tools {

double Measured::Spread() const {
  const size_t n = times.size();
  return (times[n - 1 - n / 4] - times[n / 4]) / Median();
}

double Measured::InstructionsPerWeight(const LayerSpec& spec) const {
  const double weights = static_cast<double>(spec.weights.k) * static_cast<double>(spec.weights.n);
  return static_cast<double>(counts.warp_instructions) * 32 / weights;
}

double Measured::Traffic() const {
  return static_cast<double>(counts.global_read_bytes + counts.global_written_bytes);
}

Result<Measured> Measure(const MatmulTrial& trial, double copy_rate) {
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
  out.bound = trial.Bound(copy_rate);
  return out;
}

std::string WrongText(const LayerErrors& errors) {
  return fmt::format("{} of {} elements are wrong; {}", errors.wrong, errors.compared,
                     errors.first);
}

void AppendMeasured(const MatmulTrial& trial, const MatmulRequest& request,
                    const Measured& measured, Json* json) {
  const LayerSpec& spec = trial.layer().spec();
  json->Key("w").String(request.type).Key("m").Number(spec.m);
  json->Key("n").Number(spec.weights.n).Key("k").Number(spec.weights.k);
  json->Key("group").Number(spec.weights.group).Key("device").String(trial.device().name());
  const auto* const range = trial.matmul().range();
  if (range != nullptr) {
    json->Key("candidate").String(range->candidate.Text());
    json->Key("predicted_us").Raw(fmt::format("{:.3f}", range->candidate.microseconds));
  }
  json->Key("ok").Bool(measured.errors.wrong == 0);
  json->Key("compared").Number(measured.errors.compared);
  json->Key("largest_error").Raw(fmt::format("{:.4f}", measured.errors.largest));
  if (!measured.times.empty()) {
    json->Key("median_us").Raw(fmt::format("{:.4f}", measured.Median()));
    json->Key("least_us").Raw(fmt::format("{:.4f}", measured.times.front()));
    json->Key("spread").Raw(fmt::format("{:.4f}", measured.Spread()));
    json->Key("runs").Number(static_cast<int64_t>(measured.times.size()));
    json->Key("floor_us").Raw(fmt::format("{:.4f}", measured.bound.microseconds));
    json->Key("copy_bytes_per_us").Raw(fmt::format("{:.0f}", measured.bound.bytes_per_us));
  }
  json->Key("bytes").Raw(fmt::format("{:.0f}", measured.bound.bytes));
  if (measured.counted) {
    json->Key("instructions_per_weight")
        .Raw(fmt::format("{:.4f}", measured.InstructionsPerWeight(spec)));
    json->Key("counts").Begin('{');
    for (const ptx::CountInfo& info : ptx::CountInfos()) {
      json->Key(info.name).Number(static_cast<int64_t>(measured.counts.*info.field));
    }
    json->End('}');
  }
  json->Key("reproduce").String(Reproduce(request, trial.device().name()));
}

}  // namespace tarsia::tools
