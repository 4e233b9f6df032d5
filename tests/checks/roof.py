# SPDX-License-Identifier: MIT
"""cairn/cairn.hpp includes every header that needs no component, in floor order, each with a comment.

In a folder below a room it includes the header with the folder's name and the one for the cpu; it includes others only if those
two do not. cairn/ops/cpu.hpp, where there is one, includes every op on a cpu. Charts, texts, readers of files and the writer of ONNX
files have roofs of their own, as most programs do without: cairn.hpp includes none of their headers. cairn/cairn_cuda.cuh includes cairn.hpp and then the .cuh
headers, which need nvcc; it exists only if there are any.
"""
import pathlib
import re

from house import CUDA_HEADER, FLOORS, SMALL_HOUSE, SPDX, component, cuda_headers, headers, includes, room, run

ROOF = "include/cairn/cairn.hpp"
CUDA_ROOF = "include/cairn/cairn_cuda.cuh"
APART = ("cairn/data/readers.hpp", "cairn/data/text/text.hpp", "cairn/report/charts.hpp", "cairn/train/onnx/onnx.hpp")
OPS = ("cairn/ops/cpu.hpp", "cairn/ops/cuda.cuh")
LINE = re.compile(r"^#include <([^>]+)>\s*(?:// *(.*))?$")


def is_door(header):
    path = pathlib.PurePosixPath(header)
    return len(path.parts) <= 3 or path.stem in (path.parent.name, "cpu", "cuda")


def reached(root, names):
    seen, ahead = set(), list(names)
    while ahead:
        name = ahead.pop()
        if name not in seen and (root / "include" / name).exists():
            seen.add(name)
            ahead += [target[1:-1] for _, target in includes(root / "include" / name)]
    return seen


def apart(root):
    """The roofs APART, and the headers that they include."""
    found = set()
    for roof in APART:
        path = root / "include" / roof
        if path.exists():
            found |= {roof, *(target[1:-1] for _, target in includes(path))}
    return found


def expected(root, there):
    names = [name for name in there if room(name) in FLOORS and not component(name) and name not in apart(root)]
    doors = [name for name in names if is_door(name)]
    rooms, brought = list(FLOORS), reached(root, doors)
    return sorted(doors + [name for name in names if name not in brought],
                  key=lambda name: (rooms.index(room(name)), name))


def lines(root, roof):
    matches = map(LINE.match, (root / roof).read_text().splitlines())
    return [(found[1], found[2] or "") for found in matches if found]


def left_out(root, there, ops):
    """Ops that the header of all ops of a device does not include."""
    if ops not in there:
        return []
    brought = {target[1:-1] for _, target in includes(root / "include" / ops)}
    device = pathlib.PurePosixPath(ops).name
    return [name for name in there if re.fullmatch(rf"cairn/ops/[^/]+/{re.escape(device)}", name) and name not in brought]


def wrong_roof(root, roof, wanted):
    there = [name for name, _ in lines(root, roof)]
    found = [f"{roof}: lacks {name}" for name in wanted if name not in there]
    found += [f"{roof}: {name} is not to be there" for name in there if name not in wanted]
    found += [f"{roof}: {name} has no comment" for name, comment in lines(root, roof) if not comment]
    if not found and there != wanted:
        found = [f"{roof}: not in the order of floors, then of names"]
    return found


def faults(root, _options=None):
    found = wrong_roof(root, ROOF, expected(root, headers(root)))
    of_cuda = expected(root, cuda_headers(root))
    if of_cuda and not (root / CUDA_ROOF).exists():
        found.append(f"{CUDA_ROOF}: is not there, and is to bring {', '.join(of_cuda)}")
    elif (root / CUDA_ROOF).exists():
        found += wrong_roof(root, CUDA_ROOF, ["cairn/cairn.hpp", *of_cuda])
    for there, ops in zip((headers(root), cuda_headers(root)), OPS):
        found += [f"{ops}: lacks {name}" for name in left_out(root, there, ops)]
    return found


if __name__ == "__main__":
    small = SMALL_HOUSE[ROOF]
    of_cuda = SPDX + "#pragma once\n\n#include <cairn/cairn.hpp> // all else\n#include <cairn/device/stream.cuh> // twice\n"
    run(faults, [
        ({"include/cairn/core/extra.hpp": SPDX}, r"lacks cairn/core/extra.hpp"),
        ({"include/cairn/ops/sum/sum.hpp": SPDX, "include/cairn/ops/sum/tile.hpp": SPDX}, r"lacks cairn/ops/sum/tile"),
        ({"include/" + OPS[0]: SPDX, "include/cairn/ops/sum/cpu.hpp": SPDX}, r"ops/cpu.hpp: lacks cairn/ops/sum/cpu.hpp"),
        ({"include/cairn/core/size.hpp": None}, r"size.hpp is not to be there"),
        ({ROOF: small.replace("// how many", "")}, r"size.hpp has no comment"),
        ({ROOF: "\n".join(reversed(small.splitlines()))}, r"not in the order"),
        ({"include/" + APART[1]: SPDX + "#include <cairn/core/size.hpp>\n"}, r"cairn.hpp: cairn/core/size.hpp is not to be there"),
        ({CUDA_ROOF: None}, r"cairn_cuda.cuh: is not there, and is to bring cairn/device/stream.cuh"),
        ({"include/cairn/device/late.cuh": CUDA_HEADER}, r"cairn_cuda.cuh: lacks cairn/device/late.cuh"),
        ({CUDA_ROOF: of_cuda.replace("cairn/cairn.hpp", "cairn/core/size.hpp")}, r"cairn_cuda.cuh: lacks cairn/cairn.hpp"),
        ({ROOF: small + "#include <cairn/device/stream.cuh> // late\n"}, r"cairn.hpp: cairn/device/stream.cuh is not to be there"),
        ({"include/" + OPS[1]: SPDX, "include/cairn/ops/sum/cuda.cuh": SPDX}, r"ops/cuda.cuh: lacks cairn/ops/sum/cuda.cuh"),
    ], small={CUDA_ROOF: of_cuda, "include/cairn/device/stream.cuh": CUDA_HEADER})
