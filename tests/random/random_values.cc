// Operands of random programs: existing values or new ones.
#include <fmt/format.h>

#include <algorithm>

#include "dtypes/convert.h"
#include "tests/random/kernel_writer.h"

namespace tarsia {

namespace {

bool IsArithmeticType(DType type) { return Contains(TypeClass::kArithmeticType, type); }

}  // namespace

KernelWriter::Value KernelWriter::Tile(const Type& type, const Shape& shape, std::string* layout) {
  std::string free;
  std::string& wanted = layout != nullptr ? *layout : free;
  if (rng_.Chance(65)) {
    const Value* const found = Find([&](const Value& v) {
      return v.kind == Kind::kTile && v.space == Space::kRegister && v.type == type &&
             v.shape == shape && (v.layout.empty() || wanted.empty() || v.layout == wanted);
    });
    if (found != nullptr) {
      if (wanted.empty()) wanted = found->layout;
      return *found;
    }
  }
  Value made = MakeTile(type, shape);
  // A tile that was assigned again has the layout it was first given.
  if (!made.layout.empty() && !wanted.empty() && made.layout != wanted) {
    made = Define(RegisterTile(type, shape), "fill " + Literal(type.dtype),
                  type.text + " " + Text(shape));
    made.layout.clear();
  }
  if (wanted.empty()) wanted = made.layout;
  return made;
}

KernelWriter::Value KernelWriter::MakeTile(const Type& type, const Shape& shape) {
  Value value = RegisterTile(type, shape);
  const std::string note = type.text + " " + Text(shape);
  const int way = static_cast<int>(rng_.Below(10));
  if (way < 3 && IsArithmeticType(type.dtype) && !shape.empty()) {
    const std::string axis =
        rng_.Chance(50) ? "" : fmt::format(" axis {}", rng_.Below(shape.size()));
    return Define(value, "iota" + axis, note);
  }
  if (way < 5 && type.dtype == kU32) {
    return Define(value, fmt::format("rand {}, {}", Index(), Index()), note);
  }
  if (way < 8 && IsStatic(shape)) {
    const Value memory = MemoryOfRank(type, shape.size());
    std::string shape_text = Text(shape);
    if (rng_.Chance(20)) {
      value.layout = RandomLayout(shape);
      if (!value.layout.empty()) shape_text += " " + value.layout;
    }
    return Define(value, fmt::format("load %{}{}{}", memory.name, Indices(memory), CacheHint()),
                  shape_text);
  }
  return Define(value, "fill " + Literal(type.dtype), note);
}

KernelWriter::Value KernelWriter::SmallIntegers(const Type& type, const Shape& shape) {
  // Along one axis, or over the whole tile in the order of its elements.
  const size_t dim = shape.empty() ? 0 : rng_.Below(shape.size() + 1);
  const std::string axis = dim == shape.size() ? "" : fmt::format(" axis {}", dim);
  const Type i32 = TypeOf(kI32);
  const std::string note = "i32 " + Text(shape);
  const Value numbers =
      Define(RegisterTile(i32, shape), shape.empty() ? "fill 2" : "iota" + axis, note);
  const Value rest = Define(RegisterTile(i32, shape), fmt::format("rem %{}, 5", numbers.name));
  const Value moved = Define(RegisterTile(i32, shape), fmt::format("sub %{}, 2", rest.name));
  return Define(RegisterTile(type, shape), "cast %" + moved.name, type.text);
}

KernelWriter::Value KernelWriter::SmallComplex(const Type& type, const Shape& shape) {
  const Value memory = ViewOf(type, shape, RandomArgument::Kind::kInput);
  kernel_.arguments.back().small = true;
  const std::vector<std::string> zeros(shape.size(), "0");
  return Define(RegisterTile(type, shape),
                fmt::format("load %{}[{}]", memory.name, fmt::join(zeros, ", ")), Text(shape));
}

KernelWriter::Value KernelWriter::Scalar(const Type& type) {
  if (rng_.Chance(60)) {
    const Value* const found =
        Find([&](const Value& v) { return v.kind == Kind::kScalar && v.type == type; });
    if (found != nullptr) return *found;
  }
  Value value = ScalarOf(type);
  if (rng_.Chance(25)) {
    value.name = Parameter(type, false, RandomArgument::Kind::kScalar, 0);
    return value;  // visible everywhere, but not in the list of values
  }
  return Define(value, "mov " + Literal(type.dtype), type.text);
}

std::string KernelWriter::Literal(DType dtype) {
  if (dtype.IsBool()) return rng_.Of({"true", "false"});
  if (dtype.IsInteger()) {
    const int bits = std::min<int>(dtype.bits, rng_.Chance(80) ? 7 : 62);
    const int64_t most = (int64_t{1} << (dtype.IsSigned() ? bits - 1 : bits)) - 1;
    const int64_t least = dtype.IsSigned() ? -most - 1 : 0;
    return std::to_string(rng_.Chance(20) ? rng_.Of({least, most}) : rng_.Between(least, most));
  }
  // A value that the type cannot hold is an error: 1e10 in f16, infinity or a number below 0 in
  // others.
  while (true) {
    std::string text = std::to_string(rng_.Between(-4, 9));
    if (rng_.Chance(60)) {
      text = rng_.Of({"0.0", "1.0", "-0.5", "1.5e-3", "3.25", "-7.0", "inf", "-inf", "nan", "1e10",
                      "-0.0", "0.1"});
    }
    if (ParseValue(dtype, text)) return text;
  }
}

std::string KernelWriter::CacheHint() {
  if (rng_.Chance(70)) return "";
  return rng_.Of({" cache evict_first", " cache no_allocate", " cache default"});
}

// An integer expression with necessary and with redundant parentheses: both must read back with the
// same meaning.
std::string KernelWriter::Nested(int depth) {
  if (depth == 0 || rng_.Chance(20)) {
    return rng_.Chance(60) ? std::to_string(rng_.Between(0, 9)) : fmt::format("{} % 8", Index());
  }
  const std::string right =
      rng_.Chance(70) ? fmt::format("({})", Nested(depth - 1)) : std::to_string(rng_.Between(1, 9));
  const std::string op = rng_.Of({"+", "-", "*"});
  const std::string left = Nested(depth - 1);
  if (rng_.Chance(20)) return fmt::format("-({}) {} {}", left, op, right);
  if (rng_.Chance(20))
    return fmt::format("({}) {} {} {}", left, rng_.Of({"/", "%"}), 3, op == "*" ? "" : op + " 1");
  return rng_.Chance(50) ? fmt::format("({}) {} {}", left, op, right)
                         : fmt::format("{} {} {}", left, op, right);
}

std::string KernelWriter::Index() {
  const auto integer = [&]() -> std::string {
    const Value* const found = Find([](const Value& v) {
      return v.kind == Kind::kScalar && v.type.dtype.IsInteger() && v.type.dtype.bits <= 32;
    });
    return found != nullptr ? "%" + found->name : "%" + Scalar(TypeOf(kI32)).name;
  };
  switch (rng_.Below(12)) {
    case 0:
      return integer();
    case 7:
      return Nested(2) + " - 3";
    case 1:
      return integer() + " * 2 + 1";
    case 2:
      return fmt::format("min({}, 3)", integer());
    case 3:
      return fmt::format("({} - 1) * 3 % 5", integer());
    case 4:
      return Constant(ConstKind::kInt, std::to_string(rng_.Between(0, 3)));
    case 5:
      return std::to_string(rng_.Between(-1, 5));
    case 6:
      return fmt::format("ceildiv({}, 2) / 3", rng_.Between(0, 40));
    default:
      return "0";
  }
}

std::string KernelWriter::Indices(const Value& memory) {
  std::vector<std::string> items;
  for (size_t d = 0; d < memory.shape.size(); ++d) {
    items.push_back(d == 0 && memory.per_block ? BlockIndex() : Index());
  }
  return fmt::format("[{}]", fmt::join(items, ", "));
}

std::string KernelWriter::Condition() {
  switch (rng_.Below(8)) {
    case 0:
      return "%" + Scalar(TypeOf(kBoolType)).name;
    case 5:
      return fmt::format("not (({}) and ({}))", Condition(), Condition());
    case 6:
      return fmt::format("({}) and (({}) or ({} < 2) == false)", Condition(), Condition(), Index());
    case 1:
      return fmt::format("{} < {}", Index(), Index());
    case 2:
      return fmt::format("{} % 2 == 0 and not %{}", Index(), Scalar(TypeOf(kBoolType)).name);
    case 3:
      return fmt::format("{} or {} != 4", Constant(ConstKind::kBool, "true", {"true", "false"}),
                         Index());
    case 4:
      return "not (1 >= 2 or false)";
    default:
      return fmt::format("%{} > 3", Scalar(TypeOf(kI32)).name);
  }
}

std::string KernelWriter::Expression(const Type& type) {
  if (type.dtype.IsBool()) return Condition();
  const std::string scalar = "%" + Scalar(type).name;
  if (type.dtype.IsInteger()) {
    return rng_.Chance(50) ? fmt::format("({} + 1) * {}", scalar, rng_.Between(-3, 5))
                           : fmt::format("{} / 3 - {}", Index(), scalar);
  }
  return rng_.Of<std::string>({fmt::format("({} + 1) * 0.5", scalar), fmt::format("-{}", scalar),
                               fmt::format("{} * 3 - {}", scalar, Index()), Index() + " + 1"});
}

// ---- memory ----------------------------------------------------------------------------------

std::string KernelWriter::MemoryLayout(const Type& type, const Shape& shape, Space space) {
  if (rng_.Chance(65) || shape.empty()) return "";
  if (rng_.Chance(20)) return Constant(ConstKind::kMemLayout, "row_major", {"column_major"});
  if (rng_.Chance(40)) return rng_.Of({"row_major", "column_major"});
  if (!IsStatic(shape) || Elements(shape) == 0) return "row_major";
  const auto extents = Extents(shape);
  if (space == Space::kShared && rng_.Chance(50)) {
    return fmt::format("swizzle(row_major({}), 4, {}, {})", fmt::join(extents, ", "),
                       rng_.Between(1, 3), 3);
  }
  if (shape.size() == 2 && type.dtype.bits <= 8 && LowPrecision(type.dtype) && rng_.Chance(50) &&
      space == Space::kGlobal) {
    const std::string bits = Constant(ConstKind::kBitLayout, "contiguous");
    return fmt::format("packed(spatial(8, 4) * local(4, 8), {})",
                       rng_.Chance(50) ? "contiguous" : bits);
  }
  std::vector<int64_t> strides(extents.size(), 1);
  for (size_t d = extents.size() - 1; d-- > 0;) strides[d] = strides[d + 1] * (extents[d + 1] + 1);
  return fmt::format("strided(shape={}, strides=[{}])", Text(shape), fmt::join(strides, ", "));
}

KernelWriter::Value KernelWriter::ViewOf(const Type& type, const Shape& shape,
                                         RandomArgument::Kind kind) {
  Value value = MemoryTile(Space::kGlobal, type, shape);
  value.writable = kind != RandomArgument::Kind::kInput;
  const bool bytes = !executable() && rng_.Chance(30);
  const std::string pointer =
      Parameter(bytes ? TypeOf(kU8) : type, true, kind, IsStatic(shape) ? Elements(shape) : 0);
  const std::string layout = MemoryLayout(type, shape, Space::kGlobal);
  value.layout = layout;
  return Define(
      value, "view %" + pointer,
      fmt::format("global<{}>{}{}{}", type.text, Text(shape), layout.empty() ? "" : " ", layout));
}

// In executable programs a shared tile is filled at once, after a `sync`: other threads may still
// read the tile whose memory it reuses.
KernelWriter::Value KernelWriter::Shared(const Type& type, const Shape& shape) {
  Value value = MemoryTile(Space::kShared, type, shape);
  value.layout = MemoryLayout(type, shape, Space::kShared);
  value.writable = true;
  value = Define(value, "alloc.shared",
                 fmt::format("shared<{}>{}{}{}", type.text, Text(shape),
                             value.layout.empty() ? "" : " ", value.layout));
  if (!executable()) return value;
  const Value tile = Define(RegisterTile(type, shape), "fill " + Literal(type.dtype),
                            type.text + " " + Text(shape));
  const std::vector<std::string> zeros(shape.size(), "0");
  Line("sync");
  Line(fmt::format("store %{}[{}], %{}", value.name, fmt::join(zeros, ", "), tile.name));
  Line("sync");
  return value;
}

KernelWriter::Value KernelWriter::Memory(const Type& type, const Shape& shape, Space space) {
  const Value* const found = rng_.Chance(60) ? Find([&](const Value& v) {
    return v.kind == Kind::kTile && v.type == type && v.shape == shape &&
           (space == Space::kNone ? v.space == Space::kGlobal || v.space == Space::kShared
                                  : v.space == space) &&
           (!executable() || !v.writable || v.space == Space::kShared);
  })
                                             : nullptr;
  if (found != nullptr) return *found;
  if (space == Space::kShared || (space == Space::kNone && IsStatic(shape) && rng_.Chance(25))) {
    return Shared(type, shape);
  }
  return ViewOf(type, shape, RandomArgument::Kind::kInput);
}

KernelWriter::Value KernelWriter::MemoryOfRank(const Type& type, size_t rank) {
  const Value* const found = rng_.Chance(60) ? Find([&](const Value& v) {
    return v.kind == Kind::kTile && v.type == type && v.shape.size() == rank &&
           (v.space == Space::kGlobal || v.space == Space::kShared) &&
           (!executable() || !v.writable || v.space == Space::kShared);
  })
                                             : nullptr;
  if (found != nullptr) return *found;
  Shape shape = TileShape(rank, rank);
  // Too large for shared memory.
  if (IsStatic(shape) && Elements(shape) > 4096) {
    return ViewOf(type, shape, RandomArgument::Kind::kInput);
  }
  if (rank > 0 && rng_.Chance(20)) {
    shape[0] = "%" + Parameter(TypeOf(kI32), false, RandomArgument::Kind::kScalar, 0);
    return ViewOf(type, shape, RandomArgument::Kind::kInput);
  }
  return Memory(type, shape);
}

KernelWriter::Value KernelWriter::Target(const Type& type, const Shape& shape,
                                         RandomArgument::Kind kind) {
  if (!executable()) return MemoryOfRank(type, shape.size());
  Shape blocks = shape;
  blocks.insert(blocks.begin(), std::to_string(kernel_.blocks));
  Value value = ViewOf(type, blocks, kind);
  value.per_block = true;
  for (Value& visible : values_) {
    if (visible.name == value.name) visible.per_block = true;
  }
  return value;
}

std::string KernelWriter::BlockIndex() { return "%" + block_index_; }

KernelWriter::Value KernelWriter::WithBlockAxis(const Value& tile) {
  Value value = tile;
  value.layout.clear();
  value.bits.clear();
  value.fixed = false;
  value.shape.insert(value.shape.begin(), "1");
  return Define(value, fmt::format("unsqueeze %{} axes [0]", tile.name));
}

void KernelWriter::Output(const Value& tile) {
  const Value target = Target(tile.type, tile.shape, RandomArgument::Kind::kOutput);
  const Value value = WithBlockAxis(tile);
  std::vector<std::string> indices(target.shape.size(), "0");
  indices[0] = BlockIndex();
  Line(fmt::format("store %{}[{}], %{}", target.name, fmt::join(indices, ", "), value.name));
}

}  // namespace tarsia
