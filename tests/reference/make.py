# SPDX-License-Identifier: MIT
"""Writes the numbers that Cairn's tests are compared with: layers, losses and optimizers as PyTorch computes them.

    python tests/reference/make.py --output tests/reference/values.txt

Needs PyTorch. Everything is computed in double; the result is the same on every run. A line of the file is a name, '=',
and the numbers of one tensor in row-major order. Weights, gradients and so on of one case share a prefix.
"""
import argparse

import torch
from torch import nn

import transformer_models

VALUES = {}


def write(name, tensor):
    VALUES[name] = tensor.detach().reshape(-1).tolist() if isinstance(tensor, torch.Tensor) else list(tensor)


def random(*extents, scale=1.0):
    """Rounded to float, so that the float tests start from the same numbers as the double ones."""
    return (scale * torch.randn(*extents)).float().double()


def layer(name, module, *extents):
    module = module.double()
    for parameter in module.parameters():
        parameter.data = random(*parameter.shape)
    taken = random(*extents).requires_grad_()
    made = module(taken)
    gradient = random(*made.shape)
    made.backward(gradient)
    write(f"{name}/input", taken)
    write(f"{name}/output", made)
    write(f"{name}/output_gradient", gradient)
    write(f"{name}/input_gradient", taken.grad)
    for i, parameter in enumerate(module.parameters()):
        write(f"{name}/parameter{i}", parameter)
        write(f"{name}/gradient{i}", parameter.grad)


def layers():
    layer("linear", nn.Linear(5, 3), 4, 5)
    layer("linear_no_bias", nn.Linear(6, 2, bias=False), 3, 6)
    layer("linear_rank_3", nn.Linear(3, 4), 2, 3, 3)
    layer("relu", nn.ReLU(), 4, 7)
    layer("gelu", nn.GELU(), 4, 9)
    layer("tanh", nn.Tanh(), 4, 7)
    layer("sigmoid", nn.Sigmoid(), 4, 7)
    layer("layer_norm", nn.LayerNorm(6), 4, 6)
    layer("layer_norm_rank_3", nn.LayerNorm(19), 2, 3, 19)
    layer("flatten", nn.Flatten(), 2, 3, 4)


def activations():
    torch.manual_seed(21)
    layer("silu", nn.SiLU(), 4, 9)
    layer("tanh_gelu", nn.GELU(approximate="tanh"), 4, 9)
    layer("leaky_relu", nn.LeakyReLU(), 4, 9)
    layer("leaky_relu_slope", nn.LeakyReLU(0.25), 4, 9)
    layer("leaky_relu_negative", nn.LeakyReLU(-0.5), 4, 9)
    layer("elu", nn.ELU(), 4, 9)
    layer("elu_alpha", nn.ELU(0.75), 4, 9)


def rows():
    torch.manual_seed(22)
    layer("rms_norm", nn.RMSNorm(6), 4, 6)
    layer("rms_norm_eps", nn.RMSNorm(19, eps=0.1), 2, 3, 19)
    layer("softmax", nn.Softmax(dim=-1), 4, 7)
    layer("softmax_rank_3", nn.Softmax(dim=-1), 2, 3, 70)


def losses():
    def loss(name, module, output, target):
        output.requires_grad_()
        value = module(output, target)
        value.backward()
        write(f"{name}/output", output)
        write(f"{name}/targets", target)
        write(f"{name}/loss", value)
        write(f"{name}/output_gradient", output.grad)

    loss("cross_entropy", nn.CrossEntropyLoss(), random(5, 4, scale=3), torch.tensor([0, 3, 1, 1, 2]))
    loss("cross_entropy_large", nn.CrossEntropyLoss(), random(4, 19, scale=200), torch.tensor([18, 0, 7, 7]))
    # Cairn's classes are the innermost extent, PyTorch's are the second.
    output, target = random(2, 3, 4), torch.tensor([[0, 3, 2], [1, 1, 0]])
    loss("cross_entropy_rank_3", lambda o, t: nn.CrossEntropyLoss()(o.movedim(2, 1), t), output, target)
    loss("mse", nn.MSELoss(), random(4, 5), random(4, 5))


STEPS, COUNT = 6, 21

# The options' names here are Cairn's in tests/train.
OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1),
    "sgd_momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    "sgd_nesterov": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.8, nesterov=True, weight_decay=0.01),
    "sgd_dampening": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.3, weight_decay=0.1),
    "sgd_weight_decay": lambda p: torch.optim.SGD(p, lr=0.1, weight_decay=0.2),
    "adam": lambda p: torch.optim.Adam(p),
    "adam_options": lambda p: torch.optim.Adam(p, lr=0.02, betas=(0.8, 0.95), eps=1e-5, weight_decay=0.1),
    "adamw": lambda p: torch.optim.AdamW(p),
    "adamw_options": lambda p: torch.optim.AdamW(p, lr=0.03, betas=(0.7, 0.9), eps=1e-6, weight_decay=0.3),
}


def optimizers():
    start, gradients = random(COUNT), random(STEPS, COUNT)
    write("optimizer/start", start)
    write("optimizer/gradients", gradients)
    for name, make in OPTIMIZERS.items():
        parameter = nn.Parameter(start.clone())
        optimizer = make([parameter])
        steps = []
        for gradient in gradients:
            parameter.grad = gradient.clone()
            optimizer.step()
            steps.append(parameter.detach().clone())
        write(f"optimizer/{name}", torch.stack(steps))


