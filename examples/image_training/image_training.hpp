// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <cairn/comm/launch/chosen_ranks.hpp>
#include <cairn/core/view.hpp>
#include <cairn/data/owned_tensor.hpp>
#include <cairn/train/optimizers/rate_schedule.hpp>
#include <cairn/train/optimizers/sgd.hpp>

// The common part of the examples that train on CIFAR-10: loaders, the loop, tables and curves. Everything that does not depend
// on the network is compiled once, in image_training.cpp; a network has a trainer for each policy and device (trainers.hpp).
namespace image_training {

inline constexpr std::size_t capacity = 64; // samples of one rank in a step, at most

struct settings {
  std::string device = "cpu";
  cairn::SGD optimizer{};
  std::uint64_t seed = 1;
  std::size_t threads = 0; // inside one operation; 0: this rank's share of the cores
  cairn::rate_schedule learning_rate{};
};

// A trainer of one rank, whatever the network, its policy and its device.
class any_trainer {
public:
  using images = cairn::tensor_view<const float>;
  using labels = cairn::tensor_view<const std::int32_t>;

  virtual ~any_trainer() = default;
  virtual double step(const images& pictures, const labels& classes) = 0;         // waits for the loss
  virtual cairn::types::owned_tensor<float> evaluate(const images& pictures) = 0; // a score for each class
  virtual void synchronize() = 0;
  virtual void mark_arena() = 0;        // before the first step: see arena_use.hpp
  virtual std::size_t used_bytes() = 0; // of the arena
  virtual std::size_t threads() = 0;
  virtual std::uint64_t checksum() = 0;
};

// A policy: its name on the command line, and its instantiation.
struct policy {
  const char* name;
  std::size_t stages, parameters;
  std::size_t peak;    // bytes of a rank's arena
  std::uint64_t flops; // of a step
  std::unique_ptr<any_trainer> (*make)(cairn::any_rank&, const settings&);
};

// A network, by its name on the command line.
struct network {
  const char* name;
  std::span<const policy> policies;
};

// The devices that a program was built with (devices.hpp): nvcc may compile the program, but not image_training.cpp.
struct devices {
  const char* text;                         // of --device
  void (*check)(const std::string& chosen); // throws if it cannot train there
};

struct recipe {
  const char* program;
  const char* purpose;
  image_training::devices devices;
  cairn::SGD optimizer{};
  std::size_t epochs = 1;
  std::size_t batch = capacity;        // samples of one rank in a step
  std::span<const network> networks{}; // the first one if none is named
};

// A whole program: reads the command line, trains, draws. Returns the exit status.
int run(const recipe& given, int count, char** words);

} // namespace image_training
