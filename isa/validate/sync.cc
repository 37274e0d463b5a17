// Rules of the sync family.
#include "isa/validate/rule_context.h"

namespace tarsia {

VALIDATE(Sync) {}

VALIDATE(SemaphoreLock) {}

VALIDATE(SemaphoreRelease) {}

VALIDATE(GriddepWait) {}

VALIDATE(GriddepLaunch) {}

}  // namespace tarsia
