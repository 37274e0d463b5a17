# Replaces shared libraries other than the C library, so that a binary runs where it is copied to
# and libtarsia.a is complete. Debian has libfmt and libhwy only as shared libraries: the compiled
# part of each is built here, with the headers of the package.

# The static library tarsia_NAME of the source file NAME.cc, which is the compiled part of TARGET.
function(tarsia_compiled_part target source)
  get_filename_component(name ${source} NAME_WE)
  add_library(tarsia_${name} STATIC EXCLUDE_FROM_ALL ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/${source})
  set_target_properties(tarsia_${name} PROPERTIES
    ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/cmake)
  target_include_directories(tarsia_${name} SYSTEM PRIVATE
    $<TARGET_PROPERTY:${target},INTERFACE_INCLUDE_DIRECTORIES>)
  target_compile_options(tarsia_${name} PRIVATE
    -fvisibility=hidden -ffunction-sections -fdata-sections)
endfunction()

# Replaces the imported shared library TARGET by the static one of the given source file.
function(tarsia_make_static target source)
  get_filename_component(name ${source} NAME_WE)
  set_target_properties(${target} PROPERTIES
    IMPORTED_LOCATION_NONE ${PROJECT_BINARY_DIR}/cmake/libtarsia_${name}.a
    IMPORTED_SONAME_NONE ""
    IMPORTED_GLOBAL ON
    INTERFACE_COMPILE_DEFINITIONS "")
  add_dependencies(${target} tarsia_${name})
endfunction()

find_package(HWY REQUIRED)
tarsia_compiled_part(fmt::fmt fmt_static.cc)
tarsia_compiled_part(hwy::hwy hwy_static.cc)
if(TARSIA_STATIC)
  tarsia_make_static(fmt::fmt fmt_static.cc)
  tarsia_make_static(hwy::hwy hwy_static.cc)
endif()
