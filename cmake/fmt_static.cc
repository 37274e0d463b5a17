// The compiled part of libfmt, for static builds: Debian ships it as a shared library only. The
// package's headers hold all of it; what its other headers declare extern is instantiated here.
#include <fmt/format-inl.h>

namespace fmt {
inline namespace v9 {
namespace detail {
template thousands_sep_result<char> thousands_sep_impl<char>(locale_ref);
template char decimal_point_impl<char>(locale_ref);
template dragonbox::decimal_fp<float> dragonbox::to_decimal(float) noexcept;
template dragonbox::decimal_fp<double> dragonbox::to_decimal(double) noexcept;
template void buffer<char>::append(const char*, const char*);
template void vformat_to(buffer<char>&, string_view, basic_format_args<format_context>, locale_ref);
}  // namespace detail
}  // namespace v9
}  // namespace fmt
