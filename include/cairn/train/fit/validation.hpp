// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <cairn/core/batch.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/explain.hpp>
#include <cairn/data/loader.hpp>
#include <cairn/train/fit/accuracy.hpp>
#include <cairn/train/fit/metrics.hpp>
#include <cairn/train/ranks/all_ranks.hpp>

namespace cairn {

// A callback of fit() that evaluates the network on samples it is not trained with, after every check_val_every_n_epoch epochs
// and val_check_interval steps. It adds val_loss, the mean over all samples, and each metric as val_ and its name. With several
// ranks, each evaluates the samples of its sampler, and all get the metrics of all samples:
//
//   fit(train, batches, {.max_epochs = 20}, validation{digits.test, sampler{rank}, batch<64>{}, metrics::Accuracy{}});
//
// (With a distributed sampler a few samples count twice if their number is not divisible by that of the ranks.) The caller keeps
// the dataset. A loader, which the caller keeps too, may replace dataset, sampler and batch: validation{held_out, Accuracy{}}.
template <class Loader, metrics::metric... Metrics>
class validation {
public:
  // The most rows of a batch, if the loader's type gives it; else 0.
  static constexpr std::size_t most_rows = [] {
    if constexpr (requires { std::remove_reference_t<Loader>::most_rows; }) return std::remove_reference_t<Loader>::most_rows;
    else return std::size_t{0};
  }();

  template <class Dataset, class Sampler, std::size_t Batch>
  validation(const Dataset& samples, Sampler order, batch<Batch> rows, Metrics... metrics)
      : batches_(samples, std::move(order), rows, {.prefetch = 1}), metrics_(metrics...) {}
  explicit validation(Loader batches, Metrics... metrics)
    requires std::is_reference_v<Loader>
      : batches_(batches), metrics_(metrics...) {}

  // The names of the metrics that on_validate adds.
  std::vector<std::string> metric_names() const {
    return std::apply(
        [](const auto&... own) { return std::vector<std::string>{"val_loss", "val_" + std::string(own.name())...}; }, metrics_);
  }
  template <class Run>
  void on_validate(Run& run) {
    const all_sums all = sums(run.train());
    if (all[1] == 0) throw input_error("validation: expected at least one sample, found none");
    run.add_metric("val_loss", all[0] / all[1]);
    [[maybe_unused]] const double* next = all.data() + 2;
    const auto add = [&]<class Metric>(const Metric& own) {
      using sum = detail::metric_sum_of<Metric>;
      run.add_metric("val_" + std::string(own.name()), own.value(detail::sum_from<sum>(next)));
      next += detail::numbers_of_sum<sum>;
    };
    std::apply([&](const auto&... own) { (add(own), ...); }, metrics_);
  }

private:
  // The sum and count of the loss over the samples, then what each metric sums.
  using all_sums = std::array<double, (2 + ... + detail::numbers_of_sum<detail::metric_sum_of<Metrics>>)>;

  template <class Trainer>
  all_sums sums(Trainer& train) {
    all_sums all{};
    for (const auto& batch : batches_) {
      const auto add = [&](const auto& outputs, const auto& loss) {
        const auto rows = static_cast<double>(batch.rows());
        detail::add_numbers(all.data(), metrics::metric_sum{loss * rows, rows});
        [[maybe_unused]] double* next = all.data() + 2;
        const auto add_sum = [&]<class Metric>(const Metric& own) {
          using sum = detail::metric_sum_of<Metric>;
          const sum of_batch = own.add(outputs, batch.targets, loss);
          detail::add_numbers(next, of_batch);
          next += detail::numbers_of_sum<sum>;
        };
        std::apply([&](const auto&... own) { (add_sum(own), ...); }, metrics_);
      };
      detail::with_inputs(batch.inputs, [&](const auto& inputs) { train.evaluate_loss(inputs, batch.targets, add); });
    }
    detail::sum_over_ranks(train, all);
    return all;
  }

  Loader batches_;
  std::tuple<Metrics...> metrics_;
};

template <class Dataset, class Sampler, std::size_t Batch, metrics::metric... Metrics>
validation(const Dataset&, Sampler, batch<Batch>, Metrics...) -> validation<loader<Dataset, Sampler, Batch>, Metrics...>;
template <detail::gives_batches Loader, metrics::metric... Metrics>
validation(Loader&, Metrics...) -> validation<Loader&, Metrics...>;

} // namespace cairn

namespace cairn::detail {

struct validation_message {
  template <class Found>
  static constexpr bool right() {
    static_assert(Found::has_metrics,
                  "validation: expected a dataset, a sampler, batch<N>{} and metrics behind them, or a loader "
                  "and metrics: validation{test, sampler{}, batch<64>{}, Accuracy{}}; see "
                  "wrong_validation<given...>");
    static_assert(!Found::has_metrics, "validation: one of these is no metric: expected name(), add(outputs, targets, loss) and "
                                       "value(metric_sum), as Accuracy{} has them; see wrong_metrics<given...>");
    return false;
  }
};
template <class... Given>
struct wrong_validation : validation_message {
  static constexpr bool has_metrics = false;
};
template <class... Given>
struct wrong_metrics : validation_message {
  static constexpr bool has_metrics = true;
};
template <class Wrong>
struct no_validation {};

} // namespace cairn::detail

namespace cairn {

// Stands in, after the compile error, for a validation whose arguments do not fit. It validates nothing.
template <class Wrong>
class validation<detail::no_validation<Wrong>> {
public:
  template <class... Given>
  explicit validation(const Given&...) {
    detail::refuse<Wrong>();
  }
  template <class Run>
  void on_validate(Run&) {}
};
template <class Dataset, class Sampler, std::size_t Batch, class... Given>
  requires(!(metrics::metric<Given> && ...))
validation(const Dataset&, Sampler, batch<Batch>, Given...) -> validation<detail::no_validation<detail::wrong_metrics<Given...>>>;
template <detail::gives_batches Loader, class... Given>
  requires(!(metrics::metric<Given> && ...))
validation(Loader&, Given...) -> validation<detail::no_validation<detail::wrong_metrics<Given...>>>;
template <class Dataset, class... Given>
  requires(!detail::gives_batches<Dataset>)
validation(const Dataset&, Given...) -> validation<detail::no_validation<detail::wrong_validation<Dataset, Given...>>>;

} // namespace cairn
