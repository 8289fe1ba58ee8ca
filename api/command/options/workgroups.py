"""The options of ``halfulp workgroups``."""

from __future__ import annotations

from dataclasses import dataclass

from halfulp.command.console import EXIT_CODES
from halfulp.command.option import CommandHelp
from halfulp.command.options.calls import SOURCE_FILE, CallOptions, SemanticsOptions
from halfulp.described import option

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


@dataclass(frozen=True, kw_only=True)
class WorkgroupsArguments(CallOptions, SemanticsOptions):
    """The options of ``halfulp workgroups``."""

    file: str = option(metavar="FILE", help=SOURCE_FILE)
    function: str | None = option(
        "--function",
        metavar="NAME",
        help="the function (default: the only one with a dispatch_config, or the only public one)",
    )
    input: tuple[str, ...] = option(
        "--input", action="append", metavar="VALUE", help="the next workload value or argument"
    )
    json: bool = option("--json", action="store_true", help="print one JSON object")


COMMAND = CommandHelp(
    WorkgroupsArguments,
    "Compute the number of workgroups of a function, from its dispatch_config or its hints.",
    f"{_WORKGROUPS}\n{EXIT_CODES}",
)
