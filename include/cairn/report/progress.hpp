// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <sys/ioctl.h>
#include <unistd.h>

#include <cairn/core/rooms.hpp>
#include <cairn/report/format.hpp>
#include <cairn/report/svg.hpp>
#include <cairn/train/step/step_loss.hpp>

namespace cairn::detail {

// "loss=0.1234", with at most four digits.
inline std::string named_number(std::string_view name, double value) {
  std::array<char, 32> number{};
  const auto end = std::to_chars(number.data(), number.data() + number.size(), value, std::chars_format::general, 4);
  return std::string(name).append("=").append(number.data(), end.ptr);
}

} // namespace cairn::detail

namespace cairn::report {

// A number that a progress bar shows: a value, or the loss of a step that may still be running, which is read only when a
// line is drawn.
class shown_number {
public:
  shown_number() = default;
  template <std::convertible_to<double> Number>
  shown_number(Number number) : number_(static_cast<double>(number)) {}
  shown_number(const types::step_loss& loss) : loss_(loss) {}

  operator double() const { return loss_ ? static_cast<double>(*loss_) : number_; }

private:
  double number_ = 0;
  std::optional<types::step_loss> loss_{};
};

// How a progress bar looks and where it goes. Options that are left empty are detected: whether `out` is a terminal, how wide
// it is, and whether it shows UTF-8.
struct progress_settings {
  std::string label{};          // before everything else, such as "epoch 3/5"
  std::string unit = "samples"; // what is counted
  std::FILE* out = stderr;      // null: shows nothing, as on every rank but one
  std::optional<bool> terminal{};
  std::optional<std::size_t> columns{};
  std::optional<bool> utf8{};
  std::size_t done = 0;        // before this bar began; the total includes it, the rate does not
  double redraw_seconds = 0.1; // least time between two redraws on a terminal
  double line_seconds = 5;     // elsewhere the least time between two lines; one more at the end
};

} // namespace cairn::report

namespace cairn {

// Shows the progress of long work, in the layout that people know from tqdm:
//
//   epoch 3/5:  45%|#####9      | 4,050/9,000 [00:02<00:03, 1.52k samples/s, loss=0.123]
//
// On a terminal the line is redrawn in place by a carriage return only: there are no colours and no escape sequences that
// NO_COLOR or a simple terminal would have to turn off. If it is narrow, the bar is left out first, then the end of the line.
// Elsewhere (a file, a pipe, a log) a plain line is printed every few seconds. The rate, and with it the time left, is that
// of about the last ten seconds; in the last line it is that of the whole. An advance that draws nothing reads the clock and
// adds: no allocation, no system call. For one thread. `Clock` is a std::chrono clock; tests bring one of their own.
template <class Clock = std::chrono::steady_clock>
class progress {
public:
  // A number to show after the rate. The name is not copied: it must live as long as the bar, as a literal does. So must the
  // trainer of a loss that is not known yet.
  using postfix = std::pair<std::string_view, report::shown_number>;
  static constexpr std::size_t max_postfixes = 4;

  // total 0: it is not known; shows count and rate only. The work may have begun before there is a bar.
  explicit progress(std::size_t total, report::progress_settings settings = {}, typename Clock::time_point begun = Clock::now())
      : total_(total), settings_(std::move(settings)), start_(begun), drawn_at_(start_) {
    done_ = drawn_done_ = settings_.done;
    if (settings_.out == nullptr) return;
    terminal_ = settings_.terminal ? *settings_.terminal : ::isatty(::fileno(settings_.out)) == 1;
    utf8_ = settings_.utf8 ? *settings_.utf8 : locale_is_utf8();
    if (terminal_) draw(false);
  }
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;
  ~progress() { finish(); }

  //   progress bar(data.size(), {.label = "epoch 1/5"});
  //   for (…) bar.advance(rows, {{"loss", loss}});
  //
  // Adds `count` to what is done. The postfixes are shown until others come; those past the fourth are left out.
  void advance(std::size_t count, std::initializer_list<postfix> postfixes = {}) {
    done_ += count;
    if (settings_.out == nullptr || finished_) return;
    if (postfixes.size() > 0) {
      postfixes_ = std::min(postfixes.size(), max_postfixes);
      std::copy_n(postfixes.begin(), postfixes_, postfix_.begin());
    }
    const auto now = Clock::now();
    if (seconds(now - drawn_at_) < (terminal_ ? settings_.redraw_seconds : settings_.line_seconds)) return;
    observe(now);
    draw(false);
  }

  // Draws the last state and ends the line. The destructor does it too.
  void finish() {
    if (settings_.out == nullptr || finished_) return;
    finished_ = true;
    observe(Clock::now());
    draw(true);
  }

  std::size_t done() const { return done_; }
  double elapsed_seconds() const { return seconds(Clock::now() - start_); }

private:
  using moment = typename Clock::time_point;
  static constexpr double remembered_seconds = 10;

  static double seconds(typename Clock::duration d) { return std::chrono::duration<double>(d).count(); }

