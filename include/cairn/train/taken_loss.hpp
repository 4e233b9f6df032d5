// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>

#include <cairn/core/error.hpp>
#include <cairn/core/shape.hpp>
#include <cairn/train/checked_training.hpp>
#include <cairn/train/loss.hpp>
#include <cairn/train/samples.hpp>

namespace cairn::detail {

// The targets of a step, looked at before anything runs, so that a refusal leaves everything as it was: `each` numbers
// for every one of `rows` samples, of which there are at most `most`.
template <class Loss, class T, numbers Targets>
void check_targets(std::size_t rows, const Targets& targets, std::size_t each, std::size_t most) {
  if constexpr (!Loss::template takes<T, number_of<Targets>>) refuse<wrong_targets<Loss, number_of<Targets>>>();
  const std::size_t found = count_rows(targets, shape{each}, most, "trainer, targets");
  if (found != rows)
    throw input_error("trainer: expected targets for " + std::to_string(rows) + " samples, as many as there are inputs, found " +
                      std::to_string(found));
}

// The mean loss over `rows` outputs, and its derivative by them, unless that is null.
template <class Loss, class T, class Queue, numbers Targets>
double take_loss(const Loss& function, Queue& queue, std::size_t rows, const shape& output_shape, const Targets& targets,
                 const T* output, T* gradient) {
  using target = number_of<Targets>;
  double loss = 0;
  loss_call<T, target> call;
  call.rows = rows;
  call.output_shape = &output_shape;
  call.output = output;
  call.targets = first_number(targets);
  call.output_gradient = gradient;
  call.loss = &loss;
  if constexpr (Loss::template takes<T, target>) function.run(queue, call); // else there is an error
  return loss;
}

} // namespace cairn::detail
