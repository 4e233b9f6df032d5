// SPDX-License-Identifier: MIT
#include <cairn/train/state/safetensors.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <cairn/core/bfloat16.hpp>
#include <cairn/layer/adaptive_avg_pool2d.hpp>
#include <cairn/layer/batch_norm.hpp>
#include <cairn/layer/conv2d.hpp>
#include <cairn/layer/embedding.hpp>
#include <cairn/layer/flatten.hpp>
#include <cairn/layer/gelu.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/max_pool2d.hpp>
#include <cairn/layer/standardize.hpp>
#include <cairn/layer/tied.hpp>
#include <cairn/net/concat.hpp>
#include <cairn/net/frozen.hpp>
#include <cairn/train/learn_statistics.hpp>
#include <cairn/train/model.hpp>
#include <cairn/train/trainer.hpp>
#include <doctest/doctest.h>

#include "../../data/folder.hpp"
#include "../../reference/differences.hpp"
#include "../../reference/values.hpp"
#include "../training.hpp"

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
  auto all = detail::on_host(owner);
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

  training<fused_update<Net>, double> other{testing::momentum, {.seed = 5}}; // another policy and element type
  CHECK(load_weights(other, path).is_all());
  const std::vector<double> wide = all_weights<double>(other);
  CHECK(std::vector<float>(wide.begin(), wide.end()) == all_weights<float>(train));

  const files::safetensors_file file(path);
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
  CHECK(files::safetensors_file(path).find("0.weight")->type == "F32");
  model<Net, batch<6>> wide{{.seed = 5}};
  CHECK(load_weights(wide, path).is_all());
  CHECK(all_weights<float>(wide) == all_weights<float>(train));
  CHECK(load_weights(other, path).is_all());
  const auto a = other.evaluate(s.x), b = train.evaluate(s.x);
  CHECK(std::equal(a.begin(), a.end(), b.begin(), b.end()));
}

TEST_CASE("safetensors: a const model is written, and a model that has answered answers with what it loads") {
  const folder here;
  const std::string path = (here.path / "net.safetensors").string();
  const samples s(6, 1);
  const auto check = [&]<class T>(std::type_identity<T>) {
    const model<Net, batch<6>, T> given{{.seed = 3}};
    model<Net, batch<6>, T> net{{.seed = 4}};
    const auto expected = given.evaluate(s.x), before = net.evaluate(s.x);
    CHECK(!std::equal(before.begin(), before.end(), expected.begin()));
    save_weights(given, path);
    CHECK(load_weights(net, path).is_all());
    const auto now = net.evaluate(s.x);
    CHECK(std::equal(now.begin(), now.end(), expected.begin(), expected.end()));
    CHECK(all_weights<float>(given) == all_weights<float>(net));
  };
  check(std::type_identity<float>{});
  check(std::type_identity<bfloat16>{});
}

TEST_CASE("safetensors: from the same weights twenty steps have PyTorch's losses") {
  const folder here;
  const std::string path = here.path / "torch.safetensors";
  using Small = Sequential<Linear<9, 16>, BatchNorm1d<16>, ReLU, Linear<16, 5>>;
  // A state_dict, as PyTorch names it.
  std::vector<std::vector<float>> numbers;
  std::vector<files::safetensors_source> all;
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
  files::write_safetensors(path, all);

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
                           "5.bias (7), found (4); see weights::partly, and weights_options for other names"));
  CHECK(all_weights<float>(other) == before);

  const types::loaded_weights some = load_weights(other, path, weights::partly);
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

TEST_CASE("safetensors: the statistics of a Standardize are in the file, after a Flatten of images in torch's order") {
  const folder here;
  const std::string path = here.path / "net.safetensors";
  using Scaled = Sequential<Input<1, 2, 2>, preprocess::Standardize<2>, Flatten, preprocess::Standardize<4>, Linear<4, classes>>;
  training<Scaled> train{testing::momentum, {.seed = 3}};
  preprocess::set_statistics(train, {{1, 2}, {3, 4}}, "0");
  preprocess::set_statistics(train, {{1, 2, 3, 4}, {5, 6, 7, 8}}, "2");
  save_weights(train, path);
  model<Scaled, batch<6>> net{{.seed = 4}};
  CHECK(load_weights(net, path).is_all());
  CHECK(all_weights<float>(net) == all_weights<float>(train));
  files::safetensors_file file(path);
  std::vector<float> mean(2), std_of_pixels(4);
  file.read(*file.find("0.mean"), std::span(mean));
  file.read(*file.find("2.std"), std::span(std_of_pixels));
  CHECK(mean == std::vector<float>{1, 2});
  CHECK(std_of_pixels == std::vector<float>{5, 7, 6, 8}); // both pixels of the first channel, then those of the second
}

