# SPDX-License-Identifier: MIT
"""Tests mirror headers: include/cairn/ROOM/x.hpp has tests/ROOM/x.cpp, and the other way round.

A folder below a room (one operation and its backends) is mirrored as a whole: by tests/ROOM/FOLDER/*.cpp. A header in
which no function does anything needs no test: what it declares shows in the tests of those who use it, and what its
static_asserts say in tests/compile_fail/.
"""
import pathlib
import re

from house import FLOORS, SPDX, headers, room, run

# Headers without a test of their own, and why.
EXEMPT = {}


def mirror(path):
    """ROOM/x or, below a room, ROOM/FOLDER."""
    return "/".join(pathlib.PurePosixPath(path).with_suffix("").parts[:2])


def only_declares(text):
    """No function with a body, but requires-expressions and functions that hold a static_assert."""
    code = re.sub(r'//[^\n]*|^\s*#[^\n]*|"(?:[^"\\]|\\.)*"', "", text, flags=re.M)
    code = re.sub(r"\{\s*\}", ";", code)
    code = re.sub(r"\{[^{}]*\bstatic_assert\b[^{}]*\}", ";", code)
    code = re.sub(r"\brequires\s*(\([^()]*\)\s*)?\{", "", code)
    return not re.search(r"[)\]]\s*(\bconst\b|\bnoexcept\b|\s)*(->[^{};]*)?\{", code)


def faults(root, _options=None):
    tested, busy = {}, {}
    for header in filter(room, headers(root)):
        tested[mirror(header.removeprefix("cairn/"))] = header
        if not only_declares((root / "include" / header).read_text()):
            busy[mirror(header.removeprefix("cairn/"))] = header
    tests = {}
    for name in FLOORS:
        folder = root / "tests" / name
        for path in sorted(folder.rglob("*.cpp")):
            tests[mirror(path.relative_to(root / "tests"))] = path.relative_to(root).as_posix()

    found = [f"{header}: has no test, expected tests/{key}.cpp or tests/{key}/*.cpp"
             for key, header in busy.items() if key not in tests and key not in EXEMPT]
    found += [f"{path}: mirrors no header, expected include/cairn/{key}.hpp or include/cairn/{key}/"
              for key, path in tests.items() if key not in tested]
    found += [f"mirror.py: {key} is exempt for no reason" for key in EXEMPT
              if root.joinpath("tests/checks/mirror.py").exists() and (key in tests or key not in tested)]
    return found


# Of the self-tests: functions that do something, and what a header may have without a test.
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
    ], small={"include/cairn/net/row.hpp": SPDX + IDLE})
