"""Random kernels of Triton, run by halfulp from TTGIR, and by `warps` from the LLVM IR that Triton makes of it.

    python tests/triton_random.py FIRST COUNT    compares the kernels with these numbers for all targets

The kernels have loads, elementwise ops, reductions and scans of one and several operands, sorts, histograms, moves of elements, loops,
branches, floats of 8 bits, atomics, and dots of small tiles.
"""

from __future__ import annotations

import importlib.util
import math
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, NamedTuple

import ml_dtypes
import numpy as np
import numpy.typing as npt
from warps import Machine

import halfulp as hu

# --- kernels ----------------------------------------------------------------------------------------------------------

FLOATS = ("fp32", "fp32", "fp32", "fp16", "bf16")
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
MOST_ELEMENTS = 2048
DTYPES = {"fp32": "tl.float32", "fp16": "tl.float16", "bf16": "tl.bfloat16", "i32": "tl.int32", "i8": "tl.int8", "i16": "tl.int16",
          "i64": "tl.int64"}  # fmt: skip
FLOATS_OF_8 = {"fp8e4nv": "tl.float8e4nv", "fp8e5": "tl.float8e5"}


class Node(NamedTuple):
    """A value of a kernel."""

    name: str
    dtype: str
    shape: tuple[int, ...]


class Memory(NamedTuple):
    """An argument that is memory."""

    name: str
    dtype: str
    size: int


@dataclass
class Kernel:
    """A random kernel: its source, its arguments, and the number of warps."""

    name: str
    warps: int
    options: dict[str, object] = field(default_factory=dict)
    inputs: list[Memory] = field(default_factory=list)
    outputs: list[Memory] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    @property
    def source(self) -> str:
        """The Python source."""
        names = ", ".join(each.name for each in (*self.inputs, *self.outputs))
        return "\n".join(["@triton.jit", f"def {self.name}({names}):", *(f"    {line}" for line in self.lines)])

    @property
    def signature(self) -> dict[str, str]:
        """The types of the arguments."""
        return {each.name: f"*{each.dtype}" for each in (*self.inputs, *self.outputs)}


