// Text within SVG and HTML.
#ifndef TARSIA_SUPPORT_MARKUP_H_
#define TARSIA_SUPPORT_MARKUP_H_

#include <string>
#include <string_view>

namespace tarsia {

// Replaces the characters that would end an element or an attribute by entities.
std::string EscapeMarkup(std::string_view text);

}  // namespace tarsia

#endif  // TARSIA_SUPPORT_MARKUP_H_