def averages():
    """Moving averages of what an SGD with momentum makes of the same gradients."""
    start = torch.tensor(VALUES["optimizer/start"]).double()
    gradients = torch.tensor(VALUES["optimizer/gradients"]).double().reshape(STEPS, COUNT)
    module = nn.Linear(COUNT, 1, bias=False).double()
    module.weight.data = start.clone().reshape(1, COUNT)
    averaged = torch.optim.swa_utils.AveragedModel(module, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9))
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1, momentum=0.9)
    steps = []
    for gradient in gradients:
        module.weight.grad = gradient.clone().reshape(1, COUNT)
        optimizer.step()
        averaged.update_parameters(module)
        steps.append(averaged.module.weight.detach().clone())
    write("optimizer/ema", torch.stack(steps))


def rates(name, make, steps):
    parameter = nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([parameter], lr=0.5)
    schedule = make(optimizer)
    found = []
    for _ in range(steps):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    write(f"rate/{name}", found)


def schedules():
    lr = torch.optim.lr_scheduler
    rates("step", lambda o: lr.StepLR(o, step_size=3, gamma=0.5), 10)
    rates("cosine", lambda o: lr.CosineAnnealingLR(o, T_max=8, eta_min=0.01), 9)
    rates("cosine_warm_up", lambda o: lr.SequentialLR(o, [
        lr.LinearLR(o, start_factor=0.25, total_iters=4), lr.CosineAnnealingLR(o, T_max=8, eta_min=0.02)], [4]), 13)
    rates("linear", lambda o: lr.LinearLR(o, start_factor=0.25, end_factor=0.9, total_iters=7), 40)
    rates("linear_down", lambda o: lr.LinearLR(o, start_factor=1, end_factor=0, total_iters=30), 40)
    rates("exponential", lambda o: lr.ExponentialLR(o, gamma=0.93), 60)
    rates("cosine_restarts", lambda o: lr.CosineAnnealingWarmRestarts(o, T_0=7, eta_min=0.02), 60)
    rates("cosine_restarts_longer", lambda o: lr.CosineAnnealingWarmRestarts(o, T_0=3, T_mult=2), 100)
    rates("one_cycle", lambda o: lr.OneCycleLR(o, max_lr=0.5, total_steps=60), 60)
    rates("one_cycle_options", lambda o: lr.OneCycleLR(
        o, max_lr=0.5, total_steps=33, pct_start=0.41, div_factor=7, final_div_factor=90), 33)
    rates("one_cycle_falling", lambda o: lr.OneCycleLR(o, max_lr=0.5, total_steps=12, pct_start=0.05), 12)
    rates("multi_step", lambda o: lr.MultiStepLR(o, milestones=[4, 9, 17], gamma=0.1), 30)
    rates("interpolated", lambda o: lr.SequentialLR(o, [
        lr.LinearLR(o, start_factor=0.2, total_iters=10), lr.LinearLR(o, start_factor=1, end_factor=0.5, total_iters=20)], [10]), 50)


def clipping():
    for name, size in (("small", 0.1), ("large", 3.0)):
        parameter = nn.Parameter(torch.zeros(37).double())
        gradient = random(37, scale=size)
        parameter.grad = gradient.clone()
        norm = torch.nn.utils.clip_grad_norm_([parameter], 2.0)
        write(f"clip_{name}/gradient", gradient)
        write(f"clip_{name}/norm", norm)
        write(f"clip_{name}/clipped", parameter.grad)


def several():
    """A network whose blocks pass (hidden, mask) along, then (value, gate): as in tests/train/trainer/several.cpp."""
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.up, self.down = nn.LayerNorm(8), nn.Linear(8, 10), nn.Linear(10, 8)

        def forward(self, hidden, mask):
            return hidden + mask * self.down(torch.nn.functional.gelu(self.up(self.norm(hidden)))), mask

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.blocks = nn.Linear(6, 8), nn.ModuleList([Block(), Block()])
            self.value, self.gate = nn.Parameter(torch.zeros(8)), nn.Parameter(torch.zeros(8))
            self.inner, self.last = nn.Linear(8, 8), nn.Linear(8, 3)

        def forward(self, hidden, mask, positions):
            hidden = self.first(hidden) + positions
            for block in self.blocks:
                hidden, mask = block(hidden, mask)
            value, gate = self.value * hidden, self.gate * hidden
            return self.last(torch.tanh(self.inner(value)) * gate)

    net = Net().double()
    # As they stand in the network, which is not the order in which PyTorch names them.
    parameters = [*net.first.parameters(), *net.blocks.parameters(), net.value, net.gate,
                  *net.inner.parameters(), *net.last.parameters()]
    for i, parameter in enumerate(parameters):
        parameter.data = random(*parameter.shape, scale=0.5)
        write(f"several/parameter{i}", parameter)
    inputs = {"hidden": random(4, 6), "mask": (torch.rand(4, 8) < 0.7).double(), "positions": random(4, 8)}
    for name, numbers in inputs.items():
        write(f"several/{name}", numbers)
    targets = random(4, 3)
    output = net(**inputs)
    loss = nn.MSELoss()(output, targets)
    loss.backward()
    write("several/targets", targets)
    write("several/output", output)
    write("several/loss", loss)
    for i, parameter in enumerate(parameters):
        write(f"several/gradient{i}", parameter.grad)


def batch_norm():
    """One training step from running statistics of 0 and 1, and what evaluation makes of the same input after it."""
    module = nn.BatchNorm1d(19)
    layer("batch_norm", module, 7, 19)
    write("batch_norm/running_mean", module.running_mean)
    write("batch_norm/running_variance", module.running_var)
    module.eval()
    write("batch_norm/evaluated", module(torch.tensor(VALUES["batch_norm/input"]).double().reshape(7, 19)))


