// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include <cairn/core/error.hpp>
#include <cairn/core/memory.hpp>
#include <cairn/core/pack.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/shape.hpp>
#include <cairn/core/view.hpp>
#include <cairn/data/input_types.hpp>

namespace cairn::types {

// A batch of a loader: views of the loader's memory, valid until the next batch is requested. Labels, one integer per sample,
// have the shape () of one number; other targets have one axis.
template <class Input, class Target>
struct minibatch {
  tensor_view<const Input> inputs;   // (rows, sample)
  tensor_view<const Target> targets; // (rows, targets)

  constexpr std::size_t rows() const { return inputs.rows(); }
};

// The same for samples with several inputs. A structured binding gets all of them and the targets:
//   for (const auto& [hidden, mask, labels] : batches) train.step(inputs(hidden, mask), labels);
template <class... Inputs, class Target>
struct minibatch<input_types<Inputs...>, Target> {
  std::tuple<tensor_view<const Inputs>...> inputs; // each (rows, its sample)
  tensor_view<const Target> targets;               // (rows, targets)

  constexpr std::size_t rows() const { return targets.rows(); }

  template <std::size_t K>
  constexpr const auto& get() const {
    if constexpr (K < sizeof...(Inputs)) return std::get<K>(inputs);
    else return targets;
  }
};

} // namespace cairn::types

template <class... Inputs, class Target>
struct std::tuple_size<cairn::types::minibatch<cairn::types::input_types<Inputs...>, Target>>
    : std::integral_constant<std::size_t, sizeof...(Inputs) + 1> {};
template <std::size_t K, class... Inputs, class Target>
struct std::tuple_element<K, cairn::types::minibatch<cairn::types::input_types<Inputs...>, Target>> {
  using type = cairn::tensor_view<const cairn::detail::pack_element<K, cairn::detail::pack<Inputs..., Target>>>;
};

namespace cairn::detail {

// Zeros at an aligned address; allocated once, when the loader is made.
template <class T>
class aligned_array {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

public:
  // For `rows` samples of a shape. Throws input_error if they do not fit into memory.
  aligned_array(std::size_t rows, const shape& sample) : count_(count_of(rows, sample)), data_(allocate(rows, sample, count_)) {
    std::uninitialized_value_construct_n(data_.get(), count_);
  }
  T* data() const { return data_.get(); }

private:
  struct release {
    void operator()(T* p) const { ::operator delete(p, std::align_val_t{alignment}); }
  };

  static std::size_t count_of(std::size_t rows, const shape& sample) {
    constexpr std::size_t most = std::numeric_limits<std::ptrdiff_t>::max() / sizeof(T) - alignment;
    std::size_t count = rows;
    bool fits = count <= most;
    for (std::size_t axis = 0; axis < sample.rank; ++axis) {
      if (sample[axis] == 0) return 0;
      fits = fits && count <= most / sample[axis];
      count *= sample[axis];
    }
    if (!fits) refuse_size(rows, sample, "more bytes than can be counted");
    return count;
  }
  static T* allocate(std::size_t rows, const shape& sample, std::size_t count) {
    const std::size_t bytes = align_up(count * sizeof(T));
    try {
      return static_cast<T*>(::operator new(bytes, std::align_val_t{alignment}));
    } catch (const std::bad_alloc&) {
      refuse_size(rows, sample, std::to_string(bytes) + " bytes");
    }
  }
  [[noreturn]] static void refuse_size(std::size_t rows, const shape& sample, const std::string& how_large) {
    std::string text = "loader: expected batches that fit into memory, found one of " + std::to_string(rows);
    text.append(" samples of shape (");
    for (std::size_t axis = 0; axis < sample.rank; ++axis)
      text.append(axis == 0 ? "" : ", ").append(std::to_string(sample[axis]));
    text.append("), ").append(how_large);
    throw input_error(text.append("; check the dataset's shapes, or take fewer rows: batch<N>, loader_options::rows"));
  }

  std::size_t count_;
  std::unique_ptr<T, release> data_;
};

// The memory of one batch. Input is a dataset's input_type.
template <class Input, class Target, class Elements = typename inputs_of<Input>::elements,
          class Positions = typename inputs_of<Input>::positions>
class batch_buffer;
template <class Input, class Target, class... Elements, std::size_t... K>
class batch_buffer<Input, Target, pack<Elements...>, std::index_sequence<K...>> {
public:
  batch_buffer(std::size_t rows, const input_shapes<Input>& samples, std::size_t targets)
      : samples_(samples), target_(std::integral<Target> && targets == 1 ? shape{} : shape{targets}),
        inputs_(aligned_array<Elements>(rows, samples[K])...), targets_(rows, target_) {}

  template <std::size_t I = 0>
  std::span<pack_element<I, pack<Elements...>>> input(std::size_t row) const {
    const std::size_t each = samples_[I].size();
    return {std::get<I>(inputs_).data() + row * each, each};
  }
  std::span<Target> targets(std::size_t row) const { return {targets_.data() + row * target_.size(), target_.size()}; }

  minibatch<Input, Target> view(std::size_t rows) const {
    return {{tensor_view<const Elements>(std::get<K>(inputs_).data(), rows, samples_[K])...}, {targets_.data(), rows, target_}};
  }

private:
  input_shapes<Input> samples_;
  shape target_;
  std::tuple<aligned_array<Elements>...> inputs_;
  aligned_array<Target> targets_;
};

} // namespace cairn::detail
