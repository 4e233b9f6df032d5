// SPDX-License-Identifier: MIT
// An order of the samples that is not told the epoch.
// expect: error: .*loader: the second argument has to be a sample order, .*std::uint64_t epoch
// expect: second_argument<backwards>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <cairn/data/loader.hpp>
#include <cairn/data/tensor_dataset.hpp>

using namespace cairn;

struct backwards {
  std::size_t count(std::size_t samples) const { return samples; }
#ifdef EXPECT_SUCCESS
  void order(std::size_t samples, std::uint64_t /*epoch*/, std::vector<std::size_t>& indices) const {
    indices.clear();
    while (samples-- > 0) indices.push_back(samples);
  }
#else
  void order(std::size_t samples, std::vector<std::size_t>& indices) const { indices.assign(samples, 0); }
#endif
};

double sum_of(const tensor_dataset<float, float>& data) {
  double sum = 0;
  loader batches{data, backwards{}, batch<32>{}};
  for (const auto& [inputs, targets] : batches) sum += static_cast<double>(targets[0]);
  return sum + static_cast<double>(batches.size());
}
