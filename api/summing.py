"""Sums, dot products and matrix products, in a chosen order and with a chosen accumulator."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from halfulp.codegen.tile_names import model_for, operation_named
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.inputs import as_code, as_integer, as_value, names_arguments
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import InputError
from halfulp.interp.values.buffers import Buffer
from halfulp.interp.values.coerce import as_type
from halfulp.interp.values.reductions import dot_product, matrix_product, sum_along
from halfulp.interp.values.value import Value
from halfulp.semantics.matrix_units.accumulator import PREFIX, Accumulator
from halfulp.semantics.matrix_units.chips import MODELS, instructions
from halfulp.semantics.matrix_units.kinds import KINDS, TileOp, holds, operation_of
from halfulp.semantics.matrix_units.models import supports
from halfulp.semantics.matrix_units.products import BadSchedule, MatrixUnit, Schedule, StreamK
from halfulp.semantics.profile import Profile, as_profile

TypeName = str | FloatFormat | ty.Type


OF_ANY_LENGTH = ("exact", "ieee")
"""Models that compute a dot product of any length, as an `Accumulator` does. All others need a kind of operation."""


@names_arguments
def sum(
    x: Any,
    axis: int | tuple[int, ...] | None = None,
    *,
    keepdims: bool = False,
    acc: TypeName | None = None,
    order: str = "sequential",
    type: TypeName | None = None,
    profile: Profile | str | None = None,
) -> Value:
    """Return the sum of elements along axes, as a `Value`. The sum of all elements, the default, is a scalar.

    ``x``: a `Value`, an array or a list of numbers.
    ``type``: the element type of a list.
    ``axis``, ``keepdims``: as for np.sum. If there are several axes, their elements are added in row-major order.
    ``acc``: the type in which sums are computed, and the type of the result; by default the element type. Each element
    is converted to it first, rounded once. Integers are extended by the sign of their type, and sums of integers wrap
    around in ``acc``; elements of i1 count as 0 and 1.
    ``order``: one of these; the page on sums explains them.

    - "sequential": +0, plus one element after the other; each sum is rounded to ``acc``.
    - "pairwise": neighbouring elements are added, then neighbouring sums, and so on, as in a tree.
    - "exact": the exact sum of the exact elements, rounded once.
    - "open": the result of "sequential", marked as unspecified (`Value.open`) if there are more than two floats.

    A sum with a poison element is poison.

        >>> x = hu.convert([0.1] * 1000, "f8E4M3FN")
        >>> hu.sum(x), hu.sum(x, order="exact"), hu.sum(x, acc="f32")
        (Value(f8E4M3FN=2), Value(f8E4M3FN=104), Value(f32=101.5625))

    Raises TypeMismatch for types that cannot be added, np.exceptions.AxisError for a wrong axis, and ValueError for an
    unknown order.
    """
    value = as_value(x, type, what="x")
    return sum_along(value, axis, keepdims, acc=_type(acc), order=order, profile=as_profile(profile))


@names_arguments
def matmul(
    a: Any,
    b: Any,
    *,
    acc: TypeName | None = None,
    order: str = "sequential",
    kind: str | None = None,
    mma: str | Accumulator | None = None,
    instruction: str | None = None,
    c: Any = None,
    k_order: Sequence[int] | None = None,
    split_k: int | Sequence[int] = 1,
    stream_k: tuple[int, tuple[int, int, int]] | None = None,
    partial_order: Sequence[int] | None = None,
    promote: int | None = None,
    alpha: float | None = None,
    beta: float | None = None,
    type: TypeName | None = None,
    profile: Profile | str | None = None,
) -> Value:
    """Return the matrix product, with the shape rules of np.matmul, as a `Value`.

    ``a``, ``b``: `Value`s, arrays or lists. The numbers of a list are rounded once, to ``type`` or, without it, to the
    type of the other operand.
    ``acc``: the type in which products and sums are computed, and the type of the result; by default the element type
    of ``a`` and ``b``, which must then be the same. Elements are converted to ``acc``, and products and sums are
    rounded to it, as in the body of ``linalg.matmul``.
    ``order``: the order of the sums along K, as for `sum`; "exact" rounds the exact sum of the exact products once.

    ``kind``: compute as a matrix unit does, with a kind such as ``MFMA_F32_16x16x16_F16`` or an instruction such as
    ``mma.m16n8k16.f32.f16.f16.f32``. K is cut into parts of the kind's length, and the last part is filled up with +0.
    Each part is added to C, which is +0 at first. A kind determines the accumulator and the order.
    ``mma``: the model of the unit: "exact" (the default), "ieee" or "chip:<name>", as for `run`; or an `Accumulator`.
    Without a kind, "exact", "ieee" and an accumulator add all of K in one instruction, to C of the type ``acc``.
    ``instruction``: instead of a kind, the unit and the shape, such as ``wgmma m64n128k32``, for the types of ``a`` and
    ``b``; its C and D have the type ``acc``, or the type of ``c``. If ``mma`` is a chip, a kind or an instruction must
    be given, since a chip has several instructions whose results differ.

    The other arguments describe what a kernel does before and after the instructions of the unit; the page on matrix
    units has the rules:

    - ``c``: the numbers at which the sum starts instead of +0: an array of the type of D, which broadcasts to the
      product.
    - ``k_order``: the indices along K in the order in which instructions take them. If it has fewer indices than K, it
      is repeated for the indices that follow. By default the order is ascending.
    - ``split_k``: the number of parts into which K is cut, or the lengths of the parts; by default one part. Each part
      has its own sum, which starts at +0 (the sum of the first part starts at C). These sums are added, and each
      addition is rounded to nearest even.
    - ``stream_k``: the number of workers, and M, N, K of a tile. The workers share the work evenly, so that K is cut at
      different places in different tiles.
    - ``partial_order``: the numbers of the parts in the order in which their sums are added; by default ascending.
    - ``promote``: a number of elements of K. Each time the unit has added that many, its sum is added to an outer sum,
      rounded to nearest even, and the unit starts at +0 again. The outer sum starts at C. By default there is no outer
      sum.
    - ``alpha``, ``beta``: the result is alpha * sum + beta * C, and the sum starts at +0. ``alpha`` and ``beta`` are
      rounded to the type of D. beta * C is rounded; then one fused multiply-add gives the result. If ``beta`` is 0, C
      is not used.

        >>> a = hu.convert([[1.0, 2.0]], "f16")
        >>> hu.matmul(a, [[0.5], [3.0]], acc="f32")
        Value(1x1xf32=[6.5])
        >>> hu.matmul(a, [[0.5], [3.0]], mma="chip:h100", instruction="wgmma m64n8k16", acc="f32", alpha=2.0)
        Value(1x1xf32=[13])

    Raises TypeMismatch for types and shapes that do not match, InputError for an unknown kind or model and for
    arguments that cannot be combined, Unsupported if a chip's results are not published, and ValueError for an unknown
    order.
    """
    steps = {
        "k_order": _numbers("k_order", k_order),
        "split_k": _split(split_k),
        "stream_k": _stream(stream_k),
        "partial_order": _numbers("partial_order", partial_order),
        "promote": None if promote is None else as_integer(promote, "promote"),
        "alpha": alpha,
        "beta": beta,
    }
    return _product(matrix_product, a, b, type, acc, order, kind, mma, profile, _Kernel(instruction, c, steps))


@names_arguments
def dot(
    a: Any,
    b: Any,
    *,
    acc: TypeName | None = None,
    order: str = "sequential",
    kind: str | None = None,
    mma: str | Accumulator | None = None,
    instruction: str | None = None,
    type: TypeName | None = None,
    profile: Profile | str | None = None,
) -> Value:
    """Return the dot product, with the shape rules of np.dot, as a `Value`. The dot product of two vectors is a scalar.

    The arguments are those of `matmul`, without C and without the arguments that divide K.

        >>> x, ones = hu.convert([2048.0, 1.0, 1.0], "f16"), hu.convert([1.0, 1.0, 1.0], "f16")
        >>> hu.dot(x, ones), hu.dot(x, ones, order="exact"), hu.dot(x, ones, acc="f32")
        (Value(f16=2048), Value(f16=2050), Value(f32=2050))

    Raises the errors of `matmul`.
    """
    return _product(dot_product, a, b, type, acc, order, kind, mma, profile, _Kernel(instruction))


def _product(
    product: Callable[..., Value],
    a: Any,
    b: Any,
    type: TypeName | None,
    acc: TypeName | None,
    order: str,
    kind: str | None,
    mma: str | Accumulator | None,
    profile: Profile | str | None,
    kernel: _Kernel,
) -> Value:
    x, y = _operands(a, b, type)
    into = _type(acc)
    how = as_profile(profile)
    # Numbers without a dtype have the type of D.
    typed = kernel.c is None or isinstance(kernel.c, Value | Buffer) or hasattr(kernel.c, "dtype")
    addend = None if kernel.c is None or not typed else as_value(kernel.c, what="c")
    if kernel.instruction is not None:
        if kind is not None:
            raise InputError("kind and instruction both name the operation", hint="leave out one of them")
        kind = _instruction(kernel.instruction, x, y, into if into or addend is None else addend.element_type)
    unit = _unit(kind, mma, into, x, y)
    if not typed:
        addend = as_value(kernel.c, into if unit is None else as_type(unit.operation.d), what="c")
    if unit is None or kernel.steps is None:
        # Operators of arrays and of Values do not tell whether one was given.
        steps = {name: value for name, value in (kernel.steps or {}).items() if value is not None}
        given = [name for name, value in steps.items() if name != "split_k" or value != Schedule().split_k]
        given += ["c"] if addend is not None else []
        if given:
            raise InputError(
                f"{' and '.join(given)}: only for products by a matrix unit",
                hint="name the model and the operation: mma='chip:h100', instruction='wgmma m64n128k32'",
            )
        return product(x, y, acc=into, order=order, mma=unit, profile=how)
    schedule = _schedule(kernel.steps, unit, addend)
    try:
        return product(x, y, acc=into, order=order, mma=unit, c=addend, schedule=schedule, profile=how)
    except BadSchedule as error:
        raise InputError(f"matmul: {error}") from None


class _Kernel(NamedTuple):
    """The arguments of a product that describe its kernel. ``steps``: fields of a `Schedule`, with alpha and beta as
    numbers.
    """

    instruction: str | None
    c: Any = None
    steps: dict[str, Any] | None = None


def _numbers(name: str, given: Iterable[int] | None) -> tuple[int, ...] | None:
    if given is None:
        return None
    try:
        return tuple([as_integer(each, name) for each in given])
    except (TypeError, InputError):
        raise InputError(f"{name} is {given!r}, but must be a list of integers") from None


def _split(given: Any) -> int | tuple[int, ...] | None:
    """Return the number of parts, or their lengths."""
    try:
        return as_integer(given, "split_k")
    except InputError as error:
        if isinstance(given, Iterable) and not isinstance(given, str) and getattr(given, "shape", None) != ():
            return _numbers("split_k", given)
        raise InputError(f"{error.message} or a list of the lengths of the parts", hint="one part: split_k=1") from None


def _stream(given: Any) -> StreamK | None:
    if given is None:
        return None
    try:
        workers, tile = given
        m, n, k = [as_integer(each, "stream_k") for each in tile]
        return StreamK(as_integer(workers, "stream_k"), (m, n, k))
    except (TypeError, ValueError, InputError):
        raise InputError(
            f"stream_k is {given!r}, but must be a number of workers and M, N, K of a tile, as in (132, (128, 128, 64))"
        ) from None


def _schedule(given: dict[str, Any], unit: MatrixUnit, c: Value | None) -> Schedule:
    """Return the schedule with the codes of alpha and beta."""
    steps, element = dict(given), unit.operation.d
    if steps["beta"] is not None and steps["alpha"] is None:
        raise InputError("beta needs alpha, the factor of the sum", hint="write alpha=1.0")
    if steps["alpha"] is not None and (c is None) != (steps["beta"] is None):
        raise InputError(
            "beta needs c, which it multiplies" if c is None else "alpha and c need beta, the factor of c",
            hint="give c and beta, or neither",
        )
    for name in ("alpha", "beta"):
        if steps[name] is not None:
            if element not in FORMATS:
                raise InputError(f"{name} is for floats, but {unit.operation.name} adds in {element}")
            steps[name] = as_code(steps[name], element, name)
    return Schedule(**steps)


_INSTRUCTION = re.compile(r"(mma|wgmma|tcgen05|mfma)[ .](m\d+n\d+k\d+)")


def _instruction(given: str, a: Value, b: Value, d: ty.Type | None) -> str:
    """Return the whole name of an instruction for these element types."""
    found = _INSTRUCTION.fullmatch(str(given).strip())
    if found is None:
        raise InputError(
            f"instruction is {given!r}, but must be a unit and a shape, as in 'wgmma m64n128k32'",
            hint="an instruction with its types is a kind: kind='wgmma.m64n128k32.f32.e4m3.e4m3.f32'",
        )
    if d is None:
        raise InputError(
            f"instruction={given!r} needs the type of its result",
            hint="name it: acc='f32'; or give c as an array of that type",
        )
    return f"{found[1]}.{found[2]}.{d}.{a.element_type}.{b.element_type}.{d}"


def _operands(a: Any, b: Any, type: TypeName | None) -> tuple[Value, Value]:
    """Return both operands as values. A list takes the type of the other operand, if that has one."""
    if type is None and isinstance(a, list | tuple) != isinstance(b, list | tuple):
        if isinstance(a, list | tuple):
            y = as_value(b, what="b")
            return as_value(a, y.element_type, what="a"), y
        x = as_value(a, what="a")
        return x, as_value(b, x.element_type, what="b")
    return as_value(a, type, what="a"), as_value(b, type, what="b")


def _type(acc: TypeName | None) -> ty.Type | None:
    return None if acc is None else as_type(acc)


def _unit(
    kind: str | None, mma: str | Accumulator | None, acc: ty.Type | None, a: Value, b: Value
) -> MatrixUnit | None:
    """Return the matrix unit that the user names. Raises InputError, listing what there is."""
    if isinstance(mma, str) and mma not in MODELS and _is_kind(mma):
        hint = f"write kind={mma!r} for the operation, and mma=… for the model that computes it: {', '.join(MODELS)}"
        raise InputError(f"no model is called '{mma}'", hint=hint)
    model = None if mma is None else model_for(mma)
    if kind is None and model is not None and (model.startswith(PREFIX) or model in OF_ANY_LENGTH):
        op = _of_any_length(a, b, acc)
        return MatrixUnit(op, model_for(model, op))
    if kind is not None:
        op = operation_named(kind, *_types_for(kind, a, b))
        return MatrixUnit(op, model_for(model or "exact", op))
    if model is None:
        return None
    types = (str(a.element_type), str(b.element_type))
    fitting = [name for name, row in KINDS.items() if row.types[:2] == types and supports(model, operation_of(row))]
    hint = f"kinds of {mma} for {types[0]} and {types[1]}: {', '.join(fitting) or 'none'}"
    if model.startswith("chip:"):
        found = instructions(model.removeprefix("chip:"), *types)
        hint += f"; its instructions for them: {', '.join(found) or 'none'}"
    raise InputError(
        f"mma='{mma}' needs the operation, as in kind='MFMA_F32_16x16x16_F16' or instruction='mma m16n8k16'", hint=hint
    )


def _of_any_length(a: Value, b: Value, acc: ty.Type | None) -> TileOp:
    """Return the operation of an accumulator that takes all of K at once. Raises InputError for types that it lacks."""
    given = (a.element_type, b.element_type)
    into = given[0] if acc is None else acc
    left, right, d = map(str, (*given, into))
    floats = [isinstance(each, ty.FloatType) for each in (*given, into)]
    integers = [isinstance(each, ty.IntegerType) and each.width <= 64 for each in (*given, into)]
    if not (all(floats) or all(integers)):
        raise InputError(
            f"an accumulator multiplies floats, or integers of up to 64 bits, but not {left} by {right} in {d}"
        )
    if all(floats) and not (holds(d, left) and holds(d, right)):
        raise InputError(
            f"acc is {d}, which does not have all values of {left} or {right}",
            hint="name a wider type, as in acc='f32'",
        )
    k = max(1, a.shape[-1] if a.shape else 1)
    return TileOp("the accumulator", left, right, d, d, (1, 1, k))


def _is_kind(name: str) -> bool:
    try:
        operation_named(name)
    except InputError:
        return False
    return True


def _types_for(kind: str, a: Value, b: Value) -> tuple[str | None, str | None]:
    """Return the element types of A and B for a kind of dot product that does not fix them; else None for both."""
    row = KINDS.get(kind) if isinstance(kind, str) else None
    return (str(a.element_type), str(b.element_type)) if row is not None and not row.types[0] else (None, None)
