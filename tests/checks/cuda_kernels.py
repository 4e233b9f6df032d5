# SPDX-License-Identifier: MIT
"""Kernels become code of every kind of GPU without a warning, and none keeps anything in local memory: no spills, no stack.

tests/checks/cuda/ops.cu has all of them. How many registers each takes is in tests/checks/cuda/registers.txt, which --write
writes anew; another version of nvcc may take others, so that they are compared with its own only. Without nvcc this is left out,
and says so with exit status 77.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

from house import SPDX, nvcc, run, spread

LEFT_OUT = 77
SOURCE, TABLE = "tests/checks/cuda/ops.cu", "tests/checks/cuda/registers.txt"
ARCHITECTURES = (75, 80, 86, 90, 100, 120)
FLAGS = ["-std=c++20", "-O3", "-Werror", "all-warnings", "-Xcompiler", "-Wall,-Wextra,-Wconversion,-Wshadow,-Werror", "-Xptxas", "-v"]
KERNEL = re.compile(r"Compiling entry function '(\w+)' for 'sm_(\d+)'\n.*\n\s*(\d+) bytes stack frame, (\d+) bytes spill stores, "
                    r"(\d+) bytes spill loads\n.*Used (\d+) registers")
# Names of no interest, of types and of values.
SHORTER = ((r"\(.*", ""), (r"^void ", ""), (r"cairn::(detail::)?", ""), (r"\b(\d+)u?l?\b", r"\1"), (r" >", ">"))


def version():
    return re.search(r"V([\d.]+)", subprocess.run([nvcc(), "--version"], capture_output=True, text=True).stdout)[1]


def readable(names):
    said = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True).stdout.splitlines()
    for pattern, by in SHORTER:
        said = [re.sub(pattern, by, line) for line in said]
    return dict(zip(names, said))


def compiled(root, flags, architectures):
    """({(kernel, architecture): (registers, bytes of local memory)}, what is wrong)"""
    with tempfile.TemporaryDirectory() as folder:
        code = [word for a in architectures for word in ("-gencode", f"arch=compute_{a},code=sm_{a}")]
        result = subprocess.run([nvcc(), *FLAGS, *code, *flags, "-c", root / SOURCE, "-o", f"{folder}/made"],
                                capture_output=True, text=True)
    said = result.stdout + result.stderr
    if result.returncode:
        return {}, f"{SOURCE}: nvcc says\n" + "\n".join(line for line in said.splitlines() if "ptxas info" not in line)[:2000]
    return {(name, int(a)): (int(registers), int(stack) + int(stores) + int(loads))
            for name, a, stack, stores, loads, registers in KERNEL.findall(said)}, None


def table_of(found):
    names = readable(sorted({name for name, _ in found}))
    rows = sorted((shown, *(found[name, a][0] for a in ARCHITECTURES)) for name, shown in names.items())
    return "\n".join([f"# Registers of a thread of each kernel, by nvcc {version()}; written by cuda_kernels.py --write.",
                      " ".join(f"sm_{a}".rjust(6) for a in ARCHITECTURES) + "  kernel",
                      *(" ".join(f"{n:6d}" for n in numbers) + f"  {shown}" for shown, *numbers in rows)]) + "\n"


def faults(root, options, write=False):
    halves = [ARCHITECTURES[:3], ARCHITECTURES[3:]]
    found, wrong = {}, []
    for kernels, said in spread(lambda half: compiled(root, options.flags, half), halves):
        found |= kernels
        wrong += [said] if said else []
    if wrong:
        return wrong
    if not found or len(found) % len(ARCHITECTURES):
        return [f"{SOURCE}: {len(found)} kernels for {len(ARCHITECTURES)} architectures; is this how ptxas tells of them?"]
    names = readable(sorted({name for name, _ in found}))
    wrong = [f"{SOURCE}: for sm_{a} {names[name]} keeps {local} bytes in local memory"
             for (name, a), (_, local) in found.items() if local]
    if wrong:
        return wrong
    there = (root / TABLE).read_text() if (root / TABLE).exists() else ""
    if write:
        (root / TABLE).write_text(table_of(found))
    elif f"by nvcc {version()};" in there or not there:
        told = set(there.splitlines())
        wrong = [f"{TABLE}: lacks '{line.strip()}'; see --write" for line in table_of(found).splitlines() if line not in told][:8]
    return wrong


KERNELS = SPDX + ("template <class T>\n__global__ void twice(T* x) { x[threadIdx.x] *= 2; }\n"
                  "template __global__ void twice(float*);\n")

if __name__ == "__main__":
    if nvcc() is None:
        print("left out: there is no nvcc on this machine")
        sys.exit(LEFT_OUT)
    write = "--write" in sys.argv
    if write:
        sys.argv.remove("--write")
    with tempfile.TemporaryDirectory() as folder:  # the table of the small house
        (pathlib.Path(folder) / "tests/checks/cuda").mkdir(parents=True)
        (pathlib.Path(folder) / SOURCE).write_text(KERNELS)
        right = table_of(compiled(pathlib.Path(folder), [], ARCHITECTURES)[0]) if "--self-test" in sys.argv else ""
    run(lambda root, options: faults(root, options, write), [
        ({SOURCE: KERNELS.replace("{ x[", "{ int unused; x[")}, r"ops.cu: nvcc says[^$]*unused"),
        ({SOURCE: KERNELS.replace("{ x[threadIdx.x] *= 2; }", "{ T own[64]; for (int i = 0; i < 64; ++i) own[static_cast<int>(x[i]) & 63] = x[i]; "
                                  "x[0] = own[static_cast<int>(x[1])]; }")}, r"for sm_75 twice<float> keeps 256 bytes in local memory"),
        ({SOURCE: KERNELS + "template __global__ void twice(double*);\n"}, r"registers.txt: lacks '.* twice<double>'"),
        ({TABLE: None}, r"registers.txt: lacks '.* twice<float>'"),
        ({SOURCE: SPDX}, r"ops.cu: 0 kernels for 6 architectures"),
    ], small={SOURCE: KERNELS, TABLE: right})
