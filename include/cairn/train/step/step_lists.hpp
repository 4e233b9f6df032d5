// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <cairn/core/plain_array.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/net/summed_layers.hpp>
#include <cairn/plan/fingerprint.hpp>
#include <cairn/plan/op.hpp>
#include <cairn/plan/step/step_list.hpp>
#include <cairn/plan/step/step_op.hpp>
#include <cairn/train/ddp.hpp>

namespace cairn::detail {

// The steps of a trainer of Model as constant lists of ops, one for each kind. Model is any model that a trainer takes.
template <class Model, std::size_t Batch, class T>
class step_lists {
  using distribution = detail::distribution<Model>;

public:
  using plan = blueprint_of<typename distribution::model, Batch, T, typename distribution::update>;
  using network = typename distribution::model;
  static constexpr bool fused = plan::fused;
  static constexpr bool overlaps = distribution::options::overlaps;

  // The buckets of the gradients, in the order in which they are sent: spans of the flat buffer, or of its order.
  static constexpr std::size_t most_bucket_bytes = fused ? distribution::update::bytes : distribution::options::bytes;
  static constexpr const auto& buckets = plan::template buckets<most_bucket_bytes, fused>;

  // The number of layers whose statistics are those of all ranks: with sync_batch_norm.
  static constexpr std::size_t summed = [] {
    if constexpr (!distribution::options::sums_statistics) return std::size_t{0};
    else if constexpr (summed_layers<plan>::all_can_be_summed) return summed_layers<plan>::count;
    else return std::size_t{statistics_apart<Model>::template right<statistics_apart<Model>>()};
  }();

  // The parts of a step with this schedule, which is the compiled one or one that was solved at run time.
  static constexpr step_parts parts(std::span<const op> ops, std::size_t loss) {
    return {.ops = ops,
            .loss = loss,
            .gradient_begin = plan::parameter_begin,
            .buckets = buckets.buckets(),
            .sums = {sums.data(), summed},
            .fused = fused,
            .in_flight = distribution::update::in_flight,
            .overlaps = overlaps};
  }

  template <step_kind Kind>
  static constexpr auto list = [] {
    constexpr bool trains = Kind != step_kind::evaluation;
    constexpr step_parts of = trains ? parts(plan::training.ops(), plan::training.loss)
                                     : parts(plan::evaluated::schedule.ops(), plan::evaluated::schedule.loss);
    return write_step<most_step_ops(of)>(of, Kind);
  }();

  // The fingerprint that all ranks of a job must share, unless they take a schedule that is solved at run time.
  static constexpr fingerprint print = fingerprint_of<plan, T>(
      buckets.buckets(),
      [] {
        if constexpr (summed > 0) return summed_layers<plan>::hash;
        else return std::uint64_t{0};
      }(),
      hash_of_calls(list<step_kind::step>.ops()));

  // The lists of a schedule that was solved at run time, by kind. The evaluation has none: it is not solved.
  using of_solved = std::array<step_list<at_run_time>, step_kinds>;
  static of_solved solved(const schedule<at_run_time>& chosen) {
    of_solved out;
    for (const step_kind kind : {step_kind::step, step_kind::micro_batch, step_kind::forward_alone, step_kind::joined})
      out[static_cast<std::size_t>(kind)] = write_step<at_run_time>(parts(chosen.ops(), chosen.loss), kind);
    return out;
  }

private:
  static constexpr std::array<summed_stage, summed + 1> sums = [] {
    std::array<summed_stage, summed + 1> out{};
    if constexpr (summed > 0)
      for (std::size_t k = 0; k < summed; ++k) {
        const summed_layer& layer = summed_layers<plan>::of[k];
        out[k] = {layer.position, layer.numbers.backward > 0, layer.parameters_before};
      }
    return out;
  }();
};

} // namespace cairn::detail
