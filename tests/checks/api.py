# SPDX-License-Identifier: MIT
"""The API reference: Doxygen builds it from the headers without a warning, and every public type with a comment has a page.

.github/Doxyfile has the settings, and .github/api.awk makes Doxygen read ordinary comments.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from house import SPDX, headers, run

PROJECT = pathlib.Path(__file__).resolve().parents[2]
FILES = (".github/Doxyfile", ".github/api.awk")
# A type at the start of a line below a comment is public if its namespace is cairn, and not cairn::detail.
TYPE = re.compile(r"^// [^\n]*\n(?:template <[^\n]*>\n)?(?:struct|class) (?:\[\[nodiscard\]\] )?([A-Za-z]\w*)\b(?! *<)[^;\n]*\{", re.M)
LEFT_OUT = 77


def public_types(text):
    spaces = [(match.start(), match[1]) for match in re.finditer(r"^namespace ([\w:]+) \{|^\} // namespace", text, re.M)]
    for match in TYPE.finditer(text):
        around = []
        for at, name in spaces:
            if at < match.start():
                around = [*around, name] if name else around[:-1]
        if around == ["cairn"]:
            yield match[1]


def faults(root, _options=None):
    with tempfile.TemporaryDirectory() as folder:
        settings = (root / FILES[0]).read_text() + f"\nOUTPUT_DIRECTORY = {folder}\n"
        said = subprocess.run(["doxygen", "-"], cwd=root, input=settings, capture_output=True, text=True)
        found = [line for line in (said.stdout + said.stderr).splitlines() if line.strip()][:20]
        pages = {page.name for page in pathlib.Path(folder).rglob("*.html")}
    for header in headers(root):
        for name in public_types((root / "include" / header).read_text()):
            page = f"cairn_1_1{name.replace('_', '__')}.html"
            if not {f"struct{page}", f"class{page}"} & pages:
                found.append(f"include/{header}: {name} has no page")
    return found


if __name__ == "__main__":
    if not shutil.which("doxygen"):
        print("left out: there is no doxygen on this machine")
        sys.exit(LEFT_OUT)
    right = {name: (PROJECT / name).read_text() for name in FILES}
    pair = SPDX + ("#pragma once\n\nnamespace cairn {\n// Two: a < b & c, \\x, @y, <b>.\n//\n//   pair p; // <c>\n"
                   "struct pair {\n  int n = 0; // of <them>\n};\n} // namespace cairn\n")
    run(faults, [
        ({FILES[0]: right[FILES[0]].replace("cairn::detail*", "cairn::pair")}, r"pair.hpp: pair has no page"),
        ({FILES[1]: right[FILES[1]].replace("function plain(text) {", "function plain(text) { return text;")}, r"unknown command"),
        ({FILES[0]: right[FILES[0]] + "NO_SUCH_TAG = 1\n"}, r"NO_SUCH_TAG"),
    ], small={**right, "include/cairn/net/pair.hpp": pair})
