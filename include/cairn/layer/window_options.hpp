// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/tensor.hpp>
#include <cairn/ops/window.hpp>

// The options of layers whose window goes over images, by torch's names, in any order:
//
//   Conv2d<64, 128, 3, stride<2>, padding<1>, no_bias>
//
// The first of two numbers is for the height, the second for the width; one number is for both.
namespace cairn {

template <std::size_t Height, std::size_t Width = Height>
struct stride {};
template <std::size_t Height, std::size_t Width = Height>
struct padding {};
template <std::size_t Height, std::size_t Width = Height>
struct dilation {};
// The width of a kernel that is not as wide as high: Conv2d<16, 33, 3, kernel_width<5>> is torch's kernel_size=(3, 5).
template <std::size_t Width>
struct kernel_width {};
template <std::size_t Count>
struct groups {};
struct no_bias {};              // bias=False
struct ceil_mode {};            // ceil_mode=True
struct no_count_include_pad {}; // count_include_pad=False

} // namespace cairn

namespace cairn::detail {

// The options, as bits of a set.
inline constexpr unsigned stride_option = 1, padding_option = 2, dilation_option = 4, kernel_width_option = 8;
inline constexpr unsigned groups_option = 16, no_bias_option = 32, ceil_mode_option = 64, no_count_include_pad_option = 128;

struct window_options {
  window over{}; // without the numbers of inputs and outputs
  std::size_t groups = 1;
  unsigned given = 0, twice = 0;
  bool has_other = false; // a type that is no option, or an option that this layer does not have
  bool has_zero = false;  // a number that must not be 0 is 0

  constexpr void take(unsigned option, unsigned allowed) {
    twice |= given & option;
    given |= option;
    has_other = has_other || (option & allowed) == 0;
  }
  // After an error, compilation goes on with 1.
  constexpr void repair(std::size_t& number) {
    has_zero = has_zero || number == 0;
    number = number == 0 ? 1 : number;
  }
  constexpr bool has(unsigned option) const { return (given & option) != 0; }
  constexpr bool are_right() const { return !has_other && twice == 0 && !has_zero; }
  constexpr bool pads_at_most_half() const {
    return 2 * over.y.padding <= over.y.extent() && 2 * over.x.padding <= over.x.extent();
  }
  // The window over images of this shape, or one without outputs where it does not fit.
  constexpr window on(const tensor& images) const {
    window out = over;
    out.y.in = images[0];
    out.x.in = images[1];
    out.y = fitted(out.y, has(ceil_mode_option));
    out.x = fitted(out.x, has(ceil_mode_option));
    return out;
  }
  constexpr bool accepts(const tensor& images) const {
    return images.is_real() && images.rank() == 3 && on(images).outputs() > 0;
  }
};

// Applies an option and returns its bit. A type that is no option arrives as `void*`.
template <std::size_t Height, std::size_t Width>
constexpr unsigned set_option(window_options& to, stride<Height, Width>*) {
  to.over.y.stride = Height, to.over.x.stride = Width;
  return stride_option;
}
template <std::size_t Height, std::size_t Width>
constexpr unsigned set_option(window_options& to, padding<Height, Width>*) {
  to.over.y.padding = Height, to.over.x.padding = Width;
  return padding_option;
}
template <std::size_t Height, std::size_t Width>
constexpr unsigned set_option(window_options& to, dilation<Height, Width>*) {
  to.over.y.dilation = Height, to.over.x.dilation = Width;
  return dilation_option;
}
template <std::size_t Width>
constexpr unsigned set_option(window_options& to, kernel_width<Width>*) {
  return to.over.x.kernel = Width, kernel_width_option;
}
template <std::size_t Count>
constexpr unsigned set_option(window_options& to, groups<Count>*) {
  return to.groups = Count, groups_option;
}
constexpr unsigned set_option(window_options&, no_bias*) { return no_bias_option; }
constexpr unsigned set_option(window_options&, ceil_mode*) { return ceil_mode_option; }
constexpr unsigned set_option(window_options&, no_count_include_pad*) { return no_count_include_pad_option; }
constexpr unsigned set_option(window_options&, void*) { return 0; }

// The options of a layer with a square kernel of this size. A pool's stride is that of its kernel if none is given.
template <class... Options>
constexpr window_options options_of(std::size_t kernel, [[maybe_unused]] unsigned allowed, bool steps_by_kernel) {
  window_options out;
  out.over.y.kernel = out.over.x.kernel = kernel;
  (out.take(set_option(out, static_cast<Options*>(nullptr)), allowed), ...);
  if (steps_by_kernel && !out.has(stride_option)) out.over.y.stride = out.over.y.kernel, out.over.x.stride = out.over.x.kernel;
  for (window_axis* const a : {&out.over.y, &out.over.x}) {
    out.repair(a->kernel);
    out.repair(a->stride);
    out.repair(a->dilation);
  }
  out.repair(out.groups);
  return out;
}

} // namespace cairn::detail
