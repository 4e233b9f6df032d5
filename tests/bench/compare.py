# SPDX-License-Identifier: MIT
"""Runs Cairn's bench and its peers side by side and writes RESULTS.md.

  compare.py --bench build/tests/bench/bench --peer "PYTHON torch_peer.py" [--program NAME=COMMAND]... [--out RESULTS.md]
  compare.py --part ranks --bench build/tests/bench/bench --peer "PYTHON torch_peer.py"
  compare.py --part products --bench build/tests/bench/bench --peer PYTHON
  compare.py --part convolutions --bench build/tests/bench/bench --peer PYTHON [--onednn build/tests/bench/bench_onednn]
  compare.py --part densenet --bench build/tests/bench/bench --peer "PYTHON torch_peer.py"
  compare.py --part gpt --bench build/tests/bench/bench --peer PYTHON
  compare.py --part generate --bench build/tests/bench/bench --peer PYTHON
  compare.py --part answers --bench build/tests/bench/bench --peer PYTHON

The bench is built with -DCAIRN_BUILD_BENCH=ON. --peer is the command of a program with the workloads, options and JSON
lines of PyTorch's; --program one that prints "small X us medium Y us" for the two ffnets (libtorch's C++ API, dlib). Runs
are interleaved: every round runs every program once on a workload before the next round begins, so that a slow minute of
the machine meets all alike. Quoted are medians over the rounds of each run's median step, and ratios of these. --part ranks
measures several ranks only, on threads and under mpirun, and writes that section alone (tests/bench/ranks.py). On a machine
that others use too, --tries N repeats a run that other programs took more than 0.15 of a core from, and keeps the one
that lost least; --wait S waits for a quiet moment before each run, at most so many seconds.
"""
import argparse
import datetime
import json
import os
import platform
import re
import resource
import shlex
import statistics
import subprocess
import sys
import time

import answers
import densenet
import generate
import gpt
import kernels
import precision
import ranks

# The first of the sections of RESULTS.md that other programs made; they come last.
KEPT = "## Solved schedules against the optimum\n"

# name, arguments for both, target ratio (peer's time over ours) or None, rounds' share
WORKLOADS = [
    ("ffnet small", "ffnet --num-hl 0 --hl-size 10 --steps 2000 --warmup 200", 40),
    ("ffnet medium", "ffnet --num-hl 3 --hl-size 100 --steps 1000 --warmup 100", 6),
    ("mlp", "mlp --steps 30", 1.2),
    ("chain 10", "chain --mode naive --depth 10 --steps 10 --warmup 2", None),
    ("chain 10 sqrt", "chain --mode sqrt --depth 10 --steps 10 --warmup 2", None),
    ("chain 100", "chain --mode naive --depth 100 --steps 4 --warmup 1", 1.15),
    ("chain 100 sqrt", "chain --mode sqrt --depth 100 --steps 4 --warmup 1", None),
    ("chain 100 fused", "chain --mode fused --depth 100 --steps 4 --warmup 1", None),
    ("chain 100 fused sqrt", "chain --mode fused_sqrt --depth 100 --steps 4 --warmup 1", None),
    ("chain 100 fused budget<51_MiB>", "chain --mode budget_51 --depth 100 --steps 4 --warmup 1", None),
    ("chain 100 fused budget<16_MiB>", "chain --mode budget_16 --depth 100 --steps 4 --warmup 1", None),
    ("chain 100 recompute_cheap", "chain --mode cheap --depth 100 --steps 4 --warmup 1", None),
    ("flat 30", "chain --mode flat --depth 30 --steps 4 --warmup 1", None),
    ("flat 30 recompute_cheap", "chain --mode flat_cheap --depth 30 --steps 4 --warmup 1", None),
]
# The peer has no fused update: these stand beside its ordinary step.
BESIDE = {"chain 100 fused": "chain 100", "chain 100 fused sqrt": "chain 100 sqrt"}
ALONE = {"chain 100 fused budget<51_MiB>", "chain 100 fused budget<16_MiB>", "chain 100 recompute_cheap", "flat 30",
         "flat 30 recompute_cheap"}
