// SPDX-License-Identifier: MIT
// Trains a small network on two moons, and writes it as a header with its type and its weights: embedded.cpp has it inside.
//
//   moons_to_header --to moons.hpp
//
// long to compile
// test: --to embedded_moons.hpp
#include <cstdio>
#include <exception>
#include <string>

#include <cairn/cairn.hpp>

#include "command_line.hpp"
#include "two_moons.hpp"

namespace mine {

using namespace cairn;

namespace {

using Net = Sequential<Linear<2, 16>, Tanh, Linear<16, 16>, Tanh, Linear<16, 2>>;

void learn_and_write(const std::string& path) {
  trainer<Net, CrossEntropyLoss, Adam, batch<64>> train{{.learning_rate = 0.01}, {.seed = 1}};
  const moon_points given(2048, 1);
  const view_dataset all{tensor_view<const float>(given.points.data(), given.classes.size(), shape{2}),
                         tensor_view<const int>(given.classes.data(), given.classes.size(), shape{1})};
  loader batches{all, sampler{{.seed = 1}}, batch<64>{}};
  const types::fit_result end = fit(train, batches, {.max_epochs = 20});
  write_header(train, path, {.name = "moons", .comment = "SPDX-License-Identifier: MIT"});
  std::printf("%zu steps; written to %s\n", static_cast<std::size_t>(end.steps), path.c_str());
}

} // namespace

int program(int count, char** words) {
  std::string path = "moons.hpp";
  command_line given("moons_to_header", "trains a small network and writes it as a header");
  given.add("to", path, "the header").parse(count, words);
  try {
    learn_and_write(path);
    return 0;
  } catch (const std::exception& fault) {
    std::fprintf(stderr, "moons_to_header: %s\n", fault.what());
    return 1;
  }
}

} // namespace mine

int main(int count, char** words) { return mine::program(count, words); }
