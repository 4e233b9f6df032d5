# SPDX-License-Identifier: MIT
"""Every name that a user may type is on a page: in code in README.md or on a page of examples/.

A name is a type, a function, a variable or a concept of the namespace cairn or of one inside it. The fields of structs in the
rooms TOLD are names too, as in `{.seed = 7}`, and so are the members of the types HELD. cairn::detail is not for users. Headers
for nvcc need no page. Every word beside PyTorch's names on SIDE_BY_SIDE must be in a header, outside of comments and texts.

The namespace cairn itself holds what programs usually type: at most MOST names, each in one row of the tables on ALL.
"""
import re

from house import SPDX, cuda_headers, headers, room, run

# Rooms whose structs have fields that a program names.
TOLD = ("comm", "data", "train", "report")
# Types whose members a program calls.
HELD = ("trainer", "session", "loader", "fit_run", "fit_result", "progress", "memory_curve", "safetensors_file", "loaded_weights",
        "table", "network_summary", "step_prediction", "stop_signals")
# Names that are not for users, and cannot move to cairn::detail.
EXCEPTIONS = {
    "fit_run::trainer_type": "for callbacks that are templates", "fit_run::loader_type": "the same",
    "loader::value_type": "as containers have it", "loader::iterator": "as containers have it",
    "loader::most_rows": "asked by fit", "loader::readers": "asked by fit", "loader::share_of_steps": "asked by a state",
    "named_parameter::leaf": "a place in the network", "named_parameter::index": "a place in the network",
    "named_parameter::place": "a place in the network",
    "trainer::on_discard": "for tests",
}

SIDE_BY_SIDE = "examples/from_pytorch.md"
ALL = "examples/names.md"
MOST = 199
ROW = re.compile(r"^\| `(\w+)` \|", re.M)

