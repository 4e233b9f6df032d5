// SPDX-License-Identifier: MIT
// A transformer's decoder in training: attention to a memory, which goes past the other layers.
//
// long to compile
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/layer/embedding.hpp>
#include <cairn/layer/gelu.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/learned_positions.hpp>
#include <cairn/net/transformer_decoder_layer.hpp>
#include <cairn/net/with_input_gradient.hpp>
#include <cairn/plan/solve/budget.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/model.hpp>
#include <cairn/train/trainer.hpp>

#include "../../reference/differences.hpp"
#include "../../reference/values.hpp"
#include "../training.hpp"

namespace trainer_decoder_tests {

using namespace cairn;
using attention::added_mask;
using attention::causal;
using attention::cross;
using attention::key_lengths;
using attention::memory;
using attention::norm_first;

namespace {

const std::vector<std::string> attends{"in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias"};
const std::vector<std::string> decodes{"self_attn.in_proj_weight",
                                       "self_attn.in_proj_bias",
                                       "self_attn.out_proj.weight",
                                       "self_attn.out_proj.bias",
                                       "multihead_attn.in_proj_weight",
                                       "multihead_attn.in_proj_bias",
                                       "multihead_attn.out_proj.weight",
                                       "multihead_attn.out_proj.bias",
                                       "linear1.weight",
                                       "linear1.bias",
                                       "linear2.weight",
                                       "linear2.bias",
                                       "norm1.weight",
                                       "norm1.bias",
                                       "norm2.weight",
                                       "norm2.bias",
                                       "norm3.weight",
                                       "norm3.bias"}; // torch's order

// The largest difference of the output, of both input gradients and of the parameters' gradients from PyTorch's. The loss is a
// mean of squares whose targets are chosen so that its gradient is PyTorch's output gradient. `given` are the constants.
template <class Layer, std::size_t Queries, std::size_t Keys, class T, class... Constants, class... Given>
double distance(const std::string& name, const std::vector<std::string>& names, detail::pack<Constants...>,
                const Given&... given) {
  using Net =
      with_input_gradient<checkpoint<recompute_all, Sequential<Inputs<dims<Queries, 8>, dims<Keys, 8>, Constants...>, Layer>>>;
  trainer<Net, MSELoss, SGD, batch<2>, T> t{SGD{.learning_rate = 0}, {.seed = 1}};
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto from = reference_numbers<T>(name + "/parameter" + std::to_string(i));
    const auto to = t.parameter("0." + names[i]);
    REQUIRE(to.size() == from.size());
    std::copy(from.begin(), from.end(), to.begin());
  }
  const auto x = reference_numbers<T>(name + "/input"), memory = reference_numbers<T>(name + "/memory");
  const auto view = t.evaluate(inputs(x, memory, given...));
  const std::vector<T> output(view.data(), view.data() + view.size());
  double largest = largest_difference(output, reference_values(name + "/output"));
  const auto gradient = reference_numbers<T>(name + "/output_gradient");
  std::vector<T> targets(output.size());
  for (std::size_t i = 0; i < output.size(); ++i) targets[i] = output[i] - gradient[i] * static_cast<T>(output.size()) / 2;
  t.step(inputs(x, memory, given...), targets);
  const auto compare = [&](const auto& numbers, const std::string& of) {
    largest = std::max(largest, largest_difference(std::vector<T>(numbers.begin(), numbers.end()), reference_values(name + of)));
  };
  compare(t.template input_gradient<0>(), "/input_gradient");
  compare(t.template input_gradient<1>(), "/memory_gradient");
  std::size_t seen = 0;
  t.for_each([&](const types::named_parameter<T>& p) {
    const auto which = static_cast<std::size_t>(std::find(names.begin(), names.end(), p.name.substr(2)) - names.begin());
    REQUIRE(which < names.size());
    const auto* const first = t.gradients().data() + (p.numbers.data() - t.parameters().data());
    compare(std::vector<T>(first, first + p.numbers.size()), "/gradient" + std::to_string(which));
    ++seen;
  });
  CHECK(seen == names.size());
  return largest;
}

template <class T>
double distance_from_torch() {
  using lengths = integer_constant<>;
  constexpr detail::pack<> none{};
  const std::vector<std::int32_t> keys{4, 7};
  const std::vector<T> added = reference_numbers<T>("cross_attention_masked/added");
  return std::max(
      {distance<MultiheadAttention<8, 2, cross>, 5, 7, T>("cross_attention", attends, none),
       distance<MultiheadAttention<8, 4, cross, causal>, 6, 4, T>("cross_attention_causal", attends, none),
       distance<MultiheadAttention<8, 2, cross, key_lengths, added_mask>, 5, 7, T>(
           "cross_attention_masked", attends, detail::pack<batch_constant<2, 5, 7>, lengths>{}, added, keys),
       distance<TransformerDecoderLayer<8, 2, 12>, 5, 7, T>("decoder", decodes, none),
       distance<TransformerDecoderLayer<8, 2, 12, memory<key_lengths>>, 5, 7, T>("decoder_lengths", decodes,
                                                                                 detail::pack<lengths>{}, keys),
       distance<TransformerDecoderLayer<8, 2, 12, norm_first, GELU, causal>, 6, 4, T>("decoder_norm_first", decodes, none)});
}

// (memory, tokens) become (tokens, memory), as layers work on the first tensor.
struct Exchange {
  static constexpr std::size_t takes = 2;
  static constexpr reads backward_reads = reads::nothing;
  static constexpr bool accepts(const arguments& in) { return in[0].is_real() && in[1].type == element::int32; }
  static constexpr tensor_list outputs(const arguments& in) { return {in[1], in[0]}; }
  static constexpr bool depends(std::size_t output, std::size_t input) { return output == 1 && input == 0; }

