// SPDX-License-Identifier: MIT
// An optimizer of your own, between the markers. The rest shows that it is an optimizer like the others: it learns, and its
// bits do not depend on how the buffer of parameters is split, as with a fused update, where a layer is updated inside
// backward.
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
#include <vector>

#include <cairn/cairn.hpp>

namespace mine {

using namespace cairn;

// own code: an optimizer
// Lion (Chen et al., 2023): each parameter moves by the learning rate against the sign of a mean of its gradients.
struct Lion {
  double learning_rate = 1e-4;
  std::array<double, 2> betas{0.9, 0.99};
  double weight_decay = 0;
  std::size_t states() const { return 1; } // a mean of gradients
  std::array<double, 3> settings() const { return {betas[0], betas[1], weight_decay}; }
  template <class T>
  void update(cpu::queue&, const update_call<T>& call) const {
    for (std::size_t i = 0; i < call.count; ++i) {
      const double gradient = call.scale() * double(call.gradients[i]), mean = double(call.states[0][i]);
      const double towards = betas[0] * mean + (1 - betas[0]) * gradient;
      const double move = (towards > 0) - (towards < 0) + weight_decay * double(call.parameters[i]);
      call.parameters[i] -= static_cast<T>(call.learning_rate * move);
      call.states[0][i] = static_cast<T>(betas[1] * mean + (1 - betas[1]) * gradient);
    }
  }
};
// end of own code

namespace {

using Net = Sequential<Linear<4, 16>, Tanh, Residual<Linear<16, 16>, Tanh>, Linear<16, 4>>;
constexpr std::size_t rows = 32;

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
  double longest = 0;         // largest change of a parameter in the first step
  std::uint64_t weights = 0;
};
template <class Model>
result learn(const samples& s) {
  trainer<Model, MSELoss, Lion, batch<rows>, double> train{Lion{.learning_rate = 0.002}, {.seed = 1}};
  const std::vector<double> start(train.parameters().begin(), train.parameters().end());
  result out{.first = train.step(s.x, s.y)};
  for (std::size_t i = 0; i < start.size(); ++i) out.longest = std::max(out.longest, std::abs(train.parameters()[i] - start[i]));
  for (int step = 1; step < 500; ++step) out.last = train.step(s.x, s.y);
  out.weights = train.checksum();
  return out;
}

} // namespace

int program() {
  const samples s;
  const result whole = learn<Net>(s);
  const result fused = learn<fused_update<checkpoint<sqrt_n, Net>>>(s);
  std::printf("500 steps take the loss from %.4f to %.4f; the first moves no parameter by more than %.4f\n", whole.first,
              whole.last, whole.longest);
  std::printf("weights %s, with a fused update %s\n", report::format_checksum(whole.weights).c_str(),
              report::format_checksum(fused.weights).c_str());
  const bool right = whole.last < whole.first / 20 && std::abs(whole.longest - 0.002) < 1e-12 && whole.weights == fused.weights;
  return right ? 0 : 1;
}

} // namespace mine

int main() { return mine::program(); }
