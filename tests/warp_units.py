"""The instructions of matrix units, on the registers of warps: mma.sync, wgmma and MFMA, by the models of the chips."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import ml_dtypes
import numpy as np
import numpy.typing as npt
from warp_text import Instruction, Type

from halfulp.semantics.matrix_units.kinds import TileOp
from halfulp.semantics.matrix_units.models import multiply_accumulate

Array = npt.NDArray[Any]
Read = Callable[[str, int], Array]
Write = Callable[[str, Array], None]
"""Read a word of an instruction as integers of some bits; write a register."""


class Machine(Protocol):
    """What an instruction needs of the machine. ``lane``, ``warp``: the numbers of each thread."""

    threads: int
    lanes: int
    chip: str
    shared: Array
    lane: Array
    warp: Array

    def pack(self, type_: Type, value: Any) -> Array:
        """Return the bytes of a value, [threads, bytes]."""


_Part = tuple[Sequence[Array], Sequence[Array], Sequence[Array]]
_BYTES = {
    "f16": 2,
    "bf16": 2,
    "f32": 4,
    "tf32": 4,
    "i8": 1,
    "f8E4M3FN": 1,
    "f8E5M2": 1,
    "f8E4M3FNUZ": 1,
    "f8E5M2FNUZ": 1,
}
_PTX_TYPES = {"e4m3": "f8E4M3FN", "e5m2": "f8E5M2", "s8": "i8", "s32": "i32"}
_MFMA = {
    "f16": ("f16", "f16"), "bf16.1k": ("bf16", "bf16"), "f32": ("f32", "f32"), "xf32": ("tf32", "tf32"), "i8": ("i8", "i8"),
    "fp8.fp8": ("f8E4M3FNUZ", "f8E4M3FNUZ"), "bf8.bf8": ("f8E5M2FNUZ", "f8E5M2FNUZ"),
}  # fmt: skip


def _model(machine: Machine, kind: str, d: str) -> str:
    if d != "i32":
        return f"chip:{machine.chip}"
    return "custom:overflow=saturate,width=32" if kind == "mma" else "exact"


def unit(
    machine: Machine, kind: str, a: str, b: str, d: str, shape: tuple[int, int, int], parts: Sequence[_Part]
) -> list[Array]:
    """Return the registers of D of an instruction, by the model of the chip.

    ``parts``: for A, B and C the registers, one for each element of a thread, and the row and column that each has.
    """
    held: list[Array] = []
    for registers, rows, columns, (height, width) in zip(
        *zip(*parts, strict=True), ((shape[0], shape[2]), (shape[2], shape[1]), shape[:2]), strict=True
    ):
        tiles = np.zeros((machine.threads // machine.lanes, height, width), registers[0].dtype)
        for register, row, column in zip(registers, rows, columns, strict=True):
            tiles[machine.warp, row, column] = register >> np.uint32(13) if a == "tf32" and len(held) < 2 else register
        held.append(tiles)
    tile = TileOp(kind, a, b, d, d, shape, 1, kind)
    found = np.stack([multiply_accumulate(_model(machine, kind, d), tile, *each) for each in zip(*held, strict=True)])
    _, rows, columns = parts[2]
    return [found[machine.warp, row, column] for row, column in zip(rows, columns, strict=True)]


def mfma(machine: Machine, each: Instruction, name: str, values: Sequence[Any]) -> list[Array]:
    """Return the registers of D of MFMA: the lanes of a row hold neighbours along K."""
    found = re.fullmatch(r"llvm\.amdgcn\.mfma\.(f32|i32)\.(\d+)x(\d+)x(\d+)\.?(.*)", name)
    assert found is not None
    m, n, k = (int(found[place]) for place in (2, 3, 4))
    elements = _MFMA[found[5]]
    lane, split = machine.lane, machine.lanes // m
    count = k // split
    sides = []
    for (type_, _), value, element in zip(each.operands[:2], values[:2], elements, strict=True):
        size = _BYTES[element]
        data = machine.pack(type_, value)
        sides.append([data[:, j * size : (j + 1) * size].copy().view(f"u{size}")[:, 0] for j in range(count)])
    own = [lane % m] * count
    deep = [lane // m * count + j for j in range(count)]
    c = [np.asarray(part).view(np.uint32) for part in values[2]]
    rows = [8 * (j // 4) + 4 * (lane // 32) + j % 4 if m == 32 else 4 * (lane // 16) + j for j in range(len(c))]
    made = unit(machine,
        "mfma", *elements, found[1], (m, n, k),
        ((sides[0], own, deep), (sides[1], deep, own), (c, rows, [lane % n] * len(c))),
    )  # fmt: skip
    return [part.view(values[2][0].dtype) for part in made]


def matrix(machine: Machine, descriptor: int, rows: int, columns: int, size: int, transposed: bool) -> Array:
    """Return the matrix that a descriptor of wgmma names: rows along M or N, columns along K."""
    start, lead, stride = ((descriptor >> shift & 0x3FFF) << 4 for shift in (0, 16, 32))
    shift = descriptor >> 62
    width = {0: 16, 1: 128, 2: 64, 3: 32}[shift]
    row, column = np.indices((rows, columns))
    if transposed:
        places = row * size // width * lead + row * size % width + column // 8 * stride + column % 8 * width
    else:
        places = row // 8 * stride + row % 8 * width + column * size
    places = places + start
    places ^= (places >> 7 & (width // 16 - 1)) << 4
    found: Array = machine.shared[places[..., None] + np.arange(size)].view(f"u{size}")[..., 0]
    return found


def wgmma(machine: Machine, op: str, groups: list[list[str]], read: Read, write: Write) -> None:
    """wgmma: four warps multiply 64 rows; B, and A too unless it is in registers, lie in shared memory."""
    found = re.fullmatch(r"wgmma\.mma_async\.sync\.aligned\.m64n(\d+)k(\d+)\.(\w+)\.(\w+)\.(\w+)", op)
    assert found is not None
    n, k = int(found[1]), int(found[2])
    d, first, second = (_PTX_TYPES.get(found[place], found[place]) for place in (3, 4, 5))
    size = _BYTES[first]
    flags = [int(group[0]) for group in groups[4:]]
    used = read(groups[3][0], 1) if groups[3][0][0] == "$" else np.full(machine.threads, int(groups[3][0]))
    turned = [False, False, *map(bool, flags[2:])][-2:]  # whether A and B are not K-major
    row, lane = machine.lane // 4, machine.lane % 4
    tile = TileOp("wgmma", first, second, d, d, (64, n, k), 1, "wgmma")
    slots = [read(word, 32) for word in groups[0]] if (used != 0).any() else None
    halves = 2 if d == "f16" else 1  # elements in a register
    count = halves * len(groups[0])
    result = np.zeros((count, machine.threads), np.uint32)
    for start in range(0, machine.threads, 128):
        own = slice(start, start + 128)
        rows = [16 * (machine.warp[own] % 4) + row[own] + 8 * (j // 2 % 2) for j in range(count)]
        columns = [j // 4 * 8 + 2 * lane[own] + j % 2 for j in range(count)]
        if len(groups[1]) == 1:
            a = matrix(machine, int(read(groups[1][0], 64)[start]), 64, k, size, turned[0])
        else:
            a = np.zeros((64, k), f"u{size}")
            for j, word in enumerate(groups[1]):
                register = read(word, 32)[own]
                for part in range(4 // size):
                    deep = j // 2 * 16 // size + lane[own] * (4 // size) + part
                    a[16 * (machine.warp[own] % 4) + row[own] + 8 * (j % 2), deep] = (
                        register >> np.uint32(8 * size * part)
                    ).astype(f"u{size}")
        b = matrix(machine, int(read(groups[2][0], 64)[start]), n, k, size, turned[1]).T
        c = np.zeros((64, n), np.uint32 if halves == 1 else np.uint16)
        if slots is not None and used[start]:
            for j in range(count):
                c[rows[j], columns[j]] = slots[j // halves][own] >> np.uint32(16 * (j % halves))
        if first == "tf32":
            a, b = a >> np.uint32(13), b >> np.uint32(13)
        made = multiply_accumulate(_model(machine, "wgmma", d), tile, a, np.ascontiguousarray(b), c)
        for j in range(count):
            result[j, own] = made[rows[j], columns[j]]
    if halves == 2:
        result = result[::2] | result[1::2] << np.uint32(16)
    for word, value in zip(groups[0], result, strict=True):
        write(word, value)


def mma(machine: Machine, op: str, groups: list[list[str]], read: Read, write: Write) -> None:
    """mma.sync: lanes of four hold the elements of a row along K, in two halves."""
    found = re.fullmatch(r"mma\.sync\.aligned\.m16n8k(\d+)\.row\.col(?:\.satfinite)?\.(\w+)\.(\w+)\.(\w+)\.\w+", op)
    assert found is not None
    d, a, b = (_PTX_TYPES.get(found[place], found[place]) for place in (2, 3, 4))
    size = _BYTES[a]
    count = 4 // size
    row, lane = machine.lane // 4, machine.lane % 4
    parts: list[_Part] = []
    for side, group in enumerate((groups[1], groups[2])):
        words = [read(word, 32) for word in group]
        held = [(word >> np.uint32(8 * size * j)).astype(f"u{size}") for word in words for j in range(count)]
        upper, half = ([k % 2 for k in range(4)], [0, 0, 1, 1]) if side == 0 else ([0, 0], [0, 1])
        own = [row + 8 * each for each in upper for _ in range(count)]
        deep = [each * 4 * count + lane * count + j for each in half for j in range(count)]
        parts.append((held, own, deep) if side == 0 else (held, deep, own))
    sums = [read(word, 32) for word in groups[3]]
    if d == "f16":  # a register has two
        sums = [(word >> np.uint32(16 * j)).astype(np.uint16) for word in sums for j in range(2)]
    parts.append((sums, [row + 8 * (k // 2) for k in range(4)], [2 * lane + k % 2 for k in range(4)]))
    made = unit(machine, "mma", a, b, d, (16, 8, int(found[1])), parts)
    if d == "f16":
        made = [one | two.astype(np.uint32) << np.uint32(16) for one, two in zip(made[::2], made[1::2], strict=True)]
    for word, value in zip(groups[0], made, strict=True):
        write(word, value)


# --- conversions ------------------------------------------------------------------------------------------------------

_OF_8: dict[str, tuple[Any, float]] = {
    "e4m3x2": (ml_dtypes.float8_e4m3fn, 448.0),
    "e5m2x2": (ml_dtypes.float8_e5m2, 57344.0),
}
"""The types of pairs of floats of 8 bits, and their largest numbers."""


def convert_pairs(parts: Sequence[str], groups: Sequence[Sequence[str]], read: Read, write: Write) -> None:
    """cvt to and from pairs of floats of 8 bits, by ml_dtypes; a number that is too large becomes the largest one."""
    result, source = parts[-2:]
    if result in _OF_8:
        dtype, most = _OF_8[result]
        if source == "f32":
            pair: list[Any] = [read(group[0], 32).view(np.float32) for group in (groups[2], groups[1])]
        else:
            word = read(groups[1][0], 32)
            pair = [
                (word >> np.uint32(16 * half) & np.uint32(0xFFFF)).astype(np.uint16).view(np.float16) for half in (0, 1)
            ]
        codes = []
        for value in pair:
            with np.errstate(all="ignore"):
                narrow = np.clip(value, -most, most).astype(dtype).view(np.uint8)
            codes.append(np.where(np.isnan(value), 0x7F, narrow).astype(np.uint16))
        write(groups[0][0], codes[0] | codes[1] << np.uint16(8))
        return
    if source not in _OF_8 or result != "f16x2":
        raise NotImplementedError(".".join(parts))
    both = read(groups[1][0], 16)
    halves = [
        (both >> np.uint16(8 * half)).astype(np.uint8).view(_OF_8[source][0]).astype(np.float16).view(np.uint16)
        for half in (0, 1)
    ]
    write(groups[0][0], halves[0].astype(np.uint32) | halves[1].astype(np.uint32) << np.uint32(16))
