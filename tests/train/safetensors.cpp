// SPDX-License-Identifier: MIT
#include <cairn/train/safetensors.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <cairn/core/bfloat16.hpp>
#include <cairn/layer/batch_norm.hpp>
#include <cairn/layer/conv2d.hpp>
#include <cairn/layer/flatten.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/net/frozen.hpp>
#include <cairn/train/model.hpp>
#include <cairn/train/trainer.hpp>
#include <doctest/doctest.h>

#include "../data/folder.hpp"
#include "../reference/differences.hpp"
#include "../reference/values.hpp"
#include "training.hpp"

namespace safetensors_tests {

using namespace cairn;
using testing::classes;
using testing::features;
using testing::samples;

namespace {

using Net = Sequential<Linear<features, 8>, BatchNorm1d<8>, ReLU, Repeat<2, Residual<Linear<8, 8>, ReLU>>, Linear<8, classes>>;
template <class Model, class T = float>
using training = trainer<Model, CrossEntropyLoss, SGD, batch<6>, T>;

template <class T, class Owner>
std::vector<T> all_weights(Owner& owner) {
  std::vector<T> out;
  auto all = detail::replica_access::weights(owner);
  detail::for_all_weights(all, [&](const auto& q) { out.insert(out.end(), q.numbers.begin(), q.numbers.end()); });
  return out;
}

} // namespace

TEST_CASE("safetensors: weights and buffers go through a file to any network of the same names") {
  const folder here;
  const std::string path = here.path / "net.safetensors";
  training<checkpoint<sqrt_n, Net>> train{testing::momentum, {.seed = 3}};
  const samples s(6, 1);
  train.step(s.x, s.y); // the running statistics have moved
  save_weights(train, path, {{"step", std::to_string(train.steps())}});

  model<Net, batch<6>> net{{.seed = 4}};
  CHECK(load_weights(net, path).is_all());
  CHECK(all_weights<float>(net) == all_weights<float>(train));
  const auto a = net.evaluate(s.x), b = train.evaluate(s.x);
  CHECK(std::equal(a.begin(), a.end(), b.begin(), b.end()));

  training<fused_update<Net>, double> other{testing::momentum, {.seed = 5}}; // another policy, other numbers
  CHECK(load_weights(other, path).is_all());
  const std::vector<double> wide = all_weights<double>(other);
  CHECK(std::vector<float>(wide.begin(), wide.end()) == all_weights<float>(train));

  const safetensors_file file(path);
  CHECK(file.metadata().at("step") == "1");
  REQUIRE(file.find("0.weight") != nullptr);
  CHECK(file.find("0.weight")->extents == std::vector<std::uint64_t>{8, features}); // as torch's (out, in)
  CHECK(file.find("1.running_var") != nullptr);
  CHECK(file.find("4.0.weight") != nullptr); // the first layer of the second residual block
}

TEST_CASE("safetensors: a network of bfloat16 writes what is learnt in float, and takes it from there") {
  const folder here;
  const std::string path = here.path / "net.safetensors";
  training<Net, bfloat16> train{testing::momentum, {.seed = 3}}, other{testing::momentum, {.seed = 4}};
  const samples s(6, 1);
  train.step(s.x, s.y);
  save_weights(train, path);
  CHECK(safetensors_file(path).find("0.weight")->type == "F32");
  model<Net, batch<6>> wide{{.seed = 5}};
  CHECK(load_weights(wide, path).is_all());
  CHECK(all_weights<float>(wide) == all_weights<float>(train));
  CHECK(load_weights(other, path).is_all());
  const auto a = other.evaluate(s.x), b = train.evaluate(s.x);
  CHECK(std::equal(a.begin(), a.end(), b.begin(), b.end()));
}

TEST_CASE("safetensors: from the same weights twenty steps have PyTorch's losses") {
  const folder here;
  const std::string path = here.path / "torch.safetensors";
  using Small = Sequential<Linear<9, 16>, BatchNorm1d<16>, ReLU, Linear<16, 5>>;
  // A state_dict, as PyTorch names it.
  std::vector<std::vector<float>> numbers;
  std::vector<safetensors_source> all;
  const auto add = [&](const char* name, std::vector<std::uint64_t> extents) {
    numbers.push_back(reference_numbers<float>("weights/" + std::string(name)));
    all.push_back({name, "F32", std::move(extents), std::as_bytes(std::span<const float>(numbers.back()))});
  };
  add("0.weight", {16, 9});
  add("0.bias", {16});
  add("1.weight", {16});
  add("1.bias", {16});
  add("3.weight", {5, 16});
  add("3.bias", {5});
  const std::vector<float> zeros(16), ones(16, 1.0F);
  all.push_back({"1.running_mean", "F32", {16}, std::as_bytes(std::span<const float>(zeros))});
  all.push_back({"1.running_var", "F32", {16}, std::as_bytes(std::span<const float>(ones))});
  write_safetensors(path, all);

  trainer<checkpoint<sqrt_n, Small>, CrossEntropyLoss, SGD, batch<12>> train{testing::momentum};
  REQUIRE(load_weights(train, path).is_all());
  const auto x = reference_numbers<float>("weights/input");
  const auto y = reference_numbers<std::int32_t>("weights/targets");
  std::vector<double> losses;
  for (int step = 0; step < 20; ++step) losses.push_back(train.step(x, y));
  CHECK(largest_difference(losses, reference_values("weights/losses")) < 1e-5);
}

TEST_CASE("safetensors: a network that does not fit takes nothing and says what is wrong, or what fits if it is asked to") {
  const folder here;
  const std::string path = here.path / "net.safetensors";
  model<Net, batch<6>> net{{.seed = 3}};
  save_weights(net, path);
  using Other = Sequential<Linear<features, 8>, BatchNorm1d<8>, ReLU, Repeat<2, Residual<Linear<8, 8>, ReLU>>, Linear<8, 7>, ReLU,
                           Linear<7, 2, false>>;
  model<Other, batch<6>> other{{.seed = 4}};
  const std::vector<float> before = all_weights<float>(other);
  const std::string said = testing::text_of([&] { load_weights(other, path); });
  CAPTURE(said);
  CHECK(testing::has(said, path));
  CHECK(testing::has(said, "nothing was taken from it; missing: 7.weight; of another shape: 5.weight (7, 8), found (4, 8), "
                           "5.bias (7), found (4); see weights::partly"));
  CHECK(all_weights<float>(other) == before);

  const loaded_weights some = load_weights(other, path, weights::partly);
  CHECK(some.missing == std::vector<std::string>{"7.weight"});
  CHECK(some.unexpected.empty());
  CHECK(some.of_another_shape.size() == 2);
  const auto same = [&](const std::string& name) {
    const auto a = net.parameter(name), b = other.parameter(name);
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  };
  CHECK(same("0.weight"));
  CHECK(same("4.0.bias"));

  model<Sequential<Linear<features, 8>>, batch<6>> small{};
  CHECK(load_weights(small, path, weights::partly).unexpected.size() == 10);
}

TEST_CASE("safetensors: a frozen part is in the file by the same names") {
  const folder here;
  const std::string path = here.path / "net.safetensors";
  using Frozen = Sequential<frozen<Sequential<Linear<features, 8>, BatchNorm1d<8>>>, Linear<8, classes>>;
  model<Frozen, batch<6>> a{{.seed = 3}};
  training<Frozen> b{testing::momentum, {.seed = 4}};
  save_weights(a, path);
  CHECK(load_weights(b, path).is_all());
  CHECK(all_weights<float>(b) == all_weights<float>(a));
}

TEST_CASE("safetensors: torch counts batches, which is no fault") {
  const folder here;
  const std::string path = here.path / "net.safetensors";
  const std::vector<float> ones(8, 1.0F);
  const std::vector<std::byte> count(8);
  const auto bytes = std::as_bytes(std::span<const float>(ones));
  write_safetensors(path, {{"0.weight", "F32", {8}, bytes},
                           {"0.bias", "F32", {8}, bytes},
                           {"0.running_mean", "F32", {8}, bytes},
                           {"0.running_var", "F32", {8}, bytes},
                           {"0.num_batches_tracked", "I64", {}, count}});
  model<Sequential<BatchNorm1d<8>>, batch<6>> net{};
  CHECK(load_weights(net, path).is_all());
  CHECK(net.buffer("0.running_mean")[3] == 1);
}

TEST_CASE("safetensors: channels go from the last place to the second, and back") {
  const tensor weight = tensor{2, 3, 4, 5}.with_channels_last();
  CHECK(detail::is_turned(weight));
  CHECK(detail::extents_in_files(weight) == std::vector<std::uint64_t>{2, 5, 3, 4});
  std::vector<float> numbers(120);
  std::iota(numbers.begin(), numbers.end(), 0.0F);
  const std::vector<float> before = numbers;
  detail::file_bytes files;
  const auto bytes = files.of(std::span<float>(numbers), weight);
  std::vector<float> found(120);
  std::memcpy(found.data(), bytes.data(), bytes.size());
  for (std::size_t o = 0; o < 2; ++o)
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < 4; ++j)
        for (std::size_t c = 0; c < 5; ++c) CHECK(found[((o * 5 + c) * 3 + i) * 4 + j] == before[((o * 3 + i) * 4 + j) * 5 + c]);
  numbers.assign(120, -1.0F);
  files.give_back();
  CHECK(numbers == before);
}

