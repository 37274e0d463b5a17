#include "ptx/exec/builtins.h"

#include <cstdio>

#include "ptx/machine/block.h"

namespace tarsia::ptx {
namespace {

constexpr uint64_t kMaxString = 4096;

// The n-th argument of a call, which lies in the caller's frame.
template <typename T>
T Argument(Warp& warp, const CallSite& site, size_t n, int lane) {
  T value{};
  const Place place = warp.memory().local().At(lane, warp.frame().local_base + site.arguments[n]);
  std::memcpy(&value, place.data, sizeof value);
  return value;
}

// Whether the lanes' arguments are written; reports those that are not.
uint32_t DefinedArguments(Warp& warp, const Inst& inst, const CallSite& site,
                          std::string_view what) {
  uint32_t good = 0;
  ForLanes(warp.mask(), [&](int lane) {
    uint64_t defined = 0;
    const Place place = warp.memory().local().At(lane, warp.frame().local_base + site.arguments[0]);
    std::memcpy(&defined, place.defined, sizeof defined);
    if (defined == UINT64_MAX) {
      good |= uint32_t{1} << lane;
    } else {
      warp.Report(inst, FindingKind::kUninitialised, lane, fmt::format("{} is undefined", what));
    }
  });
  return good;
}

std::string ReadString(Warp& warp, const Inst& inst, int lane, uint64_t address) {
  std::string text;
  Place place;
  while (text.size() < kMaxString &&
         warp.memory().Find(inst, Space::kGeneric, lane, address + text.size(), 1, Access::kRead,
                            &place) &&
         *place.data != 0) {
    text += static_cast<char>(*place.data);
  }
  return text;
}

// Takes the arguments of a format one after the other, each at a multiple of its size.
class Arguments {
 public:
  Arguments(Warp* warp, const Inst* inst, int lane, uint64_t address)
      : warp_(warp), inst_(inst), lane_(lane), address_(address) {}

  uint64_t Next(uint32_t bytes) {
    address_ = (address_ + bytes - 1) / bytes * bytes;
    uint64_t value = 0;
    Place place;
    if (warp_->memory().Find(*inst_, Space::kGeneric, lane_, address_, bytes, Access::kRead,
                             &place)) {
      std::memcpy(&value, place.data, bytes);
    }
    address_ += bytes;
    return value;
  }

