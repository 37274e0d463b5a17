#include "tests/random/random_module.h"

#include <fmt/format.h>

#include <algorithm>

#include "tests/harness/tensor.h"
#include "tests/random/coverage.h"
#include "tests/random/kernel_writer.h"

namespace tarsia {

KernelWriter::KernelWriter(Rng& rng, const RandomOptions& options, std::string name)
    : rng_(rng), options_(options) {
  kernel_.name = std::move(name);
  warps_ = options.large ? rng_.Of({8, 16}) : rng_.Of({1, 1, 2, 4});
  if (!executable()) return;
  kernel_.blocks = rng_.Between(1, 3);
  block_index_ = NewName("block");
  Line("%" + block_index_ + " = block.x");
  values_.push_back({block_index_, Kind::kScalar, Space::kNone, TypeOf(kI32), {}, "", "", true});
}

// ---- text ------------------------------------------------------------------------------------

void KernelWriter::Line(const std::string& text) {
  if (!executable() && rng_.Chance(4)) body_ += '\n';
  const std::string indent(static_cast<size_t>(indent_), ' ');
  if (!executable() && rng_.Chance(4)) body_ += indent + "// what follows is random\n";
  body_ += indent + text;
  if (!executable() && rng_.Chance(3)) body_ += "  // so is this";
  body_ += '\n';
}

std::string KernelWriter::NewName(std::string_view stem) {
  return fmt::format("{}{}{}", stem, rng_.Chance(5) ? "." : "", names_++);
}

// Extra parts of an annotation repeat what is inferred.
std::string KernelWriter::Annotated(const Value& value, std::string annotation) {
  if (!annotation.empty() || rng_.Chance(80)) return annotation;
  if (value.kind != Kind::kTile || value.space != Space::kRegister) {
    return value.kind == Kind::kScalar ? value.type.text : "";
  }
  const std::string shape = Text(value.shape);
  std::string out = rng_.Of({0, 1, 2}) == 0 ? value.type.text
                    : rng_.Chance(50)       ? value.type.text + " " + shape
                                            : fmt::format("reg<{}>{}", value.type.text, shape);
  if (out.back() == ']' && !value.layout.empty()) out += " " + value.layout;
  return out;
}

KernelWriter::Value KernelWriter::Define(Value value, const std::string& text,
                                         const std::string& annotation) {
  const bool assignable = value.kind == Kind::kScalar || value.space == Space::kRegister;
  Value* const old = assignable && rng_.Chance(20) ? Find([&](const Value& v) {
    return !v.fixed && v.kind == value.kind && v.space == value.space && v.type == value.type &&
           v.shape == value.shape && v.bits == value.bits && v.layout == value.layout;
  })
                                                   : nullptr;
  value.name = old != nullptr ? old->name : NewName(rng_.Of({"x", "tile", "acc", "v_"}));
  const std::string note = Annotated(value, annotation);
  Line(fmt::format("%{} = {}{}{}", value.name, text, note.empty() ? "" : " : ", note));
  if (old == nullptr) values_.push_back(value);
  return value;
}

void KernelWriter::Scope(const std::function<void()>& body) {
  const size_t visible = values_.size();
  indent_ += 2;
  ++depth_;
  body();
  --depth_;
  indent_ -= 2;
  values_.erase(values_.begin() + static_cast<std::ptrdiff_t>(visible), values_.end());
}

KernelWriter::Value* KernelWriter::Find(const std::function<bool(const Value&)>& fits) {
  std::vector<size_t> found;
  for (size_t i = 0; i < values_.size(); ++i) {
    if (fits(values_[i])) found.push_back(i);
  }
  return found.empty() ? nullptr : &values_[rng_.Of(found)];
}

KernelWriter::Value KernelWriter::ScalarOf(const Type& type) {
  Value value;
  value.type = type;
  return value;
}

KernelWriter::Value KernelWriter::RegisterTile(const Type& type, const Shape& shape,
                                               const std::string& layout) {
  Value value = MemoryTile(Space::kRegister, type, shape);
  value.layout = layout;
  return value;
}

KernelWriter::Value KernelWriter::MemoryTile(Space space, const Type& type, const Shape& shape) {
  Value value = ScalarOf(type);
  value.kind = Kind::kTile;
  value.space = space;
  value.shape = shape;
  return value;
}

// ---- types and shapes ------------------------------------------------------------------------

KernelWriter::Type KernelWriter::TypeOf(DType dtype) {
  return {std::string(DTypeName(dtype)), dtype};
}

KernelWriter::Type KernelWriter::RandomType(TypeClass types) {
  std::vector<DType> fits;
  for (const DTypeRow& row : AllDTypes()) {
    if (Contains(types, row.type)) fits.push_back(row.type);
  }
  return TypeOf(rng_.Of(fits));
}

KernelWriter::Shape KernelWriter::RandomShape(size_t least_rank, size_t most_rank) {
  Shape shape(static_cast<size_t>(
      rng_.Between(static_cast<int64_t>(least_rank), static_cast<int64_t>(most_rank))));
  for (std::string& extent : shape) {
    extent = std::to_string(rng_.Of({1, 2, 3, 4, 5, 7, 8, 8, 16, 32}));
    if (rng_.Chance(2)) extent = "0";
    if (!executable() && rng_.Chance(5)) {
      extent = Constant(ConstKind::kInt, std::to_string(rng_.Of({1, 3, 4, 8})), {"2", "4", "8"});
    }
  }
  while (IsStatic(shape) && Elements(shape) > 4096) shape.pop_back();
  while (shape.size() < least_rank) shape.emplace_back("1");
  return shape;
}

KernelWriter::Shape KernelWriter::TileShape(size_t least_rank, size_t most_rank) {
  const bool fits = least_rank <= 2 && most_rank >= 2;
  if (!options_.large || !fits || rng_.Chance(60)) return RandomShape(least_rank, most_rank);
  static const std::vector<Shape> large = {{"256", "64"},  {"128", "128"}, {"64", "256"},
                                           {"256", "128"}, {"127", "130"}, {"3", "4096"}};
  return rng_.Of(large);
}

bool KernelWriter::IsStatic(const Shape& shape) {
  return std::all_of(shape.begin(), shape.end(),
                     [](const std::string& e) { return e[0] >= '0' && e[0] <= '9'; });
}

std::vector<int64_t> KernelWriter::Extents(const Shape& shape) {
  std::vector<int64_t> extents;
  for (const std::string& extent : shape) extents.push_back(std::stoll(extent));
  return extents;
}

int64_t KernelWriter::Elements(const Shape& shape) { return harness::Elements(Extents(shape)); }

std::string KernelWriter::Text(const Shape& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

KernelWriter::Shape KernelWriter::RepeatedTo(const Shape& shape) {
  Shape out = shape;
  if (out.empty() || rng_.Chance(75)) return out;
  for (std::string& extent : out) {
    if (rng_.Chance(50)) extent = "1";
  }
  if (rng_.Chance(30)) {
    out.erase(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(1 + rng_.Below(out.size())));
  }
  return out;
}

// Threads are assigned to powers of two in the extents; the remaining ones hold copies.
std::string KernelWriter::RandomLayout(const Shape& shape) {
  if (!IsStatic(shape) || shape.empty() || Elements(shape) == 0) return "";
  int64_t threads = 32 * warps_;
  std::vector<int64_t> spatial;
  std::vector<int64_t> local;
  for (const int64_t extent : Extents(shape)) {
    int64_t part = 1;
    while (extent % (part * 2) == 0 && threads % 2 == 0 && rng_.Chance(75)) {
      part *= 2;
      threads /= 2;
    }
    spatial.push_back(part);
    local.push_back(extent / part);
  }
  std::vector<std::string> factors;
  if (threads > 1) factors.push_back(fmt::format("replicate({})", threads));
  factors.push_back(fmt::format("{}({})", rng_.Chance(70) ? "spatial" : "column_spatial",
                                fmt::join(spatial, ", ")));
  factors.push_back(
      fmt::format("{}({})", rng_.Chance(70) ? "local" : "column_local", fmt::join(local, ", ")));
  const std::string text = fmt::format("{}", fmt::join(factors, " * "));
  return rng_.Chance(10) ? Constant(ConstKind::kRegLayout, text) : text;
}

// ---- parameters, constants, header -----------------------------------------------------------

std::string KernelWriter::Parameter(const Type& type, bool pointer, RandomArgument::Kind kind,
                                    int64_t elements) {
  RandomArgument argument;
  argument.kind = kind;
  argument.name = NewName(pointer ? "p" : "n");
  argument.dtype = type.dtype;
  argument.elements = elements;
  argument.value = pointer ? 0 : rng_.Between(0, 9);
  kernel_.arguments.push_back(argument);
  params_.push_back(pointer ? fmt::format("%{}: ptr<{}>", argument.name, type.text)
                            : fmt::format("%{}: {}", argument.name, type.text));
  Value value;
  value.name = argument.name;
  value.kind = pointer ? Kind::kPointer : Kind::kScalar;
  value.type = type;
  value.fixed = true;
  param_values_.push_back(value);
  return argument.name;
}

std::string KernelWriter::Constant(ConstKind kind, const std::string& value,
                                   const std::vector<std::string>& candidates) {
  for (const ConstantText& constant : constants_) {
    if (constant.kind == kind && constant.text.starts_with(" = " + value) && rng_.Chance(60) &&
        (constant.text.size() == 3 + value.size() || constant.text[3 + value.size()] == ' ')) {
      return constant.name;
    }
  }
  ConstantText constant{fmt::format("C{}", names_++), kind, " = " + value};
  if (!candidates.empty() && rng_.Chance(60)) {
    constant.text += fmt::format(" tune {{{}}}", fmt::join(candidates, ", "));
  }
  if (!executable() && rng_.Chance(10)) constant.text.clear();  // without default
  constants_.push_back(constant);
  return constant.name;
}

std::string KernelWriter::Header() {
  std::string out = fmt::format("kernel {}({})\n", kernel_.name, fmt::join(params_, ", "));
  for (const ConstantText& constant : constants_) {
    out += fmt::format("  const {}: {}{}\n", constant.name,
                       kConstKindNames[static_cast<size_t>(constant.kind)], constant.text);
    if (constant.kind == ConstKind::kInt && rng_.Chance(30)) {
      out += fmt::format("  require {} >= 0 and {} < 1000{}\n", constant.name, constant.name,
                         rng_.Chance(50) ? ", \"out of \\\"range\\\"\\x01\"" : "");
    }
  }
  for (const Value& param : param_values_) {
    if (!rng_.Chance(20)) continue;
    if (param.kind == Kind::kPointer) {
      out += fmt::format("  assume %{} align {}\n", param.name, rng_.Of({1, 16, 256}));
    } else if (param.type.dtype.IsInteger()) {
      out += fmt::format("  assume %{} >= 0 and %{} <= 100\n", param.name, param.name);
    }
  }
  if (executable()) {
    out += fmt::format("  grid ({})\n", kernel_.blocks);
  } else if (rng_.Chance(60)) {
    out += rng_.Of<std::string>({"  grid (2)\n", "  grid (ceildiv(100, 7), 3)\n",
                                 "  grid (1, 2, max(3, 4))\n", "  grid (0)\n"});
  }
  if (warps_ != 4 || rng_.Chance(50)) out += fmt::format("  warps {}\n", warps_);
  if (rng_.Chance(4)) {
    out += rng_.Of<std::string>({"  registers 64\n", "  registers 32 * 4\n", "  registers 255\n"});
  }
  if (!executable() && rng_.Chance(10)) out += "  fast\n";
  return out;
}

std::string KernelWriter::Finish() {
  if (executable()) {
    std::vector<Value> tiles;
    for (const Value& value : values_) {
      if (value.space == Space::kRegister && tiles.size() < 4) tiles.push_back(value);
    }
    for (const Value& tile : tiles) Output(tile);
  } else if (rng_.Chance(20)) {
    Line("exit");
  }
  return Header() + "{\n" + body_ + "}\n";
}

namespace {

// The pairs that a program is made of.
std::vector<Pair> PairsFor(const RandomOptions& options) {
  if (!options.opcode) return AllPairs();
  std::vector<Pair> out;
  for (const Pair& pair : AllPairs()) {
    if (pair.first == *options.opcode) out.push_back(pair);
  }
  return out;
}

}  // namespace

RandomProgram MakeRandomProgram(uint64_t seed, const RandomOptions& options) {
  Rng rng(seed);
  const std::vector<Pair> pairs = PairsFor(options);
  RandomProgram program;
  const auto kernels = static_cast<int>(rng.Between(1, options.max_kernels));
  for (int k = 0; k < kernels; ++k) {
    KernelWriter writer(rng, options, fmt::format("kernel_{}", k));
    const int targets = std::max(1, options.targets / kernels);
    for (int i = 0; i < targets; ++i) {
      const Pair& pair = rng.Of(pairs);
      writer.Emit(pair.first, DTypeFromCode(pair.second).value_or(kI32));
    }
    if (k > 0) program.text += '\n';
    program.text += writer.Finish();
    program.kernels.push_back(writer.kernel());
  }
  return program;
}

}  // namespace tarsia
