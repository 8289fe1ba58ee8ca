"""Models of tile operations in plain C99. An `Accumulator` becomes constants of a part of ``c_model.c``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from math import prod

from halfulp.conformance.vectors.c_parts import (
    SYSTEMVERILOG_TYPES,
    c_type,
    constant,
    format_constant,
    size,
    specialised,
    too_wide,
)
from halfulp.conformance.vectors.columns import Column
from halfulp.conformance.vectors.tiles import TileComputation
from halfulp.fp_formats.formats import FORMATS, FloatFormat, storage_dtype
from halfulp.fp_formats.policy import SPEC, as_rounding
from halfulp.interp.ir.errors import Unsupported
from halfulp.semantics.matrix_units.accumulator import KEPT, OWN, Accumulator, places_of
from halfulp.semantics.matrix_units.chips import CHAIN
from halfulp.semantics.matrix_units.models import rule_of
from halfulp.semantics.matrix_units.scalar_sums import nan_of

ALIGNED_BITS = 48
"""The most fraction bits of aligned terms, with guard bits: sums of all terms of a group fit into 64 bits."""

TERMS = 1 << 12
"""The most terms of a group."""

SUM_BITS = 62
"""The most bits of a sum of integers, and of a product that a register in fixed point rounds."""

_FAR = 1 << 30
"""A shift that is longer than any."""

_SUMS = {"exact": Accumulator(), "ieee": CHAIN}
"""The rules of the models that are not chips."""

_PLACES_OF_C = {"with": "C_WITH", "last": "C_LAST", "end": "C_AT_END"}
_ZEROS = {"ieee": "ZERO_IEEE", "sum": "ZERO_SUM", "positive": "ZERO_POSITIVE"}
_OVERFLOWS = {"default": "BY_MODE", "infinity": "TO_INFINITY", "saturate": "TO_LARGEST"}

_STATED = frozenset(
    (
        *(
            "group",
            "tree",
            "order",
            "steps",
            "c",
            "products",
            "bits",
            "guard",
            "cut",
            "cut_sums",
            "shifter",
            "c_shifter",
        ),
        *("zero_exponent", "partial", "rounding", "fraction", "overflow", "product_overflow", "zero", "nan", "flush"),
        "specials",
        *("width", "dot", "lsb", "msb", "register_overflow"),
    )
)
"""The fields of a rule that models have."""


class TileModel:
    """The text of the model of a tile operation in pieces: ``parts`` has its functions and constants; ``function`` is
    the function that test benches call; ``arrays`` are its arguments with their columns.

    Raises Unsupported for a rule without a model, and for formats and sums that are too wide.
    """

    def __init__(self, computation: TileComputation, name: str) -> None:
        self._op = op = computation.operation
        self._model = computation.model
        self._name = name
        columns = iter((*computation.inputs, *computation.outputs))
        result = ("result", op.d, computation.operands[2][2])
        self.arrays: list[tuple[str, list[Column]]] = [
            (who, [next(columns) for _ in range(prod(shape))]) for who, _, shape in (*computation.operands, result)
        ]
        self._length = computation.operands[0][2][-1]
        self._rule = self._checked(rule_of(self._model, op) or _SUMS.get(self._model))

    def _refusal(self, why: str) -> Unsupported:
        return Unsupported(f"{self._op} by {self._model} has no model in C: {why}")

    def _checked(self, rule: Accumulator | None) -> Accumulator:
        op = self._op
        types = (op.a, op.b, op.c, op.d)
        integers = [name for name in types if name not in FORMATS]
        if rule is None or 0 < len(integers) < len(types):
            raise self._refusal("C models add either floats or integers")
        if self._model == "ieee" and op.scale:
            raise self._refusal("ieee rounds scaled elements first")
        for each in fields(rule):
            if each.name not in _STATED and getattr(rule, each.name) != each.default:
                raise self._refusal(f"its rule has {each.name}={getattr(rule, each.name)}")
        if min(rule.group or op.shape[2], op.shape[2]) > TERMS:
            raise self._refusal(f"in C models, a group has up to {TERMS} products")
        if integers:
            bits = max(int(op.a[1:]) + int(op.b[1:]), *(int(name[1:]) for name in (op.c, op.d))) + TERMS.bit_length()
            if bits > SUM_BITS:
                raise self._refusal(f"in C models, sums of integers have up to {SUM_BITS} bits")
            return rule
        if rule.bits is not None and rule.bits + rule.guard > ALIGNED_BITS:
            raise self._refusal(
                f"in C models, aligned terms keep up to {ALIGNED_BITS} fraction bits, guard bits included"
            )
        for name in {op.a, op.b, op.c, op.d, op.scale or op.a, op.a if rule.steps == OWN else rule.steps}:
            if (why := too_wide(FORMATS[name])) is not None:
                raise self._refusal(why)
        if rule.lsb is not None and sum(each.precision for each in self._factors) > SUM_BITS:
            raise self._refusal(f"in C models, products in a register have up to {SUM_BITS} bits")
        if rule.dot > 1:
            group = min(rule.group or op.shape[2], op.shape[2])
            if op.block % rule.dot or (group % rule.dot and group < op.shape[2]) or FORMATS[op.scale].infinities:
                raise self._refusal(f"dot={rule.dot} must divide a block and a group, and scales have no infinities")
            if rule.product_overflow:
                raise self._refusal("with dot, its rule has product_overflow=true")
        if rule.bits is None and rule.partial == KEPT and rule.lsb is None:
            # Nothing is rounded before the end, so that no order matters.
            rule = replace(rule, tree="flat", c="with" if rule.c == "last" else rule.c)
        return rule

    @property
    def _factors(self) -> list[FloatFormat]:
        """The formats of the factors of a product."""
        op = self._op
        return [FORMATS[name] for name in (op.a, op.b, *((op.scale,) * 2 if op.scale else ()))]

    @property
    def _parts(self) -> tuple[str, ...]:
        """The parts of ``c_model.c`` that have the rule: integers, IEEE operations, or all others."""
        rule = self._rule
        if self._op.d not in FORMATS:
            return ("integers",)
        if not rule.plain or self._op.scale or rule.steps != OWN or rule.c == "end":
            products, sums = "products" if rule.dot == 1 else "dots", "groups" if rule.lsb is None else "register"
            return ("dot", products, sums, "elements")
        return ("fma", "chain") if rule.chain else ("tree",)

    @property
    def head(self) -> str:
        """The text of the comment at the start of the model."""
        known = {
            "all": "",
            "nan": " Not known for infinite operands.",
            "none": " Known for finite operands.",
            "normal": " Known for finite operands whose sums of groups are zero or normal numbers.",
        }
        return f"{self._op}, {self._model}.{known[self._rule.specials]}"

    @property
    def parts(self) -> Iterator[str]:
        """The types, constants and functions."""
        op = self._op
        types = {"A_TYPE": op.a, "B_TYPE": op.b, "SCALE_TYPE": op.scale or op.a}
        yield "\n".join(f"#define {name} {_type_of(type_)}" for name, type_ in types.items())
        constants = dict(self._constants()) if op.d in FORMATS else dict(self._constants_of_integers())
        yield from specialised(self._parts, self._body, constants)

    def _sizes(self) -> Iterator[tuple[str, str]]:
        """The sizes of the tile and of the groups, and the places along K in the order of the groups."""
        op, rule = self._op, self._rule
        group = min(rule.group or op.shape[2], op.shape[2])
        sizes = {
            "M": op.shape[0], "N": op.shape[1], "K": self._length, "INSTRUCTION": op.shape[2], "GROUP": group,
            "AT_ONCE": group if rule.lsb is None else op.shape[2], "BLOCK": op.block, "TILES": op.blocks,
        }  # fmt: skip
        yield from ((name, size(name, value)) for name, value in sizes.items())
        places = places_of(rule, op, self._length)
        yield "PLACES", f"static const int PLACES[{len(places)}] = {{{', '.join(map(str, places))}}};"
        yield "TREE", constant("TREE", rule.tree.upper())
        yield "C_PLACE", constant("C_PLACE", _PLACES_OF_C[rule.c])

    def _constants_of_integers(self) -> Iterator[tuple[str, str]]:
        op, rule = self._op, self._rule
        yield from self._sizes()
        widths = {f"{who}_BITS": int(name[1:]) for who, name in zip("ABCD", (op.a, op.b, op.c, op.d), strict=True)}
        numbers = {**widths, "WIDTH": rule.width or widths["D_BITS"], "SATURATES": int(rule.overflow == "saturate")}
        yield from ((name, constant(name, value)) for name, value in numbers.items())

    def _constants(self) -> Iterator[tuple[str, str]]:
        op, rule = self._op, self._rule
        d, flushing = FORMATS[op.d], replace(SPEC, denormals="flush_operands", denormal_zero="positive")
        policy = flushing if rule.flush and "dot" in self._parts else SPEC
        step = FORMATS[op.a if rule.steps == OWN else rule.steps]
        given = policy if rule.steps == OWN else SPEC
        for name, fmt, flushes in (
            ("A", FORMATS[op.a], given), ("B", FORMATS[op.b], given), ("C", FORMATS[op.c], SPEC), ("TO", d, policy),
            ("SCALE", FORMATS[op.scale or op.a], policy), ("STEP", step, policy),
            ("NARROW", rule.sum_format(op.d), SPEC),
        ):  # fmt: skip
            yield name, format_constant(name, fmt, flushes)
        bits = -1 if rule.bits is None else rule.bits
        low, high = self._range()
        yield from self._sizes()
        sign_place = 0 if rule.msb is None else rule.msb - low
        sizes = {
            "LOWEST": low, "LIMBS": (high - low) // 64 + 2, "RANDOM_BITS": 0, "DOT": rule.dot, "SIGN_PLACE": sign_place,
        }  # fmt: skip
        yield from ((name, size(name, value)) for name, value in sizes.items())
        yield "NAN_CODE", f"static const uint64_t NAN_CODE = UINT64_C({nan_of(rule, d):#x});"
        texts = {
            "DOT_PLACE": sum(each.emin - each.mantissa_bits for each in self._factors[:2]),
            "HAS_SIGN_PLACE": int(rule.msb is not None), "HOLDS_LARGEST": int(rule.register_overflow == "saturate"),
            "ZERO_SIGN": _ZEROS[rule.zero],
            "ON_OVERFLOW": _OVERFLOWS[rule.overflow], "BITS": bits, "MOST_BITS": bits + rule.guard,
            "CUT": as_rounding(rule.cut).name, "CUT_SUMS": as_rounding(rule.cut_sums).name,
            "ROUNDING": as_rounding(rule.rounding).name,
            "PARTIAL": KEPT.upper() if rule.partial == KEPT else as_rounding(rule.partial).name,
            "LONGEST_SHIFT": _FAR if rule.shifter is None else rule.shifter,
            "LONGEST_SHIFT_OF_C": _FAR if rule.c_shifter is None else rule.c_shifter,
            "ZERO_COUNTS": int(rule.zero_exponent is not None), "ZERO_PLACE": rule.zero_exponent or 0,
            "FLUSHES": int(rule.flush), "ROUNDS_PRODUCTS": int(rule.products == "rounded"),
            "PRODUCTS_OVERFLOW": int(rule.product_overflow), "STEPS": int(rule.steps != OWN),
            "KEEPS_NANS": int(rule.nan == "payload"), "NAN_RESULT": "PAYLOAD", "NAN_WITHOUT_CODE": "POISON",
            "ZERO_WITHOUT_CODE": "LEAST", "NEGATIVE_WITHOUT_CODE": "NAN_OF_INVALID", "TININESS": "AFTER_ROUNDING",
            "RANDOM_FRACTION": "TOWARD_ZERO", "NEGATES_PRODUCT": 0, "NEGATES_ADDEND": 0,
        }  # fmt: skip
        yield from ((name, constant(name, value)) for name, value in texts.items())

    def _range(self) -> tuple[int, int]:
        """Return the exponents of the lowest bit of exact sums, and of a bit beyond all of them."""
        d, rule = FORMATS[self._op.d], self._rule
        low = min(sum(f.emin - f.mantissa_bits for f in self._factors), d.emin - d.mantissa_bits)
        high = max(sum(f.emax + 1 for f in self._factors), d.emax + 1) + max(TERMS, self._op.shape[2]).bit_length() + 2
        if rule.lsb is None:
            return low, high
        return rule.lsb, max(high, rule.lsb + 1, high if rule.msb is None else rule.msb + 2)

    @property
    def function(self) -> str:
        """The function that test benches call."""
        arguments = [f"const {c_type(columns[0])} *{name}" for name, columns in self.arrays]
        arguments[-1] = arguments[-1].removeprefix("const ")
        prototype = f"void {self._name}({', '.join(arguments)})"
        return (
            "// The operands and the result, row-major: the number of a tile first where there are several. Verilator\n"
            "// compiles C as C++.\n"
            f'#ifdef __cplusplus\nextern "C"\n#endif\n{prototype};\n\n{prototype}\n{self._body}'
        )

    @property
    def _body(self) -> str:
        scaled = bool(self._op.scale)
        scales = "&scale_a[(t * M + i) * (K / BLOCK)], &scale_b[t * (K / BLOCK) * N + j]" if scaled else "0, 0"
        c = "c[at]" if self._op.d not in FORMATS else "c[at] & bits_of_ones(C.bits)"
        c = c if self._op.c == self._op.d or self._op.d not in FORMATS else f"converted(&C, &TO, {c})"
        return (
            "{\n"
            "    int t, i, j;\n"
            "    for (t = 0; t < TILES; t++)\n"
            "        for (i = 0; i < M; i++)\n"
            "            for (j = 0; j < N; j++) {\n"
            "                int at = (t * M + i) * N + j;\n"
            f"                uint64_t before = {c};\n"
            f"                result[at] = ({_type_of(self._op.d)})element(\n"
            f"                    &a[(t * M + i) * K], &b[t * K * N + j], before, {scales});\n"
            "            }\n"
            "}"
        )

    @property
    def package_arguments(self) -> Iterator[str]:
        """The arguments of the function in SystemVerilog: arrays of a fixed size."""
        for number, (name, columns) in enumerate(self.arrays, 1):
            last = number == len(self.arrays)
            kind = SYSTEMVERILOG_TYPES[storage_dtype(columns[0].width).itemsize * 8]
            way = "output" if last else "input"
            yield f"      {way:<6} {kind} unsigned {name}[{len(columns)}]{'' if last else ','}  // {columns[0].type}"


def _type_of(name: str) -> str:
    width = FORMATS[name].bits if name in FORMATS else int(name[1:])
    return f"{storage_dtype(width).name}_t"
