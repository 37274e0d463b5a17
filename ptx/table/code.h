// PTX after parsing: functions as decoded instructions with resolved operands, variables,
// parameters. Immutable once parsed; shared between threads and launches.
#ifndef TARSIA_PTX_TABLE_CODE_H_
#define TARSIA_PTX_TABLE_CODE_H_

#include <array>
#include <bitset>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ptx/table/types.h"
#include "support/diagnostic.h"

namespace tarsia::ptx {

inline constexpr int kLanes = 32;
inline constexpr uint32_t kAllLanes = 0xFFFFFFFFU;

// What an instruction's handler returns to the loop.
enum class Step : uint8_t {
  kNext,   // go on with the next instruction
  kMoved,  // the handler has set where to go on, or the threads wait
};

class Warp;
struct Inst;
using Handler = Step (*)(Warp& warp, const Inst& inst);

// How undefined bits of the sources reach the destinations.
enum class UndefRule : uint8_t {
  kAll,      // any undefined bit makes the whole result undefined
  kBits,     // each bit depends on the same bit of every source
  kAnd,      // as kBits, but a defined 0 decides
  kOr,       // as kBits, but a defined 1 decides
  kLop3,     // by the truth table in the last operand
  kCarry,    // each bit depends on the bits at and below it
  kHalves,   // 16-bit halves do not depend on each other
  kShift,    // by a defined amount: the bits move
  kFunnel,   // shf: by a defined amount, the bits move
  kPermute,  // prmt: by a defined selector, the bytes move
  kSelect,   // a defined predicate picks one source
  kField,    // bfe, bfi: by a defined position and length
  kConvert,  // an integer is truncated or extended
  kConcat,   // mov between a vector and a whole
  kOwn,      // the handler does it itself
};

enum class Op : uint16_t {
#define PTX(name, ...) k##name,
#include "ptx/table/instructions.def"
#undef PTX
};

// A register, or a constant, which is 32 equal lanes in another bank.
struct Operand {
  uint8_t bank = 0;   // 0 registers of the frame, 1 constants
  uint8_t bytes = 0;  // of a lane; 0 for a predicate, whose lanes are the bits of 4 bytes
  bool dest = false;
  bool sink = false;         // `_` in a list, while parsing
  bool negated = false;      // `!%p`
  bool frame_space = false;  // an address of a parameter that lies in the thread's frame
  uint16_t select = 0;       // `.h20`: the digits, each plus one; 0 if there are none
  uint32_t offset = 0;       // of lane 0 in its bank, in bytes
  uint32_t flag = 0;         // number in its bank, of the mask of lanes with undefined bits
  int64_t addend = 0;        // of an address
  uint64_t immediate = 0;    // of a constant that is a number
};

struct OperandGroup {
  uint16_t first = 0;
  uint16_t count = 0;
};

inline constexpr int kMaxGroups = 8;
inline constexpr uint32_t kNowhere = UINT32_MAX;

struct Inst {
  Handler handler = nullptr;        // what the loop calls
  Handler wrapped = nullptr;        // what RunWithClock or RunTogether calls
  Handler wgmma_checked = nullptr;  // what RunWgmmaChecked calls
  Op op = Op{};
  UndefRule undef = UndefRule::kAll;
  Space space = Space::kGeneric;
  bool guarded = false;
  bool aligned = false;  // all lanes of a warp execute it together
  Operand guard;
  std::array<Type, 4> type{};
  std::bitset<kModCount> mods;
  uint16_t number = 0;  // in a modifier, as the 128 of .m64n128k16
  uint8_t groups = 0;
  std::array<OperandGroup, kMaxGroups> group{};
  std::vector<Operand> operands;
  uint32_t target = kNowhere;  // of a branch: an instruction's number
  uint32_t join = kNowhere;    // where the paths of a branch meet again; kNowhere: at the end
  uint32_t table = 0;          // of call and brx.idx: which call site or table of targets
  uint32_t id = 0;             // within its module
  uint8_t semantics = 0;       // of an access to memory: table/semantics.h
  Location location;
  uint32_t loc = 0;          // of Module::lines
  uint32_t source_file = 0;  // of .loc: the innermost
  uint32_t source_line = 0;

