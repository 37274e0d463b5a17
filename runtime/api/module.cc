// The C API: modules, from text, bytecode and the standard library.
#include <cstring>
#include <string_view>

#include "isa/bytecode/bytecode.h"
#include "isa/bytecode/format.h"
#include "isa/graph/diagnostics.h"
#include "isa/text/parser.h"
#include "isa/text/printer.h"
#include "runtime/api/api.h"
#include "runtime/api/handles.h"
#include "runtime/api/library.h"
#include "runtime/log.h"

using namespace tarsia;
using namespace tarsia::api;

namespace {

// A text or bytecode to read; makes the module or reports the errors.
struct Input {
  std::string_view bytes;
  std::string name;
  tarsia_format format;
};

std::optional<Module> ReadText(std::shared_ptr<const SourceFile>* source, const Input& input,
                               Diagnostics& list) {
  *source = std::make_shared<SourceFile>(input.name, std::string(input.bytes));
  return Parse(**source, list);
}

std::optional<Module> ReadBytecode(std::shared_ptr<const SourceFile>* source, const Input& input,
                                   Diagnostics& list) {
  *source = std::make_shared<SourceFile>(input.name, std::string());
  const std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(input.bytes.data()),
                                       input.bytes.size());
  auto decoded = Decode(bytes, input.name);
  if (!decoded.ok()) {
    list.Add(decoded.TakeError());
    return std::nullopt;
  }
  // From here on locations refer to the text that the bytecode was made from.
  if (!decoded->source_name.empty()) {
    *source = std::make_shared<SourceFile>(decoded->source_name, std::string());
  }
  return *std::move(decoded);
}

tarsia_status CreateModule(const Input& input, tarsia_module** out, tarsia_diagnostics** errors) {
  std::shared_ptr<const SourceFile> source;
  Diagnostics list;
  auto module = input.format == TARSIA_FORMAT_TEXT ? ReadText(&source, input, list)
                                                   : ReadBytecode(&source, input, list);
  std::optional<ValidModule> valid;
  if (module) valid = Validate(*std::move(module), list);
  if (!valid) {
    list.Sort();
    return Reject(TARSIA_STATUS_REJECTED, std::move(source), std::move(list), errors);
  }
  auto kernels = Describe(valid->module());
  std::vector<std::string> graphs;
  for (const Graph& graph : valid->module().graphs) {
    graphs.emplace_back(valid->module().Name(graph));
  }
  *out = new tarsia_module{std::move(source), input.format, *std::move(valid), std::move(kernels),
                           std::move(graphs)};
  return TARSIA_STATUS_OK;
}

bool LooksLikeBytecode(std::string_view bytes) {
  return bytes.substr(0, 4) == bytecode::kMagic.substr(0, 4);
}

tarsia_status FindFormat(tarsia_format wanted, std::string_view bytes, tarsia_format* out) {
  if (wanted == TARSIA_FORMAT_TEXT || wanted == TARSIA_FORMAT_BYTECODE) {
    *out = wanted;
  } else if (wanted == TARSIA_FORMAT_AUTO) {
    *out = LooksLikeBytecode(bytes) ? TARSIA_FORMAT_BYTECODE : TARSIA_FORMAT_TEXT;
  } else {
    return Invalid(diag::kApiEnumValue, "options.format", static_cast<int>(wanted),
                   "tarsia_format");
  }
  return TARSIA_STATUS_OK;
}

// The kernel with a number, or an error.
tarsia_status FindKernel(const tarsia_module* module, size_t kernel,
                         const KernelDescription** out) {
  if (module == nullptr) return NullArgument("module");
  if (kernel >= module->kernels.size()) {
    return BadIndex("kernel", kernel, module->kernels.size());
  }
  *out = &module->kernels[kernel];
  return TARSIA_STATUS_OK;
}

// A call that asks about one kernel: what use(text) returns, or the error of FindKernel.
template <typename Use>
tarsia_status WithKernel(const tarsia_module* module, size_t kernel, const Use& use) {
  return Guarded([&] {
    const KernelDescription* text = nullptr;
    const auto status = FindKernel(module, kernel, &text);
    return text == nullptr ? status : use(*text);
  });
}

}  // namespace

tarsia_status tarsia_module_create(const void* data, size_t data_size,
                                   const tarsia_module_options* options, tarsia_module** out,
                                   tarsia_diagnostics** diagnostics) {
  return Guarded([&] {
    if (diagnostics != nullptr) *diagnostics = nullptr;
    if (out == nullptr) return NullArgument("out");
    *out = nullptr;
    if (data == nullptr && data_size != 0) return NullArgument("data");
    tarsia_module_options with = {};
    if (options != nullptr) {
      const auto status = ReadStruct(options, "options", &with);
      if (status != TARSIA_STATUS_OK) return status;
    }
    Input input = {};
    if (data_size != 0) input.bytes = {static_cast<const char*>(data), data_size};
    input.name = with.name != nullptr ? with.name : "<input>";
    const auto status = FindFormat(with.format, input.bytes, &input.format);
    if (status != TARSIA_STATUS_OK) return status;
    return CreateModule(input, out, diagnostics);
  });
}

tarsia_status tarsia_module_create_from_library(const char* name, tarsia_module** out) {
  return Guarded([&] {
    if (out == nullptr) return NullArgument("out");
    *out = nullptr;
    if (name == nullptr) return NullArgument("name");
    const LibraryModule* const found = FindLibraryModule(name);
    if (found == nullptr) return UnknownLibraryModule(name);
    const Input input{found->text, std::string(name) + ".tsa", TARSIA_FORMAT_TEXT};
    return CreateModule(input, out, nullptr);
  });
}

