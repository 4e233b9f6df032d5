// SPDX-License-Identifier: MIT
// under the thread sanitizer
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <cairn/layer/conv2d.hpp>
#include <cairn/layer/embedding.hpp>
#include <cairn/layer/flatten.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/layer_norm.hpp>
#include <cairn/layer/tanh.hpp>
#include <cairn/layer/tied.hpp>
#include <cairn/net/frozen.hpp>
#include <cairn/net/multihead_attention.hpp>
#include <cairn/net/residual.hpp>
#include <cairn/ops/matmul/packed_weight.hpp>
#include <cairn/train/fixed_session.hpp>
#include <cairn/train/model.hpp>
#include <cairn/train/packed_weights.hpp>
#include <cairn/train/session.hpp>

#include "at_once.hpp"
#include "training.hpp"

namespace packed_weights_tests {

using namespace cairn;
using testing::copy_of;
using testing::features, testing::classes;
using testing::samples;

namespace {

const bool are_read = detail::reads_packed_weights(detail::widest_instruction_set());

// Says of the last call whether it had a packed weight, and computes what the layer computes.
template <class Layer>
struct Watched : Layer {
  static inline std::atomic<bool> had{false};

  static void forward(auto& queue, const auto& call) {
    had = call.packed.replaces(call.parameters[0]);
    Layer::forward(queue, call);
  }
};
// A user's own layer: a Linear whose weight is twice the parameter.
struct Doubled : Linear<features, classes, false> {
  template <class Call>
  static void forward(auto& queue, const Call& call) {
    std::vector<float> twice(call.parameters[0], call.parameters[0] + features * classes);
    for (float& w : twice) w *= 2;
    const std::array<std::size_t, 1> offsets{0};
    Call own = call;
    own.parameters = {reinterpret_cast<const std::byte*>(twice.data()), offsets.data()};
    Linear<features, classes, false>::forward(queue, own);
  }
};

// The outputs of a model that packs its weights, and of one that does not, for several numbers of rows.
template <class Net, class T = float, class Inputs>
std::size_t differences(const Inputs& inputs, std::size_t size, std::size_t threads = 1) {
  const model<Net, batch<70>, T> packs{{.seed = 3, .threads = threads}};
  const model<Net, batch<70>, T> does_not{{.seed = 3, .threads = 1, .packs_weights = false}};
  CHECK(does_not.inside().prepared_bytes() == 0);
  session own{packs};
  std::size_t different = 0;
  for (const std::size_t rows : {1U, 2U, 8U, 64U, 65U, 70U}) {
    const auto some = std::span(inputs).first(rows * size);
    const auto expected = copy_of(does_not.evaluate(some));
    different += copy_of(packs.evaluate(some)) != expected;
    different += copy_of(own.evaluate(some)) != expected;
  }
  return different;
}

using Words = Sequential<Inputs<integers<6>>, Embedding<40, 16>, MultiheadAttention<16, 2, attention::causal>,
                         Residual<LayerNorm<16>, Linear<16, 64>, ReLU, Linear<64, 16>>, Tied<Linear<16, 40>, Embedding<40, 16>>>;

} // namespace

TEST_CASE("packed_weights: a model that packs gives the bits of one that does not") {
  const samples<> s(70, 1);
  CHECK(differences<testing::Net>(s.x, features) == 0);
  CHECK(differences<Sequential<Linear<features, 1>>>(s.x, features) == 0);
  CHECK(differences<Sequential<frozen<Linear<features, 8>>, Linear<8, classes>>>(s.x, features) == 0);
  CHECK(differences<Sequential<Linear<features, 1100>, ReLU, Linear<1100, classes>>>(s.x, features) == 0);
  const samples<double> doubles(70, 1);
  CHECK(differences<testing::Net, double>(doubles.x, features) == 0);
  std::vector<std::int32_t> words(70 * 6);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = static_cast<std::int32_t>(7 * i % 40);
  CHECK(differences<Words>(words, 6) == 0);
}

namespace {

// Layers of images: a product, strides, paddings and dilations, groups, one inside a block, one frozen.
using Images =
    Sequential<Input<8, 7, 3>, Conv2d<3, 20, 3, padding<1>>, ReLU,
               Residual<Conv2d<20, 50, 1>, ReLU, Conv2d<50, 20, 3, padding<1>>>,
               Conv2d<20, 12, 3, stride<2>, padding<2, 1>, no_bias>, frozen<Conv2d<12, 12, 3, padding<2>, dilation<2>>>,
               Conv2d<12, 18, 2, groups<2>>, Conv2d<18, 18, 3, padding<1>, groups<18>>, Flatten, Linear<4 * 3 * 18, classes>>;
constexpr std::size_t of_image = 8 * 7 * 3;

template <class T = float>
std::vector<T> images(std::size_t count) {
  std::vector<T> x(count * of_image);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 2 * ops::random_uniform<T>({.seed = 9, .position = 1}, i) - 1;
  return x;
}

} // namespace

TEST_CASE("packed_weights: those of convolutions give the same bits, for every number of images and threads") {
  for (const std::size_t threads : {1U, 3U}) {
    CHECK(differences<Images>(images(70), of_image, threads) == 0);
    CHECK(differences<Images, double>(images<double>(70), of_image, threads) == 0);
  }
}

TEST_CASE("packed_weights: a convolution reads those of the weights that the model has now") {
  using Layer = Watched<Conv2d<3, 20, 3, padding<1>>>;
  using Grouped = Watched<Conv2d<20, 6, 3, groups<2>>>;
  using Net = Sequential<Input<8, 7, 3>, Layer, Grouped, Flatten, Linear<6 * 5 * 6, classes>>;
  const auto x = images(2);
  model<Net, batch<2>> net{{.seed = 3}}, other{{.seed = 4}};
  const model<Net, batch<2>> unpacked{{.seed = 4, .packs_weights = false}};
  const auto of = [&x](const auto& asked) { return copy_of(asked.evaluate(x)); };
  const auto before = of(std::as_const(net));
  CHECK(Layer::had.load() == are_read);
  CHECK(!Grouped::had.load());
  net.copy_parameters(other);
  CHECK(of(std::as_const(net)) == of(unpacked));
  CHECK(of(std::as_const(net)) != before);
  session own{net};
  for (float& w : net.parameters()) w *= 2; // from here on, the program may write at any time
  for (float& w : other.parameters()) w *= 2;
  CHECK(of(std::as_const(net)) == of(std::as_const(other)));
  CHECK(copy_of(own.evaluate(x)) == of(std::as_const(other)));
  CHECK(!Layer::had.load());
}

TEST_CASE("packed_weights: those of products, where they lie among the parameters, and a tied one at its owner's place") {
  using Plan = blueprint_of<Words, 2>;
  std::vector<std::pair<std::size_t, std::size_t>> found; // rows and columns
  std::vector<std::size_t> places;
  detail::for_each_packed_weight(detail::evaluation_of<Plan, float, cpu::queue>, ops::weight_format::own, 0,
                                 [&](std::size_t begin, const detail::matrix<const float>& weight) {
                                   found.emplace_back(weight.rows, weight.columns);
                                   places.push_back(begin);
                                 });
  CHECK(found == std::vector<std::pair<std::size_t, std::size_t>>{{48, 16}, {16, 16}, {64, 16}, {16, 64}, {40, 16}});
  const model<Words, batch<2>> net;
  std::vector<std::pair<std::string, std::size_t>> named;
  const float* const first = net.parameters().data();
  net.for_each([&](const auto& q) { named.emplace_back(q.name, static_cast<std::size_t>(q.numbers.data() - first)); });
  const auto place = [&](const std::string& name) {
    for (const auto& [own, at] : named)
      if (own == name) return at;
    return std::size_t{0} - 1;
  };
  CHECK(places[0] == place("1.in_proj_weight"));
  CHECK(places[4] == place("0.weight"));
}

TEST_CASE("packed_weights: they are read for few rows, and are those of the weights that the model has now") {
  using Layer = Watched<Linear<features, classes>>;
  using Net = Sequential<Layer>;
  const samples<> s(70, 1);
  model<Net, batch<70>> net{{.seed = 3}}, other{{.seed = 4}};
  const model<Net, batch<70>> unpacked{{.seed = 3, .packs_weights = false}};
  const auto has_packed = [](const auto& asked, std::span<const float> x) {
    static_cast<void>(asked.evaluate(x));
    return Layer::had.load();
  };
  const auto one = std::span<const float>(s.x).first(features);
  CHECK(has_packed(net, one) == are_read);
  CHECK(!has_packed(unpacked, one));
  CHECK(!has_packed(net, s.x));
  net.copy_parameters(other);
  CHECK(copy_of(std::as_const(net).evaluate(one)) == copy_of(std::as_const(other).evaluate(one)));
  CHECK(has_packed(net, one) == are_read);
  for (float& x : net.parameters()) x = 0; // from here on, the program may write at any time
  CHECK(!has_packed(net, one));
  CHECK(copy_of(std::as_const(net).evaluate(one)) == std::vector<float>(classes, 0));
}

TEST_CASE("packed_weights: a layer that computes with other weights than its parameters gets none of these") {
  const samples<> s(3, 1);
  CHECK(differences<Sequential<Doubled>>(samples<>(70, 1).x, features) == 0);
  const model<Sequential<Doubled>, batch<3>> twice{{.seed = 3}};
  const model<Sequential<Linear<features, classes, false>>, batch<3>> once{{.seed = 3}};
  const auto a = copy_of(twice.evaluate(s.x)), b = copy_of(once.evaluate(s.x));
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i] == 2 * b[i]);
}

