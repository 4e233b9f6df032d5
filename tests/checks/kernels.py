# SPDX-License-Identifier: MIT
"""Every op on a cpu compiles for float and double without a warning, at the strictest settings of the compilers.

It does so with all compilers that Cairn supports and this machine has, as C++20 and as C++23. tests/checks/alone.py reads each
header by itself, but instantiates no kernel that is a template.
"""
import shutil
import subprocess
import sys

from house import SPDX, WARNINGS, run, spread

COMPILERS = ["g++", "g++-11", "g++-12", "g++-13", "g++-14", "clang++", "clang++-14", "clang++-19"]
STRICT = ["-Wsign-conversion", "-Wdouble-promotion"]

PROGRAM = """#include <cairn/layer/elu.hpp>
#include <cairn/layer/gelu.hpp>
#include <cairn/layer/leaky_relu.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/layer/sigmoid.hpp>
#include <cairn/layer/silu.hpp>
#include <cairn/layer/tanh.hpp>
#include <cairn/layer/tanh_gelu.hpp>
#include <cairn/ops/cpu.hpp>
#include <cairn/ops/ops.hpp>
#include <cairn/train/losses/bce_with_logits_loss.hpp>
#include <cairn/train/losses/l1_loss.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/losses/smooth_l1_loss.hpp>
using namespace cairn;
template <class T>
void use(cpu::queue& q, T* y, const T* x, double* loss, const int* i) {
  const ops::matrix<T> to{y, 2, 2};
  const ops::matrix<const T> from{x, 2, 2};
  copy(q, 2, y, x);
  copy_matrix(q, to, from);
  add(q, 2, y, x, x);
  add_matrix(q, to, from, from);
  matmul(q, to, from, from, ops::transpose::second, {});
  elementwise(q, 2, [](T a, T b) { return a * b; }, y, x, x);
  elementwise(q, 2, detail::relu_value{}, y, x);
  elementwise(q, 2, detail::relu_slope{}, y, x, x);
  elementwise(q, 2, detail::gelu_value{}, y, x);
  elementwise(q, 2, detail::gelu_slope{}, y, x, x);
  elementwise(q, 2, detail::tanh_value{}, y, x);
  elementwise(q, 2, detail::tanh_slope{}, y, x, x);
  elementwise(q, 2, detail::sigmoid_value{}, y, x);
  elementwise(q, 2, detail::sigmoid_slope{}, y, x, x);
  elementwise(q, 2, detail::silu_value{}, y, x);
  elementwise(q, 2, detail::silu_slope{}, y, x, x);
  elementwise(q, 2, detail::tanh_gelu_value{}, y, x);
  elementwise(q, 2, detail::tanh_gelu_slope{}, y, x, x);
  elementwise(q, 2, detail::leaky_relu_value<percent<1>>{}, y, x);
  elementwise(q, 2, detail::leaky_relu_slope<percent<1>>{}, y, x, x);
  elementwise(q, 2, detail::elu_value<fraction{1}>{}, y, x);
  elementwise(q, 2, detail::elu_slope<fraction{1}>{}, y, x, x);
  dropout(q, 2, y, x, types::random_key{}, ops::dropout_rate{});
  layer_norm_forward(q, 2, 2, 1e-5, y, y, x, x, x);
  layer_norm_backward(q, 2, 2, y, y, y, x, x, x, x);
  rms_norm_forward(q, 2, 2, 1e-5, y, y, x, x);
  rms_norm_backward(q, 2, 2, y, y, x, x, x, x);
  standardize(q, 2, 2, y, x, x, x);
  standardize_backward(q, 2, 2, y, x, x);
  softmax_forward(q, 2, 2, y, x);
  softmax_backward(q, 2, 2, y, x, x);
  batch_norm_forward(q, 2, 2, 1e-5, y, y, x, x, x);
  batch_norm_update(q, 2, 2, 0.1, y, y, x);
  batch_norm_evaluate(q, 2, 2, 1e-5, y, x, x, x, x, x);
  batch_norm_backward(q, 2, 2, 1e-5, y, y, y, x, x, x, x);
  batch_norm_sums(q, 2, 2, loss, x);
  batch_norm_statistics(q, 2, y, loss);
  batch_norm_update(q, 2, 0.1, y, y, x, loss);
  batch_norm_gradient_sums(q, 2, 2, 1e-5, loss, y, y, x, x, x);
  batch_norm_input_gradient(q, 2, 2, 1e-5, y, x, x, x, x, loss);
  group_norm_forward(q, ops::channel_groups{}, 1e-5, y, y, x, x, x);
  group_norm_backward(q, ops::channel_groups{}, y, y, y, x, x, x, x);
  add_positions(q, 2, 2, y, x, x);
  positions_gradient(q, 2, 2, 2, y, x);
  add_sinusoids(q, 2, 2, 2, y, x);
  rotate(q, ops::rotation{}, false, 2, y, x);
  embedding_forward(q, 2, 2, 2, y, x, i);
  embedding_backward(q, 2, 2, 2, y, x, i);
  attention_forward(q, ops::attention_extents{}, y, y, ops::attention_operands<const T>{});
  attention_backward(q, ops::attention_extents{}, ops::attention_operands<T>{}, x, x, x, ops::attention_operands<const T>{});
  attention_forward(q, ops::attention_extents{}, y, y, ops::attention_operands<const T>{}, ops::attention_extras<T>{});
  attention_backward(q, ops::attention_extents{}, ops::attention_operands<T>{}, x, x, x, ops::attention_operands<const T>{},
                     ops::attention_extras<T>{});
  stored_attention_forward(q, ops::attention_extents{}, y, y, ops::attention_operands<const T>{});
  stored_attention_backward(q, ops::attention_extents{}, ops::attention_operands<T>{}, x, x, x, ops::attention_operands<const T>{});
  conv2d_forward(q, ops::convolution{}, 2, to, x, x, {});
  conv2d_input_gradient(q, ops::convolution{}, 2, y, from, x, {});
  conv2d_weight_gradient(q, ops::convolution{}, 2, y, y, from, x);
  max_pool2d_forward(q, ops::window{}, 2, 2, y, x);
  max_pool2d_backward(q, ops::window{}, 2, 2, y, x, x);
  avg_pool2d_forward(q, ops::window{}, ops::mean_of::window, 2, 2, y, x);
  avg_pool2d_backward(q, ops::window{}, ops::mean_of::window, 2, 2, y, x);
  softmax_cross_entropy(q, loss, y, from, i);
  softmax_cross_entropy(q, loss, y, from, i, ops::cross_entropy_options<T>{});
  soft_cross_entropy(q, loss, y, from, x, x, 0.1);
  mean_of_terms(q, loss, y, 2, x, x, detail::logit_error{}, detail::logit_error_slope{});
  bce_with_logits(q, loss, y, 2, x, x, x, 1);
  mean_of_terms(q, loss, y, 2, x, x, detail::squared_error{}, detail::squared_error_slope{});
  mean_of_terms(q, loss, y, 2, x, x, detail::absolute_error{}, detail::absolute_error_slope{});
  mean_of_terms(q, loss, y, 2, x, x, detail::smooth_error<T>{1}, detail::smooth_error_slope<T>{1});
  squared_norm(q, loss, x, 2);
  sgd(q, 2, y, y, x, {});
  adam(q, 2, y, y, y, x, {});
}
template void use(cpu::queue&, float*, const float*, double*, const int*);
template void use(cpu::queue&, double*, const double*, double*, const int*);
"""


