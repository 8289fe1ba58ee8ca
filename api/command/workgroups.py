"""``halfulp workgroups``: how many workgroups a function is dispatched with."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from halfulp.command import running as cli_running
from halfulp.command.common import EXIT_CODES, SUCCESS, Sources, profile_named, read, report, write

if TYPE_CHECKING:
    from halfulp.codegen.workgroups import Workgroups
    from halfulp.interp.ir.operations import Module

_WORKGROUPS = """\
The iree_codegen.dispatch_config of the function computes the count from the workload. If there is none, the function
runs, and each iree_codegen.workgroup_count_hint that runs asks for a count. The result is the largest count in each
dimension.

  halfulp workgroups dispatch.mlir --function=matmul --input=128 --input=128 --input=1000
  count: 4 1 1
  workgroup_size: 64 16 1
  subgroup_size: 64

--input: the workload values of the dispatch_config, or the arguments of the function, as for halfulp run
"""


def register(commands: Any, style: dict[str, Any]) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "workgroups",
        help="compute the number of workgroups of a function",
        description="Compute the number of workgroups of a function, from its dispatch_config or its hints.",
        epilog=f"{_WORKGROUPS}\n{EXIT_CODES}",
        **style,
    )
    add = parser.add_argument
    add("file", metavar="FILE", help="MLIR text or bytecode, or - for the standard input")
    add(
        "--function",
        metavar="NAME",
        help="the function (default: the only one with a dispatch_config, or the only public one)",
    )
    add("--input", action="append", default=[], metavar="VALUE", help="the next workload value or argument")
    add("--json", action="store_true", help="print one JSON object")
    cli_running.semantics_options(parser)
    cli_running.call_options(parser)
    parser.set_defaults(command=_workgroups)


def _workgroups(arguments: argparse.Namespace) -> int:
    from halfulp.interp.ir.errors import HalfulpError

    sources = Sources(arguments)
    try:
        found = _found(read(arguments.file, sources).module(), arguments, sources)
    except HalfulpError as error:
        return report(error, sources)
    known = found.known()
    if arguments.json:
        write(json.dumps(known) + "\n")
        return SUCCESS
    for name, value in known.items():
        write(f"{name}: {' '.join(map(str, value)) if isinstance(value, tuple) else value}\n")
    return SUCCESS


def _found(module: Module, arguments: argparse.Namespace, sources: Sources) -> Workgroups:
    """What the options ask for. Raises HalfulpError."""
    from halfulp.codegen.workgroups import find_dispatch, named, workgroups
    from halfulp.interp.ir.errors import TypeMismatch
    from halfulp.interp.run.executor import Limits, argument_types

    dispatch = find_dispatch(module, arguments.function)
    types = argument_types(dispatch)
    if len(arguments.input) != len(types):
        raise TypeMismatch(
            f"{named(dispatch)} takes {len(types)} values ({', '.join(map(str, types))}), but {len(arguments.input)} "
            "are given",
            location=dispatch.location,
            hint="give each with --input",
        )
    limits = Limits()
    max_bytes = arguments.max_bytes or limits.bytes
    return workgroups(
        module,
        *cli_running.inputs(arguments, types, sources, max_bytes),
        entry=arguments.function,
        profile=profile_named(arguments.profile),
        index_width=arguments.index_width,
        vscale=arguments.vscale,
        max_steps=arguments.max_steps or limits.steps,
        max_depth=arguments.max_depth or limits.depth,
        max_bytes=max_bytes,
    )
