# SPDX-License-Identifier: MIT
"""The emulator of tests/cuda/emulator reports mistakes in kernels.

PROGRAM is ptx_ops_cuda_losses_cu of the target test_ptx. It runs with the kernels of the library, in which nothing is found, and
with each of the mistakes below planted into a copy of include/, compiled by nvcc to PTX and given to the same program: each must
be reported in the words that belong to it. Five mistakes are not reported when this program runs: no barrier before a sum's
memory is used again, a mask of half a warp, one element or one row too many, and quads at any address. Without arguments, and
without nvcc, nothing is checked: exit status 77.
"""
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from house import nvcc

LEFT_OUT = 77
SOURCE = "tests/ops/cuda/losses.cu"
TEAM, LAUNCH, QUAD = (f"cairn/device/cuda/{name}.cuh" for name in ("team", "launch", "quad"))
EACH = "const std::size_t i = std::size_t{blockIdx.x} * each_threads + threadIdx.x;\n  if (i < work.count) work.body(i);"
STORE_OF_WARP = "if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = mine;"
SHARED_RACE = r"shared memory that another thread (reads|writes), perhaps at the same time"
OUT = r"out of the bounds of any memory of a GPU"

# (what was planted, file, old text, new text, what the emulator must say)
PLANTED = [
    ("no barrier before sums of warps are read", TEAM, STORE_OF_WARP + "\n      __syncthreads();", STORE_OF_WARP, SHARED_RACE),
    ("no meeting of a warp behind a sum", TEAM, "__syncwarp(); // earlier reads are done, and earlier writes are visible\n", "\n",
     r": (reads|writes) memory that another thread (reads|writes)"),
    ("a barrier in divergent code", TEAM, STORE_OF_WARP + "\n      __syncthreads();",
     "if (threadIdx.x % 32 == 0) {\n of_warp[threadIdx.x / 32] = mine;\n __syncthreads();\n }", r"(wait for each other for ever|is a barrier (that|where))"),
    ("only one warp stores its sum", TEAM, STORE_OF_WARP, STORE_OF_WARP.replace("% 32", ""), r"reads shared memory that was never written"),
    ("two warps store at one place", TEAM, STORE_OF_WARP, STORE_OF_WARP.replace("/ 32", "/ 64"), SHARED_RACE),
    ("shared memory is short of one sum", TEAM, "__shared__ Number of_warp[warps];", "__shared__ Number of_warp[warps - 1];", r"out of the bounds of shared memory"),
    ("two threads have one element", LAUNCH, EACH, EACH.replace("threadIdx.x;", "threadIdx.x / 2;"), r"memory that another thread writes"),
    ("two teams have one row", LAUNCH, "threadIdx.x / Threads;", "threadIdx.x / Threads / 2;", r"memory that another thread writes"),
    ("the last quad is loaded whole", QUAD, "if (aligned && first + quad_width<T> <= count) return *reinterpret", "if (aligned && first < count) return *reinterpret", OUT),
    ("the last quad is stored whole", QUAD, "if (aligned && first + quad_width<T> <= count) return put_quad", "if (aligned && first < count) return put_quad", OUT),
    ("the last elements are one too many", QUAD, "if (first + j < count) v.at[j] = from", "if (first + j <= count) v.at[j] = from", OUT),
]


def said(program, ptx=None):
    """(exit status, output) of the program, with these kernels in place of its own."""
    env = {**os.environ, **({"CAIRN_PTX_FILE": str(ptx)} if ptx else {})}
    result = subprocess.run([program], env=env, capture_output=True, text=True, timeout=300)
    return result.returncode, result.stdout + result.stderr


def is_found(root, program, mistake):
    """None if the mistake is reported, otherwise a sentence."""
    title, file, old, new, expected = mistake
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        shutil.copytree(root / "include", folder / "include")
        text = (folder / "include" / file).read_text()
        if old not in text:
            return f"{file}: expected the text of emulator_finds.py for '{title}', found none; change it there"
        (folder / "include" / file).write_text(text.replace(old, new, 1))
        made = subprocess.run([nvcc(), "-std=c++20", "-arch=compute_90", f"-I{folder}/include", f"-I{root}/tests", "-DCAIRN_ON_EMULATOR=1",
                               "-ptx", root / SOURCE, "-o", folder / "planted.ptx"], capture_output=True, text=True)
        if made.returncode:
            return f"{title}: nvcc says\n{made.stderr[:1000]}"
        status, output = said(program, folder / "planted.ptx")
    found = [line for line in output.splitlines() if line.startswith("emulator: ")]
    if status and any(re.search(expected, line) for line in found):
        print(f"found: {title}")
        return None
    return f"{title}: expected the emulator to report '{expected}', found status {status} and\n" + "\n".join(line[-300:] for line in found[:4])


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    arguments = [a for a in sys.argv[1:] if a != "--self-test"]
    if nvcc() is None or not arguments:
        print("left out: expected nvcc and a program")
        return LEFT_OUT
    if "--self-test" in sys.argv:
        with concurrent.futures.ThreadPoolExecutor(2) as two:
            wrong = [found for found in two.map(lambda mistake: is_found(root, arguments[0], mistake), PLANTED) if found]
    else:
        status, output = said(arguments[0])
        wrong = [f"{arguments[0]}: expected no finding, found status {status} and\n{output[-1000:]}"] if status else []
    print("\n".join(wrong))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
