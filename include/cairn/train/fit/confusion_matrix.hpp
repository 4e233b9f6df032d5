// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/train/fit/accuracy.hpp>
#include <cairn/train/fit/classification.hpp>
#include <cairn/train/fit/decisions.hpp>
#include <cairn/train/input_arrays.hpp>

namespace cairn::metrics {

// How often samples of one class were taken for another: count(target, found), with what follows from it for each class and for
// all.
//
//   const auto errors = metrics::confusion(net, loader{digits.test, sequential_sampler{}, batch<64>{}});
//   report::write_svg("errors.svg", report::draw_confusion(errors));
class confusion_matrix {
public:
  explicit confusion_matrix(std::size_t classes) : classes_(classes), counts_(classes * classes) {
    if (classes < 2) throw input_error("confusion_matrix: expected 2 classes or more, found " + std::to_string(classes));
  }

  // Counts the argmax of outputs (rows, ..., classes) for each target, but for targets that are `ignore_index`. Throws
  // input_error if their numbers do not fit; then nothing is counted.
  template <detail::scores Outputs, detail::numbers Targets>
  void add(const Outputs& outputs, const Targets& targets, std::int64_t ignore_index = detail::counts_all) {
    if (outputs.sample_shape().last() != classes_)
      throw input_error("confusion_matrix: expected outputs for " + std::to_string(classes_) + " classes, found " +
                        std::to_string(outputs.sample_shape().last()));
    const auto each = [&](const auto& f) { detail::for_each_class("confusion_matrix", outputs, targets, ignore_index, f); };
    each([](const auto*, std::size_t, std::size_t) {}); // finds what does not fit
    each([&](const auto* of, std::size_t classes, std::size_t target) {
      ++counts_[target * classes + detail::place_of_largest(of, classes)];
    });
  }

  std::size_t classes() const { return classes_; }
  std::uint64_t count(std::size_t target, std::size_t found) const {
    check(target);
    check(found);
    return counts_[target * classes_ + found];
  }
  std::uint64_t total() const {
    std::uint64_t sum = 0;
    for (const std::uint64_t one : counts_) sum += one;
    return sum;
  }

  // Of one class, 0 where there is nothing to divide by: see Precision, Recall and F1.
  double precision(std::size_t of) const { return detail::precision::of(counts(of)); }
  double recall(std::size_t of) const { return detail::recall::of(counts(of)); }
  double f1(std::size_t of) const { return detail::f1::of(counts(of)); }
  // Of all classes.
  double accuracy() const {
    std::uint64_t right = 0;
    for (std::size_t k = 0; k < classes_; ++k) right += count(k, k);
    return detail::ratio(static_cast<double>(right), static_cast<double>(total()));
  }
  double precision(average how = average::macro) const { return mean(how, detail::precision::of); }
  double recall(average how = average::macro) const { return mean(how, detail::recall::of); }
  double f1(average how = average::macro) const { return mean(how, detail::f1::of); }

private:
  void check(std::size_t k) const {
    if (k >= classes_)
      throw input_error("confusion_matrix: expected a class from 0 to " + std::to_string(classes_ - 1) + ", found " +
                        std::to_string(k));
  }
  detail::class_counts counts(std::size_t of) const {
    check(of);
    detail::class_counts sum;
    sum.right = static_cast<double>(count(of, of));
    for (std::size_t k = 0; k < classes_; ++k) {
      sum.found += static_cast<double>(count(k, of));
      sum.there += static_cast<double>(count(of, k));
    }
    return sum;
  }
  template <class Value>
  double mean(average how, const Value& value) const {
    return detail::mean_of_classes(how, classes_, [this](std::size_t k) { return counts(k); }, value);
  }

  std::size_t classes_;
  std::vector<std::uint64_t> counts_; // (target, found)
};

// The confusion matrix of a trainer or a model over all samples of a loader. With several ranks, each returns that of its own.
template <class Model, detail::gives_batches Loader>
confusion_matrix confusion(Model& net, Loader&& all, std::int64_t ignore_index = detail::counts_all) {
  std::optional<confusion_matrix> sum;
  for (const auto& batch : all)
    detail::with_inputs(batch.inputs, [&](const auto& inputs) {
      const auto& outputs = net.evaluate(inputs);
      if (!sum) sum.emplace(outputs.sample_shape().last());
      sum->add(outputs, batch.targets, ignore_index);
    });
  if (!sum) throw input_error("confusion: expected at least one sample, found none");
  return *sum;
}

} // namespace cairn::metrics
