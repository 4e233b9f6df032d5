// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/tensor.hpp>
#include <cairn/layer/attention_constants.hpp>
#include <cairn/ops/attention/attention.hpp>

namespace cairn::detail {

// What the options of an attention of so many heads read: constants of the network, and random numbers. Its second tensor is the
// memory, if it has one.
template <class Options, std::size_t Heads, which_constant Which>
struct extras_of_attention {
  // Does an option read a constant that the network does not have?
  static constexpr bool lacks_constant(const arguments& in) {
    const std::size_t count = in.constants().size(), memory = in.size() - 1;
    if (Options::adds && in[0].rank() == 2 && in[memory].rank() == 2 && added(in) == count) return true;
    return Options::has_lengths && key_lengths_of(in, Which) == count;
  }

  // For a call; dropout is for training alone.
  template <class T, class Call>
  static ops::attention_extras<T> of(const Call& call, bool trains) {
    ops::attention_extras<T> out{};
    if constexpr (Options::adds) {
      const std::size_t k = added(*call.given);
      const tensor& mask = call.given->constants()[k];
      out.added = call.constants[k];
      out.added_sample_stride = mask.per_batch ? 0 : mask.size();
      out.added_head_stride = mask.rank() == 2 ? 0 : mask.size() / Heads;
    }
    if constexpr (Options::has_lengths) out.key_lengths = call.constants.integers(key_lengths_of(*call.given, Which));
    if (Options::drops && trains) {
      out.rate = Options::rate;
      out.random = call.random;
    }
    return out;
  }

private:
  static constexpr std::size_t added(const arguments& in) {
    return added_mask_of(Heads, in[0][0], in[in.size() - 1][0], in, Which);
  }
};

// Operations of the extras, for so many scores, forward; backward has as many.
template <class Options>
constexpr std::size_t flops_of_extras(std::size_t scores) {
  return (Options::drops ? 20 * scores : 0) + (Options::adds ? scores : 0);
}

} // namespace cairn::detail
