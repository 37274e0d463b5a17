// tarsia import: the quantised weights of a model, each to a .tsw file.
#include <fmt/format.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <sys/stat.h>

#include <cerrno>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>

#include "runtime/importers/model.h"
#include "support/printable.h"
#include "tools/commands.h"
#include "tools/diagnostics.h"
#include "tools/output.h"
#include "tools/progress.h"
#include "tools/weights/summary.h"

namespace tarsia::tools {
namespace {

struct ImportRequest {
  std::string model, format, folder, compute;
  uint32_t bits = 0;
  std::optional<int64_t> group;
  bool list = false, json = false;
};

// What became of one of the weights.
struct Outcome {
  const ModelWeights* weights = nullptr;
  std::optional<TswSummary> packed;
  std::string file;                 // where it was written
  std::optional<Diagnostic> error;  // none: done
  bool file_failed = false;         // that of a file ends the import
};

// A bar that several threads show.
class SharedProgress {
 public:
  explicit SharedProgress(uint64_t total) : total_(total) {}

  // Goes from `*before` to `now` bytes of a part.
  void Advance(uint64_t now, uint64_t* before) {
    const std::lock_guard lock(mutex_);
    done_ += now - std::exchange(*before, now);
    if (ProgressBar::wanted()) bar_.Show(done_ >> 20, total_ >> 20);
  }
  void Clear() {
    const std::lock_guard lock(mutex_);
    bar_.Clear();
  }

 private:
  const uint64_t total_;
  std::mutex mutex_;
  uint64_t done_ = 0;
  ProgressBar bar_{"MB"};
};

uint64_t TotalBytes(const Model& model) {
  uint64_t out = 0;
  for (const ModelWeights& weights : model.weights()) out += weights.bytes;
  return out;
}

std::string FileOf(const ModelWeights& weights) { return FileNameOf(weights.name) + ".tsw"; }

class Importer {
 public:
  Importer(const Model& model, const ImportRequest& request)
      : model_(model), request_(request), progress_(TotalBytes(model)) {}

  int Run() {
    int code = kDone;
    if (request_.json)
      json_.Begin('{').Key("file").String(request_.model).Key("weights").Begin('[');
    // Two at once: the end of a file is written by one thread, while others work on the next.
    constexpr size_t kAtOnce = 2;
    std::deque<std::future<Outcome>> begun;
    auto next = model_.weights().begin();
    for (const auto end = model_.weights().end(); next != end || !begun.empty();) {
      while (begun.size() < kAtOnce && next != end) {
        const ModelWeights& weights = *next++;
        begun.push_back(std::async(std::launch::async, &Importer::One, this, std::cref(weights),
                                   NameTaken(weights)));
      }
      const Outcome out = begun.front().get();
      begun.pop_front();
      const int here = Print(out);
      if (here == kEnvironment) return here;
      if (here != kDone) code = here;
    }
    progress_.Clear();
    Finish();
    return code;
  }

 private:
  // Takes the file's name for weights; the error where others have taken it.
  std::optional<Diagnostic> NameTaken(const ModelWeights& weights) {
    if (request_.list) return std::nullopt;
    const std::string file = FileOf(weights);
    const auto [place, is_new] = names_.emplace(file, weights.name);
    if (is_new) return std::nullopt;
    return MakeDiagnostic(diag::kImportName, {}, file, Printable(place->second));
  }

  // Reads and packs weights, on a thread of their own.
  Outcome One(const ModelWeights& weights, const std::optional<Diagnostic>& taken) {
    Outcome out;
    out.weights = &weights;
    uint64_t done = 0;
    const Progress progress = [&](uint64_t parts, uint64_t total) {
      progress_.Advance(weights.bytes * parts / total, &done);
      return true;
    };
    if (const Status packed = Pack(taken, ProgressBar::wanted() ? progress : Progress(), &out);
        !packed.ok()) {
      out.error = packed.error();
    }
    progress_.Advance(weights.bytes, &done);
    return out;
  }

