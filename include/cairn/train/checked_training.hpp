// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/comm/checked_communicator.hpp>
#include <cairn/core/accumulated.hpp>
#include <cairn/core/batch.hpp>
#include <cairn/core/explain.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/device/device.hpp>
#include <cairn/layer/checked_calls.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/net/checked_network.hpp>
#include <cairn/ops/ops.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/losses/checked_loss.hpp>
#include <cairn/train/losses/losses_of_heads.hpp>
#include <cairn/train/optimizers/checked_optimizer.hpp>
#include <cairn/train/wrong_arguments.hpp>

// Checks of a trainer's arguments before there is a trainer: each argument by itself, then whether they fit together. The
// first fault is reported as one error, in a sentence. The trainer is then made of stand-ins, so that no other follows.

namespace cairn::detail {

struct capacity_message {
  template <class Argument>
  static constexpr bool right() {
    static_assert(is_right<Argument>, "trainer: the fourth argument is no batch; write batch<N>, where N is "
                                      "the most samples in a step; see "
                                      "fourth_argument<type>");
    return false;
  }
};
struct number_message {
  template <class Argument>
  static constexpr bool right() {
    static_assert(is_right<Argument>,
                  "trainer: the fifth argument is the type of the network's elements: float, double, bfloat16 or float16; see "
                  "fifth_argument<type>");
    return false;
  }
};
struct device_message {
  template <class Argument>
  static constexpr bool right() {
    static_assert(is_right<Argument>, "trainer: the sixth argument is no device (device/device.hpp); see sixth_argument<type>");
    return false;
  }
};
struct device_ops_message {
  template <class Checked>
  static constexpr bool right() {
    static_assert(Checked::missing != 1, "trainer: this device lacks an op that moves elements: expected an overload for its "
                                         "queue of each in detail::moves_elements (ops/ops.hpp); see device_ops<queue, number>");
    static_assert(Checked::missing != 2,
                  "trainer: this device lacks elementwise, which every network needs: expected an overload "
                  "for its queue (ops/elementwise/elementwise.hpp); see device_ops<queue, number>");
    static_assert(Checked::missing != 3,
                  "trainer: this device lacks an op that every update needs: expected an overload for its "
                  "queue of each in detail::prepares_updates (ops/ops.hpp); see device_ops<queue, number>");
    return Checked::missing == 0;
  }
};
struct replica_message {
  template <class Model>
  static constexpr bool right() {
    static_assert(is_right<Model>, "ddp: a model is replicated once; see replicated_again<ddp<ddp<...>, ...>>");
    return false;
  }
};

struct way_around_message {
  template <class Model>
  static constexpr bool right() {
    static_assert(
        is_right<Model>,
        "fused_update: it stands inside ddp: write ddp<fused_update<...>, Communicator>, and likewise "
        "with_input_gradient and with_all_outputs; they are a part of the model that is replicated; see way_around_ddp<model>");
    return false;
  }
};
struct checkpoint_around_message {
  template <class Model>
  static constexpr bool right() {
    static_assert(is_right<Model>, "checkpoint: it stands inside ddp: write ddp<checkpoint<Policy, ...>, Communicator>; the "
                                   "policy is a part of the model that is replicated; see checkpoint_around_ddp<model>");
    return false;
  }
};
struct update_after_message {
  template <class Model>
  static constexpr bool right() {
    static_assert(is_right<Model>, "ddp: fused_update uses each bucket inside backward, and with after_backward none leaves "
                                   "before its end; leave after_backward out; see update_after_backward<model>");
    return false;
  }
};

struct input_without_gradient_message {
  template <class Model>
  static constexpr bool right() {
    static_assert(is_right<Model>, "with_input_gradient: no tensor that this network takes has a gradient; leave it out; see "
                                   "input_without_gradient<model>");
    return false;
  }
};

struct nothing_learnt_message {
  template <class Model>
  static constexpr bool right() {
    static_assert(is_right<Model>, "frozen: every parameter of this network is frozen, so there is nothing to train; leave out "
                                   "frozen<> around what shall learn, or take a model<Net, batch<N>>, which computes and does "
                                   "not learn; see nothing_learnt<model>");
    return false;
  }
};

// Holds for a network in which no block freezes what is inside.
struct nothing_frozen {
  template <class>
  static constexpr bool layer = true;
  template <class Part>
  static constexpr bool group = !freezes<Part>;
};

// Invalid arguments of a trainer, as diagnostics in an error message (core/explain.hpp).
template <class Model>
struct replicated_again : replica_message {};
template <class Model>
struct way_around_ddp : way_around_message {};
template <class Model>
struct checkpoint_around_ddp : checkpoint_around_message {};
template <class Model>
struct update_after_backward : update_after_message {};
template <class Model>
struct input_without_gradient : input_without_gradient_message {};
template <class Model>
struct nothing_learnt : nothing_learnt_message {};
template <class Argument>
struct fourth_argument : capacity_message {};
template <class Argument>
struct fifth_argument : number_message {};
template <class Argument>
struct sixth_argument : device_message {};

// The first group of ops for every network that a device lacks; 0 if it has all. A cpu has all of them, as its tests check.
template <class Queue, class T>
constexpr int missing_ops() {
  if constexpr (std::is_same_v<Queue, cpu::queue>) return 0;
  else if constexpr (!moves_elements<Queue, T> || !converts_elements<Queue, T>) return 1;
  else if constexpr (!applies_functions<Queue, T>) return 2;
  else return prepares_updates<Queue, accumulated<T>> ? 0 : 3;
}
template <class Queue, class T>
struct device_ops : device_ops_message {
  static constexpr int missing = missing_ops<Queue, T>();
};

template <class Batch>
inline constexpr bool is_batch = false;
template <std::size_t N>
inline constexpr bool is_batch<batch<N>> = true;

// Can every layer be called?
template <class Queue, class T>
struct callable {
  template <class Part>
  static constexpr bool layer = has_forward<Part, Queue, T> && has_backward<Part, Queue, T>;
  template <class Part>
  static constexpr bool group = true;
};

// The first fault in the arguments of a trainer, in reading order; nothing_wrong if there is none.
template <class Model, class Loss, class Optimizer, class Batch, class T, class Device>
struct training_diagnostic {
  using distribution = detail::distribution<Model>;
  using model = typename distribution::model;
  using net = typename without_ways<model>::type;