TEST_CASE("safetensors: other tensors are written where they lie") {
  std::vector<double> numbers{1, 2, 3, 4, 5, 6};
  detail::file_bytes files;
  for (const tensor& t : {tensor{3, 2}, tensor{3, 2}.with_channels_last(), tensor{1, 3, 2}}) {
    CHECK(!detail::is_turned(t));
    CHECK(files.of(std::span<double>(numbers), t).data() == reinterpret_cast<const std::byte*>(numbers.data()));
  }
  CHECK(detail::extents_in_files(tensor{1, 3, 2}) == std::vector<std::uint64_t>{1, 3, 2});
  CHECK(detail::extents_in_files(tensor{}).empty());
}

TEST_CASE("safetensors: the weight of a convolution is in the file in torch's order, and comes back from there") {
  const folder here;
  const std::string path = here.path / "net.safetensors";
  using Images = Sequential<Input<4, 5, 2>, Conv2d<2, 3, 3, kernel_width<2>>, ReLU, Conv2d<3, 6, 1, groups<3>>, Flatten,
                            Linear<48, classes>>;
  model<Images, batch<6>> net{{.seed = 3}};
  save_weights(net, path);
  safetensors_file file(path);
  CHECK(file.find("3.weight")->extents == std::vector<std::uint64_t>{6, 1, 1, 1});
  const safetensors_entry& entry = *file.find("1.weight");
  REQUIRE(entry.extents == std::vector<std::uint64_t>{3, 2, 3, 2}); // (out, in, height, width)
  std::vector<float> found(36);
  file.read(entry, std::span<float>(found));
  const auto own = net.parameter("1.weight"); // (out, height, width, in)
  for (std::size_t o = 0; o < 3; ++o)
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < 2; ++j)
        for (std::size_t c = 0; c < 2; ++c) CHECK(found[((o * 2 + c) * 3 + i) * 2 + j] == own[((o * 3 + i) * 2 + j) * 2 + c]);

  training<checkpoint<recompute_all, Images>, double> other{testing::momentum, {.seed = 4}}; // and other numbers
  CHECK(load_weights(other, path).is_all());
  CHECK(all_weights<float>(other) == all_weights<float>(net));
  using Wider = Sequential<Input<4, 6, 2>, Conv2d<2, 3, 3, kernel_width<3>>, ReLU, Conv2d<3, 6, 1, groups<3>>, Flatten,
                           Linear<48, classes>>;
  model<Wider, batch<6>> wider{};
  CHECK(load_weights(wider, path, weights::partly).of_another_shape ==
        std::vector<std::string>{"1.weight (3, 2, 3, 3), found (3, 2, 3, 2)"});
}

} // namespace safetensors_tests
