# SPDX-License-Identifier: MIT
"""Every header compiles alone, without a warning: it includes what it uses.

Each header becomes a submodule of one clang module: all are read once, and each sees only what it includes. This holds for
libc++'s headers too, which are modules themselves: a header does not see <vector> only because another header included it. This
is stricter than one program for each header, and takes a tenth of the time. Headers for CUDA are read as in the tests that run
on the host.
"""
import pathlib
import re
import shutil
import subprocess
import tempfile

from house import SPDX, WARNINGS, component, cuda_headers, headers, nvcc, readable_cuda_headers, run

# While clang 19 builds a module, it warns that C++17's literals are an extension; one flag turns this off.
# With the last flag, a submodule sees only those other submodules that it includes. Rejected: a module for each header, which
# would be loaded again for each header that includes it, and would take twice as long.
MODULES = ["-stdlib=libc++", "-fmodules", "-fimplicit-module-maps", "-Wno-c++17-extensions", "-ferror-limit=0", "-fsyntax-only",
           "-Xclang", "-fmodules-local-submodule-visibility"]


def clang():
    """The newest clang++ that can read this library's headers with libc++, or None."""
    return next((path for name in ("clang++-19", "clang++") if (path := shutil.which(name))), None)


def first_faults(said):
    """The errors and warnings in headers, without those on modules that could not be built because of them."""
    lines = [line for line in said.splitlines() if re.search(r"(error|warning): ", line) and "could not build module" not in line]
    return lines or said.splitlines()[:12]


# libc++'s modules are made once for all cases of the self-test.
made = tempfile.TemporaryDirectory()


def faults(root, options):
    names = [name for name in headers(root) if component(name) in (None, *options.found)]
    for name in sorted({*headers(root)} - {*names}):
        print(f"left out, as {component(name)} was not found: {name}")
    flags = [*options.flags, *(["-DCAIRN_WITH_ONEDNN=1"] if "onednn" in options.found else [])]
    if nvcc():
        of_cuda, more = readable_cuda_headers(root)
        names += of_cuda
        flags += [*more, "-DCAIRN_KERNELS_ON_HOST=1", f"-isystem{pathlib.Path(nvcc()).resolve().parent.parent / 'include'}"]
    elif cuda_headers(root):
        print("left out, as nvcc was not found:", *cuda_headers(root))
    with tempfile.TemporaryDirectory() as folder:
        map_of_modules = pathlib.Path(folder, "headers.modulemap")
        parts = "".join(f'  module header_{number} {{ header "{(root / "include" / name).resolve()}" export * }}\n'
                        for number, name in enumerate(names))
        map_of_modules.write_text("module all {\n" + parts + "}\n")
        text = "".join(f"#include <{name}>\n" for name in names)
        command = [clang(), *WARNINGS, *MODULES, f"-fmodules-cache-path={made.name}", f"-fmodule-map-file={map_of_modules}", *flags,
                   "-x", "c++", "-"]
        result = subprocess.run(command, input=text, capture_output=True, text=True)
    return [] if result.returncode == 0 else [f"alone: {line}" for line in first_faults(result.stderr)]


if __name__ == "__main__":
    if not clang():
        print("there is no clang++: skipped")
        raise SystemExit(77)
    run(faults, [
        ({"include/cairn/net/pair.hpp": SPDX + "#pragma once\nstruct pair {\n  std::string name;\n};\n"},
         r"pair.hpp:4:\d+: error: .*std"),
        ({"include/cairn/net/pair.hpp": SPDX + "#pragma once\n\n#include <cairn/core/size.hpp>\n\nstruct pair {\n  std::string name;\n};\n",
          "include/cairn/core/text.hpp": SPDX + "#pragma once\n\n#include <string>\n"}, r"pair.hpp:7:\d+: error: .*std"),
        ({"include/cairn/core/size.hpp": SPDX + "#pragma once\ninline int size(long n) { return n; }\n"},
         r"size.hpp:3:\d+: error: .*implicit conversion"),
        *([({"include/cairn/device/stream.cuh": SPDX + "#pragma once\n\ninline cudaStream_t stream;\n"},
            r"stream.cuh:4:\d+: error: .*cudaStream_t")] if nvcc() else []),
    ])
