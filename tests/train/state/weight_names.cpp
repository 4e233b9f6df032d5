// SPDX-License-Identifier: MIT
#include <cairn/train/state/weight_names.hpp>

#include <string>

#include <doctest/doctest.h>

namespace weight_names_tests {

using namespace cairn;

TEST_CASE("weight_names: the first pair that fits counts, in whole words") {
  const types::weights_options o{
      .rename = {{"conv1", "0"}, {"layer*.*.bn1", "*.*.0.1"}, {"layer1", "9"}, {"encoder.", ""}, {"drop", ""}, {"a*b*", "*x*"}}};
  const auto named = [&](const char* name) { return detail::renamed(name, o); };
  CHECK(named("conv1.weight") == "0.weight");
  CHECK(named("conv1") == "0");
  CHECK(named("conv10.weight") == "conv10.weight");
  CHECK(named("layer2.13.bn1.running_mean") == "2.13.0.1.running_mean");
  CHECK(named("layer1.0.conv2.weight") == "9.0.conv2.weight");
  CHECK(named("layer.0.bn1.weight") == "layer.0.bn1.weight"); // * matches at least one character
  CHECK(named("encoder.0.weight") == "0.weight");
  CHECK(named("drop.0.weight") == "0.weight");
  CHECK(named("a12b34.weight") == "12x34.weight");
  CHECK(named("") == "");
}

TEST_CASE("weight_names: what no pair can mean is an error, and patterns say what lies the other way round") {
  const auto check = [](const char* from, const char* to) { detail::check_renames({.rename = {{from, to}}}); };
  CHECK_NOTHROW(check("a.*", "b"));
  CHECK_THROWS_WITH_AS(check("", "b"), doctest::Contains("found an empty text"), input_error);
  CHECK_THROWS_WITH_AS(check("a", "b.*"), doctest::Contains("'b.*' has more * than 'a'"), input_error);
  const types::weights_options o{.transposed = {"h.*.attn"}};
  CHECK(detail::is_among(o.transposed, "h.3.attn.weight"));
  CHECK_FALSE(detail::is_among(o.transposed, "h.3.mlp.weight"));
}

TEST_CASE("weight_names: a report says everything that was not taken") {
  types::loaded_weights found;
  CHECK(found.is_all());
  CHECK(found.text() == "");
  found.has_old_names = true;
  CHECK(found.is_all());
  found.missing = {"a", "b"};
  found.of_another_type = {"c is of I32"};
  CHECK_FALSE(found.is_all());
  CHECK(found.text() == "missing: a, b; of another type: c is of I32; its names are those of an earlier version of Cairn");
}

} // namespace weight_names_tests
