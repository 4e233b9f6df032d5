// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <cairn/layer/dropout.hpp>
#include <cairn/layer/gelu.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/layer_norm.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/layer/tanh.hpp>
#include <cairn/net/multihead_attention.hpp>
#include <cairn/plan/revolve.hpp>
#include <cairn/report/network_lines.hpp>
#include <doctest/doctest.h>

#include "../net/layers.hpp"

namespace network_lines_tests {

using namespace cairn;
using namespace cairn::detail;

namespace {

// A block of two chains, as a user of the internals writes it: y = a(x) + b(x). It is planned here, but not run.
template <class A, class B>
struct Beside {};

} // namespace

} // namespace network_lines_tests

template <class A, class B>
struct cairn::detail::made_of<network_lines_tests::Beside<A, B>> {
  static constexpr part_kind as = part_kind::block;
  static constexpr std::string_view name = "Beside";
  static constexpr bool is_right = true;
  using parts = pack<A, B>;
  using policy = store_all;
  template <class... Parts>
  using with = network_lines_tests::Beside<Parts...>;

  static constexpr void join(const value_list&, const description* chains, description& out) {
    out = chains[0];
    out.accepts = chains[0].accepts && chains[1].accepts && chains[0].after == chains[1].after;
  }
  static constexpr chain_ends ends(const element_facts&, const element_facts&) {
    return {.output = false, .input_gradient = false};
  }
  static constexpr stage as_stage(const chain_facts* chains) {
    stage s = stage_of_chain(chains[0]);
    const stage b = stage_of_chain(chains[1]);
    s.tape.per_batch += b.tape.per_batch;
    s.forward_workspace.per_batch += b.forward_workspace.per_batch;
    s.evaluation_workspace.per_batch += b.evaluation_workspace.per_batch;
    s.backward_workspace.per_batch += b.backward_workspace.per_batch;
    s.reads_input = s.reads_input || b.reads_input;
    s.tape_without_output = s.tape_without_output && b.tape_without_output;
    s.leaves += b.leaves;
    s.parameters += b.parameters;
    s.parameter_block += b.parameter_block;
    s.forward_flops += b.forward_flops + chains[0].output_elements;
    s.tape_flops += b.tape_flops;
    s.backward_flops += b.backward_flops + chains[0].input_elements;
    s.input_gradient_flops += b.input_gradient_flops + chains[0].input_elements;
    return s;
  }
};

