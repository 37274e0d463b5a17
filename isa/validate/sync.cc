// Rules of the sync family.
#include "isa/validate/rule_context.h"

namespace tarsia {

VALIDATE(Sync) {}

}  // namespace tarsia
