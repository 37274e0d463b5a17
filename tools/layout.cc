// tarsia layout: pictures, tables and questions about layouts.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dtypes/dtype.h"
#include "layout/picture/render.h"
#include "layout/picture/svg.h"
#include "layout/text/compare.h"
#include "layout/text/eval.h"
#include "layout/vector_access.h"
#include "layout/wgmma.h"
#include "runtime/files/file.h"
#include "tools/commands.h"
#include "tools/output.h"

namespace tarsia::tools {
namespace {

struct LayoutRequest {
  std::string text;
  std::string dtype = "f16";
  std::string shape;
  std::vector<std::string> through;
  std::optional<std::string> at;
  std::optional<std::string> of;
  std::optional<std::string> align;
  std::optional<std::string> multiples;
  std::optional<std::string> k_dim;
  std::string svg;
  uint32_t access = 0;
  bool best_swizzle = false;
  bool json = false;
};

int Complain(const Diagnostic& error, const std::string& text = "") {
  PrintError(error, SourceFile("<layout>", text));
  return kRejected;
}

// Parses "9,3"; false if it is not such a list.
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

// Prints one line or the error.
int DeliverLine(const Result<std::string>& line) {
  if (!line.ok()) return Complain(line.error());
  PrintOut(*line + "\n");
  return kDone;
}

// ---- register layouts ----------------------------------------------------------------------

int ReadIndex(const Command& command, const char* option, const std::string& text,
              const std::vector<int64_t>& extents, std::vector<int64_t>* out) {
  if (!ParseNumbers(text, out) || out->size() != extents.size()) {
    return command.Misuse(fmt::format("{} {}: {} numbers such as {} are required", option, text,
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
  if (!request.svg.empty()) return Deliver(RenderSvg(layout, request.text), request.svg);
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

// Prints the widest access for all places where the tile may begin.
int ShowWidest(const Command& command, const LayoutRequest& request, const RegLayout& tile,
               const MemLayout& layout, int bits) {
  AddressFacts facts;
  std::vector<int64_t> align;
  if (request.align && (!ParseNumbers(*request.align, &align) || align.size() != 1)) {
    return command.Misuse("--align " + *request.align + ": one number of bytes is required");
  }
  if (!align.empty()) facts.pointer_alignment = align[0];
  if (request.multiples && !ParseNumbers(*request.multiples, &facts.index_multiples)) {
    return command.Misuse("--multiples " + *request.multiples +
                          ": numbers such as 16,64 are required");
  }
  const auto bytes = WidestAccess(tile, layout, bits, facts);
  if (!bytes.ok()) return Complain(bytes.error());
  PrintOut(request.json ? fmt::format("{{\"bytes\": {}}}\n", *bytes)
                        : fmt::format("{} bytes per thread and access\n", *bytes));
  return kDone;
}

int ShowThrough(const Command& command, const LayoutRequest& request,
                std::span<const RegLayout> tiles, const MemLayout& layout, int bits) {
  if (request.best_swizzle) return Deliver(RenderBestSwizzle(tiles, layout, bits), "");
  if (tiles.size() > 1) return command.Misuse("several --through are for --best-swizzle");
  const RegLayout& tile = tiles[0];
  if (request.align || request.multiples) return ShowWidest(command, request, tile, layout, bits);
  if (!request.svg.empty()) {
    const std::string title = request.text + " through " + request.through[0];
    return Deliver(RenderAccessSvg(tile, layout, bits, request.access, title), request.svg);
  }
  if (request.json) return DeliverLine(RenderAccessesJson(tile, layout, bits));
  return Deliver(RenderAccesses(tile, layout, bits), "");
}

// Prints how wgmma reads the matrix, if it can.
int ShowDescriptor(const Command& command, const LayoutRequest& request, const MemLayout& layout,
                   int bits) {
  if (*request.k_dim != "0" && *request.k_dim != "1") {
    return command.Misuse("--wgmma " + *request.k_dim + ": the dimension that is k is 0 or 1");
  }
  const auto found = DescribeForWgmma(layout, bits, *request.k_dim == "0" ? 0 : 1);
  if (!found.ok()) return Complain(found.error());
  const std::string major = found->major == WgmmaMajor::kK ? "k" : "mn";
  if (request.json) {
    PrintOut(
        fmt::format("{{\"major\": \"{}\", \"swizzle\": {}, \"leading\": {}, \"stride\": {}, "
                    "\"steps\": [{}], \"descriptor\": \"{:#018x}\"}}\n",
                    major, found->swizzle, found->leading, found->stride,
                    fmt::join(found->steps, ", "), found->Encode(0)));
    return kDone;
  }
  PrintOut(
      fmt::format("{}-major, swizzle of {} bytes, leading {}, stride {} bytes\n"
                  "steps along k begin at {}\n"
                  "descriptor at address 0: {:#018x}\n",
                  major, found->swizzle, found->leading, found->stride,
                  fmt::join(found->steps, ", "), found->Encode(0)));
  return kDone;
}

// The register layouts of --through.
std::optional<int> ReadTiles(const Command& command, const LayoutRequest& request,
                             std::vector<RegLayout>* out) {
  for (const std::string& text : request.through) {
    auto value = EvaluateText(text);
    if (!value.ok()) return Complain(value.error(), text);
    const auto* found = std::get_if<RegLayout>(&*value);
    if (found == nullptr)
      return command.Misuse("--through: `" + text + "` is not a register layout");
    out->push_back(*found);
  }
  return std::nullopt;
}

int ShowMemLayout(const Command& command, const LayoutRequest& request,
                  const MemLayoutFamily& family, DType type) {
  std::vector<RegLayout> tiles;
  if (const auto code = ReadTiles(command, request, &tiles)) return *code;
  std::vector<int64_t> shape = family.concrete.shape();
  if (family.kind != MemLayoutFamily::Kind::kConcrete) {
    if (!tiles.empty()) shape = tiles[0].shape();
    const bool given = !request.shape.empty();
    if (given) shape.clear();
    if ((!given && tiles.empty()) || (given && !ParseNumbers(request.shape, &shape))) {
      return command.Misuse("this layout fits any shape: say one, as in --shape 8,64");
    }
  }
  const auto layout = Apply(family, shape, type);
  if (!layout.ok()) return Complain(layout.error());
  if (request.of) return command.Misuse("--of is for register layouts");
  if (request.at) return ShowAddress(command, request, *layout, type.bits);
  if (request.k_dim) return ShowDescriptor(command, request, *layout, type.bits);
  if (!tiles.empty()) return ShowThrough(command, request, tiles, *layout, type.bits);
  if (!request.svg.empty()) {
    return Deliver(RenderSvg(*layout, type.bits, request.text), request.svg);
  }
  if (request.json) return DeliverLine(RenderJson(*layout, type.bits));
  return Deliver(RenderText(*layout, type.bits), "");
}

// ---- bit layouts, comparisons --------------------------------------------------------------

int ShowBitLayout(const Command& command, const LayoutRequest& request,
                  const BitLayoutFamily& family) {
  if (request.at || request.of || request.json) {
    return command.Misuse("`" + request.text + "` is not a register or memory layout");
  }
  if (request.svg.empty()) {
    PrintOut(ToString(family) + "\n");
    return kDone;
  }
  const auto layout = family.Concrete();
  if (!layout.ok()) return Complain(layout.error());
  return Deliver(RenderSvg(*layout, request.text), request.svg);
}

// The difference of two memory layouts; for families, with the shape of --shape.
Result<std::optional<std::string>> WhyDifferent(const MemLayoutFamily& left,
                                                const MemLayoutFamily& right,
                                                const LayoutRequest& request, DType type) {
  const auto concrete = MemLayoutFamily::Kind::kConcrete;
  std::vector<int64_t> shape;
  if (left.kind == concrete) {
    shape = left.concrete.shape();
  } else if (right.kind == concrete) {
    shape = right.concrete.shape();
  } else if (request.shape.empty() || !ParseNumbers(request.shape, &shape)) {
    return std::optional<std::string>("both fit any shape: --shape M,N compares them for one");
  }
  // Two concrete layouts keep their own shapes.
  const auto shape_of = [&](const MemLayoutFamily& family) {
    return family.kind == concrete ? family.concrete.shape() : shape;
  };
  TARSIA_TRY(const MemLayout a, Apply(left, shape_of(left), type));
  TARSIA_TRY(const MemLayout b, Apply(right, shape_of(right), type));
  TARSIA_TRY(std::optional<std::string> found, Difference(a, b, type.bits));
  if (!found) found = "written differently, with all elements at the same places";
  return found;
}

// The difference of the two sides; empty if they are not layouts.
Result<std::optional<std::string>> WhyDifferent(const Equation& equation,
                                                const LayoutRequest& request, DType type) {
  using Found = std::optional<std::string>;
  if (const auto* left = std::get_if<RegLayout>(&equation.left)) {
    return Found(Difference(*left, std::get<RegLayout>(equation.right)));
  }
  if (const auto* left = std::get_if<MemLayoutFamily>(&equation.left)) {
    return WhyDifferent(*left, std::get<MemLayoutFamily>(equation.right), request, type);
  }
  const auto* left = std::get_if<BitLayoutFamily>(&equation.left);
  if (left == nullptr) return Found();
  const auto& right = std::get<BitLayoutFamily>(equation.right);
  if (!left->IsConcrete() || !right.IsConcrete()) return Found();
  TARSIA_TRY(const BitLayout a, left->Concrete());
  TARSIA_TRY(const BitLayout b, right.Concrete());
  return Found(Difference(a, b));
}

// Both sides have the same kind: others cannot be compared.
int ShowEquation(const LayoutRequest& request, const Equation& equation, bool holds, DType type) {
  Result<std::optional<std::string>> why = std::optional<std::string>();
  if (holds != equation.equal) why = WhyDifferent(equation, request, type);
  if (!why.ok()) return Complain(why.error());
  if (request.json) {
    Json json;
    json.Begin('{').Key("value").Bool(holds);
    if (*why) json.Key("reason").String(**why);
    PrintOut(json.End('}').Take());
    return kDone;
  }
  PrintOut(holds ? "true\n" : "false\n");
  if (*why) PrintOut(**why + "\n");
  return kDone;
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
  if (const auto* family = std::get_if<BitLayoutFamily>(&*value)) {
    return ShowBitLayout(command, request, *family);
  }
  if (const auto* holds = std::get_if<bool>(&*value)) {
    const auto equation = ReadEquation(request.text);
    if (equation.ok() && *equation) return ShowEquation(request, **equation, *holds, *type);
  }
  if (request.at || request.of || request.json || !request.svg.empty()) {
    return command.Misuse("`" + request.text + "` is not a register or memory layout");
  }
  PrintOut(ToString(*value) + "\n");  // a number, a type: its canonical text
  return kDone;
}

}  // namespace

int ShowLayout(const Args& args) {
  Command command(
      "layout",
      "Draws a layout (cells `thread:slot` of a register layout, banks of a memory layout), "
      "answers "
      "questions about it, or compares two layouts.",
      {"tarsia layout 'spatial(2, 4) * local(2, 1)'", "tarsia layout mma.m16n8k16.f16.a --at 9,3",
       "tarsia layout 'local(2, 1) * spatial(8, 4) == spatial(8, 4) * local(2, 1)'",
       "tarsia layout 'swizzle(row_major(8, 64), 4, 3, 3)' --through 'spatial(8, 4) * local(1, "
       "16)'",
       "tarsia layout 'row_major(16, 64)' --through 'spatial(16, 2) * local(1, 32)' --best-swizzle",
       "tarsia layout wgmma.m64k64.f16.k128 --wgmma 1",
       "tarsia layout mma.m16n8k16.f16.c --svg c.svg"});
  LayoutRequest request;
  command.Positional("EXPR", &request.text, "The layout, or `A == B`; see docs/layouts.md");
  command.Value(
      "--at", "I,J", &request.at,
      "Print the thread,slot pairs that hold an element; for a memory layout, its address");
  command.Value("--of", "T,S", &request.of, "Print the element that a thread holds in a slot");
  command.Value("--shape", "M,N", &request.shape, "The shape, for layouts that fit any shape");
  command.Value("--dtype", "T", &request.dtype, "The element type in memory; the default is f16");
  command.Values(
      "--through,--tile", "REGLAYOUT", &request.through,
      "Show the accesses of a warp that loads or stores this tile through the memory layout");
  command.Number("--access", "N", &request.access,
                 "The access of --through to draw; the default is 0");
  command.Flag("--best-swizzle", &request.best_swizzle,
               "Find the swizzle with the fewest bank conflicts for all --through tiles");
  command.Value("--align", "BYTES", &request.align,
                "Print the widest access of --through if the pointer has this alignment");
  command.Value(
      "--multiples", "I,J", &request.multiples,
      "Print the widest access of --through if the tile begins at multiples of these indices");
  command.Value("--wgmma", "DIM", &request.k_dim,
                "Print the wgmma descriptor of the matrix; DIM is the dimension that is k");
  command.Value("--svg", "FILE", &request.svg, "Draw the layout into a file; - is standard output");
  command.Flag("--json", &request.json, "Print the canonical form, or the answer, as JSON");
  if (const auto code = command.Parse(args)) return *code;
  return Show(command, request);
}

}  // namespace tarsia::tools
