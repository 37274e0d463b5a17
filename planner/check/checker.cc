#include "planner/check/checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

namespace tarsia {
namespace {

struct Interval {
  int64_t begin = 0, end = 0;  // without end
};

using Box = std::map<std::string, Interval>;  // by axis; all of an axis that it lacks

struct ClaimedBuffer {
  std::string name, kind, in, of;
  std::map<std::string, std::string> renamed;
  bool counted = false;  // it has an offset
  uint64_t offset = 0, size = 0;
  int64_t first = 0, last = 0;
  // Derived from the steps:
  bool used = false;
  int64_t begins = 0, ends = 0;
  bool loaded = false;  // of an input: it holds `holds`
  std::string holds_tensor;
  Box holds;
  bool partial = false;      // it holds what this rank has made of its part of the shared axis
  bool merged = false;       // it holds what all ranks have made
  std::vector<Box> unsaved;  // of an output: the ranges of steps that wrote it since it was stored
  std::vector<std::pair<int64_t, std::string>> reads, writes;  // steps and kernels
};

class CertificateChecker {
 public:
  CertificateChecker(const nlohmann::json& json, const CertificateFacts& facts)
      : json_(json), facts_(facts) {}

  std::vector<std::string> Run() {
    ReadShare();
    ReadBuffers();
    CheckFacts();
    WalkSteps();
    CheckLives();
    CheckOverlaps();
    CheckInPlace();
    CheckPeak();
    CheckCoverage();
    return std::move(faults_);
  }

