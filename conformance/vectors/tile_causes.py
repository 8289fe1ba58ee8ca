"""Causes in how a unit computes a tile: elements, products or scales are misread, or another model, accumulator or
order is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache, partial
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.conformance.comparing.op_case import OpCase, op_case, reference
from halfulp.conformance.vectors.columns import Chunk, Column, Role
from halfulp.conformance.vectors.computation import Computed, OpComputation, ProgramComputation
from halfulp.conformance.vectors.datapaths import Place, Planted, Same, computed
from halfulp.conformance.vectors.device import (
    Cause,
    Device,
    Stage,
    by,
    changed,
    computing,
    reading,
    through,
    writing,
)
from halfulp.conformance.vectors.faults import FARTHEST_POWERS, bias_off, faults_of, powers_of
from halfulp.conformance.vectors.sampling import Sample
from halfulp.conformance.vectors.tiles import TileComputation
from halfulp.fp_formats.formats import FORMATS, Codes, FloatFormat, storage_dtype
from halfulp.interp.ir.errors import HalfulpError
from halfulp.semantics import floats
from halfulp.semantics.matrix_units.accumulator import KEPT, Accumulator, shape_of, spelled
from halfulp.semantics.matrix_units.chips import CHAIN, MODELS
from halfulp.semantics.matrix_units.kinds import TileOp
from halfulp.semantics.matrix_units.models import rule_of
from halfulp.semantics.matrix_units.scalar_sums import nan_of

# --- types ------------------------------------------------------------------------------------------------------------


def of_same_width(type_: str) -> list[str]:
    """Return the names of the other formats that have the width of a float type; none for any other type."""
    own = FORMATS.get(type_)
    return [name for name, fmt in FORMATS.items() if own is not None and fmt.bits == own.bits and name != type_]


def conversion(source: str, target: str, **properties: object) -> OpCase | None:
    """Return the conversion between two types; None where there is none."""
    for op in ("arith.extf", "arith.truncf", "arith.convertf"):
        try:
            return op_case(op, source, target, **properties)
        except (HalfulpError, ValueError):
            continue
    return None


# --- other computations -----------------------------------------------------------------------------------------------


FEW_PRODUCTS = 32
"""Tiles of so many products are fast enough to try pairs of fields."""

NEAR = 8
"""Numbers of bits are tried up to so far from those of the accumulator."""


def other_models(computation: TileComputation | ProgramComputation) -> Iterator[Cause]:
    """Yield the causes that the device computes the tile operation, or the tile operations of a program, by another
    model.
    """
    if isinstance(computation, TileComputation):
        field, models = "model", tuple(computation.models())
    else:
        field, models = "mma", MODELS if computation.tiled else ()
    for model in models:
        if model != getattr(computation, field):
            yield computing(f"--mma={model}", partial(by, field, model), slow=True)


_TREES = tuple(
    Accumulator(tree=tree, partial="to_nearest_even", c=c, products=products)
    for tree in ("neighbours", "halves", "sequential")
    for c in ("with", "last")
    for products in ("exact", "rounded")
)
"""Units of adders and multipliers that round as IEEE 754 says: fields that are often found together."""


def trees_of_adders(computation: TileComputation) -> Iterator[Cause]:
    """Yield the causes that products are added by a tree or chain of adders, each of which rounds."""
    for rule in _TREES:
        if rule != rule_or_usual(computation) and not computation.operation.scale:
            slow = computation.products > FEW_PRODUCTS
            yield computing(f"--mma={rule.text}", partial(by, "model", rule.text), slow)


def other_accumulators(computation: TileComputation) -> Iterator[Cause]:
    """Yield the causes that one field of the accumulator has another value; for a number, one of the nearby values."""
    rule = rule_or_usual(computation)
    for field in fields(Accumulator):
        own = getattr(rule, field.name)
        for value in dict.fromkeys(_values(field.name, field.metadata["choices"], rule, computation.operation)):
            if value != own:
                name = f"an accumulator with {field.name}={spelled(value)}"
                yield computing(name, partial(_with, field.name, value), slow=computation.products > FEW_PRODUCTS)


def other_elements(computation: TileComputation) -> Iterator[Cause]:
    """Yield the causes that the elements of A and B have another format of the same width."""
    op = computation.operation
    slow = computation.products > FEW_PRODUCTS
    for type_ in dict.fromkeys((op.a, op.b)):
        for other in of_same_width(type_):
            yield computing(f"{other} in place of {type_}", partial(_with_elements, type_, other), slow)


def _with_elements(type_: str, other: str, computation: TileComputation) -> TileComputation:
    op = computation.operation
    a, b = (other if own == type_ else own for own in (op.a, op.b))
    return replace(computation, operation=replace(op, a=a, b=b))


# --- misread values ---------------------------------------------------------------------------------------------------
#
# The elements and the scales as the unit reads them. An f32, and beside scales a bf16, holds each number of a narrow
# type, its square, and what a power of two makes of it.

Values = npt.NDArray[np.float64]
Edit = Callable[[FloatFormat, Codes, Values], Values]
"""A change of the numbers of an operand, which has these codes in its format."""
Recode = Callable[[Codes], Codes]
"""A change of the codes of an operand."""

A, B, C, SCALE_A, SCALE_B = range(5)
"""The operands of which numbers may be misread, by their places."""

WIDEST = 16
"""The most bits of a type of elements whose numbers are tried as misread."""


def _misread(name: str, computation: TileComputation, edits: dict[int, Edit]) -> Cause:
    slow = computation.products > FEW_PRODUCTS
    return through(name, partial(_with_values, edits), slow)


def _with_values(edits: dict[int, Edit], computation: TileComputation, inputs: Chunk) -> Computed | None:
    op, arrays, rule = computation.operation, computation.arrays(inputs), rule_or_usual(computation)
    types = {A: op.a, B: op.b, SCALE_A: op.scale, SCALE_B: op.scale}
    for place, type_ in types.items():
        if place < len(arrays):
            case = conversion(type_, "f64")
            if case is None:
                return None
            codes = arrays[place]
            made = reference(case, (codes.reshape(-1),)).bits[0].reshape(codes.shape).view(np.float64)
            if rule.flush and place in (A, B):  # in the wide type, an edited subnormal may be normal
                made = _without_subnormals(FORMATS[type_], codes, made)
            edit = edits.get(place)
            with np.errstate(invalid="ignore", over="ignore"):
                made = made if edit is None else edit(FORMATS[type_], codes, made)
            with np.errstate(over="ignore"):  # of the square of a scale
                single = np.ascontiguousarray(made, np.float32).view(np.uint32)
            arrays[place] = (single >> np.uint32(16)).astype(np.uint16) if op.scale else single
    held = "bf16" if op.scale else "f32"
    wide = replace(op, a=held, b=held, scale=held if op.scale else "")
    return replace(computation, operation=wide, model=rule.text).compute(_columns(arrays))


def _size(fmt: FloatFormat, codes: Codes) -> Codes:
    made: Codes = codes & codes.dtype.type(fmt.code_mask >> fmt.signed)
    return made


def _subnormal(fmt: FloatFormat, codes: Codes) -> Any:
    return (_size(fmt, codes) < fmt.min_normal_magnitude) & ~floats.is_zero(fmt, codes) & ~floats.is_nan(fmt, codes)


def _of_field_0(zeros: bool, lower: int) -> Edit:
    """Put the leading bit before the fractions of zeros or of subnormals."""

    def edit(fmt: FloatFormat, codes: Codes, values: Values) -> Values:
        fraction = np.ldexp((codes & codes.dtype.type(fmt.fraction_mask)).astype(np.float64), -fmt.mantissa_bits)
        number = np.ldexp(1 + fraction, fmt.emin - lower)
        where = floats.is_zero(fmt, codes) if zeros else _subnormal(fmt, codes)
        return np.where(where, np.copysign(number, values), values)

    return edit


def _times(power: int, subnormals: bool = True) -> Edit:
    def edit(fmt: FloatFormat, codes: Codes, values: Values) -> Values:
        return np.where(subnormals | ~_subnormal(fmt, codes), np.ldexp(values, power), values)

    return edit


def _times_at(place: int, power: int) -> Edit:
    """Multiply the elements of A at one place along K by a power of two."""

    def edit(fmt: FloatFormat, codes: Codes, values: Values) -> Values:
        made = values.copy()
        made[..., place] = np.ldexp(made[..., place], power)
        return made

    return edit


def _code_as(code: int, number: float) -> Edit:
    return lambda fmt, codes, values: np.where(_size(fmt, codes) == code, np.copysign(number, values), values)


def _nan_as(number: float) -> Edit:
    return lambda fmt, codes, values: np.where(np.isnan(values), number, values)


def _without_subnormals(fmt: FloatFormat, codes: Codes, values: Values) -> Values:
    return np.where(_subnormal(fmt, codes), np.copysign(0.0, values), values)


def _without_fraction(fmt: FloatFormat, codes: Codes, values: Values) -> Values:
    return np.where(_subnormal(fmt, codes), values, np.ldexp(0.5, np.frexp(values)[1]))


def _element_edits(fmt: FloatFormat) -> Iterator[tuple[str, Edit]]:
    for lower, told in ((0, ""), (1, " and the exponent of field 0")):
        yield f"subnormals{{}} with the implicit bit{told}", _of_field_0(False, lower)
        yield f"zeros{{}} with the implicit bit{told}", _of_field_0(True, lower)


def _recodings(fmt: FloatFormat) -> Iterator[tuple[str, Recode]]:
    """Yield elements that are read as others of their type, so that no datapath need change."""
    sign = fmt.sign_mask or 0
    yield "subnormals{} taken as zero", lambda codes: np.where(_subnormal(fmt, codes), _only(sign, codes), codes)
    if fmt.nan_code is not None:
        yield "NaNs{} taken as zero", lambda codes: np.where(floats.is_nan(fmt, codes), _only(sign, codes), codes)
    if fmt.signed:
        yield "elements{} without their signs", lambda codes: _only(fmt.code_mask ^ sign, codes)


def _only(bits: int, codes: Codes) -> Codes:
    made: Codes = codes & codes.dtype.type(bits)
    return made


def _read_as(computation: TileComputation, places: Sequence[int], recode: Recode, inputs: Chunk) -> Chunk:
    arrays = computation.arrays(inputs)
    for place in places:
        arrays[place] = recode(arrays[place])
    return _columns(arrays)


def _columns(arrays: Sequence[Codes]) -> Chunk:
    flat = [array.reshape(len(array), -1) for array in arrays]
    return tuple(np.ascontiguousarray(array[:, k]) for array in flat for k in range(array.shape[1]))


def _number(fmt: FloatFormat, code: int) -> float:
    """Return the number that the bits of a code would have if no code were special."""
    field, fraction = code >> fmt.mantissa_bits, code & fmt.fraction_mask
    return float(
        np.ldexp(fraction + (1 << fmt.mantissa_bits) * (field > 0), max(field, 1) - fmt.bias - fmt.mantissa_bits)
    )


def _each_of(names: tuple[int, int], told: str, edit: Edit, computation: TileComputation) -> Iterator[Cause]:
    for about, places in _which(names):
        yield _misread(told.format(about), computation, dict.fromkeys(places, edit))


def _which(places: tuple[int, int]) -> tuple[tuple[str, Sequence[int]], ...]:
    return ("", places), (" of A", places[:1]), (" of B", places[1:])


def misread_elements(computation: TileComputation, sample: Sample) -> Iterator[Cause]:
    """Yield the causes that elements are decoded otherwise, that products are multiplied by a power of two, or that
    products are left out.
    """
    op = computation.operation
    if op.order is not None or any(t not in FORMATS or FORMATS[t].bits > WIDEST for t in (op.a, op.b)):
        return
    fmt = FORMATS[op.a]
    for told, recode in _recodings(fmt) if op.a == op.b else ():
        for about, places in _which((A, B)):
            read = partial(_read_as, computation, places, recode)
            cause = reading(told.format(about), Stage.COMPUTATION, read)
            yield replace(cause, slow=computation.products > FEW_PRODUCTS)
    for told, edit in _element_edits(fmt) if op.a == op.b else ():
        yield from _each_of((A, B), told, edit, computation)
    if fmt.bits <= 4 and op.a == op.b:
        for code in range(fmt.max_magnitude + 1):
            for other in (code - 1, code + 1):
                if 0 <= other <= fmt.max_magnitude:
                    told = f"{code:#x}{{}} read as {other:#x}"
                    yield from _each_of((A, B), told, _code_as(code, _number(fmt, other)), computation)
    for power in _powers(computation, sample):
        name = f"the products times 2^{power} ({_whose_bias(op, power)})"
        yield _misread(name, computation, {A: _times(power)})
    size = op.shape[2]
    for k, power in ((k, power) for k in range(size if size <= MOST_SWAPPED else 0) for power in (1, -1)):
        yield _misread(f"the product {k} times 2^{power}", computation, {A: _times_at(k, power)})
    ends = {"first": 0, "last": op.block - 1 if op.block else size - 1}
    for told, k in ends.items():
        places = list(range(k, size, op.block or size))
        of = " of each block" if op.block and op.block < size else ""
        yield _misread(
            f"the {told} product{of} left out", computation, {A: _left_out(places, -1), B: _left_out(places, -2)}
        )
    for k in range(1, size - 1 if size <= MOST_SWAPPED else 0):
        yield _misread(f"the product {k} left out", computation, {A: _left_out([k], -1), B: _left_out([k], -2)})


def _powers(computation: TileComputation, sample: Sample) -> list[int]:
    target = FORMATS.get(computation.operation.d)
    return [*FARTHEST_POWERS] if target is None else powers_of(target, sample, min(len(computation.outputs), MOST_READ))


MOST_READ = 8
"""The most results of a tile that are read for the powers of two by which they differ."""


def _whose_bias(op: TileOp, power: int) -> str:
    """Tell which biases multiply each product by a power of two."""
    those = ("A", "B", "the scales of A", "the scales of B")[: 4 if op.scale else 2]
    halves = "" if power % 2 else f", or two of them with {bias_off(power // 2)}"
    return f"{', '.join(those[:-1])} or {those[-1]} read with {bias_off(power)}{halves}; no row tells which"


def biases_of_sums(computation: TileComputation, sample: Sample) -> Iterator[Cause]:
    """Yield C and results times a power of two."""
    op = computation.operation
    addend, target = FORMATS.get(op.c), FORMATS.get(op.d)
    for power in _powers(computation, sample):
        if addend is not None and addend.bits <= 32:
            read = partial(_read_as, computation, (C,), partial(_codes_times, addend, power))
            cause = reading(f"C times 2^{power} (read with {bias_off(power)})", Stage.COMPUTATION, read)
            yield replace(cause, slow=computation.products > FEW_PRODUCTS)
        if target is not None and target.bits <= 32:
            name = f"the results times 2^{power} (written with {bias_off(-power)})"
            yield replace(writing(name, partial(_results_times, target, power)), stage=Stage.COMPUTATION)


def _codes_times(fmt: FloatFormat, power: int, codes: Codes) -> Codes:
    """Multiply by a power of two, and round to nearest."""
    wide, narrow = conversion(fmt.name, "f64"), conversion("f64", fmt.name)
    if wide is None or narrow is None:
        return codes
    values = reference(wide, (codes.reshape(-1),)).bits[0].view(np.float64)
    made = reference(narrow, (np.ldexp(values, power).view(np.uint64),)).bits[0].reshape(codes.shape)
    return np.where(floats.is_nan(fmt, codes), codes, made.astype(codes.dtype))


def _results_times(fmt: FloatFormat, power: int, columns: Sequence[Column], outputs: Chunk, inputs: Chunk) -> Chunk:
    def moved(codes: Codes, width: int) -> Codes:
        return _codes_times(fmt, power, codes)

    return changed(lambda column: column.role is Role.RESULT, moved, columns, outputs)


def _left_out(places: Sequence[int], axis: int) -> Edit:
    def edit(fmt: FloatFormat, codes: Codes, values: Values) -> Values:
        made = values.copy()
        made[(..., places, slice(None)) if axis == -2 else (..., places)] = 0
        return made

    return edit


def misread_scales(computation: TileComputation, sample: Sample) -> Iterator[Cause]:
    """Yield the causes that scales have another bias, are ignored, are applied twice, are decoded otherwise, or are
    those of another block.
    """
    op = computation.operation
    fmt = FORMATS.get(op.scale)
    if fmt is None:
        return
    found: list[tuple[str, Edit]] = []
    for power in _powers(computation, sample):
        bias = f"with the bias {fmt.bias - power} in place of {fmt.bias}"
        found.append((f"scales{{}} {bias}", _times(power)))
        if fmt.zero and fmt.mantissa_bits:
            found.append((f"normal scales{{}} {bias}", _times(power, False)))
    if not fmt.zero:
        found.append(("scales{} of code 0 taken as zero", _code_as(0, 0.0)))
    found.append(("scales{} left out", lambda fmt, codes, values: np.where(np.isnan(values), values, 1.0)))
    found.append(("scales{} left out, NaN too", lambda fmt, codes, values: np.ones_like(values)))
    found.append(("scales{} taken twice", lambda fmt, codes, values: values * values))
    if fmt.mantissa_bits:
        found.append(("scales{} without their fractions", _without_fraction))
    if fmt.zero and fmt.mantissa_bits:
        found.append(("subnormals of scales{} taken as zero", _without_subnormals))
        found += [(told.replace("{}", " of scales{}"), edit) for told, edit in _element_edits(fmt) if "sub" in told]
        found.append(("zero scales{} with the implicit bit", _of_field_0(True, 0)))
    if fmt.nan_code is not None:
        nan, top = fmt.nan_code, _number(fmt, fmt.max_code)
        numbers = (
            (top, "the largest"),
            (1.0, "1"),
            (0.0 if fmt.zero else _smallest(fmt), "0" if fmt.zero else "the smallest"),
        )
        found += [(f"scales{{}} whose NaN is {told}", _nan_as(number)) for number, told in numbers]
        if fmt.mantissa_bits:
            found.append(("scales{} whose NaN is the number of its bits", _nan_as(_number(fmt, nan))))
        for told, kept in (("", np.nan), (f", and {nan:#x} the number of its bits", _number(fmt, nan))):
            named = f"scales{{}} of which {fmt.max_code:#x} is NaN{told}"
            found.append((named, partial(_nan_elsewhere, fmt.max_code, kept)))
    for told, edit in found:
        yield from _each_of((SCALE_A, SCALE_B), told, edit, computation)
    for told, beside, one, other in (("A", "B", SCALE_A, SCALE_B), ("B", "A", SCALE_B, SCALE_A)):
        if op.shape[0] == op.shape[1]:
            read = partial(_scales_of_other, computation, one, other)
            cause = reading(f"scales of {told} in place of those of {beside}", Stage.COMPUTATION, read)
            yield replace(cause, slow=computation.products > FEW_PRODUCTS)
    blocks = op.shape[2] // op.block
    for told, moved in (("next", -1), ("previous", 1)) if blocks > 1 else ():
        for about, places in (("", (SCALE_A, SCALE_B)), (" of A", (SCALE_A,)), (" of B", (SCALE_B,))):
            edits: dict[int, Edit] = {place: _of_block(moved, -1 if place == SCALE_A else -2) for place in places}
            yield _misread(f"scales{about} of the {told} block", computation, edits)
    for about, places in (("", (SCALE_A, SCALE_B)), (" of A", (SCALE_A,)), (" of B", (SCALE_B,))):
        if blocks > 1:
            edits = {place: _of_first(-1 if place == SCALE_A else -2) for place in places}
            yield _misread(f"scales{about} of the first block for all", computation, edits)


def _scales_of_other(computation: TileComputation, one: int, other: int, inputs: Chunk) -> Chunk:
    arrays = computation.arrays(inputs)
    arrays[other] = np.swapaxes(arrays[one], -1, -2)
    return _columns(arrays)


def _smallest(fmt: FloatFormat) -> float:
    return float(np.ldexp(1.0, fmt.emin))


def _nan_elsewhere(code: int, kept: float, fmt: FloatFormat, codes: Codes, values: Values) -> Values:
    return np.where(_size(fmt, codes) == code, np.nan, np.where(np.isnan(values), kept, values))


def _of_block(moved: int, axis: int) -> Edit:
    return lambda fmt, codes, values: np.roll(values, moved, axis)


def _of_first(axis: int) -> Edit:
    return lambda fmt, codes, values: np.broadcast_to(np.take(values, [0], axis), values.shape)


def misrounded_products(computation: TileComputation, sample: Sample) -> Iterator[Cause]:
    """Yield the causes that exact products are rounded to the type of their factors before they are added, or that the
    products of a multiplier are rounded with a fault of `faults.FAULTS`.
    """
    op, slow = computation.operation, computation.products > FEW_PRODUCTS
    if op.a == op.b != op.d and op.order is None and not op.scale and op.a in FORMATS and FORMATS[op.a].zero:
        for mode in ("to_nearest_even", "toward_zero"):
            narrow = OpComputation(op_case("arith.mulf", op.a, rounding=mode), flags=False)
            told = "rounded" if mode == "to_nearest_even" else "cut"
            yield through(f"products {told} to {op.a} before the sum", partial(_of_products, multiply=narrow), slow)
    multiply = _multiplier(computation)
    if multiply is None:
        return
    for name, fault in faults_of(multiply, sample):
        if fault.fault.place is Place.SUM:
            yield _in_unit(f"products with {name}", "products", fault, computation)
    for name, fault in faults_of(_adder(computation, rule_or_usual(computation).partial), sample):
        if fault.fault.carries:
            yield _in_unit(f"sums with {name}", "sums", fault, computation)


def _multiplier(computation: TileComputation) -> OpComputation | None:
    """Return the multiplication whose results a tile operation adds; None where its products are exact."""
    op, rule = computation.operation, rule_or_usual(computation)
    if rule.products != "rounded" or rule.partial == KEPT or op.scale or not {op.a, op.b} == {op.d} <= FORMATS.keys():
        return None
    return OpComputation(op_case("arith.mulf", op.d, rounding=rule.partial))


def _adder(computation: TileComputation, rounding: str) -> OpComputation:
    return OpComputation(op_case("arith.addf", computation.operation.d, rounding=rounding), flags=False)


@dataclass(frozen=True)
class FaultyUnit:
    """The datapath of a tile operation that rounds its products and sums. The products, the sums, or both
    have a fault.
    """

    products: Planted | None = None
    sums: Planted | None = None

    def __call__(self, computation: TileComputation, inputs: Chunk) -> Computed | None:
        """Compute the tile from products with a fault: each is an element of A, beside ones as elements of B."""
        multiply = _multiplier(computation)
        return None if multiply is None else _of_products(computation, inputs, multiply, self.products, self.sums)


def _of_products(
    computation: TileComputation,
    inputs: Chunk,
    multiply: OpComputation,
    wrong_products: Planted | None = None,
    wrong_sums: Planted | None = None,
) -> Computed | None:
    """Compute a tile from the products of a multiplier: each is an element of A, beside ones as elements of B."""
    rows, outputs = len(inputs[0]), len(computation.outputs)
    places = np.divmod(np.arange(rows * outputs), outputs)
    fmt = FORMATS[computation.operation.a]
    one, flat = computation.elements(inputs, *places, rule_or_usual(computation).text)
    a, b, c = one.arrays(flat)
    made = _products(multiply, wrong_products, Same((a.reshape(-1), b.reshape(-1))))
    if made is None:
        return None
    products = made.reshape(a.shape)
    right = one.compute(_columns([products, np.full_like(b, fmt.bias << fmt.mantissa_bits), c])).outputs[0]
    found = right if wrong_sums is None else _added(one, wrong_sums, products, c, right)
    if found is None:
        return None
    results = found.reshape(rows, outputs)
    return Computed(tuple(np.ascontiguousarray(results[:, k]) for k in range(outputs)))


@lru_cache(maxsize=256)
def _products(multiply: OpComputation, fault: Planted | None, factors: Same) -> Codes | None:
    made = computed(multiply, [] if fault is None else [fault], factors.inputs)
    return None if made is None else made.outputs[0]


PAIRWISE = ("neighbours", "halves", "sequential")
"""The trees whose additions have two operands."""


def _added(computation: TileComputation, fault: Planted, products: Codes, c: Codes, right: Codes) -> Codes | None:
    """Add products and C one by one, with a fault in sums that carry; None for a rule that adds otherwise. ``right``:
    the results without the fault.
    """
    rule, fmt = rule_or_usual(computation), FORMATS[computation.operation.d]
    if rule.tree not in PAIRWISE or rule.c == "end":
        return None
    terms = [np.ascontiguousarray(codes) for codes in products.reshape(len(right), -1).T]
    terms.insert(0 if rule.c == "with" else len(terms), c.reshape(-1))
    count = len(terms) - (rule.c == "last")
    order = shape_of(rule.tree, count)
    if rule.c == "last":  # its number comes after those of the products
        order = [(one + (one >= count), other + (other >= count)) for one, other in order]
        order.append((len(terms) + len(order) - 1 if order else 0, count))

    def summed(faulty: bool) -> Codes:
        sums = list(terms)
        for number, (one, other) in enumerate(order, 1):
            adder = _adder(computation, rule.rounding if number == len(order) else rule.partial)
            operands = sums[one], sums[other]
            made = adder.compute(operands).outputs[0]
            largest = np.maximum(*(_size(fmt, codes) for codes in operands))
            carries = np.flatnonzero(_size(fmt, made) >> fmt.mantissa_bits > largest >> fmt.mantissa_bits)
            if faulty and len(carries):
                changed = computed(adder, [fault], tuple(codes[carries] for codes in operands))
                if changed is not None:
                    made = made.copy()
                    made[carries] = changed.outputs[0]
            sums.append(made)
        return np.where(floats.is_nan(fmt, sums[-1]), sums[-1].dtype.type(nan_of(rule, fmt)), sums[-1])

    plain = summed(False)
    same = np.array_equal(plain, np.where(floats.is_nan(fmt, right), plain, right))
    return summed(True) if same else None


def _in_unit(name: str, place: str, fault: Planted, computation: TileComputation) -> Cause:
    """Return the cause of a fault in the products or in the sums of a unit, which may have one in each."""

    def change(device: Device) -> Device | None:
        own = FaultyUnit() if device.datapath is None else device.datapath
        if not isinstance(own, FaultyUnit) or getattr(own, place) is not None:
            return None
        return replace(device, datapath=replace(own, **{place: fault}))

    return Cause(name, Stage.COMPUTATION, change, computation.products > FEW_PRODUCTS)


def infinities_cancelled(computation: TileComputation) -> Iterator[Cause]:
    """Yield the causes that a sum with infinities of both signs gives one of them."""
    fmt = FORMATS.get(computation.operation.d)
    if fmt is None or not fmt.infinities or computation.operation.order is not None:
        return
    slow = computation.products > FEW_PRODUCTS
    for sign, told in ((0, "+"), (1, "-")):
        yield through(f"infinity minus infinity as {told}infinity", partial(_cancelled, fmt, sign), slow)


def _cancelled(fmt: FloatFormat, sign: int, computation: TileComputation, inputs: Chunk) -> Computed | None:
    op, own = computation.operation, computation.compute(inputs)
    if op.blocks > 1 or op.scale or not {op.a, op.b} <= FORMATS.keys():
        return None
    a, b, c = computation.arrays(inputs)[:3]
    values = []
    for type_, codes in ((op.a, a), (op.b, b), (op.c, c)):
        case = conversion(type_, "f64")
        if case is None and type_ != "f64":
            return None
        wide = codes if case is None else reference(case, (codes.reshape(-1),)).bits[0].reshape(codes.shape)
        values.append(wide.view(np.float64))
    with np.errstate(invalid="ignore", over="ignore"):
        products = values[0][..., :, :, np.newaxis] * values[1][..., np.newaxis, :, :]
    terms = np.concatenate([products, values[2][..., :, np.newaxis, :]], axis=-2)
    both = (terms == np.inf).any(axis=-2) & (terms == -np.inf).any(axis=-2) & ~np.isnan(terms).any(axis=-2)
    flat = both.reshape(len(inputs[0]), -1)
    infinity = fmt.max_magnitude + 1 | (fmt.sign_mask or 0) * sign
    outputs = tuple(np.where(flat[:, k], codes.dtype.type(infinity), codes) for k, codes in enumerate(own.outputs))
    return Computed(outputs)


# --- order and accumulator --------------------------------------------------------------------------------------------


def other_orders(computation: TileComputation) -> Iterator[Cause]:
    """Yield the causes that the elements along K are taken in the reverse order, or that two of them are swapped."""
    size = computation.operation.shape[2]
    if computation.operation.scale or computation.operation.order is not None:
        return
    slow = computation.products > FEW_PRODUCTS
    found = [("the products in the reverse order", list(range(size)[::-1]))]
    for k, other in combinations(range(size if size <= MOST_SWAPPED else 0), 2):
        order = list(range(size))
        order[k], order[other] = other, k
        found.append((f"the products {k} and {other} swapped", order))
    for name, order in found:
        yield replace(reading(name, Stage.COMPUTATION, partial(_in_order, computation, order)), slow=slow)


def misplaced_elements(computation: TileComputation) -> Iterator[Cause]:
    """Yield the causes that the unit leaves out C or its sign, takes an element in place of its neighbour, swaps two
    neighbours of one operand, as halves of a byte may be, or takes A or B as if it were transposed.
    """
    op, size = computation.operation, computation.operation.shape[2]
    if op.order is not None:
        return
    found: list[tuple[str, Sequence[int], Callable[[int, Codes], Codes]]] = [
        ("C left out", (C,), lambda place, codes: np.zeros_like(codes))
    ]
    fmt = FORMATS.get(op.c)
    if fmt is not None and fmt.signed:
        sign = fmt.sign_mask or 0
        found.append(("C with the other sign", (C,), lambda place, codes: codes ^ codes.dtype.type(sign)))
    for about, places in _which((A, B)) if size <= MOST_SWAPPED else ():
        if about and size % 2 == 0:
            pairs = [k ^ 1 for k in range(size)]
            found.append((f"the neighbours along K{about} swapped", places, partial(_along_k, pairs)))
        for k in range(size - 1 if about and size > 2 else 0):
            order = [*range(k), k + 1, k, *range(k + 2, size)]
            found.append((f"the elements {k} and {k + 1}{about} swapped", places, partial(_along_k, order)))
        for k, other in ((one, one + step) for one in range(size) for step in (-1, 1) if 0 <= one + step < size):
            order = [other if place == k else place for place in range(size)]
            what = f"the element {other}{about}" if about else f"the product {other}"
            found.append((f"{what} in place of {k}", places, partial(_along_k, order)))
    for about, places in _which((A, B))[1:]:
        rows, columns = (op.shape[0], size) if places[0] == A else (size, op.shape[1])
        if rows == columns > 1:
            found.append((f"the transpose{about}", places, lambda place, codes: np.swapaxes(codes, -1, -2)))
    for name, places, edit in found:
        read = partial(_edited, computation, places, edit)
        yield replace(reading(name, Stage.COMPUTATION, read), slow=computation.products > FEW_PRODUCTS)


def _along_k(order: Sequence[int], place: int, codes: Codes) -> Codes:
    return codes[..., order] if place == A else codes[..., order, :]


def _edited(
    computation: TileComputation, places: Sequence[int], edit: Callable[[int, Codes], Codes], inputs: Chunk
) -> Chunk:
    arrays = computation.arrays(inputs)
    for place in places:
        arrays[place] = edit(place, arrays[place])
    return _columns(arrays)


def misread_integers(computation: TileComputation) -> Iterator[Cause]:
    """Yield the causes that integer elements are read as unsigned, and that their products wrap around in fewer
    bits.
    """
    op = computation.operation
    widths = [_integer_bits(type_) for type_ in (op.a, op.b, op.d)]
    if op.order is not None or op.scale or not all(widths) or max(widths) > 32:
        return
    slow = computation.products > FEW_PRODUCTS
    for about, places in _which((A, B)):
        yield through(f"elements{about} read as unsigned", partial(_of_integers, widths, places, 64), slow)
    for bits in range(widths[0] + widths[1] - 1, max(widths[0], widths[1]) - 1, -1):
        yield through(f"products that wrap around at {bits} bits", partial(_of_integers, widths, (), bits), slow)


def _integer_bits(type_: str) -> int:
    return int(type_[1:]) if type_[:1] == "i" and type_[1:].isdigit() else 0


def _of_integers(
    widths: Sequence[int], unsigned: Sequence[int], bits: int, computation: TileComputation, inputs: Chunk
) -> Computed | None:
    """Compute a tile of integers modulo two to the power of the width of D."""
    if rule_or_usual(computation) != Accumulator() or computation.operation.blocks > 1:
        return None
    a, b, c = (
        _wrapped(array.astype(np.int64), 64 if place in unsigned else width)
        for place, (array, width) in enumerate(zip(computation.arrays(inputs), widths, strict=True))
    )
    products = _wrapped(a[..., :, :, np.newaxis] * b[..., np.newaxis, :, :], bits)
    total = products.sum(axis=-2) + c
    flat = (total & ((1 << widths[2]) - 1)).reshape(len(inputs[0]), -1)
    return Computed(
        tuple(
            np.ascontiguousarray(flat[:, k]).astype(storage_dtype(column.width))
            for k, column in enumerate(computation.outputs)
        )
    )


def _wrapped(numbers: npt.NDArray[np.int64], bits: int) -> npt.NDArray[np.int64]:
    """Return the numbers that the lowest bits of some numbers are in two's complement."""
    if bits >= 64:
        return numbers
    half = np.int64(1 << bits - 1)
    return np.asarray((numbers + half & np.int64((1 << bits) - 1)) - half)


