// SPDX-License-Identifier: MIT
// A layer of your own that runs on every device, between the markers. It has no loop, because the host may not be able to
// access its arguments, and calls an op with a function of its own. The rest shows that the function and its derivative are
// right.
//
// test:
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include <cairn/cairn.hpp>

namespace mine {

using namespace cairn;

// own code: an activation
// y = x / (1 + e^-x), as torch.nn.SiLU. `value` and `slope` hold what becomes of one element.
struct SiLU {
  struct value {
    CAIRN_HOST_DEVICE auto operator()(auto x) const { return x / (1 + std::exp(-x)); }
  };
  struct slope {
    CAIRN_HOST_DEVICE auto operator()(auto output_gradient, auto x) const {
      const auto s = 1 / (1 + std::exp(-x));
      return output_gradient * s * (1 + x * (1 - s));
    }
  };
  static constexpr reads backward_reads = reads::input;
  static constexpr tensor outputs(const arguments& in) { return in[0]; }
  static void forward(auto& queue, const auto& call) {
    elementwise(queue, call.rows * call.in(0).size(), value{}, call.outputs[0], call.inputs[0]);
  }
  static void backward(auto& queue, const auto& call) {
    if (!call.input_gradients) return;
    elementwise(queue, call.rows * call.in(0).size(), slope{}, call.input_gradients[0], call.output_gradients[0], call.inputs[0]);
  }
};
// end of own code

namespace {

using Net = Sequential<Linear<4, 16>, SiLU, Residual<Linear<16, 16>, SiLU>, Linear<16, 4>>;
constexpr std::size_t rows = 32;

// Normal numbers, and their sines as targets.
struct samples {
  std::vector<double> x, y;
  samples() : x(rows * 4), y(rows * 4) {
    ops::fill_normal(std::span<double>(x), types::random_key{.seed = 1});
    for (std::size_t i = 0; i < x.size(); ++i) y[i] = std::sin(x[i]);
  }
};

} // namespace

int program() {
  const std::string fault = gradient_fault<SiLU>({{4}}); // of 1, 2 and 5 samples of 4 features
  const samples s;
  trainer<Net, MSELoss, SGD, batch<rows>, double> train{SGD{.learning_rate = 0.1, .momentum = 0.9}, {.seed = 1}};
  const double first = train.step(s.x, s.y);
  double last = first;
  for (int step = 1; step < 300; ++step) last = train.step(s.x, s.y);
  std::printf("the gradient checker says: %s\n", fault.empty() ? "right" : fault.c_str());
  std::printf("300 steps take the loss from %.4f to %.4f\n", first, last);
  return fault.empty() && last < first / 20 ? 0 : 1;
}

} // namespace mine

int main() { return mine::program(); }
