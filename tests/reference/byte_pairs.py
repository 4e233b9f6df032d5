# SPDX-License-Identifier: MIT
"""Writes the small vocabulary of byte pairs with which text::byte_pairs is tested, and texts with their tokens.

    python3 tests/reference/byte_pairs.py

It trains on a generated text, which is the same on every run, and writes vocab.json and merges.txt as GPT-2 has them, and
encodings.txt: a line has the bytes of a text in hexadecimal, ':' and its tokens. The tokens are those of the published algorithm,
written down here anew; Hugging Face's tokenizers and OpenAI's tiktoken have to agree. Needs regex, tokenizers and tiktoken.
"""
import collections
import json
import pathlib
import random

import regex
import tiktoken
import tokenizers

FOLDER = pathlib.Path(__file__).resolve().parent / "byte_pairs"
PIECE = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
MERGES = 250
WORDS = ("the stone path goes on and on where walkers pile stones one by one we'll see they're here it's I've don't he'd I'm "
         "mountain mountains walking walked marks trail trails back again against great greater greatest under understand "
         "caf\u00e9 na\u00efve \u00fcber \u03c0\u03ad\u03c4\u03c1\u03b1 \u03ba\u03b1\u03b9 \u043a\u0430\u043c\u0435\u043d\u044c "
         "\u77f3\u304c\u3042\u308b \U0001faa8 12 1984 2026 3.14 x2").split(" ")
STRANGE = list("abzAZ019 '\t\n\r .,!?-_()\u00a0\u3000\u2028\u0085\u1680\u200b\u001c\u00bd\u00b2\u0663\u2167\u00e9e\u0301\u00df"
               "\u03c0\u0416\u05d0\u0645\u0939\u0902\u77f3\uac00\U0001faa8\U00020000\U0001d538\U0001d7d8\u00ad\ufeff\u0000\u007f")
ENDINGS = ["'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", "  ", " \n", "\n\n"]


def characters_of_bytes():
    visible = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [b for b in range(256) if b not in visible]
    return {**{b: chr(b) for b in visible}, **{b: chr(256 + i) for i, b in enumerate(others)}}


WRITTEN = characters_of_bytes()
# The numbers of the single bytes are in the order of their characters, as in GPT-2's file.
BYTES = sorted(WRITTEN.values())


def generated(draw, words):
    parts = []
    for _ in range(words):
        parts.append(draw.choice(WORDS) if draw.random() < 0.9 else draw.choice(WORDS).capitalize())
        parts.append(draw.choices([" ", ", ", ". ", "\n", "  ", "\n\n", "! ", " - "], [70, 8, 8, 5, 2, 2, 2, 1])[0])
    return "".join(parts)


def written(piece):
    return tuple(WRITTEN[b] for b in piece.encode())


def joined(word, pair):
    """All neighbours of `word` that are this pair, joined from left to right."""
    out, at = [], 0
    while at < len(word):
        both = word[at:at + 2] == pair
        out.append(word[at] + word[at + 1] if both else word[at])
        at += 2 if both else 1
    return tuple(out)


def trained(text):
    words = collections.Counter(written(piece) for piece in regex.findall(PIECE, text))
    merges = []
    while len(merges) < MERGES:
        pairs = collections.Counter()
        for word, count in words.items():
            for pair in zip(word, word[1:]):
                pairs[pair] += count
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        merges.append(best)
        again = collections.Counter()
        for word, count in words.items():
            again[joined(word, best)] += count
        words = again
    return merges


def encoded(text, ranks, numbers):
    out = []
    for piece in regex.findall(PIECE, text):
        word = written(piece)
        while len(word) > 1:
            best = min(zip(word, word[1:]), key=lambda pair: ranks.get(pair, len(ranks)))
            if best not in ranks:
                break
            word = joined(word, best)
        out += [numbers[token] for token in word]
    return out


def main():
    draw = random.Random(7)
    merges = trained(generated(draw, 6000))
    names = list(dict.fromkeys([*BYTES, *(left + right for left, right in merges), "<|endoftext|>"]))
    assert len(names) == 256 + MERGES + 1
    numbers = {name: i for i, name in enumerate(names)}
    ranks = {pair: i for i, pair in enumerate(merges)}

    texts = ["", "a", " ", "  ", "\n", " \n ", "the stones", " the stones", "it's we'll they've I'd IT'S 's", "a  b   c\n\nd \n",
             "don't", "<|endoftext|>", "aaaaaaaaa", "1984 in 3.14", "\u77f3\u304c\u3042\u308b", "'" * 5, "'ll'll 'll", "x\u001cy"]
    texts += [generated(draw, 12) for _ in range(40)]
    for _ in range(400):
        texts.append("".join(draw.choice(draw.choice([STRANGE, ENDINGS, WORDS])) for _ in range(draw.randrange(1, 14))))

    of_byte = {character: bytes([b]) for b, character in WRITTEN.items()}
    theirs = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=numbers, merges=merges))
    theirs.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tik = tiktoken.Encoding("small", pat_str=PIECE, special_tokens={}, mergeable_ranks={
        b"".join(of_byte[c] for c in name): i for name, i in numbers.items() if name != "<|endoftext|>"})
    lines = []
    for text in texts:
        tokens = encoded(text, ranks, numbers)
        for name, other in (("tokenizers", theirs.encode(text).ids), ("tiktoken", tik.encode_ordinary(text))):
            assert tokens == other, f"{name} differs for {text!r}: {tokens}, {other}"
        lines.append(f"{text.encode().hex()}:{' '.join(map(str, tokens))}\n")

    FOLDER.mkdir(exist_ok=True)
    (FOLDER / "vocab.json").write_text(json.dumps(numbers))
    (FOLDER / "merges.txt").write_text("#version: 0.2\n" + "".join(f"{left} {right}\n" for left, right in merges))
    (FOLDER / "encodings.txt").write_text("".join(lines))


if __name__ == "__main__":
    main()
