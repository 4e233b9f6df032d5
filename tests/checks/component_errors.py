# SPDX-License-Identifier: MIT
"""A header that needs a library, compiled without it, first says so, and what to do with and without CMake.

Each such header is compiled without its component's flags. The first error must be its own #error, which names the CMake target
and the flag.
"""
import argparse
import pathlib
import re
import subprocess

from house import report

ROOT = pathlib.Path(__file__).resolve().parents[2]
GUARD = re.compile(r"^#if !CAIRN_WITH_([A-Z]+)$", re.M)


def faults_of(name, component, said):
    """The faults in the compiler's output for a header without its component."""
    errors = [line for line in said.splitlines() if re.search(r"\berror\b", line)]
    if not errors:
        return [f"{name}: compiles without cairn::{component.lower()}"]
    wanted = [f"{pathlib.PurePath(name).name} needs", f"link the CMake target cairn::{component.lower()}", f"-DCAIRN_WITH_{component}=1"]
    return [f"{name}: the first error lacks {word!r}: {errors[0]}" for word in wanted if word not in errors[0]]


def check(options):
    found, seen = [], 0
    for path in sorted([*(ROOT / "include").rglob("*.hpp"), *(ROOT / "include").rglob("*.cuh")]):
        guard = GUARD.search(path.read_text())
        if not guard:
            continue
        seen += 1
        told = subprocess.run([options.compiler, "-std=c++20", "-fsyntax-only", f"-I{ROOT / 'include'}", "-x", "c++", str(path)],
                              capture_output=True, text=True)
        found += faults_of(path.relative_to(ROOT).as_posix(), guard[1], told.stderr)
    return found if seen >= 4 else [*found, f"only {seen} headers with a component were found"]


def self_test():
    right = "mpi.hpp:7:2: error: #error \"mpi.hpp needs an MPI: link the CMake target cairn::mpi, or compile with -DCAIRN_WITH_MPI=1\""
    assert not faults_of("comm/mpi/mpi.hpp", "MPI", right)
    assert faults_of("comm/mpi/mpi.hpp", "MPI", ""), "it compiles"
    assert faults_of("comm/mpi/mpi.hpp", "MPI", "mpi.hpp:9:10: fatal error: mpi.h: No such file\n" + right), "another error is first"
    assert faults_of("comm/mpi/mpi.hpp", "MPI", right.replace("-DCAIRN_WITH_MPI=1", "more")), "it says nothing for those without CMake"
    return []


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--flag", action="append", default=[])
    parser.add_argument("--link", action="append", default=[])
    parser.add_argument("--with", action="append", default=[], dest="components")
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    report(self_test() if options.self_test else check(options))


if __name__ == "__main__":
    main()
