#include "planner/emit_functions.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace tarsia {
namespace {

constexpr double kFunctionPrice = 8;
constexpr double kRootPrice = 4;

// Philox4x32-10 (Salmon, Moraes, Dror and Shaw, 2011).
class Philox {
 public:
  Philox(TileWriter& writer, const TileValue& seed, const TileValue& block)
      : writer_(writer), key_(Halves(seed)) {
    const TileValue zero = writer_.Fill("0", kU32, TileWriter::UnitShape());
    const auto halves = Halves(block);
    words_ = {halves[0], halves[1], zero, zero};
    constexpr int kRounds = 10;
    for (int round = 0; round < kRounds; ++round) {
      if (round > 0) NextKey();
      Round();
    }
  }
  [[nodiscard]] const std::array<TileValue, 4>& words() const { return words_; }

 private:
  TileValue Op(std::string_view mnemonic, const std::vector<TileValue>& operands, DType type) {
    return writer_.Op(mnemonic, operands, type);
  }
  // The low and the high 32 bits of an integer.
  std::array<TileValue, 2> Halves(const TileValue& integer) {
    const TileValue wide = writer_.CastWrapped(integer, kU64);
    const TileValue high = Op("shr", {wide, TileWriter::Literal("32", kU64)}, kU64);
    return {writer_.CastWrapped(wide, kU32), writer_.CastWrapped(high, kU32)};
  }
  void NextKey() {
    key_[0] = Op("add", {key_[0], TileWriter::Literal("0x9E3779B9", kU32)}, kU32);
    key_[1] = Op("add", {key_[1], TileWriter::Literal("0xBB67AE85", kU32)}, kU32);
  }
  void Round() {
    const auto product = [&](const TileValue& word, std::string_view by) {
      const TileValue wide = writer_.CastWrapped(word, kU64);
      return Halves(Op("mul", {wide, TileWriter::Literal(by, kU64)}, kU64));
    };
    const auto mixed = [&](const TileValue& a, const TileValue& b, const TileValue& c) {
      return Op("xor", {Op("xor", {a, b}, kU32), c}, kU32);
    };
    const auto left = product(words_[0], "0xD2511F53");
    const auto right = product(words_[2], "0xCD9E8D57");
    words_ = {mixed(right[1], words_[1], key_[0]), right[0], mixed(left[1], words_[3], key_[1]),
              left[0]};
  }

  TileWriter& writer_;
  std::array<TileValue, 2> key_;
  std::array<TileValue, 4> words_;
};

// Box and Muller (1958).
TileValue Normal(TileWriter& writer, const TileValue& a, const TileValue& b) {
  const auto op = [&](std::string_view mnemonic, const TileValue& x, std::string_view y) {
    return writer.Op(mnemonic, {x, TileWriter::Literal(y, kF64)}, kF64);
  };
  const auto function = [&](std::string_view mnemonic, const TileValue& x, double price) {
    return writer.Op(mnemonic, {x}, kF64, price);
  };
  const TileValue u = op("mul", op("add", writer.Cast(a, kF64), "1"), "2.3283064365386963e-10");
  const TileValue angle = op("mul", writer.Cast(b, kF64), "1.4629180792671596e-09");  // 2 pi / 2^32
  const TileValue radius =
      function("sqrt", op("mul", function("log", u, kFunctionPrice), "-2"), kRootPrice);
  return writer.Cast(writer.Op("mul", {radius, function("cos", angle, kFunctionPrice)}, kF64),
                     kF32);
}

}  // namespace

TileValue Power(TileWriter& writer, std::vector<TileValue> operands, DType type) {
  for (TileValue& operand : operands) {
    operand = operand.IsLiteral() ? writer.Fill(operand.name, kF64, TileWriter::UnitShape())
                                  : writer.Cast(operand, kF64);
  }
  const TileValue& a = operands[0];
  const TileValue& b = operands[1];
  const auto op = [&](std::string_view mnemonic, const std::vector<TileValue>& of,
                      double price = 1) { return writer.Op(mnemonic, of, kF64, price); };
  const auto test = [&](std::string_view mnemonic, const TileValue& x, const TileValue& y) {
    return writer.Op(mnemonic, {x, y}, kBoolType);
  };
  const auto literal = [](std::string_view text) { return TileWriter::Literal(text, kF64); };
  const TileValue size = op("abs", {a});
  TileValue out = op("exp", {op("mul", {b, op("log", {size}, kFunctionPrice)})}, kFunctionPrice);
  // Of a negative number: the sign is that of an odd power; only whole powers exist.
  const TileValue whole = test("eq", op("floor", {b}), b);
  const TileValue half = op("mul", {b, literal("0.5")});
  const TileValue even = test("eq", op("floor", {half}), half);
  const TileValue turned = op("select", {even, out, op("neg", {out})});
  const TileValue broken = op("select", {test("eq", size, literal("inf")), out, literal("nan")});
  const TileValue of_negative = op("select", {whole, turned, broken});
  const auto either = [&](const TileValue& x, const TileValue& y) {
    return writer.Op("or", {x, y}, kBoolType);
  };
  const TileValue infinite = test("eq", op("abs", {b}), literal("inf"));
  const TileValue negative = test("lt", a, literal("0"));
  const TileValue finite = writer.Op("not", {infinite}, kBoolType);
  out = op("select", {writer.Op("and", {negative, finite}, kBoolType), of_negative, out});
  // 1 to any power, -1 to an infinite one, and anything to the power 0.
  const TileValue unit = writer.Op(
      "and", {test("eq", size, literal("1")), either(infinite, test("eq", a, size))}, kBoolType);
  const TileValue one = writer.Fill("1", kF64, TileWriter::UnitShape());
  out = op("select", {either(unit, test("eq", b, literal("0"))), one, out});
  return writer.Cast(out, type);
}

TileValue RandomNumbers(TileWriter& writer, GraphOp op, const TileValue& seed,
                        const TileValue& number) {
  const bool normal = op == GraphOp::kNormal;  // of two words each
  const auto literal = [](std::string_view text, DType type) {
    return TileWriter::Literal(text, type);
  };
  const TileValue wide = writer.CastWrapped(number, kU64);
  const TileValue block = writer.Op("shr", {wide, literal(normal ? "1" : "2", kU64)}, kU64);
  const Philox philox(writer, seed, block);
  const auto& words = philox.words();
  const auto is_bit = [&](std::string_view bit) {
    const TileValue low = writer.Op("and", {wide, literal(bit, kU64)}, kU64);
    return writer.Op("ne", {low, literal("0", kU64)}, kBoolType);
  };
  const auto choose = [&](const TileValue& which, const TileValue& yes, const TileValue& no) {
    return writer.Op("select", {which, yes, no}, kU32);
  };
  const TileValue odd = is_bit("1");
  if (normal) {
    return Normal(writer, choose(odd, words[2], words[0]), choose(odd, words[3], words[1]));
  }
  const TileValue late = is_bit("2");
  const TileValue out =
      choose(late, choose(odd, words[3], words[2]), choose(odd, words[1], words[0]));
  if (op == GraphOp::kRand) return out;
  const TileValue high = writer.Op("shr", {out, literal("8", kU32)}, kU32);
  return writer.Op("mul", {writer.Cast(high, kF32), literal("5.9604644775390625e-08", kF32)}, kF32);
}

}  // namespace tarsia
