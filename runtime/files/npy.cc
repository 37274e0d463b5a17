#include "runtime/files/npy.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "runtime/diagnostics.h"

namespace tarsia {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

struct NpyType {
  std::string_view name;  // without the byte order
  DType type;
};
constexpr NpyType kNpyTypes[] = {
    {"f2", kF16},      {"f4", kF32}, {"f8", kF64}, {"i1", kI8},  {"i2", kI16},
    {"i4", kI32},      {"i8", kI64}, {"u1", kU8},  {"u2", kU16}, {"u4", kU32},
    {"b1", kBoolType}, {"u8", kU64}, {"c8", kC64},
};

Diagnostic BadHeader(std::string_view why) {
  return MakeDiagnostic(diag::kNpyHeader, Location(), why);
}

// Reads the Python literal of the header; accepts only what NumPy writes.
class HeaderScanner {
 public:
  explicit HeaderScanner(std::string_view text) : text_(text) {}

  Status Scan(TensorInfo* out, std::string* descr, bool* fortran) {
    if (!Take('{')) return BadHeader("no `{`");
    unsigned seen = 0;
    while (!Take('}')) {
      std::string key;
      if (!TakeString(&key)) return BadHeader("a key is not a string");
      if (!Take(':')) return BadHeader("no `:` after a key");
      unsigned bit = 0;
      if (key == "descr") {
        bit = 1;
        if (!TakeString(descr))
          return BadHeader("`descr` is not a string (structured types are not read)");
      } else if (key == "fortran_order") {
        bit = 2;
        if (!TakeBool(fortran)) return BadHeader("`fortran_order` is neither True nor False");
      } else if (key == "shape") {
        bit = 4;
        TARSIA_CHECK(TakeShape(&out->shape));
      } else {
        return BadHeader("an unknown key");
      }
      if ((seen & bit) != 0) return BadHeader("a key stands twice");
      seen |= bit;
      if (!Take(',') && Peek() != '}') return BadHeader("no `,` after a value");
    }
    if (seen != 7) return BadHeader("`descr`, `fortran_order` or `shape` is missing");
    SkipBlanks();
    return at_ == text_.size() ? OkStatus() : BadHeader("unexpected text after `}`");
  }

 private:
  void SkipBlanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  char Peek() {
    SkipBlanks();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool Take(char c) {
    if (Peek() != c || at_ >= text_.size()) return false;
    ++at_;
    return true;
  }
  bool TakeString(std::string* out) {
    const char quote = Peek();
    if (quote != '\'' && quote != '"') return false;
    const size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) return false;
    *out = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return out->find('\\') == std::string::npos && out->size() <= 64;
  }
  bool TakeWord(std::string_view word) {
    SkipBlanks();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  bool TakeBool(bool* out) {
    *out = TakeWord("True");
    return *out || TakeWord("False");
  }
  bool TakeExtent(int64_t* out) {
    const char first = Peek();
    if (first < '0' || first > '9') return false;
    int64_t value = 0;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
      if (__builtin_mul_overflow(value, 10, &value) ||
          __builtin_add_overflow(value, text_[at_] - '0', &value)) {
        return false;
      }
      ++at_;
    }
    TakeWord("L");  // Python 2
    *out = value;
    return true;
  }
  Status TakeShape(std::vector<int64_t>* out) {
    if (!Take('(')) return BadHeader("`shape` is not a tuple");
    while (!Take(')')) {
      int64_t extent = 0;
      if (!TakeExtent(&extent))
        return BadHeader("an extent of `shape` is not a number of at most 63 bits");
      if (out->size() == kMaxTensorRank) return BadHeader("more than 64 dimensions");
      out->push_back(extent);
      const bool comma = Take(',');
      if (!comma && (Peek() != ')' || out->size() == 1)) {
        return BadHeader("`shape` is not a tuple");
      }
    }
    return OkStatus();
  }

  std::string_view text_;
  size_t at_ = 0;
};

// Sets type and item_bytes from `descr`.
Status FindType(const std::string& descr, TensorInfo* out) {
  out->type_name = descr;
  const auto unknown = [&] { return MakeDiagnostic(diag::kNpyType, Location(), descr); };
  if (descr.size() < 3) return unknown();
  const char order = descr[0];
  const std::string_view name = std::string_view(descr).substr(1);
  if (order != '<' && order != '|' && order != '=' && order != '>') return unknown();
  if (name[0] == 'V') {
    const std::string_view digits = name.substr(1);
    const bool small = digits.size() <= 2 && digits[0] >= '1' && digits[0] <= '9';
    const int bytes = !small               ? 0
                      : digits.size() == 1 ? digits[0] - '0'
                      : digits[1] >= '0' && digits[1] <= '9'
                          ? (digits[0] - '0') * 10 + (digits[1] - '0')
                          : 0;
    if (bytes < 1 || bytes > 16) return unknown();
    out->item_bytes = static_cast<uint64_t>(bytes);
    return OkStatus();
  }
  for (const NpyType& row : kNpyTypes) {
    if (row.name != name) continue;
    if (order == '>' && row.type.bits > 8) {
      return MakeDiagnostic(diag::kNpyByteOrder, Location(), descr);
    }
    out->type = row.type;
    out->item_bytes = row.type.bits / 8;
    return OkStatus();
  }
  return unknown();
}

}  // namespace

