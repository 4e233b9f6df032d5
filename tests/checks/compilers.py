# SPDX-License-Identifier: MIT
"""All headers together compile without a warning, as C++20 and as C++23, with every compiler that Cairn supports and this
machine has. The examples compile as C++20; with a compiler that builds them elsewhere, only the first one does so, as C++23."""
import itertools
import shutil

from house import SPDX, compile_text, run, spread

SUPPORTED = ("g++-11", "g++-12", "g++-14", "clang++-14", "clang++-19")
LANGUAGES = ("c++20", "c++2b")  # C++23 by the name that the oldest compiler knows
IN_OTHER_BUILDS = ("g++-12",)
EXAMPLES = ("mnist/main", "own_communicator", "own_layer")  # together they use every room


def faults(root, options):
    there = [compiler for compiler in SUPPORTED if shutil.which(compiler)]
    print("with", *there, "and not with", *[compiler for compiler in SUPPORTED if compiler not in there])
    texts = {"cairn/cairn.hpp": "#include <cairn/cairn.hpp>\n"}
    for name in EXAMPLES:
        path = root / "examples" / f"{name}.cpp"
        if path.exists():
            texts[path.relative_to(root).as_posix()] = f'#include "{path}"\n'

    def attempt(job):
        compiler, language, name = job
        said = compile_text(compiler, options, texts[name], f"-std={language}", "-fsyntax-only", f"-I{root / 'examples'}", minutes=5)
        return f"{name} with {compiler} as {language}:\n{said}" if said else None

    def is_job(compiler, language, name):
        if name == "cairn/cairn.hpp":
            return True
        if compiler in IN_OTHER_BUILDS:
            return language == LANGUAGES[1] and name == f"examples/{EXAMPLES[0]}.cpp"
        return language == LANGUAGES[0]

    jobs = [job for job in itertools.product(there, LANGUAGES, texts) if is_job(*job)]
    return [fault for fault in spread(attempt, jobs) if fault]


if __name__ == "__main__":
    run(faults, [
        ({"include/cairn/core/size.hpp": SPDX + "#pragma once\n#include <no_such_header>\n"}, r"cairn.hpp with .* as c\+\+20"),
        ({"include/cairn/core/size.hpp": SPDX + "#pragma once\n#if __cplusplus > 202002L\n#error no\n#endif\n"},
         r"cairn.hpp with .* as c\+\+2b"),
        ({"include/cairn/core/size.hpp": SPDX + "#pragma once\ninline int size(long n) { return n; }\n"}, r"cairn.hpp with"),
    ])
