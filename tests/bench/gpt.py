# SPDX-License-Identifier: MIT
"""What compare.py measures of a small GPT: time against memory, and attention alone, beside PyTorch's.

As a program it is PyTorch's side: gpt.py MODE THREADS STEPS WARMUP prints one JSON line.
"""
import datetime
import json
import pathlib
import sys
import time

HEADING = "## A small GPT: 4 layers of width 128, 64 tokens, batch 12\n"
STEPS, WARMUP = 20, 3

OURS = [("naive", "everything stored", 1.5, "naive"), ("budget_8", "`budget<8_MiB>`", None, "layers"),
        ("fused_10", "`fused_update`, `budget<10_MiB>`, gradients included", 1.6, "layers"),
        ("naive --threads 2", "two threads", None, "naive --threads 2"), ("naive --world 2", "two ranks, of 12 samples each", None, None)]
THEIRS = [("naive", "everything stored"), ("layers", "each layer checkpointed"), ("naive --threads 2", "two threads")]
ATTENTION = [("attention_64", "12 x 4 heads x 32, 64 tokens"), ("attention_256", "2 x 12 heads x 64, 256 tokens"),
             ("attention_1024", "1 x 12 heads x 64, 1024 tokens")]


def words_of(mode):
    mode, *rest = mode.split()
    return ["gpt", "--mode", mode, "--steps", str(STEPS), "--warmup", str(WARMUP), *(rest or ["--threads", "1"])]


def measure(tools, bench, peer, rounds, say):
    """Results by (program, mode), a list over the rounds. `tools` is compare.py; without a peer only Cairn is measured."""
    found = {}
    for round_ in range(rounds):
        for mode in [mode for mode, *_ in OURS] + [mode for mode, _ in ATTENTION]:
            say(f"gpt, round {round_ + 1} of {rounds}: Cairn, {mode}")
            found.setdefault(("Cairn", mode), []).append(tools.figures([bench, *words_of(mode)]))
        for mode in [mode for mode, _ in THEIRS + ATTENTION] if peer else []:
            say(f"gpt, round {round_ + 1} of {rounds}: PyTorch, {mode}")
            threads = mode.split()[2] if " " in mode else "1"
            command = [*peer, str(pathlib.Path(__file__)), mode.split()[0], threads, str(STEPS), str(WARMUP)]
            found.setdefault(("PyTorch", mode), []).append(tools.figures(command))
    return found


def section(tools, found):
    """The text for RESULTS.md."""
    def step(program, mode):
        return tools.middle(tools.undisturbed(found[program, mode]), "step_ms") if (program, mode) in found else None

    def ratio(a, b):
        return f"{a / b:.2f} x" if a and b else "-"

    own = step("Cairn", "naive")
    out = [HEADING,
           f"{datetime.date.today().isoformat()}; {tools.machine_lines()}; AdamW, one thread where nothing else is said; medians of "
           f"{len(next(iter(found.values())))} interleaved rounds of `compare.py --part gpt`. PyTorch computes attention by "
           "`scaled_dot_product_attention`. `live` is the most memory that a step needs beyond parameters, optimizer state and "
           "batch, gradients included. `predicted` is the sum of the stages' costs from measured_costs.\n"]
    rows = []
    for mode, meaning, target, beside in OURS:
        mine = tools.undisturbed(found["Cairn", mode])
        took = tools.middle(mine, "step_ms")
        predicted = tools.middle(mine, "predicted_ms")
        rows.append([f"Cairn: {meaning}", tools.number(took, 4), f"{tools.middle(mine, 'step_mib'):.1f}", f"{took / own:.2f}",
                     ratio(step("PyTorch", beside), took), f"{target} x" if target else "-",
                     f"{took / predicted:.2f}" if predicted else "-"])
    for mode, meaning in THEIRS:
        if ("PyTorch", mode) in found:
            theirs = tools.undisturbed(found["PyTorch", mode])
            took = tools.middle(theirs, "step_ms")
            rows.append([f"PyTorch: {meaning}", tools.number(took, 4), f"{tools.middle(theirs, 'step_mib'):.1f}",
                         f"{took / step('PyTorch', 'naive'):.2f}", "-", "-", "-"])
    out.append(tools.table(["step", "ms", "live MiB", "over one thread, stored", "PyTorch / this", "target", "measured / predicted"], rows))
    rows = []
    for mode, meaning in ATTENTION:
        mine, theirs = step("Cairn", mode), step("PyTorch", mode)
        flops = tools.middle(found["Cairn", mode], "flops")
        rows.append([meaning, tools.number(mine, 4), tools.number(theirs, 4), ratio(theirs, mine), "1.5 x", f"{flops / mine / 1e6:.0f}"])
    out.append("Attention alone, causal, forward and backward:\n")
    out.append(tools.table(["samples", "Cairn, ms", "PyTorch, ms", "ratio", "target", "Cairn, GFLOP/s"], rows))
    return "\n".join(out)


