"""The rules that many ops of tosa share, in MLIR's words (`TosaOps.cpp`), and the declaration of an op."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from halfulp.fp_formats.formats import FloatFormat
from halfulp.interp.declare import declarations as d
from halfulp.interp.dialects.elementwise import sizes_agree
from halfulp.interp.dialects.tosa.forms import Form
from halfulp.interp.dialects.tosa.types import ShapeType, Sizes, has_width, shape, stored, tosa
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation, OpResult, Rule, SSAValue, all_of

# --- declaration ------------------------------------------------------------------------------------------------------


def declare(mnemonic: str, form: Form | d.CustomForm | str, *checks: Rule, **declaration: Any) -> d.OpDefinition:
    """Declare an op of tosa. ``checks``: its rules, of which the first that is broken is reported."""
    text: dict[str, Any] = {"assembly": form} if isinstance(form, str) else {}
    if not isinstance(form, str):
        text["custom"] = form.custom if isinstance(form, Form) else form
    return tosa.op(mnemonic, **text, verify=all_of(*checks), **declaration)


# --- constants --------------------------------------------------------------------------------------------------------


def maker(value: SSAValue) -> Operation | None:
    """Return the op whose result a value is; None for the argument of a block."""
    return value.owner if isinstance(value, OpResult) else None


_CONSTANTS = {"tosa.const": "values", "tosa.const_shape": "values", "arith.constant": "value"}


def constant(value: SSAValue) -> at.DenseElementsAttr | None:
    """Return the elements of a constant; None for a value that is computed."""
    op = maker(value)
    found = None if op is None or op.name not in _CONSTANTS else op.properties.get(_CONSTANTS[op.name])
    return found if isinstance(found, at.DenseElementsAttr) else None


def numbers(elements: at.DenseElementsAttr) -> list[int]:
    """Return the integers of a constant, signed."""
    type_ = ty.element_type(elements.type)
    return [at.integer_of_code(int(code), type_) for code in elements.array().reshape(-1)]


def constant_shape(value: SSAValue) -> list[int] | None:
    """Return the sizes of a shape that tosa.const_shape makes; None for any other."""
    op, elements = maker(value), constant(value)
    return None if op is None or op.name != "tosa.const_shape" or elements is None else numbers(elements)


def truth(op: Operation, name: str) -> bool:
    """Return the truth value of a property; an absent one is false."""
    found = op.properties.get(name)
    return isinstance(found, at.IntegerAttr) and found.code != 0


# --- traits -----------------------------------------------------------------------------------------------------------

_SHAPE_OPS = frozenset(
    f"tosa.{name}"
    for name in (
        "const_shape", "dim", *(f"{each}_shape" for each in (
            "add", "assert_equal", "concat", "div_ceil", "div_floor", "exp2", "log2_ceil", "log2_floor", "max", "min",
            "mod", "mul", "slice", "sub",
        )),
    )
)  # fmt: skip


def resolvable(op: Operation) -> str | None:
    """The rule that each shape is the result of an op on shapes."""
    for value in op.operands:
        made = maker(value)
        if isinstance(value.type, ShapeType) and (made is None or made.name not in _SHAPE_OPS):
            return "shape operand is not compile time resolvable"
    return None


def _elements(values: Iterable[SSAValue]) -> set[ty.Type]:
    return {ty.element_type(value.type) for value in values}


def same_elements(op: Operation) -> str | None:
    """The rule of the trait SameOperandsAndResultElementType."""
    same = len(_elements((*op.operands, *op.results))) == 1
    return None if same else "requires the same element type for all operands and results"


def same_operand_elements(op: Operation) -> str | None:
    """The rule of the trait SameOperandsElementType."""
    return None if len(_elements(op.operands)) == 1 else "requires the same element type for all operands"


def same_shapes(op: Operation) -> str | None:
    """The rule of the trait SameOperandsAndResultShape."""
    first, *rest = [ty.shape_of(type_) for type_ in op.types]
    agree = all(sizes_agree(first, other) for other in rest)
    return None if agree else "requires the same shape for all operands and results"


def same_ranks(op: Operation) -> str | None:
    """The rule of the trait SameOperandsAndResultRank."""
    ranks = {len(sizes) for value in op.operands if (sizes := shape(value)) is not None}
    if len(ranks) > 1:
        return "operands don't have matching ranks"
    for result in op.results:
        sizes = shape(result)
        if sizes is not None and ranks and len(sizes) not in ranks:
            return "result type has different rank than operands"
    return None


def together(one: Sizes, other: Sizes) -> list[int | None] | None:
    """Return the shape to which two shapes are broadcast; None if there is none."""
    rank = max(len(one), len(other))
    made: list[int | None] = []
    for a, b in zip(*((1,) * (rank - len(sizes)) + tuple(sizes) for sizes in (one, other)), strict=True):
        if a is None or b is None:
            known = b if a is None else a
            made.append(known if known is not None and known > 1 else None)
        elif a == b or 1 in (a, b):
            made.append(max(a, b))
        else:
            return None
    return made


def _spelled(sizes: Sizes) -> str:
    return f"'{'x'.join('?' if size is None else str(size) for size in sizes)}'"


def broadcastable(op: Operation) -> str | None:
    """The rule of the trait ResultsBroadcastableShape."""
    shapes = [sizes for value in op.operands if (sizes := shape(value)) is not None]
    if not shapes:
        return None
    made: list[int | None] = list(shapes[0])
    for sizes in shapes:
        merged = together(made, sizes)
        if merged is None:
            return "operands don't have broadcast-compatible shapes"
        made = merged
    for result in op.results:
        sizes = shape(result)
        if sizes is not None and not sizes_agree(made, sizes[-len(made) :] if made else ()):
            return (
                f"result type {_spelled(sizes)} not broadcast compatible with broadcasted operands's shapes "
                f"{_spelled(made)}"
            )
    return None


def inferred(expected: Callable[[Operation], Sizes | None], elements: Callable[[Operation], ty.Type]) -> Rule:
    """Return the rule that the result has the inferred type, whose sizes and elements the functions give."""

    def check(op: Operation) -> str | None:
        (result,) = op.results
        type_ = result.type
        sizes, element = expected(op), elements(op)
        if ty.element_type(type_) == element and sizes_agree(sizes, ty.shape_of(type_)):
            return None
        made = ty.TensorType(None if sizes is None else tuple(sizes), element)
        return f"inferred type(s) '{made}' are incompatible with return type(s) of operation '{type_}'"

    return check


# --- shared checks ----------------------------------------------------------------------------------------------------


def _compared(element: ty.Type) -> bool:
    return isinstance(element, ty.IntegerType | ty.IndexType | ty.FloatType | ty.UniformQuantizedType)


def alike(one: SSAValue, other: SSAValue, one_name: str = "input", other_name: str = "output") -> str | None:
    """Say that two tensors have different elements, or return None."""
    elements = ty.element_type(one.type), ty.element_type(other.type)
    if all(map(_compared, elements)) and elements[0] != elements[1]:
        return f"expect {one_name} and {other_name} to have same element type, got '{elements[0]}' and '{elements[1]}'"
    return None


def first_like_result(op: Operation) -> str | None:
    """The rule that the first operand has the elements of the result."""
    return alike(op.operands[0], op.results[0])


def zero_point(value: SSAValue, signed: bool = True) -> int | None:
    """Return a zero point that is constant: -1 for a float that is not 0; None for one that is not known."""
    elements = constant(value)
    if elements is None or not elements.array().size:
        return None
    element, code = ty.element_type(elements.type), int(elements.array().reshape(-1)[0])
    if isinstance(element, ty.FloatType):
        return 0 if is_zero(element.format, code) else -1
    if isinstance(element, ty.IntegerType):
        return at.integer_of_code(code, element) if signed and element.signedness != "unsigned" else code
    return -1


def is_zero(fmt: FloatFormat, code: int) -> bool:
    """Tell whether a code of a float is a zero."""
    return not code & ~(fmt.sign_mask or 0) and fmt.zero


def zero_point_is_allowed(value: SSAValue, name: str) -> str | None:
    """Say that a constant zero point that must be 0 is not, or return None. ``name``: that of the operand."""
    found = zero_point(value)
    if found and not has_width(ty.element_type(value.type), 8):
        return f"{name} zero point must be zero for non-int8 integer types"
    return None


def has_element_of(value: SSAValue, zero: SSAValue, message: str) -> str | None:
    """Say that a zero point has other elements than its tensor, or return None. ``message``: the first words."""
    elements = stored(value.type), stored(zero.type)
    return None if elements[0] == elements[1] else f"{message}, got '{elements[0]}' and '{elements[1]}'"


def mismatch(type_: ty.Type, name: str, other: ty.Type, other_name: str) -> str | None:
    """Say that two tensors have different elements or shapes, or return None."""
    elements = ty.element_type(type_), ty.element_type(other)
    if elements[0] != elements[1]:
        return f"require same element type for {name} ('{elements[0]}') and {other_name} ('{elements[1]}')"
    if not sizes_agree(ty.shape_of(type_), ty.shape_of(other)):
        return f"require same shapes for {name} ('{type_}') and {other_name} ('{other}')"
    return None


def mismatches(types: Sequence[ty.Type], name: str, others: Sequence[ty.Type], other_name: str) -> str | None:
    """Say that two lists of tensors do not agree, or return None."""
    if len(types) != len(others):
        return f"require same number of values in {name} ({len(types)}) and {other_name} ({len(others)})"
    pairs = zip(types, others, strict=True)
    return next((found for one, other in pairs if (found := mismatch(one, name, other, other_name)) is not None), None)


def divides(numerator: int, denominator: int) -> int | None:
    """Return a quotient; None if there is a remainder."""
    return None if numerator % denominator else numerator // denominator


def resized_sides(op: Operation, broadcast: bool) -> str | None:
    """Say that a size of the result of tosa.resize is wrong, or return None.

    ``broadcast``: a size of 1 of the operand may become any.
    """
    scale, offset, border = (constant_shape(each) for each in op.operands[1:])
    sizes, made = shape(op.operands[0]), shape(op.results[0])
    if scale is None or offset is None or border is None or sizes is None or made is None:
        return None
    for index, (name, axis) in enumerate((("height", "y"), ("width", "x"))):
        size, wanted = sizes[1 + index], made[1 + index]
        if size is None or (size == 1 and broadcast):
            continue
        up, down = scale[2 * index : 2 * index + 2]
        steps = divides((size - 1) * up - offset[index] + border[index], down)
        if steps is None:
            return (
                f"expected (input_{name} - 1) * scale_{axis}_n - offset_{axis} + border_{axis} to be wholly divisible "
                f"by scale_{axis}_d, got (({size} - 1) * {up} - {offset[index]} + {border[index]}) / {down}"
            )
        if wanted is not None and steps + 1 != wanted:
            return f"calculated output {name} did not match expected: calculated={steps + 1}, expected={wanted}"
    return None
