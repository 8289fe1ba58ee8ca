"""Values for constraints that the module itself contains: knobs of a configuration, and problem dimensions that are
constants.

The knobs of an `iree_codegen.smt.constraints` are a template: a dictionary in which some leaves are knobs. As IREE 3.13
does, it is compared with the configuration of the root op of its set, an `#iree_gpu.lowering_config`, and with what the
function's `translation_info` adds:

- an int_knob gets the integer at its place in the configuration, its bits as a signed number (so ``true`` is -1);
- a one_of_knob gets the index of its first option that is equal to what the configuration has at its place;
- dictionaries have at least the entries of the template, arrays its length; integers have the same number; an attribute
    that holds others is of the same kind, and what it holds fits; anything else is equal.

The template fits as a whole or not at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from halfulp.interp.declare.parameters import has_interface
from halfulp.interp.dialects.iree_codegen.attributes import INT_KNOB, ONE_OF_KNOB, TRANSLATION_INFO
from halfulp.interp.dialects.iree_gpu import LOWERING_CONFIG, PIPELINE_OPTIONS
from halfulp.interp.ir.attributes import ArrayAttr, Attribute, BoolAttr, DictionaryAttr, IntegerAttr, OpaqueAttr
from halfulp.interp.ir.dialect_attributes import AttributeDefinition, DialectAttr, EnumAttr, parts
from halfulp.interp.ir.errors import LimitExceeded
from halfulp.interp.ir.operations import Operation, is_symbol_table
from halfulp.interp.ir.types import I64, IntegerType, Type

MAX_SPELLED = 200
"""The most characters of an attribute that are shown, and the most attributes in it."""


@dataclass(frozen=True)
class Configuration:
    """The knobs of a module's configuration. If ``problem`` says why it does not fit, there are no knobs.

    ``missing``: the problem is an entry of the template that the configuration does not have, which is an error in
    IREE.
    """

    knobs: dict[str, int] = field(default_factory=dict)
    problem: str | None = None
    missing: bool = False


Place = tuple[Attribute, Attribute | None, str]
"""A part of a template, the part of the configuration at the same path (None: nothing), and the path."""


class _Misfit(Exception):
    def __init__(self, problem: str, missing: bool = False) -> None:
        super().__init__(problem)
        self.problem = problem
        self.missing = missing


def _misfit(path: str, found: Attribute, what: str) -> _Misfit:
    return _Misfit(f"{path} is {_spelled(found)}, {what}")


def _spelled(attribute: Attribute) -> str:
    """Return the text of an attribute for an error, so that the error does not grow with the file."""
    inside: list[Attribute | Type] = [attribute]
    for _ in range(MAX_SPELLED):
        if not inside:
            break
        inside += parts(inside.pop())
    else:
        return "something else"
    text = attribute.spell_untyped()
    return text if len(text) <= MAX_SPELLED else f"{text[:MAX_SPELLED]}…"


def configuration(constraints: Operation) -> Configuration:
    """Return the knobs that the configuration of the function around an `iree_codegen.smt.constraints` gives."""
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
            found = _combined(_lowering_config(function, root), translation)
            knobs = _laid_over(template, found)
    except RecursionError:
        # Aliases can nest attributes to any depth.
        message = "the knobs or the configuration are nested too deeply to be compared"
        raise LimitExceeded(message, location=constraints.location, op=constraints.name) from None
    except _Misfit as misfit:
        return Configuration({}, misfit.problem, misfit.missing)
    return Configuration(knobs)


def function_of(op: Operation) -> Operation | None:
    """Return the closest op around this one that has a name and is not a symbol table."""
    around = op.parent_op
    while around is not None and (around.symbol_name is None or is_symbol_table(around)):
        around = around.parent_op
    return around


def _of(definition: AttributeDefinition, found: Attribute | None) -> DialectAttr | None:
    return found if isinstance(found, DialectAttr) and found.definition is definition else None


def _lowering_config(function: Operation, root: Attribute) -> DialectAttr:
    """Return the configuration of the first op of the set that has a configuration."""
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
    """Return the entries of a lowering_config together with those of the translation_info."""
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


def _laid_over(template: Attribute, config: Attribute) -> dict[str, int]:
    """Return the knobs of a template, with their values. Raises _Misfit at the first place where the template does not
    fit.
    """
    knobs: dict[str, int] = {}
    stack: list[Place] = [(template, config, "")]
    while stack:
        part, found, path = stack.pop()
        if found is None:
            raise _Misfit(f"the configuration has no {path}", missing=True)
        if isinstance(part, DialectAttr) and part.definition in (INT_KNOB, ONE_OF_KNOB):
            knobs[part["name"].value] = _choice(part, found, path)
        else:
            stack += reversed(list(_inside(part, found, path)))
    return knobs


def _inside(template: Attribute, found: Attribute, path: str) -> Iterator[Place]:
    """Yield the parts inside a part of the template. Raises _Misfit."""
    if isinstance(template, DictionaryAttr):
        if not isinstance(found, DictionaryAttr):
            raise _misfit(path, found, "not a dictionary")
        for name, inner in template.entries:
            yield inner, found.mapping.get(name), _longer(path, f".{name}" if path else name)
    elif isinstance(template, ArrayAttr):
        if not isinstance(found, ArrayAttr) or len(found.elements) != len(template.elements):
            raise _misfit(path, found, f"not an array of {len(template.elements)}")
        for index, (inner, element) in enumerate(zip(template.elements, found.elements, strict=True)):
            yield inner, element, _longer(path, f"[{index}]")
    elif isinstance(template, IntegerAttr):
        if not isinstance(found, IntegerAttr) or _number(found) != _number(template):
            raise _misfit(path, found, f"not {template.spell_untyped()}")
    else:
        attributes, types = _split(template)
        others, other_types = _split(found)
        alike = _kind(template) == _kind(found) and types == other_types and len(attributes) == len(others)
        if not alike or (not attributes and template != found):
            raise _misfit(path, found, f"not {_spelled(template)}")
        yield from ((inner, other, path) for inner, other in zip(attributes, others, strict=True))


def _longer(path: str, more: str) -> str:
    """Return a path with one more step; a very long path stays as it is."""
    return f"{path}{more}" if len(path) < MAX_SPELLED else path


def _choice(knob: DialectAttr, found: Attribute, path: str) -> int:
    if knob.definition is INT_KNOB:
        if not isinstance(found, IntegerAttr):
            raise _misfit(path, found, "not an integer")
        return _number(found)
    options: tuple[Attribute, ...] = knob["options"].elements
    if found not in options:
        raise _misfit(path, found, f"none of the options of {knob['name']}")
    return options.index(found)


def _split(attribute: Attribute) -> tuple[list[Attribute], list[Type]]:
    inside = list(parts(attribute))
    return [part for part in inside if isinstance(part, Attribute)], [part for part in inside if isinstance(part, Type)]


def _kind(attribute: Attribute) -> object:
    return attribute.definition if isinstance(attribute, DialectAttr | EnumAttr) else type(attribute)


def _number(attribute: IntegerAttr) -> int:
    """Return the low 64 bits as a signed number."""
    width = min(attribute.type.width if isinstance(attribute.type, IntegerType) else 64, 64)
    code = attribute.code & ((1 << width) - 1)
    return code - (1 << width) if width and code >> (width - 1) else code
