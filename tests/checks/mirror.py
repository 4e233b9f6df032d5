# SPDX-License-Identifier: MIT
"""Tests mirror headers: include/cairn/ROOM/x.hpp has tests/ROOM/x.cpp, x.cuh has x.cu, and the other way round.

A folder below a room (one operation and its backends) is mirrored as a whole: by tests/ROOM/FOLDER/*.cpp or, for what needs
nvcc, *.cu. The GPU kernels of all ops are tested side by side, in tests/ops/cuda/*.cu, which must call each of them. A header
without function bodies needs no test: the tests of its users cover its declarations, and tests/compile_fail/ its static_asserts.
"""
import pathlib
import re

from house import CUDA_HEADER, FLOORS, SPDX, cuda_headers, headers, room, run

# Headers without a test of their own, and why.
EXEMPT = {}


def mirror(path):
    """The key of a header or test: ROOM/x or ROOM/FOLDER, with the suffix .cu if nvcc compiles it; ops/cuda.cu for all ops."""
    path = pathlib.PurePosixPath(path)
    if path.suffix in (".cu", ".cuh") and path.parts[0] == "ops":
        return "ops/cuda.cu"
    return "/".join(path.with_suffix("").parts[:2]) + (".cu" if path.suffix in (".cu", ".cuh") else "")


def only_declares(text):
    """Whether no function has a body. Requires-expressions and functions that hold a static_assert do not count."""
    code = re.sub(r'//[^\n]*|^\s*#[^\n]*|"(?:[^"\\]|\\.)*"', "", text, flags=re.M)
    code = re.sub(r"\{\s*\}", ";", code)
    code = re.sub(r"\{[^{}]*\bstatic_assert\b[^{}]*\}", ";", code)
    code = re.sub(r"\brequires\s*(\([^()]*\)\s*)?\{", "", code)
    return not re.search(r"[)\]]\s*(\bconst\b|\bnoexcept\b|\s)*(->[^{};]*)?\{", code)


def faults(root, _options=None):
    tested, busy = {}, {}
    for header in filter(room, headers(root) + cuda_headers(root)):
        tested[mirror(header.removeprefix("cairn/"))] = header
        if not only_declares((root / "include" / header).read_text()):
            busy[mirror(header.removeprefix("cairn/"))] = header
    tests = {}
    for name in FLOORS:
        folder = root / "tests" / name
        for path in sorted([*folder.rglob("*.cpp"), *folder.rglob("*.cu")]):
            tests[mirror(path.relative_to(root / "tests"))] = path.relative_to(root).as_posix()

    def expected(key, kind, of_cuda):
        stem = key.removesuffix(".cu")
        return f"{stem}{of_cuda if stem != key else kind}", f"{stem}/"

    found = []
    for key, header in busy.items():
        if key not in tests and key not in EXEMPT:
            file, folder = expected(key, ".cpp", ".cu")
            found.append(f"{header}: has no test, expected tests/{file} or tests/{folder}*{pathlib.PurePath(file).suffix}")
    for key, path in tests.items():
        if key not in tested:
            file, folder = expected(key, ".hpp", ".cuh")
            found.append(f"{path}: mirrors no header, expected include/cairn/{file} or include/cairn/{folder}")
    calls = "\n".join(path.read_text() for path in sorted((root / "tests/ops/cuda").glob("*.cu")))
    for header in cuda_headers(root):
        if op := re.fullmatch(r"cairn/ops/(\w+)/cuda\.cuh", header):
            declared = root / f"include/cairn/ops/{op[1]}/{op[1]}.hpp"
            names = re.findall(r"^void (\w+)\(detail::queue_without", declared.read_text(), re.M) if declared.exists() else [op[1]]
            found += [f"{header}: tests/ops/cuda/*.cu do not call {name}" for name in dict.fromkeys(names)
                      if not re.search(rf"\b{name}\(", calls)]
    found += [f"mirror.py: {key} is exempt for no reason" for key in EXEMPT
              if root.joinpath("tests/checks/mirror.py").exists() and (key in tests or key not in tested)]
    return found


# For the self-tests: a function that does something, and what a header may have without a test.
BUSY = "template <class T>\nvoid twice(T& t) noexcept {\n  t += t;\n}\n"
IDLE = ("template <int N> // {size() {\nstruct Row { int n = N; };\nstruct row_error : error {\n  row_error() : error{} {}\n"
        "  static constexpr bool right() {\n    static_assert(true, \"f() {\");\n    return true;\n  }\n};\n"
        "template <class T>\nconcept row = requires(const T& t) {\n  { t.size() };\n};\n")

if __name__ == "__main__":
    run(faults, [
        ({"tests/core/size.cpp": None}, r"core/size.hpp: has no test"),
        ({"include/cairn/net/late.hpp": SPDX + IDLE + BUSY}, r"net/late.hpp: has no test"),
        ({"include/cairn/ops/sum/cpu.hpp": SPDX + BUSY}, r"ops/sum/cpu.hpp: has no test"),
        ({"tests/net/triple.cpp": SPDX}, r"tests/net/triple.cpp: mirrors no header"),
        ({"tests/net/mean/cpu.cpp": SPDX}, r"tests/net/mean/cpu.cpp: mirrors no header"),
        ({"tests/device/stream.cu": None}, r"device/stream.cuh: has no test, expected tests/device/stream.cu"),
        ({"tests/device/stream.cu": None, "tests/device/stream.cpp": SPDX}, r"device/stream.cuh: has no test"),
        ({"include/cairn/ops/sum/cuda.cuh": SPDX + BUSY}, r"ops/sum/cuda.cuh: has no test, expected .* tests/ops/cuda/\*.cu"),
        ({"include/cairn/ops/sum/cuda.cuh": SPDX + BUSY, "tests/ops/cuda/sums.cu": SPDX + "// summary(x)\n"},
         r"ops/sum/cuda.cuh: tests/ops/cuda/\*.cu do not call sum"),
        ({"tests/core/size.cu": SPDX}, r"tests/core/size.cu: mirrors no header, expected include/cairn/core/size.cuh"),
    ], small={"include/cairn/net/row.hpp": SPDX + IDLE, "include/cairn/device/stream.cuh": CUDA_HEADER, "tests/device/stream.cu": SPDX})
