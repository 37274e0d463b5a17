#include "tests/reduce/run_plan.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <span>
#include <thread>

#include "dtypes/bits.h"
#include "dtypes/convert.h"
#include "isa/gradient/expand.h"
#include "isa/rewrite/complex_parts.h"
#include "isa/text/parser.h"
#include "planner/certificate.h"
#include "runtime/graphs/plan_kernels.h"
#include "tarsia/tarsia.h"
#include "tests/data/test_data.h"
#include "tests/reduce/reference.h"

namespace tarsia::reduce_test {
namespace {

constexpr uint8_t kPoison = 0xFF;  // a NaN of every float type

// Memory of the host whose end is the end of a page, behind which nothing can be accessed.
class GuardedMemory {
 public:
  explicit GuardedMemory(uint64_t bytes) : bytes_(bytes) {
    const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    // What is used begins at a multiple of 256 bytes; the few bytes behind it are watched.
    used_ = (bytes + 255) / 256 * 256;
    mapped_ = (used_ + page - 1) / page * page + page;
    void* const made =
        mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) std::abort();
    base_ = static_cast<uint8_t*>(made);
    std::memset(base_, kPoison, mapped_ - page);
    if (mprotect(base_ + mapped_ - page, page, PROT_NONE) != 0) std::abort();
    data_ = base_ + (mapped_ - page - used_);
  }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;
  ~GuardedMemory() { munmap(base_, mapped_); }
  [[nodiscard]] uint8_t* data() const { return data_; }
  // Whether nothing beside the bytes that were asked for was written.
  [[nodiscard]] bool IsIntact() const {
    const auto is_poison = [](uint8_t byte) { return byte == kPoison; };
    return std::all_of(base_, data_, is_poison) &&
           std::all_of(data_ + bytes_, data_ + used_, is_poison);
  }

 private:
  uint64_t bytes_, used_ = 0, mapped_ = 0;
  uint8_t* base_ = nullptr;
  uint8_t* data_ = nullptr;
};

void CopyBits(const uint8_t* from, uint64_t from_bit, uint8_t* to, uint64_t to_bit, uint64_t bits) {
  for (uint64_t i = 0; i < bits; ++i) {
    const uint32_t bit = from[(from_bit + i) / 8] >> ((from_bit + i) % 8) & 1u;
    uint8_t& byte = to[(to_bit + i) / 8];
    const auto mask = static_cast<uint8_t>(1u << ((to_bit + i) % 8));
    byte = static_cast<uint8_t>(bit != 0 ? byte | mask : byte & ~mask);
  }
}

std::vector<uint8_t> Encode(const std::vector<double>& values, DType type) {
  if (type.IsComplex()) return Encode(values, ComponentOf(type));
  std::vector<uint8_t> out(BytesForBits(values.size() * type.bits));
  for (size_t i = 0; i < values.size(); ++i) {
    uint64_t code = type.IsBool() ? static_cast<uint64_t>(values[i]) : 0;
    if (!type.IsBool()) code = EncodeFromDouble(type, values[i]);
    if (type.bits < 8) {  // the first element in the lowest bits
      CopyBits(reinterpret_cast<const uint8_t*>(&code), 0, out.data(), i * type.bits, type.bits);
      continue;
    }
    std::memcpy(out.data() + i * type.bits / 8, &code, type.bits / 8);
  }
  return out;
}

std::vector<double> Decode(const uint8_t* bytes, size_t count, DType type) {
  if (type.IsComplex()) return Decode(bytes, 2 * count, ComponentOf(type));
  std::vector<double> out;
  for (size_t i = 0; i < count; ++i) {
    uint64_t code = 0;
    if (type.bits < 8) {
      CopyBits(bytes, i * type.bits, reinterpret_cast<uint8_t*>(&code), 0, type.bits);
    } else {
      std::memcpy(&code, bytes + i * type.bits / 8, type.bits / 8);
    }
    out.push_back(type.IsBool() ? static_cast<double>(code) : DecodeToDouble(type, code));
  }
  return out;
}

template <typename T>
T Sized() {
  T out = {};
  out.size = sizeof(T);
  return out;
}

void Expect(tarsia_status status, const std::string& what) {
  if (status != TARSIA_STATUS_OK) {
    ADD_FAILURE() << what << ": " << tarsia_last_error();
  }
}

// The kernels of a plan, ready to run.
class Kernels {
 public:
  Kernels(const Plan& plan, const std::string& device) {
    const std::string text = plan.Text();
    tarsia_module* module = nullptr;
    tarsia_diagnostics* found = nullptr;
    const auto status = tarsia_module_create(text.data(), text.size(), nullptr, &module, &found);
    EXPECT_EQ(status, TARSIA_STATUS_OK) << tarsia_last_error() << "\n" << text;
    tarsia_diagnostics_destroy(found);
    for (const KernelText& kernel : plan.kernels) {
      auto options = Sized<tarsia_plan_options>();
      options.device = device.c_str();
      options.kernel = kernel.name.c_str();
      tarsia_plan* made = nullptr;
      if (module != nullptr) {
        Expect(tarsia_plan_create(module, &options, &made, nullptr), kernel.text);
      }
      plans_.push_back(made);
    }
    tarsia_module_destroy(module);
  }
  Kernels(const Kernels&) = delete;
  Kernels& operator=(const Kernels&) = delete;
  ~Kernels() {
    for (tarsia_plan* const plan : plans_) tarsia_plan_destroy(plan);
  }
  [[nodiscard]] const tarsia_plan* plan(size_t k) const { return plans_[k]; }

