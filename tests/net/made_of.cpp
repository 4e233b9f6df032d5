// SPDX-License-Identifier: MIT
#include <cstddef>
#include <type_traits>

#include <cairn/layer/relu.hpp>
#include <cairn/net/checkpoint.hpp>
#include <cairn/net/fused_update.hpp>
#include <cairn/net/made_of.hpp>
#include <cairn/net/repeat.hpp>
#include <cairn/net/residual.hpp>
#include <cairn/net/sequential.hpp>
#include <doctest/doctest.h>

namespace made_of_tests {

using namespace cairn;

namespace {

template <class T>
using made_of = detail::made_of<T>;
template <class T>
using whole = detail::whole<T>;

using Net = Sequential<ReLU, ReLU>;

} // namespace

TEST_CASE("made_of: what is one stage with a chain inside, and what is several stages") {
  static_assert(made_of<ReLU>::as == detail::part_kind::layer && !detail::is_block<ReLU>);
  static_assert(made_of<Net>::as == detail::part_kind::sequence && !detail::is_block<Net>);
  static_assert(made_of<Repeat<3, Net>>::as == detail::part_kind::sequence && made_of<Repeat<3, Net>>::times == 3);
  static_assert(detail::is_block<Residual<ReLU>> && !detail::is_transparent<Residual<ReLU>>);
  static_assert(std::is_same_v<made_of<Residual<ReLU, ReLU>>::parts, detail::pack<Net>>);
  static_assert(std::is_same_v<made_of<Residual<ReLU>>::policy, store_all>);
  static_assert(detail::is_block<checkpoint<sqrt_n, Net>> && detail::is_transparent<checkpoint<sqrt_n, Net>>);
  static_assert(std::is_same_v<made_of<checkpoint<sqrt_n, Net>>::parts, detail::pack<Net>>);
  static_assert(std::is_same_v<made_of<checkpoint<sqrt_n, Net>>::policy, sqrt_n>);
  static_assert(std::is_same_v<made_of<Repeat<3, Net>>::with<ReLU>, Repeat<3, ReLU>>);
}

TEST_CASE("made_of: a checkpoint around everything is the plan of everything") {
  static_assert(std::is_same_v<whole<Net>::body, Net> && std::is_same_v<whole<Net>::policy, store_all>);
  static_assert(std::is_same_v<whole<checkpoint<every<3>, Net>>::body, Net>);
  static_assert(std::is_same_v<whole<checkpoint<every<3>, Net>>::policy, every<3>>);
  static_assert(!whole<Net>::fused && !whole<checkpoint<every<3>, Net>>::fused);
}

TEST_CASE("made_of: a fused update around everything leaves body and policy as they are") {
  static_assert(whole<fused_update<Net>>::fused && whole<fused_update<checkpoint<every<3>, Net>>>::fused);
  static_assert(std::is_same_v<whole<fused_update<Net>>::body, Net>);
  static_assert(std::is_same_v<whole<fused_update<checkpoint<every<3>, Net>>>::body, Net>);
  static_assert(std::is_same_v<whole<fused_update<checkpoint<every<3>, Net>>>::policy, every<3>>);
}

TEST_CASE("made_of: the stage of a chain is what its schedule needs and keeps") {
  detail::chain_facts f{};
  f.tape = 64;
  f.forward_workspace = 128;
  f.leaves = 3;
  f.parameters = 5;
  f.reads_input = f.writes_output = true;
  constexpr std::size_t batch = 7;
  const stage s = detail::stage_of_chain(f);
  CHECK(s.tape.at(batch) == 64);
  CHECK(s.forward_workspace.at(batch) == 128);
  CHECK(s.leaves == 3);
  CHECK(s.parameters == 5);
  CHECK(s.reads_input);
  CHECK(!s.reads_output);
  CHECK(!s.tape_without_output);
}

} // namespace made_of_tests
