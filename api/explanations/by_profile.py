"""Results by profile, and the fields of the profile that make the difference."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from halfulp.explanations.records import ProfileGroup
from halfulp.explanations.roundable import Found
from halfulp.semantics.profile import PROFILE_FIELDS, PROFILES, SPEC, Profile


@cache
def _changed(profile: Profile) -> Mapping[str, str]:
    """Return the fields in which a profile differs from spec."""
    return {field: choice for field in PROFILE_FIELDS if (choice := getattr(profile, field)) != getattr(SPEC, field)}


@cache
def _alone(field: str, choice: str) -> Profile:
    values: dict[str, Any] = {field: choice}
    return Profile(base="spec", **values)


@cache
def _without(profile: Profile, field: str) -> Profile:
    values: dict[str, Any] = {**_changed(profile), field: getattr(SPEC, field)}
    return Profile(base="spec", **values)


def deciding_fields(compute: Callable[[Profile], Any], profile: Profile) -> tuple[str, ...]:
    """Return the fields that make a profile's result differ from that of spec, as ``field=choice``.

    These are the fields that make the difference alone; where there are none, the fields without which the result would
    be another; else all fields that differ.
    """
    result, changed = compute(profile), _changed(profile)
    alone = [field for field, choice in changed.items() if compute(_alone(field, choice)) == result]
    needed = alone or [field for field in changed if compute(_without(profile, field)) != result]
    return tuple(f"{field}={changed[field]}" for field in needed or changed)


def profile_groups(compute: Callable[[Profile], Found], spec: Found, chosen: Profile) -> tuple[ProfileGroup, ...]:
    """Group the named profiles and the chosen one by result and by deciding fields; spec comes first."""
    profiles = {**PROFILES, chosen.name: chosen}
    groups: dict[int | None, dict[tuple[str, ...], list[str]]] = {}
    for name, profile in profiles.items():
        code = spec.code if profile is SPEC else compute(profile).code
        fields = () if code == spec.code else deciding_fields(lambda other: compute(other).code, profile)
        groups.setdefault(code, {}).setdefault(fields, []).append(name)
    return tuple(
        ProfileGroup(tuple(names), code, fields) for code, by in groups.items() for fields, names in by.items()
    )


def profile_rule(
    compute: Callable[[Profile], Found], spec: Found, profile: Profile, hexadecimal: Callable[[int], str]
) -> str:
    """Say how the result of a profile differs from ``spec``, and by which fields; an empty text where it does not."""
    if profile is SPEC:
        return ""
    result = compute(profile)
    if result == spec or (result.code == spec.code and result.flags is None):
        return ""
    usual, other = ("poison" if code is None else hexadecimal(code) for code in (spec.code, result.code))
    same = result.code == spec.code
    what = "raises other flags" if same else f"gives {other} instead of {usual}"
    key: Callable[[Profile], Any] = compute if same else lambda chosen: compute(chosen).code
    return f"profile {profile.name} {what}: {', '.join(deciding_fields(key, profile))}"
