// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include <cairn/comm/call_purpose.hpp>
#include <cairn/comm/exchange.hpp>
#include <cairn/device/instruction_set.hpp>
#include <cairn/plan/fingerprint.hpp>
#include <cairn/plan/step/step_op.hpp>
#include <cairn/train/optimizers/loss_scale.hpp>
#include <cairn/train/ranks/handshake.hpp>
#include <cairn/train/ranks/rank_texts.hpp>
#include <cairn/train/step/loss_scale_of_steps.hpp>

namespace cairn::detail {

// Gives every rank the parameters, buffers, optimizer's states, number of steps and loss scale of rank `root`. `t` is a
// training<...>.
template <class Training>
void take_replica_of(Training& t, int root, const char* word) {
  auto& comm = t.comm();
  auto& queue = t.compute();
  const calls_for now(comm, {.word = word});
  t.replica.changed();
  broadcast(comm, queue, std::as_writable_bytes(t.replica.parameters()), root);
  broadcast(comm, queue, std::as_writable_bytes(t.replica.buffers()), root);
  for (std::size_t i = 0; i < t.updates.states(); ++i) broadcast(comm, queue, std::as_writable_bytes(t.updates.state(i)), root);
  struct counted_steps {
    std::uint64_t steps;
    loss_scale_state loss_scale;
  };
  fetch_loss_scale(t);
  counted_steps counted{t.counters.steps, t.counters.loss_scale};
  broadcast_on_host(comm, queue, std::as_writable_bytes(std::span{&counted, 1}), root);
  t.counters.steps = counted.steps;
  set_loss_scale(t, counted.loss_scale);
  t.counters.last_samples = {};
}

// The handshake at the start of several ranks: throws on all if their builds or settings differ, then takes over the parameters,
// buffers, optimizer's states and steps of rank 0.
template <class Training>
void meet(Training& t) {
  using types = typename Training::types;
  using lists = typename types::lists;
  auto& comm = t.comm();
  const calls_for handshake(comm, {.word = "handshake", .may_take_long = true}); // a rank may still be reading its data
  tell_reserve(comm, std::max(t.gradients.on_the_way().most_bytes(), types::sums::most_bytes));
  fingerprint own = lists::print;
  if (t.is_solved()) own = with_schedule(own, t.code.training.ops, hash_of_calls(t.template list<step_kind::step>()));
  const instruction_set products = widest_for<typename lists::plan::element>();
  compare_builds(comm, t.compute(), with_build(own, products), t.settings, texts_of<lists>(t.options, t.updates.optimizer()));
  take_replica_of(t, 0, "handshake");
}

} // namespace cairn::detail
