"""The rules by which the matrix units of real chips add, as far as published: a row for each chip and instruction.

The facts are those of MMA-Sim (Xie, Wang, Yang and Yang, arXiv 2511.10909), whose authors found them by tests on the
chips. Our tests compare the rows with the results of MMA-Sim. The rows of six chips were also compared with what these
chips computed: 160,000 dot products that Khattak and Mikaitis recorded (arXiv 2512.07004). From these recordings alone
come the rows for f8 by mma of Hopper and Blackwell. For an instruction without a row nothing is published.
`halfulp.semantics.matrix_units.models` computes by these rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import NamedTuple

from halfulp.fp_formats.aliases import asking, did_you_mean
from halfulp.semantics.matrix_units.accumulator import PREFIX, Accumulator


class Instruction(NamedTuple):
    """An instruction, described by the same texts as in a `Row`."""

    unit: str
    types: str
    results: str
    shape: str
    scales: str

    @property
    def has_n(self) -> bool:
        """Whether the unit has instructions with the N of this one."""
        m, n, *_ = self.shape.split("x")
        return int(n) in numbers_of_columns(self.unit, m, self.scales)


def numbers_of_columns(unit: str, m: str, scales: str = "") -> range:
    """Return the values of N that instructions with ``*`` for N may have, by the PTX ISA; all values for units of other
    makers.
    """
    if unit not in ("wgmma", "tcgen05"):
        return range(1, 1 << 16)
    step = 16 if (unit, m, scales) == ("tcgen05", "128", "") else 8
    return range(step, 257, step)


@dataclass(frozen=True)
class Row:
    """The instructions that a rule is for.

    ``unit``: the name of the instruction. ``types``: the types of A and B. ``results``: the types of C and D.
    ``shapes``: MxNxK, with xBlocksB if there are several blocks; * stands for any N of `numbers_of_columns`.
    ``scales``: the types of the scales, with the number of elements that share one.
    """

    unit: str
    types: tuple[str, ...]
    results: tuple[str, ...]
    shapes: tuple[str, ...]
    rule: Accumulator
    scales: tuple[str, ...] = ("",)

    def others(self, asked: Instruction) -> list[str]:
        """Return in words the points in which the instructions of the row differ from ``asked``; empty if the row
        includes it.
        """
        fits = {
            "unit": asked.unit == self.unit,
            "types of A and B": asked.types in self.types,
            "types of C and D": asked.results in self.results,
            "shape": asked.has_n and any(fnmatchcase(asked.shape, pattern) for pattern in self.shapes),
            "scales": asked.scales in self.scales,
        }
        return [what for what, same in fits.items() if not same]

    def nearest(self, asked: Instruction) -> str:
        """Return the text of the instruction of the row that is nearest to ``asked``."""
        others = self.others(asked)
        sides = asked.shape.split("x")
        shapes = sorted(self.shapes, key=lambda each: sum(x != y for x, y in zip(each.split("x"), sides, strict=False)))
        types, results, shape = (
            (own[0] if what in others else wanted)
            for what, own, wanted in (
                ("types of A and B", self.types, asked.types),
                ("types of C and D", self.results, asked.results),
                ("shape", shapes, asked.shape),
            )
        )
        (a, b), (c, d) = types.split(","), results.split(",")
        m, n, *_ = shape.split("x")
        ns = numbers_of_columns(self.unit, m, self.scales[0])
        any_n = f", N a multiple of {ns.step} from {ns.start} to {ns[-1]}" if n == "*" else ""
        return f"{self.unit} {shape.replace('*', 'N')} {a} * {b} + {c} to {d}{any_n}"


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
_SAME_FP8 = "f8E5M2,f8E5M2 f8E4M3FN,f8E4M3FN"

# NVIDIA: C and the products are aligned to the largest exponent among them, cut off toward zero and added.
_VOLTA = Accumulator(
    bits=23, zero_exponent=-126, rounding="toward_zero", overflow="infinity", zero="positive", nan="ones"
)
_TURING = replace(_VOLTA, bits=24)
_HOPPER = replace(_VOLTA, bits=25)
_NARROW = replace(_VOLTA, bits=13, fraction=13)
# f8 by mma: the results are those of two f16 instructions, on every other pair of elements; C comes last.
_BY_F16 = replace(_HOPPER, group=16, order=2, steps="f16", c="end", specials="normal")
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
        _row("mma", _SAME_FP8, "f16,f16", "16x8x32", _to_f16(_BY_F16)),
        _row("wgmma", "tf32,tf32", "f32,f32", "64x*x8", _HOPPER),
        *_both("wgmma", "f16,f16", "64x*x16", _HOPPER),
        _row("wgmma", "bf16,bf16", "f32,f32", "64x*x16", _HOPPER),
        *_both("wgmma", _FP8, "64x*x32", _NARROW),
    ),
    "blackwell": (
        *_WHOLE_K_ROWS,
        _row("mma", "f64,f64", "f64,f64", "8x8x4", CHAIN),
        *_both("mma", _SAME_FP8, "16x8x32", _BY_F16),
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

RECORDED, PUBLISHED, INFERRED = "recorded", "published", "inferred"


@dataclass(frozen=True)
class Product:
    """A product, or a target of compilers. ``chip``: its rows in `CHIPS`.

    ``basis``: the evidence for the rows. "recorded": dot products that the product computed; there are ``recorded`` of
    them, and ``wrong`` of these differ from ours. "published": a published model of it, or, if the name is that of a
    compiler's target, of its architecture. "inferred": it has the architecture of a chip with recorded or published
    evidence.
    """

    chip: str
    basis: str
    recorded: int = 0
    wrong: int = 0


def _products(chip: str, published: str, inferred: str, **recorded: int) -> dict[str, Product]:
    return (
        {name: Product(chip, RECORDED, count) for name, count in recorded.items()}
        | {name: Product(chip, PUBLISHED) for name in published.split()}
        | {name: Product(chip, INFERRED) for name in inferred.split()}
    )


PRODUCTS: dict[str, Product] = (
    _products("volta", "sm_70", "titanv sm_72", v100=10_000)
    | _products(
        "turing", "sm_75", "t4 rtx2060 rtx2060super rtx2070 rtx2070super rtx2080 rtx2080super rtx2080ti titanrtx"
    )
    | _products(
        "ampere",
        "a2 a30 a40 sm_80 sm_86",
        "a10 a16 rtx3050 rtx3050ti rtx3060 rtx3060ti rtx3070 rtx3070ti rtx3080 rtx3080ti rtx3090 rtx3090ti rtxa2000 "
        "rtxa4000 rtxa4500 rtxa5000 rtxa5500 rtxa6000 sm_87",
        a100=20_000,
    )
    | _products(
        "ada",
        "sm_89",
        "l4 l40 rtx4050 rtx4060 rtx4060ti rtx4070 rtx4070super rtx4070ti rtx4070tisuper rtx4080 rtx4080super rtx4090 "
        "rtx4090d rtx2000ada rtx4000ada rtx4500ada rtx5000ada rtx5880ada rtx6000ada",
        rtx1000ada=25_000,
        l40s=25_000,
    )
    | _products("hopper", "h200 gh200 sm_90 sm_90a", "h800 h20", h100=40_000)
    | _products("blackwell", "sm_100 sm_100a", "b100 gb200", b200=40_000)
    | _products(
        "rtx-blackwell",
        "rtxpro6000 sm_120 sm_120a",
        "rtx5050 rtx5060 rtx5060ti rtx5070 rtx5070ti rtx5080 rtx5090 rtx5090d rtxpro2000 rtxpro4000 rtxpro4500 "
        "rtxpro5000",
    )
    | _products("cdna1", "mi100 gfx908", "")
    | _products("cdna2", "mi210 mi250 gfx90a", "mi250x")
    | _products("cdna3", "mi300a mi300x gfx942", "mi325x gfx940 gfx941")
)
"""Names of products and of compilers' targets, which models have beside those of `CHIPS`."""


