// SPDX-License-Identifier: MIT
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <cairn/report/csv_log.hpp>
#include <doctest/doctest.h>

#include "../data/folder.hpp"
#include "fake_run.hpp"

namespace csv_log_tests {

using namespace cairn;

TEST_CASE("csv_log: a row for each write, and a column for each name from where it is new") {
  const folder here;
  const std::string path = here.path / "runs/a/metrics.csv"; // creates the folders
  csv_log log{path};
  log.write(10, 0, {{"train_loss", 0.5}});
  CHECK(contents(path) == "step,epoch,train_loss\n10,0,0.5\n");
  log.write(20, 0, {{"train_loss", 0.25}, {"learning_rate", 1e-3}});
  log.write(20, 0, {{"val_loss", 0.1}});
  log.write(30, 1, {{"learning_rate", 1e-4}, {"train_loss", 1.0 / 3}});
  CHECK(contents(path) == "step,epoch,train_loss,learning_rate,val_loss\n"
                          "10,0,0.5,,\n"
                          "20,0,0.25,0.001,\n"
                          "20,0,,,0.1\n"
                          "30,1,0.3333333333333333,1e-04,\n");
}

TEST_CASE("csv_log: what is no number is written as people read it, and names are quoted where they must be") {
  const folder here;
  const std::string path = here.path / "m.csv";
  constexpr double inf = std::numeric_limits<double>::infinity();
  {
    csv_log log{path};
    log.write(1, 0, {{"a", -std::numeric_limits<double>::quiet_NaN()}, {"b", inf}, {"c, \"d\"\n", -inf}});
  }
  CHECK(contents(path) == "step,epoch,a,b,\"c, \"\"d\"\"\n\"\n1,0,nan,inf,-inf\n");
  csv_log again{path};
  again.write(2, 0, {{"c, \"d\"\n", 7}});
  CHECK(contents(path) == "step,epoch,a,b,\"c, \"\"d\"\"\n\"\n1,0,nan,inf,-inf\n2,0,,,7\n");
}

TEST_CASE("csv_log: a resumed run goes on where its state was saved, and no step is there twice") {
  const folder here;
  const std::string path = here.path / "m.csv";
  {
    csv_log log{path};
    for (const std::uint64_t step : {100U, 500U, 600U, 700U}) log.write(step, step / 500, {{"loss", 1.0}});
  }
  {
    csv_log log{path};
    log.write(600, 1, {{"loss", 2.0}});
    log.write(700, 1, {{"loss", 2.0}});
  }
  CHECK(contents(path) == "step,epoch,loss\n100,0,1\n500,1,1\n600,1,2\n700,1,2\n");
  csv_log log{path};
  log.on_begin(testing::fake_run{.at_step = 550}); // nothing is logged yet; rows that will come again are removed
  CHECK(contents(path) == "step,epoch,loss\n100,0,1\n500,1,1\n");
}

TEST_CASE("csv_log: within a run rows may come in any order of steps") {
  const folder here;
  const std::string path = here.path / "m.csv";
  csv_log log{path};
  for (const std::uint64_t step : {10U, 5U, 20U}) log.write(step, 0, {{"loss", 1}});
  CHECK(contents(path) == "step,epoch,loss\n10,0,1\n5,0,1\n20,0,1\n");
}

TEST_CASE("csv_log: a row that a killed program wrote in part is left out") {
  const folder here;
  const std::string path = here.path / "m.csv";
  std::ofstream(path) << "step,epoch,loss\n1,0,0.5\n2,0,0.2";
  csv_log{path}.write(3, 0, {{"loss", 0.125}});
  CHECK(contents(path) == "step,epoch,loss\n1,0,0.5\n3,0,0.125\n");
  std::ofstream(path) << "step,ep";
  csv_log{path}.write(3, 0, {{"loss", 0.125}});
  CHECK(contents(path) == "step,epoch,loss\n3,0,0.125\n");
}

TEST_CASE("csv_log: a file of something else is left alone, with its line") {
  const auto write = [](const std::string& path) { csv_log{path}.write(1, 0, {{"loss", 1}}); };
  CHECK(file_fault("a,b\n1,2\n", write).find("begins with 'step,epoch' in line 1") != std::string::npos);
  CHECK(file_fault("step,epochs\n", write).find("line 1") != std::string::npos);
  CHECK(file_fault("step,epoch,loss\n1,0,1\n2,0\n", write).find("3 cells in line 3") != std::string::npos);
  CHECK(file_fault("step,epoch,loss\none,0,1\n", write).find("found 'one,0,1'") != std::string::npos);
  const folder here;
  CHECK_THROWS_AS(csv_log{here.path}.write(1, 0, {{"loss", 1}}), file_error); // a folder
}

TEST_CASE("csv_log: a file that went away is said to be missing") {
  const folder here;
  const std::string path = here.path / "m.csv";
  csv_log log{path};
  log.write(1, 0, {{"loss", 1}});
  std::filesystem::remove(path);
  CHECK_THROWS_WITH_AS(log.write(2, 0, {{"loss", 1}}), doctest::Contains("m.csv"), file_error);
}

TEST_CASE("csv_log: as a callback it writes logs and epochs, on rank 0 only") {
  const folder here;
  const std::string path = here.path / "m.csv";
  csv_log log{path}, other{path};
  testing::fake_run run{.at_step = 5, .measured = {{"train_loss", 0.5}}};
  other.on_begin(testing::fake_run{.own_rank = 1});
  log.on_begin(testing::fake_run{});
  log.on_log(run);
  run.own_rank = 1;
  other.on_log(run);
  other.on_epoch(run);
  run = {.at_step = 6, .at_epoch = 1, .measured = {{"train_loss", 0.25}, {"val_loss", 0.75}}};
  log.on_epoch(run);
  CHECK(contents(path) == "step,epoch,train_loss,val_loss\n5,0,0.5,\n6,1,0.25,0.75\n");
}

} // namespace csv_log_tests
