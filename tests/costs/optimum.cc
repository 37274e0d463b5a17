#include "tests/costs/optimum.h"

#include <algorithm>
#include <bit>
#include <map>
#include <vector>

#include "compiler/passes/accessed_memory.h"
#include "compiler/passes/layout_graph.h"
#include "compiler/select/mma.h"
#include "support/extents.h"

namespace tarsia::costs {
namespace {

using namespace compiler;  // NOLINT(google-build-using-namespace)

constexpr int kLaneBits = 5;
constexpr Cost kNever = Cost{1} << 40;
using Mask = uint32_t;  // lane bits, of the row-major number of an element
using Row = std::vector<Cost>;
using Table = std::vector<Row>;

int BitsOf(int64_t extent) { return std::countr_zero(static_cast<uint64_t>(extent)); }

// The index bits of a shape.
struct Shape {
  std::vector<int64_t> extents;
  std::vector<int> first;  // by dimension: its lowest bit in the row-major number
  int bits = 0;

  explicit Shape(const std::vector<int64_t>& e) : extents(e), first(e.size()) {
    for (size_t d = e.size(); d-- > 0;) {
      first[d] = bits;
      bits += BitsOf(e[d]);
    }
  }
  [[nodiscard]] Mask Of(size_t dim) const {
    return ((Mask{1} << BitsOf(extents[dim])) - 1) << first[dim];
  }
  [[nodiscard]] std::vector<Mask> All() const {
    std::vector<Mask> out;
    for (Mask mask = 0; mask < Mask{1} << bits; ++mask) {
      if (std::popcount(mask) <= kLaneBits) out.push_back(mask);
    }
    return out;
  }
  [[nodiscard]] int64_t Slots(Mask mask) const {
    return int64_t{1} << (bits - std::popcount(mask));
  }
  // Slots of a thread that follow each other along a dimension.
  [[nodiscard]] int64_t Run(Mask mask, size_t dim) const {
    int64_t run = 1;
    for (int b = 0; b < BitsOf(extents[dim]) && (mask >> (first[dim] + b) & 1) == 0; ++b) run *= 2;
    return run;
  }
  [[nodiscard]] RegLayout::Digit DigitOf(int bit) const {
    size_t d = 0;
    while ((Of(d) >> bit & 1) == 0) ++d;
    return {static_cast<int>(d), 2, int64_t{1} << (bit - first[d])};
  }
};

// A layout with these lanes, from the outermost; -1: a replica. Innermost in a thread is a run of
// at most `most` slots along `fast`.
TileLayout LayoutWith(const Shape& shape, const std::vector<int>& lanes, int fast, int64_t most) {
  RegLayout::Digits spatial, local;
  Mask left = (Mask{1} << shape.bits) - 1;
  for (const int bit : lanes) {
    if (bit < 0) {
      spatial.push_back({RegLayout::kReplication, 2, 0});
    } else {
      spatial.push_back(shape.DigitOf(bit));
      left &= ~(Mask{1} << bit);
    }
  }
  std::vector<int> inner;
  if (fast >= 0) {
    int bit = shape.first[Size(fast)];
    for (int64_t run = 1; run < most && (left & shape.Of(Size(fast)) & (Mask{1} << bit)) != 0;
         run *= 2) {
      inner.push_back(bit);
      left &= ~(Mask{1} << bit++);
    }
  }
  for (int bit = shape.bits; bit-- > 0;) {
    if ((left >> bit & 1) != 0) local.push_back(shape.DigitOf(bit));
  }
  for (auto bit = inner.rbegin(); bit != inner.rend(); ++bit) local.push_back(shape.DigitOf(*bit));
  return TileLayout::Exact(RegLayout::FromDigits(shape.extents, spatial, local).value());
}

std::vector<int> LanesOf(Mask mask) {
  std::vector<int> out;
  for (int bit = 31; bit >= 0; --bit) {
    if ((mask >> bit & 1) != 0) out.push_back(bit);
  }
  out.insert(out.begin(), Size(kLaneBits - static_cast<int>(out.size())), -1);
  return out;
}

class Search {
 public:
  Search(const tile::Form& form, Target target)
      : form_(form), target_(target), graph_(MakeLayoutGraph(form)), memories_(form, target) {}

