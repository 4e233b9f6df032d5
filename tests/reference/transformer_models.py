# SPDX-License-Identifier: MIT
"""Small models with random weights, GPT-2 as GPT2LMHeadModel and BERT as BertForMaskedLM of Hugging Face's library compute them,
and their files beside this script, without what is tied:

    python tests/reference/transformer_models.py

gpt2_model.safetensors   F32, as GPT2LMHeadModel.save_pretrained() writes it
bert_model.safetensors   F32, as BertForMaskedLM.save_pretrained() writes it

Needs PyTorch. make.py writes the logits of both in double. The modules below have the names and the arguments of Hugging Face's;
with its library installed,

    python tests/reference/transformer_models.py --compare

loads the weights into its own models and prints the largest difference of the logits.
"""
import argparse
import pathlib

import torch
from torch import nn
from torch.nn import functional as F

from transformer_files import write_file

WIDTH, HEADS, LAYERS = 8, 2, 2
# The longest sequences of the files are longer than those of the tests.
GPT2 = {"vocabulary": 13, "positions": 7, "tokens": [[3, 0, 12, 7, 7], [1, 11, 2, 5, 4], [9, 8, 10, 6, 0]]}
BERT = {"vocabulary": 11, "positions": 8, "tokens": [[2, 5, 10, 0, 7, 3], [9, 9, 1, 4, 8, 6]],
        "segments": [[0, 0, 0, 1, 1, 1], [0, 1, 1, 1, 0, 0]]}


class Conv1D(nn.Module):
    """A Linear whose weight is (in, out)."""

    def __init__(self, made, taken):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(taken, made))
        self.bias = nn.Parameter(torch.empty(made))

    def forward(self, x):
        return x @ self.weight + self.bias