class Standardize(nn.Module):
    """As torchvision's Normalize(mean, std), of the last extent."""

    def __init__(self, mean, std):
        super().__init__()
        self.register_buffer("mean", mean)
        self.register_buffer("std", std)

    def forward(self, x):
        return (x - self.mean) / self.std


def standardized():
    """The statistics of rows, as torch finds them, and the layer with these rounded to float, on other rows."""
    torch.manual_seed(47)
    rows = random(50, 7) * torch.arange(1, 8).double() + 10 * torch.arange(7).double()
    rows = rows.float().double()
    write("standardize/rows", rows)
    write("standardize/mean", rows.mean(0))
    write("standardize/std", rows.std(0, correction=0))
    layer("standardize", Standardize(rows.mean(0).float(), rows.std(0, correction=0).float()), 4, 3, 7)


def embedding():
    """A vocabulary of which one word comes three times and some do not come at all."""
    module = nn.Embedding(11, 6).double()
    module.weight.data = random(11, 6)
    indices = torch.tensor([[3, 0, 10], [7, 3, 1], [3, 9, 10]])
    made = module(indices)
    gradient = random(*made.shape)
    made.backward(gradient)
    write("embedding/input", indices)
    write("embedding/output", made)
    write("embedding/output_gradient", gradient)
    write("embedding/parameter0", module.weight)
    write("embedding/gradient0", module.weight.grad)


def more_losses():
    def loss(name, module, output, target):
        output.requires_grad_()
        value = module(output, target)
        value.backward()
        for part, tensor in (("output", output), ("targets", target), ("loss", value), ("output_gradient", output.grad)):
            write(f"{name}/{part}", tensor)

    weights = torch.rand(5).float().double()
    write("cross_entropy_options/class_weights", weights)
    targets = torch.tensor([0, 3, -100, 1, 4, -100, 2])
    for name, options in (("ignore", {}), ("smoothing", {"label_smoothing": 0.1}), ("weights", {"weight": weights}),
                          ("all", {"label_smoothing": 0.25, "weight": weights, "ignore_index": 3})):
        wanted = targets.clamp(min=0) if "ignore_index" in options else targets
        loss(f"cross_entropy_{name}", nn.CrossEntropyLoss(**options), random(7, 5, scale=3), wanted)
    loss("bce_with_logits", nn.BCEWithLogitsLoss(), random(4, 5, scale=4), torch.rand(4, 5).float().double())
    for name, module in (("l1", nn.L1Loss()), ("smooth_l1", nn.SmoothL1Loss()), ("smooth_l1_beta", nn.SmoothL1Loss(beta=0.25)),
                         ("smooth_l1_beta_0", nn.SmoothL1Loss(beta=0.0))):
        output, target = random(4, 5), random(4, 5)
        output[1, 2] = target[1, 2]
        loss(name, module, output, target)


def tied():
    """A language model whose last layer has the weight of its first, three steps of SGD with momentum."""
    table, hidden, last = nn.Embedding(9, 4), nn.Linear(8, 4), nn.Linear(4, 9)
    last.weight = table.weight
    model = nn.Sequential(table, nn.Flatten(), hidden, nn.Tanh(), last).double()
    for i, parameter in enumerate(model.parameters()):
        parameter.data = random(*parameter.shape, scale=0.5)
        write(f"tied/parameter{i}", parameter)
    tokens, targets = torch.tensor([[3, 0], [8, 3], [1, 1], [5, 3], [0, 7]]), torch.tensor([0, 3, 1, 8, 3])
    write("tied/tokens", tokens)
    write("tied/targets", targets)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    found = []
    for step in range(3):
        optimizer.zero_grad()
        loss = nn.CrossEntropyLoss()(model(tokens), targets)
        loss.backward()
        if step == 0:
            write("tied/gradient0", table.weight.grad)
        optimizer.step()
        found.append(loss.item())
    write("tied/losses", found)
    for i, parameter in enumerate(model.parameters()):
        write(f"tied/trained{i}", parameter)


def generator():
    """A generator before its discriminator, which stays as it is: two steps of the generator."""
    made = nn.Sequential(nn.Linear(3, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 5)).double()
    judge = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 1)).double()
    for name, module in (("made", made), ("judge", judge)):
        for i, parameter in enumerate(module.parameters()):
            parameter.data = random(*parameter.shape)
            write(f"generator/{name}{i}", parameter)
    optimizer = torch.optim.SGD(made.parameters(), lr=0.5)
    found = []
    for step in range(2):
        noise = random(4, 3)
        write(f"generator/noise{step}", noise)
        optimizer.zero_grad()
        fakes = made(noise)
        fakes.retain_grad()
        loss = nn.BCEWithLogitsLoss()(judge(fakes), torch.ones(4, 1).double())
        loss.backward()
        write(f"generator/fakes{step}", fakes)
        write(f"generator/input_gradient{step}", fakes.grad)
        optimizer.step()
        found.append(loss.item())
    write("generator/losses", found)
    for i, parameter in enumerate(made.parameters()):
        write(f"generator/trained{i}", parameter)
    write("generator/running_mean", made[1].running_mean)


def weights():
    """Twenty steps from weights that travel by file."""
    model = nn.Sequential(nn.Linear(9, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 5)).double()
    for name, parameter in model.named_parameters():
        parameter.data = random(*parameter.shape, scale=0.4)
        write(f"weights/{name}", parameter)
    taken, targets = random(12, 9), torch.arange(12) * 7 % 5
    write("weights/input", taken)
    write("weights/targets", targets)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    found = []
    for _ in range(20):
        optimizer.zero_grad()
        loss = nn.CrossEntropyLoss()(model(taken), targets)
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    write("weights/losses", found)


def turned(tensor):
    """Cairn's images lie as (batch, height, width, channels), and the weight of a convolution likewise."""
    return tensor.movedim(1, -1) if tensor.dim() == 4 else tensor


