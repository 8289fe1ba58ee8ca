"""Compute how many workgroups a dispatch starts, from `iree_codegen.dispatch_config` and `workgroup_count_hint`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Unpack

from halfulp.fp_formats.formats import codes_to_ints
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir.attributes import DYNAMIC
from halfulp.interp.ir.errors import InputError, TypeMismatch, UndefinedBehavior, wrong_count
from halfulp.interp.ir.operations import Module, Operation, argument_types, is_symbol_table
from halfulp.interp.run.program import program_for
from halfulp.interp.run.settings import Listener, Settings
from halfulp.interp.run.stochastic import refuse_stochastic
from halfulp.interp.values.value import Value, to_value
from halfulp.loading import Source, load
from halfulp.running import CallKeywords, find_entry, function_path, run_options, run_with, takes

CONFIG = "iree_codegen.dispatch_config"
HINT = "iree_codegen.workgroup_count_hint"
_AXES = "xyz"


@dataclass(frozen=True, slots=True, repr=False)
class Workgroups:
    """The numbers of a dispatch: the ``count`` of workgroups (x, y, z), and the other numbers of its dispatch_config.

    ``workgroup_size``: one to three numbers. ``workgroup_size``, ``subgroup_size`` and ``workgroup_local_memory`` come
    from the dispatch_config; each is None if it does not have it.
    """

    count: tuple[int, int, int]
    workgroup_size: tuple[int, ...] | None = None
    subgroup_size: int | None = None
    workgroup_local_memory: int | None = None

    def known(self) -> dict[str, Any]:
        """Return a dictionary of the known numbers by name."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value is not None}

    def __repr__(self) -> str:
        return f"Workgroups({', '.join(f'{name}={value!r}' for name, value in self.known().items())})"


@takes(CallKeywords)
def workgroups(module: Module | Source, *arguments: Any, **options: Unpack[CallKeywords]) -> Workgroups:
    """Compute the workgroup count of a dispatch.

    If the module has an ``iree_codegen.dispatch_config`` for the function, its region computes the count, and
    ``arguments`` are the workload values. The function does not run, and may be missing. Otherwise the function runs
    with ``arguments``: in each dimension, the count is the signed maximum of all ``iree_codegen.workgroup_count_hint``
    that run in it and in the functions that it calls. A dimension that a hint does not name is 1.

    ``function`` may also be the name of the function of a dispatch_config. It may be left out, too, if the module has
    only one dispatch_config.

    {options}

    Raises InputError if the function does not exist, if no hint has run, and for a hint of more than three sizes;
    TypeMismatch for arguments of a wrong type; UndefinedBehavior for a count that is poison, also with
    ``on_ub="poison"``; and the errors of `run`.
    """
    if not isinstance(module, Module):
        module = load(module)
    chosen = run_options("workgroups", CallKeywords, options)
    refuse_stochastic(chosen.profile, "workgroups")
    dispatch = find_dispatch(module, chosen.function)
    if dispatch.name == CONFIG:
        return _configured(module, dispatch, arguments, chosen)
    hints = _Hints(chosen.index_width)
    run_with(module, arguments, replace(chosen, function=function_path(dispatch), listeners=(hints,)))
    if hints.count is None:
        raise InputError(
            f"no {HINT} ran in '@{dispatch.symbol_name}', and there is no {CONFIG} for it", location=dispatch.location
        )
    return Workgroups(hints.count)


def find_dispatch(module: Module, entry: str | None = None) -> Operation:
    """Return the op that determines the count: the dispatch_config of the named function, or the only dispatch_config;
    without one, the function. Raise InputError if there are several.
    """
    configs = [
        op for op in module.walk() if op.name == CONFIG and op.parent_op is not None and is_symbol_table(op.parent_op)
    ]
    if entry is not None:
        wanted = "::".join(f"@{name.removeprefix('@')}" for name in entry.split("::"))
        configs = [op for op in configs if _path(op) == wanted]
    if not configs:
        return find_entry(module, entry)
    if len(configs) > 1:
        first, *others = configs
        same = all(_path(op) == _path(first) for op in others)
        what = (
            f"'{_path(first)}' has {len(configs)} of them"
            if same
            else f"the functions with one are {', '.join(map(_path, configs))}"
        )
        raise InputError(
            f"there are several {CONFIG}, but only one can run: {what}",
            location=others[0].location if same else None,
            op=CONFIG,
            hint=None if same else 'name the function: function="…" (--function=…)',
        )
    return configs[0]


