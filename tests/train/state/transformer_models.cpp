// SPDX-License-Identifier: MIT
// Models with random weights that tests/reference/transformer_models.py computes with PyTorch, as Hugging Face's library has them.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include <cairn/layer/tanh_gelu.hpp>
#include <cairn/net/transformers.hpp>
#include <cairn/train/model.hpp>
#include <cairn/train/state/safetensors.hpp>
#include <cairn/train/state/transformer_names.hpp>
#include <doctest/doctest.h>

#include "../../reference/differences.hpp"
#include "../../reference/values.hpp"

namespace transformer_models_tests {

using namespace cairn;

namespace {

// Shorter sequences than the files have positions.
using Gpt = transformers::gpt2<13, 5, 8, 2, 2>;
using Bert = transformers::bert<11, 6, 8, 2, 2>;

// The largest difference of the logits from PyTorch's.
template <class Net, class T, std::size_t Rows>
double distance(const std::string& name) {
  model<Net, batch<Rows>, T> net{{.seed = 3}};
  const std::string path = CAIRN_TEST_DATA_DIR "/" + name + ".safetensors";
  const auto tokens = reference_numbers<std::int32_t>(name + "/tokens");
  const auto logits = [&] {
    if constexpr (std::is_same_v<Net, Gpt>) {
      CHECK(load_weights(net, path, transformers::gpt2_names).is_all());
      return net.evaluate(tokens);
    } else {
      CHECK(load_weights(net, path, transformers::bert_names).is_all());
      return net.evaluate(inputs(tokens, reference_numbers<std::int32_t>(name + "/segments")));
    }
  }();
  return largest_difference(std::vector<T>(logits.data(), logits.data() + logits.size()), reference_values(name + "/logits"));
}

} // namespace

TEST_CASE("transformer_models: a GPT-2 and a BERT have PyTorch's logits with the weights of their files") {
  CHECK(distance<Gpt, double, 3>("gpt2_model") < 1e-12);
  CHECK(distance<Gpt, float, 3>("gpt2_model") < 1e-5);
  CHECK(distance<Bert, double, 2>("bert_model") < 1e-12);
  CHECK(distance<Bert, float, 2>("bert_model") < 1e-5);
}

} // namespace transformer_models_tests
