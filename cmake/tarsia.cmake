# Helpers shared by every folder: one static library per folder, warnings as errors, tests, fuzzers.

include(${CMAKE_CURRENT_LIST_DIR}/tools.cmake)

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
if(TARSIA_STATIC OR TARSIA_INSTALL)
  include(${CMAKE_CURRENT_LIST_DIR}/static.cmake)
endif()

# For the files that Highway compiles once for each instruction set (dtypes/simd.h).
set(TARSIA_SIMD_DEFINITIONS
  "HWY_DISABLED_TARGETS=(HWY_SSSE3|HWY_AVX3_DL|HWY_SVE|HWY_SVE2|HWY_SVE_256|HWY_SVE2_128|HWY_RVV)")

add_library(tarsia_options INTERFACE)
target_include_directories(tarsia_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(tarsia_options INTERFACE
  -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion $<$<BOOL:${TARSIA_WERROR}>:-Werror>
  -Wimplicit-fallthrough -Wswitch-enum -Wundef -fvisibility=hidden -ffp-contract=off
  -ffunction-sections -fdata-sections)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND TARSIA_UNITY_BATCH)
  # A name of one file is shadowed in those compiled together with it.
  target_compile_options(tarsia_options INTERFACE -Wno-shadow)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 14)
  # These report faults in std::string and std::vector themselves once those are inlined.
  target_compile_options(tarsia_options INTERFACE
    -Wno-array-bounds -Wno-maybe-uninitialized -Wno-restrict -Wno-stringop-overflow
    -Wno-stringop-overread)
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # std::stable_sort of libstdc++ 12 uses a deprecated function.
  target_compile_options(tarsia_options INTERFACE -Wno-deprecated-declarations)
endif()
target_link_options(tarsia_options INTERFACE -Wl,--gc-sections)
if(TARSIA_STATIC)
  target_link_options(tarsia_options INTERFACE -static-libstdc++ -static-libgcc)
endif()
if(TARSIA_SANITIZE)
  target_compile_options(tarsia_options INTERFACE
    -fsanitize=${TARSIA_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(tarsia_options INTERFACE -fsanitize=${TARSIA_SANITIZE})
endif()
if(TARSIA_FUZZ)
  target_compile_options(tarsia_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

# tarsia_compile_together(TARGET): compiles the sources of a target in groups, which takes less than
# half the time, since most of it goes into the headers that they share. CMake leaves out sources
# with options of their own.
function(tarsia_compile_together target)
  if(TARSIA_UNITY_BATCH)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON
                          UNITY_BUILD_BATCH_SIZE ${TARSIA_UNITY_BATCH})
  endif()
endfunction()

# tarsia_library(NAME PARTS subfolder... EXCEPT file... DEPENDS folder... PRIVATE lib...): the static
# library tarsia_NAME of all *.cc in this folder, and in those of its subfolders, except some that
# belong to another library. DEPENDS names folders before this one; PRIVATE names other libraries.
function(tarsia_library name)
  cmake_parse_arguments(ARG "" "" "PARTS;EXCEPT;DEPENDS;PRIVATE" ${ARGN})
  set(patterns *.cc)
  foreach(part ${ARG_PARTS})
    list(APPEND patterns ${part}/*.cc)
  endforeach()
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  if(ARG_EXCEPT)
    list(REMOVE_ITEM sources ${ARG_EXCEPT})
  endif()
  if(sources)
    add_library(tarsia_${name} STATIC ${sources})
    tarsia_compile_together(tarsia_${name})
  else()  # headers only
    add_library(tarsia_${name} STATIC ${PROJECT_SOURCE_DIR}/cmake/empty.cc)
  endif()
  target_link_libraries(tarsia_${name} PUBLIC tarsia_options PRIVATE ${ARG_PRIVATE})
  foreach(dep ${ARG_DEPENDS})
    target_link_libraries(tarsia_${name} PUBLIC tarsia_${dep})
  endforeach()
  if(TARSIA_COVERAGE STREQUAL name)  # the folder that scripts/coverage.py counts
    target_compile_options(tarsia_${name} PRIVATE -O1 --coverage)
    target_link_options(tarsia_${name} PUBLIC --coverage)
  endif()
endfunction()

# tarsia_sharded_test(NAME TARGET COUNT): a GoogleTest binary that takes minutes, as COUNT tests
# NAME.0, NAME.1, .. that run in parallel. Tests with a COST begin first, so that no long one runs
# alone at the end.
function(tarsia_sharded_test name target count)
  math(EXPR last "${count} - 1")
  foreach(shard RANGE ${last})
    add_test(NAME ${name}.${shard} COMMAND ${target})
    set_tests_properties(${name}.${shard} PROPERTIES COST 100
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${count};GTEST_SHARD_INDEX=${shard}")
  endforeach()
endfunction()

# tarsia_test_on_vector_units(NAME UNITS sse4... ENVIRONMENT var=value... COMMAND ...): a test again with
# each of these vector units, as NAME.sse4 and so on; those that this processor lacks are reported as
# skipped.
function(tarsia_test_on_vector_units name)
  cmake_parse_arguments(ARG "" "" "UNITS;ENVIRONMENT;COMMAND" ${ARGN})
  foreach(simd ${ARG_UNITS})
    add_test(NAME ${name}.${simd} COMMAND ${ARG_COMMAND})
    set_tests_properties(${name}.${simd} PROPERTIES
      ENVIRONMENT "TARSIA_SIMD=${simd};${ARG_ENVIRONMENT}"
      SKIP_REGULAR_EXPRESSION "this processor has no such instructions")
  endforeach()
endfunction()

# tarsia_unit_tests(FOLDER DEPENDS folder... PRIVATE lib...): the test binary unit_FOLDER of all
# *.cc in this folder, and the test unit.FOLDER that runs it. The names of NAME_test.cc are in a
# namespace NAME_test, so that files can be compiled together. gmock.h costs a second per group of
# files: include it only where it is used.
function(tarsia_unit_tests name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;PRIVATE" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS *.cc)
  if(NOT sources)
    return()
  endif()
  add_executable(unit_${name} ${sources})
  tarsia_compile_together(unit_${name})
  target_link_libraries(unit_${name} PRIVATE tarsia_options tarsia_test_data ${ARG_PRIVATE}
    GTest::gmock GTest::gtest_main)
  foreach(dep ${ARG_DEPENDS})
    target_link_libraries(unit_${name} PRIVATE tarsia_${dep})
  endforeach()
  add_test(NAME unit.${name} COMMAND unit_${name})
endfunction()

# tarsia_fuzzer(NAME DEPENDS folder... PRIVATE lib...): the binary fuzz_NAME of NAME.cc in this
# folder, which defines LLVMFuzzerTestOneInput. With TARSIA_FUZZ it is a libFuzzer target; without,
# it runs each input of tests/fuzz/corpus/NAME once, as the test fuzz.NAME.
function(tarsia_fuzzer name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;PRIVATE" ${ARGN})
  add_executable(fuzz_${name} ${CMAKE_CURRENT_SOURCE_DIR}/${name}.cc)
  target_link_libraries(fuzz_${name} PRIVATE tarsia_options ${ARG_PRIVATE})
  foreach(dep ${ARG_DEPENDS})
    target_link_libraries(fuzz_${name} PRIVATE tarsia_${dep})
  endforeach()
  if(TARSIA_FUZZ)
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  else()
    target_sources(fuzz_${name} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/replay_main.cc)
  endif()
  add_test(NAME fuzz.${name}
    COMMAND fuzz_${name} -runs=0 ${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${name})
endfunction()
