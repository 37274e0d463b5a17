// Rows and columns that are repeated along other axes, piece by piece. Thread-safe; nothing is
// allocated.
#ifndef TARSIA_VM_HOST_REPEAT_H_
#define TARSIA_VM_HOST_REPEAT_H_

#include <cstddef>

namespace tarsia::host {

// out[i] = src[(first + i) / inner % period] for i < n, over containers of 1, 2, 4 or 8 bytes.
// `inner` and `period` are positive. The vector unit is chosen at run time.
void Repeat(int container_bytes, const void* src, size_t inner, size_t period, size_t first,
            void* out, size_t n);

}  // namespace tarsia::host

#endif  // TARSIA_VM_HOST_REPEAT_H_
