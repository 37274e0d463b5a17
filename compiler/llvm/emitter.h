// The vocabulary of code generation: scalars, register tiles as LLVM values by slot, tiles in
// memory, masks, accesses of whole vectors and of single bits, exchanges through shared memory.
// The functions of lower_<family>.cc speak in these words.
//
// A register tile is one LLVM variable for each of a thread's slots; a scalar is one variable, the
// same in all threads. Control flow is uniform, so barriers are legal everywhere; what only some
// threads do is predicated within one instruction, or a branch without a barrier in it.
#ifndef TARSIA_COMPILER_LLVM_EMITTER_H_
#define TARSIA_COMPILER_LLVM_EMITTER_H_

#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler/compile.h"
#include "compiler/facts.h"
#include "compiler/infer_layouts.h"
#include "compiler/llvm/element/element.h"
#include "compiler/plan_shared.h"
#include "compiler/target.h"
#include "layout/mem_layout.h"

namespace tarsia::compiler {

using Slots = std::vector<llvm::Value*>;

// An integer of 64 bits, the same in all threads.
struct IndexValue {
  llvm::Value* value = nullptr;
  Facts facts;
};

// A scalar expression's value: i64, i1 or double.
struct ScalarValue {
  ScalarKind kind = ScalarKind::kInt;
  llvm::Value* value = nullptr;
  Facts facts;  // of integers and bools
};

// A tile in global or shared memory: a window into a root tile. Slices keep the root's addresses
// and narrow the range of elements that exist.
struct MemoryTile {
  enum class Form : uint8_t {
    kAffine,  // sum of index * stride
    kModes,   // dimensions cut into modes
    kPacked,
  };
  struct Dim {
    IndexValue extent;  // of this window
    IndexValue origin;  // root index of its element 0
    IndexValue low;     // root indices that exist: low <= i < high
    IndexValue high;
    IndexValue stride;       // elements; kAffine
    IndexValue root_extent;  // of the root
    IndexValue tiles;        // of the root; kPacked
  };
  Space space = Space::kGlobal;
  DType type;
  Form form = Form::kAffine;
  llvm::Value* base = nullptr;   // i64 address, of shared memory i32
  uint64_t alignment = 1;        // of the base
  IndexValue root_bytes;         // no byte beyond is touched
  bool padded_to_words = false;  // whole 32-bit words may be touched at the end
  bool whole = true;             // no slice
  bool written = false;          // by this kernel
  std::vector<Dim> dims;
  std::vector<Swizzle> swizzles;
  std::shared_ptr<const MemLayout> layout;  // kModes; kPacked: of one packed tile

  [[nodiscard]] int rank() const { return static_cast<int>(dims.size()); }
  [[nodiscard]] int bits() const { return type.bits; }
};

// An address that slots of one tile share but for a constant.
struct Address {
  llvm::Value* base = nullptr;  // i64, of shared memory i32
  int64_t offset = 0;
};

class Emitter {
 public:
  Emitter(const Program& program, const LayoutPlan& layouts, const SharedPlan& shared,
          Target target, const CompileOptions& options, StopFlag& stop);

  // Everything; afterwards the module is whole and `kernel` says all but the PTX.
  Status EmitKernel();
  llvm::Module& module() { return *module_; }
  CompiledKernel& kernel_info() { return info_; }

  // ---- what is compiled --------------------------------------------------------------------
  [[nodiscard]] const Program& program() const { return program_; }
  [[nodiscard]] const Kernel& kernel() const { return program_.kernel(); }
  [[nodiscard]] const ResolvedInst& inst() const { return *inst_; }
  [[nodiscard]] Location InstLocation() const { return kernel().LocationOf(*inst_->inst); }
  [[nodiscard]] const InstLayouts& inst_layouts() const { return *inst_layouts_; }
  [[nodiscard]] const TileLayout& Layout(LayoutId id) const { return layouts_.layouts[id]; }
  // The number of a layout that the plan may not have.
  LayoutId AddLayout(TileLayout layout);
  [[nodiscard]] LayoutId LayoutOf(uint32_t value) const { return layouts_.values[value].layout; }
  [[nodiscard]] const SharedPlan& shared() const { return shared_; }
  [[nodiscard]] Target target() const { return target_; }
  [[nodiscard]] int64_t threads() const { return int64_t{program_.warps()} * 32; }

