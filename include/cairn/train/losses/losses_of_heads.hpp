// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <cairn/core/explain.hpp>
#include <cairn/core/memory.hpp>
#include <cairn/core/pack.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/shape.hpp>
#include <cairn/core/tensor_types.hpp>
#include <cairn/train/losses/checked_loss.hpp>
#include <cairn/train/losses/taken_loss.hpp>
#include <cairn/train/settings.hpp>

namespace cairn::multi {

// A loss for each output of a with_all_outputs, in their order, in the place of a trainer's loss. The loss of a step is the sum
// of all, each times its weight, added in this order as doubles. Losses and weights are options of a trainer:
//
//   trainer<with_all_outputs<Net>, multi::losses<CrossEntropyLoss, MSELoss>, AdamW, batch<64>> train{
//       AdamW{}, {.loss = {{CrossEntropyLoss{.label_smoothing = 0.1}, MSELoss{}}, {1.0, 0.5}}}};
//   const double loss = train.step(images, multi::targets(labels, boxes));
//   const auto [of_classes, of_boxes] = train.head_losses(); // not weighted
//
// The derivative of a loss is multiplied by its weight before it is rounded to the network's element type, if the loss has
// scales_gradient, as all of this library have; else after it. A weight that is not finite is an input_error.
template <class... Losses>
struct losses {
  static constexpr std::size_t count = sizeof...(Losses);
  static constexpr bool scales_gradient = (detail::scales_gradient<Losses> && ...);

  std::tuple<Losses...> each{};
  std::array<double, count> weights = [] {
    std::array<double, count> ones{};
    ones.fill(1);
    return ones;
  }();

  // All numbers, which the ranks of a job compare before they begin: the weights, then for each loss how many numbers it has, and
  // those.
  std::vector<double> settings() const {
    std::vector<double> all(weights.begin(), weights.end());
    const auto add = [&](const auto& one) {
      std::vector<double> own;
      if constexpr (detail::has_settings<std::remove_cvref_t<decltype(one)>>)
        for (const double number : one.settings()) own.push_back(number);
      all.push_back(static_cast<double>(own.size()));
      all.insert(all.end(), own.begin(), own.end());
    };
    std::apply([&](const auto&... one) { (add(one), ...); }, each);
    return all;
  }
};

} // namespace cairn::multi

namespace cairn::types {

// The loss of an evaluation with multi::losses: the weighted sum, which it converts to, and the loss of each head without its
// weight.
template <std::size_t Heads>
struct loss_of_heads {
  double total = 0;
  std::array<double, Heads> heads{};

  constexpr operator double() const { return total; }
};

} // namespace cairn::types

