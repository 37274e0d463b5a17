#include "tests/emulated_driver/settings.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "support/environment.h"

namespace tarsia::emulated {
namespace {

template <typename T>
bool ParseNumber(std::string_view text, T* out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

// Removes and returns the text before the first `mark`, and removes the mark.
std::string_view TakeUpTo(char mark, std::string_view* text) {
  const size_t at = text->find(mark);
  const std::string_view out = text->substr(0, at);
  text->remove_prefix(at == std::string_view::npos ? text->size() : at + 1);
  return out;
}

std::vector<std::string_view> Split(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) out.push_back(TakeUpTo(',', &text));
  return out;
}

std::optional<Fault> ParseFault(std::string_view text) {
  Fault fault;
  fault.what = TakeUpTo('@', &text);
  std::string_view nth = TakeUpTo('=', &text);
  if (nth.ends_with('+')) {
    fault.onward = true;
    nth.remove_suffix(1);
  }
  if (fault.what.empty() || !ParseNumber(nth, &fault.nth) || !ParseNumber(text, &fault.code)) {
    return std::nullopt;
  }
  return fault;
}

class Reader {
 public:
  template <typename T>
  void Number(const char* name, T* out) {
    const std::string_view text = Environment(name);
    if (!text.empty() && !ParseNumber(text, out)) Complain(name, text);
  }

  void Capability(const char* name, int* major, int* minor) {
    const std::string_view value = Environment(name);
    if (value.empty()) return;
    std::string_view text = value;
    const std::string_view first = TakeUpTo('.', &text);
    if (!ParseNumber(first, major) || !ParseNumber(text, minor)) Complain(name, value);
  }

  void Faults(const char* name, std::vector<Fault>* out) {
    for (const std::string_view item : Split(Environment(name))) {
      std::optional<Fault> fault = ParseFault(item);
      if (!fault) return Complain(name, item);
      out->push_back(*std::move(fault));
    }
  }

  std::string problem;

 private:
  void Complain(const char* name, std::string_view text) {
    problem += std::string(name) + ": `" + std::string(text) + "` means nothing\n";
  }
};

}  // namespace

Settings Settings::Read() {
  Settings out;
  Reader reader;
  reader.Number("TARSIA_EMULATED_VERSION", &out.version);
  reader.Number("TARSIA_EMULATED_DEVICES", &out.devices);
  reader.Capability("TARSIA_EMULATED_CAPABILITY", &out.major, &out.minor);
  reader.Number("TARSIA_EMULATED_MEMORY", &out.memory);
  reader.Number("TARSIA_EMULATED_LIMIT", &out.instruction_limit);
  reader.Number("TARSIA_EMULATED_LOCAL", &out.local_functions);
  reader.Faults("TARSIA_EMULATED_FAULTS", &out.faults);
  out.report = Environment("TARSIA_EMULATED_REPORT");
  for (const std::string_view kind : Split(Environment("TARSIA_EMULATED_TOLERATE"))) {
    out.tolerated.emplace_back(kind);
  }
  out.problem = reader.problem;
  return out;
}

bool Settings::Tolerates(std::string_view finding) const {
  return std::ranges::find(tolerated, finding) != tolerated.end();
}

cuda::CuResult FaultPlan::Next(std::string_view what, bool any) {
  if (faults_.empty()) return cuda::kSuccess;
  const auto count = [this](std::string_view name) {
    return ++counts_.try_emplace(std::string(name), 0).first->second;
  };
  const uint64_t own = count(what);
  const uint64_t all = any ? count("*") : 0;
  for (const Fault& fault : faults_) {
    uint64_t number = 0;
    if (fault.what == what) number = own;
    if (any && fault.what == "*") number = all;
    if (number == 0) continue;
    if (number == fault.nth || (fault.onward && number > fault.nth)) return fault.code;
  }
  return cuda::kSuccess;
}

}  // namespace tarsia::emulated
