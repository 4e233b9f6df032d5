# SPDX-License-Identifier: MIT
"""What compare.py measures of single kernels: each form and size, beside the same of PyTorch on the CPU."""
import dataclasses
import datetime
import json
import statistics
import subprocess

STEPS = "9"

# Reads what bench has printed, a line for each kernel, and prints PyTorch's figures of the same. `kernel` makes the function to
# call and its floating-point operations.
TORCH = """
import json, sys, time, torch
torch.set_num_threads(1)
torch.manual_seed(1)
{kernel}
for line in sys.stdin:
    call, flops = kernel(json.loads(line))
    took = []
    with torch.no_grad():
        for i in range(3 + int(sys.argv[1])):
            start = time.perf_counter()
            call()
            took.append(time.perf_counter() - start)
    took = sorted(took[3:])
    print(json.dumps({{"gflops": flops / 1e9 / took[len(took) // 2], "gflops_best": flops / 1e9 / took[0]}}), flush=True)
"""

# The operands lie as Cairn's do: a transposed one is a view of what lies the other way round.
PRODUCT = """
def kernel(r):
    m, n, k = r["m"], r["n"], r["k"]
    kind = getattr(torch, r.get("type", "float32"))
    a = torch.randn(k, m).to(kind).t() if r["form"] == "first" else torch.randn(m, k).to(kind)
    b = torch.randn(n, k).to(kind).t() if r["form"] == "second" else torch.randn(k, n).to(kind)
    c = torch.empty(m, n, dtype=kind)
    return lambda: torch.mm(a, b, out=c), 2 * m * n * k
"""

# Images and weights are channels_last, as Cairn's lie.
CONVOLUTION = """
def kernel(r):
    n, e, i, o, k, s, g = (r[w] for w in ("samples", "extent", "in", "out", "kernel", "stride", "groups"))
    last = {"memory_format": torch.channels_last}
    x = torch.randn(n, i, e, e).to(**last)
    w = torch.randn(o, i // g, k, k).to(**last)
    y = torch.nn.functional.conv2d(x, w, None, s, k // 2, 1, g)
    dy = torch.randn(y.shape).to(**last)
    flops = 2 * y.numel() * (i // g) * k * k
    if r["part"] == "forward":
        return lambda: torch.nn.functional.conv2d(x, w, None, s, k // 2, 1, g), flops
    wanted = [r["part"] == "input gradient", r["part"] == "weight gradient", False]
    back = torch.ops.aten.convolution_backward
    return lambda: back(dy, x, w, None, [s, s], [k // 2] * 2, [1, 1], False, [0, 0], g, wanted), flops
"""


@dataclasses.dataclass
class Kind:
    """One workload of bench with many kernels."""
    workload: str
    heading: str
    peer: str     # the name of its column
    torch: str    # what makes the peer's call
    columns: list # of the table: a name, and what it shows of a result
    text: str


KINDS = {
    "products": Kind(
        "products", "## Products against MKL\n", "MKL", PRODUCT,
        [("form", lambda r: r["form"]), ("m x n x k", lambda r: f"{r['m']} x {r['n']} x {r['k']}"),
         ("type", lambda r: f"bfloat16, {r['way']}" if "way" in r else "float")],
        "products (m x n x k) of float, and of bfloat16 in each way that Cairn has, of which it chooses one: widened to float, by "
        "the instructions of AVX-512 BF16 and by those of AMX. MKL is `torch.mm` of PyTorch, which asks oneDNN for bfloat16. The "
        "table has the best turn of each, its ratio, the ratio of the medians, and the ratio of the best turn to that of "
        "Cairn's own float. `first` is a weight gradient, `second` a forward pass, `none` the gradient of an input."),
    "convolutions": Kind(
        "convolutions", "## Convolutions against oneDNN\n", "oneDNN", CONVOLUTION,
        [("images", lambda r: f"{r['samples']} x {r['extent']}² x {r['in']}"),
         ("kernel", lambda r: f"{r['kernel']}² to {r['out']}" + (f", stride {r['stride']}" if r["stride"] > 1 else "") +
          (f", {r['groups']} groups" if r["groups"] > 1 else "")), ("part", lambda r: r["part"])],
        "float convolutions, padded so that a stride of 1 keeps the size; products with padding count. PyTorch calls oneDNN for "
        "images and weights that are `channels_last`. The table has the best turn of each, its ratio, and the ratio of the "
        "medians."),
}
FIGURES = ("gflops", "gflops_best", "threads", "peer", "workload", "by")
# Steps of networks, with cairn::onednn and without. A dense block has kernels of its own, which the component leaves alone.
NETWORKS = [("VGG-11 on 32 x 32, batch 32", "vgg --steps 9 --warmup 2")]


