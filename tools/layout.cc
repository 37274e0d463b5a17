// tarsia layout: pictures, tables and questions about layouts.
#include <fmt/format.h>

#include "dtypes/dtype.h"
#include "layout/eval.h"
#include "layout/render.h"
#include "runtime/file.h"
#include "tools/commands.h"
#include "tools/output.h"

namespace tarsia::tools {
namespace {

struct LayoutRequest {
  std::string text;
  std::string dtype = "f16";
  std::string shape;
  std::string tile;
  std::optional<std::string> at;
  std::optional<std::string> of;
  std::string svg;
  bool json = false;
};

int Complain(const Diagnostic& error, const std::string& text = "") {
  PrintError(error, SourceFile("<layout>", text));
  return kRejected;
}

// "9,3" into numbers; false if it is no such list.
bool ParseNumbers(const std::string& text, std::vector<int64_t>* out) {
  int64_t value = -1;
  for (const char c : text + ",") {
    if (c >= '0' && c <= '9' && value < (int64_t{1} << 50)) {
      value = (value < 0 ? 0 : value * 10) + (c - '0');
    } else if (c == ',' && value >= 0) {
      out->push_back(value);
      value = -1;
    } else if (c != ' ') {
      return false;
    }
  }
  return true;
}

std::string Join(std::span<const int64_t> numbers) {
  return fmt::format("{}", fmt::join(numbers, ","));
}

// Prints a picture, or writes it to the file of --svg.
int Deliver(const Result<std::string>& picture, const std::string& svg) {
  if (!picture.ok()) return Complain(picture.error());
  if (svg.empty()) {
    PrintOut(*picture);
    return kDone;
  }
  const Status status = WriteFile(svg, *picture);
  if (status.ok()) return kDone;
  PrintError(status.error());
  return kEnvironment;
}

// ---- register layouts ----------------------------------------------------------------------

int ReadIndex(const Command& command, const char* option, const std::string& text,
              const std::vector<int64_t>& extents, std::vector<int64_t>* out) {
  if (!ParseNumbers(text, out) || out->size() != extents.size()) {
    return command.Misuse(fmt::format("{} {}: {} numbers such as {} are wanted", option, text,
                                      extents.size(),
                                      Join(std::vector<int64_t>(extents.size(), 0))));
  }
  for (size_t i = 0; i < extents.size(); ++i) {
    if ((*out)[i] < extents[i]) continue;
    PrintError(fmt::format("{} {}: number {} must be below {}", option, text, i + 1, extents[i]));
    return kRejected;
  }
  return kDone;
}

int ShowHolders(const Command& command, const LayoutRequest& request, const RegLayout& layout) {
  std::vector<int64_t> index;
  const int code = ReadIndex(command, "--at", *request.at, layout.shape(), &index);
  if (code != kDone) return code;
  Json json;
  json.Begin('[');
  for (const Holder& holder : layout.Locate(index)) {
    json.Begin('[').Number(holder.thread).Number(holder.slot).End(']');
    if (!request.json) PrintOut(fmt::format("{},{}\n", holder.thread, holder.slot));
  }
  if (request.json) PrintOut(json.End(']').Take());
  return kDone;
}

int ShowElement(const Command& command, const LayoutRequest& request, const RegLayout& layout) {
  std::vector<int64_t> place;
  const int code =
      ReadIndex(command, "--of", *request.of, {layout.threads(), layout.slots()}, &place);
  if (code != kDone) return code;
  std::vector<int64_t> index(layout.shape().size());
  layout.Element(place[0], place[1], index);
  PrintOut(request.json ? fmt::format("[{}]\n", fmt::join(index, ", ")) : Join(index) + "\n");
  return kDone;
}

int ShowRegLayout(const Command& command, const LayoutRequest& request, const RegLayout& layout) {
  if (request.at) return ShowHolders(command, request, layout);
  if (request.of) return ShowElement(command, request, layout);
  if (!request.svg.empty()) return Deliver(RenderSvg(layout), request.svg);
  if (request.json) {
    PrintOut(RenderJson(layout) + "\n");
    return kDone;
  }
  return Deliver(RenderText(layout), "");
}

// ---- memory layouts ------------------------------------------------------------------------

int ShowAddress(const Command& command, const LayoutRequest& request, const MemLayout& layout,
                int bits) {
  std::vector<int64_t> index;
  const int code = ReadIndex(command, "--at", *request.at, layout.shape(), &index);
  if (code != kDone) return code;
  const uint64_t address = layout.BitAddress(index, bits, 0);
  if (request.json) {
    PrintOut(fmt::format("{{\"byte\": {}, \"bit\": {}}}\n", address / 8, address % 8));
  } else {
    PrintOut(fmt::format("byte {}, bit {}\n", address / 8, address % 8));
  }
  return kDone;
}

int ShowMemLayout(const Command& command, const LayoutRequest& request,
                  const MemLayoutFamily& family, DType type) {
  std::vector<int64_t> shape = family.concrete.shape();
  if (family.kind != MemLayoutFamily::Kind::kConcrete &&
      (request.shape.empty() || !ParseNumbers(request.shape, &shape))) {
    return command.Misuse("this layout fits any shape: say one, as in --shape 8,64");
  }
  const auto layout = Apply(family, shape, type);
  if (!layout.ok()) return Complain(layout.error());
  if (request.of) return command.Misuse("--of is for register layouts");
  if (request.at) return ShowAddress(command, request, *layout, type.bits);
  std::optional<RegLayout> tile;
  if (!request.tile.empty()) {
    auto value = EvaluateText(request.tile);
    if (!value.ok()) return Complain(value.error(), request.tile);
    if (const auto* found = std::get_if<RegLayout>(&*value)) tile = *found;
    if (!tile) return command.Misuse("--tile: `" + request.tile + "` is no register layout");
  }
  if (!request.svg.empty()) {
    return Deliver(RenderSvg(*layout, type.bits, tile ? &*tile : nullptr), request.svg);
  }
  if (request.json) {
    PrintOut(RenderJson(*layout, type.bits) + "\n");
    return kDone;
  }
  if (tile) return Deliver(RenderAccesses(*tile, *layout, type.bits), "");
  return Deliver(RenderText(*layout, type.bits), "");
}

int Show(const Command& command, const LayoutRequest& request) {
  const auto type = FindDType(request.dtype);
  if (!type) {
    return command.Misuse("--dtype " + request.dtype + ": unknown element type",
                          DidYouMean(request.dtype, DTypeNames()));
  }
  const auto value = EvaluateText(request.text);
  if (!value.ok()) return Complain(value.error(), request.text);
  if (const auto* layout = std::get_if<RegLayout>(&*value)) {
    return ShowRegLayout(command, request, *layout);
  }
  if (const auto* family = std::get_if<MemLayoutFamily>(&*value)) {
    return ShowMemLayout(command, request, *family, *type);
  }
  if (request.at || request.of || request.json || !request.svg.empty()) {
    return command.Misuse("`" + request.text + "` is no register or memory layout");
  }
  PrintOut(ToString(*value) + "\n");  // a bit layout, a number: its canonical text
  return kDone;
}

}  // namespace

int ShowLayout(const Args& args) {
  Command command(
      "layout",
      "Draws a layout: cells `thread:slot` of a register layout, banks of a memory "
      "layout.",
      {"tarsia layout 'spatial(2, 4) * local(2, 1)'", "tarsia layout mma.m16n8k16.f16.a --at 9,3",
       "tarsia layout 'swizzle(row_major(8, 64), 4, 3, 3)' --tile 'spatial(8, 4) * local(1, 16)'",
       "tarsia layout mma.m16n8k16.f16.c --svg c.svg"});
  LayoutRequest request;
  command.Positional("EXPR", &request.text, "The layout; see docs/layouts.md");
  command.Value("--at", "I,J", &request.at,
                "The thread,slot pairs that hold an element; of a memory layout its address");
  command.Value("--of", "T,S", &request.of, "The element that a thread holds in a slot");
  command.Value("--shape", "M,N", &request.shape, "The shape, for layouts that fit any");
  command.Value("--dtype", "T", &request.dtype, "The element type in memory; f16 if left out");
  command.Value("--tile", "REGLAYOUT", &request.tile,
                "The accesses of a warp that moves this tile through the memory layout");
  command.Value("--svg", "FILE", &request.svg, "Draw it into a file; - is standard output");
  command.Flag("--json", &request.json, "The canonical form as JSON");
  if (const auto code = command.Parse(args)) return *code;
  return Show(command, request);
}

}  // namespace tarsia::tools
