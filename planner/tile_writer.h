// Writes instructions on register tiles, line by line, and adds up what they cost. Internal to
// planner/.
#ifndef TARSIA_PLANNER_TILE_WRITER_H_
#define TARSIA_PLANNER_TILE_WRITER_H_

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "dtypes/dtype.h"
#include "isa/limits.h"

namespace tarsia {

using TileShape = std::array<int64_t, kMaxRank>;

struct TileValue {
  std::string name;  // "%_3", or a literal
  DType dtype;
  TileShape shape{};  // unused dimensions have extent 1

  [[nodiscard]] bool IsLiteral() const { return name.empty() || name[0] != '%'; }
};

// The body of the kernel or of a loop.
struct Scope {
  std::string head;  // the line that opens it, written when it is closed
  std::string text;
  std::map<std::vector<int64_t>, TileValue> known;  // by value and indices
  double times = 1;                                 // how often it runs
  int positions = 0;                                // of it and the scopes around it
  int64_t elements = 1;                             // of a tile of all of its dimensions
};

class TileWriter {
 public:
  // `rank`: of all tiles.
  explicit TileWriter(int rank) : rank_(rank) { scopes_.emplace_back(); }

  void Line(const std::string& text);
  // Begins and ends a block of lines; `head` opens it.
  void Open(Scope body, std::string head);
  void Close();
  // Writes lines of the block at `depth`: before those of the blocks within it, which are open.
  void AtDepth(size_t depth, const std::function<void()>& write);
  std::string NewName() { return "%_" + std::to_string(names_++); }

  // `name = mnemonic operands`, of a new name or of `into`. Operands are repeated along dimensions
  // of extent 1.
  TileValue Op(std::string_view mnemonic, const std::vector<TileValue>& operands, DType result,
               double price = 1, std::string_view into = {});
  TileValue Fill(std::string_view literal, DType dtype, const TileShape& shape);
  TileValue Cast(const TileValue& tile, DType dtype);
  // The low bits of an integer.
  TileValue CastWrapped(const TileValue& tile, DType dtype);
  TileValue Broadcast(const TileValue& tile, const TileShape& shape);
  // The index in the tile along a position.
  TileValue Iota(int position, int64_t extent, DType dtype);
  // `name = text`.
  TileValue Make(std::string_view text, DType dtype, const TileShape& shape);
  // Two positions change places.
  TileValue Swap(const TileValue& tile, int a, int b);
  // The `count` best elements along a position and their indices as i32.
  std::array<TileValue, 2> TopK(const TileValue& tile, int64_t count, int position,
                                bool smallest = false);
  // A reduction along the positions, which stay with extent 1.
  TileValue Across(std::string_view mnemonic, const TileValue& tile, uint32_t positions);
  static TileValue Literal(std::string_view text, DType dtype) {
    return {std::string(text), dtype, {}};
  }

  [[nodiscard]] static TileShape UnitShape();
  [[nodiscard]] std::string ShapeText(const TileShape& shape) const;
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] double cost() const { return cost_; }
  // Adds the price of an operation on a tile.
  void Pay(const TileShape& shape, double price);

  // The block that is being written, and those around it, the outermost first.
  Scope& scope() { return scopes_.back(); }
  std::vector<Scope>& scopes() { return scopes_; }
  [[nodiscard]] const std::vector<Scope>& scopes() const { return scopes_; }

 private:
  const int rank_;
  std::vector<Scope> scopes_;
  double cost_ = 0;
  int names_ = 0;
};

}  // namespace tarsia

#endif  // TARSIA_PLANNER_TILE_WRITER_H_
