// SPDX-License-Identifier: MIT
#include <cairn/train/state/weights_to_load.hpp>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/layer/flatten.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/train/model.hpp>
#include <cairn/train/state/safetensors.hpp>
#include <cairn/train/trainer.hpp>
#include <doctest/doctest.h>

#include "../../data/folder.hpp"
#include "../apart_ops.hpp"
#include "../training.hpp"

namespace weights_to_load_tests {

using namespace cairn;
using testing::has;
using testing::text_of;

namespace {

// Its parameters: 0.weight (6, 2), 0.bias (6), 1.weight (2, 6), 1.bias (2).
using Net = Sequential<Linear<2, 6>, Linear<6, 2>>;

std::vector<float> from_to(int first, int last) {
  std::vector<float> out(static_cast<std::size_t>(last - first));
  std::iota(out.begin(), out.end(), static_cast<float>(first));
  return out;
}

struct file_of {
  folder here;
  std::string path = (here.path / "some.safetensors").string();
  std::vector<std::vector<float>> numbers{};
  std::vector<files::safetensors_source> tensors{};

  file_of& add(const std::string& name, std::vector<std::uint64_t> extents, std::vector<float> own) {
    numbers.push_back(std::move(own));
    tensors.push_back({name, "F32", std::move(extents), std::as_bytes(std::span<const float>(numbers.back()))});
    return *this;
  }
  const std::string& write() const {
    files::write_safetensors(path, tensors);
    return path;
  }
};

// 0.weight is rows of three tensors, 0.bias rows 1 to 6 of a longer one, 1.weight is transposed, and 1.bias has its own name.
const types::weights_options names{.sources = {{.parameter = "0.weight", .tensors = {"a", "b", "c"}},
                                               {.parameter = "0.bias", .tensors = {"long"}, .first_row = 1},
                                               {.parameter = "1.weight", .tensors = {"turned"}, .transposed = true}},
                                   .ignored = {"mask"}};
void fill(file_of& f) {
  f.add("a", {1, 2}, {1, 2}).add("b", {3, 2}, from_to(3, 9)).add("c", {2, 2}, from_to(9, 13));
  f.add("long", {8}, from_to(20, 28)).add("turned", {6, 2}, from_to(30, 42)).add("1.bias", {2}, {50, 51}).add("mask", {1}, {1});
}

template <class Owner>
std::vector<float> weights_of(Owner& owner) {
  std::vector<float> out;
  owner.for_each([&](const auto& q) { out.insert(out.end(), q.numbers.begin(), q.numbers.end()); });
  return out;
}
std::vector<float> expected() {
  std::vector<float> out = from_to(1, 13);
  for (const float x : from_to(21, 27)) out.push_back(x);
  for (const int x : {30, 32, 34, 36, 38, 40, 31, 33, 35, 37, 39, 41, 50, 51}) out.push_back(static_cast<float>(x));
  return out;
}

// Expects that nothing is taken, and returns the error.
template <class Network = Net>
std::string refused(const file_of& f, const types::weights_options& options = names) {
  model<Network, batch<2>> net{{.seed = 3}};
  const std::vector<float> before = weights_of(net);
  const std::string said = text_of([&] { load_weights(net, f.write(), options); });
  CHECK(weights_of(net) == before);
  return said;
}

} // namespace

TEST_CASE("weights_to_load: rows of several tensors, rows of a longer one, and a transposed matrix") {
  file_of f;
  fill(f);
  f.write();
  model<Net, batch<2>> net;
  const types::loaded_weights found = load_weights(net, f.path, names);
  CHECK(found.is_all());
  CHECK(found.taken == std::vector<std::string>{"0.weight", "0.bias", "1.weight", "1.bias"});
  CHECK(found.ignored == std::vector<std::string>{"mask"});
  CHECK(weights_of(net) == expected());

  // The options may be made from the names and extents of the network.
  const auto made = [](const std::vector<types::weight_shape>& all) {
    REQUIRE(all.size() == 4);
    CHECK(all[2].name == "1.weight");
    CHECK(all[2].extents == std::vector<std::uint64_t>{2, 6});
    CHECK(all[2].tied_to == "");
    return names;
  };
  model<Net, batch<2>> other;
  CHECK(load_weights(other, f.path, made).is_all());
  CHECK(weights_of(other) == expected());

  // On a device whose memory the host cannot read, and by every rank.
  trainer<Net, CrossEntropyLoss, SGD, batch<2>, float, apart::device> apart{SGD{}};
  CHECK(load_weights(apart, f.path, made).is_all());
  CHECK(weights_of(apart) == expected());
  threads{2}.run([&](threads::rank& rank) {
    trainer<ddp<Net, threads::rank>, CrossEntropyLoss, SGD, batch<2>> train{rank, SGD{}};
    CHECK(load_weights(train, f.path, names).is_all());
    CHECK(weights_of(train) == expected());
    const std::vector<float> x(4, 0.5F);
    const std::vector<int> y{0, 1};
    train.step(x, y); // the ranks compare their parameters
  });
}

TEST_CASE("weights_to_load: rows of one tensor go to several parameters, in a part of the network and of the file") {
  using Whole = Sequential<Sequential<Linear<1, 2>>, Sequential<Linear<2, 3>, Linear<3, 2>>>;
  file_of f;
  f.add("net.rows", {5, 2}, from_to(0, 10)).add("net.bias", {5}, from_to(10, 15)).add("net.back", {3, 2}, from_to(20, 26));
  f.add("other", {1}, {0});
  model<Whole, batch<2>> net{{.seed = 3}};
  const std::vector<float> before = weights_of(net);
  const types::weights_options options{.from = "net.",
                                       .to = "1.",
                                       .sources = {{.parameter = "1.0.weight", .tensors = {"rows"}, .first_row = 2},
                                                   {.parameter = "*.0.bias", .tensors = {"bias"}, .first_row = 0},
                                                   {.parameter = "1.1.weight", .tensors = {"back"}, .transposed = true},
                                                   {.parameter = "*.*.bias", .tensors = {"bias"}, .first_row = 3}}};
  CHECK(load_weights(net, f.write(), options).taken.size() == 4);
  std::vector<float> wanted(before.begin(), before.begin() + 4);
  for (const int x : {4, 5, 6, 7, 8, 9, 10, 11, 12, 20, 22, 24, 21, 23, 25, 13, 14}) wanted.push_back(static_cast<float>(x));
  CHECK(weights_of(net) == wanted);
  types::weights_options transposed = options;
  transposed.sources[0] = {.parameter = "1.0", .tensors = {"columns"}, .transposed = true, .first_row = 1};
  f.tensors[0].name = "net.columns.weight";
  f.tensors[0].extents = {2, 5};
  f.tensors[1].name = "net.columns.bias";
  transposed.sources.pop_back();
  f.add("net.1.bias", {2}, {1, 2});
  CHECK(load_weights(net, f.write(), transposed).is_all());
  const std::vector<float> columns{1, 6, 2, 7, 3, 8, 11, 12, 13};
  const std::vector<float> all = weights_of(net);
  CHECK(std::vector<float>(all.begin() + 4, all.begin() + 13) == columns);
}

TEST_CASE("weights_to_load: each difference is an error that says what was expected and found") {
  const auto changed = [](const auto& change) {
    file_of f;
    fill(f);
    change(f.tensors);
    return refused(f);
  };
  using tensors = std::vector<files::safetensors_source>;
  CHECK(has(
      changed([](tensors& all) { all[1].extents = {2, 3}; }),
      "nothing was taken from it; of another shape: 0.weight (6, 2), found a (1, 2) + b (2, 3) + c (2, 2); see weights::partly"));
  CHECK(has(changed([](tensors& all) {
              all[1].extents = {3, 1};
              all[1].bytes = all[1].bytes.first(12);
            }),
            "of another shape: 0.weight (6, 2), found a (1, 2) + b (3, 1) + c (2, 2); see"));
  CHECK(has(changed([](tensors& all) { all.erase(all.begin() + 1); }), "missing: 0.weight (from b); see"));
  CHECK(has(changed([](tensors& all) { all.erase(all.begin(), all.begin() + 2); }), "missing: 0.weight (from a + b); see"));
  CHECK(has(changed([](tensors& all) {
              all[2].extents = {1, 2};
              all[2].bytes = all[2].bytes.first(8);
            }),
            "of another shape: 0.weight (6, 2), found a (1, 2) + b (3, 2) + c (1, 2); see"));
  CHECK(has(changed([](tensors& all) {
              all[3].extents = {6};
              all[3].bytes = all[3].bytes.first(24);
            }),
            "of another shape: 0.bias (6) from row 1, found long (6); see"));
  CHECK(has(changed([](tensors& all) { all[3].extents = {8, 1}; }), "0.bias (6) from row 1, found long (8, 1); see"));
  CHECK(has(changed([](tensors& all) { all[4].extents = {2, 6}; }), "1.weight transposed (6, 2), found turned (2, 6); see"));
  CHECK(has(changed([](tensors& all) { all[5].extents = {2, 1}; }), "of another shape: 1.bias (2), found (2, 1); see"));
  CHECK(has(changed([](tensors& all) { all[2].type = "I32"; }), "of another type: 0.weight (from c) is of I32; see"));
  CHECK(has(changed([](tensors& all) { all[5].type = "I32"; }), "of another type: 1.bias is of I32; see"));
  CHECK(has(changed([](tensors& all) { all[6].name = "masks"; }), "unexpected: masks; see"));
  CHECK(has(changed([](tensors& all) { all[0].extents = {}, all[0].bytes = all[0].bytes.first(4); }), "found a () + b (3, 2)"));

  file_of f;
  fill(f);
  types::weights_options far = names;
  far.sources[1].first_row = static_cast<std::size_t>(-1);
  CHECK(has(refused(f, far), "from row 18446744073709551615, found long (8); see"));
  far.how = weights::partly;
  model<Net, batch<2>> net{{.seed = 3}};
  CHECK(load_weights(net, f.write(), far).taken == std::vector<std::string>{"0.weight", "1.weight", "1.bias"});
}

TEST_CASE("weights_to_load: sources that mean nothing are refused before the file is read") {
  const auto said = [](const types::weight_source& source) {
    model<Net, batch<2>> net;
    file_of f;
    f.add("a", {1}, {1});
    return text_of([&] { load_weights(net, f.write(), types::weights_options{.sources = {source}}); });
  };
  CHECK(said({.parameter = "", .tensors = {"a"}}) ==
        "load_weights: the source of '': expected the beginning of a parameter's name, found an empty text");
  CHECK(said({.parameter = "0"}) == "load_weights: the source of '0': expected the names of one tensor or more, found none");
  CHECK(said({.parameter = "0", .tensors = {"a", ""}}) ==
        "load_weights: the source of '0': expected the name of a tensor, found an empty text");
  CHECK(said({.parameter = "0", .tensors = {"a", "b"}, .first_row = 0}) ==
        "load_weights: the source of '0': expected one tensor to take rows from, found 2; leave out first_row");
  CHECK(said({.parameter = "*.weight", .tensors = {"*.*"}}) ==
        "load_weights: the source of '*.weight': '*.*' has more * than the parameter, which says what they stand for");
}

TEST_CASE("weights_to_load: of several sources the first that is there counts, and others must be equal") {
  types::weights_options several = names;
  several.sources.push_back({.parameter = "1.bias", .tensors = {"new"}});
  several.sources.push_back({.parameter = "1.bias", .tensors = {"old"}});
  const auto bias_of = [&](std::vector<std::pair<std::string, float>> biases) {
    file_of f;
    fill(f);
    f.tensors.erase(f.tensors.begin() + 5);
    for (auto& [name, number] : biases) f.add(name, {2}, {number, 1});
    model<Net, batch<2>> net;
    CHECK(load_weights(net, f.write(), several).is_all());
    return weights_of(net)[30];
  };
  CHECK(bias_of({{"new", 4.0F}}) == 4);
  CHECK(bias_of({{"old", 5.0F}}) == 5);
  CHECK(bias_of({{"old", 6.0F}, {"new", 6.0F}}) == 6);
  file_of f;
  fill(f);
  f.tensors.erase(f.tensors.begin() + 5);
  CHECK(has(refused(f, several), "missing: 1.bias (from new or old); see"));
  f.add("new", {2}, {1, 2}).add("old", {2}, {1, 3});
  CHECK(has(refused(f, several), "unexpected: old (another source of 1.bias, and has other numbers); see"));
  f.tensors.back().extents = {1, 2};
  CHECK(has(refused(f, several), "unexpected: old (another source of 1.bias, and has other numbers); see"));
  // Another parameter may use it.
  several.sources[1].tensors = {"old"};
  several.sources[1].first_row = {};
  f.tensors.back() = {"old", "F32", {6}, f.tensors[3].bytes.first(24)};
  several.ignored.push_back("long");
  model<Net, batch<2>> net;
  CHECK(load_weights(net, f.write(), several).is_all());
  CHECK(weights_of(net)[12] == 20);
}

TEST_CASE("weights_to_load: features after a Flatten of images are permuted in what several tensors give") {
  using Images = Sequential<Input<2, 1, 3>, Flatten, Linear<6, 2, false>>;
  file_of f;
  f.add("first", {1, 6}, from_to(0, 6)).add("second", {1, 6}, from_to(6, 12));
  model<Images, batch<2>> net;
  const types::weights_options rows{.sources = {{.parameter = "1.weight", .tensors = {"first", "second"}}}};
  CHECK(load_weights(net, f.write(), rows).is_all());
  CHECK(weights_of(net) == std::vector<float>{0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9, 11});
}

} // namespace weights_to_load_tests
