"""Read what IREE's compiler printed: iree-opt converts the texts, all in one process, to MLIR's generic form."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from halfulp.conformance.oracles.iree import converter
from halfulp.conformance.oracles.oracle import OracleError
from halfulp.interp.ir.errors import HalfulpError, Unsupported
from halfulp.interp.ir.operations import Module
from halfulp.interp.loading import parse_module
from halfulp.interp.text.split_input import split_input

_MARKER = "\n// -----\n"
# A function that is printed alone names symbols that are not there, which iree-opt must not check.
_OPTIONS = (
    "--allow-unregistered-dialect",
    "--mlir-print-op-generic",
    "--mlir-print-local-scope",
    "--mlir-very-unsafe-disable-verifier-on-parsing",
    "--split-input-file",
)


def read_all(texts: Iterable[str]) -> Mapping[str, Module | HalfulpError]:
    """Read each text, without the rules of its ops: a dump of a function alone may break those on symbols.

    Raises Unavailable if iree-opt is not installed.
    """
    distinct = list(dict.fromkeys(texts))
    tool = converter()
    try:
        printed = [part.text for part in split_input(tool.finished(_OPTIONS, _MARKER.join(distinct)).printed)]
    except OracleError as error:
        return {text: Unsupported(f"iree-opt: {error}") for text in distinct}
    if len(printed) != len(distinct):
        return {text: Unsupported(f"iree-opt printed {len(printed)} of {len(distinct)} dumps") for text in distinct}
    return {text: _read(generic) for text, generic in zip(distinct, printed, strict=True)}


_NO_FLAGS = re.compile(r'("vector\.contract"\(.*?)fastmath = #arith\.fastmath<none>, ')
"""A property that vector.contract has in the LLVM of IREE, with the value that changes nothing."""


def _read(generic: str) -> Module | HalfulpError:
    if not generic.strip():
        return Unsupported("iree-opt cannot read it")
    try:
        return parse_module(_NO_FLAGS.sub(r"\1", generic), "<iree-opt>", verify=False)
    except HalfulpError as error:
        return error
