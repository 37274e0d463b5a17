#include "compiler/llvm/backend.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/Analysis/CGSCCPassManager.h>
#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/Analysis/ProfileSummaryInfo.h>
#include <llvm/IR/DiagnosticHandler.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/OptBisect.h>
#include <llvm/IR/PassInstrumentation.h>
#include <llvm/IR/PassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/IndVarSimplify.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/LoopRotation.h>
#include <llvm/Transforms/Scalar/LoopUnrollPass.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Scalar/Sink.h>
#include <llvm/Transforms/Utils/LCSSA.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>

#include <memory>
#include <mutex>
#include <utility>

#include "compiler/diagnostics.h"
#include "compiler/llvm/isolation.h"
#include "compiler/llvm/keep_constants.h"
#include "compiler/llvm/merge_assembly.h"
#include "compiler/llvm/order_copies.h"
#include "compiler/llvm/recompute.h"
#include "compiler/llvm/reduce_addresses.h"

// From LLVM's NVPTX library; llvm/Support/TargetSelect.h would want all targets.
extern "C" {
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

namespace tarsia::compiler {
namespace {

constexpr char kTriple[] = "nvptx64-nvidia-cuda";
constexpr char kDataLayout[] = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64";

// Collects LLVM's errors instead of letting it print them and end the process.
class ErrorCollector : public llvm::DiagnosticHandler {
 public:
  explicit ErrorCollector(std::string* errors) : errors_(errors) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (info.getSeverity() != llvm::DS_Error) return true;
    if (!errors_->empty()) *errors_ += "; ";
    llvm::raw_string_ostream stream(*errors_);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info.print(printer);
    return true;
  }

 private:
  std::string* errors_;
};

// Puts a collector into a context and the old handler back.
class CollectErrors {
 public:
  explicit CollectErrors(llvm::LLVMContext& context)
      : context_(context), old_(context.getDiagnosticHandler()) {
    context_.setDiagnosticHandler(std::make_unique<ErrorCollector>(&errors_));
  }
  ~CollectErrors() { context_.setDiagnosticHandler(std::move(old_)); }
  CollectErrors(const CollectErrors&) = delete;
  CollectErrors& operator=(const CollectErrors&) = delete;
  [[nodiscard]] const std::string& errors() const { return errors_; }

 private:
  llvm::LLVMContext& context_;
  std::unique_ptr<llvm::DiagnosticHandler> old_;
  std::string errors_;
};

// Passes of code generation over LLVM IR that are left out: OurPasses and ptxas do the same work.
// ReduceAddressesPass has the place of the first; without the others, which took a tenth of the
// time to compile a matmul, the machine code is the same.
bool IsLeftOut(llvm::StringRef pass) {
  return llvm::is_contained(
      {"Loop Strength Reduction", "Early CSE", "Nary reassociation",
       "Straight line strength reduction", "Speculatively execute instructions",
       "Split GEPs to a variadic base and a constant offset for better CSE"},
      pass);
}

// While it lives, passes of code generation that can be left out are: those above, and all once the
// compilation is cancelled.
class SkipPasses final : public llvm::OptPassGate {
 public:
  SkipPasses(llvm::LLVMContext& context, StopFlag& stop)
      : context_(context), old_(context.getOptPassGate()), stop_(stop) {
    context_.setOptPassGate(*this);
  }
  ~SkipPasses() override { context_.setOptPassGate(old_); }
  SkipPasses(const SkipPasses&) = delete;
  SkipPasses& operator=(const SkipPasses&) = delete;
  bool shouldRunPass(llvm::StringRef pass, llvm::StringRef) override {
    AbandonIfOutOfMemory();
    const StopReason reason = stop_.Ask();
    // The process waits, and what is left of the compilation does not matter any more.
    if (reason == StopReason::kExit) {
      AbandonCompilation(MakeDiagnostic(diag::kCompileStopped, Location()));
    }
    return reason == StopReason::kNone && !IsLeftOut(pass);
  }
  [[nodiscard]] bool isEnabled() const override { return true; }

 private:
  llvm::LLVMContext& context_;
  llvm::OptPassGate& old_;
  StopFlag& stop_;
};

const llvm::Target* FindBackend(std::string& error) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  return llvm::TargetRegistry::lookupTarget(kTriple, error);
}

Result<std::unique_ptr<llvm::TargetMachine>> MakeMachine(Target target) {
  std::string error;
  const llvm::Target* backend = FindBackend(error);
  if (backend == nullptr) return MakeDiagnostic(diag::kLlvmNoBackend, Location(), error);
  const TargetRow& row = Row(target);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;  // by the flags of each instruction alone
  std::unique_ptr<llvm::TargetMachine> machine(backend->createTargetMachine(
      kTriple, std::string(row.name), "+ptx" + std::to_string(row.ptx_version), options,
      llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Default));
  if (!machine) return MakeDiagnostic(diag::kLlvmNoBackend, Location(), row.name);
  return machine;
}

// Rotates loops, hoists out of them, counts them and unrolls as their metadata says.
void AddLoopPasses(llvm::FunctionPassManager& passes) {
  llvm::LoopPassManager rotate;
  rotate.addPass(llvm::LoopRotatePass());
  rotate.addPass(llvm::LICMPass(llvm::LICMOptions()));
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(rotate), /*UseMemorySSA=*/true));
  llvm::LoopPassManager count;
  count.addPass(llvm::IndVarSimplifyPass());
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(count)));
  passes.addPass(llvm::LoopUnrollPass(llvm::LoopUnrollOptions(/*OptLevel=*/2,
                                                              /*OnlyWhenForced=*/true)));
}

