// The annotations `: type` of instructions.
#ifndef TARSIA_ISA_VALIDATE_ANNOTATIONS_H_
#define TARSIA_ISA_VALIDATE_ANNOTATIONS_H_

#include <string>

#include "isa/validate/expressions.h"
#include "isa/validate/scopes.h"

namespace tarsia {

class Annotations {
 public:
  Annotations(KernelContext& context, Expressions& expressions, Scopes& scopes)
      : context_(context), expressions_(expressions), scopes_(scopes) {}

  // False after an error: the annotation lacks a part that the row needs, or a part is wrong.
  bool Check(const Inst& inst, const InstRow& row);
  // The annotation with its parts folded.
  TypeExpr Get(const Inst& inst);
  // Space, element type and shape as written.
  [[nodiscard]] std::string Text(const Inst& inst) const;

 private:
  bool CheckComplete(const Inst& inst, const InstRow& row);
  bool CheckParts(const Inst& inst, const InstRow& row);
  bool CheckShape(const Inst& inst, ExprId shape, bool runtime_allowed);

  KernelContext& context_;
  Expressions& expressions_;
  Scopes& scopes_;
};

}  // namespace tarsia

#endif  // TARSIA_ISA_VALIDATE_ANNOTATIONS_H_