  template <class Queue, class Calls = callable<Queue, T>>
  static auto on() {
    using loss = checked_loss<Loss, Queue, T>;
    using optimizer = checked_optimizer<Optimizer, Queue, accumulated<T>>;
    using communicator = checked_communicator<typename distribution::communicator_type, Queue>;
    if constexpr (missing_ops<Queue, T>() != 0) return type_of<device_ops<Queue, T>>{};
    else if constexpr (!holds<Calls, net>) return type_of<checked_calls<typename first_wrong<Calls, net>::type, Queue, T>>{};
    else if constexpr (loss::steps != 5) return type_of<loss>{};
    else if constexpr (optimizer::steps != 6) return type_of<optimizer>{};
    else if constexpr (!communicator::is_right) return type_of<communicator>{};
    else return between<blueprint_of<model, Batch::size, T, typename distribution::update>>();
  }
  template <class Plan>
  static auto between() {
    using last = pack_element<Plan::order[Plan::size - 1], typename Plan::elements>;
    using output = typename tensor_type<typename Plan::output>::type;
    if constexpr (Plan::gives_input_gradient && Plan::values.gradients[0] == 0) return type_of<input_without_gradient<Model>>{};
    else if constexpr (Plan::parameter_block == 0 && !Plan::gives_input_gradient && !holds<nothing_frozen, net>)
      return type_of<nothing_learnt<Model>>{};
    else if constexpr (are_losses<Loss>) return type_of<typename losses_diagnostic<Plan, Loss>::type>{};
    else if constexpr (!answers_in_constants<Loss, Plan>) return type_of<loss_at_run_time<Loss, output>>{};
    else if constexpr (!Loss::accepts(Plan::output_shape)) return type_of<loss_joint<Loss, last, output>>{};
    else if constexpr (Plan::head::in_strips && !runs_in_strips<Loss, typename Device::queue, T>())
      return type_of<loss_of_head<Loss, last, typename Device::queue>>{};
    else return type_of<nothing_wrong>{};
  }
  template <class Whole>
  static auto diagnostic() {
    if constexpr (!distribution::once) return type_of<replicated_again<Whole>>{};
    else if constexpr (distribution::way_outside) return type_of<way_around_ddp<Whole>>{};
    else if constexpr (distribution::checkpointed_outside) return type_of<checkpoint_around_ddp<Whole>>{};
    else if constexpr (whole<model>::fused && !distribution::options::overlaps) return type_of<update_after_backward<Whole>>{};
    else if constexpr (!std::is_same_v<typename network_diagnostic<model>::type, nothing_wrong>)
      return type_of<typename network_diagnostic<model>::type>{};
    else if constexpr (!is_batch<Batch>) return type_of<fourth_argument<Batch>>{};
    else if constexpr (Batch::asked == 0 || Batch::asked > Batch::most) return type_of<Batch>{};
    else if constexpr (!floating_element<T>) return type_of<fifth_argument<T>>{};
    else if constexpr (!device<Device>) return type_of<sixth_argument<Device>>{};
    else return on<typename Device::queue>();
  }
  using type = typename decltype(diagnostic<Model>())::type;
};

// Whether all arguments fit. If not, an error has been reported.
template <class Model, class Loss, class Optimizer, class Batch, class T, class Device,
          class Diagnostic = typename training_diagnostic<Model, Loss, Optimizer, Batch, T, Device>::type>
inline constexpr bool right_training = Diagnostic::template right<Diagnostic>();

} // namespace cairn::detail
