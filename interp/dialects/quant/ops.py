"""The quant dialect: qcast, dcast and scast (reference: the quant dialect's document)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping

from halfulp.fp_formats.formats import FORMATS, FloatFormat, bits_double
from halfulp.fp_formats.scalar import convert, from_double
from halfulp.interp.declare import declarations as d
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import narrowed
from halfulp.interp.ir.errors import DocumentWarning, ParseError, Unsupported, VerifyError
from halfulp.interp.ir.operations import Operation, Rule
from halfulp.interp.run.evaluators import Elementwise
from halfulp.interp.run.settings import Settings
from halfulp.interp.text.type_parser import TypeParser
from halfulp.semantics import casts
from halfulp.semantics import quant as semantics
from halfulp.semantics.kernel import Kernel

# --- types ------------------------------------------------------------------------------------------------------------
#
# The quant dialect's types from text: ``!quant.uniform``, ``!quant.any``, ``!quant.calibrated``, with MLIR 22's rules,
# and newer MLIR's ``!quant.quantile`` and storage in float types.
#
# Two rules of the dialect's document are not in mlir-opt 22. A zero point outside the storage type is a warning here.
# An axis that is named twice among the block sizes is an error. In sub-channel types MLIR wraps the zero points to the
# storage type, so that is done here too.

MAX_STORAGE_WIDTH = 32


class _Storage:
    """The storage of a quantised type, ``i8<-16:7>``: the width, the sign and the bounds. ``special``: the type that
    newer MLIR stores instead of an integer. ``type_sign``: that of the integer type, which ``u8`` does not have.
    """

    def __init__(self, parser: TypeParser) -> None:
        at = parser.pos
        token = parser.tokens[at]
        self.special: ty.Type | None = None
        self.type_sign: ty.Signedness = "signless"
        if token[:1] == "u" and token[1:].isdigit():
            self.width, self.signed = int(token[1:][:9]), False
            parser.pos += 1
        else:
            known = parser.types.get(token)
            type = known if known is not None else parser.type() if parser.at_type() else None
            if known is not None:
                parser.pos += 1
            if isinstance(type, ty.QuantileType) or (isinstance(type, ty.FloatType) and type.format.bits <= 8):
                self.special = type
            elif isinstance(type, ty.IntegerType):
                self.type_sign = type.signedness
            self.width, self.signed = self._integer(parser, type, at)
        if not 1 <= self.width <= MAX_STORAGE_WIDTH:
            parser.error(f"illegal storage type size: {self.width}", at)
        self.min, self.max = self.bounds = (
            ty.storage_bounds(self.width, self.signed)
            if self.special is None
            else ty.special_storage_bounds(self.special)
        )
        if parser.take("<"):
            self._read_bounds(parser)

    @staticmethod
    def _integer(parser: TypeParser, type: ty.Type | None, at: int) -> tuple[int, bool]:
        """Return the width and the sign of the stored number."""
        stored = type.storage if isinstance(type, ty.QuantileType) else type
        if isinstance(stored, ty.FloatType) and stored.format.bits <= 8:
            return stored.format.bits, stored.format.signed
        if not isinstance(stored, ty.IntegerType):
            parser.error("illegal storage type prefix" if type is None else "storage type must be an integer", at)
        return stored.width, stored.signedness != "unsigned"

    def _read_bounds(self, parser: TypeParser) -> None:
        lowest, highest = self.bounds
        at = parser.pos
        self.min = parser.integer()
        if not lowest <= self.min <= highest:
            parser.error(f"illegal storage type minimum: {self.min}, the storage type begins at {lowest}", at)
        parser.expect(":")
        at = parser.pos
        self.max = parser.integer()
        if not lowest <= self.max <= highest:
            parser.error(f"illegal storage type maximum: {self.max}, the storage type ends at {highest}", at)
        parser.expect(">")

    def check(self, parser: TypeParser, start: int) -> None:
        """Raise a ParseError at the type if the bounds do not make a range."""
        if self.min >= self.max:
            parser.error_at_offset(f"illegal storage min and storage max: ({self.min}:{self.max})", start)


def uniform(parser: TypeParser) -> ty.Type:
    """Parse ``<storage:expressed, scale:zero>``, ``<…:expressed:axis, {…}>`` or ``<…:{axis:block, …}, {{…}}>``."""
    start = parser.mnemonic_offset
    parser.expect("<")
    storage = _Storage(parser)
    parser.expect(":")
    expressed = _expressed(parser)
    axis: int | None = None
    blocks: tuple[tuple[int, int], ...] | None = None
    at_axis = parser.pos
    if parser.take(":"):
        if parser.tokens[parser.pos] == "{":
            blocks = _block_sizes(parser)
        else:
            axis = parser.integer()
    parser.expect(",")
    scales: list[float] = []
    zeros: list[int] = []
    shape: tuple[int, ...] = ()
    bounds = storage.bounds
    if blocks is not None:
        # MLIR prints these as signed numbers.
        bounds = min(bounds[0], -(1 << storage.width >> 1)), bounds[1]
    if axis is None and blocks is None:
        _scale(parser, bounds, expressed, scales, zeros)
    else:
        if parser.tokens[parser.pos] != "{":
            parser.wrong_token("expected '{'")
        shape = _parameters(parser, bounds, expressed, scales, zeros, nested=blocks is not None)
    parser.expect(">")
    storage.check(parser, start)
    if axis is not None and axis < 0:
        parser.error_at_offset(f"illegal quantized dimension: {axis}", start)
    if blocks is not None:
        _check_blocks(parser, blocks, start, at_axis)
        scales = [_rounded(scale, expressed.format) for scale in scales]
        if storage.special is None:
            lowest = storage.bounds[0]
            zeros = [(zero - lowest) % (1 << storage.width) + lowest for zero in zeros]
    return ty.UniformQuantizedType(
        storage.width,
        storage.signed,
        storage.min,
        storage.max,
        expressed,
        tuple(scales),
        tuple(zeros),
        axis,
        blocks,
        shape if blocks is not None else (),
        storage.special,
        storage.type_sign,
    )


def _expressed(parser: TypeParser) -> ty.FloatType:
    at = parser.pos
    type = parser.non_function_type()
    if not isinstance(type, ty.FloatType):
        parser.error("invalid kind of type specified", at)
    return type


def _double(parser: TypeParser) -> float:
    """Read a float literal as an f64; a hexadecimal one is its bit pattern."""
    negative = parser.take("-")
    at = parser.pos
    token = parser.tokens[at]
    if not token[:1].isdigit():
        parser.error("expected floating point literal")
    parser.pos += 1
    try:
        return bits_double(parser.float_code(token, at, negative, ty.F("f64")))
    except ParseError as error:
        error.hint = "halfulp.quant.type makes a quantised type from Python numbers such as 1e-05"
        raise


def _scale(
    parser: TypeParser, bounds: tuple[int, int], expressed: ty.FloatType, scales: list[float], zeros: list[int]
) -> None:
    """Read ``scale`` or ``scale:zero`` and append them to the lists. ``bounds``: of a zero point, by the document."""
    scale = _double(parser)
    format = expressed.format
    smallest, largest = (_as_double(code, format) for code in (int(format.zero), format.max_code))
    if not smallest <= scale <= largest:
        low, high = _spelled(smallest), _spelled(largest)
        parser.error(f"scale {_spelled(scale)} out of expressed type range [{low}, {high}]")
    zero = 0
    if parser.take(":"):
        at = parser.pos
        zero = parser.integer()
        lowest, highest = bounds
        if not lowest <= zero <= highest:
            message = f"zero point {zero} is outside the storage type's range {lowest}:{highest}"
            warnings.warn(DocumentWarning(message, parser.source.at_token(at)), stacklevel=1)
    scales.append(scale)
    zeros.append(zero)


def _parameters(
    parser: TypeParser,
    bounds: tuple[int, int],
    expressed: ty.FloatType,
    scales: list[float],
    zeros: list[int],
    nested: bool,
) -> tuple[int, ...]:
    """Read ``{scale:zero, …}``, with nested braces where ``nested``, and return the shape."""
    parser.enter()
    parser.expect("{")
    count = 0
    inner: tuple[int, ...] | None = None
    while True:
        if nested and parser.tokens[parser.pos] == "{":
            shape = _parameters(parser, bounds, expressed, scales, zeros, nested)
        else:
            _scale(parser, bounds, expressed, scales, zeros)
            shape = ()
        if inner is not None and shape != inner:
            parser.error("tensor literal is invalid; ranks are not consistent between elements")
        inner = shape
        count += 1
        if not parser.take(","):
            break
    parser.expect("}")
    parser.leave()
    return (count, *inner)


def _block_sizes(parser: TypeParser) -> tuple[tuple[int, int], ...]:
    parser.expect("{")
    blocks: list[tuple[int, int]] = []
    if parser.take("}"):
        return ()
    while True:
        axis = parser.integer()
        parser.expect(":")
        blocks.append((axis, parser.integer()))
        if not parser.take(","):
            break
    parser.expect("}")
    return tuple(blocks)


def _check_blocks(parser: TypeParser, blocks: tuple[tuple[int, int], ...], start: int, at_axis: int) -> None:
    seen: set[int] = set()
    for axis, size in blocks:
        if axis < 0:
            parser.error_at_offset(f"illegal quantized dimension: {axis}", start)
        if size <= 0:
            parser.error_at_offset(f"illegal block size: {size}", start)
        if axis in seen:
            message = f"quantized dimension {axis} is named twice in the block sizes"
            raise VerifyError(message, location=parser.source.at_token(at_axis))
        seen.add(axis)


def any_quantized(parser: TypeParser) -> ty.Type:
    """Parse ``<storage>`` or ``<storage:expressed>``."""
    start = parser.mnemonic_offset
    parser.expect("<")
    storage = _Storage(parser)
    expressed = _expressed(parser) if parser.take(":") else None
    parser.expect(">")
    storage.check(parser, start)
    return ty.AnyQuantizedType(
        storage.width, storage.signed, storage.min, storage.max, expressed, storage.special, storage.type_sign
    )


def quantile(parser: TypeParser) -> ty.Type:
    """Parse ``<storage:element, {value, …}>``, possibly with ``, <lowest:highest>``."""
    parser.expect("<")
    at = parser.pos
    storage = parser.non_function_type()
    if not isinstance(storage, ty.IntegerType | ty.FloatType):
        parser.error("storage type must be an integer or a float type", at)
    parser.expect(":")
    at = parser.pos
    element = parser.non_function_type()
    if not isinstance(element, ty.IntegerType | ty.FloatType):
        parser.error("the values of a quantile type must be integers or floats", at)
    parser.expect(",")
    parser.expect("{")
    values = [_double(parser)]
    while parser.take(","):
        values.append(_double(parser))
    parser.expect("}")
    bounds: tuple[int, int] | None = None
    if parser.take(","):
        parser.expect("<")
        lowest = parser.integer()
        parser.expect(":")
        bounds = (lowest, parser.integer())
        parser.expect(">")
    parser.expect(">")
    return ty.QuantileType(storage, element, tuple(values), bounds)


def calibrated(parser: TypeParser) -> ty.Type:
    """Parse ``<expressed<min:max>>``."""
    start = parser.mnemonic_offset
    parser.expect("<")
    expressed = _expressed(parser)
    parser.expect("<")
    minimum = _double(parser)
    parser.expect(":")
    maximum = _double(parser)
    parser.expect(">")
    parser.expect(">")
    if not minimum < maximum:
        parser.error_at_offset(f"illegal min and max: ({_spelled(minimum)}:{_spelled(maximum)})", start)
    return ty.CalibratedQuantizedType(expressed, minimum, maximum)


def _spelled(number: float) -> str:
    """Return the text of a number as a diagnostic of mlir-opt does: C's ``%e``, with INF and NAN in capitals."""
    return f"{number:e}" if number - number == 0 else f"{number:E}"


