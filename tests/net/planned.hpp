// SPDX-License-Identifier: MIT
// Runs one training step by the executor alone, and compares its bits with those of the oracle in plain.hpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <cairn/device/cpu.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/net/execute.hpp>
#include <cairn/net/program.hpp>
#include <cairn/ops/cpu.hpp>
#include <cairn/plan/policies.hpp>
#include <cairn/plan/revolve.hpp>
#include <cairn/train/parameters.hpp>
#include <doctest/doctest.h>

#include "../long_tests.hpp"
#include "plain.hpp"

namespace testing {

using queue = cairn::cpu::queue;

// A network under a policy: what is needed to run it at run time.
template <class T>
struct planned {
  const cairn::detail::program<T, queue>* code = nullptr;
  std::size_t arena = 0, bound = 0, enough = 0, evaluation_arena = 0, evaluation_bound = 0, parameters = 0, buffers = 0;
};

template <class Model, std::size_t Batch, class T>
planned<T> plan() {
  using b = cairn::blueprint_of<Model, Batch, T>;
  return {&cairn::detail::program_of<b, T, queue>,
          b::trained::memory.arena,
          b::trained::memory.bound,
          b::trained::enough,
          b::evaluated::memory.arena,
          b::evaluated::memory.bound,
          b::parameter_block,
          b::state_block};
}

// The results of a step.
template <class T>
struct made {
  std::vector<T> output, evaluated, gradients, buffers;
  bool operator==(const made&) const = default;
};

template <class T>
bool same_bits(const T* a, const T* b, std::size_t count) {
  return count == 0 || std::memcmp(a, b, count * sizeof(T)) == 0;
}
template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && same_bits(a.data(), b.data(), a.size());
}

// Elements in [-1, 1) that depend on (stream, index) only.
template <class T>
T number(std::uint32_t stream, std::size_t index) {
  return 2 * cairn::ops::random_uniform<T>({.seed = 99, .step = 1, .position = stream}, index) - 1;
}

// Takes the place of a loss: some derivative by the output, which depends on the output.
template <class T>
void derive(std::size_t count, const T* output, T* gradient) {
  for (std::size_t i = 0; i < count; ++i) gradient[i] = output[i] / 4 - number<T>(1000, i);
}

// The names of a network's parameters, in order.
template <class Network>
std::vector<std::string> names_of() {
  const auto plan = testing::plan<Network, 2, float>();
  std::vector<std::string> names;
  std::vector<float> parameters(plan.parameters), buffers(plan.buffers);
  cairn::detail::for_each_parameter(*plan.code, std::span<float>(parameters), std::span<float>(buffers),
                                    [&](const cairn::types::named_parameter<float>& p) { names.push_back(p.name); });
  return names;
}

inline constexpr std::uint64_t a_seed = 5, a_step = 3;

// The memory of one replica.
template <class T>
class replica {
public:
  using code = cairn::detail::program<T, queue>;

  explicit replica(const planned<T>& p)
      : plan_(p), parameters_(p.parameters), gradients_(p.parameters), buffers_(p.buffers),
        arena_(std::max(p.arena, p.evaluation_arena)) {
    std::fill_n(parameters_.data(), parameters_.size(), T{0});
    std::fill_n(gradients_.data(), gradients_.size(), T{0});
    std::fill_n(buffers_.data(), buffers_.size(), T{0});
    const auto fill = [](const cairn::types::named_parameter<T>& q) {
      for (std::size_t i = 0; i < q.numbers.size(); ++i) q.numbers[i] = number<T>(parameter_stream(q.leaf, q.index), i) / 2;
    };
    cairn::detail::for_each_parameter(*p.code, span(parameters_), span(buffers_), fill);
  }