class _Writer:
    def __init__(self, name: str, seed: int) -> None:
        self._random = random.Random(seed)
        self._count = 0
        self.kernel = Kernel(name, self._random.choice((1, 2, 4, 8)))
        self.kernel.options["enable_fp_fusion"] = self._random.random() < 0.7
        self.kernel.options["num_stages"] = self._random.choice((1, 2, 3, 4))
        self._values: list[Node] = []

    def _line(self, text: str, dtype: str, shape: tuple[int, ...]) -> Node:
        self._count += 1
        node = Node(f"v{self._count}", dtype, shape)
        self.kernel.lines.append(f"{node.name} = {text}")
        self._values.append(node)
        return node

    def _places(self, shape: tuple[int, ...]) -> str:
        """Return the offsets of the elements of a tile, in a random order of its axes."""
        order = list(range(len(shape)))
        self._random.shuffle(order)
        if self._random.random() < 0.6:
            order.sort(reverse=True)
        terms, step = [], 1
        for axis in order:
            index = ", ".join(":" if each == axis else "None" for each in range(len(shape)))
            ranged = f"tl.arange(0, {shape[axis]})" + (f"[{index}]" if len(shape) > 1 else "")
            terms.append(f"{ranged} * {step}")
            step *= shape[axis]
        return " + ".join(terms)

    def _shape(self) -> tuple[int, ...]:
        while True:
            rank = self._random.choice((1, 1, 2, 2, 2, 3, 3, 4))
            shape = tuple(self._random.choice(SIZES) for _ in range(rank))
            elements = 1
            for size in shape:
                elements *= size
            if 8 <= elements <= MOST_ELEMENTS:
                return shape

    def load(self, dtype: str, shape: tuple[int, ...]) -> Node:
        size = 1
        for each in shape:
            size *= each
        memory = Memory(f"p{len(self.kernel.inputs)}", dtype, size)
        self.kernel.inputs.append(memory)
        self._count += 1
        at = f"i{self._count}"
        self.kernel.lines.append(f"{at} = {self._places(shape)}")
        mask = ""
        if dtype not in FLOATS_OF_8 and dtype != "i8" and self._random.random() < 0.35:
            kept = self._random.choice((f"{at} < {self._random.randrange(size + 1)}", f"{at} % 3 != 1"))
            mask = f", mask={kept}, other={self._random.choice(('0', '1', '3', '-2'))}"
        return self._line(f"tl.load({memory.name} + {at}{mask})", dtype, shape)

    def widened(self, shape: tuple[int, ...]) -> None:
        """Load floats of 8 bits, and convert them."""
        node = self.load(self._random.choice(list(FLOATS_OF_8)), shape)
        self._values.remove(node)
        to = self._random.choice(("fp32", "fp16"))  # to bf16, PTX is software that the machine does not run
        self._line(f"{node.name}.to({DTYPES[to]})", to, shape)

    def loop(self) -> None:
        """Carry a value through a loop, with a number of iterations that the compiler may know."""
        found = [each for each in self._values if each.dtype != "i32"]
        if not found:
            return
        node = self._random.choice(found)
        count = str(self._random.randint(1, 5))
        if self._random.random() < 0.6:
            memory = Memory(f"p{len(self.kernel.inputs)}", "i32", 1)
            self.kernel.inputs.append(memory)
            count = f"n{self._count}"
            self.kernel.lines.append(f"{count} = tl.load({memory.name}) & 3")
        other, third = self._alike(node), self._alike(node)
        held = f"v{self._count + 1}"
        forms = [f"{held} + {node.name} * {other}", f"{held} * {other} + {third}", f"{third} - {held} * {node.name}",
                 f"tl.maximum({held}, {other}) * {node.name}", f"{held} + {other} * k", f"{held} * {held} - {other}"]  # fmt: skip
        if node.shape and node.dtype == "fp32":
            axis = self._random.randrange(len(node.shape))
            forms += [f"{held} + tl.sum({node.name} * {held}, axis={axis}, keep_dims=True)"] * 3
        size = 1
        for each in node.shape:
            size *= each
        if node.shape:
            memory = Memory(f"p{len(self.kernel.inputs)}", node.dtype, 5 * size)
            self.kernel.inputs.append(memory)
            at = f"i{self._count}"
            self.kernel.lines.append(f"{at} = {self._places(node.shape)}")
            forms += [f"{held} + tl.load({memory.name} + {at} + k * {size})"] * 2
            forms += [f"{held} + {node.name} * tl.load({memory.name} + {at} + k * {size})"] * 2
        self._line(
            f"{node.name} + 0.0" if self._random.random() < 0.5 else f"{node.name} * 0.5", node.dtype, node.shape
        )
        self.kernel.lines += [
            f"for k in range({count}):",
            f"    {held} = ({self._random.choice(forms)}).to({DTYPES[node.dtype]})",
        ]

    def store(self, node: Node) -> None:
        size = 1
        for each in node.shape:
            size *= each
        if node.dtype in ("fp32", "fp16") and self._random.random() < 0.15:
            to = self._random.choice(list(FLOATS_OF_8))
            node = node._replace(name=f"{node.name}.to({FLOATS_OF_8[to]})", dtype=to)
        memory = Memory(f"q{len(self.kernel.outputs)}", node.dtype, size)
        self.kernel.outputs.append(memory)
        if not node.shape:
            self.kernel.lines.append(f"tl.store({memory.name}, {node.name})")
            return
        self._count += 1
        at = f"i{self._count}"
        self.kernel.lines.append(f"{at} = {self._places(node.shape)}")
        if node.dtype == "i32" and self._random.random() < 0.4:
            op = self._random.choice(("add", "max", "min", "xor", "or", "and"))
            self.kernel.lines.append(f"tl.atomic_{op}({memory.name} + {at} // 2, {node.name})")
            return
        if node.dtype == "fp32" and self._random.random() < 0.15:
            self.kernel.lines.append(f"tl.atomic_add({memory.name} + {at} // 2, {node.name})")
            return
        mask = f", mask={at} % 5 != 2" if self._random.random() < 0.3 else ""
        self.kernel.lines.append(f"tl.store({memory.name} + {at}, {node.name}{mask})")

    def _alike(self, node: Node) -> str:
        """Return an operand of the type of a value: another value, or a constant."""
        found = [
            each
            for each in self._values
            if each.dtype == node.dtype and len(each.shape) == len(node.shape) and self._fits(each.shape, node.shape)
        ]
        if found and self._random.random() < 0.8:
            return self._random.choice(found).name
        return self._random.choice(("2", "3", "7") if node.dtype == "i32" else ("0.5", "1.25", "-3.0", "0.1"))

    @staticmethod
    def _fits(shape: tuple[int, ...], whole: tuple[int, ...]) -> bool:
        return all(one in (1, other) for one, other in zip(shape, whole, strict=True))

    def elementwise(self) -> None:
        node = self._random.choice(self._values)
        other, third = self._alike(node), self._alike(node)
        x = node.name
        if node.dtype == "i32":
            text = self._random.choice(
                (f"{x} + {other}", f"{x} - {other}", f"{x} * {other}", f"{x} ^ {other}", f"{x} & {other}",
                 f"tl.minimum({x}, {other})", f"tl.maximum({x}, {other})", f"{x} >> 3", f"{x} << 2", f"{x} // 7", f"{x} % 5",
                 f"tl.where({x} > {other}, {x}, {third})", f"tl.abs({x})")
            )  # fmt: skip
            if other[0] != "v" and third[0] != "v":
                text = f"{x} + 1"
        else:
            forms = [f"{x} + {other}", f"{x} - {other}", f"{x} * {other}", f"{other} - {x}",
                     f"{x} * {other} + {third}", f"{third} - {x} * {other}", f"{x} * {other} - {third}",
                     f"{x} * {other} + {third} * {x}", f"{x} * {self._alike(node)} + {third} * {other}",
                     f"{other} * {third} - {x} * {self._alike(node)}", f"tl.maximum({x}, {other})", f"tl.minimum({x}, {other})",
                     f"tl.where({x} > {other}, {x}, {third})", f"tl.abs({x})", f"-{x}"]  # fmt: skip
            if node.dtype == "fp32":
                forms += [f"tl.sqrt_rn(tl.abs({x}))", f"tl.div_rn({x}, {other})", f"tl.fma({x}, {x}, {x})",
                          f"tl.floor({x})", f"tl.clamp({x}, -1.0, 1.0)"]  # fmt: skip
            text = self._random.choice(forms)
        self._line(text, node.dtype, node.shape)

    def cast(self) -> None:
        node = self._random.choice(self._values)
        to = self._random.choice([each for each in ("fp32", "fp16", "bf16") if each != node.dtype])
        if node.dtype == "i32":
            self._line(f"({node.name} & 1023).to({DTYPES[to]})", to, node.shape)
        else:
            self._line(f"{node.name}.to({DTYPES[to]})", to, node.shape)

    def reduce(self) -> None:
        node = self._random.choice([each for each in self._values if each.shape] or [None])
        if node is None:
            return
        axis = self._random.randrange(len(node.shape))
        if node.shape[axis] == 1:
            return
        names = ("sum", "sum", "sum", "max", "min") + (("xor_sum",) if node.dtype == "i32" else ())
        text = f"tl.{self._random.choice(names)}({node.name}, axis={axis}"
        dtype = node.dtype
        if "sum(" in text and self._random.random() < 0.15 and "xor" not in text and dtype != "i32":
            text = f"tl.reduce({node.name}, {axis}, _product"
        if dtype == "bf16" and ("max" in text or "min" in text):
            dtype = "fp32"
        if len(node.shape) > 1 and self._random.random() < 0.6:
            shape = tuple(1 if each == axis else size for each, size in enumerate(node.shape))
            self._line(f"{text}, keep_dims=True).to({DTYPES[dtype]})", dtype, shape)
        else:
            shape = tuple(size for each, size in enumerate(node.shape) if each != axis)
            self._line(f"{text}).to({DTYPES[dtype]})", dtype, shape)

    def scan(self) -> None:
        found = [each for each in self._values if each.shape]
        if not found:
            return
        node = self._random.choice(found)
        axis = self._random.randrange(len(node.shape))
        reverse = self._random.random() < 0.5
        text = self._random.choice(
            (f"tl.cumsum({node.name}, axis={axis}", f"tl.associative_scan({node.name}, {axis}, _maximum")
        )
        self._line(f"{text}, reverse={reverse}).to({DTYPES[node.dtype]})", node.dtype, node.shape)

    def move(self) -> None:
        found = [each for each in self._values if len(each.shape) > 1]
        if not found:
            return
        node = self._random.choice(found)
        if self._random.random() < 0.5:
            order = list(range(len(node.shape)))
            self._random.shuffle(order)
            self._line(f"tl.permute({node.name}, {order})", node.dtype, tuple(node.shape[axis] for axis in order))
        else:
            shape = (node.shape[0] * node.shape[1], *node.shape[2:])
            self._line(f"tl.reshape({node.name}, {list(shape)})", node.dtype, shape)

    def _one_of(self, *dtypes: str, rank: int = 1) -> Node | None:
        """Return a random value of one of these types (all types without any), and of at least this rank."""
        found = [each for each in self._values if len(each.shape) >= rank and (not dtypes or each.dtype in dtypes)]
        return self._random.choice(found) if found else None

    def pair(self) -> None:
        """Join two values along a new axis, or split one along its last axis."""
        node = self._one_of()
        if node is None:
            return
        size = math.prod(node.shape)
        if node.shape[-1] == 2 and self._random.random() < 0.7:
            first, second = f"s{self._count}", f"t{self._count}"
            self.kernel.lines.append(f"{first}, {second} = tl.split({node.name})")
            shape = node.shape[:-1]
            self._line(f"{first} + 0" if node.dtype == "i32" else f"{first} * 1.5", node.dtype, shape)
            self._line(f"{second} - {first}", node.dtype, shape)
            return
        same = [each for each in self._values if each.shape == node.shape and each.dtype == node.dtype]
        if 2 * size <= MOST_ELEMENTS and len(node.shape) < 4:
            other = self._random.choice(same)
            if self._random.random() < 0.3:
                self._line(
                    f"tl.interleave({node.name}, {other.name})", node.dtype, (*node.shape[:-1], 2 * node.shape[-1])
                )
            elif self._random.random() < 0.3 and len(node.shape) == 1:
                self._line(f"tl.cat({node.name}, {other.name}, can_reorder=True)", node.dtype, (2 * size,))
            else:
                self._line(f"tl.join({node.name}, {other.name})", node.dtype, (*node.shape, 2))

    def gather(self) -> None:
        """Gather the elements of a value along an axis, by indices that are loaded."""
        node = self._one_of()
        if node is None:
            return
        axis = self._random.randrange(len(node.shape))
        shape = list(node.shape)
        shape[axis] = self._random.choice(
            [each for each in SIZES if each * math.prod(shape) // shape[axis] <= MOST_ELEMENTS]
        )
        index = self.load("i32", tuple(shape))
        self._line(f"tl.gather({node.name}, {index.name} & {node.shape[axis] - 1}, {axis})", node.dtype, tuple(shape))

    def histogram(self) -> None:
        """Count the elements of a value of one axis."""
        found = [each for each in self._values if each.dtype == "i32" and len(each.shape) == 1]
        node = self._random.choice(found) if found else self.load("i32", (self._random.choice(SIZES[3:]),))
        bins = self._random.choice((2, 8, 32, 128))
        mask = f", mask={node.name} > 3" if self._random.random() < 0.3 else ""
        self._line(f"tl.histogram({node.name} & {bins - 1}, {bins}{mask})", "i32", (bins,))

    def extreme(self) -> None:
        """Find the place of the largest or the smallest element, of values of which many are equal."""
        node = self._one_of("fp32", "fp16", "i32")
        if node is None:
            return
        axis = self._random.randrange(len(node.shape))
        ties = f"{node.name} & 3" if node.dtype == "i32" else f"tl.floor({node.name}.to(tl.float32))"
        if self._random.random() < 0.3:
            ties = node.name
        left = self._random.choice(("True", "True", "False"))
        shape = tuple(size for each, size in enumerate(node.shape) if each != axis)
        name = self._random.choice(("max", "min"))
        if self._random.random() < 0.5:
            self._line(f"tl.arg{name}({ties}, axis={axis}, tie_break_left={left})", "i32", shape)
            return
        value, place = f"s{self._count}", f"t{self._count}"
        self.kernel.lines.append(
            f"{value}, {place} = tl.{name}({ties}, axis={axis}, return_indices=True, return_indices_tie_break_left={left})"
        )
        self._line(f"{place} * 2", "i32", shape)
        self._line(f"{value}.to({DTYPES[node.dtype]})", node.dtype, shape)

    def several(self) -> None:
        """Reduce or scan two values together."""
        node = self._one_of("fp32", "i32")
        if node is None:
            return
        same = [each for each in self._values if each.shape == node.shape and each.dtype == node.dtype]
        other = self._random.choice(same)
        axis = self._random.randrange(len(node.shape))
        first, second = f"s{self._count}", f"t{self._count}"
        rule = self._random.choice(("_linear", "_both"))
        operands = f"({node.name}, {other.name}), {axis}, {rule}"
        if self._random.random() < 0.5:
            text, shape = f"tl.associative_scan({operands}, reverse={self._random.random() < 0.5})", node.shape
        else:
            text, shape = f"tl.reduce({operands})", tuple(size for each, size in enumerate(node.shape) if each != axis)
        self.kernel.lines.append(f"{first}, {second} = {text}")
        step = "0" if node.dtype == "i32" else "0.25"
        self._line(f"{first} + {step}", node.dtype, shape)
        self._line(f"{second} + {step}", node.dtype, shape)

    def sort(self) -> None:
        """Sort along the last axis, or turn an axis round."""
        node = self._one_of("fp32", "i32", "fp16")
        if node is None or node.shape[-1] > 256:
            return
        chosen = self._random.random()
        if chosen < 0.4:
            self._line(f"tl.sort({node.name}, descending={self._random.random() < 0.5})", node.dtype, node.shape)
        elif chosen < 0.6 and node.shape[-1] > 2:
            k = node.shape[-1] // 2
            self._line(f"tl.topk({node.name}, {k})", node.dtype, (*node.shape[:-1], k))
        else:
            self._line(f"tl.flip({node.name}, {self._random.randrange(len(node.shape))})", node.dtype, node.shape)

    def product(self) -> None:
        """Scan by products, or sum in another type."""
        node = self._one_of("fp32", "i32", "fp16", "bf16")
        if node is None:
            return
        axis = self._random.randrange(len(node.shape))
        if self._random.random() < 0.6:
            reverse = self._random.random() < 0.5
            text = f"tl.cumprod({node.name}, axis={axis}, reverse={reverse}).to({DTYPES[node.dtype]})"
            self._line(text, node.dtype, node.shape)
        elif node.dtype != "i32":
            shape = tuple(size for each, size in enumerate(node.shape) if each != axis)
            self._line(f"tl.sum({node.name}, axis={axis}, dtype=tl.float32)", "fp32", shape)

    def integers(self) -> None:
        """Compute with integers of another width, or with random bits."""
        node = self._one_of("i32")
        if node is None:
            return
        chosen = self._random.random()
        other = self._alike(node)
        if chosen < 0.25:
            self._line(
                f"tl.umulhi({node.name}.to(tl.uint32), ({node.name} ^ 12345).to(tl.uint32)).to(tl.int32)",
                "i32",
                node.shape,
            )
        elif chosen < 0.45:
            self._line(f"tl.randint({self._random.randrange(99)}, {node.name}).to(tl.int32)", "i32", node.shape)
        elif chosen < 0.6:
            self._line(f"tl.rand({self._random.randrange(99)}, {node.name})", "fp32", node.shape)
        else:
            narrow = DTYPES[self._random.choice(("i8", "i16", "i64"))]
            forms = (f"{node.name}.to({narrow}) * {other}.to({narrow})" if other[0] == "v" else f"{node.name}.to({narrow}) * 3",
                     f"tl.maximum({node.name}.to({narrow}), 5)", f"{node.name}.to({narrow}) >> 2",
                     f"tl.where({node.name}.to({narrow}) > 9, {node.name}, 3)")  # fmt: skip
            self._line(f"({self._random.choice(forms)}).to(tl.int32)", "i32", node.shape)

    def branch(self) -> None:
        """Change a value in nested branches, or in a loop that ends by a condition of loaded numbers."""
        node = self._one_of("fp32", "fp16", "bf16", "i32")
        if node is None:
            return
        memory = Memory(f"p{len(self.kernel.inputs)}", "i32", 1)
        self.kernel.inputs.append(memory)
        count, whole = f"n{self._count}", node.dtype == "i32"
        self.kernel.lines.append(f"{count} = tl.load({memory.name}) & 7")
        held, other = f"v{self._count + 1}", self._alike(node)
        self._line(f"{node.name} + 0" if whole else f"{node.name} * 0.5", node.dtype, node.shape)
        to = DTYPES[node.dtype]
        steps = [f"{held} = ({held} * {other} + {node.name}).to({to})", f"{held} = ({held} - {other} * {node.name}).to({to})",
                 f"{held} = tl.minimum({held}, {node.name})"]  # fmt: skip
        if node.shape and node.dtype in ("fp32", "i32"):
            steps.append(
                f"{held} = {held} - tl.sum({held}, axis={self._random.randrange(len(node.shape))}, keep_dims=True)"
            )
        one, two, three = (self._random.choice(steps) for _ in range(3))
        if self._random.random() < 0.5:
            k = f"k{self._count}"
            self.kernel.lines += [
                f"{k} = 0",
                f"while {k} < {count}:",
                f"    {one}",
                f"    {k} += {self._random.choice((1, 2))}",
            ]
        else:
            self.kernel.lines += [f"if {count} > {self._random.randrange(6)}:", f"    {one}", f"    if {count} % 2 == 0:",
                                  f"        {two}", "else:", f"    {three}"]  # fmt: skip

    def dot(self) -> None:
        m, n, k = (self._random.choice((16, 16, 32, 64, 128)) for _ in range(3))
        while m * k > 4096 or k * n > 4096 or m * n > 4096:
            m, n, k = (self._random.choice((16, 32, 64)) for _ in range(3))
        dtype = self._random.choice(("fp16", "fp16", "bf16", "fp32", "i8", "fp8e4nv", "fp8e5"))
        batch = (self._random.choice((2, 4)),) if self._random.random() < 0.2 and m * n * k <= 32 * 32 * 32 else ()
        if dtype in ("i8", *FLOATS_OF_8):
            k = max(k, 32)
        a, b = self.load(dtype, (*batch, m, k)), self.load(dtype, (*batch, k, n))
        for node in (a, b):
            if dtype in ("i8", *FLOATS_OF_8):
                self._values.remove(node)
        total = "i32" if dtype == "i8" else "fp32"
        precision = self._random.choice(("ieee", "tf32", "bf16x3")) if dtype == "fp32" else "ieee"
        c = self.load(total, (*batch, m, n)).name if self._random.random() < 0.5 else "None"
        out = ""
        if dtype == "fp16" and c == "None" and self._random.random() < 0.3:
            total, out = "fp16", ", out_dtype=tl.float16"
        if dtype in FLOATS_OF_8 and self._random.random() < 0.3:
            out = f", max_num_imprecise_acc={self._random.choice((0, 32, min(k, 64)))}"
        x = a.name
        if dtype == "fp16" and self._random.random() < 0.3:
            x = f"({a.name} * 1.5 + 0.25).to(tl.float16)"
        if total == "fp16" or dtype == "i8":
            out = out or f", out_dtype={DTYPES[total]}"
        self._line(f'tl.dot({x}, {b.name}, {c}, input_precision="{precision}"{out})', total, (*batch, m, n))


def random_kernel(seed: int, dots: bool) -> Kernel:
    """Return a random kernel, the same for the same seed. ``dots``: whether it has a dot."""
    writer = _Writer(f"kernel{seed}", seed)
    choose = random.Random(~seed)
    if dots:
        writer.dot()
    else:
        shape = writer._shape()
        for _ in range(choose.randint(1, 3)):
            if choose.random() < 0.15:
                writer.widened(shape)
            else:
                writer.load(choose.choice((*FLOATS, "i32")), shape)
    steps = [writer.elementwise] * 6 + [writer.reduce] * 3 + [writer.loop, writer.scan, writer.cast, writer.move]
    steps += [writer.pair, writer.gather, writer.histogram, writer.extreme, writer.several, writer.sort, writer.product]
    steps += [writer.integers, writer.branch]
    for _ in range(choose.randint(2, 8)):
        choose.choice(steps)()
    values = writer._values
    for node in dict.fromkeys((values[-1], choose.choice(values), choose.choice(values))):
        writer.store(node)
    return writer.kernel


# --- comparison -------------------------------------------------------------------------------------------------------

HEAD = """import triton
import triton.language as tl


@triton.jit
def _product(a, b):
    return a * b


@triton.jit
def _maximum(a, b):
    return tl.maximum(a, b)


@triton.jit
def _linear(a, b, c, d):
    return a * c, c * b + d


@triton.jit
def _both(a, b, c, d):
    return a + c, tl.maximum(b, d)


"""
SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -6e-8, 65504.0, -448.0, 1.0])
TARGETS = {"cuda:90": ("cuda", 90, 32), "hip:gfx942": ("hip", "gfx942", 64)}
CHIPS = {"cuda:90": "sm_90", "hip:gfx942": "gfx942"}
ELEMENTS: dict[str, Any] = {
    "fp32": np.float32, "fp16": np.float16, "bf16": ml_dtypes.bfloat16, "i32": np.int32, "i8": np.int8,
    "fp8e4nv": ml_dtypes.float8_e4m3fn, "fp8e5": ml_dtypes.float8_e5m2,
}  # fmt: skip
Array = npt.NDArray[Any]


