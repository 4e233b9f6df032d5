// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <array>
#include <span>
#include <vector>

#include <cairn/device/cpu.hpp>
#include <cairn/train/ranks/reduction.hpp>

namespace reduction_tests {

using namespace cairn;
using namespace cairn::detail;

namespace {

// One of two ranks with the same gradients: waiting for a sum doubles its elements.
class doubling {
public:
  class ticket {
  public:
    ticket() = default;
    explicit ticket(std::span<float> span) : span_(span) {}
    template <class Queue>
    void wait(Queue&) {
      for (float& x : span_) x *= 2;
      span_ = {};
    }

  private:
    std::span<float> span_{};
  };

  int rank() const { return 0; }
  int size() const { return 2; }
  template <class Queue>
  ticket all_reduce(Queue&, std::span<float> span) {
    sent.push_back(span);
    return ticket(span);
  }

  std::vector<std::span<float>> sent;
};

} // namespace

TEST_CASE("reduction: buckets leave one after another, and each is waited for alone") {
  constexpr std::array<bucket, 3> buckets{bucket{0, 2, 0}, bucket{2, 3, 1}, bucket{3, 6, 2}};
  std::array<float, 6> gradients{1, 2, 3, 4, 5, 6};
  cpu device;
  auto& queue = device.compute();
  doubling comm;
  constexpr std::array<std::size_t, 3> places{0, 2, 3};
  reduction<doubling, float, cpu::queue, 4> step(buckets, places, gradients.data());
  CHECK(step.span_of(1).data() == gradients.data() + 2);
  CHECK(step.most_bytes() == 3 * sizeof(float));
  std::array<float, 16> facts{}; // the facts of all ranks go with a bucket
  CHECK(reduction<doubling, float, cpu::queue, 4>(buckets, places, gradients.data(), facts).most_bytes() == 19 * sizeof(float));

  for (int round = 0; round < 2; ++round) {
    comm.sent.clear();
    step.begin(comm, queue);
    CHECK(comm.sent.empty());
    step.send_next(comm, queue);
    step.send_next(comm, queue);
    REQUIRE(comm.sent.size() == 2);
    CHECK(step.left() == 2);
    CHECK(comm.sent[0].data() == gradients.data());
    CHECK(comm.sent[0].size() == 2);
    CHECK(comm.sent[1].data() == gradients.data() + 2);
    CHECK(comm.sent[1].size() == 1);
    step.send_next(comm, queue);
    REQUIRE(comm.sent.size() == 3);
    CHECK(comm.sent[2].size() == 3);
    for (std::size_t b = 0; b < 3; ++b) step.wait(queue, b);
  }
  CHECK(gradients == std::array<float, 6>{4, 8, 12, 16, 20, 24});
}

} // namespace reduction_tests
