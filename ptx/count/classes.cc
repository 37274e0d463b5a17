#include "ptx/count/classes.h"

#include <algorithm>
#include <iterator>

#include "ptx/table/table.h"

namespace tarsia::ptx {
namespace {

struct MnemonicRule {
  std::string_view mnemonic;
  ClassRule rule;
};

constexpr MnemonicRule kRules[] = {
#define PTX_MNEMONIC(mnemonic, rule) {mnemonic, ClassRule::rule},
#include "ptx/count/classes.def"
#undef PTX_MNEMONIC
};

InstClass ArithmeticClass(Type type) {
  switch (InfoOf(type).kind) {
    case TypeKind::kFloat:
      if (InfoOf(type).bits == 64) return InstClass::kF64;
      return InfoOf(type).bits == 32 ? InstClass::kF32 : InstClass::kHalf;
    case TypeKind::kPacked:
      if (InfoOf(type).bits == 64) return InstClass::kF32;
      if (type != Type::kU16X2 && type != Type::kS16X2) return InstClass::kHalf;
      break;
    case TypeKind::kNone:
    case TypeKind::kBits:
    case TypeKind::kUnsigned:
    case TypeKind::kSigned:
    case TypeKind::kPred:
      break;
  }
  return InstClass::kInteger;
}

// The classes of one kind of access by the space that the instruction names.
struct AccessClasses {
  InstClass generic;
  InstClass global;
  InstClass shared;
  InstClass local;
};
constexpr AccessClasses kLoads = {InstClass::kLoadGeneric, InstClass::kLoadGlobal,
                                  InstClass::kLoadShared, InstClass::kLoadLocal};
constexpr AccessClasses kStores = {InstClass::kStoreGeneric, InstClass::kStoreGlobal,
                                   InstClass::kStoreShared, InstClass::kStoreLocal};
constexpr AccessClasses kAtomics = {InstClass::kAtomicGeneric, InstClass::kAtomicGlobal,
                                    InstClass::kAtomicShared, InstClass::kAtomicGeneric};

InstClass AccessClass(Space space, const AccessClasses& classes) {
  switch (space) {
    case Space::kGeneric:
      return classes.generic;
    case Space::kGlobal:
      return classes.global;
    case Space::kShared:
      return classes.shared;
    case Space::kLocal:
      return classes.local;
    case Space::kConst:
    case Space::kParam:
      break;
  }
  return InstClass::kConstant;
}

bool HasAddress(const Inst& inst) {
  return std::ranges::any_of(RowOf(inst.op).shapes, [](const OperandShape& shape) {
    return shape.role == OperandRole::kAddress;
  });
}

// cp.async.commit_group and its like move nothing.
InstClass CopyClass(const Inst& inst) {
  return HasAddress(inst) ? InstClass::kCopyAsync : InstClass::kSynchronise;
}

// A load begins with what it loads, a store with an address.
InstClass FragmentClass(const Inst& inst) {
  if (!HasAddress(inst)) return InstClass::kMatrix;
  const bool loads = RowOf(inst.op).shapes[0].role == OperandRole::kDest;
  return AccessClass(inst.space, loads ? kLoads : kStores);
}

}  // namespace

std::string_view NameOf(InstClass kind) {
  constexpr std::string_view kNames[] = {
#define PTX_CLASS(constant, name) name,
#include "ptx/count/classes.def"
#undef PTX_CLASS
  };
  return kNames[static_cast<size_t>(kind)];
}

std::optional<ClassRule> FindClassRule(std::string_view mnemonic) {
  const auto* found = std::ranges::find(kRules, mnemonic, &MnemonicRule::mnemonic);
  if (found == std::end(kRules)) return std::nullopt;
  return found->rule;
}

ClassRule RuleOf(const Inst& inst) {
  return FindClassRule(RowOf(inst.op).mnemonic).value_or(ClassRule::kHint);
}

InstClass ClassOf(const Inst& inst) {
  switch (RuleOf(inst)) {
    case ClassRule::kControl:
      return InstClass::kControl;
    case ClassRule::kMove:
      return InstClass::kMove;
    case ClassRule::kArithmetic:
      return ArithmeticClass(inst.type[0]);
    case ClassRule::kLogic:
      return InstClass::kLogic;
    case ClassRule::kCompare:
      return InstClass::kCompare;
    case ClassRule::kConvert:
      return InstClass::kConvert;
    case ClassRule::kLoad:
      return AccessClass(inst.space, kLoads);
    case ClassRule::kLoadMatrix:
      return InstClass::kLoadShared;
    case ClassRule::kStore:
      return AccessClass(inst.space, kStores);
    case ClassRule::kStoreMatrix:
      return InstClass::kStoreShared;
    case ClassRule::kAtomic:
      return AccessClass(inst.space, kAtomics);
    case ClassRule::kCopy:
      return CopyClass(inst);
    case ClassRule::kFragments:
      return FragmentClass(inst);
    case ClassRule::kProduct:
    case ClassRule::kWarpgroupProduct:
      return InstClass::kMatrix;
    case ClassRule::kWarpWide:
      return InstClass::kWarpWide;
    case ClassRule::kBarrier:
    case ClassRule::kSynchronise:
      return InstClass::kSynchronise;
    case ClassRule::kHint:
      break;
  }
  return InstClass::kHint;
}

}  // namespace tarsia::ptx
