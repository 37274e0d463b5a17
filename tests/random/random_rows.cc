// Instructions of random programs, one function per family. Elementwise rows, reductions and
// atomics follow from the table.
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "tests/random/coverage.h"
#include "tests/random/kernel_writer.h"

namespace tarsia {
namespace {

constexpr int kMaxDepth = 3;  // of blocks

std::string List(const std::vector<size_t>& items) {
  return fmt::format("[{}]", fmt::join(items, ", "));
}

// The types of a width. Some bytes are not valid codes of bool.
std::vector<DType> SameWidth(DType type, bool executable) {
  std::vector<DType> out;
  for (const DTypeRow& row : AllDTypes()) {
    const bool may = row.type == type || !executable || (!row.type.IsBool() && !type.IsBool());
    if (row.type.bits == type.bits && may) out.push_back(row.type);
  }
  return out;
}

}  // namespace

void KernelWriter::Emit(Opcode opcode, DType dtype) {
  const InstRow& row = Row(opcode);
  Type type = TypeOf(dtype);
  // Occasionally the type is a constant: the module stays generic.
  const bool arithmetic = Contains(TypeClass::kArithmeticType, dtype);
  if (rng_.Chance(4) && arithmetic && row.family == Family::kElementwise) {
    type.text = Constant(ConstKind::kDType, type.text, {type.text});
  }
  switch (row.family) {
    case Family::kControl:
      return EmitControl(row, type);
    case Family::kMemory:
      return EmitMemory(row, type);
    case Family::kShape:
      return EmitShape(row, type);
    case Family::kElementwise:
      return EmitElementwise(row, type);
    case Family::kConvert:
      return EmitConvert(row, type);
    case Family::kMma:
      return EmitMma(row, type);
    case Family::kReduce:
      return EmitReduce(row, type);
    case Family::kSync:
      return row.OperandWith(Role::kIndex) ? EmitSemaphore(row, type) : EmitPlain(row, type);
  }
}

// ---- rows of the usual kinds -----------------------------------------------------------------

// Operands that are read, no result, at most a shape to annotate.
void KernelWriter::EmitPlain(const InstRow& row, const Type& type) {
  const bool shaped = row.annotation == Annotation::kShapeType;
  if (row.results.size() != 0 || !(shaped || row.annotation == Annotation::kNoType)) Refuse(row);
  const Shape shape = shaped ? RandomShape(0, 3) : Shape();
  std::vector<std::string> operands;
  for (const OperandRow& operand : row.operands) {
    operands.push_back(PlainOperand(row, operand, type, shape));
  }
  std::string text(row.mnemonic);
  if (!operands.empty()) text += fmt::format(" {}", fmt::join(operands, ", "));
  Line(shaped ? text + " : " + Text(shape) : text);
}

std::string KernelWriter::PlainOperand(const InstRow& row, const OperandRow& operand,
                                       const Type& type, const Shape& shape) {
  if (operand.kind == OperandKind::kTile && operand.role == Role::kRead) {
    return "%" + Tile(type, shape).name;
  }
  if (operand.kind == OperandKind::kIndex) return Index();
  const bool element = operand.kind == OperandKind::kElement && operand.role == Role::kRead;
  if (!element || operand.space == Space::kShared) Refuse(row);
  const Value memory =
      operand.space == Space::kGlobal
          ? ViewOf(type, RandomShape(shape.size(), shape.size()), RandomArgument::Kind::kInput)
          : MemoryOfRank(type, shape.size());
  return "%" + memory.name + Indices(memory);
}

void KernelWriter::Refuse(const InstRow& row) {
  throw std::logic_error(fmt::format("tests/random does not know how to write `{}`", row.mnemonic));
}

// ---- control ---------------------------------------------------------------------------------

void KernelWriter::EmitControl(const InstRow& row, const Type& type) {
  if (row.results.size() == 1 && row.operands.size() == 0) {
    Define(ScalarOf(TypeOf(kI32)), std::string(row.mnemonic));
    return;
  }
  if (row.opcode == Opcode::kMov) return EmitMov(type);
  if (row.opcode == Opcode::kFor) return EmitFor(type);
  if (row.opcode == Opcode::kWhile) return EmitWhile();
  if (row.opcode == Opcode::kIf) return EmitIf();
  if (row.opcode == Opcode::kExit) {
    if (executable() && rng_.Chance(70)) return;  // leaves outputs unwritten
    Line(fmt::format("if {} {{", Condition()));
    Scope([&] { Line("exit"); });
    return Line("}");
  }
  if (row.opcode == Opcode::kAssert) {
    // A failing assertion ends the launch.
    if (executable() && rng_.Chance(85)) return Line("assert 1 < 2, \"holds\"");
    const Type boolean = TypeOf(kBoolType);
    const std::string condition =
        rng_.Chance(50) ? "%" + Tile(boolean, RandomShape(0, 3)).name
                        : (rng_.Chance(50) ? "%" + Scalar(boolean).name : Condition());
    return Line(fmt::format("assert {}, \"must \\\"hold\\\"\\n\"", condition));
  }
  if (row.opcode != Opcode::kPrint) return EmitPlain(row, type);
  const Value tile = Tile(type, RandomShape(0, 3));
  Line(fmt::format("print \"value\", %{}", tile.name));
  if (rng_.Chance(20)) Line("print \"sum\", 1 + " + Index());
}

void KernelWriter::EmitMov(const Type& type) {
  if (Contains(TypeClass::kScalarType, type.dtype) && rng_.Chance(40)) {
    Value value = ScalarOf(type);
    if (type.dtype == kI32 && rng_.Chance(60)) {
      Define(value, "mov " + Index() + " + 1");
    } else {
      Define(value, "mov " + Literal(type.dtype), type.text);
    }
    return;
  }
  Value value = Tile(type, RandomShape(0, 3));
  const std::string source = value.name;
  value.fixed = false;
  value.layout.clear();
  if (!value.bits.empty()) return;
  Define(value, "mov %" + source);
}

void KernelWriter::EmitBlock(int statements) {
  Scope([&] {
    for (int i = 0; i < statements; ++i) {
      const Pair& pair = rng_.Of(AllPairs());
      if (pair.first == Opcode::kAllocGlobal) continue;
      Emit(pair.first, DTypeFromCode(pair.second).value_or(kI32));
    }
  });
}

void KernelWriter::EmitFor(const Type& type) {
  if (depth_ >= kMaxDepth) return;
  const std::string name = NewName("i");
  const bool down = !type.dtype.IsUnsigned() && rng_.Chance(30);
  std::string head = fmt::format("for %{}{} = ", name,
                                 type.dtype == kI32 && rng_.Chance(70) ? "" : ": " + type.text);
  if (executable() && type.dtype == kI32 && rng_.Chance(40)) {
    // Few iterations, for any scalars.
    head += down ? fmt::format("min({}, 4) to -1 step -2", Index())
                 : fmt::format("-1 to min({}, 4) step 2", Index());
  } else if (executable()) {
    head += down ? "3 to 0 step -1" : "0 to 3";
  } else {
    head += fmt::format("{} to {}", Index(), Index());
    if (rng_.Chance(40)) head += fmt::format(" step {}", down ? -2 : 2);
  }
  if (rng_.Chance(20)) head += fmt::format(" unroll {}", rng_.Between(1, 4));
  if (rng_.Chance(20)) head += " pipeline 1 + 1";
  Line(head + " {");
  const size_t visible = values_.size();
  values_.push_back({name, Kind::kScalar, Space::kNone, type, {}, "", "", true});
  EmitBlock(static_cast<int>(rng_.Between(0, 3)));
  values_.erase(values_.begin() + static_cast<std::ptrdiff_t>(visible), values_.end());
  Line("}");
}

// Counts down in a variable that nothing else assigns.
void KernelWriter::EmitWhile() {
  if (depth_ >= kMaxDepth) return;
  const std::string name = NewName("left");
  Line(fmt::format("%{} = mov {}", name, rng_.Between(0, 3)));
  values_.push_back({name, Kind::kScalar, Space::kNone, TypeOf(kI32), {}, "", "", true});
  Line(fmt::format("while %{} > 0 {{", name));
  EmitBlock(static_cast<int>(rng_.Between(0, 2)));
  Scope([&] { Line(fmt::format("%{} = sub %{}, 1", name, name)); });
  Line("}");
}

void KernelWriter::EmitIf() {
  if (depth_ >= kMaxDepth) return;
  Line(fmt::format("if {} {{", Condition()));
  EmitBlock(static_cast<int>(rng_.Between(0, 2)));
  if (rng_.Chance(50)) {
    Line("} else {");
    EmitBlock(static_cast<int>(rng_.Between(0, 2)));
  }
  Line("}");
}

// ---- memory ----------------------------------------------------------------------------------

void KernelWriter::EmitMemory(const InstRow& row, const Type& type) {
  if (row.Has(kAtomic) && row.OperandWith(Role::kIndex)) return EmitAtomicScatter(row, type);
  if (row.Has(kAtomic)) return EmitAtomic(row, type);
  if (row.opcode == Opcode::kView) return EmitView(type);
  if (row.opcode == Opcode::kAllocShared) {
    Shared(type, RandomShape(0, 3));
  } else if (row.opcode == Opcode::kAllocGlobal) {
    if (executable()) return EmitScratch(type);
    const Shape shape = RandomShape(0, 3);
    Value value = MemoryTile(Space::kGlobal, type, shape);
    value.writable = true;
    Define(value, rng_.Chance(50) ? "alloc.global zeroed" : "alloc.global",
           type.text + " " + Text(shape));
  } else if (row.opcode == Opcode::kSlice) {
    Value value = MemoryOfRank(type, static_cast<size_t>(rng_.Between(0, 3)));
    const std::string source = value.name + Indices(value);
    value.shape = RandomShape(value.shape.size(), value.shape.size());
    value.layout = "of its source";  // which no view may use as its own
    Define(value, "slice %" + source, Text(value.shape));
  } else if (row.opcode == Opcode::kLoad) {
    const Value memory = MemoryOfRank(type, static_cast<size_t>(rng_.Between(0, 3)));
    Value value = RegisterTile(type, TileShape(memory.shape.size(), memory.shape.size()));
    Define(value, fmt::format("load %{}{}{}", memory.name, Indices(memory), CacheHint()),
           Text(value.shape));
  } else if (row.opcode == Opcode::kLoadScalar) {
    const Value memory = MemoryOfRank(type, static_cast<size_t>(rng_.Between(0, 3)));
    Define(ScalarOf(type),
           fmt::format("load.scalar %{}{}{}", memory.name, Indices(memory), CacheHint()));
  } else if (row.opcode == Opcode::kStore) {
    const Value tile = Tile(type, TileShape(0, 3));
    if (executable()) return Output(tile);
    const Value memory = Target(type, tile.shape, RandomArgument::Kind::kOutput);
    Line(fmt::format("store %{}{}, %{}{}", memory.name, Indices(memory), tile.name, CacheHint()));
  } else if (row.opcode == Opcode::kCopyAsync) {
    EmitCopy(type);
  } else if (row.opcode == Opcode::kCopyCommit) {
    Line("copy.commit");
  } else if (row.opcode == Opcode::kCopyWait) {
    Line(fmt::format("copy.wait {}", rng_.Chance(50) ? "0" : Constant(ConstKind::kInt, "2")));
  } else if (row.opcode == Opcode::kGather || row.opcode == Opcode::kScatter) {
    EmitGatherScatter(row, type);
  } else {
    EmitPlain(row, type);
  }
}

void KernelWriter::EmitView(const Type& type) {
  if (rng_.Chance(20)) return EmitRegisterView(type);
  if (rng_.Chance(20)) {  // of memory: another type of the same width
    const std::vector<DType> same = SameWidth(type.dtype, executable());
    if (same.empty()) return;
    const Shape shape = RandomShape(0, 3);
    Value source = Shared(TypeOf(rng_.Of(same)), shape);
    if (!source.layout.empty()) return;
    source.type = type;
    source.fixed = true;
    Define(source, "view %" + source.name, fmt::format("shared<{}>{}", type.text, Text(shape)));
    return;
  }
  Shape shape = RandomShape(0, 3);
  if (!executable() && !shape.empty() && rng_.Chance(30)) {
    shape[0] = "%" + Parameter(TypeOf(rng_.Of({kI32, kI64, kU32})), false,
                               RandomArgument::Kind::kScalar, 0);
  }
  ViewOf(type, shape, RandomArgument::Kind::kInput);
}

// Scratch of each block: values are written and read back.
void KernelWriter::EmitScratch(const Type& type) {
  const Shape shape = RandomShape(0, 3);
  if (depth_ > 0 || !IsStatic(shape)) return;
  const Value tile = WithBlockAxis(Tile(type, shape));
  Shape blocks = tile.shape;
  blocks[0] = std::to_string(kernel_.blocks);
  const std::string layout = MemoryLayout(type, blocks, Space::kGlobal);
  const std::string name = NewName("scratch");
  const bool zeroed = rng_.Chance(30);
  Line(fmt::format("%{} = alloc.global{} : global<{}>{}{}{}", name, zeroed ? " zeroed" : "",
                   type.text, Text(blocks), layout.empty() ? "" : " ", layout));
  std::vector<std::string> indices(blocks.size(), "0");
  indices[0] = BlockIndex();
  const std::string place = fmt::format("%{}[{}]", name, fmt::join(indices, ", "));
  Line(fmt::format("store {}, %{}{}", place, tile.name, CacheHint()));
  Line("sync");
  Define(RegisterTile(type, tile.shape), "load " + place, Text(tile.shape));
  if (!zeroed) return;
  // Code 0 of e8m0 is 2^-127.
  const std::string_view zero = type.dtype.IsBool()   ? "fill false"
                                : type.dtype == kE8M0 ? "fill 5.877471754111438e-39"
                                                      : "fill 0";
  const Value none =
      Define(RegisterTile(type, tile.shape), std::string(zero), type.text + " " + Text(tile.shape));
  Line("sync");
  Line(fmt::format("store {}, %{}", place, none.name));
}

// Same threads, same bits per thread: the same layout under a type of the same width.
void KernelWriter::EmitRegisterView(const Type& type) {
  const Shape shape = RandomShape(1, 3);
  const std::string layout = RandomLayout(shape);
  if (layout.empty()) return;
  const std::vector<DType> same = SameWidth(type.dtype, executable());
  if (same.empty()) return;
  const Type from = TypeOf(rng_.Of(same));
  Value source = RegisterTile(from, shape, layout);
  source = Define(source, "fill " + Literal(from.dtype),
                  fmt::format("{} {} {}", from.text, Text(shape), layout));
  Value result = source;
  result.type = type;
  Define(result, "view %" + source.name,
         fmt::format("reg<{}>{} {}", type.text, Text(shape), layout));
}

void KernelWriter::EmitCopy(const Type& type) {
  const Shape shape = RandomShape(1, 3);
  if (!IsStatic(shape)) return;
  const Value to = Shared(type, shape);
  Value from = ViewOf(type, RandomShape(shape.size(), shape.size()), RandomArgument::Kind::kInput);
  Line(fmt::format("copy.async %{}{}, %{}{}{} : {}", to.name,
                   executable() ? List(std::vector<size_t>(shape.size())) : Indices(to), from.name,
                   Indices(from), CacheHint(), Text(shape)));
  if (!executable() && rng_.Chance(50)) return;
  Line("copy.commit");
  Line("copy.wait 0");
  Line("sync");
}

void KernelWriter::EmitGatherScatter(const InstRow& row, const Type& type) {
  Shape shape = RandomShape(1, 3);
  if (!IsStatic(shape)) return;
  const size_t axis = rng_.Below(shape.size());
  const std::string count = std::to_string(rng_.Of({1, 2, 3, 5, 8}));
  const Type index_type = RandomType(TypeClass::kIntegerType);
  const std::string note = axis == 0 && rng_.Chance(50) ? "" : fmt::format(" axis {}", axis);
  Value value = RegisterTile(type, shape);
  value.shape[axis] = count;
  if (row.opcode == Opcode::kGather) {
    const Value memory = Memory(type, shape);
    if (memory.per_block) return;
    const Value indices = Tile(index_type, {count});
    Define(value, fmt::format("gather %{}, %{}{}", memory.name, indices.name, note));
    return;
  }
  // Indices that differ, so that it is clear which write wins.
  Value indices = RegisterTile(index_type, {count});
  const Value tile = Tile(type, value.shape);
  indices = Define(indices, "iota", index_type.text + " [" + count + "]");
  if (executable()) {
    const Value memory = Shared(type, shape);
    Line(fmt::format("scatter %{}, %{}, %{}{}", memory.name, indices.name, tile.name, note));
    return Line("sync");
  }
  const Value memory = Memory(type, shape);
  Line(fmt::format("scatter %{}, %{}, %{}{}", memory.name, indices.name, tile.name, note));
}

void KernelWriter::EmitAtomic(const InstRow& row, const Type& type) {
  Shape shape = RandomShape(0, 3);
  if (executable() && !IsStatic(shape)) return;
  const Value memory = Target(type, shape, RandomArgument::Kind::kInOut);
  if (executable()) shape.insert(shape.begin(), "1");
  std::string text = fmt::format("{} %{}{}", row.mnemonic, memory.name, Indices(memory));
  for (size_t i = 1; i < row.operands.size(); ++i) text += ", %" + Tile(type, shape).name;
  if (row.results.size() == 0) return Line(text);
  Define(RegisterTile(type, shape), text);
}

// Where elements meet, the old values depend on their order, and so do sums that are rounded.
void KernelWriter::EmitAtomicScatter(const InstRow& row, const Type& type) {
  Shape shape = RandomShape(1, 3);
  if (!IsStatic(shape)) return;
  const Value memory = Target(type, shape, RandomArgument::Kind::kInOut);
  if (!executable()) shape = memory.shape;
  if (!IsStatic(shape)) return;
  std::string target = memory.name;
  if (executable()) {  // blocks have their own part along the first axis
    shape.insert(shape.begin(), "1");
    target = NewName("part");
    Line(fmt::format("%{} = slice %{}{} : {}", target, memory.name, Indices(memory), Text(shape)));
  }
  const size_t axis = executable() ? 1 + rng_.Below(shape.size() - 1) : rng_.Below(shape.size());
  const std::string count = std::to_string(rng_.Of({1, 2, 3, 5, 8, 40}));
  const bool may_meet = !executable() || (row.results.size() == 0 && type.dtype.IsInteger());
  const Type index_type = RandomType(TypeClass::kIntegerType);
  const Value indices = may_meet ? Tile(index_type, {count})
                                 : Define(RegisterTile(index_type, {count}), "iota",
                                          index_type.text + " [" + count + "]");
  shape[axis] = count;
  std::string text = fmt::format("{} %{}, %{}", row.mnemonic, target, indices.name);
  for (size_t i = 2; i < row.operands.size(); ++i) text += ", %" + Tile(type, shape).name;
  if (axis != 0 || rng_.Chance(50)) text += fmt::format(" axis {}", axis);
  if (row.results.size() == 0) return Line(text);
  Define(RegisterTile(type, shape), text);
}

// A semaphore of each block, which it releases, locks and leaves zero.
void KernelWriter::EmitSemaphore(const InstRow& row, const Type& type) {
  if (!executable()) {
    const Value memory = ViewOf(type, RandomShape(0, 3), RandomArgument::Kind::kInOut);
    return Line(fmt::format("{} %{}{}, {}", row.mnemonic, memory.name, Indices(memory), Index()));
  }
  if (depth_ > 0) return;
  const std::string name = NewName("semaphore");
  Line(fmt::format("%{} = alloc.global zeroed : {} [{}]", name, type.text, kernel_.blocks));
  const std::string place = fmt::format("%{}[{}]", name, BlockIndex());
  const int64_t count = rng_.Between(-3, 3);
  Line(fmt::format("semaphore.release {}, {}", place, count));
  Line(fmt::format("semaphore.lock {}, {}", place, count));
  Line(fmt::format("semaphore.release {}, {}", place, -count));
}

// ---- shape -----------------------------------------------------------------------------------

void KernelWriter::EmitShape(const InstRow& row, const Type& type) {
  Value value = RegisterTile(type, {});
  Shape shape = TileShape(1, 3);
  if (row.opcode == Opcode::kReshape) {
    if (!IsStatic(shape)) return;
    const Value source = Tile(type, shape);
    const int64_t n = Elements(shape);
    value.shape = n % 2 == 0 && rng_.Chance(60) ? Shape{"2", std::to_string(n / 2)}
                                                : Shape{"1", std::to_string(n), "1"};
    Define(value, "reshape %" + source.name, Text(value.shape));
  } else if (row.opcode == Opcode::kPermute) {
    std::vector<size_t> order(shape.size());
    for (size_t d = 0; d < order.size(); ++d) order[d] = d;
    for (size_t d = order.size(); d > 1; --d) std::swap(order[d - 1], order[rng_.Below(d)]);
    const Value source = Tile(type, shape);
    for (const size_t d : order) value.shape.push_back(shape[d]);
    Define(value, fmt::format("permute %{} order {}", source.name, List(order)));
  } else if (row.opcode == Opcode::kSqueeze || row.opcode == Opcode::kUnsqueeze) {
    Shape longer = shape;
    const size_t axis = rng_.Below(shape.size() + 1);
    longer.insert(longer.begin() + static_cast<std::ptrdiff_t>(axis), "1");
    const bool squeeze = row.opcode == Opcode::kSqueeze;
    const Value source = Tile(type, squeeze ? longer : shape);
    value.shape = squeeze ? shape : longer;
    Define(value, fmt::format("{} %{} axes [{}]", row.mnemonic, source.name, axis));
  } else if (row.opcode == Opcode::kBroadcast) {
    value.shape = shape;
    shape[rng_.Below(shape.size())] = "1";
    const Value source = Tile(type, shape);
    Define(value, "broadcast %" + source.name, Text(value.shape));
  } else if (row.opcode == Opcode::kConvertLayout) {
    value.shape = shape;
    value.layout = RandomLayout(shape);
    if (value.layout.empty()) {
      value.shape = {"8", "4"};
      value.layout = RandomLayout(value.shape);
    }
    const Value source = Tile(type, value.shape);
    Define(value, "convert_layout %" + source.name, Text(value.shape) + " " + value.layout);
  } else {
    EmitPlain(row, type);
  }
}

// ---- elementwise -----------------------------------------------------------------------------

void KernelWriter::EmitElementwise(const InstRow& row, const Type& type) {
  if (row.annotation == Annotation::kDTypeShapeType) {  // makes a tile from scalars only
    Value value = RegisterTile(type, RandomShape(row.opcode == Opcode::kIota ? 1 : 0, 3));
    std::string text(row.mnemonic);
    for (size_t i = 0; i < row.operands.size(); ++i) {
      text += i == 0 ? " " : ", ";
      if (row.operands[i].kind == OperandKind::kIndex) {
        text += Index();
      } else if (rng_.Chance(20) && Contains(TypeClass::kScalarType, type.dtype)) {
        text += rng_.Chance(50) ? Expression(type) : "%" + Scalar(type).name;
      } else {
        text += Literal(type.dtype);
      }
    }
    std::string note = type.text + " " + Text(value.shape);
    if (rng_.Chance(20)) value.layout = RandomLayout(value.shape);
    if (!value.layout.empty())
      note = fmt::format("reg<{}>{} {}", type.text, Text(value.shape), value.layout);
    Define(value, text, note);
    return;
  }
  if (executable() && row.ulp > 0) return;
  const bool scalars = rng_.Chance(25) && Contains(TypeClass::kScalarType, type.dtype);
  const Shape shape = RandomShape(0, 3);
  const size_t first = row.opcode == Opcode::kSelect ? 1 : 0;
  const size_t certain = first + rng_.Below(row.operands.size() - first);
  std::string layout;
  std::string text(row.mnemonic);
  for (size_t i = 0; i < row.operands.size(); ++i) {
    text += i == 0 ? " " : ", ";
    const Type wanted = i < first ? TypeOf(kBoolType) : type;
    const bool scalar = Contains(TypeClass::kScalarType, wanted.dtype);
    if (i == certain ? !scalars : !scalars && rng_.Chance(65)) {
      const Shape own = i == certain ? shape : RepeatedTo(shape);
      text += "%" + Tile(wanted, own, own == shape ? &layout : nullptr).name;
    } else if (scalar && i != certain && rng_.Chance(15)) {
      text += Expression(wanted);
    } else if (scalar && (i == certain || rng_.Chance(50))) {
      text += "%" + Scalar(wanted).name;
    } else if (i < first) {
      text += rng_.Of({"true", "1 < 2"});
    } else {
      text += Literal(wanted.dtype);
    }
  }
  // In programs that run it would not be exact.
  if (!executable() && row.fast && HasFastForms(type.dtype) && rng_.Chance(30)) text += " fast";
  const Type result = row.Has(kCompares) ? TypeOf(kBoolType) : type;
  if (scalars) {
    Define(ScalarOf(result), text);
    return;
  }
  Value value = RegisterTile(result, shape);
  std::string note;
  if (rng_.Chance(10)) {
    value.layout = layout.empty() ? RandomLayout(shape) : layout;
    if (!value.layout.empty()) note = fmt::format("{} {}", Text(shape), value.layout);
  }
  Define(value, text, note);
}

// ---- convert, mma, reduce --------------------------------------------------------------------

void KernelWriter::EmitConvert(const InstRow& row, const Type& type) {
  if (row.opcode == Opcode::kCast) return EmitCast(type);
  if (row.opcode == Opcode::kUnpack) return EmitUnpack(type);
  if (row.opcode == Opcode::kLookup) return EmitLookup(type);
  if (row.opcode == Opcode::kComplex) return EmitParts(row, type, ComplexOf(type.dtype));
  if (type.dtype.IsComplex()) return EmitParts(row, type, ComponentOf(type.dtype));
  EmitPlain(row, type);
}

void KernelWriter::EmitCast(const Type& type) {
  const bool scalar = rng_.Chance(15) && Contains(TypeClass::kScalarType, type.dtype);
  Type to = RandomType(scalar ? TypeClass::kScalarType : TypeClass::kAnyType);
  if (type.dtype.IsComplex() && !to.dtype.IsComplex()) to = TypeOf(rng_.Of({kC32, kC64}));
  const Shape shape = TileShape(0, 3);
  std::string layout;
  const bool finite = type.dtype.IsFloat() && !scalar && rng_.Chance(20);
  Value value = scalar                   ? Scalar(type)
                : finite && executable() ? SmallIntegers(type, shape)
                                         : Tile(type, shape, &layout);
  std::string text = "cast %" + value.name;
  const bool integers = type.dtype.IsInteger() && to.dtype.IsInteger();
  const int rounding = static_cast<int>(rng_.Below(5));
  if (rounding == 0 && !scalar) {
    text += ", %" + Tile(TypeOf(kU32), shape, &layout).name + " rounding stochastic";
  } else if (rounding == 1) {
    text += rng_.Of({" rounding toward_zero", " rounding nearest"});
  }
  if (integers && rng_.Chance(30)) {
    text += " wrap";
  } else if (rng_.Chance(30)) {
    text += rng_.Of({" sat", " nosat"});
  }
  if (finite) text += " finite";
  value.type = to;
  value.layout.clear();
  value.bits.clear();
  value.fixed = false;
  Define(value, text, to.text);
}

// Codes in a written layout of 32 per thread, in one of the two bit layouts.
void KernelWriter::EmitUnpack(const Type& type) {
  DType compute;
  do {
    compute = rng_.Of({kBF16, kF16, kI8, kF8E4M3FN});
  } while (!CheckUnpack(type.dtype, compute).ok());
  const Type to = TypeOf(compute);
  const std::string rows = std::to_string(8 * warps_);
  const std::string layout = fmt::format("spatial({}, 4) * local(1, 32)", rows);
  Value codes = RegisterTile(type, {rows, "128"}, layout);
  codes.bits = rng_.Of<std::string>({"contiguous", fmt::format("contiguous({}, 32)", type.text),
                                     fmt::format("lanes({})", to.text),
                                     fmt::format("lanes({}, 32, {})", type.text, to.text)});
  codes =
      Define(codes, "fill " + Literal(type.dtype),
             fmt::format("reg<{}>{} {} bits {}", type.text, Text(codes.shape), layout, codes.bits));
  const std::string q = NewName("q");
  const std::string b = NewName("b");
  Line(fmt::format("%{}, %{} = unpack %{} : {}", q, b, codes.name, to.text));
  for (const std::string& name : {q, b}) {
    values_.push_back({name, Kind::kTile, Space::kRegister, to, codes.shape, "", "", false});
  }
}

// `real`, `imag`, `complex`.
void KernelWriter::EmitParts(const InstRow& row, const Type& type, DType result) {
  const Shape shape = TileShape(0, 3);
  std::string layout;
  std::string text(row.mnemonic);
  for (size_t i = 0; i < row.operands.size(); ++i) {
    text += fmt::format("{} %{}", i == 0 ? "" : ",", Tile(type, shape, &layout).name);
  }
  const Type to = TypeOf(result);
  Define(RegisterTile(to, shape), text, to.text);
}

void KernelWriter::EmitLookup(const Type& type) {
  const Type elements = RandomType(TypeClass::kAnyType);
  const Value codes = Tile(type, TileShape(0, 3));
  const Value table = Tile(elements, {std::to_string(1 << type.dtype.bits)});
  Define(RegisterTile(elements, codes.shape),
         fmt::format("lookup %{}, %{}", codes.name, table.name));
}

// m, k and n: of several fragments in half of the cases.
KernelWriter::Shape KernelWriter::ProductShape() {
  if (rng_.Chance(50)) return RandomShape(3, 3);
  Shape shape(3);
  for (std::string& extent : shape) extent = std::to_string(rng_.Of({8, 16, 17, 24, 32, 33, 64}));
  return shape;
}

void KernelWriter::EmitMma(const InstRow& row, const Type& type) {
  if (row.opcode != Opcode::kDot) return EmitPlain(row, type);
  const DType a = type.dtype;
  Type other = type;
  if (a.IsInteger()) other = TypeOf(rng_.Of({kI8, kU8}));
  if (a.IsFloat() && a.bits == 8) other = TypeOf(rng_.Of({kF8E4M3FN, kF8E5M2, a}));
  const Type to = TypeOf(a.IsComplex() ? kC64 : a.IsInteger() ? kI32 : a == kF64 ? kF64 : kF32);
  const Shape extents = ProductShape();
  Shape batch;
  if (rng_.Chance(30)) batch.push_back(std::to_string(rng_.Of({1, 2, 3, 4})));
  // The order of additions is free; sums of small integers are exact in any order.
  const auto tile = [&](const Type& t, const Shape& shape) {
    if (executable() && t.dtype.IsComplex()) return SmallComplex(t, shape);
    return executable() && t.dtype.IsFloat() ? SmallIntegers(t, shape) : Tile(t, shape);
  };
  const auto of = [&](size_t i, size_t j) {
    Shape shape = batch;
    shape.insert(shape.end(), {extents[i], extents[j]});
    return shape;
  };
  const Value x = tile(type, of(0, 1));
  const Value y = tile(other, of(1, 2));
  Value value = tile(to, of(0, 2));
  const std::string sum = value.name;
  value.layout.clear();
  value.fixed = false;
  Define(value, fmt::format("{} %{}, %{}, %{}", row.mnemonic, x.name, y.name, sum));
}

// Sums in any order are those of small integers; products of floats are left out.
void KernelWriter::EmitScan(const InstRow& row, const Type& type) {
  const bool sums = row.opcode == Opcode::kScanSum || row.opcode == Opcode::kScanProd;
  const bool exact = executable() && sums && !type.dtype.IsInteger();
  if (exact && row.opcode == Opcode::kScanProd) return;
  const Shape shape = TileShape(1, 3);
  const Value source = exact ? SmallIntegers(type, shape) : Tile(type, shape);
  const size_t axis = rng_.Below(shape.size());
  std::string text = fmt::format("{} %{}", row.mnemonic, source.name);
  if (axis != 0 || rng_.Chance(50)) text += fmt::format(" axis {}", axis);
  if (rng_.Chance(40)) text += " exclusive";
  if (rng_.Chance(40)) text += " reverse";
  Define(RegisterTile(type, shape), text);
}

void KernelWriter::EmitTopK(const Type& type) {
  Shape shape = TileShape(1, 3);
  const Value source = Tile(type, shape);
  const size_t axis = rng_.Below(shape.size());
  const std::string count = std::to_string(rng_.Of({1, 2, 3, 5, 8, 17}));
  shape[axis] = rng_.Chance(20) ? Constant(ConstKind::kInt, count) : count;
  std::string text = fmt::format("topk %{}, {}", source.name, shape[axis]);
  if (axis != 0 || rng_.Chance(50)) text += fmt::format(" axis {}", axis);
  if (rng_.Chance(40)) text += " smallest";
  DefineBoth(RegisterTile(type, shape), TypeOf(kI32), text);
}

// Two results of one shape.
void KernelWriter::DefineBoth(Value value, const Type& second, const std::string& text) {
  const std::string best = NewName("best");
  const std::string at = NewName("at");
  Line(fmt::format("%{}, %{} = {}", best, at, text));
  value.name = best;
  values_.push_back(value);
  value.name = at;
  value.type = second;
  values_.push_back(value);
}

void KernelWriter::EmitReduce(const InstRow& row, const Type& type) {
  if (IsScan(row.opcode)) return EmitScan(row, type);
  if (row.opcode == Opcode::kTopK) return EmitTopK(type);
  const bool sums = row.opcode == Opcode::kReduceSum || row.opcode == Opcode::kReduceProd;
  const bool exact = executable() && sums && !type.dtype.IsInteger();
  if (exact && (row.opcode == Opcode::kReduceProd || !type.dtype.IsFloat())) return;
  const Shape shape = TileShape(1, 3);
  const Value source = exact ? SmallIntegers(type, shape) : Tile(type, shape);
  const bool one_axis = row.AttrIndex(Attr::kAxis).has_value();
  const bool keep = rng_.Chance(40);
  const size_t axis = rng_.Below(shape.size());
  std::vector<size_t> axes = {axis};
  if (!one_axis && shape.size() > 1 && rng_.Chance(40)) axes.push_back((axis + 1) % shape.size());
  Value value = RegisterTile(type, {});
  for (size_t d = 0; d < shape.size(); ++d) {
    if (std::find(axes.begin(), axes.end(), d) == axes.end()) {
      value.shape.push_back(shape[d]);
    } else if (keep) {
      value.shape.emplace_back("1");
    }
  }
  std::string text = fmt::format("{} %{} {}", row.mnemonic, source.name,
                                 one_axis ? fmt::format("axis {}", axis) : "axes " + List(axes));
  if (keep) text += " keepdims";
  if (row.results.size() == 1) {
    Define(value, text);
    return;
  }
  DefineBoth(value, TypeOf(kI32), text);
}

}  // namespace tarsia
