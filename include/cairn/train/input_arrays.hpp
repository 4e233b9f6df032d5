// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <tuple>
#include <type_traits>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/explain.hpp>
#include <cairn/core/pack.hpp>
#include <cairn/core/tensor.hpp>
#include <cairn/core/tensors.hpp>
#include <cairn/train/samples.hpp>
#include <cairn/train/wrong_arguments.hpp>

namespace cairn::detail {

struct stand_in_layer; // net/checked_network.hpp

// A reference to one of several arrays of any type. Nothing is copied.
struct input_array {
  const void* array = nullptr;
  const void* (*first)(const void*) = nullptr;
  std::size_t (*rows)(const void*, const shape& sample, std::size_t most, const char* where) = nullptr;

  template <numbers Array>
  static input_array of(const Array& array) {
    return {&array, [](const void* a) -> const void* { return first_number(*static_cast<const Array*>(a)); },
            [](const void* a, const shape& sample, std::size_t most, const char* where) {
              return count_rows(*static_cast<const Array*>(a), sample, most, where);
            }};
  }
};

// Several inputs of a step: see inputs().
template <class... Elements>
struct input_arrays {
  std::array<input_array, sizeof...(Elements)> arrays;
};

} // namespace cairn::detail

namespace cairn {

// The arrays of a step of a network that takes several tensors, in the order of its Inputs<...>, constants last:
// step(inputs(hidden, mask), targets). They are read in place, and have to live as long as the step.
template <detail::numbers... Arrays>
detail::input_arrays<detail::number_of<Arrays>...> inputs(const Arrays&... arrays) {
  return {{detail::input_array::of(arrays)...}};
}

} // namespace cairn

namespace cairn::detail {

// Calls f with the inputs of a loader: one view, or several as inputs(...).
template <class... Views, class F>
decltype(auto) with_inputs(const std::tuple<Views...>& several, F&& f) {
  return std::apply([&](const auto&... views) -> decltype(auto) { return f(inputs(views...)); }, several);
}
template <numbers View, class F>
decltype(auto) with_inputs(const View& one, F&& f) {
  return f(one);
}

// The element types of these inputs, one for each array; empty if the type is not one of inputs.
template <class Inputs>
struct array_types : type_of<pack<>> {};
template <numbers Inputs>
struct array_types<Inputs> : type_of<pack<number_of<Inputs>>> {};
template <class... Elements>
struct array_types<input_arrays<Elements...>> : type_of<pack<Elements...>> {};
template <numbers... Arrays> // a loader's batch.inputs
struct array_types<std::tuple<Arrays...>> : type_of<pack<number_of<Arrays>...>> {};

// The inputs of a step: one array of numbers, or several.
template <class Inputs>
concept step_inputs = (array_types<Inputs>::type::size > 0);

template <numbers Array>
input_arrays<number_of<Array>> as_arrays(const Array& array) {
  return inputs(array);
}
template <class... Elements>
const input_arrays<Elements...>& as_arrays(const input_arrays<Elements...>& all) {
  return all;
}
template <numbers... Arrays>
input_arrays<number_of<Arrays>...> as_arrays(const std::tuple<Arrays...>& all) {
  return std::apply([](const auto&... arrays) { return inputs(arrays...); }, all);
}

// Whether a plan is that of the stand-in network after an error (net/checked_network.hpp).
template <class Plan>
inline constexpr bool is_stand_in = std::is_same_v<typename Plan::elements, pack<stand_in_layer>>;

// The inputs that a network is given: checks them, and keeps where they are. Plan::inputs and Plan::constants list the
// expected ones.
template <class Plan, class T>
class taken_inputs {
public:
  using sum = accumulated<T>; // of tensors; constants are of T
  static constexpr std::size_t tensor_count = Plan::inputs.size();
  static constexpr std::size_t count = tensor_count + Plan::constants.size();

  // Returns the number of samples, which must be the same in every array, except in those that the whole batch shares.
  template <step_inputs Inputs>
  static std::size_t rows(const Inputs& given, std::size_t most, const char* where) {
    if constexpr (is_right<Inputs>()) {
      if constexpr (numbers<Inputs>) return count_rows(given, Plan::inputs[0].extents, most, where);
      else return count_all(as_arrays(given).arrays, most, where);
    } else {
      return 0; // there has been an error
    }
  }

  template <step_inputs Inputs>
  void take(const Inputs& given) {
    if constexpr (is_right<Inputs>()) {
      if constexpr (numbers<Inputs>) {
        tensors_ = {reinterpret_cast<const std::byte*>(first_number(given)), offsets_.data()};
      } else {
        const auto& all = as_arrays(given);
        std::array<const std::byte*, count> at{};
        for (std::size_t k = 0; k < count; ++k) at[k] = static_cast<const std::byte*>(all.arrays[k].first(all.arrays[k].array));
        tensors_ = {at[0], offsets_.data()};
        if constexpr (count > tensor_count) constants_ = {at[tensor_count], offsets_.data() + tensor_count};
        for (std::size_t k = 0; k < count; ++k)
          offsets_[k] =
              reinterpret_cast<std::uintptr_t>(at[k]) - reinterpret_cast<std::uintptr_t>(at[k < tensor_count ? 0 : tensor_count]);
      }
    }
  }

