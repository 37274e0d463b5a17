# libtarsia.a for programs outside of this project: one object file with everything in libtarsia.so,
# in which only tarsia_* is visible. So a program may have its own libfmt, Highway or, if LLVM is
# linked statically, LLVM, and functions of any name. Undefined symbols remain only of the C and C++
# libraries and, if LLVM is a shared library, of LLVM.

find_program(TARSIA_LD ld.bfd)  # lld and gold cannot merge the copies of an inline function
mark_as_advanced(TARSIA_LD)

# The archives among the given libraries and their dependencies, and the other dependencies.
function(tarsia_archives_of out_archives out_system)
  set(archives "")
  set(system "")
  set(left ${ARGN})
  set(seen "")
  while(left)
    list(POP_FRONT left library)
    string(REGEX REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1" library "${library}")
    if(library IN_LIST seen)
      continue()
    endif()
    list(APPEND seen ${library})
    if(TARGET ${library})
      list(APPEND archives $<TARGET_FILE:${library}>)
      get_target_property(needed ${library} INTERFACE_LINK_LIBRARIES)
      if(needed)
        list(APPEND left ${needed})
      endif()
    elseif(library MATCHES "\\.a$")
      list(APPEND archives ${library})
    else()
      list(APPEND system ${library})
    endif()
  endwhile()
  set(${out_archives} ${archives} PARENT_SCOPE)
  set(${out_system} ${system} PARENT_SCOPE)
endfunction()

# The libraries that a C program must link besides libtarsia.a, without `-l`.
function(tarsia_system_libraries out)
  set(libraries ${CMAKE_CXX_IMPLICIT_LINK_LIBRARIES})
  list(REMOVE_ITEM libraries ${CMAKE_C_IMPLICIT_LINK_LIBRARIES})
  list(APPEND libraries m ${CMAKE_DL_LIBS} pthread ${ARGN})
  list(REMOVE_DUPLICATES libraries)
  set(${out} ${libraries} PARENT_SCOPE)
endfunction()

# tarsia_archive(NAME WHOLE archive... NEEDED archive...): NAME.a of all members of WHOLE and of the
# members of NEEDED that they need. Symbols of C++ are weakened first, because objcopy cannot make
# unique ones local.
function(tarsia_archive name)
  cmake_parse_arguments(ARG "" "" "WHOLE;NEEDED" ${ARGN})
  set(object ${PROJECT_BINARY_DIR}/lib/${name}.o)
  set(archive ${PROJECT_BINARY_DIR}/lib/${name}.a)
  add_custom_command(OUTPUT ${archive} BYPRODUCTS ${object}
    COMMAND ${TARSIA_LD} -r --force-group-allocation -o ${object}
            --whole-archive ${ARG_WHOLE} --no-whole-archive
            --start-group ${ARG_NEEDED} --end-group
    COMMAND ${CMAKE_OBJCOPY} --wildcard --weaken-symbol=_Z* ${object}
    COMMAND ${CMAKE_OBJCOPY} --wildcard --keep-global-symbol=tarsia_* ${object}
    COMMAND ${CMAKE_COMMAND} -E rm -f ${archive}
    COMMAND ${CMAKE_AR} qcs ${archive} ${object}
    COMMAND ${CMAKE_COMMAND} -E rm ${object}
    DEPENDS ${ARG_WHOLE} ${ARG_NEEDED}
    COMMENT "Making ${name}.a" VERBATIM)
  add_custom_target(${name}_archive ALL DEPENDS ${archive})
endfunction()