  template <class T>
  static void forward(cpu::queue&, const forward_call<T>& call) {
    std::copy_n(call.inputs.integers(1), call.rows * call.in(1).size(), call.outputs.integers(0));
    std::copy_n(call.inputs[0], call.rows * call.in(0).size(), call.outputs[1]);
  }
  template <class T>
  static void backward(cpu::queue&, const backward_call<T>& call) {
    if (call.input_gradients[0] != nullptr)
      std::copy_n(call.output_gradients[1], call.rows * call.in(0).size(), call.input_gradients[0]);
  }
};

// Translates: an encoder makes the memory of the first tokens, a decoder the next tokens of the others.
constexpr std::size_t from = 7, to = 5, width = 8, vocabulary = 9;
using Source = Sequential<Embedding<vocabulary, width>, LearnedPositions<from, width>, TransformerEncoderLayer<width, 2, 12>>;
using Target = Sequential<
    Embedding<vocabulary, width>, LearnedPositions<to, width>,
    Repeat<2, TransformerDecoderLayer<width, 2, 12, norm_first, GELU, causal>>,
    TransformerDecoderLayer<width, 4, 12, causal, Dropout<percent<10>>, attention::dropout<percent<10>>, memory<key_lengths>>>;
using Net =
    Sequential<Inputs<integers<from>, integers<to>, integer_constant<>>, Source, Exchange, Target, Linear<width, vocabulary>>;

struct texts {
  std::vector<std::int32_t> source, target, next, lengths; // of the sources
  explicit texts(int rank)
      : source(rows(rank) * from), target(rows(rank) * to), next(rows(rank) * to), lengths(rows(rank), from) {
    lengths[0] = from - 2;
    const types::random_key key{.seed = 12, .step = 0, .position = static_cast<std::uint32_t>(rank)};
    std::uint64_t at = 0;
    for (auto* const all : {&source, &target, &next})
      for (std::int32_t& token : *all) token = static_cast<std::int32_t>(ops::random_bits(key, at++) % vocabulary);
  }
  static std::size_t rows(int rank) { return rank == 1 ? 2 : 3; }
  auto given() const { return inputs(source, target, lengths); }
};

struct trace {
  std::vector<double> losses;
  std::vector<float> outputs, gradients;
  std::uint64_t checksum = 0;
  bool operator==(const trace&) const = default;
};
template <class Model>
trace train(std::size_t threads = 1) {
  trainer<Model, CrossEntropyLoss, SGD, batch<3>> t{testing::momentum, {.seed = 3, .threads = threads}};
  trace out;
  for (int m = 0; m < 3; ++m) {
    const texts s(m);
    out.losses.push_back(t.step(s.given(), s.next));
  }
  out.outputs = testing::copy_of(t.evaluate(texts(4).given()));
  out.gradients = testing::copy_of(t.gradients());
  out.checksum = t.checksum();
  return out;
}

std::vector<float> gradients_of_micro_batches(int count) {
  trainer<Net, CrossEntropyLoss, SGD, batch<3>> t{testing::momentum, {.seed = 3}};
  for (int m = 0; m < count; ++m) {
    const texts s(m);
    if (m + 1 < count) t.accumulate(s.given(), s.next);
    else t.step(s.given(), s.next);
  }
  return testing::copy_of(t.gradients());
}

} // namespace

