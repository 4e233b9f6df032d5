// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

#include <cairn/core/random.hpp>

namespace cairn {

// Several transforms as one, called in their order, as torchvision's Compose:
//
//   loader batches{data.train, sampler{rank}, batch<64>{},
//                  compose{vision::random_crop{.padding = 4, .fill = data.train.black()}, vision::random_horizontal_flip{}}};
//
// Each transform draws from a stream of its own, which depends on the sample's key and on the place in the list; so does a
// compose inside a compose. A transform therefore draws other numbers here than it would alone. Models sample_transform for
// every type that all of them transform, samples with several inputs included.
template <class... Transforms>
class compose {
public:
  constexpr compose(Transforms... transforms) : transforms_(std::move(transforms)...) {}

  template <class... Arguments>
    requires(sizeof...(Arguments) > 2 && (std::invocable<const Transforms&, Arguments&...> && ...))
  constexpr void operator()(Arguments&&... arguments) const { // the inputs, their shape or shapes, the key
    call(std::forward_as_tuple(arguments...), std::make_index_sequence<sizeof...(Arguments) - 1>{},
         std::index_sequence_for<Transforms...>{});
  }

private:
  template <class All, std::size_t... Argument, std::size_t... K>
  constexpr void call(const All& all, std::index_sequence<Argument...>, std::index_sequence<K...>) const {
    const types::random_key& key = std::get<sizeof...(Argument)>(all);
    (std::get<K>(transforms_)(std::get<Argument>(all)..., key_of(key, K)), ...);
  }

  // The seed of stream k is drawn from the sample's own stream, which nothing else reads. Rejected: seed + k, which would
  // give the second transform of an inner list the numbers of the second one of the outer list.
  static constexpr types::random_key key_of(const types::random_key& key, std::uint64_t k) {
    const auto block = ops::random_block(key, k);
    return {.seed = (std::uint64_t{block[0]} << 32) | block[1], .step = key.step, .position = key.position};
  }

  std::tuple<Transforms...> transforms_;
};

} // namespace cairn
