// Checks that layouts fit their tiles, and agree with each other.
#ifndef TARSIA_ISA_VALIDATE_TILE_LAYOUTS_H_
#define TARSIA_ISA_VALIDATE_TILE_LAYOUTS_H_

#include <optional>
#include <string>

#include "isa/validate/expressions.h"

namespace tarsia {

// Every function returns false after an error.
class TileLayouts {
 public:
  // `warps`: of the kernel, if they are known.
  TileLayouts(KernelContext& context, Expressions& expressions, std::optional<int64_t> warps)
      : context_(context), expressions_(expressions), warps_(warps) {}

  // The layouts in the type of a result are of the right kind, and fit its shape and elements.
  bool Check(const Inst& inst, const ValueType& type);
  // Two written layouts are the same; `what_a` and `what_b` name them in the message.
  bool Agree(const Inst& inst, ExprId a, const std::string& what_a, ExprId b,
             const std::string& what_b, Location location);

  // Adds the place where the text states a layout last, before an instruction, to an error there.
  void NoteWhereWritten(const Inst& inst, ExprId layout, Diagnostic& error);

 private:
  bool CheckRegister(const ValueType& type, Location location);
  bool CheckBits(const ValueType& type, Location location);
  bool CheckMemory(const ValueType& type, Location location);
  // Whether the text of an instruction states the layout.
  bool IsWrittenAt(const Inst& inst, ExprId layout);
  void NoteAt(Location location, ExprId layout, Diagnostic& error);

  KernelContext& context_;
  Expressions& expressions_;
  std::optional<int64_t> warps_;
};

}  // namespace tarsia

#endif  // TARSIA_ISA_VALIDATE_TILE_LAYOUTS_H_