TEST_CASE("trainer: attention to a memory and a decoder's layer have PyTorch's output and gradients") {
  CHECK(distance_from_torch<double>() < 1e-12);
  CHECK(distance_from_torch<float>() < 1e-4);
}

TEST_CASE("trainer: an encoder and a decoder have the same bits under every policy and number of threads") {
  const trace want = train<Net>();
  CHECK(want.losses[2] < want.losses[0] + 1);
  CHECK(train<checkpoint<recompute_all, Net>>() == want);
  CHECK(train<checkpoint<budget_fraction<60>, Net>>() == want);
  CHECK(train<Net>(2) == want);
#ifdef CAIRN_LONG_TESTS
  CHECK(train<checkpoint<sqrt_n, Net>>() == want);
  CHECK(train<checkpoint<every<3>, Net>>() == want);
#endif
}

TEST_CASE("trainer: a decoder's output depends on the memory, and on no later token") {
  const model<Net, batch<3>> net{{.seed = 3}};
  texts s(0);
  const std::vector<float> before = testing::copy_of(net.evaluate(s.given()));
  s.target[to - 1] = s.target[to - 1] == 0 ? 1 : 0; // the last token of sample 0
  const std::vector<float> later = testing::copy_of(net.evaluate(s.given()));
  const auto same = [&](const std::vector<float>& other, std::size_t token) {
    return std::equal(before.begin() + static_cast<std::ptrdiff_t>(token * vocabulary),
                      before.begin() + static_cast<std::ptrdiff_t>((token + 1) * vocabulary),
                      other.begin() + static_cast<std::ptrdiff_t>(token * vocabulary));
  };
  for (std::size_t token = 0; token + 1 < to; ++token) CHECK(same(later, token));
  CHECK(!same(later, to - 1));
  s.source[from - 1] = s.source[from - 1] == 0 ? 1 : 0;
  const std::vector<float> another = testing::copy_of(net.evaluate(s.given()));
  for (std::size_t token = 0; token < to; ++token) CHECK(!same(another, token));
  CHECK(same(another, to)); // sample 1
}

TEST_CASE("trainer: ranks with a decoder are micro-batches, bit for bit, under a budget too") {
  for (const int ranks : {1, 2, 3}) {
    CAPTURE(ranks);
    const std::vector<float> want = gradients_of_micro_batches(ranks);
    threads{ranks}.run([&](threads::rank& rank) {
      trainer<ddp<checkpoint<budget_fraction<60>, Net>, threads::rank>, CrossEntropyLoss, SGD, batch<3>> t{
          rank, testing::momentum, {.seed = 3}};
      const texts s(rank.rank());
      t.step(s.given(), s.next);
      CHECK(testing::copy_of(t.gradients()) == want);
    });
  }
}

} // namespace trainer_decoder_tests