TEST_CASE("safetensors: torch counts batches, which is no fault") {
  const folder here;
  const std::string path = here.path / "net.safetensors";
  const std::vector<float> ones(8, 1.0F);
  const std::vector<std::byte> count(8);
  const auto bytes = std::as_bytes(std::span<const float>(ones));
  files::write_safetensors(path, {{"0.weight", "F32", {8}, bytes},
                                  {"0.bias", "F32", {8}, bytes},
                                  {"0.running_mean", "F32", {8}, bytes},
                                  {"0.running_var", "F32", {8}, bytes},
                                  {"0.num_batches_tracked", "I64", {}, count}});
  model<Sequential<BatchNorm1d<8>>, batch<6>> net{};
  CHECK(load_weights(net, path).is_all());
  CHECK(net.buffer("0.running_mean")[3] == 1);
}

TEST_CASE("safetensors: the weight of a convolution is in the file in torch's order, and comes back from there") {
  const folder here;
  const std::string path = here.path / "net.safetensors";
  using Images = Sequential<Input<4, 5, 2>, Conv2d<2, 3, 3, kernel_width<2>>, ReLU, Conv2d<3, 6, 1, groups<3>>, Flatten,
                            Linear<48, classes>>;
  model<Images, batch<6>> net{{.seed = 3}};
  save_weights(net, path);
  files::safetensors_file file(path);
  CHECK(file.find("2.weight")->extents == std::vector<std::uint64_t>{6, 1, 1, 1});
  const files::safetensors_entry& entry = *file.find("0.weight");
  REQUIRE(entry.extents == std::vector<std::uint64_t>{3, 2, 3, 2}); // (out, in, height, width)
  std::vector<float> found(36);
  file.read(entry, std::span<float>(found));
  const auto own = net.parameter("0.weight"); // (out, height, width, in)
  for (std::size_t o = 0; o < 3; ++o)
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < 2; ++j)
        for (std::size_t c = 0; c < 2; ++c) CHECK(found[((o * 2 + c) * 3 + i) * 2 + j] == own[((o * 3 + i) * 2 + j) * 2 + c]);

  training<checkpoint<recompute_all, Images>, double> other{testing::momentum, {.seed = 4}}; // and another element type
  CHECK(load_weights(other, path).is_all());
  CHECK(all_weights<float>(other) == all_weights<float>(net));
  using Wider = Sequential<Input<4, 6, 2>, Conv2d<2, 3, 3, kernel_width<3>>, ReLU, Conv2d<3, 6, 1, groups<3>>, Flatten,
                           Linear<48, classes>>;
  model<Wider, batch<6>> wider{};
  CHECK(load_weights(wider, path, weights::partly).of_another_shape ==
        std::vector<std::string>{"0.weight (3, 2, 3, 3), found (3, 2, 3, 2)"});
}

TEST_CASE("safetensors: a tensor of integers is found before anything is taken, and partly leaves it out") {
  const folder here;
  const std::string path = here.path / "net.safetensors";
  using Small = Sequential<Linear<3, 2>, Linear<2, 2>>;
  const std::vector<float> numbers(6, 0.5F);
  const std::vector<std::int32_t> integers(6, 7);
  const auto floats = std::as_bytes(std::span<const float>(numbers));
  std::vector<files::safetensors_source> all{
      {"0.weight", "F32", {2, 3}, floats},
      {"0.bias", "F32", {2}, floats.first(8)},
      {"1.weight", "F32", {2, 2}, floats.first(16)},
      {"1.bias", "I32", {2}, std::as_bytes(std::span<const std::int32_t>(integers)).first(8)}};
  files::write_safetensors(path, all);
  model<Small, batch<6>> net{{.seed = 3}};
  const std::vector<float> before = all_weights<float>(net);
  const std::string said = testing::text_of([&] { load_weights(net, path); });
  CAPTURE(said);
  CHECK(testing::has(said, "nothing was taken from it; of another type: 1.bias is of I32"));
  CHECK(all_weights<float>(net) == before);

  const types::loaded_weights some = load_weights(net, path, weights::partly);
  CHECK(some.of_another_type == std::vector<std::string>{"1.bias is of I32"});
  CHECK(some.taken == std::vector<std::string>{"0.weight", "0.bias", "1.weight"});
  CHECK(net.parameter("1.weight")[3] == 0.5F);
  CHECK(net.parameter("1.bias")[1] == before.back());

  files::write_safetensors(path, {{"head.weight", "F32", {2, 3}, floats}});
  const std::string none = testing::text_of([&] { load_weights(net, path, weights::partly); });
  CHECK(testing::has(none, "has nothing that fits this network; missing: 0.weight, 0.bias, 1.weight, 1.bias; unexpected: "
                           "head.weight; see weights_options for other names"));
}

