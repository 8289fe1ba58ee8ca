"""``halfulp formats``: list the float formats, describe one, or write a page that shows any rounding."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

from halfulp.command.console import SUCCESS, fail, put, write
from halfulp.command.execution import Sources
from halfulp.command.option import Command
from halfulp.command.records import coded_record
from halfulp.command.values import naming
from halfulp.described import argument, flag, option
from halfulp.fp_formats.aliases import float_format
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.scalar import value
from halfulp.fp_formats.spelling import bit_fields, bits_text, decimal_text, hex_text, table_lines, value_text
from halfulp.inputs import write_file
from halfulp.interp.ir.errors import InputError, TypeMismatch
from halfulp.interp.ir.types import FloatType
from halfulp.interp.values.coerce import as_type


@dataclass(frozen=True, kw_only=True)
class FormatsArguments:
    """The options of ``halfulp formats``."""

    name: str | None = argument(
        "NAME",
        "the format to describe, by name or as MLIR spells it; with up to 8 bits, all its values are listed",
        nargs="?",
    )
    json: bool = flag("print one JSON object: the fields, bounds and codes of the formats")


def show_formats(arguments: FormatsArguments, sources: Sources) -> int:
    """Execute the command, and return its exit code. Raise HalfulpError."""
    if arguments.json:
        try:
            formats = list(FORMATS.values()) if arguments.name is None else [_named(arguments.name, sources)]
        except ValueError as error:
            return fail(str(error))
        put({"formats": [_format_record(fmt, arguments.name is not None) for fmt in formats]})
        return SUCCESS
    if arguments.name is None:
        facts = [_facts(fmt) for fmt in FORMATS.values()]
        lines = table_lines([tuple(facts[0]), *(tuple(row.values()) for row in facts)])
    else:
        try:
            fmt = _named(arguments.name, sources)
        except ValueError as error:
            return fail(str(error))
        lines = _details(fmt)
    write("\n".join(lines) + "\n")
    return SUCCESS


LIST = Command(FormatsArguments, show_formats)


def _named(name: str, sources: Sources) -> FloatFormat:
    """Return the format of a name, or of a type as MLIR text spells it. Raise ValueError and HalfulpError."""
    if not name.startswith("!"):
        return float_format(name)
    with naming("<type>", name, sources):
        type_ = as_type(name)
        if not isinstance(type_, FloatType):
            raise TypeMismatch(f"{type_} is not a float type")
    return type_.format


def _short_value(fmt: FloatFormat, code: int) -> str:
    exact = value(fmt, code)
    assert exact is not None
    return decimal_text(exact, 14)


def _smallest_subnormal(fmt: FloatFormat) -> str:
    return _short_value(fmt, fmt.from_magnitude(1)) if fmt.zero and fmt.mantissa_bits else "none"


def _facts(fmt: FloatFormat) -> dict[str, str]:
    """Return one row of the table of formats."""
    zero = "none" if not fmt.zero else "±0" if fmt.has_negative_zero else "+0"
    return {
        "name": fmt.name,
        "bits": str(fmt.bits),
        "sign": str(int(fmt.signed)),
        "exponent": str(fmt.exponent_bits),
        "mantissa": f"{fmt.mantissa_bits}{'+1' if fmt.explicit_integer_bit else ''}",
        "bias": str(fmt.bias),
        "infinities": "yes" if fmt.infinities else "no",
        "NaN": fmt.nan.value,
        "zero": zero,
        "emin": str(fmt.emin),
        "emax": str(fmt.emax),
        "max": _short_value(fmt, fmt.max_code),
        "smallest normal": _short_value(fmt, fmt.min_normal_code),
        "smallest subnormal": _smallest_subnormal(fmt),
    }


def _format_record(fmt: FloatFormat, all_codes: bool) -> dict[str, Any]:
    """Return a format for JSON; if asked for, with all values of a format of up to 8 bits."""
    type_ = FloatType(fmt)
    codes = {
        "max": fmt.max_code,
        "smallest_normal": fmt.min_normal_code,
        "smallest_subnormal": fmt.from_magnitude(1) if fmt.zero and fmt.mantissa_bits else None,
        "infinity": fmt.infinity_code,
        "nan": fmt.nan_code,
    }
    record: dict[str, Any] = {
        "name": fmt.name,
        "bits": fmt.bits,
        "signed": fmt.signed,
        "exponent_bits": fmt.exponent_bits,
        "mantissa_bits": fmt.mantissa_bits,
        "explicit_integer_bit": fmt.explicit_integer_bit,
        "bias": fmt.bias,
        "emin": fmt.emin,
        "emax": fmt.emax,
        "infinities": fmt.infinities,
        "nan_encoding": fmt.nan.value,
        "zero": fmt.zero,
        "negative_zero": fmt.has_negative_zero,
        **{name: None if code is None else coded_record(type_, code) for name, code in codes.items()},
    }
    if all_codes and fmt.bits <= 8:
        record["codes"] = [coded_record(type_, code) for code in range(1 << fmt.bits)]
    return record


def _details(fmt: FloatFormat) -> list[str]:
    """Describe one format; up to 8 bits, list all its codes."""
    rows = list(_facts(fmt).items())
    rows.insert(2, ("fields", ", ".join(f"{name} {width}" for name, width in bit_fields(fmt).items())))
    for name, code in (
        ("max", fmt.max_code),
        ("smallest normal", fmt.min_normal_code),
        ("+infinity", fmt.infinity_code),
        ("default NaN", fmt.nan_code),
    ):
        rows.append((f"code of {name}", "none" if code is None else hex_text(fmt, code)))
    lines = table_lines(rows)
    if fmt.bits <= 8:
        codes = [("code", "bits", "value")]
        codes += [(hex_text(fmt, code), bits_text(fmt, code), value_text(fmt, code)) for code in range(1 << fmt.bits)]
        lines += ["", *table_lines(codes)]
    return lines


# --- explore ----------------------------------------------------------------------------------------------------------


_EXPLORE = """\
Write one HTML page that shows any rounding to any float type: click bits, type a number, choose the mode. Open the
file in a browser. It needs no server and no network.
"""


@dataclass(frozen=True, kw_only=True)
class ExploreArguments:
    """The options of ``halfulp formats --explore``."""

    explore: bool = flag("write the page")
    output: str = option("FILE", "the file to write, or - for the standard output", name="-o --output", required=True)
    json: bool = flag("print one JSON object: the name of the file and its number of bytes")


def write_explorer(arguments: ExploreArguments, sources: Sources) -> int:
    """Execute the command, and return its exit code. Raise HalfulpError."""
    from halfulp.explorer.notebook import page

    data = page().encode()
    if arguments.output == "-":
        if arguments.json:
            raise InputError("--json needs --output=FILE: the page takes the standard output")
        sys.stdout.buffer.write(data)
        return SUCCESS
    write_file(arguments.output, data)
    if arguments.json:
        put({"file": arguments.output, "bytes": len(data)})
    return SUCCESS


EXPLORE = Command(ExploreArguments, write_explorer, _EXPLORE)