def _as_double(code: int, format: FloatFormat) -> float:
    """Return the value of a code as an f64; it is limited to the largest and the smallest f64."""
    f64 = FORMATS["f64"]
    converted = convert(format, f64, code).code
    return bits_double(min(max(converted, 1), f64.max_code))


def _rounded(scale: float, format: FloatFormat) -> float:
    """Round ``scale`` to the expressed type, as sub-channel scales are."""
    f64 = FORMATS["f64"]
    return bits_double(convert(format, f64, from_double(format, scale)).code)


PARSERS: Mapping[str, Callable[[TypeParser], ty.Type]] = {
    "uniform": uniform,
    "any": any_quantized,
    "calibrated": calibrated,
    "quantile": quantile,
}


# --- ops --------------------------------------------------------------------------------------------------------------

quant = d.Dialect("quant")
quant.types.update(PARSERS)


def quantization_of(element: ty.Type) -> semantics.Quantization:
    """Return the quantization of an element type. Raises Unsupported for a type without a scale."""
    if not isinstance(element, ty.UniformQuantizedType):
        raise Unsupported(f"casts of '{element}' have no defined result: it has no scale")
    if element.storage is not None:
        raise Unsupported(f"casts of values stored as '{element.storage}' are not defined yet")
    return semantics.Quantization(
        ty.float_format(element.expressed),
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


_SAME_CONTAINER = d.TypeRule(
    "failed to verify that input and result are both scalars or both tensors with matching shape",
    solve=lambda types, properties: None,
    holds=lambda types, properties: (
        _is_tensor(types["input"]) == _is_tensor(types["result"])
        and ty.shape_of(types["input"]) == ty.shape_of(types["result"])
    ),
)


def verify_container(type_: ty.Type) -> str | None:
    """Return what is wrong with a type of quantised elements, or None ("Per-axis quantization integrity" of the
    document).
    """
    element = ty.element_type(type_)
    if isinstance(type_, ty.TensorType):
        return ty.check_quantized_container(element, type_.shape)
    return ty.check_quantized_scalar(element)


def _verify(quantized: ty.Type, problem: str | None) -> str | None:
    message = verify_container(quantized) or problem
    return None if message is None else d.Unprefixed(message)


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
    integer = narrowed(ty.element_type(target if quantized[0] is source else source), ty.IntegerType)
    width = getattr(ty.element_type(quantized[0]), "storage_width", None)
    problem = (
        f"storage type in quantized type expected to match integer type, but it has {width} bits, not {integer.width}"
    )
    return _verify(quantized[0], problem if width is not None and width != integer.width else None)


def _cast(
    mnemonic: str,
    source: d.TypeConstraint,
    target: d.TypeConstraint,
    build: Callable[[Operation, Settings], Kernel],
    verify: Rule,
) -> d.OpDefinition:
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
    d.FLOAT_OR_TENSOR,
    d.QUANTIZED_OR_TENSOR,
    _kernel(semantics.qcast, lambda op: op.results[0].type),
    lambda op: _verify_expressed(op.results[0].type, op.operands[0].type),
)
_cast(
    "dcast",
    d.QUANTIZED_OR_TENSOR,
    d.FLOAT_OR_TENSOR,
    _kernel(semantics.dcast, lambda op: op.operands[0].type),
    lambda op: _verify_expressed(op.operands[0].type, op.results[0].type),
)
_cast("scast", d.STORAGE_OR_TENSOR, d.STORAGE_OR_TENSOR, _storage_cast, _verify_storage)
