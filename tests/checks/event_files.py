# SPDX-License-Identifier: MIT
"""TensorBoard reads the event files that Cairn writes: the same tags, steps and values, in the order in which they were written.

A compiled program logs two runs: one from start to end, and one that is stopped and resumed. Of two damaged copies of the first
file, one has a wrong bit and one lacks its end. Checksums count: TensorBoard reads nothing after a wrong bit. Needs tensorboard
from PyPI.
"""
import argparse
import pathlib
import struct
import subprocess
import tempfile

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

from house import report

ROOT = pathlib.Path(__file__).resolve().parents[2]

PROGRAM = """#include <cmath>
#include <cstdint>
#include <limits>

#include <cairn/report/tensorboard_log.hpp>

using namespace cairn;

int main() {
  {
    tensorboard_log log{"runs/whole"};
    for (std::uint64_t step = 1; step <= 2000; ++step)
      log.write(step * step, {{"train_loss", 1.0 / static_cast<double>(step)}, {"learning rate, \\xc3\\xbc", step % 7 * 1e-5}});
    log.write(5'000'000, {{"val_accuracy", 0.975}, {"train_loss", std::numeric_limits<double>::infinity()}});
  }
  {
    tensorboard_log log{"runs/resumed"};
    for (std::uint64_t step = 10; step <= 100; step += 10) log.write(step, {{"loss", static_cast<double>(step)}});
  }
  tensorboard_log log{"runs/resumed"};
  for (std::uint64_t step = 60; step <= 120; step += 10) log.write(step, {{"loss", -static_cast<double>(step)}});
}
"""


def single(value):
    """The nearest float, as TensorBoard has it."""
    return struct.unpack("f", struct.pack("f", value))[0]


def scalars(path):
    """{tag: [(step, value), ...]} of a file or of a folder."""
    read = EventAccumulator(str(path), size_guidance={"scalars": 0, "tensors": 0}).Reload()
    tags = read.Tags()
    found = {tag: [(event.step, event.value) for event in read.Scalars(tag)] for tag in tags["scalars"]}
    for tag in tags["tensors"]:  # newer versions turn simple values into tensors
        found[tag] = [(event.step, event.tensor_proto.float_val[0]) for event in read.Tensors(tag)]
    return found


def faults(options):
    found = []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "log.cpp").write_text(PROGRAM)
        subprocess.run([options.compiler, "-std=c++20", f"-I{ROOT / 'include'}", "log.cpp", "-o", "log"], cwd=folder, check=True)
        subprocess.run(["./log"], cwd=folder, check=True)

        losses = [(n * n, single(1 / n)) for n in range(1, 2001)] + [(5_000_000, float("inf"))]
        rates = [(n * n, single(n % 7 * 1e-5)) for n in range(1, 2001)]
        expected = {"train_loss": losses, "learning rate, ü": rates, "val_accuracy": [(5_000_000, single(0.975))]}
        whole = scalars(folder / "runs/whole")
        if whole != expected:
            found.append(f"of a whole run TensorBoard reads {({tag: values[:3] for tag, values in whole.items()})}")

        resumed = scalars(folder / "runs/resumed").get("loss")
        if resumed != [(n, n) for n in range(10, 60, 10)] + [(n, -n) for n in range(60, 130, 10)]:
            found.append(f"of a resumed run TensorBoard reads {resumed}")

        path = next((folder / "runs/whole").iterdir())
        events = list(EventFileLoader(str(path)).Load())
        if events[0].file_version != "brain.Event:2" or len(events) != 2 + 2001:
            found.append(f"the file is {events[0].file_version!r} of {len(events)} events")
        if any(later.wall_time < earlier.wall_time for earlier, later in zip(events, events[1:])):
            found.append("the times of the events go back")

        # TensorBoard must notice a wrong checksum, so that it would also notice a wrong one of Cairn's, and must read a file
        # without its end.
        whole_file = path.read_bytes()
        flipped = bytearray(whole_file)
        flipped[len(flipped) // 2] ^= 1
        for name, content in (("flipped", bytes(flipped)), ("cut", whole_file[:-5])):
            broken = folder / f"runs/{name}" / path.name
            broken.parent.mkdir()
            broken.write_bytes(content)
            left = len(list(EventFileLoader(str(broken)).Load()))
            if not 0 < left < len(events) or (name == "cut" and left != len(events) - 1):
                found.append(f"of the {name} file TensorBoard reads {left} of {len(events)} events")
        print(f"event files: {len(events)} events, {sum(map(len, whole.values()))} values read back by TensorBoard")
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", default="g++")
    report(faults(parser.parse_args()))