class Unmodelled(NamedTuple):
    """Products and targets of compilers without a model. ``why``: what is missing. ``nearest``: the chip in `CHIPS`
    that is most like them.
    """

    names: tuple[str, ...]
    why: str
    nearest: str


UNMODELLED = (
    Unmodelled(
        _words("sm_103 sm_103a b300 gb300"),
        "Blackwell Ultra has other tensor cores than Blackwell: f4 is faster, and f64 and i8 are slower; "
        "no published model of them is known",
        "blackwell",
    ),
    Unmodelled(
        _words("sm_101 sm_101a sm_110 sm_110a thor"),
        "Thor has the instructions of Blackwell, but no published model of it is known",
        "blackwell",
    ),
    Unmodelled(
        _words("sm_121 sm_121a gb10"),
        "GB10 has the instructions of RTX Blackwell, but no published model of it is known",
        "rtx-blackwell",
    ),
    Unmodelled(
        _words("gfx950 cdna4 mi350 mi350x mi355x"),
        "CDNA 4 has instructions with twice the K of those of CDNA 3, and others for f6 and f4; "
        "no published model of them is known",
        "cdna3",
    ),
)
"""Names that users may try, and why they have no model."""


def unmodelled(name: str) -> Unmodelled | None:
    """Return the row of a product or target that has no model; None for any other name."""
    word = _bare(name)
    return next((row for row in UNMODELLED if word in row.names), None)


