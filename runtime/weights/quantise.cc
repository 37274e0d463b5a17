#include "runtime/weights/quantise.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "dtypes/bulk.h"
#include "dtypes/convert.h"
#include "dtypes/diagnostics.h"
#include "dtypes/scale_choice.h"
#include "runtime/diagnostics.h"
#include "runtime/weights/quick_codes.h"
#include "support/extents.h"

namespace tarsia {
namespace {

using internal::Affine;
using internal::Chooser;

constexpr int64_t kColumns = 1024;  // of a block of work
constexpr int64_t kRows = 16;       // are read at a time

// The first place, in row-major order, where something cannot be quantised.
class FirstBad {
 public:
  void Note(int64_t row, int64_t column, float value) {
    const std::scoped_lock lock(mutex_);
    if (there_ && std::pair(row_, column_) <= std::pair(row, column)) return;
    there_ = true;
    row_ = row;
    column_ = column;
    value_ = value;
  }
  // Of a weight.
  [[nodiscard]] Status Check(DType type) const {
    if (!there_) return OkStatus();
    if (!std::isfinite(value_)) return MakeDiagnostic(diag::kQuantiseNotFinite, {}, row_, column_);
    return MakeDiagnostic(diag::kQuantiseNegative, {}, row_, column_, DTypeName(type));
  }
  // Of a scale; the row is that of the scales.
  [[nodiscard]] Status CheckScale(DType type) const {
    if (!there_) return OkStatus();
    return MakeDiagnostic(diag::kQuantiseScale, {}, row_, column_, DTypeName(type));
  }

 private:
  std::mutex mutex_;
  bool there_ = false;
  int64_t row_ = 0, column_ = 0;
  float value_ = 0;
};

// The least and the largest weight of each column of a region.
struct Ranges {
  std::vector<float> least, most;
  explicit Ranges(int64_t columns)
      : least(Size(columns), std::numeric_limits<float>::infinity()),
        most(Size(columns), -std::numeric_limits<float>::infinity()) {}

  void Add(const float* w, int64_t columns) {
    for (int64_t j = 0; j < columns; ++j) {
      least[Size(j)] = w[j] < least[Size(j)] ? w[j] : least[Size(j)];
      most[Size(j)] = w[j] > most[Size(j)] ? w[j] : most[Size(j)];
    }
  }
};

// Whether a row has a number that is not finite, or a negative one where none may be.
bool HasBad(const float* w, int64_t columns, bool no_negative) {
  int bad = 0;
  for (int64_t j = 0; j < columns; ++j) {
    bad |= (w[j] - w[j] == 0 ? 0 : 1) | (no_negative && w[j] < 0 ? 1 : 0);
  }
  return bad != 0;
}

class Quantiser {
 public:
  Quantiser(const FloatMatrix& w, const QuantiseSpec& spec, float tensor_scale)
      : w_(w), spec_(spec), chooser_(spec_, static_cast<double>(tensor_scale)) {}

  // Finds scales and zero points. Errors: a weight that cannot be quantised, or needs a scale that
  // its type does not have.
  Result<bool> ChooseScales(CodeSource* out, const Progress& progress);
  // The codes of a region, for the scales and zero points of `source`.
  void Codes(const CodeSource& source, const Region& region, uint8_t* out, int64_t stride) const;

 private:
  [[nodiscard]] bool AllowsNegative() const {
    return spec_.zero != ZeroPoint::kNone || chooser_.levels.Least() < 0;
  }
  // Reads a region; false if it has a weight that cannot be quantised, which is noted.
  bool ReadChecked(const Region& region, float* out, int64_t stride);
  void ChooseGroup(const Region& region, CodeSource* out);
  bool FindRanges(const Region& region, Ranges* out);
  bool FindRanges16(const Region& region, Ranges* out) const;
  void ChooseByRange(const Region& region, Affine* out);
  void ChooseByAll(const Region& region, Affine* out);
  void IntegerCodes(const float* w, const float* scales, const float* zeros, const float* inverses,
                    int64_t count, uint8_t* out) const;
  void FloatCodes(const float* w, const float* scales, int64_t count, uint8_t* out) const;

