// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>

#include <cairn/core/rooms.hpp>
#include <cairn/data/file.hpp>
#include <cairn/report/format.hpp>

namespace cairn::detail {

// The number of characters in a UTF-8 text: all its bytes except continuation bytes.
inline std::size_t characters(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U ? 1 : 0;
  return count;
}

// The position of a text relative to its point.
enum class text_anchor : unsigned char { start, middle, end };

// How a text looks. A halo keeps it readable where a line runs behind it.
struct text_style {
  double size = 11;
  text_anchor at = text_anchor::start;
  std::string_view colour = "#555";
  bool bold = false;
  int halo = 0; // pixels
};

// Writes an SVG drawing, element by element, as text. No tree is kept: later elements are in front. Lengths are pixels, y
// grows downwards. Attributes are passed as they are in the file (`fill="#444" opacity="0.5"`); texts and titles are any
// UTF-8 and are escaped here.
class svg_writer {
public:
  // An empty white sheet.
  svg_writer(double width, double height) {
    out_ = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + number(width) +
           "\" height=\"" + number(height) + "\" viewBox=\"0 0 " + number(width) + " " + number(height) +
           "\" font-family=\"Helvetica Neue, Helvetica, Arial, DejaVu Sans, sans-serif\">\n";
    rectangle(0, 0, width, height, "fill=\"#fff\"");
  }

  // A length with at most two decimals: a hundredth of a pixel is not seen, and files stay small.
  static std::string number(double value) {
    if (!std::isfinite(value)) return "0";
    std::string text = format_fixed(value, 2);
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

  // About how wide a text is, as that depends on the font. Errs on the wide side, so that labels keep apart.
  static double width_of(std::string_view text, double size) { return 0.6 * size * static_cast<double>(characters(text)); }

  // Groups nest; every one that is opened must be closed before str().
  void open_group(std::string_view attributes) { out_ += "<g " + std::string(attributes) + ">\n"; }
  void close_group() { out_ += "</g>\n"; }

  // A title is shown by a browser when the pointer rests on the rectangle.
  void rectangle(double x, double y, double width, double height, std::string_view attributes = {}, std::string_view title = {}) {
    out_ += "<rect" + at("x", x) + at("y", y) + at("width", width) + at("height", height);
    add_end(attributes, title.empty() ? "/>\n" : "><title>" + escape(title) + "</title></rect>\n");
  }
  void line(double x1, double y1, double x2, double y2, std::string_view attributes = {}) {
    out_ += "<line" + at("x1", x1) + at("y1", y1) + at("x2", x2) + at("y2", y2);
    add_end(attributes, "/>\n");
  }
  // `commands` as in the attribute d of a path.
  void path(const std::string& commands, std::string_view attributes) {
    out_ += "<path d=\"" + commands + "\"";
    add_end(attributes, "/>\n");
  }
  void circle(double x, double y, double radius, std::string_view attributes) {
    out_ += "<circle" + at("cx", x) + at("cy", y) + at("r", radius);
    add_end(attributes, "/>\n");
  }
  // The base line of the text runs through y.
  void text(double x, double y, std::string_view words, const text_style& style = {}) {
    out_ += "<text" + at("x", x) + at("y", y) + at("font-size", style.size);
    if (style.at != text_anchor::start)
      out_ += style.at == text_anchor::middle ? " text-anchor=\"middle\"" : " text-anchor=\"end\"";
    if (style.bold) out_ += " font-weight=\"bold\"";
    out_ += " fill=\"" + std::string(style.colour) + "\"";
    if (style.halo > 0) out_ += " stroke=\"#fff\" stroke-width=\"" + std::to_string(style.halo) + "\" paint-order=\"stroke\"";
    out_ += ">" + escape(words) + "</text>\n";
  }

  // The whole drawing.
  std::string str() const { return out_ + "</svg>\n"; }

private:
  static std::string at(const char* name, double value) { return std::string(" ") + name + "=\"" + number(value) + "\""; }
  void add_end(std::string_view attributes, const std::string& end) {
    if (!attributes.empty()) out_ += " " + std::string(attributes);
    out_ += end;
  }

  std::string out_;
};

} // namespace cairn::detail

namespace cairn::report {

// Writes a drawing to a file, whole or not at all. Throws file_error.
inline void write_svg(const std::string& path, std::string_view drawing) { files::write_file_atomically(path, drawing); }

} // namespace cairn::report
