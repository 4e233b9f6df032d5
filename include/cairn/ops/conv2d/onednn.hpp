// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/config.hpp>

#if !CAIRN_WITH_ONEDNN
#error "onednn.hpp needs oneDNN: link the CMake target cairn::onednn, or compile with -DCAIRN_WITH_ONEDNN=1 -ldnnl"
#elif defined(__CUDACC__)
#error "nvcc 13 fails in oneDNN's header: what nvcc compiles cannot have cairn::onednn"
#else

#include <algorithm>
#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>

#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.hpp>

#include <cairn/core/error.hpp>
#include <cairn/core/memory.hpp>
#include <cairn/device/instruction_set.hpp>
#include <cairn/ops/conv2d/conv2d.hpp>
#include <cairn/ops/conv2d/quicker_by_onednn.hpp>

#if DNNL_CPU_THREADING_RUNTIME != DNNL_RUNTIME_OMP && DNNL_CPU_THREADING_RUNTIME != DNNL_RUNTIME_SEQ &&                          \
    DNNL_CPU_THREADING_RUNTIME != DNNL_RUNTIME_THREADPOOL
#error "cairn::onednn needs a oneDNN whose threads are OpenMP's, or that has none: another kind would run beside Cairn's own"
#endif

namespace cairn::detail {

// The requests to oneDNN, and the objects that are kept for them: everything that costs time and is the same in every step.

// While an object of this class exists, oneDNN uses only the calling thread, as Cairn divides the work itself. OpenMP keeps a
// number of threads for each thread, so no other thread sees the change. OpenMP's functions are looked up in the library where
// oneDNN finds them, whichever that is.
class one_onednn_thread {
public:
  one_onednn_thread() : before_(openmp().most()) { openmp().use(1); }
  ~one_onednn_thread() { openmp().use(before_); }
  one_onednn_thread(const one_onednn_thread&) = delete;
  one_onednn_thread& operator=(const one_onednn_thread&) = delete;

private:
  struct functions {
    int (*most)() = [] { return 1; };
    void (*use)(int) = [](int) {};
  };
  static const functions& openmp() {
    static const functions found = [] {
      functions f;
#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_OMP
      f.most = reinterpret_cast<int (*)()>(::dlsym(RTLD_DEFAULT, "omp_get_max_threads"));
      f.use = reinterpret_cast<void (*)(int)>(::dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
      if (f.most == nullptr || f.use == nullptr)
        throw error("onednn: expected the OpenMP that oneDNN is built with, found none in this program; link oneDNN as a shared "
                    "library, or leave cairn::onednn out");
#endif
      return f;
    }();
    return found;
  }

  int before_;
};

inline const dnnl::engine& onednn_engine() {
  static const dnnl::engine engine = [] {
    // CAIRN_ISA=avx2 applies to oneDNN too, unless the program has used oneDNN before; see instruction_set.hpp.
    if (widest_instruction_set() == instruction_set::avx2) static_cast<void>(dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx2));
    return dnnl::engine(dnnl::engine::kind::cpu, 0);
  }();
  return engine;
}

// One call of oneDNN. Images are laid out as Cairn's are, (image, height, width, channels) without gaps, the weight as oneDNN
// prefers.
struct onednn_call {
  dnnl::primitive run;
  dnnl::memory::desc input, weight, output, scratch;
  bool usable = false; // a kernel made for this convolution, neither a reference nor im2col and GEMM

  std::size_t scratch_bytes() const { return scratch.get_size(); }
};

// One pass of a convolution, and how the work is cut.
struct onednn_plan {
  convolution how{};
  conv2d_pass pass = conv2d_pass::forward;
  bool usable = false;
  onednn_call one, several; // for one image and, in a weight gradient, for `images`; both have the same layout of the weight
  std::size_t images = 1;
  std::size_t pieces = 1;        // of a weight gradient, each with channels() output channels
  std::size_t lanes = 1;         // of a weight gradient: the number of partial sums of each piece
  dnnl::memory::desc own_weight; // Cairn's layout, of one piece
  dnnl::reorder reorder;         // from own_weight to oneDNN's layout; in a weight gradient back
  bool is_reordered = false;
  dnnl::memory::desc reorder_scratch;