def image_layer(name, module, *extents, taken=None):
    module = module.double()
    for parameter in module.parameters():
        parameter.data = random(*parameter.shape)
    taken = (random(*extents) if taken is None else taken).requires_grad_()
    made = module(taken)
    gradient = random(*made.shape)
    made.backward(gradient)
    write(f"{name}/input", turned(taken))
    write(f"{name}/output", turned(made))
    write(f"{name}/output_gradient", turned(gradient))
    write(f"{name}/input_gradient", turned(taken.grad))
    for i, parameter in enumerate(module.parameters()):
        write(f"{name}/parameter{i}", turned(parameter))
        write(f"{name}/gradient{i}", turned(parameter.grad))


def images():
    image_layer("conv2d", nn.Conv2d(3, 4, 3), 2, 3, 5, 6)
    image_layer("conv2d_padding", nn.Conv2d(3, 5, 3, padding=1, bias=False), 2, 3, 4, 5)
    image_layer("conv2d_stride", nn.Conv2d(4, 3, 3, stride=2, padding=1), 2, 4, 7, 6)
    image_layer("conv2d_dilation", nn.Conv2d(2, 3, (3, 2), stride=(2, 1), padding=(4, 2), dilation=(3, 1)), 2, 2, 6, 5)
    image_layer("conv2d_groups", nn.Conv2d(6, 4, (2, 3), padding=(0, 1), groups=2), 2, 6, 4, 5)
    image_layer("conv2d_depthwise", nn.Conv2d(4, 8, 3, padding=1, groups=4, bias=False), 2, 4, 4, 4)
    image_layer("conv2d_1x1", nn.Conv2d(5, 7, 1), 2, 5, 3, 4)
    image_layer("conv2d_1x1_stride", nn.Conv2d(5, 7, 1, stride=2), 2, 5, 5, 4)
    image_layer("max_pool2d", nn.MaxPool2d(2), 2, 3, 4, 5)
    image_layer("max_pool2d_options", nn.MaxPool2d((3, 2), stride=(2, 1), padding=1, dilation=(1, 2)), 2, 3, 6, 5)
    image_layer("max_pool2d_ceil", nn.MaxPool2d(3, stride=2, ceil_mode=True), 2, 2, 6, 5)
    image_layer("max_pool2d_ties", nn.MaxPool2d(3, stride=1, padding=1), taken=torch.randint(0, 3, (2, 3, 5, 6)).double())
    image_layer("avg_pool2d", nn.AvgPool2d(2), 2, 3, 4, 5)
    image_layer("avg_pool2d_options", nn.AvgPool2d((3, 2), stride=(2, 1), padding=1), 2, 3, 6, 5)
    image_layer("avg_pool2d_exclude", nn.AvgPool2d(3, stride=2, padding=1, count_include_pad=False), 2, 3, 6, 5)
    image_layer("avg_pool2d_ceil", nn.AvgPool2d(3, stride=2, padding=1, ceil_mode=True), 2, 2, 6, 7)
    image_layer("avg_pool2d_ceil_exclude", nn.AvgPool2d(2, ceil_mode=True, count_include_pad=False), 2, 2, 5, 7)
    image_layer("adaptive_avg_pool2d", nn.AdaptiveAvgPool2d(1), 2, 3, 4, 5)
    image_layer("adaptive_avg_pool2d_3x2", nn.AdaptiveAvgPool2d((3, 2)), 2, 3, 7, 5)
    image_layer("adaptive_avg_pool2d_more", nn.AdaptiveAvgPool2d((5, 4)), 2, 2, 3, 6)
    image_layer("group_norm", nn.GroupNorm(3, 6), 2, 6, 3, 4)
    image_layer("group_norm_eps", nn.GroupNorm(1, 19, eps=0.1), 3, 19, 2, 2)
    image_layer("group_norm_instances", nn.GroupNorm(4, 4), 2, 4, 3, 3)
    module = nn.BatchNorm2d(5)
    image_layer("batch_norm2d", module, 3, 5, 4, 2)
    write("batch_norm2d/running_mean", module.running_mean)
    write("batch_norm2d/running_variance", module.running_var)
    module.eval()
    taken = torch.tensor(VALUES["batch_norm2d/input"]).double().reshape(3, 4, 2, 5).movedim(-1, 1)
    write("batch_norm2d/evaluated", turned(module(taken)))


class Branches(nn.Module):
    """Branches side by side along the channels."""
    def __init__(self, *branches):
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, images):
        return torch.cat([branch(images) for branch in self.branches], dim=1)


def three_steps(name, model, normalized, *extents):
    """Three steps of SGD with momentum of a network of images, and the running statistics of one of its layers."""
    for i, parameter in enumerate(model.parameters()):
        parameter.data = random(*parameter.shape, scale=0.5)
        write(f"{name}/parameter{i}", turned(parameter))
    taken, targets = random(5, *extents), torch.tensor([0, 3, 1, 2, 3])
    write(f"{name}/input", turned(taken))
    write(f"{name}/targets", targets)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    found = []
    for step in range(3):
        optimizer.zero_grad()
        loss = nn.CrossEntropyLoss()(model(taken), targets)
        loss.backward()
        for i, parameter in enumerate(model.parameters()):
            if step == 0:
                write(f"{name}/gradient{i}", turned(parameter.grad))
        optimizer.step()
        found.append(loss.item())
    write(f"{name}/losses", found)
    for i, parameter in enumerate(model.parameters()):
        write(f"{name}/trained{i}", turned(parameter))
    write(f"{name}/running_mean", normalized.running_mean)
    write(f"{name}/running_variance", normalized.running_var)