 private:
  std::vector<tarsia_plan*> plans_;
};

std::vector<tarsia_arg> ArgsOf(const Plan& plan, const PlanStep& step,
                               const std::vector<uint8_t*>& places) {
  std::vector<tarsia_arg> out;
  size_t at = 0;
  for (const KernelParam& param : plan.kernels[step.kernel].params) {
    const auto range = std::find_if(step.ranges.begin(), step.ranges.end(),
                                    [&](const StepRange& r) { return r.axis == param.id; });
    if (param.kind == KernelParam::Kind::kTensor) {
      const size_t b = step.buffers[at++];
      const uint64_t bytes = plan.buffers[b].bytes;
      out.push_back(param.written ? tarsia_arg_pointer(places[b], bytes)
                                  : tarsia_arg_const_pointer(places[b], bytes));
    } else if (param.kind == KernelParam::Kind::kFresh) {
      out.push_back(tarsia_arg_bool(step.fresh));
    } else if (param.kind == KernelParam::Kind::kBase) {
      out.push_back(tarsia_arg_i64(plan.share->low()));
    } else {
      const bool low = param.kind == KernelParam::Kind::kLow;
      out.push_back(tarsia_arg_i64(low ? range->low : range->high));
    }
  }
  return out;
}

// A step on the emulator: each tensor is copied there and back.
void RunThere(const Plan& plan, const PlanStep& step, const Kernels& kernels, tarsia_device* device,
              const std::vector<uint8_t*>& places) {
  std::vector<uint8_t*> there(places.size());
  const std::vector<KernelParam>& params = plan.kernels[step.kernel].params;
  const auto tensors = std::count_if(params.begin(), params.end(), [](const KernelParam& param) {
    return param.kind == KernelParam::Kind::kTensor;
  });
  const std::span<const uint32_t> used(step.buffers.data(), static_cast<size_t>(tensors));
  for (const size_t b : used) {
    const uint64_t bytes = plan.buffers[b].bytes;
    if (bytes == 0) continue;
    void* memory = nullptr;
    Expect(tarsia_memory_alloc(device, bytes, &memory), "allocation");
    there[b] = static_cast<uint8_t*>(memory);
    Expect(tarsia_memory_write(device, memory, places[b], bytes, nullptr), "write");
  }
  const auto args = ArgsOf(plan, step, there);
  Expect(tarsia_execute(kernels.plan(step.kernel), args.data(), args.size(), nullptr, nullptr,
                        nullptr, nullptr),
         plan.kernels[step.kernel].text);
  for (const size_t b : used) {
    if (there[b] == nullptr) continue;
    const uint64_t bytes = plan.buffers[b].bytes;
    Expect(tarsia_memory_read(device, places[b], there[b], bytes, nullptr), "read");
    tarsia_memory_free(device, there[b]);
  }
}

// What the plan transfers: the bytes of inputs and outputs, which begin as poison.
struct Outside {
  std::vector<std::vector<uint8_t>> inputs, outputs;
};

// A load or a store, element by element.
void Transfer(const Plan& plan, const PlanStep& step, uint8_t* place, Outside* outside) {
  const PlanBuffer& buffer = plan.buffers[step.buffers[0]];
  const bool load = step.kind == PlanStep::Kind::kLoad;
  const PlanTensor& tensor = (load ? plan.inputs : plan.outputs)[buffer.tensor];
  std::vector<uint8_t>& bytes = (load ? outside->inputs : outside->outputs)[buffer.tensor];
  const uint64_t bits = tensor.dtype.bits;
  uint64_t count = 1;
  for (const int64_t extent : tensor.extents) count *= static_cast<uint64_t>(extent);
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t rest = i;
    uint64_t inside = 0;
    uint64_t stride = 1;
    bool covered = true;
    for (size_t a = tensor.axes.size(); a-- > 0;) {
      auto index = static_cast<int64_t>(rest % static_cast<uint64_t>(tensor.extents[a]));
      rest /= static_cast<uint64_t>(tensor.extents[a]);
      for (const StepRange& range : step.ranges) {
        if (range.axis != buffer.axes[a]) continue;
        covered = covered && range.low <= index && index < range.high;
        index -= range.low;
      }
      inside += static_cast<uint64_t>(index) * stride;
      stride *= static_cast<uint64_t>(buffer.extents[a]);
    }
    if (!covered) continue;
    if (load) {
      CopyBits(bytes.data(), i * bits, place, inside * bits, bits);
    } else {
      CopyBits(place, inside * bits, bytes.data(), i * bits, bits);
    }
  }
}