 private:
  Warp* warp_;
  const Inst* inst_;
  int lane_;
  uint64_t address_;
};

// One conversion, as "%-8.3f": flags, width and precision go to the C library as they are.
struct Conversion {
  std::string flags;  // with the '%', without length and letter
  bool wide = false;
  char letter = '\0';
};

Conversion ParseConversion(const std::string& format, size_t* at) {
  Conversion out;
  out.flags = "%";
  for (++*at; *at < format.size(); ++*at) {
    const char c = format[*at];
    if (std::string_view("-+ #0123456789.").find(c) != std::string_view::npos) {
      if (out.flags.size() < 16) out.flags += c;
    } else if (c == 'l' || c == 'j' || c == 'z' || c == 't') {
      out.wide = true;
    } else if (c != 'h') {
      out.letter = c;
      ++*at;
      return out;
    }
  }
  return out;
}

template <typename T>
std::string Print(const std::string& format, T value) {
  char buffer[512];
  const int length = std::snprintf(buffer, sizeof buffer, format.c_str(), value);
  if (length < 0) return "";
  return {buffer, std::min(static_cast<size_t>(length), sizeof buffer - 1)};
}

std::string FormatText(Warp& warp, const Inst& inst, int lane, const std::string& format,
                       Arguments arguments) {
  std::string out;
  for (size_t at = 0; at < format.size();) {
    if (format[at] != '%') {
      out += format[at++];
      continue;
    }
    const Conversion c = ParseConversion(format, &at);
    switch (c.letter) {
      case '%':
        out += '%';
        break;
      case 'd':
      case 'i': {
        const uint64_t bits = arguments.Next(c.wide ? 8 : 4);
        const auto value = c.wide ? static_cast<long long>(bits) : static_cast<int32_t>(bits);
        out += Print(c.flags + "lld", value);
        break;
      }
      case 'u':
      case 'o':
      case 'x':
      case 'X':
        out += Print(c.flags + "ll" + c.letter,
                     static_cast<unsigned long long>(arguments.Next(c.wide ? 8 : 4)));
        break;
      case 'c':
        out += static_cast<char>(arguments.Next(4));
        break;
      case 'p':
        out += fmt::format("0x{:x}", arguments.Next(8));
        break;
      case 's':
        out += Print(c.flags + "s", ReadString(warp, inst, lane, arguments.Next(8)).c_str());
        break;
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
      case 'a':
      case 'A':
        out += Print(c.flags + c.letter, std::bit_cast<double>(arguments.Next(8)));
        break;
      default:  // characters, not a kind of ours: shown as they are
        out += c.flags;
        break;
    }
  }
  return out;
}

}  // namespace

Step Vprintf(Warp& warp, const Inst& inst, const CallSite& site) {
  std::string text;
  ForLanes(warp.mask(), [&](int lane) {
    const auto format = Argument<uint64_t>(warp, site, 0, lane);
    const auto list = Argument<uint64_t>(warp, site, 1, lane);
    text += FormatText(warp, inst, lane, ReadString(warp, inst, lane, format),
                       Arguments(&warp, &inst, lane, list));
    const Place result = warp.memory().local().At(lane, warp.frame().local_base + site.results[0]);
    std::memset(result.data, 0, 4);
    std::memset(result.defined, 0xFF, 4);
  });
  const std::lock_guard lock(warp.launch().output_mutex);
  warp.launch().output += text;
  return Step::kNext;
}

Step AssertFail(Warp& warp, const Inst& inst, const CallSite& site) {
  const int lane = std::countr_zero(warp.mask());
  const auto string = [&](size_t n) {
    return ReadString(warp, inst, lane, Argument<uint64_t>(warp, site, n, lane));
  };
  warp.Report(inst, FindingKind::kTrap, lane,
              fmt::format("{}:{}: {}: assertion `{}` failed", string(1),
                          Argument<uint32_t>(warp, site, 2, lane), string(3), string(0)));
  warp.launch().stop.store(true);
  return Step::kMoved;
}

Step Malloc(Warp& warp, const Inst& inst, const CallSite& site) {
  Heap& heap = *warp.launch().image->memory().heap();
  const uint32_t good = DefinedArguments(warp, inst, site, "the size that malloc gets");
  ForLanes(warp.mask(), [&](int lane) {
    const bool asks = (good >> lane & 1) != 0;
    const uint64_t address = asks ? heap.Allocate(Argument<uint64_t>(warp, site, 0, lane)) : 0;
    const Place result = warp.memory().local().At(lane, warp.frame().local_base + site.results[0]);
    std::memcpy(result.data, &address, sizeof address);
    std::memset(result.defined, 0xFF, sizeof address);
  });
  return Step::kNext;
}

// To free is to write all of the block: who still reads it must have come before.
Step Free(Warp& warp, const Inst& inst, const CallSite& site) {
  Heap& heap = *warp.launch().image->memory().heap();
  const uint32_t good = DefinedArguments(warp, inst, site, "the address that free gets");
  ForLanes(good, [&](int lane) {
    const auto address = Argument<uint64_t>(warp, site, 0, lane);
    if (address == 0) return;
    MemoryRange block;
    if (warp.checking() && heap.Find(address, &block) && block.address == address) {
      warp.races().NoteAccess(inst, warp.races().AccessorOf(inst, lane), lane, Space::kGlobal,
                              address, static_cast<uint32_t>(block.bytes), Access::kAtomic);
    }
    if (heap.Free(address)) return;
    warp.Report(inst, FindingKind::kOutOfBounds, lane,
                fmt::format("frees 0x{:x}, which malloc did not give: {}", address,
                            warp.launch().image->memory().Describe(address)));
  });
  return Step::kNext;
}

}  // namespace tarsia::ptx
