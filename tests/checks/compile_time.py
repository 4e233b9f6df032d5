# SPDX-License-Identifier: MIT
"""Networks stay cheap to compile: tests/checks/compile_time/*.cpp against limits.json beside them.

For each case and compiler, at the default limits of constant expressions or at the lower ones in limits.json:

  times_reference  the most user time, as a multiple of reference.cpp's, which is compiled in turns with it; least of several
  mebibytes        the most memory of the compiler
  instantiations   the number of Cairn's templates that are instantiated: functions and classes with clang (-ftime-trace),
                   classes with g++ (-fdump-lang-class). The machine's load does not change it; 5 % more are allowed
  evaluation       the most work of one constant expression (-fconstexpr-ops-limit, -fconstexpr-steps)

`doubling` is what the second of two cases may cost, as a multiple of the first, both without the headers' time. Limits hold for
one version of a compiler; for other versions only those under `any` count. .ci/run compares --counts, as other checks run at the
same time. After a change that is meant to cost more:

  python3 tests/checks/compile_time.py --compiler g++ --compiler clang++ --renew   counts and work anew; times never
  python3 tests/checks/compile_time.py --compiler g++ --compiler clang++ --table   the section of tests/bench/RESULTS.md
"""
import json
import os
import pathlib
import re
import subprocess
import tempfile

from house import SPDX, headers, run

FOLDER = "tests/checks/compile_time"
LIMITS = FOLDER + "/limits.json"
OVER = 1.05     # times a committed count
ROUNDS = (1, 1, 2, 4) # of measuring; more only if the first is above a limit
IN_TURNS = (1, 1, 2, 4, 8)  # rounds of three cases whose differences are compared; the load of a shared machine varies
DEFAULT_WORK = {"g++": 1 << 25, "clang": 1 << 20}
WORK_FLAG = {"g++": "-fconstexpr-ops-limit=", "clang": "-fconstexpr-steps="}
CUDA = ["-x", "cu", "-ptx", "-o", os.devnull]  # as compile_fail.py calls it


def family(compiler):
    said = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False).stdout
    kind = "nvcc" if "nvcc" in said else "clang" if "clang" in said else "g++"
    version = re.search(r"release (\d+)" if kind == "nvcc" else r"version (\d+)" if kind == "clang" else r"\) (\d+)", said)
    return kind, f"{kind} {version[1] if version else '?'}"


def sources(root, case):
    """The text of a case: its file, or #includes of all headers in some folders."""
    if "headers" in case:
        return "".join(f"#include <{name}>\n" for name in headers(root) if name.startswith(tuple(case["headers"])))
    return (root / case.get("folder", FOLDER) / case["file"]).read_text()


def command(compiler, kind, options, case):
    how = CUDA if kind == "nvcc" else ["-fsyntax-only"]
    return [compiler, "-std=c++20", *options.flags, *case.get("flags", []), *how]


def compiled(words, path):
    """(user seconds, MiB, what the compiler says if it fails) of one compilation."""
    with tempfile.TemporaryFile() as said:
        child = subprocess.Popen([*words, str(path)], stdout=said, stderr=said)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = status
        said.seek(0)
        text = said.read().decode(errors="replace")
    return used.ru_utime, used.ru_maxrss / 1024, "\n".join(text.splitlines()[:8]) or "failed" if status else None


def told(words, path):
    """Replaces `compiled` in the self-tests, without a clock: a row costs 100 ms and 1 MiB, the reference 1 s."""
    rows = next((int(word.removeprefix("-DROW=")) for word in words if word.startswith("-DROW=")), 10)
    return rows / 10, float(rows), compiled(words, path)[2]


def class_dump(folder):
    """The flag of g++ that makes the file of which instantiations() counts."""
    return f"-fdump-lang-class={folder / 'classes'}"


def instantiations(words, kind, path, folder, dumped=False):
    if kind == "clang":
        made = folder / "trace.o"
        words = [w for w in words if w != "-fsyntax-only"]
        subprocess.run([*words, "-c", "-O0", "-ftime-trace", "-ftime-trace-granularity=0", "-o", str(made), str(path)],
                       capture_output=True, check=False)
        events = json.loads(made.with_suffix(".json").read_text())["traceEvents"]
        return sum(1 for e in events if e["name"] in ("InstantiateClass", "InstantiateFunction")
                   and "cairn::" in e["args"]["detail"].split("<")[0])
    if not dumped:
        subprocess.run([*words, class_dump(folder), str(path)], capture_output=True, check=False)
    return len(re.findall(r"^Class cairn::[^\n]*<", (folder / "classes").read_text(), re.M))