def live_bytes(torch, step):
    """The most bytes that a step allocates at a time."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        step()
    live = most = 0
    for event in profile.profiler.kineto_results.events():
        if event.name() == "[memory]":
            live += event.nbytes()
            most = max(most, live)
    return most


def attention_of_torch(torch, mode):
    samples, heads, width = {"attention_64": (12, 4, 32), "attention_256": (2, 12, 64), "attention_1024": (1, 12, 64)}[mode]
    shape = (samples, int(mode.split("_")[1]), heads, width)
    operands = [torch.randn(shape).transpose(1, 2).requires_grad_() for _ in range(3)]
    gradient = torch.randn(shape).transpose(1, 2)

    def call():
        for operand in operands:
            operand.grad = None
        torch.nn.functional.scaled_dot_product_attention(*operands, is_causal=True).backward(gradient)

    return call


def loss_of_torch(torch, mode):
    """A function that returns the loss of one batch, and the optimizer."""
    from torch import nn
    from torch.utils.checkpoint import checkpoint

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(128), nn.LayerNorm(128)
            self.in_proj, self.out_proj = nn.Linear(128, 384), nn.Linear(128, 128)
            self.linear1, self.linear2 = nn.Linear(128, 512), nn.Linear(512, 128)

        def forward(self, x):
            query, key, value = (part.unflatten(2, (4, 32)).transpose(1, 2) for part in self.in_proj(self.norm1(x)).split(128, 2))
            looked = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
            x = x + self.out_proj(looked.transpose(1, 2).flatten(2))
            return x + self.linear2(nn.functional.gelu(self.linear1(self.norm2(x))))

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.characters, self.positions = nn.Embedding(65, 128), nn.Embedding(64, 128)
            self.layers = nn.ModuleList(Layer() for _ in range(4))
            self.norm, self.head = nn.LayerNorm(128), nn.Linear(128, 65, bias=False)

        def forward(self, tokens):
            x = self.characters(tokens) + self.positions.weight
            for layer in self.layers:
                x = checkpoint(layer, x, use_reentrant=False) if mode == "layers" else layer(x)
            return self.head(self.norm(x)).flatten(0, 1)

    network = Network()
    tokens, targets = torch.randint(65, (12, 64)), torch.randint(65, (12 * 64,))
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3, weight_decay=0.1)
    return lambda: nn.functional.cross_entropy(network(tokens), targets), optimizer


def step_of_torch(torch, mode):
    loss, optimizer = loss_of_torch(torch, mode)

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss().backward()
        optimizer.step()

    return step


def main():
    import torch
    mode, threads, steps, warmup = sys.argv[1], *(int(word) for word in sys.argv[2:5])
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    step = attention_of_torch(torch, mode) if mode.startswith("attention") else step_of_torch(torch, mode)
    took = []
    for _ in range(warmup + steps):
        start = time.perf_counter()
        step()
        took.append(1e3 * (time.perf_counter() - start))
    took = sorted(took[warmup:])
    print(json.dumps({"peer": "torch", "mode": mode, "threads": threads, "step_ms": took[len(took) // 2], "step_ms_min": took[0],
                      "step_mib": live_bytes(torch, step) / 2**20}))


if __name__ == "__main__":
    main()
