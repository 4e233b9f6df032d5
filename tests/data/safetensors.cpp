// SPDX-License-Identifier: MIT
#include <cairn/data/safetensors.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/stat.h>

#include <doctest/doctest.h>

#include "allocations.hpp"
#include "folder.hpp"

namespace safetensors_tests {

using namespace cairn;

namespace {

// A file with this header, followed by `bytes` zero bytes.
std::string file_of(const std::string& header, std::size_t bytes) {
  std::string out(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) out[i] = static_cast<char>(header.size() >> (8 * i) & 0xFFU);
  return out + header + std::string(bytes, '\0');
}

// Returns the error of reading these bytes, or "" if they are right.
std::string said_of(const std::string& bytes) {
  return file_fault(bytes, [](const std::string& path) { const files::safetensors_file read(path); });
}
bool says(const std::string& bytes, std::string_view what) { return said_of(bytes).find(what) != std::string::npos; }

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& numbers) {
  return std::as_bytes(std::span<const T>(numbers));
}

} // namespace

TEST_CASE("safetensors: the bytes of a file are those that the format's own library writes") {
  const folder here;
  const std::string path = here.path / "a.safetensors";
  const std::vector<float> b{1, 2, 3, 4, 5, 6};
  const std::vector<double> a{0.5};
  const std::vector<std::int32_t> tokens{7, -1};
  // In Python: safetensors.numpy.save({"b": float32 (2, 3), "a": float64 (), "tokens": int32 (2,)}, {"made by": "a \"test\""})
  files::write_safetensors(
      path, {{"tokens", "I32", {2}, bytes_of(tokens)}, {"b", "F32", {2, 3}, bytes_of(b)}, {"a", "F64", {}, bytes_of(a)}},
      {{"made by", "a \"test\""}});
  const std::string header =
      R"({"__metadata__":{"made by":"a \"test\""},"a":{"dtype":"F64","shape":[],"data_offsets":[0,8]},)"
      R"("b":{"dtype":"F32","shape":[2,3],"data_offsets":[8,32]},"tokens":{"dtype":"I32","shape":[2],"data_offsets":[32,40]}})";
  std::string expected = file_of(header + std::string((8 - header.size() % 8) % 8, ' '), 0);
  const auto append = [&](std::span<const std::byte> more) {
    expected.append(reinterpret_cast<const char*>(more.data()), more.size());
  };
  append(bytes_of(a));
  append(bytes_of(b));
  append(bytes_of(tokens));
  CHECK(contents(path) == expected);

  files::safetensors_file read(path);
  REQUIRE(read.entries().size() == 3);
  CHECK(read.metadata().at("made by") == "a \"test\"");
  REQUIRE(read.find("b") != nullptr);
  CHECK(read.find("c") == nullptr);
  CHECK(read.find("b")->extents == std::vector<std::uint64_t>{2, 3});
  std::vector<float> floats(6);
  read.read<float>(*read.find("b"), floats);
  CHECK(floats == b);
  std::vector<double> doubles(6);
  read.read<double>(*read.find("b"), doubles);
  CHECK(doubles == std::vector<double>(b.begin(), b.end()));
  std::vector<std::int32_t> integers(2);
  read.read<std::int32_t>(*read.find("tokens"), integers);
  CHECK(integers == tokens);
  CHECK_THROWS_WITH_AS(read.read<float>(*read.find("tokens"), std::span(floats).first(2)),
                       doctest::Contains("'tokens' is of I32, which does not become F32"), file_error);
  CHECK_THROWS_WITH_AS(read.read<float>(*read.find("b"), std::span(floats).first(2)),
                       doctest::Contains("'b' was asked for 2 elements, found 6"), file_error);
}

