// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <cairn/core/random.hpp>
#include <cairn/core/random_normal.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/net/execute.hpp>
#include <cairn/net/memory_curve.hpp>
#include <cairn/ops/cpu.hpp>
#include <cairn/plan/ledger.hpp>
#include <cairn/train/parameters.hpp>

namespace cairn {

// What each stage of a network costs on this machine, in nanoseconds for a step of Batch samples: the least of three
// steps of store_all, each op timed by itself, on normal numbers. memory_curve{measured_costs<Net, 64>()} then solves with
// times in place of FLOPs, which know nothing of memory bandwidth.
//
// An activation that a product applies to its own result costs nothing here, and the product a little more. A tape that a
// block can make without its output was not timed: its share of a forward is that of its FLOPs.
template <class Model, std::size_t Batch, class T = float, class Device = cpu>
std::vector<stage_cost> measured_costs(typename Device::options options = {}) {
  using plan = typename memory_curve<Model, Batch, T>::plan;
  static_assert(!plan::several && !plan::fused,
                "measured_costs: it times networks of one tensor, without a fused update");
  using clock = std::chrono::steady_clock;
  const auto& code = program_of<plan, T, typename Device::queue>;
  Device device(options);
  auto parameters = device.allocate(plan::parameter_block * sizeof(T));
  auto gradients = device.allocate(plan::parameter_block * sizeof(T));
  auto state = device.allocate(plan::state_block * sizeof(T));
  auto arena = device.allocate(plan::trained::memory.arena);
  initialize(code, std::span<T>{reinterpret_cast<T*>(parameters.data()), plan::parameter_block}, seed{1});
  std::vector<T> inputs(Batch * plan::input_shape.size());
  fill_normal(std::span<T>(inputs), random_key{.seed = 1});

  const gradient_place<T> place{.start = reinterpret_cast<T*>(gradients.data())};
  frame<T> lent;
  lent.rows = Batch;
  lent[region::input] = reinterpret_cast<std::byte*>(inputs.data());
  lent[region::workspace] = arena.data();
  lent.parameters = reinterpret_cast<const T*>(parameters.data());
  lent.state = reinterpret_cast<T*>(state.data());
  lent.gradients = &place;
  lent.random = {.seed = 1};

  constexpr std::uint64_t untimed = std::numeric_limits<std::uint64_t>::max();
  std::vector<stage_cost> costs(plan::size, {untimed, untimed, untimed});
  for (int step = 0; step < 3; ++step)
    for (std::size_t t = 0; t < plan::training.count; ++t) {
      const op& o = plan::training.ops()[t];
      if (o.kind == op_kind::turn) { // stands for a loss
        const operands& at = plan::trained::memory.at[t];
        const std::span<T> gradient{lent.numbers(at.output_gradient), Batch * plan::output_shape.size()};
        fill_normal(gradient, random_key{.seed = 2});
        for (T& g : gradient) g /= static_cast<T>(Batch);
      }
      const auto start = clock::now();
      run_op(code, device.compute(), lent, t);
      const auto took = std::chrono::duration_cast<std::chrono::nanoseconds>(clock::now() - start).count();
      std::uint64_t* const cost = o.kind == op_kind::forward    ? &costs[o.position].forward
                                  : o.kind == op_kind::backward ? &costs[o.position].backward
                                                                : nullptr;
      if (cost != nullptr) *cost = std::min(*cost, static_cast<std::uint64_t>(std::max<long long>(took, 1)));
    }
  for (std::size_t i = 0; i < plan::size; ++i) {
    stage_cost& c = costs[i];
    if (c.backward == untimed) c.backward = 0; // below the first parameter
    const stage& s = plan::stages[i];
    c.tape =
        s.tape_without_output && s.forward_flops > 0 ? c.forward * s.tape_flops / s.forward_flops : c.forward;
  }
  return costs;
}

} // namespace cairn
