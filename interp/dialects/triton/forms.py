"""Parts of the declarations of Triton's ops: properties, types without their prefix, and rows of signatures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from halfulp.interp.declare import declarations as d
from halfulp.interp.declare import parameters as kinds
from halfulp.interp.declare.operands import spread
from halfulp.interp.dialects.triton import types
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import narrowed
from halfulp.interp.ir.dialect_attributes import EnumDefinition, ParameterKind
from halfulp.interp.ir.operations import Operation, Rule
from halfulp.interp.text.directives import CUSTOM_DIRECTIVES, ElementForm, OpReading, Slots
from halfulp.interp.text.op_parser import OpParser, OpPrinter

# --- properties -------------------------------------------------------------------------------------------------------

FALSE, TRUE = at.IntegerAttr(0, ty.I1), at.IntegerAttr(1, ty.I1)


def _integer_of(width: int) -> d.AttributeConstraint:
    type_ = ty.IntegerType(width)
    return d.AttributeConstraint(
        f"{width}-bit signless integer attribute",
        lambda attribute: isinstance(attribute, at.IntegerAttr) and attribute.type == type_,
        form=ParameterKind(lambda p: p.attribute(type_), lambda value, names: str(value.value)),
    )


I32_ATTR, I16_ATTR = _integer_of(32), _integer_of(16)


def flag(name: str) -> d.Property:
    """Return the property of a unit attribute, which may be absent."""
    return d.Property(name, d.UNIT_ATTR, optional=True)


def number(name: str, default: int | None = None, optional: bool = False) -> d.Property:
    """Return the property of a 32-bit integer."""
    implied = None if default is None else at.IntegerAttr(default, ty.I32)
    return d.Property(name, I32_ATTR, optional=optional, default=implied)


def truth(name: str, default: at.IntegerAttr | None = None, optional: bool = False) -> d.Property:
    """Return the property of a truth value."""
    return d.Property(name, d.BOOL_ATTR, optional=optional, default=default)


# --- directives -------------------------------------------------------------------------------------------------------

_READERS: Mapping[d.TypeConstraint, Callable[[OpParser], ty.Type]] = {
    types.POINTER: types.read_pointer,
    types.DESCRIPTOR: types.read_descriptor,
    types.MEMDESC: types.read_memdesc,
    types.AREF: types.read_aref,
}


def _stripped(slots: Slots, name: str) -> ElementForm:
    """Compile the type of a value without its name, ``<f32>``: where only one class of types may stand."""
    index = slots.index[name]
    read_inner = _READERS[slots.all[index].constraint]

    def read(p: OpParser, state: OpReading) -> None:
        state.types[index] = p.type() if p.at_type() else read_inner(p)

    def print_(printer: OpPrinter, operation: Operation, out: kinds.Out) -> None:
        (value,) = slots.values(operation, index)
        type_ = value.type
        assert isinstance(type_, types.PointerType | types.DescriptorType | types.MemDescType | types.ArefType)
        printer.type(type_)
        out.value(type_.inner(printer.names))

    return ElementForm(read, print_)


_WORD = (1 << 32) - 1


def _integers(slots: Slots, name: str) -> ElementForm:
    """Compile the numbers of an array, with commas between them."""

    def read(p: OpParser, state: OpReading) -> None:
        values = p.separated(p.integer) if p.tokens[p.pos] != "]" else []
        state.properties[name] = at.DenseArrayAttr(ty.I32, tuple([value & _WORD for value in values]))

    def print_(printer: OpPrinter, operation: Operation, out: kinds.Out) -> None:
        out.value(operation.prop(name, at.DenseArrayAttr).values_text())

    return ElementForm(read, print_)


def _flags(slots: Slots, name: str) -> ElementForm:
    """Compile the words of flags, with bars between them and without brackets."""
    definition = narrowed(slots.properties[name].kind, EnumDefinition)

    def read(p: OpParser, state: OpReading) -> None:
        value = 0
        while True:
            at_ = p.pos
            word = kinds.identifier(p)
            if word not in definition.cases:
                p.error(f"expected one of: {', '.join(definition.cases)}", at_, hint=p.similar(word, definition.cases))
            value |= definition.cases[word]
            if not p.take("|"):
                break
        state.properties[name] = definition.attribute(value)

    def print_(printer: OpPrinter, operation: Operation, out: kinds.Out) -> None:
        out.value(definition.spell(operation.number(name)))

    return ElementForm(read, print_)


def _token(slots: Slots, dependence: str, result: str) -> ElementForm:
    """Compile ``[%token]`` or ``[]``: an op that returns a token, and the token that it waits for."""
    given, made = slots.index[dependence], slots.index[result]

    def read(p: OpParser, state: OpReading) -> None:
        state.operands[given], state.types[made] = [], ()
        if p.take("["):
            state.types[made] = (types.ASYNC_TOKEN,)
            state.operands[given] = [p.operand_token()] if p.tokens[p.pos] != "]" else []
            p.expect("]")

    def print_(printer: OpPrinter, operation: Operation, out: kinds.Out) -> None:
        names = ", ".join(map(printer.name, slots.values(operation, given)))
        _joined(out, f"[{names}]" if slots.values(operation, made) else "")

    return ElementForm(read, print_)


def _joined(out: kinds.Out, text: str) -> None:
    """Add text without a space in front; what follows has one, even after no text."""
    if text:
        out.value(text)
    out.space, out.punctuation = True, False


def _barriers(slots: Slots, barriers: str, predicates: str) -> ElementForm:
    """Compile ``, %barrier[%predicate]``, any number of them."""
    places = slots.index[barriers], slots.index[predicates]

    def read(p: OpParser, state: OpReading) -> None:
        found: list[list[int]] = [[], []]
        while p.take(","):
            found[0].append(p.operand_token())
            p.expect("[")
            found[1].append(p.operand_token())
            p.expect("]")
        for place, names in zip(places, found, strict=True):
            state.operands[place] = names

    def print_(printer: OpPrinter, operation: Operation, out: kinds.Out) -> None:
        pairs = zip(*(slots.values(operation, place) for place in places), strict=True)
        _joined(out, "".join(f", {printer.name(one)}[{printer.name(other)}]" for one, other in pairs))

    return ElementForm(read, print_)


CUSTOM_DIRECTIVES.update(
    {
        "Stripped": _stripped,
        "Integers": _integers,
        "BareFlags": _flags,
        "Token": _token,
        "BarriersAndPredicates": _barriers,
    }
)

# --- layouts ----------------------------------------------------------------------------------------------------------

Bases = tuple[tuple[int, ...], ...]
Layout = tuple[tuple[str, Bases], ...]
"""A linear layout: for each name of an input, such as ``offset``, what its bits add to the coordinates."""
BASES = kinds.bracketed(kinds.INTEGER_ARRAY)


def layout(*names: str, skip: bool = False, whole: bool = False) -> ParameterKind:
    """Return the kind of a linear layout, ``{offset = [[0, 1]], block = []}``, with these inputs in the order of
    printing. ``skip``: an input without bits is not printed. ``whole``: no input may be left out, and what has another
    name is skipped, as Triton does.
    """

    def read(p: Any) -> Layout:
        found: dict[str, Bases] = {}

        def entry() -> None:
            at = p.pos
            name = kinds.identifier(p)
            if name in found or (name not in names and not whole):
                p.error(f"expected one of: {', '.join(names)}", at, hint=p.similar(name, names))
            p.expect("=")
            if name in names:
                found[name] = BASES.read(p)
            else:
                p.attribute()

        p.expect("{")
        p.until("}", entry)
        missing = [name for name in names if whole and name not in found]
        if missing:
            p.error(f"Expected basis of '{missing[0]}' not found")
        return tuple([(name, found.get(name, ())) for name in names])

    def spell(value: Layout, aliases: Mapping[object, str]) -> str:
        shown = [(name, bases) for name, bases in value if bases or not skip]
        return f"{{{', '.join(f'{name} = {BASES.spell(bases, aliases)}' for name, bases in shown)}}}"

    return ParameterKind(read, spell)


def _identity(shape: Sequence[int], order: Sequence[int]) -> Bases:
    """Return what the bits of an offset add to the coordinates in memory where a dimension of ``order`` follows the
    other.
    """
    bases = []
    for axis in order:
        step = 1
        while step < shape[axis]:
            bases.append(tuple([step if other == axis else 0 for other in range(len(shape))]))
            step *= 2
    return tuple(bases)


def _read_padded(p: Any) -> tuple[Layout, int]:
    """Read ``{order = [1, 0], shape = [16, 32]}`` or a linear layout of offsets and blocks. Return the layout and its
    number of dimensions.
    """
    if p.tokens[p.pos + 1] not in ("order", "shape"):
        found_layout: Layout = _PADDED.read(p)
        return found_layout, next((len(basis) for _, bases in found_layout for basis in bases), 0)
    found: dict[str, tuple[int, ...]] = {}

    def entry() -> None:
        name = kinds.identifier(p)
        p.expect("=")
        found[name] = kinds.INTEGER_ARRAY.read(p)

    at = p.pos
    p.expect("{")
    p.until("}", entry)
    order, shape = found.get("order", ()), found.get("shape", ())
    if set(found) != {"order", "shape"} or len(order) != len(shape):
        p.error("Mismatch of shape and order ranks in padded layout", at)
    if sorted(order) != list(range(len(shape))):
        p.error(f"order must be a permutation of 0..(rank-1), but was [{', '.join(map(str, order))}]", at)
    return (("offset", _identity(shape, order)), ("block", ())), len(shape)


def _spell_padded(value: tuple[Layout, int], aliases: Mapping[object, str]) -> str:
    layout_, rank = value
    (_, offsets), (_, blocks) = layout_
    shape = [1 + sum(basis[axis] for basis in offsets) for axis in range(rank)]
    order = list(dict.fromkeys(axis for basis in offsets for axis in range(rank) if basis[axis]))
    order += [axis for axis in range(rank)[::-1] if axis not in order]
    if not blocks and offsets == _identity(shape, order):
        return f"{{order = {order}, shape = {shape}}}"
    return _OFFSETS.spell(layout_, aliases)


def _pads(p: Any) -> tuple[tuple[int, int], ...]:
    def pair() -> tuple[int, int]:
        interval = p.integer()
        for mark in ":+":
            p.expect(mark)
        return interval, p.integer()

    p.expect("[")
    return tuple(p.until("]", pair))


_OFFSETS, _PADDED = layout("offset", "block"), layout("offset", "block", whole=True)
SHARED_OFFSETS = ParameterKind(
    _OFFSETS.read, lambda value, names: _OFFSETS.spell(value if value[1][1] else value[:1], names)
)
PADDED_OFFSETS = ParameterKind(_read_padded, _spell_padded)
PADS = ParameterKind(
    _pads, lambda pads, names: f"[{', '.join(f'{interval}:+{padding}' for interval, padding in pads)}]"
)
"""After how many elements how many are left free."""

NOT_TWO = ParameterKind(lambda p: None if (rank := p.integer()) == 2 else rank, kinds.INTEGER.spell)
"""A number that means 2 where it is left out."""

# --- rows -------------------------------------------------------------------------------------------------------------

_CONSTRAINTS: Mapping[str, d.TypeConstraint] = {
    "any": d.ANY,
    "aref": types.AREF,
    "boollike": types.BOOL_LIKE,
    "bools": types.BOOL_TENSOR,
    "bytes": types.BYTES,
    "desc": types.DESCRIPTOR,
    "floatlike": types.FLOAT_LIKE,
    "floats": types.FLOAT_TENSOR,
    "halves": types.HALVES,
    "i1": d.BOOL,
    "i16": types.I16,
    "i32": types.I32,
    "i64": types.I64,
    "i128": types.I128,
    "integerlike": types.INTEGER_LIKE,
    "integers": types.INTEGER_TENSOR,
    "iv": d.INTEGER_OR_INDEX,
    "mem": types.MEMDESC,
    "numbers": types.NUMBER_TENSOR,
    "offsets": types.OFFSETS,
    "operand": types.TENSOR_OR_MEMDESC,
    "packable": types.PACKABLE,
    "packed": types.PACKED,
    "ptr": types.POINTER,
    "ptrlike": types.POINTER_LIKE,
    "ptrs": types.POINTER_TENSOR,
    "ranked": d.RANKED_TENSOR,
    "tensor": types.TENSOR,
    "token": types.TOKEN,
    "tokens": types.WARP_TOKENS,
    "value": types.VALUE,
    "words": types.WORDS,
}
_ARITIES = {"?": d.Arity.OPTIONAL, "*": d.Arity.VARIADIC}


class Row(NamedTuple):
    """The declaration of an op in one line.

    ``values``: its operands and results, as in ``"src:ptr mask:bools? -> result:tensor"``: a name and a word for the
    type, with ``?`` if the value may be left out and ``*`` if there may be any number. If several may be left out, the
    op has a property with the number of values of each, unless ``equal``: then each has the same number of them.
    """

    mnemonic: str
    values: str
    assembly: str | None = None
    properties: Sequence[d.Property] = ()
    more: Mapping[str, Any] = {}
    equal: bool = False


def _slots(text: str) -> tuple[d.Slot, ...]:
    found = []
    for each in text.split():
        name, _, word = each.partition(":")
        found.append(d.Slot(name, _CONSTRAINTS[word.rstrip("?*")], _ARITIES.get(word[-1], d.Arity.ONE)))
    return tuple(found)


def checked(*rules: Rule) -> Rule | None:
    """Return a verifier that checks rules one after the other."""
    if len(rules) < 2:
        return rules[0] if rules else None
    return lambda op: next((problem for rule in rules if (problem := rule(op)) is not None), None)


SEGMENTS = "resultSegmentSizes"


def _free(slots: Sequence[d.Slot]) -> int:
    """Return the number of slots that may have another number of values than one."""
    return sum(slot.arity is not d.Arity.ONE for slot in slots)


def _named(slots: Sequence[d.Slot]) -> dict[str, Any]:
    """Name the results of an op that declares several after their declarations, as MLIR does."""
    if len(slots) < 2:
        return {}

    def names(op: Operation) -> tuple[str | None, ...]:
        sizes = op.properties.get(SEGMENTS)
        counts = sizes.values if isinstance(sizes, at.DenseArrayAttr) else spread(slots, len(op.results)) or ()
        return tuple(
            [
                name if not place else None
                for slot, count in zip(slots, counts, strict=False)
                for place, name in enumerate([slot.name] * count)
            ]
        )

    return {"named_results": names}


def declare_rows(dialect: d.Dialect, rows: Sequence[Row], evaluators: Mapping[str, Any] = {}, *rules: Rule) -> None:
    """Declare the ops of some rows. ``evaluators``: by mnemonic; an op without one is not run. ``rules``: what the
    verifier of each op checks first.
    """
    for row in rows:
        operands, _, results = row.values.partition("->")
        several = _free(_slots(operands)) > 1 and not row.equal
        traits = {d.Trait.ATTR_SIZED_OPERAND_SEGMENTS} if several else set()
        properties = list(row.properties)
        if _free(_slots(results)) > 1:
            properties.append(d.Property(SEGMENTS, d.INTEGER_ARRAY_ATTR, groups=len(_slots(results))))
        declaration = {**_named(_slots(results)), **row.more}
        declaration["traits"] = traits | set(declaration.get("traits", ()))
        declaration["verify"] = checked(*rules, *filter(None, (declaration.get("verify"),)))
        dialect.op(
            row.mnemonic,
            row.assembly,
            operands=_slots(operands),
            results=_slots(results),
            properties=tuple(properties),
            evaluate=evaluators.get(row.mnemonic),
            **declaration,
        )
