// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <iterator>
#include <tuple>
#include <utility>

#include <cairn/core/batch.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/shape.hpp>
#include <cairn/data/dataset.hpp>
#include <cairn/data/input_types.hpp>
#include <cairn/data/loader.hpp>
#include <cairn/data/loader_options.hpp>
#include <cairn/data/transform.hpp>

namespace cairn::detail {

// Calls a transform with the first `Inputs` of a sample's arrays; the others are targets.
template <std::size_t Inputs, class Transform>
struct transform_of_first {
  Transform own{};

  // The arguments are a span for each array, the array of their shapes, and the key of the sample.
  template <class... Given>
  void operator()(Given&&... given) const {
    call(std::tie(given...), std::make_index_sequence<Inputs>{});
  }

private:
  template <class All, std::size_t... K>
  void call(const All& all, std::index_sequence<K...>) const {
    constexpr std::size_t count = std::tuple_size_v<All>;
    const auto& shapes = std::get<count - 2>(all);
    if constexpr (Inputs == 1) own(std::get<K>(all)..., shapes[0], std::get<count - 1>(all));
    else own(std::get<K>(all)..., std::array{shapes[K]...}, std::get<count - 1>(all));
  }
};

// All arrays of a batch, the targets of a loader's batch last.
template <class Batch>
auto arrays_of(const Batch& batch) {
  return std::tuple_cat(batch.inputs, std::tuple(batch.targets));
}
template <std::size_t First, class Arrays, std::size_t... K>
auto some_arrays(const Arrays& all, std::index_sequence<K...>) {
  return std::tuple(std::get<First + K>(all)...);
}
// One input stays what it is.
template <class Arrays>
auto as_inputs(const Arrays& all) {
  if constexpr (std::tuple_size_v<Arrays> == 1) return std::get<0>(all);
  else return all;
}

template <class Types, class Positions>
struct first_types;
template <class Types, std::size_t... K>
struct first_types<Types, std::index_sequence<K...>> : input_type_of<pack_element<K, Types>...> {};

} // namespace cairn::detail

namespace cairn::types {

// A batch with the targets of several heads. Inputs is a view, or a std::tuple of views; Targets is a std::tuple of views.
template <class Inputs, class Targets>
struct minibatch_of_heads {
  Inputs inputs;
  Targets targets;

  constexpr std::size_t rows() const { return std::get<0>(targets).rows(); }
};

} // namespace cairn::types

namespace cairn::multi {

// A loader whose last `Targets` arrays are targets: see batches(). It is a cairn::loader in all but its batches.
template <std::size_t Targets, class Dataset, class Sampler, std::size_t Batch, class Transform = detail::no_transform>
class loader : public cairn::loader<
                   Dataset, Sampler, Batch,
                   detail::transform_of_first<detail::inputs_of<typename Dataset::input_type>::count + 1 - Targets, Transform>> {
  static constexpr std::size_t inputs = detail::inputs_of<typename Dataset::input_type>::count + 1 - Targets;
  using base = cairn::loader<Dataset, Sampler, Batch, detail::transform_of_first<inputs, Transform>>;
  using elements = typename detail::inputs_of<typename Dataset::input_type>::elements;
  using own_input = typename detail::first_types<elements, std::make_index_sequence<inputs>>::type;
  static_assert(detail::sample_transform<Transform, own_input>,
                "multi::batches: a transform is called as  f(std::span<T> sample, const shape&, const random_key&);  of several "
                "inputs with a span for each, and an array of their shapes; it does not get the targets");

  static auto parted(const typename base::value_type& batch) {
    const auto all = detail::arrays_of(batch);
    auto own_inputs = detail::as_inputs(detail::some_arrays<0>(all, std::make_index_sequence<inputs>{}));
    auto own_targets = detail::some_arrays<inputs>(all, std::make_index_sequence<Targets>{});
    return types::minibatch_of_heads<decltype(own_inputs), decltype(own_targets)>{own_inputs, own_targets};
  }

public:
  using value_type = decltype(parted(std::declval<const typename base::value_type&>()));

  loader(const Dataset& samples, Sampler order, batch<Batch> rows, Transform transform, types::loader_options options)
      : base(samples, std::move(order), rows, {std::move(transform)}, options) {}

  class iterator {
  public:
    using iterator_concept = std::input_iterator_tag;
    using value_type = typename loader::value_type;
    using difference_type = std::ptrdiff_t;

    explicit iterator(typename base::iterator at) : at_(at) {}
    value_type operator*() const { return parted(*at_); }
    iterator& operator++() {
      ++at_;
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t end) const { return at_ == end; }

  private:
    typename base::iterator at_;
  };

  iterator begin() { return iterator(base::begin()); }
};

// Batches with targets of several heads, for multi::losses: the last `Targets` arrays of the dataset are targets, those before
// them inputs. Each may have numbers of another type.
//
//   const tensor_dataset data{sample_array{shape{784}, images}, sample_array{shape{}, labels}, sample_array{shape{4}, boxes}};
//   auto batches = multi::batches<2>(data, sampler{rank}, batch<64>{});
//   for (const auto& [images, targets] : batches) train.step(images, targets);
//
// It has all members of a loader, and takes its options and a transform of the inputs. fit() takes it too. The dataset is not
// copied and must outlive it.
template <std::size_t Targets, class Dataset, class Sampler, std::size_t Batch, class Transform = detail::no_transform>
auto batches(const Dataset& samples, Sampler order, batch<Batch> rows, types::loader_options options = {},
             Transform transform = {}) {
  static_assert(detail::checked_dataset<Dataset>::value);
  static_assert(Targets > 1 && Targets <= detail::inputs_of<typename Dataset::input_type>::count,
                "multi::batches: expected a dataset with at least one input and as many arrays of targets behind it as "
                "batches<N> says, two or more; for one array of targets write loader{data, sampler{}, batch<64>{}}");
  return loader<Targets, Dataset, Sampler, Batch, Transform>(samples, std::move(order), rows, std::move(transform), options);
}
// A temporary dataset would be gone before the first batch.
template <std::size_t Targets, class Dataset, class Sampler, std::size_t Batch, class... Others>
  requires(!std::is_lvalue_reference_v<Dataset>)
auto batches(Dataset&&, Sampler, batch<Batch>, Others&&...) = delete;

} // namespace cairn::multi
