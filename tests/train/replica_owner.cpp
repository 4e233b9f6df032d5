// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <type_traits>
#include <vector>

#include <cairn/train/model.hpp>
#include <cairn/train/replica_owner.hpp>
#include <cairn/train/trainer.hpp>

#include "training.hpp"

using namespace cairn;
using testing::Net;
using testing::samples;

namespace {

// What both offer, in one function for both.
template <class Owner>
std::vector<std::string> names_of(Owner& owner) {
  std::vector<std::string> names;
  std::size_t elements = 0;
  const auto take = [&](const auto& q) {
    names.push_back(q.name);
    elements += q.numbers.size();
  };
  owner.for_each(take);
  owner.for_each_buffer(take);
  CHECK(elements <= owner.parameters().size() + owner.buffers().size());
  return names;
}

} // namespace

TEST_CASE("replica_owner: a model and a trainer show the same parameters, and take each other's") {
  trainer<checkpoint<sqrt_n, Net>, CrossEntropyLoss, SGD, batch<6>> train{testing::momentum, {.seed = 3}};
  model<Net, batch<6>> net{{.seed = 4}};
  static_assert(decltype(train)::output_shape == decltype(net)::output_shape);
  CHECK(names_of(train) == names_of(net));
  CHECK(names_of(net).size() > 10);
  CHECK(net.checksum() != train.checksum());
  net.copy_parameters(train);
  CHECK(net.checksum() == train.checksum());
  const samples s(6, 1);
  std::vector<float> a(6 * testing::classes), b(a.size());
  train.evaluate(s.x, a);
  net.evaluate(s.x, b);
  CHECK(a == b);
  CHECK(testing::has(testing::text_of([&] { train.evaluate(std::vector<float>(7)); }),
                     "trainer::evaluate, inputs"));
  CHECK(testing::has(testing::text_of([&] { net.evaluate(std::vector<float>(7)); }),
                     "model::evaluate, inputs"));
}
