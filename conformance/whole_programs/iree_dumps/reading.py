"""Read what IREE's compiler printed: iree-opt converts the texts, all in one process, to MLIR's generic form."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from halfulp.conformance.oracles.iree import converter
from halfulp.conformance.oracles.oracle import OracleError
from halfulp.conformance.oracles.tool import Tool
from halfulp.interp.ir.errors import HalfulpError, Unsupported
from halfulp.interp.ir.operations import Module
from halfulp.interp.loading import parse_module

_MARKER = "// ===== the next dump ====="
"""A line that no dump has: a cut one may well end with the beginning of a header, which is MLIR's own marker."""
# A function that is printed alone names symbols that are not there, which iree-opt must not check.
_OPTIONS = (
    "--allow-unregistered-dialect",
    "--mlir-print-op-generic",
    "--mlir-print-local-scope",
    "--mlir-very-unsafe-disable-verifier-on-parsing",
    f"--split-input-file={_MARKER}",
    f"--output-split-marker={_MARKER}",
)


def read_all(texts: Iterable[str]) -> Mapping[str, Module | HalfulpError]:
    """Read each text, without the rules of its ops: a dump of a function alone may break those on symbols.

    Raises Unavailable if iree-opt is not installed.
    """
    distinct = list(dict.fromkeys(texts))
    return dict(zip(distinct, _read_together(converter(), distinct), strict=True))


def _read_together(tool: Tool, texts: Sequence[str]) -> list[Module | HalfulpError]:
    """Read texts in one process. If it fails as a whole, read each half by itself: one text may have stopped it."""
    if not texts:
        return []
    try:
        printed = tool.finished(_OPTIONS, f"\n{_MARKER}\n".join(texts)).printed.split(_MARKER)
        problem = f"it printed {len(printed)} of {len(texts)} dumps"
    except OracleError as error:
        printed, problem = [], str(error)
    if len(printed) == len(texts):
        return [_read(generic) for generic in printed]
    if len(texts) == 1:
        return [Unsupported(f"iree-opt: {problem}")]
    middle = len(texts) // 2
    return _read_together(tool, texts[:middle]) + _read_together(tool, texts[middle:])


_NO_FLAGS = re.compile(r'("vector\.contract"\(.*?)fastmath = #arith\.fastmath<none>, ')
"""A property that vector.contract has in the LLVM of IREE, with the value that changes nothing."""


def _read(generic: str) -> Module | HalfulpError:
    if not generic.strip():
        return Unsupported("iree-opt cannot read it")
    try:
        return parse_module(_NO_FLAGS.sub(r"\1", generic), "<iree-opt>", verify=False)
    except HalfulpError as error:
        return error
