# SPDX-License-Identifier: MIT
"""C++17, C++14 and compilers that are too old are refused in one sentence, with nothing after it.

This holds whichever header is included first: each header of the library either compiles as C++17 or gives one error, Cairn's
own. The first compiler reads every header, the others cairn.hpp. Macros make a compiler pose as an older one. nvcc, where it is
found, reads the headers for CUDA.
"""
import os
import pathlib
import re
import subprocess
import tempfile

from house import CUDA_HEADER, SPDX, component, cuda_flags, cuda_headers, headers, nvcc, run, spread

OLDER = {"g++": ["-U__GNUC__", "-D__GNUC__=10"], "clang": ["-U__clang_major__", "-D__clang_major__=13"]}

# g++ shows the place, the line and that compilation ended; clang also shows the chain of includes.
MOST_LINES = 12


def says(compiler, options, header, *how):
    """(errors, all lines) of a program with this header."""
    text = f"#include <{header}>\n"
    if compiler == nvcc():
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "text.cu"
            source.write_text(text)
            result = subprocess.run([compiler, *cuda_flags(options), *how, "-ptx", "-o", os.devnull, source],
                                    capture_output=True, text=True)
        # nvcc preprocesses for the device and, where there is no error, for the host: equal lines count once.
        lines = list(dict.fromkeys((result.stderr + result.stdout).splitlines()))
        return [line for line in lines if re.search(r"\berror: ", line)], lines
    result = subprocess.run([compiler, *options.flags, *how, "-fsyntax-only", "-x", "c++", "-"],
                            input=text, capture_output=True, text=True)
    return re.findall(r"\berror: .*", result.stderr), result.stderr.splitlines()


def faults(root, options):
    def attempt(job):
        compiler, header, how, expected = job
        errors, lines = says(compiler, options, header, *how)
        at = f"{header} with {compiler} {' '.join(how)}"
        if not errors and expected.startswith("Cairn needs C++20") and header != "cairn/core/config.hpp":
            return None
        if len(errors) != 1 or expected not in errors[0]:
            return f"{at}: expected one error, '{expected}', found {len(errors)}:\n" + "\n".join(lines[:12])
        return f"{at}: the message has {len(lines)} lines:\n" + "\n".join(lines) if len(lines) > MOST_LINES else None

    jobs = []
    for compiler in options.compilers:
        said = subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout
        kind = "clang" if "clang" in said else "g++"
        jobs += [(compiler, "cairn/core/config.hpp", ["-std=c++14"], "Cairn needs C++20, found C++14 or older"),
                 (compiler, "cairn/core/config.hpp", ["-std=c++20", *OLDER[kind]], f"found an older {kind}")]
        jobs += [(compiler, header, ["-std=c++17"], "Cairn needs C++20, found C++17: compile with -std=c++20")
                 for header in (headers(root) if compiler == options.compilers[0] else ["cairn/cairn.hpp"])
                 if component(header) is None]
    if nvcc():
        jobs += [(nvcc(), header, ["-std=c++17"], "Cairn needs C++20, found C++17: compile with -std=c++20")
                 for header in ["cairn/core/config.hpp", *cuda_headers(root)]]
    return [fault for fault in spread(attempt, jobs) if fault]


def config(text):
    return {"include/cairn/core/config.hpp": SPDX + "#pragma once\n" + text}


RIGHT = ('#if defined(__clang__) && __clang_major__ < 14\n#include "found an older clang"\n'
         '#elif !defined(__clang__) && __GNUC__ < 11\n#include "found an older g++"\n'
         '#elif __cplusplus < 201703L\n#include "Cairn needs C++20, found C++14 or older"\n'
         '#elif __cplusplus < 202002L\n#include "Cairn needs C++20, found C++17: compile with -std=c++20"\n#endif\n')

if __name__ == "__main__":
    run(faults, [
        (config(RIGHT.replace("202002L", "201703L")), r"config.hpp with .* -std=c\+\+17: expected one error, [^$]*found 0"),
        (config(RIGHT.replace("< 14", "< 4").replace("< 11", "< 4")), r"found an older [^$]*, found 0"),
        (config(RIGHT.replace("C++14 or older", "C++14")), r"found C\+\+14 or older', found 1"),
        ({"include/cairn/core/size.hpp": SPDX + "#pragma once\ntemplate <class T>\nconcept sized = requires(T x) { x.size(); };\n"},
         r"size.hpp with .*, found [1-9]"),
        *([({"include/cairn/device/stream.cuh": SPDX + "template <class T>\nconcept sized = requires(T x) { x.size(); };\n"},
            r"stream.cuh with .*nvcc -std=c\+\+17: expected one error")] if nvcc() else []),
    ], small={**config(RIGHT), "include/cairn/device/stream.cuh": CUDA_HEADER.replace("size.hpp", "config.hpp")})
