#include "layout/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <vector>

#include "layout/access.h"
#include "layout/diagnostics.h"

namespace tarsia {
namespace {

// A layout as matrices: the last two dimensions are rows and columns, the others count matrices.
struct Grid {
  Extents leading;
  int64_t matrices = 1;
  int64_t rows = 1;
  int64_t columns = 1;
};

Result<Grid> GridOf(std::span<const int64_t> shape) {
  Grid out;
  const size_t rank = shape.size();
  if (rank >= 1) out.columns = shape[rank - 1];
  if (rank >= 2) out.rows = shape[rank - 2];
  if (rank > 2) out.leading.assign(shape.begin(), shape.end() - 2);
  int64_t elements = 1;
  for (const int64_t extent : shape) {
    if (extent > kMaxDrawnElements || elements * extent > kMaxDrawnElements) {
      return MakeDiagnostic(diag::kPictureTooLarge, {}, ToString(shape), kMaxDrawnElements);
    }
    elements *= extent;
  }
  for (const int64_t extent : out.leading) out.matrices *= extent;
  return out;
}

// The index of a cell in a layout of this rank.
Extents IndexOf(const Grid& grid, size_t rank, int64_t matrix, int64_t row, int64_t column) {
  Extents out(rank);
  if (rank >= 1) out[rank - 1] = column;
  if (rank >= 2) out[rank - 2] = row;
  for (size_t dim = grid.leading.size(); dim-- > 0;) {
    out[dim] = matrix % grid.leading[dim];
    matrix /= grid.leading[dim];
  }
  return out;
}

// "[1, 0, :, :]", the heading of a matrix.
std::string Heading(const Grid& grid, int64_t matrix) {
  const Extents index = IndexOf(grid, grid.leading.size() + 2, matrix, 0, 0);
  std::string out = "[";
  for (size_t dim = 0; dim < grid.leading.size(); ++dim) out += fmt::format("{}, ", index[dim]);
  return out + ":, :]";
}

using CellText = std::function<std::string(std::span<const int64_t>)>;

std::string TextGrid(const Grid& grid, size_t rank, const CellText& text) {
  std::vector<std::string> cells;
  size_t width = 0;
  for (int64_t matrix = 0; matrix < grid.matrices; ++matrix) {
    for (int64_t row = 0; row < grid.rows; ++row) {
      for (int64_t column = 0; column < grid.columns; ++column) {
        cells.push_back(text(IndexOf(grid, rank, matrix, row, column)));
        width = std::max(width, cells.back().size());
      }
    }
  }
  std::string out;
  auto cell = cells.begin();
  for (int64_t matrix = 0; matrix < grid.matrices; ++matrix) {
    if (!grid.leading.empty()) out += Heading(grid, matrix) + "\n";
    for (int64_t row = 0; row < grid.rows; ++row) {
      for (int64_t column = 0; column < grid.columns; ++column, ++cell) {
        fmt::format_to(std::back_inserter(out), "{}{:>{}}", column == 0 ? "" : " ", *cell, width);
      }
      out += "\n";
    }
  }
  return out;
}

// `thread:slot`, replicas as `0,4:1`; of more than four, the first three.
std::string HoldersText(const RegLayout& layout, std::span<const int64_t> index) {
  const std::vector<Holder> holders = layout.Locate(index);
  std::string out;
  const size_t shown = holders.size() > 4 ? 3 : holders.size();
  for (size_t i = 0; i < shown; ++i) {
    fmt::format_to(std::back_inserter(out), "{}{}", i == 0 ? "" : ",", holders[i].thread);
  }
  if (shown < holders.size()) out += ",..";
  return fmt::format("{}:{}", out, holders[0].slot);
}

int64_t BankOf(const MemLayout& layout, std::span<const int64_t> index, int bits) {
  return static_cast<int64_t>(layout.BitAddress(index, bits, 0) / 8 / kBankBytes % kBanks);
}

Status CheckWidth(const MemLayout& layout, int bits) {
  if (bits < 1 || bits > 64) return MakeDiagnostic(diag::kAccessWidth, {}, bits);
  if (layout.IsPacked() && layout.packed().bits.bits() != bits) {
    return MakeDiagnostic(diag::kAccessBits, {}, layout.packed().bits.count(),
                          layout.packed().bits.bits(), layout.packed().tile.slots(), bits);
  }
  return OkStatus();
}

}  // namespace

Result<std::string> RenderText(const RegLayout& layout) {
  TARSIA_TRY(const Grid grid, GridOf(layout.shape()));
  return TextGrid(grid, layout.shape().size(),
                  [&](std::span<const int64_t> index) { return HoldersText(layout, index); });
}

Result<std::string> RenderText(const MemLayout& layout, int bits) {
  TARSIA_CHECK(CheckWidth(layout, bits));
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

// The byte addresses of one access of the first warp, eight threads a line.
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
      fmt::format("{} bytes a thread and access, {} accesses a thread\n", bytes, units);
  constexpr int64_t kMaxShown = 32;
  for (int64_t unit = 0; unit < std::min(units, kMaxShown); ++unit) {
    out += fmt::format("access {}: {} wavefronts, {} sectors; byte addresses\n", unit,
                       access.Wavefronts(0, unit, bytes), access.Sectors(0, unit, bytes));
    out += AddressLines(access, unit, bytes);
  }
  if (units > kMaxShown) out += fmt::format("and {} accesses more\n", units - kMaxShown);
  out +=
      "all warps: " + CostText(access.SharedWavefronts(bytes), access.GlobalSectors(bytes)) + "\n";
  return out;
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

namespace {

constexpr int kCellHeight = 24;
constexpr int kMargin = 34;

// A light colour that dark letters stand out from; neighbours in number differ in hue.
std::string Colour(int64_t number, int64_t count) {
  const double hue = count <= kBanks ? 360.0 * static_cast<double>(number) /
                                           static_cast<double>(std::max<int64_t>(count, 1))
                                     : std::fmod(static_cast<double>(number) * 137.508, 360.0);
  return fmt::format("hsl({:.0f},70%,{}%)", hue, number % 2 == 0 ? 84 : 74);
}

struct SvgCell {
  std::string text;
  std::string colour;
  int64_t group = 0;  // cells of one group are outlined together
};
using CellPicture = std::function<SvgCell(std::span<const int64_t>)>;

// A line between two cells of different groups.
std::string Line(int64_t x1, int64_t y1, int64_t x2, int64_t y2) {
  return fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>\n", x1, y1, x2, y2);
}

std::string Matrix(const std::vector<SvgCell>& cells, const Grid& grid, int64_t width,
                   int64_t top) {
  std::string boxes, lines, labels;
  for (int64_t row = 0; row < grid.rows; ++row) {
    const int64_t y = top + row * kCellHeight;
    labels += fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n", kMargin / 2, y + 16, row);
    for (int64_t column = 0; column < grid.columns; ++column) {
      const int64_t x = kMargin + column * width;
      const SvgCell& cell = cells[static_cast<size_t>(row * grid.columns + column)];
      boxes += fmt::format(
          "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>"
          "<text x=\"{}\" y=\"{}\" fill=\"#111\">{}</text>\n",
          x, y, width, kCellHeight, cell.colour, x + width / 2, y + 16, cell.text);
      const auto differs = [&](int64_t r, int64_t c) {
        return r < 0 || c < 0 || r >= grid.rows || c >= grid.columns ||
               cells[static_cast<size_t>(r * grid.columns + c)].group != cell.group;
      };
      if (differs(row - 1, column)) lines += Line(x, y, x + width, y);
      if (differs(row + 1, column)) lines += Line(x, y + kCellHeight, x + width, y + kCellHeight);
      if (differs(row, column - 1)) lines += Line(x, y, x, y + kCellHeight);
      if (differs(row, column + 1)) lines += Line(x + width, y, x + width, y + kCellHeight);
    }
  }
  for (int64_t column = 0; column < grid.columns; ++column) {
    labels += fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n",
                          kMargin + column * width + width / 2, top - 6, column);
  }
  // Grey letters can be read on white and on black.
  return "<g fill=\"#808080\">\n" + labels + "</g>\n<g>\n" + boxes + "</g>\n" +
         "<g stroke=\"#555\" stroke-width=\"1.5\">\n" + lines + "</g>\n";
}

std::string Svg(const Grid& grid, size_t rank, const CellPicture& picture) {
  std::string body;
  size_t longest = 0;
  std::vector<std::vector<SvgCell>> matrices;
  for (int64_t matrix = 0; matrix < grid.matrices; ++matrix) {
    std::vector<SvgCell>& cells = matrices.emplace_back();
    for (int64_t row = 0; row < grid.rows; ++row) {
      for (int64_t column = 0; column < grid.columns; ++column) {
        cells.push_back(picture(IndexOf(grid, rank, matrix, row, column)));
        longest = std::max(longest, cells.back().text.size());
      }
    }
  }
  const int64_t width = std::max<int64_t>(28, static_cast<int64_t>(longest) * 8 + 8);
  int64_t top = kMargin;
  for (int64_t matrix = 0; matrix < grid.matrices; ++matrix) {
    if (!grid.leading.empty()) {
      body +=
          fmt::format("<text x=\"{}\" y=\"{}\" fill=\"#808080\" text-anchor=\"start\">{}</text>\n",
                      kMargin, top - 6, Heading(grid, matrix));
      top += 20;
    }
    body += Matrix(matrices[static_cast<size_t>(matrix)], grid, width, top);
    top += grid.rows * kCellHeight + kMargin;
  }
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" "
      "font-family=\"monospace\" font-size=\"12\" text-anchor=\"middle\">\n{}</svg>\n",
      kMargin * 2 + grid.columns * width, top, body);
}

}  // namespace

