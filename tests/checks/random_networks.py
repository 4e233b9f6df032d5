# SPDX-License-Identifier: MIT
"""Random networks as types, under random policies, have the same bits as the plain oracle in tests/net/plain.hpp.

Network I of seed S is always the same type: layers, layers of several tensors, and nested blocks, with checkpoints up to three
deep. A source holds several networks, each a test case, and includes only tests/net/random_network.hpp; it is compiled with
sanitizers and run. --self-test shows that a network fails if it is compared with the oracle of another network, is given too
small an arena, or does not compile.

With --lists N instead: in the training steps of N such networks, under random options of a trainer, a recording device sees
exactly the list of the step, op for op.

With --budgets N instead: for N random networks of 9 to 20 stages, the schedules that the compiler solves keep their budgets, and
cost hardly more than the best schedule that the exact solver finds at run time.
"""
import argparse
import pathlib
import random
import re
import resource
import subprocess
import sys
import tempfile
import time

from house import SANITIZED, SPDX, report, spread

BEGIN = time.monotonic()
ROOT = pathlib.Path(__file__).resolve().parents[2]
FLAGS = ["-O0", *SANITIZED]

MOST_TENSORS = 4      # in one value, as in core/tensor.hpp
MOST_CHECKPOINTS = 3  # nested
MOST_BLOCKS = 5       # nested
MOST_SEVERAL = 3      # stages around a layer of several tensors: each multiplies the compiler's work by about five


def each(output, made_of):
    return output == made_of


def every(_output, _made_of):
    return True


# The number of tensors that a layer takes, the widths of those that it makes, and whether an output depends on an input.
ONE = (1, lambda widths: widths, every)
SEVERAL = {
    "Split": (1, lambda widths: widths * 2, every),
    "GatedPair": (2, lambda widths: widths[:1], every),
    "First": (2, lambda widths: widths[:1], lambda output, made_of: made_of == 0),
    "Swap": (2, lambda widths: widths[::-1], lambda output, made_of: output != made_of),
    "Mix": (3, lambda widths: widths, lambda output, made_of: output in (made_of, made_of - 1)),
}


class Layer:
    """A layer of several tensors has a `rule`, as above. Any other works on the first tensor, and may change its width."""
    stages = 1

    def __init__(self, name, width=None, rule=None):
        self.name, self.width, self.rule = name, width, rule
        self.several = rule is not None

    def __str__(self):
        return self.name

    def gives(self, widths):
        takes, make, _ = self.rule or ONE
        made = make(widths[:takes]) if self.width is None else [self.width]
        return made + widths[takes:]

    def uses(self, widths, used):
        takes, make, depends = self.rule or ONE
        made = len(make(widths[:takes]))
        own = [output for output in used if output < made]
        past = {output - made + takes for output in used if output >= made}
        return past | {i for i in range(takes) if any(depends(o, i) for o in own)} if own else None


class Block:
    """Sequential, Repeat, Residual or checkpoint, around a list of elements. The first two are not stages themselves."""

    def __init__(self, kind, inside, argument=None):
        self.kind, self.inside, self.argument = kind, inside, argument
        self.several = any(element.several for element in inside)
        self.flat = kind in ("Sequential", "Repeat")
        self.all = inside * argument if kind == "Repeat" else inside
        self.stages = sum(element.stages for element in self.all) if self.flat else 1

    def __str__(self):
        inside = ", ".join(map(str, self.inside))
        if self.argument is None:
            return f"{self.kind}<{inside}>"
        if len(self.inside) > 1 or not getattr(self.inside[0], "flat", False):
            inside = f"Sequential<{inside}>"
        return f"{self.kind}<{self.argument}, {inside}>"

    def gives(self, widths):
        return through(self.all, widths)

    def uses(self, widths, used):
        if not self.flat and not self.several:
            return used if 0 in used else None  # works on the first tensor
        inside = uses(self.all, widths, used)
        return inside | (used & {0}) if inside is not None and self.kind == "Residual" else inside


def through(elements, widths):
    """The widths after some elements."""
    for element in elements:
        widths = element.gives(widths)
    return widths


def uses(elements, widths, used):
    """The tensors before some elements that have a gradient, if those in `used` after them have one. None if an element does
    work that is not used: Cairn refuses such a network."""
    arriving = [through(elements[:i], widths) for i in range(len(elements))]
    for element, arrives in zip(reversed(elements), reversed(arriving)):
        used = element.uses(arrives, used)
        if used is None:
            return None
    return used


class Misfit(Exception):
    """The draw is not a valid network; another one is drawn."""


