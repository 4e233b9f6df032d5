# SPDX-License-Identifier: MIT
"""Steps of gpu_bench's networks beside PyTorch's on the same GPU, as a table for RESULTS.md.

  peer.py --bench build-gpu/gpu_bench [--rounds 5] [--steps 30]
  peer.py --try           the steps alone, on the processor and small: whether this program works

Each network is run in several ways: Cairn's ops each by a call of the host, as a graph, and as a graph with branches (the default);
PyTorch eager, by torch.compile, and as a CUDA graph of the whole step, with the optimizer. Rounds are interleaved: in every round each
way is run after another, so that a GPU that grows hot meets all alike. Quoted are medians over the rounds. A step takes its batch
from the host's pinned memory, as a trainer's does; products are of float, without TF32 on either side; times are the host's from one
synchronisation to the next. PyTorch's bytes are what is allocated at most in an eager step beyond what lives before it, less the
gradients. A way that fails is a dash, and its error is printed below the table. Exit status 77: no PyTorch, or none that finds a GPU.

With two GPUs or more, steps of PyTorch's DistributedDataParallel over NCCL follow, a process for each GPU; those of Cairn's ranks are
the part `ranks` of gpu_bench.
"""
import argparse
import json
import socket
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
    """One network of PyTorch's, and its steps in one way."""

    def __init__(self, torch, name, policy, rows, features, device, way="eager"):
        self.torch, self.device, self.policy, self.way = torch, torch.device(device), policy, way
        torch.manual_seed(1)
        self.model = network(torch, name).to(self.device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-4, momentum=0.9)
        self.x = torch.rand(rows, features) * 2 - 1
        self.y = torch.randint(0, 10, (rows,))
        if self.device.type == "cuda":
            self.x, self.y = self.x.pin_memory(), self.y.pin_memory()
        self.run = torch.compile(self.forward) if way == "compile" else self.forward
        self.graph = None
        if way == "graph":
            self.capture()

    def forward(self, x):
        if self.policy == "sqrt_n":
            segments = max(1, round(len(self.model) ** 0.5))
            return self.torch.utils.checkpoint.checkpoint_sequential(self.model, segments, x, use_reentrant=False,
                                                                     preserve_rng_state=False)
        return self.model(x)

    def learn(self, x, y):
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.torch.nn.functional.cross_entropy(self.run(x), y)
        loss.backward()
        self.optimizer.step()
        return loss

    def capture(self):
        """The whole step as one CUDA graph, which reads its batch from where it was captured."""
        torch = self.torch
        self.there = self.x.to(self.device), self.y.to(self.device)
        beside = torch.cuda.Stream()
        beside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(beside):  # allocates what must not be allocated in a capture
            for _ in range(3):
                self.learn(*self.there)
        torch.cuda.current_stream().wait_stream(beside)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.learn(*self.there)

    def step(self):
        if self.graph is None:
            return self.learn(self.x.to(self.device, non_blocking=True), self.y.to(self.device, non_blocking=True))
        for to, of in zip(self.there, (self.x, self.y)):
            to.copy_(of, non_blocking=True)
        return self.graph.replay()

    def synchronize(self):
        if self.device.type == "cuda":
            self.torch.cuda.synchronize()

    def round(self, steps):
        """Milliseconds of a step."""
        for _ in range(3):
            self.step()
        self.synchronize()
        start = time.perf_counter()
        for _ in range(steps):
            self.step()
        self.synchronize()
        return (time.perf_counter() - start) * 1e3 / steps

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


OWN, PEERS = ("eager", "graph", "branches"), ("eager", "compile", "graph")


def table(results):
    row(["network", "policy", "batch", *[f"Cairn, {way}, ms" for way in OWN], *[f"PyTorch, {way}, ms" for way in PEERS],
         "the best of each", "arena MiB", "PyTorch MiB"])
    row(["---", "---"] + ["---:"] * 10)
    shown = lambda value, unit=1: f"{value / unit:.4g}" if value else "-"
    for (name, policy, rows, _), own, theirs, arena, live in results:
        best = [min(filter(None, times.values()), default=0) for times in (own, theirs)]
        row([name, policy, str(rows), *[shown(own.get(way)) for way in OWN], *[shown(theirs.get(way)) for way in PEERS],
             f"{best[1] / best[0]:.3g} x" if all(best) else "-", shown(arena, 2**20), shown(live, 2**20)])