TEST_CASE("safetensors: half precision is read, every one of its numbers") {
  const folder here;
  const std::string path = here.path / "half.safetensors";
  std::vector<std::uint16_t> bits(65536);
  for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<std::uint16_t>(i);
  files::write_safetensors(path, {{"brain", "BF16", {256, 256}, bytes_of(bits)}, {"half", "F16", {65536}, bytes_of(bits)}});
  files::safetensors_file read(path);
  std::vector<double> half(65536), brain(65536);
  read.read<double>(*read.find("half"), half);
  read.read<double>(*read.find("brain"), brain);
  // Both formats define an element as its fraction times a power of two.
  const auto by_definition = [](std::size_t i, int fraction_bits, int bias, int largest) {
    const int exponent = static_cast<int>(i % 32768) >> fraction_bits;
    const auto fraction = static_cast<double>(i % (std::size_t{1} << fraction_bits)) / (1 << fraction_bits);
    const double sign = i < 32768 ? 1 : -1;
    if (exponent == largest) return fraction == 0 ? sign * INFINITY : std::numeric_limits<double>::quiet_NaN();
    return sign * (exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, exponent - bias));
  };
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < 65536; ++i)
    for (const auto& [found, expected] :
         {std::pair{half[i], by_definition(i, 10, 15, 31)}, std::pair{brain[i], by_definition(i, 7, 127, 255)}})
      wrong += std::isnan(expected) ? !std::isnan(found) : found != expected || std::signbit(found) != std::signbit(expected);
  CHECK(wrong == 0);
}

TEST_CASE("safetensors: files without tensors, empty tensors and white space are right") {
  CHECK(said_of(file_of("{}", 0)) == "");
  CHECK(said_of(file_of("\t{}  ", 0)) == "");
  CHECK(said_of(file_of(R"({"e":{"dtype":"F32","shape":[2,0],"data_offsets":[0,0]}})", 0)) == "");
  CHECK(said_of(file_of(R"({"s":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})", 4)) == "");
  CHECK(said_of(file_of(R"({"f":{"dtype":"F4","shape":[4],"data_offsets":[0,2]}})", 2)) == "");
}