TEST_CASE("packed_weights: threads that evaluate first pack once, and a session has them from its constructor on") {
  using Net = Sequential<Linear<features, 300>, ReLU, Linear<300, classes>>;
  const samples<> s(5, 1);
  for (std::uint32_t round = 0; round < 20; ++round) {
    const model<Net, batch<5>> net{{.seed = round, .threads = 1}};
    const model<Net, batch<5>> expected{{.seed = round, .threads = 1, .packs_weights = false}};
    const auto right = copy_of(expected.evaluate(s.x));
    std::atomic<int> wrong{0};
    testing::on_threads(3, [&](std::size_t thread) {
      if (thread == 0) wrong += copy_of(net.evaluate(s.x)) != right;
      else wrong += copy_of(session{net}.evaluate(s.x)) != right;
    });
    CHECK(wrong == 0);
  }
}

namespace {

using ops::weight_format;

using Deep = Sequential<Linear<features, 130>, ReLU, Residual<LayerNorm<130>, Linear<130, 70>, Tanh, Linear<70, 130>>,
                        Linear<130, classes, false>>;
using Texts = Sequential<Inputs<integers<6>>, Embedding<40, 16>, MultiheadAttention<16, 2, attention::causal>, Linear<16, 40>>;

// Whether a and b are the same bits. A BLAS, which multiplies where Cairn's kernels are slower, adds in an order of its own: there
// they are only near.
bool are_same(const std::vector<float>& a, const std::vector<float>& b) {
  if (!CAIRN_WITH_BLAS || are_read) return a == b;
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](float x, float y) { return std::abs(x - y) < 1e-5F; });
}

