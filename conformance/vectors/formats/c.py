"""A C header: an array of structures, one per vector, and their number. Members of more than 64 bits are arrays of
64-bit limbs, the least significant first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import BinaryIO

from halfulp.conformance.vectors.columns import Column, VectorSet
from halfulp.conformance.vectors.formats import text as texts
from halfulp.conformance.vectors.formats.format import Options
from halfulp.fp_formats.formats import LIMB_BITS, limb_count, storage_dtype
from halfulp.interp.ir.errors import InputError

# --- reserved ---------------------------------------------------------------------------------------------------------
#
# The reserved words of C and SystemVerilog, which cannot be names in their files.

_C = """
auto break case char const continue default do double else enum extern float for goto if inline int long register
restrict return short signed sizeof static struct switch typedef union unsigned void volatile while bool true false
nullptr alignas alignof constexpr static_assert thread_local typeof typeof_unqual asm
and and_eq bitand bitor catch class compl const_cast delete dynamic_cast explicit export friend mutable namespace
new not not_eq operator or or_eq private protected public reinterpret_cast static_cast template this throw try
typeid typename using virtual wchar_t xor xor_eq
int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t
"""
C = frozenset(_C.split())
"""The words of C23 and C++, since both languages may include a header, and the types of <stdint.h> that it uses."""

_SYSTEMVERILOG = """
accept_on alias always always_comb always_ff always_latch and assert assign assume automatic before begin bind bins
binsof bit break buf bufif0 bufif1 byte case casex casez cell chandle checker class clocking cmos config const
constraint context continue cover covergroup coverpoint cross deassign default defparam design disable dist do edge
else end endcase endchecker endclass endclocking endconfig endfunction endgenerate endgroup endinterface endmodule
endpackage endprimitive endprogram endproperty endspecify endsequence endtable endtask enum event eventually expect
export extends extern final first_match for force foreach forever fork forkjoin function generate genvar global
highz0 highz1 if iff ifnone ignore_bins illegal_bins implements implies import incdir include initial inout input
inside instance int integer interconnect interface intersect join join_any join_none large let liblist library local
localparam logic longint macromodule matches medium modport module nand negedge nettype new nexttime nmos nor
noshowcancelled not notif0 notif1 null or output package packed parameter pmos posedge primitive priority program
property protected pull0 pull1 pulldown pullup pulsestyle_ondetect pulsestyle_onevent pure rand randc randcase
randsequence rcmos real realtime ref reg reject_on release repeat restrict return rnmos rpmos rtran rtranif0
rtranif1 s_always s_eventually s_nexttime s_until s_until_with scalared sequence shortint shortreal showcancelled
signed small soft solve specify specparam static string strong strong0 strong1 struct super supply0 supply1
sync_accept_on sync_reject_on table tagged task this throughout time timeprecision timeunit tran tranif0 tranif1 tri
tri0 tri1 triand trior trireg type typedef union unique unique0 unsigned until until_with untyped use uwire var
vectored virtual void wait wait_order wand weak weak0 weak1 while wildcard wire with within wor xnor xor
"""
SYSTEMVERILOG = frozenset(_SYSTEMVERILOG.split())
"""The words of IEEE 1800-2017."""


def check_names(language: str, reserved: frozenset[str], names: Iterable[str]) -> None:
    """Raise InputError for a name that is a reserved word of the language."""
    for name in names:
        if name in reserved:
            raise InputError(
                f"'{name}' is a reserved word of {language}, and cannot be a name", hint="choose another name"
            )


# --- c ----------------------------------------------------------------------------------------------------------------

_COUNT = re.compile(r"#define \w+_COUNT (\d+)")
_WORD = re.compile(r"0x([0-9A-Fa-f]+)")


def _row(columns: Sequence[Column]) -> texts.Row:
    row: list[bytes | texts.Hex] = [b"    {"]
    for position, column in enumerate(columns):
        limbs = limb_count(column.width)
        row.append(b", " if position else b"")
        for k in range(limbs):
            start = b"{" if limbs > 1 and not k else b", " if k else b""
            low = LIMB_BITS * k
            row += [start + b"0x", texts.Hex(position, low, min(LIMB_BITS, column.width - low))]
        row.append(b"}" if limbs > 1 else b"")
    return [*row, b"},\n"]


def _member(column: Column) -> str:
    limbs = limb_count(column.width)
    array = f"[{limbs}]" if limbs > 1 else ""
    return (
        f"    {storage_dtype(column.width).name}_t {column.name}{array}; "
        f"// {column.type}, {column.role_in_words}, {column.width} bits"
    )


def write(vectors: VectorSet, file: BinaryIO, options: Options) -> None:
    """Write the structure, the array and its length."""
    check_names("C", C, (options.name, *(column.name for column in vectors.columns)))
    name, guard = options.name, f"{options.name.upper()}_H"
    head = [
        f"// {texts.described(vectors.columns)}",
        f"#ifndef {guard}",
        f"#define {guard}",
        "#include <stdint.h>",
        f"struct {name}_row {{",
        *map(_member, vectors.columns),
        "};",
        f"static const struct {name}_row {name}[] = {{",
    ]
    file.write(("\n".join(head) + "\n").encode())
    count = texts.write_rows(vectors, file, _row(vectors.columns))
    zeros = ", ".join("0" if column.width <= LIMB_BITS else "{0}" for column in vectors.columns)
    empty = "" if count else f"    {{{zeros}}} // C has no empty arrays\n"
    file.write(f"{empty}}};\n#define {name.upper()}_COUNT {count}\n#endif\n".encode())


class _Lines(texts.Lines):
    """The reader of a header that `write` made: it reads the rows and their number, and skips everything else."""

    ends = True

    def read(self, text: str, done: int) -> list[list[str]]:
        number = _COUNT.fullmatch(text)
        if number:
            self.count = int(number[1])
        if not text.startswith(("{0x", "{{0x")):
            return []
        limbs = [limb_count(column.width) for column in self.columns]
        words = [_WORD.fullmatch(part.strip(" {}")) for part in text.removesuffix(",").split(",")]
        digits = [word[1] for word in words if word]
        if not len(digits) == len(words) == sum(limbs) or not text.endswith("},"):
            raise ValueError(f"a row has {sum(limbs)} numbers in hexadecimal")
        left = iter(part.rjust(texts.digits(LIMB_BITS), "0") for part in digits)
        return [["".join(reversed([next(left) for _ in range(own)])) for own in limbs]]


FORMAT = texts.text_format("c", ".h", _row, _Lines, write=write, describes=True)
