"""Options that several commands share: of inputs and results, of semantics and of calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from halfulp.command.option import option, positive

INPUTS = """\
inputs:
  --input="4xf32=1 2 3 4"      a tensor or vector; "2x2xi8=[1 2][3 4]" with brackets, "f32=1.5" a scalar
  --input="4xf8E4M3FN=0.5"     one element for all
  --input="1 2 3 4"            elements alone take the type of the argument (eval: that of the input before)
  --input="dense<[1, 2]> : tensor<2xi8>"  --input="1.5 : f32"  MLIR's own notation
  --input=@a.npy               an array of the argument's dtype, or of raw bits (see outputs)
  --input="2x2xi32=@a.bin"     raw elements: row-major, little-endian, each in whole bytes
  A memref is given like a tensor; what stands in it afterwards is printed after the results: argument[0]: 4xf32=1 2 3 4
  --batch: one more leading axis, over the lanes: 4xf32, elements alone or a file for an f32 argument, 4x8xf32 or a
                               file for tensor<8xf32> or vector<8xf32>; without that axis, the same for all lanes
Elements are decimal numbers (read as MLIR reads literals), raw bits 0x7FC00000, nan, inf, -0.0, true, false, poison.

outputs:
  --output=@y.npy              the first result as an array (again for the next one) instead of on stdout. Types that
                               .npy files cannot hold (f4, f6, f8, bf16, tf32, f80, f128, integers of other widths than
                               1, 8, 16, 32 and 64) are written as raw bits: unsigned integers; wider than 64 bits,
                               uint64 words on a last axis, least significant first. --input=@y.npy takes them back.
  --expected_output="f32=1"    compare the first result (again for the next one) by type, bits and poison
  Both go on after the results with what stands in the memrefs that were given, in order.
"""
"""The meaning of ``--input`` and ``--output``, for the help of commands that have them."""

SOURCE_FILE = "MLIR text or bytecode, or - for the standard input"


@dataclass(frozen=True, kw_only=True)
class ProfileOption:
    """The profile."""

    profile: str = option(
        "--profile",
        default="spec",
        metavar="NAME[,FIELD=VALUE...]",
        help="the semantics where documents or tools differ",
    )


@dataclass(frozen=True, kw_only=True)
class SemanticsOptions(ProfileOption):
    """The semantics of results, and the limit on the size of a value."""

    index_width: Literal[64, 32] | None = option(
        "--index-width", type=int, choices=(64, 32), help="bits at which index wraps"
    )
    max_bytes: int | None = option("--max-bytes", type=positive, metavar="N", help="limit on the bytes of one value")


@dataclass(frozen=True, kw_only=True)
class ResultOptions(SemanticsOptions):
    """The options of all commands that compute results from inputs."""

    input: tuple[str, ...] = option("--input", action="append", metavar="VALUE", help="the next argument (see below)")
    output: tuple[str, ...] = option(
        "--output", action="append", metavar="@FILE", help="write the next result to a .npy file"
    )
    expected_output: tuple[str, ...] = option(
        "--expected_output", "--expected-output", action="append", metavar="VALUE", help="compare the next result"
    )
    on_ub: Literal["raise", "poison"] | None = option(
        "--on-ub", choices=("raise", "poison"), help="stop at undefined behaviour, or make it poison"
    )
    forbid_poison: bool = option(
        "--forbid-poison", action="store_true", help="exit with 4 when a result, or a memref afterwards, has poison"
    )
    mma: str | None = option(
        "--mma", metavar="MODEL", help="how tile operations add up: exact (default), ieee or chip:NAME"
    )


@dataclass(frozen=True, kw_only=True)
class DiagnosticsOption:
    """The form in which errors are printed."""

    diagnostics: Literal["text", "json"] = option(
        "--diagnostics",
        choices=("text", "json"),
        default="text",
        help="errors as text, or as one JSON object a line",
    )


@dataclass(frozen=True, kw_only=True)
class CallOptions(DiagnosticsOption):
    """The options of all commands that call a function."""

    vscale: int | None = option("--vscale", type=positive, metavar="N", help="the multiple of scalable vectors")
    max_steps: int | None = option("--max-steps", type=positive, metavar="N", help="limit on the ops executed")
    max_depth: int | None = option("--max-depth", type=positive, metavar="N", help="limit on nested calls")


@dataclass(frozen=True, kw_only=True)
class FunctionOptions(CallOptions, ResultOptions):
    """The file, the function that runs, and how it runs."""

    file: str = option(metavar="FILE", help=SOURCE_FILE)
    function: str | None = option(
        "--function", metavar="NAME", help="the function to call (default: the only public one); @a::@b if nested"
    )
    batch: bool = option(
        "--batch", action="store_true", help="call the function for each entry of the inputs (see below)"
    )
    check_hints: bool = option(
        "--check-hints",
        action="store_true",
        help="with --batch, stop where iree_codegen.index_hint claims wrongly",
    )
    swizzle: Literal["hint", "physical"] | None = option(
        "--swizzle",
        choices=("hint", "physical"),
        help="whether iree_codegen.swizzle_hint moves elements in memory",
    )
