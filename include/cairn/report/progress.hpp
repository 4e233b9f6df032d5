// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
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

#include <cairn/report/format.hpp>

namespace cairn {

// How a progress bar looks and where it goes. What is left empty is found out: whether `out` is a terminal,
// how wide it is, and whether it shows UTF-8.
struct progress_settings {
  std::string label{};          // before everything else, such as "epoch 3/5"
  std::string unit = "samples"; // what is counted
  std::FILE* out = stderr;      // null: shows nothing, as on every rank but one
  std::optional<bool> terminal{};
  std::optional<std::size_t> columns{};
  std::optional<bool> utf8{};
  double redraw_seconds = 0.1; // on a terminal at most so often
  double line_seconds = 5;     // elsewhere a new line at most so often, and one at the end
};

// Shows how far long work has come, laid out as people know it from tqdm:
//
//   epoch 3/5:  45%|#####9      | 4,050/9,000 [00:02<00:03, 1.52k samples/s, loss=0.123]
//
// On a terminal the line is drawn again in place. Elsewhere (a file, a pipe, a log) it is printed as a plain
// line every few seconds. The rate, and with it the time left, is that of the last ten seconds or so; in the
// last line it is that of the whole. An advance that draws nothing reads the clock and adds: no allocation,
// no system call. For one thread. `Clock` is a std::chrono clock; tests bring one of their own.
template <class Clock = std::chrono::steady_clock>
class progress {
public:
  // A number to show behind the rate. The name is not copied: it must live as long as the bar, as a literal
  // does.
  using postfix = std::pair<std::string_view, double>;
  static constexpr std::size_t max_postfixes = 4;

  // total 0: it is not known; shows count and rate only.
  explicit progress(std::size_t total, progress_settings settings = {})
      : total_(total), settings_(std::move(settings)), start_(Clock::now()), drawn_at_(start_) {
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
  // `count` more are done. The postfixes are shown until others come; those past the fourth are left out.
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

  // Of these variables the first that is set decides; std::setlocale would change the whole process.
  static bool locale_is_utf8() {
    for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
      const char* value = std::getenv(name);
      if (value == nullptr || *value == '\0') continue;
      const std::string_view text = value;
      return text.find("UTF-8") != text.npos || text.find("utf8") != text.npos ||
             text.find("utf-8") != text.npos;
    }
    return false;
  }

