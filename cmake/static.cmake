# Builds without shared libraries but those of the C library, so that a binary runs where it is
# copied to. Debian has libfmt and libhwy as shared libraries only: the compiled part of each is
# made here, against the headers of the package.

# Makes the imported shared library TARGET a static one of the source file named.
function(tarsia_make_static target source)
  get_filename_component(name ${source} NAME_WE)
  add_library(tarsia_${name} STATIC ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/${source})
  set_target_properties(tarsia_${name} PROPERTIES
    ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/cmake)
  target_compile_options(tarsia_${name} PRIVATE -ffunction-sections -fdata-sections)
  set_target_properties(${target} PROPERTIES
    IMPORTED_LOCATION_NONE ${PROJECT_BINARY_DIR}/cmake/libtarsia_${name}.a
    IMPORTED_SONAME_NONE ""
    IMPORTED_GLOBAL ON
    INTERFACE_COMPILE_DEFINITIONS "")
  add_dependencies(${target} tarsia_${name})
endfunction()

find_package(HWY REQUIRED)
tarsia_make_static(fmt::fmt fmt_static.cc)
tarsia_make_static(hwy::hwy hwy_static.cc)
