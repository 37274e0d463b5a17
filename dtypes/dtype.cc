#include "dtypes/dtype.h"

#include <array>
#include <cstddef>

namespace tarsia {
namespace {

constexpr DTypeRow kRows[] = {
#define DTYPE(code, name, constant, kind, bits, exponent, mantissa, bias, specials, doc) \
  {code, name, constant, doc},
#include "dtypes/dtypes.def"
#undef DTYPE
};
constexpr size_t kRowCount = std::size(kRows);
static_assert(kRowCount < kNoDTypeIndex);

constexpr std::string_view kNames[] = {
#define DTYPE(code, name, constant, kind, bits, exponent, mantissa, bias, specials, doc) name,
#include "dtypes/dtypes.def"
#undef DTYPE
};

constexpr bool CodesAndTypesAreDistinct() {
  for (size_t i = 0; i < kRowCount; ++i) {
    if (kRows[i].code == 0) return false;
    for (size_t j = 0; j < i; ++j) {
      if (kRows[i].code == kRows[j].code || kRows[i].type == kRows[j].type) return false;
      if (kRows[i].name == kRows[j].name) return false;
    }
  }
  return true;
}
static_assert(CodesAndTypesAreDistinct());

// The rule of the small floats: N = 1 + X + Y, and the bias that belongs to the specials.
constexpr bool FieldsAreConsistent(const DTypeRow& row) {
  const DType t = row.type;
  if (t.kind != DTypeKind::kFloat) return true;
  if (t != kTF32 && t.bits != 1 + t.exponent + t.mantissa) return false;
  const int bias = (1 << (t.exponent - 1)) - (t.specials == Specials::kFnuz ? 0 : 1);
  return t.bias == bias || t == kF8E4M3B11FNUZ;
}

constexpr bool RowsAreConsistent() {
  int small_floats = 0;
  for (const DTypeRow& row : kRows) {
    if (!FieldsAreConsistent(row)) return false;
    const bool plain = row.type.specials == Specials::kFinite ||
                       (row.type.specials == Specials::kIeee && row.type.bits == 8);
    if (row.type.kind == DTypeKind::kFloat && plain) ++small_floats;
  }
  return small_floats == 27;
}
static_assert(RowsAreConsistent());

// An open-addressed table from the fields of a type to its row, built at compile time.
constexpr size_t kSlots = 512;

constexpr uint64_t Key(DType t) {
  return static_cast<uint64_t>(t.kind) | uint64_t{t.bits} << 8 | uint64_t{t.exponent} << 16 |
         uint64_t{t.mantissa} << 24 | uint64_t{static_cast<uint16_t>(t.bias)} << 32 |
         static_cast<uint64_t>(t.specials) << 48;
}

constexpr size_t FirstSlot(DType t) {
  return static_cast<size_t>((Key(t) * 0x9E3779B97F4A7C15u) >> 55);
}

constexpr std::array<uint8_t, kSlots> MakeSlots() {
  std::array<uint8_t, kSlots> slots{};
  slots.fill(kNoDTypeIndex);
  for (size_t i = 0; i < kRowCount; ++i) {
    size_t slot = FirstSlot(kRows[i].type);
    while (slots[slot] != kNoDTypeIndex) slot = (slot + 1) % kSlots;
    slots[slot] = static_cast<uint8_t>(i);
  }
  return slots;
}
constexpr std::array<uint8_t, kSlots> kSlotOfType = MakeSlots();

constexpr std::array<uint8_t, 256> MakeRowOfCode() {
  std::array<uint8_t, 256> rows{};
  rows.fill(kNoDTypeIndex);
  for (size_t i = 0; i < kRowCount; ++i) rows[kRows[i].code] = static_cast<uint8_t>(i);
  return rows;
}
constexpr std::array<uint8_t, 256> kRowOfCode = MakeRowOfCode();

const DTypeRow* FindRow(std::string_view name) {
  for (const DTypeRow& row : kRows) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

}  // namespace

std::span<const DTypeRow> AllDTypes() { return kRows; }

std::span<const std::string_view> DTypeNames() { return kNames; }

std::optional<DType> FindDType(std::string_view name) {
  // Most look-ups are of names that are not types: all types except `bool` have a digit as second
  // or third character.
  const auto digit = [&](size_t i) { return i < name.size() && name[i] >= '0' && name[i] <= '9'; };
  if (!digit(1) && !digit(2) && name != "bool") return std::nullopt;
  if (const DTypeRow* row = FindRow(name)) return row->type;
  if (!name.ends_with("fn")) return std::nullopt;
  const DTypeRow* row = FindRow(name.substr(0, name.size() - 2));
  const bool alias = row != nullptr && row->type.IsFloat() && row->type.IsSubByte();
  return alias ? std::optional<DType>(row->type) : std::nullopt;
}

uint8_t DTypeIndex(DType type) {
  for (size_t slot = FirstSlot(type); kSlotOfType[slot] != kNoDTypeIndex;
       slot = (slot + 1) % kSlots) {
    if (kRows[kSlotOfType[slot]].type == type) return kSlotOfType[slot];
  }
  return kNoDTypeIndex;
}

std::string_view DTypeName(DType type) {
  const uint8_t index = DTypeIndex(type);
  return index == kNoDTypeIndex ? "?" : kRows[index].name;
}

uint8_t DTypeCode(DType type) {
  const uint8_t index = DTypeIndex(type);
  return index == kNoDTypeIndex ? uint8_t{0} : kRows[index].code;
}

std::optional<DType> DTypeFromCode(uint8_t code) {
  const uint8_t index = kRowOfCode[code];
  return index == kNoDTypeIndex ? std::nullopt : std::optional<DType>(kRows[index].type);
}

}  // namespace tarsia
