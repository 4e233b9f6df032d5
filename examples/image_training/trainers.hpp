// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

#include <cairn/net/blueprint.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

#include "../arena_use.hpp"
#include "../devices.hpp"
#include "image_training.hpp"

// The part that depends on the network, for the source that has the network.
namespace image_training {

template <class Model, class Device>
class trainer_of final : public any_trainer {
public:
  trainer_of(cairn::any_rank& rank, const settings& s)
      : train_(rank, s.optimizer, {.seed = s.seed, .threads = s.threads, .learning_rate = s.learning_rate}) {}

  double step(const images& pictures, const labels& classes) override { return double{train_.step(pictures, classes)}; }
  cairn::types::owned_tensor<float> evaluate(const images& pictures) override { return train_.evaluate(pictures); }
  void synchronize() override { train_.synchronize(); }
  void mark_arena() override { mark_untouched_arena(train_); }
  std::size_t used_bytes() override { return used_bytes_of_arena(train_); }
  std::size_t threads() override { return train_.threads(); }
  std::uint64_t checksum() override { return train_.checksum(); }

private:
  using model = cairn::ddp<Model, cairn::any_rank>;
  cairn::trainer<model, cairn::CrossEntropyLoss, cairn::SGD, cairn::batch<capacity>, float, Device> train_;
};

template <class Model>
std::unique_ptr<any_trainer> make_trainer(cairn::any_rank& rank, const settings& s) {
  return on_device(s.device, [&]<class Device>(std::type_identity<Device>) -> std::unique_ptr<any_trainer> {
    return std::make_unique<trainer_of<Model, Device>>(rank, s);
  });
}

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
          &make_trainer<Model>};
}

inline void check_device(const std::string& chosen) {
  on_device(chosen, [](auto) {});
}
inline constexpr devices devices_of_program{devices_text, &check_device};

} // namespace image_training