TEST_CASE("safetensors: a file that is not one is refused in words") {
  const auto one = [](const char* entry, std::size_t bytes) { return file_of(R"({"t":)" + std::string(entry) + "}", bytes); };
  CHECK(says("", "expected at least 8 bytes, found 0"));
  CHECK(says(std::string("\xff\xff\xff\xff\xff\xff\xff\xff", 8), "expected a header of at most 100000000 bytes"));
  CHECK(says(std::string("\x3c\0\0\0\0\0\0\0", 8) + "{}", "is the file cut off?"));
  CHECK(says(file_of("", 0), "its header is no JSON"));
  CHECK(says(file_of("not json", 0), "its header is no JSON"));
  CHECK(says(file_of(std::string("{}\0", 3), 0), "its header is no JSON: it has a zero byte"));
  CHECK(says(file_of(std::string("{}\0 and more", 12), 0), "its header is no JSON: it has a zero byte"));
  CHECK(says(file_of("{\"\xff\":{}}", 0), "its header is no JSON"));
  CHECK(says(file_of("[]", 0), "expected an object in its header"));
  CHECK(says(file_of(R"({"__metadata__":{"a":1}})", 0), "expected a text as __metadata__ 'a'"));
  CHECK(says(one(R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]},"t":{"dtype":"F32","shape":[1],"data_offsets":[4,8]})", 8),
             "its header has 't' twice"));
  CHECK(says(one(R"({"dtype":"F32","shape":[1]})", 4), "'t': expected dtype, shape and data_offsets, and nothing else"));
  CHECK(says(one(R"({"dtype":"F33","shape":[1],"data_offsets":[0,4]})", 4), "'t': its type F33 is unknown"));
  CHECK(says(one(R"({"dtype":"F32","shape":[-1],"data_offsets":[0,4]})", 4), "whole numbers of 0 and more in shape"));
  CHECK(says(one(R"({"dtype":"F32","shape":[1.0],"data_offsets":[0,4]})", 4), "whole numbers of 0 and more in shape"));
  CHECK(says(one(R"({"dtype":"F32","shape":[1],"data_offsets":[0]})", 4), "expected two data_offsets, found 1"));
  CHECK(says(one(R"({"dtype":"F32","shape":[1],"data_offsets":[4,8]})", 8),
             "to begin at 0, where those before it end, found 4 to 8"));
  CHECK(says(one(R"({"dtype":"F32","shape":[1],"data_offsets":[4,0]})", 4), "to begin at 0"));
  CHECK(says(one(R"({"dtype":"F32","shape":[2],"data_offsets":[0,4]})", 4), "its shape has 8 bytes, found 4"));
  CHECK(says(one(R"({"dtype":"F32","shape":[2,18446744073709551614],"data_offsets":[0,16]})", 16), "its shape is too large"));
  CHECK(says(one(R"({"dtype":"F4","shape":[3],"data_offsets":[0,2]})", 2), "do not fill whole bytes"));
  CHECK(says(one(R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})", 5), "expected 4 bytes behind the header, found 5"));
  CHECK(says(one(R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})", 3), "found 3; is the file cut off?"));
  CHECK(says(file_of("{\"t\":" + std::string(1'000'000, '['), 0), "'t': expected dtype, shape and data_offsets"));
  CHECK(says(one(R"({"dtype":"F32","shape":[[[1]]],"data_offsets":[0,4]})", 4),
             "'t': expected whole numbers of 0 and more in shape"));
  CHECK(says(one(R"({"dtype":["F32"],"shape":[1],"data_offsets":[0,4]})", 4), "'t': expected a text as dtype"));
  CHECK(says(one(R"({"dtype":"F32","shape":1,"data_offsets":[0,4]})", 4), "'t': expected a list as shape"));
  CHECK(says(one(R"({"dtype":"F32","shape":"1","data_offsets":[0,4]})", 4), "'t': expected a list as shape"));
  CHECK(says(one(R"({"dtype":"F32","shape":[true],"data_offsets":[0,4]})", 4), "whole numbers of 0 and more in shape"));
  CHECK(says(one(R"({"dtype":"F32","shape":[1],"data_offsets":{"a":0}})", 4), "'t': expected a list as data_offsets"));
  CHECK(says(one(R"({"dtype":"F32","shape":[1],"data_offsets":[0,4,8]})", 4), "expected two data_offsets, found 3"));
  CHECK(says(one(R"({"dtype":"F32","shape":[18446744073709551616],"data_offsets":[0,4]})", 4), "whole numbers of 0 and more in"));
  CHECK(says(one(R"({"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]})", 4), "its header has 'dtype' twice"));
  CHECK(says(one(R"({"dtype":"F32","shape":[1],"data_offsets":[0,4],"more":1})", 4), "shape and data_offsets, and nothing else"));
  CHECK(says(one("{}", 4), "'t': expected dtype, shape and data_offsets, and nothing else"));
  CHECK(says(one("null", 4), "'t': expected dtype, shape and data_offsets, and nothing else"));
  CHECK(says(file_of("1", 0), "expected an object in its header"));
  CHECK(says(file_of("{} {}", 0), "its header is no JSON"));
  CHECK(says(file_of(R"({"__metadata__":[]})", 0), "expected an object of texts as __metadata__"));
  CHECK(says(file_of(R"({"__metadata__":{"a":{}}})", 0), "expected a text as __metadata__ 'a'"));
  CHECK(says(file_of(R"({"__metadata__":{"a":"1","a":"1"}})", 0), "its header has 'a' twice"));
  CHECK(says(file_of(R"({"__metadata__":{},"__metadata__":{}})", 0), "its header has '__metadata__' twice"));
  CHECK(says(file_of("\xEF\xBB\xBF{}", 0), "expected '{' at the beginning of its header, found a UTF-8 byte order mark"));
  std::string extents = "1";
  for (int i = 1; i < 65; ++i) extents += ",1";
  const std::string flat = R"({"dtype":"F32","shape":[)" + extents;
  CHECK(says(one((flat + R"(],"data_offsets":[0,4]})").c_str(), 4), "'t': expected a shape of at most 64 extents"));
  CHECK(said_of(one((flat.substr(0, flat.size() - 2) + R"(],"data_offsets":[0,4]})").c_str(), 4)) == "");
  std::string attack; // ten tensors on the same bytes
  for (int i = 0; i < 10; ++i)
    attack += (i == 0 ? "{\"" : ",\"") + std::to_string(i) + R"(":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]})";
  CHECK(says(file_of(attack + "}", 16), "to begin at 16, where those before it end, found 0 to 16"));
  CHECK_THROWS_WITH_AS(files::safetensors_file("/no/such/file"), doctest::Contains("No such file"), file_error);
}

