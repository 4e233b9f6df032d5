// SPDX-License-Identifier: MIT
#include <cairn/train/onnx/protobuf.hpp>

#include <cstdint>
#include <initializer_list>
#include <string>

#include <doctest/doctest.h>

#include "fields.hpp"

namespace protobuf_tests {

using namespace cairn;

std::string bytes(std::initializer_list<int> list) {
  std::string out;
  for (const int b : list) out += static_cast<char>(b);
  return out;
}

TEST_CASE("protobuf: fields have the bytes of the encoding's own examples") {
  // protobuf.dev/programming-guides/encoding: Test1 {a: 150}, Test2 {b: "testing"}, Test3 {c {a: 150}}
  detail::protobuf_message a, b, c;
  a.integer(1, 150);
  CHECK(a.bytes() == bytes({0x08, 0x96, 0x01}));
  CHECK(b.text(2, "testing").bytes() == bytes({0x12, 0x07, 't', 'e', 's', 't', 'i', 'n', 'g'}));
  CHECK(c.part(3, a).bytes() == bytes({0x1a, 0x03, 0x08, 0x96, 0x01}));
  CHECK(c.size() == 5);
}

TEST_CASE("protobuf: numbers of every size come back") {
  for (const std::int64_t n : {std::int64_t{0}, std::int64_t{1}, std::int64_t{127}, std::int64_t{128}, std::int64_t{300},
                               std::int64_t{1} << 40, INT64_MAX, INT64_MIN, std::int64_t{-1}}) {
    detail::protobuf_message m;
    m.integer(20, n);
    CHECK(static_cast<std::int64_t>(onnx_tests::fields(m.bytes()).integer(20)) == n);
    if (n < 0) CHECK(m.size() == 12); // a key of two bytes, and ten of the number
  }
  detail::protobuf_message one;
  CHECK(one.real(2, 1.0F).bytes() == bytes({0x15, 0x00, 0x00, 0x80, 0x3f}));
  detail::protobuf_message negative;
  negative.real(2, -0.5F);
  CHECK(onnx_tests::fields(negative.bytes()).integer(2) == 0xbf000000U);
}

TEST_CASE("protobuf: bytes may be announced and appended later") {
  detail::protobuf_message now, later;
  now.text(9, std::string(200, 'x'));
  later.begin(9, 200).append(std::string(200, 'x'));
  CHECK(now.bytes() == later.bytes());
  CHECK(detail::protobuf_message{}.append(now).bytes() == now.bytes());
}

} // namespace protobuf_tests
