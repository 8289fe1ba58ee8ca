"""The attributes of the dialect sdy of Shardy (`shardy/dialect/sdy/ir`): on which devices the parts of an array are."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import Any

from halfulp.interp.declare import declarations as d
from halfulp.interp.declare import parameters as kinds
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir.base import quoted, spell_symbol
from halfulp.interp.ir.dialect_attributes import AttributeDefinition, DialectAttr, Parameter, ParameterForm

sdy = d.Dialect("sdy", partial=True)

# --- attributes -------------------------------------------------------------------------------------------------------

Read = Callable[[Any], tuple[Any, ...]]
Spell = Callable[..., str]


def _attribute(
    mnemonic: str,
    code: int,
    read: Read,
    spell: Spell,
    *inner: Callable[[], AttributeDefinition],
    **words: str,
) -> AttributeDefinition:
    """Declare an attribute. ``code``: its number in bytecode. ``read``: returns its fields. ``spell``: returns the text
    of these. ``inner``: return the definitions that its attributes may have, beside a symbol as the first field.
    ``words``: how bytecode holds each field.
    """
    form = ParameterForm(read, lambda attribute, names: spell(*attribute.values))
    parameters = tuple(Parameter(name, kinds.ATTRIBUTE, encoded=word) for name, word in words.items())

    def verify(attribute: DialectAttr) -> str | None:
        known = [definition() for definition in inner]
        for part in attribute.parts:
            symbol = isinstance(part, at.SymbolRefAttr) and part is attribute.values[0]
            named = symbol if known else isinstance(part, at.StringAttr)
            if not named and not (isinstance(part, DialectAttr) and part.definition in known):
                return f"'{part}' cannot be a part of it"
        return None

    return AttributeDefinition(f"sdy.{mnemonic}", form, parameters, verify, code=code)


def _is_mesh(found: object) -> bool:
    return isinstance(found, at.SymbolRefAttr) or (isinstance(found, DialectAttr) and found.definition is MESH)


def made(definition: AttributeDefinition, p: Any) -> DialectAttr:
    """Read an attribute without its mnemonic."""
    return definition.attribute(definition.form.read(p))


def text_of(attribute: Any) -> str:
    """Return the text of an attribute without its mnemonic."""
    return str(attribute.spell_parameters({}))


def listed(p: Any, definition: AttributeDefinition, start: str, end: str) -> tuple[DialectAttr, ...]:
    """Read attributes without their mnemonics between ``start`` and ``end``."""
    p.expect(start)
    return tuple(p.until(end, lambda: made(definition, p)))


def joined(attributes: Sequence[Any]) -> str:
    """Return the text of several attributes without their mnemonics."""
    return ", ".join(map(text_of, attributes))


def _read_manual(p: Any) -> tuple[Any, ...]:
    p.expect("{")
    return (tuple(p.until("}", lambda: at.StringAttr(p.string()))),)


MANUAL_AXES = _attribute(
    "manual_axes",
    0,
    _read_manual,
    lambda axes: f"{{{', '.join(quoted(axis.value) for axis in axes)}}}",
    value="attributes",
)


def _read_axis(p: Any) -> tuple[Any, ...]:
    name = p.string()
    p.expect("=")
    return name, p.integer()


_MESH_AXIS = _attribute(
    "mesh_axis", 1, _read_axis, lambda name, size: f"{quoted(name)}={size}", name="string", size="signed"
)


def _read_mesh(p: Any) -> tuple[Any, ...]:
    start = p.pos
    p.expect("<")
    axes, ids = listed(p, _MESH_AXIS, "[", "]"), ()
    if p.take(","):
        kinds.word(p, "device_ids")
        p.expect("=")
        p.expect("[")
        ids = tuple(p.until("]", p.integer))
    wrong = _problem_of_mesh(axes, ids)
    if wrong is not None:
        p.error(wrong, start)
    p.expect(">")
    return axes, () if axes and ids == tuple(range(len(ids))) else ids


def _problem_of_mesh(axes: Sequence[DialectAttr], ids: Sequence[int]) -> str | None:
    """Return what is wrong with a mesh, in Shardy's words, or None."""
    sizes: dict[str, int] = {}
    for axis in axes:
        name, size = axis.values
        if size < 1:
            return f"axis size must be at least 1, got: {size}"
        if name in sizes:
            return f"duplicate axis name: {quoted(name)}"
        sizes[name] = size
    negative = next((number for number in ids if number < 0), None)
    if negative is not None:
        return f"device id must be non-negative, got: {negative}"
    if not axes:
        return "axes is empty and device_ids has more than one element" if len(ids) > 1 else None
    devices = prod(sizes.values())
    if ids and devices != len(ids):
        return f"total product of axis sizes must match total number of device ids, got: {devices} != {len(ids)}"
    if ids and sorted(ids) != list(range(devices)):
        return f"sorted device ids must be iota(product(axes)), got: {', '.join(map(str, sorted(ids)))}"
    return None


