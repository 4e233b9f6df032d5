# SPDX-License-Identifier: MIT
"""What compare.py measures with several ranks: a step over one rank's, and what predicted_step says of it."""
import datetime
import os
import statistics
import subprocess

HEADING = "## Several ranks: mlp, 128 samples and one thread each\n"
SWEEP = [("overlapped", mb) for mb in (0.0625, 0.25, 1, 4, 25)] + [("after_backward", mb) for mb in (1, 25)]
MANY = [("overlapped", mb) for mb in (1, 25)]  # of four ranks, which share two cores here
PEER_BUCKETS = (None, 1)
STEPS = "60"


class Measured:
    """The results of all rounds; every list has one value a round."""

    def __init__(self):
        self.alone, self.together, self.pings, self.steps, self.peer = [], {}, {}, {}, {}
        self.communicators = ["threads"]



def under_mpi(mpirun, ranks, bench):
    root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    return [*mpirun, *root, "-np", str(ranks), bench]


def at_once(tools, command, count):
    """The slowest of so many processes that run at the same time and know nothing of each other."""
    def run():
        all_ = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=tools.environment()) for _ in range(count)]
        return max((tools.last_figures(p.communicate()[0]) for p in all_), key=lambda figures: figures["step_ms"])
    return tools.least_disturbed(run)


def measure(tools, bench, peer, rounds, mpirun, say):
    """`tools` is compare.py: its run() and figures()."""
    out = Measured()
    start = {"threads": lambda n: ([bench], ["--communicator", "threads", "--world", str(n)]),
             "mpi": lambda n: (under_mpi(mpirun, n, bench), ["--communicator", "mpi"])}
    if mpirun and subprocess.run([*under_mpi(mpirun, 2, bench), "ping", "--communicator", "mpi"], capture_output=True,
                                 check=False).returncode == 0:
        out.communicators.append("mpi")

    def run(communicator, ranks, workload, *words):
        before, behind = start[communicator](ranks)
        return tools.figures([*before, workload, *behind, *words])

    for round_ in range(rounds):
        out.alone.append(tools.figures([bench, "mlp", "--steps", STEPS]))
        for ranks in (2, 4):
            out.together.setdefault(ranks, []).append(at_once(tools, [bench, "mlp", "--steps", STEPS], ranks))
            for c in out.communicators:
                out.pings.setdefault((c, ranks), []).append(run(c, ranks, "ping"))
        for ranks, forms in ((2, SWEEP), (4, MANY)):
            for mode, mb in forms:
                for c in out.communicators:
                    out.steps.setdefault((c, ranks, mode, mb), []).append(
                        run(c, ranks, "ddp", "--mode", mode, "--bucket-mb", str(mb), "--steps", STEPS))
        if peer:
            out.peer.setdefault("alone", []).append(tools.figures([*peer, "mlp", "--steps", STEPS]))
            for mb in PEER_BUCKETS:
                words = [] if mb is None else ["--bucket-mb", str(mb)]
                out.peer.setdefault(mb, []).append(tools.figures([*peer, "ddp", "--steps", STEPS, *words]))
        say(f"ranks round {round_ + 1}/{rounds}")
    return out


def prediction(tools, bench, key, ping, step_ms, taken):
    """What predicted_step says, in milliseconds, from a step without communication and a ping."""
    _, ranks, mode, mb = key
    words = {"world": ranks, "mode": mode, "bucket-mb": mb, "step-ms": step_ms, "latency-us": ping["latency_us"],
             "gbytes": ping["gbytes"], "taken": taken}
    return tools.last_figures(tools.run([bench, "predict", *(w for k, v in words.items() for w in (f"--{k}", str(v)))]))["step_ms"]


