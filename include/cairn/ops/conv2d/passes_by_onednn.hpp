// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/config.hpp>

#if !CAIRN_WITH_ONEDNN
#error "passes_by_onednn.hpp needs oneDNN: link the CMake target cairn::onednn, or compile with -DCAIRN_WITH_ONEDNN=1 -ldnnl"
#else

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>

#include <oneapi/dnnl/dnnl.hpp>

#include <cairn/core/error.hpp>
#include <cairn/core/memory.hpp>
#include <cairn/core/view.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/conv2d/conv2d.hpp>
#include <cairn/ops/conv2d/depthwise.hpp>
#include <cairn/ops/conv2d/onednn.hpp>
#include <cairn/ops/elementwise/cpu.hpp>
#include <cairn/ops/elementwise/cuts.hpp>
#include <cairn/ops/matmul/cpu.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// The passes of a convolution of floats by oneDNN. Each function returns false, without having done anything, if oneDNN has no
// kernel for the convolution or its images do not fit into the scratch. Both conditions are the same in every run on one kind of
// machine.
//
// oneDNN gets one image at a time, so that an image's bits depend on no other. A weight gradient is a sum over parts of the
// batch, added in their order; the parts depend on the number of images alone.

// A stretch of the scratch, handed out from front to back.
class onednn_scratch {
public:
  explicit onednn_scratch(std::span<std::byte> whole) : rest_(whole) {}
  std::byte* take(std::size_t bytes) {
    std::byte* const at = rest_.data();
    rest_ = rest_.subspan(align_up(bytes));
    return at;
  }
  float* floats(std::size_t count) { return reinterpret_cast<float*>(take(count * sizeof(float))); }

private:
  std::span<std::byte> rest_;
};

// The arguments of one thread's calls of oneDNN. run() takes all tensors as const, also those that oneDNN writes.
class onednn_arguments {
public:
  onednn_arguments(int first, const dnnl::memory::desc& a, int second, const dnnl::memory::desc& b,
                   const dnnl::memory::desc& scratch, std::byte* room)
      : stream_(onednn_engine()), memories_{object(a), object(b), object(scratch), dnnl::memory()},
        arguments_{{{first, memories_[0].get()}, {second, memories_[1].get()}, {DNNL_ARG_SCRATCHPAD, memories_[2].get()}, {}}} {
    memories_[2].set_data_handle(room);
  }
  // The arguments of a pass. Its tensors are, in this order, those with the shape of the input, of the output and of the weight.
  onednn_arguments(conv2d_pass pass, const onednn_call& call, std::byte* room)
      : onednn_arguments(pass == conv2d_pass::input_gradient ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, call.input,
                         pass == conv2d_pass::forward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, call.output, call.scratch, room) {
    memories_[3] = object(call.weight);
    arguments_[3] = {pass == conv2d_pass::weight_gradient ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS, memories_[3].get()};
    count_ = 4;
  }

  void run(const dnnl::primitive& primitive, const float* a, const float* b, const float* c = nullptr) {
    memories_[0].set_data_handle(const_cast<float*>(a));
    memories_[1].set_data_handle(const_cast<float*>(b));
    if (c != nullptr) memories_[3].set_data_handle(const_cast<float*>(c));
    const dnnl_status_t status = ::dnnl_primitive_execute(primitive.get(), stream_.get(), count_, arguments_.data());
    if (status != dnnl_success)
      throw error("onednn: a convolution ended with status " + std::to_string(static_cast<int>(status)) + " of oneDNN");
  }

private:
  static dnnl::memory object(const dnnl::memory::desc& of) { return {of, onednn_engine(), DNNL_MEMORY_NONE}; }

  dnnl::stream stream_;
  std::array<dnnl::memory, 4> memories_;
  std::array<dnnl_exec_arg_t, 4> arguments_;
  int count_ = 3;
};

// Memory of the calling thread for data that does not fit into the scratch: weights in oneDNN's layout, and sums. It grows to
// what the largest convolution needs, and is kept.
inline std::byte* onednn_buffer(std::size_t bytes) {
  thread_local cpu::memory buffer;
  if (buffer.size() < bytes) buffer = cpu::memory(bytes);
  return buffer.data();
}

// Converts a weight from one layout to the other.
inline void reorder_onednn_weight(const onednn_plan& plan, const float* from, float* to, std::byte* scratch) {
  const bool back = plan.pass == conv2d_pass::weight_gradient;
  onednn_arguments arguments(DNNL_ARG_FROM, back ? plan.one.weight : plan.own_weight, DNNL_ARG_TO,
                             back ? plan.own_weight : plan.one.weight, plan.reorder_scratch, scratch);
  arguments.run(plan.reorder, from, to);
}

inline void copy_rows(float* to, std::size_t to_stride, const float* from, std::size_t from_stride, std::size_t rows,
                      std::size_t columns) {
  for (std::size_t row = 0; row < rows; ++row) std::copy_n(from + row * from_stride, columns, to + row * to_stride);
}

