#include "layout/picture/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <vector>

#include "layout/access.h"
#include "layout/diagnostics.h"
#include "layout/picture/grid.h"
#include "layout/picture/render.h"
#include "support/markup.h"

namespace tarsia {
namespace {

constexpr int64_t kCellHeight = 26;
constexpr int64_t kMargin = 12;
constexpr int64_t kLabelWidth = 34;   // row numbers
constexpr int64_t kLabelHeight = 20;  // column numbers
constexpr int64_t kTitleHeight = 26;

// ---- colours --------------------------------------------------------------------------------

// A colour from hue (degrees), saturation and lightness (both 0 to 1).
std::string Hex(double hue, double saturation, double lightness) {
  const auto channel = [&](double n) {
    const double k = std::fmod(n + hue / 30, 12);
    const double a = saturation * std::min(lightness, 1 - lightness);
    const double value = lightness - a * std::max(-1.0, std::min({k - 3, 9 - k, 1.0}));
    return static_cast<int>(std::lround(value * 255));
  };
  return fmt::format("#{:02x}{:02x}{:02x}", channel(0), channel(8), channel(4));
}

// Eight hues that most people can tell apart, in an order that puts contrasts side by side.
constexpr std::array kHues = {212.0, 38.0, 140.0, 340.0, 265.0, 62.0, 180.0, 15.0};
constexpr int kShades = 4;

// One of 32 light colours on which dark letters are readable.
std::string Colour(int64_t hue, int64_t shade) {
  return Hex(kHues[static_cast<size_t>(hue) % kHues.size()], 0.72,
             0.90 - 0.065 * static_cast<double>(shade % kShades));
}

// Neighbours of a group of four share a hue, as the threads that hold a row of a fragment do; few
// threads have a hue each.
std::string ThreadColour(int64_t thread, int64_t threads) {
  if (threads <= static_cast<int64_t>(kHues.size())) return Colour(thread, 0);
  return Colour(thread / kShades, thread);
}

// A cool colour for one word, warmer the more words a bank delivers.
std::string LoadColour(int64_t load) {
  if (load == 1) return Hex(140, 0.45, 0.86);
  return Hex(28, 0.95, std::max(0.58, 0.82 - 0.03 * static_cast<double>(load)));
}

// ---- the document -----------------------------------------------------------------------------

// Collects shapes and keeps the picture large enough for them.
class Document {
 public:
  void Box(int64_t x, int64_t y, int64_t width, int64_t height, std::string_view fill) {
    boxes_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>\n", x,
                          y, width, height, fill);
    Reach(x + width, y + height);
  }
  // An area without content; it has the colour of the background.
  void Ground(int64_t x, int64_t y, int64_t width, int64_t height) {
    boxes_ += fmt::format("<rect class=\"m\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n", x,
                          y, width, height);
    Reach(x + width, y + height);
  }
  // Dark letters in a box, centred.
  void CellText(int64_t x, int64_t y, int64_t width, int64_t height, std::string_view text,
                bool small = false) {
    texts_ += fmt::format("<text class=\"c{}\" x=\"{}\" y=\"{}\">{}</text>\n", small ? " s" : "",
                          x + width / 2, y + height / 2 + 4, EscapeMarkup(text));
  }
  enum class Anchor { kMiddle, kStart, kEnd };
  void Label(int64_t x, int64_t y, std::string_view text, Anchor anchor = Anchor::kMiddle,
             std::string_view kind = "l") {
    const char* const side = anchor == Anchor::kMiddle  ? ""
                             : anchor == Anchor::kStart ? " a"
                                                        : " e";
    texts_ += fmt::format("<text class=\"{}{}\" x=\"{}\" y=\"{}\">{}</text>\n", kind, side, x, y,
                          EscapeMarkup(text));
    if (anchor == Anchor::kStart) Reach(x + static_cast<int64_t>(text.size()) * 8, y + 4);
  }
  void Line(int64_t x1, int64_t y1, int64_t x2, int64_t y2, bool strong) {
    (strong ? strong_ : faint_) += fmt::format("M{} {}L{} {}", x1, y1, x2, y2);
    Reach(std::max(x1, x2), std::max(y1, y2));
  }
  void Outline(int64_t x, int64_t y, int64_t width, int64_t height, bool strong) {
    (strong ? strong_ : faint_) += fmt::format("M{} {}h{}v{}h{}Z", x, y, width, height, -width);
    Reach(x + width, y + height);
  }

  [[nodiscard]] std::string Finish() const {
    const int64_t width = width_ + kMargin, height = height_ + kMargin;
    return fmt::format(
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
               "viewBox=\"0 0 {0} {1}\">\n",
               width, height) +
           kStyle + boxes_ + fmt::format("<path class=\"f\" d=\"{}\"/>\n", faint_) +
           fmt::format("<path class=\"b\" d=\"{}\"/>\n", strong_) + texts_ + "</svg>\n";
  }

 private:
  static constexpr const char* kStyle =
      "<style>\n"
      "text{font:12px ui-monospace,Menlo,Consolas,\"DejaVu Sans Mono\",monospace;"
      "text-anchor:middle}\n"
      ".a{text-anchor:start}.e{text-anchor:end}.s{font-size:9px}\n"
      ".c{fill:#1f2328}.l{fill:#59636e}.t{fill:#1f2328;font-weight:bold}\n"
      "path{fill:none;stroke-linecap:square}.f{stroke:#1f2328;stroke-opacity:.18}\n"
      ".b{stroke:#424a53;stroke-width:1.5}.m{fill:#f0f3f6;stroke:#8c959f;stroke-opacity:.3}\n"
      "@media (prefers-color-scheme:dark){.l{fill:#9da7b3}.t{fill:#e6edf3}"
      ".b{stroke:#0d1117;stroke-width:2}.f{stroke-opacity:.25}"
      ".m{fill:#161b22;stroke:#6e7681}}\n"
      "</style>\n";

