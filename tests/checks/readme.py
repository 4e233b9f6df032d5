# SPDX-License-Identifier: MIT
"""README.md: the first two fenced blocks are the two commands, every program it names exists, every cpp block compiles.

A cpp block with an #include is a file, which may include what the example programs share; one without is a piece of a
function: it is put into one, after `#include <cairn/cairn.hpp>` and `using namespace cairn;`.
"""
import re

from house import COMPONENTS, SMALL_HOUSE, compile_text, run, spread

FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)


def as_file(block):
    if "#include" in block:
        return block
    return "#include <cairn/cairn.hpp>\nusing namespace cairn;\nvoid piece();\nvoid piece() {\n" + block + "}\n"


def faults(root, options):
    text = (root / "README.md").read_text()
    blocks = [(found[1], found[2], text.count("\n", 0, found.start()) + 1) for found in FENCED.finditer(text)]
    found = []
    if [kind for kind, _, _ in blocks[:2]] != ["sh", "sh"]:
        found.append("README.md: the first two fenced blocks are sh: build and run the main example, build and test")
    elif "build/examples/" not in blocks[0][1] or "ctest " not in blocks[1][1]:
        found.append("README.md: the first block runs a program of build/examples/, the second runs ctest")

    for name in sorted(set(re.findall(r"build/examples/(\w+)", text))):
        if not (root / f"examples/{name}.cpp").exists() and not (root / f"examples/{name}/main.cpp").exists():
            found.append(f"README.md: names build/examples/{name}, which examples/ does not make")

    def attempt(block):
        kind, body, line = block
        if kind != "cpp" or any(f"/{name}.hpp" in body and name not in options.found for name in COMPONENTS):
            return None
        said = compile_text(options.compilers[0], options, as_file(body), "-fsyntax-only", "-Wno-unused",
                            f"-I{root / 'examples'}")
        return f"README.md:{line}: this block does not compile:\n{said}" if said else None

    return found + [fault for fault in spread(attempt, blocks) if fault]


if __name__ == "__main__":
    small = SMALL_HOUSE["README.md"]
    run(faults, [
        ({"README.md": "```cpp\nint n = 0;\n```\n" + small}, r"first two fenced blocks"),
        ({"README.md": small.replace("ctest", "make")}, r"the second runs ctest"),
        ({"README.md": small.replace("walk", "run")}, r"build/examples/run, which"),
        ({"README.md": small.replace("size()", "sizes()")}, r"README.md:11: this block does not compile"),
        ({"README.md": small + "```cpp\n#include <cairn/net/pear.hpp>\n```\n"}, r"README.md:15: this block"),
    ])
