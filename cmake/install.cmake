# Files of `cmake --install`: libraries, header, command, the CMake package, tarsia.pc and
# tarsia_loader.pc, licence. The
# CMake package and tarsia.pc use paths relative to themselves, so that an installation can be
# moved.

include(CMakePackageConfigHelpers)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/tarsia)
set(TARSIA_ARCHIVE_LLVM "")  # the shared library that libtarsia.a needs, and its path
if(NOT TARSIA_STATIC)
  set(TARSIA_ARCHIVE_LLVM LLVM-${LLVM_VERSION_MAJOR})
endif()

configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/tarsia-config.cmake.in ${PROJECT_BINARY_DIR}/cmake/tarsia-config.cmake
  INSTALL_DESTINATION ${package}
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cmake/tarsia-config-version.cmake
  COMPATIBILITY SameMajorVersion)

# From the folder of tarsia.pc to the prefix, if both are in one tree.
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
  set(pc_prefix ${CMAKE_INSTALL_PREFIX})
  set(pc_libdir ${CMAKE_INSTALL_LIBDIR})
else()
  file(RELATIVE_PATH up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  string(REGEX REPLACE "/$" "" up "${up}")
  set(pc_prefix "\${pcfiledir}/${up}")
  set(pc_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
endif()
if(IS_ABSOLUTE ${CMAKE_INSTALL_INCLUDEDIR})
  set(pc_includedir ${CMAKE_INSTALL_INCLUDEDIR})
else()
  set(pc_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
set(pc_private "")
if(TARSIA_ARCHIVE_LLVM)
  string(APPEND pc_private "-L${LLVM_LIBRARY_DIR} -l${TARSIA_ARCHIVE_LLVM} ")
endif()
list(TRANSFORM TARSIA_ARCHIVE_SYSTEM PREPEND -l OUTPUT_VARIABLE system)
list(JOIN system " " system)
string(APPEND pc_private "${system}")
configure_file(${CMAKE_CURRENT_LIST_DIR}/tarsia.pc.in ${PROJECT_BINARY_DIR}/cmake/tarsia.pc @ONLY)

configure_file(${CMAKE_CURRENT_LIST_DIR}/tarsia_loader.pc.in
  ${PROJECT_BINARY_DIR}/cmake/tarsia_loader.pc @ONLY)

install(TARGETS tarsia tarsia_shared tarsia_loader
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET libtarsia_archive)
  install(FILES ${PROJECT_BINARY_DIR}/lib/libtarsia.a DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(FILES ${PROJECT_SOURCE_DIR}/include/tarsia/tarsia.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tarsia)
install(FILES ${PROJECT_BINARY_DIR}/cmake/tarsia-config.cmake
  ${PROJECT_BINARY_DIR}/cmake/tarsia-config-version.cmake DESTINATION ${package})
install(FILES ${PROJECT_BINARY_DIR}/cmake/tarsia.pc ${PROJECT_BINARY_DIR}/cmake/tarsia_loader.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
