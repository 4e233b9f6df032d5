// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/core/random.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/shape.hpp>
#include <cairn/data/dataset.hpp>
#include <cairn/data/permutation.hpp>
#include <cairn/data/transform.hpp>

namespace cairn::types {

// Options of vision::mixup, by name.
struct mixup_options {
  double alpha =
      0.2; // of the distribution Beta(alpha, alpha) of shares: near 0 hardly any sample is mixed, at 1 all shares are alike
};

} // namespace cairn::types

namespace cairn::detail {

// A number of the distribution Beta(alpha, alpha) from two uniform ones, u in (0, 1] and v in [0, 1), for any alpha above 0.
// With t of Student's distribution of 2 alpha degrees of freedom, by Bailey's polar method, (1 + t / sqrt(2 alpha + t^2)) / 2
// has it (Devroye: Random variate generation in one line of code. 1996). It rejects no numbers, so it is a function of a
// counter. Rejected: the ratio of two gamma variates, which draws until it fits.
inline double symmetric_beta(double alpha, double u, double v) {
  constexpr double pi = 3.14159265358979323846;
  const double cosine = std::cos(2 * pi * v);
  const double square = (std::pow(u, -1 / alpha) - 1) * cosine * cosine; // t^2 / (2 alpha)
  const double part = 1 / std::sqrt(1 + 1 / square);
  return (cosine < 0 ? 1 - part : 1 + part) / 2;
}

} // namespace cairn::detail

namespace cairn::vision {

// Mixes a sample with another sample of the same dataset, as a transform: mixup (Zhang, Cisse, Dauphin, Lopez-Paz: mixup:
// Beyond Empirical Risk Minimization. 2018. arXiv:1710.09412). With the partner (x2, y2) and a share s, which are drawn for
// each sample and each epoch, the sample (x1, y1) becomes (s x1 + (1 - s) x2, s y1 + (1 - s) y2). The partner is any sample
// with equal chance, the sample itself among them; s has the distribution Beta(alpha, alpha). (The paper's program draws one
// share for each batch.)
//
//   const vision::class_probabilities soft{data.train, 10};
//   loader batches{soft, sampler{rank}, batch<64>{}, vision::mixup{soft, {.alpha = 0.2}}};
//   trainer<Net, SoftCrossEntropyLoss, SGD, batch<64>> train{SGD{}};
//
// A third argument is a transform of single samples, such as a compose: it is called for the sample and for its partner, each
// with random numbers of its own, before they are mixed. `data` is the dataset of the loader: its samples have one input, of
// float or double, and targets of float or double. It is not copied and must outlive this.
//
// The random numbers follow from the loader's seed, the epoch and the sample's number alone, so any number of ranks and of
// threads mixes alike; the last bits of a share depend on the machine's pow and cos. Throws input_error for an alpha that is
// not above 0, for a dataset without samples, and for a sample of another size than the dataset's.
template <class Dataset, class Transform = detail::no_transform>
class mixup {
  static_assert(detail::checked_dataset<Dataset>::value);

public:
  using input_type = typename Dataset::input_type;
  using target_type = typename Dataset::target_type;
  static_assert(std::floating_point<input_type>,
                "vision::mixup: expected a dataset with one input, of float or double, as other numbers cannot be mixed");
  static_assert(
      std::floating_point<target_type>,
      "vision::mixup: expected targets of float or double; vision::class_probabilities makes them of numbers of classes");
  static_assert(
      detail::sample_transform<Transform, input_type>,
      "vision::mixup: its third argument is a transform of samples, called as  f(std::span<T> sample, const shape&, const "
      "random_key&)");

  // What is drawn for a sample.
  struct drawn {
    std::size_t partner = 0;
    double share = 1; // of the sample itself
  };

  explicit mixup(const Dataset& data, types::mixup_options options = {}, Transform each = {})
      : data_(&data), alpha_(options.alpha), each_(std::move(each)) {
    if (!(alpha_ > 0 && std::isfinite(alpha_)))
      throw input_error("mixup: expected an alpha above 0, such as 0.2, found " + std::to_string(alpha_) +
                        "; to mix no samples, leave the transform out");
    if (data.size() == 0) throw input_error("mixup: expected a dataset with samples, found one without any");
  }
  // A temporary dataset would be gone before the first sample is read.
  explicit mixup(const Dataset&&, types::mixup_options = {}, Transform = {}) = delete;

  drawn draw(const types::random_key& key) const {
    const auto block = ops::random_block(key, 0);
    const std::uint64_t bits = (std::uint64_t{block[2]} << 32U) | block[3];
    return {static_cast<std::size_t>(detail::random_below(bits, data_->size())),
            detail::symmetric_beta(alpha_, (block[0] + 1.0) * 0x1p-32, block[1] * 0x1p-32)};
  }

  void operator()(std::span<input_type> sample, std::span<target_type> targets, const shape& extents,
                  const types::random_key& key) const {
    if (sample.size() != data_->sample_shape().size() || targets.size() != data_->targets_per_sample())
      throw input_error("mixup: expected samples of " + std::to_string(data_->sample_shape().size()) + " numbers with " +
                        std::to_string(data_->targets_per_sample()) + " targets, as its dataset has, found " +
                        std::to_string(sample.size()) + " and " + std::to_string(targets.size()) +
                        "; give it the dataset of the loader");
    thread_local std::vector<input_type> other; // kept, so that a loader does not allocate for each sample
    thread_local std::vector<target_type> its_targets;
    other.resize(sample.size());
    its_targets.resize(targets.size());
    const drawn of = draw(key);
    const std::span<input_type> partner(other);
    data_->read(of.partner, partner, std::span<target_type>(its_targets));
    each_(sample, extents, key_of(key, 1));
    each_(partner, extents, key_of(key, 2));
    mix(sample, other, of.share);
    mix(targets, its_targets, of.share);
  }

private:
  template <class T>
  static void mix(std::span<T> to, const std::vector<T>& other, double share) {
    const auto own = static_cast<T>(share), rest = static_cast<T>(1 - share);
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = own * to[i] + rest * other[i];
  }
  // A stream for the transform, whose seed is drawn from the sample's own stream.
  static types::random_key key_of(const types::random_key& key, std::uint64_t k) {
    const auto block = ops::random_block(key, k);
    return {.seed = (std::uint64_t{block[0]} << 32U) | block[1], .step = key.step, .position = key.position};
  }

  const Dataset* data_;
  double alpha_;
  Transform each_;
};

} // namespace cairn::vision
