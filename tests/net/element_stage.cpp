// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/net/element_stage.hpp>
#include <cairn/net/residual.hpp>

using namespace cairn;

TEST_CASE("element_stage: a layer describes itself, with its name") {
  using layer = Linear<8, 4>;
  constexpr stage s = detail::plain_element<layer>::as_stage(shape{8}, 4);
  static_assert(detail::same_spelling(s.type, detail::spelling<layer>()) && s.output.per_sample == 16 &&
                s.parameters == 36);
  static_assert(detail::plain_element<layer>::adds && !detail::plain_element<ReLU>::adds);
  CHECK(!detail::same_spelling(s.type, detail::spelling<ReLU>()));
}

TEST_CASE("element_stage: a block is described by its chain, and adds to nothing") {
  using block = Residual<Linear<8, 8>, ReLU>;
  using chain = blueprint_of<Sequential<Linear<4, 8>, block>, 2>;
  using element = detail::chain_element<typename chain::self, 1, block>;
  constexpr stage s = element::as_stage(shape{8}, 4);
  static_assert(detail::same_spelling(s.type, detail::spelling<block>()) && s.leaves == 2 && !element::adds);
  CHECK(detail::same_spelling(chain::stages[1].type, s.type));
}