  Optimum Run() {
    for (const LayoutVariable& variable : graph_.variables) AddVariable(variable);
    for (const LayoutOp& op : graph_.ops) AddWork(op);
    for (const LayoutTie& tie : graph_.ties) AddTie(tie);
    for (const LayoutCarry& carry : graph_.carries) {
      if (carry.from != carry.to) AddPair(carry.from, carry.to, Carry(carry));
    }
    while (Eliminate()) {
    }
    out_.cost = constant_;
    return out_;
  }

 private:
  [[nodiscard]] Cost Price(const Work& work) const { return CyclesOf(work, target_); }
  [[nodiscard]] const ConcreteType& TypeOf(uint32_t v) const {
    return form_.types[graph_.variables[v].type];
  }
  [[nodiscard]] bool IsDot(uint32_t v) const {
    return graph_.variables[v].kind == LayoutVariable::Kind::kDot;
  }

  void AddVariable(const LayoutVariable& variable) {
    const auto v = static_cast<uint32_t>(domain_.size());
    domain_.push_back(IsDot(v) ? std::vector<Mask>() : Shape(TypeOf(v).shape).All());
    if (IsDot(v)) AddWays(variable);
    own_.emplace_back(domain_[v].size(), 0);
    open_.push_back(true);
    out_.states += static_cast<int64_t>(domain_[v].size());
    for (const Mask mask : domain_[v]) {
      int64_t orders = 1;
      for (int k = 0; !IsDot(v) && k < std::popcount(mask); ++k) orders *= kLaneBits - k;
      out_.layouts += orders;
    }
  }

  // ---- tensor cores: on one warp the fragments leave no choice but to swap rows and columns
  // ------

  struct Way {
    Mask a = 0, b = 0, c = 0;
    int64_t products = 0;
  };
  std::map<tile::OpId, std::vector<Way>> ways_;

  static Mask MaskOf(const RegLayout& layout, const Shape& shape, bool swapped) {
    Mask out = 0;
    for (const RegLayout::Digit& digit : layout.spatial()) {
      if (digit.dim == RegLayout::kReplication) continue;
      const auto dim = Size(swapped ? 1 - digit.dim : digit.dim);
      for (int64_t part = 1; part < digit.extent; part *= 2) {
        out |= Mask{1} << (shape.first[dim] + BitsOf(digit.stride * part));
      }
    }
    return out;
  }

  void AddWays(const LayoutVariable& variable) {
    const tile::Operation& op = form_.ops[variable.op];
    const ConcreteType& a = form_.TypeOf(op.operand[0].value);
    const ConcreteType& b = form_.TypeOf(op.operand[1].value);
    const ConcreteType& c = form_.TypeOf(op.operand[2].value);
    for (const bool swapped : {false, true}) {
      const DotTypes types =
          swapped ? DotTypes{b.dtype, a.dtype, c.dtype} : DotTypes{a.dtype, b.dtype, c.dtype};
      for (const MmaForm* form : MmaFormsOf(types, target_)) {
        const DotShape shape = ShapeOfDot(a.shape, b.shape);
        const auto made = LayoutsOfMma(*form, swapped ? Transposed(shape) : shape, WarpSplit());
        if (!made.ok()) continue;
        const Shape sa(a.shape), sb(b.shape), sc(c.shape);
        ways_[variable.op].push_back({MaskOf(swapped ? made->b.reg() : made->a.reg(), sa, swapped),
                                      MaskOf(swapped ? made->a.reg() : made->b.reg(), sb, swapped),
                                      MaskOf(made->c.reg(), sc, swapped),
                                      MmaProducts(*form, made->steps)});
        domain_.back().push_back(static_cast<Mask>(ways_[variable.op].size() - 1));
      }
    }
  }

  // ---- instructions
  // ------------------------------------------------------------------------------

  void AddWork(const LayoutOp& op) {
    const tile::Operation& operation = form_.ops[op.op];
    Row& own = own_[op.anchor];
    for (size_t i = 0; i < own.size(); ++i) {
      const Mask mask = domain_[op.anchor][i];
      Cost cost = 0;
      if (IsDot(op.anchor)) {
        cost = Price(MmaWork(ways_[op.op][i].products));
      } else if (operation.operand[0].kind == Operand::Kind::kMemory) {
        cost = Access(memories_.Of(operation), Shape(TypeOf(op.anchor).shape), mask);
      } else {
        cost = Price(WorkAt(op, Shape(TypeOf(op.anchor).shape), mask));
      }
      own[i] += op.turns * cost;
    }
  }

