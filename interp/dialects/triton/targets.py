"""The targets of Triton's compiler: what each of them does with the ops of TTGIR, as rows of data.

Sources: the lowerings of triton 3.9 (`TargetInfo` of its two backends, `MMAv2.cpp`, `WGMMA.cpp`, `MFMA.cpp`), the
machine code that it emits, PTX ISA 9.1 and AMD's instruction set guides for the bounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Operation

# --- approximations ---------------------------------------------------------------------------------------------------


class Approximation(NamedTuple):
    """An instruction whose bits nobody has published. ``bound``: the documented bound of its error, in words."""

    instruction: str
    bound: str


_FUNCTIONS = [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log10",
    "log1p",
    "log2",
    "powf",
    "rsqrt",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
]
_LIBRARY = Approximation("a function of its library", "not known")


def _approximations(**rows: tuple[str, str]) -> Mapping[str, Approximation]:
    named = {name: Approximation(*row) for name, row in rows.items()}
    return {f"math.{name}": named.get(name, _LIBRARY) for name in _FUNCTIONS} | {
        f"arith.{name}": named[name] for name in ("divf",) if name in named
    }


_OF_CUDA = _approximations(
    exp=("ex2.approx.f32 of x * log2(e)", "2 ulp"),
    exp2=("ex2.approx.ftz.f32", "2 ulp"),
    sqrt=("sqrt.approx.ftz.f32", "relative 2^-23"),
    rsqrt=("rsqrt.approx.ftz.f32", "relative 2^-22.9"),
    divf=("div.full.f32", "2 ulp"),
)
_OF_HIP = _approximations(
    exp=("v_exp_f32 of x * log2(e)", "1 ulp"),
    exp2=("v_exp_f32", "1 ulp"),
    log=("v_log_f32", "1 ulp"),
    log2=("v_log_f32", "1 ulp"),
    sqrt=("v_sqrt_f32", "1 ulp"),
    rsqrt=("v_rsq_f32", "1 ulp"),
)

# --- targets ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Target:
    """A target of Triton's compiler."""

    name: str
    #: The model of its matrix unit; "" if nobody has published one.
    model: str
    #: The float types of which a thread adds two at a time in a reduction.
    packed: frozenset[str]
    #: The ops of arith that a reduction within a thread applies to three values at a time.
    ternary: frozenset[str]
    #: The distances of the shuffles that reduce a whole wave by shifts; empty if it goes by exclusive or.
    shifts: tuple[int, ...]
    #: The float types whose products are fused into additions.
    fused: frozenset[str]
    #: The float types of which twice a product is a fused multiply-add of the product.
    doubled: frozenset[str]
    #: Which of two products with as many uses an addition takes: 0 for the first one, 1 for the second one.
    preferred: int
    #: The kinds of atomic ops on integers whose operands for one address a wave first combines as unsigned numbers,
    #: though they are signed. It does so if nobody uses what was there before.
    unsigned: frozenset[str]
    #: The ops that are computed by instructions whose bits are not published.
    approximate: Mapping[str, Approximation]

    @property
    def is_cuda(self) -> bool:
        """True for a GPU of NVIDIA."""
        return self.name.startswith("cuda")


_FLOATS = frozenset(("maximumf", "minimumf", "maxnumf", "minnumf"))
_INTEGERS = frozenset(("maxsi", "minsi", "maxui", "minui"))
_HALVES = frozenset(("f16", "bf16"))
_F32 = frozenset(("f32",))
_WIDE = frozenset(("f32", "f64"))
_ALL = frozenset(("f16", "f32", "f64"))
_WAVE_OF_64, _WAVE_OF_32 = (8, 4, 2, 1, 16, 32), (8, 4, 2, 1, 16)
_NONE = frozenset[str]()
_EXTREMES = frozenset(("max", "min"))


def _cuda(name: str, model: str, packed: frozenset[str], ternary: frozenset[str]) -> Target:
    return Target(f"cuda:{name}", model, packed, ternary, (), _ALL | {"bf16"}, _WIDE, 0, _NONE, _OF_CUDA)


def _hip(name: str, model: str, packed: frozenset[str], shifts: tuple[int, ...], unsigned: frozenset[str]) -> Target:
    return Target(f"hip:{name}", model, packed, _FLOATS, shifts, _ALL, _NONE, 1, unsigned, _OF_HIP)


TARGETS: Mapping[str, Target] = {
    target.name: target
    for target in (
        _cuda("80", "chip:sm_80", _NONE, _NONE),
        _cuda("86", "chip:sm_86", _NONE, _NONE),
        _cuda("89", "chip:sm_89", _NONE, _NONE),
        _cuda("90", "chip:sm_90", _HALVES, _INTEGERS),
        _cuda("100", "chip:sm_100", _HALVES | _F32, _FLOATS | _INTEGERS),
        _cuda("103", "", _HALVES | _F32, _FLOATS | _INTEGERS),
        _cuda("120", "chip:sm_120", _HALVES | _F32, _FLOATS | _INTEGERS),
        _hip("gfx942", "chip:gfx942", _HALVES | _F32, _WAVE_OF_64, _EXTREMES),
        _hip("gfx950", "", _HALVES | _F32, _WAVE_OF_64, _EXTREMES),
        _hip("gfx1100", "", _HALVES, _WAVE_OF_32, _NONE),
    )
}
"""The targets that are known, by the name that a module gives in ``ttg.target``."""


def target_of(op: Operation) -> Target | None:
    """Return the target that the module of an op names; None without one, as in TTIR.

    Raises Unsupported for a target that is not known.
    """
    top = op
    while top.parent_op is not None:
        top = top.parent_op
    named = top.attributes.get("ttg.target")
    if not isinstance(named, at.StringAttr):
        return None
    target = TARGETS.get(named.value)
    if target is None:
        raise Unsupported(
            f"the target '{named.value}' of the module is not known",
            location=op.location,
            op=op.name,
            hint=f"the known ones are {', '.join(TARGETS)}",
        )
    return target


def encoding_of(type_: ty.Type) -> at.Attribute | None:
    """Return the layout of a tensor; None if it has none, as in TTIR."""
    return type_.encoding if isinstance(type_, ty.TensorType) else None