Result<TensorInfo> ParseNpyHeader(std::span<const uint8_t> head, uint64_t file_bytes) {
  const std::string_view bytes(reinterpret_cast<const char*>(head.data()), head.size());
  if (bytes.substr(0, kMagic.size()) != kMagic) return MakeDiagnostic(diag::kNpyMagic, Location());
  if (bytes.size() < 10) return MakeDiagnostic(diag::kNpyTruncated, Location());
  const int major = head[6];
  const int minor = head[7];
  if (major < 1 || major > 3 || minor != 0) {
    return MakeDiagnostic(diag::kNpyVersion, Location(), major, minor);
  }
  const size_t prefix = major == 1 ? 10 : 12;
  if (bytes.size() < prefix) return MakeDiagnostic(diag::kNpyTruncated, Location());
  uint64_t length = head[8] | static_cast<uint64_t>(head[9]) << 8;
  if (major > 1) {
    length |= static_cast<uint64_t>(head[10]) << 16 | static_cast<uint64_t>(head[11]) << 24;
  }
  if (length > kNpyMaxHeader - prefix) return BadHeader("it is longer than 65536 bytes");
  if (bytes.size() - prefix < length) return MakeDiagnostic(diag::kNpyTruncated, Location());

  TensorInfo out;
  std::string descr;
  bool fortran = false;
  HeaderScanner scanner(bytes.substr(prefix, static_cast<size_t>(length)));
  TARSIA_CHECK(scanner.Scan(&out, &descr, &fortran));
  TARSIA_CHECK(FindType(descr, &out));
  const auto large =
      std::count_if(out.shape.begin(), out.shape.end(), [](int64_t n) { return n > 1; });
  if (fortran && large > 1) return MakeDiagnostic(diag::kNpyFortran, Location());
  TARSIA_CHECK(CountBytes(&out));
  out.offset = prefix + length;
  const uint64_t rest = file_bytes - std::min(file_bytes, out.offset);
  if (rest != out.bytes) {
    return MakeDiagnostic(diag::kNpySize, Location(), ShapeText(out.shape), descr, out.bytes, rest);
  }
  return out;
}

Result<TensorInfo> ReadNpyHeader(const InputFile& file) {
  std::vector<uint8_t> head(static_cast<size_t>(std::min<uint64_t>(file.size(), kNpyMaxHeader)));
  TARSIA_CHECK(file.Read(0, head));
  return ParseNpyHeader(head, file.size());
}

std::string NpyTypeName(DType type) {
  for (const NpyType& row : kNpyTypes) {
    if (row.type == type) return (type.bits == 8 ? "|" : "<") + std::string(row.name);
  }
  return "";
}

std::string NpyHeader(const std::string& type_name, std::span<const int64_t> shape) {
  std::string tuple = "(";
  for (const int64_t extent : shape) tuple += std::to_string(extent) + ", ";
  if (shape.size() == 1) tuple.pop_back();
  if (shape.size() > 1) tuple.resize(tuple.size() - 2);
  tuple += ")";
  std::string header =
      "{'descr': '" + type_name + "', 'fortran_order': False, 'shape': " + tuple + ", }";
  constexpr size_t kPrefix = 10;  // a shape of kMaxTensorRank extents fits version 1.0
  const size_t length = (kPrefix + header.size() + 1 + 63) / 64 * 64 - kPrefix;
  header.resize(length - 1, ' ');
  header += '\n';
  std::string out(kMagic);
  out += {'\x01', '\x00', static_cast<char>(length & 0xFF), static_cast<char>(length >> 8)};
  return out + header;
}

Status WriteNpy(const std::string& path, const std::string& type_name,
                std::span<const int64_t> shape, std::span<const uint8_t> data) {
  TARSIA_TRY(OutputFile file, OutputFile::Create(path));
  TARSIA_CHECK(file.Write(NpyHeader(type_name, shape)));
  TARSIA_CHECK(file.Write(data));
  return file.Commit();
}

}  // namespace tarsia
