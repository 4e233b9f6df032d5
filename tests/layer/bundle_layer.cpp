// SPDX-License-Identifier: MIT
#include <cairn/layer/bundle_layer.hpp>

#include <cstddef>
#include <string>

#include <cairn/layer/relu.hpp>
#include <doctest/doctest.h>

#include "bundle_gradient_check.hpp"
#include "bundle_layers.hpp"

using namespace cairn;

namespace {

enum class fault { none, second_input, parameter, ignores_null, depends, adds, in_place, overwrites };

// (a b, w b) of (a, b): right, or wrong in one way.
template <fault Fault>
struct product {
  static constexpr reads backward_reads = reads::input;
  static constexpr bool in_place = true;
  static constexpr bundle output_shapes(const bundle& in) { return in; }
  static constexpr parameter_list parameters(const bundle& in) {
    return {{"weight", in[1], initial::constant, 1}};
  }
  static constexpr bool depends(std::size_t output, std::size_t input) {
    return Fault == fault::depends ? output == input : output <= input;
  }

  template <class Queue, class T>
  static void forward(Queue&, const bundle_forward_call<T>& call) {
    const std::size_t size = (*call.input_shapes)[0].size();
    for (std::size_t i = 0; i < call.rows * size; ++i) {
      const T b = call.inputs[1][i];
      call.outputs[1][i] = call.parameters[0][i % size] * b;
      // Reads its input again after it may have been overwritten.
      call.outputs[0][i] = call.inputs[0][i] * (Fault == fault::in_place ? call.inputs[1][i] : b);
    }
  }

  template <class Queue, class T>
  static void backward(Queue&, const bundle_backward_call<T>& call) {
    const std::size_t size = (*call.input_shapes)[0].size();
    const T* const da = call.output_gradients[0];
    const T* const db = call.output_gradients[1];
    for (std::size_t j = 0; j < size; ++j) {
      T sum = Fault == fault::adds ? call.gradients[0][j] : T{0};
      for (std::size_t i = j; i < call.rows * size && db != nullptr; i += size)
        sum += db[i] * call.inputs[1][i];
      call.gradients[0][j] = Fault == fault::parameter ? sum * T{1.001} : sum;
    }
    for (std::size_t i = 0; i < call.rows * size; ++i) {
      const T first = da != nullptr ? da[i] : Fault == fault::ignores_null ? T{1} : T{0};
      const T second = db != nullptr ? db[i] : T{0};
      if (call.input_gradients[0] != nullptr) call.input_gradients[0][i] = first * call.inputs[1][i];
      if (call.input_gradients[1] != nullptr)
        call.input_gradients[1][i] = (Fault == fault::second_input ? T{0} : first * call.inputs[0][i]) +
                                     second * call.parameters[0][i % size];
    }
    if (Fault == fault::overwrites && da != nullptr) const_cast<T*>(da)[0] = 0;
  }
};

template <fault Fault>
std::string said() {
  return bundle_gradient_fault<product<Fault>>({{4}, {4}});
}
bool finds(const std::string& text, const char* expected) { return text.find(expected) != std::string::npos; }

constexpr bundle masked = [] {
  bundle in{{3}};
  in.push_constant({3});
  return in;
}();

} // namespace

static_assert(bundle_layer<testing::Split> && bundle_layer<testing::Masked<>>);
static_assert(!bundle_layer<ReLU> && !layer<testing::Split>);

TEST_CASE("bundle gradient check: passes right layers") {
  CHECK(said<fault::none>() == "");
  CHECK(bundle_gradient_fault<testing::Masked<>>(masked) == "");
  CHECK(bundle_gradient_fault<testing::Positioned<0>>(masked) == "");
  CHECK(bundle_gradient_fault<testing::Split>({{5}}) == "");
  CHECK(bundle_gradient_fault<testing::Gated>({{5}, {5}}) == "");
  CHECK(bundle_gradient_fault<testing::Swap>({{5}, {2, 3}}) == "");
  CHECK(bundle_gradient_fault<testing::First>({{5}, {7}}) == "");
  CHECK(bundle_gradient_fault<testing::Mix>({{5}, {5}, {5}}) == "");
}

TEST_CASE("bundle gradient check: finds what a layer does wrong") {
  CHECK(finds(said<fault::second_input>(), "input_gradient 1[0] is"));
  CHECK(finds(said<fault::parameter>(), "gradient 0[0] is"));
  CHECK(finds(said<fault::ignores_null>(), "is"));
  CHECK(finds(said<fault::depends>(), "input_gradient 1[0] is"));
  CHECK(finds(said<fault::adds>(), "gradient 0[0] is nan"));
  CHECK(finds(said<fault::in_place>(), "forward in place differs"));
  CHECK(finds(said<fault::overwrites>(), "where nobody may write"));
}
