// Rules of the sync family.
#include "isa/checker.h"

namespace tarsia {

VALIDATE(Sync) {}

}  // namespace tarsia