// LLVM 19 converts the i1 of `sitofp` as 0 or 1, where true is -1 (llvm-project, pull request
// 110866). InstCombine makes such out of conversions of sign-extended truth values.
class ReplaceSignedTruth : public llvm::PassInfoMixin<ReplaceSignedTruth> {
 public:
  static llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
    bool changed = false;
    for (llvm::Instruction& instruction :
         llvm::make_early_inc_range(llvm::instructions(function))) {
      auto* const cast = llvm::dyn_cast<llvm::SIToFPInst>(&instruction);
      if (cast == nullptr || !cast->getSrcTy()->isIntegerTy(1)) continue;
      llvm::Type* const type = cast->getDestTy();
      auto* const value =
          llvm::SelectInst::Create(cast->getOperand(0), llvm::ConstantFP::get(type, -1.0),
                                   llvm::ConstantFP::get(type, 0.0), "", cast->getIterator());
      value->setDebugLoc(cast->getDebugLoc());
      cast->replaceAllUsesWith(value);
      cast->eraseFromParent();
      changed = true;
    }
    return changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
  }
};

// ptxas optimises again, so this has to do what it cannot: algebra, and loops while they still have
// types. The code that comes in has no variables in memory. bench/results/compile.md compares it
// with LLVM's own lists.
llvm::FunctionPassManager OurPasses() {
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::EarlyCSEPass());
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass());
  AddLoopPasses(passes);
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(OrderCopiesPass());
  passes.addPass(ReplaceSignedTruth());
  passes.addPass(KeepConstantsPass());
  passes.addPass(MergeAssemblyPass());
  passes.addPass(llvm::LoopSimplifyPass());
  passes.addPass(ReduceAddressesPass());
  // What is needed after a loop only is computed there, not kept in registers through it.
  passes.addPass(llvm::SinkingPass());
  passes.addPass(RecomputePass());
  return passes;
}

void RunPasses(llvm::Module& module, llvm::TargetMachine& machine, StopFlag& stop) {
  llvm::PassInstrumentationCallbacks callbacks;
  callbacks.registerShouldRunOptionalPassCallback(
      [&stop](llvm::StringRef, const llvm::Any&) { return !stop.Stopped(); });
  callbacks.registerBeforeNonSkippedPassCallback(
      [](llvm::StringRef, const llvm::Any&) { AbandonIfOutOfMemory(); });
  llvm::PassBuilder builder(&machine, llvm::PipelineTuningOptions(), std::nullopt, &callbacks);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager passes;
  passes.addPass(llvm::RequireAnalysisPass<llvm::ProfileSummaryAnalysis, llvm::Module>());
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(OurPasses()));
  passes.run(module, modules);
}

// Before and after the passes, in builds with asserts.
Status Verify([[maybe_unused]] const llvm::Module& module) {
#ifndef NDEBUG
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (llvm::verifyModule(module, &stream)) {
    stream.flush();
    return MakeDiagnostic(diag::kLlvmInvalid, Location(), text);
  }
#endif
  return OkStatus();
}

Status RunOn(llvm::Module& module, Target target, llvm::TargetMachine& machine, StopFlag& stop) {
  TARSIA_CHECK(Verify(module));
  CollectErrors collect(module.getContext());
  RunPasses(module, machine, stop);
  if (stop.Stopped()) return MakeDiagnostic(diag::kCompileStopped, Location());
  if (collect.errors().empty()) return Verify(module);
  return MakeDiagnostic(diag::kLlvmFailed, Location(), Row(target).name, collect.errors());
}

}  // namespace

void SetTriple(llvm::Module& module) {
  module.setTargetTriple(kTriple);
  module.setDataLayout(kDataLayout);
}

Result<std::string> EmitPtx(llvm::Module& module, Target target, StopFlag& stop) {
  SetTriple(module);
  TARSIA_TRY(auto machine, MakeMachine(target));
  TARSIA_CHECK(RunOn(module, target, *machine, stop));
  const SkipPasses skip(module.getContext(), stop);
  CollectErrors collect(module.getContext());
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager code_generation;
  if (machine->addPassesToEmitFile(code_generation, stream, nullptr,
                                   llvm::CodeGenFileType::AssemblyFile)) {
    return MakeDiagnostic(diag::kLlvmNoBackend, Location(), "no assembly printer");
  }
  code_generation.run(module);
  if (stop.Stopped()) return MakeDiagnostic(diag::kCompileStopped, Location());
  if (!collect.errors().empty()) {
    return MakeDiagnostic(diag::kLlvmFailed, Location(), Row(target).name, collect.errors());
  }
  return text.str().str();
}

void MakeOnceForAll() {
  llvm::LLVMContext context;
  llvm::Module module("nothing", context);
  SetTriple(module);
  llvm::IRBuilder<> builder(context);
  auto* const type =
      llvm::FunctionType::get(builder.getVoidTy(), {builder.getInt64Ty()}, /*isVarArg=*/false);
  auto* const kernel =
      llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, "nothing", module);
  builder.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", kernel));
  auto* const address =
      builder.CreateIntToPtr(kernel->getArg(0), llvm::PointerType::get(context, /*global=*/1));
  builder.CreateStore(builder.CreateLoad(builder.getInt32Ty(), address), address);
  builder.CreateRetVoid();
  (void)EmitPtx(module, Target::kSm80);
}

}  // namespace tarsia::compiler
