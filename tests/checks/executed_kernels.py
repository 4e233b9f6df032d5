# SPDX-License-Identifier: MIT
"""Every kernel of the library was executed by a test on the emulator of tests/cuda/emulator.

The kernels are those of tests/checks/cuda/registers.txt, which cuda_kernels.py compares with the library. The arguments are files
that programs with CAIRN_PTX_LIST have written: a name of a kernel in each line.
"""
import pathlib
import sys
import tempfile

from cuda_kernels import TABLE, readable

NOT_FOUND = "expected a test in tests/device or tests/ops that launches it, found none"


def kernels_of(table):
    """The names of all kernels, which end the lines behind the two of the head."""
    return {line.split(maxsplit=6)[6] for line in table.splitlines()[2:]}


def faults(table, lists):
    wrong, executed = [], set()
    for path in lists:
        if not path.exists() or not path.read_text():
            wrong.append(f"{path}: expected a list of kernels, found none; run the test that writes it")
        else:
            executed |= set(path.read_text().split())
    executed = set(readable(sorted(executed)).values())
    if wrong:
        return wrong
    wrong = [f"{TABLE}: {name}: {NOT_FOUND}" for name in sorted(kernels_of(table) - executed)]
    if not wrong:
        print(f"{len(kernels_of(table))} of {len(kernels_of(table))} kernels were executed")
    return wrong


def self_test():
    table = "# head\n# head\n" + "".join(f"    1     2     3     4     5     6  {name}\n" for name in ("run_each<one<float>>", "run_team<32, two>"))
    one, two = "_ZN5cairn6detail8run_eachINS0_3oneIfEEEEvNS0_7each_ofIT_EE", "_ZN5cairn6detail8run_teamILj32ENS0_3twoEEEvNS0_8teams_ofIT0_EE"
    with tempfile.TemporaryDirectory() as folder:
        first, second = pathlib.Path(folder) / "first", pathlib.Path(folder) / "second"
        first.write_text(one + "\n")
        second.write_text(two + "\n")
        cases = [([first, second], ""), ([first], "run_team<32, two>: expected"), ([second], "run_each<one<float>>: expected"),
                 ([first, pathlib.Path(folder) / "none"], "none: expected a list")]
        return [f"executed_kernels.py: expected '{expected}', found {found}" for lists, expected in cases
                if (found := faults(table, lists)) != [] and expected == "" or expected not in "".join(found)]


if __name__ == "__main__":
    root = pathlib.Path(__file__).resolve().parents[2]
    found = self_test() if "--self-test" in sys.argv else faults((root / TABLE).read_text(), [pathlib.Path(name) for name in sys.argv[1:]])
    print("\n".join(found))
    sys.exit(bool(found))
