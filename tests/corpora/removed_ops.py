"""Tests of older versions of MLIR in the ops of MLIR 22: what replaces the ops of vector that were removed."""

from __future__ import annotations

import re

_ALIAS = re.compile(r"^(![\w.]+)\s*=\s*(?:type\s+)?(\S+)\s*$", re.MULTILINE)
_TYPE = r"(?P<type>(?:vector<[^>]*>|![\w.]+))"
_SPLAT = re.compile(rf"vector\.splat (?P<value>%\w+)\s*:\s*{_TYPE}")
_PLACE = r"\[(?:(?P<index>%\w+)\s*:\s*(?P<kind>\w+))?\]"
_INSERT = re.compile(rf"(?P<result>%\w+) = vector\.insertelement (?P<value>%\w+), (?P<into>%\w+){_PLACE}\s*:\s*{_TYPE}")
_EXTRACT = re.compile(rf"(?P<result>%\w+) = vector\.extractelement (?P<value>%\w+){_PLACE}\s*:\s*{_TYPE}")


def in_mlir_22(text: str) -> str:
    """Return a test with vector.splat, vector.insertelement and vector.extractelement in terms of ops that exist.

    Each becomes the op, or the two ops, that its document named as the replacement. Lines stay where they are.
    """
    aliases: dict[str, str] = dict(_ALIAS.findall(text))

    def element(type_: str) -> str:
        return aliases.get(type_, type_).removeprefix("vector<").removesuffix(">").rpartition("x")[2]

    def splat(match: re.Match[str]) -> str:
        return f"vector.broadcast {match['value']} : {element(match['type'])} to {match['type']}"

    def place(match: re.Match[str]) -> tuple[str, str]:
        """Return what makes an index of the position, and the index."""
        if match["index"] is None or match["kind"] == "index":
            return "", match["index"] or ""
        made = f"%place_{match['result'][1:]}"
        return f"{made} = arith.index_cast {match['index']} : {match['kind']} to index ", made

    def insert(match: re.Match[str]) -> str:
        before, index = place(match)
        of = f"{element(match['type'])} into {match['type']}"
        return f"{before}{match['result']} = vector.insert {match['value']}, {match['into']} [{index}] : {of}"

    def extract(match: re.Match[str]) -> str:
        before, index = place(match)
        of = f"{element(match['type'])} from {match['type']}"
        return f"{before}{match['result']} = vector.extract {match['value']}[{index}] : {of}"

    return _EXTRACT.sub(extract, _INSERT.sub(insert, _SPLAT.sub(splat, text)))
