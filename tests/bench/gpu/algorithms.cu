// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <cublasLt.h>

#include <cairn/ops/matmul/cuda.cuh>

#include "parts.hpp"
#include "product_operands.hpp"
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

detail::product_algorithm chosen(const product_operands& with, const product& p) {
  const auto call = detail::column_major(with.result(p), with.a(p), with.b(p), p.form);
  const auto key = detail::cublas_product<float>::key(call, false, true);
  return detail::cublas_product<float>(call, false).choose(with.queue().products("matmul").handle(), p.form, key);
}

// What ReLU in the product makes of a row of `a` that has a NaN.
std::string relu_of_nan(product_operands& with, const product& p) {
  with.send(with.first(), {std::numeric_limits<float>::quiet_NaN()});
  const ops::matrix<float> c = with.result(p);
  matmul(with.queue(), c, with.a(p), with.b(p), p.form, {.bias = with.vector(), .then = ops::activation::relu});
  const float found = with.read(c.data, 1)[0];
  with.send(with.first(), {with.numbers()[0]});
  return std::isnan(found) ? "kept" : "lost";
}

// How far the sums of a's columns that come with the product are from those in double: the largest |x - y| / (1 + |y|).
double distance_of_sums(product_operands& with, const product& p) {
  matmul(with.queue(), with.result(p), with.a(p), with.b(p), p.form, {.row_sums = with.vector()});
  const std::vector<float> found = with.read(with.vector(), p.m);
  double apart = 0;
  for (std::size_t column = 0; column < p.m; ++column) {
    double sum = 0;
    for (std::size_t row = 0; row < p.k; ++row) sum += static_cast<double>(with.numbers()[row * p.m + column]);
    const double one = std::abs(static_cast<double>(found[column]) - sum) / (1 + std::abs(sum));
    apart = std::isnan(one) ? one : std::max(apart, one);
  }
  return apart;
}

} // namespace

void list_algorithms(cairn::cuda& device, const request& asked) {
  const std::vector<product> all = all_products(asked);
  product_operands with(device, all);
  table rows(
      {"form", "m x n x k", "algorithm", "tile", "stages", "split-K", "reduction", "epilogue", "ReLU of NaN", "sums apart"});
  for (const product& p : all) {
    const detail::product_algorithm by = chosen(with, p);
    const bool forward = p.form == ops::transpose::second, sums = p.form == ops::transpose::first;
    char apart[32];
    std::snprintf(apart, sizeof apart, "%.1e", sums ? distance_of_sums(with, p) : 0.0);
    rows.row({p.name(), p.shape(), configured(by.how, CUBLASLT_ALGO_CONFIG_ID), configured(by.how, CUBLASLT_ALGO_CONFIG_TILE_ID),
              configured(by.how, CUBLASLT_ALGO_CONFIG_STAGES_ID), configured(by.how, CUBLASLT_ALGO_CONFIG_SPLITK_NUM),
              configured(by.how, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME),
              by.fuses          ? "taken"
              : forward || sums ? "refused"
                                : "-",
              forward ? relu_of_nan(with, p) : "-", sums ? apart : "-"});
  }
}

} // namespace gpu_bench