// One execution of a plan, up to its next merge and on.
class Execution {
 public:
  Execution(const Plan& plan, const std::string& device,
            const std::vector<std::vector<double>>& inputs)
      : plan_(plan), name_(device), kernels_(plan, device), arena_(plan.peak) {
    Expect(tarsia_device_open(device.c_str(), &device_), device);
    for (size_t i = 0; i < plan.inputs.size(); ++i) {
      outside_.inputs.push_back(Encode(inputs[i], plan.inputs[i].dtype));
    }
    for (const PlanTensor& tensor : plan.outputs) {
      outside_.outputs.emplace_back(tensor.bytes, kPoison);
    }
    for (const PlanBuffer& buffer : plan.buffers) {
      if (buffer.in_place) {
        places_.push_back(places_[*buffer.in_place]);
        continue;
      }
      if (!buffer.offset) own_.push_back(std::make_unique<GuardedMemory>(buffer.bytes));
      places_.push_back(buffer.offset ? arena_.data() + *buffer.offset : own_.back()->data());
      if (buffer.kind != PlanBuffer::Kind::kInput || !buffer.used || buffer.offset) continue;
      const auto& bytes = outside_.inputs[buffer.tensor];
      std::copy(bytes.begin(), bytes.end(), places_.back());
    }
  }
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;
  ~Execution() { tarsia_device_close(device_); }

  // The next merge; null when all steps ran.
  const PlanStep* RunToMerge() {
    for (; at_ < plan_.steps.size() && !testing::Test::HasFailure(); ++at_) {
      const PlanStep& step = plan_.steps[at_];
      if (step.kind == PlanStep::Kind::kMerge) return &plan_.steps[at_++];
      if (step.kind == PlanStep::Kind::kLaunch) {
        Launch(step);
      } else {
        Transfer(plan_, step, places_[step.buffers[0]], &outside_);
      }
    }
    return nullptr;
  }

  void Launch(const PlanStep& step) {
    if (name_ != "cpu") return RunThere(plan_, step, kernels_, device_, places_);
    const auto args = ArgsOf(plan_, step, places_);
    Expect(tarsia_execute(kernels_.plan(step.kernel), args.data(), args.size(), nullptr, nullptr,
                          nullptr, nullptr),
           plan_.kernels[step.kernel].text);
  }

