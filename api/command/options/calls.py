"""Options that several commands share: of inputs and results, of semantics and of calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from halfulp.described import option, positive, profile_option

INPUTS = """\
inputs:
  --input="4xf32=1 2 3 4"      a tensor or vector; "2x2xi8=[1 2][3 4]" with brackets, "f32=1.5" a scalar
  --input="4xf8E4M3FN=0.5"     one value for all elements
  --input="1 2 3 4"            elements without a type have the type of the argument (eval: of the input before)
  --input="dense<[1, 2]> : tensor<2xi8>"  --input="1.5 : f32"  MLIR's own notation
  --input=@a.npy               an array with the dtype of the argument, or with raw bits: unsigned integers, or for more
                               than 64 bits uint64 words on a last axis, least significant first
  --input="2x2xi32=@a.bin"     raw elements: row-major, little-endian, each in whole bytes
  A memref is given like a tensor.
Elements are decimal numbers (read like literals in MLIR), raw bits 0x7FC00000, nan, inf, -0.0, true, false, poison.
"""
"""The meaning of ``--input``, for the help of commands that have it."""

BATCHES = """\
  --batch: each input has one more leading axis, for the lanes. For an f32 argument: 4xf32, elements without a type, or
                               a file. For tensor<8xf32> or vector<8xf32>: 4x8xf32, or a file. An input without this
                               axis is the same for all lanes.
"""
"""The meaning of ``--batch``, for the help of commands that have it."""

OUTPUTS = """\
outputs:
  --output=@y.npy              write the first result to a file instead of stdout (repeat it for the next result). Types
                               that .npy files cannot hold (f4, f6, f8, bf16, tf32, f80, f128, integers of other widths
                               than 1, 8, 16, 32 and 64) are written as raw bits. --input=@y.npy reads them.
  --expected_output="f32=1"    compare the type, bits and poison of the first result (repeat it for the next result)
  The contents of the given memrefs after the run are printed after the results: argument[0]: 4xf32=1 2 3 4
  After the results, both options continue with these contents, in order.
"""
"""The meaning of ``--output``, for the help of commands that have it."""

SOURCE_FILE = "MLIR text or bytecode, or - for the standard input"


@dataclass(frozen=True, kw_only=True)
class ProfileOption:
    """The profile."""

    profile: str = profile_option()


@dataclass(frozen=True, kw_only=True)
class SemanticsOptions(ProfileOption):
    """The semantics of results, and the limit on the size of a value."""

    index_width: Literal[64, 32] | None = option(
        "--index-width", type=int, choices=(64, 32), help="the width of index values, in bits (default: 64)"
    )
    max_bytes: int | None = option(
        "--max-bytes", type=positive, metavar="N", help="the largest size of one value, in bytes"
    )


@dataclass(frozen=True, kw_only=True)
class InputOptions(SemanticsOptions):
    """The options of all commands that compute with inputs."""

    input: tuple[str, ...] = option("--input", action="append", metavar="VALUE", help="the next argument (see below)")
    on_ub: Literal["raise", "poison"] | None = option(
        "--on-ub",
        choices=("raise", "poison"),
        help="at undefined behaviour: stop with an error (default), or give poison",
    )
    mma: str | None = option(
        "--mma",
        metavar="MODEL",
        help="the model that adds in tile operations: exact (default), ieee, chip:NAME or custom:FIELD=VALUE,...",
    )


@dataclass(frozen=True, kw_only=True)
class ResultOptions(InputOptions):
    """The options of all commands that show or compare results."""

    output: tuple[str, ...] = option(
        "--output", action="append", metavar="@FILE", help="write the next result to a .npy file"
    )
    expected_output: tuple[str, ...] = option(
        "--expected_output",
        "--expected-output",
        action="append",
        metavar="VALUE",
        help="compare the next result with this value",
    )
    forbid_poison: bool = option(
        "--forbid-poison", action="store_true", help="exit with 4 if a result, or a memref after the run, has poison"
    )


@dataclass(frozen=True, kw_only=True)
class DiagnosticsOption:
    """The form in which errors are printed."""

    diagnostics: Literal["text", "json"] = option(
        "--diagnostics",
        choices=("text", "json"),
        default="text",
        help="print errors as text, or as one JSON object per line",
    )


@dataclass(frozen=True, kw_only=True)
class CallOptions(DiagnosticsOption):
    """The options of all commands that call a function."""

    vscale: int | None = option(
        "--vscale", type=positive, metavar="N", help="the factor of the size of scalable vectors"
    )
    max_steps: int | None = option(
        "--max-steps", type=positive, metavar="N", help="the largest number of ops to execute"
    )
    max_depth: int | None = option("--max-depth", type=positive, metavar="N", help="the largest depth of nested calls")


@dataclass(frozen=True, kw_only=True)
class FunctionOptions(CallOptions, InputOptions):
    """The file, the function that runs, and how it runs."""

    file: str = option(metavar="FILE", help=SOURCE_FILE)
    function: str | None = option(
        "--function",
        metavar="NAME",
        help="the function to call (default: the only public one); @a::@b for a nested one",
    )
    random: str | None = option(
        "--random",
        metavar="SOURCE",
        help="the random bits, if the profile has program_rounding=stochastic: philox:seed=1 or "
        "lfsr:width=16,taps=16+14+13+11,seed=1",
    )
    swizzle: Literal["hint", "physical"] | None = option(
        "--swizzle",
        choices=("hint", "physical"),
        help="physical: iree_codegen.swizzle_hint moves elements in memory; hint (default): it does not",
    )


@dataclass(frozen=True, kw_only=True)
class FunctionResultOptions(FunctionOptions, ResultOptions):
    """The function that runs, once or for each lane of a batch, and what becomes of its results."""

    batch: bool = option(
        "--batch", action="store_true", help="call the function for each entry of the inputs (see below)"
    )
    check_hints: bool = option(
        "--check-hints",
        action="store_true",
        help="with --batch: stop if an iree_codegen.index_hint is wrong",
    )
