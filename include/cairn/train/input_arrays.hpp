// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <type_traits>

#include <cairn/core/bundle.hpp>
#include <cairn/core/error.hpp>
#include <cairn/net/lent_tensors.hpp>
#include <cairn/train/checked_training.hpp>
#include <cairn/train/samples.hpp>

namespace cairn {

namespace detail {

// One array among several, whatever its type: it stays where it is.
template <class T>
struct input_array {
  const void* array = nullptr;
  const T* (*first)(const void*) = nullptr;
  std::size_t (*rows)(const void*, std::size_t each, std::size_t most, const char* where) = nullptr;

  template <numbers Array>
  static input_array of(const Array& array) {
    constexpr bool same = std::is_same_v<number_of<Array>, T>;
    static_assert(
        same, "inputs: all arrays, constants too, have numbers of one type, the element type of the trainer");
    if constexpr (same)
      return {&array, [](const void* a) -> const T* { return first_number(*static_cast<const Array*>(a)); },
              [](const void* a, std::size_t each, std::size_t most, const char* where) {
                return count_rows(*static_cast<const Array*>(a), each, most, where);
              }};
    else return {};
  }
};

} // namespace detail

// What several inputs of a step are: see inputs().
template <class T, std::size_t Count>
struct input_arrays {
  std::array<detail::input_array<T>, Count> arrays;
};

// The arrays of a step of a network that takes several tensors, in the order of its Inputs<...>, constants last:
// step(inputs(hidden, mask), targets). They are read in place, and have to live as long as the step.
template <numbers First, numbers... Others>
input_arrays<number_of<First>, 1 + sizeof...(Others)> inputs(const First& first, const Others&... others) {
  using array = detail::input_array<number_of<First>>;
  return {{array::of(first), array::of(others)...}};
}

namespace detail {

// How many arrays these inputs are; 0 if they are none.
template <class Inputs>
inline constexpr std::size_t array_count = numbers<Inputs> ? 1 : 0;
template <class T, std::size_t Count>
inline constexpr std::size_t array_count<input_arrays<T, Count>> = Count;

} // namespace detail

// What a step takes: numbers, or several arrays of them.
template <class Inputs>
concept step_inputs = detail::array_count<Inputs> >
0;

namespace detail {

template <numbers Array>
input_arrays<number_of<Array>, 1> as_arrays(const Array& array) {
  return inputs(array);
}
template <class T, std::size_t Count>
const input_arrays<T, Count>& as_arrays(const input_arrays<T, Count>& all) {
  return all;
}

// How many samples the arrays of a bundle have: all as many. Names are made only for an error: a step allocates nothing.
template <class T, std::size_t Count>
std::size_t count_rows(const input_arrays<T, Count>& all, const bundle& shapes, std::size_t most,
                       const char* where) {
  std::size_t rows = 0;
  for (std::size_t k = 0; k < Count; ++k) {
    const bool is_tensor = k < shapes.size();
    const shape& each = is_tensor ? shapes[k] : shapes.constants[k - shapes.size()];
    std::size_t found = 0;
    try {
      found = all.arrays[k].rows(all.arrays[k].array, each.size(), most, where);
    } catch (const input_error& wrong) {
      throw input_error("array " + std::to_string(k) + " of " + wrong.what());
    }
    if (k == 0) rows = found;
    if (found != rows)
      throw input_error("array " + std::to_string(k) + " of " + where + ": expected " + std::to_string(rows) +
                  " samples, as many as array 0 has, found " + std::to_string(found) +
                  "; every tensor and every constant has a row for each sample");
  }
  return rows;
}

// The inputs that a network's trainer is given: checked, and where they are.
template <class Plan, class T>
struct taken_inputs {
  static constexpr bundle shapes = [] {
    if constexpr (Plan::several) return Plan::input_value;
    else return bundle{Plan::input_shape};
  }();
  static constexpr std::size_t count = shapes.size() + shapes.constant_count;

  lent_tensors<T> ends{}; // of several arrays, those of the last take()

  template <step_inputs Inputs>
  static std::size_t rows(const Inputs& inputs, std::size_t most, const char* where) {
    if constexpr (!Plan::several && numbers<Inputs>) {
      return count_rows(inputs, Plan::input_shape.size(), most, where);
    } else {
      static_assert(
          array_count<Inputs> == count,
          "trainer: this network takes another number of arrays; write step(inputs(a, b, ...), targets) "
          "with one for each dims<...> and each constant<...> of its Inputs, in their order");
      if constexpr (array_count<Inputs> == count) return count_rows(as_arrays(inputs), shapes, most, where);
      else return 0;
    }
  }

  // The first number of the first array.
  template <step_inputs Inputs>
  const T* take(const Inputs& inputs) {
    if constexpr (!Plan::several && numbers<Inputs>) {
      if constexpr (std::is_same_v<number_of<Inputs>, T>) return first_number(inputs);
      else return refuse<wrong_inputs<number_of<Inputs>, T>>(), nullptr;
    } else {
      const auto& all = as_arrays(inputs);
      static_assert(std::is_same_v<decltype(all.arrays[0].first(nullptr)), const T*>,
                    "trainer: inputs must have the trainer's element type");
      for (std::size_t k = 0; k < all.arrays.size(); ++k)
        (k < shapes.size() ? ends.inputs[k] : ends.constants[k - shapes.size()]) =
            all.arrays[k].first(all.arrays[k].array);
      return ends.inputs[0];
    }
  }
};

} // namespace detail

} // namespace cairn
