#include "compiler/llvm/emitter.h"

#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/MDBuilder.h>

#include <algorithm>

#include "compiler/diagnostics.h"
#include "compiler/llvm/backend.h"
#include "compiler/llvm/lower.h"
#include "compiler/llvm/tile_access.h"
#include "isa/limits.h"

namespace tarsia::compiler {
namespace {

constexpr char kLockName[] = "tarsia_lock";

size_t Size(int64_t x) { return static_cast<size_t>(x); }

// What an entry is called: the kernel's name, but for the two that mean something else in PTX. No
// kernel's name has a dollar sign.
std::string EntryName(std::string_view kernel) {
  const bool taken = kernel == "_" || kernel == "WARP_SZ";
  return std::string(kernel) + (taken ? "$" : "");
}

// Drivers that know PTX 8.1 launch with more than 4096 bytes of parameters, and ptxas takes more
// from there on.
Status CheckParameters(const Program& program, const CompiledKernel& kernel,
                       const TargetRow& target) {
  const uint64_t limit = target.ptx_version >= 81 ? kMaxParameterBytes : 4096;
  if (kernel.parameter_bytes <= limit) return OkStatus();
  return MakeDiagnostic(diag::kParameterBytes, program.kernel().location, program.name(),
                        kernel.parameter_bytes, limit, target.name);
}

}  // namespace

Emitter::Emitter(const Program& program, const LayoutPlan& layouts, const SharedPlan& shared,
                 Target target, const CompileOptions& options, StopFlag& stop)
    : program_(program),
      layouts_(layouts),
      shared_(shared),
      target_(target),
      options_(options),
      stop_(stop),
      context_(std::make_unique<llvm::LLVMContext>()),
      module_(std::make_unique<llvm::Module>(std::string(program.name()), *context_)),
      builder_(*context_),
      elements_(std::make_unique<ElementEmitter>(builder_, target)) {
  SetTriple(*module_);
  if (program.kernel().fast) {
    llvm::FastMathFlags flags;
    flags.setAllowContract();
    builder_.setFastMathFlags(flags);
  }
}

// ---- the kernel as a whole -----------------------------------------------------------------

Status Emitter::EmitKernel() {
  info_.name = EntryName(program_.name());
  info_.threads = static_cast<int>(threads());
  CollectFacts();
  FindWords();
  MakeEntry();
  TARSIA_CHECK(CheckParameters(program_, info_, Row(target_)));
  MakeVariables();
  TARSIA_CHECK(EmitBody(0, kernel().code.size()));
  builder_.CreateRetVoid();
  TARSIA_TRY(info_.shared_bytes, TotalShared(program_, shared_, target_, scratch_bytes_));
  if (debug_) debug_->finalize();
  return OkStatus();
}

void Emitter::CollectFacts() {
  const size_t values = program_.types().size();
  facts_.resize(values);
  assignments_.assign(values, 0);
  for (uint32_t i = 0; i < values; ++i) facts_[i] = Facts::OfType(program_.type(i).dtype);
  for (const ResolvedInst& inst : program_.instructions()) {
    uses_async_copies_ = uses_async_copies_ || inst.row->Has(kAsynchronous);
    for (const uint32_t result : inst.results) ++assignments_[result];
  }
  for (const Assume& assume : kernel().assumes) {
    if (assume.alignment.none()) Assumed(assume.condition);
  }
  // Who launches checks the extents that depend on parameters alone.
  for (const ResolvedInst& inst : program_.instructions()) {
    if (!inst.row->MakesView()) continue;
    for (const ExprId extent : program_.type(inst.results[0]).shape_exprs) {
      if (!extent.is_value() || extent.value() >= kernel().params.size()) continue;
      facts_[extent.value()] = Both(facts_[extent.value()], Facts::Between(0, kMaxExtent));
    }
  }
}

// What an assumption says of single scalar parameters: `%n % 8 == 0`, `%n > 0`, and both.
void Emitter::Assumed(ExprId condition) {
  const ExprPool& pool = program_.pool();
  if (pool.kind(condition) != ExprKind::kBinary) return;
  const auto op = static_cast<BinaryOp>(pool.node(condition).code);
  const ExprId left = pool.children(condition)[0];
  const ExprId right = pool.children(condition)[1];
  if (op == BinaryOp::kAnd) {
    Assumed(left);
    return Assumed(right);
  }
  const auto number = pool.AsInt(right);
  if (!number) return;
  Facts said;
  ExprId subject = left;
  if (op == BinaryOp::kEqual && *number == 0 && pool.kind(left) == ExprKind::kBinary &&
      static_cast<BinaryOp>(pool.node(left).code) == BinaryOp::kModulo) {
    const auto divisor = pool.AsInt(pool.children(left)[1]);
    if (!divisor || *divisor <= 0) return;
    subject = pool.children(left)[0];
    said.multiple = static_cast<uint64_t>(*divisor);
  } else if (op == BinaryOp::kGreaterEqual) {
    said.lo = *number;
  } else if (op == BinaryOp::kGreater && *number < INT64_MAX) {
    said.lo = *number + 1;
  } else if (op == BinaryOp::kLessEqual) {
    said.hi = *number;
  } else if (op == BinaryOp::kLess && *number > INT64_MIN) {
    said.hi = *number - 1;
  } else if (op == BinaryOp::kEqual) {
    said = Facts::Exactly(*number);
  }
  if (!subject.is_value() || !program_.type(subject.value()).dtype.IsInteger()) return;
  facts_[subject.value()] = Both(facts_[subject.value()], said);
}

void Emitter::MakeEntry() {
  std::vector<llvm::Type*> types;
  const auto add = [&](KernelParameter::Kind kind, DType type, llvm::Type* llvm_type,
                       uint32_t bytes, uint32_t alignment) {
    KernelParameter parameter;
    parameter.kind = kind;
    parameter.type = type;
    parameter.bytes = bytes;
    parameter.alignment = alignment;
    parameter.offset = static_cast<uint32_t>((info_.parameter_bytes + bytes - 1) / bytes * bytes);
    info_.parameter_bytes = parameter.offset + bytes;
    info_.parameters.push_back(parameter);
    types.push_back(llvm_type);
  };
  for (uint32_t i = 0; i < kernel().params.size(); ++i) {
    const DType type = program_.type(i).dtype;
    const auto bytes = static_cast<uint32_t>(ContainerBytes(type));
    if (kernel().params[i].is_pointer) {
      add(KernelParameter::Kind::kPointer, type, I(64), 8, bytes);
    } else {
      add(KernelParameter::Kind::kScalar, type, I(bytes * 8), bytes, bytes);
    }
  }
  for (const Assume& assume : kernel().assumes) {
    if (assume.alignment.none() || !assume.condition.is_value()) continue;
    const auto bytes = program_.pool().AsInt(assume.alignment);
    if (bytes && *bytes > 0) {
      RequireAlignment(assume.condition.value(), Facts::Exactly(*bytes).PowerOfTwo(1u << 20));
    }
  }
  for (const ResolvedInst& inst : program_.instructions()) {
    if (inst.row->Allocates() != Space::kGlobal) continue;
    Workspace workspace;
    workspace.value = inst.results[0];
    workspace.zeroed = inst.zeroed;
    info_.workspace.push_back(workspace);
    add(KernelParameter::Kind::kWorkspace, kU8, I(64), 8, kWorkspaceAlignment);
  }
  if (NeedsReport()) add(KernelParameter::Kind::kReport, kU64, I(64), 8, 8);

  auto* type = llvm::FunctionType::get(builder_.getVoidTy(), types, false);
  function_ =
      llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, info_.name, module_.get());
  const auto annotate = [&](const char* what, int64_t value) {
    llvm::Metadata* parts[] = {
        llvm::ConstantAsMetadata::get(function_), llvm::MDString::get(*context_, what),
        llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(I(32), static_cast<uint64_t>(value)))};
    module_->getOrInsertNamedMetadata("nvvm.annotations")
        ->addOperand(llvm::MDNode::get(*context_, parts));
  };
  annotate("kernel", 1);
  annotate("reqntidx", threads());
  annotate("reqntidy", 1);
  annotate("reqntidz", 1);
  entry_ = llvm::BasicBlock::Create(*context_, "entry", function_);
  llvm::BasicBlock* body = llvm::BasicBlock::Create(*context_, "body", function_);
  builder_.SetInsertPoint(entry_);
  MakeDebugInfo();
  thread_ = ReadRegister(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x);
  for (uint32_t i = 0; i < kernel().params.size(); ++i) {
    arguments_.push_back(function_->getArg(i));
  }
  if (NeedsReport()) report_ = function_->getArg(static_cast<unsigned>(types.size()) - 1);
  entry_end_ = builder_.CreateBr(body);
  builder_.SetInsertPoint(body);
}