  // The first of these variables that is set decides; std::setlocale would change the whole process.
  static bool locale_is_utf8() {
    for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
      const char* value = std::getenv(name);
      if (value == nullptr || *value == '\0') continue;
      const std::string_view text = value;
      return text.find("UTF-8") != text.npos || text.find("utf8") != text.npos || text.find("utf-8") != text.npos;
    }
    return false;
  }

  std::size_t columns() const {
    if (settings_.columns) return *settings_.columns;
    winsize size{};
    const bool known = ::ioctl(::fileno(settings_.out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return known ? size.ws_col : 80;
  }

  // Both sums fade at the same pace, so their quotient is a mean in which recent work weighs more. It is right from the first
  // observation on.
  void observe(moment now) {
    const double passed = seconds(now - drawn_at_);
    const double fade = std::exp(-passed / remembered_seconds);
    recent_count_ = recent_count_ * fade + static_cast<double>(done_ - drawn_done_);
    recent_seconds_ = recent_seconds_ * fade + passed;
    drawn_at_ = now;
    drawn_done_ = done_;
  }

  double fraction() const {
    return std::min(1.0, static_cast<double>(done_) / static_cast<double>(std::max<std::size_t>(1, total_)));
  }

  static std::string padded(const std::string& text, std::size_t width) {
    return std::string(width - std::min(width, text.size()), ' ') + text;
  }

  // "epoch 3/5:  45%"
  std::string head() const {
    const std::string label = settings_.label.empty() ? "" : settings_.label + ": ";
    if (total_ == 0) return label;
    return label + padded(std::to_string(static_cast<int>(fraction() * 100)), 3) + "%"; // 100 when all is done
  }

  // " 4,050/9,000 [00:02<00:03, 1.52k samples/s, loss=0.123]"
  std::string tail(double elapsed) const {
    const std::string done = report::format_count(done_);
    std::string out;
    // On a terminal it is as wide as at the end, so that the bar keeps its length.
    if (total_ > 0)
      out = " " + padded(done, terminal_ ? report::format_count(total_).size() : 0) + "/" + report::format_count(total_);
    else out = done + " " + settings_.unit;
    out += " [" + report::format_clock(elapsed);
    const double rate = finished_ ? static_cast<double>(done_ - settings_.done) / elapsed : recent_count_ / recent_seconds_;
    const bool known = std::isfinite(rate) && rate > 0;
    if (total_ > 0 && !finished_) {
      const double left = static_cast<double>(total_ - std::min(done_, total_));
      out += "<" + (known ? report::format_clock(left / rate + 0.5) : "?");
    }
    out += ", " + (known ? report::format_quantity(rate) : "?") + " " + settings_.unit + "/s";
    for (std::size_t p = 0; p < postfixes_; ++p)
      out.append(", ").append(detail::named_number(postfix_[p].first, postfix_[p].second));
    return out + "]";
  }

  // `width` cells: whole blocks, then one that is filled in eighths (in tenths, as a digit, without UTF-8).
  std::string bar(std::size_t width) const {
    constexpr std::array<const char*, 9> eighths{" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};
    constexpr std::array<const char*, 11> tenths{" ", "1", "2", "3", "4", "5", "6", "7", "8", "9", "#"};
    const std::size_t parts = utf8_ ? 8 : 10;
    const auto filled = static_cast<std::size_t>(fraction() * static_cast<double>(width * parts));
    std::string out = "|";
    for (std::size_t cell = 0; cell < width; ++cell) {
      const std::size_t here = std::min(parts, filled - std::min(filled, cell * parts));
      out += utf8_ ? eighths[here] : tenths[here];
    }
    return out + "|";
  }

  // The bar takes the room that the two ends leave. One write per line, so that lines of several processes do not mix.
  void draw(bool last) {
    const std::string behind = tail(seconds(drawn_at_ - start_));
    std::string line = head();
    if (terminal_) {
      const std::size_t room = columns();
      // One column stays free: a full line would wrap. A bar of less than four cells says nothing and is left out.
      const std::size_t taken = detail::characters(line) + detail::characters(behind) + 3;
      if (total_ > 0 && room >= taken + 4) line += bar(std::min<std::size_t>(room - taken, 50));
      line += behind;
      std::size_t width = detail::characters(line);
      for (; width + 1 > room && !line.empty(); line.pop_back()) // whole characters
        if ((static_cast<unsigned char>(line.back()) & 0xC0U) != 0x80U) --width;
      line.insert(0, "\r").append(shown_width_ - std::min(shown_width_, width), ' '); // over what was there
      shown_width_ = width;
    } else {
      line += behind;
    }
    if (last || !terminal_) line += '\n';
    std::fwrite(line.data(), 1, line.size(), settings_.out);
    std::fflush(settings_.out);
  }

  std::size_t total_;
  report::progress_settings settings_;
  moment start_;
  moment drawn_at_; // of the last line, and of the last observation
  std::size_t done_ = 0;
  std::size_t drawn_done_ = 0; // done_ at drawn_at_
  double recent_count_ = 0;
  double recent_seconds_ = 0;
  std::array<postfix, max_postfixes> postfix_{};
  std::size_t postfixes_ = 0;
  std::size_t shown_width_ = 0; // of the line on the terminal
  bool terminal_ = false;
  bool utf8_ = false;
  bool finished_ = false;
};

} // namespace cairn
