"""What a module itself says of constraints: knobs of a configuration, and problem dimensions that are constants.

The knobs of an `iree_codegen.smt.constraints` are a template: a dictionary of which some leaves are knobs. It is laid
over the configuration of the root op of its set, an `#iree_gpu.lowering_config`, and what the function's
`translation_info` adds, as IREE 3.13 does:

- an int_knob is the integer that stands there, its bits as a signed number (so ``true`` is -1);
- a one_of_knob is the index of the first option equal to what stands there;
- dictionaries have at least the entries of the template, arrays its length; integers have the same number; an attribute
  that holds others is of the same kind and holds what fits; anything else is equal.

It fits as a whole or not at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from halfulp.interp.attributes import (
    ArrayAttr,
    Attribute,
    BoolAttr,
    DialectAttr,
    DictionaryAttr,
    EnumAttr,
    IntegerAttr,
    OpaqueAttr,
    spell_untyped,
)
from halfulp.interp.dialect import AttributeDefinition
from halfulp.interp.dialects.iree_codegen import INT_KNOB, ONE_OF_KNOB, TRANSLATION_INFO
from halfulp.interp.dialects.iree_gpu import LOWERING_CONFIG, PIPELINE_OPTIONS
from halfulp.interp.ir import Operation, OpResult, SSAValue, is_symbol_table
from halfulp.interp.text.nested import parts
from halfulp.interp.text.parameters import has_interface
from halfulp.interp.types import I64, IntegerType, Type


@dataclass(frozen=True)
class Configuration:
    """The knobs of a module's configuration; none where ``problem`` says why it does not fit.

    ``missing``: the problem is an entry that the template has and the configuration lacks, an error to IREE.
    """

    knobs: dict[str, int] = field(default_factory=dict)
    problem: str | None = None
    missing: bool = False


class _Misfit(Exception):
    def __init__(self, problem: str, missing: bool = False) -> None:
        super().__init__(problem)
        self.problem = problem
        self.missing = missing


def configuration(constraints: Operation) -> Configuration:
    """What the function around an `iree_codegen.smt.constraints` says of its knobs."""
    try:
        template = constraints.properties["knobs"]
        function = function_of(constraints)
        translation = None if function is None else _of(TRANSLATION_INFO, function.attributes.get("translation_info"))
        if function is None or translation is None:
            raise _Misfit("there is no function with a translation_info around the constraints")
        pipeline = constraints.properties["pipeline"]
        if translation["passPipeline"] != pipeline:
            raise _Misfit(f"the pipeline of the function is {translation['passPipeline']}, not {pipeline}")
        assert isinstance(template, DictionaryAttr)
        knobs = {}
        if template.entries:
            root = constraints.properties["target"]
            knobs = dict(_laid_over(template, _combined(_lowering_config(function, root), translation), ""))
    except _Misfit as misfit:
        return Configuration({}, misfit.problem, misfit.missing)
    return Configuration(knobs)


def function_of(op: Operation) -> Operation | None:
    """The closest op around this one that has a name and is no symbol table."""
    around = op.parent_op
    while around is not None and (around.symbol_name is None or is_symbol_table(around)):
        around = around.parent_op
    return around


def constant(value: SSAValue) -> int | None:
    """The number of an index that is the result of an `arith.constant`, else None."""
    if not isinstance(value, OpResult) or value.owner.name != "arith.constant":
        return None
    found = value.owner.properties.get("value")
    return found.value if isinstance(found, IntegerAttr) else None


def _of(definition: AttributeDefinition, found: Attribute | None) -> DialectAttr | None:
    return found if isinstance(found, DialectAttr) and found.definition is definition else None


def _lowering_config(function: Operation, root: Attribute) -> DialectAttr:
    """Of the first op of the set that has any."""
    marked = [op for op in function.walk() if op.attributes.get("root_op") == root]
    if not marked:
        raise _Misfit(f"no op of the function has root_op = {root}")
    for op in marked:
        config = op.attributes.get("lowering_config")
        if config is None or not (has_interface(config, "lowering_config") or isinstance(config, OpaqueAttr)):
            continue
        found = _of(LOWERING_CONFIG, config)
        if found is None:
            raise _Misfit(f"the lowering_config of the op with root_op = {root} is not an #iree_gpu.lowering_config")
        return found
    raise _Misfit(f"the op with root_op = {root} has no lowering_config")


def _combined(config: DialectAttr, translation: DialectAttr) -> DictionaryAttr:
    """The entries of a lowering_config, and beside them what the translation_info says."""
    entries: dict[str, Attribute] = {"subgroup_size": IntegerAttr(translation["subgroupSize"], I64)}
    if translation["workgroupSize"]:
        entries["workgroup_size"] = ArrayAttr(tuple(IntegerAttr(size, I64) for size in translation["workgroupSize"]))
    more: DictionaryAttr = translation["configuration"] or DictionaryAttr(())
    options = _of(PIPELINE_OPTIONS, more.mapping.get("gpu_pipeline_options"))
    stages, *flags = (None,) * 3 if options is None else (options[name] for name in _OPTIONS)
    shown = (IntegerAttr(stages or 0, I64), *(flag or BoolAttr(False) for flag in flags))
    entries["gpu_pipeline_options"] = DictionaryAttr.of(dict(zip(_OPTIONS, shown, strict=True)))
    return DictionaryAttr.of({**entries, **config["attributes"].mapping})


# The fourth option, reorder_workgroups_strategy, is not shown to constraints.
_OPTIONS = ("prefetch_num_stages", "no_reduce_shared_memory_bank_conflicts", "use_igemm_convolution")


def _laid_over(template: Attribute, found: Attribute | None, path: str) -> Iterator[tuple[str, int]]:
    """The knobs below a part of the template, with their values. Raises _Misfit."""
    if found is None:
        raise _Misfit(f"the configuration has no {path}", missing=True)
    knob = template if isinstance(template, DialectAttr) and template.definition in (INT_KNOB, ONE_OF_KNOB) else None
    if knob is not None:
        yield knob["name"].value, _choice(knob, found, path)
    elif isinstance(template, DictionaryAttr):
        if not isinstance(found, DictionaryAttr):
            raise _Misfit(f"{path} is {spell_untyped(found)}, not a dictionary")
        for name, inner in template.entries:
            yield from _laid_over(inner, found.mapping.get(name), f"{path}.{name}" if path else name)
    elif isinstance(template, ArrayAttr):
        if not isinstance(found, ArrayAttr) or len(found.elements) != len(template.elements):
            raise _Misfit(f"{path} is {spell_untyped(found)}, not an array of {len(template.elements)}")
        for index, (inner, element) in enumerate(zip(template.elements, found.elements, strict=True)):
            yield from _laid_over(inner, element, f"{path}[{index}]")
    elif isinstance(template, IntegerAttr):
        if not isinstance(found, IntegerAttr) or _number(found) != _number(template):
            raise _Misfit(f"{path} is {spell_untyped(found)}, not {spell_untyped(template)}")
    else:
        yield from _laid_over_parts(template, found, path)


def _choice(knob: DialectAttr, found: Attribute, path: str) -> int:
    if knob.definition is INT_KNOB:
        if not isinstance(found, IntegerAttr):
            raise _Misfit(f"{path} is {spell_untyped(found)}, not an integer")
        return _number(found)
    options: tuple[Attribute, ...] = knob["options"].elements
    if found not in options:
        raise _Misfit(f"{path} is {spell_untyped(found)}, none of the options of {knob['name']}")
    return options.index(found)


def _laid_over_parts(template: Attribute, found: Attribute, path: str) -> Iterator[tuple[str, int]]:
    attributes, types = _split(template)
    other_attributes, other_types = _split(found)
    alike = _kind(template) == _kind(found) and types == other_types and len(attributes) == len(other_attributes)
    if not alike or (not attributes and template != found):
        raise _Misfit(f"{path} is {spell_untyped(found)}, not {spell_untyped(template)}")
    for inner, other in zip(attributes, other_attributes, strict=True):
        yield from _laid_over(inner, other, path)


def _split(attribute: Attribute) -> tuple[list[Attribute], list[Type]]:
    inside = list(parts(attribute))
    return [part for part in inside if isinstance(part, Attribute)], [part for part in inside if isinstance(part, Type)]


def _kind(attribute: Attribute) -> object:
    return attribute.definition if isinstance(attribute, DialectAttr | EnumAttr) else type(attribute)


def _number(attribute: IntegerAttr) -> int:
    """The bits, the low 64 of them, as a signed number."""
    width = min(attribute.type.width if isinstance(attribute.type, IntegerType) else 64, 64)
    code = attribute.code & ((1 << width) - 1)
    return code - (1 << width) if width and code >> (width - 1) else code