class Compiled(NamedTuple):
    """A kernel for a target: its TTGIR, its LLVM IR, and the bytes of shared memory that it needs."""

    ttgir: str
    llvm: str
    shared: int


def functions_of(kernels: Sequence[Kernel]) -> dict[str, Any]:
    """Return the functions of kernels. Triton reads their source from a file, which stays until Python ends."""
    file = tempfile.NamedTemporaryFile("w", suffix=".py", encoding="utf-8", delete=False)  # noqa: SIM115
    with file:
        file.write(HEAD + "\n\n\n".join(kernel.source for kernel in kernels) + "\n")
    spec = importlib.util.spec_from_file_location(Path(file.name).stem, file.name)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {kernel.name: getattr(module, kernel.name) for kernel in kernels}


def compiled(kernel: Kernel, function: Any, target: str) -> Compiled:
    """Compile a kernel as far as LLVM IR, without a GPU. Raises RuntimeError if Triton does not compile it."""
    compiler: Any = import_module("triton.compiler.compiler")
    ir: Any = import_module("triton._C.libtriton").ir
    gpu = import_module("triton.backends.compiler").GPUTarget(*TARGETS[target])
    backend = compiler.make_backend(gpu)
    options = backend.parse_options({"num_warps": kernel.warps, **kernel.options})
    source = compiler.ASTSource(function, kernel.signature, {}, {})
    stages: dict[str, Any] = {}
    backend.add_stages(stages, options, source.language)
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    metadata = {"target": gpu, **options.__dict__}
    functions = backend.get_codegen_implementation(options)
    module = source.make_ir(gpu, options, functions, backend.get_module_map(), context)
    for stage in ("ttir", "ttgir"):
        module = stages[stage](module, metadata)
    ttgir = module.str_nodebug()
    return Compiled(ttgir, str(stages["llir"](module, metadata)), metadata["shared"])


