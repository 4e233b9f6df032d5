# SPDX-License-Identifier: MIT
"""cairn.hpp and the single header define only macros named CAIRN_*, all of them from core/config.hpp."""
import pathlib
import re
import subprocess

from house import SPDX, headers, includes, run


def macros(options, text, include):
    command = [options.compilers[0], "-std=c++20", f"-I{include}", *options.flags, "-dM", "-E", "-x", "c++", "-"]
    result = subprocess.run(command, input=text, capture_output=True, text=True)
    return set(re.findall(r"^#define (\w+)", result.stdout, re.M)) if result.returncode == 0 else None


def faults(root, options):
    standard = sorted({name for header in headers(root) for _, name in includes(root / "include" / header)
                       if not name.strip('<>"').startswith("cairn/")})
    include, found = root / "include", []
    before = macros(options, "".join(f"#if __has_include({name})\n#include {name}\n#endif\n" for name in standard), include)
    allowed = macros(options, "#include <cairn/core/config.hpp>\n", include)
    for folder in filter(pathlib.Path.exists, (include, root / "single_include")):
        at, after = f"{folder.name}/cairn/cairn.hpp", macros(options, "#include <cairn/cairn.hpp>\n", folder)
        if None in (before, allowed, after):
            return [f"{at}: cannot be preprocessed"]
        found += [f"{at}: brings the macro {name}; macros are CAIRN_* and stand in core/config.hpp"
                  for name in sorted(after - before) if name not in allowed or not name.startswith("CAIRN_")]
    return found


if __name__ == "__main__":
    run(faults, [
        ({"include/cairn/core/size.hpp": SPDX + "#pragma once\n#define SIZE 2\n"}, r"macro SIZE"),
        ({"include/cairn/core/size.hpp": SPDX + "#pragma once\n#define CAIRN_SIZE 2\n"}, r"macro CAIRN_SIZE"),
        ({"include/cairn/core/config.hpp": SPDX + "#pragma once\n#define VERSION 2\n"}, r"macro VERSION"),
        ({"include/cairn/core/size.hpp": None}, r"cannot be preprocessed"),
        ({"single_include/cairn/cairn.hpp": SPDX + "#pragma once\n#define CAIRN_SIZE 2\n"}, r"single_include/.* macro CAIRN_SIZE"),
    ])
