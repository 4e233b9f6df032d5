// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <string>
#include <type_traits>

#include <cairn/core/config.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/explain.hpp>
#include <cairn/core/memory.hpp>
#include <cairn/core/view.hpp>
#include <cairn/ops/convert/convert.hpp>
#include <cairn/ops/elementwise/elementwise.hpp>
#include <cairn/ops/transfer/transfer.hpp>
#include <cairn/train/input_arrays.hpp>
#include <cairn/train/losses/taken_loss.hpp>
#include <cairn/train/network_outputs.hpp>
#include <cairn/train/samples.hpp>
#include <cairn/train/step/loss_scale_of_steps.hpp>
#include <cairn/train/step/training_step.hpp>

// The judges of a step make a loss and a gradient of its output. make_step() (training_step.hpp) needs these members:
// rows(inputs) checks all arguments and returns the number of samples. operator() puts ops on the queue that write the
// gradient of the output, and the loss if the judge has one. write(rows, bytes) copies targets to where ops can read them.
namespace cairn::detail {

struct own_loss_message {
  template <class Found>
  static constexpr bool right() {
    static_assert(is_right<Found>,
                  "trainer::step_by: expected a function that takes the outputs and their gradient and returns the loss: "
                  "double f(tensor_view<const T> outputs, tensor_view<T> gradient), where T is the trainer's element type, "
                  "float where that is one of 16 bits; see wrong_own_loss<function, T>");
    return false;
  }
};
template <class F, class T>
struct wrong_own_loss : own_loss_message {};

struct own_loss_of_all_message {
  template <class Found>
  static constexpr bool right() {
    static_assert(is_right<Found>,
                  "trainer::step_by: of a with_all_outputs expected a function that takes all outputs and their gradients and "
                  "returns the loss: double f(const std::array<tensor_view<const T>, N>& outputs, const "
                  "std::array<tensor_view<T>, N>& gradients), where T is the trainer's element type, float where that is one of "
                  "16 bits; see wrong_own_loss_of_all<function, T, N>");
    return false;
  }
};
template <class F, class T, std::size_t Outputs>
struct wrong_own_loss_of_all : own_loss_of_all_message {};

struct judged_by_first_message {
  template <class Trainer>
  static constexpr bool right() {
    static_assert(
        is_right<Trainer>,
        "trainer: step(), accumulate(), step_from() and accumulate_from() judge a network by its first output, and a "
        "with_all_outputs is judged by all; train it with multi::losses<...>, a loss for each output, or call step_by() "
        "or accumulate_by(), with a function of outputs and gradients, or leave with_all_outputs out; see "
        "judged_by_first<model>");
    return false;
  }
};
// A network that is trained by all outputs, with a step that uses the first only.
template <class Model>
struct judged_by_first : judged_by_first_message {};

struct whole_outputs_message {
  template <class Model>
  static constexpr bool right() {
    static_assert(is_right<Model>,
                  "trainer: forward(), step_from(), accumulate_from(), step_by() and accumulate_by() need the whole outputs of a "
                  "step, and a head_in_strips makes them in strips; write the layer alone, or call step() and accumulate(); see "
                  "whole_outputs<model>");
    return false;
  }
};
// A network whose outputs a step makes in strips, with a step that uses all of them.
template <class Model>
struct whole_outputs : whole_outputs_message {};

// x times a number that only the device knows.
template <class T>
struct times {
  const double* factor;
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline T operator()(T x) const { return static_cast<T>(*factor) * x; }
};

template <class Training>
struct judge {
  using types = typename Training::types;
  using plan = typename types::plan;
  using T = typename types::element;
  using sum = typename types::sum;
  static constexpr bool tells_loss = true;

  Training& t;

