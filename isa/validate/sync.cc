// Rules of the sync family.
#include "isa/validate/checker.h"

namespace tarsia {

VALIDATE(Sync) {}

}  // namespace tarsia
