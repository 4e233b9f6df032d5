# SPDX-License-Identifier: MIT
"""Every header compiles alone, twice included, without a warning, with each compiler that it is given; one for CUDA with nvcc, where it is."""
from house import CUDA_HEADER, SPDX, compile_cuda, compile_text, component, cuda_headers, headers, nvcc, run, spread

# What the header of one component changes for others too, so that not every check is told of it.
ONEDNN = "-DCAIRN_WITH_ONEDNN=1"


def faults(root, options):
    def attempt(job):
        compiler, header = job
        text = f"#include <{header}>\n#include <{header}>\n"
        more = [ONEDNN] if component(header) == "onednn" else []
        said = compile_cuda(options, text) if header.endswith(".cuh") else compile_text(compiler, options, text, "-fsyntax-only", *more)
        return f"{header} alone with {compiler}:\n{said}" if said else None

    names = [name for name in headers(root) if component(name) in (None, *options.found)]
    for name in sorted(set(headers(root)) - set(names)):
        print(f"left out, as {component(name)} was not found: {name}")
    jobs = [(c, name) for c in options.compilers for name in names]
    if nvcc():
        jobs += [("nvcc", name) for name in cuda_headers(root)]
    elif cuda_headers(root):
        print("left out, as nvcc was not found:", *cuda_headers(root))
    return [fault for fault in spread(attempt, jobs) if fault]


if __name__ == "__main__":
    run(faults, [
        ({"include/cairn/net/pair.hpp": SPDX + "#pragma once\nstruct pair {\n  std::string name;\n};\n"},
         r"pair.hpp alone"),
        ({"include/cairn/core/size.hpp": SPDX + "#pragma once\ninline int size(long n) { return n; }\n"},
         r"size.hpp alone"),
        ({"include/cairn/core/size.hpp": SPDX + "struct size {};\n"}, r"size.hpp alone"),
        *([({"include/cairn/device/stream.cuh": CUDA_HEADER.replace("#pragma once", "")}, r"stream.cuh alone with nvcc"),
           ({"include/cairn/device/stream.cuh": CUDA_HEADER.replace("return 2", "int unused; return 2")}, r"stream.cuh alone with nvcc"),
           ({"include/cairn/device/stream.cuh": CUDA_HEADER.replace("__device__", "__host__").replace("int x", "long x")},
            r"stream.cuh alone with nvcc")] if nvcc() else []),
    ], small={"include/cairn/device/stream.cuh": CUDA_HEADER})
