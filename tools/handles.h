// Handles of the C API that destroy themselves.
#ifndef TARSIA_TOOLS_HANDLES_H_
#define TARSIA_TOOLS_HANDLES_H_

#include <memory>

#include "tarsia/tarsia.h"

namespace tarsia::tools {

struct HandleDeleter {
  void operator()(tarsia_blob* p) const { tarsia_blob_destroy(p); }
  void operator()(tarsia_diagnostics* p) const { tarsia_diagnostics_destroy(p); }
  void operator()(tarsia_module* p) const { tarsia_module_destroy(p); }
  void operator()(tarsia_plan* p) const { tarsia_plan_destroy(p); }
  void operator()(tarsia_graph_plan* p) const { tarsia_graph_plan_destroy(p); }
  void operator()(tarsia_query* p) const { tarsia_query_destroy(p); }
  void operator()(tarsia_device* p) const { tarsia_device_close(p); }
  void operator()(tarsia_code* p) const { tarsia_code_destroy(p); }
  void operator()(tarsia_report* p) const { tarsia_report_destroy(p); }
  void operator()(tarsia_weights* p) const { tarsia_weights_destroy(p); }
  void operator()(tarsia_matmul_plan* p) const { tarsia_matmul_plan_destroy(p); }
};

template <typename T>
using Handle = std::unique_ptr<T, HandleDeleter>;

// A struct of the C API with its size set.
template <typename T>
T Sized() {
  T out = {};
  out.size = sizeof(T);
  return out;
}

}  // namespace tarsia::tools

#endif  // TARSIA_TOOLS_HANDLES_H_
