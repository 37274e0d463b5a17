# Builds without shared libraries but those of the C library, so that a binary runs where it is
# copied to. Debian has no static libfmt: it is made here, from the headers of the package.

add_library(tarsia_fmt STATIC ${CMAKE_CURRENT_LIST_DIR}/fmt_static.cc)
set_target_properties(tarsia_fmt PROPERTIES ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/cmake)
target_compile_options(tarsia_fmt PRIVATE -ffunction-sections -fdata-sections)
set_target_properties(fmt::fmt PROPERTIES
  IMPORTED_LOCATION_NONE ${PROJECT_BINARY_DIR}/cmake/libtarsia_fmt.a
  IMPORTED_SONAME_NONE ""
  INTERFACE_COMPILE_DEFINITIONS "")
add_dependencies(fmt::fmt tarsia_fmt)
