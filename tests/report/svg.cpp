// SPDX-License-Identifier: MIT
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>

#include <unistd.h>

#include <cairn/report/svg.hpp>
#include <doctest/doctest.h>

namespace svg_tests {

using namespace cairn;
using namespace cairn::detail;

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
  svg_writer to(20, 10);
  to.open_group("fill=\"#444\"");
  to.rectangle(1, 2, 3, 4.5, "rx=\"1\"", "a<b");
  to.close_group();
  to.line(0, 0, 1, 1);
  to.path("M0 0", "fill=\"none\"");
  to.circle(1, 2, 3, "");
  to.text(5, 6, "&", {.at = text_anchor::end, .colour = "red", .bold = true, .halo = 3});
  CHECK(to.str() == "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"20\" height=\"10\" viewBox=\"0 0 20 10\" "
                    "font-family=\"Helvetica Neue, Helvetica, Arial, DejaVu Sans, sans-serif\">\n"
                    "<rect x=\"0\" y=\"0\" width=\"20\" height=\"10\" fill=\"#fff\"/>\n"
                    "<g fill=\"#444\">\n"
                    "<rect x=\"1\" y=\"2\" width=\"3\" height=\"4.5\" rx=\"1\"><title>a&lt;b</title></rect>\n"
                    "</g>\n"
                    "<line x1=\"0\" y1=\"0\" x2=\"1\" y2=\"1\"/>\n"
                    "<path d=\"M0 0\" fill=\"none\"/>\n"
                    "<circle cx=\"1\" cy=\"2\" r=\"3\"/>\n"
                    "<text x=\"5\" y=\"6\" font-size=\"11\" text-anchor=\"end\" font-weight=\"bold\" fill=\"red\" "
                    "stroke=\"#fff\" stroke-width=\"3\" paint-order=\"stroke\">&amp;</text>\n"
                    "</svg>\n");
}

TEST_CASE("the width of a text counts characters, not bytes") {
  CHECK(svg_writer::width_of("√n", 10) == svg_writer::width_of("kn", 10));
  CHECK(svg_writer::width_of("", 10) == 0);
}

TEST_CASE("characters are counted, not the bytes of their UTF-8") {
  CHECK(characters("") == 0);
  CHECK(characters("√n ×") == 4);
}

TEST_CASE("write_svg writes the drawing as it is") {
  const auto path = std::filesystem::temp_directory_path() / ("cairn-svg-" + std::to_string(::getpid()) + ".svg");
  write_svg(path, "<svg/>");
  std::ifstream in(path);
  CHECK(std::string(std::istreambuf_iterator<char>(in), {}) == "<svg/>");
  std::filesystem::remove(path);
  CHECK_THROWS_AS(write_svg("/no/such/folder/a.svg", ""), file_error);
}

} // namespace svg_tests
