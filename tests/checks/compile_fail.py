# SPDX-License-Identifier: MIT
"""A wrong program gives one error, and it is ours: tests/compile_fail/*.cpp.

Each file is one mistake, with lines `// expect: REGEX` for what its error says, and beside it the corrected program
between #ifdef EXPECT_SUCCESS and #else. With each compiler, at default flags, the corrected one compiles without a
warning, and the wrong one gives exactly one error, a static_assert of ours, in at most 30 lines; every regex matches in
the first lines: the error's own, and those that say for which types it was compiled.
"""
import os
import pathlib
import re
import subprocess
import tempfile

from house import SPDX, run, spread

MOST_LINES = 30

# The front end of nvcc reads the program as CUDA, for the host and for a device.
CUDA = ["-x", "cu", "-ptx", "-o", os.devnull]


def is_cuda(compiler):
    return pathlib.PurePath(compiler).name.startswith("nvcc")


def compiled(compiler, options, path, *more):
    """(exit status, all that the compiler says)"""
    how = CUDA if is_cuda(compiler) else ["-fsyntax-only"]
    with tempfile.TemporaryDirectory() as folder:
        result = subprocess.run([compiler, "-std=c++20", *options.flags, *how, *more, str(path.resolve())],
                                cwd=folder, capture_output=True, text=True)
    return result.returncode, result.stdout + result.stderr


def substituted(line):
    """nvcc shows `joint<Position, Layer> [with Position=2UL, Layer=ReLU]`; here that becomes joint<2UL, ReLU>."""
    def replace(found):
        names = [name.strip() for name in found[2].split(",")]
        values = found[3]
        at = [re.search(rf"(?:^|, ){re.escape(name)}=", values) for name in names]
        if None in at:
            return found[0]
        ends = [place.start() for place in at[1:]] + [len(values)]
        return found[1] + "<" + ", ".join(values[a.end():b] for a, b in zip(at, ends)) + ">"
    return re.sub(r"([\w:]+)<([\w, ]+)> \[with (.*)\]", replace, line)


def typed(text):
    """Types as people type them: no namespace, no suffix of numbers, no default that nobody types."""
    text = "\n".join(map(substituted, text.splitlines()))
    text = re.sub(r"\bcairn::(detail::)?", "", text)
    text = re.sub(r"\b(\d+)[uU]?[lL]+\b", r"\1", text)
    return re.sub(r"(, true)?\s*>", ">", text)


def first_lines(said):
    """What a reader sees first: up to the error g++ says where it is, after it clang and nvcc do."""
    lines = said.splitlines()
    at = next(i for i, line in enumerate(lines) if re.search(r"\berror\b", line))
    return typed("\n".join(lines[:at + 7]))


def attempt(compiler, options, path):
    expected = re.findall(r"^// expect: *(.*)$", path.read_text(), re.M)
    at = f"{path.name} with {pathlib.PurePath(compiler).name}"
    if not expected:
        return [f"{path.name}: has no line `// expect: REGEX`"]
    status, said = compiled(compiler, options, path, "-DEXPECT_SUCCESS")
    if status or said:
        return [f"{at}: the corrected program does not compile without a word:\n" + said[:2000]]
    status, said = compiled(compiler, options, path)
    errors = re.findall(r"\berror\b.*: .*|\berror: .*", said)
    if not status:
        return [f"{at}: the wrong program compiles"]
    found = []
    if len(errors) != 1 or not re.search("static assertion failed|static_assert failed", errors[0]):
        found.append(f"{at}: expected one error, a static_assert, found {len(errors)}:\n" + said[:4000])
    if (count := len(said.splitlines())) > MOST_LINES:
        found.append(f"{at}: the message has {count} lines, at most {MOST_LINES}:\n{said}")
    if errors:
        seen = first_lines(said)
        found += [f"{at}: expected '{regex}' in the first lines of:\n{seen}"
                  for regex in expected if not re.search(regex, seen)]
    return found


def faults(root, options):
    cases = sorted((root / "tests/compile_fail").glob("*.cpp"))
    if options.case:
        cases = [path for path in cases if path.stem == options.case]
    if not cases:
        return ["tests/compile_fail: there is no such case"]
    jobs = [(compiler, path) for compiler in options.compilers for path in cases]
    return [fault for some in spread(lambda job: attempt(job[0], options, job[1]), jobs) for fault in some]


def more(parser):
    parser.add_argument("--case", help="only this one")


RIGHT = (SPDX + "// expect: Linear: too small\n// expect: Linear<0>\n#include <cairn/core/size.hpp>\n"
         "template <int N>\nstruct Linear {\n  static_assert(N > 0, \"Linear: too small\");\n};\n"
         "#ifdef EXPECT_SUCCESS\nLinear<1> made;\n#else\nLinear<0> made;\n#endif\n")

if __name__ == "__main__":
    case = "tests/compile_fail/zero.cpp"
    run(faults, [
        ({case: None}, r"there is no such case"),
        ({case: RIGHT.replace("// expect: ", "// ")}, r"zero.cpp: has no line"),
        ({case: RIGHT.replace("Linear<1> made", "Linear<0> made")}, r"corrected program does not compile"),
        ({case: RIGHT.replace("Linear<1> made", "int f() { Linear<1>{}; }")}, r"corrected program does not compile"),
        ({case: RIGHT.replace("Linear<0> made;", "Linear<1> made;")}, r"the wrong program compiles"),
        ({case: RIGHT.replace("Linear<0> made", "Linear<0> made; Linear<-1> more")}, r"expected one error, .* found 2"),
        ({case: RIGHT.replace("Linear<0> made", "Layer<0> made")}, r"expected one error, .* found [12]"),
        ({case: RIGHT.replace("too small\n", "too large\n", 1)}, r"expected 'Linear: too large' in the first lines"),
        ({case: RIGHT.replace("<0>\n", "<2>\n", 1)}, r"expected 'Linear<2>' in the first lines"),
        ({case: RIGHT.replace("#else\n", "#else\n" + "#warning more to read\n" * 12)}, r"the message has \d\d lines"),
    ], more, {case: RIGHT})
