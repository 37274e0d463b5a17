// Text within SVG and HTML.
#ifndef TARSIA_SUPPORT_MARKUP_H_
#define TARSIA_SUPPORT_MARKUP_H_

#include <string>
#include <string_view>

namespace tarsia {

// What would end an element or an attribute is written as an entity.
std::string EscapeMarkup(std::string_view text);

}  // namespace tarsia

#endif  // TARSIA_SUPPORT_MARKUP_H_
