// Bytecode to module; see isa/bytecode/format.h and docs/bytecode.md.
//
// The reader accepts exactly what the writer writes, and only what text can express: the rules of
// the parser (names, scopes, the kinds of arguments, limits) also apply here. The validator checks
// the rest, as it does for text.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>

#include "isa/bytecode/bytecode.h"
#include "isa/bytecode/cursor.h"
#include "isa/bytecode/expr_reader.h"
#include "isa/bytecode/format.h"
#include "isa/bytecode/graph_reader.h"
#include "isa/bytecode/graph_writer.h"
#include "isa/bytecode/kernel_reader.h"

namespace tarsia {
namespace bytecode {

bool Cursor::SlowLeb(uint64_t& out, uint64_t most) {
  uint64_t value = 0;
  for (unsigned shift = 0;; shift += 7) {
    uint8_t byte = 0;
    if (!U8(byte)) return false;
    const uint64_t bits = byte & 0x7F;
    const bool fits = shift < 64 && bits << shift >> shift == bits;
    if (!fits || (byte == 0 && shift != 0)) return Fail(diag::kBytecodeInteger);
    value |= bits << shift;
    if (byte < 0x80) break;
  }
  if (value > most) return Fail(diag::kBytecodeInteger);
  out = value;
  return true;
}

}  // namespace bytecode

namespace {

using namespace bytecode;  // NOLINT: the format's numbers are what this file is about

class Reader {
 public:
  Reader(std::span<const uint8_t> bytes, std::string name)
      : bytes_(bytes), in_(bytes.data(), bytes, "the header") {
    module_.source_name = std::move(name);
  }

  Result<Module> Read() {
    if (!ReadFile()) return *in_.error();
    return std::move(module_);
  }

 private:
  // ---- the file ----------------------------------------------------------------------------

  bool ReadFile() {
    if (bytes_.size() > kMaxBytes) {
      return in_.Fail(diag::kBytecodeTooLong, bytes_.size(), +kMaxBytes);
    }
    if (!ReadHeader() || !ReadSections() || !exprs_.CheckAllUsed()) return false;
    const BytecodeVersion lowest = std::max(kernels_.lowest(), graphs_.lowest());
    return version_ == lowest || in_.Fail(diag::kBytecodeOlder, version_.major, version_.minor,
                                          lowest.major, lowest.minor);
  }

  bool ReadHeader() {
    const size_t shared = std::min(bytes_.size(), kMagic.size());
    if (!std::equal(kMagic.begin(), kMagic.begin() + static_cast<std::ptrdiff_t>(shared),
                    bytes_.begin(),
                    [](char a, uint8_t b) { return static_cast<uint8_t>(a) == b; })) {
      return in_.Fail(diag::kBytecodeMagic);
    }
    std::string_view magic;
    uint32_t zero = 0;
    uint64_t length = 0;
    uint64_t checksum = 0;
    if (!in_.Bytes(kMagic.size(), magic) || !in_.Fixed(version_.major) ||
        !in_.Fixed(version_.minor)) {
      return false;
    }
    if (version_ > kBytecodeVersion) {
      return in_.Fail(diag::kBytecodeNewer, version_.major, version_.minor, +kBytecodeVersion.major,
                      +kBytecodeVersion.minor);
    }
    if (!in_.Fixed(zero) || !in_.Fixed(length) || !in_.Fixed(checksum)) return false;
    if (zero != 0) return in_.Fail(diag::kBytecodeForm, "padding is not zero");
    if (length != bytes_.size()) {
      return in_.Fail(diag::kBytecodeLength, length, bytes_.size());
    }
    const auto rest = bytes_.subspan(kHeaderBytes);
    const uint64_t actual = XXH3_64bits(rest.data(), rest.size());
    return checksum == actual || in_.Fail(diag::kBytecodeChecksum, checksum, actual);
  }

  bool ReadSections() {
    in_.Within("the sections");
    uint32_t known = 0;  // the number of known sections before
    uint32_t last = 0;   // the place of the last one
    while (in_.left() != 0) {
      uint32_t id = 0;
      uint32_t flags = 0;
      uint64_t length = 0;
      if (!in_.Fixed(id) || !in_.Fixed(flags) || !in_.Fixed(length)) return false;
      const uint32_t alignment = flags >> kAlignmentShift & 0xFF;
      if (alignment < kMinAlignment || alignment > kMaxAlignment) {
        return in_.Fail(diag::kBytecodeSection, id, "its alignment is not from 8 to 4096 bytes");
      }
      if (!in_.Padding(size_t{1} << alignment)) return false;
      if (length > in_.left()) {
        return in_.Fail(diag::kBytecodeSection, id, "it is longer than the file");
      }
      const uint8_t* const file_end = in_.Limit(static_cast<size_t>(length));
      if (const uint32_t place = PlaceOf(id); place != 0) {
        const bool after_kernels = last == PlaceOf(kKernels) && place == PlaceOf(kDebug);
        if (place != last + 1 && !after_kernels) {
          return in_.Fail(diag::kBytecodeSection, id, "it is not in its place");
        }
        if (flags != (id == kDebug ? kPlainFlags | kSkippable : kPlainFlags)) {
          return in_.Fail(diag::kBytecodeSection, id, "its flags are wrong");
        }
        last = place;
        ++known;
        if (!ReadKnown(id)) return false;
      } else if (!ReadOpaque(id, flags, known)) {
        return false;
      }
      in_.Unlimit(file_end);
      in_.Within("the sections");
      if (!in_.Padding(8)) return false;
    }
    return last >= PlaceOf(kKernels) ||
           in_.Fail(diag::kBytecodeSection, known + 1, "it is missing");
  }