  // For a device that cannot read the program's arrays: copy() writes them to memory that the host can write, and
  // take_copied() takes them from the place where the device has them.
  static constexpr tensor_layout tensors_at{Plan::inputs, sizes_of<sum>, Plan::batch};
  static constexpr tensor_layout constants_at{Plan::constants, Plan::to.sizes, Plan::batch};
  static constexpr std::size_t bytes = tensors_at.size + constants_at.size;

  template <step_inputs Inputs>
  static void copy(const Inputs& given, std::size_t rows, std::byte* to) {
    if constexpr (is_right<Inputs>()) {
      const auto& all = as_arrays(given);
      for (std::size_t k = 0; k < count; ++k) {
        const auto* const from = static_cast<const std::byte*>(all.arrays[k].first(all.arrays[k].array));
        std::memcpy(to + place(k), from, expected(k).elements(rows) * sizes_at(k)[expected(k).type]);
      }
    }
  }
  // Calls put(first, bytes) for the bytes that copy() writes, in ascending order.
  template <class Put>
  static void each_copied(std::size_t rows, const Put& put) {
    for (std::size_t k = 0; k < count; ++k) put(place(k), expected(k).elements(rows) * sizes_at(k)[expected(k).type]);
  }
  void take_copied(const std::byte* at) {
    tensors_ = {at, tensors_at.offsets.data()};
    constants_ = {at + tensors_at.size, constants_at.offsets.data()};
  }

  tensors<const sum> tensors_taken() const { return tensors_; }
  tensors<const T> constants_taken() const { return constants_; }

private:
  static constexpr std::size_t place(std::size_t k) {
    return k < tensor_count ? tensors_at.offsets[k] : tensors_at.size + constants_at.offsets[k - tensor_count];
  }
  static constexpr const element_sizes& sizes_at(std::size_t k) { return k < tensor_count ? sizes_of<sum> : Plan::to.sizes; }
  static constexpr const tensor& expected(std::size_t k) {
    return k < tensor_count ? Plan::inputs[k] : Plan::constants[k - tensor_count];
  }
  template <std::size_t K>
  using element_of =
      std::conditional_t<expected(K).type == element::int32, std::int32_t, std::conditional_t<(K < tensor_count), sum, T>>;

  // Whether there are as many arrays as the network takes, each of the right type. If not, an error has been reported.
  template <class Inputs, class Types = typename array_types<Inputs>::type>
  static constexpr bool is_right() {
    if constexpr (is_stand_in<Plan>) return false; // there has been an error
    else {
      static_assert(Types::size == count,
                    "trainer: this network takes another number of arrays; write step(inputs(a, b, ...), targets) "
                    "with one for each tensor and each constant of its Inputs, in their order");
      if constexpr (Types::size == count) {
        using wrong = typename decltype(first_wrong<Types>())::type;
        return wrong::template right<wrong>();
      } else {
        return false;
      }
    }
  }
  template <class Types, std::size_t K = 0>
  static auto first_wrong() {
    if constexpr (K == count) return type_of<nothing_wrong>{};
    else if constexpr (std::is_same_v<pack_element<K, Types>, element_of<K>>) return first_wrong<Types, K + 1>();
    else return type_of<wrong_inputs<pack_element<K, Types>, element_of<K>>>{};
  }

  // Texts are made only for an error, so that a step allocates nothing.
  static std::size_t count_all(const std::array<input_array, count>& arrays, std::size_t most, const char* where) {
    std::size_t rows = 0;
    for (std::size_t k = 0; k < count; ++k) {
      const tensor& what = expected(k);
      std::size_t found = 0;
      try {
        found = arrays[k].rows(arrays[k].array, what.extents, what.per_batch ? 1 : most, where);
      } catch (const error& wrong) {
        throw input_error("array " + std::to_string(k) + " of " + wrong.what());
      }
      if (what.per_batch) continue;
      if (rows == 0) rows = found;
      if (found != rows)
        throw input_error("array " + std::to_string(k) + " of " + where + ": expected " + std::to_string(rows) +
                          " samples, as many as array 0 has, found " + std::to_string(found) +
                          "; every tensor and every constant has a row for each sample");
    }
    return rows;
  }

  tensors<const sum> tensors_{};
  tensors<const T> constants_{};
  std::array<std::size_t, count> offsets_{};
};

} // namespace cairn::detail
