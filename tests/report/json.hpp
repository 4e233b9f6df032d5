// SPDX-License-Identifier: MIT
// Whether a text is JSON (RFC 8259).
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace testing {

class json_reader {
public:
  explicit json_reader(std::string_view text) : left_(text) {}

  bool reads_all() { return reads_value() && (skip(), left_.empty()); }

private:
  void skip() { left_.remove_prefix(std::min(left_.find_first_not_of(" \t\r\n"), left_.size())); }
  bool take(std::string_view what) {
    if (!left_.starts_with(what)) return false;
    left_.remove_prefix(what.size());
    return true;
  }
  bool reads_value() {
    skip();
    if (take("{")) return reads_list("}", true);
    if (take("[")) return reads_list("]", false);
    if (left_.starts_with('"')) return reads_text();
    return take("true") || take("false") || take("null") || reads_number();
  }
  bool reads_list(std::string_view end, bool named) {
    skip();
    if (take(end)) return true;
    do {
      skip();
      if (named && !(reads_text() && (skip(), take(":")))) return false;
      if (!reads_value()) return false;
      skip();
    } while (take(","));
    return take(end);
  }
  bool reads_text() {
    if (!take("\"")) return false;
    while (!left_.empty() && left_.front() != '"') {
      if (static_cast<unsigned char>(left_.front()) < 0x20U) return false;
      if (take("\\")) {
        const bool coded = take("u");
        if (coded && left_.substr(0, 4).find_first_not_of("0123456789abcdefABCDEF") != left_.npos) return false;
        if (!coded && (left_.empty() || std::string_view("\"\\/bfnrt").find(left_.front()) == left_.npos)) return false;
        left_.remove_prefix(std::min<std::size_t>(coded ? 4 : 1, left_.size()));
      } else {
        left_.remove_prefix(1);
      }
    }
    return take("\"");
  }
  bool reads_digits() {
    const std::size_t count = std::min(left_.find_first_not_of("0123456789"), left_.size());
    left_.remove_prefix(count);
    return count > 0;
  }
  bool reads_number() {
    take("-");
    if (!take("0") && !reads_digits()) return false;
    if (take(".") && !reads_digits()) return false;
    if (!take("e") && !take("E")) return true;
    take("+") || take("-");
    return reads_digits();
  }

  std::string_view left_;
};

inline bool is_json(std::string_view text) { return json_reader(text).reads_all(); }

} // namespace testing
