// SPDX-License-Identifier: MIT
#include <cairn/train/state/feature_order.hpp>

#include <string>
#include <vector>

#include <cairn/layer/batch_norm.hpp>
#include <cairn/layer/conv2d.hpp>
#include <cairn/layer/embedding.hpp>
#include <cairn/layer/flatten.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/net/frozen.hpp>
#include <cairn/net/gated.hpp>
#include <cairn/net/residual.hpp>
#include <cairn/train/model.hpp>
#include <doctest/doctest.h>

#include "../training.hpp"

namespace feature_order_tests {

using namespace cairn;

namespace {

// The names of the parameters and buffers that PyTorch has in another order.
template <class Net>
std::vector<std::string> turned() {
  model<Net, batch<2>> net{};
  auto all = detail::on_host(net);
  const detail::feature_orders orders = all.orders();
  std::vector<std::string> out;
  const auto look = [&](const auto& q) {
    if (const detail::turned_features* const t = orders.of(q.leaf, q.facts))
      out.push_back(q.name + (t->rows.empty() ? "" : " rows") + (t->columns.empty() ? "" : " columns"));
  };
  all.for_each_parameter(look);
  all.for_each_buffer(look);
  CHECK(out.size() == orders.size());
  return out;
}
using names = std::vector<std::string>;

} // namespace

TEST_CASE("feature_order: PyTorch's features of an image, by their places here") {
  CHECK(detail::order_of_image(2, 3) == detail::feature_order{0, 3, 1, 4, 2, 5});
  CHECK(detail::order_of_image(1, 3).empty());
  CHECK(detail::order_of_image(4, 1).empty());
}

TEST_CASE("feature_order: behind a Flatten everything is turned that stands for one of its features") {
  using Images = Sequential<Input<2, 2, 3>, Conv2d<3, 3, 1>, Flatten, BatchNorm1d<12>, frozen<Sequential<LayerNorm<12>, ReLU>>,
                            Dropout<>, Linear<12, 12>, LayerNorm<12>, Linear<12, 5>>;
  CHECK(turned<Images>() == names{"2.weight columns", "2.bias columns", "3.0.weight columns", "3.0.bias columns",
                                  "5.weight columns", "2.running_mean columns", "2.running_var columns"});
}

TEST_CASE("feature_order: what is added to such features follows them, and a Repeat sees them once") {
  using Sums =
      Sequential<Input<2, 2, 3>, Flatten, Residual<Linear<12, 8>, ReLU, Linear<8, 12>, LayerNorm<12>>, Repeat<2, Linear<12, 12>>>;
  CHECK(turned<Sums>() == names{"1.0.weight columns", "1.2.weight rows", "1.2.bias columns", "1.3.weight columns",
                                "1.3.bias columns", "2.weight columns"});
}

TEST_CASE("feature_order: both branches of a product follow the one that keeps the order of its input") {
  const names second{"1.0.0.weight columns", "1.0.0.bias columns", "1.1.0.weight rows columns", "1.1.0.bias columns",
                     "2.weight columns"};
  CHECK(turned<Sequential<Input<2, 2, 3>, Flatten, Gated<LayerNorm<12>, Linear<12, 12>>, Linear<12, 5>>>() == second);
  const names first{"1.0.0.weight rows columns", "1.0.0.bias columns", "1.1.0.weight columns", "1.1.0.bias columns",
                    "2.weight columns"};
  CHECK(turned<Sequential<Input<2, 2, 3>, Flatten, Gated<Linear<12, 12>, LayerNorm<12>>, Linear<12, 5>>>() == first);
  CHECK(turned<Sequential<Input<2, 2, 3>, Flatten, Residual<shortcut<Linear<12, 12>>, LayerNorm<12>>, Linear<12, 5>>>() == first);
}

TEST_CASE("feature_order: a Flatten of what is no image changes nothing") {
  CHECK(turned<Sequential<Input<4, 3>, Flatten, Linear<12, 2>>>().empty());
  CHECK(turned<Sequential<Input<2, 2, 3>, Linear<3, 3>, Flatten, Linear<12, 2>>>().empty()); // rows of features, no image
  CHECK(turned<Sequential<Inputs<integers<2, 2>>, Embedding<7, 3>, Flatten, Linear<12, 2>>>().empty());
  CHECK(turned<Sequential<Input<2, 2, 1>, Flatten, Linear<4, 2>>>().empty());
}

} // namespace feature_order_tests