  std::size_t channels() const { return how.out_channels / pieces; }
  std::size_t weight_floats() const { return one.weight.get_size() / sizeof(float); } // with oneDNN's padding
  std::size_t weight_bytes() const { return align_up(one.weight.get_size()); }
};

// Works with both versions of oneDNN's interface; version 3 has no operation descriptors.
template <class Primitive, class Leading, class... Hint>
typename Primitive::primitive_desc onednn_description(const window& over, const Leading& leading, const Hint&... hint) {
  using dims = dnnl::memory::dims;
  const auto both = [](std::size_t y, std::size_t x) { return dims{static_cast<long>(y), static_cast<long>(x)}; };
  const dims strides = both(over.y.stride, over.x.stride), padding = both(over.y.padding, over.x.padding);
  const dims dilates = both(over.y.dilation - 1, over.x.dilation - 1); // 0 is a window without gaps
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  attributes.set_fpmath_mode(dnnl::fpmath_mode::strict); // float stays float, whatever the environment says
  return leading([&](const auto&... first) {
#if DNNL_VERSION_MAJOR >= 3
    return typename Primitive::primitive_desc(onednn_engine(), first..., strides, dilates, padding, padding, hint..., attributes);
#else
    return typename Primitive::primitive_desc(typename Primitive::desc(first..., strides, dilates, padding, padding), attributes,
                                              onednn_engine(), hint...);
#endif
  });
}

// The weight of `out` output channels in oneDNN's dimensions; laid out as Cairn's if `as_ours`, else as oneDNN prefers.
inline dnnl::memory::desc onednn_weight(const convolution& how, std::size_t out, bool as_ours) {
  using memory = dnnl::memory;
  const auto n = [](std::size_t value) { return static_cast<memory::dim>(value); };
  const window& over = how.over;
  memory::dims dims{n(out / how.groups), n(how.group_in()), n(over.y.kernel), n(over.x.kernel)};
  if (how.groups > 1) dims.insert(dims.begin(), n(how.groups));
  const memory::format_tag ours = how.groups > 1 ? memory::format_tag::gohwi : memory::format_tag::ohwi;
  return {dims, memory::data_type::f32, as_ours ? ours : memory::format_tag::any};
}

// A call for `images` images of a convolution with `out` of its output channels. Not usable if oneDNN has no kernel for it.
inline onednn_call onednn_call_of(const convolution& how, conv2d_pass pass, std::size_t images, std::size_t out,
                                  const dnnl::memory::desc& weight) {
  using memory = dnnl::memory;
  const auto pixels = [&](std::size_t channels, std::size_t height, std::size_t width) {
    const auto n = [](std::size_t value) { return static_cast<memory::dim>(value); };
    return memory::desc({n(images), n(channels), n(height), n(width)}, memory::data_type::f32, memory::format_tag::nhwc);
  };
  onednn_call made;
  made.input = pixels(how.in_channels, how.over.y.in, how.over.x.in);
  made.output = pixels(out, how.over.y.out, how.over.x.out);
  const auto direct = dnnl::algorithm::convolution_direct;
  const auto keep = [&](const auto& description, const memory::desc& found, auto primitive) {
    made.weight = found;
    made.scratch = description.scratchpad_desc();
    const std::string_view kernel = description.impl_info_str();
    made.usable = kernel.find("ref") == kernel.npos && kernel.find("gemm:") == kernel.npos;
    made.run = decltype(primitive)(description);
  };
  try {
    const auto forward = onednn_description<dnnl::convolution_forward>(how.over, [&](const auto& with) {
      return with(dnnl::prop_kind::forward_training, direct, made.input, weight, made.output);
    });
    const auto backward = [&](const auto& with) { return with(direct, made.input, weight, made.output); };
    if (pass == conv2d_pass::forward) {
      keep(forward, forward.weights_desc(), dnnl::convolution_forward());
    } else if (pass == conv2d_pass::input_gradient) {
      const auto found = onednn_description<dnnl::convolution_backward_data>(how.over, backward, forward);
      keep(found, found.weights_desc(), dnnl::convolution_backward_data());
    } else {
      const auto found = onednn_description<dnnl::convolution_backward_weights>(how.over, backward, forward);
      keep(found, found.diff_weights_desc(), dnnl::convolution_backward_weights());
    }
  } catch (const dnnl::error&) {
    made.usable = false;
  }
  return made;
}

// Decides how a weight gradient is cut. oneDNN reaches its full speed when a call has about a thousand pixels, so it gets several
// small images at once, and the rest of a batch one by one. A piece of the gradient has at most 1 MiB, if the channels can be
// divided so, so that it and its sum stay in the cache of a core. Few pieces are computed in several lanes, each from a part of
// the batch, so that there is work for 8 threads.
inline void cut_weight_gradient(onednn_plan& plan) {
  while (plan.images < 8 && plan.images * plan.how.over.outputs() < 1024) plan.images *= 2;
  const std::size_t channels = plan.how.out_channels, bytes = channels * plan.how.depth() * sizeof(float);
  while (plan.how.groups == 1 && bytes / plan.pieces > 1_MiB && channels % (plan.pieces * 32) == 0) plan.pieces *= 2;
  plan.lanes = std::max<std::size_t>(1, 8 / plan.pieces);
}

inline onednn_plan onednn_plan_of(const convolution& how, conv2d_pass pass) {
  const one_onednn_thread alone;
  onednn_plan plan;
  plan.how = how;
  plan.pass = pass;
  if (fitted(how.over.y).out != how.over.y.out || fitted(how.over.x).out != how.over.x.out) return plan;
  if (pass == conv2d_pass::weight_gradient) cut_weight_gradient(plan);
  plan.own_weight = onednn_weight(how, plan.channels(), true);
  plan.several = onednn_call_of(how, pass, plan.images, plan.channels(), onednn_weight(how, plan.channels(), false));
  if (!plan.several.usable) return plan;
  plan.one = plan.images == 1 ? plan.several : onednn_call_of(how, pass, 1, plan.channels(), plan.several.weight);
  if (!plan.one.usable) return plan;
  plan.is_reordered = plan.one.weight != plan.own_weight;
  if (plan.is_reordered) {
    const bool back = pass == conv2d_pass::weight_gradient;
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const dnnl::reorder::primitive_desc description(onednn_engine(), back ? plan.one.weight : plan.own_weight, onednn_engine(),
                                                    back ? plan.own_weight : plan.one.weight, attributes);
    plan.reorder = dnnl::reorder(description);
    plan.reorder_scratch = description.scratchpad_desc();
  }
  plan.usable = true;
  return plan;
}

// Returns the plan of one pass, which is made at the first call and kept. Any thread may call this.
inline const onednn_plan& kept_onednn_plan(const convolution& how, conv2d_pass pass) {
  static std::mutex mutex;
  static std::deque<onednn_plan> plans; // elements never move
  const std::scoped_lock lock(mutex);
  const auto found =
      std::find_if(plans.begin(), plans.end(), [&](const onednn_plan& plan) { return plan.pass == pass && plan.how == how; });
  return found != plans.end() ? *found : plans.emplace_back(onednn_plan_of(how, pass));
}

} // namespace cairn::detail

#endif
