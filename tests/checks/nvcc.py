# SPDX-License-Identifier: MIT
"""Programs compiled by nvcc do what those compiled by g++ do, and kernels call code that host and device share.

README.md's program, with fewer digits and its checksum printed, and tests/checks/nvcc/*.cpp are built by both compilers, by nvcc
with all warnings and without output, and print the same with every instruction set. tests/checks/nvcc/*.cu are compiled to
device code. Without nvcc the check is left out: exit status 77.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from house import SMALL_HOUSE, SPDX, nvcc, run, spread

LEFT_OUT = 77
PROGRAMS = "tests/checks/nvcc"
HOST_WARNINGS = "-Wall,-Wextra,-Wconversion,-Wshadow"
INSTRUCTION_SETS = ("", "avx2", "plain")  # the first is the widest that the machine has
ARCHITECTURE = "-arch=sm_90"

# Replacements in README.md's program: fewer digits, and the checksum printed after training.
SHORTER = {"generated_digits()": "generated_digits({.train = 256, .test = 64})",
           "const double right = ": 'if (rank.rank() == 0) std::printf("%s\\n", report::format_checksum(train.checksum()).c_str());\n    const double right = '}


def of_readme(root):
    """(the program, what is wrong)"""
    blocks = re.findall(r"^```cpp\n(.*?)^```$", (root / "README.md").read_text(), re.M | re.S)
    text = next((block for block in blocks if "int main()" in block), None)
    if text is None:
        return None, "README.md: no block of it is a program"
    for piece, other in SHORTER.items():
        if text.count(piece) != 1:
            return None, f"README.md: its program has '{piece}' {text.count(piece)} times, expected once; nvcc.py replaces it"
        text = text.replace(piece, other)
    return text, None


def said_by(*command, env=None):
    """(exit status, all output) of a command."""
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, env=env)
    return result.returncode, result.stdout + result.stderr


def told_differently(folder, at):
    for isa in INSTRUCTION_SETS:
        env = {**os.environ, "CAIRN_ISA": isa}
        prints = {name: said_by(str(folder / name), env=env) for name in ("g++", "nvcc")}
        if prints["g++"][0] or not prints["g++"][1]:
            yield f"{at}: of g++, with CAIRN_ISA='{isa}', it ends with status {prints['g++'][0]} and prints '{prints['g++'][1]}'"
        elif prints["nvcc"] != prints["g++"]:
            yield (f"{at}: with CAIRN_ISA='{isa}' that of nvcc ends with status {prints['nvcc'][0]} and prints "
                   f"'{prints['nvcc'][1]}', that of g++ prints '{prints['g++'][1]}'")


def faults(root, options):
    text, wrong = of_readme(root)
    programs = {path.relative_to(root).as_posix(): path.read_text() for path in sorted((root / PROGRAMS).glob("*.cpp"))}
    if text is not None:
        programs["README.md"] = text
    flags = ["-std=c++20", "-O2", *options.flags, f"-I{root / 'examples'}"]

    def attempt(job):
        at, kind = job
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            if kind == "kernels":
                status, said = said_by(nvcc(), *flags, ARCHITECTURE, "-ptx", "-o", os.devnull, str(root / at))
                return [f"{at}: nvcc says\n{said[:2000]}"] if status or said else []
            source = folder / "program.cpp"
            source.write_text(programs[at])
            status, said = said_by("g++", *flags, str(source), "-o", str(folder / "g++"), "-pthread")
            if status:
                return [f"{at}: g++ says\n{said[:2000]}"]
            status, said = said_by(nvcc(), *flags, "-x", "cu", ARCHITECTURE, "-Xcompiler", HOST_WARNINGS, str(source),
                                   "-o", str(folder / "nvcc"))
            return [f"{at}: nvcc says\n{said[:2000]}"] if status or said else list(told_differently(folder, at))

    jobs = [(at, "program") for at in programs]
    jobs += [(path.relative_to(root).as_posix(), "kernels") for path in sorted((root / PROGRAMS).glob("*.cu"))]
    return [wrong] * (wrong is not None) + [fault for found in spread(attempt, jobs) for fault in found]


README = """```cpp
#include <cstdio>
#include "digits.hpp"
int main() {
  const place rank;
  model train{generated_digits()};
  const double right = 1;
  std::printf("%f\\n", right);
}
```
"""
DIGITS = (SPDX + "#pragma once\n#include <string>\nstruct extents { int train, test; };\ninline int generated_digits(extents e) { return e.test; }\n"
          "struct place { int rank() const { return 0; } };\n"
          "struct model { int n; std::string checksum() const { return std::to_string(n); } };\n"
          "namespace report { inline std::string format_checksum(const std::string& s) { return s; } }\n")
TRAINER = SPDX + "#include <cstdio>\n#include <cstdlib>\nint main() { std::printf(\"%d\\n\", 1); }\n"
KERNELS = SPDX + "struct twice { __host__ __device__ int operator()(int x) const { return 2 * x; } };\n" \
                 "__global__ void kernel(int* x) { *x = twice{}(*x); }\n"

if __name__ == "__main__":
    if nvcc() is None:
        print("left out: there is no nvcc on this machine")
        sys.exit(LEFT_OUT)
    trainer, kernels = f"{PROGRAMS}/trainer.cpp", f"{PROGRAMS}/kernels.cu"
    run(faults, [
        ({"README.md": SMALL_HOUSE["README.md"]}, r"README.md: no block of it is a program"),
        ({"README.md": README.replace("generated_digits()", "generated_digits({})")}, r"README.md: its program has 'generated_digits\(\)' 0"),
        ({"examples/digits.hpp": DIGITS.replace("int train, test", "long train, test")}, r"README.md: nvcc says[^$]*Wconversion"),
        ({trainer: TRAINER.replace("int main", "int two();\nint main").replace("1);", "two());")}, r"trainer.cpp: g\+\+ says"),
        ({trainer: TRAINER.replace("std::printf", "\n#pragma GCC unroll 4\nfor (int i = 0; i < 4; ++i) std::printf")},
         r"trainer.cpp: nvcc says[^$]*#1675"),
        ({trainer: TRAINER.replace("1);", "\n#ifdef __NVCC__\n2\n#else\n1\n#endif\n);")}, r"that of nvcc ends with status 0 and prints '2"),
        ({trainer: TRAINER.replace("1);", "\n#ifdef __NVCC__\nstd::getenv(\"CAIRN_ISA\")[0] == 'p'\n#else\n0\n#endif\n);")},
         r"with CAIRN_ISA='plain' that of nvcc"),
        ({trainer: TRAINER.replace("std::printf(\"%d\\n\", 1);", "")}, r"of g\+\+, with CAIRN_ISA='', it ends with status 0 and prints ''"),
        ({kernels: KERNELS.replace("__host__ __device__", "")}, r"kernels.cu: nvcc says[^$]*__host__ function"),
    ], small={"README.md": README, "examples/digits.hpp": DIGITS, trainer: TRAINER, kernels: KERNELS})
