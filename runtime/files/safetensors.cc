#include "runtime/files/safetensors.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/diagnostics.h"
#include "support/printable.h"

namespace tarsia {
namespace {

struct SafetensorsType {
  std::string_view name;
  DType type;
};
constexpr SafetensorsType kSafetensorsTypes[] = {
    {"F16", kF16},       {"BF16", kBF16}, {"F32", kF32},          {"F64", kF64},
    {"I8", kI8},         {"I16", kI16},   {"I32", kI32},          {"I64", kI64},
    {"U8", kU8},         {"U16", kU16},   {"U32", kU32},          {"U64", kU64},
    {"BOOL", kBoolType}, {"C64", kC64},   {"F8_E4M3", kF8E4M3FN}, {"F8_E5M2", kF8E5M2},
    {"F8_E8M0", kE8M0},
};

// Handles the JSON event by event and builds only the list of tensors: neither depth nor repetition
// of the input costs memory. Every handler returns false to stop.
class HeaderHandler final : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::vector<NamedTensor> tensors;
  std::string error;

  bool start_object(std::size_t /*elements*/) override {
    if (state_ == State::kStart) return Go(State::kTop);
    if (state_ == State::kMetadataValue) return Go(State::kMetadata);
    if (state_ != State::kTensor) return Bad("an object where none belongs");
    seen_ = 0;
    return Go(State::kFields);
  }
  bool key(string_t& name) override {
    if (state_ == State::kTop) {
      if (name == "__metadata__") {
        if (had_metadata_) return Bad("`__metadata__` stands twice");
        had_metadata_ = true;
        return Go(State::kMetadataValue);
      }
      tensors.push_back({name, {}});
      return Go(State::kTensor);
    }
    if (state_ == State::kMetadata) return true;
    if (name == "dtype") return Field(1, State::kDType);
    if (name == "shape") return Field(2, State::kShapeStart);
    if (name == "data_offsets") return Field(4, State::kOffsetsStart);
    return BadTensor("an unknown key");
  }
  bool end_object() override {
    if (state_ == State::kTop) return Go(State::kEnd);
    if (state_ == State::kMetadata) return Go(State::kTop);
    if (seen_ != 7) return BadTensor("`dtype`, `shape` or `data_offsets` is missing");
    return Go(State::kTop);
  }
  bool start_array(std::size_t /*elements*/) override {
    if (state_ == State::kShapeStart) return Go(State::kShape);
    if (state_ != State::kOffsetsStart) return Bad("an array where none belongs");
    offsets_ = 0;
    return Go(State::kOffsets);
  }
  bool end_array() override {
    if (state_ == State::kOffsets && offsets_ != 2) {
      return BadTensor("`data_offsets` needs two numbers");
    }
    return Go(State::kFields);
  }
  bool string(string_t& text) override {
    if (state_ == State::kMetadata) return true;
    if (state_ != State::kDType) return Bad("a text where none belongs");
    TensorInfo& tensor = tensors.back().tensor;
    tensor.type_name = text.substr(0, 32);
    for (const SafetensorsType& row : kSafetensorsTypes) {
      if (row.name != text) continue;
      tensor.type = row.type;
      tensor.item_bytes = row.type.bits / 8;
      return Go(State::kFields);
    }
    return Go(State::kFields);  // newer than this list: its other tensors can be read
  }
  bool number_unsigned(number_unsigned_t value) override {
    TensorInfo& tensor = tensors.empty() ? spare_ : tensors.back().tensor;
    if (state_ == State::kShape) {
      if (tensor.shape.size() == kMaxTensorRank) return BadTensor("more than 64 dimensions");
      if (value > static_cast<uint64_t>(INT64_MAX)) return BadTensor("an extent beyond 2^63");
      tensor.shape.push_back(static_cast<int64_t>(value));
      return true;
    }
    if (state_ != State::kOffsets) return Bad("a number where none belongs");
    if (offsets_ == 2) return BadTensor("`data_offsets` needs two numbers");
    ++offsets_;
    if (offsets_ == 1) {
      tensor.offset = value;
      return true;
    }
    if (value < tensor.offset) return BadTensor("its data ends before it begins");
    tensor.bytes = value - tensor.offset;
    return true;
  }
  bool null() override { return Bad("null belongs nowhere"); }
  bool boolean(bool /*value*/) override { return Bad("a boolean belongs nowhere"); }
  bool number_integer(number_integer_t /*value*/) override {
    return Bad("a negative number belongs nowhere");
  }
  bool number_float(number_float_t /*value*/, const string_t& /*text*/) override {
    return Bad("a fraction belongs nowhere");
  }
  bool binary(binary_t& /*value*/) override { return Bad("binary data belongs nowhere"); }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    if (error.empty()) {
      position_ = position;
      error = "this is not JSON";
    }
    return false;
  }
  [[nodiscard]] size_t position() const { return position_; }

 private:
  enum class State : uint8_t {
    kStart,
    kTop,
    kMetadataValue,
    kMetadata,
    kTensor,
    kFields,
    kDType,
    kShapeStart,
    kShape,
    kOffsetsStart,
    kOffsets,
    kEnd
  };
  bool Go(State next) {
    state_ = next;
    return true;
  }
  bool Field(unsigned bit, State next) {
    if ((seen_ & bit) != 0) return BadTensor("a key stands twice");
    seen_ |= bit;
    return Go(next);
  }
  bool Bad(std::string why) {
    error = std::move(why);
    return false;
  }
  bool BadTensor(const std::string& why) {
    return Bad("tensor `" + PrintableStart(tensors.back().name, 100) + "`: " + why);
  }

  State state_ = State::kStart;
  unsigned seen_ = 0;
  int offsets_ = 0;
  bool had_metadata_ = false;
  size_t position_ = 0;
  TensorInfo spare_;
};

