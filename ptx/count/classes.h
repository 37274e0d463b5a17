// Classes of instructions, for counting (classes.def).
#ifndef TARSIA_PTX_COUNT_CLASSES_H_
#define TARSIA_PTX_COUNT_CLASSES_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "ptx/table/code.h"

namespace tarsia::ptx {

enum class InstClass : uint8_t {
#define PTX_CLASS(constant, name) constant,
#include "ptx/count/classes.def"
#undef PTX_CLASS
};

inline constexpr int kInstClassCount = 0
#define PTX_CLASS(constant, name) +1
#include "ptx/count/classes.def"
#undef PTX_CLASS
    ;

// How instructions of a mnemonic come to their class, and what more is counted of them.
enum class ClassRule : uint8_t {
  kControl,
  kMove,
  kArithmetic,  // by its type
  kLogic,
  kCompare,
  kConvert,
  kLoad,  // by its space, as kStore and kAtomic
  kLoadMatrix,
  kStore,
  kStoreMatrix,
  kAtomic,
  kCopy,              // asynchronous, or what orders such copies
  kProduct,           // of matrices, by a warp
  kFragments,         // loads, stores and products of matrices
  kWarpgroupProduct,  // a product by four
  kWarpWide,          // lanes that act together
  kBarrier,           // of a block, or of a warp
  kSynchronise,
  kHint,
};

std::string_view NameOf(InstClass kind);
// Nothing for a mnemonic that classes.def lacks.
std::optional<ClassRule> FindClassRule(std::string_view mnemonic);
// The rule of an instruction of the table; kHint for a mnemonic that classes.def lacks.
ClassRule RuleOf(const Inst& inst);
InstClass ClassOf(const Inst& inst);

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_COUNT_CLASSES_H_