def attention(query, key, value, causal):
    """Of (batch, T, WIDTH), heads side by side."""
    def heads(x):
        return x.unflatten(-1, (HEADS, WIDTH // HEADS)).transpose(1, 2)

    scores = heads(query) @ heads(key).transpose(-1, -2) / (WIDTH // HEADS) ** 0.5
    if causal:
        places = torch.arange(scores.shape[-1])
        scores = scores.masked_fill(places > places[:, None], -torch.inf)
    return (scores.softmax(-1) @ heads(value)).transpose(1, 2).flatten(-2)


class Gpt2(nn.Module):
    def __init__(self):
        super().__init__()
        self.transformer = nn.ModuleDict({
            "wte": nn.Embedding(GPT2["vocabulary"], WIDTH), "wpe": nn.Embedding(GPT2["positions"], WIDTH),
            "h": nn.ModuleList([nn.ModuleDict({
                "ln_1": nn.LayerNorm(WIDTH),
                "attn": nn.ModuleDict({"c_attn": Conv1D(3 * WIDTH, WIDTH), "c_proj": Conv1D(WIDTH, WIDTH)}),
                "ln_2": nn.LayerNorm(WIDTH),
                "mlp": nn.ModuleDict({"c_fc": Conv1D(4 * WIDTH, WIDTH), "c_proj": Conv1D(WIDTH, 4 * WIDTH)}),
            }) for _ in range(LAYERS)]),
            "ln_f": nn.LayerNorm(WIDTH)})

    def forward(self, tokens):
        body = self.transformer
        x = body["wte"](tokens) + body["wpe"].weight[:tokens.shape[1]]
        for block in body["h"]:
            q, k, v = block["attn"]["c_attn"](block["ln_1"](x)).chunk(3, -1)
            x = x + block["attn"]["c_proj"](attention(q, k, v, True))
            x = x + block["mlp"]["c_proj"](F.gelu(block["mlp"]["c_fc"](block["ln_2"](x)), approximate="tanh"))
        return body["ln_f"](x) @ body["wte"].weight.T


class Bert(nn.Module):
    def __init__(self):
        super().__init__()

        def norm():
            return nn.LayerNorm(WIDTH, eps=1e-12)

        def last(taken):
            return nn.ModuleDict({"dense": nn.Linear(taken, WIDTH), "LayerNorm": norm()})

        self.bert = nn.ModuleDict({
            "embeddings": nn.ModuleDict({
                "word_embeddings": nn.Embedding(BERT["vocabulary"], WIDTH),
                "position_embeddings": nn.Embedding(BERT["positions"], WIDTH),
                "token_type_embeddings": nn.Embedding(2, WIDTH), "LayerNorm": norm()}),
            "encoder": nn.ModuleDict({"layer": nn.ModuleList([nn.ModuleDict({
                "attention": nn.ModuleDict({
                    "self": nn.ModuleDict({part: nn.Linear(WIDTH, WIDTH) for part in ("query", "key", "value")}),
                    "output": last(WIDTH)}),
                "intermediate": nn.ModuleDict({"dense": nn.Linear(WIDTH, 4 * WIDTH)}),
                "output": last(4 * WIDTH),
            }) for _ in range(LAYERS)])})})
        self.cls = nn.ModuleDict({"predictions": nn.ModuleDict({"transform": last(WIDTH)})})
        self.cls["predictions"].bias = nn.Parameter(torch.empty(BERT["vocabulary"]))

    def forward(self, tokens, segments):
        tables, head = self.bert["embeddings"], self.cls["predictions"]
        x = tables["word_embeddings"](tokens) + tables["token_type_embeddings"](segments)
        x = tables["LayerNorm"](x + tables["position_embeddings"].weight[:tokens.shape[1]])
        for block in self.bert["encoder"]["layer"]:
            projections = [block["attention"]["self"][part](x) for part in ("query", "key", "value")]
            after = block["attention"]["output"]
            x = after["LayerNorm"](x + after["dense"](attention(*projections, False)))
            after = block["output"]
            x = after["LayerNorm"](x + after["dense"](F.gelu(block["intermediate"]["dense"](x))))
        x = head["transform"]["LayerNorm"](F.gelu(head["transform"]["dense"](x)))
        return x @ tables["word_embeddings"].weight.T + head.bias


def with_weights(model, seed):
    """In double, all of them floats. Norms are around one and zero."""
    torch.manual_seed(seed)
    for name, parameter in model.named_parameters():
        is_scale = "weight" in name and parameter.dim() == 1
        parameter.data = (0.5 * torch.randn(*parameter.shape) + (1.0 if is_scale else 0.0)).float().double()
    return model


def models():
    """(name, model, its integer inputs)"""
    return [("gpt2", with_weights(Gpt2(), 29), [torch.tensor(GPT2["tokens"])]),
            ("bert", with_weights(Bert(), 30), [torch.tensor(BERT[part]) for part in ("tokens", "segments")])]


def compare():
    import transformers
    sizes = {"hidden_size": WIDTH, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS}
    others = {
        "gpt2": transformers.GPT2LMHeadModel(transformers.GPT2Config(
            vocab_size=GPT2["vocabulary"], n_positions=GPT2["positions"], n_embd=WIDTH, n_layer=LAYERS, n_head=HEADS)),
        "bert": transformers.BertForMaskedLM(transformers.BertConfig(
            vocab_size=BERT["vocabulary"], max_position_embeddings=BERT["positions"], intermediate_size=4 * WIDTH, **sizes))}
    for name, model, inputs in models():
        other = others[name].double().eval()
        missing, unexpected = other.load_state_dict(model.state_dict(), strict=False)
        other.tie_weights()
        by_name = dict(zip(("input_ids", "token_type_ids"), inputs))
        difference = (other(**by_name).logits - model(*inputs)).abs().max().item()
        print(f"{name}: {difference:.2e} from transformers {transformers.__version__}; tied: {missing}, unexpected: {unexpected}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compare", action="store_true", help="with Hugging Face's models, and write nothing")
    if parser.parse_args().compare:
        compare()
    else:
        for file, made, _ in models():
            write_file(pathlib.Path(__file__).parent / f"{file}_model.safetensors", {
                name: ("F32", tensor.shape, tensor.numpy().astype("<f4").tobytes()) for name, tensor in made.state_dict().items()})
