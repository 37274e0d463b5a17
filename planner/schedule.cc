#include "planner/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "dtypes/bits.h"
#include "planner/sharing.h"
#include "planner/transfers.h"
#include "support/align.h"

namespace tarsia {
namespace {

// Fewer blocks leave processors idle.
double BusyBlocks(Machine machine) { return machine == Machine::kCpu ? 8 : 64; }

constexpr int kNoLevel = -1;
constexpr int64_t kMostGranule = 4096;  // no tile is longer

// Of transfers, in additions of elements: a byte, and a run of bytes that are contiguous outside of
// the arena, which is one call of the system.
constexpr double kBytePrice = 0.25;
constexpr double kRunPrice = 2'000;

// Every size and every end that no arena has is the same one, and two of them have a sum.
constexpr uint64_t kBeyondArena = kMostArena + kArenaAlignment;

uint64_t Capped(unsigned __int128 bytes) {
  return bytes < kBeyondArena ? static_cast<uint64_t>(bytes) : kBeyondArena;
}

// Places the tensors in the order given, each at the lowest offset that is free all its life;
// returns their end, or one above `most` as soon as there is one.
uint64_t Pack(const std::vector<size_t>& order, const std::vector<Place>& places, uint64_t most,
              std::vector<PackBuffers::Span>* buffer, std::vector<uint64_t>* offsets) {
  uint64_t peak = 0;
  std::vector<PackBuffers::Span>& placed = *buffer;
  placed.clear();
  for (const size_t t : order) {
    const Place& tensor = places[t];
    const uint64_t room = tensor.room;
    if (room == 0) continue;
    uint64_t offset = 0;
    auto at = placed.begin();
    for (; at != placed.end(); ++at) {
      if (at->first > tensor.last || tensor.first > at->last) continue;
      if (offset + room <= at->begin) break;
      offset = std::max(offset, AlignUp(at->end, kArenaAlignment));
    }
    if (offsets != nullptr) (*offsets)[t] = offset;
    const uint64_t end = Capped(offset + room);
    peak = std::max(peak, end);
    if (peak > most) return peak;
    at = std::partition_point(placed.begin(), placed.end(),
                              [&](const auto& span) { return span.begin < offset; });
    placed.insert(at, {tensor.first, tensor.last, offset, end});
  }
  return peak;
}

// The largest first.
void SortBySize(const std::vector<Place>& places, std::vector<size_t>* order) {
  std::ranges::sort(*order, [&](size_t a, size_t b) {
    const uint64_t of_a = places[a].room;
    const uint64_t of_b = places[b].room;
    return of_a != of_b ? of_a > of_b : a < b;
  });
}

// Of one launch over whole ranges.
double CostOf(const KernelText& kernel, Machine machine) {
  const auto blocks = static_cast<double>(std::max<int64_t>(kernel.blocks, 1));
  return kernel.cost * std::max(1.0, BusyBlocks(machine) / blocks);
}

}  // namespace

Schedule::Schedule(const Meaning& meaning, const PlanChoice& choice, LimitKind limit_kind)
    : Schedule(meaning, choice, limit_kind,
               std::make_shared<const Works>(meaning, Works::KeyOf(meaning, choice))) {}

Schedule::Schedule(const Meaning& meaning, PlanChoice choice, LimitKind limit_kind,
                   std::shared_ptr<const Works> made)
    : meaning_(meaning),
      choice_(std::move(choice)),
      limit_kind_(limit_kind),
      made_(std::move(made)),
      tensors_(made_->tensors()),
      works_(made_->works()),
      places_(tensors_.size()),
      loops_of_(works_.size()),
      feasible_(made_->feasible()) {
  WorkList all;
  all.resize(made_->ordered());
  std::iota(all.begin(), all.end(), size_t{0});
  items_.reserve(2 * works_.size());
  Order(all, 0);
  FindLifetimes();
  FindLocal();
  feasible_ = feasible_ && sharing().IsPossible();
  SortByTime();
  FindSizes();
}

bool Schedule::IsRanged(size_t work, uint32_t axis) const {
  const std::optional<Panels>& panels = works_[work].panels;
  return loops_of_[work].count(axis) != 0 || (panels && panels->axis == axis);
}

void Schedule::SetChunk(size_t split, size_t count, int64_t chunk) {
  for (size_t i = split; i < split + count; ++i) {
    if (choice_.splits[i].chunk == chunk) continue;
    choice_.splits[i].chunk = chunk;
    peak_.reset();
    for (size_t t = 0; t < tensors_.size(); ++t) {
      const auto& axes = tensors_[t].axes;
      const bool has = std::find(axes.begin(), axes.end(), choice_.splits[i].axis) != axes.end();
      if (has) FindSize(t);
    }
  }
}

void Schedule::SetSizes(const PlanChoice& choice) {
  choice_ = choice;
  FindSizes();
}

Sharing Schedule::sharing() const {
  return {meaning_, choice_, limit_kind_, tensors_, works_, places_, loops_of_};
}

// ---- order ------------------------------------------------------------------------------------

// By work, the loop over `axis` in which it runs, or behind how many of them; kNoLevel of works
// that are not among these.
InlineVector<int, 32> Schedule::LevelsOf(const WorkList& works, uint32_t axis) const {
  InlineVector<int, 32> levels;
  levels.resize(works_.size());
  std::ranges::fill(levels, kNoLevel);
  for (const size_t w : works) {
    int level = 0;
    for (const size_t need : works_[w].needs) {
      if (levels[need] == kNoLevel) continue;
      const Work& other = works_[need];
      // What a loop has reduced, and all of a tensor that it makes, is ready behind it.
      const bool behind = other.Has(axis) && (other.Reduces(axis) || !works_[w].Has(axis) ||
                                              works_[w].Moves(other, axis));
      level = std::max(level, levels[need] + (behind ? 1 : 0));
    }
    for (const size_t reader : works_[w].readers) {
      if (levels[reader] == kNoLevel) continue;
      level = std::max(level, levels[reader] + (works_[reader].Has(axis) ? 1 : 0));
    }
    levels[w] = level;
  }
  return levels;
}

// The merges of those works whose outermost loop over an axis that they reduce is that of a split:
// then their states have all that this rank adds to them.
Schedule::WorkList Schedule::MergesBehind(const WorkList& works, size_t split) {
  WorkList out;
  for (const size_t w : works) {
    const auto reduces = [&](const Split& by) { return works_[w].Reduces(by.axis); };
    const auto first = std::find_if(choice_.splits.begin(), choice_.splits.end(), reduces);
    if (!works_[w].merge || first != choice_.splits.begin() + static_cast<std::ptrdiff_t>(split)) {
      continue;
    }
    out.push_back(*works_[w].merge);
    loops_of_[out.back()] = loops_of_[w];
    loops_of_[out.back()].erase(first->axis);
  }
  return out;
}

// In their order; those of panels in a loop over them.
void Schedule::AddItems(const WorkList& works) {
  for (size_t i = 0; i < works.size();) {
    const std::optional<Panels>& panels = works_[works[i]].panels;
    if (!panels) {
      items_.push_back({false, works[i++], 0, 0});
      continue;
    }
    const size_t head = items_.size();
    items_.push_back({true, 0, 0, 0, panels});
    for (; i < works.size(); ++i) {
      const std::optional<Panels>& others = works_[works[i]].panels;
      if (!others || others->node != panels->node) break;
      items_.push_back({false, works[i], 0, 0});
    }
    items_[head].end = items_.size();
  }
}

void Schedule::Order(const WorkList& works, size_t split) {
  if (works.empty()) return;
  if (split == choice_.splits.size()) return AddItems(works);
  const Split& by = choice_.splits[split];
  const auto levels = LevelsOf(works, by.axis);
  const int last = *std::max_element(levels.begin(), levels.end());
  for (int level = 0; level <= last; ++level) {
    WorkList outside;
    WorkList within;
    for (const size_t w : works) {
      if (levels[w] == level) (works_[w].Has(by.axis) ? within : outside).push_back(w);
    }
    Order(outside, split + 1);
    if (within.empty()) continue;
    for (const size_t w : within) loops_of_[w][by.axis] = loops_;
    ++loops_;
    const WorkList merges = MergesBehind(within, split);
    const size_t head = items_.size();
    items_.push_back({true, 0, split, 0});
    Order(within, split + 1);
    items_[head].end = items_.size();
    for (const size_t merge : merges) items_.push_back({false, merge, 0, 0});
  }
}

double Schedule::steps() const {
  double steps = 0;
  double times = 1;
  std::vector<std::pair<size_t, double>> open;  // ends of loops, and the count outside of them
  for (size_t i = 0; i < items_.size(); ++i) {
    while (!open.empty() && open.back().first == i) {
      times = open.back().second;
      open.pop_back();
    }
    if (!items_[i].is_loop) {
      steps += times;
      continue;
    }
    open.emplace_back(items_[i].end, times);
    times *= static_cast<double>(sharing().LoopOf(items_[i]).count);
  }
  return steps;
}

// How often a tensor is transferred as a whole: loops without one of its chunks in which a loop
// over its chunks runs make it come again.
double Schedule::Rounds(size_t t) const {
  const Tensor& tensor = tensors_[t];
  double rounds = 0;
  std::set<size_t> seen;  // innermost loops over its chunks
  struct Open {
    size_t end, head;
    bool chunks;  // of the tensor
    double count;
  };
  std::vector<Open> open;
  for (size_t i = 0; i < items_.size(); ++i) {
    while (!open.empty() && open.back().end == i) open.pop_back();
    if (items_[i].is_loop) {
      const ScheduleLoop loop = sharing().LoopOf(items_[i]);
      const auto at = std::find(tensor.axes.begin(), tensor.axes.end(), loop.range.axis);
      const bool chunks = at != tensor.axes.end() &&
                          places_[t].chunked[static_cast<size_t>(at - tensor.axes.begin())];
      open.push_back({items_[i].end, i, chunks, static_cast<double>(loop.count)});
      continue;
    }
    const auto& users = tensor.users;
    if (std::find(users.begin(), users.end(), items_[i].work) == users.end()) continue;
    double times = 1;
    double outer = 1;
    size_t inner = 0;
    for (const Open& loop : open) {
      if (loop.chunks) times = outer;
      if (loop.chunks) inner = loop.head;
      if (!loop.chunks) outer *= loop.count;
    }
    if (seen.insert(inner).second) rounds += times;
  }
  return rounds;
}

double Schedule::TransferCost() const {
  if (limit_kind_ != LimitKind::kTotal) return 0;
  double cost = 0;
  for (size_t t = 0; t < tensors_.size(); ++t) {
    const Tensor& tensor = tensors_[t];
    if (tensor.kind == PlanBuffer::Kind::kScratch || !tensor.used) continue;
    const InlineVector<int64_t, 6> extents = ExtentsOf(t);
    double elements = 1;
    double run = 1;  // elements that are contiguous
    bool whole = true;
    for (size_t i = tensor.axes.size(); i-- > 0;) {
      const uint32_t axis = tensor.axes[i];
      const bool part = sharing().IsShared(axis) && sharing().IsLocal(tensor, axis);
      elements *= static_cast<double>(part ? sharing().LengthOf(axis) : meaning_.axis(axis).extent);
      if (whole) run *= static_cast<double>(extents[i]);
      whole = whole && !places_[t].chunked[i];
    }
    const double bytes = elements * tensor.dtype.bits / 8;
    const double runs = elements / std::max(run, 1.0);
    cost += (places_[t].doubled ? Rounds(t) : 1) * (bytes * kBytePrice + runs * kRunPrice);
  }
  return cost;
}

// ---- memory -----------------------------------------------------------------------------------

// A tensor that is used in a loop exists in all of its rounds.
void Schedule::FindLifetimes() {
  std::vector<std::pair<size_t, size_t>> span(works_.size());  // the items of its outermost loop
  size_t end = 0;
  size_t head = 0;
  for (size_t i = 0; i < items_.size(); ++i) {
    if (i >= end) {
      head = i;
      end = items_[i].is_loop ? items_[i].end : i + 1;
    }
    if (!items_[i].is_loop) span[items_[i].work] = {head, end - 1};
  }
  for (size_t t = 0; t < tensors_.size(); ++t) {
    Place& place = places_[t];
    if (tensors_[t].used) place.first = SIZE_MAX;
    for (const size_t w : tensors_[t].users) {
      place.first = std::min(place.first, span[w].first);
      place.last = std::max(place.last, span[w].second);
    }
  }
  for (size_t t = 0; t < tensors_.size(); ++t) {
    if (tensors_[t].in_place) places_[*tensors_[t].in_place].last = places_[t].last;
  }
}

InlineVector<int64_t, 6> Schedule::ExtentsOf(size_t t) const {
  const Tensor& tensor = tensors_[t];
  InlineVector<int64_t, 6> out;
  for (size_t i = 0; i < tensor.axes.size(); ++i) out.push_back(sharing().ExtentOf(tensor, i));
  return out;
}

// Whether a tensor need hold only a chunk of its axis `at`: all that use it run in a loop over that
// axis, and read its elements at their own index. A loop makes what it uses, so only an input can
// be used in several ones.
bool Schedule::CanChunk(size_t t, size_t at) const {
  const Tensor& tensor = tensors_[t];
  const bool port = tensor.kind != PlanBuffer::Kind::kScratch;
  if (port && (!choice_.streamed || limit_kind_ != LimitKind::kTotal)) return false;
  if (!places_[t].in_loop[at] || tensor.in_place || tensor.overwritten) return false;
  const uint32_t axis = tensor.axes[at];
  const auto split = std::find_if(choice_.splits.begin(), choice_.splits.end(),
                                  [&](const Split& s) { return s.axis == axis; });
  if (split == choice_.splits.end() || split->chunk >= sharing().LengthOf(axis)) return false;
  if (port && !sharing().HasWholeBytes(tensor, at, sharing().GranuleOf(*split))) return false;
  const bool output = tensor.kind == PlanBuffer::Kind::kOutput;
  return !output || !sharing().IsPartOfChunk(tensor, axis);
}

void Schedule::FindLocal() {
  for (size_t t = 0; t < tensors_.size(); ++t) {
    const Tensor& tensor = tensors_[t];
    const auto& users = tensor.users;
    for (const uint32_t axis : tensor.axes) {
      const bool local = std::all_of(users.begin(), users.end(), [&](size_t user) {
        return loops_of_[user].count(axis) != 0 && works_[user].moved.count({t, axis}) == 0;
      });
      const auto is_with_first = [&](size_t user) {
        return loops_of_[user].at(axis) == loops_of_[users[0]].at(axis);
      };
      const bool input = tensor.kind == PlanBuffer::Kind::kInput;
      places_[t].local.push_back(local);
      places_[t].in_loop.push_back(
          local && (input || std::all_of(users.begin(), users.end(), is_with_first)));
    }
  }
}

void Schedule::FindSizes() {
  peak_.reset();
  for (size_t t = 0; t < tensors_.size(); ++t) FindSize(t);
}

void Schedule::FindSize(size_t t) {
  const Tensor& tensor = tensors_[t];
  Place& place = places_[t];
  place.chunked.resize(tensor.axes.size());
  place.shared.resize(tensor.axes.size());
  place.doubled = false;
  // States are wider than the values that they become.
  unsigned __int128 bits = tensor.dtype.bits;
  bits *= static_cast<uint64_t>(std::max<int64_t>(tensor.parts, 1));
  for (size_t i = 0; i < tensor.axes.size(); ++i) {
    place.chunked[i] = tensor.used && CanChunk(t, i);
    place.shared[i] = tensor.used && !place.chunked[i] && sharing().CanShare(tensor, i);
    const bool port = tensor.kind != PlanBuffer::Kind::kScratch;
    place.doubled = place.doubled || (port && place.chunked[i]);
    const bool whole = !place.chunked[i] && !place.shared[i];
    bits *= static_cast<uint64_t>(whole ? meaning_.axis(tensor.axes[i]).extent
                                        : sharing().ExtentOf(tensor, i));
  }
  place.bytes = Capped((bits + 7) / 8);
  place.room = place.bytes;
  if (place.doubled) place.room = Capped(AlignUp(place.bytes, kArenaAlignment) + place.bytes);
}

void Schedule::SortByTime() {
  by_time_.reserve(tensors_.size());
  for (size_t t = 0; t < tensors_.size(); ++t) {
    const Tensor& tensor = tensors_[t];
    const bool counted =
        limit_kind_ == LimitKind::kTotal || tensor.kind == PlanBuffer::Kind::kScratch;
    if (counted && !tensor.in_place && tensor.used) by_time_.push_back(t);
  }
  std::ranges::sort(by_time_, {}, [&](size_t t) { return std::pair(places_[t].first, t); });
}

// The most bytes of tensors that exist at once.
uint64_t Schedule::LeastPeak(PackBuffers* buffers) const {
  std::vector<unsigned __int128>& more = buffers->more;
  more.assign(items_.size() + 1, 0);
  for (const size_t t : by_time_) {
    more[places_[t].first] += places_[t].room;
    more[places_[t].last + 1] -= places_[t].room;
  }
  unsigned __int128 most = 0;
  unsigned __int128 bytes = 0;
  for (const unsigned __int128 change : more) most = std::max(most, bytes += change);
  return Capped(most);
}

bool Schedule::Fits(uint64_t limit, PackBuffers* buffers) const {
  if (peak_) return *peak_ <= limit;
  if (LeastPeak(buffers) > limit) return false;
  if (Pack(by_time_, places_, limit, &buffers->placed, nullptr) <= limit) return true;
  buffers->by_size = by_time_;
  SortBySize(places_, &buffers->by_size);
  return Pack(buffers->by_size, places_, limit, &buffers->placed, nullptr) <= limit;
}

uint64_t Schedule::peak() const {
  if (!peak_) FindOffsets();
  return *peak_;
}

// By time, and by size: the better one.
void Schedule::FindOffsets() const {
  offsets_.assign(tensors_.size(), 0);
  PackBuffers buffers;
  peak_ = Pack(by_time_, places_, UINT64_MAX, &buffers.placed, &offsets_);
  std::vector<uint64_t> others(tensors_.size());
  buffers.by_size = by_time_;
  SortBySize(places_, &buffers.by_size);
  const uint64_t other = Pack(buffers.by_size, places_, UINT64_MAX, &buffers.placed, &others);
  if (other <= *peak_) {
    peak_ = other;
    offsets_.swap(others);
  }
  for (size_t t = 0; t < tensors_.size(); ++t) {
    if (tensors_[t].in_place) offsets_[t] = offsets_[*tensors_[t].in_place];
  }
}

// ---- the plan ---------------------------------------------------------------------------------

KernelTensor Schedule::Use(size_t tensor) const {
  const Tensor& t = tensors_[tensor];
  return {static_cast<uint32_t>(tensor),
          t.name,
          t.dtype,
          t.axes,
          ExtentsOf(tensor),
          places_[tensor].chunked,
          places_[tensor].shared,
          t.parts,
          {}};
}

KernelRequest Schedule::RequestOf(size_t w) const {
  const Work& work = works_[w];
  KernelRequest out;
  out.kind = work.kind;
  out.axes = work.axes;
  out.parts = work.parts;
  if (choice_.share) out.shared = choice_.share->axis;
  out.name = work.name;
  out.stores.reserve(work.stores.size());
  for (const auto& [v, tensor] : work.stores) out.stores.emplace_back(v, Use(tensor));
  const auto use = [&](const auto& states, std::vector<KernelReduction>* to) {
    to->reserve(states.size());
    for (const auto& [n, state] : states) {
      KernelReduction reduction{n, {}};
      reduction.state.reserve(state.size());
      for (const size_t tensor : state) reduction.state.push_back(Use(tensor));
      to->push_back(std::move(reduction));
    }
  };
  use(work.states, &out.reductions);
  use(work.incoming, &out.incoming);
  out.known.reserve(work.reads.size());
  for (const auto& [v, tensor] : work.reads) {
    const Tensor* const output = made_->InPlaceOf(work, tensor);
    out.known[v] = Use(output == nullptr ? tensor : static_cast<size_t>(output - tensors_.data()));
    if (output != nullptr) out.known[v].replaced = static_cast<uint32_t>(tensor);
  }
  for (const auto& [axis, loop] : loops_of_[w]) {
    for (const Split& split : choice_.splits) {
      if (split.axis != axis) continue;
      out.ranges[axis] = std::min(sharing().GranuleOf(split), kMostGranule);
      if (work.Reduces(axis) && split.chunk < sharing().LengthOf(axis)) out.accumulates = true;
    }
  }
  if (work.panels) out.ranges[work.panels->axis] = kPanel;
  return out;
}

// Of each work, a step without ranges.
std::vector<PlanStep> Schedule::StepsOf(const Plan& plan) const {
  std::vector<PlanStep> out(works_.size());
  for (size_t w = 0; w < works_.size(); ++w) {
    PlanStep& step = out[w];
    if (works_[w].kind == KernelKind::kMerge) step.kind = PlanStep::Kind::kMerge;
    step.kernel = static_cast<uint32_t>(w);
    step.fresh = !works_[w].panels.has_value();
    const std::vector<KernelParam>& params = plan.kernels[w].params;
    for (const KernelParam& param : params) {
      if (param.kind == KernelParam::Kind::kTensor) step.buffers.push_back(param.id);
    }
    for (const KernelParam& param : params) {
      if (param.replaced) step.buffers.push_back(*param.replaced);
    }
  }
  return out;
}

void Schedule::AddStep(const PlanStep& of_work, const std::vector<StepRange>& ranges,
                       Plan* plan) const {
  const size_t work = of_work.kernel;
  PlanStep& step = plan->steps.emplace_back(of_work);
  for (const StepRange& range : ranges) {
    if (!IsRanged(work, range.axis)) continue;
    step.ranges.push_back(range);
    if (range.low != sharing().RangeOf(range.axis).low && works_[work].Reduces(range.axis))
      step.fresh = false;
  }
}

void Schedule::Unroll(size_t begin, size_t end, const std::vector<PlanStep>& of_works,
                      std::vector<StepRange>* ranges, Plan* plan) const {
  for (size_t i = begin; i < end; ++i) {
    const ScheduleItem& item = items_[i];
    if (!item.is_loop) {
      AddStep(of_works[item.work], *ranges, plan);
      continue;
    }
    const ScheduleLoop loop = sharing().LoopOf(item);
    const auto [axis, first, high] = loop.range;
    const int64_t count = (high - first + loop.chunk - 1) / loop.chunk;
    for (int64_t at = 0; at < count; ++at) {
      const int64_t low = first + (loop.descending ? count - 1 - at : at) * loop.chunk;
      ranges->push_back({axis, low, std::min(high, low + loop.chunk)});
      Unroll(i + 1, item.end, of_works, ranges, plan);
      ranges->pop_back();
    }
    i = item.end - 1;
  }
}

void Schedule::AddTensorsOf(Plan* plan) const {
  const auto is_read = [&](uint32_t input) {
    return std::any_of(tensors_.begin(), tensors_.end(), [&](const Tensor& t) {
      return t.kind == PlanBuffer::Kind::kInput && t.input == input && t.used;
    });
  };
  for (const Tensor& tensor : tensors_) {
    const bool input = tensor.kind == PlanBuffer::Kind::kInput;
    if (tensor.kind == PlanBuffer::Kind::kScratch || (input && tensor.value != tensor.input)) {
      continue;
    }
    PlanTensor out{tensor.name, tensor.dtype, tensor.axes.Vector(), {}, 0, tensor.used};
    uint64_t elements = 1;
    for (const uint32_t axis : tensor.axes) {
      out.extents.push_back(meaning_.axis(axis).extent);
      elements *= static_cast<uint64_t>(out.extents.back());
    }
    out.bytes = BytesForBits(elements * tensor.dtype.bits);
    out.shared = sharing().IsShared(tensor);
    if (input) out.used = is_read(tensor.input);
    (input ? plan->inputs : plan->outputs).push_back(std::move(out));
  }
}

void Schedule::AddBuffers(Plan* plan) const {
  size_t outputs = 0;
  for (size_t t = 0; t < tensors_.size(); ++t) {
    const Tensor& tensor = tensors_[t];
    PlanBuffer buffer;
    buffer.name = tensor.name;
    buffer.kind = tensor.kind;
    if (tensor.kind == PlanBuffer::Kind::kInput) buffer.tensor = tensor.input;
    if (tensor.kind == PlanBuffer::Kind::kOutput) buffer.tensor = outputs++;
    buffer.dtype = tensor.dtype;
    buffer.axes = tensor.axes.Vector();
    if (tensor.parts > 0) buffer.extents.push_back(tensor.parts);
    for (const int64_t extent : ExtentsOf(t)) buffer.extents.push_back(extent);
    buffer.bytes = places_[t].bytes;
    buffer.used = tensor.used;
    if (tensor.in_place) buffer.in_place = static_cast<uint32_t>(*tensor.in_place);
    buffer.shared = std::count(places_[t].shared.begin(), places_[t].shared.end(), true) != 0;
    if (limit_kind_ == LimitKind::kTotal || tensor.kind == PlanBuffer::Kind::kScratch) {
      buffer.offset = places_[t].bytes > 0 && tensor.used ? offsets_[t] : 0;
    }
    plan->buffers.push_back(std::move(buffer));
  }
  for (size_t t = 0; t < tensors_.size(); ++t) {
    const Tensor& tensor = tensors_[t];
    if (!places_[t].doubled) continue;
    for (size_t i = 0; i < tensor.axes.size(); ++i) {
      if (places_[t].chunked[i]) plan->buffers[t].chunked.push_back(tensor.axes[i]);
    }
    PlanBuffer second = plan->buffers[t];
    second.name += ":2";
    second.offset = *second.offset + AlignUp(second.bytes, kArenaAlignment);
    second.second = t;
    plan->buffers[t].second = plan->buffers.size();
    plan->buffers.push_back(std::move(second));
  }
}

// All that the request for a kernel depends on, besides the work.
Works::Sizes Schedule::SizesOf(size_t w) const {
  const Work& work = works_[w];
  Works::Sizes out;
  const auto add = [&](size_t t) {
    const Place& place = places_[t];
    for (size_t i = 0; i < tensors_[t].axes.size(); ++i) {
      const int part = place.chunked[i] ? 1 : (place.shared[i] ? 2 : 0);
      out.push_back(sharing().ExtentOf(tensors_[t], i) * 3 + part);
    }
  };
  for (const auto& [v, tensor] : work.stores) add(tensor);
  for (const auto& [v, tensor] : work.reads) add(tensor);
  for (const auto* const states : {&work.states, &work.incoming}) {
    for (const auto& [n, state] : *states) std::ranges::for_each(state, add);
  }
  for (const auto& [axis, loop] : loops_of_[w]) {
    for (const Split& split : choice_.splits) {
      if (split.axis != axis) continue;
      out.push_back(axis);
      out.push_back(sharing().GranuleOf(split) * 2 + (split.chunk < sharing().LengthOf(axis)));
    }
  }
  return out;
}

const KernelText& Schedule::KernelOf(size_t work, KernelCache* cache) const {
  const Works::Sizes sizes = SizesOf(work);
  if (const KernelText* const known = made_->KernelWith(work, sizes)) return *known;
  KernelRequest request = RequestOf(work);
  NumberBuffers(&request);
  const KernelText& out = cache->Get(request);
  made_->Remember(work, sizes, out);
  return out;
}

double Schedule::Cost(double outside, double most, KernelCache* cache, int* rank) const {
  double out = sharing().ExchangeCost();
  *rank = 1;
  std::vector<double> costs(works_.size());
  // The largest works first, so that few of them are enough for what costs too much. In another
  // order the sum is another one, by less than the margin.
  constexpr double kMargin = 1e-9;
  double some = out + outside;
  for (const size_t w : made_->by_size()) {
    if (some > most * (1 + kMargin)) return some;
    const KernelText& kernel = KernelOf(w, cache);
    costs[w] = CostOf(kernel, cache->machine()) * sharing().TimesOf(w);
    some += costs[w];
    *rank = std::max(*rank, kernel.rank);
  }
  for (const double cost : costs) out += cost;
  return out + outside;
}

Plan Schedule::Make(KernelCache* cache) const {
  Plan plan;
  plan.limit_kind = limit_kind_;
  plan.peak = peak();
  plan.share = choice_.share;
  plan.cost = sharing().ExchangeCost();
  plan.kernels.reserve(works_.size());
  for (size_t w = 0; w < works_.size(); ++w) {
    KernelRequest request = RequestOf(w);
    const auto buffers = NumberBuffers(&request);  // their numbers in the plan
    plan.kernels.push_back(cache->Get(request));
    for (KernelParam& param : plan.kernels.back().params) {
      if (param.kind == KernelParam::Kind::kTensor) param.id = buffers[param.id];
      if (param.replaced) param.replaced = buffers[*param.replaced];
    }
    plan.cost += CostOf(plan.kernels.back(), cache->machine()) * sharing().TimesOf(w);
    plan.operations += plan.kernels.back().cost * sharing().TimesOf(w);
  }
  for (const Split& split : choice_.splits) {
    if (split.chunk < sharing().LengthOf(split.axis))
      plan.splits.push_back({split.axis, 0, split.chunk});
  }
  return plan;
}

void Schedule::AddSteps(Plan* plan) const {
  std::vector<StepRange> ranges;
  // Some are transfers, which need not be as many.
  plan->steps.reserve(2 * static_cast<size_t>(steps()) + 2 * tensors_.size());
  Unroll(0, items_.size(), StepsOf(*plan), &ranges, plan);
  AddTensorsOf(plan);
  AddBuffers(plan);
  AddTransfers(plan);
}

}  // namespace tarsia
