# SPDX-License-Identifier: MIT
"""A wrong program gives exactly one error, which is Cairn's own: tests/compile_fail/*.cpp.

Each file has one mistake, lines `// expect: REGEX` for its error, and the corrected program between #ifdef EXPECT_SUCCESS and
#else. With each compiler, at default flags, the corrected program compiles without a warning, and the wrong one gives exactly
one error, a static_assert of Cairn's, in at most 30 lines. Every regex matches in the first lines: those of the error, and those
that name the types it was compiled for.

Most of the time goes to headers that the programs share, so many programs are compiled as one text, each in a namespace of its
own, and the output is split by program. A program that does not pass this way is compiled alone, and that result counts. --case
checks one program. (One kind of second error goes unseen: one that names no program, or that the compiler has already reported
for another program with the same types.)
"""
import os
import pathlib
import re
import subprocess
import tempfile

from house import SPDX, run, spread

MOST_LINES = 30
INCLUDED_FROM = 8  # at most this many of them say which file includes which
TOGETHER = 48      # programs that are compiled as one text

# The front end of nvcc reads the program as CUDA, for the host and for a device.
CUDA = ["-x", "cu", "-ptx", "-o", os.devnull]


def is_cuda(compiler):
    return pathlib.PurePath(compiler).name.startswith("nvcc")


def compiled(compiler, options, path, *more):
    """(exit status, all output of the compiler)"""
    how = CUDA if is_cuda(compiler) else ["-fsyntax-only"]
    with tempfile.TemporaryDirectory() as folder:
        result = subprocess.run([compiler, "-std=c++20", *options.flags, *how, *more, str(path.resolve())],
                                cwd=folder, capture_output=True, text=True)
    return result.returncode, result.stdout + result.stderr


def compiled_together(compiler, options, paths, *more):
    """The same for one text: all headers that the programs include, then each program in a namespace."""
    lines = sorted({line for path in paths for line in re.findall(r"^#include <.*>", path.read_text(), re.M)})
    lines += [f'namespace case_{path.stem} {{\n#include "{path.resolve()}"\n}}' for path in paths]
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "all.cpp"
        source.write_text("\n".join(lines) + "\n")
        return compiled(compiler, options, source, *more)


def stands_alone(path):
    """Whether a program cannot be put into a namespace."""
    return re.search(r'^(namespace|template <>|#define|#include ")', path.read_text(), re.M)


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
    """Types as people type them: without namespaces, suffixes of numbers, and defaults that nobody types."""
    text = "\n".join(map(substituted, text.splitlines()))
    text = re.sub(r"\bcairn::(detail::)?", "", text)
    text = re.sub(r"\b(\d+)[uU]?[lL]+\b", r"\1", text)
    return re.sub(r"(, true)?\s*>", ">", text)


def first_lines(said):
    """The lines that a reader sees first. g++ says where the error is before it, clang and nvcc after it."""
    lines = said.splitlines()
    at = next(i for i, line in enumerate(lines) if re.search(r"\berror\b", line))
    return typed("\n".join(lines[:at + 7]))


def each(said):
    """Yields the compiler's output, one error at a time. g++ says where an error is before it, clang and nvcc after it."""
    one, has_error = [], False
    for line in said.splitlines():
        is_error = re.search(r"\berror\b.*: ", line)
        if has_error and (is_error or re.match(r"In file included from|\S+: In ", line)):
            yield "\n".join(one)
            one, has_error = [], False
        one.append(line)
        has_error = has_error or is_error
    if has_error:
        yield "\n".join(one)


def as_if_alone(one):
    """The message without namespaces and without the chain of includes, which depends on the other programs."""
    lines = [line for line in one.splitlines() if not re.match(r"In file included from|\s+from \S+[:,]$", line)]
    return re.sub(r"\bcase_\w+::", "", "\n".join(lines))


def at(compiler, path):
    return f"{path.name} with {pathlib.PurePath(compiler).name}"


def corrected(compiler, options, paths):
    """Compiles the corrected programs together, and one by one if that fails, to name the one at fault."""
    alone = [path for path in paths if stands_alone(path)]
    status, said = compiled_together(compiler, options, [path for path in paths if path not in alone], "-DEXPECT_SUCCESS")
    found = []
    for path in paths if status or said else alone:
        status, said = compiled(compiler, options, path, "-DEXPECT_SUCCESS")
        if status or said:
            found.append(f"{at(compiler, path)}: the corrected program does not compile without a word:\n" + said[:2000])
    return found