void Emitter::MakeDebugInfo() {
  if (!options_.line_info) return;
  std::string name = program_.source_name();
  std::ranges::replace(name, '"', '\'');  // ptxas knows no escape for it
  module_->addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
  debug_ = std::make_unique<llvm::DIBuilder>(*module_);
  llvm::DIFile* file = debug_->createFile(name.empty() ? "kernel.tsa" : name, "");
  debug_->createCompileUnit(llvm::dwarf::DW_LANG_C, file, "tarsia", true, "", 0, "",
                            llvm::DICompileUnit::DebugDirectivesOnly);
  llvm::DISubroutineType* type = debug_->createSubroutineType(debug_->getOrCreateTypeArray({}));
  subprogram_ = debug_->createFunction(file, info_.name, info_.name, file, kernel().location.line,
                                       type, kernel().location.line, llvm::DINode::FlagZero,
                                       llvm::DISubprogram::SPFlagDefinition);
  function_->setSubprogram(subprogram_);
  SetLine(kernel().location);
}

void Emitter::SetLine(Location location) {
  if (subprogram_ == nullptr) return;
  builder_.SetCurrentDebugLocation(
      llvm::DILocation::get(*context_, location.line, location.column, subprogram_));
}

void Emitter::MakeVariables() {
  const size_t values = program_.types().size();
  scalars_.resize(values);
  tiles_.resize(values);
  words_.resize(values);
  for (uint32_t value = 0; value < values; ++value) {
    const ConcreteType& type = program_.type(value);
    if (type.kind == ValueKind::kScalar) {
      scalars_[value] = Variable(TypeOf(type.dtype), llvm::StringRef(kernel().ValueName(value)));
    }
  }
  for (uint32_t i = 0; i < kernel().params.size(); ++i) {
    if (kernel().params[i].is_pointer) continue;
    builder_.CreateStore(FromCode(builder_, arguments_[i], program_.type(i).dtype), scalars_[i]);
  }
}

