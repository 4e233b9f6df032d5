// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/random.hpp>
#include <cairn/core/tensors.hpp>
#include <cairn/layer/layer.hpp>
#include <cairn/net/program.hpp>
#include <cairn/ops/matmul/packed_weight.hpp>

namespace cairn::detail {

// A callback: a function and what it is called on. The default does nothing.
template <class... Facts>
struct callback {
  void (*function)(void* self, Facts...) = nullptr;
  void* self = nullptr;

  void operator()(Facts... facts) const {
    if (function != nullptr) function(self, facts...);
  }
};

// Callbacks of a running program, for ddp and for tests.
struct callbacks {
  // The gradients below `end` of the flat buffer are complete, and will not change any more in this step.
  callback<std::size_t> finished{};
  // These bytes of the arena will not be read again before they are overwritten.
  callback<std::byte*, std::size_t> discarded{};
};

// Finds a layer's sums over the ranks by its index among all layers; null if it has none.
struct sums_of_layers {
  const layer_sums* (*function)(const void* self, std::uint32_t leaf) = nullptr;
  const void* self = nullptr;

  const layer_sums* operator()(std::uint32_t leaf) const { return function(self, leaf); }
};

// The place to which gradients of parameters are written: those from `begin` on, in the flat order, lie one after another from
// `start` on. The owner may move it during backward, whenever a layer's gradients are finished.
template <class T>
struct gradient_place {
  T* start = nullptr;
  std::size_t begin = 0;
  const T* zeros = nullptr; // as many as the padding after a tensor may have; null if padding need not be cleared
};

// For a T of 16 bits, whose master copy has another type: the parameters of frozen blocks as T, which lie as the buffers do, and
// the master copy of the others.
template <class T, bool Narrow = is_narrow<T>>
struct frozen_as_T {};
template <class T>
struct frozen_as_T<T, true> {
  const T* frozen = nullptr;
  const accumulated<T>* masters = nullptr;
};

// Where a weight begins among a network's parameters, and the byte at which its packed form begins.
struct packed_place {
  std::size_t begin, byte;
};
// The packed form of the weights that have one. In the format `own` they lie as the parameters do, else as the places say, which
// are in the order of the parameters.
template <class T>
struct packed_parameters {
  const std::byte* data = nullptr; // null: there are none
  ops::weight_format format = ops::weight_format::own;
  const packed_place* places = nullptr;
  std::size_t count = 0;
  std::size_t begin = 0; // where the parameters of the chain begin

  // Of the weight that begins at this element of the chain's parameters. In fewer bytes there may be none.
  ops::packed_weight<T> of(const T* weight, std::size_t at) const {
    const std::size_t element = begin + at;
    if (format == ops::weight_format::own) return {weight, data + element * sizeof(T), format};
    const packed_place* const found =
        std::lower_bound(places, places + count, element, [](const packed_place& p, std::size_t e) { return p.begin < e; });
    if (found == places + count || found->begin != element) return {};
    return {weight, data + found->byte, format};
  }
};

// The operands of one walk of a chain: its ends, its memory, its block of the parameters, and what the whole step shares.
template <class T>
struct frame : frozen_as_T<T> {
  using element = T;
  using sum = accumulated<T>;

  std::size_t rows = 0; // samples, 1 … batch
  tensors<const T> inputs{};
  tensors<const T> constants{};
  tensors<T> outputs{}; // of a chain inside a block, as are the next two; without memory: not wanted
  tensors<const T> output_gradients{};
  tensors<T> input_gradients{};
  const T* output_addend = nullptr;   // the last layer adds it to the chain's first output
  const T* gradient_addend = nullptr; // the first layer adds it to the gradient of the chain's first input
  std::size_t output_stride = 0;      // of the output and its gradient: see forward_call
  const dense_strides* dense = nullptr;
  const unrolled_steps<T>* steps = nullptr;
  const kept_tokens<T>* kept = nullptr;
  bool may_overwrite_output_gradients = false; // of a block: not read after its backward
  std::byte* workspace = nullptr;
  std::byte* tape = nullptr; // of a chain inside a block
  const T* parameters = nullptr;
  packed_parameters<T> packed{};
  sum* buffers = nullptr;
  const gradient_place<sum>* gradients = nullptr;
  std::size_t gradient_begin = 0; // where this chain's block begins in the flat order
  sum* tied_gradients = nullptr;  // where gradients of tied parameters wait: see net/ties.hpp
  sum* accumulation = nullptr;    // if set: gradients are computed here first, layer by layer, and then added
  random_key random{};            // its position is that of the chain's first layer
  pass why = pass::forward;
  const callbacks* tell = nullptr;
  const sums_of_layers* sums = nullptr;      // null: every rank has its own
  const loss_in_strips<T>* strips = nullptr; // for a head_in_strips, in the backward pass

  // The memory at a place in one of the two regions that belong to the chain.
  std::byte* bytes(const place& p) const {
    if (p.where == region::workspace) return workspace + p.offset();
    return p.where == region::tape ? tape + p.offset() : nullptr;
  }
  T* elements(const place& p) const { return reinterpret_cast<T*>(bytes(p)); }

  // A block's own workspace and tape, besides those of its chains, from byte `begin` on.
  T* in_workspace(std::size_t begin = 0) const { return reinterpret_cast<T*>(workspace + begin); }
  T* in_tape(std::size_t begin = 0) const { return reinterpret_cast<T*>(tape + begin); }

  // The frozen parameters at element `begin` of this chain's buffers.
  const T* frozen_parameters(std::size_t begin) const {
    if constexpr (is_narrow<T>) return this->frozen + begin;
    else return buffers + begin;
  }
  // Moves on to a chain inside, whose parameters and buffers begin at these elements of this one.
  void enter(std::size_t parameter_begin, std::size_t state_begin) {
    parameters += parameter_begin;
    packed.begin += parameter_begin;
    buffers += state_begin;
    gradient_begin += parameter_begin;
    if constexpr (is_narrow<T>) this->frozen += state_begin, this->masters += parameter_begin;
  }
};

template <class T, class Queue>
frame<T> chain_of_block<T, Queue>::enter(const frame<T>& block, std::size_t own_tape) const {
  frame<T> inside = block;
  inside.enter(parameter_begin, state_begin);
  inside.random.position += leaf_begin;
  if (inside.tape != nullptr) inside.tape += own_tape + tape_begin;
  inside.output_addend = inside.gradient_addend = nullptr;
  inside.output_stride = 0;
  inside.dense = nullptr;
  inside.steps = nullptr;
  return inside;
}

} // namespace cairn::detail
