// Writes one random kernel. Internal to the generator, whose interface is random_module.h.
//
// Statements are written in order. Operands of an instruction that do not exist yet (a tile of a
// type and shape, a view, a scalar, a parameter, a constant) are made before it. Parameters and
// constants are collected and the header is written last.
#ifndef TARSIA_TESTS_RANDOM_KERNEL_WRITER_H_
#define TARSIA_TESTS_RANDOM_KERNEL_WRITER_H_

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isa/instruction.h"
#include "isa/module.h"
#include "tests/random/random_module.h"
#include "tests/random/rng.h"

namespace tarsia {

class KernelWriter {
 public:
  KernelWriter(Rng& rng, const RandomOptions& options, std::string name);

  // Writes an instruction of the row (and its operands) for elements of the type.
  void Emit(Opcode opcode, DType type);
  // The kernel's text. Call once, at the end.
  std::string Finish();
  const RandomKernel& kernel() const { return kernel_; }

 private:
  // An element type as written: a name of dtypes.def, or of a constant.
  struct Type {
    std::string text;
    DType dtype;
    friend bool operator==(const Type&, const Type&) = default;
  };
  using Shape = std::vector<std::string>;  // extents as they are written

  enum class Kind : uint8_t { kScalar, kPointer, kTile };
  struct Value {
    std::string name;  // without '%'
    Kind kind = Kind::kScalar;
    Space space = Space::kNone;
    Type type;
    Shape shape;
    std::string layout;  // as written; empty if it is not
    std::string bits;
    bool fixed = false;      // cannot be assigned again
    bool writable = false;   // a memory tile that may be written
    bool per_block = false;  // a memory tile whose first dimension is the block
  };
  static Value ScalarOf(const Type& type);
  static Value RegisterTile(const Type& type, const Shape& shape, const std::string& layout = "");
  static Value MemoryTile(Space space, const Type& type, const Shape& shape);

  // ---- random_module.cc: text, values, types, header
  [[nodiscard]] bool executable() const { return options_.executable; }
  void Line(const std::string& text);
  std::string NewName(std::string_view stem);
  // Writes `[%name =] text [: annotation]` for a new value, or for an existing one of the same
  // type.
  Value Define(Value value, const std::string& text, const std::string& annotation = "");
  std::string Annotated(const Value& value, std::string annotation);
  void Scope(const std::function<void()>& body);
  Type TypeOf(DType dtype);
  Type RandomType(TypeClass types);
  Shape RandomShape(size_t least_rank, size_t most_rank);
  // The same, or a large shape of two dimensions if the options allow that.
  Shape TileShape(size_t least_rank, size_t most_rank);
  static std::vector<int64_t> Extents(const Shape& shape);  // of numbers
  static bool IsStatic(const Shape& shape);
  static int64_t Elements(const Shape& shape);
  static std::string Text(const Shape& shape);
  // A shape that is repeated to this one: with extents of 1, without outer axes; often the same.
  Shape RepeatedTo(const Shape& shape);
  // A register layout for the shape and the kernel's threads; empty if there is none.
  std::string RandomLayout(const Shape& shape);
  Value* Find(const std::function<bool(const Value&)>& fits);
  std::string Parameter(const Type& type, bool pointer, RandomArgument::Kind kind,
                        int64_t elements);
  std::string Constant(ConstKind kind, const std::string& value,
                       const std::vector<std::string>& candidates = {});
  std::string Header();

  // ---- random_values.cc: operands
  // A visible register tile, or a new one. `layout` is the written layout of the other operands.
  Value Tile(const Type& type, const Shape& shape, std::string* layout = nullptr);
  Value MakeTile(const Type& type, const Shape& shape);
  // A new tile of integers from -1 to 2.
  Value SmallIntegers(const Type& type, const Shape& shape);
  // A tile of complex numbers whose parts are small integers, from memory.
  Value SmallComplex(const Type& type, const Shape& shape);
  Value Scalar(const Type& type);
  std::string Literal(DType dtype);
  std::string Index();
  std::string Nested(int depth);
  std::string Indices(const Value& memory);
  std::string Condition();
  // An expression of scalars whose value is of the type, which is that of a scalar.
  std::string Expression(const Type& type);
  // A memory tile to read from: everything in it is defined in executable programs.
  Value Memory(const Type& type, const Shape& shape, Space space = Space::kNone);
  Value MemoryOfRank(const Type& type, size_t rank);
  // A memory tile to write to; a separate one for each place and block in executable programs.
  Value Target(const Type& type, const Shape& shape, RandomArgument::Kind kind);
  std::string MemoryLayout(const Type& type, const Shape& shape, Space space);
  Value ViewOf(const Type& type, const Shape& shape, RandomArgument::Kind kind);
  Value Shared(const Type& type, const Shape& shape);
  // The same tile with a first axis of one for the block.
  Value WithBlockAxis(const Value& tile);
  std::string BlockIndex();

  // ---- random_rows.cc: instructions, one function per family
  void EmitPlain(const InstRow& row, const Type& type);
  std::string PlainOperand(const InstRow& row, const OperandRow& operand, const Type& type,
                           const Shape& shape);
  // Refuses a row that does not follow from the table and that no function here handles.
  [[noreturn]] static void Refuse(const InstRow& row);
  void EmitControl(const InstRow& row, const Type& type);
  void EmitFor(const Type& type);
  void EmitWhile();
  void EmitIf();
  void EmitMov(const Type& type);
  void EmitMemory(const InstRow& row, const Type& type);
  void EmitView(const Type& type);
  void EmitRegisterView(const Type& type);
  void EmitScratch(const Type& type);
  void EmitCopy(const Type& type);
  void EmitGatherScatter(const InstRow& row, const Type& type);
  void EmitAtomicScatter(const InstRow& row, const Type& type);
  void EmitAtomic(const InstRow& row, const Type& type);
  void EmitSemaphore(const InstRow& row, const Type& type);
  void EmitShape(const InstRow& row, const Type& type);
  void EmitElementwise(const InstRow& row, const Type& type);
  void EmitConvert(const InstRow& row, const Type& type);
  void EmitCast(const Type& type);
  void EmitUnpack(const Type& type);
  void EmitLookup(const Type& type);
  void EmitParts(const InstRow& row, const Type& type, DType result);
  Shape ProductShape();
  void EmitMma(const InstRow& row, const Type& type);
  void EmitReduce(const InstRow& row, const Type& type);
  void EmitScan(const InstRow& row, const Type& type);
  void EmitTopK(const Type& type);
  void DefineBoth(Value value, const Type& second, const std::string& text);
  void EmitBlock(int statements);
  std::string CacheHint();
  // Stores a tile in an output of an executable program.
  void Output(const Value& tile);

  Rng& rng_;
  const RandomOptions& options_;
  RandomKernel kernel_;
  std::string body_;
  int indent_ = 2;
  int depth_ = 0;  // of blocks
  int names_ = 0;
  int64_t warps_ = 4;
  std::vector<Value> values_;  // visible, innermost last
  std::vector<std::string> params_;
  struct ConstantText {
    std::string name;
    ConstKind kind;
    std::string text;
  };
  std::vector<ConstantText> constants_;
  std::vector<Value> param_values_;
  std::string block_index_;
};

}  // namespace tarsia

#endif  // TARSIA_TESTS_RANDOM_KERNEL_WRITER_H_
