// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <cairn/core/memory.hpp>
#include <cairn/net/wrong_network.hpp>
#include <cairn/plan/chain.hpp>

namespace cairn::detail {

// The last layer of a chain. Where a training step makes its output in strips of rows (layer/head_in_strips.hpp), the step passes
// the layer's input on to the loss, and the layer's backward makes output, loss and gradients. An evaluation makes the output as
// a whole. Drawn is the blueprint of the chain.
template <class Drawn>
struct head_of {
  static constexpr std::uint32_t element = Drawn::order[Drawn::size > 0 ? Drawn::size - 1 : 0];
  static constexpr bool is_last = [] {
    std::size_t heads = 0;
    for (std::size_t i = 0; i < Drawn::size; ++i) heads += Drawn::element_of[Drawn::order[i]].strip > 0 ? 1U : 0U;
    if (heads == 0) return true;
    return heads == 1 && Drawn::is_root && Drawn::element_of[element].strip > 0 && Drawn::values.input(element).count == 1 &&
           !Drawn::all_outputs;
  }();
  static constexpr bool in_strips = [] {
    if constexpr (!is_last) return misplaced_head<typename Drawn::body>::template right<misplaced_head<typename Drawn::body>>();
    else return Drawn::size > 0 && Drawn::element_of[element].strip > 0;
  }();

  // The stage in a training step, from the stage of the layer alone.
  static constexpr stage in_step(stage s) {
    const std::size_t whole = s.output.at(Drawn::batch), strip_bytes = align_up(Drawn::element_of[element].strip);
    s.backward_workspace.per_batch -= strip_bytes - std::min(whole, strip_bytes); // it is the last tensor there
    s.output = Drawn::to.of(Drawn::values.input(element));
    s.in_place_forward = s.in_place_backward = true;
    s.reads_input = s.reads_output = false;
    s.backward_flops += s.forward_flops;
    s.forward_flops = s.tape_flops = 0;
    return s;
  }

  // The chain of an evaluation.
  struct evaluated_source {
    static constexpr std::array<stage, Drawn::size> stages = [] {
      std::array<stage, Drawn::size> list = Drawn::typed_stages;
      stage& last = list[Drawn::size - 1];
      const char* const type = last.type;
      last = Drawn::element_of[element].as_stage;
      last.output = Drawn::to.of(Drawn::values.output());
      last.type = type;
      return list;
    }();
    static constexpr chain value = [] {
      chain c = Drawn::typed_source::value;
      if constexpr (in_strips) c.stages = stages;
      return c;
    }();
  };
};

} // namespace cairn::detail