def arguments_of(kernel: Kernel, seed: int) -> list[Array]:
    """Return numbers for the arguments of a kernel: ordinary ones, for one kernel in three with special ones between."""
    draw = np.random.default_rng(seed)
    found: list[Array] = []
    for memory in kernel.inputs:
        if memory.dtype == "i32":
            found.append(draw.integers(-50, 1000, memory.size).astype(np.int32))
        elif memory.dtype == "i8":
            found.append(draw.integers(-128, 128, memory.size).astype(np.int8))
        else:
            numbers = draw.standard_normal(memory.size) * np.exp2(draw.integers(-3, 4, memory.size))
            if seed % 3 == 0 and seed % 4:  # not for dots, of which such sums are not published
                special = draw.random(memory.size) < 0.1
                numbers = np.where(special, draw.choice(SPECIAL, memory.size), numbers)
            with np.errstate(all="ignore"):
                found.append(numbers.astype(ELEMENTS[memory.dtype]))
    return [*found, *((np.arange(each.size) % 7).astype(ELEMENTS[each.dtype]) for each in kernel.outputs)]


def run_by_machine(kernel: Kernel, made: Compiled, target: str, arguments: Sequence[Array]) -> list[Array]:
    """Return the arguments after the machine ran the LLVM IR."""
    starts = np.cumsum([0, *(each.nbytes + 512 & ~255 for each in arguments)]).tolist()
    memory = np.zeros(starts[-1], np.uint8)
    for start, each in zip(starts, arguments, strict=False):
        memory[start : start + each.nbytes] = each.view(np.uint8)
    lanes = TARGETS[target][2]
    fusion = bool(kernel.options["enable_fp_fusion"])
    machine = Machine(made.llvm, kernel.warps * lanes, lanes, memory, fusion, made.shared, CHIPS[target])
    machine.run([Machine.BASE + start for start in starts[:-1]])
    return [
        memory[start : start + each.nbytes].view(each.dtype) for start, each in zip(starts, arguments, strict=False)
    ]


