# SPDX-License-Identifier: MIT
"""The rules that the checks share, and the main function of a check.

A check is a function from a folder to a list of faults, each one a sentence that starts with a path. `run` applies it to the
project. With --self-test it applies it to a small correct project, the small house, which must have no fault, and to the small
house with one thing broken at a time, which must have the named fault: a check that cannot fail checks nothing.
"""
import argparse
import concurrent.futures
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# A room includes rooms of lower floors only.
FLOORS = {
    "core": 0,
    "plan": 1, "device": 1, "data": 1,
    "ops": 2, "comm": 2,
    "layer": 3,
    "net": 4,
    "train": 5,
    "report": 6,
}

# Headers with these names need a library: cairn.hpp does not include them, and they are compiled only where it is found.
COMPONENTS = ("blas", "images", "mpi", "onednn", "safetensors", "xtensor")
# The one whose headers need nvcc too, so that it is found beside nvcc.
CUDA_COMPONENT = "nccl"
# Headers that include a component's, besides those in a folder of its name.
COMPONENT_OF = {name: "safetensors" for name in ("buffers_of_others", "loader_words", "saved_state", "saved_states", "state_file",
                                                 "transformer_names", "weights_to_load", "weights_to_save")}
COMPONENT_OF["passes_by_onednn"] = "onednn"

WARNINGS = ["-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]
# As in .ci/run: overflow of pointers is not checked, as that takes a compiler longest; the address is checked where it is used.
SANITIZED = ["-fsanitize=address,undefined", "-fno-sanitize=pointer-overflow", "-fno-sanitize-recover=all"]

SPDX = "// SPDX-License-Identifier: MIT\n"

# A correct header for nvcc, for self-tests that need one.
CUDA_HEADER = SPDX + ("#pragma once\n\n#include <cairn/core/size.hpp>\n\nnamespace cairn {\n"
                      "__device__ inline int twice(int x) { return 2 * x; }\n} // namespace cairn\n")

# The small house of the self-tests.
SMALL_HOUSE = {
    "include/cairn/cairn.hpp": SPDX + "#pragma once\n\n#include <cairn/core/config.hpp> // macros\n"
                               "#include <cairn/core/size.hpp> // how many\n#include <cairn/net/pair.hpp> // two\n",
    "include/cairn/core/config.hpp": SPDX + "#pragma once\n\n#define CAIRN_VERSION_MAJOR 0\n",
    "include/cairn/core/size.hpp": SPDX + "#pragma once\n\n#include <cstddef>\n\nnamespace cairn {\n"
                                   "inline std::size_t size() { return 2; }\n} // namespace cairn\n",
    "include/cairn/net/pair.hpp": SPDX + "#pragma once\n\n#include <string>\n\n#include <cairn/core/size.hpp>\n\n"
                                  "namespace cairn {\nstruct pair {\n  std::string name;\n};\n} // namespace cairn\n",
    "tests/core/config.cpp": SPDX,
    "tests/core/size.cpp": SPDX,
    "tests/net/pair.cpp": SPDX,
    "examples/walk.cpp": SPDX,
    "README.md": "# Small\n\n```sh\nbuild/examples/walk\n```\n\n```sh\nctest --test-dir build\n```\n\n"
                 "```cpp\nconst auto n = size();\nstatic_cast<void>(n);\n```\n",
}


def headers(root):
    """All headers of the library that a C++ compiler can read, as paths relative to include/."""
    base = root / "include"
    return sorted(path.relative_to(base).as_posix() for path in base.rglob("*.hpp"))


def cuda_headers(root):
    """Those that need nvcc, in the same way."""
    base = root / "include"
    return sorted(path.relative_to(base).as_posix() for path in base.rglob("*.cuh"))


def nvcc():
    """The compiler of CUDA, or None."""
    return shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")


def nccl_flags():
    """The flags with which headers of NCCL compile, or None if its header is not among the toolkit's or the system's."""
    folders = [*([pathlib.Path(nvcc()).resolve().parent.parent / "include"] if nvcc() else []), pathlib.Path("/usr/include")]
    return ["-DCAIRN_WITH_NCCL=1"] if any((folder / "nccl.h").exists() for folder in folders) else None


def readable_cuda_headers(root):
    """(the headers that need nvcc and can be compiled here, the flags that some of them need)"""
    flags = nccl_flags()
    names = [name for name in cuda_headers(root) if flags is not None or component(name) is None]
    for name in sorted({*cuda_headers(root)} - {*names}):
        print(f"left out, as NCCL was not found: {name}")
    return names, flags or []


def room(header):
    """The room of cairn/ROOM/..., or None for a header that is in no room."""
    parts = header.split("/")
    return parts[1] if len(parts) > 2 else None


def component(header):
    """The component a header needs, or None."""
    path = pathlib.PurePosixPath(header)
    return next((name for name in (path.stem, path.parent.name) if name in (*COMPONENTS, CUDA_COMPONENT)), COMPONENT_OF.get(path.stem))


def includes(path):
    """Yields (line number, name with its brackets) for each #include of a file, except the sentences of core/config.hpp."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if found := re.match(r'\s*#\s*include\s*([<"][^>"\s]*[>"])', line):
            yield number, found[1]


def spread(function, items, workers=2):
    """function(item) for every item, `workers` of them at a time; results in order."""
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        return list(pool.map(function, items))


def compile_text(compiler, options, text, *arguments, minutes=1):
    """The first lines of a compiler's output for a C++ text; empty if it compiles without a warning."""
    command = [compiler, *WARNINGS, *options.flags, *arguments, "-x", "c++", "-"]
    try:
        result = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60 * minutes)
    except subprocess.TimeoutExpired:  # g++ 12 may never finish with faulty templates
        return f"the compiler was not done after {60 * minutes} seconds"
    return "" if result.returncode == 0 else "\n".join(result.stderr.splitlines()[:12]) or "the compiler failed"