  static std::uint32_t parameter_stream(std::uint32_t leaf, std::size_t index) {
    return 10 + leaf * 8 + static_cast<std::uint32_t>(index);
  }
  static std::vector<T> inputs(std::size_t count, std::uint32_t stream = 1) {
    std::vector<T> out(count);
    for (std::size_t i = 0; i < count; ++i) out[i] = number<T>(stream, i);
    return out;
  }
  // Makes up the inputs or the constants of `rows` samples, each tensor in memory of its own. Integers are small tokens.
  template <class List>
  static plain::values made_up(const List& list, std::size_t rows, std::uint32_t stream) {
    plain::values out = plain::room_for<T>(cairn::tensor_list(list), rows);
    for (std::size_t k = 0; k < list.size(); ++k) {
      const bool tokens = list[k].type == cairn::element::int32;
      for (std::size_t i = 0; i < list[k].elements(rows); ++i) {
        const T x = number<T>(stream + 100 * static_cast<std::uint32_t>(k), i);
        if (tokens) reinterpret_cast<std::int32_t*>(out[k].data())[i] = static_cast<std::int32_t>(8 * (x + 1));
        else reinterpret_cast<T*>(out[k].data())[i] = x;
      }
    }
    return out;
  }
  static plain::values inputs_of(const code& c, std::size_t rows, std::uint32_t stream) {
    return made_up(*c.inputs, rows, stream);
  }
  static plain::values constants_of(const code& c, std::size_t rows, std::uint32_t stream) {
    return made_up(*c.constants, rows, stream + 1000);
  }

  std::byte* arena() { return arena_.data(); }
  plain::buffer<T>& parameters() { return parameters_; }
  plain::buffer<T>& gradients() { return gradients_; }
  std::size_t finished() const { return finished_; }
  std::size_t times_finished() const { return times_finished_; } // in the last step
  std::size_t discards() const { return discards_; }
  // From now on, a step adds its gradients to those that are there.
  void accumulates() { sums_ = plain::buffer<T>(plan_.parameters); }

  // One forward and backward pass on `rows` samples. With `poison`, every place is filled with NaNs as soon as it is discarded.
  made<T> step(queue& q, std::size_t rows, bool poison, std::uint32_t stream = 1) {
    const code& c = *plan_.code;
    const lent x(c, rows, stream);
    const std::size_t out = (*c.outputs)[0].elements(rows);
    made<T> result;
    poison_ = poison;
    finished_ = times_finished_ = discards_ = 0;
    const cairn::detail::callbacks tell{.finished = {&on_finished, this}, .discarded = {&on_discarded, this}};
    cairn::detail::frame<T> f = lend(rows, x);
    f.tell = &tell;
    cairn::detail::run_forward(c, q, f);
    const cairn::detail::operands& loss = c.training.at[c.training.loss];
    T* const output = f.elements(loss.input);
    result.output.assign(output, output + out);
    if (T* const gradient = f.elements(loss.output_gradient); gradient != nullptr) derive(out, output, gradient);
    cairn::detail::run_backward(c, q, f);
    result.gradients.assign(gradients_.data(), gradients_.data() + plan_.parameters);
    result.buffers.assign(buffers_.data(), buffers_.data() + plan_.buffers);
    return result;
  }

  std::vector<T> evaluate(queue& q, std::size_t rows, std::uint32_t stream = 1) {
    const code& c = *plan_.code;
    const lent x(c, rows, stream);
    cairn::detail::frame<T> f = lend(rows, x);
    f.why = cairn::pass::evaluate;
    cairn::detail::run_forward(c, q, f);
    const T* const output = f.elements(c.evaluation.at[c.evaluation.loss].input);
    return {output, output + (*c.outputs)[0].elements(rows)};
  }

private:
  struct lent {
    lent(const code& c, std::size_t rows, std::uint32_t stream)
        : inputs(inputs_of(c, rows, stream)), constants(constants_of(c, rows, stream)) {}
    plain::values inputs, constants;
    plain::seen<T> inputs_seen{inputs}, constants_seen{constants};
  };
  static std::span<T> span(plain::buffer<T>& b) { return {b.data(), b.size()}; }

  cairn::detail::frame<T> lend(std::size_t rows, const lent& x) {
    cairn::detail::frame<T> f;
    f.rows = rows;
    f.inputs = x.inputs_seen;
    f.constants = x.constants_seen;
    f.workspace = arena_.data();
    f.parameters = parameters_.data();
    f.gradients = &place_;
    f.accumulation = sums_.size() > 0 ? sums_.data() : nullptr;
    f.buffers = buffers_.data();
    f.random = {.seed = a_seed, .step = a_step, .position = 0};
    return f;
  }

  // Finished gradients are always one span from the start.
  static void on_finished(void* self, std::size_t end) {
    auto& me = *static_cast<replica*>(self);
    CHECK(end > me.finished_);
    me.finished_ = end;
    ++me.times_finished_;
  }
  static void on_discarded(void* self, std::byte* first, std::size_t count) {
    auto& me = *static_cast<replica*>(self);
    ++me.discards_;
    CHECK(first >= me.arena_.data());
    CHECK(first + count <= me.arena_.data() + me.arena_.size());
    if (me.poison_) std::memset(first, 0xFF, count);
  }

