// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstddef>
#include <initializer_list>
#include <type_traits>
#include <utility>

#include <cairn/core/pack.hpp>
#include <cairn/core/tensor.hpp>
#include <cairn/layer/checked_layer.hpp>
#include <cairn/layer/layer_members.hpp>
#include <cairn/net/elements.hpp>
#include <cairn/net/fused_update.hpp>
#include <cairn/net/joint.hpp>
#include <cairn/net/made_of.hpp>
#include <cairn/net/walk.hpp>
#include <cairn/net/wrong_network.hpp>

// A network is checked before it is used: first each part by itself, then the values along it. The result is a type: the
// diagnostic of an error (core/explain.hpp), or nothing_wrong. A right network costs a few constants.

namespace cairn::detail {

template <class Body>
inline constexpr bool is_empty = flattened<Body>::stages == 0;

template <class Parts>
inline constexpr bool any_empty = false;
template <class... Parts>
inline constexpr bool any_empty<pack<Parts...>> = (is_empty<Parts> || ...);

// The index of the first fact that does not hold; their number if all hold.
constexpr std::size_t first_false(std::initializer_list<bool> facts) {
  std::size_t i = 0;
  for (const bool fact : facts) {
    if (!fact) break;
    ++i;
  }
  return i;
}

// Does Question hold for every part of a network? Question::layer<T> is asked for layers and for any type in a layer's place;
// Question::group<T> for everything that has parts, before its parts.
template <class Question, class Part, class Parts = typename made_of<Part>::parts>
inline constexpr bool holds = false;
template <class Question, class Part, class... Parts>
inline constexpr bool holds<Question, Part, pack<Parts...>> = [] {
  if constexpr (made_of<Part>::as == part_kind::layer) return Question::template layer<Part>;
  else if constexpr (!Question::template group<Part>) return false;
  else return first_false({true, holds<Question, Parts>...}) == sizeof...(Parts) + 1;
}();

// The first part for which Question does not hold.
template <class Question, class Part, class Parts = typename made_of<Part>::parts>
struct first_wrong;
template <class Question, class Part, class... Parts>
struct first_wrong<Question, Part, pack<Parts...>> {
  static auto find() {
    if constexpr (made_of<Part>::as == part_kind::layer) return type_of<Part>{};
    else if constexpr (!Question::template group<Part>) return type_of<Part>{};
    else return first_wrong<Question, pack_element<first_false({holds<Question, Parts>...}), pack<Parts...>>>::find();
  }
  using type = typename decltype(find())::type;
};

struct by_itself {
  template <class Part>
  static constexpr bool layer = right_layer<Part>;
  template <class Part>
  static constexpr bool group = [] {
    if constexpr (!made_of<Part>::is_right) return false;
    else return !is_block<Part> || !any_empty<typename made_of<Part>::parts>;
  }();
};

// The diagnostic of a part that is not right by itself.
template <class Part>
constexpr auto part_diagnostic() {
  if constexpr (made_of<Part>::as == part_kind::layer) return type_of<checked_layer<Part>>{};
  else if constexpr (!made_of<Part>::is_right) return type_of<typename made_of<Part>::wrong>{};
  else return type_of<typename made_of<Part>::empty>{};
}

// The values along a body that takes the tensors of In, a type with the lists `tensors` and `constants`.
template <class Body, class In, tensor_set Used, std::size_t Stages = no_fault>
constexpr auto shapes_along() {
  return walk<Body>::from(value_list(In::tensors), In::constants, Used, {}, nullptr, Stages);
}
template <class Body, class In, tensor_set Used = 1>
struct along {
  static constexpr auto value = shapes_along<Body, In, Used>();
};

// fits(): 1 if a network is right, 0 if something may be wrong along it, -1 if the compiler cannot evaluate it. One evaluation
// decides.
template <class Body, class In, tensor_set Used>
constexpr bool nothing_wrong_along() {
  const auto values = shapes_along<Body, In, Used>();
  return values.fault == no_fault && values.idle == no_fault && !values.idle_inside;
}
template <class Body, class In, tensor_set Used, bool Fits = nothing_wrong_along<Body, In, Used>()>
constexpr int fits(int) {
  return Fits ? 1 : 0;
}
template <class, class, tensor_set>
constexpr int fits(...) {
  return -1;
}
// Are all outputs real, with a gradient, one for each sample? This matters only where all of them are used.
template <class Body, class In, tensor_set Used>
constexpr bool judges_all_outputs() {
  if constexpr (Used != all_tensors) return true;
  else {
    const auto values = shapes_along<Body, In, Used>();
    for (const tensor& t : values.output())
      if (!t.is_real() || !t.has_gradient) return false;
    return true;
  }
}
template <class Body, class In, std::size_t Stages>
concept known_at_once = requires { typename std::bool_constant<(shapes_along<Body, In, 1, Stages>(), true)>; };

// The first layer whose shapes the compiler cannot evaluate.
template <class Body, class In, class Stages = std::make_index_sequence<flattened<Body>::stages>>
struct constant_diagnostic;
template <class Body, class In, std::size_t... Stages>
struct constant_diagnostic<Body, In, std::index_sequence<Stages...>> {
  static constexpr std::size_t position = first_false({known_at_once<Body, In, Stages + 1>...});
  using type = shape_at_run_time<position, pack_element<order_of<Body>()[position], typename flattened<Body>::elements>>;
};

// The first place where the values along a body do not fit, or a layer whose result is unused; nothing_wrong if there is none.
template <class Body, class In, tensor_set Used = 1>
struct value_diagnostic {
  static constexpr const auto& values = along<Body, In, Used>::value;
  using elements = typename flattened<Body>::elements;