  [[nodiscard]] Work WorkAt(const LayoutOp& op, const Shape& shape, Mask mask) const {
    const Family family = op.rule.row().family;
    if (family == Family::kShape) return {};
    const TileLayout layout = LayoutWith(shape, LanesOf(mask), -1, 1);
    if (family != Family::kReduce) {
      return ElementwiseWork(op.rule.opcode, TypeOf(op.anchor).dtype, layout, op.rule.fast);
    }
    int64_t slots = shape.Slots(mask);
    for (const int64_t axis : op.rule.axes) {
      slots >>= BitsOf(shape.extents[Size(axis)]) - std::popcount(mask & shape.Of(Size(axis)));
    }
    const int64_t indices = op.rule.result[1] != nullptr ? 1 : 0;
    return ReductionWork(op.rule.opcode, op.rule.operand[0]->dtype, layout, op.rule.axes,
                         {slots, 1 + indices, 1 + indices});
  }

  // The cheapest run, and for shared memory the cheapest order of lanes.
  [[nodiscard]] Cost Access(const AccessedMemory& memory, const Shape& shape, Mask mask) const {
    std::vector<int> lanes = LanesOf(mask);
    std::sort(lanes.begin(), lanes.end());
    Cost best = PackedAccess(memory, mask);
    do {
      for (int64_t run = 1; run <= 128; run *= 2) {
        best =
            std::min(best, Price(AccessWork(memory, LayoutWith(shape, lanes, memory.fast, run))));
      }
    } while (memory.space == Space::kShared && std::next_permutation(lanes.begin(), lanes.end()));
    return best;
  }

  // Whole tiles of packed memory, whatever the order of the slots outside of them.
  [[nodiscard]] Cost PackedAccess(const AccessedMemory& memory, Mask mask) const {
    if (!memory.packed) return kNever;
    const Shape shape(memory.extents);
    if (MaskOf(*memory.packed, shape, false) != mask) return kNever;
    Extents turns;
    for (size_t d = 0; d < shape.extents.size(); ++d) {
      turns.push_back(shape.extents[d] / memory.packed->shape()[d]);
    }
    const auto outer = RegLayout::Local(turns);
    return Price(AccessWork(memory, TileLayout::Exact(Product(*outer, *memory.packed).value())));
  }

  // ---- conversions
  // -------------------------------------------------------------------------------

  // One side of an exchange in the order in which elements along a dimension follow each other.
  [[nodiscard]] Cost Side(const Shape& shape, Mask mask, size_t dim, int bytes, bool stores) const {
    const int64_t run = std::min<int64_t>(shape.Run(mask, dim), 16 / bytes);
    const int64_t lanes = stores ? int64_t{1} << std::popcount(mask) : 32;
    Work work;
    work.issued = 1;
    work.shared_wavefronts = std::max<int64_t>(1, lanes * run * bytes / 128);
    const Cost best = shape.Slots(mask) / run * Price(work);
    return stores || bytes != 2 ? best : std::min(best, Matrices(shape, mask));
  }

  // The cheapest loads of matrices: lanes along 8 rows and 4 pairs of columns, or the other way.
  [[nodiscard]] Cost Matrices(const Shape& shape, Mask mask) const {
    if (shape.extents.size() != 2 || shape.Slots(mask) < 2) return kNever;
    bool fits = false;
    for (const size_t pairs : {size_t{0}, size_t{1}}) {
      const Mask rows = Mask{7} << shape.first[1 - pairs];
      fits = fits || mask == (rows | Mask{6} << shape.first[pairs]);
    }
    if (!fits) return kNever;
    const int64_t count = std::min<int64_t>(4, shape.Slots(mask) / 2);
    Work work;
    work.issued = 1;
    work.shared_wavefronts = count;
    return shape.Slots(mask) / (2 * count) * Price(work);
  }

