#include "support/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "support/markup.h"

namespace tarsia {
namespace {

constexpr int64_t kTitleHeight = 26;

constexpr const char* kStyle =
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

}  // namespace

std::string SvgHex(double hue, double saturation, double lightness) {
  const auto channel = [&](double n) {
    const double k = std::fmod(n + hue / 30, 12);
    const double a = saturation * std::min(lightness, 1 - lightness);
    const double value = lightness - a * std::max(-1.0, std::min({k - 3, 9 - k, 1.0}));
    return static_cast<int>(std::lround(value * 255));
  };
  return fmt::format("#{:02x}{:02x}{:02x}", channel(0), channel(8), channel(4));
}

// Eight hues that most people can tell apart, in an order that puts contrasts side by side.
constexpr std::array<double, kSvgHues> kHues = {212.0, 38.0, 140.0, 340.0,
                                                265.0, 62.0, 180.0, 15.0};
std::string SvgColour(int64_t hue, int64_t shade) {
  return SvgHex(kHues[static_cast<size_t>(hue) % kHues.size()], 0.72,
                0.90 - 0.065 * static_cast<double>(shade % kSvgShades));
}

int64_t SvgDocument::Title(std::string_view title, std::string_view subtitle) {
  int64_t y = kSvgMargin;
  if (!title.empty()) {
    Label(kSvgMargin, y + 12, title, Anchor::kStart, "t");
    y += kTitleHeight - 6;
  }
  if (!subtitle.empty()) {
    Label(kSvgMargin, y + 12, subtitle, Anchor::kStart);
    y += kTitleHeight;
  }
  return y;
}

void SvgDocument::Box(int64_t x, int64_t y, int64_t width, int64_t height, std::string_view fill) {
  boxes_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>\n", x, y,
                        width, height, fill);
  Reach(x + width, y + height);
}

void SvgDocument::Ground(int64_t x, int64_t y, int64_t width, int64_t height) {
  boxes_ += fmt::format("<rect class=\"m\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n", x, y,
                        width, height);
  Reach(x + width, y + height);
}

void SvgDocument::CellText(int64_t x, int64_t y, int64_t width, int64_t height,
                           std::string_view text, bool small) {
  texts_ += fmt::format("<text class=\"c{}\" x=\"{}\" y=\"{}\">{}</text>\n", small ? " s" : "",
                        x + width / 2, y + height / 2 + 4, EscapeMarkup(text));
}

void SvgDocument::Label(int64_t x, int64_t y, std::string_view text, Anchor anchor,
                        std::string_view kind) {
  const char* const side = anchor == Anchor::kMiddle ? "" : anchor == Anchor::kStart ? " a" : " e";
  texts_ += fmt::format("<text class=\"{}{}\" x=\"{}\" y=\"{}\">{}</text>\n", kind, side, x, y,
                        EscapeMarkup(text));
  if (anchor == Anchor::kStart) Reach(x + static_cast<int64_t>(text.size()) * 8, y + 4);
}

void SvgDocument::Line(int64_t x1, int64_t y1, int64_t x2, int64_t y2, bool strong) {
  (strong ? strong_ : faint_) += fmt::format("M{} {}L{} {}", x1, y1, x2, y2);
  Reach(std::max(x1, x2), std::max(y1, y2));
}

void SvgDocument::Outline(int64_t x, int64_t y, int64_t width, int64_t height, bool strong) {
  (strong ? strong_ : faint_) += fmt::format("M{} {}h{}v{}h{}Z", x, y, width, height, -width);
  Reach(x + width, y + height);
}

std::string SvgDocument::Finish() const {
  const int64_t width = width_ + kSvgMargin, height = height_ + kSvgMargin;
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
             "viewBox=\"0 0 {0} {1}\">\n",
             width, height) +
         kStyle + boxes_ + fmt::format("<path class=\"f\" d=\"{}\"/>\n", faint_) +
         fmt::format("<path class=\"b\" d=\"{}\"/>\n", strong_) + texts_ + "</svg>\n";
}

void SvgDocument::Reach(int64_t x, int64_t y) {
  width_ = std::max(width_, x);
  height_ = std::max(height_, y);
}

}  // namespace tarsia
