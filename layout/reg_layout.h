// Register layouts: which thread holds which element of a tile, in which slot.
//
// A layout of shape s factors each dimension into modes, outermost first, and puts every mode into
// one of two ordered lists: `spatial`, whose mixed-radix number (the last digit fastest) is the
// thread, and `local`, whose mixed-radix number is the slot. A replication by k in `spatial` means
// that k threads hold the same element.
//
// Example: shape [4, 6], modes [2, 2 | 3, 2], spatial [0, 2], local [3, 1]: element (i, j) is in
// thread (i / 2) * 3 + j / 2, slot (j % 2) * 2 + i % 2.
//
// A RegLayout is always in canonical form: modes of size 1 are gone, and modes that are neighbours
// both in a dimension and in a list are one mode. That form is complete: two layouts are the same
// function from (thread, slot) to element exactly when they compare equal.
//
// Everything here is pure and may be called from any thread.
#ifndef TARSIA_LAYOUT_REG_LAYOUT_H_
#define TARSIA_LAYOUT_REG_LAYOUT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "support/inline_vector.h"
#include "support/result.h"

namespace tarsia {

inline constexpr int kMaxLayoutRank = 8;
inline constexpr int kMaxLayoutModes = 64;
inline constexpr int64_t kMaxLayoutThreads = int64_t{1} << 20;
inline constexpr int64_t kMaxLayoutSlots = int64_t{1} << 20;
inline constexpr int64_t kMaxLayoutCells = int64_t{1} << 24;  // threads * slots

using Extents = std::vector<int64_t>;

// Where an element is.
struct Holder {
  int64_t thread = 0;
  int64_t slot = 0;
  friend bool operator==(const Holder&, const Holder&) = default;
};

class RegLayout {
 public:
  // A digit of the thread or slot number: it runs over [0, extent) and moves the element by
  // `stride` along dimension `dim`; a replication has dim kReplication and stride 0.
  static constexpr int kReplication = -1;
  struct Digit {
    int dim = kReplication;
    int64_t extent = 1;
    int64_t stride = 0;
    friend bool operator==(const Digit&, const Digit&) = default;
  };
  using Digits = InlineVector<Digit, 8>;

  // One element of rank 0, in slot 0 of thread 0.
  RegLayout() = default;

  // The general form. `modes` is flat over the dimensions, outermost first; a dimension has as many
  // modes as its extent needs (of modes of extent 1 at a border, those before the next larger mode
  // stay with the earlier dimension). An entry of `spatial` or `local` is the number of a mode; in
  // `spatial`, a negative entry ~k (that is, -k - 1) replicates by k. Errors: modes that do not
  // multiply to the shape, a mode that is missing or used twice, extents below 1, and sizes above
  // the limits above.
  static Result<RegLayout> Make(std::span<const int64_t> shape, std::span<const int64_t> modes,
                                std::span<const int64_t> spatial, std::span<const int64_t> local);

  // The same from digits, outermost first; digits of extent 1 do not matter. Errors: also digits of
  // a dimension whose strides are not those of modes.
  static Result<RegLayout> FromDigits(std::span<const int64_t> shape, const Digits& spatial,
                                      const Digits& local);

  // Primitives. The shape is `extents`; row-major, or the first dimension fastest for Column*.
  static Result<RegLayout> Local(std::span<const int64_t> extents);
  static Result<RegLayout> Spatial(std::span<const int64_t> extents);
  static Result<RegLayout> ColumnLocal(std::span<const int64_t> extents);
  static Result<RegLayout> ColumnSpatial(std::span<const int64_t> extents);
  // k threads with one element, of rank 0.
  static Result<RegLayout> Replicate(int64_t count);

  [[nodiscard]] const Extents& shape() const { return shape_; }
  [[nodiscard]] int rank() const { return static_cast<int>(shape_.size()); }
  [[nodiscard]] int64_t threads() const { return threads_; }
  [[nodiscard]] int64_t slots() const { return slots_; }
  [[nodiscard]] int64_t elements() const { return elements_; }
  // How many threads hold each element.
  [[nodiscard]] int64_t replication() const { return threads_ * slots_ / elements_; }
  [[nodiscard]] const Digits& spatial() const { return spatial_; }
  [[nodiscard]] const Digits& local() const { return local_; }

  // The canonical form as text writes it.
  struct Written {
    Extents shape;
    Extents modes;
    Extents spatial;  // mode numbers, ~k for a replication by k
    Extents local;
  };
  [[nodiscard]] Written Write() const;

  // The element of a thread and slot (both within range); `index` has rank() places.
  void Element(int64_t thread, int64_t slot, std::span<int64_t> index) const;
  // All holders of an element (within the shape), by ascending thread.
  [[nodiscard]] std::vector<Holder> Locate(std::span<const int64_t> index) const;
  // The holder of the lowest thread number.
  [[nodiscard]] Holder LocateFirst(std::span<const int64_t> index) const;
  // Entry thread * slots() + slot is the row-major number of the element held there.
  [[nodiscard]] std::vector<uint32_t> LinearTable() const;

  friend bool operator==(const RegLayout&, const RegLayout&) = default;

 private:
  friend class RegLayoutBuilder;
  Extents shape_;
  Digits spatial_;
  Digits local_;
  int64_t threads_ = 1;
  int64_t slots_ = 1;
  int64_t elements_ = 1;
};

// a * b: each element of a becomes a tile b. Shapes multiply, lists concatenate. The ranks must be
// equal, except that an operand of rank 0 counts as one with all extents 1.
Result<RegLayout> Product(const RegLayout& a, const RegLayout& b);
// The c with c * b = a (Divide) or b * c = a (LeftDivide); it is unique where it exists.
Result<RegLayout> Divide(const RegLayout& a, const RegLayout& b);
Result<RegLayout> LeftDivide(const RegLayout& a, const RegLayout& b);
// Whether Divide(a, b) exists, without the text of an error: for searches, which often ask in vain.
bool Divides(const RegLayout& a, const RegLayout& b);
// After a reduction over `dims` (distinct): their spatial modes become replications, their local
// ones vanish. The dimensions vanish too, or stay with extent 1 if `keepdims`.
Result<RegLayout> Reduce(const RegLayout& a, std::span<const int64_t> dims, bool keepdims = false);
// Dimension i of the result is dimension order[i] of a.
Result<RegLayout> Permute(const RegLayout& a, std::span<const int64_t> order);
// The same elements in row-major order under another shape; an error where a mode would be split
// unevenly.
Result<RegLayout> Reshape(const RegLayout& a, std::span<const int64_t> shape);
Result<RegLayout> Flatten(const RegLayout& a);
// Drops dimensions, all of extent 1; inserts dimensions of extent 1 at these places of the result.
Result<RegLayout> Squeeze(const RegLayout& a, std::span<const int64_t> dims);
Result<RegLayout> Unsqueeze(const RegLayout& a, std::span<const int64_t> dims);
// The dimensions of b after those of a, the threads and slots of a outermost.
Result<RegLayout> Concat(const RegLayout& a, const RegLayout& b);

// `layout(shape=[4, 6], modes=[2, 2, 3, 2], spatial=[0, 2], local=[3, 1])`.
std::string ToString(const RegLayout& layout);
// "[4, 6]", for messages.
std::string ToString(std::span<const int64_t> values);

}  // namespace tarsia

#endif  // TARSIA_LAYOUT_REG_LAYOUT_H_