def differences(kernel: Kernel, function: Any, target: str, seed: int) -> tuple[list[str], bool]:
    """Compare the two results of a kernel. Return what differs, and whether elements differ that are marked open."""
    made, arguments = compiled(kernel, function, target), arguments_of(kernel, seed)
    try:
        expected = run_by_machine(kernel, made, target, arguments)
    except (AssertionError, KeyError, ValueError, TypeError, IndexError) as error:
        raise NotImplementedError(repr(error)) from error
    memory = [hu.Buffer.from_numpy(each.copy()) for each in arguments]
    fusion: Literal["on", "off"] = "on" if kernel.options["enable_fp_fusion"] else "off"
    hu.run(made.ttgir, *memory, grid=1, track_open=True, fp_fusion=fusion)
    found, marked = [], False
    for given, buffer, right in zip((*kernel.inputs, *kernel.outputs), memory, expected, strict=True):
        value = buffer.load()
        got = value.numpy().reshape(-1)
        same = got.view(f"u{got.itemsize}") == right.view(f"u{got.itemsize}")
        if got.dtype.kind != "i":
            same |= np.isnan(got.astype(np.float64)) & np.isnan(right.astype(np.float64))
        if value.open is not None:
            opened = np.broadcast_to(value.open != 0, value.shape).reshape(-1)
            marked |= bool((opened & ~same).any())
            same |= opened
        if not same.all():
            place = int(np.argmin(same))
            found.append(
                f"{given.name}: {np.count_nonzero(~same)} of {len(same)}, [{place}] {got[place]}, not {right[place]}"
            )
    return found, marked