  // By exchanges of words within the warp. A lane chooses one of the slots that differ in bits
  // which are the lane's afterwards, at most two, if it has them itself: if no lane bit becomes a
  // slot's.
  [[nodiscard]] Cost Shuffles(const Shape& shape, Mask from, Mask to, int bytes) const {
    const int choices = std::popcount(to & ~from);
    if (choices > ((from & ~to) == 0 ? 2 : 0)) return kNever;
    const int kept = shape.bits - std::popcount(from | to);
    const int64_t run = bytes >= 4 ? 1 : std::min<int64_t>(4 / bytes, int64_t{1} << kept);
    const int64_t words = shape.Slots(to) / run * (bytes > 4 ? 2 : 1);
    Work work;
    work.shuffles = (from & ~to) == 0 ? 0 : words << choices;
    work.arithmetic = (words << choices) - words;
    return Price(work);
  }

  // By masks of the domain of a shape.
  Cost Conversion(const Shape& shape, Mask from, Mask to, int bytes) const {
    if (from == to) return 0;
    Work barriers;
    barriers.barriers = 2;
    Cost best = shape.extents.empty() ? 0 : kNever;
    for (size_t d = 0; d < shape.extents.size(); ++d) {
      best = std::min(best, Side(shape, from, d, bytes, true) + Side(shape, to, d, bytes, false));
    }
    return std::min(Price(barriers) + best, Shuffles(shape, from, to, bytes));
  }

  static int BytesOf(DType type) { return std::max(1, type.bits / 8); }

  Table Carry(const LayoutCarry& carry) const {
    const Shape shape(TypeOf(carry.to).shape);
    return Pairs(carry.from, carry.to, [&](Mask from, Mask to) {
      return carry.turns * Conversion(shape, from, to, BytesOf(TypeOf(carry.to).dtype));
    });
  }

  template <typename CostOf>
  Table Pairs(uint32_t x, uint32_t y, const CostOf& cost) const {
    Table out;
    for (const Mask a : domain_[x]) {
      Row& row = out.emplace_back();
      for (const Mask b : domain_[y]) row.push_back(cost(a, b));
    }
    return out;
  }

  // Where an instruction with this mask at its anchor has the tile at a port.
  [[nodiscard]] Mask Needed(const LayoutOp& op, Port port, Mask anchor) const {
    const tile::Operation& operation = form_.ops[op.op];
    if (operation.opcode == Opcode::kDot) {
      const Way& way = ways_.at(op.op)[anchor];
      if (port == Port::Operand(0)) return way.a;
      return port == Port::Operand(1) ? way.b : way.c;
    }
    if (AnchorOf(op.rule) == port || operation.opcode == Opcode::kReshape) return anchor;
    const Shape from(TypeOf(op.anchor).shape), to(op.rule.At(port)->shape);
    if (operation.opcode == Opcode::kPermute) return Moved(from, to, op.rule.axes, anchor);
    std::vector<int64_t> kept;  // by dimension of `to`: of `from`, or -1
    for (size_t d = 0; d < from.extents.size(); ++d) {
      const bool listed = std::count(op.rule.axes.begin(), op.rule.axes.end(), d) != 0;
      if (operation.opcode == Opcode::kGather) {
        if (listed) kept.push_back(static_cast<int64_t>(d));
      } else if (op.rule.row().family == Family::kReduce) {
        if (!listed || op.rule.keepdims) kept.push_back(listed ? -1 : static_cast<int64_t>(d));
      } else {
        kept.push_back(to.extents[d] == from.extents[d] ? static_cast<int64_t>(d) : -1);
      }
    }
    return Moved(from, to, kept, anchor);
  }

  static Mask Moved(const Shape& from, const Shape& to, const std::vector<int64_t>& kept,
                    Mask mask) {
    Mask out = 0;
    for (size_t d = 0; d < kept.size(); ++d) {
      if (kept[d] < 0) continue;
      out |= (mask & from.Of(Size(kept[d]))) >> from.first[Size(kept[d])] << to.first[d];
    }
    return out;
  }

  void AddTie(const LayoutTie& tie) {
    const LayoutOp& op = graph_.ops[tie.op];
    const ConcreteType& type = TypeOf(tie.tile);
    const Shape shape(type.shape);
    const int bytes = BytesOf(type.dtype);
    const Cost turns = tie.port.is_result ? op.turns : graph_.variables[tie.tile].turns;
    const bool codes =
        op.rule.row().Has(kReadsCodes) && tie.port == Port::Operand(0) && type.dtype.bits <= 8;
    AddPair(op.anchor, tie.tile, Pairs(op.anchor, tie.tile, [&](Mask anchor, Mask has) {
              const Mask there = Needed(op, tie.port, anchor);
              if (there == has) return Cost{0};
              const Cost lone = codes ? Price(LoneCodesWork(shape.Slots(there))) : 0;
              return turns * (lone + (tie.port.is_result ? Conversion(shape, there, has, bytes)
                                                         : Conversion(shape, has, there, bytes)));
            }));
  }

