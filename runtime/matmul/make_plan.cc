// Plans that are made here: chosen, specialised and compiled.
#include <algorithm>
#include <utility>

#include "isa/specialise.h"
#include "runtime/diagnostics.h"
#include "runtime/library.h"
#include "runtime/matmul/assembly.h"
#include "runtime/weights/packed_order.h"

namespace tarsia::runtime {
namespace {

// The module, parsed once.
const ValidModule& KernelModule() {
  static const ValidModule module = ValidLibraryModule("quantised_matmul");
  return module;
}

class Constants {
 public:
  Constants& Set(const char* name, int64_t value) {
    list_.push_back({name, std::to_string(value)});
    return *this;
  }
  Constants& Set(const char* name, DType type) {
    list_.push_back({name, std::string(DTypeName(type))});
    return *this;
  }
  Constants& Set(const char* name, std::string text) {
    list_.push_back({name, std::move(text)});
    return *this;
  }
  Constants& SetBool(const char* name, bool value) { return Set(name, value ? "true" : "false"); }
  [[nodiscard]] const std::vector<Binding>& list() const { return list_; }

 private:
  std::vector<Binding> list_;
};

// Zero points are subtracted from codes where they are integers, else from the sums. Of codes less
// zero points, i8 does not hold all, and nothing is computed in f8e4m3fn.
int ZerosOf(const WeightInfo& w) {
  if (w.zero == ZeroPoint::kNone) return 0;
  if (w.zero == ZeroPoint::kFloat || w.compute == kF8E4M3FN) return 2;
  return w.compute == kI8 ? 3 : 1;
}

// What is multiplied and summed, where that is not the type of x and f32.
void SetProducts(const WeightInfo& w, Constants* out) {
  if (w.compute != kI8) return;
  out->Set("A", kI32);
  if (w.type == kU8) out->Set("H", kU8);
}

void SetWeights(const MatmulProblem& problem, Constants* out) {
  const WeightInfo& w = problem.weights;
  out->Set("K", w.k).Set("G", w.group).Set("W", w.type).Set("X", w.compute);
  out->Set("S", w.scale_type)
      .Set("ZEROS", ZerosOf(w))
      .Set("PACK", *PackedOrderText(w.type, w.compute));
  if (w.zero != ZeroPoint::kNone) out->Set("Z", w.zero_type);
  if (problem.codebook) out->SetBool("TABLE", true).Set("E", int64_t{1} << w.type.bits);
}

void SetEpilogue(const MatmulProblem& problem, Constants* out) {
  out->Set("N", problem.columns()).Set("Y", problem.output);
  out->SetBool("SCALED", problem.weights.tensor_scale != 1);
  out->SetBool("BIAS", problem.bias.has_value());
  if (problem.bias) out->Set("B", *problem.bias);
  out->Set("ACT", static_cast<int64_t>(problem.activation));
  out->Set("HALVES", problem.gated ? 2 : 1);
  out->SetBool("RESIDUAL", problem.residual);
}

void SetTile(const MatmulTile& tile, Constants* out) {
  out->Set("BM", tile.bm).Set("BN", tile.bn).Set("BK", tile.bk);
  out->Set("WARPS", tile.warps).Set("STAGES", tile.stages);
  if (tile.slices > 0) out->Set("SLICED", 1).Set("KS", tile.slices);
  if (tile.joined > 1) out->Set("KT", tile.joined);
  if (!tile.stream) return;
  out->Set("STREAM", 1).Set("P", tile.blocks).SetBool("ORDERED", tile.ordered);
}

// The constants of a kernel.
Constants ConstantsOf(const MatmulProblem& problem, const MatmulCandidate& candidate,
                      MatmulKernel kernel) {
  const WeightInfo& w = problem.weights;
  Constants out;
  switch (kernel) {
    case MatmulKernel::kGather:
      out.Set("K", w.k).Set("X", w.compute);
      break;
    case MatmulKernel::kFused:
      SetWeights(problem, &out);
      SetProducts(w, &out);
      out.SetBool("FINITE", w.finite && w.type.IsFloat());
      SetEpilogue(problem, &out);
      SetTile(candidate.tile, &out);
      break;
    case MatmulKernel::kDequantise:
      SetWeights(problem, &out);
      out.Set("N", w.n);
      break;
    case MatmulKernel::kDense:
      out.Set("K", w.k).Set("W", w.compute).Set("X", w.compute).Set("PLAIN", 1);
      SetEpilogue(problem, &out);
      SetTile(candidate.tile, &out);
      break;
  }
  return out;
}

const char* NameOf(MatmulKernel kernel) {
  switch (kernel) {
    case MatmulKernel::kGather:
      return "gather_columns";
    case MatmulKernel::kDequantise:
      return "dequantise";
    case MatmulKernel::kFused:
    case MatmulKernel::kDense:
      break;
  }
  return "quantised_matmul";
}

// A candidate whose code keeps numbers in local memory gives way to one that keeps less and that is
// predicted to take at most so much longer: the prediction knows nothing of local memory. So many
// others are compiled at most.
constexpr double kAboutAsFast = 1.05;
constexpr int kMostOthers = 3;

class Maker {
 public:
  Maker(MatmulPlan::Assembly& assembly, const MatmulOptions& options)
      : assembly_(assembly), plan_(assembly.plan()), options_(options) {}

