# SPDX-License-Identifier: MIT
# Makes cairn::cuda, for <cairn/cairn_cuda.cuh>, from the CUDA Toolkit that CMake finds: CUDAToolkit_ROOT or the nvcc on the path
# decide. Sources that include it use the language CUDA, which links the runtime; matrix products also need cuBLASLt.
#
# Sets cairn_cuda_found or cairn_cuda_missing, the second half of a sentence for people.
if(TARGET cairn::cuda)
  return()
endif()

find_package(CUDAToolkit 12 QUIET)
if(TARGET CUDA::cublasLt)
  find_path(CAIRN_CUBLASLT_INCLUDE_DIR cublasLt.h HINTS ${CUDAToolkit_INCLUDE_DIRS}) # NVIDIA has packages of the library alone
  mark_as_advanced(CAIRN_CUBLASLT_INCLUDE_DIR)
endif()
if(NOT TARGET CUDA::cublasLt)
  set(cairn_cuda_missing "as no CUDA Toolkit was found: install one from NVIDIA, 12 or newer, and put its nvcc on the path")
elseif(NOT CAIRN_CUBLASLT_INCLUDE_DIR)
  set(cairn_cuda_missing "as cublasLt.h was not found in the toolkit of ${CUDAToolkit_BIN_DIR}: install libcublas-dev from NVIDIA")
else()
  add_library(cairn::cuda INTERFACE IMPORTED)
  target_link_libraries(cairn::cuda INTERFACE cairn::cairn CUDA::cublasLt)
  target_include_directories(cairn::cuda SYSTEM INTERFACE ${CUDAToolkit_INCLUDE_DIRS})
  set(cairn_cuda_found "the CUDA Toolkit ${CUDAToolkit_VERSION} of ${CUDAToolkit_BIN_DIR}")
endif()
