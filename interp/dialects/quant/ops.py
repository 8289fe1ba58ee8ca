"""The quant dialect: qcast, dcast and scast (reference: the quant dialect's document)."""

from __future__ import annotations

from collections.abc import Callable

from halfulp.interp.declare import constraints as c
from halfulp.interp.declare.declarations import Dialect, OpDefinition, TypeConstraint, Unprefixed
from halfulp.interp.declare.type_rules import TypeRule
from halfulp.interp.dialects.quant.types import PARSERS
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.evaluators import Elementwise
from halfulp.interp.run.settings import Settings
from halfulp.semantics import casts
from halfulp.semantics import quant as semantics
from halfulp.semantics.kernel import Kernel

quant = Dialect("quant")
quant.types.update(PARSERS)


def quantization_of(element: ty.Type) -> semantics.Quantization:
    """Return the quantization of an element type. Raises Unsupported for a type without a scale."""
    if not isinstance(element, ty.UniformQuantizedType):
        raise Unsupported(f"casts of '{element}' have no defined result: it has no scale")
    if element.storage is not None:
        raise Unsupported(f"casts of values stored as '{element.storage}' have no settled meaning yet")
    assert isinstance(element.expressed, ty.FloatType)
    return semantics.Quantization(
        element.expressed.format,
        element.storage_width,
        element.storage_signed,
        element.storage_min,
        element.storage_max,
        element.scales,
        element.zero_points,
        element.axis,
        element.parameter_shape,
    )


def quantization(op: Operation, type_: ty.Type) -> semantics.Quantization:
    """Return the quantization of ``type_``, a scalar or tensor of a quantised type that ``op`` reads or makes.

    Raises Unsupported for a type without a scale.
    """
    try:
        return quantization_of(ty.element_type(type_))
    except Unsupported as error:
        raise Unsupported(error.message, location=op.location, op=op.name) from None


def _is_tensor(type_: ty.Type) -> bool:
    return isinstance(type_, ty.TensorType)


_SAME_CONTAINER = TypeRule(
    "failed to verify that input and result are both scalars or both tensors with matching shape",
    solve=lambda types, properties: None,
    holds=lambda types, properties: (
        _is_tensor(types["input"]) == _is_tensor(types["result"])
        and ty.shape_of(types["input"]) == ty.shape_of(types["result"])
    ),
)


def verify_container(type_: ty.Type) -> str | None:
    """Check the quant document's "Per-axis quantization integrity" of a type whose element is quantised."""
    element = ty.element_type(type_)
    if isinstance(type_, ty.TensorType):
        return ty.check_quantized_container(element, type_.shape)
    return ty.check_quantized_scalar(element)


def _verify(quantized: ty.Type, problem: str | None) -> str | None:
    message = verify_container(quantized) or problem
    return None if message is None else Unprefixed(message)


def _verify_expressed(quantized: ty.Type, plain: ty.Type) -> str | None:
    expressed = getattr(ty.element_type(quantized), "expressed", None)
    wrong = expressed is not None and expressed != ty.element_type(plain)
    problem = (
        "expressed type in quantized type expected to match float type, "
        f"but '{expressed}' is not '{ty.element_type(plain)}'"
    )
    return _verify(quantized, problem if wrong else None)


def _verify_storage(op: Operation) -> str | None:
    source, target = op.operands[0].type, op.results[0].type
    quantized = [t for t in (source, target) if not isinstance(ty.element_type(t), ty.IntegerType)]
    if len(quantized) != 1:
        return "failed to verify that input must be integer and result must be quantized, or vice versa"
    integer = ty.element_type(target if quantized[0] is source else source)
    assert isinstance(integer, ty.IntegerType)
    width = getattr(ty.element_type(quantized[0]), "storage_width", None)
    problem = (
        f"storage type in quantized type expected to match integer type, but it has {width} bits, not {integer.width}"
    )
    return _verify(quantized[0], problem if width is not None and width != integer.width else None)


def _cast(
    mnemonic: str,
    source: TypeConstraint,
    target: TypeConstraint,
    build: Callable[[Operation, Settings], Kernel],
    verify: Callable[[Operation], str | None],
) -> OpDefinition:
    return quant.op(
        mnemonic,
        "$input attr-dict `:` type($input) `to` type($result)",
        operands={"input": source},
        results={"result": target},
        type_rules=(_SAME_CONTAINER,),
        verify=verify,
        evaluate=Elementwise(build),
    )


def _kernel(
    factory: semantics.QuantKernel, of: Callable[[Operation], ty.Type]
) -> Callable[[Operation, Settings], Kernel]:
    return lambda op, settings: factory(quantization(op, of(op)), settings.profile)


def _storage_cast(op: Operation, settings: Settings) -> Kernel:
    given = ty.element_type(op.operands[0].type)
    if isinstance(given, ty.UniformQuantizedType) and given.storage is None:
        return semantics.stored(quantization_of(given))
    return casts.bitcast()


_cast(
    "qcast",
    c.FLOAT_OR_TENSOR,
    c.QUANTIZED_OR_TENSOR,
    _kernel(semantics.qcast, lambda op: op.results[0].type),
    lambda op: _verify_expressed(op.results[0].type, op.operands[0].type),
)
_cast(
    "dcast",
    c.QUANTIZED_OR_TENSOR,
    c.FLOAT_OR_TENSOR,
    _kernel(semantics.dcast, lambda op: op.operands[0].type),
    lambda op: _verify_expressed(op.operands[0].type, op.results[0].type),
)
_cast("scast", c.STORAGE_OR_TENSOR, c.STORAGE_OR_TENSOR, _storage_cast, _verify_storage)
