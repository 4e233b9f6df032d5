// SPDX-License-Identifier: MIT
// Checks of drawings, for tests.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <vector>

#include <cairn/report/svg.hpp>

namespace testing {

inline std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

// The number of rectangles within <g class="KIND" …>…</g>.
inline std::size_t rectangles(const std::string& svg, const std::string& kind) {
  const std::size_t begin = svg.find("<g class=\"" + kind + "\"");
  if (begin == svg.npos) return 0;
  return count(svg.substr(begin, svg.find("</g>", begin) - begin), "<rect");
}

// Whether all tags are closed in order, all quotes are closed, and each ampersand is part of an escape.
inline bool well_formed(const std::string& svg) {
  std::vector<std::string> open;
  std::size_t roots = 0;
  for (std::size_t at = 0; at < svg.size(); ++at) {
    if (svg[at] == '&') {
      const std::string rest = svg.substr(at, 6);
      const auto is = [&rest](const char* escape) { return rest.find(escape) == 0; };
      if (!is("&lt;") && !is("&gt;") && !is("&amp;") && !is("&quot;")) return false;
    }
    if (svg[at] == '>') return false;
    if (svg[at] != '<') continue;
    const std::size_t end = svg.find('>', at);
    if (end == svg.npos) return false;
    const std::string tag = svg.substr(at + 1, end - at - 1);
    if (tag.find('<') != tag.npos || std::count(tag.begin(), tag.end(), '"') % 2 != 0) return false;
    at = end;
    if (tag.front() == '?') continue;
    if (tag.front() == '/') {
      if (open.empty() || open.back() != tag.substr(1)) return false;
      open.pop_back();
    } else {
      if (open.empty() && ++roots > 1) return false;
      if (tag.back() != '/') open.push_back(tag.substr(0, tag.find(' ')));
    }
  }
  return open.empty() && roots == 1;
}

// Whether two texts overlap, by an estimate of where each text is.
inline bool texts_overlap(const std::string& svg) {
  struct box {
    double left, right, top, bottom;
  };
  std::vector<box> boxes;
  const auto number_after = [&svg](const std::string& key, std::size_t at) {
    return std::strtod(svg.c_str() + svg.find(key, at) + key.size(), nullptr);
  };
  for (std::size_t at = svg.find("<text"); at != svg.npos; at = svg.find("<text", at + 1)) {
    const std::size_t close = svg.find('>', at);
    const double size = number_after("font-size=\"", at);
    const double width = cairn::detail::svg_writer::width_of(svg.substr(close + 1, svg.find('<', close) - close - 1), size);
    const std::string tag = svg.substr(at, close - at);
    const double shift = tag.find("\"end\"") != tag.npos ? width : tag.find("\"middle\"") != tag.npos ? width / 2 : 0;
    const double x = number_after(" x=\"", at) - shift;
    const double y = number_after(" y=\"", at);
    boxes.push_back({x, x + width, y - 0.75 * size, y});
  }
  for (std::size_t a = 0; a < boxes.size(); ++a)
    for (std::size_t b = a + 1; b < boxes.size(); ++b)
      if (boxes[a].left < boxes[b].right && boxes[b].left < boxes[a].right && boxes[a].top < boxes[b].bottom &&
          boxes[b].top < boxes[a].bottom)
        return true;
  return false;
}

// The numbers of one attribute of every element with this tag: numbers(svg, "circle", "cx").
inline std::vector<double> numbers(const std::string& svg, const std::string& tag, const std::string& attribute) {
  std::vector<double> out;
  const std::string begin = "<" + tag + " ";
  for (std::size_t at = svg.find(begin); at != svg.npos; at = svg.find(begin, at + 1)) {
    const std::string element = svg.substr(at, svg.find('>', at) - at);
    const std::size_t found = element.find(" " + attribute + "=\"");
    if (found != element.npos) out.push_back(std::strtod(element.c_str() + found + attribute.size() + 3, nullptr));
  }
  return out;
}

} // namespace testing
