# SPDX-License-Identifier: MIT
"""ONNX Runtime computes from a file of write_onnx() what Cairn computes, for every layer and for the networks of examples/.

A compiled program writes each network with random weights, its inputs and the outputs that Cairn makes of them
(tests/checks/onnx_files/). onnx.checker, with shape inference, must accept each file, and the outputs must be equal to 1e-5, for all
samples at once and for the first alone. Every layer and block that README.md lists must be among the networks. Needs numpy, onnx
and onnxruntime from PyPI. --self-test shows that the check notices a file whose weight was changed, one without a node, and a
layer that no network has.
"""
import argparse
import pathlib
import re
import subprocess
import tempfile

import numpy
import onnx
import onnxruntime

from house import report

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = ROOT / "tests/checks/onnx_files"


def written(names, folder, options):
    """Compiles and runs these sources as one program; returns (path without suffix, tolerance, name of a network) for each."""
    calls = "".join(f"  write_{name}();\n" for name in names)
    (folder / "main.cpp").write_text("".join(f'#include "{name}.cpp"\n' for name in names) + f"\nint main() {{\n{calls}}}\n")
    subprocess.run([options.compiler, "-std=c++20", "-O0", f"-I{ROOT / 'include'}", f"-I{SOURCES}", "main.cpp", "-o", "write",
                    "-pthread"], cwd=folder, check=True)
    lines = subprocess.run(["./write"], cwd=folder, check=True, capture_output=True, text=True).stdout.splitlines()
    return [(folder / number, float(tolerance), text) for number, tolerance, text in (line.split(" ", 2) for line in lines)]


def arrays(stem, kind):
    """{name of an input or an output: array} of a network."""
    found = {path.name.split(".")[1]: numpy.load(path) for path in stem.parent.glob(f"{stem.name}.*.npy")}
    return {name: array for name, array in found.items() if name.startswith(kind)}


def first_row(array, value):
    """The first sample, unless there is one array for all."""
    dims = value.type.tensor_type.shape.dim
    return array[:1] if dims and dims[0].dim_param == "rows" else array


def wrong(stem, tolerance, model=None):
    """What is wrong with the file of a network, or None."""
    path = f"{stem}.onnx"
    try:
        onnx.checker.check_model(path if model is None else model, full_check=True)
        session = onnxruntime.InferenceSession(path if model is None else model.SerializeToString())
    except Exception as error:  # each library has errors of its own, without a class for all
        return f"is not accepted: {error}"
    model = onnx.load(path) if model is None else model
    unused = {w.name for w in model.graph.initializer}.difference(*(node.input for node in model.graph.node))
    if unused:
        return f"has tensors that no node reads: {sorted(unused)}"
    given, expected = arrays(stem, ("input", "constant")), arrays(stem, "output")
    if {value.name for value in model.graph.input} != {*given} or {value.name for value in model.graph.output} != {*expected}:
        return f"has other inputs or outputs than {[*given, *expected]}"
    values = {value.name: value for value in [*model.graph.input, *model.graph.output]}
    parts = {"all samples": lambda name, array: array, "the first sample": lambda name, array: first_row(array, values[name])}
    for what, part in parts.items():
        made = session.run([*expected], {name: part(name, array) for name, array in given.items()})
        for name, found in zip(expected, made):
            right = part(name, expected[name])
            if found.shape != right.shape or found.dtype != right.dtype:
                return f"{name} is {found.dtype}{found.shape}, expected {right.dtype}{right.shape}"
            apart = numpy.abs(found - right) / max(1, numpy.abs(right).max())
            if not apart.max() <= tolerance:
                where = tuple(int(i) for i in numpy.unravel_index(apart.argmax(), apart.shape))
                return f"{name} of {what} differs by {apart.max():.1e} at {where}, expected {tolerance} at most"
    return None


def left_out(text, sources):
    """The layers and blocks of the README's list that are in none of the programs."""
    listed = re.search(r"^\* Layers: (.*?)\. Losses:", text, re.M | re.S)[1]
    return [name for name in re.findall(r"\b(?:[A-Z]\w*|head_in_strips)\b", listed)
            if not re.search(rf"\b{name}\b", sources)]


def faults(options):
    texts = {path.stem: path.read_text() for path in sorted(SOURCES.glob("*.cpp"))}
    found = [f"no network has the layer {name}" for name in left_out((ROOT / "README.md").read_text(), "\n".join(texts.values()))]
    with tempfile.TemporaryDirectory() as folder:
        networks = written(texts, pathlib.Path(folder), options)
        for stem, tolerance, name in networks:
            fault = wrong(stem, tolerance)
            found += [f"{name}: {fault}"] if fault else []
    print(f"onnx: {len(networks)} networks in ONNX Runtime {onnxruntime.__version__}")
    return found


def self_test(options):
    """What this check does not notice."""
    missed = []
    if left_out("* Layers: Linear, Conv2d (of\n  GRUCell). Losses:", "Linear<2, 3>, Conv2d<1>") != ["GRUCell"]:
        missed.append("a layer that no network has")
    with tempfile.TemporaryDirectory() as folder:
        stem, tolerance, name = next(n for n in written(["models"], pathlib.Path(folder), options) if n[2] == "mnist")
        if fault := wrong(stem, tolerance):
            missed.append(f"{name}, which is right: {fault}")
        model = onnx.load(f"{stem}.onnx")
        weight = next(w for w in model.graph.initializer if w.name == "0.weight")
        numbers = onnx.numpy_helper.to_array(weight).copy()
        numbers[0] += 0.01
        weight.CopyFrom(onnx.numpy_helper.from_array(numbers, weight.name))
        if "differs" not in (wrong(stem, tolerance, model) or ""):
            missed.append("another weight")
        del model.graph.node[0]
        if "not accepted" not in (wrong(stem, tolerance, model) or ""):
            missed.append("a node that is not there")
    return [f"onnx.py does not notice: {what}" for what in missed]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--self-test", action="store_true")
    given = parser.parse_args()
    report((self_test if given.self_test else faults)(given))