  // The bytes of the outputs.
  std::vector<std::vector<uint8_t>> Finish() {
    EXPECT_TRUE(arena_.IsIntact());
    for (size_t b = 0; b < plan_.buffers.size(); ++b) {
      const PlanBuffer& buffer = plan_.buffers[b];
      if (buffer.kind != PlanBuffer::Kind::kOutput || buffer.offset) continue;
      outside_.outputs[buffer.tensor].assign(places_[b], places_[b] + buffer.bytes);
    }
    return std::move(outside_.outputs);
  }

  [[nodiscard]] uint8_t* place(size_t b) const { return places_[b]; }

 private:
  const Plan& plan_;
  std::string name_;
  Kernels kernels_;
  GuardedMemory arena_;
  std::vector<std::unique_ptr<GuardedMemory>> own_;
  std::vector<uint8_t*> places_;
  Outside outside_;
  tarsia_device* device_ = nullptr;
  size_t at_ = 0;
};

std::vector<std::vector<double>> DecodeOutputs(const Plan& plan, const ConcreteGraph& graph,
                                               const std::vector<std::vector<uint8_t>>& bytes) {
  std::vector<std::vector<double>> out;
  for (size_t i = 0; i < graph.graph().outputs.size(); ++i) {
    const auto count = static_cast<size_t>(graph.value(graph.graph().outputs[i]).elements);
    out.push_back(Decode(bytes[i].data(), count, plan.outputs[i].dtype));
  }
  return out;
}

}  // namespace

namespace {

ConcreteGraph Expanded(const std::string& text,
                       const std::vector<std::pair<std::string, int64_t>>& sets,
                       const std::string& name, bool fast) {
  Diagnostics found;
  const SourceFile source("graph.tsa", text);
  auto module = Parse(source, found);
  auto valid = module ? Validate(std::move(*module), found) : std::nullopt;
  std::optional<ConcreteGraph> graph;
  if (valid) {
    std::vector<Binding> bindings;
    for (const auto& [constant, value] : sets)
      bindings.push_back({constant, std::to_string(value)});
    const Module& program = valid->module();
    graph = SpecialiseGraph(*valid, name.empty() ? program.Name(program.graphs[0]) : name, bindings,
                            found);
    if (graph) graph = SplitComplex(*graph, found);
    if (graph) graph = ExpandGradients(*graph, {fast}, found);
  }
  if (graph) return *std::move(graph);
  std::cerr << found.Render(source) << text;
  std::abort();
}

}  // namespace

ConcreteGraph MakeGraph(const std::string& text,
                        const std::vector<std::pair<std::string, int64_t>>& sets,
                        const std::string& name) {
  return Expanded(text, sets, name, false);
}

ConcreteGraph MakeFastGraph(const std::string& text,
                            const std::vector<std::pair<std::string, int64_t>>& sets) {
  return Expanded(text, sets, "", true);
}

ConcreteGraph MakeGraphOf(const std::string& path,
                          const std::vector<std::pair<std::string, int64_t>>& sets,
                          const std::string& name) {
  return MakeGraph(ReadTestFile(TestData(path)), sets, name);
}

std::vector<std::vector<double>> RandomInputs(const ConcreteGraph& graph, uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::vector<std::vector<double>> out;
  for (size_t v = 0; v < graph.graph().inputs.size(); ++v) {
    const ConcreteValue& value = graph.value(static_cast<uint32_t>(v));
    std::vector<double>& elements = out.emplace_back();
    const bool real = value.dtype.IsFloat() || value.dtype.IsComplex();
    for (int64_t i = 0; i < value.elements * NumbersOf(value.dtype); ++i) {
      const auto step = static_cast<int64_t>((engine() >> 11) % 257) - 128;
      const double number =
          real ? static_cast<double>(step) / 64 : static_cast<double>(std::abs(step) % 8);
      const bool narrow =
          !value.dtype.IsComplex() && !value.dtype.IsBool() && value.dtype.bits <= 8;
      elements.push_back(narrow ? DecodeToDouble(value.dtype, EncodeFromDouble(value.dtype, number))
                                : number);
    }
  }
  return out;
}

