// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>

#include <cairn/comm/loopback.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/net/fused_update.hpp>
#include <cairn/net/sequential.hpp>
#include <cairn/train/step_gradients.hpp>

using namespace cairn;
using namespace cairn::detail;

namespace {

using Net = Sequential<Linear<8, 16>, Linear<16, 8>>;
template <class Plan>
inline constexpr const auto& buckets = Plan::template buckets<1, Plan::fused>;
template <class Plan>
using gradients_for = step_gradients<Plan, buckets<Plan>, loopback::rank, float, cpu>;

} // namespace

TEST_CASE("step_gradients: they lie in one buffer behind the facts of the ranks, aligned, and buckets cover them") {
  using plan = blueprint_of<Net, 4>;
  using gradients = gradients_for<plan>;
  cpu device;
  for (const std::size_t ranks : {1U, 3U}) {
    gradients g(device, ranks, gradients::places_in(plan::trained::memory), nullptr);
    CHECK(g.has_facts() == (ranks > 1));
    CHECK(g.all().size() == plan::parameter_block);
    CHECK(reinterpret_cast<std::uintptr_t>(g.all().data()) % alignment == 0);
    CHECK(g.place().start == g.all().data());
    const float* at = g.all().data();
    for (std::size_t b = 0; b < buckets<plan>.size(); ++b) {
      CHECK(g.on_the_way().span_of(b).data() == at);
      at += g.on_the_way().span_of(b).size();
    }
    CHECK(at == g.all().data() + g.all().size());
  }
}

TEST_CASE("step_gradients: with a fused update the executor writes to the bucket's window of the arena") {
  using plan = blueprint_of<fused_update<Net>, 4>;
  using gradients = gradients_for<plan>;
  cpu device;
  const cpu::memory arena = device.allocate(plan::trained::memory.arena);
  gradients g(device, 2, gradients::places_in(plan::trained::memory), arena.data());
  CHECK(g.has_facts());
  for (std::size_t b = 0; b < buckets<plan>.size(); ++b) {
    g.go_to_bucket(b);
    const auto* const start = reinterpret_cast<const std::byte*>(g.place().start);
    CHECK(start == reinterpret_cast<const std::byte*>(g.on_the_way().span_of(b).data()));
    CHECK(start >= arena.data());
    CHECK(start + g.on_the_way().span_of(b).size_bytes() <= arena.data() + arena.size());
  }
}