def key(result):
    return tuple(value for name, value in result.items() if name not in FIGURES)


def measure(tools, kind, bench, python, rounds, say, onednn=None):
    """All results of all rounds: for each kernel Cairn's and the peer's. `tools` is compare.py; `python` has PyTorch. `onednn` is
    the bench with cairn::onednn, or none: then there are no more."""
    ours, theirs, more = {}, {}, {}
    for round_ in range(rounds):
        say(f"{kind.workload}, round {round_ + 1} of {rounds}")
        lines = tools.run([bench, kind.workload, "--steps", STEPS, "--warmup", "3"]).splitlines()
        results = [json.loads(line) for line in lines if line.startswith("{")]
        for result in results:
            ours.setdefault(key(result), []).append(result)
        done = subprocess.run([python, "-c", TORCH.format(kernel=kind.torch), STEPS],
                              input="\n".join(map(json.dumps, results)) + "\n",
                              capture_output=True, text=True, check=True, env=tools.environment())
        for result, line in zip(results, done.stdout.splitlines()):
            theirs.setdefault(key(result), []).append(json.loads(line))
        if not onednn:
            continue
        for line in tools.run([onednn, kind.workload, "--steps", STEPS, "--warmup", "3"]).splitlines():
            if line.startswith("{"):
                more.setdefault(key(json.loads(line)), []).append(json.loads(line))
        for name, words in NETWORKS:
            for program in (bench, onednn):
                more.setdefault((name, program == onednn), []).append(tools.figures([program, *words.split()]))
    return ours, theirs, more


def section(tools, kind, found):
    """The text for RESULTS.md."""
    ours, theirs, more = found
    rounds = len(next(iter(ours.values())))
    out = [kind.heading,
           f"{datetime.date.today().isoformat()}; {tools.machine_lines()}; GFLOP/s on one thread, in {rounds} interleaved rounds of "
           f"`compare.py --part {kind.workload}`, each with {STEPS} turns of every kernel: {kind.text}\n"]
    rows = []
    of_float = any("way" in mine[0] for mine in ours.values())
    own = {key({**mine[0], "type": 0, "way": 0})[:-2]: max(r["gflops_best"] for r in mine)
           for mine in ours.values() if "way" not in mine[0]}
    for which, mine in ours.items():
        yours = theirs[which]
        if not mine[0]["gflops_best"]:
            rows.append([*(show(mine[0]) for _, show in kind.columns), "no such instruction here", *["-"] * (3 + of_float)])
            continue
        best, peer = max(r["gflops_best"] for r in mine), max(r["gflops_best"] for r in yours)
        middle = statistics.median(r["gflops"] for r in mine) / statistics.median(r["gflops"] for r in yours)
        rows.append([*(show(mine[0]) for _, show in kind.columns), f"{best:.0f}", f"{peer:.0f}", f"{best / peer:.3f}",
                     f"{middle:.3f}"])
        if of_float:
            rows[-1].append(f"{best / own[which[:-2]]:.2f}" if "way" in mine[0] else "-")
        if more:
            with_it = max(r["gflops_best"] for r in more[which])
            by_it = more[which][0]["by"] == "onednn"
            rows[-1] += [f"{with_it:.0f}", f"{with_it / best:.2f}", f"{with_it / peer:.2f}"] if by_it else ["-"] * 3
    names = [*(name for name, _ in kind.columns), "Cairn", kind.peer, "ratio", "of medians", *["over own float"] * of_float]
    out.append(tools.table(names + (["with cairn::onednn", "over Cairn alone", "over PyTorch"] if more else []), rows))
    if more:
        out.append("`-`: Cairn's own kernel is used with the component too, as ops/conv2d/quicker_by_onednn.hpp decides. With "
                   "the component oneDNN gets one image at a time, and the weight is copied into oneDNN's order at each call; "
                   "the time includes this.\n")
        rows = []
        for name, _ in NETWORKS:
            alone, with_it = (statistics.median(r["step_ms"] for r in more[name, w]) for w in (False, True))
            rows.append([name, f"{alone:.0f}", f"{with_it:.0f}", f"{alone / with_it:.2f} x"])
        out.append(tools.table(["a step of", "Cairn alone, ms", "with cairn::onednn, ms", "ratio"], rows))
    return "\n".join(out)
