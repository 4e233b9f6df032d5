// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <unistd.h>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/layer/gelu.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/checkpoint.hpp>
#include <cairn/net/fused_update.hpp>
#include <cairn/net/repeat.hpp>
#include <cairn/net/sequential.hpp>
#include <cairn/plan/solve/budget.hpp>
#include <cairn/report/draw_schedule.hpp>
#include <cairn/train/ddp.hpp>

namespace draw_schedule_tests {

using namespace cairn;

namespace {

using Net = Sequential<Linear<8, 16>, ReLU, Repeat<4, Linear<16, 16>>, Linear<16, 4>>;

template <class Model, class Batch = batch<32>>
std::string drawn() {
  const std::string file = std::filesystem::temp_directory_path() / ("cairn-draw-" + std::to_string(::getpid()) + ".svg");
  draw_schedule<Model, Batch>(file);
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  std::remove(file.c_str());
  return text.str();
}
bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

// A Linear whose input gradient does not lie on its input: its buffers are harder to pack.
template <std::size_t In, std::size_t Out>
struct Apart : Linear<In, Out> {
  static constexpr bool input_gradient_on_input = false;
};

} // namespace

TEST_CASE("draw_schedule: one line draws the step of whatever a trainer takes") {
  const std::string plain = drawn<Net>();
  CHECK(has(plain, "<svg"));
  CHECK(has(plain, "One training step of 32 samples"));
  CHECK(has(plain, "store_all"));
  CHECK(!has(plain, "recompute"));
  const std::string checkpointed = drawn<checkpoint<sqrt_n, Net>>();
  CHECK(has(checkpointed, "sqrt_n"));
  CHECK(has(checkpointed, "recompute"));
  CHECK(!has(checkpointed, "bucket"));
  CHECK(has(drawn<ddp<checkpoint<sqrt_n, Net>, threads::rank, bucket_bytes<512>>>(), "bucket"));
  CHECK(has(drawn<ddp<fused_update<Net>, threads::rank>>(), "<svg"));
}

TEST_CASE("draw_schedule: a budget that costs more than the cheapest schedule known for its bytes says so") {
  using Wide = Sequential<Linear<64, 768>, ReLU, Apart<768, 656>, GELU, Apart<656, 752>, GELU>;
  CHECK(has(drawn<checkpoint<budget<170_KiB>, Wide>, batch<16>>(), "budget&lt;174080&gt; (1.152 x the FLOPs of the cheapest"));
  CHECK(!has(drawn<checkpoint<budget<171_KiB>, Wide>, batch<16>>(), "of the cheapest"));
}

} // namespace draw_schedule_tests
