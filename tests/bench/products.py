# SPDX-License-Identifier: MIT
"""What compare.py measures of products: each form and size, beside torch.mm, which calls MKL."""
import datetime
import json
import statistics
import subprocess

HEADING = "## Products against MKL\n"
STEPS = "9"

# The operands lie as Cairn's do: a transposed one is a view of what lies the other way round.
TORCH = """
import json, sys, time, torch
torch.set_num_threads(1)
torch.manual_seed(1)
for line in sys.stdin:
    r = json.loads(line)
    m, n, k = r["m"], r["n"], r["k"]
    a = torch.randn(k, m).t() if r["form"] == "first" else torch.randn(m, k)
    b = torch.randn(n, k).t() if r["form"] == "second" else torch.randn(k, n)
    c = torch.empty(m, n)
    took = []
    for i in range(3 + int(sys.argv[1])):
        start = time.perf_counter()
        torch.mm(a, b, out=c)
        took.append(time.perf_counter() - start)
    took = sorted(took[3:])
    flops = 2e-9 * m * n * k
    print(json.dumps({"gflops": flops / took[len(took) // 2], "gflops_best": flops / took[0]}), flush=True)
"""


def key(result):
    return result["form"], result["m"], result["n"], result["k"]


def measure(tools, bench, python, rounds, say):
    """All results of all rounds: for each product Cairn's and the peer's. `tools` is compare.py; `python` has PyTorch."""
    ours, theirs = {}, {}
    for round_ in range(rounds):
        say(f"products, round {round_ + 1} of {rounds}")
        lines = tools.run([bench, "products", "--steps", STEPS, "--warmup", "3"]).splitlines()
        results = [json.loads(line) for line in lines if line.startswith("{")]
        for result in results:
            ours.setdefault(key(result), []).append(result)
        done = subprocess.run([python, "-c", TORCH, STEPS], input="\n".join(map(json.dumps, results)) + "\n",
                              capture_output=True, text=True, check=True, env=tools.environment())
        for result, line in zip(results, done.stdout.splitlines()):
            theirs.setdefault(key(result), []).append(json.loads(line))
    return ours, theirs


def section(tools, found):
    """The text for RESULTS.md."""
    ours, theirs = found
    rounds = len(next(iter(ours.values())))
    out = [HEADING,
           f"{datetime.date.today().isoformat()}; {tools.machine_lines()}; GFLOP/s of float products (m x n x k) on one thread, in "
           f"{rounds} interleaved rounds of `compare.py --part products`, each with {STEPS} turns of every product. MKL is "
           "`torch.mm` of PyTorch. The best turn of each, its ratio, and the ratio of the medians. `first` is a weight gradient, "
           "`second` a forward pass, `none` the gradient of an input.\n"]
    rows = []
    for which, mine in ours.items():
        yours = theirs[which]
        best, peer = max(r["gflops_best"] for r in mine), max(r["gflops_best"] for r in yours)
        middle = statistics.median(r["gflops"] for r in mine) / statistics.median(r["gflops"] for r in yours)
        rows.append([which[0], " x ".join(map(str, which[1:])), f"{best:.0f}", f"{peer:.0f}", f"{best / peer:.3f}", f"{middle:.3f}"])
    out.append(tools.table(["form", "m x n x k", "Cairn", "MKL", "ratio", "of medians"], rows))
    return "\n".join(out)
