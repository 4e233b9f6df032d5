// SPDX-License-Identifier: MIT
// A loss of your own, between the markers. The rest shows that it is a loss like the others: its derivatives agree with
// difference quotients, and a network learns the outputs for which it is least, with the same bits under another policy.
//
// long to compile
// test:
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <type_traits>
#include <vector>

#include <cairn/cairn.hpp>

namespace mine {

using namespace cairn;

// own code: a loss
// The mean of q d where d = target - output is positive, and of (q - 1) d elsewhere. It is least where the output is the
// q-quantile of the targets. `term` and `slope` are functions of one element, on every device.
struct QuantileLoss {
  double q = 0.5;

  struct term {
    double q;
    CAIRN_HOST_DEVICE auto operator()(auto y, auto t) const { return decltype(y)((t > y ? q : q - 1) * (t - y)); }
  };
  struct slope { // by y
    double q;
    CAIRN_HOST_DEVICE auto operator()(auto y, auto t) const { return decltype(y)(t > y ? -q : 1 - q); }
  };
  static constexpr bool accepts(const shape&) { return true; }
  static constexpr std::size_t targets_per_sample(const shape& output) { return output.size(); }
  template <class T, class Target>
  static constexpr bool takes = std::is_same_v<T, Target>;
  std::array<double, 1> settings() const { return {q}; }
  void run(auto& queue, const auto& call) const {
    mean_of_terms(queue, call.loss, call.output_gradient, call.rows * call.output_shape->size(), call.output, call.targets,
                  term{q}, slope{q});
  }
};
// end of own code

namespace {

using Net = Sequential<Linear<1, 16>, ReLU, Linear<16, 1>>;
constexpr std::size_t rows = 512;

// The sine of x, with noise that grows with x: its quantiles and its mean are different functions.
struct samples {
  std::vector<double> x, y;
  samples() : x(rows), y(rows) {
    ops::fill_normal(std::span<double>(x), types::random_key{.seed = 1});
    ops::fill_normal(std::span<double>(y), types::random_key{.seed = 2});
    for (std::size_t i = 0; i < rows; ++i) y[i] = std::sin(x[i]) + y[i] * (1 + 0.5 * std::tanh(x[i]));
  }
};

struct result {
  double below = 0; // the share of the targets that lie below the outputs
  std::uint64_t weights = 0;
};
template <class Model>
result learn(const samples& s, double q) {
  trainer<Model, QuantileLoss, Adam, batch<rows>, double> train{Adam{.learning_rate = 0.01}, {.seed = 1, .loss = {q}}};
  for (int step = 0; step < 1000; ++step) train.step(s.x, s.y);
  const auto outputs = train.evaluate(s.x);
  result out{.below = 0, .weights = train.checksum()};
  for (std::size_t i = 0; i < rows; ++i) out.below += s.y[i] < outputs.data()[i] ? 1.0 / rows : 0;
  return out;
}

// The largest difference between a derivative and a difference quotient of the loss.
double derivative_fault(const samples& s) {
  const QuantileLoss loss{0.8};
  const shape one{1};
  std::vector<double> output(s.x), gradient(rows);
  double before = 0, after = 0, fault = 0;
  cpu device;
  loss.run(device.compute(), loss_call<double, double>{rows, &one, output.data(), s.y.data(), gradient.data(), &before});
  for (std::size_t i = 0; i < rows; ++i) {
    const double by = s.y[i] > output[i] ? -1 : 1; // away from the target, where there is no corner
    output[i] += by;
    loss.run(device.compute(), loss_call<double, double>{rows, &one, output.data(), s.y.data(), nullptr, &after});
    output[i] -= by;
    fault = std::max(fault, std::abs((after - before) / by - gradient[i]));
  }
  return fault;
}

// The same loss as a function of one step: its bits are those of the loss type.
std::uint64_t learn_by_function(const samples& s, double q) {
  trainer<Net, MSELoss, Adam, batch<rows>, double> train{Adam{.learning_rate = 0.01}, {.seed = 1}};
  const shape one{1};
  cpu device;
  for (int step = 0; step < 1000; ++step)
    train.step_by(s.x, [&](tensor_view<const double> outputs, tensor_view<double> gradient) {
      double loss = 0;
      QuantileLoss{q}.run(device.compute(),
                          loss_call<double, double>{rows, &one, outputs.data(), s.y.data(), gradient.data(), &loss});
      return loss;
    });
  return train.checksum();
}

} // namespace

int program() {
  const samples s;
  bool right = derivative_fault(s) < 1e-12;
  std::printf("derivatives are %s\n", right ? "right" : "wrong");
  for (const double q : {0.1, 0.5, 0.9}) {
    const result stored = learn<Net>(s, q);
    const result again = learn<checkpoint<recompute_all, Net>>(s, q);
    std::printf("q = %.1f: %.3f of the targets lie below the outputs; weights %s, under recompute_all %s\n", q, stored.below,
                report::format_checksum(stored.weights).c_str(), report::format_checksum(again.weights).c_str());
    right = right && std::abs(stored.below - q) < 0.03 && stored.weights == again.weights;
  }
  const bool same = learn_by_function(s, 0.5) == learn<Net>(s, 0.5).weights;
  std::printf("by a function, the weights are %s\n", same ? "the same" : "others");
  return right && same ? 0 : 1;
}

} // namespace mine

int main() { return mine::program(); }