CertificateFacts FactsOf(const ConcreteGraph& graph) {
  CertificateFacts out;
  for (const ConcreteAxis& axis : graph.axes()) out.axes[std::string(axis.name)] = axis.extent;
  const auto facts = [&](uint32_t v, const std::vector<uint32_t>& axes) {
    TensorFacts tensor{{}, graph.value(v).dtype.bits};
    for (const uint32_t axis : axes) tensor.axes.emplace_back(graph.axes()[axis].name);
    return tensor;
  };
  const Graph& g = graph.graph();
  for (uint32_t v = 0; v < g.inputs.size(); ++v) {
    out.inputs[std::string(g.ValueName(v))] = facts(v, graph.value(v).axes);
  }
  for (const GraphNode& node : g.nodes) {
    if (node.op != GraphOp::kRename || g.Operands(node)[0].value() >= g.inputs.size()) continue;
    const auto axes = g.Axes(node.axes);
    std::map<std::string, std::string> renaming;
    for (size_t i = 0; i + 1 < axes.size(); i += 2) {
      const auto name = [&](size_t a) {
        return std::string(graph.axes()[graph.AxisOf(axes[a])].name);
      };
      renaming[name(i + 1)] = name(i);
    }
    out.inputs[std::string(g.ValueName(g.Operands(node)[0].value()))].renamings.push_back(renaming);
  }
  for (size_t i = 0; i < g.outputs.size(); ++i) {
    // An output that is an input as well has a name of its own.
    const std::string name(g.ValueName(g.outputs[i]));
    out.outputs[out.inputs.count(name) != 0 ? name + "_2" : name] =
        facts(g.outputs[i], graph.output_axes(i));
  }
  for (size_t i = 0; i < g.output_types.size(); ++i) {
    const uint32_t input = g.output_types[i].in_place;
    if (input == GraphOutputType::kNotInPlace) continue;
    out.in_place[std::string(g.ValueName(g.outputs[i]))] = g.ValueName(input);
  }
  return out;
}

std::optional<uint64_t> RefusedBelow(const ConcreteGraph& graph, uint64_t limit, LimitKind kind,
                                     size_t ranks) {
  Diagnostics found;
  if (MakePlan(graph, {limit, kind, false, 0, ranks}, found)) return std::nullopt;
  EXPECT_EQ(found.count(), 1U);
  const std::string help = found.list()[0].help;
  const std::string begin = "smallest limit: ";
  EXPECT_EQ(help.substr(0, begin.size()), begin) << found.list()[0].message;
  return std::strtoull(help.c_str() + begin.size(), nullptr, 10);
}

std::vector<std::vector<double>> Run(const Plan& plan, const ConcreteGraph& graph,
                                     const std::vector<std::vector<double>>& inputs,
                                     const std::string& device) {
  Execution execution(plan, device, inputs);
  EXPECT_EQ(execution.RunToMerge(), nullptr);
  return DecodeOutputs(plan, graph, execution.Finish());
}

namespace {

// Element by element, at the same indices.
void Compare(const ConcreteGraph& graph, const ReferenceGraph& reference, size_t output,
             const std::vector<double>& got) {
  const uint32_t v = graph.graph().outputs[output];
  const Reference& want = reference.value(v);
  const std::vector<uint32_t>& axes = graph.output_axes(output);
  ASSERT_EQ(got.size(), want.value.size());
  const auto numbers = static_cast<size_t>(NumbersOf(graph.value(v).dtype));
  for (size_t i = 0; i < got.size(); ++i) {
    std::map<uint32_t, size_t> index;
    size_t rest = i / numbers;
    for (size_t a = axes.size(); a-- > 0;) {
      const auto extent = static_cast<size_t>(graph.axes()[axes[a]].extent);
      index[axes[a]] = rest % extent;
      rest /= extent;
    }
    size_t at = 0;
    for (const uint32_t axis : want.axes) {
      at = at * static_cast<size_t>(graph.axes()[axis].extent) + index[axis];
    }
    at = at * numbers + i % numbers;
    const double value = want.value[at];
    const bool same = got[i] == value || (std::isnan(got[i]) && std::isnan(value)) ||
                      std::abs(got[i] - value) <= want.error[at] ||
                      want.error[at] == std::numeric_limits<double>::infinity();
    ASSERT_TRUE(same) << "%" << graph.graph().ValueName(v) << "[" << i << "] is " << got[i]
                      << ", and should be " << value << " +- " << want.error[at];
  }
}

void CompareWithMeaning(const ConcreteGraph& graph, const std::vector<std::vector<double>>& inputs,
                        const std::vector<std::vector<double>>& outputs) {
  if (testing::Test::HasFailure()) return;
  const ReferenceGraph reference(graph, inputs);
  for (size_t o = 0; o < outputs.size(); ++o) Compare(graph, reference, o, outputs[o]);
}

}  // namespace

