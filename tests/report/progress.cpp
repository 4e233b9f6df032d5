// SPDX-License-Identifier: MIT
#include <string>

#include <cairn/report/progress.hpp>
#include <doctest/doctest.h>

#include "paper.hpp"

namespace progress_tests {

using namespace cairn;
using namespace testing;

namespace {

using bar = progress<set_clock>;

report::progress_settings on_terminal(const paper& p, std::size_t columns, bool utf8 = false) {
  return {.label = "epoch 1/2", .out = p.file.get(), .terminal = true, .columns = columns, .utf8 = utf8};
}

} // namespace

TEST_CASE("without a terminal there are plain lines, seconds apart, and one at the end") {
  const paper p;
  {
    bar b(1000, {.label = "epoch 1/2", .out = p.file.get()}); // finds out by itself that a file is no terminal
    for (int i = 0; i < 100; ++i) {
      set_clock::pass(100);
      b.advance(10, {{"loss", 0.5}});
    }
  }
  CHECK(p.text() == "epoch 1/2:  50% 500/1,000 [00:05<00:05, 100 samples/s, loss=0.5]\n"
                    "epoch 1/2: 100% 1,000/1,000 [00:10<00:00, 100 samples/s, loss=0.5]\n"
                    "epoch 1/2: 100% 1,000/1,000 [00:10, 100 samples/s, loss=0.5]\n");
}

TEST_CASE("on a terminal the line is drawn in place, ten times a second at most") {
  const paper p;
  {
    bar b(1000, on_terminal(p, 80));
    for (int i = 0; i < 1000; ++i) {
      set_clock::pass(1);
      b.advance(1);
    }
  }
  const auto lines = p.pieces('\r');
  REQUIRE(lines.size() == 1 + 1 + 10 + 1); // nothing, the empty bar, ten updates, the last line
  CHECK(lines[1] == "epoch 1/2:   0%|                           |     0/1,000 [00:00<?, ? samples/s]");
  CHECK(lines[6] == "epoch 1/2:  50%|#########5         |   500/1,000 [00:00<00:01, 1.00k samples/s]");
  CHECK(lines.back().find("100%|####") != std::string::npos);
  CHECK(lines.back().back() == '\n');
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) CHECK(lines[i].find('\n') == std::string::npos);
}

