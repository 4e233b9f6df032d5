// SPDX-License-Identifier: MIT
// A text::session of a network that takes no tokens.
// expect: error: .*text::session: expected a model<...> on a cpu whose network takes tokens and makes the scores of the next one
// expect: takes_no_text<model<
#include <cairn/layer/embedding.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/train/model.hpp>
#include <cairn/train/text/text_session.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using net = Sequential<Inputs<integers<8>>, Embedding<9, 16>, Linear<16, 9>>;
#else
using net = Sequential<Linear<8, 9>>;
#endif

void read(const model<net, batch<1>>& trained) {
  text::session own{trained};
  own.clear();
}
