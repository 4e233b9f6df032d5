// SPDX-License-Identifier: MIT
// A text, token by token, and the floor beside it: one core reads as many bytes as a token reads of weights.
#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include <cairn/core/random_normal.hpp>
#include <cairn/net/transformers.hpp>
#include <cairn/train/model.hpp>
#include <cairn/train/text/text_session.hpp>

#include "networks.hpp"

using namespace cairn;

namespace {

// Bytes of the weights that a token reads: all, but of a table of tokens or positions one row, unless the head has it too.
template <class Net>
struct read_by_token;
template <>
struct read_by_token<gpt::net> {
  static constexpr std::size_t bytes = 4 * (blueprint_of<gpt::net, 1>::parameters - (gpt::vocabulary + gpt::tokens) * gpt::width);
};
using gpt2 = transformers::gpt2<50257, 256>;
template <>
struct read_by_token<gpt2> {
  static constexpr std::size_t bytes = 4 * (blueprint_of<gpt2, 1>::parameters - 256 * 768);
};

template <class Step>
void time_steps(const request& asked, figures& out, Step step) {
  for (std::size_t i = 0; i < asked.warmup + asked.steps; ++i) {
    const auto start = std::chrono::steady_clock::now();
    step();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    if (i >= asked.warmup) out.milliseconds.push_back(took.count());
  }
}

// A step is a token: those of a whole window, from its first one on.
template <class Net>
bool run(const request& asked, const char* mode, const char* floor) {
  figures out;
  out.batch = 1;
  out.parameters = blueprint_of<Net, 1>::parameters;
  if (asked.mode == floor) {
    out.mode = floor;
    std::vector<std::uint64_t> weights(read_by_token<Net>::bytes / 8, 1);
    std::uint64_t sum = 0;
    time_steps(asked, out, [&] {
      std::array<std::uint64_t, 32> part{};
      std::size_t i = 0;
      for (; i + part.size() <= weights.size(); i += part.size())
        for (std::size_t k = 0; k < part.size(); ++k) part[k] += weights[i + k];
      for (const std::uint64_t p : part) sum += p;
    });
    out.last_loss = static_cast<double>(sum); // so that nothing is left out
    print(asked, out);
    return true;
  }
  if (asked.mode != mode) return false;
  out.mode = mode;
  using model_type = model<Net, batch<1>>;
  const auto net = std::make_unique<model_type>();
  text::session<model_type> own(*net, {.threads = asked.threads});
  std::size_t count = 0;
  time_steps(asked, out, [&] {
    if (own.size() == own.capacity) own.clear();
    const std::array<std::int32_t, 1> token{static_cast<std::int32_t>(++count * 7 % own.vocabulary)};
    out.last_loss = static_cast<double>(own.take(token)[0]);
  });
  print(asked, out);
  return true;
}

} // namespace

bool bench_generate(const request& asked) {
  return run<gpt::net>(asked, "characters", "characters_floor") || run<gpt2>(asked, "gpt2", "gpt2_floor");
}
