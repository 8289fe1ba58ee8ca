"""The resource section of a file, ``{-# … #-}``, from text."""

from __future__ import annotations

from halfulp.fp_formats.suggestions import did_you_mean
from halfulp.interp.ir.operations import Blob, Resource, Resources
from halfulp.interp.text.type_parser import TypeParser


def read_resources(p: TypeParser, resources: Resources) -> None:
    """Read the section that begins here into ``resources``."""
    p.pos += 1
    sections = {"dialect_resources": resources.dialect, "external_resources": resources.external}
    while not p.take("#-}"):
        key = p.tokens[p.pos]
        section = sections.get(key)
        if not (key[:1].isalpha() or key[:1] == "_"):
            p.wrong_token("expected identifier key in file metadata dictionary")
        if section is None:
            p.error(f"unknown key '{key}' in file metadata dictionary", hint=did_you_mean(key, sections))
        p.pos += 1
        p.expect(":")
        _resource_groups(p, section, key == "dialect_resources")
        if not p.take(",") and p.tokens[p.pos] != "#-}":
            p.wrong_token("expected '#-}'")


def _resource_groups(p: TypeParser, section: dict[str, dict[str, Resource]], of_dialects: bool) -> None:
    p.expect("{")
    while not p.take("}"):
        at = p.pos
        name = p.resource_key("expected identifier key for 'resource' entry")
        if of_dialects and name not in p.registry.dialects:
            p.error(f"dialect '{name}' is unknown", at)
        group = section.setdefault(name, {})
        p.expect(":")
        p.expect("{")
        while not p.take("}"):
            if of_dialects and name != "builtin":
                p.error(f"unexpected 'resource' section for dialect '{name}'")
            key = p.resource_key("expected identifier key for 'resource' entry")
            p.expect(":")
            at = p.pos
            group[key] = _resource(p, key)
            if of_dialects and not isinstance(group[key], Blob):
                p.error(f"expected hex string blob for key '{key}'", at)
            if not p.take(",") and p.tokens[p.pos] != "}":
                p.wrong_token("expected '}'")
        if not p.take(",") and p.tokens[p.pos] != "}":
            p.wrong_token("expected '}'")


def _resource(p: TypeParser, key: str) -> Resource:
    token = p.tokens[p.pos]
    if token in ("true", "false"):
        p.pos += 1
        return token == "true"
    at = p.pos
    if token[:1] != '"':
        p.error(f"expected hex string blob for key '{key}'")
    text = p.string()
    if not text.startswith("0x"):
        return text
    try:
        data = bytes.fromhex(text[2:])
    except ValueError:
        p.error(f"expected hex string blob for key '{key}'", at)
    if len(data) < 4:
        p.error(f"expected hex string blob for key '{key}' to encode alignment in first 4 bytes", at)
    alignment = int.from_bytes(data[:4], "little")
    if not alignment or alignment & (alignment - 1):
        p.error(
            f"expected hex string blob for key '{key}' to encode alignment in first 4 bytes, but got "
            f"non-power-of-2 value: {alignment}",
            at,
        )
    return Blob(data[4:], alignment)