class Writer:
    """Draws one network."""

    def __init__(self, seed, index):
        self.random = random.Random(f"{seed}/{index}")
        self.of_tokens = random.Random(f"{seed}/{index}/tokens")  # apart, so that other networks stay as they are
        self.has_tokens = False

    def network(self):
        while True:
            try:
                return self.attempt()
            except Misfit:
                pass

    def coin(self, probability):
        return self.random.random() < probability

    def choose(self, weights):
        return self.random.choices(list(weights), list(weights.values()))[0]

    def attempt(self):
        self.leaves = self.random.randint(4, 18)
        self.widths = self.random.sample((3, 8, 9, 16, 17), 2)
        self.constants = []
        widths = [self.random.choice(self.widths)]
        several = self.coin(0.5)
        if several and self.coin(0.6):
            widths *= self.random.randint(1, 3)
            self.constants = [self.random.choice(self.widths) for _ in range(self.random.randint(0, 2))]
            takes = [f"dims<{width}>" for width in widths] + [f"constant<{width}>" for width in self.constants]
            first = Layer(f"Inputs<{', '.join(takes)}>", rule=(len(widths), lambda given: given, each))
        elif self.coin(0.3):
            first = Layer(f"Input<{widths[0]}>")
            self.has_tokens = not several and self.of_tokens.random() < 0.5
            if self.has_tokens:
                first = Layer(f"Input<{self.of_tokens.choice((1, 3, 34))}, {widths[0]}>")
        else:
            first = self.linear(self.random.choice((2, 12)), widths[0])
        inside = self.body(first.gives(widths), 0, 0, 0, several, 6)
        after = through(inside, first.gives(widths))
        if len(after) > 1 and self.coin(0.8):
            inside += self.reach(after, after[:1])
        if self.coin(0.6):
            inside.append(self.linear(through(inside, first.gives(widths))[0], 4))
        elements = [first, *inside]
        if uses(elements, widths, {0}) is None:
            raise Misfit
        if max(map(self.depth, elements)) == MOST_CHECKPOINTS or self.coin(0.15):
            return Block("Sequential", elements)
        return self.checkpoint(elements)

    def depth(self, element):
        inside = getattr(element, "inside", [])
        return max(map(self.depth, inside), default=0) + (getattr(element, "kind", "") == "checkpoint")

    # At most `most` elements of a chain that takes `widths`, inside `blocks` blocks: `around` of these are stages, `checkpoints`
    # are checkpoints.
    def body(self, widths, blocks, around, checkpoints, several, most):
        elements = []
        for _ in range(self.random.randint(1, most)):
            element = self.element(widths, blocks, around, checkpoints, several)
            widths = element.gives(widths)
            elements.append(element)
            if self.leaves <= 0:
                break
        return elements

    def element(self, widths, blocks, around, checkpoints, several):
        kind = self.choose({"layer": 6, "Residual": 2.5, "Repeat": 1, "Sequential": 0.4, "checkpoint": 2.5})
        if blocks == MOST_BLOCKS or (kind == "checkpoint" and checkpoints == MOST_CHECKPOINTS):
            kind = "layer"
        if kind == "layer":
            self.leaves -= 1
            return self.layer_of_several(widths) if several and self.coin(0.5) else self.layer(widths[0])
        around += kind in ("Residual", "checkpoint")
        several = several and around <= MOST_SEVERAL and self.coin(0.7)
        arrives = widths if several else widths[:1]
        inside = self.body(arrives, blocks + 1, around, checkpoints + (kind == "checkpoint"), several, 4)
        leaves = through(inside, arrives)
        if kind == "Residual" and leaves[0] != arrives[0]:
            inside.append(self.linear(leaves[0], arrives[0]))
        if kind == "Repeat":
            inside += self.reach(leaves, arrives)
            return Block(kind, inside, self.random.randint(2, 3))
        return self.checkpoint(inside) if kind == "checkpoint" else Block(kind, inside)

    def linear(self, takes, gives):
        return Layer(f"Linear<{takes}, {gives}>" if self.coin(0.8) else f"Linear<{takes}, {gives}, false>", gives)

    def attention(self, width):
        heads = self.of_tokens.choice([heads for heads in (1, 2, 4, 8) if width % heads == 0])
        options = self.of_tokens.choice(("", ", attention::causal", ", attention::window<2>"))
        if heads > 1 and self.of_tokens.random() < 0.4:
            options += f", attention::key_heads<{heads // 2}>"
        layer = Layer(f"MultiheadAttention<{width}, {heads}{options}>")
        layer.stages = 3
        return layer

    def layer(self, width):
        if self.has_tokens and self.of_tokens.random() < 0.25:
            return self.attention(width)
        name = self.choose({"Linear": 5, "ReLU": 2.5, "GELU": 1, "Tanh": 1.5, "Sigmoid": 1, "SiLU": 0.5, "Softmax": 0.5,
                            f"LayerNorm<{width}>": 2, f"RMSNorm<{width}>": 1, "Dropout<percent<30>>": 2, "Scale": 0.7,
                            "Witness": 0.5})
        return self.linear(width, self.random.choice(self.widths)) if name == "Linear" else Layer(name)

    def layer_of_several(self, widths):
        fits = {"Split": 2} if len(widths) < MOST_TENSORS else {}
        if len(widths) > 1:
            fits |= {"Swap": 4, "First": 0.5}
            if widths[0] == widths[1]:
                fits["GatedPair"] = 1
        if len(widths) > 2 and widths[0] == widths[1] == widths[2]:
            fits["Mix"] = 4
        for k, width in enumerate(self.constants):
            if width == widths[0]:
                fits |= {f"Masked<{k}>": 1, f"Positioned<{k}>": 1}
        if not fits:
            raise Misfit
        name = self.choose(fits)
        return Layer(name, rule=SEVERAL.get(name, ONE))

    # Layers that turn tensors of `widths` into tensors of the widths `wanted`.
    def reach(self, widths, wanted):
        elements = []

        def add(element):
            elements.append(element)
            return element.gives(widths)

        while len(widths) > len(wanted):
            name = "GatedPair" if widths[0] == widths[1] else "First"
            widths = add(Layer(name, rule=SEVERAL[name]))
        while len(widths) < len(wanted):
            widths = add(Layer("Split", rule=SEVERAL["Split"]))
        if len(wanted) > 1 and widths[1] != wanted[1]:
            swap = Layer("Swap", rule=SEVERAL["Swap"])
            widths = add(swap)
            widths = add(self.linear(widths[0], wanted[1]))
            widths = add(swap)
        if widths[0] != wanted[0]:
            widths = add(self.linear(widths[0], wanted[0]))
        if widths != wanted:
            raise Misfit
        return elements

    def checkpoint(self, inside):
        count = sum(element.stages for element in inside)
        policy = self.choose({"store_all": 1, "recompute_all": 2, "every": 2, "sqrt_n": 1.5, "revolve": 1.5, "at": 1,
                              "recompute_cheap": 1.5, "budget_fraction<100>": 0.3, "on_the_way": 1.2})
        if policy == "on_the_way":
            policy += f"<{self.random.choice((0, 10, 30, 60))}>"
        elif policy in ("every", "revolve"):
            policy += f"<{self.random.randint(1, 3)}>"
        elif policy == "at":
            later = self.random.sample(range(1, count), min(count - 1, self.random.randint(1, 3)))
            policy = f"at<{', '.join(map(str, sorted(later)))}>" if later else "store_all"
        return Block("checkpoint", inside, policy)


