// SPDX-License-Identifier: MIT
// long to compile
#include <array>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <cairn/comm/loopback.hpp>
#include <cairn/layer/batch_norm.hpp>
#include <cairn/layer/gelu.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/layer/sigmoid.hpp>
#include <cairn/net/frozen.hpp>
#include <cairn/net/fused_update.hpp>
#include <cairn/net/gated.hpp>
#include <cairn/net/largest_batch.hpp>
#include <cairn/plan/revolve.hpp>
#include <cairn/plan/solve/budget.hpp>
#include <cairn/report/summary.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>
#include <doctest/doctest.h>

#include "../layer/several_layers.hpp"

namespace summary_tests {

using namespace cairn;

namespace {

using Small = Sequential<Linear<8, 16>, ReLU, Repeat<2, Residual<Linear<16, 16>, ReLU>>, Linear<16, 4>>;

// y = x. It counts how often it runs in either direction.
template <std::size_t Id, reads Reads = reads::output>
struct Tally {
  static inline std::size_t forwards = 0, backwards = 0;
  static constexpr reads backward_reads = Reads;
  static constexpr tensor outputs(const arguments& in) { return in[0]; }

  template <class Queue, class T>
  static void forward(Queue&, const forward_call<T>& call) {
    ++forwards;
    for (std::size_t i = 0; i < call.rows * call.in(0).size(); ++i) call.outputs[0][i] = call.inputs[0][i];
  }
  template <class Queue, class T>
  static void backward(Queue&, const backward_call<T>& call) {
    ++backwards;
    if (!call.input_gradients) return;
    for (std::size_t i = 0; i < call.rows * call.in(0).size(); ++i) call.input_gradients[0][i] = call.output_gradients[0][i];
  }
};

// A layer whose backward reads nothing need not run for a tape alone.
template <std::size_t Id>
using Unread = Tally<Id, reads::nothing>;

// Tallies at the root, in blocks of blocks, and at the end of a block, where they may be left out. No backward runs below the
// first parameter.
using Tallied =
    Sequential<Input<8>, checkpoint<recompute_all, Sequential<Tally<9>, Tally<10>>>, Linear<8, 8>, Tally<0>,
               Repeat<5, Residual<Linear<8, 8>, Tally<1>, Unread<6>>>,
               checkpoint<every<2>, Sequential<Residual<Tally<3>, Linear<8, 8>>, Repeat<3, Sequential<Tally<2>, Linear<8, 8>>>>>,
               Repeat<2, Sequential<Linear<8, 8>, checkpoint<recompute_all, Sequential<Tally<4>, Linear<8, 8>, Tally<5>>>>>,
               Residual<Linear<8, 8>, Residual<Tally<7>, Unread<8>>>, Linear<8, 8>>;

template <std::size_t... Id>
std::vector<std::size_t> tallied(std::index_sequence<Id...>) {
  return {(Tally<Id>::forwards + Unread<Id>::forwards)...};
}

template <class Policy>
void check_forwards() {
  using model = checkpoint<Policy, Tallied>;
  trainer<model, MSELoss, SGD, batch<2>> train{SGD{.learning_rate = 0.01}};
  const std::vector<float> x(16, 0.5F), y(16, 0.25F);
  const auto before = tallied(std::make_index_sequence<11>{});
  train.step(x, y);
  const auto after = tallied(std::make_index_sequence<11>{});
  std::vector<std::size_t> found(11, 0);
  for (const detail::network_line& line : summary<model, 2>().lines)
    if (const std::size_t at = line.name.find("Tally<"); at != std::string::npos)
      found.at(std::stoul(line.name.substr(at + 6))) += line.forwards;
  for (std::size_t id = 0; id < 11; ++id) CHECK_MESSAGE(found[id] == after[id] - before[id], "Tally ", id);
}

// A Linear whose input gradient does not lie on its input: its buffers are harder to pack.
template <std::size_t In, std::size_t Out>
struct Apart : Linear<In, Out> {
  static constexpr bool input_gradient_on_input = false;
};

} // namespace

TEST_CASE("summary: a small network, computed by hand") {
  // The numbers are those of tests/net/network_lines.cpp, times four samples; 768 floats with the padding. Without
  // checkpointing the ReLU's output, and tape and output of both blocks are kept: 5 x 256 bytes.
  CHECK(summary<checkpoint<sqrt_n, Small>, 4>().text() ==
        R"(sqrt_n, batch 4 of float, 756 parameters in 3.00 KiB

     stage                 output   parameters  activation                        forwards  tape bytes  FLOPs
---  --------------------  -------  ----------  --------------------------------  --------  ----------  -----
  0  Linear<8, 16>         (4, 16)         144  recomputed                               2           -  3.26k
  1  ReLU                  (4, 16)           -  recomputed                               2           -    192
2-3  Residual x 2          (4, 16)         544  stored, recomputed 1 of 2                3       768 B  15.1k
       Linear<16, 16> x 2  (4, 16)         544  recomputed 1 of 2                        3           -  14.7k
       ReLU x 2            (4, 16)           -  stored 1 of 2, recomputed 1 of 2         3       256 B    320
  4  Linear<16, 4>         (4, 4)           68  passed on                                1           -  1.57k
---  --------------------  -------  ----------  --------------------------------  --------  ----------  -----
     total                                 756                                                   768 B  20.1k

one step                as it is  without checkpoint  ratio
----------------------  --------  ------------------  -----
peak of activations     1.00 KiB            1.50 KiB   0.67
tape bytes at the loss     768 B            1.25 KiB   0.60
FLOPs, predicted time      20.1k               16.8k   1.20
)");
}

TEST_CASE("summary: how large the batch can be, if that is asked for") {
  using Model = checkpoint<sqrt_n, Small>;
  constexpr std::size_t as_it_is = plan::largest_batch<Model, 8_KiB>, without = plan::largest_batch<Small, 8_KiB>;
  constexpr std::size_t dearer = plan::largest_batch<Small, 8_KiB, percent<20>>;
  static_assert(without > 4 && as_it_is > without && dearer > without);
  const auto s = summary<Model, 4, float, report::within<8_KiB, percent<20>>>();
  CHECK(s.batches.bytes == 8_KiB);
  CHECK(s.batches.largest == as_it_is);
  CHECK(s.batches.without == without);
  CHECK(s.batches.dearer == dearer);
  CHECK(s.batches.cost == doctest::Approx(1.2));
  const auto ratio = static_cast<double>(as_it_is) / static_cast<double>(without);
  const auto has = [](const std::string& table, const std::string& part) { // whatever the width of its columns
    std::string text;
    for (const char c : table)
      if (c != ' ' || text.empty() || text.back() != ' ') text += c;
    return text.find(part) != std::string::npos;
  };
  CHECK(has(s.markdown(), "| largest batch in 8.00 KiB | " + std::to_string(as_it_is) + " | " + std::to_string(without) + " | " +
                              report::format_fixed(ratio, 2) + " |\n| at 1.20 of the FLOPs of storing all | " +
                              std::to_string(dearer) + " | | |\n"));

  using Ranked = ddp<fused_update<Small>, loopback::rank, bucket_bytes<1024>>; // of whose gradients two buckets are in the arena
  const auto ranked = summary<Ranked, batch<4>, float, report::within<8_KiB>>();
  CHECK(ranked.batches.largest ==
        plan::largest_batch<fused_update<Small>, 8_KiB, detail::own_policy{}, float, detail::distribution<Ranked>::update>);
  CHECK(ranked.batches.largest != plan::largest_batch<fused_update<Small>, 8_KiB>);
  CHECK(has(ranked.markdown(), "| largest batch in 8.00 KiB | " + std::to_string(ranked.batches.largest) + " |\n"));
  CHECK_FALSE(has(ranked.markdown(), "of storing all"));
  CHECK_FALSE(has(summary<Model, 4>().text(), "largest batch"));
  CHECK(summary<Small, 4, float, report::within<64>>().batches.largest == 0); // not even one sample fits
}

TEST_CASE("summary: examples/schedules.md shows what the program of the README prints") {
  using Net = Sequential<Linear<784, 512>, ReLU, Repeat<6, Residual<Linear<512, 512>, ReLU>>, Linear<512, 10>>;
  std::ifstream file(CAIRN_TEST_DATA_DIR "/../../examples/schedules.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  CHECK(page.find("```text\n" + summary<checkpoint<sqrt_n, Net>, 64>().text() + "```\n") != std::string::npos);
}

TEST_CASE("summary: forwards are as many as the executor runs, under every policy and in every block") {
  check_forwards<recompute_all>();
  check_forwards<revolve<2>>();
#ifdef CAIRN_LONG_TESTS
  check_forwards<store_all>();
  check_forwards<sqrt_n>();
  check_forwards<every<3>>();
#endif
}

TEST_CASE("summary: what a policy remarks of its plans stands beside its name") {
  using net = Sequential<Linear<8, 16>, ReLU, Linear<16, 4>>;
  CHECK(summary<checkpoint<revolve<2>, net>, 4>().policy == "revolve<2> (counts stages, whatever their bytes)");
  CHECK(summary<checkpoint<sqrt_n, net>, 4>().policy == "sqrt_n");
}

TEST_CASE("summary: what a budget costs over the cheapest schedule known for its bytes stands beside its name") {
  using Net = Sequential<Linear<64, 768>, ReLU, Apart<768, 656>, GELU, Apart<656, 752>, GELU>;
  const std::string told = " (1.152 x the FLOPs of the cheapest schedule known for these bytes, which cannot be packed)";
  CHECK(summary<checkpoint<budget<170_KiB>, Net>, 16>().policy == "budget<174080>" + told);
  CHECK(summary<checkpoint<budget<171_KiB>, Net>, 16>().policy == "budget<175104>");
  CHECK(summary<checkpoint<budget<170_KiB, percent<20>>, Net>, 16>().policy == "budget<174080, percent<20>>" + told);
}

TEST_CASE("summary: without checkpointing means without any, also inside") {
  using nested = Sequential<Linear<8, 16>, Repeat<2, Residual<checkpoint<recompute_all, Sequential<ReLU, Linear<16, 16>, ReLU>>>>,
                            Linear<16, 4>>;
  using plain = Sequential<Linear<8, 16>, Repeat<2, Residual<ReLU, Linear<16, 16>, ReLU>>, Linear<16, 4>>;
  const auto s = summary<nested, 4>();
  CHECK(s.checkpointed);
  CHECK(s.without.peak == peak_activation_bytes<plain, 4>);
  CHECK(s.without.flops == summary<plain, 4>().costs.flops);
  CHECK(s.time_ratio() > 1);
  const auto p = summary<plain, 4>();
  CHECK_FALSE(p.checkpointed);
  CHECK(p.time_ratio() == 1);
  CHECK(p.text().find("without") == std::string::npos);
  CHECK(s.text().find("without checkpoint") != std::string::npos);
}

TEST_CASE("summary: what is frozen stays frozen without checkpointing, and is no checkpoint") {
  using net = Sequential<frozen<Sequential<Linear<8, 16>, ReLU>>, checkpoint<recompute_all, Sequential<Linear<16, 16>, ReLU>>,
                         Linear<16, 4>>;
  using plain = Sequential<frozen<Sequential<Linear<8, 16>, ReLU>>, Sequential<Linear<16, 16>, ReLU>, Linear<16, 4>>;
  const auto s = summary<net, 4>();
  CHECK(s.checkpointed);
  CHECK(s.without.flops == summary<plain, 4>().costs.flops);
  CHECK(s.without.peak == peak_activation_bytes<plain, 4>);
  CHECK_FALSE(summary<plain, 4>().checkpointed);
  CHECK(s.lines.at(0).name == "frozen");
  CHECK(s.lines.at(3).name == "checkpoint<recompute_all>");
}

TEST_CASE("summary: frozen parameters are counted apart from those that are learnt") {
  // 144 parameters of the first Linear and twice 272 of the block in a block are frozen; 272 + 68 are learnt.
  using base = frozen<Sequential<Linear<8, 16>, Repeat<2, Residual<ReLU, Linear<16, 16>>>>>;
  const auto s = summary<Sequential<base, Residual<Linear<16, 16>>, Linear<16, 4>>, 4>();
  CHECK((s.parameters == 340 && s.frozen == 688));
  CHECK((s.lines.at(0).name == "frozen" && s.lines.at(0).frozen == 688 && s.lines.at(0).parameters == 0));
  CHECK((s.lines.at(1).frozen == 144 && s.lines.at(2).frozen == 544));
  CHECK(s.lines.at(5).frozen == 0);
  const std::string text = s.text();
  CHECK(text.find("340 parameters in 1.38 KiB, 688 frozen") != std::string::npos);
  CHECK(text.find("688 frozen  ") != std::string::npos);
  CHECK(text.find("340 + 688 frozen  ") != std::string::npos); // the total
}

TEST_CASE("summary: of a stage with several outputs all are shown, and nothing that goes past it") {
  using net = Sequential<Inputs<dims<6>>, Linear<6, 4>, testing::Split, ReLU, testing::GatedPair, Linear<4, 5>>;
  const auto s = summary<net, 3>();
  std::vector<std::size_t> made;
  for (const detail::network_line& line : s.lines) made.push_back(line.outputs.size());
  CHECK(made == std::vector<std::size_t>{1, 1, 2, 1, 1, 1}); // the gate goes past the ReLU
  const std::string text = s.text();
  CHECK(text.find("Split      (3, 4) (3, 4)  ") != std::string::npos);
  CHECK(text.find("ReLU                (3, 4)         ") != std::string::npos);
}

TEST_CASE("summary: a block of two branches has its name and its tape, and its layers stand below it") {
  const auto s = summary<Sequential<Linear<4, 8>, Gated<Sequential<Linear<8, 6>, Sigmoid>, Linear<8, 6>>>, 3>();
  const std::string text = s.text();
  CAPTURE(text);
  CHECK(text.find("Gated") < text.find("Linear<8, 6>"));
  CHECK(text.find("Linear<8, 6>") < text.find("Sigmoid"));
  CHECK(s.lines.at(1).tape_bytes == 256); // two tensors of 3 x 6 floats
}

TEST_CASE("summary: with sync_batch_norm it says what a step sends for statistics") {
  using Synced = ddp<Sequential<Linear<4, 8>, BatchNorm1d<8>, Linear<8, 2>>, loopback::rank, sync_batch_norm>;
  const auto s = summary<Synced, 4>();
  CHECK(s.statistics_calls == 2);
  CHECK(s.statistics_bytes == (17 + 16 + 1) * sizeof(double));
  CHECK(s.text().find("statistics of all ranks") != std::string::npos);
  CHECK(summary<Small, 4>().text().find("statistics") == std::string::npos);
}

TEST_CASE("summary: with ddp each line says in which buckets its gradients leave") {
  // The flat buffer has 64 + 16 elements of the last Linear, 256 + 16 twice, and 128 + 16 of the first, of four bytes each.
  const auto s = summary<ddp<Small, loopback::rank, bucket_bytes<1088>>, 4>();
  REQUIRE(s.buckets.size() == 4);
  const std::string text = s.text();
  const auto bucket_of = [&text](const std::string& stage) {
    const std::string row = text.substr(text.find(stage), text.find('\n', text.find(stage)) - text.find(stage));
    return row.substr(row.rfind(' ') + 1);
  };
  CHECK(bucket_of("output") == "bucket");
  CHECK(bucket_of("Linear<16, 4>") == "0");
  CHECK(bucket_of("Residual x 2") == "1-3"); // the last bucket has the first block's bias too
  CHECK(bucket_of("ReLU x 2") == "-");
  CHECK(bucket_of("Linear<8, 16>") == "3");
  CHECK(summary<Small, 4>().text().find("bucket") == std::string::npos);
}

TEST_CASE("summary: stages have their place in the network, what is inside a block has none") {
  using net = Sequential<Linear<8, 16>, Repeat<3, Sequential<ReLU, Linear<16, 16>>>,
                         Repeat<2, Sequential<Residual<Linear<16, 16>>, ReLU>>>;
  const std::string text = summary<net, 4>().text();
  for (const char* const line :
       {"        0  Linear<8, 16>", "      1-6  Repeat x 3", "1, 3 .. 5    ReLU x 3", "2, 4 .. 6    Linear<16, 16> x 3",
        "     7, 9    Residual x 2", "               Linear<16, 16> x 2", "    8, 10    ReLU x 2"})
    CHECK_MESSAGE(text.find(line) != std::string::npos, line);
}

TEST_CASE("summary: the Markdown form keeps the indentation") {
  const std::string text = summary<Small, 4>().markdown();
  CHECK(text.find("| 2-3 | Residual x 2") != std::string::npos);
  CHECK(text.find("| \u00a0\u00a0ReLU x 2") != std::string::npos);
  CHECK(text.find("| peak of activations") != std::string::npos);
}

TEST_CASE("summary: the batch is a number or the trainer's batch<N>, and several tensors are no obstacle") {
  using Masked = Sequential<Inputs<dims<8>, constant<8>>, Linear<8, 8>, testing::Masked<>, Linear<8, 4>>;
  CHECK(summary<Masked, batch<16>>().text() == summary<Masked, 16>().text());
  CHECK(summary<Masked, batch<16>>().parameters == 72 + 36);
  using Counted = Sequential<Inputs<dims<8>, integer_constant<>>, Linear<8, 8>, testing::Times<>, Linear<8, 4>>;
  CHECK(summary<Counted, 16>().text().find("Inputs<dims<8>, integer_constant<>>") != std::string::npos);
}

} // namespace summary_tests
