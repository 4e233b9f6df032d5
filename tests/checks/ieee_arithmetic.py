# SPDX-License-Identifier: MIT
"""-ffast-math and its parts change no number. If the compiler reports the flag by a macro, the program is refused in one
sentence and nothing after it; if not, the kernels have the same bits as without the flag.

g++ reports every part, clang only those that rule out NaN; the pragma of CAIRN_KERNELS_BEGIN takes care of the others.
"""
import pathlib
import subprocess
import sys
import tempfile

from house import SPDX, run

SENTENCE = "Cairn needs IEEE 754 arithmetic, found -ffast-math"
MOST_LINES = 12

ASSOCIATIVE = ("-fassociative-math", "-fno-signed-zeros", "-fno-trapping-math")
TOLD_BY_ALL = (("-ffast-math",), ("-Ofast",), ("-ffinite-math-only",), ("-Ofast", "-fno-signed-zeros"))
TOLD_BY_GCC = (ASSOCIATIVE, ("-funsafe-math-optimizations",), ("-freciprocal-math",), ("-ffast-math", "-fno-finite-math-only"))
TAKEN_BACK = ("-ffast-math", "-fno-fast-math")
CONTRACTS = ("-ffast-math", "-fno-finite-math-only")  # also chooses fused multiply-adds, which is another flag's matter

PROGRAM = """#include <bit>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <cairn/layer/elu.hpp>
#include <cairn/layer/gelu.hpp>
#include <cairn/layer/sigmoid.hpp>
#include <cairn/layer/tanh.hpp>
#include <cairn/ops/elementwise/cpu.hpp>
#include <cairn/ops/layer_norm/cpu.hpp>
#include <cairn/ops/softmax_cross_entropy/cpu.hpp>

using namespace cairn;

int main() {
  constexpr std::size_t rows = 64, columns = 40, count = rows * columns;
  cpu::queue queue{1};
  std::uint64_t hash = 14695981039346656037U;
  std::vector<float> x(count), y(count), scale(columns, 1.5F), shift(columns, 0.25F), statistics(2 * rows);
  std::vector<int> labels(rows);
  for (std::size_t i = 0; i < count; ++i) x[i] = static_cast<float>(i % 601) * 0.02F - 6;
  for (std::size_t i = 0; i < rows; ++i) labels[i] = static_cast<int>(i * 7 % columns);
  const auto told = [&](double number) { hash = (hash ^ std::bit_cast<std::uint64_t>(number)) * 1099511628211U; };
  const auto all = [&] { for (const float v : y) told(static_cast<double>(v)); };
  elementwise(queue, count, detail::tanh_value{}, y.data(), x.data());
  all();
  elementwise(queue, count, detail::sigmoid_value{}, y.data(), x.data());
  all();
  elementwise(queue, count, detail::gelu_value{}, y.data(), x.data());
  all();
  elementwise(queue, count, detail::elu_value<fraction{1}>{}, y.data(), x.data());
  all();
  layer_norm_forward(queue, rows, columns, 1e-5, y.data(), statistics.data(), x.data(), scale.data(), shift.data());
  all();
  double loss = 0;
  softmax_cross_entropy(queue, &loss, y.data(), ops::matrix<const float>{x.data(), rows, columns}, labels.data());
  all();
  told(loss);
  std::printf("%016llx\\n", static_cast<unsigned long long>(hash));
}
"""


def faults(root, options):
    found = []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        source = folder / "numbers.cpp"
        source.write_text(options.program)

        def compiled(compiler, flags):
            command = [compiler, "-std=c++20", "-O2", *options.flags, *flags, "-c", source, "-o", folder / "numbers.o"]
            return subprocess.run(command, capture_output=True, text=True)

        # Links without the flags: with them the processor would treat subnormal numbers as zeros.
        def printed(compiler, flags):
            result = compiled(compiler, flags)
            if result.returncode:
                return result.stderr[:2000]
            subprocess.run([compiler, folder / "numbers.o", "-pthread", "-o", folder / "numbers"], check=True)
            return "".join(subprocess.run([folder / "numbers"], capture_output=True, text=True, env=env).stdout
                           for env in ({}, {"CAIRN_ISA": "plain"}))

        for compiler in options.compilers:
            is_clang = "clang" in subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout
            for flags in TOLD_BY_ALL + (() if is_clang else TOLD_BY_GCC):
                said = compiled(compiler, flags).stderr
                lines = [line for line in said.splitlines() if "-Ofast' is deprecated" not in line]
                if said.count("error: ") != 1 or SENTENCE not in said or len(lines) > MOST_LINES:
                    found.append(f"numbers.cpp with {compiler} {' '.join(flags)}: expected one error, '{SENTENCE}', found\n"
                                 + said[:2000])
            without = printed(compiler, ())
            if len(without) != 34:
                found.append(f"numbers.cpp with {compiler}: expected a number, found {without}")
            for flags in (TAKEN_BACK,) + tuple(f for f in TOLD_BY_GCC if is_clang and f != CONTRACTS):
                if (now := printed(compiler, flags)) != without:
                    found.append(f"numbers.cpp with {compiler}: with {' '.join(flags)} it prints {now}, without {without}")
    return found


CONFIG = (SPDX + "#pragma once\n#if defined(__FAST_MATH__) || __FINITE_MATH_ONLY__ || "
          "(!defined(__clang__) && !__GCC_IEC_559)\n"
          f'#include "{SENTENCE}"\n#endif\n'
          "#ifdef __clang__\n#define CAIRN_KERNELS_BEGIN _Pragma(\"float_control(precise, on, push)\")\n"
          "#define CAIRN_KERNELS_END _Pragma(\"float_control(pop)\")\n"
          "#else\n#define CAIRN_KERNELS_BEGIN\n#define CAIRN_KERNELS_END\n#endif\n")
KERNEL = (SPDX + "#pragma once\n#include <cairn/core/config.hpp>\nCAIRN_KERNELS_BEGIN\n"
          "inline float nearest(float x) { return (x + 0x1.8p23F) - 0x1.8p23F; }\nCAIRN_KERNELS_END\n")
SMALL = """#include <cstdio>
#include <cairn/core/size.hpp>
int main() {
  volatile float x = 2.3F;
  std::printf("%016.3f\\n", static_cast<double>(nearest(x)));
}
"""


def more(parser):
    parser.set_defaults(program=SMALL if "--self-test" in sys.argv else PROGRAM)


if __name__ == "__main__":
    config, header = "include/cairn/core/config.hpp", "include/cairn/core/size.hpp"
    run(faults, [
        ({config: CONFIG.replace("defined(__FAST_MATH__) ||", "").replace("__FINITE_MATH_ONLY__", "0")
          .replace("!__GCC", "__GCC")}, r"-ffast-math: expected one"),
        ({config: CONFIG.replace("__FINITE_MATH_ONLY__", "0").replace("__GCC_IEC_559", "1")},
         r"-ffinite-math-only: expected one"),
        ({config: CONFIG.replace("#endif\n", "#endif\n#error more to read\n", 1)}, r"numbers.cpp with [^$]*more to read"),
        ({config: CONFIG.replace("defined(__FAST_MATH__) ||", "1 ||")}, r"numbers.cpp with [^ ]*: expected a number"),
        ({config: CONFIG.replace("!__GCC_IEC_559", "0").replace("_Pragma(\"float_control(precise, on, push)\")", "")
          .replace("_Pragma(\"float_control(pop)\")", "")}, r"-fassociative-math"),
    ], more, {config: CONFIG, header: KERNEL})