// The epilogue for sums whose rows have no gaps; the rows of the result may have any stride. Where no operand has gaps, several
// rows are computed at a time, with as many copies of the bias.
class onednn_epilogue {
public:
  static constexpr std::size_t most = 1024; // elements at a time, if a row is not longer
  static std::size_t floats(std::size_t columns) { return 2 * align_up(std::max(most, columns)); }

  onednn_epilogue(matrix<float> result, const epilogue<float>& then, float* room)
      : result_(result), then_(then), biases_(room), zeros_(room + floats(result.columns) / 2) {
    const auto dense = [&](const matrix<const float>& m) { return m.data == nullptr || m.stride == result.columns; };
    if (result.stride == result.columns && dense(then.addend) && dense(then.mask))
      at_once_ = std::max<std::size_t>(1, most / std::max<std::size_t>(1, result.columns));
    std::fill_n(zeros_, at_once_ * result.columns, 0.0F);
    for (std::size_t row = 0; row < at_once_ && then.bias != nullptr; ++row)
      std::copy_n(then.bias, result.columns, biases_ + row * result.columns);
  }

  // `sums` points to the rows from `first` on, and may be their place in the result.
  void run(const float* sums, std::size_t first, std::size_t rows) const {
    const std::size_t columns = result_.columns;
    if (is_finished(then_)) {
      float* const to = result_.data + first * result_.stride;
      if (to != sums) copy_rows(to, result_.stride, sums, columns, rows, columns);
      return;
    }
    const finish_channels<float> finish(then_);
    const auto at = [&](const matrix<const float>& m, std::size_t row) {
      return m.data == nullptr ? zeros_ : m.data + row * m.stride;
    };
    for (std::size_t done = 0; done < rows; done += at_once_) {
      const std::size_t row = first + done, count = std::min(at_once_, rows - done);
      run_elements(widest_for_elements(), finish, count * columns, std::array{result_.data + row * result_.stride},
                   std::array<const float*, 4>{sums + done * columns, then_.bias == nullptr ? zeros_ : biases_,
                                               at(then_.addend, row), at(then_.mask, row)});
    }
  }

private:
  matrix<float> result_;
  epilogue<float> then_;
  float *biases_, *zeros_;
  std::size_t at_once_ = 1;
};

// Forward and the input gradient: result = epilogue(pass(source)), image by image.
inline bool onednn_images(cpu::queue& queue, const convolution& how, conv2d_pass pass, std::size_t samples, matrix<float> result,
                          matrix<const float> source, const float* weight, const epilogue<float>& then) {
  const onednn_plan& plan = kept_onednn_plan(how, pass);
  const bool forward = pass == conv2d_pass::forward;
  const std::size_t from_rows = forward ? how.over.inputs() : how.over.outputs();
  const std::size_t to_rows = forward ? how.over.outputs() : how.over.inputs();
  // An addend may be the result itself, which must not be overwritten before it is read.
  const bool from_copied = source.stride != source.columns;
  const bool to_copied = result.stride != result.columns || then.addend.data != nullptr;
  const std::size_t from_floats = from_copied ? from_rows * source.columns : 0,
                    to_floats = to_copied ? to_rows * result.columns : 0;
  const std::size_t bytes = align_up(std::max(plan.one.scratch_bytes(), plan.reorder_scratch.get_size())) +
                            align_up(from_floats * sizeof(float)) + align_up(to_floats * sizeof(float)) +
                            onednn_epilogue::floats(result.columns) * sizeof(float);
  if (!plan.usable || samples == 0 || bytes > cpu::queue::scratch_bytes) return false;

  if (plan.is_reordered) {
    float* const turned = reinterpret_cast<float*>(onednn_buffer(plan.weight_bytes()));
    queue.parallel_for(1, [&](std::size_t, std::span<std::byte> scratch) {
      const one_onednn_thread alone;
      reorder_onednn_weight(plan, weight, turned, scratch.data());
    });
    weight = turned;
  }
  const std::size_t operations = 2 * samples * how.over.outputs() * how.out_channels * how.depth();
  const std::size_t parts = operations < operations_worth_threads ? 1 : std::min(queue.threads(), samples);
  queue.parallel_for(parts, [&](std::size_t part, std::span<std::byte> scratch) {
    const one_onednn_thread alone;
    onednn_scratch room(scratch);
    onednn_arguments arguments(pass, plan.one, room.take(plan.one.scratch_bytes()));
    float *const copied = room.floats(from_floats), *const sums = room.floats(to_floats);
    const onednn_epilogue finish(result, then, room.floats(onednn_epilogue::floats(result.columns)));
    for (std::size_t image = part * samples / parts; image < (part + 1) * samples / parts; ++image) {
      const float* from = source.data + image * from_rows * source.stride;
      if (from_copied) {
        copy_rows(copied, source.columns, from, source.stride, from_rows, source.columns);
        from = copied;
      }
      float* const to = to_copied ? sums : result.data + image * to_rows * result.stride;
      if (forward) arguments.run(plan.one.run, from, to, weight);
      else arguments.run(plan.one.run, to, from, weight);
      finish.run(to, image * to_rows, to_rows);
    }
  });
  return true;
}