TEST_CASE("no line is as wide as the terminal") {
  for (const std::size_t columns : {1U, 10U, 20U, 40U, 60U, 81U, 200U})
    for (const bool utf8 : {false, true}) {
      const paper p;
      {
        bar b(1000, on_terminal(p, columns, utf8));
        set_clock::pass(1000);
        b.advance(333, {{"loss", 0.125}});
      }
      for (const std::string& line : p.pieces('\r')) {
        std::size_t width = 0;
        for (const char c : line) width += c != '\n' && (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
        CHECK(width < columns);
      }
    }
}

TEST_CASE("UTF-8 bars are filled in eighths") {
  const paper p;
  {
    bar b(80, on_terminal(p, 200, true));
    set_clock::pass(1000);
    b.advance(33); // of 50 cells: 20 and five eighths
  }
  std::string filled = "|";
  for (int i = 0; i < 20; ++i) filled += "█";
  CHECK(p.pieces('\r')[2].find(filled + "▋ ") != std::string::npos);
}

TEST_CASE("a shorter line covers the longer one before it") {
  const paper p;
  bar b(0, {.out = p.file.get(), .terminal = true, .columns = 80, .utf8 = false});
  set_clock::pass(1000);
  b.advance(1, {{"loss", 0.1234}});
  set_clock::pass(1000);
  b.advance(1, {{"loss", 1.0}});
  const auto lines = p.pieces('\r');
  REQUIRE(lines.size() == 4);
  CHECK(lines[2] == "1 samples [00:01, 1.00 samples/s, loss=0.1234]");
  CHECK(lines[3] == "2 samples [00:02, 1.00 samples/s, loss=1]     ");
}

TEST_CASE("the time left follows a change of pace, and the last line tells the mean") {
  const paper p;
  {
    bar b(100000, {.out = p.file.get(), .line_seconds = 1});
    for (int i = 0; i < 100; ++i) set_clock::pass(1000), b.advance(100);
    for (int i = 0; i < 60; ++i) set_clock::pass(1000), b.advance(10);
  }
  const auto lines = p.pieces('\n');
  CHECK(lines[99].find("[01:40<15:00, 100 samples/s]") != std::string::npos);
  CHECK(lines[159].find(", 10.2 samples/s]") != std::string::npos);
  CHECK(lines[160].find("10,600/100,000 [02:40, 66.2 samples/s]") != std::string::npos);
}

TEST_CASE("100 % is shown only when all is done, and never more") {
  const paper p;
  {
    bar b(1000, {.out = p.file.get(), .line_seconds = 0});
    b.advance(999);
    b.advance(1);
    b.advance(500);
  }
  const auto lines = p.pieces('\n');
  CHECK(lines[0].find(" 99% 999/1,000") == 0);
  CHECK(lines[1].find("100% 1,000/1,000") == 0);
  CHECK(lines[2].find("100% 1,500/1,000") == 0);
}

TEST_CASE("without a place to write to it only counts") {
  bar b(10, {.out = nullptr});
  b.advance(3, {{"loss", 1.0}});
  b.finish();
  CHECK(b.done() == 3);
}

TEST_CASE("the line is finished once") {
  const paper p;
  {
    bar b(1, {.out = p.file.get()});
    b.advance(1);
    b.finish();
    b.finish();
  }
  CHECK(p.pieces('\n').size() == 2);
}

TEST_CASE("a bar for work that had begun counts its time, and what was done before is no part of the rate") {
  const paper p;
  const auto begun = set_clock::now();
  set_clock::pass(1000);
  {
    bar b(1000, {.out = p.file.get(), .done = 800, .line_seconds = 0}, begun);
    b.advance(100);
    set_clock::pass(1000);
    b.advance(100);
  }
  const auto lines = p.pieces('\n');
  CHECK(lines[0] == " 90% 900/1,000 [00:01<00:01, 100 samples/s]");
  CHECK(lines[2] == "100% 1,000/1,000 [00:02, 100 samples/s]");
}

TEST_CASE("nothing is written but text, returns and line breaks, on any terminal") {
  for (const bool utf8 : {false, true}) {
    const paper p;
    {
      bar b(1000, on_terminal(p, 60, utf8));
      for (int i = 0; i < 10; ++i) set_clock::pass(1000), b.advance(100, {{"loss", 0.5}});
    }
    for (const char c : p.text()) CHECK((static_cast<unsigned char>(c) >= 0x20U || c == '\r' || c == '\n'));
  }
}

TEST_CASE("a narrow terminal has no bar, then no more than its columns of the line") {
  const auto last = [](std::size_t columns) {
    const paper p;
    {
      bar b(1000, on_terminal(p, columns));
      set_clock::pass(1000);
      b.advance(500);
    }
    return p.pieces('\r').back();
  };
  CHECK(last(64) == "epoch 1/2:  50%|#####5     |   500/1,000 [00:01, 500 samples/s]\n");
  CHECK(last(55) == "epoch 1/2:  50%   500/1,000 [00:01, 500 samples/s]    \n"); // blanks where it was longer
  CHECK(last(20) == "epoch 1/2:  50%   5\n");
}

TEST_CASE("a loss that is not there yet is asked for when a line is drawn, and not before") {
  int asked = 0;
  const types::step_loss loss(&asked, 3, [](void* owner, std::uint64_t, bool wait, bool& is_there) {
    *static_cast<int*>(owner) += wait ? 1 : 0;
    is_there = true;
    return 0.25;
  });
  const paper p;
  {
    bar b(10, {.out = p.file.get(), .terminal = false, .line_seconds = 3600});
    for (int i = 0; i < 9; ++i) b.advance(1, {{"loss", loss}});
    CHECK(asked == 0);
  }
  CHECK(asked == 1);
  CHECK(p.text().find("loss=0.25") != std::string::npos);
}

} // namespace progress_tests
