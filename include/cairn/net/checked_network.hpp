// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include <cairn/core/pack.hpp>
#include <cairn/layer/checked_layer.hpp>
#include <cairn/net/bundle_shapes.hpp>
#include <cairn/net/composite.hpp>
#include <cairn/net/elements.hpp>
#include <cairn/net/parts.hpp>
#include <cairn/net/shapes.hpp>
#include <cairn/net/wrong_network.hpp>
#include <cairn/plan/checked_policy.hpp>

// A network is looked at before anything is made of it: first each part by itself, then the shapes along it. The answer is a
// type, the culprit of an error (core/explain.hpp) or nothing_wrong; a right network pays for a few constants.

namespace cairn::detail {

inline constexpr std::size_t no_fault = static_cast<std::size_t>(-1);

template <class Body>
inline constexpr bool is_empty = flattened<Body>::stages == 0;

// Is a block right, whatever stands in it or beside it?
template <class Block>
inline constexpr bool right_block = true;
template <std::size_t N, class Block>
inline constexpr bool right_block<Repeat<N, Block>> = N > 0;
template <class... Layers>
inline constexpr bool right_block<Residual<Layers...>> = !is_empty<Sequential<Layers...>>;
template <class Policy, class Net>
inline constexpr bool right_block<checkpoint<Policy, Net>> = checkpoint_policy<Policy> && !is_empty<Net>;

struct by_itself {
  template <class Part>
  static constexpr bool layer = bundle_layer<Part> || layer_fault_of<Part> == layer_fault::none;
  template <class Block>
  static constexpr bool block = right_block<Block>;
};

// The culprit that a part is which is not.
template <class Part>
struct part_culprit : type_of<checked_layer<Part>> {};
template <std::size_t N, class Block>
struct part_culprit<Repeat<N, Block>> : type_of<empty_repeat<Repeat<N, Block>>> {};
template <class... Layers>
struct part_culprit<Residual<Layers...>> : type_of<empty_residual<Residual<Layers...>>> {};
template <class Model>
struct part_culprit<fused_update<Model>> : type_of<misplaced_update<fused_update<Model>>> {};
template <class Policy, class Net>
struct part_culprit<checkpoint<Policy, Net>>
    : type_of<std::conditional_t<checkpoint_policy<Policy>, empty_checkpoint<checkpoint<Policy, Net>>,
                                 checked_policy<Policy, flattened<Net>::stages, policy_fault::no_plan>>> {};

// The shapes along a body that takes the shape In::value.
template <class Body, class In, std::size_t Stages = no_fault>
struct body_shapes {
  static constexpr auto value = shape_walk<Body, typename flattened<Body>::elements>::from(In::value, Stages);

  struct leaving {
    static constexpr shape value = body_shapes::value.output;
  };
};

// Can the compiler work out the shapes after so many stages?
template <class Body, class In, std::size_t Stages = no_fault>
concept shaped_at_once = requires {
  typename std::bool_constant<(shape_walk<Body, typename flattened<Body>::elements>::from(In::value, Stages),
                               true)>;
};

// Does a body not even accept what it is given? Then the joint is the one before it, not one inside.
template <class Body, class In>
constexpr bool refuses_at_entrance() {
  using first = pack_element<0, typename flattened<Body>::elements>;
  if constexpr (body_shapes<Body, In>::value.fault != 0) return false;
  else if constexpr (composite<first>::is) return refuses_at_entrance<typename composite<first>::body, In>();
  else return true;
}

// The first place where the shapes along a body stop to fit.
template <class Body, class In>
struct shape_culprit {
  static constexpr auto shapes = body_shapes<Body, In>::value;
  using elements = typename flattened<Body>::elements;

  struct arriving {
    static constexpr shape value = shapes.produced;
  };
  using produces = typename dims_of<arriving>::type;
  using consumer = pack_element<shapes.fault_element, elements>;

  template <std::size_t I>
  static auto producer_at() {
    if constexpr (I == no_fault) return type_of<network_input>{};
    else return type_of<pack_element<I, elements>>{};
  }
  using producer = typename decltype(producer_at<shapes.before_element>())::type;
  using here = joint<shapes.fault, producer, produces, consumer>;

  // The element is a block: the fault is that of its ends, the joint before it, or one further inside.
  template <class Inner, class Within = body_shapes<Inner, produces>>
  static auto inside() {
    if constexpr (Within::value.fault == no_fault)
      return type_of<residual_ends<consumer, produces, typename dims_of<typename Within::leaving>::type>>{};
    else if constexpr (refuses_at_entrance<Inner, produces>()) return type_of<here>{};
    else return type_of<typename shape_culprit<Inner, produces>::type>{};
  }
  template <class Consumer>
  static auto culprit() {
    if constexpr (shapes.seen[shapes.fault_element])
      return type_of<repeated_joint<shapes.fault, producer, produces, Consumer>>{};
    else if constexpr (composite<Consumer>::is) return inside<typename composite<Consumer>::body>();
    else return type_of<here>{};
  }
  using type = typename decltype(culprit<consumer>())::type;
};

// The layer at which the compiler stops to work out shapes.
template <class Body, class In, class Stages = std::make_index_sequence<flattened<Body>::stages>>
struct constant_culprit;
template <class Body, class In, std::size_t... Stages>
struct constant_culprit<Body, In, std::index_sequence<Stages...>> {
  static constexpr std::size_t position = first_false({shaped_at_once<Body, In, Stages + 1>...});
  using type =
      shape_at_run_time<position,
                        pack_element<order_of<Body>()[position], typename flattened<Body>::elements>>;
};

// The first place where the bundles along a body of layers of several tensors stop to fit, or where one works for nobody.
// In::value is what the body takes, In::used which of its outputs are used.
template <class Body, class In>
struct bundle_culprit {
  using elements = typename flattened<Body>::elements;
  static constexpr auto shapes = bundle_walk<Body, elements>::from(In::value, In::used);
  static constexpr bool fits = shapes.fault == no_fault;

