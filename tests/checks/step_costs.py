# SPDX-License-Identifier: MIT
"""The table of tests/bench/RESULTS.md that says what training steps cost a GPU is what the emulator counts.

The argument is the program ptx_steps of the target test_ptx, which runs steps on the emulator of tests/cuda/emulator and prints the
table. Each of its rows must be in RESULTS.md, with the same numbers of kernels and products, and other figures that are at most a
tenth apart, as another version of nvcc may make other code. --write writes the table anew, between the lines that begin and end it.
"""
import pathlib
import re
import subprocess
import sys

RESULTS = "tests/bench/RESULTS.md"
WORDS = 3   # cells that name a row: network, policy, batch
COUNTS = 2  # the next cells, which are the same with every nvcc: kernels, products
MOST_APART = 0.1
PLACE = re.compile(r"(?<=<!-- steps on the emulator -->\n).*?(?=<!-- end -->)", re.S)


def rows_of(text):
    """{words of a row: its figures}"""
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    return {tuple(cells[:WORDS]): [float(cell) for cell in cells[WORDS:]] for cells in lines[2:]}


def faults(results, printed):
    place = PLACE.search(results)
    if not place:
        return [f"{RESULTS}: expected a table between <!-- steps on the emulator --> and <!-- end -->, found none"]
    told, found = rows_of(place[0]), rows_of(printed)
    wrong = [f"{RESULTS}: {' '.join(words)}: expected a step of ptx_steps, found none" for words in told.keys() - found.keys()]
    for words, figures in found.items():
        if words not in told:
            wrong.append(f"{RESULTS}: {' '.join(words)}: expected a row, found none")
        elif (told[words][:COUNTS] != figures[:COUNTS] or len(told[words]) != len(figures) or
              any(abs(a - b) > MOST_APART * max(a, b) for a, b in zip(told[words], figures))):
            wrong.append(f"{RESULTS}: {' '.join(words)}: expected {figures}, found {told[words]}")
    return sorted(wrong) or ([] if found else ["ptx_steps: expected rows, found none"])


def self_test():
    head = "| network | policy | batch | kernels | products | MiB |\n| --- | --- | ---: | ---: | ---: | ---: |\n"
    table = head + "| mlp | all | 8 | 3 | 4 | 20 |\n"
    within = "<!-- steps on the emulator -->\n{}<!-- end -->\n".format
    cases = [(within(table), table, ""), (within(table), table.replace("20", "21"), ""), (table, table, "found none"),
             (within(table), table.replace("20", "30"), "expected [3.0, 4.0, 30.0], found [3.0, 4.0, 20.0]"),
             (within(table), table.replace("| 4 |", "| 5 |"), "expected [3.0, 5.0, 20.0], found [3.0, 4.0, 20.0]"), (within(head), table, "mlp all 8: expected a row"),
             (within(table), head, "expected a step"), (within(head), head, "expected rows")]
    return [f"step_costs.py: expected '{expected}', found {found}" for results, printed, expected in cases
            if (found := faults(results, printed)) != [] and expected == "" or expected not in "".join(found)]


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    if "--self-test" in sys.argv:
        wrong = self_test()
    else:
        programs = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
        made = subprocess.run(programs[:1], capture_output=True, text=True, timeout=500)
        if made.returncode or not programs:
            sys.exit(f"step_costs.py: expected no finding, found status {made.returncode} and\n{made.stderr[-2000:]}")
        file = root / RESULTS
        if "--write" in sys.argv:
            file.write_text(PLACE.sub(lambda _: made.stdout, file.read_text()))
        wrong = faults(file.read_text(), made.stdout)
    print("\n".join(wrong))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
