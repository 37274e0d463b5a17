#include "tests/reduce/run_plan.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <span>

#include "dtypes/bits.h"
#include "dtypes/convert.h"
#include "isa/gradient/expand.h"
#include "isa/text/parser.h"
#include "planner/certificate.h"
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

std::vector<uint8_t> Encode(const std::vector<double>& values, DType type) {
  std::vector<uint8_t> out(BytesForBits(values.size() * type.bits));
  for (size_t i = 0; i < values.size(); ++i) {
    uint64_t code = type.IsBool() ? static_cast<uint64_t>(values[i]) : 0;
    if (!type.IsBool()) code = EncodeFromDouble(type, values[i]);
    if (type.bits < 8) {  // the first element in the lowest bits
      const size_t bit = i * type.bits;
      out[bit / 8] = static_cast<uint8_t>(out[bit / 8] | code << (bit % 8));
      continue;
    }
    std::memcpy(out.data() + i * type.bits / 8, &code, type.bits / 8);
  }
  return out;
}

std::vector<double> Decode(const uint8_t* bytes, size_t count, DType type) {
  std::vector<double> out;
  for (size_t i = 0; i < count; ++i) {
    uint64_t code = 0;
    std::memcpy(&code, bytes + i * type.bits / 8, type.bits / 8);
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
  const std::span<const size_t> used(step.buffers.data(), static_cast<size_t>(tensors));
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

void CopyBits(const uint8_t* from, uint64_t from_bit, uint8_t* to, uint64_t to_bit, uint64_t bits) {
  for (uint64_t i = 0; i < bits; ++i) {
    const uint32_t bit = from[(from_bit + i) / 8] >> ((from_bit + i) % 8) & 1u;
    uint8_t& byte = to[(to_bit + i) / 8];
    const auto mask = static_cast<uint8_t>(1u << ((to_bit + i) % 8));
    byte = static_cast<uint8_t>(bit != 0 ? byte | mask : byte & ~mask);
  }
}

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
        if (range.axis != tensor.axes[a]) continue;
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

void RunSteps(const Plan& plan, const std::string& name, const std::vector<uint8_t*>& places,
              Outside* outside) {
  const Kernels kernels(plan, name);
  if (testing::Test::HasFailure()) return;
  tarsia_device* device = nullptr;
  Expect(tarsia_device_open(name.c_str(), &device), name);
  for (const PlanStep& step : plan.steps) {
    if (step.kind != PlanStep::Kind::kLaunch) {
      Transfer(plan, step, places[step.buffers[0]], outside);
    } else if (name != "cpu") {
      RunThere(plan, step, kernels, device, places);
    } else {
      const auto args = ArgsOf(plan, step, places);
      Expect(tarsia_execute(kernels.plan(step.kernel), args.data(), args.size(), nullptr, nullptr,
                            nullptr, nullptr),
             plan.kernels[step.kernel].text);
    }
    if (testing::Test::HasFailure()) break;
  }
  tarsia_device_close(device);
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
    for (int64_t i = 0; i < value.elements; ++i) {
      const auto step = static_cast<int64_t>((engine() >> 11) % 257) - 128;
      elements.push_back(value.dtype.IsFloat() ? static_cast<double>(step) / 64
                                               : static_cast<double>(std::abs(step) % 8));
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

std::optional<uint64_t> RefusedBelow(const ConcreteGraph& graph, uint64_t limit, LimitKind kind) {
  Diagnostics found;
  if (MakePlan(graph, {limit, kind}, found)) return std::nullopt;
  EXPECT_EQ(found.count(), 1U);
  const std::string help = found.list()[0].help;
  const std::string begin = "smallest limit: ";
  EXPECT_EQ(help.substr(0, begin.size()), begin) << found.list()[0].message;
  return std::strtoull(help.c_str() + begin.size(), nullptr, 10);
}

std::vector<std::vector<double>> Run(const Plan& plan, const ConcreteGraph& graph,
                                     const std::vector<std::vector<double>>& inputs,
                                     const std::string& device) {
  const GuardedMemory arena(plan.peak);
  std::vector<std::unique_ptr<GuardedMemory>> own;
  std::vector<uint8_t*> places;
  Outside outside;
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    outside.inputs.push_back(Encode(inputs[i], plan.inputs[i].dtype));
  }
  for (const PlanTensor& tensor : plan.outputs) {
    outside.outputs.emplace_back(tensor.bytes, kPoison);
  }
  for (const PlanBuffer& buffer : plan.buffers) {
    if (buffer.in_place) {
      places.push_back(places[*buffer.in_place]);
      continue;
    }
    if (!buffer.offset) own.push_back(std::make_unique<GuardedMemory>(buffer.bytes));
    places.push_back(buffer.offset ? arena.data() + *buffer.offset : own.back()->data());
    if (buffer.kind != PlanBuffer::Kind::kInput || !buffer.used || buffer.offset) continue;
    const auto& bytes = outside.inputs[buffer.tensor];
    std::copy(bytes.begin(), bytes.end(), places.back());
  }
  RunSteps(plan, device, places, &outside);
  EXPECT_TRUE(arena.IsIntact());
  for (size_t b = 0; b < plan.buffers.size(); ++b) {
    const PlanBuffer& buffer = plan.buffers[b];
    if (buffer.kind != PlanBuffer::Kind::kOutput || buffer.offset) continue;
    outside.outputs[buffer.tensor].assign(places[b], places[b] + buffer.bytes);
  }
  std::vector<std::vector<double>> out;
  for (size_t i = 0; i < graph.graph().outputs.size(); ++i) {
    const auto count = static_cast<size_t>(graph.value(graph.graph().outputs[i]).elements);
    out.push_back(Decode(outside.outputs[i].data(), count, plan.outputs[i].dtype));
  }
  return out;
}

namespace {

// Element by element, at the same indices.
void Compare(const ConcreteGraph& graph, const ReferenceGraph& reference, size_t output,
             const std::vector<double>& got) {
  const uint32_t v = graph.graph().outputs[output];
  const Reference& want = reference.value(v);
  const std::vector<uint32_t>& axes = graph.output_axes(output);
  ASSERT_EQ(got.size(), want.value.size());
  for (size_t i = 0; i < got.size(); ++i) {
    std::map<uint32_t, size_t> index;
    size_t rest = i;
    for (size_t a = axes.size(); a-- > 0;) {
      const auto extent = static_cast<size_t>(graph.axes()[axes[a]].extent);
      index[axes[a]] = rest % extent;
      rest /= extent;
    }
    size_t at = 0;
    for (const uint32_t axis : want.axes) {
      at = at * static_cast<size_t>(graph.axes()[axis].extent) + index[axis];
    }
    const double value = want.value[at];
    const bool same = got[i] == value || (std::isnan(got[i]) && std::isnan(value)) ||
                      std::abs(got[i] - value) <= want.error[at] ||
                      want.error[at] == std::numeric_limits<double>::infinity();
    ASSERT_TRUE(same) << "%" << graph.graph().ValueName(v) << "[" << i << "] is " << got[i]
                      << ", and should be " << value << " +- " << want.error[at];
  }
}

}  // namespace

std::vector<std::vector<double>> RunThroughApi(const std::string& text, const ConcreteGraph& graph,
                                               const std::vector<std::vector<double>>& inputs,
                                               uint64_t limit) {
  tarsia_module* module = nullptr;
  tarsia_graph_plan* plan = nullptr;
  Expect(tarsia_module_create(text.data(), text.size(), nullptr, &module, nullptr), text);
  auto options = Sized<tarsia_graph_plan_options>();
  options.device = "cpu";
  options.limit = limit == kNoLimit ? 0 : limit;
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
    to.emplace_back(static_cast<size_t>(value.elements) * value.dtype.bits / 8, kPoison);
    wanted[i].data = to[i].data();
    wanted[i].bytes = to[i].size();
  }
  Expect(tarsia_graph_execute(plan, given.data(), given.size(), wanted.data(), wanted.size(),
                              nullptr, nullptr),
         text);
  std::vector<std::vector<double>> out;
  for (size_t i = 0; i < values.size(); ++i) {
    const ConcreteValue& value = graph.value(values[i]);
    out.push_back(Decode(to[i].data(), static_cast<size_t>(value.elements), value.dtype));
  }
  tarsia_graph_plan_destroy(plan);
  tarsia_module_destroy(module);
  return out;
}

std::vector<std::vector<double>> RunAndCompare(const ConcreteGraph& graph,
                                               const std::vector<std::vector<double>>& inputs,
                                               uint64_t limit, LimitKind kind,
                                               const std::string& device) {
  Diagnostics found;
  const auto plan = MakePlan(graph, {limit, kind}, found);
  if (!plan) {
    ADD_FAILURE() << found.Render(SourceFile());
    return {};
  }
  EXPECT_LE(plan->peak, limit);
  const auto faults = CheckCertificate(CertificateText(*plan, graph), FactsOf(graph));
  EXPECT_TRUE(faults.empty()) << fmt::format("{}", fmt::join(faults, "\n"));
  auto out = Run(*plan, graph, inputs, device);
  if (testing::Test::HasFailure()) return out;
  const ReferenceGraph reference(graph, inputs);
  for (size_t o = 0; o < out.size(); ++o) Compare(graph, reference, o, out[o]);
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
