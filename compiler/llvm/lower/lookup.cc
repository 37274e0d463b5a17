// The instruction `lookup`, one function for each way of compiler/select/lookup.h.
#include "compiler/select/lookup.h"

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <iterator>
#include <map>
#include <optional>

#include "compiler/llvm/lower/lower.h"
#include "support/align.h"
#include "support/extents.h"

namespace tarsia::compiler {
namespace {

// The codes that choose bytes at once: nibbles of a selector.
constexpr size_t kGroup = 4;

class Lookup {
 public:
  explicit Lookup(Emitter& e)
      : e_(e),
        b_(e.function().b()),
        codes_(e.inst().operand[0].type),
        elements_(e.inst().operand[1].type),
        layout_(e.layouts().Add(TableLayout(codes_, elements_, e.function().threads()))) {
    const Slots slots =
        e.register_tiles().Convert(e.TileOperand(1), elements_, e.OperandLayout(1), layout_);
    for (llvm::Value* element : slots) table_.push_back(ToCode(b_, element, elements_));
  }

  void Run() {
    Slots out;
    switch (WayOfLookup(codes_, elements_)) {
      case LookupWay::kPermute:
        out = ByPermutes();
        break;
      case LookupWay::kShuffle:
        for (llvm::Value* code : Codes()) {
          out.push_back(e_.exchange().ShuffleFrom(table_[0], code));
        }
        break;
      case LookupWay::kShared:
        out = ThroughShared();
        break;
    }
    for (llvm::Value*& code : out) code = FromCode(b_, code, elements_);
    e_.SetResult(0, out);
  }

 private:
  // The codes as i32.
  Slots Codes() {
    Slots out;
    for (llvm::Value* code : e_.TileOperand(0)) {
      out.push_back(b_.CreateZExt(ToCode(b_, code, codes_), b_.getInt32Ty()));
    }
    return out;
  }

  // ---- shared memory -------------------------------------------------------------------------

  Slots ThroughShared() {
    Layouts& layouts = e_.layouts();
    std::vector<Exchange::Place> put, get;
    for (size_t slot = 0; slot < table_.size(); ++slot) {
      put.push_back(
          {layouts.Linear(layout_, static_cast<int64_t>(slot)), layouts.IsFirstHolder(layout_)});
    }
    for (llvm::Value* code : Codes()) get.push_back({{code, 0}, nullptr});
    return e_.exchange().Codes(table_, ContainerBytes(elements_), int64_t{1} << codes_.bits, put,
                               get);
  }

  // ---- byte permutations ---------------------------------------------------------------------

  llvm::Value* Permute(llvm::Value* low, llvm::Value* high, llvm::Value* selector) {
    return e_.function().CallIntrinsic(llvm::Intrinsic::nvvm_prmt, {}, {low, high, selector});
  }
  llvm::Value* Permute(llvm::Value* low, llvm::Value* high, uint32_t selector) {
    return Permute(low, high, b_.getInt32(selector));
  }

  // The low bytes of the table's elements as words, then the high ones.
  std::vector<Slots> Planes() {
    const int bits = ContainerBytes(elements_) * 8;
    Slots codes = table_;
    codes.resize(AlignUp<size_t>(codes.size(), kGroup),
                 llvm::Constant::getNullValue(b_.getIntNTy(static_cast<unsigned>(bits))));
    const Slots words = RunOfCodes(b_, codes, bits, 32);
    if (bits == 8) return {words};
    std::vector<Slots> planes(2);
    for (size_t i = 0; i < words.size(); i += 2) {
      planes[0].push_back(Permute(words[i], words[i + 1], 0x6420));
      planes[1].push_back(Permute(words[i], words[i + 1], 0x7531));
    }
    return planes;
  }

  // Codes that lie in nibbles of words: the nibble of each slot, counted from the first word's.
  struct Nibbles {
    Slots words;
    std::vector<int64_t> of_slot;
  };