NOISE = re.compile(r'R"\((?:.|\n)*?\)"|"(?:[^"\\\n]|\\.)*"|(?<!\w)\'(?:[^\'\\\n]|\\.)+\'|'  # texts
                   r"//[^\n]*|/\*.*?\*/|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.S | re.M)   # comments, and what the preprocessor reads
TOKEN = re.compile(r"[A-Za-z_]\w*|[0-9][\w.']*|::|<=|>=|==|!=|->|&&|\|\||\S")
NAME = re.compile(r"[A-Za-z_]\w*$")
CODE = re.compile(r"^```cpp\n(.*?)^```$|`([^`\n]+)`", re.M | re.S)
NO_NAME = {"CAIRN_COMPILED", "friend", "static_assert", "extern", "typedef", "namespace"}
BEFORE_A_BRACKET = {"decltype", "noexcept", "explicit", "alignas", "requires", "if"}


def tokens_of(text):
    return TOKEN.findall(NOISE.sub(lambda found: " " if found[0][0] in "/#\t " else '"', text))


def statements(tokens, at, end):
    """Yields (words of a declaration, where its braces begin, where they end); without braces the last two are None."""
    head, depth = [], 0
    while at < end:
        token = tokens[at]
        depth += (token in "([") - (token in ")]")
        if token == "{":
            close, open_braces = at + 1, 1
            while open_braces:
                open_braces += (tokens[close] == "{") - (tokens[close] == "}")
                close += 1
            if depth == 0 and not opens_template(head):
                yield head, at + 1, close - 1
                head = []
            at = close
            continue
        if token == ";" and depth == 0:
            yield head, None, None
            head = []
        else:
            head.append(token)
        at += 1


def opens_template(head):
    """Whether the words end inside a list of template parameters, whose defaults may have braces."""
    depth = 0
    for at, token in enumerate(head[1:] if head[:1] == ["template"] else []):
        depth += (token == "<") - (token == ">")
        if depth == 0:
            return opens_template(head[at + 2:])
    return depth > 0


def without_template(head):
    while head and head[0] == "template":
        depth, at = 0, 1
        while at < len(head):
            depth += (head[at] == "<") - (head[at] == ">")
            at += 1
            if depth == 0:
                break
        head = head[at:]
        if head and head[0] == "requires":  # the constraint ends where a declaration can begin
            starts = ("struct", "class", "using", "inline", "constexpr", "concept", "void", "auto", "friend", "template")
            head = head[next((i for i, word in enumerate(head) if word in starts), len(head)):]
    return head


def declared(head):
    """(kind, name) of a declaration, or None where it declares no new name."""
    while head[:1] == ["["]:
        depth = 0
        for at, token in enumerate(head):
            depth += (token == "[") - (token == "]")
            if depth == 0:
                break
        head = head[at + 1:]
    if not head or head[0] in NO_NAME or "operator" in head:
        return None
    if head[0] in ("struct", "class", "enum", "union"):
        words = [word for word in head[1:] if word not in ("class", "final")]
        if not words or not NAME.match(words[0]) or words[1:2] == ["<"]:
            return None  # a specialization, or a class without a name
        return head[0], words[0]
    if head[0] == "concept":
        return "concept", head[1]
    if head[0] == "using":
        return ("using", head[1]) if "=" in head else None
    depth, name = 0, None
    for at, token in enumerate(head):
        before = head[at - 1] if at else ""
        if token == "<" and NAME.match(before):
            if depth == 0:
                name = before
            depth += 1
        elif token == ">" and depth:
            depth -= 1
        elif depth == 0 and token == "(" and NAME.match(before) and before not in BEFORE_A_BRACKET:
            return None if "::" in head[at - 2:at] else ("function", before)  # a member, defined outside of its class
        elif depth == 0 and token == "=":
            return None if before == ">" else ("variable", name_before(head, at))
    return None if head[-1] == ">" or len(head) < 2 else ("variable", name_before(head, len(head)))


def name_before(head, at):
    """The name that is declared before this place: the last one outside of brackets."""
    depth = 0
    for token in reversed(head[:at]):
        depth += (token == "]") - (token == "[")
        if depth == 0 and NAME.match(token):
            return token
    return ""


def members(tokens, begin, end, whose, is_public):
    """Yields (kind, name) of the public members, without constructors."""
    for head, _, _ in statements(tokens, begin, end):
        while len(head) >= 2 and head[0] in ("public", "private", "protected") and head[1] == ":":
            is_public, head = head[0] == "public", head[2:]
        if not is_public:
            continue
        several = "(" not in head and "<" not in head and "," in head and "struct" not in head
        found = declared(without_template(head))
        if not found or not found[1] or found[1].endswith("_") or found[1] == whose:
            continue
        kind = "static" if head[0] == "static" or "static" in head[:3] else found[0]
        yield kind, found[1]
        if several:  # double a = 0, b = 0
            for at, token in enumerate(head):
                if token == ",":
                    yield kind, head[at + 1]


def names_of(text, place):
    """Yields (namespace, name) for the names that a header has for users; fields and members as told::first."""
    tokens = tokens_of(text)

    def walk(begin, end, space):
        for head, at, until in statements(tokens, begin, end):
            if "namespace" in head[:2]:
                if at is not None:
                    yield from walk(at, until, "::".join(filter(None, (space, "".join(head[head.index("namespace") + 1:])))))
                continue
            if space.split("::")[0] != "cairn" or "detail" in space.split("::"):
                continue
            found = declared(without_template(head))
            if not found or not found[1]:
                continue
            kind, name = found
            yield space, name
            if at is None or kind not in ("struct", "class"):
                continue
            for its_kind, member in members(tokens, at, until, name, kind == "struct"):
                if name in HELD or (kind == "struct" and place in TOLD and its_kind == "variable"):
                    yield space, f"{name}::{member}"
            nested = [(h, b, e) for h, b, e in statements(tokens, at, until) if h[-2:] == ["struct", "options"]]
            for _, b, e in nested:
                for its_kind, member in members(tokens, b, e, "options", True):
                    if its_kind == "variable":
                        yield space, f"{name}::options::{member}"

    yield from walk(0, len(tokens), "")


def words_of_pages(root):
    words = set()
    for page in [root / "README.md", *sorted((root / "examples").glob("*.md"))]:
        if page.exists() and page != root / ALL:
            for block, span in CODE.findall(page.read_text()):
                words.update(re.findall(r"[A-Za-z_]\w*", block or span))
    return words


def beside(root):
    """Yields (line, word) for the code in the second column of SIDE_BY_SIDE."""
    page = root / SIDE_BY_SIDE
    for number, line in enumerate(page.read_text().splitlines() if page.exists() else [], 1):
        cells = re.split(r" \| |^\| | \|$", line)
        if line.startswith("| ") and len(cells) > 2:
            for code in re.findall(r"`([^`]+)`", cells[2]):
                yield from ((number, word) for word in re.findall(r"[A-Za-z_]\w*", re.sub(r'"[^"]*"', "", code)))


def wrong_rows(root, names):
    """The faults of the tables of all names."""
    page = root / ALL
    if not page.exists():
        return [f"{ALL} is not there"]
    rows = ROW.findall(page.read_text())
    found = [f"{ALL}: {name} is in {rows.count(name)} rows, expected one" for name in sorted(names) if rows.count(name) != 1]
    found += [f"{ALL}: {name} is no name of the namespace cairn" for name in sorted({*rows} - names)]
    if len(names) > MOST:
        found.append(f"the namespace cairn has {len(names)} names, at most {MOST}; what programs seldom type belongs in one "
                     "inside it")
    return found


def faults(root, _options=None):
    words, seen, known, found, own = words_of_pages(root), set(), set(), [], set()  # own: of cairn itself

    def names_in(header):
        text = (root / "include" / header).read_text()
        known.update(tokens_of(text))
        for space, name in names_of(text, room(header)):
            if space == "cairn" and "::" not in name:
                own.add(name)
            yield name

    for header in headers(root):
        for name in names_in(header):
            seen.add(name)
            if name.split("::")[-1] not in words and name not in EXCEPTIONS:
                found.append(f"include/{header}: {name} stands on no page; say in examples/ what it is for, or move it to "
                             "cairn::detail")
    for header in cuda_headers(root):
        list(names_in(header))
    found += wrong_rows(root, own)
    found += [f"{SIDE_BY_SIDE}:{line}: {word} is in no header" for line, word in beside(root) if word not in known]
    if len(seen) > 100:  # not in the small house, which has none of them
        found += [f"tests/checks/pages_name.py: {name} is an exception, and is not there"
                  for name in EXCEPTIONS if name not in seen]
    return found


if __name__ == "__main__":
    header = SPDX + """#pragma once
namespace cairn {
template <class T>
  requires (sizeof(T) > 1)
struct rest {
  int hidden = 0;
};
namespace detail {
struct inner {};
} // namespace detail
// struct talk {};
struct told {
  double first = 1, second = 2; // "struct text {};"
  std::array<double, 2> third{1, 2};
  static constexpr int most = 3;
  int own() const { return 0; }
};
class table {
public:
  table();
  int rows() const { return n_; }

private:
  int n_ = 0;
  int unseen() const;
};
template <class T, int N>
inline constexpr int count_of<T[N]> = N;
template <class T = double, fraction Default = fraction{1, 2}>
inline constexpr int width_of = sizeof(T);
std::vector<int> make(int n = 0);
} // namespace cairn
"""
    page = ("`size()` `pair` `rest` `told` `first`, `second` `table` `rows` `width_of` `make`\n\n"
            "```cpp\ntold{.third = {1}};\n```\n")
    name = "include/cairn/plan/rest.hpp"
    table = "".join(f"| `{word}` | what it is |\n" for word in ("size", "pair", "rest", "told", "table", "width_of", "make"))
    small = {"include/cairn/train/told.hpp": header.replace("int hidden = 0;", ""), "examples/pair.md": page, ALL: table,
             SIDE_BY_SIDE: "| PyTorch | Cairn | |\n|---|---|---|\n| `nn.Told` | `told` | |\n"}
    told = "include/cairn/train/told.hpp"
    run(faults, [
        ({"examples/pair.md": page.replace("`pair`", "pair")}, r"net/pair.hpp: pair stands on no page"),
        ({"README.md": "# Small\n", "examples/pair.md": page.replace("`size()` ", "")}, r"core/size.hpp: size stands"),
        *(({"examples/pair.md": page.replace(word, "")}, rf"train/told.hpp: {full} stands on no page")
          for word, full in (("`rest`", "rest"), ("`first`", "told::first"), ("`second`", "told::second"),
                             (".third", "told::third"), ("`rows`", "table::rows"), ("`width_of`", "width_of"),
                             ("`make`", "make"))),
        ({told: header}, r"told.hpp: rest::hidden stands"),
        ({SIDE_BY_SIDE: "| a told talk | `told`, `talk<2>` | |\n"}, r"from_pytorch.md:1: talk is in no header"),
        ({name: header.replace("struct told", "enum class told").replace("struct rest", "using fresh = int; struct rest")},
         r"plan/rest.hpp: fresh stands"),
        ({told: header.replace("// struct talk", "struct talk")}, r"told.hpp: talk stands"),
        ({told: header.replace("struct inner {};", "} struct inner {}; namespace detail {")}, r"told.hpp: inner stands"),
        ({told: header.replace("int n_ = 0", "struct options { int late = 1; }; int n_").replace("private:", "")},
         r"told.hpp: table::options::late stands"),
        ({told: header.replace("namespace detail {", "namespace told_of {")}, r"told.hpp: inner stands"),
        ({ALL: table.replace("| `pair` | what it is |\n", "")}, r"names.md: pair is in 0 rows"),
        ({ALL: table + "| `made_up` | |\n"}, r"names.md: made_up is no name"),
        ({told: header + "namespace cairn {\n" + "".join(f"struct t{n} {{}};\n" for n in range(MOST)) + "} // namespace cairn\n"},
         r"has \d+ names, at most"),
    ], small=small)
