#include "layout/picture/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <vector>

#include "layout/access.h"
#include "layout/picture/grid.h"
#include "layout/swizzle_search.h"

namespace tarsia {
namespace {

using CellText = std::function<std::string(std::span<const int64_t>)>;

std::string TextGrid(const Grid& grid, size_t rank, const CellText& text) {
  std::vector<std::string> cells;
  size_t width = 0;
  for (int64_t matrix = 0; matrix < grid.matrices; ++matrix) {
    for (int64_t row = 0; row < grid.rows; ++row) {
      for (int64_t column = 0; column < grid.columns; ++column) {
        cells.push_back(text(grid.Index(rank, matrix, row, column)));
        width = std::max(width, cells.back().size());
      }
    }
  }
  std::string out;
  auto cell = cells.begin();
  for (int64_t matrix = 0; matrix < grid.matrices; ++matrix) {
    if (!grid.leading.empty()) out += grid.Heading(matrix) + "\n";
    for (int64_t row = 0; row < grid.rows; ++row) {
      for (int64_t column = 0; column < grid.columns; ++column, ++cell) {
        fmt::format_to(std::back_inserter(out), "{}{:>{}}", column == 0 ? "" : " ", *cell, width);
      }
      out += "\n";
    }
  }
  return out;
}

}  // namespace

Result<std::string> RenderText(const RegLayout& layout) {
  TARSIA_TRY(const Grid grid, GridOf(layout.shape()));
  return TextGrid(grid, layout.shape().size(),
                  [&](std::span<const int64_t> index) { return HoldersText(layout, index); });
}

Result<std::string> RenderText(const MemLayout& layout, int bits) {
  TARSIA_CHECK(CheckDrawnWidth(layout, bits));
  TARSIA_TRY(const Grid grid, GridOf(layout.shape()));
  return TextGrid(grid, layout.shape().size(), [&](std::span<const int64_t> index) {
    return fmt::format("{}", BankOf(layout, index, bits));
  });
}

namespace {

std::string CostText(const TileAccess::Cost& shared, const TileAccess::Cost& global) {
  return fmt::format("{} wavefronts (ideal {}), {} sectors (ideal {})", shared.actual, shared.ideal,
                     global.actual, global.ideal);
}

std::string_view LdMatrixName(TileAccess::LdMatrix shape) {
  switch (shape) {
    case TileAccess::LdMatrix::kNo:
      return "no";
    case TileAccess::LdMatrix::kPlain:
      return "plain";
    case TileAccess::LdMatrix::kTransposed:
      return "transposed";
  }
  return "?";
}

// The byte addresses of one access of the first warp, eight threads per line.
std::string AddressLines(const TileAccess& access, int64_t unit, int bytes) {
  std::string out;
  const int64_t threads = std::min<int64_t>(access.threads(), kWarpThreads);
  for (int64_t thread = 0; thread < threads; ++thread) {
    if (thread % 8 == 0) fmt::format_to(std::back_inserter(out), "  thread {:>2}:", thread);
    fmt::format_to(std::back_inserter(out), " {:>6}", access.Address(thread, unit, bytes));
    if (thread % 8 == 7 || thread + 1 == threads) out += "\n";
  }
  return out;
}

}  // namespace

Result<std::string> RenderAccesses(const RegLayout& tile, const MemLayout& memory, int bits) {
  TARSIA_TRY(const TileAccess access, TileAccess::Make(tile, memory, bits));
  const int bytes = access.WidestVector();
  if (bytes == 0) return std::string("no aligned access moves whole bytes: bits go one by one\n");
  const int64_t units = access.Units(bytes);
  std::string out =
      fmt::format("{} bytes per thread and access, {} accesses per thread\n", bytes, units);
  constexpr int64_t kMaxShown = 32;
  for (int64_t unit = 0; unit < std::min(units, kMaxShown); ++unit) {
    out += fmt::format("access {}: {} wavefronts, {} sectors; byte addresses\n", unit,
                       access.Wavefronts(0, unit, bytes), access.Sectors(0, unit, bytes));
    out += AddressLines(access, unit, bytes);
  }
  if (units > kMaxShown) out += fmt::format("and {} accesses more\n", units - kMaxShown);
  out +=
      "all warps: " + CostText(access.SharedWavefronts(bytes), access.GlobalSectors(bytes)) + "\n";
  const TileAccess::LdMatrix shape = access.LdMatrixShape();
  if (shape == TileAccess::LdMatrix::kNo) return out;
  const TileAccess::Cost cost = access.LdMatrixWavefronts(shape);
  return out + fmt::format("ldmatrix{}: {} matrices, {} wavefronts (ideal {})\n",
                           shape == TileAccess::LdMatrix::kTransposed ? ".trans" : "",
                           cost.accesses, cost.actual, cost.ideal);
}

Result<std::string> RenderAccessesJson(const RegLayout& tile, const MemLayout& memory, int bits) {
  TARSIA_TRY(const TileAccess access, TileAccess::Make(tile, memory, bits));
  const int bytes = access.WidestVector();
  if (bytes == 0) return std::string("{\"bytes\": 0}");
  const TileAccess::Cost shared = access.SharedWavefronts(bytes);
  const TileAccess::Cost global = access.GlobalSectors(bytes);
  return fmt::format(
      R"({{"bytes": {}, "accesses": {}, "wavefronts": {}, "ideal_wavefronts": {}, "sectors": {}, )"
      R"("ideal_sectors": {}, "ldmatrix": "{}"}})",
      bytes, shared.accesses, shared.actual, shared.ideal, global.actual, global.ideal,
      LdMatrixName(access.LdMatrixShape()));
}

Result<std::string> RenderBestSwizzle(std::span<const RegLayout> tiles, const MemLayout& memory,
                                      int bits) {
  std::vector<SharedAccess> accesses(tiles.size());
  for (size_t i = 0; i < tiles.size(); ++i) accesses[i].tile = tiles[i];
  TARSIA_TRY(const SwizzleChoice choice, BestSwizzle(memory, bits, accesses));
  std::string out = "as it is";
  if (choice.swizzle) {
    TARSIA_TRY(const MemLayout best, memory.WithSwizzle(*choice.swizzle));
    out = ToString(best);
  }
  return fmt::format("{}: {} wavefronts (before {}, ideal {})\n", out, choice.wavefronts,
                     choice.before, choice.ideal);
}

std::string RenderJson(const RegLayout& layout) {
  const RegLayout::Written written = layout.Write();
  std::string spatial;
  for (const int64_t entry : written.spatial) {
    if (!spatial.empty()) spatial += ", ";
    spatial += entry < 0 ? fmt::format("\"~{}\"", ~entry) : fmt::format("{}", entry);
  }
  return fmt::format(
      R"({{"shape": {}, "modes": {}, "spatial": [{}], "local": {}, "threads": {}, "slots": {}}})",
      ToString(written.shape), ToString(written.modes), spatial, ToString(written.local),
      layout.threads(), layout.slots());
}

std::string RenderJson(const MemLayout& layout, int bits) {
  return fmt::format(R"({{"layout": "{}", "shape": {}, "bits": {}, "bytes": {}, "alignment": {}}})",
                     ToString(layout), ToString(layout.shape()), bits, layout.SizeBytes(bits),
                     layout.Alignment());
}

}  // namespace tarsia
