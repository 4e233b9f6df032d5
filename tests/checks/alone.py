# SPDX-License-Identifier: MIT
"""Every header compiles alone, twice included, without a warning, with each compiler."""
from house import SPDX, compile_text, component, headers, run, spread


def faults(root, options):
    def attempt(job):
        compiler, header = job
        said = compile_text(compiler, options, f"#include <{header}>\n#include <{header}>\n", "-fsyntax-only")
        return f"{header} alone with {compiler}:\n{said}" if said else None

    names = [name for name in headers(root) if component(name) in (None, *options.found)]
    for name in sorted(set(headers(root)) - set(names)):
        print(f"left out, as {component(name)} was not found: {name}")
    return [fault for fault in spread(attempt, [(c, name) for c in options.compilers for name in names]) if fault]


if __name__ == "__main__":
    run(faults, [
        ({"include/cairn/net/pair.hpp": SPDX + "#pragma once\nstruct pair {\n  std::string name;\n};\n"},
         r"pair.hpp alone"),
        ({"include/cairn/core/size.hpp": SPDX + "#pragma once\ninline int size(long n) { return n; }\n"},
         r"size.hpp alone"),
        ({"include/cairn/core/size.hpp": SPDX + "struct size {};\n"}, r"size.hpp alone"),
    ])
