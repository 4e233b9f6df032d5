// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include <cairn/layer/layer.hpp>
#include <cairn/layer/term_of_sum.hpp>
#include <cairn/ops/add/add.hpp>

namespace cairn::detail {

template <class Places, class... Layers>
struct sum_of;
template <std::size_t... K, class... Layers>
struct sum_of<std::index_sequence<K...>, Layers...> : sum_message {
  static constexpr std::size_t takes = sizeof...(Layers);
  static constexpr bool options_are_right = are_terms<Layers...>();
  static constexpr reads backward_reads = std::max({reads::nothing, Layers::backward_reads...});
  static constexpr bool skips_gradients = (term_of_sum<Layers, K>::skips_gradients && ...);

  static constexpr bool accepts(const arguments& in) {
    if (!(term_of_sum<Layers, K>::accepts(in) && ...)) return false;
    const tensor first = outputs(in);
    return first.is_real() && ((term_of_sum<Layers, K>::output(in) == first) && ...);
  }
  static constexpr tensor outputs(const arguments& in) {
    const std::array<tensor, takes> all{term_of_sum<Layers, K>::output(in)...};
    return all[0];
  }
  static constexpr tensor_list parameters(const arguments&) {
    tensor_list list{};
    (term_of_sum<Layers, K>::append(list), ...);
    return list;
  }
  // A term that is not the first, before it is added.
  static constexpr tensor_list workspace(const arguments& in, pass why) {
    return why == pass::backward ? tensor_list{} : tensor_list{outputs(in)};
  }
  static constexpr work flops(const arguments& in) {
    work all{(takes - 1) * outputs(in).size(), 0, 0};
    for (const work& own : {term_of_sum<Layers, K>::flops(in)...})
      all = {all.forward + own.forward, all.backward + own.backward, all.input_gradient + own.input_gradient};
    return all;
  }

  template <class Queue, class T>
    requires(requires(Queue& queue, const forward_call<T>& own) { Layers::forward(queue, own); } && ...)
  static void forward(Queue& queue, const forward_call<T>& call) {
    const std::size_t count = call.rows * outputs(*call.given).size();
    std::size_t parameter = 0;
    const auto run = [&]<class Term>(Term, std::size_t k) {
      const arguments in = term(*call.given, k);
      forward_call<T> own = call;
      own.given = &in;
      own.inputs = from(call.inputs, k);
      own.parameters = from(call.parameters, parameter);
      own.outputs = k == 0 ? call.outputs : call.workspace;
      own.workspace = {};
      Term::layer::forward(queue, own);
      if (k > 0) add(queue, count, call.outputs[0], call.outputs[0], call.workspace[0]);
      parameter += Term::own.count;
    };
    (run(term_of_sum<Layers, K>{}, K), ...);
  }

  template <class Queue, class T>
    requires(requires(Queue& queue, const backward_call<T>& own) { Layers::backward(queue, own); } && ...)
  static void backward(Queue& queue, const backward_call<T>& call) {
    std::size_t parameter = 0;
    const auto run = [&]<class Term>(Term, std::size_t k) {
      const arguments in = term(*call.given, k);
      backward_call<T> own = call;
      own.given = &in;
      own.inputs = from(call.inputs, k);
      own.input_gradients = only(from(call.input_gradients, k));
      own.parameters = from(call.parameters, parameter);
      own.gradients = from(call.gradients, parameter);
      Term::layer::backward(queue, own);
      parameter += Term::own.count;
    };
    (run(term_of_sum<Layers, K>{}, K), ...);
  }
};

} // namespace cairn::detail

namespace cairn {

// The sum of what each layer makes of a tensor of its own: layer k takes tensor k, and all make tensors of one shape. BERT's
// words and segments are Sum<Embedding<30522, 768>, Embedding<2, 768>> after Inputs<integers<T>, integers<T>>; its positions are
// LearnedPositions<512, 768> after that. Parameters are named by their layer, such as "1.weight". The first is that of the first
// layer, and Tied<Linear<768, 30522>, Sum<...>> has it.
template <class... Layers>
struct Sum : detail::sum_of<std::index_sequence_for<Layers...>, Layers...> {};

} // namespace cairn
