// Writes the program of one reducer: what it begins with, what an element does, how the lanes of a
// tile and the states of parts are merged, and the result. Internal to planner/.
#ifndef TARSIA_PLANNER_EMIT_REDUCER_H_
#define TARSIA_PLANNER_EMIT_REDUCER_H_

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "planner/matrix_product.h"
#include "planner/reducer.h"
#include "planner/tile_writer.h"

namespace tarsia {

inline constexpr std::string_view kNoIndex = "9223372036854775807";  // of argmax, argmin and topk

// Within a loop each element of a tile, a *lane*, has a state of its own; Close makes one of them.
class ReducerEmitter {
 public:
  ReducerEmitter(TileWriter& writer, const Reduction& reduction)
      : writer_(writer), reduction_(reduction), type_(reduction.accumulator) {}

  // Of `topk`: the position of the chosen elements in states and results, their number, and a
  // position along which no state has elements: that of the reduced axis, if a loop reduces it.
  struct Place {
    int chosen = 0;
    int64_t count = 0;
    int lane = 0;
    bool descending = false;  // the order of the tiles
  };
  void SetPlace(const Place& place) { place_ = place; }
  // Takes sums of products as products of matrices, of `dot` and `softmax`. Before Begin.
  void SetProduct(const MatrixProduct& product) { product_ = product; }
  // `wide`: the lanes of the result; `narrow`: those of the first operand; `loop`: those of the
  // reduced axes alone. `lanes`: the reduced positions.
  void Begin(const TileShape& wide, const TileShape& narrow, const TileShape& loop, uint32_t lanes);
  // Takes the elements of a tile. `inside`: which of them exist; null: all. `number`: of the tile
  // along a single reduced axis, from 0; tiles come in descending order to argmax and argmin.
  void Step(const std::vector<TileValue>& elements, const TileValue* inside,
            const std::string& number);
  // One state of all lanes. `tile`: the elements of a tile along the axis of argmax and argmin.
  std::vector<TileValue> Close(int64_t tile, int position);

  [[nodiscard]] std::vector<TileValue> Merge(const std::vector<TileValue>& a,
                                             const std::vector<TileValue>& b);
  // The results: one, or a value and an index. `result`: the type of the first.
  [[nodiscard]] std::vector<TileValue> Finish(const std::vector<TileValue>& state, DType result);

 private:
  using Tiles = std::vector<TileValue>;
  TileValue Op(std::string_view mnemonic, const Tiles& operands, double price = 1) {
    return writer_.Op(mnemonic, operands, type_, price);
  }
  void Into(size_t part, std::string_view mnemonic, const Tiles& operands, double price = 1) {
    writer_.Op(mnemonic, operands, state_[part].dtype, price, state_[part].name);
  }
  TileValue Test(std::string_view mnemonic, const Tiles& operands) {
    return writer_.Op(mnemonic, operands, kBoolType);
  }
  [[nodiscard]] TileValue Number(std::string_view text) const {
    return TileWriter::Literal(text, type_);
  }
  TileValue Masked(const TileValue& tile, const TileValue* inside, std::string_view other);
  [[nodiscard]] std::string Extreme(bool least) const;
  [[nodiscard]] std::string NothingYet() const;
  // The largest so far, or 0 where that is infinite: what exponents are relative to.
  TileValue Reference(const TileValue& top);

  void Add(size_t part, const TileValue& tile);
  void AddProduct(size_t part, const TileValue& a, const TileValue& b, const TileValue* inside);
  TileValue Turned(const TileValue& tile);
  void StepSum(const Tiles& operands, const TileValue* inside);
  void StepProduct(const Tiles& elements, const TileValue* inside);
  void StepBest(const TileValue& x, const TileValue* inside, const std::string& number);
  void StepExponentials(const Tiles& operands, const TileValue* inside);
  void StepVar(const TileValue& x, const TileValue* inside);
  Tiles CloseCompensated();
  Tiles CloseExpanded();
  Tiles CloseBest(int64_t tile, int position);
  Tiles CloseVar();
  Tiles CloseExtreme();
  // ---- topk (emit_topk.cc)
  void BeginTop(TileShape shape, const TileShape& narrow);
  void StepTop(const TileValue& x, const TileValue* inside, const std::string& number);
  Tiles CloseTop();
  // Both with their elements along the lane; of equal elements those of a come first.
  Tiles MergeAlongLane(const Tiles& a, const Tiles& b);
  Tiles MergeTop(const Tiles& a, const Tiles& b);
  Tiles FinishTop(const Tiles& state, DType result);
  [[nodiscard]] TileValue Known(const TileValue& best, const TileValue& index);
  std::string Shared(DType dtype, const TileShape& shape);
  [[nodiscard]] std::string At(int position, const std::string& index) const;
  Tiles MergeBest(const Tiles& a, const Tiles& b);
  Tiles MergeExponentials(const Tiles& a, const Tiles& b);
  Tiles MergeVar(const Tiles& a, const Tiles& b);

  TileWriter& writer_;
  const Reduction& reduction_;
  DType type_;
  Tiles state_;
  uint32_t lanes_ = 0;
  Place place_;
  std::optional<MatrixProduct> product_;  // has the last tensor of the state
  TileShape narrow_{};
};

}  // namespace tarsia

#endif  // TARSIA_PLANNER_EMIT_REDUCER_H_