TEST_CASE("safetensors: what torch.save() writes is named, and so is the way out") {
  // The first bytes of what torch.save() of PyTorch 2, torch.save() of PyTorch 1.5, pickle.dump() and numpy.savez() write.
  const std::string torch("PK\x03\x04\0\0\x08\x08\0\0\0\0\0\0\0\0", 16), older("\x80\x02\x8a\nl\xfc\x9c\x46\xf9 j\xa8P\x19.", 16);
  const std::string pickle("\x80\x04\x95\x1c\0\0\0\0\0\0\0}\x94\x8c", 14), savez("PK\x03\x04-\0\0\0\0\0\0\0!\0", 14);
  constexpr std::string_view advice = "in Python by safetensors.torch.save_file(net.state_dict(), \"weights.safetensors\")";
  for (const std::string& zip : {torch, savez}) {
    CHECK(says(zip, "expected a safetensors file, found a zip file, as torch.save() writes it"));
    CHECK(says(zip, advice));
  }
  for (const std::string& text : {older, pickle}) {
    CHECK(says(text, "expected a safetensors file, found a pickle of Python"));
    CHECK(says(text, advice));
  }
}

TEST_CASE("safetensors: a pipe in the place of a file is an error, and no reader waits for it") {
  const folder here;
  const std::string pipe = here.path / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK_THROWS_WITH_AS(files::safetensors_file{pipe},
                       doctest::Contains("cannot be read: expected an ordinary file, found a pipe"), detail::unreadable_file);
}

TEST_CASE("safetensors: memory that runs out anywhere is std::bad_alloc, and the old file is whole") {
  const folder here;
  const std::string path = here.path / "a.safetensors";
  const std::vector<float> numbers{1, 2, 3, 4};
  const std::string long_name(80, 'n');
  const std::vector<files::safetensors_source> tensors{
      {"w", "F32", {2, 2}, bytes_of(numbers)}, {long_name, "F32", {4}, bytes_of(numbers)}, {"none", "U8", {1, 2, 0}, {}}};
  const std::map<std::string, std::string> metadata{{"a", "b"}, {"longer than a short text is", std::string(100, '"')}};
  files::write_safetensors(path, tensors, metadata);
  const std::string right = contents(path);
  const auto wrong = [&](std::string_view from, std::string_view to) {
    std::string out = right;
    return out.replace(out.find(from), from.size(), to);
  };
  for (const bool stays_out : {false, true}) {
    // Runs f() with memory for 0, 1, 2, ... allocations until it succeeds. Returns the number it needs.
    const auto at_every = [&](const auto& f) {
      for (std::size_t behind = 0;; ++behind) {
        bool is_told = false;
        try {
          const testing::memory_runs_out soon(behind, stays_out);
          f();
        } catch (const std::bad_alloc&) {
          is_told = true;
        }
        CHECK(here.files() == 1);
        CHECK(is_told == testing::memory_here.ran_out);
        if (!is_told) return behind;
        CHECK((contents(path) == right || contents(path) == "old"));
      }
    };
    files::write_file_atomically(path, "old");
    CHECK(at_every([&] { files::write_safetensors(path, tensors, metadata); }) > 20);
    CHECK(contents(path) == right);
    CHECK(at_every([&] {
            files::safetensors_file read(path);
            std::vector<float> to(4);
            read.read<float>(*read.find("w"), to);
          }) > 20);
    // Files that are refused, in every part of the reader.
    for (const std::string& text : {wrong("\"F32\"", "\"F3\":"), wrong("[2,2]", "[2,3]"), wrong("[4]", "{4}"), wrong("}", "]"),
                                    wrong(":\"b\"", ":[b]"), wrong("\"w\"", "\"\xFF\""), right + "more"}) {
      files::write_file_atomically(path, text);
      for (std::size_t behind = 0;; ++behind) {
        bool is_told = false;
        try {
          const testing::memory_runs_out soon(behind, stays_out);
          const files::safetensors_file read(path);
          FAIL("expected a refusal");
        } catch (const std::bad_alloc&) {
          is_told = true;
        } catch (const file_error&) {
        }
        CHECK(is_told == testing::memory_here.ran_out);
        if (!is_told) break;
      }
    }
  }
}

