// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>

#include <cairn/report/format.hpp>

namespace cairn {

// Where a text stands relative to its point.
enum class text_anchor : unsigned char { start, middle, end };

// Writes an SVG drawing, element by element, as text. No tree is kept: what is written later lies in front.
// Lengths are pixels, y grows downwards. Attributes are given as they stand in the file (`fill="#444"
// opacity="0.5"`); texts and titles are any UTF-8 and escaped here.
class svg_writer {
public:
  // `style`: attributes of the root, which all elements inherit.
  svg_writer(double width, double height, std::string_view style) {
    out_ = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" +
           number(width) + "\" height=\"" + number(height) + "\" viewBox=\"0 0 " + number(width) + " " +
           number(height) + "\" " + std::string(style) + ">\n";
  }

  // A length with at most two decimals: a hundredth of a pixel is not seen, and files stay small.
  static std::string number(double value) {
    if (!std::isfinite(value)) return "0";
    std::string text = detail::fixed(value, 2);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
    return text == "-0" ? "0" : text;
  }

  // Control characters other than spaces have no place in XML; they are left out.
  static std::string escape(std::string_view text) {
    std::string safe;
    for (const char c : text) {
      if (c == '&') safe += "&amp;";
      else if (c == '<') safe += "&lt;";
      else if (c == '>') safe += "&gt;";
      else if (c == '"') safe += "&quot;";
      else if (static_cast<unsigned char>(c) >= 0x20U || c == '\t' || c == '\n') safe += c;
    }
    return safe;
  }

  // About how wide a text is: nobody can say without the font. Errs on the wide side, so that labels keep
  // apart.
  static double width_of(std::string_view text, double size) {
    const auto characters = std::count_if(
        text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; });
    return 0.6 * size * static_cast<double>(characters);
  }

  // Groups nest; every one that is opened must be closed before str().
  void open_group(std::string_view attributes) { out_ += "<g " + std::string(attributes) + ">\n"; }
  void close_group() { out_ += "</g>\n"; }

  // A title is shown by a browser when the pointer rests on the rectangle.
  void rectangle(double x, double y, double width, double height, std::string_view attributes = {},
                 std::string_view title = {}) {
    out_ += "<rect x=\"" + number(x) + "\" y=\"" + number(y) + "\" width=\"" + number(width) +
            "\" height=\"" + number(height) + "\"" + spaced(attributes);
    out_ += title.empty() ? "/>\n" : "><title>" + escape(title) + "</title></rect>\n";
  }

  void line(double x1, double y1, double x2, double y2, std::string_view attributes = {}) {
    out_ += "<line x1=\"" + number(x1) + "\" y1=\"" + number(y1) + "\" x2=\"" + number(x2) + "\" y2=\"" +
            number(y2) + "\"" + spaced(attributes) + "/>\n";
  }

  // `commands` as in the attribute d of a path.
  void path(std::string_view commands, std::string_view attributes) {
    out_ += "<path d=\"" + std::string(commands) + "\"" + spaced(attributes) + "/>\n";
  }

  void circle(double x, double y, double radius, std::string_view attributes) {
    out_ += "<circle cx=\"" + number(x) + "\" cy=\"" + number(y) + "\" r=\"" + number(radius) + "\"" +
            spaced(attributes) + "/>\n";
  }

  // The base line of the text runs through y.
  void text(double x, double y, std::string_view words, double size, text_anchor at = text_anchor::start,
            std::string_view attributes = {}) {
    out_ += "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" font-size=\"" + number(size) + "\"";
    if (at != text_anchor::start)
      out_ += at == text_anchor::middle ? " text-anchor=\"middle\"" : " text-anchor=\"end\"";
    out_ += spaced(attributes) + ">" + escape(words) + "</text>\n";
  }

  // The whole drawing.
  std::string str() const { return out_ + "</svg>\n"; }

private:
  static std::string spaced(std::string_view attributes) {
    return attributes.empty() ? std::string() : " " + std::string(attributes);
  }

  std::string out_;
};

} // namespace cairn
