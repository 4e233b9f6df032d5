# SPDX-License-Identifier: MIT
"""cairn/cairn.hpp brings every header that needs no component, in floor order, each with a comment.

Of a folder below a room it names the header with the folder's name and the one for the cpu; the rest of the folder is
named only if those two do not include it. And cairn/ops/cpu.hpp, where there is one, brings every op on a cpu.
"""
import pathlib
import re

from house import FLOORS, SMALL_HOUSE, SPDX, component, headers, includes, room, run

ROOF = "include/cairn/cairn.hpp"
OPS = "cairn/ops/cpu.hpp"
LINE = re.compile(r"^#include <([^>]+)>\s*(?:// *(.*))?$")


def is_door(header):
    path = pathlib.PurePosixPath(header)
    return len(path.parts) <= 3 or path.stem in (path.parent.name, "cpu")


def reached(root, names):
    seen, ahead = set(), list(names)
    while ahead:
        name = ahead.pop()
        if name not in seen and (root / "include" / name).exists():
            seen.add(name)
            ahead += [target[1:-1] for _, target in includes(root / "include" / name)]
    return seen


def expected(root):
    names = [name for name in headers(root) if room(name) in FLOORS and not component(name)]
    doors = [name for name in names if is_door(name)]
    rooms, brought = list(FLOORS), reached(root, doors)
    return sorted(doors + [name for name in names if name not in brought],
                  key=lambda name: (rooms.index(room(name)), name))


def lines(root):
    matches = map(LINE.match, (root / ROOF).read_text().splitlines())
    return [(found[1], found[2] or "") for found in matches if found]


def left_out(root):
    """Ops that cairn/ops/cpu.hpp does not bring."""
    if OPS not in headers(root):
        return []
    brought = {target[1:-1] for _, target in includes(root / "include" / OPS)}
    return [name for name in headers(root) if re.fullmatch(r"cairn/ops/[^/]+/cpu.hpp", name) and name not in brought]


def faults(root, _options=None):
    there, wanted = [name for name, _ in lines(root)], expected(root)
    found = [f"{ROOF}: lacks {name}" for name in wanted if name not in there]
    found += [f"{ROOF}: {name} is not to be there" for name in there if name not in wanted]
    found += [f"{ROOF}: {name} has no comment" for name, comment in lines(root) if not comment]
    found += [f"{OPS}: lacks {name}" for name in left_out(root)]
    if not found and there != wanted:
        found = [f"{ROOF}: not in the order of floors, then of names"]
    return found


if __name__ == "__main__":
    small = SMALL_HOUSE[ROOF]
    run(faults, [
        ({"include/cairn/core/extra.hpp": SPDX}, r"lacks cairn/core/extra.hpp"),
        ({"include/cairn/ops/sum/sum.hpp": SPDX, "include/cairn/ops/sum/tile.hpp": SPDX}, r"lacks cairn/ops/sum/tile"),
        ({"include/" + OPS: SPDX, "include/cairn/ops/sum/cpu.hpp": SPDX}, r"ops/cpu.hpp: lacks cairn/ops/sum/cpu.hpp"),
        ({"include/cairn/core/size.hpp": None}, r"size.hpp is not to be there"),
        ({ROOF: small.replace("// how many", "")}, r"size.hpp has no comment"),
        ({ROOF: "\n".join(reversed(small.splitlines()))}, r"not in the order"),
    ])
