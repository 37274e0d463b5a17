// From a bit layout to its recipe: how the codes of neighbouring slots are moved to their target.
#include <algorithm>
#include <optional>

#include "layout/recipe_builder.h"
#include "support/extents.h"

namespace tarsia {
namespace {

using internal::Both;
using internal::Four;
using internal::Lanes;
using internal::RecipeBuilder;
using Register = RecipeBuilder::Register;

// An 8-bit code becomes an f16 as the low byte below the byte 0x64.
constexpr uint32_t kMagicBytes = 0x64646464;
// Of a byte permutation: each byte becomes eight times its highest bit.
constexpr uint32_t kSpreadSigns = 0xBA98;

bool IsWide(const RecipeBuilder& b) {
  return b.type().IsInteger() && b.type().bits > b.compute().mantissa;
}

// Of a lane.
uint32_t FloatMask(const RecipeBuilder& b) {
  const int low = b.compute().mantissa - b.type().mantissa;
  const uint32_t rest = (1U << (b.type().bits - 1)) - 1;
  return rest << low | 1U << (b.compute().bits - 1);
}

// ---- lanes -----------------------------------------------------------------------------------

class LaneRecipe {
 public:
  explicit LaneRecipe(RecipeBuilder& b) : b_(b) {}

  void Run() {
    const BitLayout& layout = b_.layout();
    for (int64_t slot = 0; slot < layout.count(); slot += layout.lanes()) {
      const LaneCode& code = layout.Code(slot);
      const auto first_word = static_cast<uint32_t>(slot / 32 * layout.bits());
      if (layout.lanes() == 2) {
        Pair(slot, code, first_word);
      } else {
        b_.End(Quad(Merged(code, first_word)));
      }
    }
  }

 private:
  void Pair(int64_t slot, const LaneCode& code, uint32_t first_word) {
    if (!b_.type().IsFloat() && b_.type().bits == 8 && b_.compute() == kF16) {
      const uint32_t selector = code.pieces[0].turn == 0 ? 0x4240 : 0x4341;
      const Register q =
          b_.PermuteConstant(first_word + code.pieces[0].word, kMagicBytes, selector);
      return End(slot, q);
    }
    const Register merged = Merged(code, first_word);
    if (b_.type().IsFloat()) return b_.EndFloat(b_.And(merged, Both(FloatMask(b_))));
    const uint32_t mask = ((1U << b_.type().bits) - 1) << code.position;
    if (IsWide(b_)) {
      const uint32_t sign = b_.type().IsSigned() ? 0x80 : 0;
      return b_.EndWideInteger(b_.MaskXor(merged, Both(mask), Both(sign)));
    }
    End(slot, b_.MaskXor(merged, Both(mask), Both(b_.Magic(code.position))));
  }

  // The values of four codes, whose bits are those of each lane from its lowest on: see
  // BitLayout::Unpack. No step carries from one lane to the next.
  Register Quad(Register bits) {
    const DType type = b_.type();
    if (type.bits == 8) return WholeBytes(bits);
    if (type.IsFloat()) return b_.And(bits, Four(FloatMask(b_)));
    const uint32_t mask = Four((1U << type.bits) - 1);
    if (b_.compute() == kF8E4M3FN) return b_.MaskXor(bits, mask, Four(b_.Magic(0)));
    const uint32_t sign = type.IsSigned() ? 1U << (type.bits - 1) : 0;
    if (sign == 0 || b_.form() == RecipeForm::kUnpack) return b_.MaskXor(bits, mask, Four(sign));
    const Register above = b_.MaskXor(bits, mask, Four(sign | 0x80));
    return b_.MaskXor(b_.Add(above, 0 - Four(sign)), 0xFFFFFFFF, Four(0x80));
  }

  Register WholeBytes(Register bits) {
    if (b_.type() != kU8) return bits;
    if (b_.form() == RecipeForm::kUnpack) return b_.MaskXor(bits, 0xFFFFFFFF, Four(0x80));
    const Register beyond = b_.Permute(bits, bits, kSpreadSigns);
    return b_.OrAnd(bits, beyond, Four(0x7F));
  }

