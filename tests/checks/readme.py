# SPDX-License-Identifier: MIT
"""README.md and the pages in examples/: every cpp block compiles, every program they name exists and is run by a test, and
every link leads somewhere.

The first two fenced blocks of README.md are the two commands; it has at most 200 lines, a link to each of its sections and one
to each page. A cpp block with an #include is a file, and may include headers that the example programs share. A block without
one is a piece of a function: it is put into one, after `#include <cairn/cairn.hpp>` and `using namespace cairn;`. A block that
uses threads also compiles with loopback in their place.

Cairn may add a name in any version, so a program that says `using namespace cairn;` has its own types in a namespace, where they are
found before Cairn's: no block and no example declares one beside that line.
"""
import re

from house import SMALL_HOUSE, SPDX, compile_text, component, run, spread

FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
LINK = re.compile(r"\]\(([^)\s]+)\)")
MOST_LINES = 200
TOGETHER = 20  # blocks that are compiled as one text, as most of their time goes to headers


def as_file(block):
    if "#include" in block:
        return block
    return "#include <cairn/cairn.hpp>\nusing namespace cairn;\nvoid piece();\nvoid piece() {\n" + block + "}\n"


def as_one_file(bodies):
    """One block as it is; several after all their #includes, each in a namespace of its own."""
    texts = [as_file(body) for body in bodies]
    if len(texts) == 1:
        return texts[0]
    lines = sorted({line for text in texts for line in re.findall(r"^#include .*$", text, re.M)})
    for number, text in enumerate(texts):
        text = re.sub(r"\bint main\(", "void as_main(", re.sub(r"^#include .*$", "", text, flags=re.M)) # main alone needs no return
        lines.append(f"namespace block_{number} {{\n{text}}}")
    return "\n".join(lines) + "\n"


def over_loopback(block):
    """The block with loopback{} in place of threads{N}; None if it has none."""
    changed = re.sub(r"\bthreads\{\d+\}", "loopback{}", block)
    return re.sub(r"\bthreads::", "loopback::", changed) if changed != block else None


def unprotected(text):
    """Types that are declared outside of any namespace, beside `using namespace cairn;`."""
    depth, directive, found = 0, False, []
    for line in text.splitlines():
        line = re.sub(r'"(?:[^"\\]|\\.)*"|//.*', "", line)
        directive = directive or (depth == 0 and line.startswith("using namespace cairn;"))
        if depth == 0 and (own := re.match(r"(?:template <.*> )?(?:struct|class) (\w+)", line)):
            found.append(own[1])
        depth += line.count("{") - line.count("}")
    return found if directive else []


def prose(text):
    return FENCED.sub("", text)


def sections(text):
    """The anchors that GitHub gives to the headings."""
    headings = re.findall(r"^##+ (.*)$", prose(text), re.M)
    return ["#" + re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings]


def wrong_commands(text):
    """Those of README.md only: .ci/run takes both blocks from it."""
    blocks = FENCED.findall(text)
    if [kind for kind, _ in blocks[:2]] != ["sh", "sh"]:
        yield "README.md: the first two fenced blocks are sh: build and run the main example, build and test"
    elif "build/examples/" not in blocks[0][1] or "ctest " not in blocks[1][1]:
        yield "README.md: the first block runs a program of build/examples/, the second runs ctest"


def wrong_links(root, page, text):
    for target in LINK.findall(prose(text)):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists():
            yield f"links to {target}, which is not there"
        elif anchor and "#" + anchor not in sections(file.read_text()):
            yield f"links to {target}, which has no such heading"


def wrong_programs(root, text):
    for name in sorted(set(re.findall(r"build/examples/(\w+)", text))):
        sources = [path for path in (root / f"examples/{name}.cpp", root / f"examples/{name}/main.cpp") if path.exists()]
        if not sources:
            yield f"names build/examples/{name}, which examples/ does not make"
        elif not re.search(r"^// test:", sources[0].read_text(), re.M):
            yield f"names build/examples/{name}, which no test runs: it has no line `// test:`"


