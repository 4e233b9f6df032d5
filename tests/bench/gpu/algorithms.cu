// SPDX-License-Identifier: MIT
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <cublasLt.h>

#include <cairn/ops/matmul/cuda.cuh>
#include <cairn/ops/transfer/cuda.cuh>

#include "parts.hpp"
#include "product_sizes.hpp"

namespace gpu_bench {

namespace {

using namespace cairn;

std::string configured(const cublasLtMatmulAlgo_t& algorithm, cublasLtMatmulAlgoConfigAttributes_t what) {
  std::int32_t value = 0;
  std::size_t size = 0;
  const cublasStatus_t code = cublasLtMatmulAlgoConfigGetAttribute(&algorithm, what, &value, sizeof value, &size);
  return code == CUBLAS_STATUS_SUCCESS ? std::to_string(value) : "-";
}

// The operands of the largest product on the GPU, and a product with them.
class operands {
public:
  operands(cairn::cuda& device, const std::vector<product>& all) : queue_(device.compute()) {
    std::size_t most = 0;
    for (const product& p : all) most = std::max({most, p.m * p.k, p.k * p.n, p.m * p.n});
    numbers_.resize(most);
    for (std::size_t i = 0; i < most; ++i) numbers_[i] = static_cast<float>(((i * 0x9E3779B9U) >> 8) & 0xFFFFU) * 0x1p-15F - 1;
    for (cuda::memory& m : memory_) {
      m = device.allocate(most * sizeof(float));
      send(reinterpret_cast<float*>(m.data()), numbers_);
    }
  }

  float* at(std::size_t i) const { return reinterpret_cast<float*>(memory_[i].data()); }
  ops::matrix<float> result(const product& p) const { return {at(0), p.m, p.n}; }
  ops::matrix<const float> a(const product& p) const {
    return p.form == ops::transpose::first ? ops::matrix<const float>(at(1), p.k, p.m)
                                           : ops::matrix<const float>(at(1), p.m, p.k);
  }
  ops::matrix<const float> b(const product& p) const {
    return p.form == ops::transpose::second ? ops::matrix<const float>(at(2), p.n, p.k)
                                            : ops::matrix<const float>(at(2), p.k, p.n);
  }

  detail::product_algorithm chosen(const product& p) const {
    const auto call = detail::column_major(result(p), a(p), b(p), p.form);
    const auto key = detail::cublas_product<float>::key(call, false);
    return detail::cublas_product<float>(call, false).choose(queue_.products("matmul").handle(), p.form, key.aligned);
  }

  // What ReLU in the product makes of a row of `a` that has a NaN.
  std::string relu_of_nan(const product& p) {
    const std::vector<float> nan{std::numeric_limits<float>::quiet_NaN()};
    send(at(1), nan);
    matmul(queue_, result(p), a(p), b(p), p.form, {.then = ops::activation::relu});
    const float found = read(at(0), 1)[0];
    send(at(1), {numbers_[0]});
    return std::isnan(found) ? "kept" : "lost";
  }

  // How far the sums of a's columns that come with the product are from those in double: the largest |x - y| / (1 + |y|).
  double distance_of_sums(const product& p) {
    matmul(queue_, result(p), a(p), b(p), p.form, {.row_sums = at(3)});
    const std::vector<float> found = read(at(3), p.m);
    double apart = 0;
    for (std::size_t column = 0; column < p.m; ++column) {
      double sum = 0;
      for (std::size_t row = 0; row < p.k; ++row) sum += static_cast<double>(numbers_[row * p.m + column]);
      const double one = std::abs(static_cast<double>(found[column]) - sum) / (1 + std::abs(sum));
      apart = std::isnan(one) ? one : std::max(apart, one);
    }
    return apart;
  }

private:
  void send(float* to, const std::vector<float>& from) {
    upload(queue_, from.size(), to, from.data());
    queue_.finish();
  }
  std::vector<float> read(const float* from, std::size_t count) {
    std::vector<float> found(count);
    download(queue_, count, found.data(), from);
    queue_.finish();
    return found;
  }

  cuda::queue& queue_;
  std::vector<float> numbers_;
  cuda::memory memory_[4];
};

} // namespace

void list_algorithms(cairn::cuda& device, const request& asked) {
  const std::vector<product> all = all_products(asked);
  operands with(device, all);
  table rows(
      {"form", "m x n x k", "algorithm", "tile", "stages", "split-K", "reduction", "epilogue", "ReLU of NaN", "sums apart"});
  for (const product& p : all) {
    const detail::product_algorithm by = with.chosen(p);
    const bool forward = p.form == ops::transpose::second, sums = p.form == ops::transpose::first;
    char apart[32];
    std::snprintf(apart, sizeof apart, "%.1e", sums ? with.distance_of_sums(p) : 0.0);
    rows.row({p.name(), p.shape(), configured(by.how, CUBLASLT_ALGO_CONFIG_ID), configured(by.how, CUBLASLT_ALGO_CONFIG_TILE_ID),
              configured(by.how, CUBLASLT_ALGO_CONFIG_STAGES_ID), configured(by.how, CUBLASLT_ALGO_CONFIG_SPLITK_NUM),
              configured(by.how, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME),
              by.fuses          ? "taken"
              : forward || sums ? "refused"
                                : "-",
              forward ? with.relu_of_nan(p) : "-", sums ? apart : "-"});
  }
}

} // namespace gpu_bench
