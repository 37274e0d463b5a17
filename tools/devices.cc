// tarsia devices: lists the devices that can run programs.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tools/commands.h"
#include "tools/handles.h"
#include "tools/output.h"

namespace tarsia::tools {
namespace {

std::vector<tarsia_device_info> AllDevices() {
  std::vector<tarsia_device_info> out;
  for (size_t i = 0; i < tarsia_device_count(); ++i) {
    auto device = Sized<tarsia_device_info>();
    if (tarsia_device_get(i, &device) == TARSIA_STATUS_OK) out.push_back(device);
  }
  return out;
}

std::string Line(const tarsia_device_info& device, size_t width) {
  std::string out = fmt::format("{:<{}}{}", device.name, width, device.description);
  if (device.threads != 0) {
    out += fmt::format(": {} thread{}, {}", device.threads, device.threads == 1 ? "" : "s",
                       device.vector_unit);
  }
  if (device.is_default) out += " (default)";
  return out + "\n";
}

void Append(const tarsia_device_info& device, Json* json) {
  json->Begin('{').Key("name").String(device.name);
  json->Key("description").String(device.description);
  json->Key("available").Bool(device.available).Key("default").Bool(device.is_default);
  if (device.threads != 0) {
    json->Key("threads").Number(device.threads).Key("vector_unit").String(device.vector_unit);
  }
  json->End('}');
}

}  // namespace

int ShowDevices(const Args& args) {
  Command command("devices", "Lists the devices that programs can run on.",
                  {"tarsia devices", "tarsia devices --json"});
  bool as_json = false;
  command.Flag("--json", &as_json, "Print JSON");
  if (const auto code = command.Parse(args)) return *code;
  Json json;
  json.Begin('[');
  const std::vector<tarsia_device_info> devices = AllDevices();
  size_t width = 0;  // of the names, with two spaces
  for (const tarsia_device_info& device : devices) {
    width = std::max(width, std::string_view(device.name).size() + 2);
  }
  for (const tarsia_device_info& device : devices) {
    if (as_json) {
      Append(device, &json);
    } else {
      PrintOut(Line(device, width));
    }
  }
  if (as_json) PrintOut(json.End(']').Take());
  return kDone;
}

}  // namespace tarsia::tools
