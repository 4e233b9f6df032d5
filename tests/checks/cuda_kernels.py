# SPDX-License-Identifier: MIT
"""Kernels compile for every GPU architecture without a warning, and none uses local memory: no spills, no stack.

tests/checks/cuda/ops.cu has all kernels. registers.txt, in the same folder, lists the registers of each. occupancy.txt lists
their occupancy of a multiprocessor, their loads and stores of 16 bytes, and the operations on doubles in kernels for floats. The
occupancy of a kernel for floats must be at least LEAST, or LEAST_OF_BLOCKS for kernels of device/cuda/blocks.cuh. --write writes both files anew. Another version of nvcc may need other
numbers of registers, so the files are compared only with the version that wrote them. Each architecture has PTX of its own, as other
PTX needs other registers, but sm_86, which has the same with that of sm_80. Kernels of 16 bits are compiled for two architectures, those
between which their code differs; the others have a `-` there. Without nvcc the check is left out: exit status 77.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

from house import SPDX, nvcc, run, spread
from occupancy import occupancy

LEFT_OUT = 77
SOURCE, TABLE, FILLED = "tests/checks/cuda/ops.cu", "tests/checks/cuda/registers.txt", "tests/checks/cuda/occupancy.txt"
LEAST = 37  # percent: three blocks of 256 threads with 80 registers each, of the eight that would fit; see device/cuda/launch.cuh
LEAST_OF_BLOCKS = 25  # percent: 16 warps of 64, each with 32 independent sums a thread; see ops/conv2d/cuda_tile.cuh
PTX = {75: (75,), 80: (80, 86), 90: (90,), 100: (100,), 120: (120,)}  # {architecture: those whose code is made of its PTX}
HALVES = ((75, 80), (90, 100, 120))  # which take about as long
ARCHITECTURES = tuple(a for of_ptx in PTX.values() for a in of_ptx)
OF_PTX = 90      # whose PTX is read
OF_TWO = (75, 90)  # of kernels of 16 bits
FLAGS = ["-std=c++20", "-O3", "-Werror", "all-warnings", "-Xptxas", "-v"]
KERNEL = re.compile(r"Compiling entry function '(\w+)' for 'sm_(\d+)'\n.*\n\s*(\d+) bytes stack frame, (\d+) bytes spill stores, "
                    r"(\d+) bytes spill loads\n.*Used (\d+) registers(?:.*?(\d+) bytes smem)?")
ENTRY = re.compile(r"\.entry (\w+)\((.*?)\n}\n", re.S)
WIDE = r"\b{}\.global[.\w]*\.(?:v4\.[fbus]32|v2\.[fbus]64)"
OF_DOUBLE = re.compile(r"^\s+(?:add|sub|mul|fma|div|sqrt|rcp|cvt)[.\w]*\.f64", re.M)
# Makes names shorter: without parameter lists, namespaces and suffixes of numbers.
SHORTER = ((r"\(.*", ""), (r"^void ", ""), (r"cairn::((detail|ops)::)?", ""), (r"\b(\d+)u?l?\b", r"\1"), (r" >", ">"))


def version():
    return re.search(r"V([\d.]+)", subprocess.run([nvcc(), "--version"], capture_output=True, text=True).stdout)[1]


def readable(names):
    said = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True).stdout.splitlines()
    for pattern, by in SHORTER:
        said = [re.sub(pattern, by, line) for line in said]
    return dict(zip(names, said))


def compiled(root, flags, half):
    """({(kernel, architecture): (registers, bytes of local memory, bytes of shared memory)}, {PTX's architecture: PTX}, what is wrong)"""
    with tempfile.TemporaryDirectory() as folder:
        code = [word for a in half for word in ("-gencode", f"arch=compute_{a},code=[{','.join(f'sm_{of}' for of in PTX[a])}]")]
        result = subprocess.run([nvcc(), *FLAGS, *code, *flags, "-fatbin", "--keep", "--keep-dir", folder, root / SOURCE, "-o", f"{folder}/made"],
                                capture_output=True, text=True)
        made = {a: path.read_text() for a in half for path in pathlib.Path(folder).glob("*.ptx")
                if len(half) == 1 or path.name.endswith(f"compute_{a}.ptx")}
    said = result.stdout + result.stderr
    if result.returncode:
        return {}, {}, f"{SOURCE}: nvcc says\n" + "\n".join(line for line in said.splitlines() if "ptxas info" not in line)[:2000]
    return {(name, int(a)): (int(registers), int(stack) + int(stores) + int(loads), int(shared or 0))
            for name, a, stack, stores, loads, registers, shared in KERNEL.findall(said)}, made, None


def read(text):
    """{kernel: (threads of a block, loads of 16 bytes, stores of them, operations on doubles)}, from nvcc's assembly"""
    found = {}
    for name, body in ENTRY.findall(text):
        threads = re.search(r"\.maxntid (\d+)", body)
        found[name] = (int(threads[1]) if threads else 0, len(re.findall(WIDE.format("ld"), body)),
                       len(re.findall(WIDE.format("st"), body)), len(OF_DOUBLE.findall(body)))
    return found


def table_of(found):
    names = readable(sorted({name for name, _ in found}))
    rows = sorted((shown, *(found[name, a][0] if (name, a) in found else "-" for a in ARCHITECTURES)) for name, shown in names.items())
    return "\n".join([f"# Registers of a thread of each kernel, by nvcc {version()}; written by cuda_kernels.py --write.",
                      " ".join(f"sm_{a}".rjust(6) for a in ARCHITECTURES) + "  kernel",
                      *(" ".join(f"{n:>6}" for n in numbers) + f"  {shown}" for shown, *numbers in rows)]) + "\n"


def filled(found, told):
    """[(kernel, threads, shared bytes, percent of each architecture, loads, stores, operations on doubles)]"""
    rows = []
    for name, (threads, loads, stores, doubles) in told.items():
        shares = [occupancy(a, threads or 1024, found[name, a][0], found[name, a][2]) if (name, a) in found else "-" for a in ARCHITECTURES]
        rows.append((name, threads, found[name, OF_PTX][2], shares, loads, stores, doubles))
    return rows


def text_of(rows, names):
    lines = [f"# Warps of each kernel that a multiprocessor holds, in percent of those that it has room for, by nvcc {version()}; its",
             "# threads of a block and bytes of shared memory, its loads and stores of 16 bytes, its operations on doubles if it is for floats.",
             " ".join(f"sm_{a}".rjust(6) for a in ARCHITECTURES) + " threads shared  loads stores doubles  kernel"]
    for name, threads, shared, shares, loads, stores, doubles in sorted(rows, key=lambda row: names[row[0]]):
        own = "-" if "double" in names[name] else doubles
        lines.append(" ".join(f"{n:>6}" for n in shares) + f" {threads:7d} {shared:6d} {loads:6d} {stores:6d} {own:>7}  {names[name]}")
    return "\n".join(lines) + "\n"


def compare(root, table, text):
    there = (root / table).read_text() if (root / table).exists() else ""
    if f"by nvcc {version()};" not in there and there:
        return []
    told = set(there.splitlines())
    return [f"{table}: lacks '{line.strip()}'; see --write" for line in text.splitlines() if line not in told][:8]


def least(name):
    return LEAST_OF_BLOCKS if name.startswith("run_block<") else LEAST


def faults(root, options, write=False):
    found, ptx, wrong = {}, {}, []
    for kernels, texts, said in spread(lambda half: compiled(root, options.flags, half), HALVES):
        found |= kernels
        ptx |= texts
        wrong += [said] if said else []
    if wrong:
        return wrong
    told = read(ptx.get(OF_PTX, ""))
    names = readable(sorted(told))
    expected = {(name, a) for name in told for a in (OF_TWO if "float16" in names[name] else ARCHITECTURES)}
    if not found or found.keys() != expected:
        return [f"{SOURCE}: {len(found)} kernels of all {len(ARCHITECTURES)} architectures, expected {len(expected)} as nvcc's assembly has "
                f"{len(told)} for sm_{OF_PTX}; is this how ptxas tells of them?"]
    rows = filled(found, told)
    wrong = [f"{SOURCE}: for sm_{a} {names[name]} keeps {local} bytes in local memory"
             for (name, a), (_, local, _) in found.items() if local]
    wrong += [f"{SOURCE}: {names[name]} fills {share} % of sm_{a}, expected at least {least(names[name])}"
              for name, _, _, shares, *_ in rows for a, share in zip(ARCHITECTURES, shares)
              if share != "-" and share < least(names[name]) and "double" not in names[name]]
    if wrong:
        return wrong
    if write:
        (root / TABLE).write_text(table_of(found))
        (root / FILLED).write_text(text_of(rows, names))
        return []
    return compare(root, TABLE, table_of(found)) + compare(root, FILLED, text_of(rows, names))


KERNELS = SPDX + ("template <class T>\n__global__ void __launch_bounds__(256) twice(T* x) { x[threadIdx.x] *= 2; }\n"
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
        right = full = ""
        if "--self-test" in sys.argv:
            found, ptx, _ = compiled(pathlib.Path(folder), [], tuple(PTX))
            told = read(ptx[OF_PTX])
            right, full = table_of(found), text_of(filled(found, told), readable(sorted(told)))
    run(lambda root, options: faults(root, options, write), [
        ({SOURCE: KERNELS.replace("{ x[", "{ int unused; x[")}, r"ops.cu: nvcc says[^$]*unused"),
        ({SOURCE: KERNELS.replace("{ x[threadIdx.x] *= 2; }", "{ T own[64]; for (int i = 0; i < 64; ++i) own[static_cast<int>(x[i]) & 63] = x[i]; "
                                  "x[0] = own[static_cast<int>(x[1])]; }")}, r"for sm_75 twice<float> keeps 256 bytes in local memory"),
        ({SOURCE: KERNELS + "template __global__ void twice(double*);\n"}, r"registers.txt: lacks '.* twice<double>'"),
        ({TABLE: None}, r"registers.txt: lacks '.* twice<float>'"),
        ({FILLED: full.replace(" 256 ", " 128 ")}, r"occupancy.txt: lacks '.* 256 .* twice<float>'"),
        ({SOURCE: KERNELS.replace("{ x[", "{ __shared__ T own[12000]; own[threadIdx.x] = x[0]; __syncthreads(); x[0] = own[x == nullptr]; x[")},
         r"twice<float> fills \d+ % of sm_75, expected at least 37"),
        ({SOURCE: SPDX}, r"ops.cu: 0 kernels of all 6 architectures"),
    ], small={SOURCE: KERNELS, TABLE: right, FILLED: full})
