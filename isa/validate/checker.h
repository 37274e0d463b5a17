// What the rules of the validator (isa/validate/<family>.cc) are written in. Internal to isa/.
//
// A rule gets an instruction whose operands are of the right kinds and element types already
// (that follows from isa.def) and says the rest: how operands agree, and what the results are.
// Comparisons have three outcomes while constants are open: only what is certainly wrong is
// reported, the rest is decided when the kernel is specialised.
#ifndef TARSIA_ISA_VALIDATE_CHECKER_H_
#define TARSIA_ISA_VALIDATE_CHECKER_H_

#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "isa/diagnostics.h"
#include "isa/fold.h"
#include "isa/module.h"
#include "isa/specialise.h"
#include "isa/validate.h"
#include "layout/text/eval.h"

namespace tarsia {

// The static kind of a constant's value.
ExprType ExprTypeOf(ConstKind kind);

class Checker final : public TypeEnv {
 public:
  using Type = ::tarsia::ValueType;

  // `limits` is null while constants are open.
  Checker(Module& module, Kernel& kernel, const TargetLimits* limits, Diagnostics& diagnostics);

  // Judges the whole kernel. The types of its values are then in types().
  void Run();
  std::vector<Type> TakeTypes() { return std::move(types_); }
  // The kernel's warps where they are known.
  [[nodiscard]] std::optional<int64_t> warps() const { return warps_; }

  // ---- for rules: operands -----------------------------------------------------------------

  struct Operand {
    ExprId id;
    const Type* type = nullptr;  // null: a constant expression
    ExprType constant = ExprType::kUnknown;
    std::string_view name;  // as in isa.def
    Location location;
    [[nodiscard]] bool present() const { return !id.none(); }
    [[nodiscard]] bool IsTile() const { return type != nullptr && type->kind == ValueKind::kTile; }
  };
  [[nodiscard]] Operand Get(const Inst& inst, size_t operand) const;
  [[nodiscard]] const Type& TypeOfValue(uint32_t value) const { return types_[value]; }
  // The number an expression folds to, where it is known.
  std::optional<int64_t> FoldedInt(ExprId id) { return pool().AsInt(folder_.Fold(id)); }
  // The same; what can have no value although nothing is open is reported.
  std::optional<int64_t> KnownInt(ExprId id, Location location);
  // The list of indices of a kElement operand.
  [[nodiscard]] ExprId Indices(const Inst& inst, size_t operand) const;
  [[nodiscard]] size_t Rank(ExprId shape) const { return pool().children(shape).size(); }
  [[nodiscard]] ExprId Extent(ExprId shape, size_t dim) const {
    return pool().children(shape)[dim];
  }
  std::optional<int64_t> IntAttr(const Inst& inst, Attr attr, int64_t fallback);
  [[nodiscard]] bool Flag(const Inst& inst, Attr attr) const {
    return !kernel_.AttrOf(inst, attr).none();
  }
  [[nodiscard]] std::string_view Word(const Inst& inst, Attr attr) const;
  // A list attribute as axes below `rank`, each at most once; nothing after an error.
  std::optional<std::vector<size_t>> Axes(const Inst& inst, Attr attr, size_t rank);
  std::optional<size_t> Axis(const Inst& inst, size_t rank);

  // ---- for rules: agreement ----------------------------------------------------------------

  // Certainly different.
  [[nodiscard]] bool Differ(ExprId a, ExprId b) const;
  [[nodiscard]] bool ShapesDiffer(ExprId a, ExprId b) const;
  bool SameDType(const Inst& inst, const Operand& a, const Operand& b);
  bool SameShape(const Inst& inst, const Operand& a, const Operand& b);
  // Written layouts of operands and result agree (elementwise rules).
  bool SameLayout(const Inst& inst, const Operand& a, const Operand& b);
  // The same of two layouts, of which the second one may be at fault.
  bool SameLayout(const Inst& inst, ExprId a, const std::string& what_a, ExprId b,
                  const std::string& what_b, Location location);
  // A constant operand is a value of the type.
  bool LiteralFits(const Operand& operand, ExprId dtype);
  [[nodiscard]] std::optional<DType> DTypeOf(ExprId dtype) const { return pool().AsDType(dtype); }

  // ---- for rules: results ------------------------------------------------------------------

  // The annotation with its parts folded.
  [[nodiscard]] TypeExpr Annotation(const Inst& inst);
  [[nodiscard]] Type Scalar(ExprId dtype) const;
  [[nodiscard]] Type RegisterTile(ExprId dtype, ExprId shape) const;
  [[nodiscard]] Type MemoryTile(Space space, ExprId dtype, ExprId shape) const;
  // Merges the annotation into the inferred type, checks layouts and sizes, and gives the type
  // to the result's value for life.
  void Define(const Inst& inst, size_t result, Type type);
  ExprId Shape(const std::vector<ExprId>& extents) { return pool().List(extents); }

  // ---- for rules: errors -------------------------------------------------------------------

