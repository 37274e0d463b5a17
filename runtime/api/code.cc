// The C API: code for a target, with no device.
#include <fmt/format.h>

#include <utility>
#include <vector>

#include "runtime/api/api.h"
#include "runtime/api/handles.h"
#include "runtime/api/kernel_choice.h"
#include "runtime/devices/code.h"
#include "runtime/log.h"

using namespace tarsia;
using namespace tarsia::api;

namespace {

tarsia_status MakeCode(const tarsia_module& module, const std::string& kernel,
                       const std::vector<Binding>& bindings, compiler::Target target,
                       const compiler::CompileOptions& options, StopCheck* stop, tarsia_code** out,
                       tarsia_diagnostics** errors) {
  Diagnostics list;
  const auto program = Specialise(module.valid, kernel, bindings, compiler::LimitsOf(target), list);
  if (!program) return Reject(TARSIA_STATUS_REJECTED, module.source, std::move(list), errors);
  auto code = runtime::Code::Make(*program, target, options, stop);
  if (!code.ok()) return RejectOne(module, code.TakeError(), errors);
  if (IsLogEnabled(TARSIA_LOG_DEBUG)) {
    Log(TARSIA_LOG_DEBUG, fmt::format("code of {} for {}", kernel, Row(target).name));
  }
  *out = new tarsia_code{*std::move(code)};
  return TARSIA_STATUS_OK;
}

tarsia_status GiveOrFail(Result<std::string> text, tarsia_blob** out) {
  if (!text.ok()) return FailWith(text.error(), TARSIA_STATUS_INTERNAL);
  return GiveBlob(*std::move(text), out);
}

}  // namespace

size_t tarsia_target_count(void) { return compiler::AllTargets().size(); }

const char* tarsia_target_name(size_t index) {
  const auto all = compiler::AllTargets();
  return index < all.size() ? all[index].name.data() : nullptr;  // literals, so they end in a zero
}

tarsia_status tarsia_code_create(const tarsia_module* module, const tarsia_code_options* options,
                                 tarsia_code** out, tarsia_diagnostics** diagnostics) {
  return Guarded([&] {
    if (diagnostics != nullptr) *diagnostics = nullptr;
    if (out == nullptr) return NullArgument("out");
    *out = nullptr;
    if (module == nullptr) return NullArgument("module");
    if (options == nullptr) return NullArgument("options");
    tarsia_code_options with = {};
    if (const auto s = ReadStruct(options, "options", &with); s != TARSIA_STATUS_OK) return s;
    if (with.target == nullptr) return NullArgument("options.target");
    const auto target = compiler::FindTarget(with.target);
    if (!target.ok()) return FailWith(target.error(), TARSIA_STATUS_INVALID_ARGUMENT);
    std::vector<Binding> bindings;
    std::string kernel;
    if (const auto s = ReadBindings(with.bindings, with.binding_count, &bindings);
        s != TARSIA_STATUS_OK) {
      return s;
    }
    if (const auto s = FindKernelName(*module, with.kernel, &kernel); s != TARSIA_STATUS_OK) {
      return s;
    }
    compiler::CompileOptions compile;
    compile.line_info = !with.no_line_info;
    if (const auto s = ReadPasses(with.without, with.without_count, &compile.without);
        s != TARSIA_STATUS_OK) {
      return s;
    }
    StopCheck stop(Asker(with.cancel, with.cancel_user), CompileLimit(with.compile_limit_ms));
    return MakeCode(*module, kernel, bindings, *target, compile, &stop, out, diagnostics);
  });
}

void tarsia_code_destroy(tarsia_code* code) { delete code; }

tarsia_status tarsia_code_get(const tarsia_code* code, tarsia_code_info* out) {
  return Guarded([&] {
    if (code == nullptr) return NullArgument("code");
    const compiler::CompiledKernel& kernel = code->code->kernel();
    tarsia_code_info info = {};
    info.target = Row(code->code->target()).name.data();
    info.entry = kernel.name.c_str();
    info.threads = static_cast<uint32_t>(kernel.threads);
    info.shared_bytes = kernel.shared_bytes;
    info.ptx_bytes = kernel.ptx.size();
    return WriteStruct(info, "out", out);
  });
}

tarsia_status tarsia_code_emit(const tarsia_code* code, tarsia_code_form form, tarsia_blob** out) {
  return Guarded([&] {
    if (out == nullptr) return NullArgument("out");
    *out = nullptr;
    if (code == nullptr) return NullArgument("code");
    const compiler::CompiledKernel& kernel = code->code->kernel();
    switch (form) {
      case TARSIA_CODE_PTX:
        return GiveBlob(kernel.ptx, out);
      case TARSIA_CODE_LLVM:
        return GiveOrFail(code->code->LlvmIr(), out);
      case TARSIA_CODE_LAYOUTS:
        return GiveBlob(code->code->Layouts(), out);
      case TARSIA_CODE_FACTS:
        return GiveOrFail(code->code->Facts(), out);
      case TARSIA_CODE_CUBIN: {
        const auto machine = code->code->Assembled();
        if (!machine.ok()) return FailWith(machine.error(), TARSIA_STATUS_INTERNAL);
        return GiveBlob((*machine)->cubin, out);
      }
      case TARSIA_CODE_SASS:
        return GiveOrFail(code->code->Sass(), out);
      case TARSIA_CODE_MIX:
        return GiveOrFail(code->code->Mix(), out);
      case TARSIA_CODE_FORCE_32BIT:
        break;
    }
    return Invalid(diag::kApiEnumValue, "form", static_cast<int>(form), "tarsia_code_form");
  });
}

tarsia_status tarsia_code_assemble(const tarsia_code* code, tarsia_code_resources* out) {
  return Guarded([&] {
    if (code == nullptr) return NullArgument("code");
    const auto machine = code->code->Assembled();
    if (!machine.ok()) return FailWith(machine.error(), TARSIA_STATUS_INTERNAL);
    tarsia_code_resources info = {};
    info.cubin_bytes = (*machine)->cubin.size();
    info.warning_count = (*machine)->warnings.size();
    if (const auto* kernel = (*machine)->Find(code->code->kernel().name); kernel != nullptr) {
      info.registers = static_cast<uint32_t>(kernel->registers);
      info.barriers = static_cast<uint32_t>(kernel->barriers);
      info.stack_bytes = static_cast<uint64_t>(kernel->stack_bytes);
      info.spill_store_bytes = static_cast<uint64_t>(kernel->spill_store_bytes);
      info.spill_load_bytes = static_cast<uint64_t>(kernel->spill_load_bytes);
    }
    return WriteStruct(info, "out", out);
  });
}
