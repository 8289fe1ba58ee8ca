"""Casts that no function is registered for: ops that are given one say so, whatever way they read their operands."""

import pytest

import halfulp as hu

USES = {
    "llvm.extractvalue": """
  %1 = llvm.extractvalue %0[0] : !llvm.struct<(i32, i32)>
  return %1 : i32""",
    "llvm.insertvalue": """
  %c = llvm.mlir.constant(1 : i32) : i32
  %1 = llvm.insertvalue %c, %0[0] : !llvm.struct<(i32, i32)>
  return %c : i32""",
}


@pytest.mark.parametrize("op", USES)
def test_ops_that_read_slots(op: str) -> None:
    text = f"""func.func @f(%x: i64) -> i32 {{
  %0 = builtin.unrealized_conversion_cast %x : i64 to !llvm.struct<(i32, i32)>{USES[op]}
}}"""
    with pytest.raises(hu.Unsupported, match=r"from 'i64' to '!llvm.struct<\(i32, i32\)>' is used, and no function"):
        hu.run(text, 1)
