# SPDX-License-Identifier: MIT
"""single_include/ is what its script writes from include/, and one compiler command builds a program with it.

Its other headers compile with it, those of a component together, if the component's library is found. C++17 is refused in one
sentence, and so is a program that includes both folders. .ci/run also runs the tests with it (CAIRN_TEST_SINGLE_HEADER).
"""
import pathlib
import subprocess
import sys
import tempfile

from house import SMALL_HOUSE, SPDX, compile_text, component, run, spread

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "single_include"))
import amalgamate  # noqa: E402

PROGRAM = "tests/package/train.cpp"
TWICE = "Cairn is there twice"


def one_line(compiler, root):
    with tempfile.TemporaryDirectory() as folder:
        command = [compiler, "-std=c++20", f"-I{root / 'single_include'}", root / PROGRAM, "-o", f"{folder}/program", "-pthread"]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode:
            return f"{PROGRAM} with {compiler} and single_include/:\n" + "\n".join(result.stderr.splitlines()[:12])
        status = subprocess.run([f"{folder}/program"], capture_output=True, timeout=60).returncode
        return f"{PROGRAM} with {compiler} and single_include/: ends with status {status}" if status else ""


def faults(root, options):
    found = [f"single_include/{name}: is not what python3 {amalgamate.SCRIPT} writes" for name in amalgamate.out_of_date(root)]
    both = [f'#include "{root}/{folder}/cairn/cairn.hpp"\n' for folder in ("include", "single_include")]
    options.flags[0] = f"-I{root / 'single_include'}"
    names = sorted(path.relative_to(root / "single_include").as_posix() for path in (root / "single_include").rglob("*.hpp"))

    def attempt(job):
        compiler, what, text, how, expected = job
        said = compile_text(compiler, options, text, "-fsyntax-only", *how)
        if not expected:
            return f"{what} of single_include/ with {compiler}:\n{said}" if said else None
        return None if expected in said else f"{what} with {compiler}: expected '{expected}', found:\n{said}"

    jobs = []
    for compiler in options.compilers:
        for needed in {component(name) for name in names} & {None, *options.found}:
            some = "".join(f"#include <{name}>\n" for name in names if component(name) == needed)
            jobs += [(compiler, f"{needed or 'cairn.hpp'}", some + some, [], "")]
        jobs += [(compiler, "single_include/ as C++17", "#include <cairn/cairn.hpp>\n", ["-std=c++17"], "Cairn needs C++20")]
        jobs += [(compiler, "both folders", "".join(order), [f"-I{root / 'include'}"], TWICE) for order in (both, both[::-1])]
    found += [fault for fault in spread(attempt, jobs) if fault]
    return found + [fault for fault in spread(lambda compiler: one_line(compiler, root), options.compilers) if fault]


def amalgamated(house):
    """The files of a house, and their single header."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in house.items():
            path = pathlib.Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        texts = amalgamate.texts(pathlib.Path(folder))
    return {**house, **{f"single_include/{name}": text for name, text in texts.items()}}


if __name__ == "__main__":
    config = (SPDX + '#pragma once\n#if __cplusplus < 202002L\n#include "Cairn needs C++20"\n#endif\n'
              f'#ifdef CAIRN_VERSION_MAJOR\n#include "{TWICE}"\n#endif\n#define CAIRN_VERSION_MAJOR 0\n')
    header, single, size = "include/cairn/core/config.hpp", "single_include/cairn/cairn.hpp", "include/cairn/core/size.hpp"
    right = {**SMALL_HOUSE, header: config, PROGRAM: SPDX + "#include <cairn/cairn.hpp>\nint main() { return cairn::size() != 2; }\n"}
    run(faults, [
        ({size: SMALL_HOUSE[size] + "// new\n"}, r"cairn.hpp: is not what"),
        ({single: None}, r"cairn.hpp: is not what"),
        ({"single_include/cairn/late.hpp": SPDX}, r"late.hpp: is not what"),
        (amalgamated({**right, header: config.replace(TWICE, "cstddef")}), r"both folders with [^$]*found"),
        (amalgamated({**right, header: config.replace("202002", "201402")}), r"as C\+\+17 with"),
        (amalgamated({**right, size: SMALL_HOUSE[size].replace("return 2", "return 3")}), r"ends with status 1"),
        (amalgamated({**right, size: SMALL_HOUSE[size] + "inline int narrow(long n) { return n; }\n"}), r"cairn.hpp of single_include/ with"),
    ], small=amalgamated(right))
