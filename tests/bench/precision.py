# SPDX-License-Identifier: MIT
"""What compare.py measures of 16-bit elements: steps of three networks in float, bfloat16 and float16, beside PyTorch's.

As a program it is PyTorch's side: precision.py NETWORK TYPE THREADS STEPS WARMUP prints one JSON line. TYPE is float, or
bfloat16 for torch.autocast.
"""
import datetime
import json
import pathlib
import sys
import time

import gpt

HEADING = "## Sixteen bits: steps of three networks\n"

# The words for both programs; the least ratio of float's time to bfloat16's: with the instructions of AVX512-BF16, and with AMX.
NETWORKS = [("mlp", "784 - 512 x 8 - 10, batch 128", "--steps 30 --warmup 5", 1.4, None),
            ("chain", "100 residual blocks of 256, batch 1024", "--steps 4 --warmup 1", 1.4, 2.0),
            ("gpt", "a small GPT, batch 12", "--steps 20 --warmup 3", 1.4, None)]
TYPES = ["float", "bfloat16", "float16"]
TYPES_OF_TORCH = ["float", "bfloat16"]


def measure(tools, bench, peer, rounds, say):
    """Results by (program, network, type), a list over the rounds. `tools` is compare.py; without a peer only Cairn is measured."""
    found = {}
    for round_ in range(rounds):
        for network, _, words, *_ in NETWORKS:
            for kind in TYPES:
                say(f"precision, round {round_ + 1} of {rounds}: Cairn, {network}, {kind}")
                command = [bench, network, "--type", kind, "--threads", "1", *words.split()]
                found.setdefault(("Cairn", network, kind), []).append(tools.figures(command))
            for kind in TYPES_OF_TORCH if peer else []:
                say(f"precision, round {round_ + 1} of {rounds}: PyTorch, {network}, {kind}")
                command = [*peer, str(pathlib.Path(__file__)), network, kind, "1", *words.split()[1::2]]
                found.setdefault(("PyTorch", network, kind), []).append(tools.figures(command))
    return found


def instructions():
    """Those for products of bfloat16 that this machine has, as Cairn chooses among them."""
    flags = next((line.split() for line in open("/proc/cpuinfo") if line.startswith("flags")), [])
    return "AMX" if "amx_bf16" in flags else "AVX512-BF16" if "avx512_bf16" in flags else "none for bfloat16"


def section(tools, found):
    """The text for RESULTS.md."""
    def step(program, network, kind):
        key = program, network, kind
        return tools.middle(tools.undisturbed(found[key]), "step_ms") if key in found else None

    def ratio(a, b):
        return f"{a / b:.2f} x" if a and b else "-"

    way = instructions()
    out = [HEADING,
           f"{datetime.date.today().isoformat()}; {tools.machine_lines()}; its instructions for products: {way}; one thread; medians of "
           f"{len(next(iter(found.values())))} interleaved rounds of `compare.py --part precision`. float16 is widened to float in "
           "every product. PyTorch computes bfloat16 by `torch.autocast`. `activations` are those of the arena. Ratios are times "
           "of the first over the second: above 1, the second is quicker.\n"]
    rows = []
    for network, meaning, _, with_avx512, with_amx in NETWORKS:
        target = {"AMX": with_amx or with_avx512, "AVX512-BF16": with_avx512}.get(way)
        own = tools.middle(found["Cairn", network, "float"], "activations_mib")
        for kind in TYPES:
            took = step("Cairn", network, kind)
            activations = tools.middle(found["Cairn", network, kind], "activations_mib")
            theirs = step("PyTorch", network, kind)
            rows.append([meaning, kind, tools.number(took, 4), ratio(step("Cairn", network, "float"), took) if kind != "float" else "-",
                         f"{target} x" if target and kind == "bfloat16" else "-", f"{activations:.1f}", f"{activations / own:.3f}",
                         tools.number(theirs, 4), ratio(theirs, took), "1.2 x" if kind == "bfloat16" else "-"])
    out.append(tools.table(["network", "type", "ms", "float / this", "target", "activations MiB", "over float's", "PyTorch ms",
                            "PyTorch / this", "target"], rows))
    return "\n".join(out)


def network_of_torch(torch, name):
    """A function that returns the loss of one batch, and the optimizer."""
    from torch import nn

    class Block(nn.Module):
        def __init__(self, depth):
            super().__init__()
            self.first, self.second = nn.Linear(256, 256), nn.Linear(256, 256)
            with torch.no_grad():
                self.second.weight.div_(depth)

        def forward(self, x):
            return x + self.second(nn.functional.relu(self.first(x)))

    if name == "gpt":
        return gpt.loss_of_torch(torch, "naive")
    if name == "mlp":
        widths = [784] + [512] * 8
        layers = [layer for a, b in zip(widths, widths[1:]) for layer in (nn.Linear(a, b), nn.ReLU())] + [nn.Linear(512, 10)]
        rows, rate = 128, 1e-2
    else:
        layers = [Block(100) for _ in range(100)] + [nn.Linear(256, 10)]
        rows, rate = 1024, 1e-3
    network = nn.Sequential(*layers)
    inputs, targets = torch.randn(rows, 784 if name == "mlp" else 256), torch.randint(10, (rows,))
    optimizer = torch.optim.SGD(network.parameters(), lr=rate, momentum=0.9)
    return lambda: nn.functional.cross_entropy(network(inputs), targets), optimizer


def main():
    import torch
    name, kind, (threads, steps, warmup) = sys.argv[1], sys.argv[2], (int(word) for word in sys.argv[3:6])
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    loss, optimizer = network_of_torch(torch, name)

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=kind == "bfloat16"):
            value = loss()
        value.backward()
        optimizer.step()

    took = []
    for _ in range(warmup + steps):
        start = time.perf_counter()
        step()
        took.append(1e3 * (time.perf_counter() - start))
    took = sorted(took[warmup:])
    print(json.dumps({"peer": "torch", "workload": name, "type": kind, "threads": threads, "step_ms": took[len(took) // 2],
                      "step_ms_min": took[0], "step_mib": gpt.live_bytes(torch, step) / 2**20}))


if __name__ == "__main__":
    main()