  std::size_t columns() const {
    if (settings_.columns) return *settings_.columns;
    winsize size{};
    const bool known = ::ioctl(::fileno(settings_.out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return known ? size.ws_col : 80;
  }

  // Both sums fade at the same pace, so their quotient is a mean in which what is recent weighs more, and
  // from the first observation on it is right.
  void observe(moment now) {
    const double passed = seconds(now - drawn_at_);
    const double fade = std::exp(-passed / remembered_seconds);
    recent_count_ = recent_count_ * fade + static_cast<double>(done_ - drawn_done_);
    recent_seconds_ = recent_seconds_ * fade + passed;
    drawn_at_ = now;
    drawn_done_ = done_;
  }

  // The line is put together in an array of fixed size; what does not fit is cut off.
  struct line {
    std::array<char, 512> text{};
    std::size_t size = 0;
    std::size_t width = 0; // in characters

    void add(std::string_view part) {
      for (const char c : part) add(c);
    }
    void add(char c) {
      if (size == text.size()) return;
      text[size++] = c;
      if ((static_cast<unsigned char>(c) & 0xC0U) != 0x80U) ++width;
    }
    void add(std::size_t count, char c) {
      while (count-- > 0) add(c);
    }
  };

  double fraction() const {
    return std::min(1.0, static_cast<double>(done_) / static_cast<double>(std::max<std::size_t>(1, total_)));
  }

  // "epoch 3/5:  45%"
  void add_head(line& to) const {
    to.add(settings_.label);
    if (!settings_.label.empty()) to.add(": ");
    if (total_ == 0) return;
    const std::string percent =
        std::to_string(static_cast<int>(fraction() * 100)); // 100 only when all is done
    to.add(3 - std::min<std::size_t>(3, percent.size()), ' ');
    to.add(percent);
    to.add('%');
  }

  // " 4,050/9,000 [00:02<00:03, 1.52k samples/s, loss=0.123]"
  void add_tail(line& to, double elapsed) const {
    const std::string done = format_count(done_);
    if (total_ > 0) to.add(' ');
    // As wide as at the end, so that the bar keeps its length.
    const std::size_t widest = terminal_ && total_ > 0 ? format_count(total_).size() : 0;
    to.add(widest - std::min(widest, done.size()), ' ');
    to.add(done);
    if (total_ > 0) to.add('/'), to.add(format_count(total_));
    else to.add(' '), to.add(settings_.unit);
    to.add(" [");
    to.add(format_clock(elapsed));
    const double rate = finished_ ? static_cast<double>(done_) / elapsed : recent_count_ / recent_seconds_;
    const bool known = std::isfinite(rate) && rate > 0;
    if (total_ > 0 && !finished_) {
      to.add('<');
      const double left = static_cast<double>(total_ - std::min(done_, total_));
      to.add(known ? format_clock(left / rate + 0.5) : std::string("?"));
    }
    to.add(", ");
    to.add(known ? format_rate(rate) : std::string("?"));
    to.add(' ');
    to.add(settings_.unit);
    to.add("/s");
    for (std::size_t p = 0; p < postfixes_; ++p) {
      std::array<char, 32> number{};
      const auto end = std::to_chars(number.data(), number.data() + number.size(), postfix_[p].second,
                                     std::chars_format::general, 4);
      to.add(", ");
      to.add(postfix_[p].first);
      to.add('=');
      to.add({number.data(), static_cast<std::size_t>(end.ptr - number.data())});
    }
    to.add(']');
  }

  // `width` cells: whole blocks, then one that is filled in eighths (in tenths, as a digit, without UTF-8).
  void add_bar(line& to, std::size_t width) const {
    constexpr std::array<std::string_view, 8> eighths{" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    const std::size_t parts = utf8_ ? 8 : 10;
    const auto filled = static_cast<std::size_t>(fraction() * static_cast<double>(width * parts));
    to.add('|');
    for (std::size_t cell = 0; cell < width; ++cell) {
      const std::size_t here = filled > cell * parts ? filled - cell * parts : 0;
      if (here >= parts) to.add(utf8_ ? std::string_view("█") : std::string_view("#"));
      else if (here == 0) to.add(' ');
      else if (utf8_) to.add(eighths[here]);
      else to.add(static_cast<char>('0' + here));
    }
    to.add('|');
  }

  // The bar takes what the two ends leave. One write a line, so that lines of several processes do not mix.
  void draw(bool last) {
    const double elapsed = seconds(drawn_at_ - start_);
    line tail{};
    add_tail(tail, elapsed);
    line out{};
    const std::size_t most = terminal_ ? columns() : 0;
    if (terminal_) out.add('\r'), out.width = 0;
    add_head(out);
    if (terminal_ && total_ > 0) {
      // One column stays free: a full line would wrap. A bar of less than four cells says nothing and is left
      // out.
      const std::size_t taken = out.width + tail.width + 3;
      const std::size_t room = most > taken ? std::min<std::size_t>(most - taken, 50) : 0;
      if (room >= 4) add_bar(out, room);
    }
    out.add({tail.text.data(), tail.size});
    if (terminal_) cut(out, most > 0 ? most - 1 : 0);
    const std::size_t width = out.width;
    if (terminal_ && width < shown_width_) out.add(shown_width_ - width, ' '); // over what was there
    if (last || !terminal_) out.size = std::min(out.size, out.text.size() - 1), out.add('\n');
    shown_width_ = width;
    std::fwrite(out.text.data(), 1, out.size, settings_.out);
    std::fflush(settings_.out);
  }

  // Takes whole characters from the end until the line is no wider than `most`.
  static void cut(line& of, std::size_t most) {
    while (of.width > most && of.size > 0)
      if ((static_cast<unsigned char>(of.text[--of.size]) & 0xC0U) != 0x80U) --of.width;
  }

  std::size_t total_;
  progress_settings settings_;
  moment start_;
  moment drawn_at_; // of the last line, and of the last observation
  std::size_t done_ = 0;
  std::size_t drawn_done_ = 0; // done_ at drawn_at_
  double recent_count_ = 0;
  double recent_seconds_ = 0;
  std::array<postfix, max_postfixes> postfix_{};
  std::size_t postfixes_ = 0;
  std::size_t shown_width_ = 0; // of the line that stands on the terminal
  bool terminal_ = false;
  bool utf8_ = false;
  bool finished_ = false;
};

} // namespace cairn
