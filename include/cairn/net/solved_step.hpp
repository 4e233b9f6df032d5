// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include <cairn/core/explain.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/net/checkpoint.hpp>
#include <cairn/net/fused_update.hpp>
#include <cairn/net/with_all_outputs.hpp>
#include <cairn/net/with_input_gradient.hpp>
#include <cairn/plan/gradient_windows.hpp>
#include <cairn/plan/run_time_plan.hpp>

namespace cairn::detail {

// A model without the policy around all of it.
template <class Model>
struct unplanned {
  using type = Model;
};
template <class Policy, class Net>
struct unplanned<checkpoint<Policy, Net>> {
  using type = Net;
};
template <class Model>
struct unplanned<fused_update<Model>> {
  using type = fused_update<typename unplanned<Model>::type>;
};
template <class Model>
struct unplanned<with_input_gradient<Model>> {
  using type = with_input_gradient<typename unplanned<Model>::type>;
};
template <class Model>
struct unplanned<with_all_outputs<Model>> {
  using type = with_all_outputs<typename unplanned<Model>::type>;
};

struct schedule_message {
  template <class Schedule>
  static constexpr bool right() {
    static_assert(is_right<Schedule>,
                  "trainer: the option schedule takes what memory_curve::within() solved for this network, batch and type; a "
                  "policy is a part of the model: trainer<checkpoint<sqrt_n, Net>, ...>; see wrong_schedule<found>");
    return false;
  }
};
template <class Found>
struct wrong_schedule : schedule_message {};

// A schedule of one network, batch and element type, solved at run time. A trainer of that network takes it in place of the
// compiled schedule, and so need not know the solver. Update says where the gradients lie.
template <class Net, std::size_t Batch, class T, class Update>
struct solved_step {
  run_time_plan plan{};

  solved_step() {} // not defaulted: see rate_schedule
  solved_step(run_time_plan solved) : plan(std::move(solved)) {}
  template <class Other>
    requires(!std::is_same_v<Other, run_time_plan>)
  solved_step(const Other&) {
    refuse<wrong_schedule<Other>>();
  }
};

// The type that memory_curve<Model, Batch, T, Update>::within() returns.
template <class Model, std::size_t Batch, class T = float, class Update = used_in_backward<1, 1>>
using solved_step_of = solved_step<typename unplanned<Model>::type, Batch, T,
                                   typename blueprint_of<typename unplanned<Model>::type, Batch, T, Update>::update>;

} // namespace cairn::detail

namespace cairn {

// Solves steps (net/memory_curve.hpp, which includes the solver).
template <class Model, std::size_t Batch, class T = float, class Update = detail::used_in_backward<1, 1>>
class memory_curve;

} // namespace cairn
