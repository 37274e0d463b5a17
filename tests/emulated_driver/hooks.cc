#include "tests/emulated_driver/hooks.h"

#include <algorithm>
#include <cstring>

#include "tests/emulated_driver/machine.h"

#define TARSIA_HOOK extern "C" __attribute__((visibility("default")))

using tarsia::emulated::Counts;
using tarsia::emulated::Machine;

TARSIA_HOOK void tarsia_emulated_reset() {
  Machine& machine = Machine::Get();
  const std::lock_guard lock(machine.mutex);
  machine.Reset();
}

TARSIA_HOOK void tarsia_emulated_counts(Counts* counts) {
  Machine& machine = Machine::Get();
  const std::lock_guard lock(machine.mutex);
  machine.Count(counts);
}

TARSIA_HOOK uint64_t tarsia_emulated_report(char* buffer, uint64_t size) {
  Machine& machine = Machine::Get();
  const std::lock_guard lock(machine.mutex);
  if (size > 0) {
    const size_t bytes = std::min<size_t>(machine.reports.size(), size - 1);
    std::memcpy(buffer, machine.reports.data(), bytes);
    buffer[bytes] = '\0';
  }
  return machine.reports.size();
}

TARSIA_HOOK void tarsia_emulated_around_calls(void (*enter)(), void (*leave)()) {
  Machine& machine = Machine::Get();
  const std::lock_guard lock(machine.mutex);
  machine.enter_call = enter;
  machine.leave_call = leave;
}
