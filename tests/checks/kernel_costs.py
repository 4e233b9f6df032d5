# SPDX-License-Identifier: MIT
"""What kernels cost a GPU is as tests/cuda/emulator/costs.txt says: a lost coalescing shows itself without a GPU.

The argument is the program ptx_costs of the target test_ptx, which runs every op of floats at named shapes on the emulator of
tests/cuda/emulator and counts, for each kernel: its launches and threads, instructions of a thread, and for each thread loads and
stores of global memory, with the sectors of 32 bytes and the lines of 128 bytes that one of a warp takes; and how often a warp
comes to shared memory for each time that could not be saved. Only the code decides these, not the order of threads. Another
version of nvcc may make other code, so with another one than that which wrote the table a figure may be up to a tenth larger.
Every kernel of floats in tests/checks/cuda/registers.txt is in the table. --write writes the table anew.
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

from cuda_kernels import TABLE as KERNELS, readable, version
from house import nvcc

LEFT_OUT = 77
TABLE, PROGRAM = "tests/cuda/emulator/costs.txt", "tests/cuda/emulator/costs.cu"
ARCHITECTURES = (75, 90)
COLUMNS = ("launches", "threads", "instructions", "loads", "sectors", "lines", "stores", "sectors", "lines", "shared")
NAMES = ("launches", "threads", "instructions of a thread", "loads of a thread", "sectors of a load", "lines of a load", "stores of a thread",
         "sectors of a store", "lines of a store", "rounds of shared memory")
HEAD = """\
# What kernels cost, counted by tests/cuda/emulator in the code of nvcc {version}; written by kernel_costs.py --write.
# instructions, loads, stores: of a thread. sectors, lines: pieces of 32 and of 128 bytes that a load or store of a warp takes; with
# 4 bytes a thread these are at least 4 and 1, with 16 bytes 16 and 4. shared: rounds, for each that is needed at least.
"""


def rows_of(program):
    """{(op, kernel, architecture): figures, as texts}"""
    def counted(architecture):
        env = {**os.environ, "CAIRN_PTX_ARCH": str(architecture)}
        made = subprocess.run([program], env=env, capture_output=True, text=True, timeout=500)
        if made.returncode:
            sys.exit(f"{PROGRAM}: expected no finding, found status {made.returncode} and\n{made.stderr[-2000:]}")
        return [(architecture, *line.split("\t")) for line in made.stdout.splitlines()]
    with concurrent.futures.ThreadPoolExecutor(2) as two:
        lines = [line for some in two.map(counted, ARCHITECTURES) for line in some]
    names = readable(sorted({line[2] for line in lines}))
    return {(op, names[kernel], architecture): tuple(figures) for architecture, op, kernel, *figures in lines}


def text_of(rows):
    lines = {}  # {(op, kernel, figures): architectures}
    for op, kernel, architecture in sorted(rows):
        lines.setdefault((op, kernel, rows[op, kernel, architecture]), []).append(str(architecture))
    widths = [max(map(len, column)) for column in zip(COLUMNS, *rows.values())]
    op_width = max((len(op) for op, *_ in rows), default=0)
    shown = lambda sm, figures, op, kernel: " ".join([sm.ljust(5), *map(str.rjust, figures, widths)]) + f"  {op.ljust(op_width)}  {kernel}\n"
    return HEAD.format(version=version()) + shown("sm", COLUMNS, "op", "kernel") + "".join(
        shown(",".join(architectures), figures, op, kernel) for (op, kernel, figures), architectures in lines.items())


def read(text):
    """(version of nvcc, rows) of a table"""
    found = re.match(r"#.* nvcc ([\d.]+);", text)
    rows = {}
    for line in text.splitlines():
        if line[:2].isdigit():
            architectures, *figures, rest = line.split(maxsplit=len(COLUMNS) + 1)
            op, kernel = re.split(r"  +", rest)
            rows |= {(op, kernel, int(architecture)): tuple(figures) for architecture in architectures.split(",")}
    return found[1] if found else "", rows


# Kernels of double, and those of 16-bit elements: the same templates as the kernels of float, whose quads have two elements or
# eight.
COUNTED_AS_FLOATS = re.compile(r"double|float16")


def faults(table, rows, kernels, by):
    made_by, expected = read(table)
    wrong = []
    for key in sorted(expected.keys() | rows.keys()):
        place = f"{TABLE}: sm_{key[2]}, {key[0]}, {key[1]}"
        if key not in rows or key not in expected:
            wrong.append(f"{place}: expected {'a launch, found none' if key in expected else 'a line, found none'}; see --write")
            continue
        for name, was, found in zip(NAMES, expected[key], rows[key]):
            if found != was and (made_by == by or float(found) > 1.1 * float(was)):
                wrong.append(f"{place}: expected {was} {name}, found {found}; see --write")
    launched = {kernel for _, kernel, _ in rows}
    return wrong + [f"{KERNELS}: {kernel}: expected an op that launches it in {PROGRAM}, found none; add one" for kernel in kernels
                    if not COUNTED_AS_FLOATS.search(kernel) and kernel not in launched]


def kernels_of(root):
    return [line.split(maxsplit=6)[6] for line in (root / KERNELS).read_text().splitlines()[2:]]


def self_test():
    row = ("1", "256", "54.0", "1.0", "16.00", "4.00", "1.0", "16.00", "4.00", "0.00")
    rows, kernels = {("add 8", "run_each<one<float>>", 90): row}, ["run_each<one<float>>", "run_each<one<double>>"]
    table = text_of(rows)
    apart = {key: (*row[:4], "17.00", *row[5:]) for key in rows}
    far = {key: (*row[:4], "31.00", *row[5:]) for key in rows}
    cases = [(rows, kernels, version(), ""), (apart, kernels, version(), "expected 16.00 sectors of a load, found 17.00"), (apart, kernels, "0", ""),
             (far, kernels, "0", "expected 16.00 sectors of a load, found 31.00"), ({}, [], version(), "expected a launch, found none"),
             ({**rows, ("add 9", "run_each<one<float>>", 90): row}, kernels, version(), "add 9, run_each<one<float>>: expected a line"),
             (rows, [*kernels, "run_each<two<float>>"], version(), "run_each<two<float>>: expected an op that launches it")]
    return [f"kernel_costs.py: expected '{expected}', found {found}" for found_rows, own, by, expected in cases
            if (found := faults(table, found_rows, own, by)) != [] and expected == "" or expected not in "".join(found)]


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    programs = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    if nvcc() is None or not programs and "--self-test" not in sys.argv:
        print("left out: expected nvcc and a program")
        return LEFT_OUT
    if "--self-test" in sys.argv:
        wrong = self_test()
    else:
        rows = rows_of(programs[0])
        if "--write" in sys.argv:
            (root / TABLE).write_text(text_of(rows))
        wrong = faults((root / TABLE).read_text() if (root / TABLE).exists() else "", rows, kernels_of(root), version())
        wrong = wrong[:20] + ([f"{TABLE}: {len(wrong) - 20} more"] if len(wrong) > 20 else [])
    print("\n".join(wrong))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
