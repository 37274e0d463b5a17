# LLVM: its shared library for daily work (links in a tenth of a second), its archives in a static
# build, so that a binary runs without an installed LLVM.

find_package(LLVM ${TARSIA_LLVM_VERSION} CONFIG REQUIRED)

if(TARSIA_STATIC)
  # Debian's export of LLVMSupport names shared libraries. Z3 is for the static analyser of Clang
  # and is not linked here; zlib and zstd have archives.
  find_library(TARSIA_ZLIB_ARCHIVE libz.a REQUIRED)
  find_library(TARSIA_ZSTD_ARCHIVE libzstd.a REQUIRED)
  mark_as_advanced(TARSIA_ZLIB_ARCHIVE TARSIA_ZSTD_ARCHIVE)
  set_target_properties(LLVMSupport PROPERTIES INTERFACE_LINK_LIBRARIES
    "rt;dl;m;${TARSIA_ZLIB_ARCHIVE};${TARSIA_ZSTD_ARCHIVE};LLVMDemangle")
endif()

# tarsia_link_llvm(TARGET COMPONENT...): LLVM's headers, and the named components of the library
# (as `llvm-config --components` names them).
function(tarsia_link_llvm target)
  target_include_directories(${target} SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
  if(TARSIA_STATIC)
    llvm_map_components_to_libnames(libraries ${ARGN})
  else()
    set(libraries LLVM)
  endif()
  target_link_libraries(${target} PRIVATE ${libraries})
endfunction()