def faults(root, options):
    readme = root / "README.md"
    pages = sorted((root / "examples").glob("*.md"))
    text = readme.read_text()
    found = list(wrong_commands(text))
    if text.count("\n") > MOST_LINES:
        found.append(f"README.md: {text.count(chr(10))} lines, at most {MOST_LINES}; a page in examples/ has room")
    links = LINK.findall(prose(text))
    found += [f"README.md: its table of contents lacks {anchor}" for anchor in sections(text)
              if len(sections(text)) > 1 and anchor not in links]
    found += [f"README.md: has no link to examples/{page.name}" for page in pages if f"examples/{page.name}" not in links]

    for source in sorted((root / "examples").rglob("*.cpp")):
        found += [f"{source.relative_to(root)}: {name} could be a name of Cairn's next version; declare it in a namespace"
                  for name in unprotected(source.read_text())]

    blocks = []
    for page in [readme, *pages]:
        name, text = page.relative_to(root).as_posix(), page.read_text()
        found += [f"{name}: {fault}" for fault in [*wrong_links(root, page, text), *wrong_programs(root, text)]]
        for block in FENCED.finditer(text):
            at = f"{name}:{text.count(chr(10), 0, block.start()) + 1}"
            blocks.append((at, block[1], block[2]))
            if block[1] == "cpp" and "#include" in block[2]:
                found += [f"{at}: {own} could be a name of Cairn's next version; declare it in a namespace"
                          for own in unprotected(block[2])]
            if block[1] == "cpp" and (changed := over_loopback(block[2])):
                blocks.append((f"{at}, over loopback", block[1], changed))

    def attempt(some):
        """Compiles blocks with the same #includes of Cairn as one text, and one by one if that fails."""
        says = compile_text(options.compilers[0], options, as_one_file([body for _, body in some]), "-fsyntax-only", "-Wno-unused",
                            f"-I{root / 'examples'}", minutes=5)
        if not says:
            return []
        if len(some) > 1:
            return [fault for block in some for fault in attempt([block])]
        return [f"{some[0][0]}: this block does not compile:\n{says}"]

    alike = {}
    for at, kind, body in blocks:
        needed = {component(name) for name in re.findall(r"#include <(cairn/[^>]*)>", body)}
        if kind == "cpp" and needed <= {None, *options.found}:
            alike.setdefault(frozenset(re.findall(r"#include [<\"](?:cairn/[^>]*|.*\")", as_file(body))), []).append((at, body))
    groups = [some[i:i + TOGETHER] for some in alike.values() for i in range(0, len(some), TOGETHER)]
    return found + [fault for some in spread(attempt, groups) for fault in some]


if __name__ == "__main__":
    small = SMALL_HOUSE["README.md"]
    linked = small + "[more](examples/more.md)\n"
    run(faults, [
        ({"README.md": "```cpp\nint n = 0;\n```\n" + small}, r"first two fenced blocks"),
        ({"README.md": small.replace("ctest", "make")}, r"the second runs ctest"),
        ({"README.md": small.replace("walk", "run")}, r"build/examples/run, which examples/ does not make"),
        ({"examples/walk.cpp": SPDX}, r"build/examples/walk, which no test runs"),
        ({"README.md": small.replace("size()", "sizes()")}, r"README.md:11: this block does not compile"),
        ({"README.md": small + "```cpp\nconst int threads{2};\nstatic_cast<void>(threads);\n```\n"},
         r"README.md:15, over loopback: this block does not compile"),
        ({"README.md": small + "```cpp\n#include <cairn/net/pear.hpp>\n```\n"}, r"README.md:15: this block"),
        ({"README.md": small + "\n" * 200}, r"README.md: 214 lines"),
        ({"README.md": small + "## One\n\n## Two\n[one](#one)\n"}, r"table of contents lacks #two"),
        ({"README.md": small + "[one](#one)\n"}, r"links to #one, which has no such heading"),
        ({"README.md": small, "examples/more.md": "# More\n"}, r"no link to examples/more.md"),
        ({"README.md": small + "[more](examples/more.md)\n"}, r"links to examples/more.md, which is not there"),
        ({"README.md": linked, "examples/more.md": "```cpp\nint n = sizes();\n```\n"}, r"more.md:1: this block does not compile"),
        ({"README.md": linked, "examples/more.md": "`build/examples/run`\n"}, r"more.md: names build/examples/run"),
        ({"examples/walk.cpp": SPDX + "// test:\nusing namespace cairn;\nstruct Swish {};\n"}, r"walk.cpp: Swish could be"),
        ({"README.md": small + "```cpp\n#include <cairn/net/pair.hpp>\nusing namespace cairn;\nstruct Swish {};\n```\n"},
         r"README.md:15: Swish could be"),
    ], small={"examples/walk.cpp": SPDX + "// test:\n"})
