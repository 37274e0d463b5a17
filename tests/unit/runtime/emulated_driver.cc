// The device `cuda` of these tests is the emulated driver, unless the caller names another.
#include <cstdlib>
#include <string>

namespace emulated_driver {
namespace {

[[maybe_unused]] const int set_driver = [] {
  const char* const folder = TARSIA_EMULATED_DRIVER_FOLDER;
  setenv("TARSIA_CUDA_DRIVER", (std::string(folder) + "/libtarsia_emulated_cuda.so").c_str(), 0);
  return setenv("TARSIA_CUDA_CODE", "ptx", 0);
}();

}  // namespace
}  // namespace emulated_driver
