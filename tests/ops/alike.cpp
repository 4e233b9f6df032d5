// SPDX-License-Identifier: MIT
#include <cairn/ops/alike.hpp>

#include <cstddef>
#include <string>
#include <tuple>

#include <doctest/doctest.h>

namespace alike_tests {

using namespace cairn;

TEST_CASE("check_alike: other extents are an error that says both, other strides are none") {
  float numbers[12] = {};
  const ops::matrix<float> to{numbers, 2, 3};
  detail::check_alike("copy_matrix", to, ops::matrix<const float>{numbers, 2, 3, 5});
  for (const auto& [rows, columns, text] : {std::tuple{2, 4, "(2, 4)"}, std::tuple{3, 3, "(3, 3)"}}) {
    std::string said;
    try {
      detail::check_alike("copy_matrix", to,
                          ops::matrix<const float>{numbers, static_cast<std::size_t>(rows), static_cast<std::size_t>(columns)});
    } catch (const error& e) {
      said = e.what();
    }
    CHECK(said.find("copy_matrix: the extents do not fit: expected (2, 3)") == 0);
    CHECK(said.find(std::string("found ") + text) != std::string::npos);
  }
}

} // namespace alike_tests
