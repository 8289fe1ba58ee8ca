"""Profiles: every choice the documents leave open, and every systematic deviation of a real tool, as a field of one
row.

`PROFILES` is the table. Kernels are built for one profile, so that executing them costs nothing for the fields. A field
can be set on its own: ``Profile(base="spec", qcast_rounding="to_nearest_away", scaling="exact")``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

from halfulp.fp_formats.policy import FloatPolicy, Rounding, policy_choices

SEMANTICS_VERSION = 2
"""Raised whenever any result changes; written into every golden file, with a line in the CHANGELOG."""

_ROUNDINGS = tuple(mode.spelling for mode in Rounding if mode is not Rounding.STOCHASTIC)

_OWN_CHOICES: Mapping[str, tuple[str, ...]] = {
    "invalid_nanless": ("poison", "zero", "zero_inverted", "max"),
    "integer_flags": ("poison", "ignored"),
    "qcast_rounding": _ROUNDINGS,
    "qcast_out_of_range": ("saturate", "poison"),
    "zero_point": ("exact", "wrap"),
    "scaling": ("document", "exact"),
    "narrow_floats": ("own", "emulated"),
    "conversion_rounding": ("given", "to_nearest_even"),
    "to_integer_rounding": ("toward_zero", *(name for name in _ROUNDINGS if name != "toward_zero")),
}


def profile_choices() -> dict[str, tuple[str, ...]]:
    """All fields of a profile with the values they may have; the first is that of ``spec``."""
    return {**policy_choices(), **_OWN_CHOICES}


@dataclass(frozen=True)
class Profile:
    """One choice per field; a field left out (None) is that of the profile named by ``base``.

    The fields up to ``tininess`` are those of `halfulp.fp_formats.policy.FloatPolicy`. Of the others:

    ``invalid_nanless``: what an invalid operation (0/0, x rem 0) gives in a format without NaN: as ``nan_to_nanless``,
        which is for conversions alone.
    ``integer_flags``: nsw, nuw, exact and nneg: poison when broken, or ignored.
    ``qcast_rounding``: how quant.qcast rounds to an integer. ``qcast_out_of_range``: a value outside the storage type
        saturates, or is poison, before the clamp. ``zero_point``: as it is, or wrapped to the storage width.
    ``scaling``: arith.scaling_extf and scaling_truncf step by step as their document says, or the exact product or
        quotient rounded once (the intent of the OCP microscaling format).
    ``narrow_floats``: arithmetic, comparisons and conversions of floats narrower than f32: their own, or done in f32 by
        the lossy conversions of `halfulp.fp_formats.paths.emulation` (IREE). There the remainder of wider floats never
        flushes denormals.
    ``conversion_rounding``: conversions between floats round as their ``roundingmode`` says, or always to nearest even.
    ``to_integer_rounding``: how arith.fptosi and fptoui round.

    Raises ValueError for an unknown base, or an unknown value, naming the field and its choices.
    """

    name: str = ""
    base: str = "spec"
    nan_result: str | None = None
    conversion_overflow: str | None = None
    nan_to_nanless: str | None = None
    infinity_to_nanless: str | None = None
    divide_by_zero_nanless: str | None = None
    negative_to_unsigned: str | None = None
    zero_to_zeroless: str | None = None
    zeroless_nan_widened: str | None = None
    zeroless_smallest_widened: str | None = None
    float_to_zeroless: str | None = None
    float_to_nanless: str | None = None
    number_of_signalling: str | None = None
    wide_source: str | None = None
    extrema: str | None = None
    remainder: str | None = None
    denormals: str | None = None
    denormal_zero: str | None = None
    denormals_f32: str | None = None
    denormal_zero_f32: str | None = None
    float_to_int: str | None = None
    tininess: str | None = None
    invalid_nanless: str | None = None
    integer_flags: str | None = None
    qcast_rounding: str | None = None
    qcast_out_of_range: str | None = None
    zero_point: str | None = None
    scaling: str | None = None
    narrow_floats: str | None = None
    conversion_rounding: str | None = None
    to_integer_rounding: str | None = None

    def __post_init__(self) -> None:
        choices = profile_choices()
        inherited = _row(self.base)
        for field, allowed in choices.items():
            value = getattr(self, field)
            if value is None:
                object.__setattr__(self, field, inherited.get(field, allowed[0]))
            elif value not in allowed:
                raise ValueError(f"profile: {field} is {value!r}, but must be one of {', '.join(allowed)}")
        if not self.name:
            changed = [
                f"{f}={getattr(self, f)}" for f in choices if getattr(self, f) != inherited.get(f, choices[f][0])
            ]
            object.__setattr__(self, "name", ",".join([self.base, *changed]))

    @cached_property
    def conversions(self) -> FloatPolicy:
        """The float-level fields as fp_formats takes them, for conversions between types."""
        return FloatPolicy(**{field.name: getattr(self, field.name) for field in fields(FloatPolicy)})

    @cached_property
    def arithmetic(self) -> FloatPolicy:
        """The same for all other ops: they overflow by the format, and have a field of their own for invalid
        operations.
        """
        own: dict[str, Any] = {"conversion_overflow": "format", "nan_to_nanless": self.invalid_nanless}
        return replace(self.conversions, **own)

    @property
    def keeps_integer_flags(self) -> bool:
        """Whether nsw, nuw, exact and nneg mean anything."""
        return self.integer_flags == "poison"

    def __hash__(self) -> int:
        return hash((self.name, self.base))


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

_ROWS: Mapping[str, Mapping[str, str]] = {
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
}


def _row(name: str) -> Mapping[str, str]:
    if name not in _ROWS:
        raise ValueError(f"unknown profile {name!r}; the profiles are {', '.join(_ROWS)}")
    return _ROWS[name]


PROFILES: Mapping[str, Profile] = MappingProxyType({name: Profile(name=name, base=name) for name in _ROWS})
"""The named profiles."""

SPEC = PROFILES["spec"]


def as_profile(profile: Profile | str) -> Profile:
    """The profile itself, or the one of that spelling: a name, or ``name,field=value,…``. Raises ValueError."""
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
        if not equals or field not in profile_choices():
            raise ValueError(f"profile: {setting!r} is not field=value; the fields are {', '.join(profile_choices())}")
        given[field] = value
    return Profile(base=base, **given)
