"""One file per dialect; each op is one declaration. `BUILT_IN` lists the dialects every registry starts with,
`ON_DEMAND` those that it imports when a program names them.
"""

from halfulp.interp.dialects.arith import arith
from halfulp.interp.dialects.builtin import builtin
from halfulp.interp.dialects.cf import cf
from halfulp.interp.dialects.func import func
from halfulp.interp.dialects.quant import quant
from halfulp.interp.dialects.scf import scf
from halfulp.interp.dialects.tensor import tensor
from halfulp.interp.dialects.ub import ub
from halfulp.interp.dialects.vector import vector

BUILT_IN = (builtin, arith, cf, func, quant, scf, tensor, ub, vector)

ON_DEMAND = {
    name: f"{__name__}.{name}" for name in ("affine", "iree_codegen", "iree_cpu", "iree_gpu", "linalg", "memref", "smt")
}