namespace {

// A state_dict of make.py, such as "flattened/before/": the tensors' names there, and their names in the file.
struct torch_state {
  std::vector<std::vector<double>> numbers;
  std::vector<files::safetensors_source> tensors;

  void add(const std::string& name, const std::string& called, std::vector<std::uint64_t> extents) {
    numbers.push_back(reference_values(name));
    tensors.push_back({called, "F64", std::move(extents), {}});
  }
  void write(const std::string& path) {
    for (std::size_t i = 0; i < tensors.size(); ++i) tensors[i].bytes = std::as_bytes(std::span<const double>(numbers[i]));
    files::write_safetensors(path, tensors);
  }
};

using Body = Sequential<Conv2d<2, 3, 3>, BatchNorm2d<3>, ReLU>;
template <class First>
using Flattened = Sequential<Input<6, 8, 2>, First, MaxPool2d<2>,
                             Concat<Sequential<Flatten>, Sequential<AdaptiveAvgPool2d<1>, Flatten>>, BatchNorm1d<21>, GELU,
                             Residual<LayerNorm<21>, Linear<21, 21>>, Repeat<2, Linear<21, 21>>, Sequential<Linear<21, 4>>>;

// The names of its modules, each with the one that it had before names were torch's.
const std::vector<std::pair<std::string, std::string>> modules{{"0.0", "1"},   {"0.1", "2"}, {"3", "6"},  {"5.0", "8.0"},
                                                               {"5.1", "8.1"}, {"6", "9"},   {"7", "10"}, {"8.0", "11"}};

torch_state flattened(const std::string& when, bool by_old_names = false) {
  torch_state out;
  for (const auto& [name, old] : modules)
    for (const char* part : {"weight", "bias", "running_mean", "running_var"}) {
      const bool is_batch_norm = name == "0.1" || name == "3";
      if (std::string(part).starts_with("running") && !is_batch_norm) continue;
      const std::uint64_t features = name.starts_with("0.") ? 3 : name == "8.0" ? 4 : 21;
      std::vector<std::uint64_t> extents{features};
      if (std::string(part) == "weight" && name == "0.0") extents = {3, 2, 3, 3};
      else if (std::string(part) == "weight" && !is_batch_norm && name != "5.0") extents = {features, 21};
      out.add("flattened/" + when + "/" + name + "." + part, (by_old_names ? old : name) + "." + part, std::move(extents));
    }
  return out;
}

} // namespace

TEST_CASE("safetensors: what stands behind a Flatten of images is PyTorch's, both ways") {
  const folder here;
  const std::string path = here.path / "torch.safetensors", back = here.path / "back.safetensors";
  flattened("before").write(path);
  trainer<Flattened<Body>, CrossEntropyLoss, SGD, batch<6>, double> train{SGD{.learning_rate = 0.05, .momentum = 0.9}};
  REQUIRE(load_weights(train, path).is_all());
  const auto x = reference_values("flattened/input");
  const auto y = reference_numbers<std::int32_t>("flattened/targets");
  const auto outputs = [&](auto& net) {
    const auto made = net.evaluate(x);
    return std::vector<double>(made.begin(), made.end());
  };
  CHECK(largest_difference(outputs(train), reference_values("flattened/before/output")) < 1e-13);
  for (int step = 0; step < 2; ++step) train.step(x, y);
  CHECK(largest_difference(outputs(train), reference_values("flattened/after/output")) < 1e-13);
  save_weights(train, back);
  files::safetensors_file file(back);
  torch_state expected = flattened("after");
  CHECK(file.entries().size() == expected.tensors.size());
  for (std::size_t i = 0; i < expected.tensors.size(); ++i) {
    CAPTURE(expected.tensors[i].name);
    const files::safetensors_entry* const e = file.find(expected.tensors[i].name);
    REQUIRE(e != nullptr);
    CHECK(e->extents == expected.tensors[i].extents);
    std::vector<double> found(expected.numbers[i].size());
    file.read(*e, std::span<double>(found));
    CHECK(largest_difference(found, expected.numbers[i]) < 1e-13);
  }

  // A frozen body has the same names.
  model<Flattened<frozen<Body>>, batch<6>, double> tuned;
  CHECK(load_weights(tuned, back).is_all());
  CHECK(outputs(tuned) == outputs(train));
  // So has the body alone, which is the part "0." of the whole.
  using Alone = Sequential<Input<6, 8, 2>, Conv2d<2, 3, 3>, BatchNorm2d<3>, ReLU>;
  model<Alone, batch<6>, double> body;
  CHECK(load_weights(body, back, {.from = "0."}).is_all());
  const std::string own = here.path / "body.safetensors";
  body.parameter("0.bias")[1] = 42;
  save_weights(body, own);
  CHECK(load_weights(tuned, own, {.to = "0."}).is_all());
  CHECK(tuned.parameter("0.0.bias")[1] == 42);
  CHECK(testing::has(testing::text_of([&] { load_weights(tuned, own); }), "unexpected: 0."));
}

