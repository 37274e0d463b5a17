# The compiler cache and the linker, if available. Both are optional.

option(TARSIA_CCACHE "Use ccache if it is there" ON)
option(TARSIA_LLD "Link with lld if it is there" ON)

# Reads NAME=VALUE from versions.env into TARSIA_NAME.
file(STRINGS ${PROJECT_SOURCE_DIR}/versions.env versions REGEX "^[A-Z0-9_]+=")
foreach(line ${versions})
  string(REGEX MATCH "^([A-Z0-9_]+)=(.*)$" _ "${line}")
  set(TARSIA_${CMAKE_MATCH_1} "${CMAKE_MATCH_2}")
endforeach()

if(TARSIA_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(TARSIA_CCACHE_PROGRAM ccache)
  mark_as_advanced(TARSIA_CCACHE_PROGRAM)
  if(TARSIA_CCACHE_PROGRAM)
    # Paths in the source folder are treated as relative, so that other clones share the cache.
    set(launcher env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${TARSIA_CCACHE_PROGRAM})
    set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
    set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  endif()
endif()

if(TARSIA_LLD)
  find_program(TARSIA_LLD_PROGRAM ld.lld HINTS /usr/lib/llvm-${TARSIA_CLANG_VERSION}/bin)
  mark_as_advanced(TARSIA_LLD_PROGRAM)
  if(TARSIA_LLD_PROGRAM)
    get_filename_component(lld_folder ${TARSIA_LLD_PROGRAM} DIRECTORY)
    add_link_options(-fuse-ld=lld -B${lld_folder})
  endif()
endif()