def _spell_mesh(axes: Sequence[DialectAttr], ids: Sequence[int]) -> str:
    devices = f", device_ids=[{', '.join(map(str, ids))}]" if ids else ""
    return f"<[{joined(axes)}]{devices}>"


_ANY_MESH = _attribute(
    "mesh", 2, _read_mesh, _spell_mesh, lambda: _MESH_AXIS, axes="attributes", device_ids="signed numbers"
)


def _verify_mesh(mesh: DialectAttr) -> str | None:
    wrong = None if _ANY_MESH.verify is None else _ANY_MESH.verify(mesh)
    return wrong or _problem_of_mesh(*mesh.values)


MESH = replace(_ANY_MESH, verify=_verify_mesh)


def _read_part(p: Any) -> tuple[Any, ...]:
    p.expect("(")
    before = p.integer()
    p.expect(")")
    return before, p.integer()


_PART = _attribute(
    "sub_axis_info", 3, _read_part, lambda before, size: f"({before}){size}", pre_size="signed", size="signed"
)
_AXIS = _attribute(
    "axis_ref",
    4,
    lambda p: (p.string(), made(_PART, p) if p.take(":") else None),
    lambda name, part: quoted(name) + ("" if part is None else f":{text_of(part)}"),
    lambda: _PART,
    name="string",
    sub_axis_info="perhaps",
)


def _read_dimension(p: Any) -> tuple[Any, ...]:
    axes, closed = [], True
    p.expect("{")
    while not p.take("}"):
        if p.take("?"):
            closed = False
            p.expect("}")
            break
        axes.append(made(_AXIS, p))
        if not p.take(","):
            p.expect("}")
            break
    priority = None
    if re.fullmatch("p[0-9]+", p.tokens[p.pos]):
        priority = int(p.tokens[p.pos][1:])
        p.pos += 1
    return tuple(axes), closed, priority


def _spell_dimension(axes: Sequence[DialectAttr], closed: bool, priority: int | None) -> str:
    inside = ", ".join([*map(text_of, axes), *["?"] * (not closed)])
    return f"{{{inside}}}{'' if priority is None else f'p{priority}'}"


_DIMENSION = _attribute(
    "dimension_sharding", 5, _read_dimension, _spell_dimension, lambda: _AXIS,
    axes="attributes", is_closed="boolean", priority="optional number",
)  # fmt: skip


def _read_sharding(p: Any) -> tuple[Any, ...]:
    """Read a sharding without its mnemonic, such as ``<@mesh, [{"x"}, {?}]>``."""
    p.expect("<")
    start = p.pos
    mesh = made(MESH, p) if p.take("mesh") else p.attribute()
    if not _is_mesh(mesh):
        p.error("expected a mesh or the symbol of one", start)
    p.expect(",")
    dimensions = listed(p, _DIMENSION, "[", "]")
    axes: dict[str, tuple[DialectAttr, ...]] = {}
    while p.take(","):
        start = p.pos
        name = kinds.identifier(p)
        if name not in ("replicated", "unreduced") or name in axes:
            p.error("expected replicated or unreduced, each once", start)
        p.expect("=")
        axes[name] = listed(p, _AXIS, "{", "}")
    p.expect(">")
    unreduced = axes.get("unreduced")
    return mesh, dimensions, axes.get("replicated", ()), *((unreduced,) if unreduced else ())


def _spell_sharding(
    mesh: Any, dimensions: Sequence[DialectAttr], replicated: Sequence[DialectAttr] = (),
    unreduced: Sequence[DialectAttr] = (),
) -> str:  # fmt: skip
    shown = f"mesh{text_of(mesh)}" if isinstance(mesh, DialectAttr) else spell_symbol(mesh.root)
    more = ((", replicated", replicated), (", unreduced", unreduced))
    lists = "".join(f"{name}={{{joined(axes)}}}" for name, axes in more if axes)
    return f"<{shown}, [{joined(dimensions)}]{lists}>"


