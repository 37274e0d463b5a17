// tarsia import: the quantised weights of a model, each to a .tsw file.
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <map>
#include <optional>
#include <system_error>
#include <vector>

#include "runtime/importers/model.h"
#include "tools/commands.h"
#include "tools/diagnostics.h"
#include "tools/output.h"
#include "tools/progress.h"
#include "tools/weights/summary.h"

namespace tarsia::tools {
namespace {

struct ImportRequest {
  std::string model, format, folder, compute;
  uint32_t bits = 0, group = 0;
  bool list = false, json = false;
};

// What became of one of the weights.
struct Outcome {
  const ModelWeights* weights = nullptr;
  std::optional<TswSummary> packed;
  std::string file;   // where it was written
  std::string error;  // empty: none
};

class Importer {
 public:
  Importer(const Model& model, const ImportRequest& request) : model_(model), request_(request) {}

  int Run() {
    for (const ModelWeights& weights : model_.weights()) total_ += weights.bytes;
    int code = kDone;
    if (request_.json)
      json_.Begin('{').Key("file").String(request_.model).Key("weights").Begin('[');
    for (const ModelWeights& weights : model_.weights()) {
      const int here = One(weights);
      if (here == kEnvironment) return here;
      if (here != kDone) code = here;
    }
    bar_.Clear();
    Finish();
    return code;
  }

 private:
  int One(const ModelWeights& weights) {
    Outcome out;
    out.weights = &weights;
    auto source = weights.read();
    if (!source.ok()) return Report(&out, source.error());
    if (!request_.compute.empty()) source->info.compute = *FindDType(request_.compute);
    const int code = request_.list ? Measure(&out, *source) : Write(&out, *source);
    done_ += weights.bytes;
    if (code == kDone) Print(out);
    return code;
  }

  [[nodiscard]] Progress Call(const ModelWeights& weights) {
    if (!ProgressBar::wanted()) return {};
    return [this, bytes = weights.bytes](uint64_t done, uint64_t total) {
      bar_.Show((done_ + bytes * done / total) >> 20, total_ >> 20);
      return true;
    };
  }

  // An error of one layer does not stop the others.
  int Report(Outcome* out, const Diagnostic& error) {
    out->error = error.message;
    bar_.Clear();
    PrintError(out->weights->name + ": " + error.message, error.help);
    if (request_.json) Print(*out);
    return kRejected;
  }

  // Packs, and writes nothing.
  int Measure(Outcome* out, const CodeSource& source) {
    auto packed = PackedWeights::Pack(source, Call(*out->weights));
    if (!packed.ok()) return Report(out, packed.error());
    out->packed = packed->Summary();
    return kDone;
  }

  int Write(Outcome* out, const CodeSource& source) {
    const std::string name = FileNameOf(out->weights->name) + ".tsw";
    if (const auto other = names_.find(name); other != names_.end()) {
      return Report(out, MakeDiagnostic(diag::kImportName, {}, name, other->second));
    }
    const std::string file = request_.folder + "/" + name;
    bool file_failed = false;
    auto packed = PackToFile(source, file, Call(*out->weights), &file_failed);
    if (file_failed) {
      bar_.Clear();
      PrintError(packed.error());
      return kEnvironment;
    }
    if (!packed.ok()) return Report(out, packed.error());
    names_.emplace(name, out->weights->name);
    out->file = file;
    out->packed = *std::move(packed);
    return kDone;
  }

  void Print(const Outcome& out) {
    bar_.Clear();
    if (!request_.json) {
      PrintText(stdout, fmt::format("{}: {}, {}\n", out.weights->name, out.weights->format,
                                    WeightsText(out.packed->info)));
      return;
    }
    json_.Begin('{').Key("name").String(out.weights->name);
    json_.Key("format").String(out.weights->format);
    json_.Key("source_bytes").Number(static_cast<int64_t>(out.weights->bytes));
    if (!out.file.empty()) json_.Key("tsw").String(out.file);
    if (out.packed) AppendWeights(*out.packed, &json_);
    json_.Key("error").String(out.error).End('}');
  }

  void Finish() {
    const auto others = model_.others();
    if (request_.json) {
      json_.End(']').Key("others").Begin('[');
      for (const std::string& name : others) json_.String(name);
      PrintOut(json_.End(']').End('}').Take());
    } else if (!others.empty()) {
      PrintText(stdout, fmt::format("{} other tensor{} not imported\n", others.size(),
                                    others.size() == 1 ? " is" : "s are"));
    }
  }

  const Model& model_;
  const ImportRequest& request_;
  Json json_;
  ProgressBar bar_{"MB"};
  uint64_t done_ = 0, total_ = 0;
  std::map<std::string, std::string> names_;
};

int MakeFolder(const std::string& folder) {
  if (mkdir(folder.c_str(), 0777) == 0 || errno == EEXIST) return kDone;
  PrintError(
      fmt::format("cannot make the folder {}: {}", folder, std::generic_category().message(errno)));
  return kEnvironment;
}

void Declare(Command& command, ImportRequest* request) {
  command.Positional("MODEL", &request->model,
                     "A .safetensors file, a folder with such files, or a .gguf file");
  command.Value("-o,--output", "DIR", &request->folder,
                "The folder for the .tsw files; it is made if it does not exist");
  command.Flag("--list", &request->list, "Write nothing: list the weights");
  command.Choice("--format", &request->format, {"gptq-v1", "gptq-v2", "awq"},
                 "The format of weights that are called qweight; the default is what config.json "
                 "or quantize_config.json beside the file says");
  command.Number("--bits", "N", &request->bits, "The bits of a code, if the files do not say");
  command.Number("--group", "G", &request->group, "The rows of a group, if the files do not say");
  command.Choice("--compute", &request->compute, {"f16", "bf16", "i8", "f8e4m3fn"},
                 "The type of the activations; the default is f16");
  command.Flag("--json", &request->json, "Print the list as JSON");
}

}  // namespace

int Import(const Args& args) {
  Command command("import",
                  "Packs the quantised weights of a model (GPTQ, AWQ, compressed-tensors, HQQ, "
                  "bitsandbytes, FP8, MXFP4, NVFP4, GGUF), each into a .tsw file.",
                  {"tarsia import model.safetensors --format awq -o packed"});
  ImportRequest request;
  Declare(command, &request);
  if (const auto code = command.Parse(args)) return *code;
  if (request.folder.empty() && !request.list) return command.Misuse("-o or --list is required");
  if (request.bits > 8) return command.Misuse("--bits is at most 8");
  ModelOptions options;
  options.format = request.format;
  options.bits = static_cast<int>(request.bits);
  options.group = request.group;
  const auto model = Model::Open(request.model, options);
  if (!model.ok()) {
    PrintError(request.model + ": " + model.error().message, model.error().help);
    return kRejected;
  }
  if (!request.list) {
    if (const int code = MakeFolder(request.folder); code != kDone) return code;
  }
  return Importer(*model, request).Run();
}

}  // namespace tarsia::tools