namespace cairn::detail {

template <class Loss>
inline constexpr bool are_losses = false;
template <class... Losses>
inline constexpr bool are_losses<multi::losses<Losses...>> = true;

// Calls f(std::integral_constant<std::size_t, K>) for every head.
template <std::size_t Heads, class F>
constexpr void each_head(const F& f) {
  [&]<std::size_t... K>(std::index_sequence<K...>) {
    (f(std::integral_constant<std::size_t, K>{}), ...);
  }(std::make_index_sequence<Heads>{});
}

struct no_losses_message {
  template <class Wrong>
  static constexpr bool right() {
    static_assert(is_right<Wrong>,
                  "multi::losses: expected a network whose outputs are all used, and a loss for each of them; write "
                  "trainer<with_all_outputs<Net>, multi::losses<CrossEntropyLoss, MSELoss>, ...> with as many losses as the last "
                  "value has tensors; see losses_without_outputs<losses, outputs>");
    return false;
  }
};
struct loss_at_head_message {
  template <class Wrong>
  static constexpr bool right() {
    static_assert(is_right<Wrong>, "multi::losses: the loss of this head does not accept what the head makes, or does not say so "
                                   "in constant expressions; see loss_at_head<head (0 is the first), loss, dims<what it makes>>");
    return false;
  }
};
// Another number of losses than outputs; and a loss that does not fit its head.
template <class Losses, std::size_t Outputs>
struct losses_without_outputs : no_losses_message {};
template <std::size_t Head, class Loss, class Output>
struct loss_at_head : loss_at_head_message {};

// A loss that is one of several is checked like one alone.
template <class Queue, class T>
constexpr auto first_wrong_loss() {
  return type_of<nothing_wrong>{};
}
template <class Queue, class T, class First, class... Others>
constexpr auto first_wrong_loss() {
  if constexpr (checked_loss<First, Queue, T>::steps != 5) return type_of<checked_loss<First, Queue, T>>{};
  else return first_wrong_loss<Queue, T, Others...>();
}
struct right_losses {
  static constexpr int steps = 5;
};
template <class... Losses, class Queue, class T>
struct checked_loss<multi::losses<Losses...>, Queue, T>
    : std::conditional_t<((checked_loss<Losses, Queue, T>::steps == 5) && ...), right_losses,
                         typename decltype(first_wrong_loss<Queue, T, Losses...>())::type> {};

// The output of head K, in the place of a plan's output.
template <class Plan, std::size_t K>
struct output_of_head {
  static constexpr shape output_shape = Plan::outputs[K].extents;
  static constexpr tensor value = Plan::outputs[K];
};

// The first loss that does not fit its head; nothing_wrong if all fit.
template <class Plan, class Losses>
struct losses_diagnostic;
template <class Plan, class... Losses>
struct losses_diagnostic<Plan, multi::losses<Losses...>> {
  template <std::size_t K = 0>
  static auto find() {
    if constexpr (K == sizeof...(Losses)) return type_of<nothing_wrong>{};
    else {
      using loss = pack_element<K, pack<Losses...>>;
      using output = output_of_head<Plan, K>;
      using wrong = loss_at_head<K, loss, typename tensor_type<output>::type>;
      if constexpr (!answers_in_constants<loss, output>) return type_of<wrong>{};
      else if constexpr (!loss::accepts(output::output_shape)) return type_of<wrong>{};
      else return find<K + 1>();
    }
  }
  static auto diagnostic() {
    if constexpr (!Plan::all_outputs || Plan::outputs.count != sizeof...(Losses))
      return type_of<losses_without_outputs<multi::losses<Losses...>, Plan::all_outputs ? Plan::outputs.count : 1>>{};
    else return find();
  }
  using type = typename decltype(diagnostic())::type;
};

// The memory that ops of several losses use: the constants of each, then numbers of type double, one for each head in each of
// three lists.
template <class Plan, class Sum, class... Losses>
struct judged_memory<Plan, Sum, multi::losses<Losses...>> {
  static constexpr std::size_t count = sizeof...(Losses);
  template <std::size_t K>
  using loss = pack_element<K, pack<Losses...>>;
  template <std::size_t K>
  static constexpr shape output = output_of_head<Plan, K>::output_shape;

  static constexpr std::size_t doubles = align_up(count * sizeof(double));
  static constexpr std::size_t losses_at = 0, weights_at = doubles, scales_at = 2 * doubles; // scales: weights times loss scale
  static constexpr auto constants_at = [] {
    std::array<std::size_t, count + 1> at{3 * doubles};
    each_head<count>([&](auto k) { at[k + 1] = at[k] + align_up(most_constants<loss<k>>(output<k>) * sizeof(Sum)); });
    return at;
  }();
  static constexpr std::size_t constants = constants_at[count];

  static constexpr std::size_t targets_per_sample = [] {
    std::size_t sum = 0;
    each_head<count>([&](auto k) { sum += loss<k>::targets_per_sample(output<k>); });
    return sum;
  }();
  static constexpr std::size_t targets = [] {
    std::size_t sum = 0;
    each_head<count>([&](auto k) { sum += judged_memory<output_of_head<Plan, k>, Sum, loss<k>>::targets_of(Plan::batch); });
    return sum;
  }();

  // Writes the weights and the constants of all losses to that memory. Throws input_error for numbers that do not fit.
  template <class Queue>
  static bool send(Queue& queue, std::byte* to, const multi::losses<Losses...>& all) {
    for (std::size_t k = 0; k < count; ++k)
      check_number(("multi::losses: expected a finite weight of head " + std::to_string(k)).c_str(), all.weights[k],
                   std::numeric_limits<double>::lowest());
    static constexpr std::array<double, count> none{}; // of a step that was not made yet
    upload(queue, count, reinterpret_cast<double*>(to + losses_at), none.data());
    upload(queue, count, reinterpret_cast<double*>(to + weights_at), all.weights.data());
    each_head<count>([&](auto k) {
      send_constants<Sum>(queue, to + constants_at[k], std::get<k>(all.each), constants_at[k + 1] - constants_at[k]);
    });
    return true;
  }
};

} // namespace cairn::detail
