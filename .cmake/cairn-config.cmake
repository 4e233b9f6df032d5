# SPDX-License-Identifier: MIT
# find_package(cairn [COMPONENTS blas compiled cuda images mpi nccl onednn precompiled safetensors xtensor]) makes cairn::cairn, and
# cairn::<component> for each one asked for.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
include(${CMAKE_CURRENT_LIST_DIR}/cairn-targets.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/cairn-build-type.cmake)

foreach(component IN LISTS cairn_FIND_COMPONENTS)
  set(cairn_${component}_missing "which is no component of Cairn: those are blas, compiled, cuda, images, mpi, nccl, onednn, precompiled, safetensors and xtensor")
  include(${CMAKE_CURRENT_LIST_DIR}/cairn-${component}.cmake OPTIONAL)
  if(TARGET cairn::${component})
    set(cairn_${component}_FOUND TRUE)
  else()
    set(cairn_${component}_FOUND FALSE)
    if(cairn_FIND_REQUIRED_${component})
      set(cairn_FOUND FALSE)
      string(APPEND cairn_NOT_FOUND_MESSAGE "No cairn::${component}, ${cairn_${component}_missing}. ")
    endif()
  endif()
endforeach()
