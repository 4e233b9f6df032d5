// SPDX-License-Identifier: MIT
// A layer, a loss and an optimizer of your own with kernels of your own, between the markers. The rest shows that they train on a
// GPU as on the processor, with the same bits under every policy, with clipped gradients too.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <type_traits>
#include <vector>

#include <cairn/cairn_cuda.cuh>

namespace mine {

using namespace cairn;

// own code: a kernel
// A kernel takes one object, by value: addresses of the GPU and numbers.
template <class Work>
__global__ void run(const Work work) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < work.count) work(i);
}
template <class Work>
void for_each_of(cuda::queue& queue, const char* name, Work work) {
  constexpr unsigned threads = 256;
  queue.start(name, reinterpret_cast<const void*>(&run<Work>), (work.count + threads - 1) / threads, threads, &work);
}
// end of own code

// own code: a layer
// y = weight * x with one weight for each feature, 1 at the start.
struct Scale {
  template <class T>
  struct product { // to = by * from
    std::size_t count, features;
    const T *by, *from;
    T* to;
    __device__ void operator()(std::size_t i) const { to[i] = by[i % features] * from[i]; }
  };
  template <class T>
  struct column_sums { // of x * y. One thread makes one sum, in the order of the rows: the bits are always the same
    std::size_t count, rows;
    const T *x, *y;
    T* to;
    __device__ void operator()(std::size_t column) const {
      T sum = 0;
      for (std::size_t i = 0; i < rows; ++i) sum += x[i * count + column] * y[i * count + column];
      to[column] = sum;
    }
  };

  static constexpr reads backward_reads = reads::input;
  static constexpr bool accepts(const arguments& in) { return in[0].extents.rank == 1; }
  static constexpr tensor outputs(const arguments& in) { return in[0]; }
  static constexpr tensor_list parameters(const arguments& in) { return {{"weight", {in[0].last()}, initial::constant(1)}}; }
  static void forward(cuda::queue& queue, const auto& call) {
    const std::size_t n = call.in(0).last();
    for_each_of(queue, "Scale", product{call.rows * n, n, call.parameters[0], call.inputs[0], call.outputs[0]});
  }
  static void backward(cuda::queue& queue, const auto& call) {
    const std::size_t n = call.in(0).last();
    for_each_of(queue, "Scale's sums", column_sums{n, call.rows, call.output_gradients[0], call.inputs[0], call.gradients[0]});
    if (!call.input_gradients) return;
    for_each_of(queue, "Scale", product{call.rows * n, n, call.parameters[0], call.output_gradients[0], call.input_gradients[0]});
  }

  static void forward(cpu::queue&, const auto& call) {
    for (std::size_t i = 0, n = call.in(0).last(); i < call.rows * n; ++i)
      call.outputs[0][i] = call.parameters[0][i % n] * call.inputs[0][i];
  }
  static void backward(cpu::queue&, const auto& call) {
    const std::size_t n = call.in(0).last();
    std::fill_n(call.gradients[0], n, 0);
    for (std::size_t i = 0; i < call.rows * n; ++i) {
      call.gradients[0][i % n] += call.output_gradients[0][i] * call.inputs[0][i];
      if (call.input_gradients) call.input_gradients[0][i] = call.parameters[0][i % n] * call.output_gradients[0][i];
    }
  }
};
// end of own code

// own code: a loss
// The mean of log cosh(output - target). One block of threads adds up all terms and writes the loss where the device has it.
template <class T>
struct log_cosh {
  static constexpr unsigned threads = 256;
  std::size_t count;
  const T *y, *target;
  T* gradient; // null: not wanted; may be the memory of y
  double* loss;
  CAIRN_HOST_DEVICE static double term(double d) { return std::abs(d) + std::log1p(std::exp(-2 * std::abs(d))) - std::log(2.0); }
};
template <class T>
__global__ void sum_log_cosh(const log_cosh<T> of) {
  __shared__ double sums[log_cosh<T>::threads];
  double own = 0;
  for (std::size_t i = threadIdx.x; i < of.count; i += of.threads) {
    const double d = static_cast<double>(of.y[i]) - static_cast<double>(of.target[i]);
    own += of.term(d);
    if (of.gradient != nullptr) of.gradient[i] = static_cast<T>(std::tanh(d) / static_cast<double>(of.count));
  }
  sums[threadIdx.x] = own;
  for (unsigned half = of.threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  if (threadIdx.x == 0) *of.loss = sums[0] / static_cast<double>(of.count);
}
struct LogCoshLoss {
  static constexpr bool accepts(const shape&) { return true; }
  static constexpr std::size_t targets_per_sample(const shape& output) { return output.size(); }
  template <class T, class Target>
  static constexpr bool takes = std::is_same_v<T, Target>;
  template <class T>
  void run(cuda::queue& queue, const loss_call<T, T>& call) const {
    log_cosh<T> work{call.rows * call.output_shape->size(), call.output, call.targets, call.output_gradient, call.loss};
    queue.start("LogCoshLoss", reinterpret_cast<const void*>(&sum_log_cosh<T>), 1, work.threads, &work);
  }

  template <class T>
  void run(cpu::queue&, const loss_call<T, T>& call) const {
    const std::size_t count = call.rows * call.output_shape->size();
    double sum = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const double d = static_cast<double>(call.output[i]) - static_cast<double>(call.targets[i]);
      sum += log_cosh<T>::term(d);
      if (call.output_gradient != nullptr) call.output_gradient[i] = static_cast<T>(std::tanh(d) / static_cast<double>(count));
    }
    *call.loss = sum / static_cast<double>(count);
  }
};
// end of own code