void tarsia_module_destroy(tarsia_module* module) { delete module; }

tarsia_format tarsia_module_format(const tarsia_module* module) {
  return module == nullptr ? TARSIA_FORMAT_AUTO : module->format;
}

tarsia_status tarsia_module_print(const tarsia_module* module, tarsia_blob** out) {
  return Guarded([&] {
    if (out == nullptr) return NullArgument("out");
    *out = nullptr;
    if (module == nullptr) return NullArgument("module");
    return GiveBlob(Print(module->valid.module()), out);
  });
}

tarsia_status tarsia_format_text(const char* text, size_t text_size, const char* name,
                                 tarsia_blob** out, tarsia_diagnostics** diagnostics) {
  return Guarded([&] {
    if (diagnostics != nullptr) *diagnostics = nullptr;
    if (out == nullptr) return NullArgument("out");
    *out = nullptr;
    if (text == nullptr && text_size != 0) return NullArgument("text");
    const auto source = std::make_shared<SourceFile>(
        name != nullptr ? name : "<input>", text_size != 0 ? std::string(text, text_size) : "");
    Diagnostics list;
    auto formatted = Format(*source, list);
    if (!formatted) {
      list.Sort();
      return Reject(TARSIA_STATUS_REJECTED, source, std::move(list), diagnostics);
    }
    return GiveBlob(*std::move(formatted), out);
  });
}

tarsia_status tarsia_module_encode(const tarsia_module* module,
                                   const tarsia_encode_options* options, tarsia_blob** out) {
  return Guarded([&] {
    if (out == nullptr) return NullArgument("out");
    *out = nullptr;
    if (module == nullptr) return NullArgument("module");
    EncodeOptions with;
    if (options != nullptr) {
      tarsia_encode_options given = {};
      const auto status = ReadStruct(options, "options", &given);
      if (status != TARSIA_STATUS_OK) return status;
      with.debug = !given.strip;
      if (given.has_version) with.version = {given.version_major, given.version_minor};
      if (given.has_version && *with.version > kBytecodeVersion) {
        return Fail(TARSIA_STATUS_UNSUPPORTED, diag::kApiBytecodeVersion, given.version_major,
                    given.version_minor, kBytecodeVersion.major, kBytecodeVersion.minor);
      }
    }
    auto bytes = Encode(module->valid.module(), with);
    if (!bytes.ok()) return Fail(TARSIA_STATUS_UNSUPPORTED, bytes.error());
    return GiveBlob(*std::move(bytes), out);
  });
}

size_t tarsia_module_kernel_count(const tarsia_module* module) {
  return module == nullptr ? 0 : module->kernels.size();
}

tarsia_status tarsia_module_kernel(const tarsia_module* module, size_t kernel,
                                   tarsia_kernel_info* out) {
  return WithKernel(module, kernel, [&](const KernelDescription& text) {
    tarsia_kernel_info info = {};
    info.name = text.name.c_str();
    info.param_count = text.params.size();
    info.constant_count = text.constants.size();
    info.line = text.location.line;
    info.column = text.location.IsText() ? text.location.column : 0;
    return WriteStruct(info, "out", out);
  });
}

tarsia_status tarsia_module_find_kernel(const tarsia_module* module, const char* name,
                                        size_t* kernel) {
  return Guarded([&] {
    if (module == nullptr) return NullArgument("module");
    if (name == nullptr) return NullArgument("name");
    if (kernel == nullptr) return NullArgument("kernel");
    if (const auto found = module->valid.FindKernel(name)) {
      *kernel = *found;
      return TARSIA_STATUS_OK;
    }
    if (module->valid.FindGraph(name)) {
      return Fail(TARSIA_STATUS_NOT_FOUND, MakeDiagnostic(diag::kGraphNotKernel, Location(), name));
    }
    std::vector<std::string_view> names;
    for (const KernelDescription& text : module->kernels) names.push_back(text.name);
    const Module& program = module->valid.module();
    for (const Graph& graph : program.graphs) names.push_back(program.Name(graph));
    Diagnostic error =
        MakeDiagnostic(diag::kApiUnknownKernel, Location(), module->source->name(), name);
    error.help = DidYouMean(name, names);
    return Fail(TARSIA_STATUS_NOT_FOUND, error);
  });
}

tarsia_status tarsia_module_param(const tarsia_module* module, size_t kernel, size_t param,
                                  tarsia_param_info* out) {
  return WithKernel(module, kernel,
                    [&](const KernelDescription& text) { return WriteParam(text, param, out); });
}

tarsia_status tarsia_module_constant(const tarsia_module* module, size_t kernel, size_t constant,
                                     tarsia_constant_info* out) {
  return WithKernel(module, kernel, [&](const KernelDescription& text) {
    return WriteConstant(text, constant, out);
  });
}

tarsia_status tarsia_module_candidate(const tarsia_module* module, size_t kernel, size_t constant,
                                      size_t candidate, const char** text) {
  return WithKernel(module, kernel, [&](const KernelDescription& found) {
    if (text == nullptr) return NullArgument("text");
    if (constant >= found.constants.size()) {
      return BadIndex("constant", constant, found.constants.size());
    }
    const auto& candidates = found.constants[constant].candidates;
    if (candidate >= candidates.size()) {
      return BadIndex("candidate", candidate, candidates.size());
    }
    *text = candidates[candidate].c_str();
    return TARSIA_STATUS_OK;
  });
}
