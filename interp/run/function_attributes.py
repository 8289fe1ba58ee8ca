"""What the attributes of a function change in how its body runs.

``iree_codegen.denormal_fp_math_f32`` makes f32 flush subnormals, of operands and of results, as LLVM's function
attribute ``denormal-fp-math-f32`` does: whatever an op computes from or to f32 in the function's own body, not in the
functions that it calls. Bits that are only moved (constants, negf, select, bitcast, calls) are not touched, and neither
are tile operations, whose hardware has rules of its own. ``none`` says nothing: the profile of the run holds.

A function may also have it in the configuration of its ``translation_info``, which is where IREE's own compiler puts
it; where there are both, IREE 3.13 takes that one, and so does halfulp.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from halfulp.interp.ir import attributes as at
from halfulp.interp.ir.errors import VerifyError
from halfulp.semantics.profile import Profile

if TYPE_CHECKING:
    from halfulp.interp.ir.operations import Operation
    from halfulp.interp.run.executor import Settings

DENORMAL_F32 = "iree_codegen.denormal_fp_math_f32"
_TRANSLATION = "translation_info"
# What becomes of a subnormal of f32, by the attribute's word.
_ZEROS = {"none": None, "preserve-sign": "signed", "positive-zero": "positive"}


def settings_of(function: Operation, settings: Settings) -> Settings:
    """The settings that hold in the body of a function; the same ones where its attributes say nothing.

    Raises VerifyError for an attribute that is not what its name asks for.
    """
    profile = profile_of(function, settings.profile)
    return settings if profile is settings.profile else replace(settings, profile=profile)


def ruling_attributes(function: Operation) -> dict[str, at.Attribute]:
    """Those of a function's attributes that an op needs around it to do elsewhere what it does there."""
    return {name: function.attributes[name] for name in (DENORMAL_F32, _TRANSLATION) if name in function.attributes}


def profile_of(function: Operation, profile: Profile) -> Profile:
    """The profile that holds in the body of a function that runs with this one. Raises VerifyError."""
    given = function.attributes
    if not given:
        return profile
    found = _configured(given.get(_TRANSLATION)) or given.get(DENORMAL_F32)
    if found is None:
        return profile
    if not isinstance(found, at.DialectAttr) or found.definition.name != "iree_codegen.denormal_fp_math":
        raise VerifyError(
            f"{DENORMAL_F32} is {found}, but must be an attribute of the kind #iree_codegen.denormal_fp_math"
            f"<{' | '.join(_ZEROS)}>",
            location=function.location,
            op=function.name,
        )
    zero = _ZEROS[found["value"]]
    return profile if zero is None else _flushing(profile, zero)


def _configured(translation: at.Attribute | None) -> at.Attribute | None:
    """What the configuration of a translation_info says."""
    if not isinstance(translation, at.DialectAttr) or translation.definition.name != "iree_codegen.translation_info":
        return None
    configuration = translation["configuration"]
    return None if configuration is None else dict(configuration.entries).get(DENORMAL_F32)


@lru_cache(maxsize=64)
def _flushing(profile: Profile, zero: str) -> Profile:
    """A profile under which f32 flushes; it has the name that says so."""
    return replace(profile, name="", denormals_f32="flush_both", denormal_zero_f32=zero)
