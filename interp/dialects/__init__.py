"""One file per dialect; each op is one declaration. `BUILT_IN` lists the dialects every registry starts with."""

from halfulp.interp.dialects.arith import arith
from halfulp.interp.dialects.builtin import builtin
from halfulp.interp.dialects.cf import cf
from halfulp.interp.dialects.func import func
from halfulp.interp.dialects.quant import quant
from halfulp.interp.dialects.ub import ub

BUILT_IN = (builtin, arith, cf, func, quant, ub)
