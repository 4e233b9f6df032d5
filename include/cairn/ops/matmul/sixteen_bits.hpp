// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/view.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/device/instruction_set.hpp>
#include <cairn/ops/matmul/cpu.hpp>
#include <cairn/ops/matmul/matmul.hpp>
#include <cairn/ops/matmul/multiply.hpp>
#include <cairn/ops/matmul/narrow_multiply.hpp>
#include <cairn/ops/matmul/narrow_product.hpp>

CAIRN_KERNELS_BEGIN

// Products of 16-bit elements: computed in float, with the whole epilogue, and rounded once when they are written.
namespace cairn::detail {

// Computes `part` of a product with the kernels of one instruction set.
template <class T, class C>
void multiply_narrow_for(instruction_set isa, const narrow_product<T, C>& whole, const rectangle& part,
                         std::span<std::byte> scratch) {
#if CAIRN_X86
  if constexpr (reduces_in_pairs<T>) {
    if (isa == instruction_set::amx_bf16) return multiply_narrow<tiled_amx>(whole, part, scratch);
    if (isa == instruction_set::avx512_bf16) return multiply_narrow<paired_avx512>(whole, part, scratch);
  }
  if (isa >= instruction_set::avx512) return multiply_narrow<widened_avx512>(whole, part, scratch);
  if (isa == instruction_set::avx2) return multiply_narrow<widened_avx2>(whole, part, scratch);
#else
  static_cast<void>(isa);
#endif
  multiply_narrow<widened_plain>(whole, part, scratch);
}

template <class T, class C>
void multiply_narrow_on(cpu::queue& queue, instruction_set isa, const narrow_product<T, C>& whole) {
  for_each_rectangle(queue, whole.size, [&](const rectangle& part, std::span<std::byte> scratch) {
    multiply_narrow_for(isa, whole, part, scratch);
  });
}

} // namespace cairn::detail

namespace cairn::ops {

template <detail::narrow_element T>
void matmul(cpu::queue& queue, matrix<T> c, std::type_identity_t<matrix<const T>> a, std::type_identity_t<matrix<const T>> b,
            transpose form, const std::type_identity_t<epilogue<T>>& then = {}) {
  detail::multiply_narrow_on(queue, detail::widest_for<T>(), detail::narrow_product<T, T>(c, a, b, form, then));
}
template <detail::narrow_element T>
void matmul(cpu::queue& queue, matrix<accumulated<T>> c, matrix<const T> a, std::type_identity_t<matrix<const T>> b,
            transpose form, const std::type_identity_t<epilogue<T>>& then = {}) {
  detail::multiply_narrow_on(queue, detail::widest_for<T>(), detail::narrow_product<T, accumulated<T>>(c, a, b, form, then));
}

} // namespace cairn::ops

CAIRN_KERNELS_END