Status Emitter::EmitBody(size_t begin, size_t end) {
  for (size_t i = begin; i < end;) {
    if (stop_.Stopped()) return MakeDiagnostic(diag::kCompileStopped, Location());
    const Inst& inst = kernel().code[i];
    TARSIA_CHECK(EmitInst(i));
    i = std::max<size_t>(inst.end, i + 1);
  }
  return OkStatus();
}

Status Emitter::EmitInst(size_t number) {
  const ResolvedInst* outer = inst_;
  const InstLayouts* outer_layouts = inst_layouts_;
  const size_t outer_number = inst_number_;
  inst_ = &program_.instructions()[number];
  inst_layouts_ = &layouts_.insts[number];
  inst_number_ = number;
  SetLine(InstLocation());
  Status status = LoweringOf(inst_->opcode())(*this);
  inst_ = outer;
  inst_layouts_ = outer_layouts;
  inst_number_ = outer_number;
  return status;
}

void Emitter::ReturnHere() {
  builder_.CreateRetVoid();
  builder_.SetInsertPoint(NewBlock("unreached"));
}

// ---- LLVM ----------------------------------------------------------------------------------

llvm::Value* Emitter::And(llvm::Value* a, llvm::Value* c) {
  if (a == nullptr) return c;
  return c == nullptr ? a : builder_.CreateAnd(a, c);
}

llvm::AllocaInst* Emitter::Variable(llvm::Type* type, const llvm::Twine& name) {
  llvm::IRBuilder<>::InsertPointGuard guard(builder_);
  builder_.SetInsertPoint(entry_end_);
  return builder_.CreateAlloca(type, nullptr, name);
}

llvm::BasicBlock* Emitter::NewBlock(const llvm::Twine& name) {
  return llvm::BasicBlock::Create(*context_, name, function_);
}

void Emitter::If(llvm::Value* condition, const std::function<void()>& body) {
  if (condition == nullptr) return body();
  llvm::BasicBlock* then = NewBlock("then");
  llvm::BasicBlock* after = NewBlock("after");
  builder_.CreateCondBr(condition, then, after);
  builder_.SetInsertPoint(then);
  body();
  builder_.CreateBr(after);
  builder_.SetInsertPoint(after);
}

