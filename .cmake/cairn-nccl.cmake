# SPDX-License-Identifier: MIT
# Makes cairn::nccl, for <cairn/comm/nccl/nccl.cuh>, from an NCCL of 2.18 or newer: its header and its library are looked for in
# NCCL_ROOT, then in the folders of the CUDA Toolkit, then in those of the system.
#
# Sets cairn_nccl_found or cairn_nccl_missing, the second half of a sentence for people.
if(TARGET cairn::nccl)
  return()
endif()

include(${CMAKE_CURRENT_LIST_DIR}/cairn-cuda.cmake)
set(cairn_nccl_version "")
if(TARGET cairn::cuda)
  find_path(CAIRN_NCCL_INCLUDE_DIR nccl.h HINTS ${NCCL_ROOT} ENV NCCL_ROOT ${CUDAToolkit_INCLUDE_DIRS} PATH_SUFFIXES include)
  find_library(CAIRN_NCCL_LIBRARY nccl HINTS ${NCCL_ROOT} ENV NCCL_ROOT ${CUDAToolkit_LIBRARY_DIR} ${CUDAToolkit_LIBRARY_ROOT}
               PATH_SUFFIXES lib64 lib)
  mark_as_advanced(CAIRN_NCCL_INCLUDE_DIR CAIRN_NCCL_LIBRARY)
  if(CAIRN_NCCL_INCLUDE_DIR AND CAIRN_NCCL_LIBRARY)
    foreach(part MAJOR MINOR PATCH)
      file(STRINGS ${CAIRN_NCCL_INCLUDE_DIR}/nccl.h cairn_nccl_line REGEX "^#define NCCL_${part} [0-9]+")
      string(REGEX REPLACE ".* ([0-9]+).*" "\\1" cairn_nccl_line "${cairn_nccl_line}")
      list(APPEND cairn_nccl_version "${cairn_nccl_line}")
    endforeach()
    list(JOIN cairn_nccl_version "." cairn_nccl_version)
  endif()
endif()
if(NOT TARGET cairn::cuda)
  set(cairn_nccl_missing "which needs cairn::cuda, ${cairn_cuda_missing}")
elseif(cairn_nccl_version STREQUAL "")
  set(cairn_nccl_missing "as nccl.h and libnccl were not both found: install libnccl-dev from NVIDIA, or set NCCL_ROOT to its folder")
elseif(cairn_nccl_version VERSION_LESS 2.18)
  set(cairn_nccl_missing "as the NCCL ${cairn_nccl_version} of ${CAIRN_NCCL_INCLUDE_DIR} is too old: install libnccl-dev from NVIDIA, 2.18 or newer")
else()
  add_library(cairn::nccl INTERFACE IMPORTED)
  target_link_libraries(cairn::nccl INTERFACE cairn::cuda ${CAIRN_NCCL_LIBRARY})
  target_include_directories(cairn::nccl SYSTEM INTERFACE ${CAIRN_NCCL_INCLUDE_DIR})
  target_compile_definitions(cairn::nccl INTERFACE CAIRN_WITH_NCCL=1)
  set(cairn_nccl_found "NCCL ${cairn_nccl_version} of ${CAIRN_NCCL_LIBRARY}")
endif()
