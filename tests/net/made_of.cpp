// SPDX-License-Identifier: MIT
#include <array>
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
  const plan::stage s = detail::stage_of_chain(f);
  CHECK(s.tape.at(batch) == 64);
  CHECK(s.forward_workspace.at(batch) == 128);
  CHECK(s.leaves == 3);
  CHECK(s.parameters == 5);
  CHECK(s.reads_input);
  CHECK(!s.reads_output);
  CHECK(!s.tape_without_output);
}

TEST_CASE("made_of: the stage of several chains has their sums, and the largest workspace with what lies beside it") {
  detail::chain_facts f{};
  f.tape = 64;
  f.forward_workspace = 128;
  f.evaluation_workspace = 64;
  f.backward_workspace = 192;
  f.input_bytes = 320;
  f.input_elements = 11;
  f.leaves = 3;
  f.parameters = 5;
  f.parameter_block = 16;
  f.state_block = 32;
  f.forward_flops = 1000;
  f.tape_flops = 900;
  f.backward_flops = 2000;
  f.input_gradient_flops = 700;
  detail::chain_facts g = f;
  g.forward_workspace = 64;
  g.backward_workspace = 0;
  g.reads_input = g.writes_output = true;

  const plan::stage s = detail::sum_of_chains(std::array{f, g});
  CHECK(s.tape.at(7) == 128);
  CHECK(s.forward_workspace.at(7) == 128);
  CHECK(s.evaluation_workspace.at(7) == 64);
  CHECK(s.backward_workspace.at(7) == 192);
  CHECK(s.leaves == 6);
  CHECK(s.parameters == 10);
  CHECK(s.parameter_block == 32);
  CHECK(s.state_block == 64);
  CHECK(s.forward_flops == 2000);
  CHECK(s.tape_flops == 1800);
  CHECK(s.backward_flops == 4000);
  CHECK(s.input_gradient_flops == 1400);
  CHECK(s.reads_input);
  CHECK(!s.tape_without_output); // the second chain writes it
  CHECK(detail::sum_of_chains(std::array{f, f}).tape_without_output);

  plan::stage beside = detail::stage_without_chains();
  detail::add_chain(beside, f, {.forward = 64, .evaluation = 128, .backward = 256, .adds_gradient = true});
  CHECK(beside.forward_workspace.at(7) == 192);
  CHECK(beside.evaluation_workspace.at(7) == 192);
  CHECK(beside.backward_workspace.at(7) == 768); // with the gradient that the block adds
  CHECK(beside.backward_flops == 2011);
  CHECK(beside.input_gradient_flops == 711);
  f.ends.adds_input_gradient = true;
  beside = detail::stage_without_chains();
  detail::add_chain(beside, f, {.adds_gradient = true});
  CHECK(beside.backward_workspace.at(7) == 192);
  CHECK(beside.backward_flops == 2000);
}

} // namespace made_of_tests
