"""Tile sizes as parameters of attributes: ``[4, [8]]``, or with the order of the loops."""

from __future__ import annotations

from typing import NamedTuple

from halfulp.interp.declare.parameters import bracketed_integers, word
from halfulp.interp.ir.dialect_attributes import ParameterKind
from halfulp.interp.text.token_parser import TokenParser


class TilingLevel(NamedTuple):
    """The tile sizes of one level of loops.

    ``scalable``: one flag per size, empty where none is scalable. ``interchange``: the order of the loops, empty for
    the order of the op.
    """

    sizes: tuple[int, ...]
    scalable: tuple[bool, ...] = ()
    interchange: tuple[int, ...] = ()


def _sizes(p: TokenParser) -> TilingLevel:
    """Read ``[1, [32]]``: sizes, scalable ones in brackets of their own."""
    p.expect("[")
    sizes: list[int] = []
    scalable: list[bool] = []
    if not p.take("]"):
        while True:
            scalable.append(p.take("["))
            sizes.append(p.integer())
            if scalable[-1]:
                p.expect("]")
            if not p.take(","):
                break
        p.expect("]")
    return TilingLevel(tuple(sizes), tuple(scalable) if any(scalable) else ())


def read_tiling_level(p: TokenParser) -> TilingLevel:
    """Read ``[sizes]`` or ``{sizes = [sizes], interchange = [order]}``."""
    if p.tokens[p.pos] == "[":
        return _sizes(p)
    p.expect("{")
    word(p, "sizes")
    p.expect("=")
    level = _sizes(p)
    p.expect(",")
    word(p, "interchange")
    p.expect("=")
    order = bracketed_integers(p)
    p.expect("}")
    return level._replace(interchange=order)


def spell_tiling_level(level: TilingLevel) -> str:
    """Spell a level as `read_tiling_level` reads it."""
    flags = level.scalable or (False,) * len(level.sizes)
    sizes = ", ".join(f"[{size}]" if flag else str(size) for size, flag in zip(level.sizes, flags, strict=True))
    if not level.interchange:
        return f"[{sizes}]"
    return f"{{sizes = [{sizes}], interchange = [{', '.join(map(str, level.interchange))}]}}"


def _read_levels(p: TokenParser) -> tuple[TilingLevel, ...]:
    p.expect("[")
    levels: list[TilingLevel] = []
    if not p.take("]"):
        levels.append(read_tiling_level(p))
        while p.take(","):
            levels.append(read_tiling_level(p))
        p.expect("]")
    return tuple(levels)


TILING_LEVEL = ParameterKind(read_tiling_level, lambda level, names: spell_tiling_level(level))
TILING_LEVELS = ParameterKind(_read_levels, lambda levels, names: f"[{', '.join(map(spell_tiling_level, levels))}]")
