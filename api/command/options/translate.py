"""The options of ``halfulp translate``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from halfulp.command.option import CommandHelp
from halfulp.command.options.calls import SOURCE_FILE, DiagnosticsOption
from halfulp.described import option


@dataclass(frozen=True, kw_only=True)
class TranslateArguments(DiagnosticsOption):
    """The options of ``halfulp translate``."""

    file: str = option(metavar="FILE", help=SOURCE_FILE)
    output: str | None = option("-o", metavar="FILE", help="write to this file instead of stdout")
    generic: bool = option("--mlir-print-op-generic", "--generic", action="store_true", help="print the generic form")
    debug_info: bool = option("--mlir-print-debuginfo", "--debug-info", action="store_true", help="print locations")
    split_input_file: bool = option(
        "--split-input-file",
        action="store_true",
        help="read each part of the file separately; lines '// -----' divide parts",
    )
    allow_unregistered_dialect: bool = option(
        "--allow-unregistered-dialect", action="store_true", help="accept ops that halfulp does not know"
    )
    emit_bytecode: bool = option(
        "--emit-bytecode", action="store_true", help="write bytecode; for MLIR 22, the same bytes as mlir-opt"
    )
    emit_bytecode_version: int | None = option(
        "--emit-bytecode-version",
        type=int,
        choices=range(7),
        metavar="N",
        help="the version of the format, 0 to 6 (default: 6); every MLIR since 17 can read version 4",
    )
    emit_bytecode_producer: str | None = option(
        "--emit-bytecode-producer",
        metavar="NAME",
        help="the name in the file (default: by the schema, as MLIR22-halfulp)",
    )
    schema: Literal["mlir22", "llvm24", "newer"] | None = option(
        "--schema",
        choices=("mlir22", "llvm24", "newer"),
        help=(
            "the MLIR to write for. mlir22: refuse everything that only newer MLIR has. llvm24 or newer: use "
            "the newer layout of bytecode, and do not pack i1 in blobs of text. Default for bytecode: mlir22; "
            "for text: MLIR 22's spelling, but nothing is refused"
        ),
    )
    verify_diagnostics: bool = option(
        "--verify-diagnostics",
        action="store_true",
        help=(
            "compare the errors with the comments // expected-error {{...}} in the file, as mlir-opt does; "
            "exit with 2 if they differ"
        ),
    )


COMMAND = CommandHelp(
    TranslateArguments,
    "Read and verify MLIR text or bytecode. Print it as text, or with --emit-bytecode as bytecode.",
)