  planned<T> plan_;
  plain::buffer<T> parameters_, gradients_, buffers_, sums_;
  cairn::detail::gradient_place<T> place_{gradients_.data(), 0, nullptr};
  plain::buffer<std::byte> arena_; // of exactly the planned size, all 0xFF at first
  bool poison_ = false;
  std::size_t finished_ = 0, times_finished_ = 0, discards_ = 0;
};

// The oracle's results of the same step, in the layout of the plan's flat buffers. Padding is zero.
template <class T>
made<T> expected_of(plain::network whole, const planned<T>& p, queue& q, std::size_t rows, std::uint32_t stream) {
  const auto begin = [](const plain::bytes& b) { return reinterpret_cast<T*>(b.data()); };
  for (auto* const l : whole.leaves)
    for (std::size_t k = 0; k < l->parameter_list.size(); ++k)
      for (std::size_t i = 0; i < l->parameter_list[k].size(); ++i)
        begin(l->parameters[k])[i] = number<T>(replica<T>::parameter_stream(l->index, k), i) / 2;

  *whole.constants = replica<T>::constants_of(*p.code, rows, stream);
  const auto inputs = [&] { return replica<T>::inputs_of(*p.code, rows, stream); };
  plain::walk w{q, rows, cairn::pass::forward, {.seed = a_seed, .step = a_step, .position = 0}};
  const plain::bytes output = whole.forward(w, inputs());
  const std::size_t count = output.size() / sizeof(T);
  plain::bytes gradient(output.size());
  derive(count, begin(output), begin(gradient));
  whole.backward(w, gradient);

  made<T> result;
  result.output.assign(begin(output), begin(output) + count);
  result.gradients.assign(p.parameters, T{0});
  result.buffers.assign(p.buffers, T{0});
  const std::span<T> gradients(result.gradients), buffers(result.buffers);
  const auto copy = [](const cairn::types::named_parameter<T>& to, const plain::bytes& from) {
    REQUIRE(to.numbers.size_bytes() == from.size());
    std::memcpy(to.numbers.data(), from.data(), from.size());
  };
  // Frozen parameters are among the buffers and keep their values.
  cairn::detail::for_each_parameter(*p.code, gradients, buffers, [&](const cairn::types::named_parameter<T>& named) {
    const plain::leaf& l = *whole.leaves.at(named.leaf);
    copy(named, (named.is_frozen ? l.parameters : l.gradients).at(named.index));
  });
  cairn::detail::for_each_buffer(*p.code, gradients, buffers, [&](const cairn::types::named_parameter<T>& named) {
    copy(named, whole.leaves.at(named.leaf)->buffers.at(named.index));
  });
  w.why = cairn::pass::evaluate;
  const plain::bytes evaluated = whole.forward(w, inputs());
  result.evaluated.assign(begin(evaluated), begin(evaluated) + count);
  return result;
}

template <class Net, class T>
made<T> expected(const planned<T>& p, queue& q, std::size_t rows, std::uint32_t stream = 1) {
  return expected_of(plain::make_network<Net, T>(*p.code->inputs, *p.code->constants), p, q, rows, stream);
}

// Compares one planned network with the oracle for this number of rows, with and without poison.
template <class T>
void compare(const planned<T>& p, queue& q, std::size_t rows, const made<T>& want) {
  CAPTURE(rows);
  replica<T> r(p);
  for (const bool poison : {true, false}) {
    CAPTURE(poison);
    std::memset(r.arena(), 0xFF, std::max(p.arena, p.evaluation_arena));
    const made<T> got = r.step(q, rows, poison);
    CHECK(same_bits(got.output, want.output));
    CHECK(same_bits(got.gradients, want.gradients));
    CHECK(r.finished() == p.parameters);
    if (!poison && p.buffers > 0) continue; // the second step goes on from the buffers of the first
    CHECK(same_bits(got.buffers, want.buffers));
    CHECK(same_bits(r.evaluate(q, rows), want.evaluated));
  }
}