void Emitter::Loop(llvm::Value* count, const std::function<void(llvm::Value*)>& body) {
  llvm::AllocaInst* counter = Variable(I(32), "turn");
  llvm::BasicBlock* head = NewBlock("head");
  llvm::BasicBlock* turn = NewBlock("turn");
  llvm::BasicBlock* after = NewBlock("after");
  builder_.CreateStore(Int32(0), counter);
  builder_.CreateBr(head);
  builder_.SetInsertPoint(head);
  llvm::Value* i = builder_.CreateLoad(I(32), counter);
  builder_.CreateCondBr(builder_.CreateICmpULT(i, count), turn, after);
  builder_.SetInsertPoint(turn);
  body(i);
  builder_.CreateStore(builder_.CreateAdd(i, Int32(1)), counter);
  builder_.CreateBr(head);
  builder_.SetInsertPoint(after);
}

llvm::Value* Emitter::CallIntrinsic(unsigned id, llvm::ArrayRef<llvm::Type*> types,
                                    llvm::ArrayRef<llvm::Value*> arguments, bool convergent) {
  llvm::Function* f = llvm::Intrinsic::getDeclaration(module_.get(), id, types);
  llvm::CallInst* call = builder_.CreateCall(f, arguments);
  if (convergent) call->setConvergent();
  return call;
}

// ---- threads -------------------------------------------------------------------------------

void Emitter::Barrier() { CallIntrinsic(llvm::Intrinsic::nvvm_barrier0, {}, {}, true); }

void Emitter::DeviceFence() { CallIntrinsic(llvm::Intrinsic::nvvm_membar_gl, {}, {}); }

llvm::Value* Emitter::ReadRegister(unsigned id) {
  // The values are from the first number up to the second, without it: the block is launched with
  // as many threads as it is made for, and CUDA limits the grid (CUDA C++ programming guide,
  // compute capabilities).
  const struct {
    unsigned id;
    uint32_t from;
    uint32_t to;
  } ranges[] = {
      {llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x, 0, static_cast<uint32_t>(threads())},
      {llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x, 0, 0x7fffffff},
      {llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_y, 0, 0xffff},
      {llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_z, 0, 0xffff},
      {llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x, 1, 0x80000000},
      {llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_y, 1, 0x10000},
      {llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_z, 1, 0x10000},
  };
  auto* const read = llvm::cast<llvm::CallInst>(CallIntrinsic(id, {}, {}));
  for (const auto& range : ranges) {
    if (range.id != id) continue;
    read->setMetadata(llvm::LLVMContext::MD_range,
                      llvm::MDBuilder(*context_).createRange(llvm::APInt(32, range.from),
                                                             llvm::APInt(32, range.to)));
  }
  return read;
}

llvm::Value* Emitter::LinearBlock() {
  const auto read = [&](unsigned id) { return builder_.CreateZExt(ReadRegister(id), I(64)); };
  llvm::Value* x = read(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x);
  llvm::Value* y = read(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_y);
  llvm::Value* z = read(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_z);
  llvm::Value* nx = read(llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x);
  llvm::Value* ny = read(llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_y);
  llvm::Value* rows = builder_.CreateAdd(y, builder_.CreateMul(ny, z));
  return builder_.CreateAdd(x, builder_.CreateMul(nx, rows));
}

// ---- register tiles ------------------------------------------------------------------------

std::vector<llvm::AllocaInst*>& Emitter::TileVariable(uint32_t value) {
  std::vector<llvm::AllocaInst*>& variable = tiles_[value];
  const auto slots = Size(Layout(LayoutOf(value)).slots());
  while (variable.size() < slots) {
    variable.push_back(
        Variable(TypeOf(program_.type(value).dtype), llvm::StringRef(kernel().ValueName(value))));
  }
  return variable;
}

Slots Emitter::ReadTile(uint32_t value) {
  Slots out;
  llvm::Type* type = TypeOf(program_.type(value).dtype);
  for (llvm::AllocaInst* slot : TileVariable(value)) out.push_back(builder_.CreateLoad(type, slot));
  return out;
}

void Emitter::WriteTile(uint32_t value, const Slots& slots, const Slots& words) {
  std::vector<llvm::AllocaInst*>& variable = TileVariable(value);
  for (size_t i = 0; i < variable.size(); ++i) builder_.CreateStore(slots[i], variable[i]);
  if (!KeepsWords(value)) return;
  const DType type = program_.type(value).dtype;
  Slots stored = words;
  if (stored.empty()) {
    Slots codes;
    for (llvm::Value* slot : slots) codes.push_back(ToCode(builder_, slot, type));
    stored = WordsOfCodes(*this, *CodeBits(value), codes);
  }
  std::vector<llvm::AllocaInst*>& places = WordVariable(value);
  for (size_t i = 0; i < places.size(); ++i) builder_.CreateStore(stored[i], places[i]);
}

