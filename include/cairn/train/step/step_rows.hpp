// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <cairn/ops/check_gradients/check_gradients.hpp>
#include <cairn/ops/checksum/checksum.hpp>
#include <cairn/ops/clip/clip.hpp>
#include <cairn/ops/mean_factor/mean_factor.hpp>
#include <cairn/ops/squared_norm/squared_norm.hpp>
#include <cairn/ops/transfer/transfer.hpp>
#include <cairn/train/optimizers/optimizer.hpp>
#include <cairn/train/ranks/step_facts.hpp>
#include <cairn/train/step/loss_scale_of_steps.hpp>
#include <cairn/train/step/training.hpp>

namespace cairn::detail {

// The rows of a step's list (plan/step/) from its facts to its last update, for ranks with and without samples. All devices
// are given the same ops. Where the host shares the device's memory, the facts of the ranks are compared before a parameter
// changes; elsewhere they are compared when the step is over.
template <class Training>
class step_rows {
  using types = typename Training::types;
  using sum = typename types::sum;
  using facts_type = typename types::facts;
  static constexpr bool fused = types::fused;

public:
  explicit step_rows(Training& t) : t_(t) {}

  // Writes this rank's facts, with the number of its micro-batches. 0: it has no samples, and learns from the facts how many
  // the others made.
  void facts(std::size_t micro_batches) {
    auto& c = t_.counters;
    auto& gradients = t_.gradients.on_the_way();
    micro_batches_ = micro_batches;
    c.tells_stop = std::exchange(c.wants_to_stop, false);
    if (gradients.compares()) {
      auto& o = t_.outcomes.latest();
      const std::span<sum> here = t_.outcomes.own_facts(o), there = gradients.facts();
      const int rank = t_.comm().rank();
      facts_type::write(here, static_cast<std::size_t>(rank),
                        {.steps = c.steps,
                         .micro_batches = micro_batches,
                         .learning_rate = t_.learning_rate_now(),
                         .settings = t_.settings_now(),
                         .asks_to_stop = c.tells_stop});
      upload(t_.compute(), here.size(), there.data(), static_cast<const sum*>(here.data()));
      if (compares_parameters())
        checksum(t_.compute(), there.data() + facts_type::place_of_parameters(static_cast<std::size_t>(rank)),
                 static_cast<const sum*>(t_.replica.parameters().data()), types::plan::parameter_block);
      o.has_facts = true;
    }
    gradients.begin(t_.comm(), t_.compute());
    if constexpr (fused) t_.gradients.go_to_bucket(0);
  }
  // Takes the number of micro-batches of the others, on a rank without samples.
  void take_micro_batches(std::uint64_t of_others) { micro_batches_ = static_cast<std::size_t>(of_others); }

  // Sends the next bucket. With a fused update the executor then writes to the place of the one after it.
  void reduce(std::size_t b) {
    t_.gradients.on_the_way().send_next(t_.comm(), t_.compute());
    if constexpr (fused) t_.gradients.go_to_bucket(b + 1);
  }
  void wait(std::size_t b) { t_.gradients.on_the_way().wait(t_.compute(), b); }

  // Compares the facts of the ranks. Either only these facts are in flight, or everything is back, so that all ranks see a
  // difference and can set it right. Then finds the factor that makes a mean of the sums over micro-batches and ranks with
  // samples. With several ranks the host may not know how many have samples, so an op counts them in the facts.
  void compare() {
    auto& gradients = t_.gradients.on_the_way();
    auto& o = t_.outcomes.latest();
    o.updates = true;
    if (!gradients.compares()) {
      o.scale = 1.0 / (static_cast<double>(micro_batches_) * static_cast<double>(t_.ranks.count()));
      mean_ = {o.scale};
      t_.counters.stops = t_.counters.tells_stop; // this is the only rank that can ask
      return;
    }
    gradients.wait_for_facts(t_.compute());
    if constexpr (!types::is_apart) {
      o.has_facts = false;
      t_.learn(gradients.facts());
    }
    mean_factor(t_.compute(), &o.numbers()->mean, static_cast<double>(micro_batches_), t_.ranks.count(),
                static_cast<const sum*>(gradients.facts().data() + facts_type::place_of_micro_batches), facts_type::each);
    o.has_mean = true;
    mean_ = {1, &o.numbers()->mean};
  }
  // Counts the step, after the ranks were found to make the same one.
  void count() {
    auto& c = t_.counters;
    c.learning_rate = t_.learning_rate_now();
    c.micro_batches_before = std::exchange(c.last_micro_batches, micro_batches_);
    c.micro_batches = 0;
    c.tells_stop = false;
    c.is_scaled = !fused;
    ++c.steps;
  }

