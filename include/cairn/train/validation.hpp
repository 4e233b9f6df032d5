// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include <cairn/core/batch.hpp>
#include <cairn/core/error.hpp>
#include <cairn/data/loader.hpp>
#include <cairn/train/accuracy.hpp>
#include <cairn/train/all_ranks.hpp>
#include <cairn/train/metrics.hpp>

namespace cairn {

// A callback of fit() that evaluates the network on samples it is not trained with, after every check_val_every_n_epoch
// epochs: it adds val_loss, the mean over all samples, and each metric as val_ and its name. Of several ranks each evaluates
// what its sampler gives, and all have the metrics of all samples:
//
//   fit(train, batches, {.max_epochs = 20}, validation{digits.test, sampler{rank}, batch<64>{}, Accuracy{}});
//
// (With a distributed sampler a few samples count twice where the ranks do not divide their number.) The dataset stays with the
// caller. A loader of the caller's own is taken instead of dataset, sampler and batch: validation{held_out, Accuracy{}}.
template <class Loader, metric... Metrics>
class validation {
public:
  template <class Dataset, class Sampler, std::size_t Batch>
  validation(const Dataset& samples, Sampler order, batch<Batch> rows, Metrics... metrics)
      : batches_(samples, std::move(order), rows, {.prefetch = 1}), metrics_(metrics...) {}
  explicit validation(Loader batches, Metrics... metrics)
    requires std::is_reference_v<Loader>
      : batches_(batches), metrics_(metrics...) {}

  template <class Run>
  void on_validate(Run& run) {
    const all_sums all = sums(run.train());
    if (all[1] == 0) throw input_error("validation: expected at least one sample, found none");
    run.add_metric("val_loss", all[0] / all[1]);
    [[maybe_unused]] std::size_t i = 2;
    const auto add = [&](const auto& own) {
      run.add_metric("val_" + std::string(own.name()), own.value({all[i], all[i + 1]}));
      i += 2;
    };
    std::apply([&](const auto&... own) { (add(own), ...); }, metrics_);
  }

private:
  // Of the loss over the samples, then of each metric: sum and count.
  using all_sums = std::array<double, 2 + 2 * sizeof...(Metrics)>;

  template <class Trainer>
  all_sums sums(Trainer& train) {
    all_sums all{};
    for (const auto& batch : batches_) {
      const auto add = [&](const auto& outputs, double loss) {
        std::size_t i = 0;
        const auto add_sum = [&](const metric_sum& of_batch) {
          all[i++] += of_batch.sum;
          all[i++] += of_batch.count;
        };
        const auto rows = static_cast<double>(batch.rows());
        add_sum({loss * rows, rows});
        std::apply([&](const auto&... own) { (add_sum(own.add(outputs, batch.targets, loss)), ...); }, metrics_);
      };
      detail::with_inputs(batch.inputs, [&](const auto& inputs) { train.evaluate_loss(inputs, batch.targets, add); });
    }
    detail::sum_over_ranks(train, all);
    return all;
  }

  Loader batches_;
  std::tuple<Metrics...> metrics_;
};

template <class Dataset, class Sampler, std::size_t Batch, class... Metrics>
validation(const Dataset&, Sampler, batch<Batch>, Metrics...) -> validation<loader<Dataset, Sampler, Batch>, Metrics...>;
template <detail::gives_batches Loader, class... Metrics>
validation(Loader&, Metrics...) -> validation<Loader&, Metrics...>;

} // namespace cairn
