# SPDX-License-Identifier: MIT
"""Rooms include only rooms of lower floors; core/ and plan/ include light headers only; one header includes xtensor, one JSON,
and one folder libpng and libjpeg.

Headers that need nvcc are .cuh files. No .hpp includes one of them, or a header of CUDA."""
import re

from house import CUDA_HEADER, FLOORS, SPDX, cuda_headers, headers, includes, room, run

# Each of these costs a compiler a few milliseconds; <algorithm>, <vector> or <functional> cost a hundred.
LIGHT = {
    "array", "bit", "compare", "concepts", "cstddef", "cstdint", "initializer_list", "limits", "span", "string_view",
    "tuple", "type_traits", "utility",
}
LIGHT_ROOMS = {"core", "plan"}
ROOFS = ("cairn/cairn.hpp", "cairn/cairn_cuda.cuh")
OF_CUDA = re.compile(r"(.*\.cuh|cuda\w*|cublas\w*|nccl)(\.h)?$|(cub|thrust|cuda)/.*")
# Planning at run time throws and grows lists, and normally distributed numbers need a logarithm. Headers that plan at compile
# time include none of these.
HEAVY_BY_DESIGN = {("cairn/core/error.hpp", "stdexcept"), ("cairn/core/error.hpp", "string"),
                   ("cairn/core/random_normal.hpp", "cmath"),
                   ("cairn/plan/solve/pareto_front.hpp", "vector"), ("cairn/plan/solve/solver.hpp", "vector"),
                   ("cairn/plan/solve/solver.hpp", "string"),
                   ("cairn/plan/plan_route.hpp", "string")}


def faults(root, _options=None):
    found = []
    for header in headers(root) + cuda_headers(root):
        here = room(header)
        if here is None:
            if header not in ROOFS:
                found.append(f"{header}: a header stands in a room, or is the roof")
            continue
        if here not in FLOORS:
            found.append(f"{header}: no floor is known for the room {here}")
            continue
        for line, name in includes(root / "include" / header):
            at, target = f"{header}:{line}", name.strip('<>"')
            if header.endswith(".hpp") and OF_CUDA.match(target):
                found.append(f"{at}: includes {name}; only a .cuh may")
            if name.startswith('"'):
                found.append(f"{at}: includes {name}; write <cairn/room/file.hpp>")
            elif target.startswith("cairn/"):
                there = room(target)
                if there is None:
                    found.append(f"{at}: includes the roof")
                elif there != here and FLOORS.get(there, 99) >= FLOORS[here]:
                    found.append(f"{at}: {here}/ (floor {FLOORS[here]}) includes {there}/ (floor {FLOORS.get(there)}); "
                                 "a room includes rooms of lower floors only")
            elif target.startswith(("xtensor/", "xtl/")) and header != "cairn/data/xtensor.hpp":
                found.append(f"{at}: includes {name}; only data/xtensor.hpp may")
            elif target.startswith("nlohmann/") and header != "cairn/data/safetensors.hpp":
                found.append(f"{at}: includes {name}; only data/safetensors.hpp may")
            elif target in ("jerror.h", "jpeglib.h", "png.h") and not header.startswith("cairn/data/images/"):
                found.append(f"{at}: includes {name}; only data/images/ may")
            elif here in LIGHT_ROOMS and target not in LIGHT and (header, target) not in HEAVY_BY_DESIGN:
                found.append(f"{at}: includes {name}, which is no light header; {here}/ includes light ones only")
    return found


if __name__ == "__main__":
    run(faults, [
        ({"include/cairn/core/size.hpp": SPDX + "#include <cairn/net/pair.hpp>\n"}, r"size.hpp:2: core/ .* net/"),
        ({"include/cairn/data/rows.hpp": SPDX + "#include <cairn/plan/chain.hpp>\n"}, r"rows.hpp:2: data/ .* plan/"),
        ({"include/cairn/core/size.hpp": SPDX + "#include <vector>\n"}, r"size.hpp:2: .*<vector>"),
        ({"include/cairn/net/pair.hpp": SPDX + "# include  <xtensor/xarray.hpp>\n"}, r"pair.hpp:2: .*only data/xt"),
        ({"include/cairn/net/pair.hpp": SPDX + "#include <png.h>\n"}, r"pair.hpp:2: .*only data/images/"),
        ({"include/cairn/net/pair.hpp": SPDX + '#include "../core/size.hpp"\n'}, r"pair.hpp:2: .*write <"),
        ({"include/cairn/net/pair.hpp": SPDX + "#include <cairn/cairn.hpp>\n"}, r"pair.hpp:2: includes the roof"),
        ({"include/cairn/attic/box.hpp": SPDX}, r"attic/box.hpp: no floor"),
        ({"include/cairn/loose.hpp": SPDX}, r"loose.hpp: a header stands in a room"),
        ({"include/cairn/loose.cuh": SPDX}, r"loose.cuh: a header stands in a room"),
        ({"include/cairn/device/gpu.cuh": SPDX + "#include <cairn/net/pair.hpp>\n"}, r"gpu.cuh:2: device/ .* net/"),
        ({"include/cairn/device/gpu.cuh": SPDX + "#include <cairn/cairn_cuda.cuh>\n"}, r"gpu.cuh:2: includes the roof"),
        ({"include/cairn/net/pair.hpp": SPDX + "#include <cairn/device/gpu.cuh>\n"}, r"pair.hpp:2: .*only a .cuh may"),
        ({"include/cairn/net/pair.hpp": SPDX + "#include <cuda_runtime.h>\n"}, r"pair.hpp:2: .*only a .cuh may"),
    ], small={"include/cairn/device/stream.cuh": CUDA_HEADER.replace("#include", "#include <cuda_runtime.h>\n#include", 1)})
