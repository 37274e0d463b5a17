// docs/isa.md, from the table of instructions and the rules of arithmetic.
#include <fmt/format.h>

#include "tools/isa/text.h"
#include "tools/output.h"

namespace tarsia::tools {
namespace {

constexpr std::string_view kHead =
    R"(<!-- Made by `tarsia isa --markdown` from isa/isa.def. -->
# Instructions

A program describes what one thread block does to tiles. An instruction acts on a whole tile; a
layout assigns the elements of the tile to threads. Scalars are the same in all threads of a block.
[syntax.md](syntax.md) describes the text of programs, [dtypes.md](dtypes.md) the element types, and
[layouts.md](layouts.md) the layouts. `tarsia isa MNEMONIC` prints one entry of this page.

## How to read this

`%value` is a result, and a plain word is an operand. A part in `[..]` is optional. After `:` comes
what the annotation must state. It may state more, if that agrees with what is inferred, and it may
fix the layout of any register result. *Scalar* means an expression of scalars and
constants. `source[index, ..]` is a position in a memory tile: one index per dimension, exact in 64
bits.

- A read outside of a view's shape yields all-zero bits; a write outside has no effect. No byte after
  the view's last byte is ever accessed.
- A register tile is a variable: assigning it again keeps its type.
- *Codes* are the numbers in bytecode. They are never changed and never reused.

## Arithmetic

| what | rule |
|---|---|
| which types | arithmetic on i8 to i64, u8 to u64, f16, bf16, f32, f64; `fma` and `dot` on c32 and c64 too, whose parts `real` and `imag` take and `complex` joins; all other types can be loaded, stored, moved and cast |
| integers | results wrap; x / 0 is all ones, and the least value / -1 is itself; a shift by the width or more gives 0, or the sign for `shr` of a signed type |
| floats | one rounding per operation, to nearest, ties to even; subnormals are honoured, but for atomic sums of f32 in global memory; a * b + c is contracted only in `fma` and in kernels with `fast`; if one operand of `min` or `max` is a NaN, they return the other one; a NaN that arithmetic or `cast` makes has any sign and payload |
| approximations | the column *error* below: the largest error in units in the last place; 0 is exact or correctly rounded |
| `fast` | on an instruction, or on the kernel for all instructions that can have it: f16, bf16 and f32 are computed by the GPU's own form for f32, and rounded to f16 or bf16 after that. The column *`fast` error* below is the largest distance of the f32 from the true result; of two figures the larger one counts. Operands and results below 2^-126 may count as 0. The figures follow from [the errors of PTX](ptx.md#approximations). `fast` on a kernel changes nothing in f64 |
| accumulation | `dot` of f16, bf16, tf32, f32 and 8-bit floats accumulates in f32, of i8 and u8 in i32, of f64 in f64, of complex types in c64; `reduce` and `scan` of f16 and bf16 accumulate in f32; the order of additions is free, everything else is not |
| bool | one byte in memory, 0 or 1 |
)";

struct FamilyText {
  Family family;
  std::string_view title;
  std::string_view text;
};
constexpr FamilyText kFamilyTexts[] = {
    {Family::kControl, "Control",
     "Block and grid indices, scalars, loops, branches. Control flow is the same for all threads "
     "of a block."},
    {Family::kMemory, "Memory",
     "Views of pointers, memory of the block, loads and stores, asynchronous copies, atomics."},
    {Family::kShape, "Shape", "The same elements under another shape or layout."},
    {Family::kElementwise, "Elementwise",
     "Each result element depends on the operands' elements at the same indices. Tiles of one "
     "instruction have the same extents, or 1, counted from the last axis on; an extent of 1, and "
     "an "
     "axis that a tile lacks, is repeated. A scalar counts as a tile of equal elements. If all "
     "operands are scalars, the result is a scalar."},
    {Family::kConvert, "Conversion", "From any type to any other."},
    {Family::kMma, "Matrix product", ""},
    {Family::kReduce, "Reduction",
     "`reduce` combines the elements along one or more axes of a register tile, `scan` those up to "
     "each element of an axis; `topk` finds the largest along an axis."},
    {Family::kSync, "Synchronisation", ""},
};

std::string RowEntry(const InstRow& row) {
  std::string out =
      fmt::format("\n### `{}`\n\n    {}\n\n{}\n", row.mnemonic, Signature(row), Wrap(row.doc, 100));
  const std::string annotation = AnnotationText(row.annotation);
  if (row.operands.size() + row.attrs.size() != 0 || !annotation.empty()) out += "\n";
  for (const OperandRow& operand : row.operands) {
    out += fmt::format("- `{}`: {}\n", operand.name, OperandText(operand));
  }
  for (const Attr attr : row.attrs) {
    out += fmt::format("- `{}`: {}\n", AttributeText(attr), Row(attr).doc);
  }
  if (!annotation.empty()) out += fmt::format("- `: type`: {}\n", annotation);
  return out;
}

std::string Family(const FamilyText& family) {
  std::string out = fmt::format("\n## {}\n", family.title);
  if (!family.text.empty()) out += fmt::format("\n{}\n", Wrap(family.text, 100));
  for (const InstRow& row : AllInstructions()) {
    if (row.family == family.family) out += RowEntry(row);
  }
  return out;
}

std::string CodeTable() {
  std::string out =
      "\n## By code\n\n| code | instruction | family | since | error (ulp) | `fast` error "
      "|\n|---|---|---|---|---|---|\n";
  for (const InstRow& row : AllInstructions()) {
    out += fmt::format("| 0x{:02X} | `{}` | {} | 0.{} | {} | {} |\n", row.code, row.mnemonic,
                       FamilyName(row.family), row.since, row.ulp, FastErrorText(row));
  }
  return out;
}

}  // namespace

std::string IsaMarkdown() {
  std::string out(kHead);
  for (const FamilyText& family : kFamilyTexts) out += Family(family);
  return out + CodeTable();
}

}  // namespace tarsia::tools
