// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/random.hpp>
#include <cairn/core/tensors.hpp>
#include <cairn/layer/layer.hpp>
#include <cairn/net/program.hpp>

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

// Callbacks from a program that runs: ddp and tests have some.
struct callbacks {
  // The gradients below `end` of the flat buffer are complete, and will not change any more in this step.
  callback<std::size_t> finished{};
  // These bytes of the arena are not read any more before they are written again.
  callback<std::byte*, std::size_t> discarded{};
};

// Where the layers find their sums over the ranks, each by its index among all layers; null: it has none.
struct sums_of_layers {
  const layer_sums* (*function)(const void* self, std::uint32_t leaf) = nullptr;
  const void* self = nullptr;

  const layer_sums* operator()(std::uint32_t leaf) const { return function(self, leaf); }
};

// Where gradients of parameters are to be written: those from `begin` on, in the flat order, lie one after another from
// `start` on. The owner may move it on while backward runs, whenever a layer's gradients are finished.
template <class T>
struct gradient_place {
  T* start = nullptr;
  std::size_t begin = 0;
  const T* zeros = nullptr; // as many as the padding behind a tensor may have, if there may be anything in it
};

// Of a frame whose T has its sums in another type: the parameters of frozen blocks as T. They lie as the buffers do.
template <class T, bool Narrow = is_narrow<T>>
struct frozen_as_T {};
template <class T>
struct frozen_as_T<T, true> {
  const T* frozen = nullptr;
};

// What one walk of a chain works with: its ends, its memory, its block of the parameters, and what the whole step shares.
template <class T>
struct frame : frozen_as_T<T> {
  using element = T;
  using sum = accumulated<T>;

  std::size_t rows = 0; // samples, 1 … batch
  tensors<const T> inputs{};
  tensors<const T> constants{};
  tensors<T> outputs{}; // of a chain inside a block, and likewise below; no block: not wanted
  tensors<const T> output_gradients{};
  tensors<T> input_gradients{};
  const T* output_addend = nullptr;   // the last layer adds it to the chain's first output
  const T* gradient_addend = nullptr; // the first layer adds it to the gradient of the chain's first input
  std::size_t output_stride = 0;      // of the output and its gradient: see forward_call
  std::size_t output_gradient_stride = 0, input_stride = 0, input_gradient_stride = 0, gradient_addend_stride = 0;
  bool may_overwrite_output_gradients = false; // of a block: nobody reads them after its backward
  std::byte* workspace = nullptr;
  std::byte* tape = nullptr; // of a chain inside a block
  const T* parameters = nullptr;
  sum* buffers = nullptr;
  const gradient_place<sum>* gradients = nullptr;
  std::size_t gradient_begin = 0; // where this chain's block begins in the flat order
  sum* tied_gradients = nullptr;  // where those of tied parameters wait: see net/ties.hpp
  sum* accumulation = nullptr;    // if set: gradients are made here first, layer by layer, and then added
  random_key random{};            // its position is that of the chain's first layer
  pass why = pass::forward;
  const callbacks* tell = nullptr;
  const sums_of_layers* sums = nullptr; // null: every rank has its own

  // The memory at a place in one of the two regions that belong to the chain.
  std::byte* bytes(const place& p) const {
    if (p.where == region::workspace) return workspace + p.offset();
    return p.where == region::tape ? tape + p.offset() : nullptr;
  }
  T* elements(const place& p) const { return reinterpret_cast<T*>(bytes(p)); }

  // What a block keeps beside its chains, from so many bytes on.
  T* in_workspace(std::size_t begin = 0) const { return reinterpret_cast<T*>(workspace + begin); }
  T* in_tape(std::size_t begin = 0) const { return reinterpret_cast<T*>(tape + begin); }

  // The frozen parameters of a chain whose buffers begin so far behind those of this one.
  const T* frozen_parameters(std::size_t begin) const {
    if constexpr (is_narrow<T>) return this->frozen + begin;
    else return buffers + begin;
  }
  // Goes on with a chain inside.
  void enter(std::size_t parameter_begin, std::size_t state_begin) {
    parameters += parameter_begin;
    buffers += state_begin;
    gradient_begin += parameter_begin;
    if constexpr (is_narrow<T>) this->frozen += state_begin;
  }
};

template <class T, class Queue>
frame<T> chain_of_block<T, Queue>::enter(const frame<T>& block, std::size_t own_tape) const {
  frame<T> inside = block;
  inside.enter(parameter_begin, state_begin);
  inside.random.position += leaf_begin;
  if (inside.tape != nullptr) inside.tape += own_tape + tape_begin;
  inside.output_addend = inside.gradient_addend = nullptr;
  inside.output_stride = inside.output_gradient_stride = 0;
  inside.input_stride = inside.input_gradient_stride = inside.gradient_addend_stride = 0;
  return inside;
}

} // namespace cairn::detail