class Long(Writer):
    """Draws one network of 9 to 20 stages for budgets: layers and small residual blocks of different widths."""

    def attempt(self):
        width = self.random.randint(2, 40)
        elements = [self.linear(12, width)]
        for _ in range(self.random.randint(8, 19)):
            if self.coin(0.2):
                inside = self.random.randint(2, 60)
                element = Block("Residual", [self.linear(width, inside), Layer("ReLU"), self.linear(inside, width)])
            else:
                name = self.choose({"Linear": 5, "ReLU": 2, "GELU": 1, "Tanh": 1, f"LayerNorm<{width}>": 2, "Dropout<>": 1})
                element = self.linear(width, self.random.randint(2, 40)) if name == "Linear" else Layer(name)
            width = element.gives([width])[0]
            elements.append(element)
        return Block("Sequential", elements)


class BudgetCase:
    """One network whose budgets are checked."""

    def __init__(self, name, model):
        self.name, self.model = name, model

    def text(self, number):  # of LINES lines
        return (f"using model_{number} = {self.model};\n\n"
                f'TEST_CASE("{self.name}") {{\n  testing::check_random_budgets<model_{number}>();\n}}\n')


class ListCase:
    """One network whose steps are compared with their lists, under random options: buckets, fused updates, clipping."""

    def __init__(self, name, model, random):
        self.name, self.model = name, model
        self.fused, self.clips = random.random() < 0.3, random.random() < 0.3
        if self.fused:
            self.model = f"fused_update<{self.model}>"
        self.communicator = "loopback::rank"
        if random.random() < 0.7:
            self.communicator = "testing::two"
            options = [f"bucket_bytes<{random.choice((1, 300, 1500, 1 << 20))}>"]
            if not self.fused and random.random() < 0.3:
                options.append("after_backward")
            self.model = f"ddp<{self.model}, testing::two, {', '.join(options)}>"

    def text(self, number):  # of LINES lines
        clips = "true" if self.clips and not self.fused else "false"
        return (f"using model_{number} = {self.model};\n\n"
                f'TEST_CASE("{self.name}") {{\n  testing::check_random_lists<model_{number}, {self.communicator}>({clips});\n}}\n')


