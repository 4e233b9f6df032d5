// SPDX-License-Identifier: MIT
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <cairn/report/metrics_picture.hpp>
#include <doctest/doctest.h>

#include "../data/folder.hpp"
#include "drawings.hpp"
#include "fake_run.hpp"

namespace metrics_picture_tests {

using namespace cairn;
using testing::count;

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

bool has(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

} // namespace

TEST_CASE("metrics_picture: a panel for each quantity, with training and validation in one") {
  report::recorded_metrics seen;
  for (std::uint64_t step = 10; step <= 200; step += 10) {
    const double loss = 2 * std::exp(-0.01 * static_cast<double>(step));
    seen.add(step, "train_loss", loss);
    seen.add(step, "learning_rate", 0.1);
    if (step % 50 != 0) continue;
    seen.add(step, "val_loss", loss + 0.1, true);
    seen.add(step, "val_accuracy", 1 - loss / 4, true);
  }
  const std::string svg = report::draw_metrics(seen, "one run");
  CHECK(testing::well_formed(svg));
  CHECK(!testing::texts_overlap(svg));
  for (const char* name :
       {">one run<", ">loss<", ">accuracy<", ">learning_rate<", ">train_loss<", ">val_loss<", ">val_accuracy<"})
    CHECK(has(svg, name));
  CHECK(count(svg, ">steps<") == 3);
  CHECK(has(svg, ">0.2707<")); // the last loss, with its name
}

TEST_CASE("metrics_picture: where steps and epochs have one name, the epochs are the line and the steps are behind it") {
  report::recorded_metrics seen;
  for (std::uint64_t step = 1; step <= 100; ++step) {
    seen.add(step, "train_loss", step % 2 == 0 ? 1.0 : 2.0);
    if (step % 25 == 0) seen.add(step, "train_loss", 1.5, true);
  }
  const std::string svg = report::draw_metrics(seen);
  CHECK(count(svg, ">train_loss<") == 1);
  CHECK(count(svg, "<path") == 2);
  CHECK(svg.find("stroke=\"#c9d6e4\"") < svg.find("stroke=\"#2f6db3\""));
  CHECK(count(svg, "<circle") == 4);
}

TEST_CASE("metrics_picture: of a learning rate the steps are the line") {
  report::recorded_metrics seen;
  for (std::uint64_t step = 1; step <= 100; ++step) {
    seen.add(step, "learning_rate", 0.1 / static_cast<double>(step));
    if (step % 25 == 0) seen.add(step, "learning_rate", 0.1 / static_cast<double>(step), true);
  }
  const std::string svg = report::draw_metrics(seen);
  CHECK(count(svg, ">learning_rate<") == 2); // the panel and its line
  CHECK(count(svg, "<path") == 1);
  CHECK(count(svg, "<circle") == 0);
  CHECK(!has(svg, "#c9d6e4"));
}

TEST_CASE("metrics_picture: four panels are two by two, and more are rows of three") {
  const auto size = [](std::size_t panels) {
    report::recorded_metrics seen;
    for (std::size_t p = 0; p < panels; ++p)
      for (std::uint64_t step = 0; step < 3; ++step) seen.add(step, std::string(p + 1, 'q'), 1.0);
    const std::string svg = report::draw_metrics(seen);
    CHECK(!testing::texts_overlap(svg));
    return std::vector<double>{testing::numbers(svg, "svg", "width")[0], testing::numbers(svg, "svg", "height")[0]};
  };
  CHECK(size(1)[0] < size(2)[0]);
  CHECK(size(1)[1] == size(3)[1]);
  CHECK(size(4)[0] == size(2)[0]);
  CHECK(size(4)[1] == size(5)[1]);
  CHECK(size(7)[0] == size(3)[0]);
  CHECK(size(7)[1] > size(6)[1]);
}

TEST_CASE("metrics_picture: values that are not finite are counted, and nothing else is no picture") {
  report::recorded_metrics seen;
  seen.add(1, "loss", 1.0);
  seen.add(2, "loss", infinite);
  seen.add(3, "loss", std::nan(""));
  seen.add(3, "norm", infinite);
  const std::string svg = report::draw_metrics(seen);
  CHECK(has(svg, "loss: 2 not finite"));
  CHECK(has(svg, "without a finite value: norm"));
  CHECK(testing::well_formed(svg));
  report::recorded_metrics none;
  CHECK_THROWS_WITH_AS(report::draw_metrics(none), doctest::Contains("was anything logged?"), input_error);
  none.add(1, "loss", -infinite);
  CHECK_THROWS_AS(report::draw_metrics(none), input_error);
}

TEST_CASE("metrics_picture: a long run takes no more memory than a short one, and keeps its shape") {
  report::recorded_metrics seen;
  for (std::uint64_t step = 0; step < 100'000; ++step)
    seen.add(step, "loss", static_cast<double>(step) + (step % 2 == 0 ? 5 : -5));
  const auto& line = seen.lines().at(0);
  CHECK(line.points.size() <= 2 * report::recorded_metrics::most_points);
  CHECK(line.points.size() > report::recorded_metrics::most_points / 2);
  for (const report::chart_point& p : line.points) REQUIRE(p.y == doctest::Approx(p.x));
  CHECK(line.points.back().x > 99'000);
  CHECK(has(report::draw_metrics(seen), ">9.")); // up to the last value, which does not fill a point
}

TEST_CASE("metrics_picture: a table is read as it was written, rows of epochs apart") {
  const folder here;
  const std::string path = here.path / "m.csv";
  csv_log log{path};
  log.write(10, 0, {{"train_loss", 0.5}});
  log.write(20, 0, {{"train_loss", 0.25}});
  log.write(20, 0, {{"train_loss", 0.375}});
  log.write(25, 1, {{"train_loss", infinite}, {"val_loss", 0.75}});
  const report::recorded_metrics read = report::read_metrics(path);
  REQUIRE(read.lines().size() == 3);
  CHECK(read.lines()[0].points.size() == 2);
  CHECK(read.lines()[0].points[1].y == 0.25);
  CHECK(read.lines()[1].of_epochs);
  CHECK(read.lines()[1].points[0].y == 0.375);
  CHECK(read.lines()[1].not_finite == 1);
  CHECK(read.lines()[2].name == "val_loss");
  CHECK(read.lines()[2].points[0].x == 25);

  // The names that fit gives its values of steps tell them apart.
  const std::string of_fit = here.path / "f.csv";
  {
    csv_log said{of_fit};
    said.write(10, 0, {{"train_loss_step", 0.5}, {"learning_rate", 0.1}});
    said.write(15, 0, {{"train_loss", 0.375}, {"learning_rate", 0.1}});
    said.write(15, 0, {{"train_loss_step", 0.25}, {"learning_rate", 0.1}});
  }
  const report::recorded_metrics again = report::read_metrics(of_fit);
  REQUIRE(again.lines().size() == 4);
  CHECK(again.lines()[0].name == "train_loss");
  CHECK_FALSE(again.lines()[0].of_epochs);
  CHECK(again.lines()[0].points.size() == 2);
  for (const auto& line : again.lines())
    if (line.of_epochs) CHECK(line.points.size() == 1);

  const auto read_it = [](const std::string& file) { static_cast<void>(report::read_metrics(file)); };
  CHECK(has(file_fault("loss\n1\n", read_it), "begins with step,epoch"));
  CHECK(has(file_fault("", read_it), "begins with step,epoch"));
  CHECK(has(file_fault("step,epoch,loss\n1,0,a\n", read_it), "in line 2"));
  CHECK(has(file_fault("step,epoch,loss\n1,0,1\n1,0\n", read_it), "3 numbers in line 3"));
  CHECK(has(file_fault("step,epoch,loss\n-1,0,1\n", read_it), "in line 2"));
  CHECK_THROWS_AS(read_it(here.path / "none.csv"), file_error);
}

TEST_CASE("metrics_picture: as a callback it writes one file at the end, on rank 0, if there is anything") {
  const folder here;
  report::metrics_picture picture{here.path / "runs/curves.svg", "run a"}, other = picture, empty = picture;
  testing::fake_run run{.at_step = 10, .measured = {{"train_loss", 0.5}}};
  empty.on_end(run);
  CHECK(here.files() == 0);
  picture.on_log(run);
  run.measured = {{"train_loss", 0.75}, {"val_accuracy", 0.9}};
  picture.on_epoch(run);
  run.own_rank = 1;
  other.on_log(run);
  other.on_epoch(run);
  other.on_end(run);
  CHECK(here.files() == 0);
  run.own_rank = 0;
  picture.on_end(run);
  const std::string svg = contents(here.path / "runs/curves.svg");
  CHECK(testing::well_formed(svg));
  CHECK(has(svg, ">val_accuracy<"));
}

} // namespace metrics_picture_tests
