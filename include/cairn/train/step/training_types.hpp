// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/memory.hpp>
#include <cairn/device/device.hpp>
#include <cairn/net/execute.hpp>
#include <cairn/net/solved_step.hpp>
#include <cairn/ops/check_gradients/check_gradients.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/losses/losses_of_heads.hpp>
#include <cairn/train/losses/taken_loss.hpp>
#include <cairn/train/optimizers/updates.hpp>
#include <cairn/train/ranks/rank_sums.hpp>
#include <cairn/train/ranks/trained_ranks.hpp>
#include <cairn/train/replica.hpp>
#include <cairn/train/step/scale_on_device.hpp>
#include <cairn/train/step/step_gradients.hpp>
#include <cairn/train/step/step_lists.hpp>
#include <cairn/train/step/step_outcomes.hpp>
#include <cairn/train/training_bytes.hpp>
#include <cairn/train/training_options.hpp>
#include <cairn/train/wrong_arguments.hpp>

namespace cairn::detail {

// A stand-in for rank_sums where no layer sums over the ranks.
struct no_rank_sums {
  static constexpr std::size_t bytes = 0, most_bytes = 0, calls = 0;
  no_rank_sums(const auto&...) {}
  const sums_of_layers* begin(summed_run) { return nullptr; }
};

// The types and constants of a trainer with these arguments: those of its parts (training.hpp), and how many bytes they take.
template <class Model, class Loss, class Optimizer, class Batch, class T, class Device>
struct training_types {
  using distribution = detail::distribution<Model>;
  using network = typename distribution::model;
  using loss = Loss;
  using optimizer = Optimizer;
  using element = T;
  using device = Device;
  using queue = typename Device::queue;
  using sum = accumulated<T>; // of gradients, facts and parameters
  static constexpr std::size_t batch = Batch::size;
  static constexpr bool is_apart = !shares_memory<Device>; // the host cannot read its numbers

  using lists = step_lists<Model, batch, T>;
  using plan = typename lists::plan;
  static constexpr bool fused = plan::fused;
  static constexpr bool can_scale_loss = !fused && (!is_apart || checks_gradients<queue>);
  static constexpr bool scales_on_device = can_scale_loss && is_apart; // the device decides on updates
  static constexpr const auto& buckets = lists::buckets;
  static constexpr std::size_t summed = lists::summed; // layers whose statistics are those of all ranks
  static_assert(has_possible_size<plan::parameter_block>());
  static_assert(plan::trained::arena <= place::most_bytes,
                "trainer: this network and batch need an arena of more than 256 GiB; take a smaller batch");

  // Schedules that are solved at run time, from a budget of bytes: curve{}.within(3_MiB).
  using curve = memory_curve<network, batch, T, typename plan::update>;
  using solved = solved_step_of<network, batch, T, typename plan::update>;
  using options = training_options<Loss, solved, fused, is_apart && !can_scale_loss>;

  using communicator_type = typename distribution::communicator_type;
  using ranks = trained_ranks<communicator_type, Device, distribution::distributed>;
  using comm_type = typename ranks::comm_type;
  using replica_type = replica<plan, network, T, Device>;
  using gradients = step_gradients<plan, buckets, comm_type, sum, Device>;
  using sums =
      typename std::conditional_t<(summed > 0), type_of<rank_sums<plan, comm_type, T, Device>>, type_of<no_rank_sums>>::type;
  using updates_type = updates<Optimizer, sum, Device>;
  using outcomes = step_outcomes<sum, Device>;
  using scale =
      typename std::conditional_t<scales_on_device, type_of<scale_on_device<Device>>, type_of<no_scale_on_device<Device>>>::type;
  using facts = facts_of_ranks<sum>;

  // The bytes for targets after the inputs of a slot, and those of numbers that the ops of the loss use.
  using judged = judged_memory<plan, sum, Loss>;
  static constexpr std::size_t target_bytes = judged::targets;
  // The gradients of one stage of a micro-batch, before they are added to those of earlier micro-batches.
  static constexpr std::size_t accumulation_bytes = fused ? 0 : plan::largest_block * sizeof(sum);
  static constexpr std::size_t input_gradient_bytes = plan::gives_input_gradient ? plan::whole.gradient_bytes(0) : 0;
  static constexpr std::size_t constant_bytes = judged::constants;

  // All memory of such trainers on a machine: see training_bytes(). The arena is that of the compiled schedule, or of one that
  // was solved at run time.
  static constexpr training_memory memory(const ranks_and_states& of, std::size_t arena = plan::trained::memory.arena) {
    constexpr std::size_t by_default = ranks_and_states::by_default;
    const std::size_t job = !distribution::distributed ? 1 : of.all_ranks == by_default ? of.ranks : of.all_ranks;
    const std::size_t states = of.states == by_default ? Optimizer{}.states() : of.states;
    return {.weights = replica_type::weight_bytes + replica_type::working_weight_bytes,
            .gradients = gradients::bytes(job) + accumulation_bytes + input_gradient_bytes + replica_type::tied_gradient_bytes,
            .states = states * plan::parameter_block * sizeof(sum),
            .activations = replica_type::arena_of(arena),
            .batches = replica_type::bytes_of_batches(target_bytes),
            .results = outcomes::bytes + scale::bytes + constant_bytes + (job > 1 ? sums::bytes : 0),
            .scratch = scratch_of<Device>(of.threads),
            .staging = replica_type::staging_bytes(target_bytes) + outcomes::staging_bytes(gradients::facts_of(job)) +
                       ranks::staging_bytes(calls_of_step, most_bytes_on_the_way(job), job),
            .shared = distribution::distributed ? shared_bytes_of<communicator_type>(of.ranks) : 0,
            .ranks = of.ranks,
            .on_host = !is_apart};
  }

  // For a communicator whose calls go through the host: the calls of a step, and the most bytes that are in flight at once, in
  // a step or while all that a rank has is broadcast.
  static constexpr std::size_t calls_of_step = buckets.size() + 2 + sums::calls;
  static constexpr std::size_t most_bytes_on_the_way(std::size_t number_of_ranks) {
    const std::size_t step = (gradients::facts_of(number_of_ranks) + plan::parameter_block) * sizeof(sum) + sums::bytes;
    return std::max(step, plan::state_block * sizeof(sum));
  }
};

} // namespace cairn::detail
