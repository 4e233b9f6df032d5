// SPDX-License-Identifier: MIT
// The oracle of the executor. It runs the layers of a network one after another, each tensor in memory of its own, keeps
// everything, and takes the gradients. No plan, no schedule, no arena, nothing in place, nothing fused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "plain_parts.hpp"
#include "plain_steps.hpp"

namespace plain {

// Makes the pieces of a network type; `now` are the tensors that arrive at the next one.
template <class T>
struct maker {
  std::vector<cairn::tensor> now;
  cairn::tensor_list described{}; // the constants
  const values& constants;
  std::vector<leaf*> leaves{};

  template <class Part>
  piece make() {
    return make(static_cast<Part*>(nullptr));
  }
  template <class... Parts>
  piece make(cairn::Sequential<Parts...>*) {
    auto out = std::make_unique<one_after_another>();
    (out->parts.push_back(make<Parts>()), ...);
    return out;
  }
  template <std::size_t N, class Block>
  piece make(cairn::Repeat<N, Block>*) {
    auto out = std::make_unique<one_after_another>();
    for (std::size_t i = 0; i < N; ++i) out->parts.push_back(make<Block>());
    return out;
  }
  template <class... Parts>
  piece make(cairn::Residual<Parts...>*) {
    auto out = std::make_unique<with_input_added<T>>();
    out->inside = make<cairn::Sequential<Parts...>>();
    return out;
  }
  template <class... Shortcut, class... Parts>
  piece make(cairn::Residual<cairn::shortcut<Shortcut...>, Parts...>*) {
    const std::vector<cairn::tensor> arrives = now;
    auto out = std::make_unique<two_ways_added<T>>();
    out->first = make<cairn::Sequential<Shortcut...>>();
    now = arrives;
    out->second = make<cairn::Sequential<Parts...>>();
    return out;
  }
  template <class Policy, class Net>
  piece make(cairn::checkpoint<Policy, Net>*) {
    return make<Net>();
  }
  template <class Block>
  piece make(cairn::frozen<Block>*) {
    return make<Block>();
  }
  template <class F, class G>
  piece make(cairn::Gated<F, G>*) {
    const std::vector<cairn::tensor> arrives = now;
    auto out = std::make_unique<multiplied<T>>();
    now.assign(1, arrives[0]);
    out->first = make<F>();
    now.assign(1, arrives[0]);
    out->second = make<G>();
    now.insert(now.end(), arrives.begin() + 1, arrives.end());
    return out;
  }
  template <std::size_t Steps, class Cell, class Policy, bool LastOnly>
  piece make(cairn::Unroll<Steps, Cell, Policy, LastOnly>*) {
    using piece_type = in_steps<Cell, Steps, LastOnly, T>;
    auto out = std::make_unique<piece_type>();
    const std::vector<cairn::tensor> taken(Cell::inputs.begin(), Cell::inputs.end());
    const auto add = [&](leaf* layer) {
      layer->index = static_cast<std::uint32_t>(leaves.size());
      leaves.push_back(layer);
    };
    add(&out->shared);
    for (std::size_t t = 0; t < Steps; ++t) {
      out->steps.push_back(std::make_unique<one_layer<Cell, T>>(taken, described, constants));
      add(out->steps.back().get());
    }
    out->shared.parameter_list = out->steps[0]->parameter_list;
    out->shared.parameters = room_for<T>(out->shared.parameter_list, 1);
    out->shared.gradients = room_for<T>(out->shared.parameter_list, 1);
    cairn::shape made{Steps};
    for (std::size_t a = 0; a < taken[1].rank(); ++a) made.push_back(taken[1][a]);
    now[0] = LastOnly ? taken[1] : cairn::tensor(made);
    return out;
  }
  template <class... Branches>
  piece make(cairn::Concat<Branches...>*) {
    const std::vector<cairn::tensor> arrives = now;
    auto out = std::make_unique<side_by_side<T>>();
    std::size_t width = 0;
    const auto add = [&](auto* branch) {
      now.assign(1, arrives[0]);
      out->parts.push_back(make(branch));
      out->widths.push_back(now[0].last());
      width += now[0].last();
    };
    (add(static_cast<Branches*>(nullptr)), ...);
    const cairn::tensor whole = now[0].with_last(width);
    now = arrives;
    now[0] = whole;
    return out;
  }
  template <class... Parts>
  piece make_parts(cairn::detail::pack<Parts...>) {
    return make<cairn::Sequential<Parts...>>();
  }
  // A layer, a sequence of several, or a block that a test defines, which says itself how the oracle runs it.
  template <class L>
  piece make(L*) {
    if constexpr (requires { L::plain_piece(*this); }) {
      return L::plain_piece(*this);
    } else if constexpr (cairn::detail::made_of<L>::as == cairn::detail::part_kind::sequence) {
      return make_parts(typename cairn::detail::made_of<L>::parts{});
    } else {
      auto layer = std::make_unique<one_layer<L, T>>(now, described, constants);
      std::vector<cairn::tensor> after(layer->made.begin(), layer->made.end());
      after.insert(after.end(), now.begin() + static_cast<std::ptrdiff_t>(layer->taken.size()), now.end());
      now = std::move(after);
      layer->index = static_cast<std::uint32_t>(leaves.size());
      leaves.push_back(layer.get());
      return layer;
    }
  }
};

// A whole network.
struct network {
  piece whole;
  std::vector<leaf*> leaves;
  std::unique_ptr<values> constants; // to be set before a forward
  std::size_t outputs = 1;           // tensors of the last value

  // Returns the first output for these inputs. backward() takes the parameters' gradients from that of the first output.
  bytes forward(const walk& w, values inputs) {
    values made = whole->forward(w, std::move(inputs));
    outputs = made.size();
    return std::move(made[0]);
  }
  void backward(const walk& w, const bytes& output_gradient) {
    values gradients(outputs);
    gradients[0] = copy_of(output_gradient);
    whole->backward(w, std::move(gradients));
  }
};

template <class Net, class T>
network make_network(const cairn::detail::value_list& inputs, const cairn::tensor_list& constants) {
  network out;
  out.constants = std::make_unique<values>();
  maker<T> m{{inputs.begin(), inputs.end()}, constants, *out.constants};
  out.whole = m.template make<Net>();
  out.leaves = std::move(m.leaves);
  return out;
}

} // namespace plain
