// SPDX-License-Identifier: MIT
#include <exception>
#include <stdexcept>
#include <string>

#include <cairn/comm/first_failure.hpp>
#include <doctest/doctest.h>

namespace first_failure_tests {

using namespace cairn;
using detail::fault_kind;
using detail::first_failure;

TEST_CASE("first_failure: each kind is thrown as an error of its own, and one without a text has words all the same") {
  first_failure failure;
  failure.set("the sky fell", fault_kind::late);
  CHECK_THROWS_WITH_AS(failure.throw_reason("because "), "because the sky fell", deadline_error);
  failure.set("the sky fell", fault_kind::different);
  CHECK_THROWS_AS(failure.throw_reason(""), input_error);
  failure.forget();
  CHECK_THROWS_WITH_AS(failure.throw_reason("because "), "because a rank threw, and no memory was left for its text", rank_lost);
}

TEST_CASE("first_failure: the first exception is kept, and nested in what is thrown") {
  first_failure failure;
  const auto whose = [](int rank) { return "rank " + std::to_string(rank); };
  CHECK_FALSE(failure.has_exception());
  failure.rethrow(whose); // there is none to rethrow
  failure.keep(2, std::make_exception_ptr(std::out_of_range("seven")));
  failure.keep(1, std::make_exception_ptr(3));
  CHECK(failure.has_exception());
  bool found = false;
  try {
    failure.rethrow(whose);
  } catch (const rank_lost& outer) {
    CHECK(std::string(outer.what()) == "rank 2 threw: seven");
    try {
      std::rethrow_if_nested(outer);
    } catch (const std::out_of_range&) {
      found = true;
    }
  }
  CHECK(found);
  first_failure other;
  other.keep(0, std::make_exception_ptr(3));
  CHECK_THROWS_WITH_AS(other.rethrow(whose), "rank 0 threw: something that is no std::exception", rank_lost);
  CHECK(first_failure::text_of(1, "ouch") == "rank 1 threw: ouch");
}

} // namespace first_failure_tests