# What a schedule is compared with, and the most of its time that it may take.
AGAINST = [("chain 100", "chain 100 sqrt", None), ("chain 100", "chain 100 fused", None),
           ("chain 100", "chain 100 fused sqrt", 1.30), ("chain 100", "chain 100 fused budget<51_MiB>", 1.25),
           ("chain 100", "chain 100 fused budget<16_MiB>", None), ("chain 100", "chain 100 recompute_cheap", 1.08),
           ("flat 30", "flat 30 recompute_cheap", 1.08)]
PROGRAM_TARGETS = {"small": 12, "medium": 3}


def environment():
    return dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900, env=environment())
    if done.returncode != 0:
        sys.exit(f"{shlex.join(command)} failed:\n{done.stderr[-2000:]}")
    return done.stdout


def last_figures(text):
    return json.loads([line for line in text.splitlines() if line.startswith("{")][-1])


tries, patience = 1, 0.0
lost = []  # the cores that other programs had, in each run that was kept
much = 0.15


def seconds_of_cores():
    """Of all programs on this machine, and of those that this one has started and waited for."""
    with open("/proc/stat") as f:
        jiffies = [int(word) for word in f.readline().split()[1:8]]
    own = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (sum(jiffies) - jiffies[3] - jiffies[4]) / os.sysconf("SC_CLK_TCK"), own.ru_utime + own.ru_stime


def wait_for_quiet():
    end = time.monotonic() + patience
    while time.monotonic() < end:
        before = seconds_of_cores()[0]
        time.sleep(0.4)
        if seconds_of_cores()[0] - before < 0.1 * 0.4:
            return


def least_disturbed(measure):
    """The result of the run that other programs disturbed least."""
    found = []
    while len(found) < tries and (not found or found[-1][0] > much):
        wait_for_quiet()
        (all_before, own_before), start = seconds_of_cores(), time.monotonic()
        result = measure()
        (all_behind, own_behind), end = seconds_of_cores(), time.monotonic()
        found.append((max(0.0, all_behind - all_before - own_behind + own_before) / (end - start), len(found), result))
    others, _, result = min(found)
    lost.append(others)
    return dict(result, lost=others)


def undisturbed(results):
    """Those that other programs left alone, or else the one that was disturbed least."""
    return [r for r in results if r["lost"] <= much] or [min(results, key=lambda r: r["lost"])]


def figures(command):
    return least_disturbed(lambda: last_figures(run(command)))


def middle(results, key):
    found = [r[key] for r in results if r.get(key) is not None]
    return statistics.median(found) if found else None


def number(value, digits=3):
    if value is None:
        return "-"
    return f"{value:.{max(0, digits - len(str(int(abs(value)))))}f}" if abs(value) >= 1 else f"{value:.{digits}g}"


def table(header, rows):
    rule = ["---"] + ["---:"] * (len(header) - 1)
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, rule, *rows]) + "\n"


def machine_lines():
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "?")
    compiler = subprocess.run(["c++", "--version"], capture_output=True, text=True, check=False).stdout.splitlines()
    return f"{os.cpu_count()} cores of {model}, {platform.system()} {platform.machine()}, {compiler[0] if compiler else '?'}"


def write(path, text):
    with open(path + ".tmp", "w") as f:
        f.write(text)
        f.flush()
        os.fsync(f.fileno())
    os.replace(path + ".tmp", path)


