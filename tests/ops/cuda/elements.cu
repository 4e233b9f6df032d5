// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <cairn/layer/elu.hpp>
#include <cairn/layer/gelu.hpp>
#include <cairn/layer/leaky_relu.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/layer/sigmoid.hpp>
#include <cairn/layer/silu.hpp>
#include <cairn/layer/tanh.hpp>
#include <cairn/layer/tanh_gelu.hpp>
#include <cairn/ops/cpu.hpp>
#include <cairn/ops/cuda.cuh>
#include <cairn/ops/ops.hpp>

#include "../../cuda/agree.hpp"

namespace ops_cuda_elements_tests {

using namespace cairn;
using testing::normal, testing::over;

namespace {

// A user's function for cairn::elementwise.
struct silu {
  template <class T>
  CAIRN_HOST_DEVICE T operator()(T x, T scale) const {
    return scale * x / (1 + std::exp(-x));
  }
};

// Tests lengths around 16 bytes and around one and more blocks of threads. Elements after the end must not change.
template <class Op>
double worst_of(const char* name, std::size_t in, const Op& op) {
  double worst = 0;
  for (const std::size_t count : {1U, 5U, 1024U, 4099U}) {
    testing::operands all{.out = {normal(count + 3, 9)}};
    for (std::uint32_t k = 0; k < in; ++k) all.in.push_back(normal(count, k));
    worst = std::max(worst, over(name, all, [&](auto& q, const auto& g) { op(q, count, g); }));
  }
  return worst;
}

} // namespace

TEST_CASE("cuda: functions of elements agree with the cpu's") {
  CHECK(worst_of("add", 2, [](auto& q, std::size_t n, const auto& g) { add(q, n, g.out[0], g.in[0], g.in[1]); }) <= 1);
  CHECK(worst_of("add", 2, [](auto& q, std::size_t n, const auto& g) { add(q, n - 1, g.out[0], g.in[0] + 1, g.in[1]); }) <= 1);
  CHECK(worst_of("add", 2, [](auto& q, std::size_t n, const auto& g) {
          elementwise(q, n, detail::sum_of_two{}, g.out[0], g.in[0], g.in[1]);
        }) <= 1);
  CHECK(worst_of("relu", 1,
                 [](auto& q, std::size_t n, const auto& g) { elementwise(q, n, detail::relu_value{}, g.out[0], g.in[0]); }) <= 1);
  CHECK(worst_of("relu", 2, [](auto& q, std::size_t n, const auto& g) {
          elementwise(q, n, detail::relu_slope{}, g.out[0], g.in[0], g.in[1]);
        }) <= 1);
  CHECK(worst_of("gelu", 1,
                 [](auto& q, std::size_t n, const auto& g) { elementwise(q, n, detail::gelu_value{}, g.out[0], g.in[0]); }) <= 1);
  CHECK(worst_of("gelu", 2, [](auto& q, std::size_t n, const auto& g) {
          elementwise(q, n, detail::gelu_slope{}, g.out[0], g.in[0], g.in[1]);
        }) <= 1);
  CHECK(worst_of("tanh", 1,
                 [](auto& q, std::size_t n, const auto& g) { elementwise(q, n, detail::tanh_value{}, g.out[0], g.in[0]); }) <= 1);
  CHECK(worst_of("tanh", 2, [](auto& q, std::size_t n, const auto& g) {
          elementwise(q, n, detail::tanh_slope{}, g.out[0], g.in[0], g.in[1]);
        }) <= 1);
  CHECK(worst_of("sigmoid", 1, [](auto& q, std::size_t n, const auto& g) {
          elementwise(q, n, detail::sigmoid_value{}, g.out[0], g.in[0]);
        }) <= 1);
  CHECK(worst_of("sigmoid", 2, [](auto& q, std::size_t n, const auto& g) {
          elementwise(q, n, detail::sigmoid_slope{}, g.out[0], g.in[0], g.in[1]);
        }) <= 1);
  CHECK(worst_of("silu", 1,
                 [](auto& q, std::size_t n, const auto& g) { elementwise(q, n, detail::silu_value{}, g.out[0], g.in[0]); }) <= 1);
  CHECK(worst_of("silu", 2, [](auto& q, std::size_t n, const auto& g) {
          elementwise(q, n, detail::silu_slope{}, g.out[0], g.in[0], g.in[1]);
        }) <= 1);
  CHECK(worst_of("tanh_gelu", 1, [](auto& q, std::size_t n, const auto& g) {
          elementwise(q, n, detail::tanh_gelu_value{}, g.out[0], g.in[0]);
        }) <= 1);
  CHECK(worst_of("tanh_gelu", 2, [](auto& q, std::size_t n, const auto& g) {
          elementwise(q, n, detail::tanh_gelu_slope{}, g.out[0], g.in[0], g.in[1]);
        }) <= 1);
  CHECK(worst_of("leaky_relu", 1, [](auto& q, std::size_t n, const auto& g) {
          elementwise(q, n, detail::leaky_relu_value<percent<1>>{}, g.out[0], g.in[0]);
        }) <= 1);
  CHECK(worst_of("leaky_relu", 2, [](auto& q, std::size_t n, const auto& g) {
          elementwise(q, n, detail::leaky_relu_slope<percent<1>>{}, g.out[0], g.in[0], g.in[1]);
        }) <= 1);
  CHECK(worst_of("elu", 1, [](auto& q, std::size_t n, const auto& g) {
          elementwise(q, n, detail::elu_value<fraction{1}>{}, g.out[0], g.in[0]);
        }) <= 1);
  CHECK(worst_of("elu", 2, [](auto& q, std::size_t n, const auto& g) {
          elementwise(q, n, detail::elu_slope<fraction{1}>{}, g.out[0], g.in[0], g.in[1]);
        }) <= 1);
  CHECK(worst_of("elementwise", 2,
                 [](auto& q, std::size_t n, const auto& g) { elementwise(q, n, silu{}, g.out[0], g.in[0], g.in[1]); }) <= 1);
  CHECK(worst_of("copy", 1, [](auto& q, std::size_t n, const auto& g) { copy(q, n, g.out[0], g.in[0]); }) <= 1);
}

TEST_CASE("cuda: in a large tensor a thread takes several times 16 bytes, to the same bits") {
  const std::size_t count = 4 * (std::size_t{1} << 20) + 5;
  const testing::operands all{.in = {normal(count, 1)}, .out = {std::vector<double>(count + 3, 7.0)}};
  const auto op = [&](auto& q, const auto& g) { elementwise(q, count, detail::relu_value{}, g.out[0], g.in[0]); };
  CHECK(testing::of_gpu<float>(all, op).out == testing::of_gpu<float>(all, op, 1).out);
  CHECK(testing::apart<float>(all, op) == 0);
}

TEST_CASE("cuda: dropout draws the cpu's mask") {
  const ops::dropout_rate rate{.threshold = std::uint64_t{1} << 30, .scale = 4.0 / 3};
  const types::random_key key{.seed = 3, .step = 7, .position = 2};
  CHECK(worst_of("dropout", 1, [&](auto& q, std::size_t n, const auto& g) { dropout(q, n, g.out[0], g.in[0], key, rate); }) <= 1);
}

TEST_CASE("cuda: matrices whose rows are apart are copied and added") {
  const auto op = [](auto& q, const auto& g) {
    const ops::matrix to(g.out[0] + 1, 3, 4, 6);
    copy_matrix(q, to, ops::matrix(g.in[0], 3, 4, 5));
    add_matrix(q, ops::matrix(g.out[1], 3, 4, 7), ops::matrix(g.in[0], 3, 4, 5), ops::matrix(g.in[1], 3, 4, 4));
  };
  CHECK(over("add", {.in = {normal(15, 1), normal(12, 2)}, .out = {normal(19, 3), normal(21, 4)}}, op) <= 1);
  const auto wide = [](auto& q, const auto& g) { // rows are aligned, but their lengths are no multiples of 4
    copy_matrix(q, ops::matrix(g.out[0], 3, 7, 12), ops::matrix(g.in[0], 3, 7, 8));
    add_matrix(q, ops::matrix(g.out[0], 3, 6, 12), ops::matrix(g.in[0], 3, 6, 8), ops::matrix(g.in[1], 3, 6, 8));
  };
  CHECK(over("add", {.in = {normal(24, 1), normal(24, 2)}, .out = {normal(36, 3)}}, wide) <= 1);
}

TEST_CASE("cuda: optimizers agree with the cpu's, with a scale that the GPU alone knows as well") {
  const testing::operands all{
      .in = {normal(1003, 1)}, .out = {normal(1003, 2), normal(1003, 3), std::vector<double>(1003, 0.5)}, .doubles = {{0.25}}};
  const auto with_sgd = [&](auto momentum, bool nesterov) {
    return over("sgd", all, [&](auto& q, const auto& g) {
      using T = std::remove_cvref_t<decltype(*g.in[0])>;
      const ops::sgd_coefficients<T> c{.scale = 0.5,
                                       .learning_rate = T(0.1),
                                       .momentum = T(momentum),
                                       .fresh = T(1),
                                       .weight_decay = T(0.01),
                                       .nesterov = nesterov,
                                       .factor = nesterov ? g.doubles[0] : nullptr};
      sgd(q, 1003, g.out[0], g.out[1], g.in[0], c);
    });
  };
  CHECK(with_sgd(0.0, false) <= 1);
  CHECK(with_sgd(0.9, false) <= 1);
  CHECK(with_sgd(0.9, true) <= 1);
  CHECK(over("adam", all, [](auto& q, const auto& g) {
          using T = std::remove_cvref_t<decltype(*g.in[0])>;
          const ops::adam_coefficients<T> c{.scale = 0.5,
                                            .keep_mean = T(0.9),
                                            .fresh_mean = T(0.1),
                                            .keep_square = T(0.999),
                                            .fresh_square = T(0.001),
                                            .correction = T(1.5),
                                            .eps = T(1e-8),
                                            .rate = T(0.01),
                                            .weight_decay = T(0.02),
                                            .shrink = T(0.99),
                                            .factor = g.doubles[0]};
          adam(q, 1003, g.out[0], g.out[1], g.out[2], g.in[0], c);
        }) <= 1);
}

TEST_CASE("cuda: what is done with single numbers") {
  for (const std::size_t count : {0U, 3U, 70001U})
    CHECK(over("squared_norm", {.in = {normal(count, 1)}, .doubles = {{0}}},
               [&](auto& q, const auto& g) { squared_norm(q, g.doubles[0], g.in[0], count); }) <= 1);
  CHECK(over("clip", {.doubles = {{0}, {16}, {0.5}}}, [](auto& q, const auto& g) {
          clip(q, g.doubles[0], static_cast<const double*>(g.doubles[1]), 2.0, 1.5, static_cast<const double*>(g.doubles[2]));
        }) <= 1);
  CHECK(over("mean_factor", {.in = {{0, 0, 1, 0, 9, 0, 0, 0, 0, 9, 3, 0, 0, 0, 9}}, .doubles = {{0}}},
             [](auto& q, const auto& g) { mean_factor(q, g.doubles[0], 3.0, 3, g.in[0], 5); }) <= 1);
}

TEST_CASE("cuda: what decides on an update has a cpu's bits, and a skipped update changes nothing") {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double squares : {2.5, infinity, 0.0})
    for (const bool has_mean : {false, true}) {
      ops::checked_gradients here{.state = {.scale = 300, .growth_tracker = 1}};
      detail::loss_scale_state told;
      std::vector<double> numbers{squares, 0.3, -1, -1};
      const detail::loss_scale_rule rule{.growth_factor = 1.7, .backoff_factor = 0.3, .growth_interval = 2};
      const testing::on_gpu<ops::checked_gradients> there({here}, 0);
      const testing::on_gpu<detail::loss_scale_state> told_there({told}, 0);
      const testing::on_gpu<double> numbers_there(numbers, 0);
      const auto decide = [&](auto& q, ops::checked_gradients* checked, double* n, detail::loss_scale_state* to) {
        check_gradients(q, checked, {n, n + 1, has_mean, n + 2, to}, 0.7, rule);
        clip_checked(q, n + 3, static_cast<const double*>(n), 1e-3, static_cast<const ops::checked_gradients*>(checked));
      };
      cpu processor;
      decide(processor.compute(), &here, numbers.data(), &told);
      decide(testing::gpu().compute(), there.data(), numbers_there.data(), told_there.data());
      const ops::checked_gradients found = there.back()[0];
      CHECK((found.state == here.state && told_there.back()[0] == told && told == here.state));
      CHECK((found.applies == here.applies && found.unscale == here.unscale && found.mean == here.mean));
      const std::vector<double> back = numbers_there.back();
      for (std::size_t i = 0; i < 3; ++i) CHECK(back[i] == numbers[i]);
      CHECK(back[3] == doctest::Approx(numbers[3]).epsilon(1e-14)); // a GPU adds 1e-6 in the same rounding
      const auto updated = [&](const ops::skip_decision& decision) {
        const testing::on_gpu<float> p(std::vector<float>(1003, 1), 0), m(std::vector<float>(1003, 2), 0),
            g(std::vector<float>(1003, 4), 0);
        const ops::sgd_coefficients<float> sgd_c{.scale = 1,
                                                 .learning_rate = 0.5F,
                                                 .momentum = 0.5F,
                                                 .fresh = 0.5F,
                                                 .weight_decay = 0,
                                                 .nesterov = false,
                                                 .decision = decision,
                                                 .fresh_if_one_less = 1};
        sgd(testing::gpu().compute(), 1003, p.data(), m.data(), static_cast<const float*>(g.data()), sgd_c);
        return p.back();
      };
      const bool skips = squares == infinity;
      const std::uint64_t skipped = skips ? 1 : 0;
      CHECK(updated({there.data(), skipped}) == std::vector<float>(1003, skips ? 1.0F : 1 - 0.5F * 3));
      CHECK(updated({there.data(), skipped + 1}) == std::vector<float>(1003, skips ? 1.0F : 1 - 0.5F * 5));
    }
}

