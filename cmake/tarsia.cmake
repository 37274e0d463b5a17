# Helpers shared by every folder: one static library a folder, warnings as errors.

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)

add_library(tarsia_options INTERFACE)
target_include_directories(tarsia_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(tarsia_options INTERFACE
  -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Werror
  -Wimplicit-fallthrough -Wswitch-enum -Wundef -fvisibility=hidden)
if(TARSIA_SANITIZE)
  target_compile_options(tarsia_options INTERFACE
    -fsanitize=${TARSIA_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(tarsia_options INTERFACE -fsanitize=${TARSIA_SANITIZE})
endif()
if(TARSIA_FUZZ)
  target_compile_options(tarsia_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

# tarsia_library(NAME DEPENDS lib...): the static library tarsia_NAME of all *.cc in this folder.
function(tarsia_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;PRIVATE" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  add_library(tarsia_${name} STATIC ${sources})
  target_link_libraries(tarsia_${name} PUBLIC tarsia_options PRIVATE ${ARG_PRIVATE})
  foreach(dep ${ARG_DEPENDS})
    target_link_libraries(tarsia_${name} PUBLIC tarsia_${dep})
  endforeach()
endfunction()

# tarsia_unit_tests(FOLDER DEPENDS lib...): the test binary unit_FOLDER of all *.cc in this folder.
function(tarsia_unit_tests name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;PRIVATE" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  if(NOT sources)
    return()
  endif()
  add_executable(unit_${name} ${sources})
  target_link_libraries(unit_${name} PRIVATE tarsia_options ${ARG_PRIVATE} GTest::gmock GTest::gtest_main)
  foreach(dep ${ARG_DEPENDS})
    target_link_libraries(unit_${name} PRIVATE tarsia_${dep})
  endforeach()
  add_test(NAME unit.${name} COMMAND unit_${name})
endfunction()