def image_network():
    """A small network of all layers for images."""
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
        Branches(nn.Conv2d(8, 4, 1), nn.Conv2d(8, 6, 3, padding=1, groups=2), nn.AvgPool2d(3, stride=1, padding=1)),
        nn.GroupNorm(3, 18), nn.Conv2d(18, 10, 3, stride=2, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(10, 4)).double()
    three_steps("images", model, model[1], 3, 8, 6)


class Projected(nn.Module):
    """The sum of two ways."""

    def __init__(self, shortcut, *layers):
        super().__init__()
        self.shortcut, self.layers = shortcut, nn.Sequential(*layers)

    def forward(self, images):
        return self.shortcut(images) + self.layers(images)


def residual_network():
    """The blocks of a ResNet: one that adds its input, and one that adds a projection of it, at half the size."""
    model = nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4), nn.ReLU(),
        Projected(nn.Identity(), nn.Conv2d(4, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4)), nn.ReLU(),
        Projected(nn.Sequential(nn.Conv2d(4, 6, 1, stride=2, bias=False), nn.BatchNorm2d(6)),
                  nn.Conv2d(4, 6, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(6), nn.ReLU(),
                  nn.Conv2d(6, 6, 3, padding=1, bias=False), nn.BatchNorm2d(6)), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(6, 4)).double()
    three_steps("residual_images", model, model[5].shortcut[1], 3, 6, 5)


class DenseLayer(nn.Module):
    """As torchvision's _DenseLayer."""
    def __init__(self, channels, growth):
        super().__init__()
        self.norm1, self.conv1 = nn.BatchNorm2d(channels), nn.Conv2d(channels, 4 * growth, 1, bias=False)
        self.norm2, self.conv2 = nn.BatchNorm2d(4 * growth), nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False)

    def forward(self, images):
        made = self.conv1(torch.relu(self.norm1(images)))
        return torch.cat([images, self.conv2(torch.relu(self.norm2(made)))], dim=1)


def dense_block():
    """A block of three dense layers: its output and gradients, running statistics, and an evaluation with these."""
    module = nn.Sequential(*(DenseLayer(6 + 4 * i, 4) for i in range(3)))
    image_layer("dense_block", module, 3, 6, 5, 5)
    for i, buffer in enumerate(buffer for buffer in module.buffers() if buffer.dim() > 0):
        write(f"dense_block/buffer{i}", buffer)
    module.eval()
    taken = torch.tensor(VALUES["dense_block/input"]).double().reshape(3, 5, 5, 6).movedim(-1, 1)
    write("dense_block/evaluated", turned(module(taken)))


def transition(channels):
    return [nn.BatchNorm2d(channels), nn.ReLU(), nn.Conv2d(channels, channels // 2, 1, bias=False), nn.AvgPool2d(2)]


def densenet():
    """A whole DenseNet-BC, of growth 2 and two, one and one layers in its blocks."""
    model = nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1, bias=False), nn.Sequential(DenseLayer(4, 2), DenseLayer(6, 2)), *transition(8),
        nn.Sequential(DenseLayer(4, 2)), *transition(6), nn.Sequential(DenseLayer(3, 2)), nn.BatchNorm2d(5), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(5, 4)).double()
    three_steps("densenet", model, model[2], 3, 8, 8)


def weighted_losses():
    """pos_weight, class probabilities as targets, and a row of an embedding that is padding."""
    def loss(name, module, output, target):
        output.requires_grad_()
        value = module(output, target)
        value.backward()
        write(f"{name}/output", output)
        write(f"{name}/targets", target)
        write(f"{name}/loss", value)
        write(f"{name}/output_gradient", output.grad)

    def shares(*extents):
        return torch.softmax(random(*extents, scale=2), dim=-1).float().double()

    weights = torch.tensor([0.5, 3.0, 1.0, 0.0, 7.25]).double()
    some = torch.rand(4, 5).float().double()
    loss("bce_pos_weight", nn.BCEWithLogitsLoss(pos_weight=weights), random(4, 5, scale=4), some)
    loss("bce_one_pos_weight", nn.BCEWithLogitsLoss(pos_weight=torch.tensor(3.0).double()), random(37, 1, scale=20),
         (torch.rand(37, 1) > 0.5).double())
    loss("soft_cross_entropy", nn.CrossEntropyLoss(), random(5, 4, scale=3), shares(5, 4))
    classes = torch.tensor([0.25, 0.75, 1.5, 2.0]).double()
    loss("soft_cross_entropy_options", nn.CrossEntropyLoss(weight=classes, label_smoothing=0.15), random(6, 4, scale=30), shares(6, 4))
    output, target = random(2, 3, 4), shares(2, 3, 4)
    loss("soft_cross_entropy_rank_3", lambda o, t: nn.CrossEntropyLoss()(o.movedim(2, 1), t.movedim(2, 1)), output, target)

    module = nn.Embedding(7, 3, padding_idx=2).double()
    write("embedding_padding/at_start", module.weight[2])
    with torch.no_grad():
        module.weight.copy_(random(7, 3))
    tokens = torch.tensor([[0, 2, 6, 2], [5, 0, 2, 1]])
    made = module(tokens)
    gradient = random(2, 4, 3)
    made.backward(gradient)
    write("embedding_padding/input", tokens)
    write("embedding_padding/output", made)
    write("embedding_padding/output_gradient", gradient)
    write("embedding_padding/parameter0", module.weight)
    write("embedding_padding/gradient0", module.weight.grad)


class Sum(nn.Sequential):
    """What it is given, and what its layers make of that."""

    def forward(self, taken):
        return taken + super().forward(taken)


