// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/device/cuda/launch.cuh>
#include <cairn/device/cuda/quad.cuh>
#include <cairn/device/cuda/sixteen_bits.cuh>
#include <cairn/ops/elementwise/cpu.hpp>
#include <cairn/ops/elementwise/elementwise.hpp>

namespace cairn::detail {

// The function that a thread applies to its elements: f.prepared(), called once per thread, if f has it. If it has skips(), and
// that is true, no element changes. See with_scale_of_device.
template <class F>
CAIRN_DEVICE auto prepared(const F& f) {
  if constexpr (requires { f.prepared(); }) return f.prepared();
  else return f;
}

// The kernel of every function of elements. It takes 16 bytes of each array at a time where all of them are aligned. In a large
// tensor it takes several times 16, and requests all of them before it waits for any. Elements go through the same instructions
// wherever they are.
template <class F, class T, std::size_t Results, std::size_t Operands>
struct each_element {
  static_assert(Results <= Operands, "elementwise: there are more results than operands; add operands");
  static constexpr std::size_t turns = (Operands > 2 ? 2 : 4) / (is_narrow<T> ? 2 : 1);
  // From this number of quads on, a GPU is full even if each thread takes `turns` of them.
  static constexpr std::size_t large = std::size_t{1} << 20;

  F f;
  std::size_t count, threads; // thread i takes the quads i, i + threads, ...
  bool aligned;
  T* to[Results];
  const T* from[Operands];

  CAIRN_DEVICE void operator()(std::size_t index) const {
    constexpr auto all = std::make_index_sequence<Operands>{};
    if constexpr (requires { f.skips(); })
      if (f.skips()) return;
    const auto element = prepared(f);
    if (aligned && (index + (turns - 1) * threads + 1) * quad_width<T> <= count) return run_all(element, index, all);
    for (std::size_t q = index; q * quad_width<T> < count; q += threads) run(element, q * quad_width<T>, all);
  }

private:
  // The elements of a quad. Those of 16 bits are computed as floats, and rounded once. All of it is in registers, so loops are
  // written out.
  template <class Element, std::size_t... I>
  static CAIRN_DEVICE void apply(const Element& element, quad<T> (&v)[Operands], std::index_sequence<I...>) {
    if constexpr (!is_narrow<T>) {
      for (std::size_t j = 0; j < quad_width<T>; ++j) element(v[I].at[j]...);
    } else {
#if defined(__CUDACC__)
#pragma unroll
#endif
      for (std::size_t j = 0; j < quad_width<T>; ++j) {
        accumulated<T> w[Operands] = {widened(v[I].at[j])...};
        element(w[I]...);
        for (std::size_t k = 0; k < Results; ++k) v[k].at[j] = static_cast<T>(w[k]);
      }
    }
  }
  template <class Element, std::size_t... I>
  CAIRN_DEVICE void run_all(const Element& element, std::size_t index, std::index_sequence<I...>) const {
    quad<T> v[turns][Operands];
    for (std::size_t t = 0; t < turns; ++t)
      for (std::size_t k = 0; k < Operands; ++k)
        v[t][k] = *reinterpret_cast<const quad<T>*>(from[k] + (index + t * threads) * quad_width<T>);
#if defined(__CUDACC__)
#pragma unroll
#endif
    for (std::size_t t = 0; t < turns; ++t) {
      apply(element, v[t], std::index_sequence<I...>{});
      for (std::size_t k = 0; k < Results; ++k) put_quad(to[k] + (index + t * threads) * quad_width<T>, v[t][k]);
    }
  }
  template <class Element, std::size_t... I>
  CAIRN_DEVICE void run(const Element& element, std::size_t first, std::index_sequence<I...>) const {
    quad<T> v[Operands];
    for (std::size_t k = 0; k < Operands; ++k) v[k] = load_quad(from[k], first, count, aligned);
    apply(element, v, std::index_sequence<I...>{});
    for (std::size_t k = 0; k < Results; ++k) store_quad(to[k], v[k], first, count, aligned);
  }
};

// Like detail::elementwise() of a cpu, with the same function objects.
template <std::size_t Results, class F, class T, std::size_t Operands>
void elementwise(cuda::queue& queue, const char* op, std::size_t count, const F& f, const std::array<T*, Results>& results,
                 const std::array<const T*, Operands>& sources) {
  using body_type = each_element<F, T, Results, Operands>;
  const std::size_t quads = quads_for<T>(count);
  const std::size_t threads = quads < body_type::large ? quads : (quads + body_type::turns - 1) / body_type::turns;
  body_type body{f, count, threads, true, {}, {}};
  for (std::size_t k = 0; k < Results; ++k) body.to[k] = results[k], body.aligned = body.aligned && are_quads(results[k]);
  for (std::size_t k = 0; k < Operands; ++k) body.from[k] = sources[k], body.aligned = body.aligned && are_quads(sources[k]);
  launch_each(queue, op, threads, body);
}

} // namespace cairn::detail

namespace cairn::ops {

template <detail::floating_element T, class F, class... From>
void elementwise(cuda::queue& queue, std::size_t count, const F& f, T* to, const From*... from) {
  static_assert(sizeof...(From) > 0 && (std::same_as<T, From> && ...),
                "elementwise: expected at least one array to read, all of the element type that is written");
  static_assert(std::is_trivially_copyable_v<F>, "elementwise: the function is copied to the device, expected one that can be "
                                                 "copied byte by byte: give it numbers, not containers");
  const char* op = "elementwise";
  if constexpr (requires { F::name; }) op = F::name; // the name that errors use
  detail::elementwise(queue, op, count, detail::leaves_result<F>{f}, std::array<T*, 1>{to},
                      std::array<const T*, sizeof...(From)>{from...});
}

} // namespace cairn::ops