TEST_CASE("safetensors: a header takes memory by its bytes, whatever is in it") {
  const auto many = [](std::size_t count, const auto& each) {
    std::string out;
    for (std::size_t i = 0; i < count; ++i) (out += i == 0 ? "" : ",") += each(i);
    return out;
  };
  std::vector<std::string> headers;
  headers.push_back(R"({"t":{"dtype":"F32","shape":[)" + many(100'000, [](std::size_t) { return "1"; }) +
                    R"(],"data_offsets":[0,4]}})");
  headers.push_back(R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[)" + many(100'000, [](std::size_t) { return "1"; }) +
                    "]}}");
  headers.push_back("{\"__metadata__\":{" + many(20'000, [](std::size_t i) { return "\"" + std::to_string(i) + "\":\"\""; }) +
                    "}}");
  headers.push_back("{" +
                    many(5'000,
                         [](std::size_t i) {
                           return "\"" + std::to_string(i) + R"(":{"dtype":"U8","shape":[],"data_offsets":[)" +
                                  std::to_string(i) + "," + std::to_string(i + 1) + "]}";
                         }) +
                    "}");
  headers.push_back("{\"" + std::string(300'000, 'x') + "\":{}}");
  headers.push_back("{\"__metadata__\":{\"a\":\"" + std::string(300'000, 'x') + "\"}}");
  headers.push_back("{\"t\":" + std::string(300'000, '['));
  headers.push_back("{\"t\":" + std::string(300'000, '1') + "}");
  const folder here;
  const std::string path = here.path / "a.safetensors";
  for (std::size_t i = 0; i < headers.size(); ++i) {
    CAPTURE(i);
    files::write_file_atomically(path, file_of(headers[i], i == 3 ? 5'000 : 0));
    bool is_right = false;
    const std::size_t most = testing::most_held_by([&] {
      try {
        const files::safetensors_file read(path);
        is_right = true;
      } catch (const file_error&) {
      }
    });
    CHECK(is_right == (i == 2 || i == 3 || i == 5));
    CHECK(most >= headers[i].size()); // the measurement works
    CHECK(most < 20 * headers[i].size());
  }
}

TEST_CASE("safetensors: every file that is cut off, or has one bit turned in its header, is refused or is another right one") {
  const folder here;
  const std::string path = here.path / "a.safetensors", other = here.path / "b.safetensors";
  const std::vector<float> numbers{1, 2, 3, 4};
  files::write_safetensors(path, {{"w", "F32", {2, 2}, bytes_of(numbers)}});
  const std::string right = contents(path);
  for (std::size_t cut = 0; cut < right.size(); ++cut) CHECK(said_of(right.substr(0, cut)) != "");
  for (std::size_t bit = 0; bit < 8 * (right.size() - 16); ++bit) {
    std::string turned = right;
    turned[bit / 8] = static_cast<char>(turned[bit / 8] ^ (1 << bit % 8));
    files::write_file_atomically(other, turned);
    try {
      files::safetensors_file read(other);
      for (const files::safetensors_entry& e : read.entries()) { // another name, type or shape with as many bytes
        CHECK(e.end - e.begin <= 16);
        std::vector<float> to(static_cast<std::size_t>(e.end - e.begin) / 4);
        if (e.type == "F32") read.read<float>(e, to);
      }
    } catch (const file_error&) {
    }
  }
}

TEST_CASE("safetensors: what cannot be written is refused, and the old file stays") {
  const folder here;
  const std::string path = here.path / "a.safetensors";
  files::write_file_atomically(path, "old");
  const std::vector<float> numbers{1, 2};
  CHECK_THROWS_WITH_AS(files::write_safetensors(path, {{"w", "F32", {3}, bytes_of(numbers)}}),
                       "write_safetensors: 'w' has a shape of 12 bytes, found 8", input_error);
  CHECK_THROWS_WITH_AS(
      files::write_safetensors(path, {{"w", "F32", {2}, bytes_of(numbers)}, {"w", "F32", {2}, bytes_of(numbers)}}),
      "write_safetensors: 'w' is a name that is taken", input_error);
  CHECK_THROWS_WITH_AS(files::write_safetensors(path, {{"w", "real", {2}, bytes_of(numbers)}}),
                       "write_safetensors: 'w' has the unknown type real", input_error);
  CHECK_THROWS_WITH_AS(files::write_safetensors(path, {{"w", "U8", {1ULL << 32, 1ULL << 32}, {}}}),
                       "write_safetensors: 'w' has a shape that is too large", input_error);
  CHECK_THROWS_WITH_AS(files::write_safetensors(path, {}, {{"note", "caf\xE9"}}),
                       "write_safetensors: expected UTF-8 as metadata, found byte 233 at place 3 of 'caf...'", input_error);
  CHECK(contents(path) == "old");
  CHECK_THROWS_AS(files::write_safetensors(here.path / "no" / "a", {}), file_error);
}

} // namespace safetensors_tests
