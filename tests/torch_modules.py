"""Sixty small modules of PyTorch of the kinds that models are built of, written for these tests."""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib import import_module
from typing import Any

torch: Any = import_module("torch")
nn, F = torch.nn, torch.nn.functional

Case = Callable[[], tuple[Any, tuple[Any, ...]]]
"""Makes a module or function, and its arguments."""


class Of(nn.Module):  # type: ignore[misc, name-defined]
    """A module of parts and of a function of itself and the arguments."""

    def __init__(self, forward: Callable[..., Any], **parts: Any) -> None:
        super().__init__()
        for name, part in parts.items():
            if isinstance(part, torch.Tensor):
                self.register_buffer(name, part)
            else:
                setattr(self, name, part)
        self._forward = forward

    def forward(self, *given: Any) -> Any:
        return self._forward(self, *given)


def normal(*shape: int) -> Any:
    return torch.randn(*shape)


def image(channels: int = 4, size: int = 8) -> Any:
    return normal(1, channels, size, size)


def tokens(width: int = 16, count: int = 6) -> Any:
    return normal(2, count, width)


def conv(a: int, b: int, k: int = 3, **options: Any) -> Any:
    return nn.Conv2d(a, b, k, padding=k // 2, **options)


def norm(channels: int) -> Any:
    layer = nn.BatchNorm2d(channels)
    layer.running_mean.copy_(normal(channels) / 4)
    layer.running_var.copy_(torch.rand(channels) + 0.5)
    return layer


def resnet(stride: int = 1, width: int = 4) -> tuple[Any, tuple[Any, ...]]:
    def forward(m: Any, x: Any) -> Any:
        y = m.second_norm(m.second(F.relu(m.first_norm(m.first(x)))))
        return F.relu(y + m.short(x))

    short = (
        nn.Identity() if stride == 1 else nn.Sequential(nn.Conv2d(4, width, 1, stride=stride, bias=False), norm(width))
    )
    parts = {
        "first": conv(4, width, stride=stride, bias=False),
        "first_norm": norm(width),
        "second": conv(width, width, bias=False),
        "second_norm": norm(width),
        "short": short,
    }
    return Of(forward, **parts), (image(),)


def bottleneck() -> tuple[Any, tuple[Any, ...]]:
    body = nn.Sequential(conv(4, 2, 1), norm(2), nn.ReLU(), conv(2, 2), norm(2), nn.ReLU(), conv(2, 4, 1), norm(4))
    return Of(lambda m, x: F.relu(m.body(x) + x), body=body), (image(),)


def inverted_residual(activation: Any) -> tuple[Any, tuple[Any, ...]]:
    body = nn.Sequential(
        *(conv(4, 8, 1, bias=False), norm(8), activation()),
        *(conv(8, 8, groups=8, bias=False), norm(8), activation()),
        *(conv(8, 4, 1, bias=False), norm(4)),
    )
    return Of(lambda m, x: x + m.body(x), body=body), (image(),)


def squeeze() -> tuple[Any, tuple[Any, ...]]:
    def forward(m: Any, x: Any) -> Any:
        return x * torch.sigmoid(m.up(F.relu(m.down(x.mean((2, 3))))))[:, :, None, None]

    return Of(forward, down=nn.Linear(4, 2), up=nn.Linear(2, 4)), (image(),)


def convnext() -> tuple[Any, tuple[Any, ...]]:
    def forward(m: Any, x: Any) -> Any:
        y = m.norm(m.deep(x).permute(0, 2, 3, 1))
        return x + (m.scale * m.down(F.gelu(m.up(y)))).permute(0, 3, 1, 2)

    parts = {"deep": nn.Conv2d(4, 4, 7, padding=3, groups=4), "norm": nn.LayerNorm(4)}
    return Of(forward, **parts, up=nn.Linear(4, 16), down=nn.Linear(16, 4), scale=normal(4)), (image(),)


def heads(x: Any, count: int) -> Any:
    return x.reshape(x.shape[0], x.shape[1], count, -1).transpose(1, 2)


def attend(q: Any, k: Any, v: Any, mask: Any = None) -> Any:
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    return torch.softmax(scores if mask is None else scores + mask, -1) @ v


def vit(gelu: str = "none") -> tuple[Any, tuple[Any, ...]]:
    def forward(m: Any, x: Any) -> Any:
        q, k, v = m.qkv(m.first(x)).chunk(3, -1)
        x = x + m.out(attend(*(heads(each, 2) for each in (q, k, v))).transpose(1, 2).reshape(x.shape))
        return x + m.down(F.gelu(m.up(m.second(x)), approximate=gelu))

    parts = {"qkv": nn.Linear(16, 48), "out": nn.Linear(16, 16), "up": nn.Linear(16, 32), "down": nn.Linear(32, 16)}
    return Of(forward, **parts, first=nn.LayerNorm(16), second=nn.LayerNorm(16)), (tokens(),)


def turned(x: Any, cos: Any, sin: Any) -> Any:
    a, b = x.chunk(2, -1)
    return x * cos + torch.cat([-b, a], -1) * sin


def rms(x: Any, weight: Any) -> Any:
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * weight


def llama(groups: int = 2) -> tuple[Any, tuple[Any, ...]]:
    """RoPE, heads in groups (GQA), RMS norm, SwiGLU, a causal mask."""

    def forward(m: Any, x: Any) -> Any:
        y = rms(x, m.first)
        q, k, v = heads(m.q(y), 4), heads(m.k(y), 4 // groups), heads(m.v(y), 4 // groups)
        q, k = turned(q, m.cos, m.sin), turned(k, m.cos, m.sin)
        k, v = (each.repeat_interleave(groups, 1) for each in (k, v))
        mask = torch.triu(torch.full((6, 6), -1e9), 1)
        x = x + m.o(attend(q, k, v, mask).transpose(1, 2).reshape(x.shape))
        y = rms(x, m.second)
        return x + m.down(F.silu(m.gate(y)) * m.up(y))

    angles = torch.outer(torch.arange(6.0), 10000.0 ** (-torch.arange(0, 4, 2) / 4)).repeat(1, 2)
    small = 16 // groups
    parts = {
        name: nn.Linear(16, width, bias=False) for name, width in (("q", 16), ("k", small), ("v", small), ("o", 16))
    }
    parts |= {"gate": nn.Linear(16, 24), "up": nn.Linear(16, 24), "down": nn.Linear(24, 16)}
    tables = {"cos": angles.cos(), "sin": angles.sin(), "first": torch.rand(16), "second": torch.rand(16)}
    return Of(forward, **parts, **tables), (tokens(),)


def experts() -> tuple[Any, tuple[Any, ...]]:
    """A mixture of experts: the two best of four for each token, as a sum with weights."""

    def forward(m: Any, x: Any) -> Any:
        weights = torch.softmax(m.router(x), -1)
        best = weights.amax(-1, keepdim=True)
        rest = torch.where(weights == best, torch.zeros_like(weights), weights)
        kept = torch.where(weights >= rest.amax(-1, keepdim=True), weights, torch.zeros_like(weights))
        kept = kept / kept.sum(-1, keepdim=True)
        outs = torch.stack([F.relu(x @ m.first[k]) @ m.second[k] for k in range(4)], -1)
        return (outs * kept[..., None, :]).sum(-1)

    return Of(forward, router=nn.Linear(16, 4), first=normal(4, 16, 8), second=normal(4, 8, 16)), (tokens(),)


def lstm() -> tuple[Any, tuple[Any, ...]]:
    def forward(m: Any, x: Any) -> Any:
        h = c = torch.zeros(2, 8)
        outs = []
        for t in range(x.shape[1]):
            i, f, g, o = (m.input(x[:, t]) + m.hidden(h)).chunk(4, -1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            outs.append(h)
        return torch.stack(outs, 1), (h, c)

    return Of(forward, input=nn.Linear(16, 32), hidden=nn.Linear(8, 32)), (tokens(count=3),)


def gru() -> tuple[Any, tuple[Any, ...]]:
    def forward(m: Any, x: Any) -> Any:
        h = torch.zeros(2, 8)
        for t in range(x.shape[1]):
            a, b, c = m.input(x[:, t]).chunk(3, -1)
            d, e, f = m.hidden(h).chunk(3, -1)
            r, z = torch.sigmoid(a + d), torch.sigmoid(b + e)
            h = (1 - z) * torch.tanh(c + r * f) + z * h
        return h

    return Of(forward, input=nn.Linear(16, 24), hidden=nn.Linear(8, 24)), (tokens(count=3),)


def recurrent() -> tuple[Any, tuple[Any, ...]]:
    def forward(m: Any, x: Any) -> Any:
        h = torch.zeros(2, 8)
        for t in range(x.shape[1]):
            h = torch.tanh(m.input(x[:, t]) + m.hidden(h))
        return h

    return Of(forward, input=nn.Linear(16, 8), hidden=nn.Linear(8, 8)), (tokens(count=4),)


def unet() -> tuple[Any, tuple[Any, ...]]:
    def forward(m: Any, x: Any) -> Any:
        down = F.silu(m.down(x))
        up = F.interpolate(F.silu(m.middle(F.avg_pool2d(down, 2))), scale_factor=2, mode="nearest")
        return m.out(torch.cat([down, up], 1))

    return Of(forward, down=conv(4, 4), middle=conv(4, 4), out=conv(8, 4, 1)), (image(),)


def diffusion() -> tuple[Any, tuple[Any, ...]]:
    def forward(m: Any, x: Any, t: Any) -> Any:
        y = m.first(F.silu(F.group_norm(x, 2, m.w, m.b)))
        return x + m.second(F.silu(y + m.time(F.silu(t))[:, :, None, None]))

    parts = {"first": conv(4, 4), "second": conv(4, 4), "time": nn.Linear(8, 4), "w": normal(4), "b": normal(4)}
    return Of(forward, **parts), (image(), normal(1, 8))


def scan() -> tuple[Any, tuple[Any, ...]]:
    """The scan of a state space model: h = exp(dt · a) · h + dt · b · x, y = c · h."""

    def forward(m: Any, x: Any) -> Any:
        dt = F.softplus(m.dt(x))
        b, c = m.b(x), m.c(x)
        h = torch.zeros(2, 8, 4)
        outs = []
        for t in range(x.shape[1]):
            h = torch.exp(dt[:, t, :, None] * -torch.exp(m.a)) * h + (dt[:, t] * x[:, t])[..., None] * b[:, t, None]
            outs.append((h * c[:, t, None]).sum(-1) + m.d * x[:, t])
        return torch.stack(outs, 1)

    parts = {"dt": nn.Linear(8, 8), "b": nn.Linear(8, 4), "c": nn.Linear(8, 4), "a": normal(8, 4), "d": normal(8)}
    return Of(forward, **parts), (tokens(8, 4),)


def per_channel() -> tuple[Any, tuple[Any, ...]]:
    """A linear layer with integers of 8 bits and a scale for each channel."""
    q = torch.randint(-127, 128, (8, 16), dtype=torch.int8)
    return Of(lambda m, x: x @ (m.q.float() * m.scale[:, None]).T, q=q, scale=torch.rand(8) / 100), (tokens(),)


def per_token() -> tuple[Any, tuple[Any, ...]]:
    """Activations in integers of 8 bits, with a scale for each token."""

    def forward(m: Any, x: Any) -> Any:
        scale = x.abs().amax(-1, keepdim=True) / 127
        q = torch.clamp(torch.round(x / scale), -128, 127).to(torch.int8)
        return (q.to(torch.int32).float() @ m.q.float().T) * scale * m.scale

    q = torch.randint(-127, 128, (8, 16), dtype=torch.int8)
    return Of(forward, q=q, scale=torch.rand(8) / 100), (tokens(),)


def int4_groups() -> tuple[Any, tuple[Any, ...]]:
    """Weights in integers of 4 bits, two in a byte, with a scale and a zero point for each group of 8."""

    def forward(m: Any, x: Any) -> Any:
        low, high = m.packed & 15, (m.packed >> 4) & 15
        q = torch.stack([low, high], -1).reshape(8, 2, 8).float()
        weight = ((q - m.zero[..., None]) * m.scale[..., None]).reshape(8, 16)
        return x @ weight.T

    packed = torch.randint(0, 256, (8, 8), dtype=torch.int32)
    tables = {"zero": torch.randint(0, 16, (8, 2)).float(), "scale": torch.rand(8, 2) / 8}
    return Of(forward, packed=packed, **tables), (tokens(),)


def fake_quantized() -> tuple[Any, tuple[Any, ...]]:
    def forward(m: Any, x: Any) -> Any:
        return m.layer(torch.clamp(torch.round(x / 0.05), -128, 127) * 0.05)

    return Of(forward, layer=nn.Linear(16, 8)), (tokens(),)


def embedded() -> tuple[Any, tuple[Any, ...]]:
    def forward(m: Any, ids: Any) -> Any:
        return m.norm(m.words(ids) + m.places.weight[: ids.shape[1]])

    ids = torch.tensor([[1, 5, 2], [0, 9, 3]])
    return Of(forward, words=nn.Embedding(10, 8), places=nn.Embedding(4, 8), norm=nn.LayerNorm(8)), (ids,)


def mixer() -> tuple[Any, tuple[Any, ...]]:
    def forward(m: Any, x: Any) -> Any:
        x = x + m.across(m.first(x).transpose(1, 2)).transpose(1, 2)
        return x + m.along(m.second(x))

    parts = {
        "across": nn.Sequential(nn.Linear(6, 12), nn.GELU(), nn.Linear(12, 6)),
        "along": nn.Sequential(nn.Linear(16, 24), nn.GELU(), nn.Linear(24, 16)),
    }
    return Of(forward, **parts, first=nn.LayerNorm(16), second=nn.LayerNorm(16)), (tokens(),)


def linear_attention() -> tuple[Any, tuple[Any, ...]]:
    def forward(m: Any, x: Any) -> Any:
        q, k = (F.elu(layer(x)) + 1 for layer in (m.q, m.k))
        v = m.v(x)
        return q @ (k.transpose(1, 2) @ v) / (q @ k.sum(1)[..., None] + 1e-6)

    return Of(forward, q=nn.Linear(16, 8), k=nn.Linear(16, 8), v=nn.Linear(16, 8)), (tokens(),)


def cross_attention() -> tuple[Any, tuple[Any, ...]]:
    def forward(m: Any, x: Any, y: Any) -> Any:
        return attend(heads(m.q(x), 2), heads(m.k(y), 2), heads(m.v(y), 2))

    return Of(forward, q=nn.Linear(16, 16), k=nn.Linear(8, 16), v=nn.Linear(8, 16)), (tokens(), tokens(8, 5))


def alibi() -> tuple[Any, tuple[Any, ...]]:
    def forward(m: Any, x: Any) -> Any:
        place = torch.arange(6.0)
        bias = -(place[:, None] - place[None]).abs() * m.slopes[:, None, None]
        return attend(heads(m.q(x), 2), heads(m.k(x), 2), heads(x, 2), bias)

    return Of(forward, q=nn.Linear(16, 16), k=nn.Linear(16, 16), slopes=torch.tensor([0.5, 0.25])), (tokens(),)


def fused_attention() -> tuple[Any, tuple[Any, ...]]:
    return Of(lambda m, q, k, v: F.scaled_dot_product_attention(q, k, v)), tuple(normal(1, 2, 5, 8) for _ in range(3))


def highway() -> tuple[Any, tuple[Any, ...]]:
    def forward(m: Any, x: Any) -> Any:
        t = torch.sigmoid(m.gate(x))
        return t * F.relu(m.layer(x)) + (1 - t) * x

    return Of(forward, gate=nn.Linear(16, 16), layer=nn.Linear(16, 16)), (tokens(),)


def weight_norm() -> tuple[Any, tuple[Any, ...]]:
    def forward(m: Any, x: Any) -> Any:
        return F.linear(x, m.g[:, None] * m.v / m.v.pow(2).sum(1, keepdim=True).sqrt())

    return Of(forward, v=normal(8, 16), g=torch.rand(8)), (tokens(),)


def contrastive() -> tuple[Any, tuple[Any, ...]]:
    def forward(m: Any, a: Any, b: Any) -> Any:
        a, b = (each / each.pow(2).sum(-1, keepdim=True).sqrt() for each in (m.a(a), m.b(b)))
        return torch.log_softmax(a @ b.T / 0.07, -1)

    return Of(forward, a=nn.Linear(16, 8), b=nn.Linear(12, 8)), (normal(4, 16), normal(4, 12))


def autoencoder() -> tuple[Any, tuple[Any, ...]]:
    def forward(m: Any, x: Any) -> Any:
        mean, log = m.encode(x).chunk(2, -1)
        return m.decode(mean + torch.exp(0.5 * log) * m.noise), -0.5 * (1 + log - mean**2 - log.exp()).sum(-1)

    parts = {"encode": nn.Linear(16, 8), "decode": nn.Linear(4, 16), "noise": normal(4)}
    return Of(forward, **parts), (normal(3, 16),)


def graph() -> tuple[Any, tuple[Any, ...]]:
    def forward(m: Any, x: Any, links: Any) -> Any:
        degree = links.sum(-1, keepdim=True)
        return F.relu(m.layer(links @ x / degree))

    links = (torch.rand(6, 6) > 0.5).float() + torch.eye(6)
    return Of(forward, layer=nn.Linear(16, 8)), (normal(6, 16), links)


def factorization() -> tuple[Any, tuple[Any, ...]]:
    def forward(m: Any, x: Any) -> Any:
        pairs = 0.5 * ((x @ m.v).pow(2) - x.pow(2) @ m.v.pow(2)).sum(-1, keepdim=True)
        return torch.sigmoid(m.first(x) + pairs)

    return Of(forward, first=nn.Linear(16, 1), v=normal(16, 4) / 4), (normal(4, 16),)


def sequence(*layers: Any, x: Any) -> Case:
    return lambda: (nn.Sequential(*(layer() for layer in layers)), (x(),))


def of(f: Callable[..., Any], *arguments: Callable[[], Any]) -> Case:
    return lambda: (Of(lambda m, *given: f(*given)), tuple(each() for each in arguments))


def wide() -> Any:
    return normal(3, 16)


CASES: dict[str, Case] = {
    "resnet": resnet,
    "resnet, smaller": lambda: resnet(2, 6),
    "bottleneck": bottleneck,
    "inverted residual, ReLU6": lambda: inverted_residual(nn.ReLU6),
    "inverted residual, hard swish": lambda: inverted_residual(nn.Hardswish),
    "squeeze and excite": squeeze,
    "ConvNeXt": convnext,
    "ViT": vit,
    "ViT, GELU by tanh": lambda: vit("tanh"),
    "Llama, groups of 2": llama,
    "Llama, one head of keys": lambda: llama(4),
    "mixture of experts": experts,
    "LSTM": lstm,
    "GRU": gru,
    "RNN": recurrent,
    "U-Net": unet,
    "diffusion block": diffusion,
    "state space scan": scan,
    "int8 for each channel": per_channel,
    "int8 for each token": per_token,
    "int4 in groups": int4_groups,
    "fake quantized": fake_quantized,
    "embedding": embedded,
    "MLP mixer": mixer,
    "linear attention": linear_attention,
    "cross attention": cross_attention,
    "ALiBi": alibi,
    "fused attention": fused_attention,
    "highway": highway,
    "weight norm": weight_norm,
    "contrastive loss": contrastive,
    "variational autoencoder": autoencoder,
    "graph convolution": graph,
    "factorization machine": factorization,
    "MLP, ReLU": sequence(lambda: nn.Linear(16, 24), nn.ReLU, lambda: nn.Linear(24, 4), x=wide),
    "MLP, tanh": sequence(lambda: nn.Linear(16, 24), nn.Tanh, lambda: nn.Linear(24, 4), x=wide),
    "MLP, SiLU": sequence(lambda: nn.Linear(16, 24), nn.SiLU, lambda: nn.Linear(24, 4), x=wide),
    "MLP, softplus": sequence(lambda: nn.Linear(16, 24), nn.Softplus, lambda: nn.Linear(24, 4), x=wide),
    "MLP, leaky": sequence(lambda: nn.Linear(16, 24), nn.LeakyReLU, lambda: nn.Linear(24, 4), x=wide),
    "MLP, Mish": sequence(lambda: nn.Linear(16, 24), nn.Mish, lambda: nn.Linear(24, 4), x=wide),
    "MLP, hard sigmoid": sequence(lambda: nn.Linear(16, 24), nn.Hardsigmoid, lambda: nn.Linear(24, 4), x=wide),
    "bilinear": lambda: (Of(lambda m, a, b: torch.einsum("bi,oij,bj->bo", a, m.w, b), w=normal(4, 8, 6)), (normal(3, 8), normal(3, 6))),
    "conv1d": sequence(lambda: nn.Conv1d(4, 6, 3, padding=2, dilation=2), nn.ReLU, x=lambda: normal(1, 4, 12)),
    "dilated conv": sequence(lambda: nn.Conv2d(4, 4, 3, dilation=2), x=image),
    "transposed conv": sequence(lambda: nn.ConvTranspose2d(4, 3, 2, stride=2), x=image),
    "patches": sequence(lambda: nn.Conv2d(4, 8, 4, stride=4), lambda: nn.Flatten(2), x=image),
    "max pool": sequence(lambda: nn.MaxPool2d(3, 2, 1), x=image),
    "mean pool": sequence(lambda: nn.AvgPool2d(2), lambda: nn.Flatten(), x=image),
    "global pool": sequence(lambda: nn.AdaptiveAvgPool2d(1), lambda: nn.Flatten(), lambda: nn.Linear(4, 3), x=image),
    "group norm": sequence(lambda: nn.GroupNorm(2, 4), x=image),
    "layer norm": sequence(lambda: nn.LayerNorm(16), x=tokens),
    "instance norm": sequence(lambda: nn.InstanceNorm2d(4), x=image),
    "pixel shuffle": sequence(lambda: nn.Conv2d(4, 8, 1), lambda: nn.PixelShuffle(2), x=image),
    "RMS norm": of(lambda x, w: rms(x, w), tokens, lambda: torch.rand(16)),
    "rotary": of(lambda x, a: turned(x, a.cos(), a.sin()), lambda: normal(1, 2, 5, 8), lambda: normal(5, 8)),
    "log sum exp": of(lambda x: torch.logsumexp(x, -1), wide),
    "variance": of(lambda x: (x.var(-1), x.std(0)), wide),
    "standardized": of(lambda x: (x - x.mean(0)) / (x.std(0) + 1e-5), wide),
    "distances": of(lambda a, b: ((a[:, None] - b[None]) ** 2).sum(-1).sqrt(), wide, wide),
    "cross entropy": of(lambda x, y: -(torch.log_softmax(x, -1) * y).sum(-1).mean(), wide, lambda: torch.rand(3, 16)),
    "cumulative": of(lambda x: torch.cumsum(x, -1), wide),
}  # fmt: skip