Result<std::string> RenderSvg(const RegLayout& layout) {
  TARSIA_TRY(const Grid grid, GridOf(layout.shape()));
  return Svg(grid, layout.shape().size(), [&](std::span<const int64_t> index) {
    const Holder holder = layout.LocateFirst(index);
    return SvgCell{HoldersText(layout, index), Colour(holder.thread, layout.threads()),
                   holder.thread};
  });
}

Result<std::string> RenderSvg(const MemLayout& layout, int bits, const RegLayout* tile) {
  TARSIA_CHECK(CheckWidth(layout, bits));
  TARSIA_TRY(const Grid grid, GridOf(layout.shape()));
  int64_t slots_a_unit = 1;
  if (tile != nullptr) {
    TARSIA_TRY(const TileAccess access, TileAccess::Make(*tile, layout, bits));
    slots_a_unit = std::max<int64_t>(int64_t{access.WidestVector()} * 8 / bits, 1);
  }
  return Svg(grid, layout.shape().size(), [&](std::span<const int64_t> index) {
    const int64_t bank = BankOf(layout, index, bits);
    SvgCell cell{fmt::format("{}", bank), Colour(bank, kBanks), bank};
    if (tile != nullptr) {
      const Holder holder = tile->LocateFirst(index);
      cell.group = holder.thread * tile->slots() + holder.slot / slots_a_unit;
    }
    return cell;
  });
}

}  // namespace tarsia
