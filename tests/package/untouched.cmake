# SPDX-License-Identifier: MIT
# Cairn changes nothing in the project that takes it: no flag, no variable that CMake reads, no test, nothing to install.
# remember() comes before Cairn does, untouched() after it.
macro(remember)
  get_cmake_property(names_before VARIABLES)
  foreach(name IN LISTS names_before)
    set(before_${name} "${${name}}")
  endforeach()
endmacro()

function(untouched)
  # What finding threads or a package leaves behind, and what CMake itself counts.
  set(of_cmake "^CMAKE_(HAVE_LIBC_PTHREAD|THREAD_LIBS_INIT|USE_PTHREADS_INIT|USE_WIN32_THREADS_INIT|CURRENT_.*|PARENT_.*|FIND_.*|MATCH_.*|PROJECT_VERSION.*)$")
  get_cmake_property(names VARIABLES)
  foreach(name IN LISTS names)
    if(name MATCHES "^(CMAKE|BUILD|CTEST|CPACK)_" AND NOT name MATCHES "${of_cmake}"
       AND NOT "${${name}}" STREQUAL "${before_${name}}")
      message(FATAL_ERROR "${name} has become ${${name}}")
    endif()
  endforeach()
  foreach(property COMPILE_OPTIONS COMPILE_DEFINITIONS INCLUDE_DIRECTORIES LINK_OPTIONS TESTS)
    get_directory_property(value ${property})
    if(value)
      message(FATAL_ERROR "${property} has become ${value}")
    endif()
  endforeach()
endfunction()