  // The place of a known section among them, from 1; 0 for other sections.
  static constexpr uint32_t PlaceOf(uint32_t id) {
    constexpr uint32_t kOrder[] = {kStrings, kTypes, kKernels, kGraphs, kDebug};
    for (uint32_t i = 0; i < std::size(kOrder); ++i) {
      if (kOrder[i] == id) return i + 1;
    }
    return 0;
  }

  // Of the ids that have a place.
  bool ReadKnown(uint32_t id) {
    static constexpr std::string_view kNames[] = {
        "", "the strings", "the types", "the kernels", "the debug locations", "", "the graphs"};
    in_.Within(kNames[id]);
    switch (id) {
      case kStrings:
        return exprs_.ReadStrings() && in_.AtEnd(kNames[id]);
      case kTypes:
        return exprs_.ReadTypes() && in_.AtEnd(kNames[id]);
      case kKernels:
        return kernels_.Read() && in_.AtEnd(kNames[id]);
      case kGraphs:
        return graphs_.Read() && in_.AtEnd(kNames[id]);
      default:
        return ReadDebug() && in_.AtEnd(kNames[id]);
    }
  }

  bool ReadOpaque(uint32_t id, uint32_t flags, uint32_t known) {
    if (id == 0 || (flags & kSkippable) == 0) {
      return in_.Fail(diag::kBytecodeSection, id, "it is not known, and cannot be skipped");
    }
    std::string_view bytes;
    if (!in_.Bytes(in_.left(), bytes)) return false;
    module_.opaque.push_back({id, flags, std::string(bytes), known});
    return true;
  }

  // ---- debug locations ---------------------------------------------------------------------

  bool ReadDebug() {
    uint32_t size = 0;
    std::string_view name;
    if (!in_.U32(size) || !in_.Bytes(size, name)) return false;
    module_.source_name = name;
    bool any = false;
    int64_t line = 0;
    for (Kernel& kernel : module_.kernels) {
      uint8_t instructions = 0;
      if (!in_.U8(instructions)) return false;
      if (instructions > 1) return in_.Fail(diag::kBytecodeForm, "a flag is neither 0 nor 1");
      if (!HeaderLocations(kernel, line, any)) return false;
      if (instructions == 0) continue;
      bool here = false;
      for (Location& location : kernel.locations) {
        if (!ReadLocation(location, line, here)) return false;
      }
      if (!here) return in_.Fail(diag::kBytecodeForm, "no instruction has a location");
      any = true;
    }
    for (Graph& graph : module_.graphs) {
      bool ok = true;
      ForEachLocation(graph, [&](Location& at) { ok = ok && ReadLocation(at, line, any); });
      if (!ok) return false;
    }
    return any || in_.Fail(diag::kBytecodeForm, "the debug section has no location");
  }

  bool HeaderLocations(Kernel& kernel, int64_t& line, bool& any) {
    for (Location* const at : {&kernel.location, &kernel.grid_location, &kernel.warps_location}) {
      if (!ReadLocation(*at, line, any)) return false;
    }
    if (!kernel.registers.none() && !ReadLocation(kernel.registers_location, line, any)) {
      return false;
    }
    return LocationsOf(kernel.params, line, any) && LocationsOf(kernel.constants, line, any) &&
           LocationsOf(kernel.requires_, line, any) && LocationsOf(kernel.assumes, line, any);
  }

  template <typename Items>
  bool LocationsOf(Items& items, int64_t& line, bool& any) {
    for (auto& item : items) {
      if (!ReadLocation(item.location, line, any)) return false;
    }
    return true;
  }

  // Does not change the location (the byte offset) if there is none.
  bool ReadLocation(Location& location, int64_t& line, bool& any) {
    uint64_t delta = 0;
    if (!in_.U64(delta)) return false;
    if (delta == 0) return true;
    constexpr uint64_t kMost = uint64_t{1} << 33;
    if (delta > kMost) return in_.Fail(diag::kBytecodeForm, "a line number is out of range");
    line += UnZigZag(delta - 1);
    if (line < 1 || line > UINT32_MAX) {
      return in_.Fail(diag::kBytecodeForm, "a line number is out of range");
    }
    location.line = static_cast<uint32_t>(line);
    any = true;
    return in_.U32(location.column) && in_.U32(location.length);
  }

  std::span<const uint8_t> bytes_;
  Cursor in_;
  BytecodeVersion version_;
  Module module_;
  ExprReader exprs_{&in_, &module_};
  KernelReader kernels_{&in_, &module_, &exprs_};
  GraphReader graphs_{&in_, &module_, &exprs_};
};

}  // namespace

Result<Module> Decode(std::span<const uint8_t> bytes, std::string name) {
  return Reader(bytes, std::move(name)).Read();
}

}  // namespace tarsia
