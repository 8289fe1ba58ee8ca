"""Profiles: a field for every choice that documents leave open and for every systematic deviation of a real tool.

`PROFILES` is the table. Kernels are built for one profile, so that executing them costs nothing for the fields. A field
can be set on its own: ``Profile(base="spec", qcast_rounding="to_nearest_away", scaling="exact")``.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, ContextDecorator
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace
from functools import cached_property
from inspect import Parameter, Signature
from types import MappingProxyType
from typing import Any

from halfulp.fp_formats import policy
from halfulp.fp_formats.aliases import asking, did_you_mean, with_hint
from halfulp.fp_formats.policy import Choice, FloatChoices, FloatPolicy, Rounding

_ROUNDINGS = {
    Rounding.TO_NEAREST_EVEN: "to nearest, ties to even",
    Rounding.DOWNWARD: "toward -infinity",
    Rounding.UPWARD: "toward +infinity",
    Rounding.TOWARD_ZERO: "toward zero",
    Rounding.TO_NEAREST_AWAY: "to nearest, ties away from zero",
}


def _roundings(default: Rounding) -> dict[str, str]:
    """Return the spelling and the meaning of each mode, the default first."""
    return {mode.spelling: _ROUNDINGS[mode] for mode in dict.fromkeys((default, *_ROUNDINGS))}


@dataclass(frozen=True)
class _Named:
    name: str = ""
    base: str = "spec"


@dataclass(frozen=True, init=False)
class Profile(FloatChoices, _Named):
    """A value for each choice of the semantics.

    ``base``: the profile from which omitted fields are taken, or None.
    ``name``: by default the base and the fields that differ from it. docs/profiles.md lists the meaning of each field
    and of its values, from the table `PROFILE_FIELDS`.

    Raises ValueError for an unknown base, and for an unknown value; the message then names the field and its choices.
    """

    invalid_nanless: str = policy.one_of(
        "the result of an invalid operation (0/0, x rem 0) in a format without NaN; `nan_to_nanless` is for "
        "conversions only",
        **policy.choices_of(FloatChoices)["nan_to_nanless"].meanings,
    )
    integer_flags: str = policy.one_of(
        "the flags nsw, nuw, exact and nneg",
        poison="the result is poison if a flag is broken",
        ignored="flags change nothing",
    )
    qcast_rounding: str = policy.one_of(
        "the rounding of quant.qcast to an integer", **_roundings(Rounding.TO_NEAREST_EVEN)
    )
    qcast_out_of_range: str = policy.one_of(
        "a value of quant.qcast outside of the range of the storage type, before the clamp",
        saturate="the nearest value of the storage type",
        poison="poison",
    )
    zero_point: str = policy.one_of(
        "the zero point of a quantized type", exact="as it is", wrap="wrapped to the width of the storage type"
    )
    scaling: str = policy.one_of(
        "arith.scaling_extf and arith.scaling_truncf",
        document="step by step, as their document says: the scale is rounded to f8E8M0FNU, each operand to the type of "
        "the step, and the product or quotient to the result type",
        exact="the exact product or quotient, rounded once (the intent of the OCP microscaling format). The scale "
        "counts with its own value, as those of NVFP4 in f8E4M3FN do",
    )
    narrow_floats: str = policy.one_of(
        "arithmetic, functions, comparisons and conversions of floats narrower than f32",
        own="computed in their own format",
        emulated="converted to f32, computed there and converted back, as IREE does: a result below the smallest "
        "normal value of a format of up to 16 bits may become zero, and NaN may change (all cases: "
        "`halfulp.fp_formats.paths.emulation`); a remainder of any format then never flushes subnormals",
    )
    program_rounding: str = policy.one_of(
        "the rounding of the ops of a program that name no rounding mode. To round stochastically, a run needs a "
        "source of random bits",
        to_nearest_even="to nearest even",
        stochastic="stochastically, by the field `stochastic`: arith.addf, subf, mulf, divf, truncf, convertf, sitofp "
        "and uitofp, math.fma and vector.fma, also in the bodies and reductions of other ops. All others, such as "
        "math.exp, arith.extf and tile operations, to nearest even",
        stochastic_conversions="stochastically: arith.truncf and convertf alone",
    )
    conversion_rounding: str = policy.one_of(
        "the rounding of conversions between floats",
        given="as their `roundingmode` says",
        to_nearest_even="always to nearest even",
    )
    to_integer_rounding: str = policy.one_of(
        "the rounding of arith.fptosi and arith.fptoui", **_roundings(Rounding.TOWARD_ZERO)
    )
    reduction_order: str = policy.one_of(
        "the order in which a reduction of a structured op or of a vector adds floats: a body that ends in the sum of "
        "the accumulator and a term. Other reductions always go in sequence",
        sequential="one term after the other, the accumulator first",
        pairwise="neighbours first, then the sums of neighbours, as in a tree",
        exact="the exact sum, rounded once",
        open="any order: the result of `sequential`, marked as unspecified",
    )
    reduction_blocks: str = policy.one_of(
        "how stablehlo.reduce adds and multiplies floats if a dimension has more than 32 elements",
        none="as `reduction_order` says",
        of_32="in blocks of 32 elements along each dimension, the padding of the blocks half in front, each block from "
        "the initial value on; then the results of the blocks likewise. XLA does so on a CPU, for up to about 1,000 "
        "elements",
    )
    sum_type: str = policy.one_of(
        "the type of the sums of stablehlo.dot_general and convolution",
        result="that of the result",
        at_least_f32="f32, if the result is a narrower float; the sum is then converted",
    )
    products: str = policy.one_of(
        "the products of stablehlo.dot_general and convolution",
        rounded="rounded before they are added",
        fused="added exactly, as by a fused multiply-add",
    )
    divisors: str = policy.one_of(
        "stablehlo.divide on f16, f32 and f64",
        as_given="the quotient, rounded once",
        inverted="a divisor that is computed from constants, or that a broadcast makes of fewer elements without "
        "another use, is inverted, and the dividend is multiplied with the inverse; both are rounded. XLA does so",
    )
    integer_division: str = policy.one_of(
        "stablehlo.divide and remainder of integers by zero",
        undefined="undefined behavior",
        all_ones="the quotient has all bits set, and the remainder is the dividend",
    )
    total_order: str = policy.one_of(
        "stablehlo.compare with TOTALORDER",
        ieee="by IEEE 754's totalOrder",
        as_float="as with FLOAT: zeros are equal, and nothing is equal to a NaN",
    )
    logistic: str = policy.one_of(
        "stablehlo.logistic",
        exact="the exact value, rounded once",
        formula="1 / (1 + exp(-x)), each step rounded",
    )
    reduced_nan: str = policy.one_of(
        "a NaN in stablehlo.reduce_precision to a format without mantissa bits",
        kept="the NaN",
        infinity="+inf",
    )
    index_sign: str = policy.one_of(
        "indices of slices, gather and scatter of an unsigned type of up to 32 bits",
        by_type="never negative",
        signed="read as signed: 200 of ui8 is -56",
    )
    scatter_windows: str = policy.one_of(
        "a window of stablehlo.scatter that lies partly outside of the result",
        each_element="the elements inside are combined",
        whole="no element is combined",
    )
    promises: str = policy.one_of(
        "indices_are_sorted, unique_indices, known_expanding_dimensions and known_nonexpanding_dimensions of "
        "StableHLO, if they are not true",
        undefined="undefined behavior",
        ignored="have no effect",
    )
    padding_of_windows: str = policy.one_of(
        "the padding of stablehlo.reduce_window",
        initial="has the initial value, which is combined for each place of the padding",
        skipped="is not combined",
    )
    scattered_initial: str = policy.one_of(
        "the initial value of stablehlo.select_and_scatter",
        once="is what is scattered first is combined with",
        each_time="is also combined with what is there, each time that an element is scattered",
    )
    dot_algorithm: str = policy.one_of(
        "the algorithm of stablehlo.dot_general",
        followed="the operands are converted to the types that it names, and the sums are in its type; an algorithm of "
        "several products is refused",
        ignored="has no effect",
    )
    quantized_ops: str = policy.one_of(
        "ops of StableHLO on quantized elements",
        expressed="each operand is dequantized, the op computes in the expressed type, and its result is quantized",
        stored="add, dot_general, convolution and uniform_quantize of quantized elements compute on stored integers, "
        "with one scale merged from those of the types; maximum, minimum and select take stored integers as they are. "
        "Other ops, and types that this does not cover, as `expressed`",
    )
    narrow_subnormals: str = policy.one_of(
        "subnormals in conversions of StableHLO from and to floats of up to 16 bits",
        as_others="as `denormals` and `denormals_f32` say",
        ieee="are kept, except those of bf16 converted to f64, which pass through f32",
    )
    masked_load: str = policy.one_of(
        "an element that the mask of tt.load leaves out, if no other value is given",
        poison="is poison",
        zero="is 0, as the code that Triton 3.9 makes for NVIDIA and gfx942 leaves it",
    )

    def __init__(self, name: str = "", base: str = "spec", **given: str | None) -> None:
        unknown = given.keys() - PROFILE_FIELDS.keys()
        if unknown:
            raise TypeError(f"Profile has no field {_unknown(min(unknown))}")
        inherited = {field: choice.values[0] for field, choice in PROFILE_FIELDS.items()} | _row(base)
        chosen = inherited | {
            field: _spelled(PROFILE_FIELDS[field], value) for field, value in given.items() if value is not None
        }
        for field, choice in PROFILE_FIELDS.items():
            policy.check_choice("profile", field, chosen[field], choice)
        changed = [f"{field}={value}" for field, value in chosen.items() if value != inherited[field]]
        for field, value in {"name": name or ",".join([base, *changed]), "base": base, **chosen}.items():
            object.__setattr__(self, field, value)

    @cached_property
    def conversions(self) -> FloatPolicy:
        """The policy of conversions between types."""
        return FloatPolicy(**{field: getattr(self, field) for field in policy.POLICY_FIELDS})

    @cached_property
    def arithmetic(self) -> FloatPolicy:
        """The policy of all other ops: ``arithmetic_overflow`` is their rule of overflow, and ``invalid_nanless`` gives
        the results of their invalid operations.
        """
        own: dict[str, Any] = {"conversion_overflow": "format", "nan_to_nanless": self.invalid_nanless}
        return replace(self.conversions, **own)

    @cached_property
    def of_one_op(self) -> Profile:
        """The profile for an op outside of a program, where `program_rounding` has no effect."""
        if self.program_rounding == "to_nearest_even":
            return self
        return replace(self, name="", program_rounding="to_nearest_even")

    @property
    def keeps_integer_flags(self) -> bool:
        """True if the flags nsw, nuw, exact and nneg have an effect."""
        return self.integer_flags == "poison"

    def __hash__(self) -> int:
        return hash((self.name, self.base))


def _spelled(choice: Choice, value: str) -> str:
    """Return a value of a field as its choices spell it: a rounding mode may be given by any of its names."""
    if value in choice.meanings or Rounding.TO_NEAREST_EVEN.spelling not in choice.meanings:
        return value
    try:
        return policy.as_rounding(value).spelling
    except ValueError:
        return value


PROFILE_FIELDS = policy.choices_of(Profile)
"""The fields of a `Profile` beside its name and base."""

_FOLD = {
    "nan_to_nanless": "zero",
    "invalid_nanless": "zero",
    "infinity_to_nanless": "zero",
    "divide_by_zero_nanless": "zero",
    "negative_to_unsigned": "sign_bit",
    "zeroless_nan_widened": "infinity",
    "number_of_signalling": "quieted",
    "integer_flags": "ignored",
}

_ROWS: dict[str, dict[str, str]] = {
    "spec": {},
    "mlir22-fold": _FOLD,
    "mlir22-quant": {
        **_FOLD,
        "qcast_rounding": "toward_zero",
        "qcast_out_of_range": "poison",
        "zero_point": "wrap",
    },
    "mlir22-runtime": {
        **_FOLD,
        "remainder": "ieee",
        "float_to_int": "saturate",
        "conversion_rounding": "to_nearest_even",
        "to_integer_rounding": "to_nearest_even",
    },
    "mlir22-expand": {
        "nan_result": "canonical_bf16",
        "nan_to_nanless": "max",
        "zeroless_smallest_widened": "zero",
        "float_to_zeroless": "cut",
        "float_to_nanless": "ties_away",
        "wide_source": "bf16_through_f32",
        "extrema": "selected",
        "integer_flags": "ignored",
        "conversion_rounding": "to_nearest_even",
    },
    "ml_dtypes": {
        "nan_result": "canonical_signed",
        "nan_to_nanless": "zero_inverted",
        "invalid_nanless": "zero_inverted",
        "zero_to_zeroless": "nan",
        "float_to_zeroless": "smallest_up",
        "wide_source": "through_f32",
    },
    "iree-3.13": {
        "extrema": "number_selected",
        "denormals": "flush_both",
        "zeroless_smallest_widened": "zero",
        "float_to_zeroless": "cut",
        "narrow_floats": "emulated",
        "conversion_rounding": "to_nearest_even",
        "integer_flags": "ignored",
    },
    "ocp-saturate": {"conversion_overflow": "saturate", "nan_to_nanless": "max"},
    "torch": {
        "nan_result": "negative",
        "nan_converted": "all_ones_of_8",
        "conversion_overflow": "saturate_fn",
        "negative_to_unsigned": "absolute",
        "float_to_zeroless": "smallest_up",
        "wide_source": "through_f32",
        "float_to_int": "indefinite_wrapped",
    },
    "jax": {
        "nan_result": "negative",
        "nan_converted": "sign_of_8",
        "nan_to_nanless": "negative_zero",
        "invalid_nanless": "negative_zero",
        "zero_to_zeroless": "nan",
        "float_to_zeroless": "smallest_up",
        "wide_source": "bf16_through_f32",
        "float_to_int": "saturate",
    },
    "stablehlo": {},
    "stablehlo-interpreter": {
        "nan_to_nanless": "zero",
        "invalid_nanless": "zero",
        "infinity_to_nanless": "zero",
        "negative_to_unsigned": "sign_bit",
        "total_order": "as_float",
        "logistic": "formula",
        "reduced_nan": "infinity",
        "index_sign": "signed",
        "scattered_initial": "each_time",
        "dot_algorithm": "ignored",
        "promises": "ignored",
        "quantized_ops": "stored",
    },
    "xla-cpu": {
        "nan_result": "negative",
        "nan_converted": "sign_of_8",
        "nan_to_nanless": "negative_zero",
        "invalid_nanless": "negative_zero",
        "zero_to_zeroless": "nan",
        "float_to_zeroless": "smallest_up",
        "wide_source": "bf16_through_f32",
        "float_to_int": "saturate",
        "denormals": "flush_both",
        "flushed_formats": "wide",
        "narrow_subnormals": "ieee",
        "reduction_blocks": "of_32",
        "sum_type": "at_least_f32",
        "products": "fused",
        "divisors": "inverted",
        "integer_division": "all_ones",
        "logistic": "formula",
        "scatter_windows": "whole",
        "promises": "ignored",
        "padding_of_windows": "skipped",
    },
    "cuda-sat": {
        "nan_result": "all_ones",
        "nan_converted": "payload_of_f64_to_8",
        "conversion_overflow": "saturate",
        "nan_to_nanless": "max",
        "negative_to_unsigned": "absolute",
        "float_to_int": "saturate_nan_top",
    },
    "riscv": {"nan_result": "canonical", "float_to_int": "saturate_nan_max"},
    "x86-sse": {
        "nan_result": "negative",
        "fma_undefined": "quiet",
        "extrema": "second",
        "float_to_int": "indefinite_wrapped",
    },
    "x87": {"nan_result": "largest", "float_to_int": "indefinite"},
    "arm": {
        "nan_result": "signalling_first",
        "fma_undefined": "default_nan",
        "negated_nan": "negated",
        "number_of_signalling": "quieted",
        "float_to_int": "saturate",
        "tininess": "before",
    },
}


def _row(name: str) -> dict[str, str]:
    if name not in _ROWS:
        message = f"unknown profile {name!r}; the profiles are {', '.join(_ROWS)}"
        longer = [each for each in _ROWS if str(name) and each.startswith(str(name))]
        raise ValueError(with_hint(message, did_you_mean(str(name), _ROWS) or asking(longer)))
    return _ROWS[name]


def _unknown(field: str) -> str:
    """Quote the name of a field that does not exist, and suggest the nearest field, or list all fields."""
    hint = did_you_mean(field, PROFILE_FIELDS)
    return with_hint(repr(field) if hint else f"{field!r}; the fields are {', '.join(PROFILE_FIELDS)}", hint)


PROFILES: Mapping[str, Profile] = MappingProxyType({name: Profile(name=name, base=name) for name in _ROWS})
"""The named profiles."""

SPEC = PROFILES["spec"]


def _signature() -> Signature:
    """Return the parameters of `Profile`, so that help shows the fields that it takes by name."""
    kind = Parameter.POSITIONAL_OR_KEYWORD
    first = [Parameter(field.name, kind, default=field.default, annotation="str") for field in fields(_Named)]
    rest = [Parameter(field, Parameter.KEYWORD_ONLY, default=None, annotation="str | None") for field in PROFILE_FIELDS]
    return Signature([*first, *rest])


Profile.__signature__ = _signature()  # type: ignore[attr-defined]


# The profiles of the blocks from the outermost to the innermost.
_CURRENT: ContextVar[tuple[Profile, ...]] = ContextVar("halfulp.profile", default=(SPEC,))


def current_profile() -> Profile:
    """Return the profile of the innermost `profile` block of this thread or task; outside of all blocks, spec."""
    return _CURRENT.get()[-1]


def profile(choice: Profile | str) -> AbstractContextManager[Profile]:
    """Return a context manager that sets the profile for all calls without their own ``profile``: ``with
    hu.profile("ocp-saturate"):``.

    It applies to operators and NumPy functions on `Value`s, and to each function of halfulp that is called without
    ``profile``. Blocks can be nested. A block affects only its own thread and ``asyncio`` task: a new thread starts
    with spec. It does not affect the command line.

    ``choice``: a name, ``name,field=value``, or a `Profile`. Raises ValueError for an unknown profile.

        with hu.profile("ocp-saturate"):
            hu.convert(1000.0, "f8E4M3FN")  # 448, not NaN
    """
    if choice is None:
        raise ValueError("profile is None, but must be a name or a Profile")
    return _Block(as_profile(choice))


class _Block(AbstractContextManager[Profile], ContextDecorator):
    """The context manager that `profile` returns. One object can be used for any number of blocks, nested or in several
    threads.
    """

    def __init__(self, chosen: Profile) -> None:
        self._chosen = chosen

    def __enter__(self) -> Profile:
        _CURRENT.set((*_CURRENT.get(), self._chosen))
        return self._chosen

    def __exit__(self, *error: object) -> None:
        _CURRENT.set(_CURRENT.get()[:-1])


def as_profile(profile: Profile | str | None) -> Profile:
    """Return the profile itself, or the one with this spelling: a name, or ``name,field=value,…``; for None the current
    one. Raises ValueError.
    """
    if profile is None:
        return current_profile()
    if isinstance(profile, Profile):
        return profile
    if not isinstance(profile, str):
        raise ValueError(f"profile is {profile!r}, but must be a name or a Profile")
    base, *settings = profile.split(",")
    if not settings:
        _row(base)
        return PROFILES[base]
    given: dict[str, Any] = {}
    for setting in settings:
        field, equals, value = setting.partition("=")
        if not equals or not field:
            raise ValueError(f"profile: {setting!r} is not field=value; the fields are {', '.join(PROFILE_FIELDS)}")
        if field not in PROFILE_FIELDS:
            raise ValueError(f"profile: there is no field {_unknown(field)}")
        given[field] = value
    return Profile(base=base, **given)
