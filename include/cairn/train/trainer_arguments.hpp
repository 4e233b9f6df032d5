// SPDX-License-Identifier: MIT
#pragma once

#include <initializer_list>
#include <type_traits>

#include <cairn/core/error.hpp>
#include <cairn/core/explain.hpp>
#include <cairn/train/optimizers/checked_optimizer.hpp>
#include <cairn/train/ranks/meeting.hpp>
#include <cairn/train/replica.hpp>
#include <cairn/train/samples.hpp>
#include <cairn/train/step/training.hpp>
#include <cairn/train/target_arrays.hpp>
#include <cairn/train/weights_interface.hpp>

// The arguments of a trainer's constructors and of its steps. Arguments that do not fit are one error in a sentence, where a
// compiler would list every overload.
namespace cairn::detail {

// A class with a trainer's constructors, to ask which arguments they take.
template <class Communicator, bool Distributed, class Optimizer, class Options, class Device>
struct trainer_arguments {
  using communicator = Communicator;
  using optimizer = Optimizer;
  static constexpr bool distributed = Distributed;

  trainer_arguments(const Optimizer&)
    requires(!Distributed);
  trainer_arguments(const Optimizer&, const Options&)
    requires(!Distributed);
  trainer_arguments(Device&, const Optimizer&)
    requires(!Distributed);
  trainer_arguments(Device&, const Optimizer&, const Options&)
    requires(!Distributed);
  trainer_arguments(Communicator&, const Optimizer&)
    requires(Distributed);
  trainer_arguments(Communicator&, const Optimizer&, const Options&)
    requires(Distributed);
  trainer_arguments(Device&, Communicator&, const Optimizer&)
    requires(Distributed);
  trainer_arguments(Device&, Communicator&, const Optimizer&, const Options&)
    requires(Distributed);
};

template <class G>
concept is_rank = requires(const std::remove_cvref_t<G>& g) {
  g.rank();
  g.size();
};
template <class G>
concept is_optimizer = has_learning_rate<std::remove_cvref_t<G>> && has_states<std::remove_cvref_t<G>>;

struct arguments_message {
  template <class Refused>
  static constexpr bool right() {
    static_assert(Refused::fault != 1,
                  "trainer: its model is a ddp, so this rank comes first: write train{rank, SGD{...}, {.seed "
                  "= 7}}; see refused_arguments<number, optimizer, given...>");
    static_assert(Refused::fault != 2, "trainer: its model is no ddp, and takes no rank: write trainer<ddp<Net, threads::rank>, "
                                       "...>, or leave the rank out; see refused_arguments<number, optimizer, given...>");
    static_assert(Refused::fault != 3, "trainer: the rank is of another type than the model's ddp<Net, Rank> names; see "
                                       "refused_arguments<number, optimizer, given...>");
    static_assert(Refused::fault != 4, "trainer: the optimizer is of another type than the trainer's third argument; name one of "
                                       "them in both places; see refused_arguments<number, optimizer, given...>");
    static_assert(Refused::fault != 5, "trainer: options are given by their names: write {.seed = 7} in place of a number; see "
                                       "refused_arguments<number, optimizer, given...>");
    static_assert(Refused::fault != 6,
                  "trainer: expected an optimizer and {options}, before them the rank if the model is a ddp, "
                  "and before that perhaps a device; see refused_arguments<number, optimizer, given...>");
    return false;
  }
};

template <class Arguments, class... Given>
constexpr int fault_of_arguments() {
  using communicator = typename Arguments::communicator;
  using optimizer = typename Arguments::optimizer;
  if constexpr (Arguments::distributed && !(is_rank<Given> || ...)) return 1;
  else if constexpr (!Arguments::distributed && (is_rank<Given> || ...)) return 2;
  else if constexpr (((is_rank<Given> && !std::is_convertible_v<std::remove_reference_t<Given>&, communicator&>) || ...))
    return 3;
  else if constexpr (((is_optimizer<Given> && !std::is_convertible_v<Given, const optimizer&>) || ...)) return 4;
  else return (std::is_arithmetic_v<std::remove_cvref_t<Given>> || ...) ? 5 : 6;
}

// Arguments that no constructor of a trainer of this optimizer takes.
template <int Fault, class Optimizer, class... Given>
struct refused_arguments : arguments_message {
  static constexpr int fault = Fault;
};

// A stand-in for an argument after an error. Never called.
template <class T>
[[noreturn]] T no_argument() {
  throw error("trainer: made of arguments that do not fit");
}

struct call_message {
  template <class Refused>
  static constexpr bool right() {
    static_assert(Refused::fault != 1, "trainer: a pointer does not say how many numbers there are; give std::span(pointer, "
                                       "count); see refused_call<number, given...>");
    static_assert(Refused::fault != 2,
                  "trainer: a vector of vectors does not lie in one piece; put the samples one after another "
                  "into one std::vector; see refused_call<number, given...>");
    static_assert(Refused::fault != 3, "trainer: a std::vector<bool> holds bits and no numbers; give a std::vector<int> or "
                                       "std::vector<std::uint8_t>; see refused_call<number, given...>");
    static_assert(Refused::fault != 4,
                  "trainer: expected numbers that lie one after another, as in a std::vector, std::span or "
                  "tensor_view: step(inputs, targets), or of several arrays step(inputs(a, b), targets); see "
                  "refused_call<number, given...>");
    static_assert(Refused::fault != 5,
                  "trainer: multi::targets(a, b) are for a trainer of several losses, trainer<with_all_outputs<Net>, "
                  "multi::losses<A, B>, ...>; a loss alone takes one array of targets; see refused_call<number, given...>");
    return false;
  }
};
template <class G>
constexpr int fault_of_array() {
  if constexpr (several_targets<G> && !step_inputs<G>) return 5;
  else if constexpr (std::is_pointer_v<G> || std::is_array_v<G>) return 1;
  else if constexpr (!numbers<G> && requires(const typename G::value_type& row) { row.size(); }) return 2;
  else if constexpr (!numbers<G> && requires { requires std::is_same_v<typename G::value_type, bool>; }) return 3;
  else return 0;
}

template <class... Given>
constexpr int fault_of_call() {
  int first = 0;
  for (const int fault : {0, fault_of_array<Given>()...})
    if (first == 0) first = fault;
  return first == 0 ? 4 : first;
}

// Arguments of a step that are not inputs and targets.
template <int Fault, class... Given>
struct refused_call : call_message {
  static constexpr int fault = Fault;
};

// Overloads of a trainer's calls for arguments that do not fit. The trainer's own are chosen wherever they fit.
struct refused_calls {
  template <class... Given>
  double step(const Given&...) {
    return refuse<refused_call<fault_of_call<Given...>(), Given...>>() ? 1 : 0;
  }
  template <class... Given>
  double accumulate(const Given&...) {
    return refuse<refused_call<fault_of_call<Given...>(), Given...>>() ? 1 : 0;
  }
  template <class... Given>
  double evaluate_loss(const Given&...) {
    return refuse<refused_call<fault_of_call<Given...>(), Given...>>() ? 1 : 0;
  }
};

// A trainer's constructors, and its parts. Self is the trainer.
template <class Self, class Model, class Loss, class Optimizer, class Batch, class T, class Device>
class constructed_trainer : public weights_interface<Self, typename step_lists<Model, Batch::size, T>::plan, T, Device, true>,
                            public refused_calls {
  using types = training_types<Model, Loss, Optimizer, Batch, T, Device>;
  static constexpr bool distributed = types::distribution::distributed;

public:
  using training_type = training<types>;
  using communicator_type = typename types::communicator_type;
  using options = typename types::options;

private:
  using arguments = trainer_arguments<communicator_type, distributed, Optimizer, options, Device>;
  template <class... Given>
  struct refused {};

public:
  // One process, one rank.
  explicit constructed_trainer(const Optimizer& optimizer, const options& given = {})
    requires(!distributed)
      : parts_(device_of<Device>(given, static_cast<const communicator_type*>(nullptr)), nullptr, optimizer, given) {}

  // One of several ranks. Compares what the ranks were built from, and takes rank 0's parameters.
  explicit constructed_trainer(communicator_type& comm, const Optimizer& optimizer, const options& given = {})
    requires(distributed)
      : parts_(device_of<Device>(given, &comm), &comm, optimizer, given) {
    meet(parts_);
  }

  // The same on a device that another trainer or model of this program uses too, on the same thread. The device must outlive
  // the trainer; `threads` and `ordinal` are those of the device.
  explicit constructed_trainer(Device& shared, const Optimizer& optimizer, const options& given = {})
    requires(!distributed)
      : parts_((given.check(), held_device<Device>(shared)), nullptr, optimizer, given) {}
  explicit constructed_trainer(Device& shared, communicator_type& comm, const Optimizer& optimizer, const options& given = {})
    requires(distributed)
      : parts_((given.check(), held_device<Device>(shared)), &comm, optimizer, given) {
    meet(parts_);
  }

  // Arguments that do not fit. Options in braces have no type of their own, so the parameter's type is named here.
  template <class First>
    requires(!std::is_constructible_v<arguments, First, const options&>)
  constructed_trainer(First&&, const options&) : constructed_trainer(refused<First>{}) {}
  template <class First, class Second>
    requires(!std::is_constructible_v<arguments, First, Second, const options&>)
  constructed_trainer(First&&, Second&&, const options&) : constructed_trainer(refused<First, Second>{}) {}
  template <class First, class... Others>
    requires(!std::is_constructible_v<arguments, First, Others...>)
  explicit constructed_trainer(First&&, Others&&...) : constructed_trainer(refused<First, Others...>{}) {}

  // The trainer's parts (step/training.hpp), for code that works with a trainer as a whole, such as fit, files, hooks and
  // reports. They may change from version to version.
  training_type& inside() { return parts_; }
  const training_type& inside() const { return parts_; }

private:
  template <class... Given>
  explicit constructed_trainer(refused<Given...>)
      : parts_(no_argument<held_device<Device>>(), nullptr, no_argument<const Optimizer&>(), no_argument<const options&>()) {
    refuse<refused_arguments<fault_of_arguments<arguments, Given...>(), Optimizer, Given...>>();
  }

  training_type parts_;
};

} // namespace cairn::detail