  // ---- LLVM ----------------------------------------------------------------------------------
  llvm::IRBuilder<>& b() { return builder_; }
  ElementEmitter& elements() { return *elements_; }
  llvm::Type* I(unsigned bits) { return builder_.getIntNTy(bits); }
  llvm::Type* TypeOf(DType type) { return ElementType(*context_, type); }
  llvm::Value* Int32(int64_t x) { return builder_.getInt32(static_cast<uint32_t>(x)); }
  llvm::Value* Int64(int64_t x) { return builder_.getInt64(static_cast<uint64_t>(x)); }
  llvm::Value* Bool(bool x) { return builder_.getInt1(x); }
  llvm::Value* Constant(DType type, uint64_t code) {
    return ElementConstant(*context_, type, code);
  }
  // i1 values; null stands for true.
  llvm::Value* And(llvm::Value* a, llvm::Value* c);
  llvm::AllocaInst* Variable(llvm::Type* type, const llvm::Twine& name = "");
  llvm::BasicBlock* NewBlock(const llvm::Twine& name);
  // Emits `body` for threads where `condition` holds (null: all); no barriers inside.
  void If(llvm::Value* condition, const std::function<void()>& body);
  // Emits `body(i)` for i (i32) = 0 .. count - 1, uniform.
  void Loop(llvm::Value* count, const std::function<void(llvm::Value*)>& body);
  llvm::Value* CallIntrinsic(unsigned id, llvm::ArrayRef<llvm::Type*> types,
                             llvm::ArrayRef<llvm::Value*> arguments, bool convergent = false);
  // A special register (i32). LLVM is told the range of its values, which makes shorter code.
  llvm::Value* ReadRegister(unsigned id);

  // ---- threads -------------------------------------------------------------------------------
  llvm::Value* Thread() { return thread_; }  // i32
  llvm::Value* LinearBlock();                // i64, x fastest
  void Barrier();
  // What this thread has written is seen by the whole device before what it writes next.
  void DeviceFence();

  // ---- scalars -------------------------------------------------------------------------------
  llvm::Value* ReadScalar(uint32_t value);
  void WriteScalar(uint32_t value, llvm::Value* element, const Facts& facts = {});
  ScalarValue Evaluate(ExprId expr);
  IndexValue Index(ExprId expr);
  IndexValue ConstantIndex(int64_t x) { return {Int64(x), Facts::Exactly(x)}; }
  llvm::Value* Condition(ExprId expr);  // i1
  // Operand `i` of the instruction as one element of its type (a scalar or an expression).
  llvm::Value* ScalarOperand(size_t i);
  // An integer scalar's value in 64 bits.
  IndexValue ReadIndex(uint32_t value);

  IndexValue Add(const IndexValue& a, const IndexValue& c);
  IndexValue Subtract(const IndexValue& a, const IndexValue& c);
  IndexValue Multiply(const IndexValue& a, const IndexValue& c);
  IndexValue Min(const IndexValue& a, const IndexValue& c);
  IndexValue Max(const IndexValue& a, const IndexValue& c);
  // Within +-2^60, so that sums of a few cannot overflow; no index of a tile comes near.
  IndexValue Saturate(const IndexValue& a);

  // ---- register tiles ------------------------------------------------------------------------
  // Tile operand `i` in the layout in which the instruction takes it; a scalar or an expression as
  // `slots` equal elements.
  Slots TileOperand(size_t i, size_t slots = 1);
  // Result `r`, in the layout in which the instruction gives it.
  void SetResult(size_t r, const Slots& slots);
  // The same, with the words of the codes where they are at hand: of the result's bit layout
  // (CodeBits), in the layout in which the instruction gives it.
  void SetResult(size_t r, const Slots& slots, const Slots& words);
  Slots ReadTile(uint32_t value);
  void WriteTile(uint32_t value, const Slots& slots, const Slots& words = {});
  // Tiles of codes that are cast, unpacked or viewed have their words beside their slots: one of
  // the two is never used in the end, and vanishes.
  [[nodiscard]] bool KeepsWords(uint32_t value) const { return keeps_words_[value]; }
  Slots ReadWords(uint32_t value);
  // Where the codes of a register tile lie in words: its bit layout, or contiguous.
  Result<BitLayout> CodeBits(uint32_t value) const;
  Slots Convert(const Slots& slots, DType type, LayoutId from, LayoutId to);