_SHARDED = {"mesh_or_ref": "attribute", "dim_shardings": "attributes", "replicated_axes": "attributes"}
_PARTS = (lambda: MESH, lambda: _DIMENSION, lambda: _AXIS)
UNREDUCED = _attribute(
    "sharding", 15, _read_sharding, _spell_sharding, *_PARTS, **_SHARDED, unreduced_axes="attributes"
)
PLAIN = replace(
    _attribute("sharding", 6, _read_sharding, _spell_sharding, *_PARTS, **_SHARDED),
    longer=UNREDUCED,
)


def _read_shardings(p: Any) -> tuple[Any, ...]:
    p.expect("<")
    p.expect("[")
    found = tuple(p.until("]", lambda: made(PLAIN, p)))
    p.expect(">")
    return (found,)


PER_VALUE = _attribute(
    "sharding_per_value",
    7,
    _read_shardings,
    lambda shardings: f"<[{joined(shardings)}]>",
    lambda: PLAIN,
    lambda: UNREDUCED,
    shardings="attributes",
)
_LAST = 17
"""The number of the factor z; those behind it are z_1, z_2, …"""


def _symbol(factor: int) -> str:
    return chr(ord("i") + factor) if factor <= _LAST else f"z_{factor - _LAST}"


def _factors(p: Any) -> tuple[int, ...]:
    """Read factors, such as ``ij`` or ``z_1``."""
    text = kinds.identifier(p)
    found = re.findall("z_[0-9]+|[i-z]", text)
    if "".join(found) != text:
        p.error("expected factors, such as ij or z_1", p.pos - 1)
    return tuple(_LAST + int(each[2:]) if "_" in each else ord(each) - ord("i") for each in found)


_MAPPED = _attribute(
    "dim_mapping", 8, lambda p: (_factors(p),), lambda factors: "".join(map(_symbol, factors)),
    factor_indices="signed numbers",
)  # fmt: skip
_TENSOR = _attribute(
    "tensor_mapping", 9, lambda p: (listed(p, _MAPPED, "[", "]"),), lambda mappings: f"[{joined(mappings)}]",
    lambda: _MAPPED,
    dim_mappings="attributes",
)  # fmt: skip
_KINDS = ("reduction", "need_replication", "permutation", "blocked_propagation")


def _read_rule(p: Any) -> tuple[Any, ...]:
    p.expect("<")
    operands = listed(p, _TENSOR, "(", ")")
    p.expect("->")
    results = listed(p, _TENSOR, "(", ")")
    sizes: list[int] = []

    def size() -> None:
        _factors(p)
        p.expect("=")
        sizes.append(p.integer())

    if p.take("{"):
        p.until("}", size)
    lists = []
    for name in _KINDS:
        lists.append(())
        if p.take(name):
            p.expect("=")
            p.expect("{")
            lists[-1] = tuple(factor for each in p.until("}", lambda: _factors(p)) for factor in each)
    custom = bool(p.take(","))
    if custom:
        kinds.word(p, "custom")
    p.expect(">")
    return tuple(sizes), operands, results, *lists, custom


def _spell_rule(
    sizes: Sequence[int], operands: Sequence[DialectAttr], results: Sequence[DialectAttr], *rest: Any
) -> str:
    text = f"<({joined(operands)})->({joined(results)})"
    if sizes:
        text += f" {{{', '.join(f'{_symbol(place)}={size}' for place, size in enumerate(sizes))}}}"
    for name, factors in zip(_KINDS, rest, strict=False):
        if factors:
            text += f" {name}={{{', '.join(map(_symbol, factors))}}}"
    return f"{text}{', custom' if rest[-1] else ''}>"


_RULE = _attribute(
    "op_sharding_rule", 10, _read_rule, _spell_rule, lambda: _TENSOR,
    factor_sizes="signed numbers", operand_mappings="attributes", result_mappings="attributes",
    **dict.fromkeys((f"{name}_factors" for name in _KINDS), "signed numbers"), is_custom_rule="boolean",
)  # fmt: skip
for _definition in (MANUAL_AXES, _MESH_AXIS, MESH, _PART, _AXIS, _DIMENSION, PLAIN, PER_VALUE, _MAPPED, _TENSOR, _RULE):
    sdy.attributes[_definition.name.partition(".")[2]] = _definition
sdy.attributes["sharding with unreduced axes"] = UNREDUCED
