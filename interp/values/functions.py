"""NumPy's functions and ufuncs on values: those that halfulp computes, and the refusal of all others.

Functions of shape move elements, and `np.where` selects them. All others are elementwise operations and
sums. A function that is not in a table is refused, with what to write instead: NumPy would compute on bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from inspect import Parameter, signature
from math import prod
from typing import Any, NamedTuple

import numpy as np

from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.paths import llvm
from halfulp.fp_formats.policy import Rounding
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import TypeMismatch
from halfulp.interp.values.coerce import codes_of
from halfulp.interp.values.elements import (
    Elements,
    V,
    applied,
    as_operand,
    beside,
    cells_of,
    check_clean,
    codes_of_cells,
    common_origins,
    exported,
    item,
    joined,
    moved,
    reshaped_type,
)
from halfulp.interp.values.reductions import dot_product, matrix_product, sum_along
from halfulp.semantics import elementary, float_unit, floats, integer, integer_functions
from halfulp.semantics.kernel import Kernel, select, select_poison, zeroed
from halfulp.semantics.profile import Profile

# --- element ops ------------------------------------------------------------------------------------------------------
#
# The elementwise operations of values: NumPy's name of each, the op of halfulp that computes it, and its kernel.
#
# What NumPy has beyond these is refused with the way on: `REFUSED_FLOATS`, `REFUSED_INTEGERS`, `REFUSED` and
# `FORMULAS`.


class FloatOp(NamedTuple):
    """An operation on floats: ``op`` names it in origins of poison, ``kernel`` makes its kernel."""

    op: str
    kernel: Callable[[FloatFormat, Profile], Kernel]
    gives_i1: bool = False


class IntegerOp(NamedTuple):
    """An operation on signless integers and index: ``kernel`` makes its kernel from the width."""

    op: str
    kernel: Callable[[int], Kernel]
    gives_i1: bool = False


def _binary(op: str, name: str, zeros_open: bool = False) -> FloatOp:
    return FloatOp(op, lambda fmt, profile: floats.binary(name, fmt, Rounding.TO_NEAREST_EVEN, 0, profile, zeros_open))


def _compare(predicate: int) -> FloatOp:
    return FloatOp("arith.cmpf", lambda fmt, profile: floats.compare(predicate, fmt, 0, profile), True)


def _class(name: str) -> FloatOp:
    return FloatOp(f"math.{name}", lambda fmt, profile: float_unit.class_test(name, fmt), True)


def _rounded(row: str, op: str = "") -> FloatOp:
    """Return the operation of an elementary function; ``row``: its name in `halfulp.fp_formats.reals`."""
    return FloatOp(
        op or f"math.{row}",
        lambda fmt, profile: elementary.unary(row, fmt, Rounding.TO_NEAREST_EVEN, 0, profile),
    )


def _rounded_of_two(row: str, op: str) -> FloatOp:
    return FloatOp(op, lambda fmt, profile: elementary.binary(row, fmt, Rounding.TO_NEAREST_EVEN, 0, profile))


def _integral(name: str) -> FloatOp:
    return FloatOp(f"math.{name}", lambda fmt, profile: integer_functions.to_integral(name, fmt, 0, profile))


def _square(fmt: FloatFormat, profile: Profile) -> Kernel:
    product = floats.binary("multiply", fmt, Rounding.TO_NEAREST_EVEN, 0, profile)
    return Kernel(lambda a: product.scalar(a, a), lambda a: product.array(a, a), open=product.open, opens=product.opens)


_SAME_NAME = (
    "cbrt", "cos", "cosh", "exp", "exp2", "expm1", "log", "log10", "log1p", "log2", "sin", "sinh", "sqrt", "tan",
    "tanh",
)  # fmt: skip
_INVERSES = ("cos", "cosh", "sin", "sinh", "tan", "tanh")

_ROUNDED_ONCE: Mapping[str, FloatOp] = {
    **{name: _rounded(name) for name in _SAME_NAME},
    **{f"arc{name}": _rounded(f"a{name}") for name in _INVERSES},
    "reciprocal": _rounded("reciprocal", "reciprocal"),
    "arctan2": _rounded_of_two("atan2", "math.atan2"),
    "hypot": _rounded_of_two("hypot", "hypot"),
    "power": _rounded_of_two("powf", "math.powf"),
    "float_power": _rounded_of_two("powf", "math.powf"),
}
"""The elementary functions: the exact result, rounded once."""

FLOAT_OPS: Mapping[str, FloatOp] = {
    "add": _binary("arith.addf", "add"),
    "subtract": _binary("arith.subf", "subtract"),
    "multiply": _binary("arith.mulf", "multiply"),
    "divide": _binary("arith.divf", "divide"),
    "fmod": _binary("arith.remf", "remainder"),
    "maximum": _binary("arith.maximumf", "maximum"),
    "minimum": _binary("arith.minimumf", "minimum"),
    "fmax": _binary("arith.maxnumf", "maximum_number", zeros_open=True),
    "fmin": _binary("arith.minnumf", "minimum_number", zeros_open=True),
    "negative": FloatOp("arith.negf", lambda fmt, profile: floats.unary("negate", fmt, 0, profile)),
    "absolute": FloatOp("math.absf", lambda fmt, profile: float_unit.absolute(fmt)),
    "fabs": FloatOp("math.absf", lambda fmt, profile: float_unit.absolute(fmt)),
    # The numbers of MLIR's predicates: oeq, une, olt, ole, ogt, oge.
    "equal": _compare(1),
    "not_equal": _compare(13),
    "less": _compare(4),
    "less_equal": _compare(5),
    "greater": _compare(2),
    "greater_equal": _compare(3),
    "isnan": _class("isnan"),
    "isinf": _class("isinf"),
    "isfinite": _class("isfinite"),
    "signbit": _class("signbit"),
    "square": FloatOp("arith.mulf", _square),
    "copysign": FloatOp("math.copysign", lambda fmt, profile: float_unit.copysign(fmt)),
    "ceil": _integral("ceil"),
    "floor": _integral("floor"),
    "rint": _integral("roundeven"),
    "trunc": _integral("trunc"),
    **_ROUNDED_ONCE,
}

INTEGER_OPS: Mapping[str, IntegerOp] = {
    "add": IntegerOp("arith.addi", integer.addi),
    "subtract": IntegerOp("arith.subi", integer.subi),
    "multiply": IntegerOp("arith.muli", integer.muli),
    "bitwise_and": IntegerOp("arith.andi", integer.andi),
    "bitwise_or": IntegerOp("arith.ori", integer.ori),
    "bitwise_xor": IntegerOp("arith.xori", integer.xori),
    "left_shift": IntegerOp("arith.shli", integer.shli),
    "equal": IntegerOp("arith.cmpi", lambda width: integer.cmpi(width, 0), True),
    "not_equal": IntegerOp("arith.cmpi", lambda width: integer.cmpi(width, 1), True),
}

LOGICAL_OPS: Mapping[str, str] = {
    "logical_and": "bitwise_and",
    "logical_or": "bitwise_or",
    "logical_xor": "bitwise_xor",
    "logical_not": "invert",
}
"""Operations on i1 alone, and the integer operation that computes them."""

UNARY_INTEGERS: Mapping[str, tuple[str, int, bool]] = {
    "negative": ("subtract", 0, True),
    "invert": ("bitwise_xor", -1, False),
}
"""Integer operations on one operand: the operation on two, the other operand, and whether that comes first."""

_SIGNED_OR_NOT = "a signless integer does not say whether it is signed; choose: "


def _either(*ops: str) -> str:
    return _SIGNED_OR_NOT + " or ".join(f'hu.eval("{op}", a, b)' for op in ops)


def _predicates(signed: str, unsigned: str) -> str:
    return f'{_SIGNED_OR_NOT}hu.eval("arith.cmpi", a, b, predicate="{signed}") or predicate="{unsigned}"'


def _if_signed(op: str, operands: str) -> str:
    return f'{_SIGNED_OR_NOT}hu.eval("{op}", {operands}) if it is'


REFUSED_INTEGERS: Mapping[str, str] = {
    "divide": _either("arith.divsi", "arith.divui"),
    "floor_divide": _either("arith.floordivsi", "arith.divui"),
    "remainder": _either("arith.remsi", "arith.remui"),
    "fmod": _either("arith.remsi", "arith.remui"),
    "divmod": _either("arith.divsi", "arith.divui") + "; the remainder is arith.remsi or arith.remui",
    "right_shift": _either("arith.shrsi", "arith.shrui"),
    "maximum": _either("arith.maxsi", "arith.maxui"),
    "minimum": _either("arith.minsi", "arith.minui"),
    "fmax": _either("arith.maxsi", "arith.maxui"),
    "fmin": _either("arith.minsi", "arith.minui"),
    "less": _predicates("slt", "ult"),
    "less_equal": _predicates("sle", "ule"),
    "greater": _predicates("sgt", "ugt"),
    "greater_equal": _predicates("sge", "uge"),
    "absolute": _if_signed("math.absi", "a"),
    "fabs": _if_signed("math.absi", "a"),
    "power": _if_signed("math.ipowi", "a, b"),
    "float_power": _if_signed("math.ipowi", "a, b"),
    "square": "write a * a",
    **dict.fromkeys(("ceil", "floor", "rint", "trunc", "round", "around", "fix"), "an integer is one already"),
    "isnan": "an integer is never NaN",
    "isinf": "an integer is never infinite",
    "isfinite": "an integer is always finite",
    "signbit": 'a signless integer does not say whether it is signed; write hu.eval("arith.shrui", a, …) for its bits',
    **dict.fromkeys(LOGICAL_OPS, "compare first, for example np.not_equal(a, 0)"),
}

_WITHOUT_BITS = 'floats have no bitwise operations; for their bits: hu.eval("arith.bitcast", a, to="i…")'
REFUSED_FLOATS: Mapping[str, str] = {
    "remainder": "np.fmod(a, b) is the exact remainder with the sign of a (arith.remf); there is no other one",
    "floor_divide": "write a / b, which rounds once, or np.fmod(a, b) for the exact remainder",
    "divmod": "write a / b, which rounds once, and np.fmod(a, b) for the exact remainder",
    **dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift"), _WITHOUT_BITS),
    "right_shift": _WITHOUT_BITS,
    **dict.fromkeys(LOGICAL_OPS, "compare first, for example np.not_equal(a, 0)"),
}

REFUSED: Mapping[str, str] = {
    "spacing": "write hu.ulp(a)",
    "nextafter": "write hu.next_up(a) or hu.next_down(a)",
    "clip": "write np.clip(a, low, high)",
    "bitwise_count": 'write hu.eval("math.ctpop", a) for the ones of an integer',
    "frexp": "a.bits has the fields of each element; hu.float_format(a.element_type) says where they are",
    "heaviside": "write np.where(a < 0, 0.0, 1.0)",
    "ldexp": "write a * 2.0**n, which rounds once",
    "modf": "write np.trunc(a) and a - np.trunc(a), which are both exact",
    "sign": "write np.where(a == 0, a, np.copysign(1.0, a))",
    "vecdot": "write hu.dot(a, b), or hu.sum(a * b, axis=-1)",
    "matvec": "write hu.matmul(a, b)",
    "vecmat": "write hu.matmul(a, b)",
}

FORMULAS: Mapping[str, str] = {
    **dict.fromkeys(("deg2rad", "radians"), "x * pi / 180"),
    **dict.fromkeys(("rad2deg", "degrees"), "x * 180 / pi"),
    "logaddexp": "log(exp(x) + exp(y))",
    "logaddexp2": "x + log2(1 + exp2(y - x))",
    "sinc": "sinpi(x) / (pi * x)",
}
"""Functions that no op computes, and the formula that `halfulp.round` computes for them with one rounding."""


@llvm.forgotten
@lru_cache(maxsize=4096)
def element_op(name: str, element: ty.Type, profile: Profile) -> tuple[str, Kernel, bool]:
    """Return the op, the kernel, and whether the result is i1, for an operation with NumPy's name on an element type.

    Raises TypeMismatch for an operation that halfulp does not compute; the error says what to write instead.
    """
    match element:
        case ty.FloatType() if name in FLOAT_OPS:
            found = FLOAT_OPS[name]
            return found.op, found.kernel(element.format, profile), found.gives_i1
        case ty.IntegerType(signedness="signless") | ty.IndexType() if name in INTEGER_OPS:
            of_integers = INTEGER_OPS[name]
            return of_integers.op, of_integers.kernel(ty.width_of(element)), of_integers.gives_i1
    raise TypeMismatch(f"np.{name} does not compute with values of type '{element}'", hint=way_on(name, element))


def way_on(name: str, element: ty.Type) -> str:
    """Return a text that says what to write in place of an operation that halfulp refuses."""
    if name in FORMULAS and isinstance(element, ty.FloatType):
        formula = FORMULAS[name]
        at_zero = "; at 0 the formula is 0 / 0" if name == "sinc" else ""
        return f'write hu.round("{formula}", {"v, w" if "y" in formula else "v"}), which rounds once{at_zero}'
    if name in REFUSED:
        return REFUSED[name]
    match element:
        case ty.FloatType() if name in REFUSED_FLOATS:
            return REFUSED_FLOATS[name]
        case ty.IntegerType(signedness="signless") | ty.IndexType() if name in REFUSED_INTEGERS:
            return REFUSED_INTEGERS[name]
        case ty.IntegerType(signedness="signless") | ty.IndexType() if name in _ROUNDED_ONCE:
            return 'convert first: hu.eval("arith.sitofp", a, to="f32") if it is signed, arith.uitofp if it is not'
        case ty.IntegerType(signedness="signed" | "unsigned"):
            return (
                f"ops of arith take signless integers, as in MLIR; write hu.Value.from_bits(v.bits, 'i{element.width}')"
            )
        case ty.UniformQuantizedType() | ty.AnyQuantizedType():
            return "convert to real numbers first: hu.dequantize(v)"
    return "halfulp has no such operation; v.numpy() and v.masked() give an array, on which NumPy computes and rounds"


def operation(name: str, operands: Sequence[Any], profile: Profile) -> Elements:
    """Return the result of an elementwise operation with NumPy's name; at least one operand is a value.

    Raises TypeMismatch for operands of different types, and for an operation that halfulp does not compute; ValueError
    for shapes that do not broadcast.
    """
    values = beside(f"np.{name}", operands)
    element = values[0].element_type
    if element == ty.I1:
        name = LOGICAL_OPS.get(name, name)
    if name in UNARY_INTEGERS and isinstance(element, ty.IntegerType | ty.IndexType):
        name, constant, first = UNARY_INTEGERS[name]
        code = codes_of(constant & (1 << ty.width_of(element)) - 1, element, "the constant")
        other = type(values[0])(element, code)
        values = (other, *values) if first else (*values, other)
    op, kernel, gives_i1 = element_op(name, element, profile)
    return applied(op, kernel, values, ty.I1 if gives_i1 else element)


# --- functions --------------------------------------------------------------------------------------------------------

# Functions of one value's shape: NumPy's function itself moves the cells.
_MOVING: frozenset[Callable[..., Any]] = frozenset({
    np.reshape, np.ravel, np.transpose, np.matrix_transpose, np.squeeze, np.expand_dims, np.broadcast_to,
    np.swapaxes, np.moveaxis, np.rollaxis, np.flip, np.fliplr, np.flipud, np.rot90, np.roll, np.repeat, np.tile,
    np.resize, np.take, np.delete, np.diagonal, np.copy,
})  # fmt: skip
# Functions that divide one value into several.
_DIVIDING = frozenset({np.split, np.array_split, np.hsplit, np.vsplit, np.dsplit})
# Functions that join a sequence of values.
_JOINING = frozenset({np.concatenate, np.stack, np.vstack, np.hstack, np.dstack, np.column_stack})
# Functions that take a value's shape alone.
_OF_SHAPE = frozenset({np.shape, np.ndim, np.size})
# Functions of i1 that give places or counts, which are NumPy's own integers.
_OF_MASKS = frozenset({np.nonzero, np.flatnonzero, np.argwhere, np.count_nonzero})
_OF_MEMORY = frozenset({np.shares_memory, np.may_share_memory})
_SAVING = frozenset({np.save, np.savez, np.savez_compressed})

_SUM = "write hu.sum(v), which says in which order and in which type it adds; then divide"
_ERROR = "write hu.error(a, reference=b), which measures the difference in ulp"
_SORTED = "write np.sort(v.numpy()) or v.masked(): sorting rounds nothing"
_REFUSED: Mapping[str, str] = {
    **dict.fromkeys(("mean", "average", "var", "std", "nanmean", "nansum", "trace"), _SUM),
    "cumsum": "write hu.sum(v[: k + 1]) for each k, which says in which order and in which type it adds",
    "median": "write np.median(v.numpy()): for an odd number of elements, it rounds nothing",
    **dict.fromkeys(("allclose", "isclose"), _ERROR),
    **dict.fromkeys(("sort", "argsort", "partition", "argpartition", "unique", "searchsorted"), _SORTED),
    **dict.fromkeys(("inner", "vdot", "vecdot", "tensordot", "einsum"), "write hu.dot(a, b) or hu.matmul(a, b)"),
    **dict.fromkeys(("argmax", "argmin"), "write np.argmax(v.numpy()), which rounds nothing"),
    **dict.fromkeys(("array2string", "array_repr", "array_str"), "write str(v)"),
    **dict.fromkeys(("histogram", "bincount", "digitize"), "write v.numpy() or v.masked(), which are arrays of NumPy"),
    **dict.fromkeys(("append", "insert", "pad"), "write np.concatenate([a, b])"),
    **dict.fromkeys(("atleast_1d", "atleast_2d", "atleast_3d"), "write v.reshape(…)"),
    **dict.fromkeys(("triu", "tril"), "write np.where(mask, v, 0)"),
    **dict.fromkeys(("isposinf", "isneginf"), "write np.isinf(v) & (v > 0), or v < 0"),
    **dict.fromkeys(("prod", "nanprod", "cumprod"), "write a loop over the elements: each product rounds"),
    **dict.fromkeys(
        ("result_type", "can_cast", "common_type"), "v.element_type is the type, v.dtype that of v.numpy()"
    ),
    "outer": "write np.multiply.outer(a, b)",
    "diff": "write v[1:] - v[:-1]",
    "ptp": "write np.max(v) - np.min(v)",
    "unstack": "write list(v)",
    "broadcast_arrays": "write np.broadcast_to(v, shape)",
    "meshgrid": "write v[:, None] and w[None, :], which broadcast",
    "norm": "write hu.dot(v, v), the square of the norm",
    "astype": "write v.astype(type)",
    "empty_like": "write np.zeros_like(v)",
    "nan_to_num": "write np.where(np.isnan(v), 0, v)",
}


def function(
    called: Callable[..., Any], arguments: Sequence[Any], keywords: Mapping[str, Any], profile: Profile
) -> Any:
    """Return the result of one of NumPy's functions; ``arguments`` and ``keywords`` are those of the call.

    The result is a value, a list of values, or a plain object. Raises TypeMismatch for a function that halfulp does not
    compute, and the errors of NumPy for wrong arguments of the others.
    """
    name = called.__name__
    if keywords.get("out") is not None:
        raise TypeMismatch(f"np.{name}: a Value is immutable, so it cannot be out=", hint="use the result")
    if called in _MOVING:
        return _move(called, *arguments, **keywords)
    if called in _DIVIDING:
        one, rest = _one_value(name, arguments, keywords)
        count = len(called(np.empty(one.shape, np.bool_), *rest, **keywords))

        def part(at: int) -> Elements:
            return moved(one, lambda array: called(array, *rest, **keywords)[at])

        return list(map(part, range(count)))
    if called in _JOINING:
        return _join(called, *arguments, **keywords)
    if called in _OF_SHAPE:
        value, rest = _one_value(name, arguments, keywords)
        return called(np.broadcast_to(np.False_, value.shape), *rest, **keywords)
    if called in _OF_MASKS:
        value, rest = _one_value(name, arguments, keywords)
        _check_mask(name, value)
        return called(exported(value, "raise", None), *rest, **keywords)
    if called in _OF_MEMORY:
        first, second, *rest = (each.bits if isinstance(each, Elements) else each for each in arguments)
        return called(first, second, *rest, **keywords)
    if called in _SAVING:
        return called(*map(_saved, arguments), **{key: _saved(each) for key, each in keywords.items()})
    own = _OWN.get(called)
    if own is not None:
        return own(profile, **_named_arguments(called, own, arguments, keywords))
    raise TypeMismatch(f"np.{name} does not compute with values of halfulp", hint=_hint(name, arguments))


def _saved(given: Any) -> Any:
    """Return a value as the array that NumPy saves. Raises TypeMismatch for an array that NumPy would pickle."""
    if not isinstance(given, Elements):
        return given
    array = exported(given, "raise", None)
    if array.dtype.hasobject:
        raise TypeMismatch(
            f"a .npy file does not hold integers as wide as '{given.element_type}'", hint="write np.save(file, v.bits)"
        )
    return array


def _named_arguments(
    called: Callable[..., Any], own: Callable[..., Any], arguments: Sequence[Any], keywords: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the arguments of one of NumPy's functions by name, without those that have their defaults.

    Raises TypeMismatch for an argument that ``own``, our function, does not have.
    """
    bound = dict(zip(_PARAMETERS[called], arguments, strict=False)) | dict(keywords)
    parameters = signature(own).parameters
    required = {key for key, each in parameters.items() if each.default is Parameter.empty}
    given = {
        key: each
        for key, each in bound.items()
        if key in required or not (each is None or each is np._NoValue or (key == "where" and each is True))
    }
    for key in given.keys() - parameters.keys():
        raise TypeMismatch(f"np.{called.__name__}: {key}= is not for values of halfulp", hint=_KEYWORDS.get(key))
    return given


