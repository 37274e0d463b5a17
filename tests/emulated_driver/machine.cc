#include "tests/emulated_driver/machine.h"

#include <cstdio>
#include <cstring>
#include <fstream>

namespace tarsia::emulated {
namespace {

using namespace tarsia::cuda;

// Contexts have separate address ranges, so that an address is never valid in kernels of another
// context.
constexpr uint64_t kContextSpan = uint64_t{1} << 40;

struct ThreadState {
  uint64_t epoch = 0;
  std::vector<uintptr_t> stack;
};

}  // namespace

Machine& Machine::Get() {
  static Machine& machine = *new Machine;  // outlives every thread
  return machine;
}

void Machine::Reset() {
  graph_execs.clear();
  graphs.clear();
  functions.clear();
  modules.clear();
  events.clear();
  streams.clear();
  for (auto& [handle, context] : contexts) {
    for (auto& stream : context->queues)
      stream->pending.clear();  // operations may reference each other
  }
  contexts.clear();
  primaries.clear();
  settings = Settings::Read();
  faults = FaultPlan(settings.faults);
  initialised = false;
  calls = launches = abandoned = 0;
  reports.clear();
  ++epoch_;
}

void Machine::Count(Counts* counts) const {
  *counts = Counts();
  counts->contexts = contexts.size();
  for (const auto& [device, primary] : primaries) counts->retained += primary.retains;
  for (const auto& [handle, context] : contexts) {
    counts->allocations += context->allocations.size();
    for (const auto& [address, bytes] : context->allocations) counts->allocated_bytes += bytes;
    for (const auto& stream : context->queues) counts->pending += stream->pending.size();
  }
  counts->modules = modules.size();
  counts->streams = streams.size();
  counts->events = events.size();
  counts->graphs = graphs.size();
  counts->graph_execs = graph_execs.size();
  counts->abandoned = abandoned;
  counts->calls = calls;
  counts->launches = launches;
}

void Machine::Report(const std::string& text) {
  reports += text;
  if (settings.report.empty()) {
    std::fputs(text.c_str(), stderr);
  } else {
    std::ofstream(settings.report, std::ios::app) << text;
  }
}

std::shared_ptr<Stream> Context::NewQueue(bool blocking) {
  auto stream = std::make_shared<Stream>();
  stream->context = this;
  stream->blocking = blocking;
  queues.push_back(stream);
  return stream;
}

Context* Machine::NewContext(CuDevice device) {
  const uintptr_t handle = NewHandle();
  const uint64_t base = ptx::kGlobalBase + contexts_made_++ * kContextSpan;
  auto context = std::make_shared<Context>(handle, device, settings.memory, base);
  context->legacy = context->NewQueue(true);
  context->legacy->legacy = true;
  return contexts.emplace(handle, std::move(context)).first->second.get();
}

template <typename T>
void Machine::Abandon(const Context* context, Table<T>* table) {
  abandoned +=
      std::erase_if(*table, [&](const auto& item) { return item.second->context == context; });
}

void Machine::DestroyContext(uintptr_t handle) {
  const auto found = contexts.find(handle);
  if (found == contexts.end()) return;
  Context* const context = found->second.get();
  DrainAll(*context);
  abandoned += context->allocations.size();
  Abandon(context, &graph_execs);
  Abandon(context, &graphs);
  std::erase_if(functions, [&](const auto& item) { return item.second->context == context; });
  Abandon(context, &modules);
  Abandon(context, &events);
  Abandon(context, &streams);
  contexts.erase(found);
}

std::vector<uintptr_t>& Machine::Stack() {
  thread_local ThreadState state;
  if (state.epoch != epoch_) state = {epoch_, {}};
  return state.stack;
}

Context* Machine::Current() {
  const std::vector<uintptr_t>& stack = Stack();
  if (stack.empty()) return nullptr;
  const auto found = contexts.find(stack.back());
  return found == contexts.end() ? nullptr : found->second.get();
}

Context* Machine::Owner(uint64_t address, uint64_t bytes) {
  for (const auto& [handle, context] : contexts) {
    const ptx::MemoryRange* const range = context->memory.Find(address);
    if (range != nullptr && range->Holds(address, bytes)) return context.get();
  }
  return nullptr;
}

std::shared_ptr<Stream> FindStream(Machine& machine, Context& context, CuStream stream) {
  const auto number = reinterpret_cast<uintptr_t>(stream);
  if (number == 0 || number == kStreamLegacy) return context.legacy;
  if (number == kStreamPerThread) {
    std::shared_ptr<Stream>& own = context.per_thread[std::this_thread::get_id()];
    if (own == nullptr) own = context.NewQueue(true);
    return own;
  }
  std::shared_ptr<Stream> found = Find(machine.streams, stream);
  return found != nullptr && found->context == &context ? found : nullptr;
}

}  // namespace tarsia::emulated
