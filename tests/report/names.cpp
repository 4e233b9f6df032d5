// SPDX-License-Identifier: MIT
#include <string>
#include <vector>

#include <cairn/layer/batch_norm.hpp>
#include <cairn/layer/conv2d.hpp>
#include <cairn/layer/dropout.hpp>
#include <cairn/layer/elu.hpp>
#include <cairn/layer/layer_norm.hpp>
#include <cairn/layer/leaky_relu.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/layer/rms_norm.hpp>
#include <cairn/layer/silu.hpp>
#include <cairn/layer/tanh_gelu.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/net/initialized.hpp>
#include <cairn/net/named_part.hpp>
#include <cairn/net/transformer_encoder_layer.hpp>
#include <cairn/plan/policies.hpp>
#include <cairn/plan/revolve.hpp>
#include <cairn/report/names.hpp>
#include <doctest/doctest.h>

namespace names_tests {

using namespace cairn;

TEST_CASE("names: a type is named as its user typed it") {
  CHECK(detail::typed_name("cairn::Linear<784ul, 512ul, true>") == "Linear<784, 512>");
  CHECK(detail::typed_name("cairn::Linear<784, 512, false>") == "Linear<784, 512, false>");
  CHECK(detail::typed_name("cairn::Residual<cairn::Linear<16UL, 16UL, true>, cairn::ReLU>") == "Residual<Linear<16, 16>, ReLU>");
  CHECK(detail::typed_name("A<cairn::B<C<1> > >") == "A<B<C<1>>>");
}

TEST_CASE("name_of: layers, policies and networks as they were typed") {
  CHECK(report::name_of<revolve<3>>() == "revolve<3>");
  CHECK(report::name_of<Linear<8, 16>>() == "Linear<8, 16>");
  CHECK(report::name_of<Residual<Linear<4, 4>, ReLU>>() == "Residual<Linear<4, 4>, ReLU>");
}

TEST_CASE("names: each stage has one") {
  using Net = Sequential<Linear<9, 16>, Repeat<2, Sequential<ReLU, Residual<Linear<16, 16>>>>>;
  CHECK(report::stage_names<blueprint_of<Net, 4>>() ==
        std::vector<std::string>{"Linear<9, 16>", "ReLU", "Residual<Linear<16, 16>>", "ReLU", "Residual<Linear<16, 16>>"});
}

TEST_CASE("names: a fraction is named as it was typed, as g++ shows it and as clang does") {
  for (const char* const shown : {"cairn::Dropout<cairn::fraction{10, 100}>", "cairn::Dropout<{10, 100}>"})
    CHECK(detail::typed_name(shown) == "Dropout<percent<10>>");
  for (const char* const shown : {"cairn::Dropout<cairn::fraction{1, 3}>", "cairn::Dropout<{1, 3}>"})
    CHECK(detail::typed_name(shown) == "Dropout<fraction{1, 3}>");
  CHECK(detail::typed_name("cairn::Dropout<{50, 100}>") == "Dropout<>"); // the default, which g++ leaves out
  for (const char* const shown : {"cairn::LeakyReLU<cairn::fraction{-1, 2}>", "cairn::LeakyReLU<{-1, 2}>"})
    CHECK(detail::typed_name(shown) == "LeakyReLU<fraction{-1, 2}>");
  CHECK(detail::typed_name("cairn::LayerNorm<64ul, {1, 100000}>") == "LayerNorm<64>");
  CHECK(detail::typed_name("{anonymous}::Own<(char)44>") == "{anonymous}::Own<(char)44>");
  CHECK(detail::typed_name("Own<{1, 2, 3}>") == "Own<{1, 2, 3}>"); // no fraction
}

TEST_CASE("names: one number for height and width, as it was typed") {
  CHECK(detail::typed_name("cairn::Conv2d<3ul, 8ul, 3ul, cairn::stride<2, 2>, cairn::padding<1, 0>, cairn::no_bias>") ==
        "Conv2d<3, 8, 3, stride<2>, padding<1, 0>, no_bias>");
  CHECK(detail::typed_name("cairn::Conv2d<3, 8, 3, cairn::dilation<12ul, 12ul> >") == "Conv2d<3, 8, 3, dilation<12>>");
  CHECK(detail::typed_name("Pool<stride<2, 22>, stride<22, 2>, my_stride<2, 2>>") ==
        "Pool<stride<2, 22>, stride<22, 2>, my_stride<2, 2>>");
  CHECK(report::name_of<Conv2d<3, 8, 3, stride<2>, padding<1, 0>>>() == "Conv2d<3, 8, 3, stride<2>, padding<1, 0>>");
}

TEST_CASE("names: a layer with a start, as it was typed") {
  using Small = normal_weights<percent<2>>;
  CHECK(report::name_of<initialized<Linear<4, 4>, Small>>() == "initialized<Linear<4, 4>, normal_weights<percent<2>>>");
  CHECK(report::name_of<initialized<Linear<4, 4>, normal_weights<percent<2>, 24>>>() ==
        "initialized<Linear<4, 4>, normal_weights<percent<2>, 24>>");
  CHECK(detail::typed_name("cairn::Sequential<cairn::detail::started<A, B>, my_started<C>, started<A, B> >") ==
        "Sequential<initialized<A, B>, my_started<C>, initialized<A, B>>");
  CHECK(detail::typed_name("cairn::Own<cairn::normal_weights<{2, 100}, 1ul>, 1>") == "Own<normal_weights<percent<2>>, 1>");
}

TEST_CASE("names: the part of a composite has its name in front") {
  using Part = detail::named_part<detail::norm1, LayerNorm<8>>;
  CHECK(report::name_of<Part>() == "norm1: LayerNorm<8>");
  CHECK(report::name_of<initialized<Part, normal_weights<percent<2>>>>() ==
        "norm1: initialized<LayerNorm<8>, normal_weights<percent<2>>>");
  CHECK(detail::typed_name("cairn::Pair<cairn::detail::named_part<cairn::detail::norm1, A<B> >, named_part<norm2, C<D> > >") ==
        "Pair<norm1: A<B>, norm2: C<D>>");
  CHECK(detail::typed_name("Pair<my_named_part<A, B>, named_part<C>>") == "Pair<my_named_part<A, B>, named_part<C>>");
}

TEST_CASE("names: those of this compiler's own types") {
  CHECK(report::name_of<BatchNorm2d<4>>() == "BatchNorm2d<4>");
  CHECK(report::name_of<Linear<784, 512>>() == "Linear<784, 512>");
  CHECK(report::name_of<every<2>>() == "every<2>");
  CHECK(report::name_of<Sequential<Dropout<>, Dropout<percent<10>>, Dropout<fraction{1, 3}>>>() ==
        "Sequential<Dropout<>, Dropout<percent<10>>, Dropout<fraction{1, 3}>>");
  CHECK(report::name_of<LeakyReLU<>>() == "LeakyReLU<>");
  CHECK(report::name_of<LeakyReLU<percent<20>>>() == "LeakyReLU<percent<20>>");
  CHECK(report::name_of<ELU<>>() == "ELU<>");
  CHECK(report::name_of<ELU<fraction{1, 2}>>() == "ELU<fraction{1, 2}>");
  CHECK(report::name_of<Sequential<SiLU, TanhGELU>>() == "Sequential<SiLU, TanhGELU>");
  CHECK(report::name_of<RMSNorm<64>>() == "RMSNorm<64>");
  CHECK(report::name_of<RMSNorm<64, fraction{1, 1000}>>() == "RMSNorm<64, fraction{1, 1000}>");
  CHECK(report::name_of<LayerNorm<64>>() == "LayerNorm<64>");
  CHECK(report::name_of<LayerNorm<64, fraction{1, 1000}>>() == "LayerNorm<64, fraction{1, 1000}>");
}

} // namespace names_tests