// own code: an optimizer
// Momentum = decay * momentum + gradient, for several arrays in one kernel: the parameters, their gradients and the momentum.
struct HeavyBall {
  template <class T>
  struct update_of {
    std::size_t count;
    T *parameters, *momentum;
    const T* gradients;
    types::gradient_scale scale; // called on the device, where a part of it may be
    T rate, decay;
    CAIRN_HOST_DEVICE void operator()(std::size_t i) const {
      momentum[i] = decay * momentum[i] + static_cast<T>(scale()) * gradients[i];
      parameters[i] -= rate * momentum[i];
    }
  };

  double learning_rate = 1e-2, decay = 0.9;
  std::size_t states() const { return 1; }
  std::array<double, 1> settings() const { return {decay}; }
  template <class T>
  update_of<T> work(const update_call<T>& call) const {
    return {call.count,           call.parameters, call.states[0], call.gradients, call.scale, static_cast<T>(call.learning_rate),
            static_cast<T>(decay)};
  }
  template <class T>
  void update(cuda::queue& queue, const update_call<T>& call) const {
    for_each_of(queue, "HeavyBall", work(call));
  }
  template <class T>
  void update(cpu::queue&, const update_call<T>& call) const {
    const update_of<T> one = work(call);
    for (std::size_t i = 0; i < call.count; ++i) one(i);
  }
};
// end of own code

namespace {

using Net = Sequential<Linear<4, 16>, Tanh, Scale, Residual<Linear<16, 16>, Tanh, Scale>, Linear<16, 4>>;
constexpr std::size_t rows = 32, steps = 40;

// Numbers from -1 to 1, and their sines as targets.
struct samples {
  std::vector<double> x, y;
  samples() : x(rows * 4), y(rows * 4) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = 2 * ops::random_uniform<double>({.seed = 1}, i) - 1;
      y[i] = std::sin(3 * x[i]);
    }
  }
};

struct result {
  double first = 0, last = 0; // loss
  std::uint64_t weights = 0;
  std::vector<double> outputs{};
};
template <class Model, class Optimizer, class Device>
result learn(const samples& s, const Optimizer& optimizer, double max_norm) {
  trainer<Model, LogCoshLoss, Optimizer, batch<rows>, double, Device> train{optimizer, {.seed = 1, .clip = {max_norm}}};
  result out;
  for (std::size_t step = 0; step < steps; ++step) (step == 0 ? out.first : out.last) = train.step(s.x, s.y);
  out.weights = train.checksum();
  const auto outputs = train.evaluate(s.x);
  out.outputs.assign(outputs.begin(), outputs.end());
  return out;
}
double distance(const result& a, const result& b) {
  double apart = 0;
  for (std::size_t i = 0; i < a.outputs.size(); ++i) apart = std::max(apart, std::abs(a.outputs[i] - b.outputs[i]));
  return apart;
}

// HeavyBall is SGD with momentum, so Cairn's must agree with it.
bool is_right(double max_norm) {
  const samples s;
  const HeavyBall own{.learning_rate = 0.1};
  const result gpu = learn<Net, HeavyBall, cuda>(s, own, max_norm);
  const result recomputed = learn<checkpoint<recompute_all, Net>, HeavyBall, cuda>(s, own, max_norm);
  const double from_processor = distance(gpu, learn<Net, HeavyBall, cpu>(s, own, max_norm));
  const double from_sgd = distance(gpu, learn<Net, SGD, cpu>(s, SGD{.learning_rate = 0.1, .momentum = 0.9}, max_norm));
  std::printf(
      "gradients %s: %zu steps take the loss from %.4f to %.4f; outputs are %.0e from the processor's, %.0e from SGD's; weights "
      "%s, recomputed %s\n",
      max_norm == 0 ? "as they are" : "clipped", steps, gpu.first, gpu.last, from_processor, from_sgd,
      report::format_checksum(gpu.weights).c_str(), report::format_checksum(recomputed.weights).c_str());
  return gpu.last < gpu.first / 1.5 && from_processor < 1e-12 && from_sgd < 1e-12 && gpu.weights == recomputed.weights;
}

} // namespace

int program() {
  const bool whole = is_right(0), clipped = is_right(0.02);
  return whole && clipped ? 0 : 1;
}

} // namespace mine

int main() {
  if (cairn::cuda::count() == 0) {
    std::fprintf(stderr, "cuda: expected a GPU, found none\n");
    return 1;
  }
  return mine::program();
}
