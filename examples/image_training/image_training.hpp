// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <cairn/comm/launch/chosen_ranks.hpp>
#include <cairn/core/view.hpp>
#include <cairn/data/owned_tensor.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

// The common part of the examples that train on CIFAR-10: loaders, the loop, tables and curves. Everything that does not depend
// on the network is compiled once, in image_training.cpp; for a network there is a trainer for each policy.
namespace image_training {

inline constexpr std::size_t capacity = 64; // samples of one rank in a step, at most

struct settings {
  cairn::SGD optimizer{};
  std::uint64_t seed = 1;
  std::size_t threads = 0; // inside one operation; 0: this rank's share of the cores
  cairn::rate_schedule learning_rate{};
};

// A trainer of one rank, whatever the network and its policy.
class any_trainer {
public:
  using images = cairn::tensor_view<const float>;
  using labels = cairn::tensor_view<const std::int32_t>;

  virtual ~any_trainer() = default;
  virtual double step(const images& pictures, const labels& classes) = 0;
  virtual cairn::types::owned_tensor<float> evaluate(const images& pictures) = 0; // a score for each class
  virtual void synchronize() = 0;
  virtual std::span<std::byte> arena() = 0;
  virtual std::size_t threads() = 0;
  virtual std::uint64_t checksum() = 0;
};

template <class Model>
class trainer_of final : public any_trainer {
public:
  trainer_of(cairn::any_rank& rank, const settings& s)
      : train_(rank, s.optimizer, {.seed = s.seed, .threads = s.threads, .learning_rate = s.learning_rate}) {}

  double step(const images& pictures, const labels& classes) override { return train_.step(pictures, classes); }
  cairn::types::owned_tensor<float> evaluate(const images& pictures) override { return train_.evaluate(pictures); }
  void synchronize() override { train_.synchronize(); }
  std::span<std::byte> arena() override { return train_.arena(); }
  std::size_t threads() override { return train_.threads(); }
  std::uint64_t checksum() override { return train_.checksum(); }

private:
  cairn::trainer<cairn::ddp<Model, cairn::any_rank>, cairn::CrossEntropyLoss, cairn::SGD, cairn::batch<capacity>> train_;
};

// A policy: its name on the command line, and its instantiation.
struct policy {
  const char* name;
  std::size_t stages, parameters;
  std::size_t peak;    // bytes of a rank's arena
  std::uint64_t flops; // of a step
  std::unique_ptr<any_trainer> (*make)(cairn::any_rank&, const settings&);
};

// The same network under a policy, or with blocks that have one. The first of a table is the one with which others are
// compared.
template <class Model>
constexpr policy make_policy(const char* name) {
  using plan = cairn::blueprint_of<Model, capacity>;
  return {name,
          plan::size,
          plan::parameters,
          plan::trained::memory.arena,
          plan::batch * cairn::plan::flops(plan::whole, plan::training.ops()),
          [](cairn::any_rank& rank, const settings& s) -> std::unique_ptr<any_trainer> {
            return std::make_unique<trainer_of<Model>>(rank, s);
          }};
}

// A network, by its name on the command line.
struct network {
  const char* name;
  std::span<const policy> policies;
};

struct recipe {
  const char* program;
  const char* purpose;
  cairn::SGD optimizer{};
  std::size_t epochs = 1;
  std::size_t batch = capacity;        // samples of one rank in a step
  std::span<const network> networks{}; // the first one if none is named
};

// A whole program: reads the command line, trains, draws. Returns the exit status.
int run(const recipe& given, int count, char** words);

} // namespace image_training
