"""``halfulp workgroups``: compute how many workgroups a function is dispatched with."""

from __future__ import annotations

import json

from halfulp.codegen.workgroups import Workgroups, find_dispatch, named, workgroups
from halfulp.command import running
from halfulp.command.console import SUCCESS, write
from halfulp.command.options.workgroups import WorkgroupsArguments
from halfulp.command.running import run_keywords
from halfulp.command.sources import Sources, read
from halfulp.interp.ir.errors import TypeMismatch, wrong_count
from halfulp.interp.ir.operations import Module, argument_types


def execute(arguments: WorkgroupsArguments, sources: Sources) -> int:
    """Execute the command, and return its exit code. Raise HalfulpError."""
    found = _found(read(arguments.file, sources).module(), arguments, sources)
    known = found.known()
    if arguments.json:
        write(json.dumps(known) + "\n")
        return SUCCESS
    for name, value in known.items():
        write(f"{name}: {' '.join(map(str, value)) if isinstance(value, tuple) else value}\n")
    return SUCCESS


def _found(module: Module, arguments: WorkgroupsArguments, sources: Sources) -> Workgroups:
    """Compute the workgroups that the options describe. Raise HalfulpError."""
    dispatch = find_dispatch(module, arguments.function)
    types = argument_types(dispatch)
    if len(arguments.input) != len(types):
        raise TypeMismatch(
            wrong_count(named(dispatch), "value", types, len(arguments.input)),
            location=dispatch.location,
            hint="give each with --input",
        )
    values = running.read_inputs(arguments.input, types, arguments.max_bytes, arguments.vscale, sources)
    return workgroups(module, *values, entry=arguments.function, **run_keywords(arguments))