def faults(root, options):
    def attempt(job):
        compiler, standard = job
        command = [compiler, *WARNINGS, *STRICT, f"-std={standard}", *options.flags, "-fsyntax-only", "-x", "c++", "-"]
        result = subprocess.run(command, input=options.program, capture_output=True, text=True)
        return f"{' '.join(command)}:\n{result.stderr[:3000]}" if result.returncode else None

    found = [name for name in COMPILERS if shutil.which(name)]
    return [fault for fault in spread(attempt, [(c, s) for c in found for s in ("c++20", "c++2b")]) if fault]


SMALL = SPDX + "#pragma once\ntemplate <class T>\nint sign(unsigned n) {\n  return static_cast<int>(n);\n}\n"


def more(parser):
    small = "--self-test" in sys.argv
    parser.set_defaults(program="#include <cairn/ops/cpu.hpp>\nint two = sign<float>(2);\n" if small else PROGRAM)


if __name__ == "__main__":
    header = "include/cairn/ops/cpu.hpp"
    run(faults, [
        ({header: SMALL.replace("static_cast<int>(n)", "n")}, r"sign-conversion"),
        ({header: SMALL.replace("static_cast<int>(n)", "n * T{1} > 1.0")}, r"double-promotion"),
        ({header: None}, r"cairn/ops/cpu.hpp"),
    ], more, {header: SMALL})
