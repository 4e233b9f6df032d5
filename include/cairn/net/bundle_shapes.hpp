// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <cairn/core/bundle.hpp>
#include <cairn/core/pack.hpp>
#include <cairn/layer/bundle_layer.hpp>
#include <cairn/layer/describe_bundle.hpp>
#include <cairn/net/composite.hpp>
#include <cairn/net/elements.hpp>
#include <cairn/net/shapes.hpp>

// The shapes along a chain whose stages hand several tensors to each other, and which of these have a gradient. A
// network of layers of one tensor never gets here: it is planned as if there were no other.
namespace cairn::detail {

template <class Elements>
struct any_bundle_layer;

// Does a layer of several tensors stand in it, at any depth?
template <class T>
constexpr bool works_on_bundles() {
  if constexpr (composite<T>::is) return works_on_bundles<typename composite<T>::body>();
  else if constexpr (layer<T>)
    return false; // asked first: for an ordinary network the answer is there already
  else if constexpr (std::is_same_v<typename flattened<T>::elements, pack<T>>) return bundle_layer<T>;
  else return any_bundle_layer<typename flattened<T>::elements>::value;
}

template <class... Elements>
struct any_bundle_layer<pack<Elements...>> {
  static constexpr bool value = [] {
    for (const bool one : {false, works_on_bundles<Elements>()...})
      if (one) return true;
    return false;
  }();
};

// Set by uses() where a layer makes nothing that has a gradient: it works for nobody.
inline constexpr tensor_set works_for_nobody = 0x80;

// How one element answers about bundles. It takes so many tensors from the front and gives so many; what is behind
// them goes past it.
struct bundle_rule {
  bool (*accepts)(const bundle&) = nullptr;
  bundle (*output)(const bundle&) = nullptr;
  std::size_t (*takes)(const bundle&) = nullptr;
  std::size_t (*gives)(const bundle&) = nullptr;
  // Which of the taken tensors have a gradient, if these of the given ones have one.
  tensor_set (*uses)(const bundle&, tensor_set) = nullptr;

  // The same for the whole value.
  constexpr tensor_set uses_of_value(const bundle& in, tensor_set outputs) const {
    const std::size_t taken = takes(in);
    const std::size_t given = gives(in);
    const auto own = static_cast<tensor_set>(outputs & first_tensors(given));
    if (own == 0) return works_for_nobody;
    const auto past = static_cast<tensor_set>((outputs >> given) << taken);
    return static_cast<tensor_set>(uses(in, own) | past);
  }
};

constexpr std::size_t one_tensor(const bundle&) { return 1; }
constexpr tensor_set same_tensors(const bundle&, tensor_set outputs) { return outputs; }

template <class Body>
constexpr bundle output_bundle_of(const bundle& in);
template <class Body>
constexpr tensor_set uses_of(const bundle& in, tensor_set outputs);
// Do all joints inside a block fit an input like this? If it adds its input, so do the first tensors at its ends.
template <class Body, bool AddsInput>
constexpr bool bundle_goes_through(const bundle& in);

template <class Element>
constexpr bundle_rule bundle_rule_of() {
  if constexpr (composite<Element>::is && works_on_bundles<Element>()) {
    using body = typename composite<Element>::body;
    // A residual block adds the first tensor of its input to the first of its output; the others are its layers'.
    constexpr bool adds = composite<Element>::as == role::residual;
    return {&bundle_goes_through<body, adds>, &output_bundle_of<body>,
            [](const bundle& in) { return in.size(); },
            [](const bundle& in) { return output_bundle_of<body>(in).size(); },
            [](const bundle& in, tensor_set outputs) {
              const tensor_set inside = uses_of<body>(in, outputs);
              return static_cast<tensor_set>(inside | (adds ? outputs & 1U : 0U));
            }};
  } else if constexpr (bundle_layer<Element>) {
    using facts = described_bundle<Element>;
    return {&facts::accepts, &facts::output_shapes, &facts::takes, &facts::gives, &facts::uses};
  } else { // what knows one tensor only works on the first
    return {[](const bundle& in) { return in.size() > 0 && rule_of<Element>().accepts(in[0]); },
            [](const bundle& in) { return in.with_front(1, bundle{rule_of<Element>().output(in[0])}); },
            &one_tensor, &one_tensor, &same_tensors};
  }
}

// The bundles along a chain, found by one loop up, and the gradients, found by one loop down.
template <std::size_t Elements, std::size_t Stages>
struct walked_bundles : walked<bundle, Elements> {
  std::array<tensor_set, Stages + 1> gradients{};  // which tensors of value k have one
  std::array<tensor_set, Elements + 1> used{};     // which outputs of an element have one, wherever it stands
  std::size_t idle = static_cast<std::size_t>(-1); // the last stage that works for nobody
};

template <class Body, class Elements>
struct bundle_walk;
template <class Body, class... Elements>
struct bundle_walk<Body, pack<Elements...>> {
  static constexpr std::size_t size = sizeof...(Elements);
  static constexpr std::size_t stages = flattened<Body>::stages;
  static constexpr std::array<bundle_rule, size + 1> rules{bundle_rule_of<Elements>()..., bundle_rule{}};

