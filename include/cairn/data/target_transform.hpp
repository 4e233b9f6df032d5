// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <cairn/core/explain.hpp>
#include <cairn/data/dataset.hpp>

namespace cairn::detail {

struct target_function_message {
  template <class Found>
  static constexpr bool right() {
    static_assert(is_right<Found>, "target_transform: expected a function of one target that returns a number, as "
                                   "[](int label) { return label - 5; }; see wrong_target_function<function, target>");
    return false;
  }
};
template <class F, class Target>
struct wrong_target_function : target_function_message {};

template <class F, class Target>
concept maps_targets = std::invocable<const F&, Target> && std::is_arithmetic_v<std::invoke_result_t<const F&, Target>>;

template <class F, class Target>
struct type_of_mapped : type_of<Target> {}; // after an error
template <class F, class Target>
  requires maps_targets<F, Target>
struct type_of_mapped<F, Target> : type_of<std::remove_cvref_t<std::invoke_result_t<const F&, Target>>> {};

} // namespace cairn::detail

namespace cairn {

// A dataset with other targets, as torchvision's target_transform: each target t of a sample becomes f(t), of the type that f
// returns. Models dataset, so that a loader, a subset, random_split and a validation take it:
//
//   const target_transform letters{data.train, [](int label) { return label - 5; }}; // 5 … 9 become 0 … 4
//
// f is called by the threads that read samples, several at once; equal targets must give equal results. Exceptions of f come
// out of the loader. The dataset is not copied and must outlive this.
template <class Dataset, class F>
class target_transform {
  static_assert(detail::checked_dataset<Dataset>::value);
  using from_type = typename Dataset::target_type;
  static constexpr bool is_right = detail::maps_targets<F, from_type>;
  static_assert([] {
    if constexpr (is_right) return true;
    else
      return detail::wrong_target_function<F, from_type>::template right<detail::wrong_target_function<F, from_type>>() || true;
  }());

public:
  using input_type = typename Dataset::input_type;
  using target_type = typename detail::type_of_mapped<F, from_type>::type;

  target_transform(const Dataset& whole, F f) : whole_(&whole), f_(std::move(f)) {}
  // A temporary dataset would be gone before the first sample is read.
  target_transform(const Dataset&&, F) = delete;

  std::size_t size() const { return whole_->size(); }
  decltype(auto) sample_shape() const
    requires(!detail::are_several<input_type>)
  {
    return whole_->sample_shape();
  }
  decltype(auto) sample_shapes() const
    requires(detail::are_several<input_type>)
  {
    return whole_->sample_shapes();
  }
  std::size_t targets_per_sample() const { return whole_->targets_per_sample(); }

  template <class... Spans>
    requires(sizeof...(Spans) == detail::inputs_of<input_type>::count + 1)
  void read(std::size_t index, Spans... to) const {
    read_all(index, std::tuple(to...), typename detail::inputs_of<input_type>::positions{});
  }

  // The fingerprint of the whole dataset; it does not depend on f.
  std::uint64_t fingerprint() const
    requires detail::fingerprinted_dataset<Dataset>
  {
    return whole_->fingerprint();
  }

  const Dataset& whole() const { return *whole_; }

private:
  template <class Spans, std::size_t... K> // targets come last
  void read_all(std::size_t index, const Spans& to, std::index_sequence<K...>) const {
    const std::span<target_type> targets = std::get<sizeof...(K)>(to);
    if constexpr (std::is_same_v<target_type, from_type>) {
      whole_->read(index, std::get<K>(to)..., targets);
      map(targets, targets);
    } else { // few targets need no heap memory
      std::array<from_type, 64> few;
      std::vector<from_type> many(targets.size() > few.size() ? targets.size() : 0);
      const std::span<from_type> own =
          many.empty() ? std::span<from_type>(few).first(targets.size()) : std::span<from_type>(many);
      whole_->read(index, std::get<K>(to)..., own);
      map(own, targets);
    }
  }
  void map(std::span<const from_type> from, std::span<target_type> to) const {
    if constexpr (is_right) // else there has been an error
      for (std::size_t i = 0; i < to.size(); ++i) to[i] = f_(from[i]);
  }

  const Dataset* whole_;
  F f_;
};

} // namespace cairn
