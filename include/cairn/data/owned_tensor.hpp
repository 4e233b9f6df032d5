// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>

#include <cairn/core/rooms.hpp>
#include <cairn/core/shape.hpp>
#include <cairn/core/view.hpp>

namespace cairn::types {

// `rows` samples of one shape, contiguous, that own their memory: the result of an evaluation. It is read like a tensor_view
// and does not change, whatever the trainer does next. It can be moved, not copied.
template <class T>
class owned_tensor {
public:
  using value_type = T;

  owned_tensor() = default;
  // The elements have no value yet.
  owned_tensor(std::size_t rows, const shape& sample)
      : data_(std::make_unique_for_overwrite<T[]>(rows * sample.size())), rows_(rows), sample_shape_(sample) {}

  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  std::size_t rows() const { return rows_; }
  const shape& sample_shape() const { return sample_shape_; } // without the rows
  std::size_t size() const { return rows_ * sample_shape_.size(); }
  bool empty() const { return size() == 0; }

  const T* row(std::size_t index) const { return data() + index * sample_shape_.size(); }

  const T* begin() const { return data(); }
  const T* end() const { return data() + size(); }
  const T& operator[](std::size_t index) const { return data_[index]; } // counts elements, not rows

  // A view of a temporary tensor would dangle: give it a name first.
  operator tensor_view<const T>() const& { return {data(), rows_, sample_shape_}; }
  operator tensor_view<const T>() const&& = delete;

private:
  std::unique_ptr<T[]> data_;
  std::size_t rows_ = 0;
  shape sample_shape_{};
};

} // namespace cairn::types
