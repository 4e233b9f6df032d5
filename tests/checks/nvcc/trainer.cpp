// SPDX-License-Identifier: MIT
// A trainer as most are, on two ranks: what it prints after five steps does not depend on which compiler made it.
#include <array>
#include <cstdint>
#include <cstdio>
#include <span>
#include <vector>

#include <cairn/cairn.hpp>

using namespace cairn;

using Net = Sequential<Linear<20, 32>, LayerNorm<32>, GELU, BatchNorm1d<32>,
                       Repeat<2, Residual<Linear<32, 32>, Dropout<percent<10>>, ReLU>>, Linear<32, 5>>;
using Model = checkpoint<sqrt_n, Net>;

int main() {
  constexpr std::size_t rows = 12;
  std::vector<float> inputs(rows * 20);
  ops::fill_normal(std::span<float>(inputs), types::random_key{.seed = 3});
  std::vector<int> labels(rows);
  for (std::size_t i = 0; i < rows; ++i) labels[i] = static_cast<int>(i % 5);
  std::array<std::uint64_t, 2> weights{};
  threads{2}.run([&](threads::rank& rank) {
    trainer<ddp<Model, threads::rank, sync_batch_norm>, CrossEntropyLoss, AdamW, batch<rows>> train{
        rank, AdamW{.learning_rate = 0.01}, {.seed = 7}};
    for (int step = 0; step < 5; ++step) static_cast<void>(train.step(inputs, labels));
    weights[static_cast<std::size_t>(rank.rank())] = train.checksum();
  });
  std::printf("%s %s\n", report::format_checksum(weights[0]).c_str(), report::format_checksum(weights[1]).c_str());
}
