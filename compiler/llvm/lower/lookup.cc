// The instruction `lookup`, one function for each way of compiler/select/lookup.h.
#include "compiler/select/lookup.h"

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <array>
#include <cassert>
#include <map>
#include <optional>

#include "compiler/llvm/lower/lower.h"
#include "support/align.h"
#include "support/extents.h"

namespace tarsia::compiler {
namespace {

// Codes whose places a byte permutation takes as they are: nibbles of its selector.
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

  // A byte of a plane for each of the four codes in the low half of a word.
  llvm::Value* Bytes(const Slots& plane, llvm::Value* codes) {
    if (plane.size() <= 2) return Permute(plane[0], plane.back(), codes);
    // A nibble chooses among 8 bytes, and its highest bit means something else.
    llvm::Value* low_bits = b_.CreateAnd(codes, 0x7777);
    return Permute(Permute(plane[0], plane[1], low_bits), Permute(plane[2], plane[3], low_bits),
                   Halves(b_.CreateLShr(codes, 1)));
  }

  // Byte i of the first four or of the last four, by bit 2 of nibble i: one instruction, of which
  // LLVM would make two.
  llvm::Value* Halves(llvm::Value* chosen) {
    auto* type = llvm::FunctionType::get(b_.getInt32Ty(), {b_.getInt32Ty()}, false);
    auto* text = llvm::InlineAsm::get(type, "lop3.b32 $0, $1, 0x4444, 0x3210, 0xEA;", "=r,r",
                                      /*hasSideEffects=*/false);
    llvm::CallInst* call = b_.CreateCall(type, text, {chosen});
    call->setDoesNotAccessMemory();
    call->setDoesNotThrow();
    return call;
  }

  // The elements' codes of four codes.
  std::array<llvm::Value*, kGroup> Group(const std::vector<Slots>& planes, llvm::Value* codes) {
    Slots words = {Bytes(planes[0], codes)};
    if (planes.size() == 2) {
      llvm::Value* high = Bytes(planes[1], codes);
      words = {Permute(words[0], high, 0x5140), Permute(words[0], high, 0x7362)};
    }
    std::array<llvm::Value*, kGroup> out{};
    const int bits = ContainerBytes(elements_) * 8;
    for (size_t i = 0; i < kGroup; ++i) {
      out[i] = CodeInRun(b_, words, 32, static_cast<int>(i) * bits, bits);
    }
    return out;
  }

  // Where a code of four bits is a nibble of a word: its number among them.
  std::optional<int64_t> NibbleOf(const BitLayout& bits, int64_t slot) const {
    const BitPlace first = bits.Place(slot, 0);
    if (bits.bits() != 4 || first.bit % 4 != 0) return std::nullopt;
    for (int bit = 1; bit < 4; ++bit) {
      const BitPlace place = bits.Place(slot, bit);
      if (place.word != first.word || place.bit != first.bit + bit) return std::nullopt;
    }
    return int64_t{first.word} * 8 + first.bit / 4;
  }

  // The words of codes that lie in nibbles, and the nibble of each slot.
  struct Nibbles {
    Slots words;
    std::vector<int64_t> of_slot;
  };
  std::optional<Nibbles> WordsOfNibbles() {
    const uint32_t value = e_.inst().operand[0].value;
    RegisterTiles& tiles = e_.register_tiles();
    if (!tiles.KeepsWords(value)) return std::nullopt;
    const Result<BitLayout> bits = tiles.CodeBits(value);
    if (!bits.ok()) return std::nullopt;
    Nibbles out;
    for (int64_t slot = 0; slot < bits->count(); ++slot) {
      const auto nibble = NibbleOf(*bits, slot);
      if (!nibble) return std::nullopt;
      assert(bits->Complement(slot) == 0);  // only i8 has any
      out.of_slot.push_back(*nibble);
    }
    Result<Slots> words = tiles.ReadWords(value);
    if (!words.ok()) return std::nullopt;
    out.words = *std::move(words);
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

  Slots ByPermutes() {
    const std::vector<Slots> planes = Planes();
    std::optional<Nibbles> nibbles = WordsOfNibbles();
    if (!nibbles) nibbles = NibblesOfSlots();
    std::map<int64_t, std::array<llvm::Value*, kGroup>> groups;
    Slots out;
    for (const int64_t nibble : nibbles->of_slot) {
      const auto [group, is_new] = groups.try_emplace(nibble / 4);
      if (is_new) {
        llvm::Value* word = nibbles->words[Size(nibble / 8)];
        // Only the low half of a selector counts.
        if (nibble / 4 % 2 != 0) word = b_.CreateLShr(word, 16);
        group->second = Group(planes, word);
      }
      out.push_back(group->second[Size(nibble % 4)]);
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