Diagnostic BadTensor(std::string_view name, std::string_view why) {
  return MakeDiagnostic(diag::kSafetensorsTensor, Location(), PrintableStart(name, 100), why);
}

// Data of a tensor must have the size that its shape says, within the file.
Status CheckTensor(const NamedTensor& named, uint64_t data_bytes) {
  TensorInfo counted = named.tensor;
  TARSIA_CHECK(CountBytes(&counted));
  if (named.tensor.offset > data_bytes || named.tensor.bytes > data_bytes - named.tensor.offset) {
    return BadTensor(named.name, "its data lies beyond the end of the file");
  }
  if (named.tensor.type && counted.bytes != named.tensor.bytes) {
    return BadTensor(named.name, ShapeText(named.tensor.shape) + " of " + named.tensor.type_name +
                                     " is " + std::to_string(counted.bytes) +
                                     " bytes, but its offsets span " +
                                     std::to_string(named.tensor.bytes));
  }
  return OkStatus();
}

Status CheckCoverage(const std::vector<NamedTensor>& tensors, uint64_t data_bytes) {
  std::vector<std::pair<uint64_t, uint64_t>> spans;
  for (const NamedTensor& named : tensors) {
    if (named.tensor.bytes != 0) {
      spans.emplace_back(named.tensor.offset, named.tensor.offset + named.tensor.bytes);
    }
  }
  std::sort(spans.begin(), spans.end());
  uint64_t at = 0;
  for (const auto& [begin, end] : spans) {
    if (begin != at) {
      const std::string why = (begin < at ? "two share byte " + std::to_string(begin)
                                          : "none has byte " + std::to_string(at));
      return MakeDiagnostic(diag::kSafetensorsCoverage, Location(), why);
    }
    at = end;
  }
  if (at == data_bytes) return OkStatus();
  return MakeDiagnostic(diag::kSafetensorsCoverage, Location(),
                        std::to_string(data_bytes - at) + " bytes are left over at the end");
}

}  // namespace

Result<std::vector<NamedTensor>> ParseSafetensorsHeader(std::string_view header,
                                                        uint64_t file_bytes) {
  if (header.empty() || header[0] != '{') {
    return MakeDiagnostic(diag::kSafetensorsJson, Location(), 0, "it does not begin with `{`");
  }
  HeaderHandler handler;
  if (!nlohmann::json::sax_parse(header.begin(), header.end(), &handler)) {
    return MakeDiagnostic(diag::kSafetensorsJson, Location(), handler.position(), handler.error);
  }
  auto tensors = std::move(handler.tensors);
  std::sort(tensors.begin(), tensors.end(),
            [](const NamedTensor& a, const NamedTensor& b) { return a.name < b.name; });
  const auto twice = std::adjacent_find(
      tensors.begin(), tensors.end(),
      [](const NamedTensor& a, const NamedTensor& b) { return a.name == b.name; });
  if (twice != tensors.end()) return BadTensor(twice->name, "it stands twice");
  const uint64_t start = 8 + header.size();
  const uint64_t data_bytes = file_bytes - std::min(file_bytes, start);
  for (NamedTensor& named : tensors) {
    TARSIA_CHECK(CheckTensor(named, data_bytes));
  }
  TARSIA_CHECK(CheckCoverage(tensors, data_bytes));
  for (NamedTensor& named : tensors) named.tensor.offset += start;
  return tensors;
}

Result<uint64_t> SafetensorsHeaderLength(std::span<const uint8_t> head, uint64_t file_bytes) {
  if (file_bytes < 8 || head.size() < 8) {
    return MakeDiagnostic(diag::kSafetensorsTruncated, Location(), file_bytes);
  }
  uint64_t length = 0;
  for (size_t i = 0; i < 8; ++i) length |= static_cast<uint64_t>(head[i]) << (8 * i);
  if (length > kSafetensorsMaxHeader) {
    return MakeDiagnostic(diag::kSafetensorsHeaderLength, Location(), length,
                          "the format allows 100000000");
  }
  if (length > file_bytes - 8) {
    return MakeDiagnostic(diag::kSafetensorsHeaderLength, Location(), length,
                          "only " + std::to_string(file_bytes - 8) + " follow");
  }
  return length;
}

Result<std::vector<NamedTensor>> ReadSafetensorsHeader(const InputFile& file) {
  uint8_t head[8] = {};
  const size_t there = static_cast<size_t>(std::min<uint64_t>(file.size(), 8));
  TARSIA_CHECK(file.Read(0, {head, there}));
  TARSIA_TRY(const uint64_t length, SafetensorsHeaderLength({head, there}, file.size()));
  std::string header(static_cast<size_t>(length), '\0');
  TARSIA_CHECK(file.Read(8, {reinterpret_cast<uint8_t*>(header.data()), header.size()}));
  return ParseSafetensorsHeader(header, file.size());
}

Result<TensorInfo> FindTensor(const std::vector<NamedTensor>& tensors, std::string_view name) {
  std::vector<std::string_view> names;
  for (const NamedTensor& named : tensors) {
    if (named.name == name) {
      if (named.tensor.type) return named.tensor;
      return BadTensor(name, "element type `" + named.tensor.type_name + "` is unknown");
    }
    names.emplace_back(named.name);
  }
  Diagnostic error = MakeDiagnostic(diag::kSafetensorsUnknownTensor, Location(), name);
  error.help = DidYouMean(name, names);
  return error;
}

std::string_view SafetensorsTypeName(DType type) {
  for (const SafetensorsType& row : kSafetensorsTypes) {
    if (row.type == type) return row.name;
  }
  return "";
}

}  // namespace tarsia
