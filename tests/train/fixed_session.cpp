// SPDX-License-Identifier: MIT
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <cairn/layer/batch_norm.hpp>
#include <cairn/layer/conv2d.hpp>
#include <cairn/layer/embedding.hpp>
#include <cairn/layer/flatten.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/max_pool2d.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/train/constant_model.hpp>
#include <cairn/train/fixed_session.hpp>
#include <cairn/train/model.hpp>
#include <doctest/doctest.h>

#include "../data/allocations.hpp"
#include "locks.hpp"
#include "training.hpp"

namespace fixed_session_tests {

using namespace cairn;
using testing::samples;

namespace {

// Writes numbers that are not those of an untrained network to all parameters and buffers.
void fill(auto& net) {
  std::size_t i = 0;
  const auto put = [&](const auto& q) {
    for (auto& x : q.numbers) x = static_cast<std::remove_reference_t<decltype(x)>>(0.25 + static_cast<double>(++i % 11) / 16);
  };
  net.for_each(put);
  net.for_each_buffer(put);
}

template <class T>
bool same_bits(const tensor_view<const T>& a, const T* b) {
  return std::memcmp(a.data(), b, a.size() * sizeof(T)) == 0;
}

// The weights of a model as constants. They must outlive the result.
template <class Net, class Batch, class T>
constant_model<Net, Batch, T> constants_of(const model<Net, Batch, T>& net) {
  using plan = typename constant_model<Net, Batch, T>::plan;
  return {std::span<const T, plan::parameter_block>(net.parameters().data(), plan::parameter_block),
          std::span<const T, plan::state_block>(net.buffers().data(), plan::state_block)};
}

// A session of the model, and one of its weights as constants, give what the model gives, for 1 to a batch of rows.
template <class Net, std::size_t Batch, class T, class In, std::size_t Sample>
void check_bits(auto&& input) {
  using Model = model<Net, batch<Batch>, T>;
  Model net{{.seed = 3, .threads = 1}};
  using Constant = constant_model<Net, batch<Batch>, T>;
  const Constant constant = constants_of(std::as_const(net));
  auto own = std::make_unique<fixed_session<Model>>(net);
  auto constants = std::make_unique<fixed_session<Constant>>(constant);
  std::array<In, Batch * Sample> x{};
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = input(i);
  const auto check = [&]<std::size_t Rows>(std::integral_constant<std::size_t, Rows>) {
    const std::span<const In, Rows * Sample> some(x.data(), Rows * Sample);
    const auto expected = net.evaluate(some);
    const tensor_view<const T> made = own->evaluate(some);
    CHECK(made.rows() == Rows);
    CHECK(made.sample_shape() == Model::output_shape);
    CHECK(same_bits(made, expected.data()));
    CHECK(same_bits(constants->evaluate(some), expected.data()));
  };
  check(std::integral_constant<std::size_t, 1>{});
  check(std::integral_constant<std::size_t, 2>{});
  check(std::integral_constant<std::size_t, Batch>{});
}

} // namespace

TEST_CASE("fixed_session: it has the bits of its model, and so have the same weights as constants") {
  const auto number = [](std::size_t i) { return static_cast<float>(i % 13) / 8 - 0.5F; };
  check_bits<testing::Net, 5, float, float, testing::features>(number);
  check_bits<testing::Net, 70, float, float, testing::features>(number); // too many rows for packed weights
  check_bits<Sequential<Linear<6, 40>, ReLU, Linear<40, 3>>, 3, double, double, 6>(number);
  using Images = Sequential<Input<6, 6, 2>, Conv2d<2, 4, 3>, BatchNorm2d<4>, ReLU, MaxPool2d<2>, Flatten, Linear<16, 5>>;
  check_bits<Images, 3, float, float, 72>(number);
  using Words = Sequential<Inputs<integers<4>>, Embedding<9, 8>, Flatten, Linear<32, 3>>;
  check_bits<Words, 3, float, int, 4>([](std::size_t i) { return static_cast<int>(i % 9); });
}

TEST_CASE("fixed_session: its size is a constant, and evaluations neither allocate, lock nor throw") {
  using Model = model<testing::Net, batch<4>>;
  using Constant = constant_model<testing::Net, batch<4>>;
  constexpr std::size_t arena = Model::plan::evaluated::arena, scratch = cpu::queue::scratch_bytes;
  static_assert(sizeof(fixed_session<Model>) <= scratch + arena + 1_KiB);
  static_assert(sizeof(fixed_session<Constant>) <= scratch + arena + 1_KiB + sizeof(float) * Model::plan::parameter_block);
  static_assert(noexcept(std::declval<fixed_session<Model>&>().evaluate(std::array<float, testing::features>{})));

  const Model net{{.seed = 3, .threads = 1}};
  const Constant constant = constants_of(net);
  alignas(fixed_session<Constant>) static std::byte room[sizeof(fixed_session<Constant>)];
  auto own = std::make_unique<fixed_session<Model>>(net);
  const samples s(4, 1);
  const std::span<const float, 4 * testing::features> x(s.x.data(), s.x.size());

  const std::size_t before = testing::allocations, locks = testing::locks_here;
  bool same = true;
  const float* const made = own->evaluate(x).data();
  auto* const constants = new (room) fixed_session<Constant>(constant); // not even its constructor allocates
  for (int i = 0; i < 10; ++i) same = same && same_bits(constants->evaluate(x), made) && same_bits(own->evaluate(x), made);
  const std::size_t after = testing::allocations, locks_after = testing::locks_here;
  constants->~fixed_session();
  CHECK(after == before);
  CHECK(locks_after == locks);
  CHECK(same);
  if (testing::counts_locks) { // else nothing was measured
    std::mutex one;
    const std::lock_guard lock(one);
    CHECK(testing::locks_here == locks_after + 1);
  }
}

TEST_CASE("fixed_session: refresh() takes the weights that the model has now") {
  using Small = Sequential<Linear<testing::features, testing::classes>>;
  model<Small, batch<6>> net{{.seed = 3}}, other{{.seed = 4}};
  auto own = std::make_unique<fixed_session<model<Small, batch<6>>>>(net);
  const samples s(6, 1);
  const std::span<const float, 6 * testing::features> x(s.x.data(), s.x.size());
  CHECK(same_bits(own->evaluate(x), net.evaluate(s.x).data()));
  net.copy_parameters(other);
  own->refresh();
  CHECK(same_bits(own->evaluate(x), other.evaluate(s.x).data()));
  fill(net); // through spans: packed weights are not read any more
  own->refresh();
  CHECK(same_bits(own->evaluate(x), net.evaluate(s.x).data()));
  CHECK(!same_bits(own->evaluate(x), other.evaluate(s.x).data()));
}

} // namespace fixed_session_tests
