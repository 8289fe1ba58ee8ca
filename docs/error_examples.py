"""An example of each kind of error, by its code. `generate.py` makes the page of them: it runs each one.

An example is an expression after ``import halfulp as hu``.
"""

from __future__ import annotations

from collections.abc import Mapping

OF_MLIR = "pass"
"""The kind of error that only mlir-opt causes."""

EXAMPLES: Mapping[str, str] = {
    "parse": 'hu.run("func.func @f() { retrun }")',
    "unknown-op": 'hu.load("func.func @f(%x: f32) { %y = gpu.shuffle xor %x, %x : f32 }")',
    "verify": 'hu.load("func.func @f(%x: f32) -> f64 { return %x : f32 }")',
    "type-mismatch": 'hu.run("examples/f8_add.mlir", [0.5, 1, 2], [1, 1, 1, 1])',
    "input": 'hu.run("examples/none.mlir")',
    "bytecode": r'hu.load(b"ML\xefR\x0d\x01")',
    "limit": 'hu.run("func.func @f() { call @f() : () -> () return }")',
    "steps": 'hu.run("func.func @f() { cf.br ^a ^a: cf.br ^a }", max_steps=1000)',
    "unsupported": """hu.run('func.func @f() { "my.op"() : () -> () return }')""",
    "undefined-behavior": 'hu.eval("arith.divsi", 1, 0, type="i8")',
    "assertion": """hu.run('func.func @f(%x: i1) { cf.assert %x, "x is false" return }', False)""",
    "not-storable": 'hu.vectors("arith.shli", "i4", level="exhaustive").write("out", formats="testfloat")',
    "pass": 'hu.bisect("examples/sum.mlir", pipeline="builtin.module(canonicalise)", mlir="22")',
}
