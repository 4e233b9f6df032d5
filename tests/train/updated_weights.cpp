// SPDX-License-Identifier: MIT
#include <cairn/train/updated_weights.hpp>

#include <cstddef>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include <cairn/core/bfloat16.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/net/execute.hpp>
#include <cairn/net/frozen.hpp>
#include <cairn/ops/cpu.hpp>
#include <doctest/doctest.h>

namespace updated_weights_tests {

using namespace cairn;
using namespace cairn::detail;

namespace {

// 160,000 + 400 parameters: several pieces for one thread and for two, the last one not full.
using Net = Sequential<Linear<400, 400>, frozen<Linear<400, 4>>>;
template <class T>
using weights_as = updated_weights<blueprint_of<Net, 4, T>, T, cpu>;
using plan = blueprint_of<Net, 4, bfloat16>;

// Masters, and the copy that is lent.
struct masters {
  std::vector<float> learnt = std::vector<float>(plan::parameter_block, 1.001F);
  std::vector<float> kept = std::vector<float>(plan::state_block, 2.001F);

  const bfloat16* lent(weights_as<bfloat16>& weights, cpu& device) {
    frame<bfloat16> f;
    weights.lend(device.compute(), f, learnt.data(), kept.data());
    frozen_ = f.frozen_parameters(0);
    return f.parameters;
  }
  bool are_in(const bfloat16* copy) const {
    for (std::size_t i = 0; i < learnt.size(); ++i)
      if (!(copy[i] == bfloat16(learnt[i]))) return false;
    for (std::size_t i = 0; i < kept.size(); ++i)
      if (!(frozen_[i] == bfloat16(kept[i]))) return false;
    return true;
  }
  // Writes to both behind the back of the copy.
  void write(float value) {
    learnt.assign(learnt.size(), value);
    kept.assign(kept.size(), value);
  }

private:
  const bfloat16* frozen_ = nullptr;
};

} // namespace

TEST_CASE("updated_weights: of float there is no copy, and an update is one piece") {
  static_assert(std::is_empty_v<weights_as<float>> && weights_as<double>::bytes == 0);
  cpu device({.threads = 1});
  weights_as<float> none(device);
  const std::vector<float> given(8);
  frame<float> f;
  none.lend(device.compute(), f, given.data(), given.data());
  CHECK(f.parameters == given.data());
  std::vector<std::pair<std::size_t, std::size_t>> pieces;
  none.update(device.compute(), given.data(), 3, 1000000,
              [&](std::size_t begin, std::size_t end) { pieces.emplace_back(begin, end); });
  CHECK(pieces == std::vector<std::pair<std::size_t, std::size_t>>{{3, 1000000}});
}

TEST_CASE("updated_weights: a copy stays as it is from pass to pass, until the weights have changed") {
  cpu device({.threads = 1});
  weights_as<bfloat16> weights(device);
  static_assert(weights_as<bfloat16>::bytes == (plan::parameter_block + plan::state_block) * sizeof(bfloat16));
  masters own;
  CHECK(own.are_in(own.lent(weights, device)));
  own.write(3);
  CHECK(own.lent(weights, device)[7] == bfloat16(1.001F)); // the writes were not announced: nothing was made
  weights.changed();
  CHECK(own.are_in(own.lent(weights, device)));
  own.write(4);
  CHECK(own.lent(weights, device)[7] == bfloat16(3.0F));
  weights.opened();
  CHECK(own.are_in(own.lent(weights, device)));
  own.write(5);
  CHECK(own.are_in(own.lent(weights, device))); // once opened, each pass makes it
}

TEST_CASE("updated_weights: an update rounds what it writes, in pieces that are each element once") {
  for (const std::size_t threads : {1U, 2U}) {
    cpu device({.threads = threads});
    weights_as<bfloat16> weights(device);
    masters own;
    own.lent(weights, device);
    own.kept.assign(own.kept.size(), 9.0F); // an update leaves frozen parameters as they are
    std::vector<int> updated(own.learnt.size());
    std::size_t pieces = 0;
    const auto apply = [&](std::size_t begin, std::size_t end) {
      ++pieces;
      for (std::size_t i = begin; i < end; ++i) own.learnt[i] = static_cast<float>(i) / 3, ++updated[i];
    };
    weights.update(device.compute(), own.learnt.data(), 64, own.learnt.size(), apply);
    CHECK(pieces == (threads == 1 ? 10 : 2));
    bool are_once = true;
    for (std::size_t i = 0; i < updated.size(); ++i) are_once = are_once && updated[i] == (i < 64 ? 0 : 1);
    CHECK(are_once);
    const bfloat16* const copy = own.lent(weights, device);
    own.kept.assign(own.kept.size(), 2.001F);
    CHECK(own.are_in(copy));
  }
}

TEST_CASE("updated_weights: an update of a copy that is not current, or that fails, leaves one that the next pass makes") {
  cpu device({.threads = 1});
  weights_as<bfloat16> weights(device);
  masters own;
  const auto one = [&](std::size_t begin, std::size_t) { own.learnt[begin] = 7; };
  weights.update(device.compute(), own.learnt.data(), 0, 32, one); // before the first pass
  CHECK(own.are_in(own.lent(weights, device)));
  own.write(3);
  weights.changed();
  weights.update(device.compute(), own.learnt.data(), 0, 32, one);
  CHECK(own.are_in(own.lent(weights, device)));
  const auto fails = [&](std::size_t begin, std::size_t end) {
    one(begin, end);
    throw std::runtime_error("an optimizer's own");
  };
  own.write(4);
  CHECK_THROWS_WITH(weights.update(device.compute(), own.learnt.data(), 64, 96, fails), "an optimizer's own");
  CHECK(own.are_in(own.lent(weights, device)));
}

} // namespace updated_weights_tests
