#include "tools/workspace.h"

#include "tools/handles.h"

namespace tarsia::tools {

tarsia_status MakeWorkspace(tarsia_device* device, const tarsia_plan* plan, const tarsia_arg* args,
                            size_t count, void** out) {
  *out = nullptr;
  tarsia_query* made = nullptr;
  auto status = tarsia_query_create(plan, args, count, &made);
  const Handle<tarsia_query> query(made);
  if (status != TARSIA_STATUS_OK) return status;
  auto geometry = Sized<tarsia_geometry>();
  status = tarsia_query_geometry(made, &geometry);
  if (status != TARSIA_STATUS_OK || geometry.workspace_bytes == 0) return status;
  void* workspace = nullptr;
  status = tarsia_memory_alloc(device, geometry.workspace_bytes, &workspace);
  if (status != TARSIA_STATUS_OK) return status;
  status = tarsia_workspace_init(plan, args, count, workspace, geometry.workspace_bytes, nullptr);
  if (status != TARSIA_STATUS_OK) {
    tarsia_memory_free(device, workspace);
    return status;
  }
  *out = workspace;
  return TARSIA_STATUS_OK;
}

}  // namespace tarsia::tools
