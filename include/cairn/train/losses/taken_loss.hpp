// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/explain.hpp>
#include <cairn/core/memory.hpp>
#include <cairn/core/shape.hpp>
#include <cairn/layer/loss_in_strips.hpp>
#include <cairn/ops/transfer/transfer.hpp>
#include <cairn/train/losses/loss.hpp>
#include <cairn/train/samples.hpp>
#include <cairn/train/wrong_arguments.hpp>

namespace cairn::detail {

// Checks the targets of a step before anything runs, so that an error changes nothing: as many as the loss wants for each of
// `rows` samples, and at most `most` samples.
template <class Loss, class T, numbers Targets>
void check_targets(const Loss& function, std::size_t rows, const Targets& targets, const shape& output, std::size_t most) {
  if constexpr (!Loss::template takes<T, number_of<Targets>>) refuse<wrong_targets<Loss, number_of<Targets>>>();
  const std::size_t found = count_rows(targets, shape{Loss::targets_per_sample(output)}, most, "trainer, targets");
  if (found != rows)
    throw input_error("trainer: expected targets for " + std::to_string(rows) + " samples, as many as there are inputs, found " +
                      std::to_string(found));
  if constexpr (requires { function.check_targets(first_number(targets), rows, output); })
    function.check_targets(first_number(targets), rows, output);
}

// The constants of a loss that its ops read, and their largest number.
template <class T, class Loss>
std::span<const T> constants_of(const Loss& function) {
  if constexpr (requires { function.template constants<T>(); }) return function.template constants<T>();
  else return {};
}
template <class Loss>
constexpr std::size_t most_constants(const shape& output) {
  if constexpr (requires { Loss::most_constants(output); }) return Loss::most_constants(output);
  else return 0;
}

// Writes the constants of a loss, if it has some, to memory that has room for `bytes`. Throws input_error if there are more.
template <class T, class Queue, class Loss>
bool send_constants(Queue& queue, std::byte* to, const Loss& function, std::size_t bytes) {
  const std::span<const T> numbers = constants_of<T>(function);
  if (numbers.empty()) return false;
  if (numbers.size_bytes() > bytes)
    throw input_error("trainer: expected a loss with at most " + std::to_string(bytes / sizeof(T)) +
                      " numbers of its own, found " + std::to_string(numbers.size()));
  upload(queue, numbers.size(), reinterpret_cast<T*>(to), numbers.data());
  return true;
}

// The memory that ops of a loss use: bytes for the targets of a batch, for the widest type of target, and for the constants. A
// loss that is several has its own (losses_of_heads.hpp).
template <class Plan, class Sum, class Loss>
struct judged_memory {
  static constexpr std::size_t targets_per_sample = Loss::targets_per_sample(Plan::output_shape);
  static constexpr std::size_t targets_of(std::size_t rows) {
    return align_up(rows * targets_per_sample * sizeof(std::uint64_t));
  }
  static constexpr std::size_t targets = targets_of(Plan::batch);
  static constexpr std::size_t constants = align_up(most_constants<Loss>(Plan::output_shape) * sizeof(Sum));

  // Returns whether an op was put on the queue.
  template <class Queue>
  static bool send(Queue& queue, std::byte* to, const Loss& function) {
    return send_constants<Sum>(queue, to, function, constants);
  }
};

// Memory that ops can access: the targets and the loss's constants, which they read, and the loss, which they write.
struct judged_at {
  const void* targets = nullptr;
  const void* constants = nullptr;
  double* loss = nullptr;
  const double* gradient_scale = nullptr; // null: 1
};

// Whether a loss multiplies its derivative by a scale.
template <class Loss>
concept scales_gradient = requires { requires Loss::scales_gradient; };

// Puts the loss of `rows` outputs on the queue, and its derivative by them unless `gradient` is null.
template <class Loss, class T, class Queue, class Target>
void take_loss(const Loss& function, Queue& queue, std::size_t rows, const shape& output_shape, const Target* targets,
               const judged_at& at, const T* output, T* gradient) {
  loss_call<T, Target> call;
  call.rows = rows;
  call.output_shape = &output_shape;
  call.output = output;
  call.targets = targets;
  call.output_gradient = gradient;
  call.loss = at.loss;
  call.constants = static_cast<const accumulated<T>*>(at.constants);
  call.gradient_scale = at.gradient_scale;
  if constexpr (Loss::template takes<T, Target>) function.run(queue, call); // else there is an error
}

// Puts the loss of a strip of the outputs on the queue, and its derivative in the place of the outputs. The targets are those of
// all rows.
template <class Loss, class T, class Queue, class Target>
void take_loss_of_strip(const Loss& function, Queue& queue, const typename loss_in_strips<T>::strip& of, const Target* targets,
                        const judged_at& at) {
  const shape row{of.columns};
  loss_call<T, Target> call;
  call.rows = of.rows;
  call.output_shape = &row;
  call.output = call.output_gradient = of.output;
  call.targets = targets;
  call.loss = at.loss;
  call.constants = static_cast<const accumulated<T>*>(at.constants);
  call.gradient_scale = at.gradient_scale;
  call.first_row = of.first;
  call.all_rows = of.all;
  if constexpr (Loss::template takes<T, Target>) function.run(queue, call); // else there is an error
}

} // namespace cairn::detail
