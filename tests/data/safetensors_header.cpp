// SPDX-License-Identifier: MIT
#include <cairn/data/safetensors_header.hpp>

#include <array>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

namespace safetensors_header_tests {

using namespace cairn;
using detail::append_json;
using detail::safetensors_header;

TEST_CASE("safetensors_header: its bytes follow from names, types, shapes and metadata alone") {
  const std::vector<std::byte> bytes(24);
  const std::vector<files::safetensors_source> tensors{
      {"w", "F32", {2, 3}, bytes}, {"a \"b\"", "U8", {}, std::span(bytes).first(1)}, {"none", "U8", {3, 0}, {}}};
  const std::string expected = R"({"__metadata__":{"":"x","k":"1\n2"},"w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
                               R"("a \"b\"":{"dtype":"U8","shape":[],"data_offsets":[24,25]},)"
                               R"("none":{"dtype":"U8","shape":[3,0],"data_offsets":[25,25]}})";
  const std::string found = safetensors_header(tensors, {{"k", "1\n2"}, {"", "x"}});
  CHECK(found == expected + std::string((8 - expected.size() % 8) % 8, ' '));
  CHECK(safetensors_header({}, {}) == "{}      ");
}

TEST_CASE("safetensors_header: texts are escaped as the format's own library does") {
  const auto json = [](std::string_view text) {
    std::string out;
    append_json(out, text, "a text");
    return out;
  };
  CHECK(json("") == "\"\"");
  CHECK(json("a/b \"c\" \\") == R"("a/b \"c\" \\")");
  CHECK(json("\b\f\n\r\t") == R"("\b\f\n\r\t")");
  CHECK(json(std::string("\0\x01\x0f\x10\x1f\x7f", 6)) == "\"\\u0000\\u0001\\u000f\\u0010\\u001f\x7f\"");
  CHECK(json("\xC3\xA9 \xE2\x82\xAC \xF0\x9F\xAA\xA8") == "\"\xC3\xA9 \xE2\x82\xAC \xF0\x9F\xAA\xA8\"");
  CHECK_THROWS_WITH_AS(json("caf\xE9!"), "write_safetensors: expected UTF-8 as a text, found byte 233 at place 3 of 'caf...'",
                       input_error);
}

TEST_CASE("safetensors_header: what is no tensor is refused") {
  const std::array<std::byte, 4> bytes{};
  const auto refused = [&](const files::safetensors_source& t, const std::string& text) {
    CHECK_THROWS_WITH_AS(safetensors_header(std::span(&t, 1), {}), text.c_str(), input_error);
  };
  refused({"w", "F32", std::vector<std::uint64_t>(65, 1), bytes}, "write_safetensors: 'w' has 65 extents, expected at most 64");
  refused({"__metadata__", "F32", {1}, bytes}, "write_safetensors: '__metadata__' is a name that is taken");
  refused({"\xFF", "F32", {1}, bytes},
          "write_safetensors: expected UTF-8 as the name of a tensor, found byte 255 at place 0 of '...'");
  const files::safetensors_source most{"w", "F32", std::vector<std::uint64_t>(64, 1), bytes};
  CHECK_NOTHROW(safetensors_header(std::span(&most, 1), {}));
  // The same name with different types, not next to each other.
  const std::vector<files::safetensors_source> two{{"w", "F32", {1}, bytes}, {"v", "F32", {1}, bytes}, {"w", "U8", {4}, bytes}};
  CHECK_THROWS_WITH_AS(safetensors_header(two, {}), "write_safetensors: 'w' is a name that is taken", input_error);
  CHECK_THROWS_WITH_AS(safetensors_header({}, {{"\xC3", "x"}}), doctest::Contains("expected UTF-8 as a name of metadata"),
                       input_error);
  CHECK_THROWS_WITH_AS(safetensors_header({}, {{"x", "\xC3"}}), doctest::Contains("expected UTF-8 as metadata"), input_error);
}

} // namespace safetensors_header_tests