  // What `prmt` chooses by, for the eight codes of a word: among the first eight bytes of a plane
  // and among the last eight, and which of both. A plane of up to eight has the codes alone.
  struct Selectors {
    llvm::Value* codes = nullptr;
    llvm::Value* which = nullptr;
  };
  Selectors SelectorsOf(llvm::Value* word, bool is_long) {
    if (!is_long) return {word, nullptr};
    // A nibble chooses among 8 bytes, and its highest bit means something else.
    return {b_.CreateAnd(word, 0x77777777), Halves(b_.CreateLShr(word, 1))};
  }
  // Byte i of the first four or of the last four, by bit 2 of nibble i: one instruction, of which
  // LLVM would make two.
  llvm::Value* Halves(llvm::Value* chosen) {
    auto* type = llvm::FunctionType::get(b_.getInt32Ty(), {b_.getInt32Ty()}, false);
    auto* text =
        llvm::InlineAsm::get(type, "lop3.b32 $0, $1, 0x44444444, 0x32103210, 0xEA;", "=r,r",
                             /*hasSideEffects=*/false);
    llvm::CallInst* call = b_.CreateCall(type, text, {chosen});
    call->setDoesNotAccessMemory();
    call->setDoesNotThrow();
    return call;
  }

  // The bytes of each plane for the four codes in a half of a word.
  Slots BytesOf(const std::vector<Slots>& planes, Selectors by, bool high) {
    // Only the low half of a selector counts.
    const auto low = [&](llvm::Value* selector) {
      return high ? b_.CreateLShr(selector, 16) : selector;
    };
    by.codes = low(by.codes);
    if (by.which != nullptr) by.which = low(by.which);
    Slots out;
    for (const Slots& plane : planes) {
      llvm::Value* bytes = Permute(plane[0], plane[plane.size() > 1 ? 1 : 0], by.codes);
      if (by.which != nullptr) {
        bytes = Permute(bytes, Permute(plane[2], plane[3], by.codes), by.which);
      }
      out.push_back(bytes);
    }
    return out;
  }

  // The first of the bits of a code of four bits that follow each other in a word, the first bit
  // after the last.
  static std::optional<BitPlace> FirstBit(const BitLayout& bits, int64_t slot) {
    const BitPlace first = bits.Place(slot, 0);
    if (bits.bits() != 4) return std::nullopt;
    for (int bit = 1; bit < 4; ++bit) {
      const BitPlace place = bits.Place(slot, bit);
      if (place.word != first.word || place.bit != (first.bit + bit) % 32) return std::nullopt;
    }
    return first;
  }

  // The words that the codes lie in, turned so that each is a nibble.
  std::optional<Nibbles> WordsOfNibbles() {
    const uint32_t value = e_.inst().operand[0].value;
    RegisterTiles& tiles = e_.register_tiles();
    if (!tiles.KeepsWords(value)) return std::nullopt;
    const Result<BitLayout> bits = tiles.CodeBits(value);
    if (!bits.ok()) return std::nullopt;
    Nibbles out;
    std::map<uint32_t, int> turn_of;  // by word: bits to the right
    for (int64_t slot = 0; slot < bits->count(); ++slot) {
      const auto first = FirstBit(*bits, slot);
      if (!first) return std::nullopt;
      const int turn = turn_of.try_emplace(first->word, first->bit % 4).first->second;
      if (first->bit % 4 != turn) return std::nullopt;
      assert(bits->Complement(slot) == 0);  // only i8 has any
      out.of_slot.push_back(int64_t{first->word} * 8 + (first->bit - turn) / 4);
    }
    Result<Slots> words = tiles.ReadWords(value);
    if (!words.ok()) return std::nullopt;
    out.words = *std::move(words);
    for (const auto& [word, turn] : turn_of) {
      if (turn == 0) continue;
      llvm::Value*& bits_of = out.words[Size(word)];
      bits_of = b_.CreateIntrinsic(b_.getInt32Ty(), llvm::Intrinsic::fshr,
                                   {bits_of, bits_of, b_.getInt32(static_cast<uint32_t>(turn))});
    }
    return out;
  }

  // The same of other codes, in the order of slots.
  Nibbles NibblesOfSlots() {
    Nibbles out;
    const Slots codes = Codes();
    for (size_t slot = 0; slot < codes.size(); ++slot) {
      out.of_slot.push_back(static_cast<int64_t>(slot));
      llvm::Value* placed = b_.CreateShl(codes[slot], static_cast<uint64_t>(slot % 8 * 4));
      if (slot % 8 == 0) {
        out.words.push_back(placed);
      } else {
        out.words.back() = b_.CreateOr(out.words.back(), placed);
      }
    }
    return out;
  }

