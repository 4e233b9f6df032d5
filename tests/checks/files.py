# SPDX-License-Identifier: MIT
"""Sources begin with the SPDX line; headers have #pragma once and are neither long nor wide; no file has a vague name or a path
of one machine; Python compiles."""
import ast
import re

from house import SMALL_HOUSE, SPDX, run

TOP = ("include", "tests", "examples", "single_include", ".ci", ".cmake", ".github", "CMakeLists.txt", "README.md",
       ".clang-format", ".clang-tidy", ".gitignore")
SOURCES = {".hpp", ".cpp", ".cuh", ".cu", ".py", ".cmake"}
LONGEST, LONGEST_LAYER = 400, 120  # lines; layer.hpp is the concept and gradient_check/ a tool, not layers
WIDEST = 130  # columns of a header, comments too; the limit of .clang-format for code
EMPTY_WORDS = re.compile(r"(^|_)(utils?|common|misc|helpers?|fast|optimized|manager)(_|$)")
# Roots of checkouts, homes and scratch folders. System folders that every Debian has are allowed.
MACHINE_PATHS = re.compile(r"(?<![\w.}])/(work|farm|home|root|Users|tmp)/[\w.]")


def files(root):
    for name in TOP:
        path = root / name
        yield from [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())


def faults(root, _options=None):
    found = []
    for path in files(root):
        name = path.relative_to(root).as_posix()
        if path.suffix == ".pyc":
            continue
        if EMPTY_WORDS.search(path.stem):
            found.append(f"{name}: a name that would fit any file")
        try:
            lines = path.read_text().splitlines()
        except UnicodeDecodeError:
            continue
        source = path.suffix in SOURCES or path.name == "CMakeLists.txt"
        first = next((line for line in lines if not line.startswith("#!")), "")
        if source and "SPDX-License-Identifier: MIT" not in first:
            found.append(f"{name}: the first line is not the SPDX line")
        if path.suffix == ".py":
            try:
                ast.parse("\n".join(lines), name)
            except SyntaxError as error:
                found.append(f"{name}:{error.lineno}: {error.msg}")
        if path.suffix in (".hpp", ".cuh"):
            layer = name.startswith("include/cairn/layer/") and path.name != "layer.hpp" and "gradient_check/" not in name
            limit = LONGEST_LAYER if layer else LONGEST
            if len(lines) > limit and not name.startswith("single_include/"):
                found.append(f"{name}: {len(lines)} lines, at most {limit}; is it still one idea?")
            found += [f"{name}:{number}: {len(line)} columns, at most {WIDEST}"
                      for number, line in enumerate(lines, 1) if len(line) > WIDEST]
            if "#pragma once" not in lines:
                found.append(f"{name}: no #pragma once")
        found += [f"{name}:{number}: a path of one machine" for number, line in enumerate(lines, 1)
                  if MACHINE_PATHS.search(line)]
    return found


if __name__ == "__main__":
    header, slash = SMALL_HOUSE["include/cairn/core/size.hpp"], "/"
    run(faults, [
        ({"tests/core/size.cpp": "int n;\n"}, r"size.cpp: the first line"),
        ({"include/cairn/core/size.hpp": header + "\n" * 400}, r"size.hpp: 40\d lines, at most 400"),
        ({"include/cairn/layer/mean.hpp": header + "\n" * 120}, r"mean.hpp: 12\d lines, at most 120"),
        ({"include/cairn/core/size.hpp": header + "// " + "wide " * 26}, r"size.hpp:\d+: 133 columns, at most 130"),
        ({"include/cairn/core/size.hpp": SPDX}, r"size.hpp: no #pragma once"),
        ({"include/cairn/core/size_utils.hpp": header}, r"size_utils.hpp: a name"),
        ({"include/cairn/core/size.cuh": header + "\n" * 400}, r"size.cuh: 40\d lines, at most 400"),
        ({"include/cairn/core/size.cuh": SPDX}, r"size.cuh: no #pragma once"),
        ({"tests/core/size.cu": "int n;\n"}, r"size.cu: the first line"),
        ({"tests/core/size.py": "# SPDX-License-Identifier: MIT\nfor n in (1, 2):\n    3):\n"}, r"size.py:3: unmatched"),
        ({"tests/core/size.cpp": SPDX + f"// {slash}home{slash}ann{slash}data\n"}, r"size.cpp:2: a path"),
    ])