class Case:
    """One network, and the one whose oracle it is compared with: itself, except in the self-test."""

    def __init__(self, name, model, oracle=None, arguments=""):
        self.name, self.model, self.oracle, self.arguments = name, model, oracle or model, arguments

    def text(self, number):  # of LINES lines
        return (f"using model_{number} = {self.model};\nusing oracle_{number} = {self.oracle};\n"
                f'TEST_CASE("{self.name}") {{\n'
                f"  testing::check_random_network<model_{number}, oracle_{number}>({self.arguments});\n}}\n")


def drawn(seed, indices):
    return [Case(f"{seed}/{index}", str(Writer(seed, index).network())) for index in indices]


LINES = Case("", "").text(0).count("\n")
HEAD = SPDX + "#include <HEADER>\n\nusing namespace cairn;\n" + "".join(
    f"using testing::{name};\n" for name in (*SEVERAL, "Masked", "on_the_way", "Positioned", "Scale", "Witness"))
# Shared by all sources and compiled once: the program's main, and the sources of cairn::compiled that float and double need.
SHARED = {"main": SPDX + "#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN\n#include <doctest/doctest.h>\n"}
SHARED |= {source: (ROOT / f".cmake/compiled/{source}.cpp").read_text() for source in ("float", "double", "rest")}