  template <typename... Args>
  Diagnostic& Error(const DiagInfo& info, Location location, const Args&... args) {
    return diagnostics_.Error(info, location, args...);
  }
  [[nodiscard]] Location At(const Inst& inst) const { return kernel_.LocationOf(inst); }
  [[nodiscard]] Location AtType(const Inst& inst) const { return kernel_.TypeLocation(inst); }
  Location AtAttr(const Inst& inst, Attr attr) const;
  [[nodiscard]] std::string Text(ExprId id) const { return ToString(pool(), id, &kernel_); }
  [[nodiscard]] std::string Describe(const Type& type) const;
  [[nodiscard]] std::string Describe(const Operand& operand) const;

  ExprPool& pool() { return module_.pool; }
  [[nodiscard]] const ExprPool& pool() const { return module_.pool; }
  [[nodiscard]] const Kernel& kernel() const { return kernel_; }
  [[nodiscard]] int block_depth() const { return depth_; }
  [[nodiscard]] bool closed() const { return limits_ != nullptr; }

  // A value of an expression where it can be computed; errors are reported once and at `location`.
  const EvalValue* TryEvaluate(ExprId id, Location location);
  // False after an error: the expression is of constants alone, and has no value.
  bool ComputeConstant(ExprId id, Location location);
  // The number of elements; nothing while it is open.
  [[nodiscard]] std::optional<int64_t> Elements(ExprId shape) const;
  // Static kind of an expression, checked; kUnknown after an error.
  ExprType TypeOfExpr(ExprId id, Location location);
  void AddShared(const Inst& inst, const Type& type);

  // TypeEnv
  [[nodiscard]] std::optional<ExprType> NameType(StringId name) const override;
  [[nodiscard]] std::optional<ExprType> ValueType(uint32_t value) const override;
  [[nodiscard]] std::vector<std::string_view> Names() const override;

 private:
  void CheckHeader();
  void CheckParameters();
  void CheckConstant(const Constant& constant, size_t index);
  void CheckAssume(const Assume& assume);
  void CheckGridAndWarps();
  // `what` names the expression in a message: a text with a place for `name`.
  bool ExpectKind(ExprId id, ExprType kind, const char* what, Location location,
                  std::string_view name = {});
  bool OnlyParameters(ExprId id, Location location);
  bool OnlyConstants(ExprId id, std::string_view what, Location location, std::string_view help);
  [[nodiscard]] bool UsesNonParameter(ExprId id) const;
  // A tile that the expression mentions; none if there is none.
  [[nodiscard]] ExprId FirstTile(ExprId id) const;

  void CheckBlock(size_t begin, size_t end);
  void CheckInst(const Inst& inst);
  void Show(uint32_t value, Location location);
  void NotAScalar(ExprId value, Location location, ExprId expression);
  void EnterScope(const Inst& inst);
  void LeaveScope(size_t size);
  bool InScope(ExprId id, Location location);
  bool CheckOperands(const Inst& inst, const InstRow& row);
  bool CheckOperand(const Inst& inst, const InstRow& row, size_t i);
  bool CheckValueOperand(const Inst& inst, const InstRow& row, size_t i, const Operand& operand);
  bool CheckCondition(ExprId id, Location location);
  bool CheckExprOperand(const Inst& inst, const InstRow& row, size_t i, const Operand& operand);
  bool CheckIndices(const Inst& inst, size_t i, const Operand& tile);
  bool CheckOperandDType(const InstRow& row, size_t i, const Operand& operand);
  bool CheckAttributes(const Inst& inst, const InstRow& row);
  bool CheckAnnotation(const Inst& inst, const InstRow& row);
  bool CheckAnnotatedShape(const Inst& inst, ExprId shape, bool runtime_allowed);
  bool WrongKind(const Inst& inst, const InstRow& row, size_t i, const Operand& operand);

  bool MergeAnnotation(const Inst& inst, size_t result, Type& type);
  [[nodiscard]] std::string PrintedAnnotation(const Inst& inst) const;
  bool CheckTile(const Inst& inst, Type& type);
  bool CheckRegisterLayout(const Inst& inst, const Type& type);
  bool CheckBitLayout(const Inst& inst, const Type& type);
  bool CheckMemoryLayout(const Inst& inst, const Type& type);

  Module& module_;
  Kernel& kernel_;
  const TargetLimits* limits_;
  Diagnostics& diagnostics_;
  Folder folder_;
  std::vector<Type> types_;
  std::vector<std::pair<StringId, ConstKind>> constants_;
  std::vector<uint8_t> counters_;  // by value: 1 for the counter of a loop
  std::vector<uint8_t> visible_;   // by value: 1 where it is in scope
  std::vector<uint32_t> scope_;    // values in scope, in the order of their definition
  std::set<std::string_view> visible_names_;
  uint32_t next_value_ = 0;
  std::optional<int64_t> warps_;
  int depth_ = 0;
  std::map<ExprId, std::optional<EvalValue>> evaluated_;
  std::vector<uint8_t> expr_types_;  // by node: 1 + ExprType, 0 where not asked yet
  bool checking_parameters_ = false;
  int64_t shared_now_ = 0, shared_peak_ = 0;
  Location shared_location_;
};

// One function a row of isa.def, in isa/validate/<family>.cc.
#define VALIDATE(name) \
  void Validate##name([[maybe_unused]] Checker& check, [[maybe_unused]] const Inst& inst)
#define INST(name, ...) VALIDATE(name);
#include "isa/isa.def"
#undef INST

}  // namespace tarsia

#endif  // TARSIA_ISA_VALIDATE_CHECKER_H_
