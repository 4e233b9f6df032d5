# SPDX-License-Identifier: MIT
"""Every C++ file is laid out as .clang-format says, and the library has none of the mistakes that .clang-tidy lists.

Needs clang-format 18 or newer, and clang-tidy; both are on PyPI. `--write` lays the files out. Files written by a
script are left out. clang-tidy reads the headers through a few programs that use most of them.
"""
import argparse
import pathlib
import shutil
import subprocess
import tempfile

from house import report

ROOT = pathlib.Path(__file__).resolve().parents[2]
KINDS = (".hpp", ".cpp", ".cu", ".cuh", ".inl")
PROGRAMS = ("examples/inference.cpp", "examples/own_loss.cpp", "examples/resume.cpp")


def files():
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True, text=True)
    return [name for name in listed.stdout.split("\n") if name.endswith(KINDS) and not name.startswith("single_include/")]


def wrongly_laid_out(tool, root, names):
    """The files that the tool would change."""
    said = subprocess.run([tool, "--dry-run", "-Werror", "--ferror-limit=1", *names], cwd=root, capture_output=True, text=True)
    found = sorted({line.split(":")[0] for line in said.stderr.splitlines() if "[-Wclang-format-violations]" in line})
    return [f"{name}: not laid out as .clang-format says; format.py --write does it" for name in found]


def mistakes(tool, programs):
    flags = ["-std=c++20", f"-I{ROOT / 'include'}"]
    said = subprocess.run([tool, "--quiet", *programs, "--", *flags], cwd=ROOT, capture_output=True, text=True)
    found = [line for line in said.stdout.splitlines() if " error: " in line]
    return found or (["clang-tidy failed: " + said.stderr[-300:]] if said.returncode else [])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clang-format", default="clang-format")
    parser.add_argument("--clang-tidy", help="else it is left out")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--self-test", action="store_true", help="show that the check can fail")
    options = parser.parse_args()
    for tool in ("clang_format", "clang_tidy"):  # they run in other folders
        given = getattr(options, tool)
        if given and (found := shutil.which(given)) is None:
            parser.error(f"there is no {given}")
        setattr(options, tool, given and str(pathlib.Path(found).absolute()))
    if options.write:
        subprocess.run([options.clang_format, "-i", *files()], cwd=ROOT, check=True)
        return
    if not options.self_test:
        found = wrongly_laid_out(options.clang_format, ROOT, files())
        report(found + (mistakes(options.clang_tidy, PROGRAMS) if options.clang_tidy else []))

    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / ".clang-format").write_text((ROOT / ".clang-format").read_text())
        (root / "right.cpp").write_text("int f(int x) { return x; }\n")
        (root / "wrong.cpp").write_text("int  f( int x ){return x;}\n")
        (root / "wrong.cuh").write_text("__device__ int  f( int x ){return x;}\n")
        if len(wrongly_laid_out(options.clang_format, root, ["right.cpp", "wrong.cpp", "wrong.cuh"])) != 2:
            wrong.append("expected wrong.cpp and wrong.cuh to be found, and only those")
        (root / ".clang-tidy").write_text((ROOT / ".clang-tidy").read_text())
        (root / "wrong.cpp").write_text("double half(int x) { return x / 2; }\n")
        if options.clang_tidy and not any("bugprone-integer-division" in line
                                          for line in mistakes(options.clang_tidy, [str(root / "wrong.cpp")])):
            wrong.append("expected clang-tidy to find an integer division")
    report(wrong)


if __name__ == "__main__":
    main()
