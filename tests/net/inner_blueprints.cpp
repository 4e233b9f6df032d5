// SPDX-License-Identifier: MIT
#include <cairn/net/inner_blueprints.hpp>

#include <cstddef>
#include <type_traits>

#include <cairn/layer/linear.hpp>
#include <cairn/layer/tanh.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/net/concat.hpp>
#include <doctest/doctest.h>

namespace inner_blueprints_tests {

using namespace cairn;
using namespace cairn::detail;

namespace {

using Block = Concat<Linear<8, 4>, Sequential<Linear<8, 5>, Tanh>>;
using Net = blueprint_of<Sequential<Linear<6, 8>, Block, Linear<9, 3>>, 4>;
using Inner = Net::inner<1>;

} // namespace

TEST_CASE("inner_blueprints: one for each chain of a block, for what arrives there") {
  static_assert(Inner::type::size == 2 && std::is_same_v<Inner::in, dims<8>> && Inner::used == 1);
  using first = pack_element<0, Inner::type>;
  using second = pack_element<1, Inner::type>;
  static_assert(first::size == 1 && second::size == 2 && !first::is_root);
  static_assert(std::is_same_v<second::around, Block> && second::input_shape == shape{8});
  CHECK(Inner::as_stage().parameters == first::parameters + second::parameters);
}

TEST_CASE("inner_blueprints: gradients are finished by the last chain first") {
  using each = each_blueprint<Inner::type>;
  static_assert(each::tensors == 4);
  gradient_end ends[4];
  std::size_t leaf = 7;
  CHECK(each::write_ends(ends, 100, leaf) == ends + 4);
  CHECK(leaf == 7 + 3);                            // Tanh is a leaf too
  CHECK((ends[0].leaf == 8 && ends[1].leaf == 8)); // the Linear under the Tanh
  CHECK((ends[2].leaf == 9 && ends[3].leaf == 9));
  CHECK(ends[3].end == 100 + pack_element<0, Inner::type>::parameter_block + pack_element<1, Inner::type>::parameter_block);
}

TEST_CASE("inner_blueprints: tensors lie alike where each has the bytes of the other") {
  const scale to{sizes_of<float>, 3};
  const value_list a{tensor{4}, tensor{2, 3}}, b{tensor{2, 2}, tensor{6}}, c{tensor{6}, tensor{4}};
  CHECK(same_layout(a, b, to));
  CHECK(!same_layout(a, c, to));
  CHECK(!same_layout(a, value_list(a, 1), to));
  CHECK(!same_layout(value_list{tensor{4}}, value_list{tensor{4}.once()}, to));
}

} // namespace inner_blueprints_tests
