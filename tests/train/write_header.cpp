// SPDX-License-Identifier: MIT
#include <array>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <string>
#include <utility>

#include <cairn/core/explain.hpp>
#include <cairn/layer/batch_norm.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/checkpoint.hpp>
#include <cairn/net/sequential.hpp>
#include <cairn/train/fixed_session.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/model.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>
#include <cairn/train/write_header.hpp>
#include <doctest/doctest.h>

#include "../data/folder.hpp"
#include "written_by_header.hpp"

namespace write_header_tests {

using namespace cairn;

namespace {

using Net = Sequential<Linear<3, 4>, BatchNorm1d<4>, ReLU, Linear<4, 2>>;

// The weights that the file beside has.
template <class Owner>
void give_weights(Owner& net) {
  float next = -0.75F;
  const auto put = [&](const auto& q) {
    for (auto& x : q.numbers) x = next += 0.1F;
  };
  net.for_each(put);
  net.for_each_buffer(put);
}

const types::header_options as_there{
    .name = "written_by_header",
    .type = "cairn::Sequential<cairn::Linear<3, 4>, cairn::BatchNorm1d<4>, cairn::ReLU, cairn::Linear<4, 2>>",
    .comment = "SPDX-License-Identifier: MIT"};

const std::filesystem::path there = std::filesystem::path(CAIRN_TEST_DATA_DIR).parent_path() / "train/written_by_header.hpp";

struct Local {};

} // namespace

// If its format has changed: copy what the message shows to written_by_header.hpp.
TEST_CASE("write_header: a program with the header has the network's bits") {
  const folder here;
  model<Net, batch<5>> net;
  give_weights(net);
  write_header(net, here.path / "net.hpp", as_there);
  CHECK(contents(here.path / "net.hpp") == contents(there));

  static fixed_session own{written_by_header::trained<2>};
  const std::array<float, 6> x{0.5F, -1, 2, 0.25F, 3, -2};
  const auto expected = net.evaluate(x);
  const auto made = own.evaluate(x);
  for (std::size_t i = 0; i < 4; ++i) CHECK(made.data()[i] == expected.data()[i]);
}

TEST_CASE("write_header: a trainer writes what a model of its weights does, whatever its policy") {
  const folder here;
  trainer<checkpoint<recompute_all, Net>, MSELoss, SGD, batch<4>> train{SGD{}};
  give_weights(train);
  write_header(train, here.path / "net.hpp", as_there);
  CHECK(contents(here.path / "net.hpp") == contents(there));
}

TEST_CASE("write_header: the type is written as the compiler spells it, in lines that are not too long") {
  CHECK(detail::written_type<Net>({}).starts_with("cairn::Sequential<cairn::Linear<3, 4"));
  CHECK(detail::written_type<Net>({.type = "mine::Net"}) == "mine::Net");
  CHECK_THROWS_WITH_AS(detail::written_type<Sequential<Local>>({}),
                       doctest::Contains("that another source can name, found cairn::Seq"), input_error);
  CHECK(detail::in_lines("a, b", "  ") == "a, b");
  const std::string long_one(80, 'x');
  CHECK(detail::in_lines(long_one + ", " + long_one + ", b", "  ") == long_one + ",\n  " + long_one + ", b");
}

TEST_CASE("write_header: every float is written exactly, and one that is not finite is an error") {
  const auto written = [](auto x) {
    std::string out;
    detail::append_constant(out, x);
    return out;
  };
  CHECK(written(0.0F) == "0.0F");
  CHECK(written(-0.0) == "-0.0");
  CHECK(written(1.5F) == "0x1.8p+0F");
  CHECK(written(-0.1) == "-0x1.999999999999ap-4");
  for (const float x : {std::numeric_limits<float>::denorm_min(), std::numeric_limits<float>::max(), 3.14159274F, -1e-40F})
    CHECK(std::strtof(written(x).c_str(), nullptr) == x);
  const folder here;
  model<Net, batch<5>> net;
  net.parameters()[0] = std::numeric_limits<float>::infinity();
  CHECK_THROWS_WITH_AS(write_header(net, here.path / "net.hpp"), doctest::Contains("expected finite weights, found inf in "),
                       input_error);
  CHECK_THROWS_WITH_AS(write_header(net, here.path / "net.hpp", {.name = "2 words"}), doctest::Contains("found '2 words'"),
                       input_error);
}

} // namespace write_header_tests
