// The types of the values that instructions define.
#ifndef TARSIA_ISA_VALIDATE_RESULTS_H_
#define TARSIA_ISA_VALIDATE_RESULTS_H_

#include <vector>

#include "isa/validate/annotations.h"
#include "isa/validate/tile_layouts.h"

namespace tarsia {

class Results {
 public:
  Results(KernelContext& context, Annotations& annotations, TileLayouts& layouts)
      : context_(context),
        annotations_(annotations),
        layouts_(layouts),
        counters_(context.kernel().value_names.size()) {}

  // Merges the annotation into the inferred type, checks layouts and sizes, and sets the permanent
  // type of the result's value.
  void Define(const Inst& inst, size_t result, ValueType type);

 private:
  bool MergeAnnotation(const Inst& inst, size_t result, ValueType& type);
  bool CheckTile(const Inst& inst, const ValueType& type);
  bool CheckSize(const Inst& inst, const ValueType& type);
  bool CheckWritable(uint32_t value, Location location);
  // Shows where the value of the error is first defined.
  void NoteDefinition(uint32_t value, Diagnostic& error) const;
  // The value already has a type, and keeps it.
  void Assign(const Inst& inst, uint32_t value, const ValueType& type, Location location);

  KernelContext& context_;
  Annotations& annotations_;
  TileLayouts& layouts_;
  std::vector<uint8_t> counters_;  // by value: 1 for the counter of a loop
};

}  // namespace tarsia

#endif  // TARSIA_ISA_VALIDATE_RESULTS_H_
