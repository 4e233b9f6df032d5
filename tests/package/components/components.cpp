// SPDX-License-Identifier: MIT
// Uses one thing of each component that the project has asked for.
#include <cstdint>
#include <cstring>
#include <span>

#include <cairn/cairn.hpp>

#if HAS_images
#include <cairn/data/images/image_folder.hpp>
#endif
#if HAS_mpi
#include <mpi.h>
#endif
#if HAS_xtensor
#include <cairn/data/xtensor.hpp>
#endif
#if HAS_safetensors
#include <cairn/train/state/safetensors.hpp>
#endif

int main() {
#if HAS_blas
  static_assert(CAIRN_WITH_BLAS);
  const float x[]{1, 2, 3};
  if (cblas_sdot(3, x, 1, x, 1) != 14) return 1;
#else
  static_assert(!CAIRN_WITH_BLAS);
#endif
#if HAS_images
  static_assert(CAIRN_WITH_IMAGES);
  for (const char* const begin : {"\x89PNG\r\n\x1A\n", "\xFF\xD8\xFF"}) { // calls both libraries
    try {
      cairn::vision::decode_image(std::span(reinterpret_cast<const std::uint8_t*>(begin), std::strlen(begin)));
      return 6;
    } catch (const cairn::file_error&) {
    }
  }
#else
  static_assert(!CAIRN_WITH_IMAGES);
#endif
#if HAS_mpi
  static_assert(CAIRN_WITH_MPI);
  int version = 0, subversion = 0; // the one call that needs no MPI_Init
  if (MPI_Get_version(&version, &subversion) != MPI_SUCCESS || version < 3) return 4;
#else
  static_assert(!CAIRN_WITH_MPI);
#endif
#if HAS_onednn
  static_assert(CAIRN_WITH_ONEDNN);
  const cairn::ops::convolution how{{{8, 8, 3, 1, 1, 1}, {8, 8, 3, 1, 1, 1}}, 3, 16, 1};
  if (!cairn::detail::kept_onednn_plan(how, cairn::detail::conv2d_pass::forward).usable) return 5;
#else
  static_assert(!CAIRN_WITH_ONEDNN);
#endif
#if HAS_xtensor
  float y[]{1, 2, 3, 4, 5, 6};
  if (cairn::as_xtensor(cairn::tensor_view<float>(y, 2, cairn::shape{3}))(1, 2) != 6) return 2;
#endif
#if HAS_safetensors
  if (!cairn::types::loaded_weights{}.is_all()) return 3;
#endif
}