def section(tools, bench, found):
    """The text for RESULTS.md."""
    number, table = tools.number, tools.table
    def middle(runs, key="step_ms"):
        return statistics.median(r[key] for r in tools.undisturbed(runs))
    one_rank = middle(found.alone)
    cores = os.cpu_count()
    lost = f"{statistics.mean(tools.lost):.2f} of the {cores} cores in that time, and at most {max(tools.lost):.2f}"
    out = [HEADING,
           f"{datetime.date.today().isoformat()}; {tools.machine_lines()}; medians of {len(found.alone)} interleaved rounds, "
           "measured by `compare.py --part ranks`, of runs that other programs did not disturb where there are any. Ranks of "
           "`threads` are threads of one process, those of `mpi` are processes that `mpirun` started. The floor is the slowest "
           f"of equally many single ranks at the same time, in processes of their own that do not communicate: what {cores} "
           "cores can do. `exposed` is how long a step of the slowest rank waits for communication. The machine was shared: "
           f"other programs used {lost} during one run.\n"]
    rows = [["one rank", "-"] + [number(one_rank), "1", "-"] * len(found.communicators),
            ["floor: two at once", "-"] + [number(middle(found.together[2])), f"{middle(found.together[2]) / one_rank:.3f}", "-"] *
            len(found.communicators)]
    for mode, mb in SWEEP:
        row = [mode, f"{mb:g}"]
        for c in found.communicators:
            runs = found.steps[(c, 2, mode, mb)]
            row += [number(middle(runs)), f"{middle(runs) / one_rank:.3f}", number(middle(runs, "exposed_ms"))]
        rows.append(row)
    header = ["two ranks, buckets leave", "bucket MiB"]
    for c in found.communicators:
        header += [f"{c} ms", "over one rank", "exposed ms"]
    out.append(table(header, rows))
    if found.peer:
        one = found.peer["alone"]
        texts = []
        for mb in PEER_BUCKETS:
            ratio = middle(found.peer[mb]) / middle(one)
            texts.append(f"{middle(found.peer[mb]):.1f} ms on two ranks with {'its default' if mb is None else f'{mb} MiB'} "
                         f"buckets, {ratio:.2f} of one rank's")
        out.append(f"PyTorch DDP over gloo in the same rounds: {'; '.join(texts)}; {middle(one):.1f} ms on one.\n")

    out.append("`predicted_step` compared with measured steps. Latency is half of the time of a sum of 64 bytes, bandwidth is "
               "that of a sum of 1 MiB; both are of the lower quartile of the times, between ranks that do nothing else. The "
               f"work of a step is that of the floor, equally many single ranks at the same time. Each of the {cores} cores has "
               "at least one rank at work, and the same cores copy and sum, so work stops while a call fills the link (`taken` = "
               "1). The last two columns are the measured step divided by the predicted one, with cores to spare (`taken` = 0), "
               f"and predicted from one rank alone, whose work takes ranks / {cores} times as long.\n")
    rows = []
    for key, runs in sorted(found.steps.items(), key=lambda item: (item[0][0] != "mpi", item[0][1])):
        c, ranks, mode, mb = key
        ping = {figure: middle(found.pings[(c, ranks)], figure) for figure in ("latency_us", "gbytes")}
        floor, measured = middle(found.together[ranks]), middle(runs)
        shared = prediction(tools, bench, key, ping, floor, 1)
        spare = prediction(tools, bench, key, ping, floor, 0)
        by_one = prediction(tools, bench, key, ping, one_rank * max(1.0, ranks / cores), 1)
        rows.append([c, str(ranks), f"{mode}, {mb:g} MiB", number(ping["latency_us"]), number(ping["gbytes"]), number(floor),
                     number(shared), number(measured), f"{measured / shared:.3f}", f"{measured / spare:.3f}", f"{measured / by_one:.3f}"])
    out.append(table(["communicator", "ranks", "buckets", "latency us", "GB/s", "floor ms", "predicted ms", "measured ms",
                      "measured / predicted", "with cores to spare", "from one rank"], rows))
    return "\n".join(out)
