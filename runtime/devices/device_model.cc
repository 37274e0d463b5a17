#include "runtime/devices/device_model.h"

namespace tarsia::runtime {

DeviceModel ModelOf(compiler::Target target) {
  switch (target) {
    case compiler::Target::kSm80:
      return {false, 108, 1.83e6, 0.28e9};
    case compiler::Target::kSm89:
      return {false, 142, 0.77e6, 0.32e9};
    case compiler::Target::kSm90a:
      return {false, 132, 4.25e6, 0.65e9};
  }
  return {};
}

}  // namespace tarsia::runtime