TEST_CASE("cuda: a checksum is of all bits and all places") {
  const auto sum_of = []<class T>(const std::vector<T>& x) {
    const testing::on_gpu<T> there(x, 0), four(std::vector<T>(4), 0);
    checksum(testing::gpu().compute(), four.data(), static_cast<const T*>(there.data()), x.size());
    return four.back();
  };
  std::vector<float> x(10001, 1.5F);
  const auto first = sum_of(x);
  CHECK(sum_of(x) == first);
  for (const float n : first) CHECK((n >= 0 && n < 65536 && n == std::floor(n)));
  x[9000] = -1.5F;
  const auto second = sum_of(x);
  CHECK(second != first);
  std::vector<double> doubles(10001, 1.5);
  const auto of_doubles = sum_of(doubles);
  doubles[9000] = -1.5;
  CHECK(sum_of(doubles) != of_doubles);
  std::swap(x[9000], x[3]);
  CHECK(sum_of(x) != second);
}

TEST_CASE("cuda: a transfer of nothing is nothing, and what went there comes back") {
  cuda::queue& queue = testing::gpu().compute();
  upload(queue, 0, static_cast<float*>(nullptr), static_cast<const float*>(nullptr));
  download(queue, 0, static_cast<float*>(nullptr), static_cast<const float*>(nullptr));
  const std::vector<double> numbers = normal(70000, 1);
  CHECK(testing::on_gpu<double>(numbers, 3).back() == numbers);
}

} // namespace ops_cuda_elements_tests
