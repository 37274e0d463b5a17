#include "tools/emulate/args.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "dtypes/convert.h"
#include "runtime/files/npy.h"
#include "tools/command.h"
#include "tools/emulate/tensor_map.h"
#include "tools/output.h"

namespace tarsia::tools {

const EmulateArgs::MemoryForm EmulateArgs::kMemoryForms[] = {
    {"in", &EmulateArgs::MakeIn},     {"inout", &EmulateArgs::MakeInOut},
    {"out", &EmulateArgs::MakeOut},   {"zeros", &EmulateArgs::MakeZeros},
    {"room", &EmulateArgs::MakeRoom}, {"alias", &EmulateArgs::MakeAlias},
};

const EmulateArgs::ValueForm EmulateArgs::kValueForms[] = {
    {"bytes", &EmulateArgs::BindBytes},
    {"null", &EmulateArgs::BindNull},
    {"tmap", &EmulateArgs::BindTensorMap},
    {"struct", &EmulateArgs::BindStruct},
};

namespace {

constexpr char kFormsHelp[] =
    "an argument is TYPE:VALUE, bytes:HEX, null, in:FILE, inout:FILE, out:FILE:TYPE[SHAPE], "
    "zeros:BYTES, room:BYTES, alias:N+BYTES, tmap:FILE:box=N,M or struct:ARG;ARG";
constexpr uint64_t kMapAlign = 64;

int Environment(const Diagnostic& error) {
  PrintError(error);
  return kEnvironment;
}

std::optional<uint64_t> ParseCount(std::string_view text) {
  return ParseValue(*FindDType("u64"), text);
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

}  // namespace

// ---- what is wrong -----------------------------------------------------------------------------

int EmulateArgs::Misuse(const std::string& message, const std::string& help) const {
  PrintError(fmt::format("{}{}: {}", label_, spec_, message), help);
  return kUsage;
}

int EmulateArgs::Allocate(uint64_t bytes, Area* area) const {
  auto made = memory_->Allocate(bytes);
  if (!made.ok()) return Environment(made.error());
  area->address = *made;
  area->bytes = bytes;
  return kDone;
}

// ---- the parameter block -----------------------------------------------------------------------

int EmulateArgs::Put(std::span<const uint8_t> bytes, std::string_view what, uint64_t align) {
  uint64_t at = 0;
  if (members_) {
    at = members_->next ? *members_->next : (members_->end + align - 1) / align * align;
    if (bytes.size() > param_->bytes || at > param_->bytes - bytes.size()) {
      return Misuse(fmt::format("the parameter `{}` has {} bytes, and {} in it ends at {}",
                                param_->name, param_->bytes, what, at + bytes.size()));
    }
    members_->end = at + bytes.size();
    members_->align = std::max(members_->align, align);
  } else if (bytes.size() != param_->bytes) {
    return Misuse(fmt::format("the parameter `{}` has {} bytes, {} has {}", param_->name,
                              param_->bytes, what, bytes.size()));
  }
  std::ranges::copy(bytes, block_.begin() + static_cast<std::ptrdiff_t>(param_->offset + at));
  return kDone;
}

int EmulateArgs::PutPointer(uint64_t address) {
  uint8_t bytes[8];
  std::memcpy(bytes, &address, sizeof bytes);
  return Put(bytes, "a pointer", sizeof bytes);
}

int EmulateArgs::PutArea(const Area& area) {
  std::optional<Area>& place = members_ ? bound_.back().members.back() : bound_.back().area;
  place = area;
  return PutPointer(area.address);
}

int EmulateArgs::BindScalar(DType type, const std::string& text) {
  const auto code = ParseValue(type, text);
  if (!code) return Misuse(fmt::format("`{}` is not a value of type {}", text, DTypeName(type)));
  if (type.bits % 8 != 0 || type.bits > 64) {
    return Misuse(fmt::format("{} has {} bits, and a parameter whole bytes", DTypeName(type),
                              int{type.bits}));
  }
  uint8_t bytes[8];
  std::memcpy(bytes, &*code, sizeof bytes);
  return Put(std::span(bytes, type.bits / 8U), DTypeName(type), type.bits / 8U);
}

int EmulateArgs::BindBytes(const std::string& hex) {
  std::vector<uint8_t> bytes;
  bool good = hex.size() % 2 == 0;
  for (size_t i = 0; good && i < hex.size(); i += 2) {
    const int high = HexDigit(hex[i]);
    const int low = HexDigit(hex[i + 1]);
    good = high >= 0 && low >= 0;
    bytes.push_back(static_cast<uint8_t>(high * 16 + low));
  }
  if (!good) return Misuse("bytes are pairs of hexadecimal digits");
  return Put(bytes, "the argument", 1);
}

int EmulateArgs::BindNull(const std::string& rest) {
  if (!rest.empty()) return Misuse("null takes no value");
  return PutPointer(0);
}

// ---- memory ------------------------------------------------------------------------------------

int EmulateArgs::Upload(const std::string& path, InputTensor* tensor, Area* area) {
  if (const int code = ReadInput(path, tensor); code != kDone) return code;
  if (const int code = Allocate(tensor->info.bytes, area); code != kDone) return code;
  area->tensor = tensor->info;
  const Status copied = memory_->CopyIn(area->address, tensor->data.bytes());
  return copied.ok() ? kDone : Environment(copied.error());
}

int EmulateArgs::MakeIn(const std::string& path, Area* area) {
  InputTensor tensor;
  return Upload(path, &tensor, area);
}

int EmulateArgs::MakeInOut(const std::string& rest, Area* area) {
  const size_t colon = rest.rfind(':');
  const std::string from = rest.substr(0, colon);
  InputTensor tensor;
  if (const int code = Upload(from, &tensor, area); code != kDone) return code;
  if (!tensor.npy) return Misuse("only a .npy file can be written again");
  outputs_.push_back({label_ + spec_, colon == std::string::npos ? from : rest.substr(colon + 1),
                      tensor.info.type_name, tensor.info.shape, area->address, area->bytes});
  return kDone;
}

namespace {

// A tensor of a type and shape in memory.
std::optional<TensorInfo> TensorOf(DType type, const std::vector<int64_t>& shape) {
  const auto bytes = DenseBytes(type, shape);
  if (!bytes) return std::nullopt;
  TensorInfo tensor;
  tensor.type_name = DTypeName(type);
  tensor.type = type;
  tensor.item_bytes = type.bits / 8U;
  tensor.shape = shape;
  tensor.bytes = *bytes;
  return tensor;
}

}  // namespace

int EmulateArgs::MakeOut(const std::string& rest, Area* area) {
  OutputSpec spec;
  if (const int code = ParseOutputSpec(rest, &spec); code != kDone) return code;
  if (!spec.type) return Misuse("say type and shape, as in out:c.npy:f32[16,16]");
  area->tensor = TensorOf(*spec.type, spec.shape);
  if (!area->tensor) return Misuse("the shape is too large");
  if (const int code = Allocate(area->tensor->bytes, area); code != kDone) return code;
  Output output{label_ + spec_, spec.path,     NpyTypeName(*spec.type),
                spec.shape,     area->address, area->bytes};
  if (output.type_name.empty() && spec.type->bits % 8 == 0) {
    output.type_name = fmt::format("|V{}", spec.type->bits / 8);
  } else if (output.type_name.empty()) {
    output.type_name = "|u1";
    output.shape = {static_cast<int64_t>(area->bytes)};
  }
  outputs_.push_back(output);
  return kDone;
}

int EmulateArgs::MakeRoom(const std::string& text, Area* area) {
  const auto count = ParseCount(text);
  if (!count) return Misuse(fmt::format("`{}` is not a number of bytes", text));
  return Allocate(*count, area);
}

int EmulateArgs::MakeZeros(const std::string& text, Area* area) {
  if (const int code = MakeRoom(text, area); code != kDone) return code;
  const Status filled = memory_->Fill(area->address, 0, 1, area->bytes);
  return filled.ok() ? kDone : Environment(filled.error());
}

// ---- the memory of another argument ------------------------------------------------------------

// "2", or "2.0" for the first member of a struct.
int EmulateArgs::FindArgument(std::string_view number, const Area** area) const {
  const size_t dot = std::min(number.find('.'), number.size());
  const auto n = ParseCount(number.substr(0, dot));
  const auto m =
      dot == number.size() ? std::optional<uint64_t>(0) : ParseCount(number.substr(dot + 1));
  if (!n || !m) return Misuse(fmt::format("`{}` is not an argument number", number));
  if (*n >= bound_.size() || (*n + 1 == bound_.size() && !members_)) {
    return Misuse(fmt::format("argument {} does not come before this one", *n),
                  "they are numbered from 0, through all launches");
  }
  const Bound& bound = bound_[*n];
  if (dot == number.size() && !bound.members.empty()) {
    return Misuse(fmt::format("argument {} is a struct", *n),
                  fmt::format("alias:{}.0 is the memory of its first member", *n));
  }
  if (dot != number.size() && *m >= bound.members.size()) {
    return Misuse(fmt::format("argument {} has no member {}", *n, *m), "they are numbered from 0");
  }
  const std::optional<Area>& found = dot == number.size() ? bound.area : bound.members[*m];
  if (!found) return Misuse(fmt::format("argument {} has no memory", number));
  *area = &*found;
  return kDone;
}

// N or N+BYTES.
int EmulateArgs::MakeAlias(const std::string& rest, Area* area) {
  const size_t plus = std::min(rest.find('+'), rest.size());
  const Area* found = nullptr;
  if (const int code = FindArgument(rest.substr(0, plus), &found); code != kDone) return code;
  *area = *found;
  if (plus == rest.size()) return kDone;
  const auto offset = ParseCount(std::string_view(rest).substr(plus + 1));
  if (!offset) return Misuse(fmt::format("`{}` is not a number of bytes", rest.substr(plus + 1)));
  if (*offset > area->bytes) {
    return Misuse(fmt::format("argument {} has {} bytes", rest.substr(0, plus), area->bytes));
  }
  area->address += *offset;
  area->bytes -= *offset;
  if (*offset != 0) area->tensor.reset();
  return kDone;
}

// ---- tensor maps -------------------------------------------------------------------------------

// The memory of a tensor map: FILE, in:FILE, inout:FILE, out:FILE:TYPE[SHAPE],
// alias:N[+BYTES][:TYPE[SHAPE]].
int EmulateArgs::FindTensor(const std::string& text, Area* area) {
  const size_t colon = std::min(text.find(':'), text.size());
  const auto* form = std::ranges::find(kMemoryForms, text.substr(0, colon), &MemoryForm::name);
  if (form == std::end(kMemoryForms)) return MakeIn(text, area);
  std::string rest = text.substr(std::min(colon + 1, text.size()));
  if (form->name != "alias") return (this->*form->make)(rest, area);
  OutputSpec spec;
  if (const int code = ParseOutputSpec(rest, &spec); code != kDone) return code;
  if (const int code = MakeAlias(spec.path, area); code != kDone) return code;
  if (!spec.type) return kDone;
  area->tensor = TensorOf(*spec.type, spec.shape);
  if (!area->tensor || area->tensor->bytes > area->bytes) {
    return Misuse(
        fmt::format("the tensor is larger than the {} bytes that are there", area->bytes));
  }
  return kDone;
}

int EmulateArgs::BindTensorMap(const std::string& rest) {
  TensorMapSpec map;
  if (!ParseTensorMap(rest, &map)) {
    return Misuse("this is not of the form tmap:FILE:box=64,64:swizzle=128");
  }
  Area area;
  if (const int code = FindTensor(map.memory, &area); code != kDone) return code;
  if (!area.tensor) {
    return Misuse("say type and shape of the memory, as in tmap:alias:0:f16[64,64]:box=64,64");
  }
  std::vector<uint8_t> bytes;
  std::string error;
  if (!EncodeTensorMap(map, *area.tensor, area.address, &bytes, &error)) return Misuse(error);
  (members_ ? bound_.back().members.back() : bound_.back().area) = area;
  return Put(bytes, "a tensor map", kMapAlign);
}

// ---- structs -----------------------------------------------------------------------------------

// ARG or @OFFSET=ARG.
int EmulateArgs::BindMember(std::string text) {
  bound_.back().members.emplace_back();
  members_->next.reset();
  const size_t equals = text.find('=');
  if (text.starts_with('@') && equals != std::string::npos) {
    members_->next = ParseCount(std::string_view(text).substr(1, equals - 1));
    if (!members_->next)
      return Misuse(fmt::format("`{}` is not an offset", text.substr(1, equals - 1)));
    members_->placed = true;
    text.erase(0, equals + 1);
  }
  if (text.starts_with("struct:")) return Misuse("a member of a struct cannot be a struct");
  return BindOne(text);
}

int EmulateArgs::BindStruct(const std::string& rest) {
  members_ = Members();
  int code = kDone;
  for (size_t at = 0; code == kDone && at <= rest.size();) {
    const size_t end = std::min(rest.find(';', at), rest.size());
    code = BindMember(rest.substr(at, end - at));
    at = end + 1;
  }
  const Members members = *members_;
  members_.reset();
  if (code != kDone) return code;
  const uint64_t whole = (members.end + members.align - 1) / members.align * members.align;
  if (whole == param_->bytes || members.placed) return kDone;
  return Misuse(fmt::format("the parameter `{}` has {} bytes, the struct has {}", param_->name,
                            param_->bytes, whole));
}

// ---- all of them -------------------------------------------------------------------------------

int EmulateArgs::BindOne(const std::string& spec) {
  const size_t colon = spec.find(':');
  const std::string name = spec.substr(0, colon);
  const std::string rest = colon == std::string::npos ? "" : spec.substr(colon + 1);
  const auto* value = std::ranges::find(kValueForms, name, &ValueForm::name);
  const auto* memory = std::ranges::find(kMemoryForms, name, &MemoryForm::name);
  const bool is_form = value != std::end(kValueForms) || memory != std::end(kMemoryForms);
  if (is_form && rest.empty() && name != "null") {
    return Misuse("there is nothing after the colon", kFormsHelp);
  }
  if (value != std::end(kValueForms)) return (this->*value->bind)(rest);
  if (memory != std::end(kMemoryForms)) {
    Area area;
    const int code = (this->*memory->make)(rest, &area);
    return code == kDone ? PutArea(area) : code;
  }
  const auto type = FindDType(name);
  if (type && colon != std::string::npos) return BindScalar(*type, rest);
  return Misuse("this is not an argument", kFormsHelp);
}

int EmulateArgs::Bind(const ptx::Function& entry, const std::vector<std::string>& specs,
                      const std::string& label) {
  label_ = label;
  block_.assign(entry.param_bytes, 0);
  if (specs.size() != entry.params.size()) {
    std::string names;
    for (const ptx::Param& param : entry.params) {
      names += fmt::format("{}{} ({} bytes)", names.empty() ? "" : ", ", param.name, param.bytes);
    }
    PrintError(
        fmt::format("`{}` has {} parameters, and there are {} {}", entry.name, entry.params.size(),
                    specs.size(), label == "--arg " ? "--arg" : "in " + label),
        names.empty() ? "" : "they are " + names);
    return kUsage;
  }
  for (size_t i = 0; i < specs.size(); ++i) {
    param_ = &entry.params[i];
    spec_ = specs[i];
    bound_.emplace_back();
    if (const int code = BindOne(spec_); code != kDone) return code;
  }
  return kDone;
}

bool EmulateArgs::TakesStdout() const {
  return std::ranges::any_of(outputs_, [](const Output& output) { return output.path == "-"; });
}

int EmulateArgs::WriteOutputs() const {
  for (const Output& output : outputs_) {
    std::vector<uint8_t> bytes(output.bytes);
    const Status copied = memory_->CopyOut(output.address, bytes);
    if (!copied.ok()) return Environment(copied.error());
    const auto defined = memory_->IsDefined(output.address, output.bytes);
    if (defined.ok() && !*defined) {
      PrintWarning(fmt::format("{}: the kernel did not write all of it", output.argument));
    }
    const Status written = WriteNpy(output.path, output.type_name, output.shape, bytes);
    if (!written.ok()) return Environment(written.error());
  }
  return kDone;
}

}  // namespace tarsia::tools
