// The checks and computations that every launch of a program makes with its arguments, prepared
// once: assumptions, the grid, the views of pointers. A valid launch allocates nothing here.
#ifndef TARSIA_LAUNCH_LAUNCH_TEMPLATE_H_
#define TARSIA_LAUNCH_LAUNCH_TEMPLATE_H_

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "isa/program.h"
#include "isa/tile_size.h"
#include "launch/arguments.h"
#include "support/result.h"

namespace tarsia::launch {

// Immutable and thread-safe. Every function takes the program that the template was made from.
class LaunchTemplate {
 public:
  // `code_alignments`: the alignment in bytes that the code of the program needs of each pointer,
  // by parameter; empty if nothing needs more than Program::PointerAlignment.
  static LaunchTemplate Make(const Program& program, std::span<const int64_t> code_alignments = {});

  // All checks of arguments before any block runs: number, kinds and types, every assumption, the
  // grid, and that buffers hold their views.
  Status Check(const Program& program, std::span<const Argument> args, LaunchShape* out) const;
  // Extents of the grid. `scalars` are the scalar parameters' codes by parameter; entries of
  // pointers are ignored. Errors: extents outside of 0 to 2^31 - 1, more than 2^62 blocks.
  Status ResolveGrid(const Program& program, const uint64_t* scalars, int64_t grid[3]) const;
  // The views of pointers in the order of the text. Errors: extents outside of 0 to 2^40, a layout
  // that does not fit the shape.
  Result<std::vector<PointerUse>> Uses(const Program& program, const uint64_t* scalars) const;
  // Puts a finding before the others for each buffer that the program writes and that shares bytes
  // with another argument.
  void AddOverlaps(const Program& program, std::span<const Argument> args,
                   std::vector<Finding>* findings) const;
  // The instruction that makes the first view of a parameter through which something is written;
  // null where nothing is.
  [[nodiscard]] const Location* WrittenAt(size_t parameter) const {
    return writes_[parameter].written ? &writes_[parameter].view : nullptr;
  }

 private:
  struct Assumption {
    ScalarExpr condition;
    size_t index = 0;  // in Kernel::assumes
  };
  // A view of a pointer parameter whose shape follows from parameters.
  struct View {
    size_t inst = 0;  // in Kernel::code
    uint32_t parameter = 0;
    bool unconditional = true;
    bool written = false;
    TileSize size;
  };
  // An extent of a slice, of scratch, or of a view past the rank of its View::size, that follows
  // from parameters.
  struct Extent {
    size_t inst = 0;  // in Kernel::code
    size_t dimension = 0;
    ScalarExpr expr;
  };
  struct Write {
    bool written = false;
    Location view;
  };

  void AddGrid(const Program& program);
  void AddAssumptions(const Program& program);
  void AddViews(const Program& program);
  void AddView(const Program& program, View view);
  // Adds the extents from dimension `first` on.
  void AddExtents(const Program& program, size_t inst, size_t first);

  Status CheckAlignment(const Program& program, std::span<const Argument> args) const;
  static Status CheckArgument(const Program& program, size_t i, const Argument& arg);
  Status CheckAssumptions(const Program& program, const uint64_t* scalars) const;
  Status CheckExtents(const Program& program, const uint64_t* scalars) const;
  Status CheckViews(const Program& program, std::span<const Argument> args,
                    const LaunchShape& launch) const;
  // Errors as those of Uses.
  static Status ShapeOf(const Program& program, const View& view, const uint64_t* scalars,
                        TileSize::Shape* out);
  static Result<uint64_t> BytesOf(const Program& program, const View& view,
                                  const TileSize::Shape& shape);

  std::array<ScalarExpr, 3> grid_ = {ScalarExpr::Constant(1), ScalarExpr::Constant(1),
                                     ScalarExpr::Constant(1)};
  std::vector<int64_t> alignments_;  // by parameter: bytes, of pointers
  std::vector<Assumption> assumptions_;
  std::vector<View> views_;
  std::vector<Extent> extents_;
  std::vector<Write> writes_;  // by parameter
};

// For one launch of a program.
Status ResolveGrid(const Program& program, const std::vector<uint64_t>& scalars, int64_t grid[3]);
Result<std::vector<PointerUse>> PointerUses(const Program& program,
                                            const std::vector<uint64_t>& scalars);

}  // namespace tarsia::launch

#endif  // TARSIA_LAUNCH_LAUNCH_TEMPLATE_H_
