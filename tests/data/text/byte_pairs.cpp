// SPDX-License-Identifier: MIT
#include <cairn/data/text/byte_pairs.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/core/random.hpp>
#include <cairn/data/text/read_text.hpp>
#include <doctest/doctest.h>

#include "../folder.hpp"

namespace byte_pairs_tests {

using namespace cairn;
using tokens = std::vector<std::int32_t>;

namespace {

const std::string trained = std::string(CAIRN_TEST_DATA_DIR) + "/byte_pairs/"; // written by tests/reference/byte_pairs.py

text::byte_pairs small() { return text::read_byte_pairs(trained + "vocab.json", trained + "merges.txt"); }

// A vocabulary of the 256 bytes, numbered by value, and some more tokens.
std::string vocabulary(const std::vector<std::string>& more = {}, std::size_t without = 256) {
  std::string out = "{";
  std::size_t number = 0;
  const auto add = [&](const std::string& token) {
    out += number == 0 ? "\"" : ",\n\"";
    out += token + "\": " + std::to_string(number);
    ++number;
  };
  for (std::size_t byte = 0; byte < 256; ++byte) {
    std::string token;
    if (byte == '"' || byte == '\\') token = '\\';
    detail::append_utf8(token, detail::characters_of_bytes()[byte]);
    if (byte != without) add(token);
  }
  for (const std::string& token : more) add(token);
  return out + "}";
}

std::string fault(const std::string& vocabulary, const std::string& merges) {
  try {
    text::byte_pairs(vocabulary, merges);
  } catch (const file_error& wrong) {
    return wrong.what();
  }
  return "no error";
}
std::string after(const std::string& text, const std::string& begin) {
  return text.substr(std::min(text.find(begin), text.size()));
}

std::string random_bytes(std::uint32_t number, std::size_t most) {
  const types::random_key key{.seed = 5, .step = number};
  std::string out(ops::random_bits(key, 0) % most, '\0');
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<char>(ops::random_bits(key, i + 1) & 0xFFU);
  return out;
}

} // namespace

TEST_CASE("byte_pairs: tokens are those of an independent implementation, of tokenizers and of tiktoken") {
  const text::byte_pairs pairs = small();
  std::ifstream lines(trained + "encodings.txt");
  std::string line;
  std::size_t count = 0, joined = 0;
  while (std::getline(lines, line)) {
    const std::size_t colon = line.find(':');
    std::string all;
    for (std::size_t i = 0; i < colon; i += 2) all += static_cast<char>(std::stoi(line.substr(i, 2), nullptr, 16));
    tokens expected;
    std::istringstream numbers(line.substr(colon + 1));
    for (std::int32_t number = 0; numbers >> number;) expected.push_back(number);
    const tokens found = pairs.encode(all);
    CHECK_MESSAGE(found == expected, all);
    CHECK(pairs.decode(found) == all);
    joined += all.size() - found.size();
    ++count;
  }
  CHECK(count == 458);
  CHECK(joined > 3000);
}

TEST_CASE("byte_pairs: any bytes come back, and so do any tokens") {
  const text::byte_pairs pairs = small();
  CHECK(pairs.size() == 507);
  for (std::uint32_t k = 0; k < 300; ++k) {
    const std::string all = random_bytes(k, 60);
    CHECK(pairs.decode(pairs.encode(all)) == all);
  }
  std::string together;
  for (std::int32_t token = 0; token < 507; ++token) together += pairs.decode(tokens{token});
  tokens all(507);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int32_t>(i);
  CHECK(pairs.decode(all) == together);
  CHECK_THROWS_WITH_AS(pairs.decode(tokens{3, 507}),
                       "byte_pairs::decode: expected tokens from 0 to 506, found 507 as number 1 of 2; decode tokens by the "
                       "vocabulary that encoded them",
                       input_error);
}

TEST_CASE("byte_pairs: a special token is found by its name, and never encoded") {
  const text::byte_pairs pairs = small();
  CHECK(pairs.find("<|endoftext|>") == 506);
  CHECK(pairs.find(" stones").has_value());
  CHECK_FALSE(pairs.find("no such token").has_value());
  const tokens as_text = pairs.encode("<|endoftext|>");
  CHECK(std::count(as_text.begin(), as_text.end(), 506) == 0);
  CHECK(pairs.decode(as_text) == "<|endoftext|>");
}

TEST_CASE("byte_pairs: all neighbours of one rank are joined before those that this makes, of a lower rank too") {
  const text::byte_pairs pairs(vocabulary({"ab", "abc", "abcab"}), "abc ab\na b\nab c\n");
  CHECK(pairs.encode("abcabc") == tokens{257, 257}); // abcab c, if the first abc were joined to the next ab at once
  CHECK(pairs.encode("abcab") == tokens{258});
  const text::byte_pairs doubles(vocabulary({"aa", "aaaa"}), "a a\naa aa\n");
  CHECK(doubles.encode("aaaaaaa") == tokens{257, 256, 'a'}); // from left to right
  const text::byte_pairs overlap(vocabulary({"aa", "bb", "abb"}), "a a\nb b\na bb\n");
  CHECK(overlap.encode("aaabb") == tokens{256, 258}); // the second and third a are no pair any more
  CHECK(text::byte_pairs(vocabulary(), "").encode("abc") == tokens{'a', 'b', 'c'});
}

TEST_CASE("byte_pairs: neighbours that overlap are joined as by a plain loop over all of them") {
  const std::vector<std::pair<std::string, std::string>> list{{"a", "a"}, {"aa", "a"}, {"b", "aa"},
                                                              {"a", "b"}, {"b", "b"},  {"aa", "b"}};
  std::string merges;
  std::vector<std::string> more;
  for (const auto& [left, right] : list) {
    merges.append(left).append(" ").append(right).append("\n");
    if (std::find(more.begin(), more.end(), left + right) == more.end()) more.push_back(left + right);
  }
  const text::byte_pairs pairs(vocabulary(more), merges);
  for (std::uint32_t k = 0; k < 1024; ++k) {
    std::vector<std::string> word;
    std::string all;
    for (std::uint32_t bit = 0; bit < 10; ++bit) word.emplace_back((k >> bit & 1U) != 0 ? "b" : "a"), all += word.back();
    for (bool again = true; again;) {
      again = false;
      for (const auto& [left, right] : list) {
        for (std::size_t i = 0; i + 1 < word.size(); ++i)
          if (word[i] == left && word[i + 1] == right) {
            word[i] += word[i + 1];
            word.erase(word.begin() + static_cast<std::ptrdiff_t>(i) + 1);
            again = true;
          }
        if (again) break;
      }
    }
    tokens expected;
    for (const std::string& each : word) expected.push_back(pairs.find(each).value_or(-1));
    CHECK_MESSAGE(pairs.encode(all) == expected, all);
  }
}

TEST_CASE("byte_pairs: a text without spaces takes n log n") { // n * n would take hours
  const text::byte_pairs pairs = small();
  std::string all;
  for (std::uint32_t k = 0; all.size() < 400'000; ++k) all += ops::random_bits({.seed = 1}, k) % 3 == 0 ? "stone" : "walking";
  const tokens found = pairs.encode(all);
  CHECK(found.size() < all.size() / 2);
  CHECK(pairs.decode(found) == all);
}

TEST_CASE("byte_pairs: files may have a version, empty lines, carriage returns, escapes and spaces") {
  std::string spaced = vocabulary({"\\u0061b", "\\u0120a"});
  spaced.insert(1, " \r\n\t");
  const text::byte_pairs pairs(spaced + "\n", "#version: 0.2\r\na b\r\n\r\n\xC4\xA0 a");
  CHECK(pairs.encode("ab a") == tokens{256, 257});
  const text::byte_pairs other(vocabulary({"##"}), "# #\n"); // no version
  CHECK(other.encode("##") == tokens{256});
}

TEST_CASE("byte_pairs: a malformed vocabulary is refused with file, line, what was expected and what was found") {
  const std::string advice = "; a vocabulary is {\"token\": number, ...}, as GPT-2's vocab.json";
  CHECK(fault("[1]", "") ==
        "vocab.json, byte 0 (line 1, column 1): expected '{', which begins the tokens, found '[' (U+005B)" + advice);
  CHECK(fault("", "") ==
        "vocab.json, byte 0 (line 1, column 1): expected '{', which begins the tokens, found the end of the file" + advice);
  const auto found = [&](const std::string& json) { return after(fault(json, ""), "byte "); };
  CHECK(
      found("{\n  \"a\": 0,\n  b: 1}").starts_with("byte 14 (line 3, column 3): expected '\"', which begins a token, found 'b'"));
  CHECK(found("{\"a\" 0}").starts_with("byte 5 (line 1, column 6): expected ':' after a token, found '0'"));
  CHECK(
      found("{\"a\": 0; }").starts_with("byte 7 (line 1, column 8): expected ',' or '}' after the number of a token, found ';'"));
  CHECK(found("{\"a\": 0} x").starts_with("byte 9 (line 1, column 10): expected the end of the file after '}', found 'x'"));
  CHECK(found("{\"a").starts_with("byte 3 (line 1, column 4): expected '\"', which ends a token, found the end of the file"));
  for (const char* number : {"-1", "1.5", "1e3", "2147483648", "99999999999", "\"1\"", "null"})
    CHECK(found(std::string("{\"a\": ") + number + "}")
              .starts_with("byte 6 (line 1, column 7): expected the number of a token, from 0 to 2147483647, found "));
  CHECK(found("{\"a\xFF\": 0}")
            .starts_with("byte 3 (line 1, column 4): expected a character of a token, in UTF-8, found the byte 0xFF"));
  CHECK(found("{\"a\n\": 0}").starts_with("byte 3 (line 1, column 4): expected a character of a token, in UTF-8, found U+000A"));
  CHECK(found("{\"\\x\": 0}").starts_with("byte 2 (line 1, column 3): expected one of the escapes of JSON"));
  CHECK(found("{\"\\u12g4\": 0}").starts_with("byte 2 (line 1, column 3): expected \\u and four hexadecimal digits"));
  for (const char* half : {"\\ud83e", "\\ud83ex", "\\ud83e\\u0041", "\\udc00", "\\udc00\\udc00"})
    CHECK(found(std::string("{\"") + half + "\": 0}")
              .starts_with("byte 2 (line 1, column 3): expected \\u and a character, or a pair"));
  CHECK(found("{\"\\ud83e\\udea8\": 0}")
            .starts_with("byte 1 (line 1, column 2): expected a token of the 256 characters that stand for "
                         "bytes, found '\xF0\x9F\xAA\xA8'"));
  CHECK(found("{\"a b\": 0}").starts_with("byte 1 (line 1, column 2): expected a token of the 256 characters"));
  CHECK(found("{\"\": 0}").starts_with("byte 1 (line 1, column 2): expected a token of the 256 characters"));
  CHECK(found("{\"a\": 0,\n\"b\": 0}")
            .starts_with("byte 9 (line 2, column 1): expected each of the numbers 0 to 1 once, found again 0"));
  CHECK(
      found("{\"a\": 0,\n\"b\": 2}").starts_with("byte 9 (line 2, column 1): expected each of the numbers 0 to 1 once, found 2"));
  CHECK(found("{\"a\": 0,\n\"a\": 1}").starts_with("byte 9 (line 2, column 1): expected each token once, found 'a' again"));
  CHECK(after(fault(vocabulary({}, 65), ""), "expected")
            .starts_with("expected a token for each of the 256 bytes, found none for byte 65"));
}

TEST_CASE("byte_pairs: malformed merges are refused with file, line, what was expected and what was found") {
  const std::string all = vocabulary({"ab", "abc"}), advice = "; merges are two tokens a line, as in GPT-2's merges.txt";
  const auto found = [&](const std::string& merges) { return fault(all, merges); };
  CHECK(found("a b\nab c\n") == "no error");
  CHECK(found("#version: 0.2\na b\nabc\n") ==
        "merges.txt, line 3: expected two tokens with a space between them, found 'abc'" + advice);
  for (const char* line : {" a", "a ", "a b c", "a  b", " "})
    CHECK(found(line) ==
          "merges.txt, line 1: expected two tokens with a space between them, found '" + std::string(line) + "'" + advice);
  CHECK(found("a b\nxy z\n") == "merges.txt, line 2: expected tokens of the vocabulary, found 'xy'" + advice);
  CHECK(found("a b\nb c\n") == "merges.txt, line 2: expected tokens of the vocabulary, found 'bc'" + advice);
  CHECK(found("a b\nab c\na b\n") == "merges.txt, line 3: expected each pair of tokens once, found 'a b'" + advice);
  CHECK(found("a b\n#version: 0.2") == "merges.txt, line 2: expected tokens of the vocabulary, found '#version:'" + advice);
}

TEST_CASE("byte_pairs: errors of files name them") {
  const folder here;
  const std::string json = here.path / "v.json", merges = here.path / "m.txt";
  CHECK_THROWS_WITH_AS(text::read_byte_pairs(json, merges), doctest::Contains((json + ": expected a text").c_str()), file_error);
  std::ofstream(json) << vocabulary();
  std::ofstream(merges) << "a b";
  CHECK_THROWS_WITH_AS(text::read_byte_pairs(json, merges), doctest::Contains((merges + ", line 1: ").c_str()), file_error);
  std::ofstream(json) << "{";
  CHECK_THROWS_WITH_AS(text::read_byte_pairs(json, merges), doctest::Contains((json + ", byte 1 (line 1").c_str()), file_error);
}

TEST_CASE("byte_pairs: the real tiny Shakespeare comes back, where CAIRN_DATA says it is") {
  const char* const data = std::getenv("CAIRN_DATA");
  if (data == nullptr) {
    std::puts("byte_pairs: CAIRN_DATA is not set, so that tiny Shakespeare is not read");
    return;
  }
  const std::string all = text::read_text(std::string(data) + "/tinyshakespeare/input.txt");
  const text::byte_pairs pairs = small();
  const tokens found = pairs.encode(all);
  CHECK(found.size() < all.size());
  CHECK(pairs.decode(found) == all);
}

} // namespace byte_pairs_tests