 private:
  template <typename... Args>
  void Fault(fmt::format_string<Args...> format, Args&&... args) {
    faults_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  void ReadShare() {
    if (!json_.contains("share")) return;
    share_axis_ = json_.at("share").at("axis");
    const auto& range = json_.at("share").at("range");
    share_ = {range.at(0), range.at(1)};
    const auto known = facts_.axes.find(share_axis_);
    if (known == facts_.axes.end() || share_.begin < 0 || share_.begin > share_.end ||
        share_.end > known->second) {
      Fault("the share is {} to {} of {}", share_.begin, share_.end, share_axis_);
      share_ = {};
    }
  }

  // What a certificate has to cover of an axis.
  [[nodiscard]] Interval WholeOf(const std::string& axis) const {
    if (axis == share_axis_) return share_;
    return {0, facts_.axes.at(axis)};
  }
  [[nodiscard]] bool IsShared(const Box& box) const { return box.count(share_axis_) != 0; }
  [[nodiscard]] bool IsShared(const TensorFacts& tensor) const {
    return std::find(tensor.axes.begin(), tensor.axes.end(), share_axis_) != tensor.axes.end();
  }

  void ReadBuffers() {
    total_ = json_.at("limit_kind") == "total";
    for (const nlohmann::json& buffer : json_.at("buffers")) {
      ClaimedBuffer claim;
      claim.name = buffer.at("name");
      claim.kind = buffer.at("kind");
      claim.counted = !buffer.at("offset").is_null();
      if (claim.counted) claim.offset = buffer.at("offset");
      claim.size = buffer.at("size");
      claim.first = buffer.at("first");
      claim.last = buffer.at("last");
      if (buffer.contains("in")) claim.in = buffer.at("in");
      if (buffer.contains("of")) claim.of = buffer.at("of");
      if (buffer.contains("renamed")) claim.renamed = buffer.at("renamed");
      if (!numbers_.emplace(claim.name, buffers_.size()).second) {
        Fault("two buffers are called {}", claim.name);
      }
      const bool must_count = total_ || claim.kind == "scratch";
      if (must_count != claim.counted) Fault("{} has no place, or one too many", claim.name);
      buffers_.push_back(claim);
    }
  }

  // The bytes of a part of a tensor; more than any buffer has if they are no number of 64 bits.
  uint64_t BytesOf(const TensorFacts& tensor, const Box& part) {
    uint64_t bits = tensor.bits;
    bool wraps = false;
    bool none = false;
    for (const std::string& axis : tensor.axes) {
      const auto range = part.find(axis);
      const int64_t extent =
          range == part.end() ? facts_.axes.at(axis) : range->second.end - range->second.begin;
      none = none || extent == 0;
      wraps = __builtin_mul_overflow(bits, static_cast<uint64_t>(extent), &bits) || wraps;
    }
    if (none) return 0;
    return wraps ? UINT64_MAX : bits / 8 + (bits % 8 != 0 ? 1 : 0);
  }

  // Where the limit does not count inputs and outputs, each has a buffer of its size; inputs that
  // nothing reads may be left out.
  void CheckFacts() {
    size_t outputs = 0;
    for (const ClaimedBuffer& buffer : buffers_) {
      if (buffer.kind == "scratch" || buffer.counted) continue;
      const auto& known = buffer.kind == "input" ? facts_.inputs : facts_.outputs;
      const auto found = known.find(buffer.name);
      if (found == known.end() || BytesOf(found->second, {}) != buffer.size) {
        Fault("{} is no {} of the graph of {} bytes", buffer.name, buffer.kind, buffer.size);
      }
      outputs += buffer.kind == "output";
    }
    if (!total_ && outputs != facts_.outputs.size()) {
      Fault("the outputs are not those of the graph");
    }
  }

  ClaimedBuffer* Find(const std::string& name, int64_t step) {
    const auto found = numbers_.find(name);
    if (found != numbers_.end()) return &buffers_[found->second];
    Fault("step {} uses {}, which is no buffer", step, name);
    return nullptr;
  }

  static Box BoxOf(const nlohmann::json& entry) {
    Box box;
    for (const auto& [axis, range] : entry.at("ranges").items()) {
      box[axis] = {range.at(0), range.at(1)};
    }
    return box;
  }

  // Whether `part` lies in `whole` along each axis of `whole`.
  static bool Contains(const Box& whole, const Box& part) {
    return std::all_of(whole.begin(), whole.end(), [&](const auto& entry) {
      const auto found = part.find(entry.first);
      return found != part.end() && entry.second.begin <= found->second.begin &&
             found->second.end <= entry.second.end;
    });
  }

  static void Use(ClaimedBuffer* buffer, int64_t step) {
    if (!buffer->used) buffer->begins = step;
    buffer->used = true;
    buffer->ends = step;
  }

  void WalkSteps() {
    for (ClaimedBuffer& buffer : buffers_) buffer.used = buffer.kind == "input" && !buffer.counted;
    for (const nlohmann::json& entry : json_.at("steps")) {
      if (entry.contains("kernel")) {
        WalkLaunch(entry, entry.at("kernel"), false);
      } else if (entry.contains("merge")) {
        WalkMerge(entry);
      } else {
        WalkTransfer(entry, entry.contains("load"));
      }
      ++steps_;
    }
    for (ClaimedBuffer& buffer : buffers_) {
      const auto fact = facts_.outputs.find(buffer.name);
      // A rank with few elements may need one of two buffers only.
      const bool none = !share_axis_.empty() && (fact == facts_.outputs.end() ||
                                                 (IsShared(fact->second) && IsEmptyShare()));
      if (buffer.kind == "output" && !buffer.used && !none) {
        Fault("nothing writes the output {}", buffer.name);
      }
      if (buffer.kind == "output" && buffer.partial && fact != facts_.outputs.end() &&
          !IsShared(fact->second)) {
        Fault("{} has only what this rank made of {}", buffer.name, share_axis_);
      }
      if (!buffer.unsaved.empty() && buffer.counted && buffer.size > 0) {
        Fault("{} is written and not stored", buffer.name);
      }
      if (buffer.kind == "output" && !buffer.counted)
        buffer.ends = std::max<int64_t>(steps_ - 1, 0);
    }
  }

  [[nodiscard]] bool IsEmptyShare() const { return share_.begin == share_.end; }

  // An input without elements, which nothing loads.
  bool IsOfNothing(const ClaimedBuffer& buffer) {
    const auto known = facts_.inputs.find(buffer.of.empty() ? buffer.name : buffer.of);
    return buffer.kind == "input" && known != facts_.inputs.end() &&
           BytesOf(known->second, {}) == 0;
  }

  void WalkMerge(const nlohmann::json& entry) {
    for (const std::string name : entry.at("receives")) {
      ClaimedBuffer* const buffer = Find(name, steps_);
      if (buffer != nullptr) Use(buffer, steps_);
    }
    if (share_axis_.empty()) Fault("step {} merges, and nothing is shared", steps_);
    WalkLaunch(entry, entry.at("merge"), true);
  }

  // `merge`: it makes of the parts of all ranks the whole.
  void WalkLaunch(const nlohmann::json& entry, const std::string& kernel, bool merge) {
    const Box box = BoxOf(entry);
    const bool shared = IsShared(box);
    if (merge && shared) Fault("step {} merges a part of {}", steps_, share_axis_);
    for (const std::string name : entry.at("reads")) {
      ClaimedBuffer* const buffer = Find(name, steps_);
      if (buffer == nullptr) continue;
      if (!buffer->used && !IsOfNothing(*buffer) && !(merge && IsEmptyShare())) {
        Fault("step {} reads {}, which nothing wrote before", steps_, name);
      }
      if (buffer->partial && !shared && !merge) {
        Fault("step {} reads {}, which has only what this rank made of {}", steps_, name,
              share_axis_);
      }
      if (buffer->loaded && !Contains(buffer->holds, box)) {
        Fault("step {} reads {}, which holds another part of {}", steps_, name,
              buffer->holds_tensor);
      }
      buffer->ends = std::max(buffer->ends, steps_);
      buffer->reads.emplace_back(steps_, kernel);
    }
    for (const std::string name : entry.at("writes")) {
      ClaimedBuffer* const buffer = Find(name, steps_);
      if (buffer == nullptr) continue;
      if (buffer->kind == "input") Fault("step {} writes the input {}", steps_, name);
      if (buffer->kind == "output") buffer->unsaved.push_back(box);
      const auto& reads = entry.at("reads");
      if (shared && buffer->merged && std::find(reads.begin(), reads.end(), name) != reads.end()) {
        Fault("step {} adds to {} what all ranks have made already", steps_, name);
      }
      buffer->partial = shared;
      buffer->merged = merge;
      buffer->writes.emplace_back(steps_, kernel);
      Use(buffer, steps_);
    }
    boxes_[kernel].push_back(box);
  }

  // A load or a store: of a tensor of the graph, in a buffer of its kind with room for the part.
  void WalkTransfer(const nlohmann::json& entry, bool load) {
    const std::string kind = load ? "input" : "output";
    const std::string tensor = entry.at(load ? "load" : "store");
    const std::string name = entry.at(load ? "writes" : "reads").at(0);
    const auto& known = load ? facts_.inputs : facts_.outputs;
    const auto fact = known.find(tensor);
    ClaimedBuffer* const buffer = Find(name, steps_);
    if (fact == known.end()) return Fault("{} is no {} of the graph", tensor, kind);
    if (buffer == nullptr) return;
    if (buffer->kind != kind || !buffer->counted) {
      return Fault("step {} transfers {} with {}", steps_, tensor, name);
    }
    const Box box = BoxOf(entry);
    const auto own = load ? UnderOwnNames(tensor, fact->second, *buffer, box) : box;
    if (!own) return;
    if (!load && IsShared(fact->second) && !IsShared(box)) {
      Fault("step {} stores all of {}, of which this rank has only a part", steps_, tensor);
    }
    const auto& axes = fact->second.axes;
    for (const auto& [axis, range] : *own) {
      const bool has = std::find(axes.begin(), axes.end(), axis) != axes.end();
      if (!has || range.begin < 0 || range.begin >= range.end || range.end > facts_.axes.at(axis)) {
        return Fault("step {} transfers {} to {} of {} of {}", steps_, range.begin, range.end, axis,
                     tensor);
      }
    }
    if (const uint64_t bytes = BytesOf(fact->second, *own); bytes > buffer->size) {
      Fault("{} is no room for {} bytes of {}", name, bytes, tensor);
    }
    if (load) {
      for (const ClaimedBuffer& output : buffers_) {
        if (output.in != name || !output.used) continue;
        Fault("step {} loads {}, in whose place {} is written", steps_, name, output.name);
      }
      buffer->loaded = true;
      buffer->holds_tensor = tensor;
      buffer->holds = box;
    } else {
      Store(tensor, box, buffer);
    }
    Use(buffer, steps_);
  }

  // A box of an input with the input's names for its axes; none after a fault.
  std::optional<Box> UnderOwnNames(const std::string& tensor, const TensorFacts& fact,
                                   const ClaimedBuffer& buffer, const Box& box) {
    if (buffer.of.empty() && buffer.renamed.empty()) return box;
    const auto& allowed = fact.renamings;
    if (buffer.of != tensor ||
        std::find(allowed.begin(), allowed.end(), buffer.renamed) == allowed.end()) {
      Fault("{} has names of axes that the graph does not give {}", buffer.name, tensor);
      return std::nullopt;
    }
    Box out;
    for (const auto& [axis, range] : box) {
      const auto found = buffer.renamed.find(axis);
      out[found == buffer.renamed.end() ? axis : found->second] = range;
    }
    return out;
  }

  void Store(const std::string& tensor, const Box& box, ClaimedBuffer* buffer) {
    if (buffer->unsaved.empty()) {
      Fault("step {} stores {}, which nothing wrote before", steps_, buffer->name);
    }
    if (buffer->partial && !IsShared(box)) Fault("step {} stores a part of {}", steps_, tensor);
    for (const Box& written : buffer->unsaved) {
      if (!Contains(box, written)) {
        Fault("step {} stores another part of {} than was written", steps_, tensor);
      }
    }
    buffer->unsaved.clear();
    stored_.insert(tensor);
    boxes_["the stores of " + tensor].push_back(box);
  }

  void CheckLives() {
    for (const ClaimedBuffer& buffer : buffers_) {
      if (!buffer.used) continue;
      if (buffer.first > buffer.begins || buffer.last < buffer.ends) {
        Fault("{} is needed from step {} to {}, and declared from {} to {}", buffer.name,
              buffer.begins, buffer.ends, buffer.first, buffer.last);
      }
    }
  }

  void CheckOverlaps() {
    std::vector<const ClaimedBuffer*> sorted;
    for (const ClaimedBuffer& buffer : buffers_) {
      if (buffer.counted && buffer.used && buffer.size > 0) sorted.push_back(&buffer);
    }
    for (size_t i = 0; i < sorted.size(); ++i) {
      for (size_t j = i + 1; j < sorted.size(); ++j) {
        const ClaimedBuffer& a = *sorted[i];
        const ClaimedBuffer& b = *sorted[j];
        const bool both = a.begins <= b.ends && b.begins <= a.ends;
        const bool meet =
            a.offset < b.offset ? b.offset - a.offset < a.size : a.offset - b.offset < b.size;
        if (a.in == b.name || b.in == a.name) continue;
        if (both && meet)
          Fault("{} and {} overlap at step {}", a.name, b.name, std::max(a.begins, b.begins));
      }
    }
  }

  void CheckInPlace() {
    for (const ClaimedBuffer& output : buffers_) {
      if (output.in.empty()) continue;
      const auto known = facts_.in_place.find(output.name);
      const auto number = numbers_.find(output.in);
      if (known == facts_.in_place.end() || known->second != output.in ||
          number == numbers_.end()) {
        Fault("{} is in {}, which the graph does not say", output.name, output.in);
        continue;
      }
      const ClaimedBuffer& input = buffers_[number->second];
      if (input.size != output.size || input.offset != output.offset) {
        Fault("{} is not in the place of {}", output.name, input.name);
      }
      for (const auto& [step, kernel] : input.reads) {
        // What other kernels write behind this step does not concern it.
        const auto writes_it = [&, at = step, name = kernel](const auto& write) {
          return write.second == name || write.first > at;
        };
        const bool own = std::all_of(output.writes.begin(), output.writes.end(), writes_it);
        if (step >= output.begins && !own) {
          Fault("step {} reads {}, in whose place {} is written", step, input.name, output.name);
        }
      }
    }
  }

  void CheckPeak() {
    const uint64_t peak = json_.at("peak");
    for (const ClaimedBuffer& buffer : buffers_) {
      if (!buffer.counted) continue;
      if (buffer.size > peak || buffer.offset > peak - buffer.size) {
        Fault("{} ends behind the peak of {} bytes", buffer.name, peak);
      }
    }
    if (json_.at("limit").is_null()) return;
    const uint64_t limit = json_.at("limit");
    if (peak > limit) Fault("the peak of {} bytes is above the limit of {}", peak, limit);
  }

  // The boxes of a kernel, or of the stores of an output, tile the box of its axes: they lie in it,
  // no two meet, and their volumes add up to its volume.
  void CheckCoverage() {
    for (auto& [kernel, list] : boxes_) CheckBoxes(kernel, list);
    if (!total_) return;
    for (const auto& [name, tensor] : facts_.outputs) {
      const bool none = IsShared(tensor) && IsEmptyShare();
      if (stored_.count(name) == 0 && BytesOf(tensor, {}) > 0 && !none) {
        Fault("nothing stores the output {}", name);
      }
    }
  }

  void CheckBoxes(const std::string& kernel, std::vector<Box>& boxes) {
    long double whole = 1;
    for (const auto& [axis, range] : boxes[0]) {
      const auto known = facts_.axes.find(axis);
      if (known == facts_.axes.end())
        return Fault("{} has the axis {}, which the graph lacks", kernel, axis);
      whole *= static_cast<long double>(WholeOf(axis).end - WholeOf(axis).begin);
    }
    long double sum = 0;
    for (const auto& box : boxes) {
      long double volume = 1;
      for (const auto& [axis, range] : box) {
        if (boxes[0].count(axis) == 0 || box.size() != boxes[0].size()) {
          return Fault("the steps of {} have different axes", kernel);
        }
        const Interval all = WholeOf(axis);
        if (range.begin < all.begin || range.begin >= range.end || range.end > all.end) {
          return Fault("{} has the range {} to {} of {}", kernel, range.begin, range.end, axis);
        }
        volume *= static_cast<long double>(range.end - range.begin);
      }
      sum += volume;
    }
    // A kernel without ranges runs once.
    if (const auto twice = FirstMeeting(boxes); twice) {
      Fault("{} covers a range twice: {}", kernel, *twice);
    } else if (sum != whole) {
      Fault("{} leaves out a part of its ranges", kernel);
    }
  }

  // Two boxes that share an index. Sorted by the first axis, only neighbours can meet.
  static std::optional<std::string> FirstMeeting(std::vector<Box>& boxes) {
    if (boxes.size() > 1 && boxes[0].empty()) return "it has no ranges";
    const auto begin = [](const auto& box) { return box.begin()->second.begin; };
    if (!boxes[0].empty()) {
      std::sort(boxes.begin(), boxes.end(),
                [&](const auto& a, const auto& b) { return begin(a) < begin(b); });
    }
    for (size_t i = 0; i < boxes.size(); ++i) {
      for (size_t j = i + 1; j < boxes.size(); ++j) {
        if (begin(boxes[j]) >= boxes[i].begin()->second.end) break;
        const bool meet = std::all_of(boxes[i].begin(), boxes[i].end(), [&](const auto& entry) {
          const Interval& other = boxes[j].at(entry.first);
          return entry.second.begin < other.end && other.begin < entry.second.end;
        });
        if (meet) {
          return fmt::format("{} of {}", std::max(begin(boxes[i]), begin(boxes[j])),
                             boxes[i].begin()->first);
        }
      }
    }
    return std::nullopt;
  }

  const nlohmann::json& json_;
  const CertificateFacts& facts_;
  bool total_ = true;
  std::string share_axis_;  // "": nothing is shared
  Interval share_;
  int64_t steps_ = 0;
  std::map<std::string, std::vector<Box>> boxes_;  // of kernels, and of the stores of outputs
  std::set<std::string> stored_;
  std::vector<ClaimedBuffer> buffers_;
  std::map<std::string, size_t> numbers_;
  std::vector<std::string> faults_;
};

}  // namespace

std::vector<std::string> CheckCertificate(std::string_view json, const CertificateFacts& facts) {
  try {
    const auto parsed = nlohmann::json::parse(json);
    return CertificateChecker(parsed, facts).Run();
  } catch (const nlohmann::json::exception& error) {
    return {fmt::format("this is no certificate: {}", error.what())};
  }
}

namespace {

// What the certificates of all ranks say together.
class ShareChecker {
 public:
  std::vector<std::string> Run(const std::vector<nlohmann::json>& certificates,
                               const CertificateFacts& facts) {
    for (const nlohmann::json& json : certificates) {
      if (!json.contains("share")) return {"a certificate is no share"};
    }
    const nlohmann::json& first = certificates[0];
    axis_ = first.at("share").at("axis");
    std::set<int64_t> ranks;
    for (const nlohmann::json& json : certificates) {
      const nlohmann::json& share = json.at("share");
      const int64_t rank = share.at("rank");
      if (share.at("axis") != axis_) Fault("rank {} shares {}, not {}", rank, AxisOf(json), axis_);
      if (share.at("ranks") != certificates.size()) Fault("rank {} is of other ranks", rank);
      if (json.at("limit") != first.at("limit")) Fault("rank {} has another limit", rank);
      if (json.at("limit_kind") != first.at("limit_kind")) Fault("rank {} counts others", rank);
      if (!ranks.insert(rank).second) Fault("rank {} is there twice", rank);
      if (MergesOf(json) != MergesOf(first)) Fault("rank {} merges something else", rank);
      ranges_.push_back({share.at("range").at(0), share.at("range").at(1)});
      AddKernels(json, rank);
    }
    if (*ranks.begin() != 0 || *ranks.rbegin() + 1 != static_cast<int64_t>(certificates.size())) {
      Fault("the ranks are not 0 to {}", certificates.size() - 1);
    }
    CheckRanges(facts.axes.at(axis_));
    return std::move(faults_);
  }

