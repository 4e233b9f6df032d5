// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <type_traits>

#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/device/instruction_set.hpp>
#include <cairn/net/made_of.hpp>
#include <cairn/ops/matmul/sixteen_bits.hpp>
#include <cairn/report/format.hpp>
#include <cairn/report/names.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/replica.hpp>
#include <cairn/train/trainer.hpp>

namespace cairn::detail {

// The kernels that multiply matrices on this machine's cpu; ops/matmul/cpu.hpp makes the same choice.
inline std::string product_kernels(instruction_set isa) {
  std::string own = text_of(isa);
  own += CAIRN_KERNELS_OPTIMIZED != 0 ? ", own kernels" : ", own kernels without optimisation";
#if CAIRN_WITH_BLAS
#ifdef OPENBLAS_VERSION
  std::string_view blas = OPENBLAS_VERSION; // " OpenBLAS 0.3.21 "
  blas.remove_prefix(blas.find_first_not_of(' '));
  blas = blas.substr(0, blas.find_last_not_of(' ') + 1);
#else
  const std::string_view blas = "a BLAS";
#endif
  if (isa == instruction_set::plain || CAIRN_KERNELS_OPTIMIZED == 0) own.append(", products by ").append(blas);
  else own.append(" (").append(blas).append(" is linked, but slower and not used)");
#endif
  return own;
}

} // namespace cairn::detail

namespace cairn::report {

// Describes a run in two lines: what runs, and where. With them a log can be understood a year later.
//
//   Cairn 0.1.0 | AVX-512, own kernels | cpu, 2 threads | 4 ranks by threads
//   sqrt_n, batch 64 of float | 203,530 parameters | 1.20 MiB of activations, 31.2 MiB in all by 4 ranks | CrossEntropyLoss, SGD
//
// As a callback of fit it prints them on rank 0 when a run begins; without fit, start_line{}.print(train) does. The activations
// are the arena of a rank: all memory of a step besides parameters, gradients and the optimizer's state. The bytes in all are
// those of the ranks on this machine, as trainer::memory() has them.
class start_line {
public:
  explicit start_line(std::FILE* out = stderr) : out_(out) {}

  template <class Model, class Loss, class Optimizer, class Batch, class T, class Device>
  static std::string text(trainer<Model, Loss, Optimizer, Batch, T, Device>& train) {
    using plan = typename trainer<Model, Loss, Optimizer, Batch, T, Device>::plan;
    using policy = typename detail::whole<typename detail::distribution<Model>::model>::policy;
    const auto count = [](std::size_t n, const std::string& what) { return format_count(n) + " " + what + (n == 1 ? "" : "s"); };
    std::string out = "Cairn " + std::to_string(CAIRN_VERSION_MAJOR) + "." + std::to_string(CAIRN_VERSION_MINOR) + "." +
                      std::to_string(CAIRN_VERSION_PATCH);
    if constexpr (std::is_same_v<Device, cpu>) out += " | " + detail::product_kernels(detail::widest_for<T>());
    out += " | " + report::name_of<Device>() + ", " + count(train.threads(), "thread");
    const auto ranks = static_cast<std::size_t>(train.inside().comm().size());
    out += " | " + count(ranks, "rank");
    if constexpr (detail::distribution<Model>::distributed)
      out.append(" by ").append(detail::name_of_communicator(train.inside().comm()));

    const bool solved = train.inside().options.schedule.plan.training.count > 0;
    const auto memory = train.memory();
    out += "\n" + (solved ? "a solved schedule" + detail::remark_on_cost(train.inside().options.schedule.plan.over_best)
                          : report::name_of_policy<plan, policy>());
    if (plan::fused) out += ", fused update";
    out += ", batch " + format_count(Batch::size) + " of " + report::name_of<T>() + " | " + count(plan::parameters, "parameter") +
           " | " + format_bytes(memory.activations) + " of activations, " + format_bytes(memory.machine()) + " in all" +
           (memory.ranks > 1 ? " by " + count(memory.ranks, "rank") : "") + " | " + report::name_of<Loss>() + ", " +
           report::name_of<Optimizer>();
    return out;
  }

  template <class Trainer>
  void print(Trainer& train) const {
    if (out_ == nullptr || train.inside().comm().rank() != 0) return;
    const std::string lines = text(train) + "\n";
    std::fwrite(lines.data(), 1, lines.size(), out_);
    std::fflush(out_);
  }

  template <class Run>
  void on_begin(const Run& run) const {
    if (run.rank() == 0) print(run.train());
  }

private:
  std::FILE* out_;
};

} // namespace cairn::report
