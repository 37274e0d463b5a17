// Video instructions on two halves or four bytes: each part of two sources is picked from both,
// widened, computed on, cut or saturated, and put in the place of the third source's part, or all
// are added to that.
#include <algorithm>
#include <string_view>

#include "ptx/exec/exec.h"
#include "ptx/table/table.h"

namespace tarsia::ptx {
namespace {

enum class Video : uint8_t { kAdd, kSub, kAverage, kDifference, kMin, kMax, kSet };

// What an instruction does with every part.
struct Form {
  Video video = Video::kAdd;
  int parts = 2;
  bool signed_a = false;
  bool signed_b = false;
  bool signed_dest = false;
};

Form FormOf(const Inst& inst, Video video) {
  // A comparison names no type of its result, which is unsigned.
  const size_t first = video == Video::kSet ? 0 : 1;
  Form form{video, RowOf(inst.op).mnemonic.ends_with('2') ? 2 : 4, IsSigned(inst.type[first]),
            IsSigned(inst.type[first + 1]), video != Video::kSet && IsSigned(inst.type[0])};
  return form;
}

bool Holds(const Inst& inst, int64_t a, int64_t b) {
  if (inst.Has(Mod::kEq)) return a == b;
  if (inst.Has(Mod::kNe)) return a != b;
  if (inst.Has(Mod::kLt)) return a < b;
  if (inst.Has(Mod::kLe)) return a <= b;
  return inst.Has(Mod::kGt) ? a > b : a >= b;
}

int64_t Compute(const Inst& inst, Video video, int64_t a, int64_t b) {
  switch (video) {
    case Video::kAdd:
      return a + b;
    case Video::kSub:
      return a - b;
    case Video::kAverage:
      return (a + b + (a + b >= 0 ? 1 : 0)) >> 1;
    case Video::kDifference:
      return a >= b ? a - b : b - a;
    case Video::kMin:
      return std::min(a, b);
    case Video::kMax:
      return std::max(a, b);
    case Video::kSet:
      return Holds(inst, a, b) ? 1 : 0;
  }
  return 0;
}

// The n-th part of a selection is digit n, from the low end, less one; without one `first` + n.
int Selected(const Operand& operand, int n, int first) {
  return operand.select == 0 ? first + n : (operand.select >> (4 * n) & 15) - 1;
}

bool IsInMask(const Operand& dest, int part) {
  if (dest.select == 0) return true;
  for (unsigned left = dest.select; left != 0; left >>= 4) {
    if (static_cast<int>(left & 15) - 1 == part) return true;
  }
  return false;
}

int64_t PartOf(uint64_t both, int part, int bits, bool is_signed) {
  const uint64_t value = both >> (part * bits) & ((uint64_t{1} << bits) - 1);
  const bool negative = is_signed && (value >> (bits - 1)) != 0;
  return static_cast<int64_t>(value) - (negative ? int64_t{1} << bits : 0);
}

int64_t Saturated(int64_t value, int bits, bool is_signed) {
  const int64_t least = is_signed ? -(int64_t{1} << (bits - 1)) : 0;
  return std::clamp(value, least, least + (int64_t{1} << bits) - 1);
}

uint32_t ComputeWord(const Inst& inst, const Form& form, uint64_t both, uint32_t c) {
  const int bits = 32 / form.parts;
  const bool adds = inst.Has(Mod::kAdd);
  uint32_t out = c;
  for (int part = 0; part < form.parts; ++part) {
    if (!IsInMask(inst[0], part)) continue;
    const int64_t a = PartOf(both, Selected(inst[1], part, 0), bits, form.signed_a);
    const int64_t b = PartOf(both, Selected(inst[2], part, form.parts), bits, form.signed_b);
    int64_t value = Compute(inst, form.video, a, b);
    if (inst.Has(Mod::kSat)) value = Saturated(value, bits, form.signed_dest);
    if (adds) {
      out += static_cast<uint32_t>(value);
      continue;
    }
    const uint32_t mask = ((uint32_t{1} << bits) - 1) << (part * bits);
    out = (out & ~mask) | (static_cast<uint32_t>(value) << (part * bits) & mask);
  }
  return out;
}

template <Video kVideo>
Step Run(Warp& warp, const Inst& inst) {
  const Form form = FormOf(inst, kVideo);
  ForLanes(warp.mask(), [&](int lane) {
    const uint64_t both =
        warp.Get<uint32_t>(inst[1], lane) | uint64_t{warp.Get<uint32_t>(inst[2], lane)} << 32;
    const uint32_t c = warp.Get<uint32_t>(inst[3], lane);
    StoreLane(warp.Dest(inst[0]), lane, ComputeWord(inst, form, both, c));
  });
  return Step::kNext;
}

// Whether a selection names as many parts as there are, or a mask some of them, from the high end.
bool Selects(const Operand& operand, int parts) {
  int count = 0;
  int before = 0;
  for (unsigned left = operand.select; left != 0; left >>= 4, ++count) {
    const auto digit = static_cast<int>(left & 15);
    if (digit > (operand.dest ? parts : 2 * parts)) return false;
    if (operand.dest && digit <= before) return false;
    before = digit;
  }
  return operand.select == 0 || operand.dest || count == parts;
}

template <Video kVideo>
Handler VideoFor(const Inst& inst) {
  const int parts = FormOf(inst, kVideo).parts;
  if (inst.Has(Mod::kSat) && inst.Has(Mod::kAdd)) return nullptr;
  if (inst[1].bank != 0 || inst[2].bank != 0) return nullptr;
  const bool fit = Selects(inst[0], parts) && Selects(inst[1], parts) && Selects(inst[2], parts);
  return fit ? &Run<kVideo> : nullptr;
}

}  // namespace

PTX_BIND(Vadd2) { return VideoFor<Video::kAdd>(inst); }
PTX_BIND(Vadd4) { return VideoFor<Video::kAdd>(inst); }
PTX_BIND(Vsub2) { return VideoFor<Video::kSub>(inst); }
PTX_BIND(Vsub4) { return VideoFor<Video::kSub>(inst); }
PTX_BIND(Vavrg2) { return VideoFor<Video::kAverage>(inst); }
PTX_BIND(Vavrg4) { return VideoFor<Video::kAverage>(inst); }
PTX_BIND(Vabsdiff2) { return VideoFor<Video::kDifference>(inst); }
PTX_BIND(Vabsdiff4) { return VideoFor<Video::kDifference>(inst); }
PTX_BIND(Vmin2) { return VideoFor<Video::kMin>(inst); }
PTX_BIND(Vmin4) { return VideoFor<Video::kMin>(inst); }
PTX_BIND(Vmax2) { return VideoFor<Video::kMax>(inst); }
PTX_BIND(Vmax4) { return VideoFor<Video::kMax>(inst); }
PTX_BIND(Vset2) { return VideoFor<Video::kSet>(inst); }
PTX_BIND(Vset4) { return VideoFor<Video::kSet>(inst); }

}  // namespace tarsia::ptx