 private:
  template <typename... Args>
  void Fault(fmt::format_string<Args...> format, Args&&... args) {
    faults_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  static std::string AxisOf(const nlohmann::json& json) { return json.at("share").at("axis"); }

  static std::vector<nlohmann::json> MergesOf(const nlohmann::json& json) {
    std::vector<nlohmann::json> out;
    for (const nlohmann::json& step : json.at("steps")) {
      if (step.contains("merge")) out.push_back(step);
    }
    return out;
  }

  // Either all ranks run a kernel over their part of the axis, or each does over all of it.
  void AddKernels(const nlohmann::json& json, int64_t rank) {
    for (const nlohmann::json& step : json.at("steps")) {
      if (!step.contains("kernel")) continue;
      const std::string kernel = step.at("kernel");
      const bool shared = step.at("ranges").contains(axis_);
      if (shared_.emplace(kernel, shared).first->second != shared) {
        Fault("rank {} runs {} over another part of {} than the others", rank, kernel, axis_);
      }
    }
  }

  void CheckRanges(int64_t extent) {
    std::sort(ranges_.begin(), ranges_.end(), [](const Interval& a, const Interval& b) {
      return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
    });
    int64_t end = 0;
    for (const Interval& range : ranges_) {
      if (range.begin == range.end) continue;
      if (range.begin < end) Fault("two ranks have {} of {}", range.begin, axis_);
      if (range.begin > end) Fault("no rank has {} of {}", end, axis_);
      end = std::max(end, range.end);
    }
    if (end != extent) Fault("no rank has {} of {}", end, axis_);
  }

  std::string axis_;
  std::vector<Interval> ranges_;
  std::map<std::string, bool> shared_;  // by kernel: it has the axis
  std::vector<std::string> faults_;
};

}  // namespace

std::vector<std::string> CheckShares(const std::vector<std::string>& certificates,
                                     const CertificateFacts& facts) {
  std::vector<std::string> out;
  std::vector<nlohmann::json> parsed;
  for (const std::string& certificate : certificates) {
    const auto faults = CheckCertificate(certificate, facts);
    out.insert(out.end(), faults.begin(), faults.end());
    parsed.push_back(nlohmann::json::parse(certificate, nullptr, false));
  }
  if (!out.empty() || parsed.empty()) return out;
  try {
    return ShareChecker().Run(parsed, facts);
  } catch (const nlohmann::json::exception& error) {
    return {fmt::format("this is no certificate: {}", error.what())};
  }
}

}  // namespace tarsia
