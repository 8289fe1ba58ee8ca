"""Function attributes that change the settings of a body: ``iree_codegen.denormal_fp_math_f32``.

The attribute flushes subnormals of f32, in operands and in results, as LLVM's function attribute
``denormal-fp-math-f32`` does. It holds for all that the ops of the function's own body compute from or to f32, not for
the functions that it calls. Bits that are only moved (constants, negf, select, bitcast, calls) do not change. Tile
operations do not follow it either: their hardware has its own rules. With ``none`` the profile of the run holds.

A function may also have it in the configuration of its ``translation_info``, where IREE's own compiler puts it. A
function with both follows the configuration, as in IREE 3.13.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from halfulp.interp.ir import attributes as at
from halfulp.interp.ir.dialect_attributes import DialectAttr
from halfulp.interp.ir.errors import VerifyError
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.settings import Settings
from halfulp.semantics.profile import Profile

DENORMAL_F32 = "iree_codegen.denormal_fp_math_f32"
_TRANSLATION = "translation_info"
# The zero that replaces a subnormal of f32, by the attribute's word.
_ZEROS = {"none": None, "preserve-sign": "signed", "positive-zero": "positive"}


def settings_of(function: Operation, settings: Settings) -> Settings:
    """Return the settings that hold in the body of a function; the same ones where its attributes say nothing.

    Raises VerifyError for an attribute of another kind than its name says.
    """
    profile = profile_of(function, settings.profile)
    return settings if profile is settings.profile else replace(settings, profile=profile)


def ruling_attributes(function: Operation) -> dict[str, at.Attribute]:
    """Return the attributes of a function that its ops need around them to give the same results elsewhere."""
    return {name: function.attributes[name] for name in (DENORMAL_F32, _TRANSLATION) if name in function.attributes}


def profile_of(function: Operation, profile: Profile) -> Profile:
    """Return the profile that holds in the body of a function that runs with this one. Raises VerifyError."""
    given = function.attributes
    if not given:
        return profile
    found = _configured(given.get(_TRANSLATION)) or given.get(DENORMAL_F32)
    if found is None:
        return profile
    if not isinstance(found, DialectAttr) or found.definition.name != "iree_codegen.denormal_fp_math":
        raise VerifyError(
            f"{DENORMAL_F32} is {found}, but must be an attribute of the kind #iree_codegen.denormal_fp_math"
            f"<{' | '.join(_ZEROS)}>",
            location=function.location,
            op=function.name,
        )
    zero = _ZEROS[found["value"]]
    return profile if zero is None else _flushing(profile, zero)


def _configured(translation: at.Attribute | None) -> at.Attribute | None:
    """Return the attribute in the configuration of a translation_info, or None."""
    if not isinstance(translation, DialectAttr) or translation.definition.name != "iree_codegen.translation_info":
        return None
    configuration = translation["configuration"]
    return None if configuration is None else dict(configuration.entries).get(DENORMAL_F32)


@lru_cache(maxsize=64)
def _flushing(profile: Profile, zero: str) -> Profile:
    """Return a profile under which f32 flushes subnormals to zeros of this kind; its name says so."""
    return replace(profile, name="", denormals_f32="flush_both", denormal_zero_f32=zero)
