// SPDX-License-Identifier: MIT
// A layer of your own, between the markers. The rest shows that it is a layer like the others: the gradient checker finds no
// fault in it, it learns, and it can be recomputed without changing a bit.
//
// test:
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include <cairn/cairn.hpp>

namespace mine {

using namespace cairn;

// own code: a layer
// y = weight * x with one weight for each feature, 1 at the start.
struct Scale {
  static constexpr reads backward_reads = reads::input;
  static constexpr tensor outputs(const arguments& in) { return in[0]; }
  static constexpr tensor_list parameters(const arguments& in) { return {{"weight", {in[0].last()}, initial::constant(1)}}; }
  static void forward(cpu::queue&, const auto& call) {
    for (std::size_t i = 0, n = call.in(0).last(); i < call.rows * call.in(0).size(); ++i)
      call.outputs[0][i] = call.parameters[0][i % n] * call.inputs[0][i];
  }
  static void backward(cpu::queue&, const auto& call) {
    const std::size_t n = call.in(0).last();
    std::fill_n(call.gradients[0], n, 0);
    for (std::size_t i = 0; i < call.rows * call.in(0).size(); ++i) {
      call.gradients[0][i % n] += call.output_gradients[0][i] * call.inputs[0][i];
      if (call.input_gradients) call.input_gradients[0][i] = call.parameters[0][i % n] * call.output_gradients[0][i];
    }
  }
};
// end of own code

namespace {

using Net = Sequential<Linear<4, 16>, Tanh, Scale, Linear<16, 16>, Scale, Tanh, Linear<16, 4>>;
constexpr std::size_t rows = 32;
template <class Model>
using training = trainer<Model, MSELoss, SGD, batch<rows>, double>;

// Normal numbers, and their sines as targets.
struct samples {
  std::vector<double> x, y;
  samples() : x(rows * 4), y(rows * 4) {
    ops::fill_normal(std::span<double>(x), types::random_key{.seed = 1});
    for (std::size_t i = 0; i < x.size(); ++i) y[i] = std::sin(x[i]);
  }
};

struct result {
  double first = 0, last = 0; // loss
  std::uint64_t weights = 0;
};
template <class Model>
result learn(const samples& s) {
  training<Model> train{SGD{.learning_rate = 0.1, .momentum = 0.9}, {.seed = 1}};
  result out{.first = train.step(s.x, s.y)};
  for (int step = 1; step < 300; ++step) out.last = train.step(s.x, s.y);
  out.weights = train.checksum();
  return out;
}

} // namespace

int program() {
  const std::string fault = gradient_fault<Scale>({{4}}); // of 1, 2 and 5 samples of 4 features
  const samples s;
  const result stored = learn<Net>(s);
  const result again = learn<checkpoint<recompute_all, Net>>(s);
  std::printf("the gradient checker says: %s\n", fault.empty() ? "right" : fault.c_str());
  std::printf("300 steps take the loss from %.4f to %.4f\n", stored.first, stored.last);
  std::printf("weights %s, under recompute_all %s\n", report::format_checksum(stored.weights).c_str(),
              report::format_checksum(again.weights).c_str());
  const bool right = fault.empty() && stored.last < stored.first / 20 && stored.weights == again.weights;
  return right ? 0 : 1;
}

} // namespace mine

int main() { return mine::program(); }
