# SPDX-License-Identifier: MIT
"""Runs Cairn's bench and its peers side by side and writes RESULTS.md.

  compare.py --bench build/tests/bench/bench --peer "PYTHON torch_peer.py" [--program NAME=COMMAND]... [--out RESULTS.md]

The bench is built with -DCAIRN_BUILD_BENCH=ON. --peer is the command of a program with the workloads, options and JSON
lines of PyTorch's; --program one that prints "small X us medium Y us" for the two ffnets (libtorch's C++ API, dlib). Runs
are interleaved: every round runs every program once on a workload before the next round begins, so that a slow minute of
the machine meets all alike. Quoted are medians over the rounds of each run's median step, and ratios of these.
"""
import argparse
import datetime
import json
import os
import platform
import re
import shlex
import statistics
import subprocess
import sys

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
SWEEP = [("overlapped", mb) for mb in (0.0625, 0.25, 1, 4, 25)] + [("after_backward", mb) for mb in (1, 25)]


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900,
                          env=dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1"))
    if done.returncode != 0:
        sys.exit(f"{shlex.join(command)} failed:\n{done.stderr[-2000:]}")
    return done.stdout


def figures(command):
    return json.loads([line for line in run(command).splitlines() if line.startswith("{")][-1])


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


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--bench", required=True, help="path of Cairn's bench")
    p.add_argument("--peer", help="command of PyTorch's program; left out: only Cairn is measured")
    p.add_argument("--program", action="append", default=[], metavar="NAME=COMMAND")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--out", default="tests/bench/RESULTS.md")
    p.add_argument("--only", default="", help="regular expression for the workloads' names")
    a = p.parse_args()

    peer = shlex.split(a.peer) if a.peer else None
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
    sweep, peer_ddp = {}, []
    if re.search(a.only, "ddp"):
        for round_ in range(a.rounds):
            for mode, mb in SWEEP:
                command = f"ddp --world 2 --mode {mode} --bucket-mb {mb} --steps 30"
                sweep.setdefault((mode, mb), []).append(figures([a.bench, *command.split()]))
            sweep.setdefault("one", []).append(figures([a.bench, "mlp", "--steps", "30"]))
            if peer:
                peer_ddp.append((figures([*peer, "ddp", "--steps", "30"]), figures([*peer, "mlp", "--steps", "30"])))
            print(f"\rddp round {round_ + 1}/{a.rounds}        ", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)

    peak = max(f["gflops"] for f in floors)
    memory = max(f["gbytes_memory"] for f in floors)
    l2 = max(f["gbytes_l2"] for f in floors)
    l3 = max(f["gbytes_l3"] for f in floors)
    out = ["# Measured\n",
           f"{datetime.date.today().isoformat()}; {machine_lines()}. One thread a rank. Medians of {a.rounds} interleaved "
           "rounds, made by `tests/bench/compare.py`.\n",
           f"What one core reaches in the same minutes: {peak:.0f} GFLOP/s in multiply-adds; copying {memory:.0f} GB/s "
           f"in memory, {l3:.0f} in the third-level cache, {l2:.0f} in the second (read and written bytes).\n",
           "The floor of a step is its floating-point operations over the first figure; next to it the bytes that an update "
           "with momentum moves, 20 for each parameter, over the bandwidth of the level that they fit in. `live` is the most "
           "that a step needs beyond parameters, optimizer state and batch. Gradients count in it, as in the peer's: Cairn "
           "has all of them for the whole step, or a layer's at a time if the update is fused; PyTorch makes them while it "
           "frees activations, and keeps them. It has no fused update and is shown with its ordinary one. Cairn's packing scratch, "
           "4 MiB a thread of which small products touch little, is left out, and so are the buffers inside the peer's products.\n",
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
                   "live. `predicted` is what the operations say.\n")
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
    if sweep:
        out.append("## Two ranks over `threads`: mlp, 128 samples and one thread each\n")
        one = middle(sweep["one"], "step_ms")
        rows = [["one rank", "-", number(one), "1", "-"]]
        for (mode, mb) in SWEEP:
            runs = sweep[(mode, mb)]
            rows.append([mode, f"{mb:g}", number(middle(runs, "step_ms")), f"{middle(runs, 'step_ms') / one:.3f}",
                         number(middle(runs, "exposed_ms"))])
        out.append(table(["buckets leave", "bucket MiB", "step ms", "over one rank", "exposed communication ms"], rows))
        if peer_ddp:
            two, alone = middle([d for d, _ in peer_ddp], "step_ms"), middle([m for _, m in peer_ddp], "step_ms")
            out.append(f"PyTorch DDP over gloo in the same run: {two:.1f} ms on two ranks, {alone:.1f} ms on one: {two / alone:.2f}.\n")
    if os.path.exists(a.out):  # what no run of this program measures stays
        _, heading, kept = open(a.out).read().partition(KEPT)
        out.append(heading + kept)
    with open(a.out + ".tmp", "w") as f:
        f.write("\n".join(out))
        f.flush()
        os.fsync(f.fileno())
    os.replace(a.out + ".tmp", a.out)
    print(open(a.out).read())


if __name__ == "__main__":
    main()