def evaluation(words, kind, path):
    """The lowest limit, to within 8 %, with which it compiles."""
    low, high = 4096, DEFAULT_WORK[kind]
    while high > low * 1.08:
        middle = int((low * high) ** 0.5)
        if compiled([*words, f"{WORK_FLAG[kind]}{middle}"], path)[2]:
            low = middle
        else:
            high = middle
    return high


class bench:
    """Measures cases with one compiler, as often as asked, in turns with the reference, and keeps the least values."""

    def __init__(self, root, compiler, options, folder):
        self.root, self.compiler, self.options, self.folder = root, compiler, options, folder
        self.figures = told if options.self_test else compiled
        self.kind, self.version = family(compiler)
        self.least = {}
        self.reference = self.path({"file": "reference.cpp"})

    def path(self, case):
        made = self.folder / (case.get("file", "headers.cpp").replace("/", "_"))
        made.write_text(sources(self.root, case))
        return made

    def words(self, case):
        more = ["-I" + str((self.root / case.get("folder", FOLDER) / case["file"]).parent)] if "folder" in case else []
        return command(self.compiler, self.kind, self.options, case) + more

    def measure(self, case, rounds, limits=()):
        """(user time over the reference's, seconds, MiB, error): the least of the rounds of this process so far."""
        path = self.path(case)
        for _ in range(rounds):
            unit = 1.0  # where times are not compared
            if not self.options.counts:
                unit, _, _ = self.figures(command(self.compiler, self.kind, self.options, {}), self.reference)
            seconds, mebibytes, wrong = self.figures([*self.words(case), *limits], path)
            if wrong:
                return None, None, None, wrong
            units, best, memory = self.least.get(case["name"], (9e9, 9e9, 9e9))
            self.least[case["name"]] = min(units, unit), min(best, seconds), min(memory, mebibytes)
        units, best, memory = self.least[case["name"]]
        return best / units, best, memory, None


def faults_of(root, compiler, options, given, folder):
    b = bench(root, compiler, options, folder)
    found = []
    for case in given["cases"]:
        at = f"{FOLDER}: {case['name']} with {pathlib.PurePath(compiler).name}"
        if b.kind == "nvcc":  # no limits for nvcc: it only has to finish at its default limits
            wrong = compiled(b.words(case), b.path(case))[2] if case.get("nvcc") else None
            found += [f"{at}: does not compile:\n{wrong}"] if wrong else []
            continue
        limits = {**case.get("any", {}), **case.get(b.version, {})}
        if not limits:
            found.append(f"{LIMITS}: no limit for {case['name']}")
            continue
        work = [f"{WORK_FLAG[b.kind]}{limits['evaluation']}"] if "evaluation" in limits else []
        dumped = options.counts and b.kind == "g++" and "instantiations" in limits  # by the compilation that is measured
        if work or dumped:
            wrong = b.measure(case, 1, [*work, class_dump(folder)] if dumped else work)[3]
            if wrong and not compiled(b.words(case), b.path(case))[2]:
                found.append(f"{at}: one constant expression takes more work than {limits['evaluation']}:\n{wrong}")
        for rounds in (0, *ROUNDS) if case["name"] in b.least else ROUNDS:
            times, seconds, mebibytes, wrong = b.measure(case, rounds)
            if wrong or options.counts or times <= limits.get("times_reference", 9e9):
                break
        if wrong:
            found.append(f"{at}: does not compile:\n{wrong}")
            continue
        if not options.counts and times > limits.get("times_reference", 9e9):
            found.append(f"{at}: takes {times:.1f} times as long as the reference ({seconds:.2f} s), "
                         f"at most {limits['times_reference']}")
        if mebibytes > limits.get("mebibytes", 9e9):
            found.append(f"{at}: takes {mebibytes:.0f} MiB, at most {limits['mebibytes']}")
        if "instantiations" in limits:
            count = instantiations(b.words(case), b.kind, b.path(case), folder, dumped)
            if count > limits["instantiations"] * OVER:
                found.append(f"{at}: {count} instantiations, committed are {limits['instantiations']}")
    for law in given.get("doubling", []) if b.kind != "nvcc" and not options.counts else []:
        none, once, twice = ([c for c in given["cases"] if c["name"] == law[name]][0] for name in ("none", "once", "twice"))
        for rounds in IN_TURNS:
            if any(b.measure(case, 1)[3] for _ in range(rounds) for case in (none, once, twice)):
                break
            base, one, two = (b.measure(case, 0)[0] for case in (none, once, twice))
            if two - base <= law["most"] * (one - base):
                break
        else:
            found.append(f"{FOLDER}: {law['twice']} with {pathlib.PurePath(compiler).name} costs {(two - base) / (one - base):.2f} "
                         f"times what {law['once']} does, at most {law['most']}")
    return found


