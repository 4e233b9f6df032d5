# SPDX-License-Identifier: MIT
# Makes cairn::blas from any library with CBLAS. OpenBLAS is asked for first: left to itself CMake may take the
# reference BLAS, which is many times slower. BLA_VENDOR, if the user sets it, decides alone.
#
# Sets cairn_blas_found or cairn_blas_missing, the second half of a sentence for people.
if(TARGET cairn::blas)
  return()
endif()

if(NOT BLA_VENDOR)
  set(BLA_VENDOR OpenBLAS)
  find_package(BLAS QUIET)
  unset(BLA_VENDOR)
endif()
if(NOT BLAS_FOUND)
  find_package(BLAS QUIET)
endif()
find_path(CAIRN_CBLAS_INCLUDE_DIR cblas.h
          PATH_SUFFIXES openblas openblas-pthread openblas-openmp openblas-serial blis)
mark_as_advanced(CAIRN_CBLAS_INCLUDE_DIR)

set(cairn_blas_source "install libopenblas-dev (Debian), or openblas by conan or vcpkg")
if(NOT BLAS_FOUND)
  set(cairn_blas_missing "as no BLAS was found: ${cairn_blas_source}")
elseif(NOT CAIRN_CBLAS_INCLUDE_DIR)
  set(cairn_blas_missing "as cblas.h was not found: ${cairn_blas_source}")
else()
  # Some BLAS keep the C interface in a library of their own, so a header is no proof.
  include(CheckCXXSourceCompiles)
  include(CMakePushCheckState)
  cmake_push_check_state(RESET)
  set(CMAKE_REQUIRED_INCLUDES ${CAIRN_CBLAS_INCLUDE_DIR})
  set(CMAKE_REQUIRED_LIBRARIES BLAS::BLAS)
  set(CMAKE_REQUIRED_QUIET TRUE)
  check_cxx_source_compiles(
    "#include <cblas.h>
     int main() { const float x = 1; return static_cast<int>(cblas_sdot(1, &x, 1, &x, 1)); }"
    CAIRN_CBLAS_LINKS)
  cmake_pop_check_state()

  if(CAIRN_CBLAS_LINKS)
    add_library(cairn::blas INTERFACE IMPORTED)
    target_link_libraries(cairn::blas INTERFACE cairn::cairn BLAS::BLAS)
    target_include_directories(cairn::blas SYSTEM INTERFACE ${CAIRN_CBLAS_INCLUDE_DIR})
    target_compile_definitions(cairn::blas INTERFACE CAIRN_WITH_BLAS=1)
    list(GET BLAS_LIBRARIES 0 cairn_blas_found)
  else()
    set(cairn_blas_missing "as the BLAS that was found (${BLAS_LIBRARIES}) has no C interface: ${cairn_blas_source}")
  endif()
endif()
