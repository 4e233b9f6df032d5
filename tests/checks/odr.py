# SPDX-License-Identifier: MIT
"""Two translation units that include everything link into one program: nothing is defined twice.

They include it in opposite orders, so that no header can count on an earlier one. Headers for CUDA are linked in the same way by
nvcc, if it is found, as a program of their own.
"""
import pathlib
import subprocess
import tempfile

from house import CUDA_HEADER, SPDX, WARNINGS, component, cuda_flags, cuda_headers, headers, nvcc, readable_cuda_headers, run, spread


def units(names, suffix):
    everything = "".join(f"#include <{name}>\n" for name in names)
    return {
        f"first{suffix}": everything + "int second();\nint main() { return second() == 2 ? 0 : 1; }\n",
        f"second{suffix}": "".join(reversed(everything.splitlines(True))) + "int second();\nint second() { return 2; }\n",
    }


def linked(units, compile_unit, link):
    """The faults of a program that is built from the units: one command compiles, the other links."""
    with tempfile.TemporaryDirectory() as folder:
        def call(command):
            result = subprocess.run(command, cwd=folder, capture_output=True, text=True)
            return [f"odr: {(result.stderr + result.stdout).strip()}"] if result.returncode else []

        def compiled(unit):
            (pathlib.Path(folder) / unit).write_text(units[unit])
            return call([*compile_unit, "-c", unit])

        found = [fault for said in spread(compiled, units) for fault in said]
        found = found or call([*link[:1], *[unit.split(".")[0] + ".o" for unit in units], "-o", "program", *link[1:]])
        if not found and subprocess.run([f"{folder}/program"], timeout=60).returncode != 0:
            found = ["odr: the program did not end well"]
    return found


def faults(root, options):
    compiler = options.compilers[0]
    names = [name for name in headers(root) if component(name) in (None, *options.found)]
    found = linked(units(names, ".cpp"), [compiler, *WARNINGS, *options.flags], [compiler, "-pthread", *options.link])
    of_cuda = cuda_headers(root)
    if of_cuda and nvcc():
        names, flags = readable_cuda_headers(root)
        libraries = ["-lcublasLt", "-lnccl"] if flags else []
        found += linked(units(names, ".cu"), [nvcc(), "-std=c++20", *cuda_flags(options), *flags], [nvcc(), *libraries])
    elif of_cuda:
        print("left out, as nvcc was not found:", *of_cuda)
    return found


def more(parser):
    parser.add_argument("--link", action="append", default=[], help="a library to link with")


if __name__ == "__main__":
    run(faults, [
        ({"include/cairn/core/size.hpp": SPDX + "#pragma once\nint size();\nint size() { return 2; }\n"},
         r"multiple definition of"),
        ({"include/cairn/core/other.hpp": SPDX + "#pragma once\nnamespace cairn {\nstruct pair {};\n}\n"},
         r"redefinition of"),
        *([({"include/cairn/device/stream.cuh": CUDA_HEADER.replace("__device__ inline", "")}, r"multiple definition of `cairn::twice"),
           ({"include/cairn/device/stream.cuh": CUDA_HEADER.replace("int twice", "in twice")}, r"odr: [^$]*stream.cuh")]
          if nvcc() else []),
    ], more, small={"include/cairn/device/stream.cuh": CUDA_HEADER})