MOST_SWAPPED = 16
"""In tiles of up to so many products along K, each two of them are tried as swapped."""


def _in_order(computation: TileComputation, order: Sequence[int], inputs: Chunk) -> Chunk:
    a, b, *others = computation.arrays(inputs)
    return _columns([a[..., order], b[..., order, :], *others])


def rule_or_usual(computation: TileComputation) -> Accumulator:
    """Return the accumulator of a computation's model. For a model without one, return an accumulator that gives its
    sums.
    """
    usual = CHAIN if computation.model == "ieee" else Accumulator()
    return rule_of(computation.model, computation.operation) or usual


def _with(field: str, value: Any, computation: TileComputation) -> TileComputation:
    return replace(computation, model=replace(rule_or_usual(computation), **{field: value}).text)


def _values(field: str, choices: Sequence[str], rule: Accumulator, op: TileOp) -> Iterator[Any]:
    """Yield the values of a field that a device may have; some of them do not go together with the other fields."""
    if choices:
        yield from choices
        return
    fmt = FORMATS.get(op.d)
    match field:
        case "flush" | "product_overflow":
            yield from (False, True)
        case "group":
            k = op.shape[2]
            yield from (size if size < k else 0 for size in (1 << power for power in range(k.bit_length() + 1)))
        case "order":
            k = op.shape[2]
            yield from (0, *(1 << power for power in range((k - 1).bit_length())))
        case "width" if fmt is None:
            yield from (None, *range(int(op.d[1:]) - 1, NEAR - 1, -1))
        case "bits" if fmt is not None:
            yield from (None, *_near(fmt.mantissa_bits if rule.bits is None else rule.bits))
        case "fraction" if fmt is not None:
            yield from (None, *_near(fmt.mantissa_bits if rule.fraction is None else rule.fraction))
        case "guard":
            yield from (0, *_near(rule.guard))
        case "shifter" | "c_shifter" if rule.bits is not None:
            given = getattr(rule, field)
            yield from (None, *_near(rule.bits if given is None else given))
        case "zero_exponent" if fmt is not None:
            yield from (None, 1 - fmt.bias)


def _near(number: int) -> Iterator[int]:
    """Yield the number and its neighbours, the nearest first and the lower one of two first."""
    yield number
    for step in range(1, NEAR + 1):
        yield from (other for other in (number - step, number + step) if other >= 0)