  void norm() {
    if (t_.max_norm() == 0 && !t_.scales_loss()) return;
    squared_norm(t_.compute(), &t_.outcomes.latest().numbers()->squares, t_.gradients.all().data(), types::plan::parameter_block);
  }
  // With loss scaling, divides by the scale, and decides from the norm of the sums over all ranks, so all alike, whether this
  // step's updates are skipped. The next step's scale follows from that. Where the host cannot read the norm, the device
  // decides.
  void check() {
    if constexpr (types::can_scale_loss) {
      if (!t_.scales_loss()) return;
      auto& o = t_.outcomes.latest();
      if constexpr (types::scales_on_device) {
        auto* const n = o.numbers();
        const ops::gradients_to_check all{&n->squares, &n->mean, o.has_mean, &n->factor, &n->loss_scale};
        check_gradients(t_.compute(), t_.scale.there(), all, mean_.number, t_.options.loss_scale.rule());
        o.scale = 1;
        o.has_mean = true;
        mean_ = {1, &n->factor};
        decision_ = {t_.scale.there(), t_.counters.loss_scale.skipped};
      } else {
        auto& now = t_.counters.loss_scale;
        o.scale /= now.scale;
        mean_.number /= now.scale;
        skips_ = !std::isfinite(o.numbers()->squares);
        now.update(t_.options.loss_scale.rule(), !skips_);
        check_skips(t_, t_.counters.steps);
      }
    }
  }
  // Gradients that are not applied are not clipped.
  void clip_gradients() {
    if (t_.max_norm() == 0) return;
    auto& o = t_.outcomes.latest();
    if constexpr (types::scales_on_device)
      if (t_.scales_loss()) {
        clip_checked(t_.compute(), &o.numbers()->factor, &o.numbers()->squares, t_.max_norm(), t_.scale.there());
        o.has_norm = true;
        return;
      }
    if constexpr (types::can_scale_loss)
      if (skips_) {
        o.numbers()->factor = mean_.factor == nullptr ? 1 : *mean_.factor;
        o.has_norm = true;
        return;
      }
    clip(t_.compute(), &o.numbers()->factor, &o.numbers()->squares, mean_.number, t_.max_norm(), mean_.factor);
    o.has_norm = true;
    mean_.factor = &o.numbers()->factor;
  }
  void update(std::size_t b) {
    if (skips_) return;
    const std::span<sum> gradients = t_.gradients.on_the_way().span_of(b);
    const auto& c = t_.counters;
    const std::size_t first = types::buckets[b].begin;
    t_.replica.update(first, types::buckets[b].end, [&](std::size_t begin, std::size_t end) {
      t_.updates.apply(t_.compute(), {mean_, c.learning_rate, c.updates(), decision_}, t_.replica.parameters().data(),
                       gradients.data() + (begin - first), begin, end);
    });
    if constexpr (fused) t_.discarded(reinterpret_cast<std::byte*>(gradients.data()), gradients.size_bytes());
  }

private:
  // Whether this step compares parameters: every `check_every` steps, and before the first of these after steps 1, 2, 4, …, as
  // ranks that round differently, as other builds of the program do, diverge soon.
  bool compares_parameters() const {
    const std::uint64_t every = t_.options.check_every, steps = t_.counters.steps;
    return every > 0 && (steps % every == 0 || (steps < every && std::has_single_bit(steps)));
  }

  Training& t_;
  std::size_t micro_batches_ = 1;       // of each rank that has samples
  bool skips_ = false;                  // this step's updates, if the host decides
  ops::skip_decision decision_{};       // if the device does
  cairn::types::gradient_scale mean_{}; // of this step, with clipping
};

} // namespace cairn::detail
