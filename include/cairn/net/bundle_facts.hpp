// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <cairn/core/bundle.hpp>
#include <cairn/core/pack.hpp>
#include <cairn/layer/describe.hpp>
#include <cairn/layer/describe_bundle.hpp>
#include <cairn/net/bundle_shapes.hpp>
#include <cairn/net/composite.hpp>
#include <cairn/plan/chain.hpp>
#include <cairn/plan/fingerprint.hpp>

// What the blueprint of a chain whose values are bundles asks about its elements, where one of single tensors asks the
// layers themselves.
namespace cairn {

namespace detail {

constexpr const shape& first_shape(const shape& s) { return s; }
constexpr const shape& first_shape(const bundle& b) { return b.tensors[0]; }
constexpr std::size_t numbers_in(const shape& s) { return s.size(); }
constexpr std::size_t numbers_in(const bundle& b) { return b.numbers(); }

// What arrives at a block: all of a bundle if a layer of several tensors stands in it, else the first tensor.
template <class Block>
constexpr const shape& input_of_element(const shape& arrives) {
  return arrives;
}
template <class Block>
constexpr auto input_of_element(const bundle& arrives) {
  if constexpr (works_on_bundles<Block>()) return arrives;
  else return arrives.tensors[0];
}

template <class E>
constexpr parameter_list parameters_among_several(const bundle& in) {
  if constexpr (bundle_layer<E>) return described_bundle<E>::parameters(in);
  else return described<E>::parameters(in[0]);
}
template <class E>
constexpr parameter_list state_among_several(const bundle& in) {
  if constexpr (bundle_layer<E>) return described_bundle<E>::state(in);
  else return described<E>::state(in[0]);
}

// An element as a stage: its output has all tensors of the value, also those that went past it.
template <class E, class Block>
constexpr stage describe_among_several(const bundle& in, std::size_t element) {
  stage s{};
  if constexpr (composite<E>::is) s = Block::value;
  else if constexpr (bundle_layer<E>) s = describe_bundle<E>(in, element);
  else s = describe<E>(in[0], element);
  s.output = {bundle_rule_of<E>().output(in).numbers() * element, 0};
  return s;
}

// Where the tensors of each value lie: of value k, which stage k takes, and of the last.
template <std::size_t Elements, std::size_t Stages, std::size_t Order>
constexpr std::array<parts, Stages + 1> parts_of_values(const walked_bundles<Elements, Stages>& walked,
                                                        const std::array<std::uint32_t, Order>& order,
                                                        std::size_t element) {
  std::array<parts, Stages + 1> out{};
  for (std::size_t k = 0; k <= Stages; ++k) {
    const bundle& value = k < Stages ? walked.input[order[k]] : walked.output;
    for (std::size_t j = 0; j < value.size(); ++j) out[k].per_sample[j] = value[j].size() * element;
    out[k].gradients = walked.gradients[k];
  }
  return out;
}

constexpr void add_ends(hash64& h, const bundle& in, tensor_set used) {
  h.add(used).add(in.tensor_count).add(in.constant_count);
  for (const auto* const list : {&in.tensors, &in.constants})
    for (const shape& s : *list) {
      h.add(s.rank);
      for (std::size_t a = 0; a < s.rank; ++a) h.add(s[a]);
    }
}

// An element of a chain of bundles at run time.
struct bundle_facts {
  bundle input{};                               // the part of the value that it takes
  std::size_t arrives = 0;                      // how many tensors the value has
  std::size_t takes = 0;                        // ... of which it takes so many from the front
  std::size_t gives = 0;                        // ... and gives so many, before those that go past it
  std::array<std::size_t, most_tensors> past{}; // numbers of one sample of each tensor that goes past it
  std::array<tensor_set, 1U << most_tensors>
      uses{}; // which tensors of the input have a gradient, by those of the output
};

template <class E>
constexpr bundle_facts bundle_facts_of(const bundle& in) {
  constexpr bundle_rule rule = bundle_rule_of<E>();
  bundle_facts f{};
  f.arrives = in.size();
  f.takes = rule.takes(in);
  f.gives = rule.gives(in);
  f.input = in.front(f.takes);
  for (std::size_t j = f.takes; j < in.size(); ++j) f.past[j - f.takes] = in[j].size();
  for (std::size_t set = 0; set < f.uses.size(); ++set)
    f.uses[set] = static_cast<tensor_set>(rule.uses_of_value(in, static_cast<tensor_set>(set)) &
                                          first_tensors(most_tensors));
  return f;
}

} // namespace detail

} // namespace cairn
