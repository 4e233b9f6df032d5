// SPDX-License-Identifier: MIT
// A communicator of your own, between the markers: it joins ranks through another one and counts what they exchange. Two ranks
// train over it and end with the same weights as without it. It has the required members; the optional ones (exchange, check,
// reserve, recover: comm/communicator.hpp) are not needed on a device whose memory the host shares.
//
// long to compile
// test:
#include <array>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string_view>
#include <type_traits>

#include <cairn/cairn.hpp>

#include "toy_dataset.hpp"

namespace mine {

using namespace cairn;

// own code: a communicator
// Passes every call on to another communicator, and counts the calls and the bytes.
template <class Inner>
struct counting {
  static constexpr std::string_view name = "counting";
  Inner& inner;
  std::size_t calls = 0, bytes = 0;

  int rank() const { return inner.rank(); }
  int size() const { return inner.size(); }
  template <class T>
  auto all_reduce(auto& queue, std::span<T> span) {
    ++calls, bytes += span.size_bytes();
    return inner.all_reduce(queue, span);
  }
  auto broadcast(auto& queue, std::span<std::byte> span, int root) {
    ++calls, bytes += span.size();
    return inner.broadcast(queue, span, root);
  }
};
// end of own code

namespace {

using Net = Sequential<Linear<16, 64>, ReLU, Linear<64, 64>, ReLU, Linear<64, 1>>;
constexpr std::size_t rows = 32;
using own = counting<threads::rank>;

// The weights of each of two ranks. `join` returns the communicator over which a rank trains.
template <class Communicator, class Join>
std::array<std::uint64_t, 2> train_over(Join join) {
  std::array<std::uint64_t, 2> weights{};
  const auto data = toy_dataset(256, {.inputs = 16});
  threads{2}.run([&](threads::rank& rank) {
    auto&& joined = join(rank);
    trainer<ddp<Net, Communicator, bucket_bytes<8_KiB>>, MSELoss, SGD, batch<rows>> train{
        joined, SGD{.learning_rate = 0.01, .momentum = 0.9}, {.seed = 1}};
    for (const auto& [inputs, targets] : loader{data, sampler{rank}, batch<rows>{}}) train.step(inputs, targets);
    weights[static_cast<std::size_t>(rank.rank())] = train.checksum();
    if constexpr (std::is_same_v<Communicator, own>)
      if (rank.rank() == 0)
        std::printf("%d ranks, %zu steps: %zu calls with %zu bytes from each rank\n", joined.size(),
                    static_cast<std::size_t>(train.steps()), joined.calls, joined.bytes);
  });
  return weights;
}

} // namespace

int program() {
  const auto plain = train_over<threads::rank>([](threads::rank& rank) -> auto& { return rank; });
  const auto counted = train_over<own>([](threads::rank& rank) { return own{rank}; });
  std::printf("weights %s on rank 0, %s on rank 1, %s without counting\n", report::format_checksum(counted[0]).c_str(),
              report::format_checksum(counted[1]).c_str(), report::format_checksum(plain[0]).c_str());
  return counted[0] == counted[1] && counted == plain ? 0 : 1;
}

} // namespace mine

int main() { return mine::program(); }
