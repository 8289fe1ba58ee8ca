"""Swizzled accesses against the constants that iree-opt 3.13 folds."""

from __future__ import annotations

import re

from halfulp.conformance.oracles.tool import run_bounded
from halfulp.interp.values.memref_layout import RotateRows, Swizzle, XorShuffle, places

CASES: list[tuple[str, Swizzle]] = [
    *(
        (f"rotate_rows<{row}, {access}>", RotateRows(row, access))
        for row, access in ((16, 4), (64, 8), (12, 4), (6, 1))
    ),
    *(
        (f"xor_shuffle<{row}, {access}, {stride}, {phase}>", XorShuffle(row, access, stride, phase))
        for row, access, stride in ((16, 4, 16), (16, 4, 48), (64, 8, 64), (12, 4, 24))
        for phase in (1, 2, 3)
    ),
    ("xor_shuffle<16, 4>", XorShuffle(16, 4, 16)),
    ("xor_shuffle<32, 8, 64>", XorShuffle(32, 8, 64)),
]
OFFSETS = (*range(0, 60, 3), 68, 100, 129, 500, 777)
PIPELINE = "builtin.module(func.func(iree-codegen-resolve-swizzle-hints, canonicalize))"
WIDTHS = (1, 2)
"""Numbers of groups in a vector."""


def module_of_accesses() -> str:
    """Return a function for each attribute, offset and width, which loads a vector from a hinted memref."""
    functions: list[str] = []
    for spelling, swizzle in CASES:
        for width in WIDTHS:
            vector = f"vector<{width * swizzle.access_width}xf32>"
            for offset in OFFSETS:
                functions.append(f"""\
func.func @f{len(functions)}(%m: memref<4096xf32>) -> {vector} {{
  %h = iree_codegen.swizzle_hint %m[#iree_codegen.{spelling}] : memref<4096xf32>
  %o = arith.constant {offset} : index
  %v = vector.load %h[%o] : memref<4096xf32>, {vector}
  return %v : {vector}
}}
""")
    return "".join(functions)


def folded(function: str) -> list[int]:
    """Return the constant offsets of the loads of a function, in the order in which they fill the vector."""
    constants = {name: int(value) for name, value in re.findall(r"(%c\d+) = arith.constant (\d+) : index", function)}
    constants |= dict.fromkeys(re.findall(r"%c0(?!\d)", function), 0)
    return [constants[name] for name in re.findall(r"vector.load %arg0\[(%\w+)\]", function)]


def test_offsets_that_iree_opt_folds(iree_opt: str) -> None:
    answer = run_bounded([iree_opt, f"--pass-pipeline={PIPELINE}"], module_of_accesses().encode(), 60)
    assert answer.returncode == 0, answer.stderr.decode()
    functions = answer.stdout.decode().split("func.func @f")[1:]
    asked = [(swizzle, width, offset) for _, swizzle in CASES for width in WIDTHS for offset in OFFSETS]
    assert len(functions) == len(asked)
    for function, (swizzle, width, offset) in zip(functions, asked, strict=True):
        found = places(swizzle, offset, width * swizzle.access_width)
        groups = found.reshape(width, swizzle.access_width)
        assert folded(function) == groups[:, 0].tolist(), (swizzle, offset)
        assert (groups == groups[:, :1] + range(swizzle.access_width)).all()
