"""Single bit patterns as `bitstring.Bits`, and back to codes. The package is loaded when it is first used."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

if TYPE_CHECKING:
    from bitstring import Bits

_DIGITS = {"0b": re.compile("[01]+"), "0x": re.compile("[0-9a-f]+")}
_BASES = {"0b": 2, "0x": 16}


class CodeFields(NamedTuple):
    """The fields of a code, from the top; ``sign + exponent + significand`` is the whole code."""

    sign: Bits
    exponent: Bits
    significand: Bits


def bits_of(code: int, width: int) -> Bits:
    """Return a code of ``width`` bits as `bitstring.Bits`. Raises ValueError for a number that does not fit."""
    from bitstring import Bits  # takes a while

    if not 0 <= code < 1 << width:
        raise ValueError(f"{code} is not a code of {width} bits: those are 0 to {(1 << width) - 1:#x}")
    return Bits(uint=code, length=width) if width else Bits()


def is_bits(x: Any) -> TypeGuard[Bits]:
    """Tell whether an object is a `bitstring.Bits`."""
    bitstring = sys.modules.get("bitstring")  # such an object exists only if the package is loaded
    return bitstring is not None and isinstance(x, bitstring.Bits)


def is_bit_pattern(x: Any) -> TypeGuard[Bits | str]:
    """Tell whether an object is a bit pattern for `code_of`: a string or a `bitstring.Bits`."""
    return isinstance(x, str) or is_bits(x)


def code_of(pattern: Bits | str, width: int) -> int:
    """Return the code of a bit pattern of exactly ``width`` bits.

    ``pattern``: a `bitstring.Bits`, or a string of binary digits after ``0b`` or of hexadecimal ones after ``0x``, all
    of them, in which spaces and underscores may separate groups. Where the width is not a multiple of four, the first
    hexadecimal digit stands for fewer bits. Raises ValueError.
    """
    if not isinstance(pattern, str):
        if len(pattern) != width:
            raise ValueError(f"{pattern!r} has {len(pattern)} bits, but {width} are needed")
        return int(pattern.bin or "0", 2)
    digits = re.sub("[ _]", "", pattern).lower()
    prefix, digits = digits[:2], digits[2:]
    if prefix not in _DIGITS or not _DIGITS[prefix].fullmatch(digits):
        raise ValueError(f"{pattern!r} is not a bit pattern: write all bits as 0b… or as 0x…")
    expected = width if prefix == "0b" else -(-width // 4)
    code = int(digits, _BASES[prefix])
    if len(digits) != expected or code >> width:
        kind = "binary" if prefix == "0b" else "hexadecimal"
        raise ValueError(f"{pattern!r} is not a pattern of {width} bits, which has {expected} {kind} digits")
    return code


def integers_of(bits: Any, width: int) -> Any:
    """Replace the bit patterns in nested lists and tuples by their codes; everything else stays. Raises ValueError."""
    if isinstance(bits, list | tuple):
        return [integers_of(each, width) for each in bits]
    return code_of(bits, width) if is_bit_pattern(bits) else bits
