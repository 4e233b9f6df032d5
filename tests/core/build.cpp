// SPDX-License-Identifier: MIT
#include <cairn/core/build.hpp>

#include <string_view>

#include <doctest/doctest.h>

namespace build_tests {

using cairn::detail::build_facts;

TEST_CASE("build: a header tells how it was compiled") {
  CHECK(build_facts::compiler.find_first_of("0123456789") != std::string_view::npos); // a version
#if defined(__clang__)
  CHECK(build_facts::compiler.starts_with("clang "));
#else
  CHECK(build_facts::compiler.starts_with("g++ "));
#endif
#if defined(__OPTIMIZE__)
  CHECK(build_facts::optimisation == "optimised");
#else
  CHECK(build_facts::optimisation == "not optimised");
#endif
#if !defined(__FAST_MATH__)
  CHECK(build_facts::arithmetic == "exact arithmetic");
#endif
  CHECK(build_facts::target.starts_with("for "));
}

} // namespace build_tests