  // ---- where elements are --------------------------------------------------------------------
  // i32: the part of an element's index along `dim` that the thread gives.
  llvm::Value* ThreadIndex(LayoutId layout, int dim);
  // i32: the index of slot's element along `dim`.
  llvm::Value* ElementIndex(LayoutId layout, int64_t slot, int dim);
  // i1, or null for always: whether slot's element is within the true shape.
  llvm::Value* IsElement(LayoutId layout, int64_t slot);
  // i1, or null: this thread is the first holder of its elements.
  llvm::Value* IsFirstHolder(LayoutId layout);
  // Row-major number of slot's element in the true shape, of padding any number: what the thread
  // gives (i32) and what the slot gives, or their sum.
  struct Linear {
    llvm::Value* thread = nullptr;
    int64_t slot = 0;
  };
  Linear LinearParts(LayoutId layout, int64_t slot);
  llvm::Value* LinearIndex(LayoutId layout, int64_t slot);
  // Elements of the true shape.
  [[nodiscard]] int64_t ElementCount(LayoutId layout) const;

  // ---- exchange through shared scratch ---------------------------------------------------------
  // i32 addresses of a block's shared memory, and of the scratch in it.
  llvm::Value* SharedBase();
  llvm::Value* Scratch();
  // How many of so many bytes of scratch there is room for. TakeScratch: they are used, from the
  // start of the scratch.
  [[nodiscard]] uint64_t ScratchRoom(uint64_t wanted) const;
  void TakeScratch(uint64_t bytes);
  // Elements that threads have become elements that threads want: `put[i]` is the place of slot i
  // and whether it is put at all; `get` likewise. Places are below `count`. Where a place is not
  // got the result is unspecified. `codes` are integers of `bytes` bytes.
  struct Place {
    Linear place;
    llvm::Value* condition = nullptr;  // null: always
  };
  Slots ExchangeCodes(const Slots& codes, int bytes, int64_t count, std::span<const Place> put,
                      std::span<const Place> get);
  Slots Exchange(const Slots& slots, DType type, int64_t count, std::span<const Place> put,
                 std::span<const Place> get);
  // The same from one layout to another, of equal elements in row-major order.
  Slots ExchangeElements(const Slots& slots, DType type, LayoutId from, LayoutId to);
  // An integer of 8 to 64 bits of the thread whose lane differs by `mask`.
  llvm::Value* ShuffleXor(llvm::Value* code, int mask);
  // What thread 0 has, in all threads. `code` is an integer of 8 to 64 bits.
  llvm::Value* FromThreadZero(llvm::Value* code);

  // ---- raw memory ------------------------------------------------------------------------------
  // kStrong: a relaxed access of the device, for what others change by atomic steps meanwhile.
  enum class Cache : uint8_t { kDefault, kEvictFirst, kNoAllocate, kStrong };
  // `bytes` (1, 2, 4, 8 or 16) from an aligned address, as integers: i8, i16, or i32 for each four
  // bytes. Zero where `condition` (null: true) does not hold; then nothing is read.
  Slots LoadWords(Space space, Address address, int bytes, llvm::Value* condition,
                  Cache cache = Cache::kDefault);
  void StoreWords(Space space, Address address, int bytes, const Slots& words,
                  llvm::Value* condition, Cache cache = Cache::kDefault);
  // The integer of `width` bits (in a container) at bit `bit` of a little-endian run of words.
  llvm::Value* BitsOf(const Slots& words, int word_bits, int bit, int width);
  // The reverse: codes of `width` bits as whole words.
  Slots PackCodes(const Slots& codes, int width, int word_bits);
  // A container of up to 8 bytes.
  llvm::Value* LoadCode(Space space, Address address, int bytes, uint64_t alignment,
                        llvm::Value* condition, Cache cache = Cache::kDefault);
  void StoreCode(Space space, Address address, int bytes, uint64_t alignment, llvm::Value* code,
                 llvm::Value* condition, Cache cache = Cache::kDefault);

