// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <cairn/layer/embedding.hpp>
#include <cairn/layer/gelu.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/layer_norm.hpp>
#include <cairn/layer/learned_positions.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/repeat.hpp>
#include <cairn/net/transformer_encoder_layer.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/adamw.hpp>

#include "bench.hpp"

// Networks that are measured in several files.

// 784 - 512 x 8 - 10 with ReLU.
struct mlp {
  using net =
      cairn::Sequential<cairn::Linear<784, 512>, cairn::ReLU,
                        cairn::Repeat<7, cairn::Sequential<cairn::Linear<512, 512>, cairn::ReLU>>, cairn::Linear<512, 10>>;
  static constexpr std::size_t rows = 128;
  static constexpr cairn::SGD optimizer{.learning_rate = 1e-2, .momentum = 0.9};
};

// Residual blocks of two products.
struct chain {
  template <std::size_t Depth>
  using net =
      cairn::Sequential<cairn::Repeat<Depth, cairn::Residual<cairn::Linear<256, 256>, cairn::ReLU, cairn::Linear<256, 256>>>,
                        cairn::Linear<256, 10>>;
  static constexpr std::size_t rows = 1024;
  static constexpr cairn::SGD optimizer{.learning_rate = 1e-3, .momentum = 0.9};

  // The second product of each block starts small, so that the sum of many stays near the input.
  template <std::size_t Depth, class Owner>
  static void shrink(Owner& of) {
    of.for_each([](const auto& p) {
      if (p.name.ends_with(".2.weight"))
        for (float& w : p.numbers) w /= static_cast<float>(Depth);
    });
  }
};

// nanoGPT's network for a CPU, as in examples/gpt, with a head of its own.
struct gpt {
  static constexpr std::size_t rows = 12, tokens = 64, width = 128, vocabulary = 65;
  using layer =
      cairn::TransformerEncoderLayer<width, 4, 4 * width, cairn::GELU, cairn::attention::norm_first, cairn::attention::causal>;
  using net = cairn::Sequential<cairn::Inputs<cairn::integers<tokens>>, cairn::Embedding<vocabulary, width>,
                                cairn::LearnedPositions<tokens, width>, cairn::Repeat<4, layer>, cairn::LayerNorm<width>,
                                cairn::Linear<width, vocabulary, false>>;
  static constexpr cairn::AdamW optimizer{.learning_rate = 1e-3, .weight_decay = 0.1};

  struct texts {
    std::vector<std::int32_t> inputs, targets;
    explicit texts(std::uint64_t seed) {
      for (std::size_t i = 0; i < rows * tokens + 1; ++i)
        inputs.push_back(static_cast<std::int32_t>(cairn::ops::random_bits({.seed = seed}, i) % vocabulary));
      targets.assign(inputs.begin() + 1, inputs.end());
      inputs.pop_back();
    }
  };

  template <class Trainer, class After>
  static void run_steps(const request& asked, Trainer& train, std::uint64_t seed, figures& out, After after) {
    const texts given(seed);
    run_steps_on(asked, train, given, out, after);
  }
};