def named(dispatch: Operation) -> str:
    """Return a name for the op that `find_dispatch` returned, for error messages."""
    return f"the dispatch_config of {_path(dispatch)}" if dispatch.name == CONFIG else f"@{dispatch.symbol_name}"


def _path(config: Operation) -> str:
    """Return the path of the function that a dispatch_config belongs to."""
    function = config.prop("function_ref", at.SymbolRefAttr)
    assert config.parent_op is not None
    around = function_path(config.parent_op)
    return f"{around}::@{function.root}" if around else f"@{function.root}"


def _configured(module: Module, config: Operation, arguments: Sequence[Any], settings: Settings) -> Workgroups:
    """Compute the count with the region of a dispatch_config, from the workload."""
    types, name = argument_types(config), named(config)
    if len(arguments) != len(types):
        raise TypeMismatch(
            wrong_count(name, "workload value", types, len(arguments)),
            location=config.location,
        )
    values = []
    for index, (argument, type_) in enumerate(zip(arguments, types, strict=True)):
        what = f"workload value {index} of {name}"
        values.append(settings.accepted(to_value(argument, type_, what, settings.vscale), what))
    results = program_for(module, settings).run(config, values)
    end = config.regions[0].blocks[0].operations[-1]
    x, y, z = (_size(value, axis, end, settings.index_width) for value, axis in zip(results, _AXES, strict=True))
    sizes, subgroup = config.properties.get("workgroup_size"), config.properties.get("subgroup_size")
    memory = config.properties.get("workgroup_local_memory")
    return Workgroups(
        (x, y, z),
        tuple(sizes.values) if isinstance(sizes, at.DenseArrayAttr) else None,
        subgroup.value if isinstance(subgroup, at.IntegerAttr) else None,
        memory.value if isinstance(memory, at.IntegerAttr) else None,
    )


class _Hints(Listener):
    """A listener that keeps the largest count of all hints so far; None before the first hint."""

    def __init__(self, index_width: int) -> None:
        self.index_width = index_width
        self.count: tuple[int, int, int] | None = None

    def op_will_run(self, op: Operation, operands: Sequence[Any]) -> None:
        """Take the sizes of a hint."""
        if op.name != HINT:
            return
        written = op.prop("static_sizes", at.DenseArrayAttr)
        if len(written.codes) > len(_AXES):
            raise InputError(
                f"{HINT}: {len(written.codes)} sizes, but a workgroup count has {len(_AXES)}",
                location=op.location,
                op=op.name,
            )
        given = iter(operands)
        sizes = [
            _size(next(given), axis, op, self.index_width) if code == DYNAMIC else number
            for axis, code, number in zip(_AXES, written.codes, written.values, strict=False)
        ]
        x, y, z = (*sizes, *(1 for _ in _AXES[len(sizes) :]))
        before = self.count or (x, y, z)
        self.count = max(before[0], x), max(before[1], y), max(before[2], z)


def _size(value: Value, axis: str, op: Operation, width: int) -> int:
    """Return one dimension of a count as a signed number. Raise UndefinedBehavior for poison."""
    if value.poison is not None:
        raise UndefinedBehavior(
            f"{op.name}: undefined behaviour: the workgroup count {axis} is poison: {value.origin()}",
            location=op.location,
            op=op.name,
            values=(value,),
        )
    (code,) = codes_to_ints(value.bits, 64)
    code &= (1 << width) - 1
    return code - (1 << width) if code >> (width - 1) else code
