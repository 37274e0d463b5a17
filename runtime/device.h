// The devices that this version knows by name.
#ifndef TARSIA_RUNTIME_DEVICE_H_
#define TARSIA_RUNTIME_DEVICE_H_

#include <string>

#include "tarsia/tarsia.h"

namespace tarsia::api {

// Checks a device's name (null: the default one) and gives the full name. Fails with NO_DEVICE for
// devices that are not in this build, with INVALID_ARGUMENT for names that mean nothing.
tarsia_status FindDevice(const char* name, std::string* out);

}  // namespace tarsia::api

#endif  // TARSIA_RUNTIME_DEVICE_H_