TEST_CASE("safetensors: a file of an earlier version is taken by the names and in the order of then") {
  const folder here;
  const std::string path = here.path / "old.safetensors";
  model<Flattened<Body>, batch<6>, double> net{{.seed = 3}}, other{{.seed = 4}};
  // Written as it was then: images in torch's order, tensors after a Flatten as they are in memory.
  torch_state old = flattened("before", true);
  std::size_t next = 0;
  std::vector<std::vector<double>> numbers;
  auto all = detail::on_host(net);
  const auto write = [&](const auto& q) {
    numbers.emplace_back(q.numbers.begin(), q.numbers.end());
    old.tensors[next++] = {q.name, "F64", detail::extents_in_files(*q.facts), {}};
  };
  detail::file_bytes files;
  detail::for_all_weights(
      all,
      [&](const auto& q) {
        write(q);
        const auto bytes = files.of(q.numbers, *q.facts);
        std::memcpy(numbers.back().data(), bytes.data(), bytes.size());
      },
      detail::naming::as_before);
  REQUIRE(next == old.tensors.size());
  old.numbers = numbers;
  old.write(path);
  CHECK(files::safetensors_file(path).find("8.1.weight") != nullptr);
  CHECK(files::safetensors_file(path).find("11.bias") != nullptr);
  const types::loaded_weights found = load_weights(other, path);
  CHECK(found.is_all());
  CHECK(found.has_old_names);
  CHECK(testing::has(found.text(), "its names are those of an earlier version"));
  CHECK(all_weights<double>(other) == all_weights<double>(net));
  save_weights(net, path);
  CHECK_FALSE(load_weights(other, path).has_old_names);
}