def _bare(name: str) -> str:
    """Return a name as the tables spell it: without the vendor, spaces and hyphens."""
    word = name.lower().removeprefix("chip:").replace(" ", "").replace("-", "")
    return word.removeprefix("nvidia").removeprefix("amd")


def near(chip: str, asked: Instruction, specials: Sequence[str] = ()) -> str:
    """Return a text for an instruction without a row: the instruction of the chip that is nearest to it, and the chips
    that have a row for it.
    """
    known = {
        name: [row for row in rows if not specials or row.rule.specials in specials] for name, rows in CHIPS.items()
    }
    of_types = [row for row in known[chip] if asked.types in row.types] if specials else known[chip]
    said = f"chip:{chip} has no instruction for these types that is published for them"
    if of_types:
        # Of rows that differ in as many points, one for the same types tells more about the results.
        row = min(of_types, key=lambda row: (len(row.others(asked)), "types of A and B" in row.others(asked)))
        others = " and ".join(row.others(asked))
        said = f"the nearest one of chip:{chip} is {row.nearest(asked)}, which differs in {others}"
    having = [f"chip:{name}" for name, rows in known.items() if any(not row.others(asked) for row in rows)]
    return f"{said}; {', '.join(having)} {'have' if len(having) > 1 else 'has'} this one" if having else said


def instructions(chip: str, a: str, b: str) -> list[str]:
    """Return the instructions of a chip for these types of A and B as texts, each with its types of D."""
    found: dict[str, list[str]] = {}
    for row in CHIPS[chip]:
        if f"{a},{b}" in row.types and row.scales == ("",):
            for shape in row.shapes:
                if "B" not in shape:
                    m, n, k = shape.replace("*", "N").split("x")
                    types = [each.partition(",")[2] for each in row.results if len({*each.split(",")}) == 1]
                    found.setdefault(f"{row.unit} m{m}n{n}k{k}", []).extend(types)
    return [f"{name} to {' or '.join(types)}" for name, types in found.items()]


def model_hint(name: str) -> str | None:
    """Return a hint for an unknown name of a model of tile operations; None if no known name is near."""
    word = _bare(name)
    if row := unmodelled(name):
        return f"the nearest chip that has one is chip:{row.nearest}; it may give other results"
    if word in PRODUCTS or name.lower() in CHIPS:
        return asking((f"chip:{word if word in PRODUCTS else name.lower()}",))
    return did_you_mean(name, (*MODELS, *(f"chip:{each}" for each in PRODUCTS)))


def as_model(given: object) -> str:
    """Return a model of tile operations as text: one of `MODELS`, or an `Accumulator` in its text form.

    The name of a product means the model of its chip.

    Raises ValueError for anything else; `model_hint` may have a hint.
    """
    if isinstance(given, Accumulator):
        return given.text
    if isinstance(given, str) and given.startswith(PREFIX):
        return Accumulator.from_text(given).text
    if isinstance(given, str) and given in MODELS:
        return given
    if isinstance(given, str) and given.startswith("chip:") and given.removeprefix("chip:") in PRODUCTS:
        return f"chip:{PRODUCTS[given.removeprefix('chip:')].chip}"
    row = unmodelled(given) if isinstance(given, str) else None
    if row is not None:
        raise ValueError(f"{given} has no model: {row.why}")
    raise ValueError(
        f"unknown model {given!r}; choose one of {', '.join(MODELS)}, or write an accumulator, such as "
        f"{PREFIX}group=8,bits=25"
    )
