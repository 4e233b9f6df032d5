# SPDX-License-Identifier: MIT
# Reports once that a project that uses Cairn has no build type, so its compiler optimises nothing. g++ optimises Cairn's kernels
# nevertheless; with other compilers training is ten or more times slower.
get_property(cairn_said_build_type GLOBAL PROPERTY cairn_said_build_type)
if(NOT cairn_said_build_type AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES
   AND NOT CMAKE_CXX_FLAGS MATCHES "(^| )-O" AND NOT cairn_FIND_QUIETLY)
  set_property(GLOBAL PROPERTY cairn_said_build_type TRUE)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    message(STATUS "Cairn: there is no CMAKE_BUILD_TYPE, so this project is not optimised, but for Cairn's kernels; "
                   "-DCMAKE_BUILD_TYPE=Release does it")
  else()
    message(WARNING "Cairn: there is no CMAKE_BUILD_TYPE, so this project is not optimised, and training is ten times "
                    "slower and more; configure with -DCMAKE_BUILD_TYPE=Release")
  endif()
endif()