// ---- words of codes ------------------------------------------------------------------------

// Words are worth keeping where a recipe reads them: always in lanes, else where they come as
// words.
void Emitter::FindWords() {
  const size_t values = program_.types().size();
  std::vector<bool> read(values, false), loaded(values, false);
  for (const ResolvedInst& inst : program_.instructions()) {
    for (const uint32_t result : inst.results) {
      loaded[result] = loaded[result] || inst.row->Has(kGivesCodes);
    }
    if (inst.row->Has(kReadsCodes) && inst.operand[0].IsTile()) read[inst.operand[0].value] = true;
  }
  keeps_words_.assign(values, false);
  for (uint32_t value = 0; value < values; ++value) {
    const ConcreteType& type = program_.type(value);
    if (!read[value] || !LowPrecision(type.dtype)) continue;
    const Result<BitLayout> bits = CodeBits(value);
    keeps_words_[value] = bits.ok() && bits->count() == Layout(LayoutOf(value)).slots() &&
                          (bits->order() == BitOrder::kLanes || loaded[value]);
  }
}

Result<BitLayout> Emitter::CodeBits(uint32_t value) const {
  const ConcreteType& type = program_.type(value);
  if (type.bit_layout) return *type.bit_layout;
  return BitLayout::Contiguous(type.dtype, Layout(LayoutOf(value)).slots());
}

std::vector<llvm::AllocaInst*>& Emitter::WordVariable(uint32_t value) {
  std::vector<llvm::AllocaInst*>& variable = words_[value];
  const auto count = Size(CodeBits(value)->words());
  while (variable.size() < count) variable.push_back(Variable(I(32), "words"));
  return variable;
}

Slots Emitter::ReadWords(uint32_t value) {
  Slots out;
  for (llvm::AllocaInst* word : WordVariable(value)) {
    out.push_back(builder_.CreateLoad(I(32), word));
  }
  return out;
}

Slots Emitter::TileOperand(size_t i, size_t slots) {
  const Operand& operand = inst_->operand[i];
  if (!operand.IsTile()) return Slots(slots, ScalarOperand(i));
  return Convert(ReadTile(operand.value), operand.type, LayoutOf(operand.value),
                 inst_layouts_->operand[i]);
}

void Emitter::SetResult(size_t r, const Slots& slots) {
  const uint32_t value = inst_->results[r];
  WriteTile(value,
            Convert(slots, program_.type(value).dtype, inst_layouts_->result[r], LayoutOf(value)));
}

Slots Emitter::Convert(const Slots& slots, DType type, LayoutId from, LayoutId to) {
  if (from == to) return slots;
  if (const auto order = SlotPermutation(Layout(from), Layout(to))) {
    Slots out;
    for (const int64_t slot : *order) {
      out.push_back(slot < 0 ? llvm::Constant::getNullValue(TypeOf(type)) : slots[Size(slot)]);
    }
    return out;
  }
  return ExchangeElements(slots, type, from, to);
}

void Emitter::SetResult(size_t r, const Slots& slots, const Slots& words) {
  const uint32_t value = inst_->results[r];
  if (inst_layouts_->result[r] != LayoutOf(value)) return SetResult(r, slots);
  WriteTile(value, slots, words);
}

int64_t Emitter::ElementCount(LayoutId layout) const {
  int64_t n = 1;
  for (const int64_t extent : Layout(layout).shape()) n *= extent;
  return n;
}

LayoutId Emitter::AddLayout(TileLayout layout) {
  std::vector<TileLayout>& all = layouts_.layouts;
  const auto found = std::find(all.begin(), all.end(), layout);
  if (found != all.end()) return static_cast<LayoutId>(found - all.begin());
  all.push_back(std::move(layout));
  return static_cast<LayoutId>(all.size() - 1);
}

// ---- where elements are --------------------------------------------------------------------

llvm::Value* Emitter::ThreadIndex(LayoutId layout, int dim) {
  llvm::Value*& known = thread_index_[{layout, dim}];
  if (known != nullptr) return known;
  llvm::IRBuilder<>::InsertPointGuard guard(builder_);
  builder_.SetInsertPoint(entry_end_);
  llvm::Value* sum = Int32(0);
  int64_t stride = threads();
  for (const RegLayout::Digit& digit : Layout(layout).reg().spatial()) {
    stride /= digit.extent;
    if (digit.dim != dim) continue;
    llvm::Value* part = builder_.CreateUDiv(thread_, Int32(stride));
    if (stride * digit.extent < threads()) part = builder_.CreateURem(part, Int32(digit.extent));
    sum = builder_.CreateAdd(sum, builder_.CreateMul(part, Int32(digit.stride)));
  }
  known = sum;
  return known;
}