namespace {

// Messages between threads, by sender and receiver.
class Mailboxes {
 public:
  struct Rank {
    Mailboxes* all;
    uint32_t rank;
  };
  static bool Send(void* user, uint32_t to, const void* from, uint64_t bytes) {
    const auto* const self = static_cast<const Rank*>(user);
    const auto* const data = static_cast<const uint8_t*>(from);
    const std::lock_guard lock(self->all->mutex_);
    auto& box = self->all->boxes_[{self->rank, to}];
    box.insert(box.end(), data, data + bytes);
    self->all->changed_.notify_all();
    return true;
  }
  static bool Receive(void* user, uint32_t from, void* to, uint64_t bytes) {
    const auto* const self = static_cast<const Rank*>(user);
    std::unique_lock lock(self->all->mutex_);
    auto& box = self->all->boxes_[{from, self->rank}];
    const auto there = [&] { return box.size() >= bytes; };
    if (!self->all->changed_.wait_for(lock, std::chrono::minutes(1), there)) return false;
    std::copy_n(box.begin(), bytes, static_cast<uint8_t*>(to));
    box.erase(box.begin(), box.begin() + static_cast<std::ptrdiff_t>(bytes));
    return true;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::pair<uint32_t, uint32_t>, std::deque<uint8_t>> boxes_;
};

// One rank's execution by the library, on the device cpu, from memory and to memory of the host.
std::vector<std::vector<uint8_t>> ExecuteRank(const std::string& text, const ConcreteGraph& graph,
                                              const std::vector<std::vector<double>>& inputs,
                                              uint64_t limit, uint32_t ranks,
                                              Mailboxes::Rank* rank) {
  tarsia_module* module = nullptr;
  tarsia_graph_plan* plan = nullptr;
  Expect(tarsia_module_create(text.data(), text.size(), nullptr, &module, nullptr), text);
  auto options = Sized<tarsia_graph_plan_options>();
  options.device = "cpu";
  options.limit = limit == kNoLimit ? 0 : limit;
  options.rank = rank->rank;
  options.ranks = ranks;
  Expect(tarsia_graph_plan_create(module, &options, &plan, nullptr), text);
  std::vector<std::vector<uint8_t>> from;
  std::vector<std::vector<uint8_t>> to;
  std::vector<tarsia_graph_input> given(inputs.size(), Sized<tarsia_graph_input>());
  for (size_t i = 0; i < inputs.size(); ++i) {
    from.push_back(Encode(inputs[i], graph.value(static_cast<uint32_t>(i)).dtype));
    given[i].data = from[i].data();
    given[i].bytes = from[i].size();
  }
  const std::vector<uint32_t>& values = graph.graph().outputs;
  std::vector<tarsia_graph_output> wanted(values.size(), Sized<tarsia_graph_output>());
  for (size_t i = 0; i < values.size(); ++i) {
    const ConcreteValue& value = graph.value(values[i]);
    to.emplace_back(BytesForBits(static_cast<uint64_t>(value.elements) * value.dtype.bits),
                    kPoison);
    wanted[i].data = to[i].data();
    wanted[i].bytes = to[i].size();
  }
  auto execute = Sized<tarsia_graph_execute_options>();
  execute.threads = 1;
  execute.send = Mailboxes::Send;
  execute.receive = Mailboxes::Receive;
  execute.exchange_user = rank;
  Expect(tarsia_graph_execute(plan, given.data(), given.size(), wanted.data(), wanted.size(),
                              &execute, nullptr),
         text);
  tarsia_graph_plan_destroy(plan);
  tarsia_module_destroy(module);
  return to;
}

// The range of the shared axis from each rank; other outputs are the same on all of them.
std::vector<std::vector<uint8_t>> Collect(
    const std::vector<Plan>& plans,
    const std::vector<std::vector<std::vector<uint8_t>>>& of_ranks) {
  std::vector<std::vector<uint8_t>> out = of_ranks[0];
  for (size_t o = 0; o < out.size(); ++o) {
    const PlanTensor& tensor = plans[0].outputs[o];
    if (!tensor.shared) {
      for (const auto& outputs : of_ranks) EXPECT_EQ(outputs[o], out[o]) << tensor.name;
      continue;
    }
    const uint32_t axis = plans[0].share->axis;
    uint64_t inner = tensor.dtype.bits;
    size_t at = tensor.axes.size();
    while (tensor.axes[--at] != axis) inner *= static_cast<uint64_t>(tensor.extents[at]);
    const auto extent = static_cast<uint64_t>(tensor.extents[at]);
    for (uint64_t byte = 0; byte < out[o].size(); ++byte) {
      const auto index = static_cast<int64_t>(byte * 8 / inner % extent);
      for (size_t r = 0; r < plans.size(); ++r) {
        const PlanShare& share = *plans[r].share;
        if (share.low() <= index && index < share.high()) out[o][byte] = of_ranks[r][o][byte];
      }
    }
  }
  return out;
}

// All ranks come to their next merge; then rank 0 merges what they have, and sends it to them.
bool MergeNext(const std::vector<Plan>& plans,
               const std::vector<std::unique_ptr<Execution>>& executions) {
  std::vector<const PlanStep*> steps;
  for (const auto& execution : executions) steps.push_back(execution->RunToMerge());
  const auto ended = std::count(steps.begin(), steps.end(), nullptr);
  EXPECT_TRUE(ended == 0 || ended == static_cast<std::ptrdiff_t>(steps.size()));
  if (ended != 0) return false;
  const std::vector<KernelParam>& params = plans[0].kernels[steps[0]->kernel].params;
  std::vector<size_t> states;
  std::vector<size_t> incoming;
  for (const KernelParam& param : params) {
    if (param.kind == KernelParam::Kind::kTensor) {
      (param.written ? states : incoming).push_back(param.id);
    }
  }
  EXPECT_EQ(states.size(), incoming.size());
  const auto copy = [&](size_t from_rank, size_t from, size_t to_rank, size_t to) {
    EXPECT_EQ(plans[from_rank].buffers[from].bytes, plans[to_rank].buffers[to].bytes);
    std::copy_n(executions[from_rank]->place(from), plans[to_rank].buffers[to].bytes,
                executions[to_rank]->place(to));
  };
  for (size_t r = 1; r < plans.size(); ++r) {
    if (plans[r].share->low() == plans[r].share->high()) continue;
    for (size_t i = 0; i < states.size(); ++i) copy(r, states[i], 0, incoming[i]);
    executions[0]->Launch(*steps[0]);
  }
  for (size_t r = 1; r < plans.size(); ++r) {
    for (const size_t state : states) copy(0, state, r, state);
  }
  return true;
}

}  // namespace

std::vector<std::vector<double>> RunThroughApi(const std::string& text, const ConcreteGraph& graph,
                                               const std::vector<std::vector<double>>& inputs,
                                               uint64_t limit, uint32_t ranks) {
  Diagnostics found;
  std::vector<Plan> plans;
  for (size_t r = 0; r < ranks; ++r) {
    plans.push_back(MakePlan(graph, {limit, LimitKind::kTotal, false, r, ranks}, found).value());
  }
  Mailboxes boxes;
  std::vector<std::vector<std::vector<uint8_t>>> of_ranks(ranks);
  std::vector<std::thread> threads;
  for (uint32_t r = 0; r < ranks; ++r) {
    threads.emplace_back([&, r] {
      Mailboxes::Rank rank{&boxes, r};
      of_ranks[r] = ExecuteRank(text, graph, inputs, limit, ranks, &rank);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return DecodeOutputs(plans[0], graph, Collect(plans, of_ranks));
}

std::vector<std::vector<double>> RunAndCompareShares(const ConcreteGraph& graph,
                                                     const std::vector<std::vector<double>>& inputs,
                                                     uint64_t limit, LimitKind kind, size_t ranks,
                                                     const std::string& device) {
  Diagnostics found;
  std::vector<Plan> plans;
  std::vector<std::string> certificates;
  for (size_t r = 0; r < ranks; ++r) {
    auto plan = MakePlan(graph, {limit, kind, false, r, ranks}, found);
    if (!plan) {
      ADD_FAILURE() << found.Render(SourceFile());
      return {};
    }
    EXPECT_LE(plan->peak, limit);
    certificates.push_back(CertificateText(*plan, graph));
    plans.push_back(*std::move(plan));
  }
  if (!plans[0].share) {
    ADD_FAILURE() << "no axis is shared";
    return {};
  }
  const auto faults = CheckShares(certificates, FactsOf(graph));
  EXPECT_TRUE(faults.empty()) << fmt::format("{}", fmt::join(faults, "\n"));
  std::vector<std::unique_ptr<Execution>> executions;
  for (const Plan& plan : plans) {
    executions.push_back(std::make_unique<Execution>(plan, device, inputs));
  }
  while (!testing::Test::HasFailure() && MergeNext(plans, executions)) {
  }
  std::vector<std::vector<std::vector<uint8_t>>> of_ranks;
  for (const auto& execution : executions) of_ranks.push_back(execution->Finish());
  auto out = DecodeOutputs(plans[0], graph, Collect(plans, of_ranks));
  CompareWithMeaning(graph, inputs, out);
  EXPECT_FALSE(testing::Test::HasFailure())
      << "limit " << limit << " on " << ranks << " of " << device
      << ", shared: " << graph.axes()[plans[0].share->axis].name << "\n"
      << plans[0].Text();
  return out;
}

std::vector<std::vector<double>> RunAndCompare(const ConcreteGraph& graph,
                                               const std::vector<std::vector<double>>& inputs,
                                               uint64_t limit, LimitKind kind,
                                               const std::string& device) {
  Diagnostics found;
  const auto plan = MakePlan(graph, {limit, kind, false, 0, 1, runtime::MachineOf(device)}, found);
  if (!plan) {
    ADD_FAILURE() << found.Render(SourceFile());
    return {};
  }
  EXPECT_LE(plan->peak, limit);
  const auto faults = CheckCertificate(CertificateText(*plan, graph), FactsOf(graph));
  EXPECT_TRUE(faults.empty()) << fmt::format("{}", fmt::join(faults, "\n"));
  auto out = Run(*plan, graph, inputs, device);
  CompareWithMeaning(graph, inputs, out);
  EXPECT_FALSE(testing::Test::HasFailure()) << "limit " << limit << " on " << device << "\n"
                                            << plan->Text();
  return out;
}

void CompareAtAllLimits(const ConcreteGraph& graph, uint64_t seed, const std::string& device) {
  const auto inputs = RandomInputs(graph, seed);
  for (const LimitKind kind : {LimitKind::kTotal, LimitKind::kScratch}) {
    RunAndCompare(graph, inputs, kNoLimit, kind, device);
    Diagnostics found;
    const auto whole = MakePlan(graph, {kNoLimit, kind}, found);
    ASSERT_TRUE(whole);
    const uint64_t smallest = RefusedBelow(graph, 0, kind).value_or(0);
    if (smallest > 0) {
      EXPECT_EQ(RefusedBelow(graph, smallest - 1, kind), smallest);
    }
    uint64_t last = whole->peak;
    for (int i = 0; i <= 4 && !testing::Test::HasFailure(); ++i) {
      const uint64_t limit = smallest + (whole->peak - smallest) * static_cast<uint64_t>(i) / 5;
      if (limit == last) continue;
      last = limit;
      RunAndCompare(graph, inputs, limit, kind, device);
    }
  }
}

}  // namespace tarsia::reduce_test