// Returns the bytes of all 64-byte lines of the arena that a full step or evaluation writes to. The arena starts with a pattern.
template <class T>
std::size_t touched_bytes(const planned<T>& p, queue& q, bool training) {
  replica<T> r(p);
  const std::size_t size = std::max(p.arena, p.evaluation_arena);
  const auto pattern = [](std::size_t i) { return static_cast<std::byte>((i * 2654435761U) >> 13); };
  for (std::size_t i = 0; i < size; ++i) r.arena()[i] = pattern(i);
  if (training) r.step(q, p.code->batch, false);
  else r.evaluate(q, p.code->batch);
  std::size_t touched = 0;
  for (std::size_t line = 0; line < size; line += cairn::detail::alignment) {
    bool same = true;
    for (std::size_t i = line; i < line + cairn::detail::alignment; ++i) same = same && r.arena()[i] == pattern(i);
    touched += same ? 0 : cairn::detail::alignment;
  }
  return touched;
}

// `lost`: lines of the arena that buffers of odd sizes may leave unused.
template <class T>
void check_policy(const char* policy, const planned<T>& p, const std::vector<std::pair<std::size_t, made<T>>>& want,
                  std::size_t lost = 0) {
  INFO("policy ", std::string(policy));
  queue q{1};
  for (const auto& [rows, made] : want) compare(p, q, rows, made);
  CHECK(p.arena <= std::max(p.bound + p.bound / 50, p.enough) + lost * cairn::detail::alignment); // a budget needs no tighter one
  CHECK(p.evaluation_arena <= p.evaluation_bound + p.evaluation_bound / 50);
  CHECK(touched_bytes(p, q, true) == p.arena);
  CHECK(touched_bytes(p, q, false) == p.evaluation_arena);
}

// Checks one network under the policies that it was given, on a batch that is not full and on a full one.
template <class Model, std::size_t Batch, class T>
void check_step(std::size_t lost = 2) {
  queue q{1};
  const auto p = plan<Model, Batch, T>();
  std::vector<std::pair<std::size_t, made<T>>> want;
  for (const std::size_t rows : {Batch / 2 + 1, Batch}) want.emplace_back(rows, expected<Model, T>(p, q, rows));
  check_policy("as it is", p, want, lost);
}

// Checks the policies that check_network leaves to the long tests.
template <class Net, std::size_t Batch, class T>
void check_other_policies(const std::vector<std::pair<std::size_t, made<T>>>& want, std::size_t lost) {
  using b = cairn::blueprint_of<Net, Batch, T>;
  check_policy("every<1>", plan<cairn::checkpoint<cairn::every<1>, Net>, Batch, T>(), want, lost);
  check_policy("every<2>", plan<cairn::checkpoint<cairn::every<2>, Net>, Batch, T>(), want, lost);
  check_policy("every<3>", plan<cairn::checkpoint<cairn::every<3>, Net>, Batch, T>(), want, lost);
  check_policy("every<4>", plan<cairn::checkpoint<cairn::every<4>, Net>, Batch, T>(), want, lost);
  check_policy("recompute_cheap", plan<cairn::checkpoint<cairn::recompute_cheap, Net>, Batch, T>(), want, lost);
  if constexpr (b::size > 2) check_policy("at<1, 2>", plan<cairn::checkpoint<cairn::at<1, 2>, Net>, Batch, T>(), want, lost);
  check_policy("at<last>", plan<cairn::checkpoint<cairn::at<b::size - 1>, Net>, Batch, T>(), want, lost);
}

// Checks every policy on 1 row, on a batch that is not full and on a full one. To the compiler each is a network of its own:
// without the long tests there is one policy of each kind for float, and one for double.
template <class Net, std::size_t Batch, class T>
void check_network(std::size_t lost = 0) {
  queue q{1};
  const auto segments = plan<cairn::checkpoint<cairn::sqrt_n, Net>, Batch, T>();
  std::vector<std::pair<std::size_t, made<T>>> want;
  for (const std::size_t rows : {std::size_t{1}, Batch / 2 + 1, Batch})
    want.emplace_back(rows, expected<Net, T>(segments, q, rows));
  check_policy("sqrt_n", segments, want, lost);
  if constexpr (long_tests || std::is_same_v<T, float>) {
    check_policy("store_all", plan<cairn::checkpoint<cairn::store_all, Net>, Batch, T>(), want, lost);
    check_policy("recompute_all", plan<cairn::checkpoint<cairn::recompute_all, Net>, Batch, T>(), want, lost);
    check_policy("revolve<2>", plan<cairn::checkpoint<cairn::revolve<2>, Net>, Batch, T>(), want, lost);
  }
  if constexpr (long_tests) check_other_policies<Net, Batch, T>(want, lost);
}

} // namespace testing
