// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <cairn/comm/communicator.hpp>
#include <cairn/comm/lent_memory.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/net/fused_update.hpp>
#include <cairn/net/sequential.hpp>
#include <cairn/train/step/step_gradients.hpp>

namespace step_gradients_tests {

using namespace cairn;
using namespace cairn::detail;

namespace {

using Net = Sequential<Linear<8, 16>, Linear<16, 8>>;
// One of several ranks, which provides memory if `lends` has enough.
struct one_of {
  static constexpr std::string_view name = "one of";
  struct ticket {
    template <class Queue>
    void wait(Queue&) {}
  };
  int ranks = 1;
  std::span<std::byte> lends{};

  static int rank() { return 0; }
  int size() const { return ranks; }
  template <class Queue, class T>
  ticket all_reduce(Queue&, std::span<T>) {
    return {};
  }
  template <class Queue>
  ticket broadcast(Queue&, std::span<std::byte>, int) {
    return {};
  }
  lent_memory allocate(std::size_t bytes) const {
    return lends.size() < bytes ? lent_memory{} : lent_memory{nullptr, lends.data(), bytes};
  }
};

static_assert(communicator<one_of> && lends_memory<one_of>);

template <class Plan>
inline constexpr const auto& buckets = Plan::template buckets<1, Plan::fused>;
template <class Plan>
using gradients_for = step_gradients<Plan, buckets<Plan>, one_of, float, cpu>;

} // namespace

TEST_CASE("step_gradients: they lie in one buffer behind the facts of the ranks, aligned, and buckets cover them") {
  using plan = blueprint_of<Net, 4>;
  using gradients = gradients_for<plan>;
  cpu device;
  for (const int ranks : {1, 3}) {
    one_of comm{ranks};
    gradients g(device, comm, gradients::places_in(plan::trained::memory), nullptr);
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

TEST_CASE("step_gradients: they lie where the communicator sums without copies, if it lends memory for all of them") {
  using plan = blueprint_of<Net, 4>;
  using gradients = gradients_for<plan>;
  cpu device;
  alignas(64) std::array<std::byte, gradients::bytes(2)> block{};
  one_of lender{2, block}, poor{2, std::span(block).first(64)};
  const gradients lent(device, lender, gradients::places_in(plan::trained::memory), nullptr);
  CHECK(reinterpret_cast<std::byte*>(lent.all().data()) > block.data());
  CHECK(reinterpret_cast<std::byte*>(lent.all().data() + lent.all().size()) == block.data() + block.size());
  const gradients own(device, poor, gradients::places_in(plan::trained::memory), nullptr);
  CHECK(own.all().size() == lent.all().size());
  CHECK(own.all().data() != lent.all().data());
}

TEST_CASE("step_gradients: with a fused update the executor writes to the bucket's window of the arena") {
  using plan = blueprint_of<fused_update<Net>, 4>;
  using gradients = gradients_for<plan>;
  cpu device;
  const cpu::memory arena = device.allocate(plan::trained::memory.arena);
  one_of comm{2};
  gradients g(device, comm, gradients::places_in(plan::trained::memory), arena.data());
  CHECK(g.has_facts());
  for (std::size_t b = 0; b < buckets<plan>.size(); ++b) {
    g.go_to_bucket(b);
    const auto* const start = reinterpret_cast<const std::byte*>(g.place().start);
    CHECK(start == reinterpret_cast<const std::byte*>(g.on_the_way().span_of(b).data()));
    CHECK(start >= arena.data());
    CHECK(start + g.on_the_way().span_of(b).size_bytes() <= arena.data() + arena.size());
  }
}

} // namespace step_gradients_tests