def with_section(whole, heading, section):
    """The text with the section under this heading replaced, or added before those that other programs made."""
    before, found, behind = whole.partition(heading)
    if not found:
        before, kept, behind = whole.partition(KEPT)
        return before.rstrip("\n") + "\n\n" + section + "\n" + kept + behind
    next_ = behind.find("\n## ")
    return before + section + (behind[next_:] if next_ >= 0 else "")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--bench", required=True, help="path of Cairn's bench")
    p.add_argument("--peer", help="command of PyTorch's program; left out: only Cairn is measured")
    p.add_argument("--onednn", help="path of the bench with cairn::onednn, for the convolutions; left out: only Cairn alone")
    p.add_argument("--program", action="append", default=[], metavar="NAME=COMMAND")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--out", default="tests/bench/RESULTS.md")
    p.add_argument("--only", default="", help="regular expression for the workloads' names")
    p.add_argument("--part", choices=["all", "ranks", "answers", "densenet", "generate", "gpt", "precision", *kernels.KINDS], default="all", help="what is measured and written")
    p.add_argument("--tries", type=int, default=1, help="most times that a disturbed run is made")
    p.add_argument("--wait", type=float, default=0, help="seconds to wait for a quiet moment before a run")
    p.add_argument("--mpirun", default="mpirun --oversubscribe --bind-to none", help="what starts the ranks of mpi; empty: none")
    a = p.parse_args()
    global tries, patience
    tries, patience = a.tries, a.wait
    if a.part != "all" and not os.path.exists(a.out):
        p.error(f"--part {a.part} replaces a section of {a.out}, which is not there; make it first")

    peer = shlex.split(a.peer) if a.peer else None

    tools = sys.modules[__name__]

    def say(text):
        print(f"\r{text:30}", end="", file=sys.stderr, flush=True)

    def ranks_section():
        found = ranks.measure(tools, a.bench, peer, a.rounds, shlex.split(a.mpirun), say)
        return ranks.section(tools, a.bench, found)

    if a.part == "ranks":
        section = ranks_section()
        write(a.out, with_section(open(a.out).read(), ranks.HEADING, section))
        print("\n" + section)
        return
    if kind := kernels.KINDS.get(a.part):
        if not peer:
            p.error(f"--part {a.part} needs --peer: a Python that has PyTorch")
        section = kernels.section(tools, kind, kernels.measure(tools, kind, a.bench, peer[0], a.rounds, say, a.onednn))
        write(a.out, with_section(open(a.out).read(), kind.heading, section))
        print("\n" + section)
        return
    for part in (answers, densenet, generate, gpt):
        if a.part == part.__name__:
            section = part.section(tools, part.measure(tools, a.bench, peer, a.rounds, say))
            write(a.out, with_section(open(a.out).read(), part.HEADING, section))
            print("\n" + section)
            return
    if a.part == "precision":
        section = precision.section(tools, precision.measure(tools, a.bench, [peer[0]] if peer else None, a.rounds, say))
        write(a.out, with_section(open(a.out).read(), precision.HEADING, section))
        print("\n" + section)
        return
    programs = dict(item.split("=", 1) for item in a.program)
    chosen = [w for w in WORKLOADS if re.search(a.only, w[0])]
    total = a.rounds * len(chosen)
    ours, theirs, others = {}, {}, {name: {"small": [], "medium": []} for name in programs}
    floors = []
    done = 0
    for _ in range(a.rounds):
        floors.append(figures([a.bench, "machine"]))
        for name, command in programs.items():
            text = run(shlex.split(command))
            for size in ("small", "medium"):
                others[name][size].append(float(re.search(size + r"\s+([0-9.]+)\s+us", text).group(1)))
        for name, words, _ in chosen:
            ours.setdefault(name, []).append(figures([a.bench, *words.split()]))
            if peer and name not in BESIDE and name not in ALONE:
                theirs.setdefault(name, []).append(figures([*peer, *words.split()]))
            done += 1
            print(f"\r{done}/{total} {name:20}", end="", file=sys.stderr, flush=True)
    several = ranks_section() if re.search(a.only, "ddp") else ""
    print(file=sys.stderr)

    peak = max(f["gflops"] for f in floors)
    memory = max(f["gbytes_memory"] for f in floors)
    l2 = max(f["gbytes_l2"] for f in floors)
    l3 = max(f["gbytes_l3"] for f in floors)
    out = ["# Measured\n",
           f"{datetime.date.today().isoformat()}; {machine_lines()}. One thread per rank. Medians of {a.rounds} interleaved "
           "rounds, measured by `tests/bench/compare.py`.\n",
           f"One core reached in the same minutes: {peak:.0f} GFLOP/s in multiply-adds; copying {memory:.0f} GB/s "
           f"in memory, {l3:.0f} in the third-level cache, {l2:.0f} in the second (bytes read and written).\n",
           "The floor of a step is its floating-point operations divided by the first figure; next to it are the bytes that an "
           "update with momentum moves, 20 for each parameter, divided by the bandwidth of the level that they fit in. `live` is "
           "the most memory that a step needs beyond parameters, optimizer state and batch. Gradients are included, for PyTorch "
           "too: Cairn holds all of them for the whole step, or a layer's at a time if the update is fused; PyTorch allocates "
           "them while it frees activations, and keeps them. PyTorch has no fused update and is shown with its ordinary step. "
           "Cairn's packing scratch, 4 MiB per thread of which small products use little, is not included, nor are the buffers "
           "inside PyTorch's products.\n",
           "## One rank\n"]
    rows = []
    for name, _, target in chosen:
        mine = middle(ours[name], "step_ms")
        peers = theirs.get(BESIDE.get(name, name), [])
        yours = middle(peers, "step_ms")
        flops = middle(ours[name], "flops")
        update = 20 * middle(ours[name], "parameters")
        rate = l2 if update < 2**20 else l3 if update < 32 * 2**20 else memory
        floor = flops / peak / 1e6
        rows.append([name, number(mine), number(yours), number(yours / mine if yours else None) + (" x" if yours else ""),
                     f"{target} x" if target else "-", number(floor), number(update / rate / 1e6), number(mine / floor),
                     number(flops / mine / 1e6), number(middle(ours[name], "step_mib")),
                     number(middle(peers, "step_mib"))])
    out.append(table(["workload", "Cairn ms", "PyTorch ms", "ratio", "target", "floor: FLOPs ms", "update's bytes ms",
                      "Cairn / FLOPs' floor", "GFLOP/s", "live MiB", "PyTorch live MiB"], rows))
    rows = []
    for base, name, most in AGAINST:
        if base not in ours or name not in ours:
            continue
        plain, other = ours[base], ours[name]
        time = statistics.median(o["step_ms"] / p["step_ms"] for o, p in zip(other, plain))
        predicted = middle(other, "flops") / middle(plain, "flops")
        rows.append([name, base, f"{middle(other, 'step_mib'):.1f}", f"{middle(plain, 'step_mib'):.1f}", f"{time:.3f}",
                     f"{predicted:.3f}", f"{time / predicted:.3f}", f"{most:.2f}" if most else "-"])
    if rows:
        out.append("Schedules against `store_all`, in the same rounds. With a fused update gradients count as long as they "
                   "live. `predicted` is the ratio of the operations.\n")
        out.append(table(["schedule", "against", "live MiB", "its live MiB", "time ratio", "predicted", "time / predicted",
                          "at most"], rows))
    if programs:
        out.append("## The tutorial's FFNet against other C++ libraries\n")
        rows = []
        for name, sizes in others.items():
            for size, values in sizes.items():
                if f"ffnet {size}" not in ours:
                    continue
                mine = middle(ours[f"ffnet {size}"], "step_ms") * 1e3
                rows.append([f"ffnet {size}", name, number(mine), number(statistics.median(values)),
                             number(statistics.median(values) / mine) + " x", f"{PROGRAM_TARGETS[size]} x"])
        out.append(table(["workload", "peer", "Cairn us", "peer us", "ratio", "target"], rows))
    if several:
        out.append(several)
    if os.path.exists(a.out):  # what no run of this program measures stays
        _, heading, kept = open(a.out).read().partition(KEPT)
        out.append(heading + kept)
    write(a.out, "\n".join(out))
    print(open(a.out).read())


if __name__ == "__main__":
    main()
