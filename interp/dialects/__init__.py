"""One file per dialect; each op is one declaration. `BUILT_IN` lists the dialects every registry starts with,
`ON_DEMAND` those that it imports when a program names them.
"""

from halfulp.interp.dialects.arith import arith
from halfulp.interp.dialects.builtin import builtin
from halfulp.interp.dialects.cf import cf
from halfulp.interp.dialects.func import func
from halfulp.interp.dialects.quant.ops import quant
from halfulp.interp.dialects.scf.ops import scf
from halfulp.interp.dialects.tensor import tensor
from halfulp.interp.dialects.ub import ub
from halfulp.interp.dialects.vector import vector

BUILT_IN = (builtin, arith, cf, func, quant, scf, tensor, ub, vector)

ON_DEMAND = {
    **{name: f"{__name__}.{name}" for name in ("affine", "iree_cpu", "iree_gpu", "linalg", "smt")},
    **{name: f"{__name__}.{name}.ops" for name in ("iree_codegen", "memref")},
}