  // Whether the codes of each two slots that are one word of elements lie in one half of a word, if
  // the bytes of all words are in an order.
  static bool HasPairsInHalves(const Nibbles& nibbles, const std::array<int, 4>& order) {
    for (size_t slot = 0; slot + 1 < nibbles.of_slot.size(); slot += 2) {
      if (Ordered(nibbles.of_slot[slot], order) / 4 !=
          Ordered(nibbles.of_slot[slot + 1], order) / 4) {
        return false;
      }
    }
    return true;
  }
  // Where a nibble is when byte i of each word lies at order[i].
  static int64_t Ordered(int64_t nibble, const std::array<int, 4>& order) {
    return nibble / 8 * 8 + int64_t{order[Size(nibble % 8 / 2)]} * 2 + nibble % 2;
  }

  // Orders the bytes of words so that pairs of elements come from one half, if there is such an
  // order.
  void OrderPairs(Nibbles* nibbles) {
    // Byte 0 beside each of the others. An order that exchanges two bytes is its own inverse.
    constexpr std::array<int, 4> kOrders[] = {{0, 1, 2, 3}, {0, 2, 1, 3}, {0, 3, 2, 1}};
    const auto* const order = std::find_if(
        std::begin(kOrders), std::end(kOrders),
        [&](const std::array<int, 4>& one) { return HasPairsInHalves(*nibbles, one); });
    if (order == std::end(kOrders) || order == std::begin(kOrders)) return;
    uint32_t selector = 0;
    for (size_t i = 0; i < order->size(); ++i) {
      selector |= static_cast<uint32_t>((*order)[i]) << (4 * i);
    }
    for (llvm::Value*& word : nibbles->words) word = Permute(word, word, selector);
    for (int64_t& nibble : nibbles->of_slot) nibble = Ordered(nibble, *order);
  }

  // Two elements of 16 bits, or one twice, of the bytes of four codes.
  llvm::Value* Elements(const Slots& bytes, int64_t first, int64_t second) {
    const auto of = [](int64_t byte) { return static_cast<uint32_t>(byte | (byte + 4) << 4); };
    return Permute(bytes[0], bytes[1], of(first) | of(second) << 8);
  }

  Slots ByPermutes() {
    const std::vector<Slots> planes = Planes();
    std::optional<Nibbles> found = WordsOfNibbles();
    Nibbles nibbles = found ? *std::move(found) : NibblesOfSlots();
    const bool is_wide = planes.size() == 2;
    if (is_wide) OrderPairs(&nibbles);
    std::map<int64_t, Selectors> selectors;  // by word
    std::map<int64_t, Slots> halves;         // their bytes, by half
    const auto bytes_of = [&](int64_t nibble) -> const Slots& {
      const auto [by, new_word] = selectors.try_emplace(nibble / 8);
      if (new_word) {
        by->second = SelectorsOf(nibbles.words[Size(nibble / 8)], planes[0].size() > 2);
      }
      const auto [half, new_half] = halves.try_emplace(nibble / 4);
      if (new_half) half->second = BytesOf(planes, by->second, nibble / 4 % 2 != 0);
      return half->second;
    };
    Slots out;
    for (size_t slot = 0; slot < nibbles.of_slot.size(); ++slot) {
      const int64_t at = nibbles.of_slot[slot];
      const Slots& bytes = bytes_of(at);
      if (!is_wide) {
        out.push_back(CodeInRun(b_, bytes, 32, static_cast<int>(at % 4) * 8, 8));
        continue;
      }
      const int64_t next = slot + 1 < nibbles.of_slot.size() ? nibbles.of_slot[slot + 1] : -1;
      const bool is_pair = slot % 2 == 0 && next >= 0 && next / 4 == at / 4;
      const Slots word = {Elements(bytes, at % 4, is_pair ? next % 4 : at % 4)};
      out.push_back(CodeInRun(b_, word, 32, 0, 16));
      if (is_pair) {
        out.push_back(CodeInRun(b_, word, 32, 16, 16));
        ++slot;
      }
    }
    return out;
  }

  Emitter& e_;
  llvm::IRBuilder<>& b_;
  const DType codes_;
  const DType elements_;
  const LayoutId layout_;  // of the table
  Slots table_;            // codes of the thread's slots of it
};

}  // namespace

LOWER(Lookup) {
  Lookup(e).Run();
  return OkStatus();
}

}  // namespace tarsia::compiler
