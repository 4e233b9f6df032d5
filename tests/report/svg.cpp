// SPDX-License-Identifier: MIT
#include <limits>
#include <string>

#include <cairn/report/svg.hpp>
#include <doctest/doctest.h>

using namespace cairn;

TEST_CASE("lengths have two decimals at most and no needless zeros") {
  CHECK(svg_writer::number(12) == "12");
  CHECK(svg_writer::number(100) == "100");
  CHECK(svg_writer::number(0.126) == "0.13");
  CHECK(svg_writer::number(1.50) == "1.5");
  CHECK(svg_writer::number(-0.001) == "0");
  CHECK(svg_writer::number(std::numeric_limits<double>::quiet_NaN()) == "0");
}

TEST_CASE("names of types can stand in a drawing") {
  CHECK(svg_writer::escape("Linear<8, 4> & \"x\"\x01") == "Linear&lt;8, 4&gt; &amp; &quot;x&quot;");
  CHECK(svg_writer::escape("√n") == "√n");
}

TEST_CASE("elements carry what they were given") {
  svg_writer to(20, 10, "font-family=\"serif\"");
  to.open_group("fill=\"#444\"");
  to.rectangle(1, 2, 3, 4.5, "rx=\"1\"", "a<b");
  to.close_group();
  to.line(0, 0, 1, 1);
  to.path("M0 0", "fill=\"none\"");
  to.circle(1, 2, 3, "");
  to.text(5, 6, "&", 11, text_anchor::end, "fill=\"red\"");
  CHECK(to.str() ==
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"20\" height=\"10\" viewBox=\"0 0 20 10\" "
        "font-family=\"serif\">\n"
        "<g fill=\"#444\">\n"
        "<rect x=\"1\" y=\"2\" width=\"3\" height=\"4.5\" rx=\"1\"><title>a&lt;b</title></rect>\n"
        "</g>\n"
        "<line x1=\"0\" y1=\"0\" x2=\"1\" y2=\"1\"/>\n"
        "<path d=\"M0 0\" fill=\"none\"/>\n"
        "<circle cx=\"1\" cy=\"2\" r=\"3\"/>\n"
        "<text x=\"5\" y=\"6\" font-size=\"11\" text-anchor=\"end\" fill=\"red\">&amp;</text>\n"
        "</svg>\n");
}

TEST_CASE("the width of a text counts characters, not bytes") {
  CHECK(svg_writer::width_of("√n", 10) == svg_writer::width_of("kn", 10));
  CHECK(svg_writer::width_of("", 10) == 0);
}
