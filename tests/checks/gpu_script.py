# SPDX-License-Identifier: MIT
"""tests/gpu.sh, on a machine without a GPU: what it runs, in which order, and what it says of failures.

The GPU's tool, the programs and the sanitizer are scripts of a few lines, made here. What the real programs do is tested elsewhere:
the benchmark and the examples by tests with the label house, the tests of kernels by those with the label ptx.
"""
import fnmatch
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = "tests/gpu.sh"
# Each prints what gpu.sh reads, and leaves a line with its arguments. $SAYS in the environment changes what they do.
PROGRAMS = {
    "tests": '[[ $SAYS == *no_cases* ]] && { echo "[doctest] test cases: 0 | 0 passed"; exit; }\n'
             '[[ $SAYS == *wrong_ops* && $* == *tests/ops* ]] && exit 1\n'
             '[[ -n $CAIRN_FOUND ]] && echo "| op | float |" > "$CAIRN_FOUND"\n'
             'echo "[doctest] test cases: 38 | 38 passed"',
    "gpu_bench": '[[ $SAYS == *hangs* && $* == *smoke* ]] && exec sleep 60\necho "### table of $*"',
    "densenet": 'printf "policy  weights\\n---\\nstore_all  0123456789abcdef\\nsqrt_n  0123456789abcdef\\n\\n"',
    "depth": 'printf "depth  ms\\n---\\n10  1\\n\\n"',
    "own_kernel": "true",
    "ffnet": 'printf "size  ms\\n---\\nsmall  1\\n\\n"',
    "mnist": 'sum=0123456789abcdef; [[ $SAYS == *other_weights* && $* == *accumulate* ]] && sum=fedcba9876543210\n'
             'right=97.50; [[ $SAYS == *inaccurate* && $* == *"cuda --epochs 3"* ]] && right=96.50\n'
             'printf "policy  right\\n---\\nsqrt_n  1  %s %% $sum\\n\\n" $right',
    "resnet": 'sum=0123456789abcdef; [[ $SAYS == *other_policy* ]] && sum=fedcba9876543210\n'
              'printf "policy  weights\\n---\\nstore_all  0123456789abcdef\\nsqrt_n  $sum\\n\\n"',
}
TOOLS = {
    "nvidia-smi": 'if [[ $1 == -L ]]; then echo "GPU 0: none"; else echo "name, driver"; fi',
    "compute-sanitizer": 'if [[ $1 == --help ]]; then [[ $SAYS == *old_sanitizer* ]] || echo "  --kernel-regex arg"; exit; fi\n'
                         '[[ $SAYS == *race* && $* == *racecheck* ]] && { echo "1 hazard"; exit 1; }\necho "ERROR SUMMARY: 0 errors"',
    "python3": "exit 77",
}
STEPS = ["facts", "20 steps", "algorithms", "tests of the device", "tests of trainers", "the examples", "kernels of", "the accuracy", "tests of ranks",
         "what calls", "steps", "products", "ops", "ranks: ", "PyTorch", "memcheck"]


def write_script(path, text):
    path.write_text('#!/usr/bin/env bash\necho "$(basename "$0") $*" >> "$CALLS"\n' + text + "\n")
    path.chmod(0o755)


