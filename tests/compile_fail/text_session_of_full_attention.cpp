// SPDX-License-Identifier: MIT
// A text is read by a network whose tokens look at later ones, as BERT's do.
// expect: error: .*text::session: each token may look at itself and at earlier ones only
// expect: joins_tokens<.*core<4
#include <cairn/layer/embedding.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/net/multihead_attention.hpp>
#include <cairn/train/model.hpp>
#include <cairn/train/text/text_session.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using looks = MultiheadAttention<16, 4, attention::causal>;
#else
using looks = MultiheadAttention<16, 4>;
#endif
using net = Sequential<Inputs<integers<8>>, Embedding<9, 16>, looks, Linear<16, 9>>;

void read(const model<net, batch<1>>& trained, const int* tokens) {
  text::session own{trained};
  own.take({tokens, 3});
}
