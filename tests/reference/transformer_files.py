#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes small files in the layouts that Hugging Face's library gives GPT-2 and BERT, beside this script:

    python3 tests/reference/transformer_files.py

gpt2.safetensors      as GPT-2's own file: (in, out) matrices, causal masks, no head, F32
bert.safetensors      as BertForPreTraining writes it today, without what is tied, BF16
bert_old.safetensors  as older files: LayerNorm.gamma and LayerNorm.beta, position_ids, no prefix, F16

Element j of a tensor is a multiple of 1/64 that depends on the tensor's name in the file, see value(); every type has it exactly.
tests/train/state/weight_sources.cpp computes the same numbers.
"""
import json
import pathlib

import numpy

LAYERS, WIDTH, HIDDEN, TOKENS, POSITIONS = 2, 4, 6, 5, 7


def value(name, count):
    start = 0
    for letter in name.encode():
        start = (31 * start + letter) % 9973
    return ((start + 7 * numpy.arange(count)) % 251 - 125) / 64


def stored(numbers, kind):
    if kind == "BF16":  # the upper half of a float
        return (numbers.astype("<f4").view("<u4") >> 16).astype("<u2").tobytes()
    return numbers.astype({"F32": "<f4", "F16": "<f2", "I64": "<i8"}[kind]).tobytes()


def write_file(path, tensors):
    """The format: the length of a header in JSON, the header, the bytes of all tensors: (type, shape, bytes) by name."""
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, (kind, shape, own_bytes) in sorted(tensors.items()):
        header[name] = {"dtype": kind, "shape": list(shape), "data_offsets": [len(data), len(data) + len(own_bytes)]}
        data += own_bytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def write(path, kind, shapes):
    tensors = {}
    for name, shape in shapes.items():
        own = "I64" if name.endswith("position_ids") else kind
        numbers = value(name, int(numpy.prod(shape, dtype=int)))
        tensors[name] = (own, shape, stored(numpy.arange(len(numbers)) if own == "I64" else numbers, own))
    write_file(path, tensors)


def layer(name, out, inputs, is_conv1d=False):
    return {f"{name}.weight": (inputs, out) if is_conv1d else (out, inputs), f"{name}.bias": (out,)}


def norm(name, weight="weight", bias="bias"):
    return {f"{name}.{weight}": (WIDTH,), f"{name}.{bias}": (WIDTH,)}


def gpt2():
    out = {"wte.weight": (TOKENS, WIDTH), "wpe.weight": (POSITIONS, WIDTH), **norm("ln_f")}
    for n in range(LAYERS):
        out |= {f"h.{n}.attn.bias": (1, 1, POSITIONS, POSITIONS), f"h.{n}.attn.masked_bias": ()}
        out |= norm(f"h.{n}.ln_1") | norm(f"h.{n}.ln_2")
        out |= layer(f"h.{n}.attn.c_attn", 3 * WIDTH, WIDTH, True) | layer(f"h.{n}.attn.c_proj", WIDTH, WIDTH, True)
        out |= layer(f"h.{n}.mlp.c_fc", HIDDEN, WIDTH, True) | layer(f"h.{n}.mlp.c_proj", WIDTH, HIDDEN, True)
    return out


def bert(prefix="bert.", of_norm=("weight", "bias")):
    at = prefix + "embeddings."
    out = {at + "word_embeddings.weight": (TOKENS, WIDTH), at + "position_embeddings.weight": (POSITIONS, WIDTH),
           at + "token_type_embeddings.weight": (2, WIDTH), **norm(at + "LayerNorm", *of_norm)}
    for n in range(LAYERS):
        at = f"{prefix}encoder.layer.{n}."
        for part in ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"):
            out |= layer(at + part, WIDTH, WIDTH)
        out |= norm(at + "attention.output.LayerNorm", *of_norm) | norm(at + "output.LayerNorm", *of_norm)
        out |= layer(at + "intermediate.dense", HIDDEN, WIDTH) | layer(at + "output.dense", WIDTH, HIDDEN)
    return out | layer(prefix + "pooler.dense", WIDTH, WIDTH)


def heads(of_norm=("weight", "bias")):
    return (layer("cls.predictions.transform.dense", WIDTH, WIDTH) | norm("cls.predictions.transform.LayerNorm", *of_norm)
            | {"cls.predictions.bias": (TOKENS,)} | layer("cls.seq_relationship", 2, WIDTH))


if __name__ == "__main__":
    here, old = pathlib.Path(__file__).parent, ("gamma", "beta")
    write(here / "gpt2.safetensors", "F32", gpt2())
    write(here / "bert.safetensors", "BF16", bert() | heads())
    write(here / "bert_old.safetensors", "F16",
          bert("", old) | heads(old) | {"embeddings.position_ids": (1, POSITIONS)})
