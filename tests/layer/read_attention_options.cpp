// SPDX-License-Identifier: MIT
#include <cairn/layer/read_attention_options.hpp>

#include <cstddef>
#include <cstdint>

#include <cairn/core/fraction.hpp>

namespace read_attention_options_tests {

using namespace cairn;
using attention::key_heads;
template <std::size_t Heads, class... Options>
using options = detail::attention_options<Heads, Options...>;

// In any order; a wrong one is found.
static_assert(options<4>::are_right && options<4>::key_heads == 4 && options<4>::band.before == ops::most_keys);
static_assert(options<4, attention::causal, key_heads<2>>::key_heads == 2);
static_assert(options<4, attention::causal, key_heads<2>>::band.after == 0);
static_assert(options<4, key_heads<2>, attention::window<3>>::band.before == 2);
static_assert(options<4, attention::full>::band.after == ops::most_keys);
static_assert(!options<4, key_heads<3>>::are_right && !options<4, int>::are_right && !options<0>::are_right);
static_assert(!options<4, key_heads<2>, key_heads<2>>::are_right && !options<4, key_heads<0>>::are_right);
static_assert(!options<4, attention::causal, attention::full>::are_right && !options<4, attention::window<0>>::are_right);

static_assert(options<4, attention::stored_probabilities, attention::causal>::stores == 1 && options<4>::stores == 0);
static_assert(!options<4, attention::stored_probabilities, attention::stored_probabilities>::are_right);
static_assert(!options<4, attention::stored_probabilities, attention::dropout<percent<10>>>::are_right);
static_assert(!options<4, attention::key_lengths, attention::stored_probabilities>::are_right);

// A mask of a program's own.
struct nearby {
  static constexpr ops::key_band keys{.before = 1, .after = 1};
};
static_assert(options<2, nearby>::are_right && options<2, nearby>::band.before == 1);

// Dropout and constants, once each; without them an attention has no extras.
static_assert(!options<4, attention::causal>::have_extras && options<4>::rate.threshold == 0);
static_assert(options<4, attention::dropout<percent<25>>, attention::causal>::rate.threshold == std::uint64_t{1} << 30);
static_assert(options<4, attention::dropout<percent<25>>>::have_extras && options<4, attention::dropout<percent<25>>>::drops);
static_assert(options<4, attention::dropout<percent<100>>>::are_right && options<4, attention::dropout<percent<0>>>::are_right);
static_assert(!options<4, attention::dropout<percent<101>>>::are_right &&
              !options<4, attention::dropout<percent<-1>>>::are_right);
static_assert(!options<4, attention::dropout<percent<10>>, attention::dropout<percent<20>>>::are_right);
static_assert(options<4, attention::added_mask, key_heads<2>, attention::key_lengths, attention::causal>::are_right);
static_assert(options<4, attention::added_mask>::adds && !options<4, attention::added_mask>::has_lengths);
static_assert(options<4, attention::key_lengths>::has_lengths && options<4, attention::key_lengths>::have_extras);
static_assert(!options<4, attention::added_mask, attention::added_mask>::are_right);
static_assert(!options<4, attention::key_lengths, attention::key_lengths>::are_right);

} // namespace read_attention_options_tests