TEST_CASE("safetensors: a ResNet with torchvision's names is taken by a few pairs of them") {
  const folder here;
  const std::string path = here.path / "resnet.safetensors";
  using Stem = Sequential<Conv2d<3, 4, 3, padding<1>, no_bias>, BatchNorm2d<4>, ReLU, MaxPool2d<2>>;
  using Same = Sequential<
      Residual<Conv2d<4, 4, 3, padding<1>, no_bias>, BatchNorm2d<4>, ReLU, Conv2d<4, 4, 3, padding<1>, no_bias>, BatchNorm2d<4>>,
      ReLU>;
  using Down = Sequential<
      Residual<shortcut<Conv2d<4, 6, 1, stride<2>, no_bias>, BatchNorm2d<6>>, Conv2d<4, 6, 3, stride<2>, padding<1>, no_bias>,
               BatchNorm2d<6>, ReLU, Conv2d<6, 6, 3, padding<1>, no_bias>, BatchNorm2d<6>>,
      ReLU>;
  using ResNet =
      Sequential<Input<8, 8, 3>, Stem, Sequential<Same, Same>, Sequential<Down>, AdaptiveAvgPool2d<1>, Flatten, Linear<6, 5>>;
  // torchvision's names, each with the shape of its weight.
  std::vector<std::pair<std::string, std::vector<std::uint64_t>>> names{{"conv1", {4, 3, 3, 3}}, {"bn1", {4}}};
  for (const std::string block : {"layer1.0.", "layer1.1."})
    for (const std::string n : {"1", "2"})
      names.insert(names.end(), {{block + "conv" + n, {4, 4, 3, 3}}, {block + "bn" + n, {4}}});
  names.insert(names.end(), {{"layer2.0.conv1", {6, 4, 3, 3}},
                             {"layer2.0.bn1", {6}},
                             {"layer2.0.conv2", {6, 6, 3, 3}},
                             {"layer2.0.bn2", {6}},
                             {"layer2.0.downsample.0", {6, 4, 1, 1}},
                             {"layer2.0.downsample.1", {6}},
                             {"fc", {5, 6}}});
  const std::vector<std::byte> bytes(4 * 4096);
  std::vector<files::safetensors_source> all;
  const auto add = [&](const std::string& name, const std::vector<std::uint64_t>& extents) {
    std::uint64_t size = 4;
    for (const std::uint64_t e : extents) size *= e;
    all.push_back({"module." + name, "F32", extents, std::span(bytes).first(size)});
  };
  for (const auto& [name, extents] : names) {
    add(name + ".weight", extents);
    if (extents.size() == 1)
      for (const char* part : {".bias", ".running_mean", ".running_var"}) add(name + part, extents);
  }
  add("fc.bias", {5});
  files::write_safetensors(path, all);
  model<ResNet, batch<2>> net;
  const types::weights_options torchvision{.from = "module.",
                                           .rename = {{"conv1", "0.0"},
                                                      {"bn1", "0.1"},
                                                      {"fc", "5"},
                                                      {"layer1.*.conv1", "1.*.0.0"},
                                                      {"layer1.*.bn1", "1.*.0.1"},
                                                      {"layer1.*.conv2", "1.*.0.3"},
                                                      {"layer1.*.bn2", "1.*.0.4"},
                                                      {"layer*.0.downsample", "*.0.0.0"},
                                                      {"layer*.0.conv1", "*.0.0.1.0"},
                                                      {"layer*.0.bn1", "*.0.0.1.1"},
                                                      {"layer*.0.conv2", "*.0.0.1.3"},
                                                      {"layer*.0.bn2", "*.0.0.1.4"}}};
  const types::loaded_weights found = load_weights(net, path, torchvision);
  CHECK(found.is_all());
  CHECK(found.taken.size() == all.size());
  for (const float x : all_weights<float>(net)) CHECK(x == 0);

  // Errors name a missing parameter as the network does.
  all[0].name = "module.conv2.weight";
  files::write_safetensors(path, all);
  CHECK(testing::has(testing::text_of([&] { load_weights(net, path, torchvision); }),
                     "missing: 0.0.weight; unexpected: conv2.weight; see weights::partly"));
  types::weights_options twice = torchvision;
  twice.rename[1].second = "5";
  CHECK(testing::has(testing::text_of([&] { load_weights(net, path, twice); }), "are both '5."));
}

TEST_CASE("safetensors: both names of a tied weight, or either, and a matrix that lies the other way round") {
  const folder here;
  const std::string path = here.path / "tied.safetensors";
  using Table = Embedding<5, 3>;
  using Net2 = Sequential<Inputs<integers<2>>, Table, Tied<Linear<3, 5, false>, Table>>;
  std::vector<float> numbers(15), others(15, 1.0F), matrix(15);
  std::iota(numbers.begin(), numbers.end(), 1.0F);
  for (std::size_t r = 0; r < 5; ++r)
    for (std::size_t c = 0; c < 3; ++c) matrix[c * 5 + r] = numbers[r * 3 + c];
  const auto bytes = [](const std::vector<float>& of) { return std::as_bytes(std::span<const float>(of)); };
  const auto holds = [&](const std::vector<files::safetensors_source>& all, const types::weights_options& options = {}) {
    files::write_safetensors(path, all);
    model<Net2, batch<2>> net{{.seed = 3}};
    REQUIRE(load_weights(net, path, options).is_all());
    CHECK(all_weights<float>(net) == numbers);
  };
  const files::safetensors_source first{"0.weight", "F32", {5, 3}, bytes(numbers)},
      second{"1.weight", "F32", {5, 3}, bytes(numbers)};
  holds({first});
  holds({second});
  holds({first, second});
  holds({{"0.weight", "F32", {3, 5}, bytes(matrix)}}, {.transposed = {"0.weight"}});
  files::write_safetensors(path, {first, {"1.weight", "F32", {5, 3}, bytes(others)}});
  model<Net2, batch<2>> net{};
  CHECK(testing::has(testing::text_of([&] { load_weights(net, path); }),
                     "unexpected: 1.weight (tied to 0.weight, and has other numbers)"));
}

} // namespace safetensors_tests