class Machine:
    """Compiles sources in a folder, and runs them."""

    def __init__(self, folder, options):
        self.folder, self.compiler = pathlib.Path(folder), options.compiler
        self.shared = options.shared
        self.head = HEAD.replace("HEADER", "train/step/random_lists.hpp" if options.lists else "net/random_network.hpp")
        self.flags = ["-std=c++20", f"-I{ROOT / 'include'}", f"-I{ROOT / 'tests'}", "-DCAIRN_WITH_COMPILED=1",
                      "-DCAIRN_COMPILED_WITH=0", *(options.flags or FLAGS)]
        if "clang" in pathlib.PurePath(self.compiler).name:
            self.flags.append("-fconstexpr-steps=200000000")  # not what this test is about

    def call(self, *command, folder=None):
        result = subprocess.run(command, cwd=folder or self.folder, capture_output=True, text=True, errors="replace")
        return result.returncode, result.stdout + result.stderr

    def compile(self, name, text, folder=None):
        folder = folder or self.folder
        (folder / f"{name}.cpp").write_text(text)
        status, said = self.call(self.compiler, *self.flags, "-c", f"{name}.cpp", "-o", f"{name}.o", folder=folder)
        return said or "the compiler failed" if status else ""

    def unit(self, unit):
        """Compiles a shared source, or a source with its cases. Returns (cases that compile, faults)."""
        name, cases = unit
        if name in SHARED:
            said = "" if (self.shared / f"{name}.o").exists() else self.compile(name, SHARED[name], self.shared)
            return [], [f"{name}.cpp, which all share, does not compile:\n{said[:4000]}"] if said else []
        cases, found = list(cases), []
        while cases:
            said = self.compile(name, self.head + "".join(case.text(number) for number, case in enumerate(cases)))
            if not said:
                break
            # The compiler names the lines of the source that use what is wrong.
            lines = {int(line) - self.head.count("\n") - 1 for line in re.findall(rf"{name}\.cpp:(\d+)", said)}
            wrong = {line // LINES for line in lines if 0 <= line < LINES * len(cases)} or set(range(len(cases)))
            errors = "\n".join([line[:600] for line in said.splitlines() if "error" in line][:8]) or said[:600]
            found += [f"{cases[number].name} does not compile: {cases[number].model}\n{errors}" for number in sorted(wrong)]
            cases = [case for number, case in enumerate(cases) if number not in wrong]
        return cases, found

    def run(self, unit):
        """Links and runs what unit() has compiled. Returns faults."""
        name, cases = unit
        status, said = self.call(self.compiler, *self.flags, "-pthread", f"{name}.o",
                                 *(str(self.shared / f"{part}.o") for part in SHARED), "-o", name)
        if status:
            return [f"{name} does not link:\n{said[:4000]}"]
        if passes(self.call(f"./{name}"), len(cases)):
            return []
        found = []
        for case in cases:  # one that failed may have ended the program
            result = self.call(f"./{name}", f"--test-case={case.name}")
            if not passes(result, 1):
                found.append(f"{case.name} fails: {case.model}\n{result[1][:3000]}")
        return found or [f"{name} fails, though each of its networks alone does not"]


def passes(result, count):
    status, said = result
    return status == 0 and re.search(rf"test cases: +{count} \| +{count} passed \| +0 failed", said) is not None


def faults(cases, options):
    """The faults of the networks."""
    cases = list(cases)
    sources = -(-len(cases) // options.together)
    units = [(f"unit_{i}", cases[i::sources]) for i in range(sources)]  # about the same work for each
    with tempfile.TemporaryDirectory() as folder:
        machine = Machine(folder, options)
        shared = spread(machine.unit, [(name, []) for name in SHARED], options.jobs)
        if any(found for _, found in shared):
            return [fault for _, found in shared for fault in found]
        compiled = spread(machine.unit, units, options.jobs)
        whole = [(name, left) for (name, _), (left, _) in zip(units, compiled) if left]
        ran = spread(machine.run, whole, options.jobs)
    return [fault for _, found in compiled for fault in found] + [fault for found in ran for fault in found]


def other(model):
    """A network with the same parameters that computes something else; None if it has no activation to exchange."""
    changed = re.sub(r"\b(ReLU|GELU|Tanh|Sigmoid)\b", lambda found: "Tanh" if found[1] != "Tanh" else "Sigmoid", model, 1)
    return changed if changed != model else None


def self_test(options):
    """Right networks pass; each network that is wrong in one way fails, and is named."""
    right = drawn("self-test", range(12))
    wrong = [Case(f"oracle {case.name}", case.model, other(case.model)) for case in right if other(case.model)]
    wrong += [Case(f"arena {case.name}", case.model, arguments="64") for case in right[:6]]
    refused = [Case("refused 0", "Sequential<Linear<3, 8>, Linear<9, 3>>")]
    found = faults(right, options)
    said = faults(wrong + refused, options)
    found += [f"{case.name} passes: {case.model} compared with {case.oracle}" for case in wrong + refused
              if not any(fault.startswith(f"{case.name} ") for fault in said)]
    print(f"{len(right)} right networks, {len(wrong) + len(refused)} wrong ones")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", default="0")
    parser.add_argument("--networks", type=int, default=300)
    parser.add_argument("--budgets", type=int, help="look at the budgets of so many networks")
    parser.add_argument("--lists", type=int, help="compare the steps of so many networks with their lists")
    parser.add_argument("--only", type=int, help="the network with this number alone")
    parser.add_argument("--print", action="store_true", help="print the networks, and run nothing")
    parser.add_argument("--together", type=int, default=25, help="networks in one source")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--compiler", default="clang++")
    parser.add_argument("--flag", dest="flags", action="append", help=f"instead of {' '.join(FLAGS)}")
    parser.add_argument("--shared", help="a folder for the objects that all programs share: runs with the same compiler and flags "
                        "compile them once")
    parser.add_argument("--self-test", action="store_true", help="show that the check can fail")
    options = parser.parse_args()
    made = tempfile.TemporaryDirectory()
    options.shared = pathlib.Path(options.shared or made.name).resolve()
    options.shared.mkdir(parents=True, exist_ok=True)
    if options.self_test:
        report(self_test(options))
    if options.budgets or options.lists:
        options.networks = options.budgets or options.lists
    indices = range(options.networks) if options.only is None else [options.only]
    cases = drawn(options.seed, indices)
    if options.budgets:
        cases = [BudgetCase(f"{options.seed}/{i}", str(Long(options.seed, i).network())) for i in indices]
    if options.lists:
        cases = [ListCase(f"{options.seed}/{i}", str(Writer(options.seed, i).network()), random.Random(f"{options.seed}/lists/{i}"))
                 for i in indices]
    if options.print:
        for case in cases:
            print(f"{case.name}: {case.model}")
        sys.exit(0)
    found = faults(cases, options)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{len(cases)} random networks of seed {options.seed}, "
          f"{used.ru_utime + used.ru_stime:.0f} s of one core, {time.monotonic() - BEGIN:.0f} s")
    report(found)


if __name__ == "__main__":
    main()
