"""The roles of values in affine expressions: symbols, which do not change in loops, and dimensions."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

from halfulp.interp.declare.declarations import Trait
from halfulp.interp.declare.operands import operand_groups
from halfulp.interp.declare.parameters import Out
from halfulp.interp.dialects.affine.formulas import apply_kernel, formula_of
from halfulp.interp.dialects.memref.forms import read_hint, spell_hint
from halfulp.interp.dialects.slices import constant, numbers
from halfulp.interp.ir.affine_expressions import AffineExpr, Dimension, Symbol, spell
from halfulp.interp.ir.attributes import AffineMapAttr
from halfulp.interp.ir.operations import Operation, OpResult, SSAValue, undefined
from halfulp.interp.ir.types import INDEX, MemRefType, element_type, shape_of
from halfulp.interp.run.evaluators import OnValues, Words
from halfulp.interp.run.frames import Function
from halfulp.interp.run.settings import Settings
from halfulp.interp.text.affine_parser import AffineParser
from halfulp.interp.text.directives import CUSTOM_DIRECTIVES, ElementForm, OpReading, Slots
from halfulp.interp.text.op_parser import OpParser, OpPrinter

# --- inline maps ------------------------------------------------------------------------------------------------------
#
# Affine maps that are written over values, ``%i + 1, symbol(%n)``, and over lists of values, ``#map(%i)[%n]``.

_PLACE = re.compile(r"\b([ds])(\d+)\b")


class _OverValues(AffineParser):
    """A parser of expressions whose operands are values. ``found``: the tokens of dimensions and of symbols."""

    def __init__(self, parser: OpParser) -> None:
        super().__init__(parser)
        self._parse = parser
        self.found: dict[type[AffineExpr], dict[str, int]] = {Dimension: {}, Symbol: {}}

    def _operand(self, left: AffineExpr | None) -> AffineExpr:
        parser = self._parse
        token = parser.tokens[parser.pos]
        if token[:1] == "%":
            return self._value(Dimension)
        if token == "symbol" and parser.tokens[parser.pos + 1] == "(":
            parser.pos += 2
            value = self._value(Symbol)
            parser.expect(")")
            return value
        return super()._operand(left)

    def _value(self, kind: type[Dimension] | type[Symbol]) -> AffineExpr:
        at = self._parse.operand_token()
        named = self.found[kind]
        name = self._parse.tokens[at]
        numbers = list(named)
        if name not in named:
            named[name] = at
            numbers.append(name)
        return kind(numbers.index(name))


def read_inline(p: OpParser, end: str = "]") -> tuple[AffineMapAttr, list[int]]:
    """Read affine expressions up to the token ``end``. Return their map, and the indices of the tokens of
    its operands.
    """
    inner = _OverValues(p)
    inner.results += p.until(end, inner.expression)
    dimensions, symbols = inner.found[Dimension], inner.found[Symbol]
    map_ = AffineMapAttr(len(dimensions), len(symbols), tuple(inner.results))
    return map_, [*dimensions.values(), *symbols.values()]


def print_inline(printer: OpPrinter, map_: AffineMapAttr, operands: Sequence[SSAValue]) -> str:
    """Print the expressions of a map over its operands."""

    def name(found: re.Match[str]) -> str:
        number = int(found[2])
        if found[1] == "d":
            return printer.name(operands[number])
        return f"symbol({printer.name(operands[map_.dimensions + number])})"

    return ", ".join(_PLACE.sub(name, spell(result)) for result in map_.results)


def read_place(p: OpParser) -> tuple[AffineMapAttr, list[int]]:
    """Read ``[%i + 1, %j]``, the indices of an element. Return their map, and the indices of the tokens of its
    operands.
    """
    if not p.take("["):
        p.wrong_token("expected '[' in affine map")
    return read_inline(p)


def read_lists(p: OpParser) -> tuple[list[int], int]:
    """Read ``(%dimensions)[%symbols]``. Return the indices of the tokens, and the number of dimensions."""
    p.expect("(")
    tokens = p.operand_tokens()
    p.expect(")")
    dimensions = len(tokens)
    if p.take("["):
        tokens += p.operand_tokens()
        p.expect("]")
    return tokens, dimensions


def print_lists(printer: OpPrinter, dimensions: int, operands: Sequence[SSAValue]) -> str:
    """Print ``(%dimensions)[%symbols]``; no brackets without symbols."""
    names = [printer.name(value) for value in operands]
    symbols = f"[{', '.join(names[dimensions:])}]" if len(names) > dimensions else ""
    return f"({', '.join(names[:dimensions])}){symbols}"


def used(p: OpParser, tokens: Sequence[int]) -> list[SSAValue]:
    """Return the values of type index that these tokens name. ``tokens``: the indices of the tokens."""
    return [p.use(token, INDEX) for token in tokens]


def read_groups(p: OpParser, word: str) -> tuple[AffineMapAttr, list[int], list[int]]:
    """Read ``(%i + 1, max(%j, 3))``: one or several expressions for each place. ``word`` (here ``max``) stands before
    several expressions in one place.

    Return their map, the indices of the tokens of its operands, and the number of results in each place.
    """
    inner = _OverValues(p)
    sizes: list[int] = []
    p.expect("(")
    while p.tokens[p.pos] != ")":
        before = len(inner.results)
        if p.take(word):
            p.expect("(")
            if p.tokens[p.pos] != ")":
                inner.results.append(inner.expression())
            while p.take(","):
                inner.results.append(inner.expression())
            p.expect(")")
        else:
            inner.results.append(inner.expression())
        sizes.append(len(inner.results) - before)
        if not p.take(","):
            break
    p.expect(")")
    dimensions, symbols = inner.found[Dimension], inner.found[Symbol]
    map_ = AffineMapAttr(len(dimensions), len(symbols), tuple(inner.results))
    return map_, [*dimensions.values(), *symbols.values()], sizes


def inline_group(
    printer: OpPrinter, map_: AffineMapAttr, results: Sequence[AffineExpr], operands: Sequence[SSAValue]
) -> str:
    """Return the text of some results of a map over its operands."""
    return print_inline(printer, AffineMapAttr(map_.dimensions, map_.symbols, tuple(results)), operands)


# --- symbols ----------------------------------------------------------------------------------------------------------

_LOOPS = ("affine.for", "affine.parallel")
_SCOPES = ("func.func", "builtin.module")
"""The ops whose values at the top of their regions are symbols everywhere inside."""
_DIMS = ("memref.dim", "tensor.dim")
_SIZED = {"memref.alloc": "dynamicSizes", "memref.subview": "sizes", "memref.view": "sizes"}
"""The ops that make memrefs whose dynamic sizes may be symbols, with the name of the operands that give the sizes."""
_COMBINING = ("affine.apply", "affine.delinearize_index", "affine.linearize_index")
"""The ops that make dimensions from dimensions."""
_PURE = ("affine.min", "affine.max", "builtin.unrealized_conversion_cast", "vector.vscale", *_COMBINING)
_PURE_DIALECTS = ("arith.", "math.", "index.")
_UNSAFE_DIVISORS = {
    "arith.divui": (0,),
    "arith.ceildivui": (0,),
    "arith.divsi": (0, -1),
    "arith.ceildivsi": (0, -1),
}
"""Divisions that MLIR may compute ahead of time by a constant only, and by none of these."""


class _Standing(Enum):
    """The role of a value in an affine expression. A symbol may be used anywhere; a dimension, such as the index of a
    loop, only as a dimension.
    """

    SYMBOL = 0
    DIMENSION = 1
    OTHER = 2


def _around(value: SSAValue) -> str | None:
    """Return the name of the op in whose region a value is defined."""
    block = value.owner.parent if isinstance(value, OpResult) else getattr(value, "block", None)
    op = None if block is None or block.parent is None else block.parent.parent
    return None if op is None else op.name


def _pure(op: Operation) -> bool:
    """Tell whether MLIR may compute an op at any place: it has no effects and cannot fail."""
    if op.name in _UNSAFE_DIVISORS:
        divisor = constant(op.operands[1])
        return divisor is not None and divisor not in _UNSAFE_DIVISORS[op.name]
    if op.name.startswith("index."):
        return not any(word in op.name for word in ("div", "rem"))
    return op.name in _PURE or op.name.startswith(_PURE_DIALECTS)


def _size_of(op: Operation) -> _Standing | SSAValue:
    """Return the role of a dimension that an op reads from a memref or tensor, or the value that has the same role."""
    source, index = op.operands[0], constant(op.operands[1])
    if _around(source) in _SCOPES:
        return _Standing.SYMBOL
    while isinstance(source, OpResult) and source.owner.name == "memref.cast":
        source = source.owner.operands[0]
    type_ = source.type
    if index is None or not isinstance(source, OpResult) or source.owner.name not in _SIZED:
        return _Standing.OTHER
    if not isinstance(type_, MemRefType) or type_.shape is None or not 0 <= index < len(type_.shape):
        return _Standing.OTHER
    if type_.shape[index] is not None:
        return _Standing.SYMBOL
    maker = source.owner
    assert maker.definition is not None
    names = [slot.name for slot in maker.definition.operands]
    return operand_groups(maker)[names.index(_SIZED[maker.name])][type_.shape[:index].count(None)]


def _known(value: SSAValue) -> _Standing | Sequence[SSAValue]:
    """Return the role of a value, or the values from which it gets its role."""
    if value.type != INDEX:
        return _Standing.OTHER
    around = _around(value)
    if around in _SCOPES:
        return _Standing.SYMBOL
    if not isinstance(value, OpResult):
        return _Standing.DIMENSION if around in _LOOPS else _Standing.OTHER
    op = value.owner
    if op.definition is not None and Trait.CONSTANT_LIKE in op.definition.traits:
        return _Standing.SYMBOL
    if op.name in _DIMS:
        size = _size_of(op)
        return size if isinstance(size, _Standing) else [size]
    return op.operands if _pure(op) else _Standing.OTHER


def _standing(value: SSAValue) -> _Standing:
    found: dict[SSAValue, _Standing] = {}
    stack = [(value, False)]
    while stack:
        current, sources_done = stack.pop()
        known = _known(current)
        if isinstance(known, _Standing):
            found[current] = known
        elif sources_done:
            assert isinstance(current, OpResult)
            roles = {found[source] for source in known}
            if roles <= {_Standing.SYMBOL}:
                found[current] = _Standing.SYMBOL
            elif current.owner.name in _COMBINING and _Standing.OTHER not in roles:
                found[current] = _Standing.DIMENSION
        elif current not in found:
            # The role until its sources are known, and the final one where it is among them.
            found[current] = _Standing.OTHER
            stack.append((current, True))
            stack += [(source, False) for source in known]
    return found[value]


def dimension_as_symbol(value: SSAValue) -> bool:
    """Tell whether a value may be used as a dimension, but not as a symbol."""
    return _standing(value) is _Standing.DIMENSION


def misused(operands: Sequence[SSAValue], dimensions: int) -> str | None:
    """Return what is wrong with the operands of a map, or None. The first ``dimensions`` operands are dimensions, the
    others symbols.
    """
    for number, value in enumerate(operands):
        standing = _standing(value)
        if standing is _Standing.OTHER and number < dimensions:
            return "operand cannot be used as a dimension id"
        if standing is not _Standing.SYMBOL and number >= dimensions:
            return "operand cannot be used as a symbol"
    return None


def usable(value: SSAValue) -> bool:
    """Tell whether a value may be used as a dimension or as a symbol."""
    return _standing(value) is not _Standing.OTHER


# --- access -----------------------------------------------------------------------------------------------------------
#
# affine.load and affine.store: memory at indices that are affine expressions of values.

# --- forms ------------------------------------------------------------------------------------------------------------


def _affine_map_of_ssa_ids(slots: Slots, operands: str, name: str) -> ElementForm:
    """Compile ``[%i + 1, symbol(%n)]``: the map is the property ``name``, over the values of a variadic operand."""
    index = slots.index[operands]

    def read(p: OpParser, state: OpReading) -> None:
        state.properties[name], state.operands[index] = read_place(p)

    def print_(printer: OpPrinter, op: Operation, out: Out) -> None:
        out.literal("[")
        out.value(print_inline(printer, op.prop(name, AffineMapAttr), slots.values(op, index)))
        out.literal("]")

    return ElementForm(read, print_)


def _hint(slots: Slots, *names: str) -> ElementForm:
    """Compile ``read, locality<3>, data`` of a prefetch."""

    def read(p: OpParser, state: OpReading) -> None:
        state.properties |= read_hint(p, slots.definition, state.start)

    return ElementForm(read, lambda printer, op, out: out.value(spell_hint(op)))


CUSTOM_DIRECTIVES["AffineMapOfSSAIds"] = _affine_map_of_ssa_ids
CUSTOM_DIRECTIVES["Hint"] = _hint

# --- rules ------------------------------------------------------------------------------------------------------------


def verify(op: Operation) -> str | None:
    """Return an error message unless the map of an access, on elements or vectors, fits the memref and the operands."""
    which = 0 if op.results else 1
    of_vectors = op.name.startswith("affine.vector_")
    element, base = (op.results or op.operands)[0].type, op.operands[which].type
    if not of_vectors and element != element_type(base):
        stored = "value to store must have the same type as memref element type"
        return stored if which else "result type must match element type of memref"
    map_, rank = op.prop("map", AffineMapAttr), len(shape_of(base) or ())
    if len(map_.results) != rank:
        counts = "" if of_vectors else f": expected {rank}, got {len(map_.results)}"
        return f"affine map num results must equal memref rank{counts}"
    indices = op.operands[which + 1 :]
    if map_.dimensions + map_.symbols != len(indices):
        return "expects as many subscripts as affine map inputs"
    problem = misused(indices, map_.dimensions)
    if problem is None and of_vectors and element_type(element) != element_type(base):
        return "requires memref and vector types of the same elemental type"
    return problem


# --- evaluation -------------------------------------------------------------------------------------------------------

Index = Callable[[Sequence[Any]], Any]


def _indices(op: Operation, first: int, settings: Settings) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    """Return the function from slots to the indices of an access: codes.

    ``first``: the number of the first operand of the map. A result that is poison is undefined behaviour.
    """
    map_ = op.prop("map", AffineMapAttr)
    each = [_index(op, map_, result, first, settings) for result in map_.results]
    return lambda slots: tuple([index(slots) for index in each])


def _index(op: Operation, map_: AffineMapAttr, result: AffineExpr, first: int, settings: Settings) -> Index:
    if isinstance(result, Dimension | Symbol):
        place = first + result.position + (map_.dimensions if isinstance(result, Symbol) else 0)
        return lambda slots: slots[place]
    kernel = apply_kernel(formula_of(map_, result, settings), settings.index_width)
    mask = (1 << settings.index_width) - 1

    def computed(slots: Sequence[Any]) -> int:
        codes = slots[first:]
        if any(code.__class__ is not int for code in codes):
            codes = [number & mask for number in numbers(op, codes, settings)]
        found = kernel.scalar(*codes)
        if found.__class__ is not int:
            raise undefined(op, f"an index of the map is not a number: {getattr(found, 'reason', found)}")
        return found

    return computed


def at_map(
    access: Callable[[Operation, Settings], Function],
    first: int,
    words: Words | None = None,
    over_lanes: Callable[[Operation, Settings], Function] | None = None,
) -> OnValues:
    """Return the evaluator of an access to a memref whose indices are the results of a map. ``access``: the access to
    the element at these indices; ``over_lanes``: the same in a batch. ``first``: the number of the first operand of the
    map.
    """

    def build(op: Operation, settings: Settings) -> Function:
        inner, places = access(op, settings), _indices(op, first, settings)
        return lambda run, slots: inner(run, (*slots[:first], *places(slots)))

    def in_lanes(op: Operation, settings: Settings) -> Function | None:
        if over_lanes is None:
            return None
        inner, places = over_lanes(op, settings), _indices(op, first, settings)
        types = (INDEX,) * len(op.prop("map", AffineMapAttr).results)
        before = (None,) * first

        def accessed(run: Any, slots: Sequence[Any]) -> tuple[Any, ...]:
            values = tuple(slots[first:])
            indices = run.each(lambda _, row: places((*before, *row)), values, types) if types else ()
            return inner(run, (*slots[:first], *indices))

        return accessed

    return OnValues(build, raw=True, words=words, in_lanes=in_lanes)
