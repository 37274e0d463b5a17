#include "layout/picture/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <vector>

#include "layout/access.h"
#include "layout/diagnostics.h"
#include "layout/picture/grid.h"
#include "layout/picture/render.h"
#include "support/svg.h"

namespace tarsia {
namespace {

constexpr int64_t kCellHeight = 26;
constexpr int64_t kMargin = kSvgMargin;
constexpr int64_t kLabelWidth = 34;   // row numbers
constexpr int64_t kLabelHeight = 20;  // column numbers
constexpr int kShades = kSvgShades;

// ---- colours --------------------------------------------------------------------------------

// Neighbours of a group of four share a hue, as the threads that hold a row of a fragment do; few
// threads have a hue each.
std::string ThreadColour(int64_t thread, int64_t threads) {
  if (threads <= kSvgHues) return SvgColour(thread, 0);
  return SvgColour(thread / kShades, thread);
}

// A cool colour for one word, warmer the more words a bank delivers.
std::string LoadColour(int64_t load) {
  if (load == 1) return SvgHex(140, 0.45, 0.86);
  return SvgHex(28, 0.95, std::max(0.58, 0.82 - 0.03 * static_cast<double>(load)));
}

// ---- grids of cells ---------------------------------------------------------------------------

struct Cell {
  std::string text;
  std::string colour;
  int64_t group = 0;  // cells of one group are outlined together
};

int64_t CellWidth(size_t longest) {
  return std::max<int64_t>(30, static_cast<int64_t>(longest) * 8 + 8);
}

// A matrix of cells with its top left corner at (left, top); strong lines part the groups.
void DrawCells(SvgDocument& document, const std::vector<Cell>& cells, int64_t columns,
               int64_t width, int64_t left, int64_t top) {
  const auto count = static_cast<int64_t>(cells.size());
  const auto at = [&](int64_t i) -> const Cell& { return cells[static_cast<size_t>(i)]; };
  for (int64_t i = 0; i < count; ++i) {
    const int64_t row = i / columns, column = i % columns;
    const int64_t x = left + column * width, y = top + row * kCellHeight;
    document.Box(x, y, width, kCellHeight, at(i).colour);
    if (!at(i).text.empty()) document.CellText(x, y, width, kCellHeight, at(i).text);
    if (column > 0) {
      document.Line(x, y, x, y + kCellHeight, at(i - 1).group != at(i).group);
    }
    if (row > 0) document.Line(x, y, x + width, y, at(i - columns).group != at(i).group);
  }
  document.Outline(left, top, columns * width, count / columns * kCellHeight, true);
}

using CellOf = std::function<Cell(std::span<const int64_t>)>;

std::string GridPicture(const Grid& grid, size_t rank, std::string_view title,
                        std::string_view subtitle, const CellOf& cell) {
  SvgDocument document;
  int64_t top = document.Title(title, subtitle);
  if (grid.matrices * grid.rows * grid.columns == 0) return document.Finish();
  std::vector<std::vector<Cell>> matrices;
  size_t longest = 0;
  for (int64_t matrix = 0; matrix < grid.matrices; ++matrix) {
    std::vector<Cell>& cells = matrices.emplace_back();
    for (int64_t i = 0; i < grid.rows * grid.columns; ++i) {
      cells.push_back(cell(grid.Index(rank, matrix, i / grid.columns, i % grid.columns)));
      longest = std::max(longest, cells.back().text.size());
    }
  }
  const int64_t width = CellWidth(longest), left = kMargin + kLabelWidth;
  for (int64_t matrix = 0; matrix < grid.matrices; ++matrix) {
    if (!grid.leading.empty()) {
      document.Label(kMargin, top + 12, grid.Heading(matrix), SvgDocument::Anchor::kStart);
      top += kLabelHeight;
    }
    for (int64_t column = 0; column < grid.columns; ++column) {
      document.Label(left + column * width + width / 2, top + 13, fmt::format("{}", column));
    }
    top += kLabelHeight;
    for (int64_t row = 0; row < grid.rows; ++row) {
      document.Label(left - 8, top + row * kCellHeight + kCellHeight / 2 + 4,
                     fmt::format("{}", row), SvgDocument::Anchor::kEnd);
    }
    DrawCells(document, matrices[static_cast<size_t>(matrix)], grid.columns, width, left, top);
    top += grid.rows * kCellHeight + kMargin;
  }
  return document.Finish();
}

std::string Plural(int64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace

Result<std::string> RenderSvg(const RegLayout& layout, std::string_view title) {
  TARSIA_TRY(const Grid grid, GridOf(layout.shape()));
  std::string subtitle =
      fmt::format("shape {}, {} of {}; cells thread:slot", ToString(layout.shape()),
                  Plural(layout.threads(), "thread"), Plural(layout.slots(), "slot"));
  if (layout.replication() > 1) {
    subtitle += fmt::format(", each element in {} threads", layout.replication());
  }
  return GridPicture(
      grid, layout.shape().size(), title, subtitle, [&](std::span<const int64_t> index) {
        const Holder holder = layout.LocateFirst(index);
        return Cell{HoldersText(layout, index),
                    ThreadColour(holder.thread % kWarpThreads, layout.threads()), holder.thread};
      });
}

Result<std::string> RenderSvg(const MemLayout& layout, int bits, std::string_view title) {
  TARSIA_CHECK(CheckDrawnWidth(layout, bits));
  TARSIA_TRY(const Grid grid, GridOf(layout.shape()));
  const std::string subtitle = fmt::format("shape {}, elements of {}; cells are banks",
                                           ToString(layout.shape()), Plural(bits, "bit"));
  return GridPicture(grid, layout.shape().size(), title, subtitle,
                     [&](std::span<const int64_t> index) {
                       const int64_t bank = BankOf(layout, index, bits);
                       return Cell{fmt::format("{}", bank), ThreadColour(bank, kBanks), bank};
                     });
}

Result<std::string> RenderSvg(const BitLayout& layout, std::string_view title) {
  constexpr int64_t kWordBits = 32;
  if (layout.words() * kWordBits > kMaxDrawnElements) {
    return MakeDiagnostic(diag::kPictureTooLarge, {}, ToString(Extents{layout.words(), kWordBits}),
                          kMaxDrawnElements);
  }
  std::vector<Cell> cells;
  size_t longest = 0;
  bool complements = false;
  for (int64_t i = 0; i < layout.words() * kWordBits; ++i) {
    const int bit = static_cast<int>(kWordBits - 1 - i % kWordBits);
    const CodeBit code = layout.CodeAt(i / kWordBits, bit);
    Cell cell{"", "#d1d9e0", -1};
    if (code.slot >= 0) {
      const bool inverted = (layout.Complement(code.slot) >> code.bit & 1) != 0;
      complements = complements || inverted;
      cell = {fmt::format("{}{}.{}", inverted ? "~" : "", code.slot, code.bit),
              SvgColour(code.slot, code.slot / kSvgHues), code.slot};
    }
    longest = std::max(longest, cell.text.size());
    cells.push_back(std::move(cell));
  }
  SvgDocument document;
  const std::string subtitle =
      fmt::format("{} of {} in {}; cells slot.bit{}", Plural(layout.count(), "code"),
                  Plural(layout.bits(), "bit"), Plural(layout.words(), "word"),
                  complements ? ", ~ where the bit is complemented" : "");
  int64_t top = document.Title(title, subtitle);
  if (cells.empty()) return document.Finish();
  const int64_t left = kMargin + kLabelWidth + 16, width = CellWidth(longest);
  for (int64_t column = 0; column < kWordBits; ++column) {
    document.Label(left + column * width + width / 2, top + 13,
                   fmt::format("{}", kWordBits - 1 - column));
  }
  top += kLabelHeight;
  for (int64_t word = 0; word < layout.words(); ++word) {
    document.Label(left - 8, top + word * kCellHeight + kCellHeight / 2 + 4,
                   fmt::format("word {}", word), SvgDocument::Anchor::kEnd);
  }
  DrawCells(document, cells, kWordBits, width, left, top);
  return document.Finish();
}

namespace {

constexpr int64_t kLineBytes = int64_t{kBanks} * kBankBytes;
constexpr int64_t kBankWidth = 28;

// The lanes that begin at a byte, for every byte at which one does.
using LanesAt = std::map<uint64_t, std::vector<int64_t>>;

void DrawLanes(SvgDocument& document, const LanesAt& lanes, int bytes,
               const std::map<uint64_t, int64_t>& lines, int64_t left, int64_t top) {
  for (const auto& [address, who] : lanes) {
    const auto in_line = static_cast<int64_t>(address % kLineBytes);
    const int64_t x = left + in_line * kBankWidth / kBankBytes;
    const int64_t y = top + lines.at(address / kLineBytes) * kCellHeight;
    const int64_t width = bytes * kBankWidth / kBankBytes;
    document.Box(x, y, width, kCellHeight, ThreadColour(who[0], kWarpThreads));
    document.Outline(x, y, width, kCellHeight, true);
    std::string text = fmt::format("{}", who[0]);
    if (who.size() > 1) text += fmt::format("+{}", who.size() - 1);
    if (bytes > 1) {
      document.CellText(x, y, width, kCellHeight, text, bytes < kBankBytes || text.size() > 3);
    }
  }
}

// Below the memory: how many words each bank delivers, a line for each phase.
int64_t DrawLoads(SvgDocument& document, std::span<const uint64_t> addresses, int bytes,
                  int64_t left, int64_t top) {
  const size_t lanes = PhaseLanes(bytes);
  for (size_t first = 0; first < addresses.size(); first += lanes) {
    const auto phase = addresses.subspan(first, std::min(lanes, addresses.size() - first));
    const std::array<int64_t, kBanks> load = BankLoads(phase, bytes);
    document.Label(left - 8, top + 17, fmt::format("lanes {}-{}", first, first + phase.size() - 1),
                   SvgDocument::Anchor::kEnd);
    for (int64_t bank = 0; bank < kBanks; ++bank) {
      const int64_t words = load[static_cast<size_t>(bank)];
      const int64_t x = left + bank * kBankWidth;
      if (words == 0) {
        document.Ground(x, top, kBankWidth, kCellHeight);
        continue;
      }
      document.Box(x, top, kBankWidth, kCellHeight, LoadColour(words));
      document.Outline(x, top, kBankWidth, kCellHeight, false);
      document.CellText(x, top, kBankWidth, kCellHeight, fmt::format("{}", words));
    }
    const int64_t worst = *std::max_element(load.begin(), load.end());
    document.Label(left + kBanks * kBankWidth + 8, top + 17, Plural(worst, "wavefront"),
                   SvgDocument::Anchor::kStart);
    top += kCellHeight + 4;
  }
  return top;
}

}  // namespace

Result<std::string> RenderAccessSvg(const RegLayout& tile, const MemLayout& memory, int bits,
                                    int64_t unit, std::string_view title) {
  TARSIA_TRY(const TileAccess access, TileAccess::Make(tile, memory, bits));
  const int bytes = access.WidestVector();
  if (bytes == 0) return MakeDiagnostic(diag::kAccessNoBytes, {}, ToString(tile));
  if (unit < 0 || unit >= access.Units(bytes)) {
    return MakeDiagnostic(diag::kAccessUnit, {}, unit, access.Units(bytes));
  }
  const std::vector<uint64_t> addresses = access.WarpAddresses(0, unit, bytes);
  LanesAt lanes;
  std::map<uint64_t, int64_t> lines;  // number of a line of 128 bytes -> its place in the picture
  for (size_t lane = 0; lane < addresses.size(); ++lane) {
    lanes[addresses[lane]].push_back(static_cast<int64_t>(lane));
    lines[addresses[lane] / kLineBytes] = 0;
  }
  int64_t place = 0;
  for (auto& [line, at] : lines) at = place++;

  SvgDocument document;
  const int64_t left = kMargin + 92;
  int64_t top = document.Title(
      title,
      fmt::format("access {} of {}: {} of {} each, {}", unit, access.Units(bytes),
                  Plural(static_cast<int64_t>(addresses.size()), "lane"), Plural(bytes, "byte"),
                  Plural(access.Wavefronts(0, unit, bytes), "wavefront")));
  document.Label(left - 8, top + 13, "bank", SvgDocument::Anchor::kEnd);
  for (int64_t bank = 0; bank < kBanks; ++bank) {
    document.Label(left + bank * kBankWidth + kBankWidth / 2, top + 13, fmt::format("{}", bank));
  }
  top += kLabelHeight;
  for (const auto& [line, at] : lines) {
    const int64_t y = top + at * kCellHeight;
    document.Label(left - 8, y + 17, fmt::format("byte {}", line * kLineBytes),
                   SvgDocument::Anchor::kEnd);
    for (int64_t bank = 0; bank < kBanks; ++bank) {
      document.Ground(left + bank * kBankWidth, y, kBankWidth, kCellHeight);
    }
  }
  DrawLanes(document, lanes, bytes, lines, left, top);
  top += place * kCellHeight + kMargin;
  document.Label(left, top + 12, "words that each bank delivers in each phase",
                 SvgDocument::Anchor::kStart);
  DrawLoads(document, addresses, bytes, left, top + kLabelHeight);
  return document.Finish();
}

}  // namespace tarsia
