"""The options of ``halfulp translate``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from halfulp.command.option import CommandHelp, option
from halfulp.command.options.calls import SOURCE_FILE, DiagnosticsOption


@dataclass(frozen=True, kw_only=True)
class TranslateArguments(DiagnosticsOption):
    """The options of ``halfulp translate``."""

    file: str = option(metavar="FILE", help=SOURCE_FILE)
    output: str | None = option("-o", metavar="FILE", help="write there instead of to stdout")
    generic: bool = option("--mlir-print-op-generic", "--generic", action="store_true", help="print the generic form")
    debug_info: bool = option("--mlir-print-debuginfo", "--debug-info", action="store_true", help="print locations")
    split_input_file: bool = option(
        "--split-input-file", action="store_true", help="read each part between '// -----' on its own"
    )
    allow_unregistered_dialect: bool = option(
        "--allow-unregistered-dialect", action="store_true", help="accept ops that halfulp does not know"
    )
    emit_bytecode: bool = option(
        "--emit-bytecode", action="store_true", help="write bytecode: for MLIR 22, the bytes that mlir-opt writes"
    )
    emit_bytecode_version: int | None = option(
        "--emit-bytecode-version",
        type=int,
        choices=range(7),
        metavar="N",
        help="the version of the format, 0 to 6 (default); 4 is read by every MLIR since 17",
    )
    emit_bytecode_producer: str | None = option(
        "--emit-bytecode-producer", metavar="NAME", help="the name in the file (default: MLIR22-halfulp, by the schema)"
    )
    schema: Literal["mlir22", "llvm24", "newer"] | None = option(
        "--schema",
        choices=("mlir22", "llvm24", "newer"),
        help="the MLIR to write for: mlir22 refuses what only newer MLIR has; llvm24, or newer, is another layout of "
        "bytecode, and does not pack i1 in blobs of text (default: MLIR 22's spelling of anything; bytecode: mlir22)",
    )
    verify_diagnostics: bool = option(
        "--verify-diagnostics",
        action="store_true",
        help="compare the errors with the comments // expected-error {{...}} of the file, as mlir-opt does; "
        "2 where they differ",
    )


COMMAND = CommandHelp(
    TranslateArguments,
    "Read and verify MLIR text or bytecode, and print it as text, or with --emit-bytecode as bytecode.",
)
