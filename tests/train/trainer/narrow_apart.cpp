// SPDX-License-Identifier: MIT
// A network of bfloat16 on a device whose memory the host cannot read: ops make its 16-bit copies there, with the same bits as
// on a cpu.
//
// long to compile
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include <cairn/core/bfloat16.hpp>
#include <cairn/net/frozen.hpp>
#include <cairn/net/with_input_gradient.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/optimizers/adamw.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>
#include <cairn/train/training_bytes.hpp>
#include <doctest/doctest.h>

#include "../apart_ops.hpp"
#include "../apart_program.hpp"
#include "../training.hpp"

namespace trainer_narrow_apart_tests {

using namespace cairn;

namespace {

using Net = Sequential<Linear<testing::features, 16>, frozen<Sequential<Linear<16, 16>, BatchNorm1d<16>>>, ReLU,
                       Residual<LayerNorm<16>, Linear<16, 16>, ReLU, Dropout<percent<25>>>, Linear<16, testing::classes>>;

template <class Model, class Device>
apart::seen numbers_on() {
  using type = trainer<Model, CrossEntropyLoss, AdamW, batch<6>, bfloat16, Device>;
  typename type::options given{.seed = 5};
  if constexpr (!type::fused) given.clip.max_norm = 0.05;
  apart::seen out;
  type t{AdamW{.learning_rate = 0.02}, std::move(given)};
  apart::use(t, out, 0);
  return out;
}
template <class Model>
void same_bits() {
  const apart::seen expected = numbers_on<Model, cpu>();
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    apart::device::seed = seed;
    CHECK((numbers_on<Model, apart::device>() == expected));
  }
  CHECK(apart::device::unfinished == 0);
}

} // namespace

TEST_CASE("trainer of bfloat16, memory apart: every number that a program sees has a cpu's bits") {
  same_bits<checkpoint<sqrt_n, Net>>();
  same_bits<fused_update<Net>>();
}

TEST_CASE("trainer of bfloat16, memory apart: gradients that are given and shown, and training_bytes") {
  using Model = with_input_gradient<Sequential<Linear<testing::features, 8>, ReLU, Linear<8, testing::classes>>>;
  const auto numbers = [](auto on) {
    using type = trainer<Model, MSELoss, SGD, batch<6>, bfloat16, typename decltype(on)::type>;
    type t{SGD{.learning_rate = 0.1}, {.seed = 2}};
    apart::seen out;
    const testing::samples<> s(6, 1);
    std::vector<float> gradient(6 * testing::classes, 0.125F);
    t.step_from(s.x, gradient);
    std::fill(gradient.begin(), gradient.end(), 0.0F);
    out.add_all(t.input_gradient());
    out.add(t.checksum());
    return out;
  };
  CHECK((numbers(std::type_identity<apart::device>{}) == numbers(std::type_identity<cpu>{})));

  apart::device shared({});
  using type = trainer<Model, MSELoss, AdamW, batch<6>, bfloat16, apart::device>;
  type t{shared, AdamW{}};
  CHECK(shared.counted.bytes == training_bytes<type>().device());
}

} // namespace trainer_narrow_apart_tests