def renew(root, options, given, folder):
    for compiler in options.compilers:
        b = bench(root, compiler, options, folder)
        for case in given["cases"] if b.kind != "nvcc" else []:
            known = case.setdefault(b.version, {})
            known["instantiations"] = instantiations(b.words(case), b.kind, b.path(case), folder)
            if case.get("evaluates"):
                known["evaluation"] = min(evaluation(b.words(case), b.kind, b.path(case)) * 6 // 5, DEFAULT_WORK[b.kind])
    (root / LIMITS).write_text(json.dumps(given, indent=1) + "\n")
    return []


def table(root, options, given, folder):
    benches = [bench(root, compiler, options, folder) for compiler in options.compilers]
    shown = [*given["cases"], *({"name": path.relative_to(root).as_posix(), "folder": ".", "nvcc": False,
                                 "file": path.relative_to(root).as_posix()}
                                for path in sorted((root / "examples").rglob("*.cpp")))]
    print("| file | " + " | ".join(f"{b.version} s | MiB" for b in benches) + " |")
    print("| --- |" + " ---: | ---: |" * len(benches))
    print("| reference: `<algorithm> <map> <string> <vector>` | " + " | ".join("{:.2f} | {:.0f}".format(
        *b.measure({"name": "reference", "file": "reference.cpp"}, 5)[1:3]) for b in benches) + " |")
    for case in shown:
        cells = []
        for b in benches:
            _, seconds, mebibytes, wrong = (None, None, None, "-") if b.kind == "nvcc" and not case.get("nvcc") else \
                b.measure(case, options.rounds)
            cells.append("- | -" if wrong else f"{seconds:.2f} | {mebibytes:.0f}")
        print(f"| {case.get('shown', case['name'])} | " + " | ".join(cells) + " |", flush=True)
    return []


def faults(root, options):
    given = json.loads((root / LIMITS).read_text())
    with tempfile.TemporaryDirectory() as folder:
        if options.renew:
            return renew(root, options, given, pathlib.Path(folder))
        if options.table:
            return table(root, options, given, pathlib.Path(folder))
        return [fault for compiler in options.compilers
                for fault in faults_of(root, compiler, options, given, pathlib.Path(folder))]


def more(parser):
    parser.add_argument("--renew", action="store_true", help="write counts and work of this state to limits.json")
    parser.add_argument("--counts", action="store_true", help="compare what a loaded machine does not change: all but the times")
    parser.add_argument("--table", action="store_true", help="print what every file costs, the examples' too")
    parser.add_argument("--rounds", type=int, default=5, help="of measuring, for --table")


def small_limits(most=2.1, **changed):
    row = {"name": "row", "file": "row.cpp", "flags": ["-DROW=40"],
           "any": {"times_reference": 4.1, "mebibytes": 40, "evaluation": 400000, "instantiations": 41, **changed}}
    others = [{**row, "name": name, "flags": [f"-DROW={count}"], "any": {"times_reference": 9}}
              for name, count in (("none", 1), ("twice", 80))]
    return json.dumps({"cases": [row, *others],
                       "doubling": [{"none": "none", "once": "row", "twice": "twice", "most": most}]})


# The source of the self-tests: a chain of ROW classes, and a loop of ten thousand steps in one constant expression.
ROW = (SPDX + "namespace cairn {\ntemplate <int N>\nstruct item : item<N - 1> {};\ntemplate <>\nstruct item<0> {};\n"
       "constexpr int loop() {\n  int sum = 0;\n  for (int i = 0; i < 10000; ++i) sum += i % 2;\n  return sum;\n}\n"
       "static_assert(sizeof(item<ROW>) == 1 && loop() == 5000);\n} // namespace cairn\n")

if __name__ == "__main__":
    run(faults, [
        ({LIMITS: small_limits(times_reference=3.9)}, r"row with .*: takes 4.0 times as long as the reference"),
        ({LIMITS: small_limits(mebibytes=39)}, r"row with .*: takes 40 MiB, at most 39"),
        ({LIMITS: small_limits(instantiations=30)}, r"row with .*: 4\d instantiations, committed are 30"),
        ({LIMITS: small_limits(evaluation=2000)}, r"row with .*: one constant expression takes more work than 2000"),
        ({LIMITS: small_limits(most=2.0)}, r"twice with .* costs 2.03 times what row does, at most 2"),
        ({LIMITS: json.dumps({"cases": [{"name": "row", "file": "row.cpp"}]})}, r"no limit for row"),
        ({FOLDER + "/row.cpp": ROW + "int n = \"one\";\n"}, r"row with .*: does not compile"),
    ], more, {LIMITS: small_limits(), FOLDER + "/row.cpp": ROW,
              FOLDER + "/reference.cpp": SPDX + "#include <string>\n"})