  [[nodiscard]] bool Has(Mod mod) const { return mods[static_cast<size_t>(mod)]; }
  // The operands that stand for the n-th place of the row's operand shape; none if left out.
  [[nodiscard]] std::span<const Operand> At(int n) const {
    const OperandGroup& g = group[static_cast<size_t>(n)];
    return std::span(operands).subspan(g.first, g.count);
  }
  [[nodiscard]] int CountAt(int n) const { return group[static_cast<size_t>(n)].count; }
  // The only operand of the n-th place.
  [[nodiscard]] const Operand& operator[](int n) const {
    return operands[group[static_cast<size_t>(n)].first];
  }
};

// A value of the constant bank: bits, or the address of a variable plus `bits`.
struct Constant {
  uint8_t bytes = 0;
  uint64_t bits = 0;
  int32_t variable = -1;
  bool generic = false;  // the address within the generic space
};

// A register that has a value when a frame begins: a special register or the address of a local
// variable of the frame.
struct FrameValue {
  enum class Kind : uint8_t { kSpecial, kLocalAddress };
  Kind kind = Kind::kSpecial;
  Special special = Special::kTidX;
  Operand where;
  uint64_t local = 0;
};

struct Param {
  std::string name;
  uint64_t offset = 0;  // in the parameter block of an entry, in the frame of a function
  uint64_t bytes = 0;
  uint64_t align = 1;
};

// A variable in the frame of a thread (.local): where it lies, and which of
// Module::frame_variables.
struct FrameSlot {
  uint64_t offset = 0;
  uint64_t bytes = 0;
  uint32_t variable = 0;
};

// A function that CUDA provides.
enum class Builtin : uint8_t {
  kNone,
#define PTX_BUILTIN(constant, name, params, results) constant,
#include "ptx/table/builtins.def"
#undef PTX_BUILTIN
};

struct CallSite {
  uint32_t function = 0;
  std::vector<uint64_t> arguments;  // where they lie in the caller's frame
  std::vector<uint64_t> results;
  std::vector<uint32_t> targets;  // the functions that .calltargets names; empty: any
};

struct RegisterSlot {
  uint8_t bytes = 0;
  uint32_t offset = 0;
};

struct Function {
  std::string name;
  Location location;
  bool entry = false;
  bool defined = false;
  Builtin builtin = Builtin::kNone;
  std::vector<Param> params;
  std::vector<Param> results;
  uint64_t param_bytes = 0;
  std::array<uint32_t, 3> max_threads{};       // .maxntid; zeros if it is not given
  std::array<uint32_t, 3> required_threads{};  // .reqntid
  std::array<uint32_t, 3> required_cluster{};  // .reqnctapercluster
  bool explicit_cluster = false;               // .explicitcluster
  uint32_t max_cluster_rank = 0;               // .maxclusterrank; 0 if it is not given
  uint32_t min_blocks_per_sm = 0;
  uint32_t max_registers = 0;

  std::vector<Inst> code;
  std::vector<RegisterSlot> registers;
  uint32_t register_bytes = 0;
  std::vector<Constant> constants;
  std::vector<uint32_t> constant_offsets;
  uint32_t constant_bytes = 0;
  std::vector<FrameValue> frame_values;
  uint64_t local_bytes = 0;            // of a thread's frame
  std::vector<FrameSlot> frame_slots;  // what lies in it under a name
  std::vector<CallSite> calls;
  std::vector<std::vector<uint32_t>> tables;  // of brx.idx
  bool has_wgmma = false;                     // its other instructions are checked too

  // The first errors of its text; such a function has no code.
  std::vector<Diagnostic> errors;
};

// An initialiser that is an address: eight (or four) bytes at `offset`.
struct Relocation {
  uint64_t offset = 0;
  uint8_t bytes = 8;
  uint32_t variable = 0;
  int64_t addend = 0;
  bool generic = false;
};

// A variable of a function's frame, as messages name it.
struct FrameVariable {
  std::string name;
  Location location;
};

struct Variable {
  std::string name;
  Space space = Space::kGlobal;
  Location location;
  uint64_t align = 1;
  uint64_t bytes = 0;
  bool dynamic = false;  // extern shared: its size is the launch's
  bool external = false;
  bool has_initial = false;
  std::vector<uint8_t> initial;
  std::vector<Relocation> relocations;
};

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_TABLE_CODE_H_