struct add_partial_sum {
  [[gnu::always_inline]] inline void operator()(float& sum, float more) const { sum += more; }
};
inline void add_partial_sums(float* sums, const float* more, std::size_t count) {
  run_elements(widest_for_elements(), add_partial_sum{}, count, std::array{sums}, std::array<const float*, 2>{sums, more});
}

// A task computes one lane of one piece: the sum over its images, in oneDNN's layout of a weight. Then the lanes are added.
inline bool onednn_weight_gradient(cpu::queue& queue, const convolution& how, std::size_t samples, float* weight_gradient,
                                   matrix<const float> output_gradient, const float* input) {
  const onednn_plan& plan = kept_onednn_plan(how, conv2d_pass::weight_gradient);
  if (!plan.usable || samples == 0) return false;
  const std::size_t pixels = how.over.outputs(), channels = plan.channels(), in = how.over.inputs() * how.in_channels;
  const bool copied = plan.pieces > 1 || output_gradient.stride != channels;
  const std::size_t copy = copied ? plan.images * pixels * channels : 0,
                    scratch = std::max(plan.one.scratch_bytes(), plan.several.scratch_bytes());
  if (align_up(scratch) + plan.weight_bytes() + align_up(copy * sizeof(float)) > cpu::queue::scratch_bytes) return false;

  const std::size_t whole = samples / plan.images, calls = whole + samples % plan.images;
  const std::size_t lanes = std::min(plan.lanes, calls), weights = plan.weight_bytes() / sizeof(float);
  float* const sums = reinterpret_cast<float*>(onednn_buffer(plan.pieces * lanes * plan.weight_bytes()));
  queue.parallel_for(plan.pieces * lanes, [&](std::size_t task, std::span<std::byte> bytes) {
    const one_onednn_thread alone;
    onednn_scratch room(bytes);
    std::byte* const pad = room.take(scratch);
    float *const partial = room.floats(weights), *const own = room.floats(copy);
    const std::size_t piece = task / lanes, lane = task % lanes, first = lane * calls / lanes;
    onednn_arguments one(plan.pass, plan.one, pad), several(plan.pass, plan.several, pad);
    for (std::size_t call = first; call < (lane + 1) * calls / lanes; ++call) {
      const bool is_one = call >= whole;
      const std::size_t image = is_one ? whole * plan.images + (call - whole) : call * plan.images;
      const float* dy = output_gradient.data + image * pixels * output_gradient.stride + piece * channels;
      if (copied) {
        copy_rows(own, channels, dy, output_gradient.stride, (is_one ? 1 : plan.images) * pixels, channels);
        dy = own;
      }
      float* const to = call == first ? sums + task * weights : partial;
      (is_one ? one : several).run(is_one ? plan.one.run : plan.several.run, input + image * in, dy, to);
      if (to == partial) add_partial_sums(sums + task * weights, partial, plan.weight_floats());
    }
  });
  queue.parallel_for(plan.pieces, [&](std::size_t piece, std::span<std::byte> bytes) {
    const one_onednn_thread alone;
    float *const total = sums + piece * lanes * weights, *const to = weight_gradient + piece * channels * how.depth();
    for (std::size_t lane = 1; lane < lanes; ++lane) add_partial_sums(total, total + lane * weights, plan.weight_floats());
    if (plan.is_reordered) reorder_onednn_weight(plan, total, to, bytes.data());
    else std::copy_n(total, channels * how.depth(), to);
  });
  return true;
}

// Whether oneDNN computes a pass, which each op checks first. CAIRN_ISA=plain means no vectors, and so no oneDNN either.
inline bool takes_onednn(const convolution& how, conv2d_pass pass) {
  return quicker_by_onednn(how, pass) && widest_instruction_set() != instruction_set::plain;
}
inline bool forward_by_onednn(cpu::queue& queue, const convolution& how, std::size_t samples, matrix<float> output,
                              const float* input, const float* weight, const epilogue<float>& then) {
  return takes_onednn(how, conv2d_pass::forward) &&
         onednn_images(queue, how, conv2d_pass::forward, samples, output, {input, samples * how.over.inputs(), how.in_channels},
                       weight, then);
}
inline bool input_gradient_by_onednn(cpu::queue& queue, const convolution& how, std::size_t samples, matrix<float> input_gradient,
                                     matrix<const float> output_gradient, const float* weight, const epilogue<float>& then) {
  return takes_onednn(how, conv2d_pass::input_gradient) &&
         onednn_images(queue, how, conv2d_pass::input_gradient, samples, input_gradient, output_gradient, weight, then);
}
inline bool weight_gradient_by_onednn(cpu::queue& queue, const convolution& how, std::size_t samples, float* weight_gradient,
                                      matrix<const float> output_gradient, const float* input) {
  return takes_onednn(how, conv2d_pass::weight_gradient) &&
         onednn_weight_gradient(queue, how, samples, weight_gradient, output_gradient, input);
}

} // namespace cairn::detail

CAIRN_KERNELS_END

#endif