def wrong(compiler, options, paths):
    """Compiles the wrong programs together, and then alone those that have no error there, or an unexpected one."""
    alone = [path for path in paths if stands_alone(path)]
    together = [path for path in paths if path not in alone]
    said_of = {path.stem: [] for path in together}
    if len(together) > 1:
        _, said = compiled_together(compiler, options, together, *([] if "clang" not in compiler else ["-ferror-limit=0"]))
        for one in each(said):
            names = {name for pair in re.findall(r"/(\w+)\.cpp\b|\bcase_(\w+)::", one) for name in pair} & said_of.keys()
            for name in names:
                said_of[name].append(as_if_alone(one))
    alone += [path for path in together
              if not said_of[path.stem] or judged(compiler, path, "\n".join(said_of[path.stem]), MOST_LINES - INCLUDED_FROM)]
    found = []
    for path in alone:
        status, said = compiled(compiler, options, path)
        found += judged(compiler, path, said, MOST_LINES) if status else [f"{at(compiler, path)}: the wrong program compiles"]
    return found


def judged(compiler, path, said, most):
    """The faults in a compiler's output for a wrong program."""
    expected = re.findall(r"^// expect: *(.*)$", path.read_text(), re.M)
    if not expected:
        return [f"{path.name}: has no line `// expect: REGEX`"]
    errors = re.findall(r"\berror\b.*: .*|\berror: .*", said)
    found = []
    if len(errors) != 1 or not re.search("static assertion failed|static_assert failed", errors[0]):
        found.append(f"{at(compiler, path)}: expected one error, a static_assert, found {len(errors)}:\n" + said[:4000])
    if (count := len(said.splitlines())) > most:
        found.append(f"{at(compiler, path)}: the message has {count} lines, at most {most}:\n{said}")
    if errors:
        seen = first_lines(said)
        found += [f"{at(compiler, path)}: expected '{regex}' in the first lines of:\n{seen}"
                  for regex in expected if not re.search(regex, seen)]
    return found


def faults(root, options):
    cases = sorted((root / "tests/compile_fail").glob("*.cpp"))
    if options.case:
        cases = [path for path in cases if path.stem == options.case]
    if not cases:
        return ["tests/compile_fail: there is no such case"]
    groups = [cases[i:i + TOGETHER] for i in range(0, len(cases), TOGETHER)]
    jobs = [(how, compiler, group) for compiler in options.compilers for how in (corrected, wrong) for group in groups]
    return [fault for some in spread(lambda job: job[0](job[1], options, job[2]), jobs) for fault in some]


def more(parser):
    parser.add_argument("--case", help="only this one")


RIGHT = (SPDX + "// expect: Linear: too small\n// expect: Linear<0>\n#include <cairn/core/size.hpp>\n"
         "template <int N>\nstruct Linear {\n  static_assert(N > 0, \"Linear: too small\");\n};\n"
         "#ifdef EXPECT_SUCCESS\nLinear<1> made;\n#else\nLinear<0> made;\n#endif\n")

if __name__ == "__main__":
    case, again = "tests/compile_fail/zero.cpp", "tests/compile_fail/zero_again.cpp"
    run(faults, [
        ({case: None, again: None}, r"there is no such case"),
        ({case: RIGHT.replace("// expect: ", "// ")}, r"zero.cpp: has no line"),
        ({case: RIGHT.replace("Linear<1> made", "Linear<0> made")}, r"corrected program does not compile"),
        ({case: RIGHT.replace("Linear<1> made", "int f() { Linear<1>{}; }")}, r"corrected program does not compile"),
        ({case: "namespace own {}\n" + RIGHT.replace("Linear<1> made", "Linear<0> made")}, r"corrected program does not compile"),
        ({case: RIGHT.replace("Linear<0> made;", "Linear<1> made;")}, r"the wrong program compiles"),
        ({case: RIGHT.replace("Linear<0> made", "Linear<0> made; Linear<-1> more")}, r"expected one error, .* found 2"),
        ({case: RIGHT.replace("Linear<0> made", "Layer<0> made")}, r"expected one error, .* found [12]"),
        ({case: RIGHT.replace("too small\n", "too large\n", 1)}, r"expected 'Linear: too large' in the first lines"),
        ({case: RIGHT.replace("<0>\n", "<2>\n", 1)}, r"expected 'Linear<2>' in the first lines"),
        ({again: RIGHT.replace("Linear<0> made;", "Linear<1> made;")}, r"again.cpp .*: the wrong program compiles"),
        ({again: RIGHT.replace("too small\n", "too large\n", 1)}, r"again.cpp .*: expected 'Linear: too large' in the first lines"),
        ({again: RIGHT.replace("Linear<0> made", "Linear<0> made; Linear<-1> more")}, r"again.cpp .*: expected one error, .* found 2"),
        ({case: RIGHT.replace("#else\n", "#else\n" + "#warning more to read\n" * 12)}, r"the message has \d\d lines"),
    ], more, {case: RIGHT, again: RIGHT})
