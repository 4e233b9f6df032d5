# SPDX-License-Identifier: MIT
"""Steps of gpu_bench's networks beside PyTorch's on the same GPU, as a table for RESULTS.md.

  peer.py --bench build-gpu/gpu_bench [--rounds 5] [--steps 30]
  peer.py --try           the steps alone, on the processor and small: whether this program works

Rounds are interleaved: in every round each network is run by one and then by the other, so that a GPU that grows hot meets both
alike. Quoted are medians over the rounds. A step takes its batch from the host's pinned memory, as a trainer's does; products are
of float, without TF32 on either side; `events` is what torch.cuda's events say of PyTorch's steps, the others are times of the
host from one synchronisation to the next. PyTorch's bytes are what is allocated at most in a step beyond what lives before it,
less the gradients. Exit status 77: no PyTorch, or none that finds a GPU.
"""
import argparse
import json
import statistics
import subprocess
import sys
import time

LEFT_OUT = 77
# network, policy, rows of a batch, features
STEPS = [("mlp", "store_all", 128, 784), ("mlp", "sqrt_n", 128, 784), ("chain 10", "store_all", 1024, 256),
         ("chain 10", "sqrt_n", 1024, 256), ("chain 100", "store_all", 1024, 256), ("chain 100", "sqrt_n", 1024, 256)]


def network(torch, name):
    nn = torch.nn

    class Residual(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 256))

        def forward(self, x):
            return x + self.inner(x)

    if name == "mlp":
        widths = [784] + [512] * 8
        layers = [layer for a, b in zip(widths, widths[1:]) for layer in (nn.Linear(a, b), nn.ReLU())]
        return nn.Sequential(*layers, nn.Linear(512, 10))
    return nn.Sequential(*(Residual() for _ in range(int(name.split()[1]))), nn.Linear(256, 10))


class Peer:
    """One network of PyTorch's, and its steps."""

    def __init__(self, torch, name, policy, rows, features, device):
        self.torch, self.device, self.policy = torch, torch.device(device), policy
        torch.manual_seed(1)
        self.model = network(torch, name).to(self.device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-4, momentum=0.9)
        self.x = torch.rand(rows, features) * 2 - 1
        self.y = torch.randint(0, 10, (rows,))
        if self.device.type == "cuda":
            self.x, self.y = self.x.pin_memory(), self.y.pin_memory()

    def step(self):
        torch = self.torch
        x, y = self.x.to(self.device, non_blocking=True), self.y.to(self.device, non_blocking=True)
        self.optimizer.zero_grad(set_to_none=True)
        if self.policy == "sqrt_n":
            segments = max(1, round(len(self.model) ** 0.5))
            output = torch.utils.checkpoint.checkpoint_sequential(self.model, segments, x, use_reentrant=False)
        else:
            output = self.model(x)
        loss = torch.nn.functional.cross_entropy(output, y)
        loss.backward()
        self.optimizer.step()
        return loss

    def synchronize(self):
        if self.device.type == "cuda":
            self.torch.cuda.synchronize()

    def round(self, steps):
        """(milliseconds of a step by the host's clock, by events)"""
        for _ in range(3):
            self.step()
        self.synchronize()
        on_gpu = self.device.type == "cuda"
        first, last = (self.torch.cuda.Event(enable_timing=True) for _ in range(2)) if on_gpu else (None, None)
        start = time.perf_counter()
        if on_gpu:
            first.record()
        for _ in range(steps):
            self.step()
        if on_gpu:
            last.record()
        self.synchronize()
        took = (time.perf_counter() - start) * 1e3 / steps
        return took, first.elapsed_time(last) / steps if on_gpu else took

    def bytes(self):
        if self.device.type != "cuda":
            return 0
        self.optimizer.zero_grad(set_to_none=True)
        self.synchronize()
        self.torch.cuda.reset_peak_memory_stats()
        before = self.torch.cuda.memory_allocated()
        self.step()
        self.synchronize()
        gradients = sum(p.numel() * p.element_size() for p in self.model.parameters())
        return self.torch.cuda.max_memory_allocated() - before - gradients


def row(cells):
    print("| " + " | ".join(cells) + " |", flush=True)


def table(results):
    row(["network", "policy", "batch", "Cairn ms", "PyTorch ms", "events ms", "ratio", "arena MiB", "PyTorch MiB"])
    row(["---", "---"] + ["---:"] * 7)
    for (name, policy, rows, _), (own, theirs, events, arena, live) in results:
        row([name, policy, str(rows), f"{own:.4g}" if own else "-", f"{theirs:.4g}", f"{events:.4g}",
             f"{theirs / own:.3g} x" if own else "-", f"{arena / 2**20:.3g}" if own else "-", f"{live / 2**20:.3g}"])


def ask(bench, name, policy, steps):
    said = subprocess.run([bench, "--step", f"{name} {policy}", "--steps", str(steps)], capture_output=True, text=True)
    if said.returncode:
        sys.exit(f"peer.py: {bench} ended with {said.returncode}: {said.stderr.strip()}")
    return json.loads(said.stdout)


def compare(torch, asked, device, steps_of_networks):
    results = []
    for step in steps_of_networks:
        name, policy, rows, features = step
        peer = Peer(torch, name, policy, rows, features, device)
        own, theirs, events, arena = [], [], [], 0
        for _ in range(asked.rounds):
            if asked.bench:
                said = ask(asked.bench, name, policy, asked.steps)
                own.append(said["ms"])
                arena = said["arena_bytes"]
            by_host, by_events = peer.round(asked.steps)
            theirs.append(by_host)
            events.append(by_events)
        results.append((step, (statistics.median(own) if own else 0, statistics.median(theirs), statistics.median(events), arena,
                               peer.bytes())))
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--try", dest="tries", action="store_true")
    asked = parser.parse_args()
    if not asked.bench and not asked.tries:
        parser.error("expected --bench PROGRAM, or --try")
    try:
        import torch
        import torch.utils.checkpoint
    except ImportError:
        print("peer.py: left out, as this Python has no torch")
        return LEFT_OUT
    if asked.tries:
        asked.bench, asked.rounds, asked.steps = None, 1, 1
        table(compare(torch, asked, "cpu", [(n, p, 8, f) for n, p, _, f in STEPS[:4]]))
        return 0
    if not torch.cuda.is_available():
        print("peer.py: left out, as torch finds no GPU")
        return LEFT_OUT
    torch.backends.cuda.matmul.allow_tf32 = False
    print(f"\n### Steps beside PyTorch {torch.__version__}\n\n{torch.cuda.get_device_name()}; medians of {asked.rounds} "
          f"interleaved rounds of {asked.steps} steps; both of float without TF32.\n")
    table(compare(torch, asked, "cuda", STEPS))
    return 0


if __name__ == "__main__":
    sys.exit(main())
