// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <type_traits>

#include <cairn/core/error.hpp>
#include <cairn/core/memory.hpp>
#include <cairn/core/shape.hpp>
#include <cairn/core/view.hpp>

namespace cairn {

// What a loader hands out: views of its own memory, valid until it is asked for the next batch.
// Labels, which are one integer a sample, have the shape () of one number; other targets have one axis.
template <class Input, class Target>
struct minibatch {
  tensor_view<const Input> inputs;   // (rows, sample)
  tensor_view<const Target> targets; // (rows, targets)

  constexpr std::size_t rows() const { return inputs.rows(); }
};

namespace detail {

// Zeros at an aligned address; allocated once, when the loader is made.
template <class T>
class aligned_array {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

public:
  explicit aligned_array(std::size_t count) : data_(allocate(count)) {
    std::uninitialized_value_construct_n(data_.get(), count);
  }
  T* data() const { return data_.get(); }

private:
  struct release {
    void operator()(T* p) const { ::operator delete (p, std::align_val_t{alignment}); }
  };

  static T* allocate(std::size_t count) {
    if (count > std::numeric_limits<std::size_t>::max() / sizeof(T) - alignment)
      throw input_error("loader: a batch of " + std::to_string(count) + " numbers is larger than any memory");
    return static_cast<T*>(::operator new (align_up(count * sizeof(T)), std::align_val_t{alignment}));
  }

  std::unique_ptr<T, release> data_;
};

// The memory of one batch, and how much of it is filled.
template <class Input, class Target>
class batch_buffer {
public:
  batch_buffer(std::size_t capacity, const shape& sample, std::size_t targets)
      : sample_(sample), target_(std::integral<Target> && targets == 1 ? shape{} : shape{targets}),
        inputs_(capacity * sample.size()), targets_(capacity * targets) {}

  Input* input(std::size_t row) const { return inputs_.data() + row * sample_.size(); }
  Target* targets(std::size_t row) const { return targets_.data() + row * target_.size(); }

  minibatch<Input, Target> view(std::size_t rows) const {
    return {{inputs_.data(), rows, sample_}, {targets_.data(), rows, target_}};
  }

private:
  shape sample_;
  shape target_;
  aligned_array<Input> inputs_;
  aligned_array<Target> targets_;
};

} // namespace detail
} // namespace cairn
