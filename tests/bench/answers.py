# SPDX-License-Identifier: MIT
"""What compare.py measures of trained networks that are asked about few samples at a time, beside PyTorch and ONNX Runtime.

As a program it is the peers' side: answers.py MODE STEPS WARMUP prints one JSON line, with the time of each peer for 1 to 8 rows.
"""
import datetime
import json
import os
import pathlib
import sys
import time

HEADING = "## Answers: a trained network, one sample at a time\n"
# (mode, what it is, answers that are measured)
MODES = [("small", "100-10-1", 20000), ("digits", "784-512-512-10", 4000), ("deep", "784-512 x 8-10", 2000),
         ("block", "768-3072-768, GELU", 1000)]
WIDTHS = {"small": (100, 10, 1), "digits": (784, 512, 512, 10), "deep": (784, *[512] * 8, 10), "block": (768, 3072, 768)}
ROWS = [1, 2, 4, 8]
# Networks whose weights are packed in fewer bytes, and the answers that are measured.
FORMATS = [("1024", "one Linear, 1024 x 1024", 2000), ("2048", "one Linear, 2048 x 2048", 1000), ("4096", "one Linear, 4096 x 4096", 200),
           ("deep", "784-512 x 8-10", 2000), ("block", "768-3072-768, GELU", 1000)]
PEERS = {"torch": "PyTorch", "torchscript": "TorchScript, frozen", "onnx": "ONNX Runtime"}


def measure(tools, bench, peer, rounds, say):
    found = {}
    for round_ in range(rounds):
        for mode, _, steps in MODES:
            for rows in ROWS:
                say(f"answers, round {round_ + 1} of {rounds}: {mode}, {rows} rows")
                for what in (mode, mode + "_floor") if rows == 1 else (mode,):
                    words = ["answers", "--mode", what, "--rows", str(rows), "--steps", str(steps), "--warmup", str(steps // 8)]
                    found.setdefault((what, rows), []).append(tools.figures([bench, *words]))
            if peer:
                say(f"answers, round {round_ + 1} of {rounds}: {mode}, PyTorch and ONNX Runtime")
                command = [*peer, str(pathlib.Path(__file__)), mode, str(steps), str(steps // 8)]
                found.setdefault(("peers", mode), []).append(tools.figures(command))
        for mode, _, steps in FORMATS:
            for what in (mode, mode + "_bfloat16", mode + "_int8"):
                words = ["answers", "--mode", what, "--rows", "1", "--steps", str(steps), "--warmup", str(steps // 8)]
                found.setdefault(("formats", what), []).append(tools.figures([bench, *words]))
        found.setdefault(("machine",), []).append(tools.figures([bench, "machine"]))
        for threads in (1, 2, 4):
            words = ["answers", "--mode", "digits", "--rows", "1", "--steps", "8000", "--warmup", "1000", "--threads", str(threads)]
            found.setdefault(("threads", threads), []).append(tools.figures([bench, *words]))
    return found


def section(tools, found):
    def middle(key, what="us"):
        return tools.middle(tools.undisturbed(found[key]), what) if key in found else None

    def ratio(theirs, mine):
        return f"{theirs / mine:.2f} x" if theirs else "-"

    out = [HEADING,
           f"{datetime.date.today().isoformat()}; {tools.machine_lines()}; one thread, float, `fixed_session`; medians of "
           f"{len(next(iter(found.values())))} interleaved rounds of `compare.py --part answers`. PyTorch runs in `inference_mode`, "
           "TorchScript is traced and frozen. The floor is the time in which one core reads as many bytes as the network has weights, "
           f"again and again, or makes its operations at the {middle(('machine',), 'gflops'):.0f} GFLOP/s that it reached, whichever "
           "is longer. 99.9 % of the answers take no longer than the last column says.\n"]
    rows = []
    for mode, meaning, _ in MODES:
        for count in ROWS:
            mine, operations = middle((mode, count)), 2 * count * middle((mode, count), "parameters")
            floor = max(middle((mode + "_floor", 1)), operations / middle(("machine",), "gflops") / 1e3)
            theirs = [middle(("peers", mode), f"{name} {count}") for name in PEERS]
            rows.append([meaning, str(count), f"{mine:.2f}", *(f"{t:.1f}" if t else "-" for t in theirs),
                         ratio(min((t for t in theirs[:2] if t), default=None), mine), ratio(theirs[2], mine), f"{floor:.2f}",
                         f"{floor / mine:.2f}", f"{middle((mode, count), 'us_99'):.2f}", f"{middle((mode, count), 'us_999'):.2f}"])
    out.append(tools.table(["network", "rows", "Cairn us", *PEERS.values(), "over PyTorch's best", "over ONNX Runtime", "floor us",
                            "of the floor", "99 % us", "99.9 % us"], rows))
    out.append("One row, with weights that are packed in fewer bytes (`.weights`).\n")
    rows = []
    for mode, meaning, _ in FORMATS:
        own, pairs, ints = (middle(("formats", mode + what)) for what in ("", "_bfloat16", "_int8"))
        rows.append([meaning, f"{own:.1f}", f"{pairs:.1f}", f"{own / pairs:.2f} x", f"{ints:.1f}", f"{own / ints:.2f} x"])
    out.append(tools.table(["network", "float us", "bfloat16 us", "over float", "int8 us", "over float"], rows))
    out.append("Answers a second of 784-512-512-10 to several threads, each with a session of one model.\n")
    out.append(tools.table(["threads", "answers a second", "over one thread"],
                           [[str(threads), f"{middle(('threads', threads), 'per_second'):.0f}",
                             f"{middle(('threads', threads), 'per_second') / middle(('threads', 1), 'per_second'):.2f} x"]
                            for threads in (1, 2, 4)]))
    return "\n".join(out)


def steps_of(mode, rows):
    """What each peer does for an answer."""
    import io
    import onnxruntime
    import torch
    from torch import nn
    torch.set_num_threads(1)
    torch.manual_seed(0)
    layers = []
    for a, b in zip(WIDTHS[mode], WIDTHS[mode][1:]):
        layers += [nn.Linear(a, b), nn.GELU() if mode == "block" else nn.ReLU()]
    network = nn.Sequential(*layers[:-1]).eval()
    x = torch.full((rows, WIDTHS[mode][0]), 0.5)
    script = torch.jit.freeze(torch.jit.trace(network, x))
    file, options = io.BytesIO(), onnxruntime.SessionOptions()
    torch.onnx.export(network, x, file, dynamo=False)
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(file.getvalue(), options)
    given = {session.get_inputs()[0].name: x.numpy()}
    return {"torch": lambda: network(x), "torchscript": lambda: script(x), "onnx": lambda: session.run(None, given)}


def main():
    mode, steps, warmup = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    os.environ["OMP_NUM_THREADS"] = "1"
    import torch
    found = {"mode": mode}
    with torch.inference_mode():
        for rows in ROWS:
            for peer, step in steps_of(mode, rows).items():
                took = []
                for _ in range(warmup + steps):
                    start = time.perf_counter()
                    step()
                    took.append(1e6 * (time.perf_counter() - start))
                took = sorted(took[warmup:])
                found[f"{peer} {rows}"] = took[len(took) // 2]
    print(json.dumps(found))


if __name__ == "__main__":
    main()
