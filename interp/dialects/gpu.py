"""The gpu dialect: the attributes by which loops name what runs their iterations. None of its ops is known."""

from __future__ import annotations

from halfulp.interp.declare.declarations import Dialect
from halfulp.interp.declare.parameters import INTEGER
from halfulp.interp.ir.dialect_attributes import EnumDefinition, Parameter

gpu = Dialect("gpu", partial=True)

_IDS = {name: number for number, name in enumerate(("x", "y", "z", *(f"linear_dim_{k}" for k in range(10))))}

for _mnemonic in ("block", "warpgroup", "warp", "thread", "lane"):
    gpu.enum(EnumDefinition("::mlir::gpu::MappingId", _IDS, mnemonic=f"gpu.{_mnemonic}"))

MASK = gpu.attribute("mask", "`<` $mask `>`", parameters=(Parameter("mask", INTEGER),))
