# SPDX-License-Identifier: MIT
"""The emulator of tests/cuda/emulator reports mistakes in kernels and in the order of their work.

The arguments are a folder and files to link: programs of the target test_ptx lie in the folder, and the files are what they are
linked from, besides their own source. That nothing is found in them as they are, their own tests show. Each of the mistakes below is
planted into a copy of include/, and a program whose kernels and sizes show it runs with that copy: its kernels compiled by nvcc
to PTX and given to the same program, or, for a mistake in code of the host, the whole program compiled and linked anew. Each
must be reported in the words that belong to it. Without arguments, and without nvcc, nothing is checked: exit status 77.
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
DEVICE, LOSSES, NORMS = "tests/device/cuda.cu", "tests/ops/cuda/losses.cu", "tests/ops/cuda/norms.cu"
GRAPHS = "tests/device/cuda/graphs.cu"
TEAM, LAUNCH, QUAD, CUDA, RUN, BRANCHES = (f"cairn/device/{name}.cuh" for name in
                                           ("cuda/team", "cuda/launch", "cuda/quad", "cuda", "cuda/noted_run", "cuda/graphs"))
EACH = "const std::size_t i = std::size_t{blockIdx.x} * each_threads + threadIdx.x;\n  if (i < work.count) work.body(i);"
TEAMS = "if (i < work.count) work.body(team"
STORE_OF_WARP = "if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = mine;"
SHARED_RACE = r"shared memory that another thread (reads|writes), perhaps at the same time"
OUT = r"out of the bounds of any memory of a GPU"

# (what was planted, program, file, old text, new text, what the emulator must say)
PLANTED = [
    ("no barrier before a sum's memory is used again", NORMS, TEAM, "__syncthreads(); // of_warp of the previous call may still be read\n", "\n",
     SHARED_RACE),
    ("no barrier before sums of warps are read", DEVICE, TEAM, STORE_OF_WARP + "\n      __syncthreads();", STORE_OF_WARP, SHARED_RACE),
    ("no meeting of a warp behind a sum", LOSSES, TEAM, "__syncwarp(); // earlier reads are done, and earlier writes are visible\n", "\n",
     r": (reads|writes) memory that another thread (reads|writes)"),
    ("a barrier in divergent code", DEVICE, TEAM, STORE_OF_WARP + "\n      __syncthreads();",
     "if (threadIdx.x % 32 == 0) {\n of_warp[threadIdx.x / 32] = mine;\n __syncthreads();\n }", r"(wait for each other for ever|is a barrier (that|where))"),
    ("a mask of half a warp", DEVICE, TEAM, "constexpr unsigned all = 0xFFFFFFFFU, warps", "constexpr unsigned all = 0x0000FFFFU, warps",
     r"a lane that its own mask does not name"),
    ("only some threads of a team vote", DEVICE, TEAM, "for (std::size_t first = 0; first < count; first += Threads) f(first + own());",
     "for (std::size_t i = own(); i < count; i += Threads) f(i);", r"has a mask that names a lane that has ended"),
    ("only one warp stores its sum", DEVICE, TEAM, STORE_OF_WARP, STORE_OF_WARP.replace("% 32", ""), r"reads shared memory that was never written"),
    ("two warps store at one place", DEVICE, TEAM, STORE_OF_WARP, STORE_OF_WARP.replace("/ 32", "/ 64"), SHARED_RACE),
    ("shared memory is short of one sum", DEVICE, TEAM, "__shared__ Number of_warp[warps];", "__shared__ Number of_warp[warps - 1];",
     r"out of the bounds of shared memory"),
    ("one element too many", DEVICE, LAUNCH, EACH, EACH.replace("<", "<="), OUT),
    ("one row too many", DEVICE, LAUNCH, TEAMS, TEAMS.replace("<", "<="), OUT),
    ("two threads have one element", DEVICE, LAUNCH, EACH, EACH.replace("threadIdx.x;", "threadIdx.x / 2;"), r"memory that another thread writes"),
    ("two teams have one row", DEVICE, LAUNCH, "threadIdx.x / Threads;", "threadIdx.x / Threads / 2;", r"memory that another thread writes"),
    ("the last quad is loaded whole", LOSSES, QUAD, "if (aligned && first + quad_width<T> <= count) return *reinterpret",
     "if (aligned && first < count) return *reinterpret", OUT),
    ("the last quad is stored whole", LOSSES, QUAD, "if (aligned && first + quad_width<T> <= count) return put_quad",
     "if (aligned && first < count) return put_quad", OUT),
    ("the last elements are one too many", LOSSES, QUAD, "if (first + j < count) v.at[j] = from", "if (first + j <= count) v.at[j] = from", OUT),
]
# The same, in code of the host.
PLANTED_IN_HOST = [
    ("quads are taken at any address", LOSSES, QUAD, "% quad_bytes == 0", "% 4 == 0", r"(reads|writes) 16 bytes at an address that is not aligned"),
    ("a queue does not wait for another", DEVICE, CUDA, "cudaStreamWaitEvent(stream_, e.place, cudaEventWaitDefault)", "cudaSuccess",
     r"overlaps in time with a (read|write) of another stream"),
    ("a product is beside one that reads its result", GRAPHS, RUN,
     "if ((own.is_written || others.is_written) && own.begin < others.end && others.begin < own.end) return false;",
     "if (false && own.begin < others.end) return false;", r"overlaps in time with a (read|write) of another stream"),
    ("a branch is joined one op too late", GRAPHS, BRANCHES, "k.run.put(++i, on);", "k.run.put(++i, on);\n        k.run.put(++i, on);",
     r"memory that an op of another stream (reads|writes), perhaps at the same time"),
]


def program_of(folder, source):
    return folder / f"ptx_{source.removeprefix('tests/').replace('/', '_').replace('.', '_')}"


def said(program, ptx=None):
    """(exit status, output) of the program, with these kernels in place of its own."""
    env = {**os.environ, **({"CAIRN_PTX_FILE": str(ptx)} if ptx else {})}
    result = subprocess.run([program], env=env, capture_output=True, text=True, timeout=300)
    return result.returncode, result.stdout + result.stderr


def planted(root, folder, programs, linked, source, is_whole):
    """((exit status, output), None) of the program with the headers in this folder, or (None, what went wrong)"""
    nvcc_with = [nvcc(), "-std=c++20", f"-I{folder}/include", f"-I{root}/tests", "-DCAIRN_ON_EMULATOR=1", root / source]
    if is_whole:
        commands = [[*nvcc_with, "-gencode", "arch=compute_90,code=compute_90", "-O0", "--no-compress", "-c", "-o", folder / "planted.o"],
                    ["g++", folder / "planted.o", *linked, "-pthread", "-o", folder / "planted"]]
    else:
        commands = [[*nvcc_with, "-arch=compute_90", "-ptx", "-o", folder / "planted.ptx"]]
    for command in commands:
        made = subprocess.run(command, capture_output=True, text=True)
        if made.returncode:
            return None, f"{pathlib.Path(command[0]).name} says\n{made.stderr[:1000]}"
    return said(folder / "planted") if is_whole else said(program_of(programs, source), folder / "planted.ptx"), None


def is_found(root, programs, linked, mistake):
    """None if the mistake is reported, otherwise a sentence."""
    title, source, file, old, new, expected = mistake
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        shutil.copytree(root / "include", folder / "include")
        text = (folder / "include" / file).read_text()
        if old not in text:
            return f"{file}: expected the text of emulator_finds.py for '{title}', found none; change it there"
        (folder / "include" / file).write_text(text.replace(old, new, 1))
        result, wrong = planted(root, folder, programs, linked, source, mistake in PLANTED_IN_HOST)
    if wrong:
        return f"{title}: {wrong}"
    status, output = result
    found = [line for line in output.splitlines() if line.startswith("emulator: ")]
    if status and any(re.search(expected, line) for line in found):
        print(f"found: {title}")
        return None
    return f"{title}: expected the emulator to report '{expected}', found status {status} and\n" + "\n".join(line[-300:] for line in found[:4])


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    arguments = [pathlib.Path(a) for a in sys.argv[1:]]
    if nvcc() is None or not arguments:
        print("left out: expected nvcc, a folder of programs, and files to link")
        return LEFT_OUT
    programs, linked = arguments[0], arguments[1:]
    with concurrent.futures.ThreadPoolExecutor(2) as two:
        wrong = [found for found in two.map(lambda mistake: is_found(root, programs, linked, mistake), PLANTED + PLANTED_IN_HOST) if found]
    print("\n".join(wrong))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
