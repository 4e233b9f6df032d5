// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include <cairn/core/config.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/explain.hpp>
#include <cairn/core/memory.hpp>
#include <cairn/core/view.hpp>
#include <cairn/data/owned_tensor.hpp>
#include <cairn/ops/elementwise/elementwise.hpp>
#include <cairn/train/losses/losses_of_heads.hpp>
#include <cairn/train/network_outputs.hpp>
#include <cairn/train/step/judges.hpp>
#include <cairn/train/target_arrays.hpp>

namespace cairn::detail {

struct target_count_message {
  template <class Wrong>
  static constexpr bool right() {
    static_assert(is_right<Wrong>,
                  "trainer: multi::losses take an array of targets for each loss, in their order: write step(inputs, "
                  "multi::targets(labels, boxes)); see wrong_number_of_targets<found, expected>");
    return false;
  }
};
template <std::size_t Found, std::size_t Expected>
struct wrong_number_of_targets : target_count_message {};

CAIRN_KERNELS_BEGIN

// The sum of numbers that only the device knows, each times its weight, in their order. Its argument is the first of them.
struct sum_of_heads {
  const double *numbers, *weights;
  std::size_t count;
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline double operator()(double first) const {
    double sum = weights[0] * first;
    for (std::size_t k = 1; k < count; ++k) sum += weights[k] * numbers[k];
    return sum;
  }
};

CAIRN_KERNELS_END

// The trainer's losses, one for each output, and their targets.
template <class Training, class Targets>
struct judged_by_losses : judge<Training> {
  using base = judge<Training>;
  using typename base::plan, typename base::T, typename base::sum, typename base::types;
  using loss_type = typename types::loss;
  using memory = typename types::judged;
  using shown = network_outputs<plan, T>;
  using tuple = std::remove_cvref_t<decltype(target_tuple(std::declval<const Targets&>()))>;
  static constexpr std::size_t heads = loss_type::count;
  static constexpr bool is_right = std::tuple_size_v<tuple> == heads;

  const Targets& targets;

  template <step_inputs Inputs>
  std::size_t rows(const Inputs& inputs, const char* where = "trainer::step, inputs") const {
    const std::size_t rows = taken_inputs<plan, T>::rows(inputs, plan::batch, where);
    if constexpr (!is_right) refuse<wrong_number_of_targets<std::tuple_size_v<tuple>, heads>>();
    else
      each_head<heads>([&](auto k) {
        try {
          check_targets<loss<k>, T>(std::get<k>(losses()), rows, given<k>(), memory::template output<k>, plan::batch);
        } catch (const error& wrong) { // a text is made only for an error
          throw input_error("head " + std::to_string(k) + " of " + wrong.what());
        }
      });
    return rows;
  }
  // The targets of one head after those of the other, each aligned.
  std::size_t write(std::size_t rows, std::byte* to) const {
    std::size_t at = 0;
    if constexpr (is_right)
      each_head<heads>([&](auto k) {
        const std::size_t bytes = bytes_of<k>(rows);
        std::memcpy(to + at, first_number(given<k>()), bytes);
        std::memset(to + at + bytes, 0, align_up(bytes) - bytes);
        at += align_up(bytes);
      });
    return at;
  }
  void operator()(std::size_t rows, const T* output, T* gradient, const judged_at& at) const {
    if constexpr (is_right) { // else there has been an error
      std::byte* const own = base::t.loss_constants.data();
      auto* const parts = reinterpret_cast<double*>(own + memory::losses_at);
      auto* const weights = reinterpret_cast<double*>(own + memory::weights_at);
      auto* const scales = reinterpret_cast<double*>(own + memory::scales_at);
      std::size_t targets_at = 0;
      each_head<heads>([&](auto k) {
        const loss<k>& function = std::get<k>(losses());
        const std::size_t first = shown::values.offsets[k] / sizeof(T);
        judged_at here{.loss = parts + k};
        const auto* numbers = first_number(given<k>());
        if constexpr (types::is_apart)
          numbers = reinterpret_cast<decltype(numbers)>(static_cast<const std::byte*>(at.targets) + targets_at);
        if (!constants_of<sum>(function).empty()) here.constants = own + memory::constants_at[k];
        const double* factor = base::t.options.loss.weights[k] == 1 ? at.gradient_scale : weights + k;
        if (factor != at.gradient_scale && at.gradient_scale != nullptr && gradient != nullptr) {
          elementwise(base::queue(), 1, times<double>{at.gradient_scale}, scales + k, static_cast<const double*>(weights + k));
          factor = scales + k;
        }
        if constexpr (scales_gradient<loss<k>>) here.gradient_scale = factor;
        T* const its_gradient = gradient == nullptr ? nullptr : gradient + first;
        take_loss(function, base::queue(), rows, memory::template output<k>, numbers, here, output + first, its_gradient);
        if constexpr (!scales_gradient<loss<k>>)
          if (factor != nullptr && gradient != nullptr)
            elementwise(base::queue(), rows * memory::template output<k>.size(), times<T>{factor}, its_gradient,
                        static_cast<const T*>(its_gradient));
        targets_at += align_up(bytes_of<k>(rows));
      });
      elementwise(base::queue(), 1, sum_of_heads{parts, weights, heads}, at.loss, static_cast<const double*>(parts));
    }
  }

private:
  template <std::size_t K>
  using loss = typename memory::template loss<K>;

  const auto& losses() const { return base::t.options.loss.each; }
  template <std::size_t K>
  const auto& given() const {
    return std::get<K>(target_tuple(targets));
  }
  template <std::size_t K>
  std::size_t bytes_of(std::size_t rows) const {
    return rows * loss<K>::targets_per_sample(memory::template output<K>) * sizeof(number_of<std::tuple_element_t<K, tuple>>);
  }
};

// The judge of a trainer's loss, which is one or several.
template <class Training, class Targets>
  requires are_losses<typename Training::types::loss>
struct judge_of_targets<Training, Targets> : type_of<judged_by_losses<Training, Targets>> {};

// What a trainer with this loss takes as targets.
template <class Targets, class Loss>
concept targets_of = numbers<Targets> || (are_losses<Loss> && step_targets<Targets>);

// The loss of each head that the queue was told to write last, when it is known.
template <class Training>
std::array<double, Training::types::loss::count> losses_of_heads(Training& t) {
  std::array<double, Training::types::loss::count> all{};
  const auto* const there = reinterpret_cast<const double*>(t.loss_constants.data() + Training::types::judged::losses_at);
  t.replica.fetch(all.size(), all.data(), there, t.waiting());
  return all;
}

// Calls f(outputs, losses) with the outputs of all heads after an evaluation, as arrays in memory that the host can read.
template <class Training, class F>
void show_heads(Training& t, std::size_t rows, const typename Training::T* made, double loss, F& f) {
  using sum = typename Training::sum;
  using shown = network_outputs<typename Training::plan, typename Training::T>;
  const loss_of_heads<shown::count> losses{loss, losses_of_heads(t)};
  std::array<tensor_view<const sum>, shown::count> outputs;
  std::array<owned_tensor<sum>, Training::is_apart ? shown::count : 0> own;
  for (std::size_t k = 0; k < shown::count; ++k) {
    outputs[k] = t.replica.shown(shown::view(made, k, rows, shown::values), k);
    if constexpr (Training::is_apart) {
      own[k] = t.replica.fetched(outputs[k], t.waiting());
      outputs[k] = own[k];
    }
  }
  f(static_cast<const std::array<tensor_view<const sum>, shown::count>&>(outputs), losses);
}

} // namespace cairn::detail