def _hint(name: str, arguments: Sequence[Any]) -> str:
    if name in _REFUSED:
        return _REFUSED[name]
    value = next((each for each in arguments if isinstance(each, Elements)), None)
    return way_on(name, ty.I1 if value is None else value.element_type)


def _one_value(name: str, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> tuple[Elements, list[Any]]:
    """Return the first argument and the others. Raises TypeMismatch unless the first is the only value."""
    first, *rest = arguments or (None,)
    if not isinstance(first, Elements) or any(isinstance(each, Elements) for each in (*rest, *keywords.values())):
        raise TypeMismatch(f"np.{name} takes one Value, as its first argument", hint="give the others by .numpy()")
    return first, rest


def _move(called: Callable[..., Any], *arguments: Any, **keywords: Any) -> Elements:
    value, rest = _one_value(called.__name__, arguments, keywords)
    return moved(value, lambda array: np.asarray(called(array, *rest, **keywords)))


def _join(called: Callable[..., Any], sequence: Any, *rest: Any, **keywords: Any) -> Elements:
    if keywords.keys() & {"dtype", "casting"}:
        raise TypeMismatch(
            f"np.{called.__name__} of a Value does not take dtype= and casting=", hint="call .astype(…) on the result"
        )
    values = beside(f"np.{called.__name__}", [sequence] if isinstance(sequence, Elements) else list(sequence))
    if isinstance(sequence, Elements):
        values = tuple(item(sequence, at) for at in range(len(sequence.bits)))
    return joined(values, lambda arrays: called(arrays, *rest, **keywords))


def _check_mask(name: str, value: Elements) -> None:
    if value.element_type != ty.I1:
        raise TypeMismatch(
            f"np.{name} takes a mask of i1, not '{value.element_type}'", hint="compare first: np.not_equal(v, 0)"
        )


# Functions of their own.


def _where(profile: Profile, condition: Any, x: Any = None, y: Any = None) -> Any:
    """Select elementwise, as arith.select does: the arm that is not chosen is ignored, even if it is poison."""
    mask = condition
    if not isinstance(condition, Elements):
        arm = next(each for each in (x, y) if isinstance(each, Elements))
        mask = as_operand("np.where", np.asarray(condition), ty.I1, arm)
    _check_mask("where", mask)
    if x is None and y is None:
        return np.nonzero(exported(mask, "raise", None))
    if not any(isinstance(arm, Elements) for arm in (x, y)):
        raise TypeMismatch("np.where: neither choice is a Value", hint="convert one of them: hu.convert(x, type)")
    arms = beside("np.where", [x, y])
    element = arms[0].element_type
    shape = np.broadcast_shapes(*(each.shape for each in (mask, *arms)))
    chosen = np.broadcast_to(mask.bits, shape)
    first, second = (np.broadcast_to(cells_of(arm.bits, element), shape) for arm in arms)
    bits = codes_of_cells(select(chosen, first, second), element)
    poisons, origins = common_origins([mask, *arms])
    of_mask, of_first, of_second = (None if ids is None else np.broadcast_to(ids, shape) for ids in poisons)
    ids = select_poison(chosen, of_mask, of_first, of_second, shape)
    own = next((arm for arm in arms if arm.shape == shape), None)
    type_ = reshaped_type(arms[0].type, (), shape) if own is None else reshaped_type(own.type, shape, shape)
    if ids is None:
        return type(mask)(type_, bits)
    return type(mask)(type_, zeroed(bits, ids), ids, None, origins)


def _clip(profile: Profile, a: Any, a_min: Any = None, a_max: Any = None, min: Any = None, max: Any = None) -> Any:
    """Return the smaller of the upper bound and the larger of the lower bound and the value."""
    bounds = {"maximum": a_min if min is None else min, "minimum": a_max if max is None else max}
    if all(bound is None for bound in bounds.values()):
        raise TypeMismatch(
            "np.clip takes a Value, a lower bound and an upper bound", hint="write np.clip(v, low, high)"
        )
    for name, bound in bounds.items():
        a = a if bound is None else operation(name, [a, bound], profile)
    return a


def _to_integers(profile: Profile, a: Any, decimals: int = 0) -> Any:
    if decimals:
        raise TypeMismatch("np.round does not round values to decimals", hint="np.round(v) rounds to integers")
    return operation("rint", [a], profile)


def _array_equal(profile: Profile, a1: Any, a2: Any) -> bool:
    pair = beside("np.array_equal", [a1, a2])
    if pair[0].shape != pair[1].shape:
        return False
    equal = operation("equal", pair, profile)
    check_clean(equal)
    return bool(equal.bits.all())


def _of_mask(reduce: Callable[..., Any]) -> Callable[..., Elements]:
    """Make np.all or np.any on i1: a poisoned element makes the result poison."""

    def reduced(profile: Profile, a: V, axis: Any = None, keepdims: bool = False) -> V:
        _check_mask(reduce.__name__, a)
        found = np.asarray(reduce(a.bits != 0, axis=axis, keepdims=keepdims)).astype(np.uint8)
        type_ = ty.TensorType(found.shape, ty.I1) if found.shape else ty.I1
        ids = None if a.poison is None else np.asarray(a.poison.max(axis=axis, keepdims=keepdims, initial=0))
        if ids is None or not ids.any():
            return type(a)(type_, found)
        return type(a)(type_, zeroed(found, ids), ids, None, a.origins)

    return reduced


def _extreme(name: str) -> Callable[..., Elements]:
    """Make np.max or np.min: elements are combined in their order, pair by pair, by arith.maximumf or minimumf."""

    def extreme(profile: Profile, a: Any, axis: Any = None, keepdims: bool = False) -> Elements:
        shape = a.shape
        rank = len(shape)
        axes = tuple(range(rank)) if axis is None else np.lib.array_utils.normalize_axis_tuple(axis, rank)
        others = tuple(at for at in range(rank) if at not in axes)
        lanes = tuple(shape[at] for at in others)
        count = prod(shape[at] for at in axes)
        if not count:
            raise ValueError(f"np.{name} of no elements has no value")
        found: Elements = moved(a, lambda array: array.transpose(*axes, *others).reshape(count, *lanes))
        while count > 1:
            pairs = count // 2
            first, second = item(found, slice(0, 2 * pairs, 2)), item(found, slice(1, 2 * pairs, 2))
            odd = [item(found, slice(2 * pairs, None))] if count % 2 else []
            found = joined([operation(name, [first, second], profile), *odd], np.concatenate)
            count = pairs + len(odd)
        kept = tuple(1 if at in axes else size for at, size in enumerate(shape)) if keepdims else lanes
        return moved(found, lambda array: array.reshape(kept))

    return extreme


def _full_like(
    profile: Profile, a: Any, fill_value: Any, order: Any = None, subok: Any = None, shape: Any = None
) -> Elements:
    one = beside("np.full_like", [a, fill_value])[1]
    new = a.shape if shape is None else tuple(np.atleast_1d(shape).tolist())
    return moved(one, lambda array: np.broadcast_to(array, new).copy())


def _filled(number: int) -> Callable[..., Elements]:
    def filled_like(profile: Profile, a: Any, order: Any = None, subok: Any = None, shape: Any = None) -> Elements:
        return _full_like(profile, a, number, shape=shape)

    return filled_like


def _sum(profile: Profile, a: Elements, axis: Any = None, keepdims: bool = False) -> Elements:
    return sum_along(a, axis, keepdims, profile=profile)


def _dot(profile: Profile, a: Any, b: Any) -> Elements:
    return dot_product(*beside("np.dot", [a, b]), profile=profile)


_OWN: Mapping[Callable[..., Any], Callable[..., Any]] = {
    np.where: _where,
    np.clip: _clip,
    np.round: _to_integers,
    np.around: _to_integers,
    np.fix: lambda profile, x: operation("trunc", [x], profile),
    np.array_equal: _array_equal,
    np.all: _of_mask(np.all),
    np.any: _of_mask(np.any),
    np.max: _extreme("maximum"),
    np.amax: _extreme("maximum"),
    np.min: _extreme("minimum"),
    np.amin: _extreme("minimum"),
    np.full_like: _full_like,
    np.zeros_like: _filled(0),
    np.ones_like: _filled(1),
    np.sum: _sum,
    np.dot: _dot,
}

_REDUCTION = ("a", "axis", "dtype", "out", "keepdims", "initial", "where")
_EXTREME = ("a", "axis", "out", "keepdims", "initial", "where")
_PARAMETERS: Mapping[Callable[..., Any], Sequence[str]] = {
    np.where: ("condition", "x", "y"),
    np.clip: ("a", "a_min", "a_max", "out"),
    np.round: ("a", "decimals", "out"),
    np.around: ("a", "decimals", "out"),
    np.fix: ("x", "out"),
    np.array_equal: ("a1", "a2", "equal_nan"),
    np.all: ("a", "axis", "out", "keepdims"),
    np.any: ("a", "axis", "out", "keepdims"),
    **dict.fromkeys((np.max, np.amax, np.min, np.amin), _EXTREME),
    np.full_like: ("a", "fill_value", "dtype", "order", "subok", "shape"),
    np.zeros_like: ("a", "dtype", "order", "subok", "shape"),
    np.ones_like: ("a", "dtype", "order", "subok", "shape"),
    np.sum: _REDUCTION,
    np.dot: ("a", "b", "out"),
}
"""The names of NumPy's parameters by position; not every one of these functions has a signature to ask."""

_KEYWORDS: Mapping[str, str] = {
    "dtype": "write .astype(type) on the Value, or hu.sum(v, acc=type)",
    "initial": "combine the result with it: v.sum() + x, np.maximum(v.max(), x)",
    "where": "write v[mask], or np.where(mask, v, other)",
    "equal_nan": "v == w compares the bits, so that a NaN equals itself",
}


# --- ufuncs -----------------------------------------------------------------------------------------------------------

_REDUCING: Mapping[np.ufunc, Callable[..., Any]] = {
    np.add: np.sum,
    np.maximum: np.max,
    np.minimum: np.min,
    np.logical_and: np.all,
    np.logical_or: np.any,
}
"""The ufuncs whose method ``reduce`` halfulp computes, and the function that it is."""


def ufunc(
    called: np.ufunc, method: str, operands: Sequence[Any], keywords: Mapping[str, Any], profile: Profile
) -> Elements:
    """Return the result of a ufunc, or of one of its methods, on operands of which at least one is a value.

    Raises TypeMismatch for a ufunc that halfulp does not compute, and for ``out``, ``where`` and the other keywords of
    ufuncs.
    """
    name = called.__name__
    if method == "reduce" and called in _REDUCING:
        chosen = {"axis": 0, **{key: each for key, each in keywords.items() if not _is_default(key, each)}}
        _check_keywords(name, {key: each for key, each in chosen.items() if key not in ("axis", "keepdims")})
        reduced: Elements = function(_REDUCING[called], operands, chosen, profile)
        return reduced
    _check_keywords(name, keywords)
    if method == "outer" and called.nin == 2 and called is not np.matmul:
        first, second = beside(f"np.{name}.outer", operands)
        rank = len(second.shape)
        spread = moved(first, lambda array: array.reshape(array.shape + (1,) * rank))
        return operation(name, [spread, second], profile)
    if method != "__call__":
        element = next(each.element_type for each in operands if isinstance(each, Elements))
        hint = way_on(name, element) if method == "outer" else "write hu.sum(v), or a loop over the elements"
        raise TypeMismatch(f"np.{name}.{method} does not compute with values of type '{element}'", hint=hint)
    if called is np.matmul:
        return matrix_product(*beside("np.matmul", operands), profile=profile)
    if called is np.positive:
        (only,) = beside("np.positive", operands)
        return moved(only, lambda array: array)
    return operation(name, operands, profile)


_DEFAULTS: Mapping[str, Any] = {"out": None, "where": True, "initial": np._NoValue, "keepdims": False, "dtype": None}


def _is_default(key: str, given: Any) -> bool:
    return given is _DEFAULTS.get(key, object()) or (key == "out" and all(each is None for each in given))


def _check_keywords(name: str, keywords: Mapping[str, Any]) -> None:
    """Raise TypeMismatch for a keyword whose value would have an effect."""
    for key, given in keywords.items():
        if _is_default(key, given):
            continue
        if key == "out":
            raise TypeMismatch(f"np.{name}: out= would write the bits of halfulp into an array", hint="use the result")
        if key == "where":
            raise TypeMismatch(
                f"np.{name}: where= leaves elements without a value", hint="write np.where(mask, …, other)"
            )
        raise TypeMismatch(
            f"np.{name}: {key}= is not for values of halfulp", hint="write .astype(type), which rounds once"
        )
