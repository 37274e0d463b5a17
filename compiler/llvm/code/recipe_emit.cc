#include "compiler/llvm/code/recipe_emit.h"

#include <llvm/IR/InlineAsm.h>

#include <string>
#include <utility>
#include <vector>

#include "support/extents.h"

namespace tarsia::compiler {
namespace {

class StepEmitter {
 public:
  StepEmitter(FunctionBuilder& function, const Recipe& recipe, Slots words)
      : f_(function), recipe_(recipe), registers_(std::move(words)) {}

  // A value of the compute type for each slot.
  Slots Run(size_t slots) {
    for (const RecipeStep& step : recipe_.steps) registers_.push_back(Emit(step));
    llvm::IRBuilder<>& b = f_.b();
    Slots out;
    const size_t lanes = recipe_.lanes();
    const auto bits = recipe_.compute.bits;
    for (size_t slot = 0; slot < slots; ++slot) {
      llvm::Value* word = registers_[recipe_.values[slot / lanes]];
      if (slot % lanes != 0) word = b.CreateLShr(word, slot % lanes * bits);
      out.push_back(b.CreateBitCast(b.CreateTrunc(word, f_.I(bits)), f_.TypeOf(recipe_.compute)));
    }
    return out;
  }

 private:
  llvm::Value* Emit(const RecipeStep& step) {
    switch (step.op) {
      case RecipeOp::kTurn:
        return Instruction("shf.r.wrap.b32", {step.a, step.b, step.c});
      case RecipeOp::kPermute:
        return Instruction("prmt.b32", {step.a, step.b, step.c});
      case RecipeOp::kLop3:
        return Instruction("lop3.b32",
                           {step.a, step.b, step.c, {true, static_cast<uint32_t>(step.table)}});
      case RecipeOp::kAdd:
        return Instruction("add.u32", {step.a, step.b});
      case RecipeOp::kFma:
        return Instruction(recipe_.compute == kF16 ? "fma.rn.f16x2" : "fma.rn.bf16x2",
                           {step.a, step.b, step.c}, /*immediates=*/false);
    }
    return nullptr;
  }

  // One instruction without effects, of 32-bit registers: LLVM may move, merge and drop it, but
  // does not know what it computes.
  llvm::Value* Instruction(const std::string& mnemonic, const std::vector<RecipeOperand>& operands,
                           bool immediates = true) {
    std::string text = mnemonic + " $0";
    std::string constraints = "=r";
    std::vector<llvm::Value*> arguments;
    for (const RecipeOperand& operand : operands) {
      text += ", ";
      if (operand.is_constant && immediates) {
        text += std::to_string(operand.value);
        continue;
      }
      arguments.push_back(operand.is_constant ? f_.Int32(operand.value)
                                              : registers_[operand.value]);
      text += "$" + std::to_string(arguments.size());
      constraints += ",r";
    }
    const std::vector<llvm::Type*> types(arguments.size(), f_.I(32));
    auto* type = llvm::FunctionType::get(f_.I(32), types, false);
    llvm::CallInst* call = f_.b().CreateCall(
        type, llvm::InlineAsm::get(type, text + ";", constraints, /*hasSideEffects=*/false),
        arguments);
    call->setDoesNotAccessMemory();
    call->setDoesNotThrow();
    call->addFnAttr(llvm::Attribute::WillReturn);
    return call;
  }

  FunctionBuilder& f_;
  const Recipe& recipe_;
  Slots registers_;
};

}  // namespace

std::optional<Slots> DecodeByRecipe(FunctionBuilder& function, RegisterTiles& tiles, uint32_t value,
                                    DType compute, RecipeForm form) {
  if (!tiles.KeepsWords(value)) return std::nullopt;
  const Result<BitLayout> bits = tiles.CodeBits(value);
  if (!bits.ok() || !HasRecipe(*bits, compute, form)) return std::nullopt;
  const Result<Recipe> recipe = MakeRecipe(*bits, compute, form);
  if (!recipe.ok()) return std::nullopt;
  return StepEmitter(function, *recipe, *tiles.ReadWords(value)).Run(Size(bits->count()));
}

}  // namespace tarsia::compiler
