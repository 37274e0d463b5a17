#include "ptx/table/types.h"

#include <array>
#include <unordered_map>

namespace tarsia::ptx {
namespace {

constexpr TypeInfo kTypeInfos[] = {
    {"", 0, TypeKind::kNone},
#define PTX_TYPE(constant, name, bits, kind) {name, bits, TypeKind::kind},
#include "ptx/table/types.def"
#undef PTX_TYPE
};

constexpr std::string_view kMods[] = {
#define PTX_MOD(constant, name) name,
#include "ptx/table/modifiers.def"
#undef PTX_MOD
};

constexpr SpecialInfo kSpecials[] = {
#define PTX_SPECIAL(constant, name, bytes, ...) {name, bytes},
#include "ptx/table/specials.def"
#undef PTX_SPECIAL
};

template <typename Enum>
using NameMap = std::unordered_map<std::string_view, Enum>;

template <typename Enum>
std::optional<Enum> FindIn(const NameMap<Enum>& map, std::string_view name) {
  const auto found = map.find(name);
  if (found == map.end()) return std::nullopt;
  return found->second;
}

}  // namespace

const TypeInfo& InfoOf(Type type) { return kTypeInfos[static_cast<size_t>(type)]; }

std::optional<Type> FindType(std::string_view name) {
  static const NameMap<Type> map = {
#define PTX_TYPE(constant, name, bits, kind) {name, Type::constant},
#include "ptx/table/types.def"
#undef PTX_TYPE
  };
  return FindIn(map, name);
}

std::string_view NameOf(Mod mod) { return kMods[static_cast<size_t>(mod)]; }

std::optional<Mod> FindMod(std::string_view name) {
  static const NameMap<Mod> map = {
#define PTX_MOD(constant, name) {name, Mod::constant},
#include "ptx/table/modifiers.def"
#undef PTX_MOD
  };
  return FindIn(map, name);
}

const SpecialInfo& InfoOf(Special special) { return kSpecials[static_cast<size_t>(special)]; }

std::optional<Special> FindSpecial(std::string_view name) {
  static const NameMap<Special> map = {
#define PTX_SPECIAL(constant, name, bytes, ...) {name, Special::constant},
#include "ptx/table/specials.def"
#undef PTX_SPECIAL
  };
  return FindIn(map, name);
}

std::string_view NameOf(Space space) {
  constexpr std::string_view kNames[] = {"generic", "global", "shared", "local", "const", "param"};
  return kNames[static_cast<size_t>(space)];
}

}  // namespace tarsia::ptx