  // ---- tiles in memory -------------------------------------------------------------------------
  const MemoryTile& Memory(uint32_t value) { return memory_.at(value); }
  void SetMemory(uint32_t value, MemoryTile tile) {
    tile.written = IsWritten(value);
    memory_[value] = std::move(tile);
  }
  bool HasMemory(uint32_t value) const { return memory_.contains(value); }
  // The operand's indices.
  std::vector<IndexValue> Indices(const Operand& operand);
  // A whole tile of a type, shape and layout family; its base is left to the caller.
  Result<MemoryTile> WholeTile(const ConcreteType& type, std::vector<IndexValue> extents);
  // The pointer parameter's address must be aligned at least so.
  void RequireAlignment(uint32_t parameter, uint64_t bytes);
  [[nodiscard]] uint64_t PointerAlignment(uint32_t parameter) const {
    return info_.parameters[parameter].alignment;
  }
  llvm::Value* ParameterAddress(uint32_t parameter) { return arguments_[parameter]; }  // i64
  // A word of the module that serialises writers of bytes at the end of a buffer: i64 address of 4
  // bytes, 0 while nobody holds it.
  llvm::Value* LockWord();
  // Of an alloc.global: i64 address.
  llvm::Value* WorkspaceAddress(uint32_t value);
  // Whether some instruction writes this value's memory.
  [[nodiscard]] bool IsWritten(uint32_t value) const {
    return program_.resolved().WritesMemoryOf(value);
  }
  // Whether a view or slice has extents that nobody can look at before the launch.
  [[nodiscard]] bool ChecksExtents(const ResolvedInst& inst) const;
  // Whether the host can compute an expression before the launch.
  [[nodiscard]] bool DependsOnParametersAlone(ExprId expr) const;

  // ---- reports ---------------------------------------------------------------------------------
  // The number of a new record.
  Result<uint32_t> AddRecord(ReportRecord record);
  llvm::Value* ReportBuffer() { return report_; }  // i64 address
  // One thread takes room for an entry of the record: its address (i64), 0 where there is no room.
  llvm::Value* TakeEntry(uint32_t record, uint64_t bytes);
  // Ends the block with the record's failure unless `holds` (uniform i1). `detail` (i64), if given,
  // is the one element of the record's entry.
  Status FailUnless(llvm::Value* holds, ReportRecord record, llvm::Value* detail = nullptr);

  // ---- control ---------------------------------------------------------------------------------
  Status EmitBody(size_t begin, size_t end);
  size_t inst_number() const { return inst_number_; }
  void ReturnHere();  // ends the block; emits what follows into a block nobody reaches

  // The copy engine has been used: pending copies must be waited for before memory is reused.
  bool uses_async_copies() const { return uses_async_copies_; }

 private:
  void CollectFacts();
  void Assumed(ExprId condition);
  void MakeDebugInfo();
  [[nodiscard]] bool NeedsReport() const;
  void MakeEntry();
  void MakeVariables();
  Status EmitInst(size_t number);
  void SetLine(Location location);
  std::vector<llvm::AllocaInst*>& TileVariable(uint32_t value);
  std::vector<llvm::AllocaInst*>& WordVariable(uint32_t value);
  void FindWords();

  const Program& program_;
  LayoutPlan layouts_;
  const SharedPlan& shared_;
  const Target target_;
  const CompileOptions& options_;
  StopFlag& stop_;
  CompiledKernel info_;

  std::unique_ptr<llvm::LLVMContext> context_;
  std::unique_ptr<llvm::Module> module_;
  llvm::IRBuilder<> builder_;
  std::unique_ptr<ElementEmitter> elements_;
  std::unique_ptr<llvm::DIBuilder> debug_;
  llvm::DISubprogram* subprogram_ = nullptr;
  llvm::Function* function_ = nullptr;
  llvm::BasicBlock* entry_ = nullptr;
  llvm::Instruction* entry_end_ = nullptr;  // variables and thread indices go before it
  llvm::Value* thread_ = nullptr;
  llvm::Value* shared_base_ = nullptr;   // i32
  llvm::Value* scratch_ = nullptr;       // i32
  uint64_t scratch_bytes_ = 0;           // taken so far
  llvm::Constant* lock_word_ = nullptr;  // i64
  llvm::Value* report_ = nullptr;
  bool uses_async_copies_ = false;

  std::vector<llvm::Value*> arguments_;  // by parameter: i64 addresses, elements of scalars
  std::vector<llvm::AllocaInst*> scalars_;
  std::vector<std::vector<llvm::AllocaInst*>> tiles_;
  std::vector<std::vector<llvm::AllocaInst*>> words_;  // of tiles that keep them
  std::vector<bool> keeps_words_;                      // by value
  std::vector<Facts> facts_;                           // by value, of scalars assigned once
  std::vector<int> assignments_;                       // by value
  std::map<uint32_t, MemoryTile> memory_;
  std::map<std::pair<LayoutId, int>, llvm::Value*> thread_index_;
  std::map<LayoutId, llvm::Value*> linear_thread_;
  std::map<LayoutId, llvm::Value*> first_holder_;

  size_t inst_number_ = 0;
  const ResolvedInst* inst_ = nullptr;
  const InstLayouts* inst_layouts_ = nullptr;
};

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LLVM_EMITTER_H_