  Status Run() {
    if (plan_.problem().weights.k == 0) {
      return MakeDiagnostic(diag::kMatmulNoCandidate, {}, plan_.problem().m_min,
                            plan_.problem().m_max, "k = 0");
    }
    TARSIA_TRY(const std::vector<RankedRange> ranges, Ranges());
    for (const RankedRange& range : ranges) {
      TARSIA_TRY(LoadedCandidate chosen, Choose(range.candidates));
      assembly_.AddRange({range.m_min, range.m_max, chosen.candidate});
      for (LoadedPart& part : chosen.parts) {
        TARSIA_CHECK(
            assembly_.AddKernel(part.kernel, std::move(part.program), std::move(part.loaded)));
      }
    }
    return OkStatus();
  }

 private:
  // Rows for which one candidate is the best, and its likes after it.
  struct RankedRange {
    int64_t m_min = 0, m_max = 0;
    std::vector<MatmulCandidate> candidates;
  };
  struct LoadedPart {
    MatmulKernel kernel;
    Program program;
    std::unique_ptr<LoadedKernel> loaded;
  };
  struct LoadedCandidate {
    MatmulCandidate candidate;
    std::vector<LoadedPart> parts;
    int64_t local_bytes = 0;  // of a thread
  };

  [[nodiscard]] Result<std::vector<RankedRange>> Ranges() const {
    const MatmulProblem& problem = plan_.problem();
    std::vector<RankedRange> out;
    int64_t m = problem.m_min;
    do {
      const int64_t end = std::min(
          options_.choice.batch_invariant ? INT64_MAX : EndOfMatmulRange(m), problem.m_max);
      TARSIA_TRY(std::vector<MatmulCandidate> candidates, Rank(m, end));
      if (!out.empty() && out.back().candidates.front().IsSameKernel(candidates.front())) {
        out.back().m_max = end;
      } else {
        out.push_back({m, end, std::move(candidates)});
      }
      m = end + 1;
    } while (m <= problem.m_max);
    return out;
  }

