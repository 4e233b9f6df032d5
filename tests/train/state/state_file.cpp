// SPDX-License-Identifier: MIT
#include <cairn/train/state/state_file.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

namespace state_file_tests {

using namespace cairn;

TEST_CASE("state_file: numbers come back bit for bit") {
  detail::state_words words;
  words.set("most", ~std::uint64_t{0});
  words.set("text", std::string("a \"word\"\n"));
  const std::vector<double> numbers{0.1, -0.0, 1.0 / 3, 1e-310, std::numeric_limits<double>::infinity(), std::nan("")};
  for (std::size_t i = 0; i < numbers.size(); ++i) words.set_bits(std::to_string(i), numbers[i]);
  CHECK(words.text("0") == "3fb999999999999a 0.1");
  const auto back = detail::state_words::unpacked(words.packed());
  CHECK(back.all() == words.all());
  CHECK(back.number("most") == ~std::uint64_t{0});
  CHECK(back.text("text") == "a \"word\"\n");
  for (std::size_t i = 0; i < numbers.size(); ++i)
    CHECK(std::bit_cast<std::uint64_t>(back.bits(std::to_string(i))) == std::bit_cast<std::uint64_t>(numbers[i]));
  CHECK_THROWS_WITH_AS(back.number("text"), doctest::Contains("expected a number as 'text', found 'a "), file_error);
  CHECK_THROWS_WITH_AS(back.number("seed"), "load_state: it has no 'seed'", file_error);
  CHECK_THROWS_AS(back.bits("text"), file_error);
}

TEST_CASE("state_file: words that were cut off on their way are refused, and what looks like a length is not taken for one") {
  detail::state_words words;
  words.set("4:abc", std::string("12:\0:7", 6));
  words.set("", std::string());
  const std::string whole = words.packed();
  CHECK(detail::state_words::unpacked(whole).all() == words.all());
  std::size_t right = 0;
  for (std::size_t cut = 0; cut <= whole.size(); ++cut) try {
      detail::state_words::unpacked(std::string_view(whole).substr(0, cut));
      ++right;
    } catch (const file_error&) {
    }
  CHECK(right == 3); // cuts that keep none, one or both words
  for (const char* damaged : {"x", "1", ":", "-1:a", "99999999999999999999:a", "18446744073709551615:a"})
    CHECK_THROWS_AS(detail::state_words::unpacked(damaged), file_error);
}

TEST_CASE("state_file: the checksum of a header sees every word, name and shape, and not itself") {
  std::map<std::string, std::string> words{{"a", "1"}, {"b", "2"}};
  std::vector<files::safetensors_source> tensors{{"t", "F32", {2, 3}, {}}, {"u", "F64", {4}, {}}};
  std::set<std::uint64_t> seen;
  const auto is_new = [&] { return seen.insert(detail::checksum_of_header(words, tensors)).second; };
  CHECK(is_new());
  words["checksum"] = "anything";
  CHECK_FALSE(is_new());
  words["a"] = "12";
  words["b"] = "";
  CHECK(is_new());
  words = {{"a1", ""}, {"b", "2"}};
  CHECK(is_new());
  tensors[0].extents = {3, 2};
  CHECK(is_new());
  tensors[0].extents = {32};
  CHECK(is_new());
  tensors[0].type = "F64";
  CHECK(is_new());
  tensors[1].name = "v";
  CHECK(is_new());
}

TEST_CASE("state_file: of two long texts the place is shown where they part") {
  CHECK(detail::where_they_differ("Linear<3, 4>", "Linear<3, 5>") == "expected Linear<3, 4>, found Linear<3, 5>");
  const std::string same(200, 'x'), long_end(300, 'y');
  const std::string text = detail::where_they_differ(same + "A" + long_end, same + "B");
  CHECK(text ==
        "expected ..." + std::string(24, 'x') + "A" + std::string(75, 'y') + "..., found ..." + std::string(24, 'x') + "B");
}

} // namespace state_file_tests
