# SPDX-License-Identifier: MIT
"""Trains a network in Cairn, goes on in PyTorch, and goes back: exchange.py PROGRAM, where PROGRAM is what main.cpp became.

Needs PyTorch, numpy and safetensors: pip install torch numpy safetensors
"""
import pathlib
import re
import subprocess
import sys
import tempfile

try:
    import numpy
    import torch
    from safetensors.torch import load_file, save_file
except ImportError as missing:
    sys.exit(f"exchange.py: {missing}; pip install torch numpy safetensors")


def cairn(program, folder, *words):
    """Runs the program; the losses that it says."""
    said = subprocess.run([program, *words], cwd=folder, check=True, capture_output=True, text=True).stdout
    print(said, end="")
    return [float(number) for number in re.findall(r"(\d+\.\d+)", said)]


def main(program):
    net = torch.nn.Sequential(torch.nn.Linear(784, 64), torch.nn.BatchNorm1d(64), torch.nn.GELU(), torch.nn.Linear(64, 10))
    loss_of = torch.nn.CrossEntropyLoss()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        _, first = cairn(program, path, "--save", "from_cairn.safetensors", "--images", "digits", "--epochs", "2")
        train_x, train_y, test_x, test_y = (torch.from_numpy(numpy.load(path / f"digits_{part}_{what}.npy"))
                                            for part in ("train", "test") for what in ("images", "labels"))
        # BatchNorm's num_batches_tracked is not there: PyTorch reads it only without a momentum.
        print(net.load_state_dict(load_file(path / "from_cairn.safetensors"), strict=False))

        def loss_on_test():
            net.eval()
            with torch.no_grad():
                return loss_of(net(test_x), test_y.long()).item()

        taken = loss_on_test()
        net.train()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
        for x, y in zip(train_x.split(100), train_y.split(100)):
            optimizer.zero_grad()
            loss_of(net(x), y.long()).backward()
            optimizer.step()
        second = loss_on_test()
        print(f"torch: loss {taken:.6f} before, {second:.6f} after 1 epochs")
        save_file(net.state_dict(), path / "from_torch.safetensors")
        back, third = cairn(program, path, "--load", "from_torch.safetensors", "--save", "last.safetensors", "--epochs", "1")
        same = abs(first - taken) < 1e-5 and abs(second - back) < 1e-5
        print("both say the same loss of the same weights" if same else "the losses of the same weights DIFFER")
        sys.exit(0 if same and third < first else 1)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]).resolve())
