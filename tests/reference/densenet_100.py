# SPDX-License-Identifier: MIT
"""The whole DenseNet-BC-100 in PyTorch and in Cairn, from the same weights: loss, gradients and an evaluation.

  python3 tests/reference/densenet_100.py [--compiler g++]

Needs PyTorch and numpy. It compiles densenet_100.cpp beside it, for double and for float, and compares both with PyTorch in
double; PyTorch's own floats show what rounding does, which moves some ReLUs of so deep a network over zero. It ends with 1 where in
double anything differs by more than 1e-4 of the largest number of its tensor. tests/train/trainer/densenet.cpp is the same of
a shorter network, without PyTorch.
"""
import argparse
import copy
import pathlib
import subprocess
import sys
import tempfile

import numpy
import torch
from torch import nn

from make import DenseLayer, transition, turned

HERE = pathlib.Path(__file__).resolve().parent
SAMPLES, MOST = 8, 1e-4


def densenet(layers=16, growth=12):
    channels, parts = 2 * growth, [nn.Conv2d(3, 2 * growth, 3, padding=1, bias=False)]
    for block in range(3):
        parts.append(nn.Sequential(*(DenseLayer(channels + growth * i, growth) for i in range(layers))))
        channels += layers * growth
        if block < 2:
            parts += transition(channels)
            channels //= 2
    return nn.Sequential(*parts, nn.BatchNorm2d(channels), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 10))


def flat(tensors):
    return numpy.concatenate([turned(t).detach().double().numpy().ravel() for t in tensors])


def of_model(model, taken, classes):
    """The loss, the gradients and the evaluation, one after another."""
    model.train()
    loss = nn.CrossEntropyLoss()(model(taken), classes)
    loss.backward()
    model.eval()
    return flat([loss.reshape(1), *(p.grad for p in model.parameters()), model(taken)])


def of_program(compiler, numbers, given):
    with tempfile.TemporaryDirectory() as folder:
        program, source, made = (f"{folder}/{name}" for name in ("program", "given", "made"))
        subprocess.run([compiler, "-std=c++20", "-O2", f"-DCAIRN_NUMBERS={numbers}", f"-I{HERE.parents[1] / 'include'}",
                        HERE / "densenet_100.cpp", "-pthread", "-o", program], check=True)
        given.tofile(source)
        subprocess.run([program, source, made], check=True)
        return numpy.fromfile(made)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", default="g++")
    compiler = parser.parse_args().compiler
    torch.manual_seed(3)
    model = densenet()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.05 * torch.randn_like(parameter)
    taken, classes = torch.randn(SAMPLES, 3, 32, 32), torch.arange(SAMPLES)
    given = flat([*model.parameters(), taken, classes])
    names = ["loss", *(name for name, _ in model.named_parameters()), "evaluated"]
    sizes = [1, *(p.numel() for p in model.parameters()), 10 * SAMPLES]

    exact = of_model(copy.deepcopy(model).double(), taken.double(), classes)
    worst = {}
    for who, found in (("Cairn, double", of_program(compiler, "double", given)),
                       ("Cairn, float", of_program(compiler, "float", given)),
                       ("PyTorch, float", of_model(model, taken, classes))):
        assert found.size == exact.size == sum(sizes)
        ends = numpy.cumsum(sizes)[:-1]
        each = [(float(numpy.abs(a - b).max() / numpy.abs(b).max()), name)
                for a, b, name in zip(numpy.split(found, ends), numpy.split(exact, ends), names)]
        worst[who] = max(each)
        print(f"{who}: {worst[who][0]:.1e} of a tensor's largest number at most, in {worst[who][1]}; "
              f"{numpy.median([e for e, _ in each]):.1e} in the middle of {len(names)} tensors")
    return 0 if worst["Cairn, double"][0] < MOST else 1


if __name__ == "__main__":
    sys.exit(main())
