// SPDX-License-Identifier: MIT
#include <string_view>

#include <cairn/layer/layer_norm.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/one_chain.hpp>

#include "layers.hpp"
#include "planned.hpp"

namespace one_chain_tests {

using namespace cairn;

namespace {

// A block that only groups layers. It inherits everything except `policy`, `name`, `is_right` and `with`.
template <class... Layers>
struct Group {
  template <class T>
  static plain::piece plain_piece(plain::maker<T>& maker) {
    return maker.template make<Sequential<Layers...>>();
  }
};

using Wide = Linear<16, 16>;
using Net = Sequential<Linear<12, 16>, Group<Wide, ReLU, testing::Witness>, Group<LayerNorm<16>>,
                       Residual<Group<testing::Scale, Group<ReLU, Wide>>>, Repeat<2, Group<ReLU, Wide>>>;

} // namespace

} // namespace one_chain_tests

template <class... Layers>
struct cairn::detail::made_of<one_chain_tests::Group<Layers...>> : one_chain<Sequential<Layers...>> {
  using policy = store_all;
  static constexpr std::string_view name = "Group";
  static constexpr bool is_right = true;
  template <class... Parts>
  using with = one_chain_tests::Group<Parts...>;
};

namespace one_chain_tests {

TEST_CASE("one_chain: a block that inherits all of it has the oracle's bits") {
  using b = blueprint_of<Net, 5>;
  static_assert(b::size == 6 && b::leaves == 3 + 1 + 1 + 3 + 2 * 2);
  testing::check_network<Net, 5, float>();
}

} // namespace one_chain_tests
