# SPDX-License-Identifier: MIT
# Cairn's kernels and its executor as a library: a program that links it does not compile them, and they are optimised whatever
# the program is. The project that uses Cairn compiles the library, once, with its own compiler and flags.
#
#   cairn::compiled                                  for programs that link cairn::cairn only
#   cairn_compiled(NAME [blas] [onednn] [LINK ...])  the same for programs that also link cairn::blas or cairn::onednn, which
#                                                    change what kernels compute; LINK: more targets to compile it with
#
# Each is several libraries. A program whose elements are all float can link NAME_float and NAME_rest alone, for cairn::compiled
# cairn_compiled_float and cairn_compiled_rest: it then waits for a third of the compilation. Others are NAME_double, NAME_bfloat16 and
# NAME_float16.
if(TARGET cairn::compiled)
  return()
endif()
set(CAIRN_COMPILED_OPTIONS -O2 CACHE STRING "How cairn::compiled is compiled, behind the flags of the build type")
mark_as_advanced(CAIRN_COMPILED_OPTIONS)

function(cairn_compiled name)
  cmake_parse_arguments(PARSE_ARGV 1 given "" "" "LINK")
  set(components "")
  set(number 0) # as config.hpp compares it
  foreach(component IN LISTS given_UNPARSED_ARGUMENTS)
    if(component STREQUAL "blas")
      math(EXPR number "${number} + 1")
    elseif(component STREQUAL "onednn")
      math(EXPR number "${number} + 2")
    else()
      message(FATAL_ERROR "cairn_compiled: expected blas or onednn, found ${component}: other components change no kernel")
    endif()
    list(APPEND components cairn::${component})
  endforeach()

  add_library(${name} INTERFACE)
  file(GLOB sources ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/compiled/*.cpp)
  foreach(source IN LISTS sources)
    cmake_path(GET source STEM part)
    add_library(${name}_${part} STATIC EXCLUDE_FROM_ALL ${source})
    target_link_libraries(${name}_${part} PRIVATE ${given_LINK} PUBLIC cairn::cairn ${components})
    target_compile_definitions(${name}_${part} PUBLIC CAIRN_WITH_COMPILED=1 CAIRN_COMPILED_WITH=${number})
    target_compile_options(${name}_${part} PRIVATE "$<$<CXX_COMPILER_ID:GNU,Clang,AppleClang>:${CAIRN_COMPILED_OPTIONS}>")
    set_target_properties(${name}_${part} PROPERTIES UNITY_BUILD OFF POSITION_INDEPENDENT_CODE ON)
    target_link_libraries(${name} INTERFACE ${name}_${part})
  endforeach()
endfunction()

cairn_compiled(cairn_compiled)
add_library(cairn::compiled ALIAS cairn_compiled)