llvm::Value* Emitter::ElementIndex(LayoutId layout, int64_t slot, int dim) {
  const int64_t offset = Layout(layout).SlotOffset(slot)[Size(dim)];
  return builder_.CreateAdd(ThreadIndex(layout, dim), Int32(offset));
}

llvm::Value* Emitter::IsElement(LayoutId layout, int64_t slot) {
  const TileLayout& tile = Layout(layout);
  llvm::Value* holds = nullptr;
  for (int d = 0; d < tile.rank(); ++d) {
    if (!tile.PaddedAlong(d)) continue;
    holds = And(
        holds, builder_.CreateICmpULT(ElementIndex(layout, slot, d), Int32(tile.shape()[Size(d)])));
  }
  return holds;
}

llvm::Value* Emitter::IsFirstHolder(LayoutId layout) {
  if (!Layout(layout).replicated()) return nullptr;
  llvm::Value*& known = first_holder_[layout];
  if (known != nullptr) return known;
  llvm::IRBuilder<>::InsertPointGuard guard(builder_);
  builder_.SetInsertPoint(entry_end_);
  int64_t stride = threads();
  for (const RegLayout::Digit& digit : Layout(layout).reg().spatial()) {
    stride /= digit.extent;
    if (digit.dim != RegLayout::kReplication) continue;
    llvm::Value* part =
        builder_.CreateURem(builder_.CreateUDiv(thread_, Int32(stride)), Int32(digit.extent));
    known = And(known, builder_.CreateICmpEQ(part, Int32(0)));
  }
  return known;
}

Emitter::Linear Emitter::LinearParts(LayoutId layout, int64_t slot) {
  const TileLayout& tile = Layout(layout);
  const Extents offset = tile.SlotOffset(slot);
  llvm::Value*& thread = linear_thread_[layout];
  const bool known = thread != nullptr;
  if (!known) thread = Int32(0);
  llvm::IRBuilder<>::InsertPointGuard guard(builder_);
  builder_.SetInsertPoint(entry_end_);
  Linear out;
  int64_t stride = 1;
  for (int d = tile.rank() - 1; d >= 0; --d) {
    out.slot += offset[Size(d)] * stride;
    if (!known) {
      thread =
          builder_.CreateAdd(thread, builder_.CreateMul(ThreadIndex(layout, d), Int32(stride)));
    }
    stride *= tile.shape()[Size(d)];
  }
  out.thread = thread;
  return out;
}

llvm::Value* Emitter::LinearIndex(LayoutId layout, int64_t slot) {
  const Linear parts = LinearParts(layout, slot);
  return builder_.CreateAdd(parts.thread, Int32(parts.slot));
}

// ---- parameters ------------------------------------------------------------------------------

void Emitter::RequireAlignment(uint32_t parameter, uint64_t bytes) {
  uint32_t& alignment = info_.parameters[parameter].alignment;
  alignment = std::max(alignment, static_cast<uint32_t>(bytes));
}

llvm::Value* Emitter::LockWord() {
  if (lock_word_ != nullptr) return lock_word_;
  auto* word = new llvm::GlobalVariable(*module_, I(32), false, llvm::GlobalValue::InternalLinkage,
                                        builder_.getInt32(0), kLockName, nullptr,
                                        llvm::GlobalValue::NotThreadLocal, 1);
  word->setAlignment(llvm::Align(4));
  lock_word_ = llvm::ConstantExpr::getPtrToInt(word, I(64));
  return lock_word_;
}

llvm::Value* Emitter::WorkspaceAddress(uint32_t value) {
  for (size_t i = 0; i < info_.workspace.size(); ++i) {
    if (info_.workspace[i].value == value) {
      return function_->getArg(static_cast<unsigned>(kernel().params.size() + i));
    }
  }
  return Int64(0);
}

LowerFunction LoweringOf(Opcode opcode) {
  static constexpr LowerFunction kFunctions[] = {
#define INST(name, ...) &Lower##name,
#include "isa/isa.def"
#undef INST
  };
  return kFunctions[static_cast<size_t>(opcode)];
}

}  // namespace tarsia::compiler
