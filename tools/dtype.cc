// tarsia dtype: describes a type, lists its codes, and converts values.
#include <fmt/format.h>

#include <bit>
#include <cerrno>
#include <cstdlib>

#include "dtypes/convert.h"
#include "runtime/files/file.h"
#include "tools/commands.h"
#include "tools/dtype_card.h"
#include "tools/handles.h"
#include "tools/modules.h"
#include "tools/output.h"

namespace tarsia::tools {
namespace {

struct DTypeRequest {
  std::string name;
  bool table = false;
  bool json = false;
  std::optional<std::string> encode;
  std::optional<std::string> decode;
  std::string rounding = "nearest";
  bool sat = false;
  bool nosat = false;
  bool wrap = false;
  uint32_t random = 0;
};

constexpr int kMaxTableBits = 16;

// ---- what there is -------------------------------------------------------------------------

int ListTypes(bool as_json) {
  Json json;
  json.Begin('[');
  for (const DTypeRow& row : AllDTypes()) {
    if (!as_json)
      PrintOut(fmt::format("{:<14} {:>2} bits  {}\n", row.name, row.type.bits, row.doc));
    json.Begin('{').Key("name").String(row.name).Key("code").Number(row.code);
    json.Key("bits").Number(row.type.bits).Key("doc").String(row.doc).End('}');
  }
  if (as_json) PrintOut(json.End(']').Take());
  return kDone;
}

// Prints the card: one line per fact.
void PrintCard(DType type, std::string_view doc) {
  std::string out = fmt::format("{}: {}\n", DTypeName(type), doc);
  for (const Fact& fact : FactsOf(type)) out += fmt::format("  {:<16}{}\n", fact.name, fact.text);
  PrintOut(out);
}

int Describe(tarsia_dtype dtype, DType type, bool as_json) {
  auto info = Sized<tarsia_dtype_info>();
  tarsia_dtype_get(dtype, &info);
  if (!as_json) {
    PrintCard(type, info.doc);
    return kDone;
  }
  Json json;
  json.Begin('{').Key("name").String(info.name).Key("code").Number(info.dtype);
  json.Key("bits").Number(info.bits).Key("exponent_bits").Number(info.exponent_bits);
  json.Key("mantissa_bits").Number(info.mantissa_bits).Key("bias").Number(info.bias);
  json.Key("has_infinity").Bool(info.has_infinity).Key("has_nan").Bool(info.has_nan);
  json.Key("doc").String(info.doc).Key("facts").Begin('{');
  for (const Fact& fact : FactsOf(type)) json.Key(fact.name).String(fact.text);
  PrintOut(json.End('}').End('}').Take());
  return kDone;
}

int PrintTable(const Command& command, DType type, bool as_json) {
  if (type.bits > kMaxTableBits) {
    return command.Misuse(
        fmt::format("--table: {} has 2^{} codes; types of at most {} bits have a "
                    "table",
                    DTypeName(type), type.bits, kMaxTableBits));
  }
  std::string out = as_json ? "[" : "";
  for (uint64_t code = 0; code <= CodeMask(type); ++code) {
    const std::string value = DecodeToString(type, code);
    if (as_json) {
      out += fmt::format("{}[{}, \"{}\"]", code == 0 ? "" : ", ", code, value);
    } else {
      out += fmt::format("{:5}  0x{:0{}X}  {:0{}b}  {}\n", code, code, (type.bits + 3) / 4, code,
                         static_cast<int>(type.bits), value);
    }
  }
  PrintOut(as_json ? out + "]\n" : out);
  return kDone;
}

// ---- conversion ----------------------------------------------------------------------------

// A whole line as an f64, decimal or hexadecimal, `inf` or `nan`.
bool ParseDouble(const std::string& line, double* out) {
  char* end = nullptr;
  if (line.empty() || line[0] == ' ' || line[0] == '\t') return false;
  *out = std::strtod(line.c_str(), &end);
  return end == line.c_str() + line.size();
}

bool ParseCode(const std::string& line, DType type, uint64_t* out) {
  char* end = nullptr;
  if (line.empty() || line[0] < '0' || line[0] > '9') return false;
  const bool hex = line.size() > 2 && (line[1] == 'x' || line[1] == 'X');
  errno = 0;
  *out = std::strtoull(line.c_str(), &end, hex ? 16 : 10);
  return errno == 0 && end == line.c_str() + line.size() && *out <= CodeMask(type);
}

// An integer that fits in 64 bits, in any notation. Not -0, which only floats have.
bool ParseWhole(const std::string& line, DType* type, uint64_t* code) {
  const bool negative = line[0] == '-';
  *type = negative ? kI64 : kU64;
  const auto parsed = ParseValue(*type, line);
  *code = parsed.value_or(0);
  return parsed && !(negative && *code == 0);
}

CastOptions OptionsOf(const DTypeRequest& request) {
  CastOptions options;
  if (request.rounding == "toward_zero") options.rounding = Rounding::kTowardZero;
  if (request.rounding == "stochastic") options.rounding = Rounding::kStochastic;
  if (request.sat) options.overflow = Overflow::kSaturate;
  if (request.nosat) options.overflow = Overflow::kNonSaturating;
  if (request.wrap) options.overflow = Overflow::kWrap;
  return options;
}

// The code of one line of input; empty if the line is not valid.
std::optional<uint64_t> EncodeLine(const DTypeRequest& request, DType type,
                                   const std::string& line) {
  double value = 0;
  if (!ParseDouble(line, &value)) return std::nullopt;
  DType from = kF64;
  uint64_t code = 0;
  if (!ParseWhole(line, &from, &code)) {
    from = kF64;
    code = std::bit_cast<uint64_t>(value);
  }
  return CastCode(from, code, type, OptionsOf(request), request.random);
}

std::optional<uint64_t> CodeOfLine(const DTypeRequest& request, DType type,
                                   const std::string& line) {
  if (request.encode) return EncodeLine(request, type, line);
  uint64_t code = 0;
  return ParseCode(line, type, &code) ? std::optional(code) : std::nullopt;
}

std::string ResultText(const DTypeRequest& request, DType type, uint64_t code) {
  if (request.json) return fmt::format("[{}, \"{}\"]", code, DecodeToString(type, code));
  return request.encode ? std::to_string(code) : DecodeToString(type, code);
}

int Convert(const DTypeRequest& request, DType type) {
  const bool encode = request.encode.has_value();
  const std::string path = encode ? *request.encode : *request.decode;
  const auto text = ReadFile(path);
  if (!text.ok()) {
    PrintError(text.error());
    return kRejected;
  }
  std::string out = request.json ? "[" : "";
  const std::string_view separator = request.json ? ", " : "\n";
  size_t number = 0;
  for (size_t at = 0; at < text->size(); ++number) {
    const size_t end = std::min(text->find('\n', at), text->size());
    const size_t length = end > at && (*text)[end - 1] == '\r' ? end - at - 1 : end - at;
    const std::string line = text->substr(at, length);
    const auto code = CodeOfLine(request, type, line);
    if (!code) {
      if (!request.json && number > 0) PrintOut(out + "\n");
      PrintError(fmt::format("{}:{}: `{}` is not a {} of {}", DisplayName(path), number + 1,
                             line.substr(0, 60), encode ? "number for a value" : "code",
                             request.name));
      return kRejected;
    }
    if (number > 0) out += separator;
    out += ResultText(request, type, *code);
    at = end + 1;
  }
  if (request.json) out += ']';
  if (!out.empty()) PrintOut(out + "\n");
  return kDone;
}

int CheckRequest(const Command& command, const DTypeRequest& request) {
  const int actions = (request.table ? 1 : 0) + (request.encode ? 1 : 0) + (request.decode ? 1 : 0);
  if (actions > 1) return command.Misuse("--table, --encode and --decode exclude each other");
  if ((request.sat ? 1 : 0) + (request.nosat ? 1 : 0) + (request.wrap ? 1 : 0) > 1) {
    return command.Misuse("--sat, --nosat and --wrap exclude each other");
  }
  return kDone;
}

}  // namespace

int ShowDType(const Args& args) {
  Command command(
      "dtype",
      "Shows a type or all its codes, or converts values. Without a name, lists all types.",
      {"tarsia dtype f4e2m1 --table", "tarsia dtype f8e4m3fn --table --json",
       "printf '1.5\\n0x1.8p3\\n' | tarsia dtype f6e3m2 --encode -",
       "printf '12\\n0x1F\\n' | tarsia dtype f6e3m2 --decode -"});
  DTypeRequest request;
  command.MaybePositional("NAME", &request.name, "The type");
  command.Flag("--table", &request.table, "Print every code and its exact value");
  command.Flag("--json", &request.json,
               "Print JSON; a table and conversions as [[code, \"value\"], ..]");
  command.Value(
      "--encode", "FILE", &request.encode,
      "Print the code of each value: one per line, decimal or hexadecimal; integers are exact, "
      "others are read as f64");
  command.Value("--decode", "FILE", &request.decode, "Print the value of each code");
  command.Choice("--rounding", &request.rounding, {"nearest", "toward_zero", "stochastic"},
                 "How to round; the default is nearest (ties to even)");
  command.Number("--random", "N", &request.random, "The random operand of stochastic rounding");
  command.Flag("--sat", &request.sat,
               "Turn values that are too large into the largest finite value");
  command.Flag("--nosat", &request.nosat,
               "Turn values that are too large into infinity or NaN, if the type has one");
  command.Flag("--wrap", &request.wrap, "Keep the low bits of integers that are too large");
  if (const auto code = command.Parse(args)) return *code;
  if (const int code = CheckRequest(command, request); code != kDone) return code;
  if (request.name.empty()) {
    if (request.table || request.encode || request.decode)
      return command.Misuse("NAME is required");
    return ListTypes(request.json);
  }
  tarsia_dtype dtype = TARSIA_DTYPE_NONE;
  const auto found = tarsia_dtype_find(request.name.c_str(), &dtype);
  if (found != TARSIA_STATUS_OK) {
    ReportFailure(found);
    return kRejected;
  }
  const DType type = *FindDType(request.name);
  if (request.table) return PrintTable(command, type, request.json);
  if (request.encode || request.decode) return Convert(request, type);
  return Describe(dtype, type, request.json);
}

}  // namespace tarsia::tools
