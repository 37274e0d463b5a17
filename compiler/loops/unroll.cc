#include "compiler/loops/unroll.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/loops/counted_loop.h"
#include "compiler/tile/copier.h"
#include "compiler/tile/new_operations.h"

namespace tarsia::compiler {
namespace {

using tile::Copier;
using tile::Form;
using tile::kNone;
using tile::OpId;
using tile::RegionId;
using tile::ValueId;

// Operations that a loop may become. More of them make code that does not fit in the caches of
// instructions, and take long to compile.
constexpr size_t kMostOperations = 1024;

constexpr size_t kUnroll = 0;  // the attribute's number in the row of `for`

class Unroller {
 public:
  explicit Unroller(Form& form) : form_(form) {}

  void Run() { Visit(tile::kBody); }

  // Whether copies of the loop's turns, so many at a time, are at the end of the region, in its
  // place.
  bool Replace(OpId id, int64_t wanted, RegionId into) {
    if (form_.ops[id].opcode != Opcode::kFor || wanted < 1) return false;
    const RegionId body = form_.ops[id].region[0];
    const std::optional<CountedLoop> loop = Counted(form_, form_.ops[id]);
    if (!loop || form_.Ends(body)) return false;
    const int64_t n = loop->turns ? std::min(wanted, *loop->turns) : wanted;
    const size_t operations = CountOperations(body);
    if (n < 1 || n > static_cast<int64_t>(kMostOperations / std::max<size_t>(operations, 1))) {
      return false;
    }
    Copier copier(form_);
    std::vector<ValueId> carried = form_.ops[id].inits;
    int64_t done = 0;  // turns, if they are known
    if (!loop->turns || *loop->turns > n) {
      carried = AddRounds(id, *loop, n, carried, copier, into);
      done = loop->turns.value_or(0) / n * n;
    }
    carried = AddRest(id, *loop, n, done, carried, copier, into);
    ReplaceResults(id, carried);
    return true;
  }

 private:
  // Inner loops first: they are copied as they are then.
  void Visit(RegionId region) {
    for (const OpId id : std::vector<OpId>(form_.regions[region].ops)) {
      for (const RegionId inner : {form_.ops[id].region[0], form_.ops[id].region[1]}) {
        if (inner != kNone) Visit(inner);
      }
    }
    const std::vector<OpId> ops = std::exchange(form_.regions[region].ops, {});
    for (const OpId id : ops) {
      const auto wanted = form_.pool.AsInt(form_.ops[id].attr[kUnroll]);
      const bool hint = form_.ops[id].opcode == Opcode::kFor && wanted && *wanted >= 2;
      if (!hint || !Replace(id, *wanted, region)) form_.regions[region].ops.push_back(id);
    }
  }

  [[nodiscard]] size_t CountOperations(RegionId region) const {
    const std::vector<OpId>& ops = form_.regions[region].ops;
    return std::accumulate(ops.begin(), ops.end(), ops.size(), [&](size_t sum, OpId id) {
      for (const RegionId inner : form_.ops[id].region) {
        if (inner != kNone) sum += CountOperations(inner);
      }
      return sum;
    });
  }

  // A loop of whole rounds of `n` turns; returns what it carries to its end.
  std::vector<ValueId> AddRounds(OpId id, const CountedLoop& loop, int64_t n,
                                 const std::vector<ValueId>& inits, Copier& copier, RegionId into) {
    const ExprId stop = Plus(form_.pool, loop.stop, -(n - 1) * loop.step);
    const OpId rounds = copier.CopyLoop(id, loop.start, stop, n * loop.step, inits, into);
    form_.ops[rounds].attr[kUnroll] = form_.pool.Int(1);
    const RegionId from = form_.ops[id].region[0];
    const RegionId body = form_.ops[rounds].region[0];
    const ValueId counter = form_.regions[body].arguments[0];
    std::vector<ValueId> carried(form_.regions[body].arguments.begin() + 1,
                                 form_.regions[body].arguments.end());
    for (int64_t i = 0; i < n; ++i) {
      const ExprId now = Plus(form_.pool, ExprId::Value(counter), i * loop.step);
      carried = AddTurn(from, now, carried, copier, body);
    }
    form_.regions[body].yields = std::move(carried);
    return form_.ops[rounds].results;
  }

  // The turns that no round makes: one after the other if there are few, else a loop.
  std::vector<ValueId> AddRest(OpId id, const CountedLoop& loop, int64_t n, int64_t done,
                               std::vector<ValueId> carried, Copier& copier, RegionId into) {
    const RegionId from = form_.ops[id].region[0];
    const int64_t rest = loop.turns.value_or(0) - done;
    if (loop.turns && (done == 0 || rest < 2)) {
      const int64_t first = *form_.pool.AsInt(loop.start);
      for (int64_t i = done; i < *loop.turns; ++i) {
        carried = AddTurn(from, form_.pool.Int(first + i * loop.step), carried, copier, into);
      }
      return carried;
    }
    const ExprId start = loop.turns ? Plus(form_.pool, loop.start, done * loop.step)
                                    : EndOfRounds(form_.pool, loop, n, (n - 1) * loop.step);
    const OpId others = copier.CopyLoop(id, start, loop.stop, loop.step, carried, into);
    form_.ops[others].attr[kUnroll] = form_.pool.Int(1);
    const RegionId body = form_.ops[others].region[0];
    copier.CopyOps(from, body);
    form_.regions[body].yields = copier.ValuesNow(form_.regions[from].yields);
    return form_.ops[others].results;
  }

  // A turn of the loop whose counter has this value; returns what it yields.
  std::vector<ValueId> AddTurn(RegionId from, ExprId counter, const std::vector<ValueId>& carried,
                               Copier& copier, RegionId into) {
    const std::vector<ValueId> arguments = form_.regions[from].arguments;
    if (!counter.is_value() && tile::IsOperand(form_, from, arguments[0])) {
      counter = ExprId::Value(tile::AddScalar(form_, copier.Fresh(arguments[0]), counter, into));
    }
    copier.Set(arguments[0], counter);
    for (size_t i = 0; i < carried.size(); ++i) {
      copier.Set(arguments[i + 1], ExprId::Value(carried[i]));
    }
    copier.CopyOps(from, into);
    return copier.ValuesNow(form_.regions[from].yields);
  }

  // What the loop gave is what its last turn gives.
  void ReplaceResults(OpId id, const std::vector<ValueId>& by) {
    const std::vector<ValueId>& results = form_.ops[id].results;
    if (results.empty()) return;
    std::vector<ValueId> now(form_.values.size(), kNone);
    for (size_t i = 0; i < results.size(); ++i) now[results[i]] = by[i];
    tile::ReplaceValues(form_, now);
  }

  Form& form_;
};

}  // namespace

void Unroll(Form& form, Target /*target*/) { Unroller(form).Run(); }

bool UnrollWhole(Form& form, OpId loop, RegionId into) {
  const auto counted = Counted(form, form.ops[loop]);
  return counted && counted->turns && Unroller(form).Replace(loop, *counted->turns, into);
}

}  // namespace tarsia::compiler