  Status Pack(const std::optional<Diagnostic>& taken, const Progress& progress, Outcome* out) {
    TARSIA_TRY(CodeSource source, out->weights->read());
    if (taken) return *taken;
    if (!request_.compute.empty()) source.info.compute = *FindDType(request_.compute);
    if (request_.list) {  // packs, and writes nothing
      TARSIA_TRY(const PackedWeights packed, PackedWeights::Pack(source, progress));
      out->packed = packed.Summary();
      return OkStatus();
    }
    out->file = request_.folder + "/" + FileOf(*out->weights);
    TARSIA_TRY(out->packed, PackToFile(source, out->file, progress, &out->file_failed));
    return OkStatus();
  }

  // An error of one layer does not stop the others.
  int Report(const Outcome& out) {
    if (out.file_failed) {
      PrintError(*out.error);
      return kEnvironment;
    }
    PrintError(Printable(out.weights->name) + ": " + out.error->message, out.error->help);
    if (request_.json) AppendOutcome(out);
    return kRejected;
  }

  int Print(const Outcome& out) {
    progress_.Clear();
    if (out.error) return Report(out);
    if (request_.json) {
      AppendOutcome(out);
    } else {
      PrintText(stdout, fmt::format("{}: {}, {}\n", Printable(out.weights->name),
                                    out.weights->format, WeightsText(out.packed->info)));
    }
    return kDone;
  }

  void AppendOutcome(const Outcome& out) {
    json_.Begin('{').Key("name").String(out.weights->name);
    json_.Key("format").String(out.weights->format);
    json_.Key("source_bytes").Number(static_cast<int64_t>(out.weights->bytes));
    if (out.packed) {
      if (!out.file.empty()) json_.Key("tsw").String(out.file);
      AppendWeights(*out.packed, &json_);
    }
    json_.Key("error").String(out.error ? out.error->message : "").End('}');
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
  SharedProgress progress_;
  Json json_;
  std::map<std::string, std::string> names_;  // of files, and whose they are
};

// Weights need buffers of about the same sizes, one after the other: memory that is free is kept
// for the next instead of going back to the system, whose pages are cleared each time. To be called
// before there are other threads.
void KeepFreeMemory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // NOLINT(concurrency-mt-unsafe)
  mallopt(M_TRIM_THRESHOLD, 1 << 30);   // NOLINT(concurrency-mt-unsafe)
#endif
}

int MakeFolder(const std::string& folder) {
  if (mkdir(folder.c_str(), 0777) == 0 || errno == EEXIST) return kDone;
  PrintError(
      fmt::format("cannot make the folder {}: {}", folder, std::generic_category().message(errno)));
  return kEnvironment;
}

void Declare(Command& command, ImportRequest* request) {
  command.Positional(
      "MODEL", &request->model,
      "A .safetensors file, a folder with such files (if it has an index, those that this "
      "names), or a .gguf file");
  command.Value("-o,--output", "DIR", &request->folder,
                "The folder for the .tsw files; it is made if it does not exist");
  command.Flag("--list", &request->list, "Write nothing: list the weights");
  command.Choice("--format", &request->format, {"gptq-v1", "gptq-v2", "awq"},
                 "The format of weights that are called qweight; the default is what config.json, "
                 "quantize_config.json or quant_config.json beside the file says");
  command.Count("--bits", "N", &request->bits,
                "The bits of a code, if the files do not say or contradict each other");
  command.Integer("--group", "G", &request->group,
                  "The rows of a group, likewise; -1 means all rows");
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
  if (request.group && *request.group != -1 && *request.group < 1) {
    return command.Misuse("--group is at least 1, or -1 for all rows");
  }
  ModelOptions options;
  options.format = request.format;
  options.bits = static_cast<int>(request.bits);
  options.group = request.group.value_or(0);
  KeepFreeMemory();
  const auto model = Model::Open(request.model, options);
  if (!model.ok()) {
    PrintError(request.model + ": " + model.error().message, model.error().help);
    return kRejected;
  }
  for (const std::string& note : model->notes()) PrintNote(note);
  if (!request.list) {
    if (const int code = MakeFolder(request.folder); code != kDone) return code;
  }
  return Importer(*model, request).Run();
}

}  // namespace tarsia::tools