  // The candidates for these rows, the best first, or the one that is asked for.
  [[nodiscard]] Result<std::vector<MatmulCandidate>> Rank(int64_t m_min, int64_t m_max) const {
    std::vector<MatmulCandidate> all = RankFor(m_max, options_.choice);
    if (all.empty()) return NoCandidate(m_min, m_max);
    if (!options_.candidate) return all;
    for (const MatmulCandidate& candidate : all) {
      if (candidate.Text() == *options_.candidate) return std::vector{candidate};
    }
    return MakeDiagnostic(diag::kMatmulCandidate, {}, *options_.candidate, m_min, m_max);
  }
  [[nodiscard]] std::vector<MatmulCandidate> RankFor(int64_t m, const MatmulChoice& choice) const {
    const Device& device = plan_.device();
    return RankMatmul(plan_.problem(), device.Model(), device.Limits().shared_bytes, choice, m);
  }
  // Why there is none: the workspace has no room for any, or none is for the device.
  [[nodiscard]] Diagnostic NoCandidate(int64_t m_min, int64_t m_max) const {
    MatmulChoice choice = options_.choice;
    const uint64_t limit = std::exchange(choice.workspace_limit, 0);
    const std::vector<MatmulCandidate> all = RankFor(m_max, choice);
    if (all.empty()) {
      return MakeDiagnostic(diag::kMatmulNoCandidate, {}, m_min, m_max, plan_.device().name());
    }
    uint64_t least = UINT64_MAX;
    for (const MatmulCandidate& candidate : all) {
      least = std::min(least, WorkspaceOf(plan_.problem(), candidate, m_max).Bytes());
    }
    return MakeDiagnostic(diag::kMatmulWorkspaceLimit, {}, m_min, m_max, least, limit);
  }

  // Loads the first, or one that is about as fast and keeps less in local memory.
  [[nodiscard]] Result<LoadedCandidate> Choose(const std::vector<MatmulCandidate>& ranked) const {
    const MatmulCandidate& first = ranked.front();
    TARSIA_TRY(LoadedCandidate best, Load(first));
    int left = kMostOthers;
    for (size_t i = 1; best.local_bytes != 0 && i < ranked.size() && left > 0; ++i) {
      if (ranked[i].microseconds > kAboutAsFast * first.microseconds) break;
      if (!IsOtherCode(first, ranked[i])) continue;
      --left;
      TARSIA_TRY(LoadedCandidate other, Load(ranked[i]));
      if (other.local_bytes < best.local_bytes) best = std::move(other);
    }
    return best;
  }
  // The order of the blocks changes little of a kernel. One that dequantises needs far more memory.
  [[nodiscard]] static bool IsOtherCode(const MatmulCandidate& a, const MatmulCandidate& b) {
    MatmulTile tile = b.tile;
    tile.ordered = a.tile.ordered;
    return a.dequantises == b.dequantises && tile != a.tile;
  }

  [[nodiscard]] Result<LoadedCandidate> Load(const MatmulCandidate& candidate) const {
    LoadedCandidate out{candidate, {}, 0};
    for (const MatmulKernel kernel : KernelsOf(plan_.problem(), candidate)) {
      TARSIA_TRY(LoadedPart part, LoadPart(kernel, candidate));
      TARSIA_TRY(const int64_t local_bytes, part.loaded->LocalBytes());
      out.local_bytes += local_bytes;
      out.parts.push_back(std::move(part));
    }
    return out;
  }

  [[nodiscard]] Result<LoadedPart> LoadPart(MatmulKernel kernel,
                                            const MatmulCandidate& candidate) const {
    Diagnostics diagnostics;
    const Constants constants = ConstantsOf(plan_.problem(), candidate, kernel);
    auto program = Specialise(KernelModule(), NameOf(kernel), constants.list(),
                              plan_.device().Limits(), diagnostics);
    if (!program) return diagnostics.list().front();
    LoadOptions load;
    load.stop = options_.stop;
    TARSIA_TRY(std::unique_ptr<LoadedKernel> loaded, plan_.device().Load(*program, load));
    return LoadedPart{kernel, *std::move(program), std::move(loaded)};
  }

  MatmulPlan::Assembly& assembly_;
  const MatmulPlan& plan_;
  const MatmulOptions& options_;
};

}  // namespace

Result<std::unique_ptr<const MatmulPlan>> MatmulPlan::Make(const MatmulProblem& problem,
                                                           std::shared_ptr<Device> device,
                                                           const MatmulOptions& options) {
  TARSIA_TRY(Assembly assembly, Assembly::Start(problem, std::move(device)));
  if (!assembly.IsEmpty()) TARSIA_CHECK(Maker(assembly, options).Run());
  return assembly.Finish();
}

}  // namespace tarsia::runtime