  // ---- the least sum, by elimination of variables with at most two neighbours
  // --------------------

  void AddPair(uint32_t x, uint32_t y, const Table& table) {
    if (x > y) {
      Table turned(domain_[y].size(), Row(domain_[x].size()));
      for (size_t i = 0; i < table.size(); ++i) {
        for (size_t j = 0; j < table[i].size(); ++j) turned[j][i] = table[i][j];
      }
      return AddPair(y, x, turned);
    }
    const auto [known, is_new] = pairs_.try_emplace({x, y}, table);
    if (is_new) return;
    for (size_t i = 0; i < table.size(); ++i) {
      for (size_t j = 0; j < table[i].size(); ++j) known->second[i][j] += table[i][j];
    }
  }

  // The table between two variables, by candidates of the first.
  [[nodiscard]] Cost Entry(uint32_t x, size_t i, uint32_t y, size_t j) const {
    return x < y ? pairs_.at({x, y})[i][j] : pairs_.at({y, x})[j][i];
  }

  bool Eliminate() {
    uint32_t best = 0;
    std::vector<uint32_t> neighbours;
    bool found = false;
    for (uint32_t v = 0; v < open_.size(); ++v) {
      if (!open_[v]) continue;
      std::vector<uint32_t> mine;
      for (const auto& [ends, table] : pairs_) {
        if (ends.first == v) mine.push_back(ends.second);
        if (ends.second == v) mine.push_back(ends.first);
      }
      if (found && mine.size() >= neighbours.size()) continue;
      best = v;
      neighbours = std::move(mine);
      found = true;
    }
    if (!found) return false;
    if (neighbours.size() > 2) std::abort();  // a program for which this search is not meant
    Remove(best, neighbours);
    return true;
  }

  void Remove(uint32_t v, const std::vector<uint32_t>& neighbours) {
    open_[v] = false;
    const size_t count = domain_[v].size();
    std::vector<Table> to(neighbours.size());  // by neighbour's candidate, by candidate of v
    for (size_t n = 0; n < neighbours.size(); ++n) {
      for (size_t i = 0; i < domain_[neighbours[n]].size(); ++i) {
        Row& row = to[n].emplace_back();
        for (size_t j = 0; j < count; ++j) row.push_back(Entry(neighbours[n], i, v, j));
      }
    }
    for (const uint32_t n : neighbours) pairs_.erase({std::min(n, v), std::max(n, v)});
    const auto least = [&](const Row* a, const Row* b) {
      Cost out = kNever;
      for (size_t j = 0; j < count; ++j) {
        const Cost sum = own_[v][j] + (a != nullptr ? (*a)[j] : 0) + (b != nullptr ? (*b)[j] : 0);
        out = std::min(out, sum);
      }
      return out;
    };
    if (neighbours.empty()) constant_ += least(nullptr, nullptr);
    if (neighbours.size() == 1) {
      for (size_t i = 0; i < to[0].size(); ++i) own_[neighbours[0]][i] += least(&to[0][i], nullptr);
    }
    if (neighbours.size() == 2) {
      Table table;
      for (const Row& a : to[0]) {
        Row& row = table.emplace_back();
        for (const Row& b : to[1]) row.push_back(least(&a, &b));
      }
      AddPair(neighbours[0], neighbours[1], table);
    }
  }

  const tile::Form& form_;
  const Target target_;
  const LayoutGraph graph_;
  const AccessedMemories memories_;
  std::vector<std::vector<Mask>> domain_;  // by variable; of a `dot` the numbers of its ways
  std::vector<Row> own_;
  std::vector<bool> open_;
  std::map<std::pair<uint32_t, uint32_t>, Table> pairs_;
  Cost constant_ = 0;
  Optimum out_;
};

}  // namespace

Optimum FindOptimum(const tile::Form& form, Target target) { return Search(form, target).Run(); }

}  // namespace tarsia::costs