  auto& queue() const { return t.compute(); }
  // Copies numbers of the host to the gradient of output k. They are read when the queue gets there.
  void give(std::size_t count, T* gradient, const sum* given, std::size_t k = 0) const {
    if constexpr (is_narrow<T>) {
      sum* const there = t.replica.working().given_output(k);
      upload(queue(), count, there, given);
      scale(count, there);
      convert(queue(), count, gradient, static_cast<const sum*>(there));
    } else {
      upload(queue(), count, gradient, given);
      scale(count, gradient);
    }
  }
  // Multiplies a gradient of the program by the scale of the loss.
  void scale([[maybe_unused]] std::size_t count, [[maybe_unused]] sum* gradient) const {
    if constexpr (types::can_scale_loss)
      if (t.scales_loss())
        elementwise(queue(), count, times<sum>{loss_scale_for_ops(t)}, gradient, static_cast<const sum*>(gradient));
  }
};

// The trainer's loss and these targets.
template <class Training, class Targets>
struct judged_by_loss : judge<Training> {
  using base = judge<Training>;
  using typename base::plan, typename base::T, typename base::types;
  using loss_type = typename types::loss;

  const Targets& targets;

  template <step_inputs Inputs>
  std::size_t rows(const Inputs& inputs, const char* where = "trainer::step, inputs") const {
    const std::size_t rows = taken_inputs<plan, T>::rows(inputs, plan::batch, where);
    check_targets<loss_type, T>(base::t.options.loss, rows, targets, plan::output_shape, plan::batch);
    return rows;
  }
  std::size_t write(std::size_t rows, std::byte* to) const {
    const std::size_t bytes = rows * loss_type::targets_per_sample(plan::output_shape) * sizeof(target);
    std::memcpy(to, first_number(targets), bytes);
    return bytes;
  }
  void operator()(std::size_t rows, const T* output, T* gradient, const judged_at& at) const {
    const auto* const first = types::is_apart ? static_cast<const target*>(at.targets) : first_number(targets);
    take_loss(base::t.options.loss, base::queue(), rows, plan::output_shape, first, at, output, gradient);
  }
  // The same for a strip of the outputs, of which the gradient takes the place.
  void strip(const typename loss_in_strips<T>::strip& of, const judged_at& at) const {
    const auto* const first = types::is_apart ? static_cast<const target*>(at.targets) : first_number(targets);
    take_loss_of_strip<loss_type, T>(base::t.options.loss, base::queue(), of, first, at);
  }

private:
  using target = number_of<Targets>;
};

// A gradient that the program has computed.
template <class Training, class Gradient>
struct given_gradient : judge<Training> {
  using base = judge<Training>;
  using typename base::plan, typename base::T, typename base::sum, typename base::types;
  static constexpr bool tells_loss = false;

  const Gradient& given;

  template <step_inputs Inputs>
  std::size_t rows(const Inputs& inputs) const {
    static_assert(std::is_same_v<number_of<Gradient>, sum>,
                  "trainer::step_from: expected a gradient of the same type of numbers as the network's outputs");
    const std::size_t rows = taken_inputs<plan, T>::rows(inputs, plan::batch, "trainer::step_from, inputs");
    const std::size_t found = count_rows(given, plan::output_shape, plan::batch, "trainer::step_from, gradient");
    if (found != rows)
      throw input_error("trainer::step_from: expected the gradient of " + std::to_string(rows) +
                        " outputs, as many as there are inputs, found that of " + std::to_string(found));
    return rows;
  }
  std::size_t write(std::size_t, std::byte*) const { return 0; }
  // Waits for an asynchronous device, because the program's array may be gone when this returns.
  void operator()(std::size_t rows, const T*, T* gradient, const judged_at&) const {
    if constexpr (!std::is_same_v<number_of<Gradient>, sum>) return; // there has been an error
    else base::give(rows * plan::output_shape.size(), gradient, first_number(given));
    if constexpr (types::is_apart) base::t.waiting()(base::queue().record());
  }
};

// A function of the program, which reads the outputs and writes their gradients. It runs on the host, whatever the device, in
// the middle of the step; the device waits for it.
//
// The gradients may share the memory of the outputs, which the function may read at any time. So it writes to memory of its
// own, which is then copied to the device. The next use waits for that copy: it begins with a wait for later outputs.
template <class Training, class F>
struct judged_by_function : judge<Training> {
  using base = judge<Training>;
  using typename base::plan, typename base::T, typename base::sum, typename base::types;
  using shown = network_outputs<plan, T>;
  using read = typename shown::template given<tensor_view<const sum>>;
  using written = typename shown::template given<tensor_view<sum>>;
  // The layout of that memory: the loss, the gradients, and the outputs where the host cannot read the device's memory.
  static constexpr std::size_t gradients_at = alignment, outputs_at = gradients_at + shown::sums.size,
                               bytes = outputs_at + (types::is_apart ? shown::sums.size : 0);
  static constexpr bool is_right = requires(F& f, const read& outputs, const written& gradients) {
    { f(outputs, gradients) } -> std::convertible_to<double>;
  };
  using wrong = std::conditional_t<plan::all_outputs, wrong_own_loss_of_all<F, sum, shown::count>, wrong_own_loss<F, sum>>;

