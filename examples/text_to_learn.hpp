// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include <cairn/core/error.hpp>
#include <cairn/data/loader.hpp>
#include <cairn/data/text/text.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/softmax_cross_entropy/cpu.hpp>

// The characters of a text as tokens, in windows of which each character is the target of the one before it. The last tenth is
// held out.
template <std::size_t Tokens>
struct text_to_learn {
  cairn::text::characters letters;
  std::array<cairn::text::token_windows<Tokens>, 2> parts;

  // A text of more characters than the network's vocabulary throws input_error, which names `place`, where that is defined.
  text_to_learn(const std::string& all, std::size_t vocabulary, const std::string& place)
      : letters(all), parts(cairn::text::token_windows<Tokens>(letters.encode(all)).split(0.9)) {
    if (letters.size() > vocabulary)
      throw cairn::input_error("expected a text of at most " + std::to_string(vocabulary) + " different characters, found " +
                               std::to_string(letters.size()) + "; give the network a larger vocabulary in " + place);
  }

  const cairn::text::token_windows<Tokens>& train() const { return parts[0]; }
  cairn::text::token_windows<Tokens> held_out() const { return parts[1].with_stride(Tokens); } // each character once
};

// The mean loss over the windows.
template <std::size_t Rows, std::size_t Tokens, class Trainer>
double held_out_loss(Trainer& train, const cairn::text::token_windows<Tokens>& windows) {
  double sum = 0, count = 0;
  for (const auto& [inputs, targets] : cairn::loader{windows, cairn::sequential_sampler{}, cairn::batch<Rows>{}}) {
    sum += train.evaluate_loss(inputs, targets) * static_cast<double>(inputs.rows());
    count += static_cast<double>(inputs.rows());
  }
  return sum / count;
}

// The same of a model, from its outputs.
template <std::size_t Rows, std::size_t Tokens, class Model>
double held_out_loss_of_model(const Model& net, const cairn::text::token_windows<Tokens>& windows) {
  cairn::cpu device;
  double sum = 0, count = 0;
  for (const auto& [inputs, targets] : cairn::loader{windows, cairn::sequential_sampler{}, cairn::batch<Rows>{}}) {
    const auto outputs = net.evaluate(inputs);
    const std::size_t words = outputs.size() / targets.size();
    double mean = 0;
    cairn::ops::softmax_cross_entropy<float>(device.compute(), &mean, nullptr, {outputs.data(), targets.size(), words},
                                             targets.data());
    sum += mean * static_cast<double>(targets.size());
    count += static_cast<double>(targets.size());
  }
  return sum / count;
}
