// A progress bar on standard error. It is shown only on a terminal and only after a moment, and is
// erased at the end.
#ifndef TARSIA_TOOLS_PROGRESS_H_
#define TARSIA_TOOLS_PROGRESS_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace tarsia::tools {

// `  37% [=====>         ] 1234 of 3333 blocks, 12 s left`, at most `width` characters long.
std::string ProgressLine(uint64_t done, uint64_t total, double seconds, std::string_view what,
                         size_t width);

// Used by one thread at a time.
class ProgressBar {
 public:
  // `what` is the unit: "blocks". The text must outlive the bar.
  explicit ProgressBar(std::string_view what) : what_(what) {}
  ~ProgressBar() { Clear(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // Whether it would be visible.
  [[nodiscard]] static bool wanted();
  void Show(uint64_t done, uint64_t total);
  void Clear();

 private:
  const std::string_view what_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  size_t shown_ = 0;  // characters on the line
};

}  // namespace tarsia::tools

#endif  // TARSIA_TOOLS_PROGRESS_H_
