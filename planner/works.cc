// The works of a plan: which kernels compute what, and what they read.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <span>
#include <string_view>

#include "planner/works.h"

namespace tarsia {
namespace {

// Reductions of this many elements and more are cut into parts if they have few results.
constexpr int64_t kLongReduction = 1 << 16;
constexpr int64_t kElementsOfPart = 1 << 12;
constexpr int64_t kFewResults = 2048;
constexpr int64_t kMostParts = 64;

bool Contains(std::span<const uint32_t> list, uint32_t item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

bool SameSet(std::span<const uint32_t> a, std::span<const uint32_t> b) {
  return a.size() == b.size() &&
         std::all_of(a.begin(), a.end(), [&](uint32_t item) { return Contains(b, item); });
}

std::string_view EndOfName(KernelKind kind) {
  switch (kind) {
    case KernelKind::kValues:
    case KernelKind::kPartial:
    case KernelKind::kFinish:
      return "";
    case KernelKind::kMerge:
      return "_merge";
    case KernelKind::kBegin:
      return "_begin";
    case KernelKind::kFactor:
      return "_factor";
    case KernelKind::kSubstitute:
      return "_substitute";
    case KernelKind::kUpdate:
      return "_update";
  }
  return "";
}

}  // namespace

bool Work::Reduces(uint32_t axis) const { return Contains(reduced, axis); }
bool Work::Has(uint32_t axis) const { return Contains(axes, axis) || Reduces(axis); }
bool Work::Moves(const Work& other, uint32_t axis) const {
  return std::any_of(other.stores.begin(), other.stores.end(),
                     [&](const auto& store) { return moved.count({store.second, axis}) != 0; });
}

// A name that no other tensor and no parameter of a kernel has.
std::string Works::NameFor(std::string name) const {
  if (name[0] == '_') name = "in" + name;
  const auto is_parameter = [](std::string_view text, std::string_view axis) {
    if (!text.starts_with(axis)) return false;
    const std::string_view rest = text.substr(axis.size());
    return rest == "_low" || rest == "_high" || rest == "_base";
  };
  const auto taken = [&](std::string_view text) {
    const auto& axes = meaning_.concrete().axes();
    const bool ends = text.ends_with("_low") || text.ends_with("_high") || text.ends_with("_base");
    return text == "fresh" ||
           (ends &&
            std::any_of(axes.begin(), axes.end(),
                        [&](const ConcreteAxis& axis) { return is_parameter(text, axis.name); })) ||
           std::any_of(tensors_.begin(), tensors_.end(),
                       [&](const Tensor& tensor) { return tensor.name == text; });
  };
  if (!taken(name)) return name;
  std::string out;
  int i = 2;
  do {
    out = fmt::format("{}_{}", name, i++);
  } while (taken(out));
  return out;
}

size_t Works::AddTensor(Tensor tensor) {
  tensor.name = NameFor(std::move(tensor.name));
  tensors_.push_back(std::move(tensor));
  return tensors_.size() - 1;
}

int64_t MostPartsOf(const Meaning& meaning, size_t n) {
  const Reduction* const reduction = meaning.ReductionOf(n);
  if (reduction == nullptr || reduction->count < kLongReduction) return 1;
  const int64_t results =
      std::max<int64_t>(meaning.value(meaning.node(n).first_result).elements, 1);
  if (results > kFewResults) return 1;
  const int64_t longest = meaning.axis(PartedAxis(meaning, *reduction)).extent;
  const int64_t others = reduction->count / std::max<int64_t>(longest, 1);
  const int64_t useful =
      std::max<int64_t>(longest / std::max<int64_t>(kElementsOfPart / others, 1), 1);
  return std::min({kMostParts, useful, std::max<int64_t>(kFewResults / results, 1)});
}

bool HasParts(const Meaning& meaning) {
  for (size_t n = 0; n < meaning.graph().nodes.size(); ++n) {
    if (MostPartsOf(meaning, n) > 1) return true;
  }
  return false;
}

Works::Key Works::KeyOf(const Meaning& meaning, const PlanChoice& choice) {
  Key out{choice.kept, {}, choice.parts, choice.views, std::nullopt};
  if (choice.share) out.shared = choice.share->axis;
  for (size_t n = 0; n < meaning.graph().nodes.size(); ++n) {
    const Reduction* const reduction = meaning.ReductionOf(n);
    const auto is_reduced = [&](const Split& split) {
      return Contains(reduction->axes, split.axis);
    };
    if (reduction == nullptr) continue;
    if (std::any_of(choice.splits.begin(), choice.splits.end(), is_reduced)) out.split.push_back(n);
  }
  return out;
}

Works::Works(const Meaning& meaning, Key key) : meaning_(meaning), key_(std::move(key)) {
  AddTensors();
  AddWorks();
  Join();
  FindNeeds();
  SortInPlace();
  ordered_ = works_.size();
  AddMerges();
  FindUsers();
  NameWorks();
  SortBySize();
  kernels_.reserve(2 * works_.size());
}

const KernelText* Works::KernelWith(size_t work, const Sizes& sizes) const {
  for (const KnownKernel& known : kernels_) {
    if (known.work == work && known.sizes == sizes) return known.kernel;
  }
  return nullptr;
}

void Works::Remember(size_t work, const Sizes& sizes, const KernelText& kernel) const {
  kernels_.push_back({work, sizes, &kernel});
}

// The parts of `topk` merge in the order of the indices, which chunks would break.
int64_t Works::PartsOf(size_t n) const {
  if (!key_.parts) return 1;
  const Reduction* const reduction = meaning_.ReductionOf(n);
  const bool top = reduction != nullptr && reduction->kind == ReducerKind::kTopK;
  return top && IsSplit(n) ? 1 : MostPartsOf(meaning_, n);
}

bool Works::IsSplit(size_t n) const {
  return std::binary_search(key_.split.begin(), key_.split.end(), n);
}

void Works::AddTensors() {
  const Graph& graph = meaning_.graph();
  tensors_.reserve(graph.inputs.size() + graph.outputs.size() + 4 * key_.kept.size());
  for (uint32_t v = 0; v < graph.inputs.size(); ++v) {
    input_tensors_[v] = AddTensor({meaning_.NameOf(v), PlanBuffer::Kind::kInput, v,
                                   meaning_.value(v).dtype, meaning_.value(v).axes});
    tensors_[input_tensors_[v]].input = v;
  }
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const uint32_t v = graph.outputs[i];
    result_tensors_[v] = AddTensor({meaning_.NameOf(v), PlanBuffer::Kind::kOutput, v,
                                    meaning_.value(v).dtype, meaning_.concrete().output_axes(i)});
    if (graph.output_types.empty()) continue;
    const uint32_t input = graph.output_types[i].in_place;
    if (input == GraphOutputType::kNotInPlace) continue;
    tensors_[result_tensors_[v]].in_place = input_tensors_.at(input);
  }
  for (const size_t n : key_.kept) {
    const GraphNode& node = meaning_.node(n);
    for (size_t i = 0; i < Row(node.op).results(); ++i) {
      const auto v = static_cast<uint32_t>(node.first_result + i);
      if (result_tensors_.count(v) != 0 || !meaning_.IsRead(v)) continue;
      result_tensors_[v] = AddTensor({meaning_.NameOf(v), PlanBuffer::Kind::kScratch, v,
                                      meaning_.value(v).dtype, meaning_.value(v).axes});
    }
  }
  if (!key_.views) return;
  const auto is_overwritten = [&](uint32_t input) {
    return std::any_of(tensors_.begin(), tensors_.end(), [&](const Tensor& tensor) {
      return tensor.in_place == input_tensors_.at(input);
    });
  };
  for (uint32_t v = 0; v < meaning_.concrete().values().size(); ++v) {
    const auto input = meaning_.RenamedInput(v);
    if (!input || result_tensors_.count(v) != 0 || is_overwritten(*input)) continue;
    input_tensors_[v] = AddTensor({meaning_.NameOf(v), PlanBuffer::Kind::kInput, v,
                                   meaning_.value(v).dtype, meaning_.value(v).axes});
    tensors_[input_tensors_[v]].input = *input;
  }
}

bool Works::Walk::Enter(uint32_t v, const MovedAxes& moved, size_t values) {
  constexpr size_t kBits = 64;
  Values* among = &seen;
  if (!moved.empty()) {
    const auto same = std::find_if(seen_moved.begin(), seen_moved.end(),
                                   [&](const auto& entry) { return entry.first == moved; });
    among =
        same != seen_moved.end() ? &same->second : &seen_moved.emplace_back(moved, Values()).second;
  }
  if (among->empty()) among->resize((values + kBits - 1) / kBits);
  uint64_t& word = (*among)[v / kBits];
  const uint64_t bit = uint64_t{1} << (v % kBits);
  const bool fresh = (word & bit) == 0;
  word |= bit;
  return fresh;
}

void Works::FindReads(uint32_t v, const MovedAxes& moved, Walk* walk) const {
  if (!walk->Enter(v, moved, meaning_.graph().value_name_ids.size())) return;
  const auto input = input_tensors_.find(v);
  const auto found = result_tensors_.find(v);
  if (input == input_tensors_.end() && found == result_tensors_.end()) {
    return FindReadsOfNode(meaning_.NodeOf(v), moved, walk);
  }
  const size_t tensor = input != input_tensors_.end() ? input->second : found->second;
  walk->work->reads[v] = tensor;
  for (const uint32_t axis : meaning_.value(v).axes) {
    if (moved.count(axis) != 0) walk->work->moved.insert({tensor, axis});
  }
}

void Works::FindReadsOfNode(size_t n, const MovedAxes& moved, Walk* walk) const {
  const auto more = meaning_.MovedBy(n);
  if (more.empty()) {
    for (const uint32_t read : meaning_.ReadsOf(n)) FindReads(read, moved, walk);
    return;
  }
  MovedAxes all = moved;
  all.insert(more.begin(), more.end());
  for (const uint32_t read : meaning_.ReadsOf(n)) FindReads(read, all, walk);
}

void Works::AddValueWork(uint32_t v) {
  Work work;
  const size_t tensor = result_tensors_.at(v);
  work.axes = tensors_[tensor].axes;
  work.stores = {{v, tensor}};
  Walk walk{&work};
  if (meaning_.IsInput(v)) {
    FindReads(v, {}, &walk);
  } else {
    FindReadsOfNode(meaning_.NodeOf(v), {}, &walk);
  }
  works_.push_back(std::move(work));
}

void Works::AddReductionWorks(size_t n) {
  const GraphNode& node = meaning_.node(n);
  const Reduction& reduction = *meaning_.ReductionOf(n);
  Work partial;
  partial.kind = KernelKind::kPartial;
  partial.axes = meaning_.value(node.first_result).axes;
  partial.reduced = reduction.axes;
  partial.parts = PartsOf(n);
  InlineVector<size_t, 4> state;
  for (const StatePart& part : StateOf(reduction)) {
    std::string name = meaning_.NameOf(node.first_result);
    name.append("_").append(part.name);
    state.push_back(AddTensor({std::move(name), PlanBuffer::Kind::kScratch, node.first_result,
                               part.dtype, partial.axes, partial.parts > 1 ? partial.parts : 0}));
  }
  partial.states = {{n, state}};
  Walk walk{&partial};
  FindReadsOfNode(n, {}, &walk);
  Work finish;
  finish.kind = KernelKind::kFinish;
  finish.axes = partial.axes;
  finish.states = partial.states;
  for (size_t i = 0; i < Row(node.op).results(); ++i) {
    const auto v = static_cast<uint32_t>(node.first_result + i);
    if (const auto found = result_tensors_.find(v); found != result_tensors_.end()) {
      finish.stores.push_back({v, found->second});
    }
  }
  works_.push_back(std::move(partial));
  works_.push_back(std::move(finish));
}

void Works::AddSolveWorks(size_t n) {
  const Solve& solve = *meaning_.SolveOf(n);
  const uint32_t v = meaning_.node(n).first_result;
  const size_t tensor = result_tensors_.at(v);
  Work begin;
  begin.kind = KernelKind::kBegin;
  begin.axes = tensors_[tensor].axes;
  begin.stores = {{v, tensor}};
  Walk walk{&begin};
  MovedAxes moved;
  if (!solve.factors) moved.insert(solve.rows);
  FindReads(solve.right, moved, &walk);
  Work panel;
  panel.panels = Panels{n, solve.columns, solve.upper};
  panel.stores = begin.stores;
  for (const uint32_t axis : begin.axes) {
    if (axis != solve.columns && axis != solve.rows) panel.axes.push_back(axis);
  }
  if (!solve.factors) {
    Walk matrix{&panel};
    moved.insert(solve.columns);
    FindReads(solve.matrix, moved, &matrix);
  }
  works_.push_back(std::move(begin));
  const auto add = [&](KernelKind kind) {
    panel.kind = kind;
    works_.push_back(panel);
  };
  // A single panel has nothing below it.
  const bool several = meaning_.axis(solve.columns).extent > kPanel;
  if (solve.factors) add(KernelKind::kFactor);
  if (!solve.factors || several) add(KernelKind::kSubstitute);
  if (several) add(KernelKind::kUpdate);
}

void Works::AddWorks() {
  works_.reserve(4 * result_tensors_.size());
  // Values are in an order in which each needs only earlier ones.
  std::vector<bool> reduced(meaning_.graph().nodes.size());
  // A reduction that is split by chunks or by parts has a state in memory.
  const auto has_state = [&](size_t n) {
    const Reduction* const reduction = meaning_.ReductionOf(n);
    return reduction != nullptr && (PartsOf(n) > 1 || IsSplit(n));
  };
  for (const auto& [v, tensor] : result_tensors_) {
    if (!meaning_.IsInput(v) && meaning_.SolveOf(meaning_.NodeOf(v)) != nullptr) {
      AddSolveWorks(meaning_.NodeOf(v));
    } else if (meaning_.IsInput(v) || !has_state(meaning_.NodeOf(v))) {
      AddValueWork(v);
    } else if (const size_t n = meaning_.NodeOf(v); !reduced[n]) {
      reduced[n] = true;
      AddReductionWorks(n);
    }
  }
}

// The states of reductions over the shared axis are merged behind the loop over it.
void Works::AddMerges() {
  const size_t count = works_.size();
  for (size_t w = 0; w < count; ++w) {
    if (works_[w].kind != KernelKind::kPartial || !key_.shared) continue;
    if (!works_[w].Reduces(*key_.shared)) continue;
    Work merge;
    merge.kind = KernelKind::kMerge;
    merge.axes = works_[w].axes;
    merge.parts = works_[w].parts;
    merge.states = works_[w].states;
    for (const auto& [n, state] : merge.states) {
      InlineVector<size_t, 4>& incoming =
          merge.incoming.emplace_back(n, InlineVector<size_t, 4>()).second;
      for (const size_t t : state) {
        const Tensor& own = tensors_[t];
        incoming.push_back(AddTensor({own.name + "_in", PlanBuffer::Kind::kScratch, own.value,
                                      own.dtype, own.axes, own.parts}));
      }
    }
    works_[w].merge = works_.size();
    works_.push_back(std::move(merge));
  }
}

// Works of one shape whose operands are ready share a kernel, and what they compute alike.
bool Works::CanJoin(size_t at, const Work& work, size_t groups) const {
  const Work& group = works_[at];
  if (work.panels || group.kind != work.kind || !SameSet(group.axes, work.axes) ||
      group.reduced != work.reduced || group.parts != work.parts) {
    return false;
  }
  // All that it reads is written before the group.
  for (const auto& [v, tensor] : work.reads) {
    for (size_t other = at; other < groups; ++other) {
      for (const auto& [stored, to] : works_[other].stores) {
        if (to == tensor) return false;
      }
    }
  }
  for (const auto& [n, state] : work.states) {
    if (work.kind == KernelKind::kPartial) continue;
    for (size_t other = at; other < groups; ++other) {
      if (works_[other].kind != KernelKind::kPartial) continue;
      for (const auto& [m, others] : works_[other].states) {
        if (m == n) return false;
      }
    }
  }
  return true;
}

void Works::Join() {
  size_t groups = 0;
  for (size_t w = 0; w < works_.size(); ++w) {
    Work& work = works_[w];
    size_t at = 0;
    while (at < groups && !CanJoin(at, work, groups)) ++at;
    if (at == groups) {
      if (groups != w) works_[groups] = std::move(work);
      ++groups;
      continue;
    }
    Work& group = works_[at];
    group.stores.append(work.stores.begin(), work.stores.end());
    group.states.insert(group.states.end(), work.states.begin(), work.states.end());
    group.reads.insert(work.reads.begin(), work.reads.end());
    group.moved.insert(work.moved.begin(), work.moved.end());
  }
  works_.resize(groups);
}

void Works::FindNeeds() {
  // Each work needs only earlier ones.
  constexpr size_t kNone = SIZE_MAX;
  std::vector<size_t> writer(tensors_.size(), kNone);  // of a tensor, the last one so far
  for (size_t w = 0; w < works_.size(); ++w) {
    Work& work = works_[w];
    work.needs = {};
    const auto need = [&](size_t tensor) {
      if (writer[tensor] != kNone) work.needs.push_back(writer[tensor]);
    };
    for (const auto& [v, tensor] : work.reads) need(tensor);
    for (const auto& [n, state] : work.states) {
      for (const size_t tensor : state) need(tensor);
    }
    for (const auto& [v, tensor] : work.stores) {
      need(tensor);
      writer[tensor] = w;
    }
    if (work.kind != KernelKind::kPartial) continue;
    for (const auto& [n, state] : work.states) {
      for (const size_t tensor : state) writer[tensor] = w;
    }
  }
}

void Works::FindUsers() {
  for (size_t w = 0; w < works_.size(); ++w) {
    const auto use = [&](size_t tensor) {
      tensors_[tensor].used = true;
      tensors_[tensor].users.push_back(w);
    };
    for (const auto& [v, tensor] : works_[w].reads) use(tensor);
    for (const auto& [v, tensor] : works_[w].stores) use(tensor);
    for (const auto* const states : {&works_[w].states, &works_[w].incoming}) {
      for (const auto& [n, state] : *states) {
        for (const size_t tensor : state) use(tensor);
      }
    }
  }
  for (Tensor& tensor : tensors_) {
    // An input that nothing reads has no memory.
    if (tensor.in_place && !tensors_[*tensor.in_place].used) tensor.in_place.reset();
    if (tensor.in_place) tensors_[*tensor.in_place].overwritten = true;
  }
}

void Works::NameWorks() {
  std::vector<std::string_view> taken;
  taken.reserve(works_.size());
  for (Work& work : works_) {
    std::string name;
    const auto add = [&](size_t tensor) {
      if (!name.empty()) name += '_';
      name += tensors_[tensor].name;
    };
    for (const auto& [v, tensor] : work.stores) add(tensor);
    if (work.kind == KernelKind::kPartial || work.kind == KernelKind::kMerge) {
      for (const auto& [n, state] : work.states) add(state[0]);
    }
    name += EndOfName(work.kind);
    work.name = std::move(name);
    const auto is_taken = [&] {
      return std::find(taken.begin(), taken.end(), work.name) != taken.end();
    };
    if (is_taken()) {
      const std::string first = work.name;
      for (int i = 2; is_taken(); ++i) work.name = fmt::format("{}_{}", first, i);
    }
    taken.push_back(work.name);
  }
}

void Works::SortBySize() {
  std::vector<double> sizes;
  sizes.reserve(works_.size());
  for (const Work& work : works_) {
    double& size = sizes.emplace_back(1);
    const auto count = [&](uint32_t axis) {
      size *= static_cast<double>(meaning_.axis(axis).extent);
    };
    std::ranges::for_each(work.axes, count);
    std::ranges::for_each(work.reduced, count);
    if (work.panels) {  // a product of two matrices along it
      for (int i = 0; i < 3; ++i) count(work.panels->axis);
    }
  }
  by_size_.resize(works_.size());
  std::iota(by_size_.begin(), by_size_.end(), size_t{0});
  std::ranges::stable_sort(by_size_, std::greater(), [&](size_t w) { return sizes[w]; });
}

}  // namespace tarsia