def compare(numbers: Sequence[int], targets: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Compare the kernels with some numbers. Yield for each and each target its name, the target and the outcome."""
    kernels = [random_kernel(number, number % 4 == 0) for number in numbers]
    functions = functions_of(kernels)
    for number, kernel in zip(numbers, kernels, strict=True):
        for target in targets:
            try:
                found, marked = differences(kernel, functions[kernel.name], target, number)
            except NotImplementedError as error:
                yield kernel.name, target, f"the machine lacks {str(error)[:80]}"
            except hu.Unsupported as error:
                yield kernel.name, target, f"not run: {error.message[:80]}"
            except (RuntimeError, import_module("triton.compiler.errors").CompilationError) as error:
                yield kernel.name, target, f"Triton does not compile it: {str(error).splitlines()[-1][:90]}"
            else:
                outcome = (
                    f"DIFFERENT: {'; '.join(found)}"
                    if found
                    else "the same, but for open elements"
                    if marked
                    else "the same"
                )
                yield kernel.name, target, outcome


def main() -> None:
    """Compare many kernels."""
    first, count = map(int, sys.argv[1:])
    found: Counter[tuple[str, str]] = Counter()
    for name, target, outcome in compare(range(first, first + count), list(TARGETS)):
        found[target, outcome.partition(":")[0]] += 1
        if not outcome.startswith("the same"):
            print(name, target, outcome, flush=True)
    for (target, outcome), number in sorted(found.items()):
        print(f"{target}: {number} {outcome}")


if __name__ == "__main__":
    main()