  void End(int64_t slot, Register q) {
    const double bias = b_.layout().Unpack(slot, b_.compute())->bias;
    b_.EndInteger(q, {bias, bias}, {bias, bias});
  }

  // Bits of a code's mask, as bits of a register where they lie `offset` above their target.
  [[nodiscard]] uint32_t Standing(const LaneCode& code, uint8_t mask) const {
    uint32_t out = 0;
    for (size_t bit = 0; bit < code.target.size(); ++bit) {
      if ((mask >> bit & 1) == 0) continue;
      for (uint32_t lane = 0; lane < 32; lane += b_.compute().bits) {
        out |= 1U << (lane + code.target[bit] + code.offset) % 32;
      }
    }
    return out;
  }

  Register Merged(const LaneCode& code, uint32_t first_word) {
    std::optional<Register> merged;
    uint32_t have = 0;
    for (const LanePiece& piece : code.Pieces()) {
      const Register word = first_word + piece.word;
      const Register view = b_.Turn(word, word, piece.turn);
      merged = merged ? b_.Select(*merged, view, have) : view;
      have |= Standing(code, piece.mask);
    }
    return b_.Turn(*merged, *merged, code.offset);
  }

  RecipeBuilder& b_;
};

// ---- contiguous --------------------------------------------------------------------------------

// The codes are one stream of bits. A window is a register of 32 bits of it: the words, and others
// that cost an instruction each. A code is reached through a window if it lies in one of its bytes,
// or in two that follow each other, at a bit where it can be used.
class StreamRecipe {
 public:
  explicit StreamRecipe(RecipeBuilder& b) : b_(b), homes_(Size(b.layout().count())) {
    for (int64_t at = 0; at < b_.layout().words(); ++at) Serve(at * 32, Word(at));
    while (const std::optional<int64_t> next = BestWindow()) Serve(*next, Window(*next));
  }

  void Pair(int64_t slot) {
    const Home& low = homes_[Size(slot)];
    const bool alone = slot + 1 == b_.layout().count();
    const Home& high = alone ? low : homes_[Size(slot + 1)];
    if (b_.type().IsFloat()) return FloatPair(low, high);
    const uint32_t all = (1U << b_.type().bits) - 1;
    const uint32_t mask = Lanes(all << low.bit, all << high.bit);
    if (!b_.type().IsSigned() && b_.type().bits == 8 && b_.compute() == kF16 &&
        low.window == high.window) {
      const uint32_t selector = 0x4040 | static_cast<uint32_t>(high.byte << 8 | low.byte);
      const Register q = b_.PermuteConstant(low.window, kMagicBytes, selector);
      return b_.EndInteger(q, {1024, 1024}, {1024, 1024});
    }
    const Register bits = Gather(low, high);
    if (IsWide(b_)) {
      const uint32_t sign = b_.type().IsSigned() ? 0x80 : 0;
      return b_.EndWideInteger(b_.MaskXor(bits, mask, Both(sign)));
    }
    const Register q = b_.MaskXor(bits, mask, Lanes(b_.Magic(low.bit), b_.Magic(high.bit)));
    const double bias = b_.layout().Unpack(slot, b_.compute())->bias;
    b_.EndInteger(q, {Bias(low), Bias(high)}, {bias, bias});
  }

 private:
  struct Home {
    bool found = false;
    Register window = 0;
    int byte = 0;
    int bit = 0;  // of the 16 bits that begin with the byte
  };

  static Register Word(int64_t at) { return static_cast<Register>(at); }

  [[nodiscard]] double Bias(const Home& home) const {
    const double sign = b_.type().IsSigned() ? 1 << (b_.type().bits - 1) : 0;
    return (1 << (b_.compute().mantissa - home.bit)) + sign;
  }

  // Where the code of a slot is within the window that begins with bit `first` of the stream.
  [[nodiscard]] std::optional<Home> Within(int64_t slot, int64_t first) const {
    const int bits = b_.type().bits;
    const int64_t at = slot * bits - first;
    if (at < 0 || at + bits > 32) return std::nullopt;
    Home home{true, 0, static_cast<int>(at / 8), static_cast<int>(at % 8)};
    if (b_.type().IsFloat()) {
      // The sign must be at the top of two bytes. A code of one byte has any byte below it.
      if ((at + bits) % 8 != 0) return std::nullopt;
      home.byte = static_cast<int>((at + bits) / 8) - 2;
      home.bit = 16 - bits;
      return home;
    }
    const int room = IsWide(b_) ? 8 : b_.compute().mantissa;
    if (home.bit + bits > room) return std::nullopt;
    return home;
  }

