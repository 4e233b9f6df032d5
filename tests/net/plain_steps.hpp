// SPDX-License-Identifier: MIT
// The piece of the oracle in plain.hpp that runs an Unroll.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include <cairn/net/unroll.hpp>

#include "plain_parts.hpp"

namespace plain {

// One cell in several steps: the states begin as zeros, and the parameters, of the leaf `shared`, are those of every step.
template <class Cell, std::size_t Steps, bool LastOnly, class T>
struct in_steps : part {
  leaf shared;
  std::vector<std::unique_ptr<one_layer<Cell, T>>> steps;

  // Samples of `size` elements: copies those at step t out of all steps, or into them.
  static void copy_step(const walk& w, std::size_t size, std::size_t t, const bytes& all, const bytes& one, bool out) {
    for (std::size_t r = 0; r < w.rows; ++r) {
      std::byte *const in_all = all.data() + (r * Steps + t) * size, *const in_one = one.data() + r * size;
      std::memcpy(out ? in_one : in_all, out ? in_all : in_one, size);
    }
  }
  static std::size_t bytes_of(std::size_t k) { return Cell::inputs[k].size() * sizeof(T); }

  values forward(const walk& w, values all) override {
    bytes made(w.rows * bytes_of(1) * (LastOnly ? 1 : Steps));
    values states;
    for (std::size_t k = 1; k < Cell::inputs.size(); ++k) {
      states.emplace_back(w.rows * bytes_of(k));
      std::memset(states.back().data(), 0, states.back().size());
    }
    for (std::size_t t = 0; t < Steps; ++t) {
      values now;
      now.emplace_back(w.rows * bytes_of(0));
      copy_step(w, bytes_of(0), t, all[0], now[0], true);
      for (bytes& state : states) now.push_back(std::move(state));
      steps[t]->parameters.clear();
      for (const bytes& p : shared.parameters) steps[t]->parameters.push_back(copy_of(p));
      states = steps[t]->forward(w, std::move(now));
      if (!LastOnly) copy_step(w, bytes_of(1), t, made, states[0], false);
    }
    all[0] = LastOnly ? copy_of(states[0]) : std::move(made);
    return all;
  }

  values backward(const walk& w, values all) override {
    bytes wanted(w.rows * bytes_of(0) * Steps);
    values states(Cell::inputs.size() - 1);
    for (std::size_t t = Steps; t-- > 0;) {
      bytes from_output(w.rows * bytes_of(1));
      if (!LastOnly) copy_step(w, bytes_of(1), t, all[0], from_output, true);
      else if (t + 1 == Steps) from_output = copy_of(all[0]);
      else from_output = bytes{};
      states[0] = sum<T>(states[0], from_output);
      values made = steps[t]->backward(w, std::move(states));
      copy_step(w, bytes_of(0), t, wanted, made[0], false);
      states.clear();
      for (std::size_t k = 1; k < made.size(); ++k) states.push_back(std::move(made[k]));
      for (std::size_t k = 0; k < shared.gradients.size(); ++k)
        shared.gradients[k] =
            t + 1 == Steps ? copy_of(steps[t]->gradients[k]) : sum<T>(shared.gradients[k], steps[t]->gradients[k]);
    }
    all[0] = std::move(wanted);
    return all;
  }
};

} // namespace plain