// The same for a model whose weights are packed in these numbers and for another model, in the ways in which a model is asked.
template <class Net, class Other, class Inputs>
std::size_t differences_from(weight_format format, const Other& other, const Inputs& inputs, std::size_t size) {
  const model<Net, batch<70>> net{{.seed = 3, .threads = 2, .weights = format}};
  session own{net};
  std::size_t different = 0;
  for (const std::size_t rows : {1U, 2U, 8U, 65U, 70U}) {
    const auto some = std::span(inputs).first(rows * size);
    const auto expected = copy_of(other.evaluate(some));
    different += are_same(copy_of(net.evaluate(some)), expected) ? 0 : 1;
    different += are_same(copy_of(own.evaluate(some)), expected) ? 0 : 1;
  }
  return different;
}

} // namespace

TEST_CASE("packed_weights: weights of bfloat16 give the bits of a network whose weights were rounded") {
  const samples<> s(70, 1);
  model<Deep, batch<70>> rounded{{.seed = 3}};
  rounded.for_each([](const auto& q) {
    if (q.name.ends_with("weight") && q.name != "2.0.weight")
      for (float& w : q.numbers) w = static_cast<float>(bfloat16(w));
  });
  CHECK(differences_from<Deep>(weight_format::bfloat16, rounded, s.x, features) == 0);
  const model<Deep, batch<70>> plain{{.seed = 3}};
  CHECK(differences_from<Deep>(weight_format::bfloat16, plain, s.x, features) > 0);

  std::vector<std::int32_t> words(70 * 6);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = static_cast<std::int32_t>(7 * i % 40);
  model<Texts, batch<70>> texts{{.seed = 3}};
  texts.for_each([](const auto& q) {
    if (q.name.ends_with("weight") && q.name != "0.weight")
      for (float& w : q.numbers) w = static_cast<float>(bfloat16(w));
  });
  CHECK(differences_from<Texts>(weight_format::bfloat16, texts, words, 6) == 0);
}

