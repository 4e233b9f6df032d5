# SPDX-License-Identifier: MIT
"""Two translation units that include everything link into one program: nothing is defined twice.

They include it in opposite orders, so that no header can count on another having been there before.
"""
import pathlib
import subprocess
import tempfile

from house import SPDX, WARNINGS, component, headers, run, spread


def faults(root, options):
    names = [name for name in headers(root) if component(name) in (None, *options.found)]
    everything = "".join(f"#include <{name}>\n" for name in names)
    units = {
        "first.cpp": everything + "int second();\nint main() { return second() == 2 ? 0 : 1; }\n",
        "second.cpp": "".join(reversed(everything.splitlines(True))) + "int second();\nint second() { return 2; }\n",
    }
    with tempfile.TemporaryDirectory() as folder:
        def call(command):
            result = subprocess.run([options.compilers[0], *command], cwd=folder, capture_output=True, text=True)
            return [f"odr: {result.stderr.strip()}"] if result.returncode else []

        def compile_unit(unit):
            (pathlib.Path(folder) / unit).write_text(units[unit])
            return call([*WARNINGS, *options.flags, "-c", unit])

        found = [fault for said in spread(compile_unit, units) for fault in said]
        found = found or call(["-pthread", "first.o", "second.o", "-o", "program", *options.link])
        if not found and subprocess.run([f"{folder}/program"], timeout=60).returncode != 0:
            found = ["odr: the program did not end well"]
    return found


def more(parser):
    parser.add_argument("--link", action="append", default=[], help="a library to link with")


if __name__ == "__main__":
    run(faults, [
        ({"include/cairn/core/size.hpp": SPDX + "#pragma once\nint size();\nint size() { return 2; }\n"},
         r"multiple definition of"),
        ({"include/cairn/core/other.hpp": SPDX + "#pragma once\nnamespace cairn {\nstruct pair {};\n}\n"},
         r"redefinition of"),
    ], more)
