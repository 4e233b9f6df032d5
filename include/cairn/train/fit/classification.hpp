// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include <cairn/core/error.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/train/fit/decisions.hpp>
#include <cairn/train/fit/metrics.hpp>

namespace cairn::metrics {

// How the values of single classes become one: their mean, without the classes that are neither a target nor an output, or their
// mean by the number of targets of each. (The third that is known, micro, is the Accuracy.)
enum class average : unsigned char { macro, weighted };

} // namespace cairn::metrics

namespace cairn::detail {

// Of one class: decisions for it that are right, all decisions for it, all targets of it.
struct class_counts {
  double right = 0;
  double found = 0;
  double there = 0;
};

inline double ratio(double part, double all) { return all == 0 ? 0 : part / all; } // as torchmetrics has it
struct precision {
  static constexpr const char *name = "precision", *who = "Precision";
  static double of(const class_counts& c) { return ratio(c.right, c.found); }
};
struct recall {
  static constexpr const char *name = "recall", *who = "Recall";
  static double of(const class_counts& c) { return ratio(c.right, c.there); }
};
struct f1 {
  static constexpr const char *name = "f1", *who = "F1";
  static double of(const class_counts& c) { return ratio(2 * c.right, c.found + c.there); }
};

// The mean of value(counts of a class) over classes; of(k) returns the counts of class k.
template <class Of, class Value>
double mean_of_classes(average how, std::size_t classes, const Of& of, const Value& value) {
  double sum = 0, weights = 0;
  for (std::size_t k = 0; k < classes; ++k) {
    const class_counts c = of(k);
    const double weight = how == average::weighted ? c.there : c.found + c.there == 0 ? 0 : 1;
    sum += weight * value(c);
    weights += weight;
  }
  return ratio(sum, weights);
}

// Precision, Recall or F1. With one class the outputs are logits of "yes", which are decisions for it above 0.
template <class Which, std::size_t Classes, average How>
struct metric_of_classes {
  static_assert(Classes > 0,
                "metrics: Precision, Recall and F1 take the number of classes, or 1 for outputs that are logits of yes: "
                "metrics::F1<10>");
  using sum = std::array<double, 3 * Classes>; // right, found, there, each of all classes

  std::int64_t ignore_index = counts_all; // this target does not count, as in CrossEntropyLoss

  std::string name() const { return Which::name; }
  template <class Outputs, class Targets>
  sum add(const Outputs& outputs, const Targets& targets, double) const {
    sum all{};
    if constexpr (Classes == 1) {
      for_each_logit(Which::who, outputs, targets, [&](double logit, bool is_there) {
        const bool is_found = logit > 0;
        all[0] += is_found && is_there ? 1 : 0;
        all[1] += is_found ? 1 : 0;
        all[2] += is_there ? 1 : 0;
      });
    } else {
      if (outputs.sample_shape().last() != Classes)
        throw input_error(std::string(Which::who) + ": expected outputs for " + std::to_string(Classes) +
                          " classes, as its type says, found " + std::to_string(outputs.sample_shape().last()));
      for_each_class(Which::who, outputs, targets, ignore_index, [&](const auto* of, std::size_t classes, std::size_t target) {
        const std::size_t found = place_of_largest(of, classes);
        all[target] += found == target ? 1 : 0;
        ++all[Classes + found];
        ++all[2 * Classes + target];
      });
    }
    return all;
  }
  double value(const sum& all) const {
    return mean_of_classes(
        How, Classes, [&all](std::size_t k) { return class_counts{all[k], all[Classes + k], all[2 * Classes + k]}; }, Which::of);
  }
};

} // namespace cairn::detail

namespace cairn::metrics {

// Precision: of the decisions for a class, the share that is right. Recall: of the targets of a class, the share that is found.
// F1: their harmonic mean. As torchmetrics' MulticlassPrecision, MulticlassRecall and MulticlassF1Score, of the argmax of
// outputs for `Classes` classes; with 1 class, as BinaryPrecision and so on, of one logit for each yes or no, with targets 0
// and 1. A class without decisions, or without targets, has 0.
//
//   validation{held_out, sampler{rank}, batch<64>{}, metrics::F1<10>{}, metrics::Recall<10, metrics::average::weighted>{}}
template <std::size_t Classes, average How = average::macro>
struct Precision : detail::metric_of_classes<detail::precision, Classes, How> {};
template <std::size_t Classes, average How = average::macro>
struct Recall : detail::metric_of_classes<detail::recall, Classes, How> {};
template <std::size_t Classes, average How = average::macro>
struct F1 : detail::metric_of_classes<detail::f1, Classes, How> {};

// The share, 0 ... 1, of targets that are among the `Most` largest outputs, as torchmetrics' MulticlassAccuracy with top_k and
// micro average. Of equal outputs those of lower classes come first.
template <std::size_t Most>
struct TopKAccuracy {
  static_assert(Most > 0, "metrics::TopKAccuracy: expected at least 1, as in TopKAccuracy<5>");
  std::int64_t ignore_index = detail::counts_all; // this target does not count, as in CrossEntropyLoss

  std::string name() const { return "top_" + std::to_string(Most) + "_accuracy"; }
  template <class Outputs, class Targets>
  metric_sum add(const Outputs& outputs, const Targets& targets, double) const {
    metric_sum all;
    detail::for_each_class("TopKAccuracy", outputs, targets, ignore_index,
                           [&](const auto* of, std::size_t classes, std::size_t target) {
                             std::size_t before = 0; // classes that come before the target
                             for (std::size_t k = 0; k < classes; ++k)
                               before += of[k] > of[target] || (of[k] == of[target] && k < target) || of[k] != of[k] ? 1 : 0;
                             all.sum += before < Most && of[target] == of[target] ? 1 : 0;
                             ++all.count;
                           });
    return all;
  }
  double value(const metric_sum& all) const { return all.sum / all.count; }
};

} // namespace cairn::metrics
