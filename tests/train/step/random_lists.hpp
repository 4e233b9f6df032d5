// SPDX-License-Identifier: MIT
// Included by the sources that tests/checks/random_networks.py writes to compare steps with their lists.
#pragma once

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include <cairn/net/fused_update.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/losses/mse_loss.hpp>

#include "../../net/random_network.hpp"
#include "recorded_step.hpp"

namespace testing {

// Checks that the record of a device is the list of this model's steps, with the schedule of its policy and with a random one.
template <class Model, class Communicator>
void check_random_lists(bool clips) {
  using plan = blueprint_of<typename cairn::detail::distribution<Model>::model, 5, float>;
  constexpr std::size_t tensors = plan::inputs.size(), arrays = tensors + plan::constants.size();
  check_lists<Model, MSELoss, 5, Communicator>(1, clips, [](std::size_t rows, const auto& f) {
    std::array<std::vector<float>, arrays> x;
    for (std::size_t k = 0; k < arrays; ++k) {
      const tensor& t = k < tensors ? plan::inputs[k] : plan::constants[k - tensors];
      for (std::size_t i = 0; i < t.elements(rows); ++i) x[k].push_back(0.1F * static_cast<float>((i + k) % 19) - 1);
    }
    const std::vector<float> y(rows * plan::output_shape.size(), 0.5F);
    [&]<std::size_t... K>(std::index_sequence<K...>) { f(inputs(x[K]...), y); }(std::make_index_sequence<arrays>{});
  });
}

} // namespace testing
