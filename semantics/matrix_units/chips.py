"""The rules by which the matrix units of real chips add, as far as published: a row for each chip and instruction.

The facts are those of MMA-Sim (Xie, Wang, Yang and Yang, arXiv 2511.10909), whose authors found them by tests on the
chips. Our tests compare the rows with the results of MMA-Sim; halfulp itself was not compared with a chip. For an
instruction without a row nothing is published. `halfulp.semantics.matrix_units.models` computes by these rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from halfulp.fp_formats.aliases import asking, did_you_mean
from halfulp.semantics.matrix_units.accumulator import PREFIX, Accumulator


@dataclass(frozen=True)
class Row:
    """The instructions that a rule is for.

    ``unit``: the name of the instruction. ``types``: the types of A and B. ``results``: the types of C and D.
    ``shapes``: MxNxK, with xBlocksB if there are several blocks; * stands for any number. ``scales``: the types of the
    scales, with the number of elements that share one.
    """

    unit: str
    types: tuple[str, ...]
    results: tuple[str, ...]
    shapes: tuple[str, ...]
    rule: Accumulator
    scales: tuple[str, ...] = ("",)

    def covers(self, unit: str, types: str, results: str, shape: str, scales: str) -> bool:
        """Tell whether the row is for this instruction."""
        return (
            unit == self.unit
            and types in self.types
            and results in self.results
            and scales in self.scales
            and any(fnmatchcase(shape, pattern) for pattern in self.shapes)
        )


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _row(unit: str, types: str, results: str, shapes: str, rule: Accumulator, scales: str = "") -> Row:
    return Row(unit, _words(types), _words(results), _words(shapes), rule, _words(scales) or ("",))


def _pairs(a: str, b: str) -> str:
    return f"{a},{a} {a},{b} {b},{a} {b},{b}"


_NEAREST = "to_nearest_even"
CHAIN = Accumulator(tree="sequential", partial=_NEAREST, nan="payload")
INTEGER = Accumulator()

_FP8 = _pairs("f8E5M2", "f8E4M3FN")

# NVIDIA: C and the products are aligned to the largest exponent among them, cut off toward zero and added.
_VOLTA = Accumulator(
    bits=23, zero_exponent=-126, rounding="toward_zero", overflow="infinity", zero="positive", nan="ones"
)
_TURING = replace(_VOLTA, bits=24)
_HOPPER = replace(_VOLTA, bits=25)
_NARROW = replace(_VOLTA, bits=13, fraction=13)
_DOTS = replace(_VOLTA, bits=35, dot=16, specials="nan")


def _to_f16(rule: Accumulator) -> Accumulator:
    """Return the rule with results in f16, which are rounded to nearest even."""
    return replace(rule, rounding=_NEAREST, fraction=None)


def _both(unit: str, types: str, shapes: str, rule: Accumulator, more: str = "") -> tuple[Row, Row]:
    """Return the rows of results in f32, and in f16. ``more``: further types of C and D with f32 results."""
    of_f32 = _row(unit, types, f"f32,f32 {more}", shapes, rule)
    return of_f32, _row(unit, types, "f16,f16", shapes, _to_f16(rule))


_AMPERE_ROWS = (
    _row("mma", "f64,f64", "f64,f64", "8x8x4", CHAIN),
    _row("mma", "tf32,tf32", "f32,f32", "16x8x8 16x8x4", replace(_TURING, group=4)),
    *_both("mma", "f16,f16", "16x8x16 16x8x8", replace(_TURING, group=8)),
    _row("mma", "bf16,bf16", "f32,f32", "16x8x16 16x8x8", replace(_TURING, group=8)),
)
_WHOLE_K_ROWS = (
    _row("mma", "tf32,tf32", "f32,f32", "16x8x8 16x8x4", _HOPPER),
    *_both("mma", "f16,f16", "16x8x16 16x8x8", _HOPPER),
    _row("mma", "bf16,bf16", "f32,f32", "16x8x16 16x8x8", _HOPPER),
)

_AMD_CHAIN = replace(CHAIN, specials="none")
# CDNA 1 and 2: products, sums of two, of these and so on are rounded; C comes last.
_TREE = Accumulator(
    group=4, tree="neighbours", c="last", products="rounded", partial=_NEAREST, nan="payload", specials="none"
)
# CDNA 3: the products are aligned and added alone; then their sum, with 7 bits more, and C.
_LATE = Accumulator(
    c="last", bits=24, guard=7, cut_sums="downward", zero_exponent=-126, product_overflow=True, zero="sum",
    specials="none",
)  # fmt: skip
_ONE_BLOCK_32, _ONE_BLOCK_16 = "16x16x16 32x32x8", "16x16x8 32x32x4"
_BLOCKS_4, _BLOCKS_2 = "4x4x4x16B 16x16x4x4B 32x32x4x2B", "4x4x2x16B 16x16x2x4B 32x32x2x2B"
_F32_SHAPES = "16x16x4 32x32x2 4x4x1x16B 16x16x1x4B 32x32x1x2B"

CHIPS: dict[str, tuple[Row, ...]] = {
    "volta": (*_both("mma", "f16,f16", "8x8x4", _VOLTA, "f16,f32"),),
    "turing": (
        *_both("mma", "f16,f16", "16x8x8", _TURING),
        *_both("mma", "f16,f16", "8x8x4", _TURING, "f16,f32"),
    ),
    "ampere": _AMPERE_ROWS,
    "ada": (*_AMPERE_ROWS, *_both("mma", _FP8, "16x8x32 16x8x16", replace(_NARROW, group=16))),
    "hopper": (
        *_WHOLE_K_ROWS,
        _row("mma", "f64,f64", "f64,f64", "8x8x4 16x8x4 16x8x8 16x8x16", CHAIN),
        _row("wgmma", "tf32,tf32", "f32,f32", "64x*x8", _HOPPER),
        *_both("wgmma", "f16,f16", "64x*x16", _HOPPER),
        _row("wgmma", "bf16,bf16", "f32,f32", "64x*x16", _HOPPER),
        *_both("wgmma", _FP8, "64x*x32", _NARROW),
    ),
    "blackwell": (
        *_WHOLE_K_ROWS,
        _row("mma", "f64,f64", "f64,f64", "8x8x4", CHAIN),
        _row("tcgen05", "tf32,tf32", "f32,f32", "64x*x8 128x*x8", _HOPPER),
        *_both("tcgen05", "f16,f16", "64x*x16 128x*x16", _HOPPER),
        _row("tcgen05", "bf16,bf16 f16,bf16 bf16,f16", "f32,f32", "64x*x16 128x*x16", _HOPPER),
        *_both("tcgen05", _FP8, "64x*x32 128x*x32", _HOPPER),
        _row("tcgen05", _FP8, "f32,f32", "128x*x32", _HOPPER, "f8E8M0FNU,32"),
        _row(
            "tcgen05", "f4E2M1FN,f4E2M1FN", "f32,f32", "128x*x64", _DOTS, "f8E8M0FNU,32 f8E8M0FNU,16 f8E4M3FN,16",
        ),
    ),
    "rtx-blackwell": (
        *_WHOLE_K_ROWS,
        _row("mma", "f64,f64", "f64,f64", "8x8x4", CHAIN),
        *_both("mma", _FP8, "16x8x32 16x8x16", _HOPPER),
        _row("mma", _FP8, "f32,f32", "16x8x32", _HOPPER, "f8E8M0FNU,32"),
        _row(
            "mma", "f4E2M1FN,f4E2M1FN", "f32,f32", "16x8x64", _DOTS,
            "f8E8M0FNU,32 f8E8M0FNU,16 f8E4M3FN,32 f8E4M3FN,16",
        ),
    ),
    "cdna1": (
        _row("mfma", "f32,f32", "f32,f32", _F32_SHAPES, _AMD_CHAIN),
        _row("mfma", "f16,f16", "f32,f32", f"{_ONE_BLOCK_32} {_BLOCKS_4}", _TREE),
        _row("mfma", "bf16,bf16", "f32,f32", f"{_ONE_BLOCK_16} {_BLOCKS_2}", replace(_TREE, group=2)),
        _row("mfma", "i8,i8", "i32,i32", f"{_ONE_BLOCK_32} {_BLOCKS_4}", INTEGER),
    ),
    "cdna2": (
        _row("mfma", "f64,f64", "f64,f64", "16x16x4 4x4x4x4B", _AMD_CHAIN),
        _row("mfma", "f32,f32", "f32,f32", _F32_SHAPES, _AMD_CHAIN),
        _row("mfma", "f16,f16 bf16,bf16", "f32,f32", f"{_ONE_BLOCK_32} {_BLOCKS_4}", replace(_TREE, flush=True)),
        _row("mfma", "bf16,bf16", "f32,f32", f"{_ONE_BLOCK_16} {_BLOCKS_2}", replace(_TREE, group=2, flush=True)),
        _row("mfma", "i8,i8", "i32,i32", f"{_ONE_BLOCK_32} {_BLOCKS_4}", INTEGER),
    ),
    "cdna3": (
        _row("mfma", "f64,f64", "f64,f64", "16x16x4 4x4x4x4B", _AMD_CHAIN),
        _row("mfma", "f32,f32", "f32,f32", _F32_SHAPES, _AMD_CHAIN),
        _row("mfma", "tf32,tf32", "f32,f32", _ONE_BLOCK_16, replace(_LATE, group=4)),
        _row("mfma", "f16,f16 bf16,bf16", "f32,f32", f"{_ONE_BLOCK_32} {_BLOCKS_4}", replace(_LATE, group=8)),
        _row(
            "mfma", _pairs("f8E5M2FNUZ", "f8E4M3FNUZ"), "f32,f32", "16x16x32 32x32x16",
            replace(_LATE, group=16, tree="even_odd", c_shifter=25),
        ),
        _row("mfma", "i8,i8", "i32,i32", f"16x16x32 32x32x16 {_BLOCKS_4}", INTEGER),
    ),
}  # fmt: skip
"""The rows of each chip."""

MODELS = ("exact", "ieee", *(f"chip:{name}" for name in CHIPS))
"""The names of all models of tile operations: two that no chip computes, and the chips."""

PRODUCTS: dict[str, str] = {
    "v100": "volta", "sm_70": "volta", "t4": "turing", "rtx2080": "turing", "sm_75": "turing",
    "a100": "ampere", "a30": "ampere", "a10": "ampere", "rtx3090": "ampere", "sm_80": "ampere", "sm_86": "ampere",
    "l4": "ada", "l40": "ada", "l40s": "ada", "rtx4090": "ada", "sm_89": "ada",
    "h100": "hopper", "h200": "hopper", "gh200": "hopper", "sm_90": "hopper", "sm_90a": "hopper",
    "b100": "blackwell", "b200": "blackwell", "gb200": "blackwell", "sm_100": "blackwell", "sm_100a": "blackwell",
    "rtx5090": "rtx-blackwell", "sm_120": "rtx-blackwell", "sm_120a": "rtx-blackwell",
    "mi100": "cdna1", "gfx908": "cdna1", "mi210": "cdna2", "mi250": "cdna2", "mi250x": "cdna2", "gfx90a": "cdna2",
    "mi300a": "cdna3", "mi300x": "cdna3", "mi325x": "cdna3", "gfx942": "cdna3",
}  # fmt: skip
"""Names of products and of compilers' targets, with the chip of `CHIPS` that each has."""


def model_hint(name: str) -> str | None:
    """Return a hint for the name of a model of tile operations that is not known; None where none is near."""
    word = name.lower().removeprefix("chip:").replace(" ", "").replace("-", "")
    word = word.removeprefix("nvidia").removeprefix("amd")
    chip = PRODUCTS.get(word) or (name.lower() if name.lower() in CHIPS else None)
    if chip is not None:
        return asking((f"chip:{chip}",))
    return did_you_mean(name, MODELS)


def as_model(given: object) -> str:
    """Return a model of tile operations as text: one of `MODELS`, or an `Accumulator` in its text form.

    Raises ValueError for anything else; `model_hint` may have a hint.
    """
    if isinstance(given, Accumulator):
        return given.text
    if isinstance(given, str) and given.startswith(PREFIX):
        return Accumulator.from_text(given).text
    if isinstance(given, str) and given in MODELS:
        return given
    raise ValueError(f"{given!r} is none of {', '.join(MODELS)}, and no accumulator, as in {PREFIX}group=8,bits=25")