class Beside(nn.Sequential):
    """What each of its parts makes, side by side."""

    def forward(self, taken):
        return torch.cat([part(taken) for part in self], dim=1)


def flattened():
    """A state_dict with all that can stand behind a Flatten of images, as it is and after two steps, and an evaluation with each."""
    model = nn.Sequential(
        nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.ReLU()), nn.MaxPool2d(2),
        Beside(nn.Sequential(nn.Flatten()), nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())), nn.BatchNorm1d(21), nn.GELU(),
        Sum(nn.LayerNorm(21), nn.Linear(21, 21)), nn.Linear(21, 21), nn.Linear(21, 21), nn.Sequential(nn.Linear(21, 4))).double()
    for parameter in model.parameters():
        parameter.data = random(*parameter.shape, scale=0.5)

    def state(when):
        for name, tensor in model.state_dict().items():
            if tensor.dim() > 0:
                write(f"flattened/{when}/{name}", tensor)
        model.eval()
        write(f"flattened/{when}/output", model(taken))
        model.train()

    taken, targets = random(6, 2, 6, 8), torch.tensor([0, 3, 1, 2, 3, 0])
    write("flattened/input", turned(taken))
    write("flattened/targets", targets)
    state("before")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for _ in range(2):
        optimizer.zero_grad()
        nn.CrossEntropyLoss()(model(taken), targets).backward()
        optimizer.step()
    state("after")


class SelfAttention(nn.Module):
    def __init__(self, width, heads, seen=None):
        super().__init__()
        self.all, self.seen = nn.MultiheadAttention(width, heads, batch_first=True), seen

    def forward(self, tokens):
        hidden = None if self.seen is None else ~self.seen(tokens.shape[1])
        return self.all(tokens, tokens, tokens, attn_mask=hidden, need_weights=False)[0]


class Core(nn.Module):
    """Attention of rows of queries, keys and values, with fewer key heads than heads."""
    def __init__(self, heads, key_heads, seen):
        super().__init__()
        self.heads, self.key_heads, self.seen = heads, key_heads, seen

    def forward(self, rows):
        width = rows.shape[2] // (self.heads + 2 * self.key_heads)
        query, key, value = (part.unflatten(2, (-1, width)).transpose(1, 2) for part in rows.split(
            [self.heads * width, self.key_heads * width, self.key_heads * width], 2))
        made = nn.functional.scaled_dot_product_attention(
            query, key, value, attn_mask=self.seen(rows.shape[1]), enable_gqa=True)
        return made.transpose(1, 2).flatten(2)


def attention():
    def band(before):
        """Whether a token (row) looks at another (column)."""
        return lambda tokens: torch.ones(tokens, tokens, dtype=torch.bool).tril().triu(-before)

    layer("attention", SelfAttention(12, 3), 2, 5, 12)
    layer("attention_one_token", SelfAttention(6, 2), 3, 1, 6)
    layer("attention_causal", SelfAttention(8, 2, band(99)), 1, 37, 8)
    layer("attention_window", SelfAttention(8, 4, band(3)), 1, 35, 8)
    layer("attention_core", Core(4, 2, band(99)), 2, 9, 24)
    layer("attention_core_window", Core(3, 1, band(4)), 1, 33, 10)


class Causal(nn.Module):
    def __init__(self, inside):
        super().__init__()
        self.inside = inside

    def forward(self, tokens):
        hidden = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1], dtype=tokens.dtype)
        return self.inside(tokens, src_mask=hidden, is_causal=True)


def transformer():
    def encoder(**options):
        return nn.TransformerEncoderLayer(8, 2, 12, dropout=0, batch_first=True, **options)

    layer("encoder", encoder(), 2, 5, 8)
    layer("encoder_norm_first", Causal(encoder(norm_first=True, activation="gelu")), 2, 6, 8)


class Positions(nn.Module):
    """A learnt vector for each position, added; there may be more of them than positions."""

    def __init__(self, positions, width):
        super().__init__()
        self.position = nn.Embedding(positions, width)

    def forward(self, taken):
        return taken + self.position.weight[:taken.size(1)]