  void Reach(int64_t x, int64_t y) {
    width_ = std::max(width_, x);
    height_ = std::max(height_, y);
  }

  std::string boxes_, faint_, strong_, texts_;
  int64_t width_ = 0;
  int64_t height_ = 0;
};

// Draws the title; returns the y position below it.
int64_t Title(Document& document, std::string_view title, std::string_view subtitle) {
  int64_t y = kMargin;
  if (!title.empty()) {
    document.Label(kMargin, y + 12, title, Document::Anchor::kStart, "t");
    y += kTitleHeight - 6;
  }
  if (!subtitle.empty()) {
    document.Label(kMargin, y + 12, subtitle, Document::Anchor::kStart);
    y += kTitleHeight;
  }
  return y;
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
void DrawCells(Document& document, const std::vector<Cell>& cells, int64_t columns, int64_t width,
               int64_t left, int64_t top) {
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
  Document document;
  int64_t top = Title(document, title, subtitle);
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
      document.Label(kMargin, top + 12, grid.Heading(matrix), Document::Anchor::kStart);
      top += kLabelHeight;
    }
    for (int64_t column = 0; column < grid.columns; ++column) {
      document.Label(left + column * width + width / 2, top + 13, fmt::format("{}", column));
    }
    top += kLabelHeight;
    for (int64_t row = 0; row < grid.rows; ++row) {
      document.Label(left - 8, top + row * kCellHeight + kCellHeight / 2 + 4,
                     fmt::format("{}", row), Document::Anchor::kEnd);
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
              Colour(code.slot, code.slot / static_cast<int64_t>(kHues.size())), code.slot};
    }
    longest = std::max(longest, cell.text.size());
    cells.push_back(std::move(cell));
  }
  Document document;
  const std::string subtitle =
      fmt::format("{} of {} in {}; cells slot.bit{}", Plural(layout.count(), "code"),
                  Plural(layout.bits(), "bit"), Plural(layout.words(), "word"),
                  complements ? ", ~ where the bit is complemented" : "");
  int64_t top = Title(document, title, subtitle);
  if (cells.empty()) return document.Finish();
  const int64_t left = kMargin + kLabelWidth + 16, width = CellWidth(longest);
  for (int64_t column = 0; column < kWordBits; ++column) {
    document.Label(left + column * width + width / 2, top + 13,
                   fmt::format("{}", kWordBits - 1 - column));
  }
  top += kLabelHeight;
  for (int64_t word = 0; word < layout.words(); ++word) {
    document.Label(left - 8, top + word * kCellHeight + kCellHeight / 2 + 4,
                   fmt::format("word {}", word), Document::Anchor::kEnd);
  }
  DrawCells(document, cells, kWordBits, width, left, top);
  return document.Finish();
}

namespace {

constexpr int64_t kLineBytes = int64_t{kBanks} * kBankBytes;
constexpr int64_t kBankWidth = 28;

// The lanes that begin at a byte, for every byte at which one does.
using LanesAt = std::map<uint64_t, std::vector<int64_t>>;

void DrawLanes(Document& document, const LanesAt& lanes, int bytes,
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
int64_t DrawLoads(Document& document, std::span<const uint64_t> addresses, int bytes, int64_t left,
                  int64_t top) {
  const size_t lanes = PhaseLanes(bytes);
  for (size_t first = 0; first < addresses.size(); first += lanes) {
    const auto phase = addresses.subspan(first, std::min(lanes, addresses.size() - first));
    const std::array<int64_t, kBanks> load = BankLoads(phase, bytes);
    document.Label(left - 8, top + 17, fmt::format("lanes {}-{}", first, first + phase.size() - 1),
                   Document::Anchor::kEnd);
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
                   Document::Anchor::kStart);
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

  Document document;
  const int64_t left = kMargin + 92;
  int64_t top = Title(
      document, title,
      fmt::format("access {} of {}: {} of {} each, {}", unit, access.Units(bytes),
                  Plural(static_cast<int64_t>(addresses.size()), "lane"), Plural(bytes, "byte"),
                  Plural(access.Wavefronts(0, unit, bytes), "wavefront")));
  document.Label(left - 8, top + 13, "bank", Document::Anchor::kEnd);
  for (int64_t bank = 0; bank < kBanks; ++bank) {
    document.Label(left + bank * kBankWidth + kBankWidth / 2, top + 13, fmt::format("{}", bank));
  }
  top += kLabelHeight;
  for (const auto& [line, at] : lines) {
    const int64_t y = top + at * kCellHeight;
    document.Label(left - 8, y + 17, fmt::format("byte {}", line * kLineBytes),
                   Document::Anchor::kEnd);
    for (int64_t bank = 0; bank < kBanks; ++bank) {
      document.Ground(left + bank * kBankWidth, y, kBankWidth, kCellHeight);
    }
  }
  DrawLanes(document, lanes, bytes, lines, left, top);
  top += place * kCellHeight + kMargin;
  document.Label(left, top + 12, "words that each bank delivers in each phase",
                 Document::Anchor::kStart);
  DrawLoads(document, addresses, bytes, left, top + kLabelHeight);
  return document.Finish();
}

}  // namespace tarsia
