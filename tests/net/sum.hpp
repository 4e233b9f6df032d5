// SPDX-License-Identifier: MIT
// A block of two chains in one file: what net/made_of.hpp needs of a block, and how the oracle runs it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <cairn/net/made_of.hpp>
#include <cairn/net/pass_on.hpp>
#include <cairn/ops/add/add.hpp>
#include <cairn/plan/policies.hpp>

#include "plain.hpp"

namespace testing {

// Gives each of two pieces the first tensors of the value, and adds their first outputs.
template <class T>
struct sum_of_pieces : plain::part {
  std::size_t takes = 1;
  std::array<plain::piece, 2> parts{};
  std::array<std::size_t, 2> outputs{};

  plain::values forward(const plain::walk& w, plain::values all) override {
    plain::bytes first{};
    for (std::size_t c = 0; c < 2; ++c) {
      plain::values front;
      for (std::size_t k = 0; k < takes; ++k) front.push_back(plain::copy_of(all[k]));
      plain::values made = parts[c]->forward(w, std::move(front));
      outputs[c] = made.size();
      first = plain::sum<T>(first, made[0]);
    }
    return in_front_of_rest(std::move(first), std::move(all), takes);
  }
  plain::values backward(const plain::walk& w, plain::values all) override {
    plain::values sums(takes);
    for (std::size_t c = 2; c-- > 0;) {
      plain::values given(outputs[c]);
      given[0] = plain::copy_of(all[0]);
      const plain::values made = parts[c]->backward(w, std::move(given));
      for (std::size_t k = 0; k < takes; ++k) sums[k] = plain::sum<T>(sums[k], made[k]);
    }
    for (std::size_t k = 1; k < all.size(); ++k) sums.push_back(std::move(all[k]));
    return sums;
  }

private:
  static plain::values in_front_of_rest(plain::bytes first, plain::values all, std::size_t begin) {
    plain::values out;
    out.push_back(std::move(first));
    for (std::size_t k = begin; k < all.size(); ++k) out.push_back(std::move(all[k]));
    return out;
  }
};

// y = a(x) + b(x), where a and b are chains that take at most `Takes` tensors.
template <std::size_t Takes, class A, class B>
struct Sum {
  template <class T>
  static plain::piece plain_piece(plain::maker<T>& maker) {
    const std::vector<cairn::tensor> arrives = maker.now;
    const auto past = arrives.begin() + static_cast<std::ptrdiff_t>(Takes);
    auto out = std::make_unique<sum_of_pieces<T>>();
    out->takes = Takes;
    maker.now.assign(arrives.begin(), past);
    out->parts[0] = maker.template make<A>();
    maker.now.assign(arrives.begin(), past);
    out->parts[1] = maker.template make<B>();
    maker.now.resize(1);
    maker.now.insert(maker.now.end(), past, arrives.end());
    return out;
  }
};

} // namespace testing

template <std::size_t Takes, class A, class B>
struct cairn::detail::made_of<testing::Sum<Takes, A, B>> {
  static constexpr part_kind as = part_kind::block;
  static constexpr bool is_right = true;
  static constexpr std::string_view name = "Sum";
  using parts = pack<A, B>;
  using policy = store_all;
  template <class... Parts>
  using with = testing::Sum<Takes, Parts...>;

  static constexpr void join(const value_list& value, const description* chains, description& out) {
    const tensor& sum = chains[0].after[0];
    out.accepts = sum == chains[1].after[0] && sum.is_real();
    out.takes = std::max(chains[0].takes, chains[1].takes);
    out.after.push_back(sum);
    out.pass_by(value);
    out.depends[0] = static_cast<tensor_set>(chains[0].depends[0] | chains[1].depends[0]);
  }
  // Both ends of both chains have memory of their own, so that each chain can run where the other did.
  static constexpr chain_ends ends(const element_facts&, const element_facts&) {
    return {.output = false, .input_gradient = false};
  }
  static constexpr stage as_stage(const chain_facts* chains) {
    stage s = sum_of_chains({chains, 2});
    s.forward_flops += chains[0].output_elements;
    return s;
  }

  template <class Queue, class Chains, class Frame>
  static void forward(Queue& queue, const Chains& chains, const Frame& block, bool tape, bool output) {
    for (std::size_t c = 0; c < 2; ++c) {
      const auto made = forward_chain(queue, chains[c], chains[c].enter(block), tape, output);
      if (output) take(queue, block, (*chains[c].code->outputs)[0], c > 0, block.outputs, made, 0);
    }
  }
  template <class Queue, class Chains, class Frame>
  static void backward(Queue& queue, const Chains& chains, const Frame& block) {
    std::array<bool, most_tensors> there{};
    for (std::size_t c = 2; c-- > 0;) { // the gradients of the last chain's parameters come first
      const auto made = backward_chain(queue, chains[c], chains[c].enter(block));
      const value_list& list = *chains[c].code->inputs;
      for (std::size_t k = 0; k < list.size(); ++k)
        if (made[k] != nullptr && block.input_gradients[k] != nullptr) {
          take(queue, block, list[k], there[k], block.input_gradients, made, k);
          there[k] = true;
        }
    }
  }

private:
  // Writes a tensor to its place, or adds it to what is there.
  template <class Queue, class Frame, class Tensors>
  static void take(Queue& queue, const Frame& block, const tensor& what, bool adds, const Tensors& to, const Tensors& from,
                   std::size_t k) {
    if (adds) add(queue, what.elements(block.rows), to[k], to[k], from[k]);
    else pass_on(queue, block.rows, what, to, k, from, k);
  }
};