  const FloatMatrix& w_;
  const QuantiseSpec spec_;
  const Chooser chooser_;
  FirstBad bad_;
  FirstBad bad_scale_;
};

bool Quantiser::ReadChecked(const Region& region, float* out, int64_t stride) {
  w_.Read(region, out, stride);
  const bool no_negative = !AllowsNegative();
  for (int64_t i = 0; i < region.rows; ++i) {
    const float* const row = out + i * stride;
    if (!HasBad(row, region.columns, no_negative)) continue;
    for (int64_t j = 0; j < region.columns; ++j) {
      const bool fine = std::isfinite(row[j]) && !(no_negative && row[j] < 0);
      if (!fine) bad_.Note(region.row + i, region.column + j, row[j]);
    }
    return false;
  }
  return true;
}

// Whether a region was read without a weight that cannot be quantised.
bool Quantiser::FindRanges(const Region& region, Ranges* out) {
  const auto w =
      std::make_unique_for_overwrite<float[]>(Size(std::min(kRows, region.rows) * region.columns));
  for (int64_t i = 0; i < region.rows; i += kRows) {
    const Region part{region.row + i, region.column, std::min(kRows, region.rows - i),
                      region.columns};
    if (!ReadChecked(part, w.get(), region.columns)) return false;
    for (int64_t r = 0; r < part.rows; ++r) out->Add(w.get() + r * region.columns, region.columns);
  }
  return true;
}

// The same by integers, for rows of f16 or bf16. Also false where FindRanges must look at a region.
bool Quantiser::FindRanges16(const Region& region, Ranges* out) const {
  std::vector<int16_t> least(Size(region.columns), INT16_MAX);
  std::vector<int16_t> most(Size(region.columns), INT16_MIN);
  AddRanges16(w_.data + (region.row * w_.n + region.column) * 2, w_.n * 2, region.rows,
              region.columns, least.data(), most.data());
  // Infinities and NaNs are the ends of the order.
  const int16_t infinity = w_.type == kF16 ? 0x7C00 : 0x7F80;
  const auto negative = static_cast<int16_t>(AllowsNegative() ? -infinity : 0);
  int bad = 0;
  for (size_t j = 0; j < least.size(); ++j) {
    bad |= static_cast<int>(least[j] < negative) | static_cast<int>(most[j] >= infinity);
  }
  if (bad != 0) return false;
  std::vector<uint16_t> codes(2 * least.size());
  for (size_t j = 0; j < least.size(); ++j) {
    codes[j] = Unsortable16(least[j]);
    codes[least.size() + j] = Unsortable16(most[j]);
  }
  CastBulk(w_.type, codes.data(), kF32, out->least.data(), least.size());
  CastBulk(w_.type, codes.data() + least.size(), kF32, out->most.data(), most.size());
  return true;
}

void Quantiser::ChooseByRange(const Region& region, Affine* out) {
  Ranges ranges(region.columns);
  const bool quick = !w_.transposed && (w_.type == kF16 || w_.type == kBF16);
  if (!(quick && FindRanges16(region, &ranges)) && !FindRanges(region, &ranges)) return;
  for (int64_t j = 0; j < region.columns; j += spec_.columns) {
    const auto first = j, last = std::min(j + spec_.columns, region.columns);
    const float least =
        *std::min_element(ranges.least.begin() + first, ranges.least.begin() + last);
    const float most = *std::max_element(ranges.most.begin() + first, ranges.most.begin() + last);
    const Affine affine =
        chooser_.AbsmaxAffine(static_cast<double>(least), static_cast<double>(most));
    std::fill(out + first, out + last, affine);
  }
}

void Quantiser::ChooseByAll(const Region& region, Affine* out) {
  std::vector<float> w(Size(region.rows * region.columns));
  if (!ReadChecked(region, w.data(), region.columns)) return;
  for (int64_t first = 0; first < region.columns; first += spec_.columns) {
    const int64_t last = std::min(first + spec_.columns, region.columns);
    std::vector<double> block;
    for (int64_t i = 0; i < region.rows; ++i) {
      for (int64_t j = first; j < last; ++j) {
        block.push_back(static_cast<double>(w[Size(i * region.columns + j)]));
      }
    }
    std::fill(out + first, out + last, chooser_.Choose(block));
  }
}

void Quantiser::ChooseGroup(const Region& region, CodeSource* out) {
  std::vector<Affine> affines(Size(region.columns));
  if (spec_.rule == ScaleRule::kAbsmax) {
    ChooseByRange(region, affines.data());
  } else {
    ChooseByAll(region, affines.data());
  }
  const size_t at = Size(region.row / spec_.group * w_.n + region.column);
  for (size_t j = 0; j < affines.size(); ++j) {
    if (affines[j].saturates) {
      bad_scale_.Note(region.row / spec_.group, region.column + static_cast<int64_t>(j), 0);
    }
    out->scales[at + j] = static_cast<float>(affines[j].scale);
    if (!out->zeros.empty()) out->zeros[at + j] = static_cast<float>(affines[j].zero);
  }
}

Result<bool> Quantiser::ChooseScales(CodeSource* out, const Progress& progress) {
  const int64_t groups = w_.k / spec_.group;
  out->scales.resize(Size(groups * w_.n));
  if (spec_.zero != ZeroPoint::kNone) out->zeros.resize(out->scales.size());
  // Blocks of work hold whole blocks of columns that share a scale.
  const int64_t width = (kColumns + spec_.columns - 1) / spec_.columns * spec_.columns;
  const int64_t across = (w_.n + width - 1) / width;
  const bool all = ParallelFor(
      groups * across,
      [&](int64_t i) {
        const int64_t column = i % across * width;
        const Region region{i / across * spec_.group, column, spec_.group,
                            std::min(width, w_.n - column)};
        ChooseGroup(region, out);
      },
      progress);
  TARSIA_CHECK(bad_.Check(spec_.type));
  TARSIA_CHECK(bad_scale_.CheckScale(spec_.scale_type));
  return all;
}

// Codes of the nearest integers: by products in f32 where these decide, else by the exact rule.
void Quantiser::IntegerCodes(const float* w, const float* scales, const float* zeros,
                             const float* inverses, int64_t count, uint8_t* out) const {
  const IntegerRange range{static_cast<float>(chooser_.levels.Least()),
                           static_cast<float>(chooser_.levels.Most()),
                           static_cast<int32_t>(CodeMask(spec_.type))};
  const int64_t blocks = count / kQuickCodes;
  std::vector<uint8_t> unsure(Size(blocks) + 1, 1);  // the last: what does not fill a block
  QuickCodes(w, inverses, zeros, blocks, range, out, unsure.data());
  for (int64_t first = 0; first < count; first += kQuickCodes) {
    if (unsure[Size(first / kQuickCodes)] == 0) continue;
    for (int64_t j = first; j < std::min(first + kQuickCodes, count); ++j) {
      const float zero = zeros != nullptr ? zeros[j] : 0;
      int32_t code = 0;
      if (QuickCode(w[j], inverses[j], zero, range, &code)) {
        out[j] = static_cast<uint8_t>(code);
        continue;
      }
      const Affine affine{static_cast<double>(scales[j]), static_cast<double>(zero)};
      out[j] = chooser_.CodeOf(static_cast<double>(w[j]), affine);
    }
  }
}

void Quantiser::FloatCodes(const float* w, const float* scales, int64_t count, uint8_t* out) const {
  std::vector<double> wanted(Size(count));
  for (int64_t j = 0; j < count; ++j) {
    const double step = static_cast<double>(scales[j]) * chooser_.tensor_scale;
    const double quotient = step != 0 ? static_cast<double>(w[j]) / step : 0;
    wanted[Size(j)] = std::clamp(quotient, chooser_.levels.Least(), chooser_.levels.Most());
  }
  CastBulk(kF64, wanted.data(), spec_.type, out, Size(count),
           {Rounding::kNearestEven, Overflow::kSaturate});
}

void Quantiser::Codes(const CodeSource& source, const Region& region, uint8_t* out,
                      int64_t stride) const {
  // A few rows at a time stay in the cache; columns are read once.
  const int64_t at_once = w_.transposed ? region.rows : 4;
  const auto w = std::make_unique_for_overwrite<float[]>(Size(at_once * region.columns));
  const bool integers =
      spec_.type.IsInteger() && spec_.codebook == nullptr && chooser_.tensor_scale == 1;
  std::vector<float> inverses(integers ? Size(region.columns) : 0);
  for (int64_t i = 0; i < region.rows; ++i) {
    if (i % at_once == 0) {
      w_.Read({region.row + i, region.column, std::min(at_once, region.rows - i), region.columns},
              w.get(), region.columns);
    }
    const size_t at = Size((region.row + i) / spec_.group * w_.n + region.column);
    const float* const row = w.get() + i % at_once * region.columns;
    const float* const scales = source.scales.data() + at;
    const float* const zeros = source.zeros.empty() ? nullptr : source.zeros.data() + at;
    uint8_t* const codes = out + i * stride;
    if (integers) {
      if (i == 0 || (region.row + i) % spec_.group == 0) {
        for (size_t j = 0; j < inverses.size(); ++j) {
          inverses[j] = InverseOf(scales[j], zeros != nullptr ? zeros[j] : 0);
        }
      }
      IntegerCodes(row, scales, zeros, inverses.data(), region.columns, codes);
    } else if (spec_.type.IsFloat()) {
      FloatCodes(row, scales, region.columns, codes);
    } else {
      for (int64_t j = 0; j < region.columns; ++j) {
        const Affine affine{static_cast<double>(scales[j]),
                            zeros != nullptr ? static_cast<double>(zeros[j]) : 0.0};
        codes[j] = chooser_.CodeOf(static_cast<double>(row[j]), affine);
      }
    }
  }
}

// absmax / (448 * the largest value), so that the largest scale is that of the largest weight.
float TensorScale(const FloatMatrix& w, double largest) {
  std::mutex mutex;
  float absmax = 0;
  const int64_t blocks = (w.k + kRows - 1) / kRows;
  ParallelFor(blocks, [&](int64_t block) {
    const int64_t row = block * kRows;
    const int64_t rows = std::min(kRows, w.k - row);
    float most = 0;
    std::vector<float> values(Size(rows * kColumns));
    for (int64_t column = 0; column < w.n; column += kColumns) {
      const Region region{row, column, rows, std::min(kColumns, w.n - column)};
      w.Read(region, values.data(), region.columns);
      for (int64_t i = 0; i < rows * region.columns; ++i) {
        const float x = std::fabs(values[Size(i)]);
        most = x > most ? x : most;
      }
    }
    const std::scoped_lock lock(mutex);
    absmax = std::max(absmax, most);
  });
  const auto scale = static_cast<float>(static_cast<double>(absmax) / (448.0 * largest));
  return scale > 0 && std::isfinite(scale) ? scale : 1;
}

WeightInfo QuantisedInfo(const FloatMatrix& w, const QuantiseWeights& request) {
  const QuantiseSpec& spec = request.spec;
  WeightInfo info;
  info.type = spec.type;
  info.compute = request.compute;
  info.k = info.whole_k = w.k;
  info.n = info.whole_n = w.n;
  info.group = spec.group;
  info.scale_type = spec.scale_type;
  info.zero = spec.zero;
  if (spec.zero == ZeroPoint::kInteger) info.zero_type = spec.type.IsUnsigned() ? kU8 : kI8;
  if (spec.zero == ZeroPoint::kFloat) {
    info.zero_type = spec.scale_type == kF8E4M3FN ? kF16 : spec.scale_type;
  }
  if (spec.codebook != nullptr) {
    info.codebook.assign(spec.codebook->values.begin(), spec.codebook->values.end());
  }
  return info;
}

}  // namespace

Status Quantise(const FloatMatrix& w, const QuantiseWeights& request,
                const std::function<Status(const CodeSource&, const Progress&)>& use,
                const Progress& progress) {
  QuantiseWeights whole = request;
  QuantiseSpec& spec = whole.spec;
  if (spec.group == 0) spec.group = std::max<int64_t>(w.k, 1);
  if (request.compute == kF16) spec.limit = 65504;  // its largest value
  TARSIA_CHECK(internal::CheckSpec(spec));
  if (spec.group < 0 || w.k % spec.group != 0) {
    return MakeDiagnostic(diag::kQuantiseGroup, {}, spec.group, w.k);
  }
  CodeSource source;
  source.info = QuantisedInfo(w, whole);
  TARSIA_CHECK(PlaceWeights(source.info));
  if (spec.scale_type == kF8E4M3FN) {
    const internal::Levels levels = internal::LevelsOf(spec);
    source.info.tensor_scale = TensorScale(w, std::max(levels.Most(), -levels.Least()));
  }
  Quantiser quantiser(w, spec, source.info.tensor_scale);
  const auto half = [&progress](bool second) -> Progress {
    if (!progress) return {};
    return [&progress, second](uint64_t done, uint64_t total) {
      return progress(done + (second ? total : 0), 2 * total);
    };
  };
  TARSIA_TRY(const bool all, quantiser.ChooseScales(&source, half(false)));
  if (!all) return MakeDiagnostic(diag::kWeightsCancelled, {});
  source.codes = [&](const Region& region, uint8_t* out, int64_t stride) {
    quantiser.Codes(source, region, out, stride);
  };
  return use(source, half(true));
}

Result<PackedWeights> QuantiseAndPack(const FloatMatrix& w, const QuantiseWeights& request,
                                      const Progress& progress) {
  std::optional<PackedWeights> out;
  const auto pack = [&](const CodeSource& source, const Progress& rest) -> Status {
    TARSIA_TRY(out, PackedWeights::Pack(source, rest));
    return OkStatus();
  };
  TARSIA_CHECK(Quantise(w, request, pack, progress));
  return *std::move(out);
}

}  // namespace tarsia
