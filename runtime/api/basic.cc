// The C API: versions, names of statuses, blobs, diagnostics.
#include <fmt/core.h>

#include "runtime/api/api.h"
#include "runtime/api/handles.h"

using namespace tarsia;
using namespace tarsia::api;

#define TARSIA_TEXT_(x) #x
#define TARSIA_TEXT(x) TARSIA_TEXT_(x)

const char* tarsia_version(void) {
  return TARSIA_TEXT(TARSIA_VERSION_MAJOR) "." TARSIA_TEXT(TARSIA_VERSION_MINOR) "." TARSIA_TEXT(
      TARSIA_VERSION_PATCH);
}

uint32_t tarsia_version_number(void) {
  return TARSIA_VERSION_MAJOR << 16 | TARSIA_VERSION_MINOR << 8 | TARSIA_VERSION_PATCH;
}

const char* tarsia_status_name(tarsia_status status) {
  switch (status) {
    case TARSIA_STATUS_OK:
      return "TARSIA_STATUS_OK";
    case TARSIA_STATUS_INVALID_ARGUMENT:
      return "TARSIA_STATUS_INVALID_ARGUMENT";
    case TARSIA_STATUS_REJECTED:
      return "TARSIA_STATUS_REJECTED";
    case TARSIA_STATUS_UNSUPPORTED:
      return "TARSIA_STATUS_UNSUPPORTED";
    case TARSIA_STATUS_OUT_OF_MEMORY:
      return "TARSIA_STATUS_OUT_OF_MEMORY";
    case TARSIA_STATUS_NOT_FOUND:
      return "TARSIA_STATUS_NOT_FOUND";
    case TARSIA_STATUS_NO_DEVICE:
      return "TARSIA_STATUS_NO_DEVICE";
    case TARSIA_STATUS_LAUNCH_FAILED:
      return "TARSIA_STATUS_LAUNCH_FAILED";
    case TARSIA_STATUS_FINDINGS:
      return "TARSIA_STATUS_FINDINGS";
    case TARSIA_STATUS_INTERNAL:
      return "TARSIA_STATUS_INTERNAL";
    case TARSIA_STATUS_DEVICE_LOST:
      return "TARSIA_STATUS_DEVICE_LOST";
    case TARSIA_STATUS_CANCELLED:
      return "TARSIA_STATUS_CANCELLED";
    case TARSIA_STATUS_FORCE_32BIT:
      break;
  }
  return "unknown status";
}

// ---- blobs ---------------------------------------------------------------------------------

const char* tarsia_blob_data(const tarsia_blob* blob) {
  return blob == nullptr ? nullptr : blob->bytes.c_str();
}

size_t tarsia_blob_size(const tarsia_blob* blob) {
  return blob == nullptr ? 0 : blob->bytes.size();
}

void tarsia_blob_destroy(tarsia_blob* blob) { delete blob; }

namespace tarsia::api {

tarsia_status GiveBlob(std::string bytes, tarsia_blob** out) {
  *out = new tarsia_blob{std::move(bytes)};
  return TARSIA_STATUS_OK;
}

tarsia_status Reject(tarsia_status status, std::shared_ptr<const SourceFile> source,
                     Diagnostics list, tarsia_diagnostics** out) {
  const std::string text = list.Render(*source);
  if (out != nullptr) *out = new tarsia_diagnostics{std::move(source), std::move(list)};
  return FailText(status, text);
}

}  // namespace tarsia::api

// ---- diagnostics ---------------------------------------------------------------------------

size_t tarsia_diagnostics_count(const tarsia_diagnostics* diagnostics) {
  return diagnostics == nullptr ? 0 : diagnostics->list.list().size();
}

size_t tarsia_diagnostics_total(const tarsia_diagnostics* diagnostics) {
  return diagnostics == nullptr ? 0 : diagnostics->list.count();
}

tarsia_status tarsia_diagnostics_get(const tarsia_diagnostics* diagnostics, size_t index,
                                     tarsia_diagnostic* out) {
  return Guarded([&] {
    if (diagnostics == nullptr) return NullArgument("diagnostics");
    const auto& list = diagnostics->list.list();
    if (index >= list.size()) return BadIndex("index", index, list.size());
    const Diagnostic& from = list[index];
    const bool text = from.location.IsText();
    tarsia_diagnostic to = {};
    to.severity = TARSIA_SEVERITY_ERROR;
    to.line = from.location.line;
    to.column = text ? from.location.column : 0;
    to.length = from.location.length;
    to.offset = text ? 0 : from.location.column;
    to.file = diagnostics->source->name().c_str();
    to.id = from.info != nullptr ? from.info->id : "internal";
    to.message = from.message.c_str();
    to.help = from.help.c_str();
    to.note_count = from.notes.size();
    return WriteStruct(to, "out", out);
  });
}

tarsia_status tarsia_diagnostics_note(const tarsia_diagnostics* diagnostics, size_t index,
                                      size_t note, tarsia_note* out) {
  return Guarded([&] {
    if (diagnostics == nullptr) return NullArgument("diagnostics");
    const auto& list = diagnostics->list.list();
    if (index >= list.size()) return BadIndex("index", index, list.size());
    const auto& notes = list[index].notes;
    if (note >= notes.size()) return BadIndex("note", note, notes.size());
    const Location at = notes[note].location;
    tarsia_note to = {};
    to.line = at.line;
    to.column = at.IsText() ? at.column : 0;
    to.length = at.length;
    to.message = notes[note].message.c_str();
    return WriteStruct(to, "out", out);
  });
}

tarsia_status tarsia_diagnostics_render(const tarsia_diagnostics* diagnostics, bool color,
                                        tarsia_blob** out) {
  return Guarded([&] {
    if (out == nullptr) return NullArgument("out");
    *out = nullptr;
    if (diagnostics == nullptr) return NullArgument("diagnostics");
    return GiveBlob(diagnostics->list.Render(*diagnostics->source, color), out);
  });
}

void tarsia_diagnostics_destroy(tarsia_diagnostics* diagnostics) { delete diagnostics; }
