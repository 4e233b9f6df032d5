// SPDX-License-Identifier: MIT
// The table of examples/gpus.md: which layers, blocks, losses and optimizers train on which device with which elements. A cell
// is the answer that a trainer gives before it compiles. What is said to train on a GPU is compiled here for it.
#include <array>
#include <fstream>
#include <iterator>
#include <string>
#include <type_traits>
#include <vector>

#include <cairn/cairn_cuda.cuh>
#include <cairn/train/checked_training.hpp>
#include <doctest/doctest.h>

namespace cuda_what_trains_tests {

using namespace cairn;

namespace {

using cells = std::array<bool, 8>;

// Calls both functions of a layer.
template <class L, class Queue, class T>
void call_layer(Queue& queue, const forward_call<T>& forward, const backward_call<T>& backward) {
  L::forward(queue, forward);
  L::backward(queue, backward);
}
template <class Part>
struct layer_on {
  template <class Queue, class T>
  static constexpr bool trains = detail::missing_ops<Queue, T>() == 0 && detail::holds<detail::callable<Queue, T>, Part>;
  template <class T>
  static bool compiled() { // a block is compiled with its trainer: dense.cu, network.hpp
    if constexpr (detail::made_of<Part>::as == detail::part_kind::layer) {
      auto* const both = &call_layer<Part, cuda::queue, T>;
      return both != nullptr;
    } else {
      return true;
    }
  }
};
template <class Loss>
struct loss_on {
  template <class Queue, class T>
  static constexpr bool trains = detail::missing_ops<Queue, T>() == 0 && detail::checked_loss<Loss, Queue, T>::steps == 5;
  template <class T>
  static bool compiled() {
    using target = std::conditional_t<Loss::template takes<T, int>, int, accumulated<T>>;
    auto* const run = +[](const Loss& loss, cuda::queue& queue, const loss_call<T, target>& call) { loss.run(queue, call); };
    return run != nullptr;
  }
};
template <class Optimizer>
struct optimizer_on {
  template <class Queue, class T>
  static constexpr bool trains =
      detail::missing_ops<Queue, T>() == 0 && detail::checked_optimizer<Optimizer, Queue, accumulated<T>>::steps == 6;
  template <class T>
  static bool compiled() {
    auto* const update = +[](const Optimizer& optimizer, cuda::queue& queue, const update_call<accumulated<T>>& call) {
      optimizer.update(queue, call);
    };
    return update != nullptr;
  }
};

// The rows of a table, in which things of one kind with the same answers share one.
class table {
public:
  template <class On>
  void add(const std::string& kind, const std::string& name) {
    add(kind, name,
        {On::template trains<cpu::queue, float>, On::template trains<cpu::queue, double>,
         On::template trains<cpu::queue, bfloat16>, On::template trains<cpu::queue, float16>,
         On::template trains<cuda::queue, float>, On::template trains<cuda::queue, double>,
         On::template trains<cuda::queue, bfloat16>, On::template trains<cuda::queue, float16>});
    if constexpr (On::template trains<cuda::queue, float>) CHECK(On::template compiled<float>());
    if constexpr (On::template trains<cuda::queue, double>) CHECK(On::template compiled<double>());
    if constexpr (On::template trains<cuda::queue, bfloat16>) CHECK(On::template compiled<bfloat16>());
    if constexpr (On::template trains<cuda::queue, float16>) CHECK(On::template compiled<float16>());
  }
  std::string text() const {
    std::string all = "| | | `cpu`: float | double | bfloat16 | float16 | `cuda`: float | double | bfloat16 | float16 |\n"
                      "|---|---|---|---|---|---|---|---|---|---|\n";
    for (const row& r : rows_) {
      all += "| " + r.kind + " | " + r.names + " |";
      for (const bool answer : r.answers) all += answer ? " yes |" : " no |";
      all += "\n";
    }
    return all;
  }

private:
  struct row {
    std::string kind, names;
    cells answers;
  };
  void add(const std::string& kind, const std::string& name, const cells& answers) {
    for (row& r : rows_)
      if (r.kind == kind && r.answers == answers) {
        r.names += ", " + name;
        return;
      }
    rows_.push_back({kind, name, answers});
  }
  std::vector<row> rows_;
};

} // namespace

TEST_CASE("cuda: examples/gpus.md tells which layers, losses and optimizers train on which device") {
  using Words = Embedding<9, 4>;
  table all;
  all.add<layer_on<Linear<4, 4>>>("layers", "Linear");
  all.add<layer_on<Conv2d<4, 4, 3>>>("layers", "Conv2d");
  all.add<layer_on<MaxPool2d<2>>>("layers", "MaxPool2d");
  all.add<layer_on<AvgPool2d<2>>>("layers", "AvgPool2d");
  all.add<layer_on<AdaptiveAvgPool2d<1>>>("layers", "AdaptiveAvgPool2d");
  all.add<layer_on<Words>>("layers", "Embedding");
  all.add<layer_on<ReLU>>("layers", "ReLU");
  all.add<layer_on<GELU>>("layers", "GELU");
  all.add<layer_on<Tanh>>("layers", "Tanh");
  all.add<layer_on<Sigmoid>>("layers", "Sigmoid");
  all.add<layer_on<SiLU>>("layers", "SiLU");
  all.add<layer_on<TanhGELU>>("layers", "TanhGELU");
  all.add<layer_on<LeakyReLU<>>>("layers", "LeakyReLU");
  all.add<layer_on<ELU<>>>("layers", "ELU");
  all.add<layer_on<Softmax>>("layers", "Softmax");
  all.add<layer_on<Dropout<>>>("layers", "Dropout");
  all.add<layer_on<LayerNorm<4>>>("layers", "LayerNorm");
  all.add<layer_on<RMSNorm<4>>>("layers", "RMSNorm");
  all.add<layer_on<BatchNorm1d<4>>>("layers", "BatchNorm1d");
  all.add<layer_on<BatchNorm2d<4>>>("layers", "BatchNorm2d");
  all.add<layer_on<GroupNorm<2, 4>>>("layers", "GroupNorm");
  all.add<layer_on<Flatten>>("layers", "Flatten");
  all.add<layer_on<Tied<Linear<4, 9>, Words>>>("layers", "Tied");
  all.add<layer_on<Sum<Words, Words>>>("layers", "Sum");
  all.add<layer_on<LearnedPositions<4, 4>>>("layers", "LearnedPositions");
  all.add<layer_on<SinusoidalPositions>>("layers", "SinusoidalPositions");
  all.add<layer_on<RotaryEmbedding<2>>>("layers", "RotaryEmbedding");
  all.add<layer_on<DenseTransition<4>>>("layers", "DenseTransition");
  all.add<layer_on<preprocess::Standardize<4>>>("layers", "preprocess::Standardize");
  all.add<layer_on<Residual<Linear<4, 4>>>>("blocks", "Residual");
  all.add<layer_on<Repeat<2, Linear<4, 4>>>>("blocks", "Repeat");
  all.add<layer_on<Concat<Linear<4, 4>, Linear<4, 4>>>>("blocks", "Concat");
  all.add<layer_on<Gated<Linear<4, 4>, Linear<4, 4>>>>("blocks", "Gated");
  all.add<layer_on<DenseBlock<2, 4>>>("blocks", "DenseBlock");
  all.add<layer_on<Unroll<2, GRUCell<4, 4>>>>("blocks", "Unroll of GRUCell");
  all.add<layer_on<Unroll<2, LSTMCell<4, 4>>>>("blocks", "Unroll of LSTMCell");
  all.add<layer_on<MultiheadAttention<4, 2>>>("blocks", "MultiheadAttention");
  all.add<layer_on<TransformerEncoderLayer<4, 2, 8>>>("blocks", "TransformerEncoderLayer");
  all.add<loss_on<CrossEntropyLoss>>("losses", "CrossEntropyLoss");
  all.add<loss_on<SoftCrossEntropyLoss>>("losses", "SoftCrossEntropyLoss");
  all.add<loss_on<MSELoss>>("losses", "MSELoss");
  all.add<loss_on<L1Loss>>("losses", "L1Loss");
  all.add<loss_on<SmoothL1Loss>>("losses", "SmoothL1Loss");
  all.add<loss_on<BCEWithLogitsLoss>>("losses", "BCEWithLogitsLoss");
  all.add<optimizer_on<SGD>>("optimizers", "SGD");
  all.add<optimizer_on<Adam>>("optimizers", "Adam");
  all.add<optimizer_on<AdamW>>("optimizers", "AdamW");

  std::ifstream file(CAIRN_TEST_DATA_DIR "/../../examples/gpus.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  CHECK_MESSAGE(page.find("\n" + all.text() + "\n") != std::string::npos, "expected this table in examples/gpus.md:\n",
                all.text());
}

} // namespace cuda_what_trains_tests
