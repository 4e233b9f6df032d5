// SPDX-License-Identifier: MIT
#include <cairn/train/working_copy.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include <cairn/core/bfloat16.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/net/execute.hpp>
#include <cairn/net/frozen.hpp>
#include <cairn/net/residual.hpp>
#include <cairn/ops/cpu.hpp>
#include <doctest/doctest.h>

namespace working_copy_tests {

using namespace cairn;
using namespace cairn::detail;

namespace {

// Takes integers, then numbers; its output has the shape of the numbers.
struct Beside {
  static constexpr std::size_t takes = 2;
  static constexpr reads backward_reads = reads::nothing;
  static constexpr bool accepts(const arguments&) { return true; }
  static constexpr tensor outputs(const arguments& in) { return in[1]; }
  template <class Queue, class T>
  static void forward(Queue&, const forward_call<T>&) {}
  template <class Queue, class T>
  static void backward(Queue&, const backward_call<T>&) {}
};

using Learnt = Sequential<Linear<5, 3>>;
using Frozen = Sequential<Linear<5, 5>, Residual<frozen<Linear<5, 5>>, Linear<5, 5>>>;
template <class Net, class T>
using plan = blueprint_of<Net, 4, T>;
template <class Net, class T>
using copy_of = working_copy<plan<Net, T>, T, cpu>;
template <class Net, class T>
using weights_as = working_weights<plan<Net, T>, T, cpu>;

std::vector<float> numbers_from(std::size_t count, float first) {
  std::vector<float> out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = first + static_cast<float>(i) / 300;
  return out;
}
bool are_rounded(const bfloat16* found, const std::vector<float>& exact) {
  for (std::size_t i = 0; i < exact.size(); ++i)
    if (!(found[i] == bfloat16(exact[i]))) return false;
  return true;
}

} // namespace

TEST_CASE("working_copy: of float there is none, and everything stays where it is") {
  static_assert(std::is_empty_v<copy_of<Learnt, float>> && copy_of<Learnt, double>::bytes == 0);
  cpu device({.threads = 1});
  static_assert(std::is_empty_v<weights_as<Learnt, float>> && weights_as<Learnt, double>::bytes == 0);
  copy_of<Learnt, float> none(device);
  const std::vector<float> given(20);
  frame<float> f;
  weights_as<Learnt, float>(device).lend(f, given.data());
  CHECK(f.parameters == given.data());
  const std::size_t offset = 0;
  const tensors<const float> inputs{reinterpret_cast<const std::byte*>(given.data()), &offset};
  CHECK(none.lend_inputs(device.compute(), 4, inputs)[0] == given.data());
  CHECK(none.shown(device.compute(), {given.data(), 4, shape{5}}, 0).data() == given.data());
}

TEST_CASE("working_copy: of bfloat16 it has the parameters, those of frozen blocks and the inputs, rounded") {
  cpu device({.threads = 1});
  static_assert(has_frozen(program_of<plan<Frozen, bfloat16>, bfloat16, cpu::queue>));
  static_assert(!has_frozen(program_of<plan<Learnt, bfloat16>, bfloat16, cpu::queue>));
  copy_of<Frozen, bfloat16> own(device);
  weights_as<Frozen, bfloat16> weights(device);
  using whole = plan<Frozen, bfloat16>;
  // Each layer has 25 + 5 elements. Each tensor begins at a multiple of 64 bytes, which are 32 elements of bfloat16.
  static_assert(whole::parameter_block == 2 * 64 && whole::state_block == 64);
  static_assert(weights_as<Frozen, bfloat16>::bytes == (128 + 64) * 2 && copy_of<Frozen, bfloat16>::bytes == 64 + 2 * 64);
  static_assert(weights_as<Learnt, bfloat16>::bytes == 64 * 2 && copy_of<Learnt, bfloat16>::bytes == 64 + 64);
  const std::vector<float> learnt = numbers_from(whole::parameter_block, 1), kept = numbers_from(whole::state_block, 2);
  frame<bfloat16> f;
  weights.make(device.compute(), learnt.data(), kept.data());
  weights.lend(f, learnt.data());
  CHECK(are_rounded(f.parameters, learnt));
  CHECK(are_rounded(f.frozen_parameters(0), kept));
  CHECK(f.frozen_parameters(32) == f.frozen_parameters(0) + 32);

  const std::vector<float> rows = numbers_from(15, 3);
  const std::size_t offset = 0;
  const tensors<const float> inputs{reinterpret_cast<const std::byte*>(rows.data()), &offset};
  CHECK(are_rounded(own.lend_inputs(device.compute(), 3, inputs)[0], rows));
  const std::vector<bfloat16> made(15, bfloat16(1.5F));
  const auto shown = own.shown(device.compute(), {made.data(), 3, shape{5}}, 0);
  CHECK(shown.rows() == 3);
  CHECK(std::vector<float>(shown.begin(), shown.end()) == std::vector<float>(15, 1.5F));
}

TEST_CASE("working_copy: integers are read where the program has them, beside inputs that are rounded") {
  using Net = Sequential<Inputs<integers<2>, dims<3>>, Beside>;
  cpu device({.threads = 1});
  copy_of<Net, bfloat16> own(device);
  const std::vector<std::int32_t> tokens{1, 2, 3, 4};
  const std::vector<float> rows = numbers_from(6, 1);
  const std::size_t offsets[] = {0,
                                 reinterpret_cast<std::uintptr_t>(rows.data()) - reinterpret_cast<std::uintptr_t>(tokens.data())};
  const tensors<const float> inputs{reinterpret_cast<const std::byte*>(tokens.data()), offsets};
  const tensors<const bfloat16> lent = own.lend_inputs(device.compute(), 2, inputs);
  CHECK(lent.integers(0) == tokens.data());
  CHECK(are_rounded(lent[1], rows));
}

} // namespace working_copy_tests
