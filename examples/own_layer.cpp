// SPDX-License-Identifier: MIT
// A layer of one's own, between the markers. The rest shows that it is one like the others: its gradients are those that
// differences of the loss give, it learns, and it can be made again without changing a bit.
//
// test:
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <vector>

#include <cairn/cairn.hpp>

using namespace cairn;

// own code: a layer
// y = weight * x with one weight for each feature, 1 at the start.
struct Scale {
  static constexpr reads backward_reads = reads::input;
  static constexpr shape output_shape(const shape& in) { return in; }
  static constexpr parameter_list parameters(const shape& in) {
    return {{"weight", {in.last()}, initial::constant, 1}};
  }
  static void forward(auto& /*queue*/, const auto& call) {
    for (std::size_t i = 0, n = call.input_shape->last(); i < call.rows * call.input_shape->size(); ++i)
      call.output[i] = call.parameters[0][i % n] * call.input[i];
  }
  static void backward(auto& /*queue*/, const auto& call) {
    const std::size_t n = call.input_shape->last();
    std::fill_n(call.gradients[0], n, 0);
    for (std::size_t i = 0; i < call.rows * call.input_shape->size(); ++i) {
      call.gradients[0][i % n] += call.output_gradient[i] * call.input[i];
      if (call.input_gradient) call.input_gradient[i] = call.parameters[0][i % n] * call.output_gradient[i];
    }
  }
};
// end of own code

namespace {

using Net = Sequential<Linear<4, 16>, Tanh, Scale, Linear<16, 16>, Scale, Tanh, Linear<16, 4>>;
constexpr std::size_t rows = 32;
template <class Model>
using training = trainer<Model, MSELoss, SGD, batch<rows>, double>;

// Normal numbers, and their sines to be learned.
struct samples {
  std::vector<double> x, y;
  samples() : x(rows * 4), y(rows * 4) {
    fill_normal(std::span<double>(x), random_key{.seed = 1});
    for (std::size_t i = 0; i < x.size(); ++i) y[i] = std::sin(x[i]);
  }
};

// The largest difference between a gradient and (loss(p + h) - loss(p - h)) / 2h, over all parameters.
double gradient_error(const samples& s) {
  constexpr double h = 1e-5;
  training<Net> probe{SGD{.learning_rate = 0}, seed{1}};
  probe.step(s.x, s.y);
  double most = 0;
  for (std::size_t i = 0; i < probe.parameters().size(); ++i) {
    double& p = probe.parameters()[i];
    const double kept = p;
    p = kept + h;
    const double above = probe.evaluate_loss(s.x, s.y);
    p = kept - h;
    const double below = probe.evaluate_loss(s.x, s.y);
    p = kept;
    most = std::max(most, std::abs(probe.gradients()[i] - (above - below) / (2 * h)));
  }
  return most;
}

struct result {
  double first = 0, last = 0; // loss
  std::uint64_t weights = 0;
};
template <class Model>
result learn(const samples& s) {
  training<Model> train{SGD{.learning_rate = 0.1, .momentum = 0.9}, seed{1}};
  result out{.first = train.step(s.x, s.y)};
  for (int step = 1; step < 300; ++step) out.last = train.step(s.x, s.y);
  out.weights = train.checksum();
  return out;
}

} // namespace

int main() {
  const samples s;
  const double error = gradient_error(s);
  const result stored = learn<Net>(s);
  const result again = learn<checkpoint<recompute_all, Net>>(s);
  std::printf("gradients differ from differences of the loss by %.1e at most\n", error);
  std::printf("300 steps take the loss from %.4f to %.4f\n", stored.first, stored.last);
  std::printf("weights %s, under recompute_all %s\n", format_checksum(stored.weights).c_str(),
              format_checksum(again.weights).c_str());
  const bool right = error < 1e-8 && stored.last < stored.first / 20 && stored.weights == again.weights;
  return right ? 0 : 1;
}
