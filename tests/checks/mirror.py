# SPDX-License-Identifier: MIT
"""Tests mirror headers: include/cairn/ROOM/x.hpp has tests/ROOM/x.cpp, and the other way round.

A folder below a room (one operation and its backends) is mirrored as a whole: by tests/ROOM/FOLDER/*.cpp.
"""
import pathlib

from house import FLOORS, SPDX, headers, room, run

# Headers without a test of their own, and why.
EXEMPT = {}


def mirror(path):
    """ROOM/x or, below a room, ROOM/FOLDER."""
    return "/".join(pathlib.PurePosixPath(path).with_suffix("").parts[:2])


def faults(root, _options=None):
    tested = {mirror(header.removeprefix("cairn/")): header for header in headers(root) if room(header)}
    tests = {}
    for name in FLOORS:
        folder = root / "tests" / name
        for path in sorted(folder.rglob("*.cpp")):
            tests[mirror(path.relative_to(root / "tests"))] = path.relative_to(root).as_posix()

    found = [f"{header}: has no test, expected tests/{key}.cpp or tests/{key}/*.cpp"
             for key, header in tested.items() if key not in tests and key not in EXEMPT]
    found += [f"{path}: mirrors no header, expected include/cairn/{key}.hpp or include/cairn/{key}/"
              for key, path in tests.items() if key not in tested]
    found += [f"mirror.py: {key} is exempt for no reason" for key in EXEMPT
              if root.joinpath("tests/checks/mirror.py").exists() and (key in tests or key not in tested)]
    return found


if __name__ == "__main__":
    run(faults, [
        ({"tests/core/size.cpp": None}, r"core/size.hpp: has no test"),
        ({"include/cairn/ops/sum/cpu.hpp": SPDX}, r"ops/sum/cpu.hpp: has no test"),
        ({"tests/net/triple.cpp": SPDX}, r"tests/net/triple.cpp: mirrors no header"),
        ({"tests/net/mean/cpu.cpp": SPDX}, r"tests/net/mean/cpu.cpp: mirrors no header"),
    ])
