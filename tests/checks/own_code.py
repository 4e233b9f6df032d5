# SPDX-License-Identifier: MIT
"""Extending Cairn takes little code: each example has at most 20 lines of code between `// own code` and `// end of own code`,
and examples/own_layer.md shows those of the two layers word for word. examples/own_kernel.md shows all of examples/own_kernel.cu,
of any length."""
import re

from house import SPDX, run

MOST_LINES = 20
ON_THE_PAGE = 2  # the first two of the examples
EXAMPLES = ("own_layer", "own_activation", "own_policy", "own_communicator", "own_loss", "own_optimizer")
OWN = re.compile(r"^// own code[^\n]*\n(.*?)^// end of own code$", re.M | re.S)


def faults(root, _options=None):
    found = []
    page = root / "examples/own_layer.md"
    shown = page.read_text() if page.exists() else ""
    for name in EXAMPLES:
        path = root / f"examples/{name}.cpp"
        own = OWN.search(path.read_text()) if path.exists() else None
        if not own:
            found.append(f"examples/{name}.cpp: no lines between `// own code` and `// end of own code`")
            continue
        code = [line for line in own[1].splitlines() if line.strip() and not line.lstrip().startswith("//")]
        if len(code) > MOST_LINES:
            found.append(f"examples/{name}.cpp: {len(code)} lines of own code, at most {MOST_LINES}")
        if name in EXAMPLES[:ON_THE_PAGE] and own[1] not in shown:
            found.append(f"examples/own_layer.md: does not show the own code of examples/{name}.cpp as it is")
    path, page = root / "examples/own_kernel.cu", root / "examples/own_kernel.md"
    blocks = [own[1] for own in OWN.finditer(path.read_text())] if path.exists() else []
    if not blocks or not page.exists() or not all(f"```cuda\n{block}```\n" in page.read_text() for block in blocks):
        found.append("examples/own_kernel.md: does not show each own code of examples/own_kernel.cu as it is")
    return found


if __name__ == "__main__":
    code = "struct Own {\n  // one\n  int n = 1;\n};\n"
    example = SPDX + "// own code: one\n" + code + "// end of own code\n"
    small = {f"examples/{name}.cpp": example for name in EXAMPLES}
    small["examples/own_kernel.cu"] = example + example.replace("n = 1", "n = 3")
    small["examples/own_kernel.md"] = "```cuda\n" + code + "```\n" + "```cuda\n" + code.replace("n = 1", "n = 3") + "```\n"
    small["examples/own_layer.md"] = "```cpp\n" + code + "```\n"
    run(faults, [
        ({"examples/own_policy.cpp": None}, r"own_policy.cpp: no lines between"),
        ({"examples/own_layer.cpp": SPDX + code}, r"own_layer.cpp: no lines between"),
        ({"examples/own_communicator.cpp": example.replace("};", "  int m = 1;\n" * 18 + "};")}, r"21 lines of own code"),
        ({"examples/own_layer.md": small["examples/own_layer.md"].replace("n = 1", "n = 2")}, r"does not show the own code"),
        ({"examples/own_kernel.cu": None}, r"own_kernel.md: does not show"),
        ({"examples/own_kernel.cu": example.replace("n = 1", "n = 2")}, r"own_kernel.md: does not show"),
        ({"examples/own_activation.cpp": example.replace("n = 1", "n = 2")}, r"the own code of examples/own_activation.cpp"),
    ], small=small)