  // `used`: which tensors of the chain's output have a gradient.
  static constexpr walked_bundles<size, stages> from(const bundle& in, tensor_set used) {
    constexpr auto order = order_of<Body>();
    walked_bundles<size, stages> out{};
    walk_up<bundle, size>(rules.data(), order.data(), stages, in, out);
    if (out.fault != static_cast<std::size_t>(-1)) return out;
    out.gradients[stages] = used;
    for (std::size_t i = stages; i-- > 0;) {
      const std::size_t e = order[i];
      const tensor_set outputs = out.gradients[i + 1];
      const tensor_set inputs = rules[e].uses_of_value(out.input[e], outputs);
      if ((inputs & works_for_nobody) != 0 && out.idle == static_cast<std::size_t>(-1)) out.idle = i;
      out.gradients[i] = static_cast<tensor_set>(inputs & first_tensors(most_tensors));
      out.used[e] = static_cast<tensor_set>(out.used[e] | outputs);
    }
    return out;
  }
};

template <class Body>
constexpr bundle output_bundle_of(const bundle& in) {
  return bundle_walk<Body, typename flattened<Body>::elements>::from(in, 1).output;
}
template <class Body>
constexpr tensor_set uses_of(const bundle& in, tensor_set outputs) {
  const auto walked = bundle_walk<Body, typename flattened<Body>::elements>::from(in, outputs);
  const bool idle = walked.idle != static_cast<std::size_t>(-1);
  return static_cast<tensor_set>(walked.gradients[0] | (idle ? works_for_nobody : 0U));
}
template <class Body, bool AddsInput>
constexpr bool bundle_goes_through(const bundle& in) {
  if (in.size() == 0) return false;
  const auto walked = bundle_walk<Body, typename flattened<Body>::elements>::from(in, 1);
  return walked.fault == static_cast<std::size_t>(-1) &&
         (!AddsInput || (walked.output.size() > 0 && walked.output[0] == in[0]));
}

// A bundle that is a constant, as a type. Source::value is the bundle.
template <class Source, class = std::make_index_sequence<Source::value.tensor_count>,
          class = std::make_index_sequence<Source::value.constant_count>>
struct bundle_type_of;
template <class Source, std::size_t... Tensors, std::size_t... Constants>
struct bundle_type_of<Source, std::index_sequence<Tensors...>, std::index_sequence<Constants...>> {
  template <std::size_t K>
  struct tensor {
    static constexpr shape value = Source::value.tensors[K];
  };
  template <std::size_t K, class = std::make_index_sequence<Source::value.constants[K].rank>>
  struct constant_at;
  template <std::size_t K, std::size_t... Axes>
  struct constant_at<K, std::index_sequence<Axes...>> {
    using type = constant<Source::value.constants[K][Axes]...>;
  };
  using type =
      bundle_of<typename dims_of<tensor<Tensors>>::type..., typename constant_at<Constants>::type...>;
};

// What stands at the ends of a chain of bundles: what it takes, and which of its outputs have a gradient. It takes the
// place that dims<...> has in the blueprint of a chain of single tensors.
template <class Bundle, unsigned Used>
struct bundle_input {
  static constexpr bundle value = Bundle::value;
  static constexpr tensor_set used = static_cast<tensor_set>(Used);
};
template <class In>
inline constexpr bool has_bundle_input = requires {
  In::used;
};

// The bundle that a network takes, as its first layer knows it.
template <class Body>
constexpr bundle natural_bundle() {
  using first = typename first_layer<Body>::type;
  if constexpr (bundle_layer<first>) return first::input_shapes;
  else return bundle{natural_input<Body>::value};
}

// What the blueprint of a whole network starts from: dims<...> as long as every layer has one tensor.
template <class Body, bool Several = works_on_bundles<Body>()>
struct input_ends {
  using type = typename dims_of<natural_input<Body>>::type;
};
template <class Body>
struct input_ends<Body, true> {
  static constexpr bundle value = natural_bundle<Body>();
  // A loss compares the first tensor of the output, and uses no other.
  using type = bundle_input<typename bundle_type_of<input_ends>::type, 1>;
};

} // namespace cairn::detail
