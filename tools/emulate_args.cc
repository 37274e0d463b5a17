#include "tools/emulate_args.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "dtypes/convert.h"
#include "runtime/npy.h"
#include "tools/command.h"
#include "tools/emulate_tensor_map.h"
#include "tools/output.h"

namespace tarsia::tools {

const EmulateArgs::Form EmulateArgs::kForms[] = {
    {"bytes", &EmulateArgs::BindBytes}, {"null", &EmulateArgs::BindNull},
    {"in", &EmulateArgs::BindIn},       {"inout", &EmulateArgs::BindInOut},
    {"out", &EmulateArgs::BindOut},     {"zeros", &EmulateArgs::BindZeros},
    {"room", &EmulateArgs::BindRoom},   {"tmap", &EmulateArgs::BindTensorMap},
};

namespace {

constexpr char kFormsHelp[] =
    "an argument is TYPE:VALUE, bytes:HEX, null, in:FILE, inout:FILE, out:FILE:TYPE[SHAPE], "
    "zeros:BYTES, room:BYTES or tmap:FILE:box=N,M";

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
  PrintError(fmt::format("--arg {}: {}", spec_, message), help);
  return kUsage;
}

int EmulateArgs::Allocate(uint64_t bytes, uint64_t* address) const {
  auto made = memory_->Allocate(bytes);
  if (!made.ok()) return Environment(made.error());
  *address = *made;
  return kDone;
}

// ---- the parameter block -----------------------------------------------------------------------

int EmulateArgs::Put(std::span<const uint8_t> bytes, std::string_view what) {
  if (bytes.size() != param_->bytes) {
    return Misuse(fmt::format("the parameter `{}` has {} bytes, {} has {}", param_->name,
                              param_->bytes, what, bytes.size()));
  }
  std::ranges::copy(bytes, block_.begin() + static_cast<std::ptrdiff_t>(param_->offset));
  return kDone;
}

int EmulateArgs::PutPointer(uint64_t address) {
  uint8_t bytes[8];
  std::memcpy(bytes, &address, sizeof bytes);
  return Put(bytes, "a pointer");
}

int EmulateArgs::BindScalar(DType type, const std::string& text) {
  const auto code = ParseValue(type, text);
  if (!code) return Misuse(fmt::format("`{}` is no value of {}", text, DTypeName(type)));
  if (type.bits % 8 != 0 || type.bits > 64) {
    return Misuse(fmt::format("{} has {} bits, and a parameter whole bytes", DTypeName(type),
                              int{type.bits}));
  }
  uint8_t bytes[8];
  std::memcpy(bytes, &*code, sizeof bytes);
  return Put(std::span(bytes, type.bits / 8U), DTypeName(type));
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
  return Put(bytes, "the argument");
}

int EmulateArgs::BindNull(const std::string& rest) {
  if (!rest.empty()) return Misuse("null takes no value");
  return PutPointer(0);
}

// ---- memory ------------------------------------------------------------------------------------

int EmulateArgs::Upload(const std::string& path, InputTensor* tensor, uint64_t* address) {
  if (const int code = ReadInput(path, tensor); code != kDone) return code;
  if (const int code = Allocate(tensor->info.bytes, address); code != kDone) return code;
  const Status copied = memory_->CopyIn(*address, tensor->data.bytes());
  return copied.ok() ? kDone : Environment(copied.error());
}

int EmulateArgs::BindIn(const std::string& path) {
  InputTensor tensor;
  uint64_t address = 0;
  const int code = Upload(path, &tensor, &address);
  return code == kDone ? PutPointer(address) : code;
}

int EmulateArgs::BindInOut(const std::string& rest) {
  const size_t colon = rest.rfind(':');
  const std::string from = rest.substr(0, colon);
  InputTensor tensor;
  Output output;
  if (const int code = Upload(from, &tensor, &output.address); code != kDone) return code;
  if (!tensor.npy) return Misuse("only a .npy file can be written again");
  output.argument = spec_;
  output.path = colon == std::string::npos ? from : rest.substr(colon + 1);
  output.type_name = tensor.info.type_name;
  output.shape = tensor.info.shape;
  output.bytes = tensor.info.bytes;
  outputs_.push_back(output);
  return PutPointer(output.address);
}

int EmulateArgs::BindOut(const std::string& rest) {
  OutputSpec spec;
  if (const int code = ParseOutputSpec(rest, &spec); code != kDone) return code;
  if (!spec.type) return Misuse("say type and shape, as in out:c.npy:f32[16,16]");
  const auto bytes = DenseBytes(*spec.type, spec.shape);
  if (!bytes) return Misuse("the shape is too large");
  Output output{spec_, spec.path, NpyTypeName(*spec.type), spec.shape, 0, *bytes};
  if (output.type_name.empty() && spec.type->bits % 8 == 0) {
    output.type_name = fmt::format("|V{}", spec.type->bits / 8);
  } else if (output.type_name.empty()) {
    output.type_name = "|u1";
    output.shape = {static_cast<int64_t>(*bytes)};
  }
  if (const int code = Allocate(*bytes, &output.address); code != kDone) return code;
  outputs_.push_back(output);
  return PutPointer(output.address);
}

int EmulateArgs::AllocateText(const std::string& text, uint64_t* address, uint64_t* bytes) const {
  const auto count = ParseCount(text);
  if (!count) return Misuse(fmt::format("`{}` is no number of bytes", text));
  *bytes = *count;
  return Allocate(*count, address);
}

int EmulateArgs::BindRoom(const std::string& bytes) {
  uint64_t address = 0;
  uint64_t count = 0;
  const int code = AllocateText(bytes, &address, &count);
  return code == kDone ? PutPointer(address) : code;
}

int EmulateArgs::BindZeros(const std::string& bytes) {
  uint64_t address = 0;
  uint64_t count = 0;
  if (const int code = AllocateText(bytes, &address, &count); code != kDone) return code;
  const Status filled = memory_->Fill(address, 0, 1, count);
  return filled.ok() ? PutPointer(address) : Environment(filled.error());
}

int EmulateArgs::BindTensorMap(const std::string& rest) {
  TensorMapSpec map;
  if (!ParseTensorMap(rest, &map)) {
    return Misuse("this is not of the form tmap:FILE:box=64,64:swizzle=128");
  }
  InputTensor tensor;
  uint64_t address = 0;
  if (const int code = Upload(map.path, &tensor, &address); code != kDone) return code;
  std::vector<uint8_t> bytes;
  std::string error;
  if (!EncodeTensorMap(map, tensor.info, address, &bytes, &error)) return Misuse(error);
  return Put(bytes, "a tensor map");
}

// ---- all of them -------------------------------------------------------------------------------

int EmulateArgs::BindOne(const std::string& spec) {
  const size_t colon = spec.find(':');
  const std::string name = spec.substr(0, colon);
  const std::string rest = colon == std::string::npos ? "" : spec.substr(colon + 1);
  const auto* form = std::ranges::find(kForms, name, &Form::name);
  if (form != std::end(kForms)) {
    if (rest.empty() && name != "null")
      return Misuse("there is nothing behind the colon", kFormsHelp);
    return (this->*form->bind)(rest);
  }
  const auto type = FindDType(name);
  if (type && colon != std::string::npos) return BindScalar(*type, rest);
  return Misuse("this is no argument", kFormsHelp);
}

int EmulateArgs::Bind(const ptx::Function& entry, const std::vector<std::string>& specs,
                      ptx::Memory* memory) {
  memory_ = memory;
  block_.assign(entry.param_bytes, 0);
  if (specs.size() != entry.params.size()) {
    std::string names;
    for (const ptx::Param& param : entry.params) {
      names += fmt::format("{}{} ({} bytes)", names.empty() ? "" : ", ", param.name, param.bytes);
    }
    PrintError(fmt::format("`{}` has {} parameters, and there are {} --arg", entry.name,
                           entry.params.size(), specs.size()),
               names.empty() ? "" : "they are " + names);
    return kUsage;
  }
  for (size_t i = 0; i < specs.size(); ++i) {
    param_ = &entry.params[i];
    spec_ = specs[i];
    if (const int code = BindOne(spec_); code != kDone) return code;
  }
  return kDone;
}

bool EmulateArgs::TakesStdout() const {
  return std::ranges::any_of(outputs_, [](const Output& output) { return output.path == "-"; });
}

int EmulateArgs::WriteOutputs(const ptx::Memory& memory) const {
  for (const Output& output : outputs_) {
    std::vector<uint8_t> bytes(output.bytes);
    const Status copied = memory.CopyOut(output.address, bytes);
    if (!copied.ok()) return Environment(copied.error());
    const auto defined = memory.IsDefined(output.address, output.bytes);
    if (defined.ok() && !*defined) {
      PrintWarning(fmt::format("--arg {}: the kernel did not write all of it", output.argument));
    }
    const Status written = WriteNpy(output.path, output.type_name, output.shape, bytes);
    if (!written.ok()) return Environment(written.error());
  }
  return kDone;
}

}  // namespace tarsia::tools