  struct arriving {
    static constexpr bundle value = shapes.produced;
  };
  struct leaving {
    static constexpr bundle value = shapes.output;
  };
  struct first_arriving {
    static constexpr shape value = shapes.produced[0];
  };
  template <std::size_t I>
  static auto producer_at() {
    if constexpr (I == no_fault) return type_of<network_input>{};
    else return type_of<pack_element<I, elements>>{};
  }

  // The element is a block: the fault is that of its ends, the joint before it, or one further inside.
  template <class Consumer, class Here, class Produces>
  static auto inside() {
    using inner = typename composite<Consumer>::body;
    if constexpr (works_on_bundles<Consumer>()) {
      using within = bundle_culprit<inner, bundle_input<Produces, In::used>>;
      if constexpr (within::fits)
        return type_of<
            residual_ends<Consumer, Produces, typename bundle_type_of<typename within::leaving>::type>>{};
      else if constexpr (within::shapes.fault == 0) return type_of<Here>{};
      else return type_of<typename within::type>{};
    } else {
      using first = typename dims_of<first_arriving>::type;
      using within = body_shapes<inner, first>;
      if constexpr (within::value.fault == no_fault)
        return type_of<residual_ends<Consumer, first, typename dims_of<typename within::leaving>::type>>{};
      else if constexpr (refuses_at_entrance<inner, first>()) return type_of<Here>{};
      else return type_of<typename shape_culprit<inner, first>::type>{};
    }
  }
  static auto culprit() {
    if constexpr (!fits) {
      using consumer = pack_element<shapes.fault_element, elements>;
      using producer = typename decltype(producer_at<shapes.before_element>())::type;
      using produces = typename bundle_type_of<arriving>::type;
      using here = joint<shapes.fault, producer, produces, consumer>;
      if constexpr (shapes.seen[shapes.fault_element])
        return type_of<repeated_joint<shapes.fault, producer, produces, consumer>>{};
      else if constexpr (composite<consumer>::is) return inside<consumer, here, produces>();
      else return type_of<here>{};
    } else if constexpr (shapes.idle != no_fault) {
      return type_of<unused<shapes.idle, pack_element<order_of<Body>()[shapes.idle], elements>>>{};
    } else {
      return type_of<nothing_wrong>{};
    }
  }
  using type = typename decltype(culprit())::type;
};

template <class L>
concept knows_inputs = requires {
  L::input_shapes;
}
|| (layer<L> && requires { L::input_shape; });

// What is wrong with a whole network, if anything.
template <class Model, class Body = typename whole<Model>::body>
struct network_culprit {
  template <class In>
  static auto along() {
    if constexpr (!shaped_at_once<Body, In>) return type_of<typename constant_culprit<Body, In>::type>{};
    else if constexpr (body_shapes<Body, In>::value.fault != no_fault)
      return type_of<typename shape_culprit<Body, In>::type>{};
    else return type_of<nothing_wrong>{};
  }
  template <class Whole>
  static auto culprit() {
    if constexpr (!holds<by_itself, Whole>)
      return type_of<typename part_culprit<typename first_wrong<by_itself, Whole>::type>::type>{};
    else if constexpr (is_empty<Body>) return type_of<empty_network<Body>>{};
    else if constexpr (!knows_inputs<typename first_layer<Body>::type>)
      return type_of<begins_with<typename first_layer<Body>::type>>{};
    else if constexpr (works_on_bundles<Body>())
      return type_of<typename bundle_culprit<Body, typename input_ends<Body>::type>::type>{};
    else return along<typename dims_of<natural_input<Body>>::type>();
  }
  using type = typename decltype(culprit<Model>())::type;
};

template <class Model, class Body>
struct network_culprit<fused_update<Model>, Body> : network_culprit<Model> {};

// Is a network right? If not, there has been an error.
template <class Model, class Culprit = typename network_culprit<Model>::type>
inline constexpr bool right_network = Culprit::template right<Culprit>();

// What stands in for a network after its error: one number in, one number out.
struct stand_in_layer {
  static constexpr shape input_shape{1};
  static constexpr reads backward_reads = reads::nothing;
  static constexpr shape output_shape(const shape& in) { return in; }

  template <class Queue, class T>
  static void forward(Queue&, const forward_call<T>&) {}
  template <class Queue, class T>
  static void backward(Queue&, const backward_call<T>&) {}
};

} // namespace cairn::detail