namespace network_lines_tests {

namespace {

using Small = Sequential<Linear<8, 16>, ReLU, Repeat<2, Residual<Linear<16, 16>, ReLU>>, Linear<16, 4>>;
constexpr std::size_t value = 4 * 16 * sizeof(float); // 16 floats of 4 samples

template <class Policy, class Net, std::size_t Batch = 4>
std::vector<network_line> lines() {
  return lines_of<blueprint_of<checkpoint<Policy, Net>, Batch>, Net>();
}

void check(const network_line& line, const std::string& name, std::size_t level, std::size_t times, std::size_t parameters,
           std::size_t forwards, std::size_t stored, std::size_t recomputed, std::size_t tape_bytes, std::uint64_t flops) {
  CHECK(line.name == name);
  CHECK(line.level == level);
  CHECK(line.times == times);
  CHECK(line.parameters == parameters);
  CHECK(line.forwards == forwards);
  CHECK(line.stored == stored);
  CHECK(line.recomputed == recomputed);
  CHECK(line.tape_bytes == tape_bytes);
  CHECK(line.flops == flops);
}

// Blocks in blocks, repetitions in repetitions, tapes, workspaces, buffers.
using Deep =
    Sequential<Linear<8, 16>, Repeat<3, Sequential<Linear<16, 16>, GELU, Repeat<2, Residual<LayerNorm<16>, Linear<16, 16>>>>>,
               checkpoint<every<2>, Sequential<testing::Scale, Repeat<2, Sequential<Residual<Tanh, testing::Scale>, Tanh>>,
                                               Dropout<>, Linear<16, 16>>>,
               testing::Witness, Residual<checkpoint<recompute_all, Sequential<Linear<16, 16>, ReLU, Linear<16, 16>>>, ReLU>,
               checkpoint<sqrt_n, Sequential<Linear<16, 16>, GELU, Linear<16, 16>>>, Linear<16, 4>>;

// Checks what holds for the lines of any network: they add up to what the plan says of the whole step.
template <class Policy, class Net>
void check_sums() {
  using plan = blueprint_of<checkpoint<Policy, Net>, 4>;
  std::size_t parameters = 0, bytes = 0, stages = 0, forwards = 0, planned = 0;
  std::uint64_t work = 0;
  for (const network_line& line : lines<Policy, Net>()) {
    if (line.level > 0) continue;
    parameters += line.parameters;
    bytes += line.tape_bytes;
    work += line.flops;
    stages += line.positions.size();
    forwards += line.forwards;
  }
  for (const op& o : plan::training.ops()) planned += o.kind == op_kind::forward ? 1U : 0U;
  CHECK(parameters == plan::parameters);
  CHECK(stages == plan::size);
  CHECK(forwards == planned);
  CHECK(work == flops(plan::whole, plan::training.ops()));
  // At the loss everything that is kept is live, and so is the output, whose gradient takes its place.
  CHECK(bytes + plan::whole.value_bytes(plan::size) == plan::trained::memory.live[plan::training.loss]);
}

} // namespace

TEST_CASE("network_lines: a small network that stores everything, computed by hand") {
  const auto l = lines<store_all, Small>();
  REQUIRE(l.size() == 6);
  // The first input gradient is left out: 272 forward, and 272 of 528 backward.
  check(l[0], "Linear<8, 16>", 0, 1, 144, 1, 0, 0, 0, 272 + 272);
  check(l[1], "ReLU", 0, 1, 0, 1, 1, 0, value, 16 + 16);
  // Each block keeps the output of its ReLU, and its own output for the stage after it. A sum costs one operation per element.
  check(l[2], "Residual", 0, 2, 544, 2, 2, 0, 4 * value, 2 * (528 + 16 + 16 + 1040 + 16));
  check(l[3], "Linear<16, 16>", 1, 2, 544, 2, 0, 0, 0, 2 * (528 + 1040));
  check(l[4], "ReLU", 1, 2, 0, 2, 2, 0, 2 * value, 2 * (16 + 16));
  check(l[5], "Linear<16, 4>", 0, 1, 68, 1, 0, 0, 0, 132 + 260);
  CHECK(l[2].positions == std::vector<std::size_t>{2, 3});
  CHECK((l[2].outputs.size() == 1 && l[2].outputs[0].extents == shape{16}));
  CHECK((l[5].outputs.size() == 1 && l[5].outputs[0].extents == shape{4}));
}

TEST_CASE("network_lines: the same under sqrt_n") {
  // The segments are stages 0 to 2, and 3 and 4. Of the first only the output of its last block is kept; that block runs again
  // for its tape, without the sum at its end.
  const auto l = lines<sqrt_n, Small>();
  REQUIRE(l.size() == 6);
  check(l[0], "Linear<8, 16>", 0, 1, 144, 2, 0, 1, 0, 2 * 272 + 272);
  check(l[1], "ReLU", 0, 1, 0, 2, 0, 1, 0, 2 * 16 + 16);
  check(l[2], "Residual", 0, 2, 544, 3, 2, 1, 3 * value, (560 + 544 + 1056) + (560 + 1056));
  check(l[3], "Linear<16, 16>", 1, 2, 544, 3, 0, 1, 0, 3 * 528 + 2 * 1040);
  check(l[4], "ReLU", 1, 2, 0, 3, 1, 1, value, 3 * 16 + 2 * 16);
  check(l[5], "Linear<16, 4>", 0, 1, 68, 1, 0, 0, 0, 132 + 260);
}

TEST_CASE("network_lines: a repetition of several stages is a line of its own, and the sum of those in it") {
  const auto l = lines<store_all, Sequential<Linear<16, 16>, Repeat<3, Sequential<GELU, Repeat<2, Linear<16, 16>>>>>>();
  REQUIRE(l.size() == 4);
  CHECK(l[1].group);
  CHECK(l[1].name == "Repeat");
  CHECK(l[1].times == 3);
  CHECK(l[1].positions == std::vector<std::size_t>{1, 2, 3, 4, 5, 6, 7, 8, 9});
  CHECK(l[1].parameters == 6 * 272);
  CHECK(l[1].flops == l[2].flops + l[3].flops);
  CHECK(l[1].tape_bytes == 9 * value - value); // the network's output is not kept
  CHECK(l[2].level == 1);
  CHECK(l[2].times == 3);
  CHECK(l[2].positions == std::vector<std::size_t>{1, 4, 7});
  CHECK(l[3].times == 6);
  CHECK(l[3].positions == std::vector<std::size_t>{2, 3, 5, 6, 8, 9});
}

TEST_CASE("network_lines: stages that take one place are lines below one of their name") {
  const auto l = lines<store_all, Sequential<Input<5, 16>, Repeat<2, MultiheadAttention<16, 4>>, Linear<16, 4>>>();
  REQUIRE(l.size() == 7);
  CHECK((l[1].name == "Repeat" && l[1].times == 2 && l[1].level == 0));
  CHECK((l[2].name == "MultiheadAttention" && l[2].group && l[2].level == 1));
  CHECK(l[2].positions == std::vector<std::size_t>{1, 2, 3, 4, 5, 6});
  CHECK(l[2].parameters == 2 * (4 * 16 * 16 + 4 * 16));
  CHECK(
      (l[3].name == "attention::in_proj<16, 48>" && l[4].name == "attention::core<4>" && l[5].name == "attention::out_proj<16>"));
  CHECK((l[4].level == 2 && l[4].positions == std::vector<std::size_t>{2, 5}));
  CHECK(l[2].flops == l[3].flops + l[4].flops + l[5].flops);
}

TEST_CASE("network_lines: a block is named by its kind, with its policy where it has one") {
  const auto l = lines<store_all, Deep>();
  std::vector<std::string> names;
  for (const network_line& line : l) names.push_back(std::string(line.level, '.') + line.name);
  CHECK(names == std::vector<std::string>{"Linear<8, 16>",
                                          "Repeat",
                                          ".Linear<16, 16>",
                                          ".GELU",
                                          ".Residual",
                                          "..LayerNorm<16>",
                                          "..Linear<16, 16>",
                                          "checkpoint<every<2>>",
                                          ".testing::Scale",
                                          ".Repeat",
                                          "..Residual",
                                          "...Tanh",
                                          "...testing::Scale",
                                          "..Tanh",
                                          ".Dropout<>",
                                          ".Linear<16, 16>",
                                          "testing::Witness",
                                          "Residual",
                                          ".checkpoint<recompute_all>",
                                          "..Linear<16, 16>",
                                          "..ReLU",
                                          "..Linear<16, 16>",
                                          ".ReLU",
                                          "checkpoint<sqrt_n>",
                                          ".Linear<16, 16>",
                                          ".GELU",
                                          ".Linear<16, 16>",
                                          "Linear<16, 4>"});
}

TEST_CASE("network_lines: they add up to the plan of the whole step under every policy") {
  check_sums<store_all, Small>();
  check_sums<recompute_all, Small>();
  check_sums<store_all, Deep>();
  check_sums<recompute_all, Deep>();
  check_sums<sqrt_n, Deep>();
  check_sums<every<3>, Deep>();
  check_sums<revolve<2>, Deep>();
  check_sums<recompute_cheap, Deep>();
}

TEST_CASE("network_lines: what a block keeps is what is kept inside it, and its output") {
  for (const auto& l : {lines<store_all, Deep>(), lines<sqrt_n, Deep>(), lines<revolve<2>, Deep>()})
    for (std::size_t i = 0; i < l.size(); ++i) {
      if (i + 1 == l.size() || l[i + 1].level <= l[i].level) continue; // nothing inside
      std::size_t inside = 0;
      for (std::size_t k = i + 1; k < l.size() && l[k].level > l[i].level; ++k)
        if (l[k].level == l[i].level + 1) inside += l[k].tape_bytes;
      // A checkpoint<> makes the output of its last layer; the output of a Residual may be a sum of its own.
      if (l[i].name == "Residual") CHECK((inside <= l[i].tape_bytes && l[i].tape_bytes <= inside + l[i].times * value));
      else CHECK(inside == l[i].tape_bytes);
    }
}

TEST_CASE("network_lines: the first layer makes no input gradient, also inside a block") {
  const auto l = lines<store_all, Sequential<Input<8>, checkpoint<store_all, Sequential<Linear<8, 16>, Tanh>>, Linear<16, 4>>>();
  REQUIRE(l.size() == 5);
  CHECK(l[2].name == "Linear<8, 16>");
  CHECK(l[2].flops == 272 + 272);
  CHECK(l[1].flops == l[2].flops + l[3].flops);
}

TEST_CASE("network_lines: of a block of several chains each is a branch, the last one's gradients first") {
  using Branched =
      Sequential<Linear<8, 16>, Repeat<2, Beside<Sequential<Linear<16, 16>, Tanh>, Linear<16, 16, false>>>, Linear<16, 4>>;
  const auto l = lines<store_all, Branched>();
  std::vector<std::string> names;
  for (const network_line& line : l) names.push_back(std::string(line.level, '.') + line.name);
  CHECK(names == std::vector<std::string>{"Linear<8, 16>", "Beside", ".branch 0", "..Linear<16, 16>", "..Tanh",
                                          ".Linear<16, 16, false>", "Linear<16, 4>"});
  CHECK(l[1].times == 2);
  CHECK(l[1].parameters == 2 * (272 + 256));
  CHECK(l[2].group);
  CHECK(l[2].parameters == 2 * 272);
  CHECK(l[2].flops == l[3].flops + l[4].flops);
  CHECK(l[1].flops == l[2].flops + l[5].flops + 2 * (16 + 16)); // and the two sums
  // 80 floats of the last layer; then the last branch of the second block and its first branch, and likewise of the first block.
  REQUIRE(l[5].gradients.size() == 2);
  CHECK(l[5].gradients[1].begin == 80);
  CHECK(l[3].gradients[1].begin == 80 + 256);
  CHECK(l[5].gradients[0].begin == 80 + 256 + 272);
  CHECK(l[3].gradients[0].begin == 80 + 256 + 272 + 256);
  CHECK(l[3].gradients[0].end == 80 + 2 * (256 + 272));
}

TEST_CASE("network_lines: gradients lie side by side and fill the flat buffer") {
  using plan = blueprint_of<Deep, 4>;
  std::vector<int> seen(plan::parameter_block, 0);
  const auto l = lines<store_all, Deep>();
  for (std::size_t i = 0; i < l.size(); ++i) {
    const bool leaf = i + 1 == l.size() || l[i + 1].level <= l[i].level;
    if (!leaf) continue;
    for (const gradient_span& g : l[i].gradients)
      for (std::size_t n = g.begin; n < g.end; ++n) ++seen.at(n);
  }
  CHECK(seen == std::vector<int>(plan::parameter_block, 1));
  // Backward finishes the last layer first.
  CHECK(l.back().gradients.at(0).begin == 0);
  CHECK(l.front().gradients.at(0).end == plan::parameter_block);
}

} // namespace network_lines_tests
