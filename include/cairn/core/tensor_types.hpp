// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <utility>

#include <cairn/core/shape.hpp>
#include <cairn/core/tensor.hpp>

// Descriptions of tensors as types, as users write them and as errors show them. dims<64> (core/shape.hpp) is a tensor of the
// network's T.
namespace cairn {

// A tensor of integers: tokens, labels.
template <std::size_t... Extents>
struct integers {
  static constexpr tensor value = tensor(shape{Extents...}).of(element::int32);
};

// A constant of a network, which every layer sees and which has no gradient: one for each sample ...
template <std::size_t... Extents>
struct constant {
  static constexpr tensor value = tensor(shape{Extents...}).constant();
};
// ... or one for the whole batch.
template <std::size_t... Extents>
struct batch_constant {
  static constexpr tensor value = tensor(shape{Extents...}).constant().once();
};
// The same of integers, such as the lengths of sequences: integer_constant<> is one integer for each sample.
template <std::size_t... Extents>
struct integer_constant {
  static constexpr tensor value = integers<Extents...>::value;
};
template <std::size_t... Extents>
struct batch_integer_constant {
  static constexpr tensor value = integers<Extents...>::value.once();
};

} // namespace cairn

namespace cairn::detail {

// Any other tensor that layers hand on.
template <element Type, bool PerBatch, bool HasGradient, std::size_t... Extents>
struct other_tensor {
  static constexpr tensor value = [] {
    tensor out = tensor(shape{Extents...}).of(Type);
    out.per_batch = PerBatch;
    out.has_gradient = HasGradient;
    return out;
  }();
};

template <class>
inline constexpr int kind_of_tensor = 0; // none
template <std::size_t... Extents>
inline constexpr int kind_of_tensor<dims<Extents...>> = 1;
template <std::size_t... Extents>
inline constexpr int kind_of_tensor<integers<Extents...>> = 1;
template <element Type, bool PerBatch, bool HasGradient, std::size_t... Extents>
inline constexpr int kind_of_tensor<other_tensor<Type, PerBatch, HasGradient, Extents...>> = 1;
template <std::size_t... Extents>
inline constexpr int kind_of_tensor<constant<Extents...>> = 2;
template <std::size_t... Extents>
inline constexpr int kind_of_tensor<batch_constant<Extents...>> = 2;
template <std::size_t... Extents>
inline constexpr int kind_of_tensor<integer_constant<Extents...>> = 2;
template <std::size_t... Extents>
inline constexpr int kind_of_tensor<batch_integer_constant<Extents...>> = 2;

// The tensors of a value and the constants of its network, tensors first: tensors_of<dims<64>, dims<8>, constant<64>>.
template <class... Types>
struct tensors_of {
  static_assert(((kind_of_tensor<Types> != 0) && ...),
                "a tensor is typed dims<extents...>, one of integers integers<extents...>, one without a gradient "
                "constant<extents...> or batch_constant<extents...>, one of integers that every layer sees "
                "integer_constant<extents...> or batch_integer_constant<extents...>");

  static constexpr tensor_list list(int kind) {
    tensor_list out{};
    ((kind_of_tensor<Types> == kind ? out.push_back(Types::value) : void()), ...);
    return out;
  }
  static constexpr tensor_list tensors = list(1);
  static constexpr tensor_list constants = list(2);
  static constexpr bool in_order = [] {
    int before = 1;
    for (const int kind : {1, kind_of_tensor<Types>...}) {
      if (kind < before) return false;
      before = kind;
    }
    return true;
  }();
};
template <std::size_t... Extents>
struct tensors_of<dims<Extents...>> {
  static constexpr tensor_list tensors{tensor(shape{Extents...})};
  static constexpr tensor_list constants{};
  static constexpr bool in_order = true;
};

// The type of a constant description. Source::value is the tensor.
template <class Source, bool IsConstant = false, class = std::make_index_sequence<Source::value.extents.rank>>
struct tensor_type;
template <class Source, bool IsConstant, std::size_t... Axes>
struct tensor_type<Source, IsConstant, std::index_sequence<Axes...>> {
  static auto choose() {
    constexpr tensor t = Source::value;
    constexpr bool is_int = t.type == element::int32;
    if constexpr (IsConstant && is_int && t.per_batch) return batch_integer_constant<t[Axes]...>{};
    else if constexpr (IsConstant && is_int) return integer_constant<t[Axes]...>{};
    else if constexpr (IsConstant && t.per_batch) return batch_constant<t[Axes]...>{};
    else if constexpr (IsConstant) return constant<t[Axes]...>{};
    else if constexpr (t == integers<t[Axes]...>::value) return integers<t[Axes]...>{};
    else if constexpr (t == tensor(dims<t[Axes]...>::value)) return dims<t[Axes]...>{};
    else return other_tensor<t.type, t.per_batch, t.has_gradient, t[Axes]...>{};
  }
  using type = decltype(choose());
};

// The type of a value and the constants of its network; just dims<...> if that is all. Source::tensors and Source::constants
// are the lists.
template <class Source, class = std::make_index_sequence<Source::tensors.count>,
          class = std::make_index_sequence<Source::constants.count>>
struct type_of_tensors;
template <class Source, std::size_t... Tensors, std::size_t... Constants>
struct type_of_tensors<Source, std::index_sequence<Tensors...>, std::index_sequence<Constants...>> {
  template <std::size_t K>
  struct at {
    static constexpr tensor value = Source::tensors[K];
  };
  template <std::size_t K>
  struct constant_at {
    static constexpr tensor value = Source::constants[K];
  };
  template <class... Types>
  struct list {
    using type = tensors_of<Types...>;
  };
  template <std::size_t... Extents>
  struct list<dims<Extents...>> {
    using type = dims<Extents...>;
  };
  using type = typename list<typename tensor_type<at<Tensors>>::type...,
                             typename tensor_type<constant_at<Constants>, true>::type...>::type;
};

// The lists that such a type stands for.
template <class Type>
struct value_of_type : tensors_of<Type> {};
template <class... Types>
struct value_of_type<tensors_of<Types...>> : tensors_of<Types...> {};

} // namespace cairn::detail
