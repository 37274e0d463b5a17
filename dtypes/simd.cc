#include "dtypes/simd.h"

#include <array>
#include <atomic>
#include <iterator>
#include <optional>
#include <string>

#include "dtypes/diagnostics.h"
#include "dtypes/simd_dispatch.h"
#include "support/environment.h"

namespace tarsia {
namespace internal {

constinit hwy::ChosenTarget chosen_simd;

}  // namespace internal

namespace {

std::atomic<Simd> running = Simd::kBaseline;  // the instruction set of chosen_simd

struct Entry {
  SimdRow row;
  int64_t target;  // of Highway
};

#if HWY_ARCH_X86
constexpr Entry kEntries[] = {
    {{Simd::kBaseline, "", "SSE2"}, HWY_STATIC_TARGET},
    {{Simd::kSse4, "sse4", "SSE4"}, HWY_SSE4},
    {{Simd::kAvx2, "avx2", "AVX2"}, HWY_AVX2},
    {{Simd::kAvx512, "avx512", "AVX-512"}, HWY_AVX3},
};
#else
constexpr Entry kEntries[] = {
    {{Simd::kBaseline, "", HWY_ARCH_ARM ? "NEON" : "none"}, HWY_STATIC_TARGET},
    {{Simd::kSse4, "sse4", "SSE4"}, 0},
    {{Simd::kAvx2, "avx2", "AVX2"}, 0},
    {{Simd::kAvx512, "avx512", "AVX-512"}, 0},
};
#endif

const Entry& EntryOf(Simd simd) { return kEntries[static_cast<size_t>(simd)]; }

Simd Best() {
  Simd best = Simd::kBaseline;
  for (const Entry& entry : kEntries) {
    if (HasSimd(entry.row.simd)) best = entry.row.simd;
  }
  return best;
}

std::string Names(bool of_processor) {
  std::string out;
  for (const Entry& entry : kEntries) {
    if (entry.row.name.empty() || (of_processor && !HasSimd(entry.row.simd))) continue;
    out += (out.empty() ? "" : ", ") + std::string(entry.row.name);
  }
  return out.empty() ? "none of them" : out;
}

// The instruction set that TARSIA_SIMD requests; empty if it is not set.
Result<std::optional<Simd>> Requested() {
  const std::string_view text = Environment(kSimdVariable);
  if (text.empty()) return std::optional<Simd>();
  for (const Entry& entry : kEntries) {
    if (entry.row.name != text) continue;
    if (HasSimd(entry.row.simd)) return std::optional<Simd>(entry.row.simd);
    return MakeDiagnostic(diag::kSimdMissing, Location(), kSimdVariable, text, Names(true));
  }
  return MakeDiagnostic(diag::kSimdUnknown, Location(), kSimdVariable, text, Names(false));
}

// Read once, because the choice is made once.
const Result<std::optional<Simd>>& RequestedOnce() {
  static const auto requested = Requested();
  return requested;
}

}  // namespace

namespace internal {

void ChooseSimd() {
  const auto& requested = RequestedOnce();
  UseSimd(requested.ok() && requested->has_value() ? **requested : Best());
}

}  // namespace internal

std::span<const SimdRow> AllSimd() {
  static const auto rows = [] {
    std::array<SimdRow, std::size(kEntries)> out;
    for (size_t i = 0; i < out.size(); ++i) out[i] = kEntries[i].row;
    return out;
  }();
  return rows;
}

bool HasSimd(Simd simd) {
  return simd == Simd::kBaseline || (hwy::SupportedTargets() & EntryOf(simd).target) != 0;
}

const SimdRow& ChosenSimd() {
  (void)internal::ChosenSimdTarget();
  return EntryOf(running).row;
}

Status CheckSimd() {
  const auto& requested = RequestedOnce();
  return requested.ok() ? OkStatus() : Status(requested.error());
}

void UseSimd(Simd simd) {
  running = simd;
  internal::chosen_simd.Update(EntryOf(simd).target | HWY_STATIC_TARGET);
}

}  // namespace tarsia
