#include "tools/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace tarsia::tools {
namespace {

constexpr double kQuietSeconds = 0.5;

size_t TerminalWidth() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

std::string TimeLeft(double fraction, double seconds) {
  if (fraction <= 0) return "";
  const double left = seconds * (1 - fraction) / fraction;
  if (left < 90) return fmt::format(", {:.0f} s left", left);
  return fmt::format(", {:.0f} min left", left / 60);
}

}  // namespace

std::string ProgressLine(uint64_t done, uint64_t total, double seconds, std::string_view what,
                         size_t width) {
  constexpr size_t kMaxBar = 32;
  const double fraction =
      total == 0 ? 1 : std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  const std::string before = fmt::format("{:3.0f}%", 100 * fraction);
  const std::string after =
      fmt::format(" {} of {} {}{}", done, total, what, TimeLeft(fraction, seconds));
  const size_t taken = before.size() + 3 + after.size();
  if (width < taken + 4) return before.substr(0, width);
  const size_t bar = std::min(kMaxBar, width - taken);
  const auto filled = static_cast<size_t>(fraction * static_cast<double>(bar));
  return before + " [" + std::string(filled, '=') + std::string(bar - filled, ' ') + "]" + after;
}

bool ProgressBar::wanted() {
  static const bool terminal = isatty(STDERR_FILENO) == 1;
  return terminal;
}

void ProgressBar::Show(uint64_t done, uint64_t total) {
  if (!wanted()) return;
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start_;
  if (spent.count() < kQuietSeconds) return;
  std::string line = ProgressLine(done, total, spent.count(), what_, TerminalWidth() - 1);
  const size_t length = line.size();
  if (length < shown_) line.append(shown_ - length, ' ');
  shown_ = length;
  fmt::print(stderr, "\r{}", line);
  std::fflush(stderr);
}

void ProgressBar::Clear() {
  if (shown_ == 0) return;
  fmt::print(stderr, "\r{}\r", std::string(shown_, ' '));
  std::fflush(stderr);
  shown_ = 0;
}

}  // namespace tarsia::tools