TEST_CASE("packed_weights: a convolution reads its own weights where those of the products have fewer bytes") {
  const auto x = images(70);
  const weight_format format = weight_format::bfloat16;
  model<Images, batch<70>> rounded{{.seed = 3}};
  rounded.for_each([](const auto& q) {
    if (q.name == "8.weight")
      for (float& w : q.numbers) w = static_cast<float>(bfloat16(w));
  });
  CHECK(differences_from<Images>(format, rounded, x, of_image) == 0);
  const model<Images, batch<70>> alone{{.seed = 3, .threads = 1, .weights = weight_format::int8}};
  CHECK(differences_from<Images>(weight_format::int8, alone, x, of_image) == 0);
  const std::size_t pairs = 4 * classes * (4 * 3 * 18 / 2);
  CHECK(model<Images, batch<70>>{{.weights = format}}.inside().prepared_bytes() == (pairs + 63) / 64 * 64);
  // Without products there is nothing in fewer bytes.
  using Layer = Watched<Conv2d<3, 20, 3>>;
  using Pixels = Sequential<Input<8, 7, 3>, Layer>;
  CHECK(model<Pixels, batch<2>>{{.weights = format}}.inside().prepared_bytes() == 0);
  const model<Pixels, batch<70>> plain{{.seed = 3}};
  CHECK(differences_from<Pixels>(format, plain, x, of_image) == 0);
  using Both = Sequential<Input<8, 7, 3>, Linear<3, 3>, Layer, Flatten, Linear<6 * 5 * 20, classes>>; // one on each side
  const model<Both, batch<2>> both{{.weights = format}};
  static_cast<void>(both.evaluate(std::span(x).first(2 * of_image)));
  CHECK(!Layer::had.load());
}

TEST_CASE("packed_weights: weights of one byte give the same bits for every number of rows, and are near those of float") {
  const samples<> s(70, 1);
  const model<Deep, batch<70>> alone{{.seed = 3, .threads = 1, .weights = weight_format::int8}};
  CHECK(differences_from<Deep>(weight_format::int8, alone, s.x, features) == 0);
  const auto all = copy_of(alone.evaluate(s.x));
  for (std::size_t i = 0; i < 70; ++i) {
    const auto one = copy_of(alone.evaluate(std::span(s.x).subspan(i * features, features)));
    CHECK(std::equal(one.begin(), one.end(), all.begin() + static_cast<std::ptrdiff_t>(i * classes)));
  }
  const model<Deep, batch<70>> plain{{.seed = 3}};
  const auto exact = copy_of(plain.evaluate(s.x));
  double squares = 0, errors = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    squares += static_cast<double>(exact[i]) * static_cast<double>(exact[i]);
    const double error = static_cast<double>(all[i]) - static_cast<double>(exact[i]);
    errors += error * error;
  }
  CHECK(errors > 0);
  CHECK(std::sqrt(errors / squares) < 0.02);
}