class Machine:
    """A folder with programs, tools and logs, and what gpu.sh says there."""

    def __init__(self, folder, script, gpu=True, programs=True):
        self.folder, self.script = pathlib.Path(folder), script
        for name in ("tools", "programs", "logs"):
            (self.folder / name).mkdir()
        for name, text in TOOLS.items():
            if gpu or name != "nvidia-smi":
                write_script(self.folder / "tools" / name, text)
        for name, text in PROGRAMS.items() if programs else []:
            write_script(self.folder / "programs" / name, text)

    def run(self, says="", steps="", seconds="20"):
        environment = {k: v for k, v in os.environ.items() if k not in ("STEPS", "NVCC", "DOCTEST", "ARCH", "CAIRN_DATA", "SMALLER")}
        environment.update(PATH=f"{self.folder}/tools:/usr/bin:/bin", NVCC="/none", SAYS=says, STEP_SECONDS=seconds, PYTHON="python3",
                           CALLS=str(self.folder / "calls"))
        if steps:
            environment["STEPS"] = steps
        (self.folder / "calls").write_text("")
        ended = subprocess.run(["bash", self.script, "--logs", self.folder / "logs", self.folder / "programs"], env=environment,
                               text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
        summary = self.folder / "logs/summary.txt"
        return ended.returncode, ended.stdout, summary.read_text().splitlines() if summary.exists() else []

    def calls(self):
        return (self.folder / "calls").read_text().splitlines()


def times_run(source, calls):
    """How many of the runs of the tests have the cases of this source. Sanitizers come after them."""
    def is_among(word, call):
        patterns = re.search(rf"--{word}=(\S+)", call)
        return bool(patterns) and any(fnmatch.fnmatch(source, pattern) for pattern in patterns[1].split(","))
    return sum(is_among("source-file", call) and not is_among("source-file-exclude", call) for call in calls if call.startswith("tests "))


def findings(script):
    found = []

    def expect(right, what, said):
        if not right:
            found.append(f"{SCRIPT}: expected {what}, found:\n{said}")

    with tempfile.TemporaryDirectory() as folder:
        code, said, _ = Machine(folder, script, gpu=False).run()
        expect(code == 77 and "no GPU" in said, "exit status 77 without a GPU", said)
    with tempfile.TemporaryDirectory() as folder:
        code, said, _ = Machine(folder, script, programs=False).run()
        expect(code == 2 and "expected nvcc" in said and "bring the programs" in said, "to be told that there is nothing to run", said)
    with tempfile.TemporaryDirectory() as folder:
        machine = Machine(folder, script)
        code, said, summary = machine.run()
        expect(code == 0 and "doctest/doctest.h" not in said, "programs that were brought to run without nvcc and doctest", said)
        expect(len(summary) == len(STEPS) and all(step in line and ": right (" in line for step, line in zip(STEPS, summary)),
               "a line of the summary for each of " + ", ".join(STEPS), "\n".join(summary))
        expect(any("--kernel-regex kns=cairn" in call for call in machine.calls()), "sanitizers of Cairn's kernels only", said)
        sources = [path.relative_to(ROOT).as_posix() for room in ("device", "ops", "cuda") for path in (ROOT / "tests" / room).rglob("*.cu")]
        for source in (s for s in sources if "/emulator/" not in s):
            times = times_run(source, machine.calls())
            expect(times == 1, f"the cases of {source} to be run once", f"{times} times, in:\n{machine.calls()}")
        results = machine.folder / "logs/RESULTS.md"
        results = results.read_text() if results.exists() else "no such file"
        expect(all(f"--only {part}" in results for part in ("machine", "algorithms", "constants", "steps")) and "| op |" in results,
               "all tables in RESULTS.md", results)
        code, said, _ = machine.run("old_sanitizer", "sanitizers")
        expect(code == 0 and not any("--kernel-regex" in call for call in machine.calls()), "an older sanitizer to be run", said)
        code, said, _ = machine.run(steps="tests")
        expect(code == 2 and "found tests" in said, "a step that there is not to be refused", said)
        for says, steps, step in [("wrong_ops", "ops ranks", "tests of the device"), ("no_cases", "ranks", "tests of ranks"),
                                  ("hangs", "smoke ranks", "20 steps"), ("other_weights", "trainers", "the examples"),
                                  ("other_policy", "trainers", "the examples"),
                                  ("inaccurate", "trainers", "the accuracy"), ("race", "sanitizers", "memcheck")]:
            code, said, summary = machine.run(says, steps, seconds="2")
            wrong = [line for line in summary if "FAILED" in line]
            expect(code == 1 and len(wrong) == 1 and step in wrong[0] and "gpu.sh: failed: " in said,
                   f"the step '{step}' alone to fail if the machine says '{says}'", said)
            expect("ranks" not in steps or any("tests of ranks" in line for line in summary), "later steps to be run", said)
    return found


def self_test():
    """Mistakes in the script: each must be found."""
    text = (ROOT / SCRIPT).read_text()
    for before, after in [('failed+=("$2")', ":"), ("own=(--kernel-regex kns=cairn)", "own=()"), ("exit 77", "exit 0"),
                          ('cat "$logs/$part.md"', ":"), ("grep -q 'test cases: *[1-9]'", "true"), (" != 1 ]]; then echo", " == 7 ]]; then echo"),
                          ("steps=${all#build }", "steps=$all"), ("mnist densenet resnet; do", "mnist; do"), ("'*tests/cuda/*'", "'*cuda/trainer*'")]:
        assert text.count(before) >= 1, before
        with tempfile.TemporaryDirectory(dir=ROOT / "tests") as folder: # the script changes to the folder above its own
            script = pathlib.Path(folder) / "gpu.sh"
            script.write_text(text.replace(before, after).replace('cd "$(dirname "$0")/.."', 'cd "$(dirname "$0")/../.."'))
            assert findings(script), f"nobody noticed {after!r} in place of {before!r}"


if __name__ == "__main__":
    if "--self-test" in sys.argv:
        self_test()
    else:
        problems = findings(ROOT / SCRIPT)
        print("\n".join(problems) or f"{SCRIPT}: as expected")
        sys.exit(bool(problems))
