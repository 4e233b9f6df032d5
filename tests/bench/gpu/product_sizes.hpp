// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include <cairn/ops/matmul/matmul.hpp>

#include "parts.hpp"

namespace gpu_bench {

struct product {
  cairn::ops::transpose form;
  std::size_t m, n, k;

  const char* name() const {
    return form == cairn::ops::transpose::first ? "first" : form == cairn::ops::transpose::second ? "second" : "none";
  }
  std::string shape() const { return std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k); }
};

// Cubes, and the products of a step of tests/bench: y = x W^T, dx = dy W and dW = dy^T x of the mlp and of the chain.
inline std::vector<product> all_products(const request& asked) {
  std::vector<product> all;
  for (std::size_t n = 256; n <= 8192; n *= 2) all.push_back({cairn::ops::transpose::second, n, n, n});
  for (const auto& [batch, out, in] : {std::array<std::size_t, 3>{128, 512, 784}, {128, 512, 512}, {1024, 256, 256}}) {
    all.push_back({cairn::ops::transpose::second, batch, out, in});
    all.push_back({cairn::ops::transpose::none, batch, in, out});
    all.push_back({cairn::ops::transpose::first, out, in, batch});
  }
  for (product& p : all)
    for (std::size_t* n : {&p.m, &p.n, &p.k}) *n = std::max<std::size_t>(4, *n / asked.smaller);
  return all;
}

} // namespace gpu_bench
