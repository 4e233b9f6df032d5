// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include <cairn/layer/layer.hpp>

// One of the layers that a Sum adds up.
namespace cairn::detail {

// A layer without parameters, such as Dropout, is none: all terms would draw the same random numbers.
template <class L>
constexpr bool is_term = [] {
  if constexpr (!layer<L> || !requires(const arguments& in) { L::parameters(in); }) return false;
  else if constexpr (requires(const arguments& in) { L::tape(in); } || requires(const arguments& in) { L::buffers(in); })
    return false;
  else if constexpr (requires(const arguments& in) { L::workspace(in, pass::forward); } || requires { L::takes; }) return false;
  else if constexpr (requires { typename L::tied_to; }) return false;
  else return L::backward_reads < reads::output;
}();
template <class L>
constexpr tensor_list parameters_of_term() {
  const tensor_list none{};
  return tensor_list(L::parameters({nullptr, 0, none}));
}
template <class... Layers>
constexpr bool are_terms() {
  if constexpr (sizeof...(Layers) < 2 || sizeof...(Layers) > most_tensors || !(is_term<Layers> && ...)) return false;
  else return (std::size_t{0} + ... + parameters_of_term<Layers>().count) <= tensor_list::most;
}
struct sum_message {
  template <class Layer>
  static constexpr bool right() {
    static_assert(Layer::options_are_right,
                  "Sum: it takes two to four layers, such as Embedding and Linear, each of which has parameters, makes one "
                  "tensor of one, reads no output in backward and has no other memory, at most eight parameters in all; write "
                  "Sum<Embedding<30522, 768>, Embedding<2, 768>>");
    return Layer::options_are_right;
  }
};

// The arguments of term k: tensor k.
constexpr arguments term(const arguments& in, std::size_t k) { return {in.taken + k, 1, in.constants()}; }
// The same tensors without the first `count`, and the first of them alone.
template <class T>
types::tensors<T> from(const types::tensors<T>& list, std::size_t count) {
  return {list.block, list.offsets + count, static_cast<tensor_set>(list.there >> count)};
}
template <class T>
types::tensors<T> only(const types::tensors<T>& list) {
  return {list.block, list.offsets, static_cast<tensor_set>(list.there & 1U)};
}

template <class L, std::size_t K>
struct term_of_sum {
  using layer = L;
  static constexpr tensor_list own = parameters_of_term<L>();
  static constexpr bool skips_gradients = requires { requires L::skips_gradients; };

  static constexpr tensor output(const arguments& in) {
    const tensor_list made(L::outputs(term(in, K)));
    return made[0];
  }
  static constexpr bool accepts(const arguments& in) {
    if constexpr (requires { L::accepts(in); }) return L::accepts(term(in, K));
    else return in[K].is_real();
  }
  static constexpr work flops(const arguments& in) {
    if constexpr (requires { L::flops(in); }) return L::flops(term(in, K));
    else return {output(in).size(), output(in).size(), output(in).size()};
  }
  // Appends its parameters by the names "K.weight" and so on.
  static constexpr void append(tensor_list& list) {
    for (std::size_t p = 0; p < own.count; ++p) {
      tensor named = own[p];
      named.name = std::string_view(names[p].data(), own[p].name.size() + 2);
      list.push_back(named);
    }
  }

private:
  static constexpr auto names = [] {
    std::array<std::array<char, 64>, tensor_list::most> out{};
    for (std::size_t p = 0; p < own.count; ++p) {
      out[p][0] = static_cast<char>('0' + K);
      out[p][1] = '.';
      std::copy(own[p].name.begin(), own[p].name.end(), out[p].begin() + 2);
    }
    return out;
  }();
};

} // namespace cairn::detail