  F& function;

  template <step_inputs Inputs>
  std::size_t rows(const Inputs& inputs) const {
    if constexpr (!is_right) wrong::template right<wrong>();
    const std::size_t rows = taken_inputs<plan, T>::rows(inputs, plan::batch, "trainer::step_by, inputs");
    auto& memory = base::t.own_loss_memory;
    if (memory.size() == 0) memory = base::t.replica.device().staging(bytes);
    return rows;
  }
  std::size_t write(std::size_t, std::byte*) const { return 0; }
  void operator()(std::size_t rows, const T* output, T* gradient, const judged_at& at) const {
    std::byte* const memory = base::t.own_loss_memory.data();
    auto* const read_here = reinterpret_cast<sum*>(memory + outputs_at);
    std::array<tensor_view<const sum>, shown::count> outputs;
    std::array<tensor_view<sum>, shown::count> gradients;
    for (std::size_t k = 0; k < shown::count; ++k) {
      outputs[k] = base::t.replica.shown(shown::view(output, k, rows, shown::values), k);
      if constexpr (types::is_apart) {
        const tensor_view<sum> here = shown::view(read_here, k, rows, shown::sums);
        base::t.replica.fetch(here.size(), here.data(), outputs[k].data(), base::t.waiting());
        outputs[k] = here;
      }
      gradients[k] = shown::view(reinterpret_cast<sum*>(memory + gradients_at), k, rows, shown::sums);
      std::fill(gradients[k].begin(), gradients[k].end(), sum{0});
    }
    auto* const loss = reinterpret_cast<double*>(memory);
    const auto until_it_returns = base::t.replica.in_half_step();
    if constexpr (is_right) // else there has been an error
      *loss = static_cast<double>(function(shown::give(outputs), shown::give(gradients)));
    upload(base::queue(), 1, at.loss, static_cast<const double*>(loss));
    for (std::size_t k = 0; k < shown::count; ++k)
      base::give(gradients[k].size(), shown::view(gradient, k, rows, shown::values).data(), gradients[k].data(), k);
  }
};

// The judge of a trainer's loss; that of several losses is in judged_by_losses.hpp.
template <class Training, class Targets>
struct judge_of_targets : type_of<judged_by_loss<Training, Targets>> {};

// trainer.step(inputs, targets) with a watcher: see training_step.hpp.
template <class Training, step_inputs Inputs, class Targets, class Watch>
auto step_watched(Training& t, const Inputs& inputs, const Targets& targets, Watch& watch) {
  using judge_type = typename judge_of_targets<Training, Targets>::type;
  return make_step<step_kind::step>(t, inputs, judge_type{{t}, targets}, watch);
}

} // namespace cairn::detail