def cuda_flags(options):
    """The flags as nvcc takes them: -isystem and its folder are two words; oneDNN's flags, which it cannot use, are left out."""
    flags = [flag for flag in options.flags if "ONEDNN" not in flag and not flag.startswith("-idirafter")]
    return [word for flag in flags
            for word in (["-isystem", flag.removeprefix("-isystem")] if flag.startswith("-isystem") else [flag])]


def compile_cuda(options, text, *arguments):
    """The first lines of nvcc's output for a CUDA text, warnings of its host compiler included; empty if there is none."""
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "text.cu"
        source.write_text(text)
        command = [nvcc(), "-std=c++20", "-Werror", "all-warnings", "-Xcompiler", "-Wall,-Wextra,-Wconversion,-Wshadow,-Werror",
                   *cuda_flags(options), *arguments, "-c", source, "-o", f"{folder}/made"]
        result = subprocess.run(command, capture_output=True, text=True)
    return "" if result.returncode == 0 else "\n".join((result.stderr + result.stdout).splitlines()[:12]) or "nvcc failed"


def run(faults, broken, more=None, small=None):
    """The main function of a check. `broken` is a list of (change to the small house, regex of the fault); `small` has
    the files that this check adds to the small house."""
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument("--self-test", action="store_true", help="show that the check can fail")
    parser.add_argument("--compiler", dest="compilers", action="append", default=[])
    parser.add_argument("--flag", dest="flags", action="append", default=[], help="passed on to the compiler")
    parser.add_argument("--with", dest="found", action="append", default=[], choices=COMPONENTS)
    if more:
        more(parser)
    options = parser.parse_args()
    options.compilers = options.compilers or ["c++"]
    options.flags.insert(0, f"-I{options.root / 'include'}")
    if not options.self_test:
        return report(faults(options.root, options))

    wrong = []
    for change, expected in [({}, None), *broken]:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in {**SMALL_HOUSE, **(small or {}), **change}.items():
                if text is not None:
                    (root / name).parent.mkdir(parents=True, exist_ok=True)
                    (root / name).write_text(text)
            options.root, options.flags[0] = root, f"-I{root / 'include'}"
            found = faults(root, options)
        if expected is None and found:
            wrong.append("the small house is right, yet: " + "; ".join(found))
        if expected is not None and not any(re.search(expected, fault) for fault in found):
            wrong.append(f"changed {', '.join(change)}: expected a fault like '{expected}', found {found or 'none'}")
    return report(wrong)


def report(faults):
    for fault in faults:
        print(fault)
    print(f"{len(faults)} faults" if faults else "no faults")
    sys.exit(1 if faults else 0)
