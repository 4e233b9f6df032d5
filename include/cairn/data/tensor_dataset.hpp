// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/core/shape.hpp>
#include <cairn/core/view.hpp>

namespace cairn {

// A dataset over the caller's memory, without a copy: row i of both views is sample i. The memory has to outlive
// it. Throws input_error where the views have different numbers of rows.
template <class Input, class Target>
class view_dataset {
public:
  using input_type = Input;
  using target_type = Target;

  view_dataset(tensor_view<const Input> inputs, tensor_view<const Target> targets)
      : inputs_(inputs), targets_(targets) {
    if (inputs.rows() != targets.rows())
      throw input_error("view_dataset: expected one row of targets for each of the " +
                  std::to_string(inputs.rows()) + " inputs, found " + std::to_string(targets.rows()) +
                  "; pass both for the same samples");
  }

  std::size_t size() const { return inputs_.rows(); }
  const shape& sample_shape() const { return inputs_.sample_shape(); }
  std::size_t targets_per_sample() const { return targets_.sample_shape().size(); }

  void read(std::size_t index, std::span<Input> input, std::span<Target> targets) const {
    std::copy_n(inputs_.row(index), input.size(), input.begin());
    std::copy_n(targets_.row(index), targets.size(), targets.begin());
  }

  tensor_view<const Input> inputs() const { return inputs_; }
  tensor_view<const Target> targets() const { return targets_; }

private:
  tensor_view<const Input> inputs_;
  tensor_view<const Target> targets_;
};

template <class Input, class Target>
view_dataset(tensor_view<Input>, tensor_view<Target>)
    -> view_dataset<std::remove_const_t<Input>, std::remove_const_t<Target>>;

// A dataset that owns its numbers, as torch's TensorDataset: inputs (samples, sample) and targets (samples,
// targets_per_sample), both row after row. Throws input_error where the lengths do not fit each other.
template <class Input, class Target>
class tensor_dataset {
public:
  using input_type = Input;
  using target_type = Target;

  tensor_dataset(const shape& sample, std::vector<Input> inputs, std::size_t targets_per_sample,
                 std::vector<Target> targets)
      : sample_shape_(sample), targets_per_sample_(targets_per_sample),
        size_(sample.size() == 0 ? 0 : inputs.size() / sample.size()), inputs_(std::move(inputs)),
        targets_(std::move(targets)) {
    if (sample.size() == 0 || inputs_.size() % sample.size() != 0)
      throw input_error("tensor_dataset: expected whole samples of " + std::to_string(sample.size()) +
                  " numbers, found " + std::to_string(inputs_.size()) + " numbers; check the sample shape");
    if (targets_.size() != size_ * targets_per_sample)
      throw input_error("tensor_dataset: expected " + std::to_string(targets_per_sample) + " targets for each of " +
                  std::to_string(size_) + " samples, found " + std::to_string(targets_.size()) +
                  " targets; pass both for the same samples");
  }

  std::size_t size() const { return size_; }
  const shape& sample_shape() const { return sample_shape_; }
  std::size_t targets_per_sample() const { return targets_per_sample_; }

  void read(std::size_t index, std::span<Input> input, std::span<Target> targets) const {
    std::copy_n(inputs_.data() + index * input.size(), input.size(), input.begin());
    std::copy_n(targets_.data() + index * targets.size(), targets.size(), targets.begin());
  }

  tensor_view<const Input> inputs() const { return {inputs_.data(), size_, sample_shape_}; }
  tensor_view<const Target> targets() const { return {targets_.data(), size_, shape{targets_per_sample_}}; }

private:
  shape sample_shape_;
  std::size_t targets_per_sample_;
  std::size_t size_;
  std::vector<Input> inputs_;
  std::vector<Target> targets_;
};

} // namespace cairn
