# SPDX-License-Identifier: MIT
# Makes cairn::onednn, with which oneDNN computes the convolutions at which it is faster than Cairn's own kernels. The header and
# the library are searched for directly, as Debian's CMake package ends the configuration if there is no OpenCL. The package is
# used only for a static library, which needs other libraries. CMAKE_DISABLE_FIND_PACKAGE_dnnl=ON leaves it out.
#
# Sets cairn_onednn_found or cairn_onednn_missing, the second half of a sentence for people.
if(TARGET cairn::onednn)
  return()
endif()

set(cairn_onednn_source "install libdnnl-dev (Debian), or onednn by vcpkg")
if(NOT CMAKE_DISABLE_FIND_PACKAGE_dnnl)
  find_path(CAIRN_ONEDNN_INCLUDE_DIR oneapi/dnnl/dnnl.hpp)
  find_file(CAIRN_ONEDNN_CONFIG_HEADER oneapi/dnnl/dnnl_config.h HINTS ${CAIRN_ONEDNN_INCLUDE_DIR})
  find_library(CAIRN_ONEDNN_LIBRARY dnnl)
  mark_as_advanced(CAIRN_ONEDNN_INCLUDE_DIR CAIRN_ONEDNN_CONFIG_HEADER CAIRN_ONEDNN_LIBRARY)
endif()
if(CMAKE_DISABLE_FIND_PACKAGE_dnnl OR NOT CAIRN_ONEDNN_INCLUDE_DIR OR NOT CAIRN_ONEDNN_CONFIG_HEADER OR NOT CAIRN_ONEDNN_LIBRARY)
  set(cairn_onednn_missing "as oneDNN was not found: ${cairn_onednn_source}")
else()
  # Cairn divides the work among threads itself. It can keep OpenMP from doing so too, but not TBB or SYCL.
  file(STRINGS ${CAIRN_ONEDNN_CONFIG_HEADER} cairn_onednn_threads
       REGEX "^#define DNNL_CPU_THREADING_RUNTIME DNNL_RUNTIME_(OMP|SEQ|THREADPOOL)$")
  set(cairn_onednn_library ${CAIRN_ONEDNN_LIBRARY})
  if(cairn_onednn_library MATCHES "[.](a|lib)$")
    find_package(dnnl CONFIG QUIET)
    set(cairn_onednn_library $<IF:$<TARGET_EXISTS:DNNL::dnnl>,DNNL::dnnl,${CAIRN_ONEDNN_LIBRARY}>)
  endif()
  if(cairn_onednn_threads)
    add_library(cairn::onednn INTERFACE IMPORTED)
    target_link_libraries(cairn::onednn INTERFACE cairn::cairn ${cairn_onednn_library} ${CMAKE_DL_LIBS})
    target_include_directories(cairn::onednn SYSTEM INTERFACE ${CAIRN_ONEDNN_INCLUDE_DIR})
    target_compile_definitions(cairn::onednn INTERFACE CAIRN_WITH_ONEDNN=1)
    set(cairn_onednn_found "by ${CAIRN_ONEDNN_LIBRARY}")
  else()
    set(cairn_onednn_missing
        "as the oneDNN that was found (${CAIRN_ONEDNN_LIBRARY}) has threads other than OpenMP's: ${cairn_onednn_source}")
  endif()
endif()
