# SPDX-License-Identifier: MIT
"""What compare.py measures of texts: the time of a token with the keys and values of earlier ones kept, beside PyTorch's.

As a program it is PyTorch's side: generate.py MODE THREADS STEPS WARMUP prints one JSON line.
"""
import datetime
import json
import pathlib
import sys
import time

HEADING = "## A text, token by token\n"
# (mode, what it is, tokens that are measured, warm-up)
MODES = [("characters", "the GPT above: 4 layers of width 128, 64 tokens", 640, 64),
         ("gpt2", "GPT-2: 12 layers of width 768, 50257 words, 256 tokens", 32, 4)]
EXTENTS = {"characters": (65, 64, 128, 4, 4, False), "gpt2": (50257, 256, 768, 12, 12, True)}  # words, tokens, width, heads, layers, tied


def measure(tools, bench, peer, rounds, say):
    found = {}
    for round_ in range(rounds):
        for mode, _, steps, warmup in MODES:
            for what in (mode, mode + "_floor"):
                say(f"generate, round {round_ + 1} of {rounds}: Cairn, {what}")
                words = ["generate", "--mode", what, "--steps", str(steps), "--warmup", str(warmup), "--threads", "1"]
                found.setdefault(("Cairn", what), []).append(tools.figures([bench, *words]))
            if peer:
                say(f"generate, round {round_ + 1} of {rounds}: PyTorch, {mode}")
                command = [*peer, str(pathlib.Path(__file__)), mode, "1", str(steps), str(warmup)]
                found.setdefault(("PyTorch", mode), []).append(tools.figures(command))
    return found


def section(tools, found):
    out = [HEADING,
           f"{datetime.date.today().isoformat()}; {tools.machine_lines()}; one thread, float, keys and values kept; medians of "
           f"{len(next(iter(found.values())))} interleaved rounds of `compare.py --part generate`. PyTorch keeps them in tensors of the "
           "whole window, computes attention by `scaled_dot_product_attention` and runs in `inference_mode`. The floor is the time in "
           "which one core reads as many bytes as a token reads of weights.\n"]
    rows = []
    for mode, meaning, *_ in MODES:
        mine = tools.middle(tools.undisturbed(found["Cairn", mode]), "step_ms")
        floor = tools.middle(tools.undisturbed(found["Cairn", mode + "_floor"]), "step_ms")
        theirs = tools.middle(tools.undisturbed(found["PyTorch", mode]), "step_ms") if ("PyTorch", mode) in found else None
        rows.append([meaning, f"{1e3 / mine:.0f}", f"{1e3 / theirs:.0f}" if theirs else "-", f"{1e3 / floor:.0f}",
                     f"{theirs / mine:.2f} x" if theirs else "-", f"{floor / mine:.2f}"])
    out.append(tools.table(["network", "tokens a second", "PyTorch", "floor", "over PyTorch", "of the floor"], rows))
    return "\n".join(out)


def step_of_torch(torch, mode):
    """A function that takes the next token of a text."""
    from torch import nn
    words, tokens, width, heads, layers, tied = EXTENTS[mode]

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.in_proj, self.out_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.linear1, self.linear2 = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
            self.keys, self.values = torch.zeros(1, heads, tokens, width // heads), torch.zeros(1, heads, tokens, width // heads)

        def forward(self, x, at):
            query, key, value = (part.unflatten(2, (heads, width // heads)).transpose(1, 2)
                                 for part in self.in_proj(self.norm1(x)).split(width, 2))
            self.keys[:, :, at], self.values[:, :, at] = key[:, :, 0], value[:, :, 0]
            looked = nn.functional.scaled_dot_product_attention(query, self.keys[:, :, :at + 1], self.values[:, :, :at + 1])
            x = x + self.out_proj(looked.transpose(1, 2).flatten(2))
            return x + self.linear2(nn.functional.gelu(self.linear1(self.norm2(x)), approximate="tanh" if tied else "none"))

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.positions = nn.Embedding(words, width), nn.Embedding(tokens, width)
            self.layers = nn.ModuleList(Layer() for _ in range(layers))
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)
            if tied:
                self.head.weight = self.words.weight

        def forward(self, token, at):
            x = self.words(token) + self.positions.weight[at]
            for layer in self.layers:
                x = layer(x, at)
            return self.head(self.norm(x))

    network, count = Network().eval(), 0

    def step():
        nonlocal count
        network(torch.tensor([[(count + 1) * 7 % words]]), count % tokens)
        count += 1

    return step


def main():
    import torch
    mode, threads, steps, warmup = sys.argv[1], *(int(word) for word in sys.argv[2:5])
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    took = []
    with torch.inference_mode():
        step = step_of_torch(torch, mode)
        for _ in range(warmup + steps):
            start = time.perf_counter()
            step()
            took.append(1e3 * (time.perf_counter() - start))
    took = sorted(took[warmup:])
    print(json.dumps({"peer": "torch", "mode": mode, "threads": threads, "step_ms": took[len(took) // 2], "step_ms_min": took[0]}))


if __name__ == "__main__":
    main()