  void Serve(int64_t first, Register window) {
    for (int64_t slot = 0; slot < b_.layout().count(); ++slot) {
      Home& home = homes_[Size(slot)];
      if (home.found) continue;
      if (const std::optional<Home> here = Within(slot, first)) {
        home = *here;
        home.window = window;
      }
    }
  }

  // The window that covers the most codes that are not covered yet.
  [[nodiscard]] std::optional<int64_t> BestWindow() const {
    const auto missing =
        std::find_if(homes_.begin(), homes_.end(), [](const Home& home) { return !home.found; });
    if (missing == homes_.end()) return std::nullopt;
    const int64_t slot = missing - homes_.begin();
    const int64_t last = slot * b_.type().bits;
    std::optional<int64_t> best;
    int64_t most = 0;
    for (int64_t first = last - 31; first <= last; ++first) {
      int64_t served = 0;
      if (!Within(slot, first)) continue;
      for (int64_t other = slot; other < std::min(slot + 32, b_.layout().count()); ++other) {
        if (!homes_[Size(other)].found && Within(other, first)) ++served;
      }
      if (served > most) {
        most = served;
        best = first;
      }
    }
    return best;
  }

  // Bits before the first and after the last bit of the stream are unspecified.
  Register Window(int64_t first) {
    const int64_t most = b_.layout().words() - 1;
    const int64_t word = (first + 32) / 32 - 1;
    const Register low = Word(std::clamp<int64_t>(word, 0, most));
    const Register high = Word(std::clamp<int64_t>(word + 1, 0, most));
    return b_.Turn(low, high, static_cast<uint32_t>(first + 32) % 32);
  }

  // Two bytes of each home. A byte that holds no bit of the code may have any value.
  Register Gather(const Home& low, const Home& high) {
    const auto pick = [](const Home& home, int base) {
      const uint32_t first = static_cast<uint32_t>(std::max(home.byte, 0) + base);
      const uint32_t second = static_cast<uint32_t>(std::min(home.byte + 1, 3) + base);
      return second << 4 | first;
    };
    const int base = low.window == high.window ? 0 : 4;
    return b_.Permute(low.window, high.window, pick(high, base) << 8 | pick(low, 0));
  }

  // The sign is in place; the other bits are as high as possible, above the free bits of the
  // exponent.
  void FloatPair(const Home& low, const Home& high) {
    const Register bits = Gather(low, high);
    const auto down = static_cast<uint32_t>(b_.compute().exponent - b_.type().exponent);
    if (down == 0) return b_.EndFloat(b_.And(bits, Both(FloatMask(b_))));
    const Register rest = b_.Turn(bits, bits, down);
    b_.EndFloat(b_.And(b_.Select(bits, rest, Both(0x8000)), Both(FloatMask(b_))));
  }

  RecipeBuilder& b_;
  std::vector<Home> homes_;
};

}  // namespace

bool HasRecipe(const BitLayout& layout, DType compute, RecipeForm form) {
  if (!IsComputeType(compute)) return false;
  if (compute.bits == 16) return true;
  if (layout.order() != BitOrder::kLanes) return false;
  return form == RecipeForm::kUnpack || compute == kI8 ||
         (layout.type().IsFloat() && layout.type().bias == compute.bias);
}

Result<Recipe> MakeRecipe(const BitLayout& layout, DType compute, RecipeForm form) {
  RecipeBuilder builder(layout, compute, form);
  if (layout.count() > 0) TARSIA_CHECK(layout.Unpack(0, compute));
  if (layout.order() == BitOrder::kLanes) {
    LaneRecipe(builder).Run();
  } else if (layout.count() > 0) {
    StreamRecipe recipe(builder);
    for (int64_t slot = 0; slot < layout.count(); slot += 2) recipe.Pair(slot);
  }
  return builder.Take();
}

}  // namespace tarsia
