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
  std::string name, kind, in;
  bool counted = false;  // it has an offset
  uint64_t offset = 0, size = 0;
  int64_t first = 0, last = 0;
  // Derived from the steps:
  bool used = false;
  int64_t begins = 0, ends = 0;
  bool loaded = false;  // of an input: it holds `holds`
  std::string holds_tensor;
  Box holds;
  std::vector<Box> unsaved;  // of an output: the ranges of steps that wrote it since it was stored
  std::vector<std::pair<int64_t, std::string>> reads, writes;  // steps and kernels
};

class CertificateChecker {
 public:
  CertificateChecker(const nlohmann::json& json, const CertificateFacts& facts)
      : json_(json), facts_(facts) {}

  std::vector<std::string> Run() {
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
      if (!numbers_.emplace(claim.name, buffers_.size()).second) {
        Fault("two buffers are called {}", claim.name);
      }
      const bool must_count = total_ || claim.kind == "scratch";
      if (must_count != claim.counted) Fault("{} has no place, or one too many", claim.name);
      buffers_.push_back(claim);
    }
  }

  // The bytes of a part of a tensor.
  uint64_t BytesOf(const TensorFacts& tensor, const Box& part) {
    uint64_t bits = tensor.bits;
    for (const std::string& axis : tensor.axes) {
      const auto range = part.find(axis);
      const int64_t extent =
          range == part.end() ? facts_.axes.at(axis) : range->second.end - range->second.begin;
      bits *= static_cast<uint64_t>(extent);
    }
    return (bits + 7) / 8;
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
        WalkLaunch(entry);
      } else {
        WalkTransfer(entry, entry.contains("load"));
      }
      ++steps_;
    }
    for (ClaimedBuffer& buffer : buffers_) {
      if (buffer.kind == "output" && !buffer.used)
        Fault("nothing writes the output {}", buffer.name);
      if (!buffer.unsaved.empty() && buffer.counted && buffer.size > 0) {
        Fault("{} is written and not stored", buffer.name);
      }
      if (buffer.kind == "output" && !buffer.counted)
        buffer.ends = std::max<int64_t>(steps_ - 1, 0);
    }
  }

  void WalkLaunch(const nlohmann::json& entry) {
    const Box box = BoxOf(entry);
    for (const std::string name : entry.at("reads")) {
      ClaimedBuffer* const buffer = Find(name, steps_);
      if (buffer == nullptr) continue;
      if (!buffer->used) Fault("step {} reads {}, which nothing wrote before", steps_, name);
      if (buffer->loaded && !Contains(buffer->holds, box)) {
        Fault("step {} reads {}, which holds another part of {}", steps_, name,
              buffer->holds_tensor);
      }
      buffer->ends = std::max(buffer->ends, steps_);
      buffer->reads.emplace_back(steps_, entry.at("kernel"));
    }
    for (const std::string name : entry.at("writes")) {
      ClaimedBuffer* const buffer = Find(name, steps_);
      if (buffer == nullptr) continue;
      if (buffer->kind == "input") Fault("step {} writes the input {}", steps_, name);
      if (buffer->kind == "output") buffer->unsaved.push_back(box);
      buffer->writes.emplace_back(steps_, entry.at("kernel"));
      Use(buffer, steps_);
    }
    boxes_[entry.at("kernel")].push_back(box);
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
    const auto& axes = fact->second.axes;
    for (const auto& [axis, range] : box) {
      const bool has = std::find(axes.begin(), axes.end(), axis) != axes.end();
      if (!has || range.begin < 0 || range.begin >= range.end || range.end > facts_.axes.at(axis)) {
        return Fault("step {} transfers {} to {} of {} of {}", steps_, range.begin, range.end, axis,
                     tensor);
      }
    }
    if (const uint64_t bytes = BytesOf(fact->second, box); bytes > buffer->size) {
      Fault("{} is no room for {} bytes of {}", name, bytes, tensor);
    }
    if (load) {
      buffer->loaded = true;
      buffer->holds_tensor = tensor;
      buffer->holds = box;
    } else {
      Store(tensor, box, buffer);
    }
    Use(buffer, steps_);
  }

  void Store(const std::string& tensor, const Box& box, ClaimedBuffer* buffer) {
    if (buffer->unsaved.empty()) {
      Fault("step {} stores {}, which nothing wrote before", steps_, buffer->name);
    }
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
        const bool meet = a.offset < b.offset + b.size && b.offset < a.offset + a.size;
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
        const auto writes_it = [&, name = kernel](const auto& write) {
          return write.second == name;
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
      if (stored_.count(name) == 0 && BytesOf(tensor, {}) > 0) {
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
      whole *= static_cast<long double>(known->second);
    }
    long double sum = 0;
    for (const auto& box : boxes) {
      long double volume = 1;
      for (const auto& [axis, range] : box) {
        if (boxes[0].count(axis) == 0 || box.size() != boxes[0].size()) {
          return Fault("the steps of {} have different axes", kernel);
        }
        if (range.begin < 0 || range.begin >= range.end || range.end > facts_.axes.at(axis)) {
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

}  // namespace tarsia