class Sinusoids(nn.Module):
    """The sines and cosines of 'Attention is all you need', added."""

    def forward(self, taken):
        length, width = taken.shape[1:]
        angles = torch.arange(length).double()[:, None] * 10000 ** (-torch.arange(0, width, 2).double() / width)
        table = torch.zeros(length, width).double()
        table[:, 0::2], table[:, 1::2] = torch.sin(angles), torch.cos(angles)[:, :width // 2]
        return taken + table


class Rotary(nn.Module):
    """Rotates the first elements of each query and key, pairs half of these elements apart."""

    def __init__(self, heads, key_heads, base=10000, rotated=None):
        super().__init__()
        self.heads, self.key_heads, self.base, self.rotated = heads, key_heads, base, rotated

    def forward(self, taken):
        heads = taken.unflatten(2, (self.heads + 2 * self.key_heads, -1))
        turned, values = heads[:, :, :self.heads + self.key_heads], heads[:, :, self.heads + self.key_heads:]
        rotated = self.rotated or heads.shape[-1]
        angles = torch.arange(taken.shape[1]).double()[:, None] * self.base ** (-torch.arange(0, rotated, 2).double() / rotated)
        cosines, sines = (torch.cat((part, part), dim=-1)[:, None] for part in (angles.cos(), angles.sin()))
        first, rest = turned[..., :rotated], turned[..., rotated:]
        a, b = first.chunk(2, dim=-1)
        first = first * cosines + torch.cat((-b, a), dim=-1) * sines
        return torch.cat((torch.cat((first, rest), dim=-1), values), dim=2).flatten(2)


def positions():
    layer("learned_positions", Positions(3, 5), 4, 3, 5)
    layer("learned_positions_of_more", Positions(7, 5), 19, 3, 5)
    layer("sinusoidal_positions", Sinusoids(), 2, 9, 6)
    layer("sinusoidal_positions_odd", Sinusoids(), 2, 3, 7)
    layer("rotary", Rotary(2, 2), 2, 9, 36)
    layer("rotary_shared_keys", Rotary(4, 2, base=500000), 2, 5, 32)
    layer("rotary_partly", Rotary(2, 1, rotated=4), 2, 5, 24)


def recurrent():
    """Recurrent cells, and networks of one over 1, 2, 7 and 50 steps: all states are used, or the last one only."""
    def cell(name, module, states):
        module = module.double()
        for parameter in module.parameters():
            parameter.data = random(*parameter.shape, scale=0.5)
        taken = [random(4, 5).requires_grad_()] + [random(4, 6).requires_grad_() for _ in range(states)]
        made = module(taken[0], taken[1] if states == 1 else tuple(taken[1:]))
        made = [made] if states == 1 else list(made)
        gradients = [random(4, 6) for _ in made]
        sum((m * g).sum() for m, g in zip(made, gradients)).backward()
        for what, tensors in (("input", taken), ("output", made), ("output_gradient", gradients),
                              ("input_gradient", [t.grad for t in taken]), ("parameter", module.parameters()),
                              ("gradient", [p.grad for p in module.parameters()])):
            for k, tensor in enumerate(tensors):
                write(f"{name}/{what}{k}", tensor)

    def network(name, module, steps, last):
        module = module.double()
        for parameter in module.parameters():
            parameter.data = random(*parameter.shape, scale=0.5)
        taken = random(3, steps, 4).requires_grad_()
        made = module(taken)[0]
        made = made[:, -1] if last else made
        gradient = random(*made.shape)
        made.backward(gradient)
        write(f"{name}/input", taken)
        write(f"{name}/output", made)
        write(f"{name}/output_gradient", gradient)
        write(f"{name}/input_gradient", taken.grad)
        for i, parameter in enumerate(module.parameters()):
            write(f"{name}/parameter{i}", parameter)
            write(f"{name}/gradient{i}", parameter.grad)

    torch.manual_seed(28)
    cell("gru_cell", nn.GRUCell(5, 6), 1)
    cell("lstm_cell", nn.LSTMCell(5, 6), 2)
    for steps in (1, 2, 7, 50):
        for name, kind in (("gru", nn.GRU), ("lstm", nn.LSTM)):
            network(f"{name}_{steps}", kind(4, 3, batch_first=True), steps, False)
    network("gru_last", nn.GRU(4, 3, batch_first=True), 7, True)
    network("lstm_last", nn.LSTM(4, 3, batch_first=True), 7, True)


def sums():
    """The sum of two embeddings, of words and of segments."""
    tables = [nn.Embedding(11, 6).double(), nn.Embedding(2, 6).double()]
    for table in tables:
        table.weight.data = random(*table.weight.shape)
    words, segments = torch.tensor([[3, 0, 10], [7, 3, 1]]), torch.tensor([[0, 0, 1], [0, 1, 1]])
    made = tables[0](words) + tables[1](segments)
    gradient = random(*made.shape)
    made.backward(gradient)
    for name, tensor in (("words", words), ("segments", segments), ("output", made), ("output_gradient", gradient)):
        write(f"sum/{name}", tensor)
    for i, table in enumerate(tables):
        write(f"sum/parameter{i}", table.weight)
        write(f"sum/gradient{i}", table.weight.grad)


def cross_attention():
    """Modules of two tensors, x and a memory."""
    torch.manual_seed(28)

    def both(name, module, queries, keys, **options):
        module = module.double()
        for parameter in module.parameters():
            parameter.data = random(*parameter.shape, scale=0.5)
        taken, memory = random(2, queries, 8).requires_grad_(), random(2, keys, 8).requires_grad_()
        if isinstance(module, nn.MultiheadAttention):
            made = module(taken, memory, memory, need_weights=False, **options)[0]
        else:
            made = module(taken, memory, **options)
        gradient = random(*made.shape)
        made.backward(gradient)
        for what, tensor in (("input", taken), ("memory", memory), ("output", made), ("output_gradient", gradient),
                             ("input_gradient", taken.grad), ("memory_gradient", memory.grad)):
            write(f"{name}/{what}", tensor)
        for i, parameter in enumerate(module.parameters()):
            write(f"{name}/parameter{i}", parameter)
            write(f"{name}/gradient{i}", parameter.grad)

    def decoder(**options):
        return nn.TransformerDecoderLayer(8, 2, 12, dropout=0, batch_first=True, **options)

    hidden = ~torch.ones(6, 4, dtype=torch.bool).tril()
    causal = nn.Transformer.generate_square_subsequent_mask(6, dtype=torch.float64)
    both("cross_attention", nn.MultiheadAttention(8, 2, batch_first=True), 5, 7)
    both("cross_attention_causal", nn.MultiheadAttention(8, 4, batch_first=True), 6, 4, attn_mask=hidden)
    both("decoder", decoder(), 5, 7)
    both("decoder_norm_first", decoder(norm_first=True, activation="gelu"), 6, 4, tgt_mask=causal, tgt_is_causal=True)
    # Lengths of the memories of both samples, and a matrix for each head, the same for both.
    padding = torch.arange(7) >= torch.tensor([[4], [7]])
    added = random(2, 5, 7)
    write("cross_attention_masked/added", added)
    both("cross_attention_masked", nn.MultiheadAttention(8, 2, batch_first=True), 5, 7, key_padding_mask=padding,
         attn_mask=added.repeat(2, 1, 1))
    both("decoder_lengths", decoder(), 5, 7, memory_key_padding_mask=padding)


class Masked(nn.Module):
    """Attention of rows of queries, keys and values with a mask of floats or a number of keys for each sample."""

    def __init__(self, heads, mask=None, lengths=None):
        super().__init__()
        self.heads, self.mask, self.lengths = heads, mask, lengths

    def forward(self, rows):
        query, key, value = (part.unflatten(2, (self.heads, -1)).transpose(1, 2) for part in rows.chunk(3, 2))
        mask = self.mask
        if self.lengths is not None:
            mask = (torch.arange(rows.shape[1]) < self.lengths[:, None])[:, None, None].expand(-1, -1, rows.shape[1], -1)
        made = nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        return made.transpose(1, 2).flatten(2)


def masks():
    torch.manual_seed(29)
    of_samples, of_heads = random(3, 1, 7, 7), random(2, 34, 34)
    of_samples[torch.rand(3, 1, 7, 7) < 0.3] = -1e30  # forbids as -inf does, which the file cannot hold
    of_samples[..., 0] = 0.5  # no row is forbidden as a whole: PyTorch has NaN there
    lengths = torch.tensor([5, 9, 1])
    layer("attention_added", Masked(2, of_samples), 3, 7, 18)
    write("attention_added/mask", of_samples)
    layer("attention_added_of_heads", Masked(2, of_heads), 2, 34, 12)
    write("attention_added_of_heads/mask", of_heads)
    layer("attention_lengths", Masked(2, lengths=lengths), 3, 9, 12)
    write("attention_lengths/lengths", lengths)


def loss_scaling():
    """200 steps with GradScaler, in float. Huge inputs make the gradients of some steps overflow."""
    torch.manual_seed(29)
    module = nn.Linear(4, 3)
    for parameter in module.parameters():
        parameter.data = random(*parameter.shape).float()
    write("loss_scale/weight", module.weight)
    write("loss_scale/bias", module.bias)
    overflows = (0, 1, 9, 40, 41, 42, 43, 90, 91, 113, 150, 199)
    inputs, targets = random(200, 2, 4).float(), random(200, 2, 3).float()
    inputs[list(overflows), 0, 1] = 1e38
    write("loss_scale/inputs", inputs)
    write("loss_scale/targets", targets)
    optimizer = torch.optim.AdamW(module.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu", init_scale=4096.0, growth_factor=3.0, backoff_factor=0.3, growth_interval=5)
    scales, trackers, norms = [], [], []
    for x, y in zip(inputs, targets):
        optimizer.zero_grad()
        scaler.scale(nn.MSELoss()(module(x), y)).backward()
        scaler.unscale_(optimizer)
        norms.append(torch.nn.utils.clip_grad_norm_(module.parameters(), 1.0).nan_to_num(-1.0, -1.0, -1.0))
        scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
        trackers.append(scaler.state_dict()["_growth_tracker"])
    write("loss_scale/scales", scales)
    write("loss_scale/trackers", trackers)
    write("loss_scale/norms", torch.stack(norms))  # -1: not finite
    write("loss_scale/last_weight", module.weight)
    write("loss_scale/last_bias", module.bias)


def language_models():
    """The logits of the models whose weights are in gpt2_model.safetensors and bert_model.safetensors."""
    for name, model, inputs in transformer_models.models():
        for part, tensor in zip(("tokens", "segments"), inputs):
            write(f"{name}_model/{part}", tensor)
        write(f"{name}_model/logits", model(*inputs))


def heads():
    """One body with a head for a class and one for a box, and the weighted sum of their losses: tests/train/step/judged_by_losses.cpp."""
    torch.manual_seed(24)
    body = nn.Sequential(nn.Linear(10, 8), nn.LayerNorm(8), nn.Tanh())
    scores, box = nn.Linear(8, 4), nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 3), nn.Tanh())
    parameters = [parameter for part in (body, scores, box) for parameter in part.double().parameters()]
    for i, parameter in enumerate(parameters):
        parameter.data = random(*parameter.shape, scale=0.5)
        write(f"heads/parameter{i}", parameter)
    x, labels, corners = random(6, 10), torch.tensor([0, 3, 1, 2, 2, 0]), random(6, 3)
    shared = body(x)
    of_classes = nn.CrossEntropyLoss(label_smoothing=0.1)(scores(shared), labels)
    of_boxes = nn.MSELoss()(box(shared), corners)
    loss = of_classes + 0.3 * of_boxes
    loss.backward()
    for name, numbers in (("x", x), ("labels", labels), ("corners", corners)):
        write(f"heads/{name}", numbers)
    write("heads/losses", [part.item() for part in (loss, of_classes, of_boxes)])
    for i, parameter in enumerate(parameters):
        write(f"heads/gradient{i}", parameter.grad)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", required=True, help="the file to write")
    arguments = parser.parse_args()
    torch.manual_seed(20)
    for part in (layers, losses, optimizers, schedules, clipping, several, batch_norm, embedding, more_losses, tied, generator,
                 weights, images, image_network, dense_block, residual_network, densenet, flattened, weighted_losses,
                 averages, attention, transformer, positions, activations, rows, recurrent, sums, cross_attention, masks,
                 loss_scaling, language_models, standardized, heads):
        part()
    with open(arguments.output, "w", encoding="ascii") as file:
        file.write(f"# Written by make.py with PyTorch {torch.__version__.split('+')[0]}; not to be edited.\n")
        for name, numbers in VALUES.items():
            file.write(f"{name} = {' '.join(repr(float(number)) for number in numbers)}\n")


if __name__ == "__main__":
    main()