  struct arriving {
    static constexpr value_list tensors = values.output(); // the walk stopped there
    static constexpr tensor_list constants = In::constants;
  };
  using produces = typename type_of_tensors<arriving>::type;

  template <std::size_t I>
  static auto producer_at() {
    if constexpr (I == no_fault) return type_of<network_input>{};
    else return type_of<pack_element<I, elements>>{};
  }
  using producer = typename decltype(producer_at<values.before_element>())::type;

  // If the element is a block, the fault is in its ends, in the joint before it, or further inside.
  template <class Block, std::size_t Index, class Chain>
  struct entering {
    static constexpr value_list given = value_of_chain<Block>(arriving::tensors, Index);
    static constexpr description taken = [] {
      description out{};
      describe_chain<Chain>(given, arriving::constants, out);
      return out;
    }();
    static constexpr value_list tensors{given, taken.accepts ? taken.takes : most_tensors};
    static constexpr tensor_list constants = In::constants;
  };
  template <class Enters, class Chain>
  struct leaving {
    static constexpr value_list tensors = along<Chain, Enters>::value.output();
    static constexpr tensor_list constants = In::constants;
  };
  template <class Block, class Here, class Chain, class... Others, class... Gives>
  static auto inside(pack<Chain, Others...>, pack<Gives...>) {
    using enters = entering<Block, sizeof...(Gives), Chain>;
    if constexpr (along<Chain, enters>::value.fault != no_fault) {
      if constexpr (along<Chain, enters>::value.fault == 0 && refuses_at_entrance<Chain, enters>()) return type_of<Here>{};
      else return type_of<typename value_diagnostic<Chain, enters>::type>{};
    } else {
      using gives = typename type_of_tensors<leaving<enters, Chain>>::type;
      if constexpr (sizeof...(Others) > 0) return inside<Block, Here>(pack<Others...>{}, pack<Gives..., gives>{});
      else
        return type_of<typename made_of<Block>::template wrong_ends<typename type_of_tensors<enters>::type, Gives..., gives>>{};
    }
  }
  // Does a chain refuse its input at once? Then the fault is the joint before it, not one inside.
  template <class Chain, class Enters>
  static constexpr bool refuses_at_entrance() {
    using first = pack_element<0, typename flattened<Chain>::elements>;
    if constexpr (along<Chain, Enters>::value.fault != 0) return false;
    else if constexpr (is_block<first>) return refuses_at_entrance<pack_element<0, typename made_of<first>::parts>, Enters>();
    else return true;
  }
  // The values fit, but a stage inside a block may be idle.
  template <std::size_t I>
  struct arriving_at {
    static constexpr value_list tensors{values.input(I), values.of[I].takes};
    static constexpr tensor_list constants = In::constants;
  };
  template <std::size_t I, class Chain, class... Others>
  static auto in_chains(pack<Chain, Others...>) {
    constexpr std::size_t chains = made_of<pack_element<I, elements>>::parts::size;
    constexpr tensor_set used = chains > 1 ? 1U : values.used[I] & first_tensors(values.of[I].gives);
    using found = typename value_diagnostic<Chain, arriving_at<I>, used>::type; // a block with its own values has no idle stages
    if constexpr (sizeof...(Others) == 0 || !std::is_same_v<found, nothing_wrong>) return type_of<found>{};
    else return in_chains<I>(pack<Others...>{});
  }
  template <std::size_t I>
  static auto in_block() {
    using element = pack_element<I, elements>;
    constexpr tensor_set made = with_gradient(values.of[I].after) & first_tensors(values.of[I].gives);
    if constexpr (is_block<element> && values.of[I].together && (values.used[I] & made) != made)
      return type_of<typename made_of<element>::unused_output>{};
    else if constexpr (is_block<element> && values.of[I].idle != 0) return in_chains<I>(typename made_of<element>::parts{});
    else return type_of<nothing_wrong>{};
  }
  template <std::size_t I, std::size_t... Others>
  static auto in_blocks(std::index_sequence<I, Others...>) {
    using found = typename decltype(in_block<I>())::type;
    if constexpr (sizeof...(Others) == 0 || !std::is_same_v<found, nothing_wrong>) return type_of<found>{};
    else return in_blocks(std::index_sequence<Others...>{});
  }
  template <std::size_t E>
  static auto idle_stage() {
    using stage = pack_element<E, elements>;
    constexpr tensor_set unused_ones = with_gradient(values.of[E].after) & first_tensors(values.of[E].gives);
    if constexpr (values.of[E].gives == 1) return type_of<unused<values.idle, stage>>{};
    else return type_of<unused_tensor<values.idle, std::size_t{std::countr_zero(unused_ones)}, stage>>{};
  }
  static auto diagnostic() {
    if constexpr (values.fault != no_fault) {
      using consumer = pack_element<values.fault_element, elements>;
      using here = joint<values.fault, producer, produces, consumer>;
      if constexpr (values.seen[values.fault_element])
        return type_of<repeated_joint<values.fault, producer, produces, consumer>>{};
      else if constexpr (is_block<consumer>) return inside<consumer, here>(typename made_of<consumer>::parts{}, pack<>{});
      else return type_of<here>{};
    } else if constexpr (values.idle != no_fault) {
      return idle_stage<order_of<Body>()[values.idle]>();
    } else if constexpr (values.idle_inside) {
      return in_blocks(std::make_index_sequence<elements::size>{});
    } else {
      return type_of<nothing_wrong>{};
    }
  }
  using type = typename decltype(diagnostic())::type;
};

template <class L>
concept knows_inputs = requires { L::inputs; };

// Does a layer take integers (tokens) only?
template <class L>
constexpr bool takes_integers_only() {
  const tensor_list none{};
  const tensor tokens = tensor(shape{2}).of(element::int32);
  const arguments in{&tokens, 1, none};
  if constexpr (requires { L::accepts(in); }) return L::accepts(in) && !accepts_shape<L>({2});
  else return false;
}

// The diagnostic of a whole network; nothing_wrong if it is right.
template <class Model, class Body = typename whole<Model>::body, tensor_set Used = whole<Model>::used_outputs>
struct network_diagnostic {
  template <class First>
  static auto without_inputs() {
    if constexpr (requires { requires takes_integers_only<First>(); }) return type_of<begins_with_integers<First>>{};
    else return type_of<begins_with<First>>{};
  }
  template <class Whole>
  static auto diagnostic() {
    if constexpr (!holds<by_itself, Whole>) return part_diagnostic<typename first_wrong<by_itself, Whole>::type>();
    else if constexpr (is_empty<Body>) return type_of<empty_network<Body>>{};
    else if constexpr (!knows_inputs<typename first_layer<Body>::type>) return without_inputs<typename first_layer<Body>::type>();
    else if constexpr (constexpr int fit = fits<Body, natural_input<Body>, Used>(0); fit < 0)
      return type_of<typename constant_diagnostic<Body, natural_input<Body>>::type>{};
    else if constexpr (fit == 0) return type_of<typename value_diagnostic<Body, natural_input<Body>, Used>::type>{};
    else if constexpr (!judges_all_outputs<Body, natural_input<Body>, Used>()) return type_of<output_without_gradient<Body>>{};
    else return type_of<nothing_wrong>{};
  }
  using type = typename decltype(diagnostic<Model>())::type;
};

template <class Model, class Body, tensor_set Used>
struct network_diagnostic<fused_update<Model>, Body, Used> : network_diagnostic<Model, Body, Used> {};

// Is a network right? If not, the compiler has reported an error.
template <class Model, class Diagnostic = typename network_diagnostic<Model>::type>
inline constexpr bool right_network = Diagnostic::template right<Diagnostic>();

// Replaces a wrong network after its error: one number in, one number out.
struct stand_in_layer {
  static constexpr tensor_list inputs{{1}};
  static constexpr reads backward_reads = reads::nothing;
  static constexpr tensor_list outputs(const arguments& in) { return {in[0]}; }

  template <class Queue, class T>
  static void forward(Queue&, const forward_call<T>&) {}
  template <class Queue, class T>
  static void backward(Queue&, const backward_call<T>&) {}
};

} // namespace cairn::detail