TEST_CASE("packed_weights: those of fewer bytes follow the weights, also where the program may write at any time") {
  const samples<> s(3, 1);
  for (const weight_format format : {weight_format::bfloat16, weight_format::int8}) {
    model<Deep, batch<3>> net{{.seed = 3, .weights = format}}, other{{.seed = 4, .weights = format}};
    net.copy_parameters(other);
    const auto right = copy_of(std::as_const(other).evaluate(s.x));
    CHECK(copy_of(std::as_const(net).evaluate(s.x)) == right);
    const std::span<float> open = net.parameters();
    const float before = open[0];
    open[0] = 100;
    session asks{net};
    const auto changed = copy_of(asks.evaluate(s.x));
    CHECK(changed != right);
    CHECK(copy_of(std::as_const(net).evaluate(s.x)) == changed);
    open[0] = before;
    CHECK(copy_of(asks.evaluate(s.x)) == right); // of its own, which have the same numbers
    std::array<float, 3 * features> x;
    std::copy(s.x.begin(), s.x.end(), x.begin());
    const auto fixed = std::make_unique<fixed_session<model<Deep, batch<3>>>>(net);
    CHECK(copy_of(fixed->evaluate(x)) == right);
  }
}

TEST_CASE("packed_weights: the bytes of each format, and what cannot have it") {
  const auto bytes = [](weight_format format) { return model<Deep, batch<3>>{{.weights = format}}.inside().prepared_bytes(); };
  const auto lines = [](std::size_t of) { return (of + 63) / 64 * 64; };
  const auto pairs = [&](std::size_t n, std::size_t k) { return lines(4 * n * ((k + 1) / 2)); };
  const auto ints = [&](std::size_t n, std::size_t k) { return lines((n + 15) / 16 * 16 * (8 + (k + 3) / 4 * 4)); };
  CHECK(bytes(weight_format::bfloat16) == pairs(130, features) + pairs(70, 130) + pairs(130, 70) + pairs(classes, 130));
  CHECK(bytes(weight_format::int8) == ints(130, features) + ints(70, 130) + ints(130, 70) + ints(classes, 130));

  const model<Deep, batch<3>> net{{.weights = weight_format::int8}}, without{{.packs_weights = false}};
  CHECK(net.device_bytes() == without.device_bytes() + bytes(weight_format::int8));

  using double_model = model<Deep, batch<3>, double>;
  CHECK_THROWS_WITH_AS((double_model{{.weights = weight_format::int8}}), doctest::Contains("only a model of float on a cpu"),
                       input_error);
  using float_model = model<Deep, batch<3>>;
  CHECK_THROWS_WITH_AS((float_model{{.packs_weights = false, .weights = weight_format::int8}}),
                       doctest::Contains("expected .packs_weights"), input_error);
}

TEST_CASE("packed_weights: rows too long for a queue's scratch memory stay float, and the longest are right") {
  constexpr std::size_t most = detail::weight_in_bytes::most_steps;
  const auto check = [](auto net, bool is_packed) {
    using Net = typename decltype(net)::type;
    const model<Net, batch<1>> narrow{{.seed = 3, .threads = 1, .weights = weight_format::int8}};
    const model<Net, batch<1>> plain{{.seed = 3, .threads = 1}};
    CHECK((narrow.inside().prepared_bytes() > 0) == is_packed);
    std::vector<float> x(decltype(plain)::plan::inputs[0].extents.size());
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7) - 3;
    const float found = narrow.evaluate(x).data()[0], right = plain.evaluate(x).data()[0];
    if (is_packed) CHECK(found == doctest::Approx(right).epsilon(0.05));
    else CHECK(found == right);
  };
  check(std::type_identity<Sequential<Linear<most, 1>>>{}, true);
  check(std::type_identity<Sequential<Linear<most + 4, 1>>>{}, false);
}

} // namespace packed_weights_tests
