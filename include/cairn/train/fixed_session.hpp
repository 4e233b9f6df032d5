// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

#include <cairn/core/rooms.hpp>
#include <cairn/core/view.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/net/execute.hpp>
#include <cairn/net/frame.hpp>
#include <cairn/ops/cpu.hpp>
#include <cairn/train/constant_model.hpp>
#include <cairn/train/input_arrays.hpp>
#include <cairn/train/model.hpp>
#include <cairn/train/network_outputs.hpp>
#include <cairn/train/packed_weights.hpp>

namespace cairn::detail {

// What a fixed_session needs to evaluate a model of any type: the weights, in a frame that stays.
template <class Model>
struct lent_weights {
  static constexpr bool are_right = false;
};
template <class Plan>
inline constexpr bool takes_one_tensor = Plan::inputs.count == 1 && Plan::constants.count == 0;
template <class Net, class Batch, class T>
struct lent_weights<model<Net, Batch, T, cpu>> {
  static constexpr bool are_right = std::floating_point<T> && takes_one_tensor<typename model<Net, Batch, T, cpu>::plan>;
  void lend(const model<Net, Batch, T, cpu>& net, frame<T>& f) { net.inside().lend(f, own); }

  typename std::remove_cvref_t<decltype(std::declval<const model<Net, Batch, T, cpu>&>().inside())>::own_weights own{};
};
// Constants are packed in memory of the session.
template <class Net, class Batch, class T>
struct lent_weights<constant_model<Net, Batch, T>> {
  using plan = typename constant_model<Net, Batch, T>::plan;
  static constexpr bool are_right = takes_one_tensor<plan>;
  static constexpr bool may_be_packed = plan::batch <= most_rows_by_packed;

  void lend(const constant_model<Net, Batch, T>& net, frame<T>& f) {
    f.parameters = net.parameters().data();
    f.buffers = const_cast<T*>(net.buffers().data()); // which an evaluation only reads
    const auto& code = evaluation_of<plan, T, cpu::queue>;
    if (!may_be_packed || !reads_packed(code)) return;
    pack_weights(code, packed, f.parameters);
    f.packed.data = reinterpret_cast<const std::byte*>(packed);
  }

  alignas(64) T packed[may_be_packed && plan::parameter_block > 0 ? plan::parameter_block : 1];
};

} // namespace cairn::detail

namespace cairn {

// Evaluates a network for a thread with a deadline: all memory is in the object, whose size is a constant. Only the constructor
// and refresh() may allocate, take a lock or throw, and only if a model has to pack its weights; evaluate() never does. Inputs
// have a size that the compiler knows, so nothing is left to check.
//
//   static fixed_session own{digits::trained<1>};   // a constant_model, or a model<Net, batch<1>> of float or double on a cpu
//   static_assert(sizeof(own) < 6_MiB);
//   const tensor_view<const float> outputs = own.evaluate(image); // std::array<float, 784>, or a span of that size
//
// It has the bits of the model's evaluate(). An object has the scratch memory of kernels, 4 MiB, of which small networks touch
// hardly anything: let it be static or on the heap, as a thread's stack may be too small. It belongs to one thread at a time. The
// model must outlive it, and weights are those of the constructor or of the last refresh(), while no session evaluates.
//
// The network takes one tensor and no constants; a session has all others, and those of 16 bits.
template <class Model, bool Right = detail::lent_weights<Model>::are_right>
class fixed_session {
  using plan = typename Model::plan;
  using T = typename Model::number;
  using outputs_type = detail::network_outputs<plan, T>;

public:
  using number = T; // the type of inputs, unless they are integers, and of outputs

  explicit fixed_session(const Model& net)
      : net_(net), queue_(std::span<std::byte, cpu::queue::scratch_bytes>(&scratch_[0], cpu::queue::scratch_bytes)) {
    refresh();
  }
  explicit fixed_session(const Model&&) = delete; // a temporary would be gone
  fixed_session(const fixed_session&) = delete;
  fixed_session& operator=(const fixed_session&) = delete;

  // Takes the weights that the model has now.
  void refresh() {
    frame_ = {};
    frame_.rows = plan::batch;
    frame_.workspace = arena_;
    frame_.why = pass::evaluate;
    weights_.lend(net_, frame_);
  }

  // Returns the network's first output for these samples: (rows, output_shape), in the session's memory and valid until its next
  // evaluation. N is the numbers of one sample, or of several up to a batch.
  template <class E, std::size_t N>
  tensor_view<const number> evaluate(std::span<E, N> samples) noexcept {
    constexpr std::size_t rows = rows_of<N>();
    taken_.take(samples);
    frame_.rows = rows;
    frame_.inputs = taken_.tensors_taken();
    detail::run_forward(detail::evaluation_of<plan, T, cpu::queue>, queue_, frame_);
    const auto* const made = reinterpret_cast<const T*>(arena_ + detail::place_of_output<plan>().offset());
    return outputs_type::view(made, 0, rows, outputs_type::values);
  }
  template <class E, std::size_t N>
  tensor_view<const number> evaluate(const std::array<E, N>& samples) noexcept {
    return evaluate(std::span<const E, N>(samples));
  }

private:
  template <std::size_t N>
  static constexpr std::size_t rows_of() {
    constexpr std::size_t sample = plan::inputs[0].extents.size();
    static_assert(N != std::dynamic_extent, "fixed_session::evaluate: expected an array or a span whose size is a constant");
    static_assert(N % sample == 0 && N / sample >= 1 && N / sample <= plan::batch,
                  "fixed_session::evaluate: expected the numbers of 1 to a batch of samples");
    return N / sample;
  }

  alignas(64) std::byte scratch_[cpu::queue::scratch_bytes]; // the first members, as the queue has their addresses
  alignas(64) std::byte arena_[plan::evaluated::arena > 0 ? plan::evaluated::arena : 1];
  const Model& net_;
  cpu::queue queue_;
  detail::lent_weights<Model> weights_;
  detail::frame<T> frame_{};
  detail::taken_inputs<plan, T> taken_{};
};

template <class Model>
class fixed_session<Model, false> {
  static_assert(detail::lent_weights<Model>::are_right,
                "fixed_session: expected a model<...> of float or double on a cpu that takes one tensor and no constants, or a "
                "constant_model<...> of such a network, found another type; a session evaluates any model");

public:
  explicit fixed_session(const Model&) {}
  void refresh() {}
  void evaluate(const auto&...) {} // so that there is only one error
};

template <class Model>
fixed_session(const Model&) -> fixed_session<Model>;

} // namespace cairn
