# SPDX-License-Identifier: Apache-2.0
"""Makes optimize.json, the numbers that test/grad/optimize.py compares with: optimize_torch.py OUT.json, with torch.

Of each run the losses before every tenth step and after the last, and the parameters after it. Lion, which torch has
not, is the formula of its paper.
"""
import json
import sys

import torch

STEPS = 100
LION = {"rate": 0.004, "beta1": 0.9, "beta2": 0.99, "weight_decay": 0.1}
# The name of a run, the optimiser and its options as weft names them; `clip` and `schedule` are beside it.
RUNS = [
    ("sgd", "sgd", {"rate": 0.3}),
    ("momentum", "sgd", {"rate": 0.05, "momentum": 0.9}),
    ("nesterov", "sgd", {"rate": 0.05, "momentum": 0.8, "nesterov": True}),
    ("decay", "sgd", {"rate": 0.05, "momentum": 0.9, "weight_decay": 0.02}),
    ("clipped", "sgd", {"rate": 0.3, "clip": 0.25}),
    ("in steps", "sgd", {"rate": 0.5, "schedule": ["rate_step", 0.5, 0.5, 30]}),
    ("along a cosine", "sgd", {"rate": 0.5, "schedule": ["rate_cosine", 0.5, 0.01, 0, 100]}),
    ("adam", "adam", {"rate": 0.02}),
    ("adam with options", "adam", {"rate": 0.02, "beta1": 0.8, "beta2": 0.95, "epsilon": 1e-4, "weight_decay": 0.01}),
    ("adamw", "adam", {"rate": 0.02, "weight_decay": 0.1, "decoupled": True}),
    ("rmsprop", "rmsprop", {"rate": 0.01}),
    ("rmsprop with momentum", "rmsprop", {"rate": 0.003, "alpha": 0.9, "epsilon": 1e-6, "momentum": 0.8,
                                          "weight_decay": 0.01}),
    ("adagrad", "adagrad", {"rate": 0.2}),
    ("adagrad that slows down", "adagrad", {"rate": 0.3, "epsilon": 1e-6, "rate_decay": 0.05, "weight_decay": 0.01}),
    ("lion", "lion", LION),
]


class Lion(torch.optim.Optimizer):
    """Chen et al., 2023, algorithm 2."""

    def __init__(self, parameters, **options):
        super().__init__(parameters, options)

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            beta1, beta2 = group["beta1"], group["beta2"]
            for p in group["params"]:
                mean = self.state[p].setdefault("mean", torch.zeros_like(p))
                way = torch.sign(beta1 * mean + (1 - beta1) * p.grad) + group["weight_decay"] * p
                mean.copy_(beta2 * mean + (1 - beta2) * p.grad)
                p -= group["rate"] * way


def create(kind, parameters, o):
    rate, decay = o["rate"], o.get("weight_decay", 0)
    if kind == "sgd":
        return torch.optim.SGD(parameters, lr=rate, momentum=o.get("momentum", 0), nesterov=o.get("nesterov", False),
                               weight_decay=decay)
    if kind == "adam":
        adam = torch.optim.AdamW if o.get("decoupled") else torch.optim.Adam
        return adam(parameters, lr=rate, betas=(o.get("beta1", 0.9), o.get("beta2", 0.999)),
                    eps=o.get("epsilon", 1e-8), weight_decay=decay)
    if kind == "rmsprop":
        return torch.optim.RMSprop(parameters, lr=rate, alpha=o.get("alpha", 0.99), eps=o.get("epsilon", 1e-8),
                                   momentum=o.get("momentum", 0), weight_decay=decay)
    if kind == "adagrad":
        return torch.optim.Adagrad(parameters, lr=rate, lr_decay=o.get("rate_decay", 0), eps=o.get("epsilon", 1e-10),
                                   weight_decay=decay)
    return Lion(parameters, **o)


def schedule(optimizer, row):
    if row is None:
        return None
    kind, _rate, value, *ends = row
    if kind == "rate_step":
        return torch.optim.lr_scheduler.StepLR(optimizer, ends[0], value)
    return torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, ends[1], value)


def loss_of(data, parameters):
    x, targets = data
    w1, b1, w2, b2 = parameters
    return torch.nn.functional.cross_entropy(torch.tanh(x @ w1 + b1) @ w2 + b2, targets)


def train(kind, options, data, initial):
    """Losses, parameters and, where gradients are clipped, their norms before."""
    parameters = [array.clone().requires_grad_() for array in initial]
    optimizer = create(kind, parameters, {name: value for name, value in options.items() if name not in
                                          ("clip", "schedule")})
    scheduler, losses, norms = schedule(optimizer, options.get("schedule")), [], []
    for turn in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of(data, parameters)
        loss.backward()
        if "clip" in options:
            norms.append(torch.nn.utils.clip_grad_norm_(parameters, options["clip"]).item())
        optimizer.step()
        if scheduler:
            scheduler.step()
        if turn % 10 == 0:
            losses.append(loss.item())
    losses.append(loss_of(data, parameters).item())
    return {"losses": losses, "norms": norms[::10], "final": [array.flatten().tolist() for array in parameters]}


def rounded(*shape):
    return torch.round(torch.randn(*shape, dtype=torch.float64) * 100) / 100


def main():
    torch.manual_seed(3)
    x, targets = rounded(12, 4), torch.randint(0, 3, (12,))
    initial = [rounded(4, 6), rounded(6), rounded(6, 3), rounded(3)]
    rows = [{"name": name, "kind": kind, "options": options, **train(kind, options, (x, targets), initial)}
            for name, kind, options in RUNS]
    lines = ",\n".join(json.dumps(row) for row in rows)
    shape = [list(array.shape) for array in initial]
    head = json.dumps({"x": x.tolist(), "targets": targets.tolist(), "shapes": shape,
                       "initial": [array.flatten().tolist() for array in initial]})
    with open(sys.argv[1], "w", encoding="ascii") as file:
        file.write(f'{head[:-1]},\n"runs": [\n{lines}]}}\n')


if __name__ == "__main__":
    main()
