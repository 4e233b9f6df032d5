# SPDX-License-Identifier: MIT
"""CTest can run every test case by its name: CMake can pass the name on, and it is unique in its room."""
import re

from house import FLOORS, SPDX, run

# The name is one string or several that the compiler joins.
TEXT = r'"((?:[^"\\]|\\.)*)"'
CASE = re.compile(rf"^\s*TEST_CASE(?:_TEMPLATE|_FIXTURE)?\(\s*(?:[\w:]+\s*,\s*)?((?:{TEXT}\s*)+)", re.M)


def faults(root, _options=None):
    found = []
    for room in FLOORS:
        seen = {}
        folder = root / "tests" / room
        for path in sorted([*folder.rglob("*.cpp"), *folder.rglob("*.cu")]):
            text, name = path.read_text(), path.relative_to(root).as_posix()
            for case in CASE.finditer(text):
                at = f"{name}:{text.count(chr(10), 0, case.start(1)) + 1}"
                title = "".join(re.findall(TEXT, case[1]))
                if re.search(r"[][;\\]", title) or title != title.strip():
                    found.append(f"{at}: '{title}' has a bracket, semicolon, backslash or outer blank, which CMake loses")
                if other := seen.get(title.lower()):
                    found.append(f"{at}: '{title}' is also the name of the case at {other}")
                seen[title.lower()] = at
    return found


if __name__ == "__main__":
    run(faults, [
        ({"tests/core/size.cpp": SPDX + 'TEST_CASE("two; or three") {}\n'}, r"size.cpp:2: 'two; or three' has"),
        ({"tests/core/size.cpp": SPDX + 'TEST_CASE_TEMPLATE("in "\n    "[0, 1)", T, int) {}\n'},
         r"size.cpp:2: 'in \[0, 1\)'"),
        ({"tests/core/size.cpp": SPDX + 'TEST_CASE("one") {}\nTEST_CASE("One") {}\n'}, r"size.cpp:3: 'One' is also"),
        ({"tests/core/size.cpp": SPDX + 'TEST_CASE("one") {}\n', "tests/core/size.cu": SPDX + 'TEST_CASE("one") {}\n'},
         r"size.cu:2: 'one' is also"),
    ])
