# SPDX-License-Identifier: MIT
"""Files go from Cairn to Python's safetensors library and to numpy and back, and are the same, byte for byte.

A compiled program trains a small network, writes its weights, reads a file that Python wrote, and writes that again. Needs numpy
and safetensors from PyPI. With --torch, which needs PyTorch, the network is also trained there from the same weights, and the
losses are compared.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile

import numpy
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from house import report

ROOT = pathlib.Path(__file__).resolve().parents[2]
STEPS, ROWS, FEATURES, CLASSES = 20, 12, 9, 5

PROGRAM = """#include <cstdio>
#include <string>
#include <vector>

#include <cairn/cairn.hpp>
#include <cairn/data/npy.hpp>
#include <cairn/train/state/safetensors.hpp>

using namespace cairn;

using Net = Sequential<Input<3, 3, 1>, Conv2d<1, 6, 2>, BatchNorm2d<6>, ReLU,
                       Sequential<Conv2d<6, 16, 2, padding<1>, groups<2>>, GroupNorm<4, 16>, GELU>, AdaptiveAvgPool2d<3, 2>, Flatten,
                       Sequential<Linear<96, 16>, BatchNorm1d<16>, LayerNorm<16>>, Linear<16, 5>>;

int main(int, char** names) { // data, weights before and after, any tensors, a copy of them, arrays
  trainer<Net, CrossEntropyLoss, SGD, batch<12>> train{SGD{.learning_rate = 0.1, .momentum = 0.9}, {.seed = 3}};
  save_weights(train, names[2]);
  files::safetensors_file data(names[1]);
  std::vector<float> x(20 * 12 * 9);
  std::vector<std::int32_t> y(20 * 12);
  data.read<float>(*data.find("x"), x);
  data.read<std::int32_t>(*data.find("y"), y);
  for (std::size_t step = 0; step < 20; ++step)
    std::printf("%.9g\\n", train.step(std::vector<float>(&x[step * 108], &x[step * 108] + 108),
                                     std::vector<int>(&y[step * 12], &y[step * 12] + 12)));
  save_weights(train, names[3], {{"steps", "20"}});

  files::safetensors_file any(names[4]);
  std::vector<std::vector<float>> floats;
  std::vector<files::safetensors_source> sources;
  for (const files::safetensors_entry& e : any.entries()) {
    floats.emplace_back((e.end - e.begin) / 4);
    any.read<float>(e, floats.back());
    sources.push_back({e.name, e.type, e.extents, std::as_bytes(std::span<const float>(floats.back()))});
  }
  files::write_safetensors(names[5], sources, any.metadata());

  for (int i = 6; names[i] != nullptr; ++i) {
    const auto array = files::read_npy<double>(names[i]);
    files::write_npy(std::string(names[i]) + ".again", array.numbers, array.extents);
  }
}
"""


def compiled(folder, options):
    (folder / "exchange.cpp").write_text(PROGRAM)
    subprocess.run([options.compiler, "-std=c++20", "-O1", f"-I{ROOT / 'include'}", "exchange.cpp", "-o", "exchange", "-pthread"],
                   cwd=folder, check=True)


def rewritten(path, folder):
    """The bytes that Python writes after it has read this file."""
    with safe_open(path, framework="numpy") as file:
        metadata = file.metadata()
    save_file(load_file(path), folder / "again", metadata=metadata)
    return (folder / "again").read_bytes()


def losses_of_torch(folder, x, y):
    import torch
    from safetensors.torch import load_file as load_torch
    from torch import nn
    net = nn.Sequential(nn.Conv2d(1, 6, 2), nn.BatchNorm2d(6), nn.ReLU(),
                        nn.Sequential(nn.Conv2d(6, 16, 2, padding=1, groups=2), nn.GroupNorm(4, 16), nn.GELU()),
                        nn.AdaptiveAvgPool2d((3, 2)), nn.Flatten(),
                        nn.Sequential(nn.Linear(96, 16), nn.BatchNorm1d(16), nn.LayerNorm(16)), nn.Linear(16, 5))
    said = net.load_state_dict(load_torch(folder / "before"), strict=False)
    if said.unexpected_keys or any("num_batches_tracked" not in key for key in said.missing_keys):
        raise SystemExit(f"torch: {said}")
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    found = []
    for step in range(STEPS):
        loss = nn.CrossEntropyLoss()(net(torch.tensor(x[step]).reshape(-1, 1, 3, 3)), torch.tensor(y[step]).long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    after = load_torch(folder / "after")
    apart = max((net.state_dict()[name] - tensor).abs().max().item() for name, tensor in after.items())
    return found, apart


def faults(options):
    random = numpy.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        compiled(folder, options)
        x = random.standard_normal((STEPS, ROWS, FEATURES), dtype=numpy.float32)
        y = x[:, :, :CLASSES].argmax(axis=2).astype(numpy.int32)
        save_file({"x": x, "y": y}, folder / "data")
        names = ["b", "a", "0.weight", "ü \"quoted\" \\ \n", "empty", "scalar"]
        shapes = [(3, 4), (5,), (2, 1, 3), (7,), (2, 0), ()]
        any_tensors = {name: random.standard_normal(shape).astype(numpy.float32) for name, shape in zip(names, shapes)}
        save_file(any_tensors, folder / "any", metadata={"text": "\u00e4 \t\u0001"})  # one: Python writes several in any order
        arrays = [random.standard_normal(shape) for shape in ((), (7,), (2, 3), (0, 4), (2, 3, 4, 5), (1234, 3))]
        arrays += [numpy.asfortranarray(arrays[4]), arrays[4].astype(">f8")]
        for i, array in enumerate(arrays):
            numpy.save(folder / f"array{i}.npy", array)
        files = [f"array{i}.npy" for i in range(len(arrays))]
        said = subprocess.run(["./exchange", "data", "before", "after", "any", "copy", *files], cwd=folder, check=True,
                              capture_output=True, text=True).stdout
        losses = [float(word) for word in said.split()]
        found = [f"{name} is not what Python writes" for name in ("before", "after")
                 if (folder / name).read_bytes() != rewritten(folder / name, folder)]
        if (folder / "copy").read_bytes() != (folder / "any").read_bytes():
            found.append("a copy of Python's file has other bytes")
        for i, array in enumerate(arrays):
            numpy.save(folder / "plain.npy", numpy.ascontiguousarray(array, dtype="<f8").reshape(array.shape))
            if (folder / f"array{i}.npy.again").read_bytes() != (folder / "plain.npy").read_bytes():
                found.append(f"array {i} of shape {array.shape} has other bytes than numpy writes")
        before = load_file(folder / "before")
        shapes = [before[name].shape for name in ("0.weight", "3.0.weight", "6.0.weight")]
        if shapes != [(6, 1, 2, 2), (16, 3, 2, 2), (16, 96)] or before["1.running_var"].tolist() != [1.0] * 6:
            found.append(f"Python reads {json.dumps({name: tensor.shape for name, tensor in before.items()})}")
        if len(losses) != STEPS or not losses[-1] < losses[0]:
            found.append(f"the losses are {losses}")
        print(f"exchange: {len(before)} tensors, losses {losses[0]:.4f} to {losses[-1]:.4f}")
        if options.torch:
            expected, apart = losses_of_torch(folder, x, y)
            worst = max(abs(a - b) for a, b in zip(losses, expected))
            print(f"exchange: PyTorch's {STEPS} losses differ by {worst:.1e} at most, the weights after them by {apart:.1e}")
            if worst > 1e-5:
                found.append(f"PyTorch's losses are {expected}, found {losses}")
        return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--torch", action="store_true", help="train there, too")
    report(faults(parser.parse_args()))