def ask(bench, name, policy, way, steps):
    said = subprocess.run([bench, "--step", f"{name} {policy} {way}", "--steps", str(steps)], capture_output=True, text=True)
    if said.returncode:
        sys.exit(f"peer.py: {bench} ended with {said.returncode}: {said.stderr.strip()}")
    return json.loads(said.stdout)


def compare(torch, asked, device, steps_of_networks, ways=PEERS):
    results, failed = [], []
    for step in steps_of_networks:
        name, policy, rows, features = step
        peers, own, theirs, arena = {}, {}, {}, 0
        for way in ways:
            try:
                peers[way] = Peer(torch, name, policy, rows, features, device, way)
                peers[way].step()
            except Exception as fault:  # of one way, such as a capture that this version refuses
                peers.pop(way, None)
                failed.append(f"{name} {policy}, {way}: {type(fault).__name__}: {str(fault).splitlines()[0] if str(fault) else ''}")
        for _ in range(asked.rounds):
            for way in OWN if asked.bench else ():
                said = ask(asked.bench, name, policy, way, asked.steps)
                own.setdefault(way, []).append(said["ms"])
                arena = said["arena_bytes"]
            for way, peer in peers.items():
                theirs.setdefault(way, []).append(peer.round(asked.steps))
        medians = [{way: statistics.median(times) for way, times in of.items()} for of in (own, theirs)]
        results.append((step, *medians, arena, peers["eager"].bytes() if "eager" in peers else 0))
    table(results)
    for line in failed:
        print(f"\nPyTorch did not run {line}")
    return results


def of_rank(rank, ranks, asked, port, device):
    """One process of PyTorch's ranks; rank 0 prints the rows."""
    import os
    import torch
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    on_gpu = device == "cuda"
    if on_gpu:
        torch.cuda.set_device(rank)
        torch.backends.cuda.matmul.allow_tf32 = False
    torch.distributed.init_process_group("nccl" if on_gpu else "gloo", rank=rank, world_size=ranks)
    for name, policy, rows, features in STEPS[:4:2] if on_gpu else [(n, p, 8, f) for n, p, _, f in STEPS[:4:2]]:
        peer = Peer(torch, name, policy, rows, features, f"cuda:{rank}" if on_gpu else "cpu")
        peer.model = torch.nn.parallel.DistributedDataParallel(peer.model, device_ids=[rank] if on_gpu else None)
        took = statistics.median(peer.round(asked.steps) for _ in range(asked.rounds))
        if rank == 0:
            row([name, "DistributedDataParallel", str(ranks), str(rows), f"{took:.4g}"])
    torch.distributed.destroy_process_group()


def compare_ranks(torch, asked, device, ranks):
    print("\n### Steps of PyTorch's ranks\n")
    row(["network", "by", "ranks", "batch of a rank", "ms"])
    row(["---", "---"] + ["---:"] * 3)
    torch.multiprocessing.spawn(of_rank, (ranks, asked, free_port(), device), ranks)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


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
        compare(torch, asked, "cpu", [(n, p, 8, f) for n, p, _, f in STEPS[:4]], ("eager", "graph"))
        compare_ranks(torch, asked, "cpu", 2)
        return 0
    if not torch.cuda.is_available():
        print("peer.py: left out, as torch finds no GPU")
        return LEFT_OUT
    torch.backends.cuda.matmul.allow_tf32 = False
    print(f"\n### Steps beside PyTorch {torch.__version__}\n\n{torch.cuda.get_device_name()}; medians of {asked.rounds} "
          f"interleaved rounds of {asked.steps} steps; both of float without TF32.\n")
    compare(torch, asked, "cuda", STEPS)
    if torch.cuda.device_count() > 1:
        compare_ranks(torch, asked, "cuda", torch.cuda.device_count())
    return 0


if __name__ == "__main__":
    sys.exit(main())
