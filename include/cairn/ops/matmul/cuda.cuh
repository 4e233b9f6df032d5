// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <type_traits>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/view.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/ops/matmul/checked_product.hpp>
#include <cairn/ops/matmul/column_major.cuh>
#include <cairn/ops/matmul/cublaslt.cuh>
#include <cairn/ops/matmul/cuda_epilogue.cuh>
#include <cairn/ops/matmul/matmul.hpp>

namespace cairn::ops {

// Uses cuBLASLt, and kernels for the parts of the epilogue that it does not do. A product's bits depend on its extents, strides,
// alignment and form, and on whether the layer has a bias, not on what is done with it afterwards: see detail::product_key.
template <detail::floating_element T>
void matmul(cuda::queue& queue, matrix<T> c, std::type_identity_t<matrix<const T>> a, std::type_identity_t<matrix<const T>> b,
            transpose form, const std::type_identity_t<epilogue<T>>& then = {}) {
  constexpr const char* op = "matmul";
  const auto size = detail::checked_product(c, a, b, form, then);
  if (size.m == 0 || size.n == 0) return;
  if (size.k == 0) return detail::finish_with_kernels<T>(queue, op, c, a, form, then, true);
  detail::cuda_products& with = queue.products(op);
  auto call = detail::column_major(c, a, b, form);
  const bool tf32 = queue.allow_tf32();
  const bool adds_vector =
      form == transpose::second ? then.bias != nullptr : form == transpose::first && then.row_sums != nullptr;
  const auto key = detail::cublas_product<T>::key(call, tf32, adds_vector);
  const auto by = with.algorithm(key, [&] {
    const detail::gpu_in_use now = queue.here(op);
    return detail::cublas_product<T>(call, tf32).choose(with.handle(), form, key);
  });
  epilogue<T> rest = then;
  // A bias or row sums that are not aligned as the library may require are left to a kernel; a bias is then added to the same
  // bits.
  const bool fuses = by.fuses && reinterpret_cast<std::uintptr_t>(then.bias) % 16 == 0 &&
                     reinterpret_cast<std::uintptr_t>(then.row_sums) % 16 == 0;
  detail::take_epilogue(call, form, rest, fuses);
  if (rest.addend.data != nullptr && rest.addend.data == c.data)
    throw error("matmul: on a GPU, an addend that is the result itself is added without activation only; give the result memory "
                "of its own");
  // Sums that a kernel makes come first: so the product is beside the next one of a backward pass, where it may be a branch.
  detail::sum_rows<T>(queue, op, a, form, rest);
  rest.row_sums = nullptr;
  queue.put(op, detail::product_work<T>{call, by, tf32});
  detail::finish_with_kernels<T>(queue, op, c, a, form, rest);
}

// Weight gradients of 16-bit elements, in float.
template <detail::narrow_element T>
void matmul(cuda::queue& queue, matrix<accumulated<T>> c, matrix<const T> a, std::type_identity_t<matrix<const T>> b,
            transpose form, const std::type_identity_t<epilogue<T>>& then = {}) {
  using sum = accumulated<T>;
  constexpr const char* op = "matmul";
  if (!detail::does_nothing(then))
    throw error(
        "matmul: on a GPU, a product of 16-bit elements with a result in float has row sums only; give the result 16 bits");
  const auto size = detail::checked_product(c, a, b, form, then);
  if (size.m == 0 || size.n == 0) return;
  if (size.k == 0) {
    if (!then.adds) detail::finish_with_kernels<sum>(queue, op, c, {}, form, {}, true);
    return detail::sum_rows<T>(queue, op, a, form, then);
  }
  detail::cuda_products& with = queue.products(op);
  auto call = detail::column_major_of<T, sum>(c, a, b, form);
  if (then.adds) call.addend = c.data;
  const auto key = detail::cublas_product<T, sum>::key(call, false, false);
  const auto by = with.algorithm(key, [&] {
    const detail::gpu_in_use now = queue.here(op);
    return detail::cublas_product<T, sum>(call, false).choose(with.handle(), form, key);
  });
  detail::sum_rows<T>(queue, op, a, form, then); // first, as above
  queue.put(op, detail::product_work<T, sum>{call, by, false});
}

} // namespace cairn::ops
