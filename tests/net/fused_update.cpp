// SPDX-License-Identifier: MIT
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include <cairn/layer/dropout.hpp>
#include <cairn/layer/layer_norm.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/fused_update.hpp>
#include <cairn/plan/solve/budget.hpp>

#include "layers.hpp"
#include "planned.hpp"

namespace fused_update_tests {

using namespace cairn;
using namespace cairn::detail;

namespace {

using Wide = Linear<16, 16>;
using Two = Sequential<Wide, ReLU, Wide>;
using Deep =
    Sequential<Linear<12, 16>, ReLU, Repeat<3, Residual<LayerNorm<16>, Wide, ReLU, Wide>>,
               checkpoint<sqrt_n, Sequential<Wide, ReLU, checkpoint<recompute_all, Sequential<Wide, ReLU, Dropout<>, Wide>>,
                                             Residual<checkpoint<every<2>, Sequential<Wide, ReLU, Wide, Wide>>>, Wide>>,
               Linear<16, 5>>;

// One op of one layer; blocks are expanded.
struct leaf_op {
  std::size_t leaf = 0;
  bool backward = false;
};

// Records the ops of the layers in the order in which the executor gets to them.
class unfolded {
public:
  using code = program<float, testing::queue>;

  explicit unfolded(const code& p) {
    up(p, 0, true, true);
    back(p, 0);
  }
  std::vector<leaf_op> ops{};

private:
  void up(const code& p, std::size_t first, bool tape, bool output) {
    const auto& walk = tape ? p.training : p.evaluation;
    const std::size_t end = output ? walk.loss : walk.lasting;
    for (std::size_t t = 0; t < end; ++t) one(p, walk.ops[t], first, output || t + 1 < end || walk.lasting_output);
  }
  void back(const code& p, std::size_t first) {
    for (std::size_t t = p.training.loss + 1; t < p.training.ops.size(); ++t) one(p, p.training.ops[t], first, true);
  }
  void one(const code& p, const op& o, std::size_t first, bool output) {
    if (o.is_discard()) return;
    const std::size_t leaf = first + p.leaf_begin[o.position];
    const auto& chains = p.at(o.position).chains;
    const bool backward = o.kind == op_kind::backward;
    if (chains.empty()) ops.push_back({leaf, backward});
    for (const auto& chain : chains) {
      if (backward) back(*chain.code, leaf + chain.leaf_begin);
      else up(*chain.code, leaf + chain.leaf_begin, o.wants_tape, o.wants_output && output);
    }
  }
};

// Checks that no forward of a layer comes after its backward, so that its parameters may change as soon as its backward is done.
template <class Model>
void check_that_backward_is_last() {
  using plan = blueprint_of<Model, 4>;
  const unfolded all(program_of<plan, float, testing::queue>);
  std::vector<std::size_t> forwards(plan::leaves), backwards(plan::leaves);
  for (const leaf_op& o : all.ops) {
    if (!o.backward) CHECK(backwards[o.leaf] == 0);
    ++(o.backward ? backwards : forwards)[o.leaf];
  }
  std::size_t most = 0;
  for (std::size_t leaf = 0; leaf < plan::leaves; ++leaf) {
    CHECK(forwards[leaf] >= 1);
    CHECK(backwards[leaf] == 1);
    most = std::max(most, forwards[leaf]);
  }
  CHECK(most > 1); // something is recomputed
}

} // namespace

TEST_CASE("fused_update: no layer's forward comes after its backward, in blocks neither") {
  check_that_backward_is_last<fused_update<Deep>>();
  check_that_backward_is_last<fused_update<checkpoint<recompute_all, Deep>>>();
  check_that_backward_is_last<fused_update<checkpoint<sqrt_n, Deep>>>();
  check_that_backward_is_last<fused_update<checkpoint<every<2>, Deep>>>();
  check_that_backward_is_last<fused_update<checkpoint<revolve<3>, Deep>>>();
  check_that_backward_is_last<fused_update<checkpoint<at<1, 4>, Deep>>>();
  check_that_backward_is_last<fused_update<checkpoint<recompute_cheap, Deep>>>();
}

TEST_CASE("fused_update: the peak has a layer's gradients in it, computed by hand") {
  constexpr std::size_t value = 4 * 16 * sizeof(float);
  constexpr std::size_t gradients = (16 * 16 + 16) * sizeof(float);
  static_assert(peak_activation_bytes<Two, 4> == 3 * value);
  static_assert(peak_activation_bytes<fused_update<Two>, 4> == 3 * value + gradients);
  // A block's layers are updated one after another too, so the block needs the gradients of its larger layer.
  static_assert(peak_activation_bytes<fused_update<Sequential<checkpoint<store_all, Two>>>, 4> ==
                peak_activation_bytes<Sequential<checkpoint<store_all, Two>>, 4> + gradients);
  // On several ranks there are two buckets of a layer each.
  static_assert(blueprint_of<fused_update<Two>, 4, float, used_in_backward<1, 2>>::trained::memory.arena ==
                value + 2 * gradients);
  // The plan's curve of live bytes has the gradients in it.
  using plan = blueprint_of<fused_update<Two>, 4>;
  static_assert(plan::trained::memory.live[plan::training.loss] ==
                blueprint_of<Two, 4>::trained::memory.live[plan::training.loss]);
  static_assert(plan::trained::memory.bound == 3 * value + gradients);
}

TEST_CASE("fused_update: a budget is one for activations and gradients together") {
  constexpr std::size_t least = peak_activation_bytes<fused_update<checkpoint<recompute_all, Deep>>, 64>;
  constexpr std::size_t most = peak_activation_bytes<fused_update<Deep>, 64>;
  constexpr std::size_t bytes = (least + most) / 2;
  using plan = blueprint_of<fused_update<checkpoint<budget<bytes>, Deep>>, 64>;
  static_assert(plan::trained::memory.arena <= bytes);
  static_assert(plan::trained::memory.arena > least);
  static_assert(plan::trained::memory.windows[0].where == region::workspace);
}

TEST_CASE("fused_update: it is the same network on the same schedule, in another arena") {
  using plain = blueprint_of<checkpoint<sqrt_n, Deep>, 4>;
  using fused = blueprint_of<fused_update<checkpoint<sqrt_n, Deep>>, 4>;
  static_assert(plain::network_hash == fused::network_hash && plain::schedule_hash == fused::schedule_hash);
  static_assert(!plain::fused && fused::fused);
  static_assert(plain::windows.count == 0 && fused::trained::memory.windows.size() >= fused::windows.count);
  static_assert(fused::evaluated::memory.arena == plain::evaluated::memory.arena);
  // No bucket cuts a layer.
  constexpr const auto& buckets = fused::buckets<1, true>;
  static_assert(buckets.size() == 2 + 3 * 3 + 7);
  // A plan without a fused update does not depend on when one would take place.
  static_assert(std::is_same_v<blueprint_of<Two, 4>, blueprint_of<Two, 4, float, used_in_backward<99, 2>>>);
}

TEST_CASE("fused_update: gradients may be written anywhere, layer by layer, with zeros in the padding") {
  using Net = Sequential<Linear<12, 17>, ReLU, Residual<Linear<17, 17>, ReLU, testing::Scale>, Linear<17, 3>>;
  using plan = blueprint_of<Net, 4>;
  const auto& code = program_of<plan, float, testing::queue>;
  testing::queue q{1};
  const auto p = testing::plan<Net, 4, float>();
  testing::replica<float> whole(p);
  const testing::made<float> want = whole.step(q, 4, false);

  // The same step with a place for each layer, far from the others and full of NaNs.
  struct scattered {
    std::vector<float> memory = std::vector<float>(16 * plan::parameter_block, std::numeric_limits<float>::quiet_NaN());
    std::vector<float> zeros = std::vector<float>(alignment / sizeof(float));
    std::vector<float> found{};
    gradient_place<float> place{};
    void go_to(std::size_t begin) { place = {memory.data() + 15 * begin + 3, begin, zeros.data()}; }
  } there;
  there.go_to(0);
  const callbacks tell{.finished = {[](void* self, std::size_t end) {
                                      auto& me = *static_cast<scattered*>(self);
                                      const float* const from = me.place.start;
                                      me.found.insert(me.found.end(), from, from + (end - me.place.begin));
                                      me.go_to(end);
                                    },
                                    &there}};
  const plain::values x = testing::replica<float>::inputs_of(code, 4, 1);
  const plain::seen<float> x_seen(x);
  plain::buffer<std::byte> arena(p.arena);
  frame<float> f;
  f.rows = 4;
  f.inputs = x_seen;
  f.workspace = arena.data();
  f.parameters = whole.parameters().data();
  f.gradients = &there.place;
  f.random = {.seed = testing::a_seed, .step = testing::a_step, .position = 0};
  f.tell = &tell;
  run_forward(code, q, f);
  const operands& loss = code.training.at[code.training.loss];
  testing::derive(4 * 3, f.elements(loss.input), f.elements(loss.output_gradient));
  run_backward(code, q, f);
  CHECK(testing::same_bits(there.found, want.gradients));
}

} // namespace fused_update_tests
