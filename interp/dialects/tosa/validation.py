"""The checks of a target of TOSA: its version, level, profiles and extensions, as MLIR's pass `tosa-validate` has them.

The words are those of LLVM 24 (`TosaValidation.cpp`, `TosaProfileCompliance.cpp`, `TargetEnv.cpp`).
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from halfulp.interp.dialects.tosa.attributes import EXTENSION
from halfulp.interp.dialects.tosa.compliance import PROFILES, Row, counted_types, is_known, rows_of
from halfulp.interp.dialects.tosa.forms import type_of_variable
from halfulp.interp.dialects.tosa.rules import constant, constant_shape, maker, numbers, resized_sides, truth
from halfulp.interp.dialects.tosa.types import MXINT8, BlockScaledType, ShapeType, Sizes, shape
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import narrowed
from halfulp.interp.ir.dialect_attributes import DialectAttr
from halfulp.interp.ir.errors import InputError, VerifyError
from halfulp.interp.ir.operations import Block, BlockArgument, Module, Operation, Region, Rule, SSAValue

# --- targets ----------------------------------------------------------------------------------------------------------

_BOTH = ("pro_fp", "pro_int")
_NEEDS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("int16", "int4", "doubleround", "inexactround"), ("pro_int",)),
    **dict.fromkeys(("variable", "controlflow", "dynamic", "int64", "shape"), _BOTH),
}
"""The profiles of which an extension needs one, if these are not pro_fp alone."""

_OF_DRAFT = frozenset(each for each in EXTENSION.cases if each.startswith("mx") or each in ("int64", "shape"))
_VERSIONS, _LEVELS = ("1.0", "1.1.draft"), ("8k", "none")


class _Level(NamedTuple):
    """The limits of the level 8K."""

    rank: int = 6
    kernel: int = 8192
    stride: int = 8192
    scale: int = 256
    log2_size: int = 31
    nesting: int = 6
    list_size: int = 64
    shape_length: int = 16


_LIMITS = _Level()


@dataclass(frozen=True)
class Target:
    """What a device has of TOSA.

    ``version``: of the specification. ``level``: "8k", or "none" for no limits. ``strict``: the ops must need nothing
    else than the profiles and extensions, and obey all conditions that the specification calls ERROR_IF.
    """

    version: str = "1.0"
    level: str = "8k"
    profiles: tuple[str, ...] = PROFILES
    extensions: tuple[str, ...] = ()
    strict: bool = False

    @property
    def is_draft(self) -> bool:
        """Whether the version is that of the draft of 1.1."""
        return self.version != "1.0"

    def problem(self) -> str | None:
        """Say that the parts do not go together, or return None."""
        for kind, names in (("profile", self.profiles), ("extension", self.extensions)):
            for name in names:
                if name == "none" or (name in _OF_DRAFT and not self.is_draft):
                    least = "0.0" if name == "none" else "1.1.draft"
                    return (
                        f"{kind} '{name}' is not compatible with the target version {self.version}, minimum required "
                        f"version is {least}"
                    )
        for name in self.extensions:
            needed = _NEEDS.get(name, ("pro_fp",))
            if not set(needed) & set(self.profiles):
                return (
                    f"use of extension '{name}' requires any of profiles: [{', '.join(needed)}] to be enabled in the "
                    "target"
                )
        return None


def target_named(words: str, module: Module) -> Target:
    """Return the target that words name, which are divided by commas.

    ``words``: versions, levels, profiles and extensions; ``strict``. Without a profile, both. ``module`` stands for
    those of the attribute ``tosa.target_env`` of the module, if it has one.

    Raises InputError for another word, and for two versions or levels.
    """
    given = [word.strip() for word in str(words).split(",") if word.strip()]
    target = _environment(module) if "module" in given else Target()
    known = (*_VERSIONS, *_LEVELS, *PROFILES, *(each for each in EXTENSION.cases if each != "none"))
    for word in given:
        if word not in (*known, "module", "strict"):
            raise InputError(
                f"{word!r} is not part of a target of TOSA", hint=f"the words are {', '.join(known)}, module and strict"
            )
    return Target(
        _only("version", given, _VERSIONS) or target.version,
        _only("level", given, _LEVELS) or target.level,
        tuple(word for word in given if word in PROFILES) or target.profiles,
        (*target.extensions, *(word for word in given if word in EXTENSION.cases and word != "none")),
        "strict" in given,
    )


def _only(what: str, given: Sequence[str], known: Container[str]) -> str | None:
    found = list(dict.fromkeys(word for word in given if word in known))
    if len(found) > 1:
        raise InputError(f"a target of TOSA has one {what}, not {' and '.join(found)}")
    return found[0] if found else None


def _environment(module: Module) -> Target:
    found = module.operation.attributes.get("tosa.target_env")
    return Target(*found.values) if isinstance(found, DialectAttr) else Target()


def problems(module: Module, target: Target) -> Iterator[VerifyError]:
    """Yield the error for each rule that an op of TOSA breaks for a target, in MLIR's order: an op comes after those
    inside it.
    """
    message = target.problem()
    if message is not None:
        yield VerifyError(message, location=module.operation.location)
        return
    stack = [(module.operation, iter(module.operation.children))]
    while stack:
        op, inside = stack[-1]
        inner = next(inside, None)
        if inner is not None:
            stack.append((inner, iter(inner.children)))
            continue
        stack.pop()
        if op.name == "func.func" and (message := _signature(op)) is not None:
            yield op.rule_broken(message)
        if op.name.startswith("tosa."):
            yield from (op.rule_broken(message) for message in _broken(op, target))


def _signature(op: Operation) -> str | None:
    type_ = narrowed(op.prop("function_type", at.TypeAttr).type, ty.FunctionType)
    for word, types in (("argument", type_.inputs), ("return", type_.results)):
        if any(isinstance(each, ShapeType) for each in types):
            return f"Function {word} types must be a tensor type to be TOSA compliant, got !tosa.shape type"
    return None


def _broken(op: Operation, target: Target) -> Iterator[str]:
    """Yield what is wrong with an op. Types that the target does not have hide everything else."""
    wrong = _illegal_type(op, target)
    if wrong is None:
        wrong = _needs(op, target) if target.strict else None
    if wrong is None:
        wrong = _unknown_types(op)
    if wrong is not None:
        yield wrong
        return
    checks = [_variable_operand, _level, _rounding, *([_error_if] if target.strict else [])]
    yield from (message for check in checks if (message := check(op, target)) is not None)


# --- types ------------------------------------------------------------------------------------------------------------

_FLOATS = {
    **{name: name for name in ("f32", "f16", "bf16")},
    "f8E4M3FN": "fp8e4m3",
    "f8E5M2": "fp8e5m2",
    "f8E8M0FNU": "fp8e8m0",
    "f6E3M2FN": "fp6e3m2",
    "f6E2M3FN": "fp6e2m3",
    "f4E2M1FN": "fp4e2m1",
}
"""The floats of TOSA, and their names in messages."""
_WIDTHS = frozenset((1, 4, 8, 16, 32, 48, 64))


def _illegal_type(op: Operation, target: Target) -> str | None:
    unsigned = op.name == "tosa.rescale" and not target.strict
    for value in (*op.operands, *op.results):
        element = value.type if isinstance(value.type, ShapeType) else ty.element_type(value.type)
        if not _is_legal(element, unsigned):
            return f"is not profile-aligned: element type '{element}' is not legal"
    return None


def _is_legal(element: ty.Type, unsigned: bool) -> bool:
    if isinstance(element, ty.FloatType):
        return element.format.name in _FLOATS
    if isinstance(element, ty.IntegerType):
        if element.signedness == "signless":
            return element.width in _WIDTHS
        return unsigned and element.signedness == "unsigned" and element.width in (8, 16, 32)
    return isinstance(element, ShapeType | BlockScaledType) or element == MXINT8


def _in_words(types: Sequence[str]) -> str:
    return f"({','.join(_FLOATS.get(each, each).replace('bs:', 'bs32_fp8e8m0_') for each in map(_spelled, types))})"


def _spelled(type_: str) -> str:
    return f"bs:{_FLOATS.get(type_[3:], type_[3:])}" if type_.startswith("bs:") else type_


_MODES: Mapping[str, tuple[str, ...]] = {
    "tosa.cond_if": ("controlflow",),
    "tosa.while_loop": ("controlflow",),
    "tosa.const_shape": PROFILES,
}
"""What ops without rows need; those on shapes need the extension shape."""


def _needs(op: Operation, target: Target) -> str | None:
    """Say what an op needs that the target does not have, or return None."""
    rows = rows_of(op.name)
    if not rows:
        modes = _MODES.get(op.name) or (("shape",) if op.name.endswith("_shape") else ())
        found = [Row((), modes, "1.0")] if modes else []
        return _missing(found, target)
    types = counted_types(op)
    matching = [row for row in rows if row.types == types]
    for kind in (True, False):
        missing = _missing([row for row in matching if row.is_profile is kind], target)
        if missing is not None:
            return missing
    return None


def _missing(rows: Sequence[Row], target: Target) -> str | None:
    """Say what the target lacks of each row, or return None if it has all of one, or if there is none."""
    has = {*target.profiles, *target.extensions}
    lacks = []
    for row in rows:
        parts = []
        if row.version != "1.0" and not target.is_draft:
            parts.append(f"requires specification version compatible with {row.version} (got {target.version})")
        enough = any if row.is_profile else all
        if not enough(each in has for each in row.modes):
            how = "any" if row.is_profile or len(row.modes) == 1 else "all"
            parts.append(f"requires {how} of [{', '.join(row.modes)}] profiles/extensions")
        if not parts:
            return None
        lacks.append(" and ".join(parts))
    return f"illegal: {' OR '.join(lacks)} to be specified in the target environment" if lacks else None


def _unknown_types(op: Operation) -> str | None:
    """Say that no profile or extension has the types of an op, or return None."""
    rows = rows_of(op.name)
    if not rows or is_known(op):
        return None
    types = counted_types(op)
    fitting = [row for row in rows if len(row.types) == len(types)]
    best = max(fitting, key=lambda row: sum(a == b for a, b in zip(row.types, types, strict=True)), default=None)
    nearest = "" if best is None else f", did you mean {_in_words(best.types)}?"
    return (
        "illegal: operation operand/result data types did not align with any profile or extension, got "
        f"{_in_words(types)}{nearest} Otherwise, please refer to the 'supported data types' for '{op.name}' in the "
        "specification."
    )


# --- constants --------------------------------------------------------------------------------------------------------

_CONSTANTS: Mapping[str, tuple[int, ...]] = {
    "tosa.mul": (2,),
    "tosa.table": (1,),
    "tosa.pad": (2,),
    "tosa.rescale": (1, 2, 3, 4),
    **dict.fromkeys(("tosa.conv2d", "tosa.conv3d", "tosa.depthwise_conv2d", "tosa.transpose_conv2d"), (3, 4)),
    **dict.fromkeys(("tosa.matmul", "tosa.matmul_t"), (2, 3)),
    **dict.fromkeys(("tosa.avg_pool2d", "tosa.avg_pool2d_adaptive", "tosa.negate"), (1, 2)),
}
"""The operands that must be constants, unless the target has the extension dynamic."""


def _variable_operand(op: Operation, target: Target) -> str | None:
    if "dynamic" in target.extensions:
        return None
    for index in _CONSTANTS.get(op.name, ()):
        made = maker(op.operands[index])
        if made is None or made.name not in ("tosa.const", "arith.constant"):
            return f"expected compile time resolvable constant, but got variable value for operand #{index}"
    return None


def _rounding(op: Operation, target: Target) -> str | None:
    mode = str(op.properties.get("rounding_mode")) if op.name == "tosa.rescale" else ""
    for word, extension in (("DOUBLE_ROUND", "doubleround"), ("INEXACT_ROUND", "inexactround")):
        if word in mode and extension not in target.extensions:
            return f"failed attribute check: rounding_mode = {word} requires extension [{extension}]"
    return None


# --- levels -----------------------------------------------------------------------------------------------------------

_OF_ANY_RANK = frozenset(("tosa.custom", "tosa.while_loop", "tosa.yield", "tosa.apply_scale"))


def _level(op: Operation, target: Target) -> str | None:
    if target.level == "none":
        return None
    found = _ranks(op) or _sizes(op, target)
    if found is not None:
        return found
    for text, value, limit, name in _amounts(op):
        if value > limit:
            return f"failed level check: {text} <= {name} ({limit}), got {value}"
    for name, count in _lists(op):
        if count > _LIMITS.list_size:
            return (
                f"failed level check: length(tensor_list_shape({name})) <= MAX_TENSOR_LIST_SIZE "
                f"({_LIMITS.list_size}), got {count}"
            )
    if op.name in ("tosa.cond_if", "tosa.while_loop") and (depth := _depth(op)) >= _LIMITS.nesting:
        return f"failed level check: tosa_nesting_depth < MAX_NESTING ({_LIMITS.nesting}), got {depth}"
    return None


def _tensors(op: Operation) -> Iterator[tuple[str, ty.Type]]:
    """Yield the operands, then the results, with the word for them."""
    if op.name == "tosa.variable":
        yield "variable type", type_of_variable(op)
        return
    yield from (("operand", each.type) for each in op.operands)
    yield from (("result", each.type) for each in op.results)


def _ranks(op: Operation) -> str | None:
    if op.name in _OF_ANY_RANK:
        return None
    tensors = list(_tensors(op))[: 1 if op.name == "tosa.cond_if" else None]
    on_shapes = op.name.endswith("_shape") and op.name != "tosa.const_shape"
    for word, type_ in tensors:
        if isinstance(type_, ShapeType):
            if on_shapes and type_.rank > _LIMITS.shape_length:
                return f"failed shape type level check: '{type_}' exceeds MAX_SHAPE_LEN"
            continue
        sizes = ty.shape_of(type_)
        if sizes is None:
            return "failed level check: unranked tensor"
        if len(sizes) > _LIMITS.rank - (op.name == "tosa.argmax" and word == "result"):
            return f"failed level check: {word} rank(shape) <= MAX_RANK"
    return None


def _sizes(op: Operation, target: Target) -> str | None:
    if op.name in ("tosa.yield", "tosa.apply_scale"):
        return None
    for word, type_ in _tensors(op):
        if isinstance(type_, ShapeType):
            continue
        sizes = ty.shape_of(type_)
        if sizes is None:
            return "failed level check: unranked tensor"
        if None in sizes:
            if target.is_draft:
                continue
            return (
                f"failed level check: {word} shape dimension cannot be dynamic when targeting TOSA specification "
                "version 1.0 or below"
            )
        size = max(1, _bits(ty.element_type(type_)) // 8)
        for each in sizes:
            size *= each or 0
        if size >= 1 << _LIMITS.log2_size:
            return f"failed level check: {word} tensor size (in bytes) <= (1 << MAX_LOG2_SIZE - 1)"
    return None


def _bits(element: ty.Type) -> int:
    if isinstance(element, BlockScaledType):
        return _bits(element.value)
    if isinstance(element, ty.FloatType):
        return element.format.bits
    return element.width if isinstance(element, ty.IntegerType) else 8


def _amounts(op: Operation) -> Iterator[tuple[str, int, int, str]]:
    """Yield what a level limits in an op: its text, the number, the limit, and the name of the limit."""
    kernel, stride = (_LIMITS.kernel, "MAX_KERNEL"), (_LIMITS.stride, "MAX_STRIDE")
    name = op.name.removeprefix("tosa.")
    if name in _WINDOWS:
        for attribute, word, limit in _WINDOWS[name]:
            yield from ((word, each, *(stride if limit == "stride" else kernel)) for each in _values(op, attribute))
    sizes = shape(op.operands[1]) if name in _SPATIAL or name == "transpose_conv2d" else None
    if sizes is not None and name in _SPATIAL:
        first, letters = _SPATIAL[name]
        for letter, factor, size in zip(letters, _values(op, "dilation"), sizes[first:], strict=False):
            side = {"D": "dilation_d * KD", "H": "dilation_y * KH", "W": "dilation_x * KW"}[letter]
            yield side, factor * (size or 0), *kernel
    elif sizes is not None:
        yield from ((word, size or 0, *kernel) for word, size in zip(("KH", "KW"), sizes[1:], strict=False))
        yield from (("pad", each, *kernel) for each in op.numbers("out_pad"))
        yield from (("stride", each, *stride) for each in op.numbers("stride"))
    if name in ("fft2d", "rfft2d"):
        for value in op.operands:
            height_width = zip(("H", "W"), (shape(value) or ())[1:], strict=False)
            yield from ((word, size or 0, *kernel) for word, size in height_width)
    if name == "resize" and (scale := constant_shape(op.operands[1])) is not None:
        for axis, (above, below) in zip("yx", (scale[:2], scale[2:]), strict=True):
            yield f"scale_{axis}_n/scale_{axis}_d", above // below, _LIMITS.scale, "MAX_SCALE"


_POOL = (("kernel", "kernel", "kernel"), ("stride", "stride", "stride"), ("pad", "pad", "kernel"))
_CONVOLUTION = (("dilation", "dilation", "kernel"), ("pad", "pad", "kernel"), ("stride", "stride", "stride"))
_WINDOWS: Mapping[str, tuple[tuple[str, str, str], ...]] = {
    **dict.fromkeys(("avg_pool2d", "max_pool2d", "avg_pool2d_adaptive", "max_pool2d_adaptive"), _POOL),
    **dict.fromkeys(("conv2d", "conv3d", "depthwise_conv2d"), _CONVOLUTION),
}
"""The attributes or shapes of an op that a level limits, in the order of the checks: their words, and the limit."""
_SPATIAL = {"conv2d": (1, "HW"), "conv3d": (1, "DHW"), "depthwise_conv2d": (0, "HW")}
"""The place of the first size of a kernel among the sizes of the weight, and the letters of the sizes."""


def _values(op: Operation, name: str) -> Sequence[int]:
    """Return the numbers of an attribute, or of a constant shape of this name; none for a shape that is computed."""
    if name in op.properties:
        return op.numbers(name)
    place = ("kernel", "stride", "pad").index(name)
    return constant_shape(op.operands[place - 3]) or ()


def _lists(op: Operation) -> Iterator[tuple[str, int]]:
    """Yield the lists of tensors of an op: their names and lengths."""
    inputs, outputs = len(op.operands), len(op.results)
    if op.name in ("tosa.concat", "tosa.concat_shape"):
        yield ("input1" if op.name == "tosa.concat" else "input"), inputs
    elif op.name == "tosa.custom":
        yield from (("input_list", inputs), ("output_list", outputs))
    elif op.name in ("tosa.cond_if", "tosa.while_loop"):
        yield from (("inputs", inputs - (op.name == "tosa.cond_if")), ("outputs", outputs))


def _depth(op: Operation) -> int:
    """Return how many ops are around an op, up to its function."""
    depth, around = 0, op
    while around.name not in ("func.func", "builtin.module") and around.parent_op is not None:
        depth, around = depth + 1, around.parent_op
    return depth


# --- conditions -------------------------------------------------------------------------------------------------------


def _error_if(op: Operation, target: Target) -> str | None:
    check = _CONDITIONS.get(op.name)
    return None if check is None else check(op)


def _resize(op: Operation) -> str | None:
    source, made = shape(op.operands[0]), shape(op.results[0])
    if source is None or made is None:
        return "expect ranked input/output tensor"
    images = [*made[1:3], *source[1:3]]
    if None not in (*source, *made) and max(each or 0 for each in images) >= 16384:
        sizes = ", ".join(map(str, images))
        return f"expect input/output height/width dims to be < 16384, got [OH, OW, IH, IW] = {sizes}"
    scale, offset, border = (constant_shape(each) for each in op.operands[1:4])
    if scale is None or offset is None or border is None:
        return None
    (y_n, y_d), (x_n, x_d) = scale[:2], scale[2:]
    if max(y_n, x_n) > 1 << 11:
        return f"expect all scale numerator values to be <= (1 << 11), got scale_y_n={y_n}, scale_x_n={x_n}"
    if y_d >= 16 * y_n or x_d >= 16 * x_n:
        return f"expect a downscale ratio larger than 1/16, got y={y_n}/{y_d}, x={x_n}/{x_d}"
    for word, values, low, high in (("offset", offset, -1, 16), ("border", border, -16, 1)):
        for axis, value, above in zip("YX", values, (y_n, x_n), strict=True):
            if not low * above <= value < high * above:
                return f"expect {word}{axis} / scale{axis}Numerator to be in range [{low}, {high}), got {value}/{above}"
    return resized_sides(op, broadcast=False)


def _mul(op: Operation) -> str | None:
    elements = constant(op.operands[2])
    if elements is None:
        return None
    shift = numbers(elements)[0]
    if ty.element_type(op.operands[0].type) == ty.I32:
        return None if 0 <= shift <= 63 else f"requires 0 <= shift && shift <= 63, but got: {shift}"
    return f"requires shift = 0 for all input data types that are not int32_t, but got: {shift}" if shift else None


def _table(op: Operation) -> str | None:
    size = 256 if ty.element_type(op.operands[0].type) == ty.IntegerType(8) else 513
    found = _count(shape(op.operands[1]))
    return f"requires table size of {size}, got {found}" if found not in (None, size) else None


def _count(sizes: Sizes | None) -> int | None:
    if sizes is None or None in sizes:
        return None
    count = 1
    for each in sizes:
        count *= each or 0
    return count


def _rescale(op: Operation) -> str | None:
    before, after = (ty.element_type(each.type) for each in (op.operands[0], op.results[0]))
    if not isinstance(before, ty.IntegerType) or not isinstance(after, ty.IntegerType):
        return None
    unsigned, made_unsigned = truth(op, "input_unsigned"), truth(op, "output_unsigned")
    wide, scale32 = before.width == 48, truth(op, "scale32")
    broken = (
        (scale32 and wide, "scale32 is not allowed with 48-bit input."),
        (
            not scale32 and "DOUBLE_ROUND" in str(op.properties["rounding_mode"]),
            "DOUBLE_ROUND is only allowed with scale32=true.",
        ),
        (unsigned and made_unsigned, "input and output cannot be both unsigned."),
        (after.width == 32 and unsigned, "i32 output type is not allowed with unsigned input."),
        (before.width == 32 and made_unsigned, "i32 input type is not allowed with unsigned output."),
        (wide and made_unsigned, "i48 input type is not allowed with unsigned output."),
        (wide and unsigned, "i48 input type cannot be unsigned."),
        (before.width == 32 and unsigned, "i32 input type cannot be unsigned."),
        (after.width == 32 and made_unsigned, "i32 output type cannot be unsigned."),
    )
    return next((message for is_broken, message in broken if is_broken), None)


def _pad(op: Operation) -> str | None:
    least = next((each for each in constant_shape(op.operands[1]) or () if each < 0), None)
    return None if least is None else f"padding value must all be non-negative, got {least}"


def _open_sizes(*names: str) -> Rule:
    """Return the check that constant shapes have no size -1, which stands for an inferred one."""

    def check(op: Operation) -> str | None:
        for name, value in zip(names, op.operands[1:], strict=True):
            if -1 in (constant_shape(value) or ()):
                return (
                    f"{name} input contains inferable dimension (-1) which does not conform to the TOSA specification"
                )
        return None

    return check


def _isolated(*names: str) -> Rule:
    """Return the check that the regions of an op use no values from outside."""

    def check(op: Operation) -> str | None:
        for name, region in zip(names, op.regions, strict=False):
            if not all(_is_inside(value, region) for each in _all_in(region) for value in each.operands):
                return (
                    f"is not conformant to the TOSA specification. It requires the '{name}' region is isolated from "
                    "above.\n"
                )
        return None

    return check


def _all_in(region: Region) -> Iterator[Operation]:
    for block in region.blocks:
        for op in block.operations:
            yield from op.walk()


def _is_inside(value: SSAValue, region: Region) -> bool:
    made: Any = maker(value)
    block: Block | None = value.block if isinstance(value, BlockArgument) else made.parent
    while block is not None and block.parent is not None:
        if block.parent is region:
            return True
        around = block.parent.parent
        block = None if around is None else around.parent
    return False


def _scatter(op: Operation) -> str | None:
    elements = constant(op.operands[1])
    if elements is None:
        return None
    rows = elements.array().reshape(elements.array().shape[0], -1) if elements.array().ndim > 1 else None
    repeated = rows is not None and any(len(set(row.tolist())) < len(row) for row in rows)
    return "indices values contain duplicates" if repeated else None


_CONDITIONS: Mapping[str, Rule] = {
    "tosa.resize": _resize,
    "tosa.mul": _mul,
    "tosa.table": _table,
    "tosa.rescale": _rescale,
    "tosa.pad": _pad,
    "tosa.reshape": _open_sizes("shape"),
    "tosa.slice": _open_sizes("start", "size"),
    "tosa.cond_if": _isolated("then", "else"),
    "tosa.while_loop": _isolated("cond", "body"),
    "tosa.scatter": _scatter,
}
"""The conditions of each op that only a strict target asks for."""
