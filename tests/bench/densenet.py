# SPDX-License-Identifier: MIT
"""What compare.py measures of DenseNet-BC-100: time against memory, beside PyTorch's ways to checkpoint it."""
import datetime

HEADING = "## DenseNet-BC-100: time against memory\n"
STEPS = "--steps 3 --warmup 1"

# The workload's modes, and what each does. The first of Cairn's and the quickest naive one of the peer's are compared.
OURS = [("naive", "all bottlenecks stored"), ("first_block", "those of the first block made again"),
        ("efficient", "bottlenecks made again"), ("within_140", "bottlenecks made again, budget<140_MiB>"),
        ("blocks", "all bottlenecks stored, every √n-th stage"),
        ("efficient_blocks", "bottlenecks made again, every √n-th stage")]
RANKS = [(f"{mode} --world 2", mode, meaning) for mode, meaning in OURS if mode in ("naive", "efficient")]
THEIRS = [("naive", "naive, channels first"), ("naive --channels-last", "naive, channels last"),
          ("efficient", "norms and concatenations made again"), ("layer", "whole layers made again")]


def measure(tools, bench, peer, rounds, say):
    """Results by (program, mode), a list over the rounds. `tools` is compare.py; without a peer only Cairn is measured."""
    programs = [("Cairn", [bench], OURS + [(mode, meaning) for mode, _, meaning in RANKS])] + ([("PyTorch", peer, THEIRS)] if peer else [])
    found = {}
    for round_ in range(rounds):
        for program, command, modes in programs:
            for mode, _ in modes:
                say(f"densenet, round {round_ + 1} of {rounds}: {program}, {mode}")
                words = f"densenet --mode {mode} --threads 1 {STEPS}".split()
                found.setdefault((program, mode), []).append(tools.figures([*command, *words]))
    return found


def section(tools, found):
    """The text for RESULTS.md."""
    def time_of(program, modes):
        return min(tools.middle(tools.undisturbed(found[program, mode]), "step_ms") for mode, _ in modes
                   if mode.startswith("naive"))

    rounds = len(next(iter(found.values())))
    has_peer = any(program == "PyTorch" for program, _ in found)
    own = {"Cairn": time_of("Cairn", OURS)}
    if has_peer:
        own["PyTorch"] = time_of("PyTorch", THEIRS)
    out = [HEADING,
           f"{datetime.date.today().isoformat()}; {tools.machine_lines()}; growth 12, images of 32 x 32, batch 64, SGD with "
           f"momentum, one thread; medians of {rounds} interleaved rounds of `compare.py --part densenet`. `live` is the most "
           "memory that a step needs beyond parameters, optimizer state and batch, gradients included. `over naive` compares "
           "with the fastest naive step of the same program, `PyTorch / this` with PyTorch's. `predicted` is the sum of the "
           "stages' costs from measured_costs, for the ops of the schedule.\n"]
    rows = []
    for program, modes in (("Cairn", OURS), ("PyTorch", THEIRS)):
        for mode, meaning in modes:
            if (program, mode) not in found:
                continue
            results = tools.undisturbed(found[program, mode])
            step = tools.middle(results, "step_ms")
            predicted = tools.middle(results, "predicted_ms") if program == "Cairn" else 0
            rows.append([f"{program}: {meaning}", tools.number(step, 4), f"{tools.middle(results, 'step_mib'):.0f}",
                         f"{step / own[program]:.2f}", f"{own['PyTorch'] / step:.2f} x" if has_peer else "-",
                         *((tools.number(predicted, 4), f"{step / predicted:.2f}") if predicted else ("-", "-"))])
    out.append(tools.table(["step", "ms", "live MiB", "over naive", "PyTorch / this", "predicted", "measured / predicted"],
                           rows))

    def of_ranks(two, one, meaning):
        step = tools.middle(tools.undisturbed(found["Cairn", two]), "step_ms")
        alone = tools.middle(tools.undisturbed(found["Cairn", one]), "step_ms")
        return f"{tools.number(step, 4)} ms with {meaning}, {step / alone:.2f} of one rank's step"

    out.append("A step on two ranks, which are threads of one process with one thread and 64 images each: "
               + "; ".join(of_ranks(*r) for r in RANKS) + ".\n")
    return "\n".join(out)
