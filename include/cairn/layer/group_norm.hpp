// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/fraction.hpp>
#include <cairn/layer/layer.hpp>
#include <cairn/ops/group_norm/group_norm.hpp>

namespace cairn::detail {

struct group_norm_message {
  template <class Layer>
  static constexpr bool right() {
    constexpr std::size_t groups = Layer::groups, channels = Layer::channels;
    static_assert(groups > 0 && channels > 0,
                  "GroupNorm: it needs at least one group and one channel; write GroupNorm<Groups, Channels>");
    static_assert(groups == 0 || channels % groups == 0,
                  "GroupNorm: the groups divide the channels, and their number must be a divisor; write GroupNorm<8, 64>");
    return Layer::options_are_right;
  }
};

} // namespace cairn::detail

namespace cairn {

// Every group of neighbouring channels of a sample gets mean 0 and variance 1 over its pixels, then a weight and a bias per
// channel, as torch.nn.GroupNorm(Groups, Channels, eps). An input of any rank whose last extent is Channels has as many
// pixels as rows. The weight starts as ones, the bias as zeros. GroupNorm<1, C> normalizes a whole sample, GroupNorm<C, C>
// each channel by itself.
template <std::size_t Groups, std::size_t Channels, auto Eps = fraction{1, 100000}>
struct GroupNorm : detail::group_norm_message {
  static constexpr std::size_t groups = Groups, channels = Channels;
  static constexpr bool options_are_right = Groups > 0 && Channels > 0 && Channels % (Groups > 0 ? Groups : 1) == 0;

  static constexpr double eps = static_cast<double>(Eps);
  static constexpr reads backward_reads = reads::input;
  static constexpr bool in_place = true;
  static constexpr bool skips_gradients = true;

  static constexpr bool accepts(const arguments& in) { return in[0].is_real() && in[0].rank() > 0 && in[0].last() == Channels; }
  static constexpr tensor outputs(const arguments& in) { return in[0]; }
  static constexpr tensor_list parameters(const arguments&) {
    return {{"weight", {Channels}, initial::constant(1)}, {"bias", {Channels}, initial::constant(0)}};
  }

  // Mean and 1 / deviation of each group. A forward whose tape is not kept has them in its workspace.
  static constexpr tensor_list tape(const arguments&) { return statistics; }
  static constexpr tensor_list workspace(const arguments&, pass why) {
    if (why == pass::evaluate) return statistics;
    return {};
  }

  // Sums of x and x^2 and the result are 8 operations an element; the gradients of the parameters are 5, of the input 10.
  static constexpr work flops(const arguments& in) { return {8 * in[0].size(), 15 * in[0].size(), 10 * in[0].size()}; }

  template <class T, detail::group_norm_runs_on<T> Queue>
  static void forward(Queue& queue, const forward_call<T>& call) {
    accumulated<T>* const found = call.tape ? call.tape.sums(0) : call.workspace.sums(0);
    group_norm_forward(queue, of(call), eps, call.outputs[0], found, call.inputs[0], call.parameters[0], call.parameters[1]);
  }

  template <class T, detail::group_norm_runs_on<T> Queue>
  static void backward(Queue& queue, const backward_call<T>& call) {
    group_norm_backward(queue, of(call), call.input_gradients[0], call.gradients[0], call.gradients[1], call.output_gradients[0],
                        call.inputs[0], call.tape.sums(0), call.parameters[0]);
  }

private:
  static constexpr tensor_list statistics = tensor{Groups, 2}.of(element::accumulated);

  template <class Call>
  static ops::channel_groups of(const Call& call) {
    return {call.rows, call.in(0).size() / Channels, Channels, Groups};
  }
};

} // namespace cairn
