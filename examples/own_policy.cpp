// SPDX-License-Identifier: MIT
// A checkpoint policy of your own, between the markers, beside two of the library's. What it stores follows from the order in
// which it walks, the compiler proves the schedule, and the weights stay the same.
//
// long to compile
// test:
#include <cstdint>
#include <cstdio>
#include <vector>

#include <cairn/cairn.hpp>

#include "toy_dataset.hpp"

namespace mine {

using namespace cairn;

// own code: a policy
// Keeps the input of the upper half while that walks back, then recomputes the lower half; each half likewise. About log2 n
// inputs are stored at a time, for at most log2 n forwards of a stage.
struct bisect {
  static constexpr void plan(const plan::chain& c, plan::route& out) {
    out.forward(0, c.size());
    walk_back(out, 0, c.size(), true);
  }

private:
  static constexpr void walk_back(plan::route& out, std::size_t first, std::size_t last, bool still_there) {
    const std::size_t half = first + (last - first) / 2;
    if (half == first) {
      if (!still_there) out.recompute(first, last);
      out.backward(first);
      return;
    }
    if (!still_there) out.forward(first, half);
    walk_back(out, half, last, still_there);
    walk_back(out, first, half, false);
  }
};
// end of own code

namespace {

using Net = Sequential<Linear<16, 64>, Repeat<30, Residual<Linear<64, 64>, GELU>>, Linear<64, 1>>;
constexpr std::size_t rows = 32;
static_assert(peak_activation_bytes<checkpoint<bisect, Net>, rows> < peak_activation_bytes<checkpoint<sqrt_n, Net>, rows>);

struct trained {
  std::uint64_t weights;
  report::step_times times; // the same weights as if nothing had been measured
};

template <class Policy>
trained train_under(const char* name, report::table& results) {
  using model = checkpoint<Policy, Net>;
  using plan = blueprint_of<model, rows>;
  const auto data = toy_dataset(256, {.inputs = 16});
  trainer<model, MSELoss, SGD, batch<rows>> train{SGD{.learning_rate = 0.01}, {.seed = 1}};
  loader batches{data, sequential_sampler{}, batch<rows>{}};
  trained out{};
  for (const auto& [inputs, targets] : batches) {
    if (train.steps() == 4) out.times = timed_summary(train, inputs, targets, {.steps = 5});
    train.step(inputs, targets);
  }
  out.weights = train.checksum();
  double again = 0;
  for (const report::layer_times& layer : out.times.layers) again += layer.recompute;
  const auto megaflops = flops(plan::whole, plan::training.ops()) * rows / 1'000'000;
  results.row({name, report::format_bytes(peak_activation_bytes<model, rows>), report::format_count(megaflops),
               report::format_duration(out.times.of_layers()), report::format_duration(again),
               report::format_checksum(out.weights)});
  return out;
}

} // namespace

int program() {
  report::table results({"policy", "activations", "MFLOP in a step", "layers", "of that again", "weights"});
  const trained stored = train_under<store_all>("store_all", results);
  const trained segments = train_under<sqrt_n>("sqrt_n", results);
  const trained own = train_under<bisect>("bisect", results);
  std::printf("%s\nbisect, %s", results.text().c_str(), own.times.text(5).c_str());
  return own.weights == stored.weights && own.weights == segments.weights ? 0 : 1;
}

} // namespace mine

int main() { return mine::program(); }
