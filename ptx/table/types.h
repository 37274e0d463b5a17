// The vocabulary of PTX: types, modifiers, special registers, state spaces. Each is a table
// (types.def, modifiers.def, specials.def) from which the enumeration and the names follow.
#ifndef TARSIA_PTX_TABLE_TYPES_H_
#define TARSIA_PTX_TABLE_TYPES_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace tarsia::ptx {

enum class Type : uint8_t {
  kNone,
#define PTX_TYPE(constant, name, bits, kind) constant,
#include "ptx/table/types.def"
#undef PTX_TYPE
};

enum class TypeKind : uint8_t { kNone, kBits, kUnsigned, kSigned, kFloat, kPacked, kPred };

struct TypeInfo {
  std::string_view name;
  uint16_t bits = 0;
  TypeKind kind = TypeKind::kNone;
};

const TypeInfo& InfoOf(Type type);
std::optional<Type> FindType(std::string_view name);

inline int BytesOf(Type type) { return InfoOf(type).bits / 8; }
inline bool IsSigned(Type type) { return InfoOf(type).kind == TypeKind::kSigned; }
inline bool IsFloat(Type type) { return InfoOf(type).kind == TypeKind::kFloat; }
inline bool IsInteger(Type type) {
  return InfoOf(type).kind == TypeKind::kSigned || InfoOf(type).kind == TypeKind::kUnsigned;
}

enum class Mod : uint8_t {
#define PTX_MOD(constant, name) constant,
#include "ptx/table/modifiers.def"
#undef PTX_MOD
};

inline constexpr int kModCount = 0
#define PTX_MOD(constant, name) +1
#include "ptx/table/modifiers.def"
#undef PTX_MOD
    ;

std::string_view NameOf(Mod mod);
std::optional<Mod> FindMod(std::string_view name);

// The bytes of a block's shared memory that a GPU keeps for itself and cooperative groups.
inline constexpr uint64_t kReservedShared = 1024;

enum class Special : uint8_t {
#define PTX_SPECIAL(constant, name, bytes, ...) constant,
#include "ptx/table/specials.def"
#undef PTX_SPECIAL
};

struct SpecialInfo {
  std::string_view name;
  uint8_t bytes = 0;
};

const SpecialInfo& InfoOf(Special special);
// Whether the register's value changes while a thread runs.
inline bool IsClock(Special special) {
  return special >= Special::kClock && special <= Special::kGlobaltimerHi;
}
std::optional<Special> FindSpecial(std::string_view name);

enum class Space : uint8_t { kGeneric, kGlobal, kShared, kLocal, kConst, kParam };

std::string_view NameOf(Space space);

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_TABLE_TYPES_H_
