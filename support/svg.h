// Pictures as SVG, readable on a light and on a dark background: boxes are light with dark letters
// on both, and everything else follows `prefers-color-scheme`. Lengths are pixels, y grows
// downwards.
#ifndef TARSIA_SUPPORT_SVG_H_
#define TARSIA_SUPPORT_SVG_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace tarsia {

inline constexpr int64_t kSvgMargin = 12;
inline constexpr int kSvgHues = 8;
inline constexpr int kSvgShades = 4;

// A colour from hue (degrees), saturation and lightness (both 0 to 1).
std::string SvgHex(double hue, double saturation, double lightness);
// One of 32 light colours on which dark letters are readable. Hues repeat, and so do shades.
std::string SvgColour(int64_t hue, int64_t shade);

// Collects shapes and keeps the picture large enough for them.
class SvgDocument {
 public:
  // Writes a title and a line below it, each unless it is empty; returns the y position below.
  int64_t Title(std::string_view title, std::string_view subtitle);
  void Box(int64_t x, int64_t y, int64_t width, int64_t height, std::string_view fill);
  // An area without content; it has the colour of the background.
  void Ground(int64_t x, int64_t y, int64_t width, int64_t height);
  // Dark letters in a box, centred.
  void CellText(int64_t x, int64_t y, int64_t width, int64_t height, std::string_view text,
                bool small = false);
  enum class Anchor : uint8_t { kMiddle, kStart, kEnd };
  void Label(int64_t x, int64_t y, std::string_view text, Anchor anchor = Anchor::kMiddle,
             std::string_view kind = "l");
  void Line(int64_t x1, int64_t y1, int64_t x2, int64_t y2, bool strong);
  void Outline(int64_t x, int64_t y, int64_t width, int64_t height, bool strong);
  [[nodiscard]] std::string Finish() const;

 private:
  void Reach(int64_t x, int64_t y);

  std::string boxes_, faint_, strong_, texts_;
  int64_t width_ = 0;
  int64_t height_ = 0;
};

}  // namespace tarsia

#endif  // TARSIA_SUPPORT_SVG_H_
