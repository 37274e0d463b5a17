// The report of a launch behind the C API.
#ifndef TARSIA_RUNTIME_API_REPORT_H_
#define TARSIA_RUNTIME_API_REPORT_H_

#include "runtime/api/handles.h"

struct tarsia_report {
  tarsia_report_info info = {};
  tarsia_diagnostics findings;
};

#endif  // TARSIA_RUNTIME_API_REPORT_H_
