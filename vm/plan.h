// A program made ready to run: instructions in the order they run with their jumps resolved,
// operands classified, constants encoded, layouts tabulated. Made once, shared by all launches and
// threads.
#ifndef TARSIA_VM_PLAN_H_
#define TARSIA_VM_PLAN_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dtypes/convert.h"
#include "isa/program.h"
#include "launch/launch_template.h"
#include "support/result.h"
#include "vm/chain.h"
#include "vm/code_pieces.h"
#include "vm/host/scratch.h"
#include "vm/memory_view.h"

namespace tarsia::vm {

inline constexpr int64_t kMaxRegisterTileBytes = int64_t{1} << 30;
inline constexpr int64_t kMaxBlockTileBytes = int64_t{1} << 32;

// How the elements of a register tile are stored: as a row-major array (kLogical) or, if the text
// fixes the layout, by thread and slot, with separate replicas. What is in places beyond the tile
// is unspecified; conversions put element 0 there.
using StorageId = uint32_t;
inline constexpr StorageId kLogical = 0;

struct Storage {
  static constexpr uint32_t kPadding = UINT32_MAX;
  RegLayout layout;
  std::vector<int64_t> shape;     // of the tile: at most that of the layout
  std::vector<uint32_t> element;  // by thread * slots + slot: row-major number, or kPadding
  std::vector<uint32_t> holder;   // by element: its place in storage, of the lowest thread
  bool replicated = false;
};

// The storage of a value. Memory tiles have only the dtype.
struct ValuePlan {
  ValueKind kind = ValueKind::kScalar;
  Space space = Space::kNone;
  DType dtype;
  int container = 0;  // bytes
  int rank = 0;
  std::vector<int64_t> shape;
  int64_t elements = 0;
  int64_t stored = 0;  // containers in storage: more than elements if there are replicas
  StorageId storage = kLogical;
  uint64_t arena_offset = 0;  // bytes, in the block's arena of tiles
};

// Entry i of the target's storage comes from entry (*index)[i] of the source's; null: the same.
using Conversion = std::shared_ptr<const std::vector<uint32_t>>;

// An operand (isa/resolved.h) prepared for reading.
struct PlannedOperand {
  Operand::Kind kind = Operand::Kind::kNone;
  uint32_t value = 0;
  DType type;
  uint64_t code = 0;                // kConstant: in `type`
  ScalarExpr expr;                  // kExpr: rounded to `type` if a code is needed
  std::vector<ScalarExpr> indices;  // kMemory
  std::string_view text;            // kText
  Conversion to_logical;            // kTile: from its storage to row-major order
  Conversion to_result;             // kTile: from its storage to that of result 0
  [[nodiscard]] bool IsTile() const { return kind == Operand::Kind::kTile; }
};

// Tables of `view` of registers and `unpack`.
struct RegisterBits {
  int64_t threads = 0;
  int64_t words = 0;  // 32-bit words per thread
  CodePieces source;  // of one thread's slots
  CodePieces target;
};
struct UnpackTable {
  std::vector<uint16_t> form;                // by slot: row of `values`
  std::vector<std::vector<uint16_t>> codes;  // by form and code: the code of q
  std::vector<uint16_t> bias;                // by form: the code of b
  int64_t slots = 0;
};

// An agent's buffers for operands and results whose storage differs from that of the computation,
// one for free use by instructions, and the slots of chains.
inline constexpr size_t kFirstFreeScratch = kMaxOperands + kMaxResults;
inline constexpr size_t kChainScratch = kFirstFreeScratch + 1;
inline constexpr size_t kScratchBuffers = kChainScratch + 1;

class Agent;
class LaunchContexts;
enum class ExecState : uint8_t {
  kNext,     // continue at the agent's pc
  kExit,     // the block is done
  kSuspend,  // the agent waits; the instruction runs again
  kFail,     // the agent holds the error
};
struct PlannedInst;
using ExecFunction = ExecState (*)(Agent&, const PlannedInst&);

struct PlannedInst {
  ExecFunction exec = nullptr;
  const Inst* inst = nullptr;  // null for the jumps that close blocks
  uint32_t target = 0;         // where a block's instruction jumps to
  uint32_t loop = 0;           // the loop's counter
  uint32_t results = 0;
  uint32_t result[kMaxResults] = {};
  bool tile_result = false;       // of result 0
  bool direct[kMaxResults] = {};  // row-major storage, and no operand is the same variable
  Conversion from_logical[kMaxResults];
  PlannedOperand operand[kMaxOperands];
  DType type;         // of the computation: the operands' element type
  int64_t count = 0;  // elements stored of result 0, or of operand 0 without a result

  // Attributes and annotation.
  CastOptions cast;
  int64_t axis = 0;
  std::vector<int64_t> axes;
  std::vector<int64_t> shape;
  std::vector<ScalarExpr> extents;  // of a view
  uint32_t allocation = 0;          // of alloc.*
  bool zeroed = false;
  bool finite = false;
  bool exclusive = false;
  bool reverse = false;
  bool smallest = false;
  std::shared_ptr<const RegisterBits> register_bits;
  std::shared_ptr<const UnpackTable> unpack;
  std::shared_ptr<const AddressMap> map;   // of a memory tile whose shape is constant
  Conversion unpack_results[kMaxResults];  // from the codes' storage to the results'
  std::shared_ptr<const Chain> chain;      // that begins here
};

struct Allocation {
  uint32_t value = 0;
  const Inst* inst = nullptr;
  uint64_t offset = 0;  // of shared memory
  uint64_t bytes = 0;   // of shared memory
  bool zeroed = false;  // of alloc.global
  bool placed = false;  // of alloc.shared: the text says where; others may have had these bytes
};

class Plan {
 public:
  static Result<std::shared_ptr<const Plan>> Make(const Program& program);

  Program program;
  launch::LaunchTemplate launch;
  std::vector<ValuePlan> values;
  std::vector<Storage> storages;  // by StorageId; the entry of kLogical is empty
  std::vector<PlannedInst> code;
  std::vector<Allocation> shared;
  std::vector<Allocation> global;
  uint64_t shared_bytes = 0;
  uint64_t arena_bytes = 0;
  std::array<uint64_t, kScratchBuffers> scratch_bytes{};  // of an agent
  host::ScratchSizes host_scratch;                        // of a thread that runs blocks
  // The memory of all these that one thread that runs blocks needs.
  [[nodiscard]] uint64_t BytesOfRunner() const;
  uint32_t loops = 0;
  bool waits_for_grids = false;  // it has a `griddep.wait`

  [[nodiscard]] const Kernel& kernel() const { return program.kernel(); }
  [[nodiscard]] Location LocationOf(const PlannedInst& inst) const {
    return inst.inst == nullptr ? Location() : kernel().LocationOf(*inst.inst);
  }
  [[nodiscard]] std::string ValueName(uint32_t value) const {
    return std::string(kernel().ValueName(value));
  }

  // The memory of launches, kept between them.
  [[nodiscard]] LaunchContexts& contexts() const { return *contexts_; }

  // Use Make.
  explicit Plan(Program p);
  ~Plan();

 private:
  const std::unique_ptr<LaunchContexts> contexts_;
};

}  // namespace tarsia::vm

#endif  // TARSIA_VM_PLAN_H_
