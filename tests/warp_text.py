"""Read the text of LLVM IR that Triton emits, as far as `warps` runs it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple

_TOKEN = re.compile(
    r'c?"(?:[^"\\]|\\.)*"|[%@](?:"[^"]*"|[\w.$-]+)|[-+]?\d+\.\d+(?:e[+-]\d+)?|f?0x[HRKLM]?[0-9A-Fa-f]+|[+-](?:inf|q?nan(?:\(0x[0-9A-F]+\))?)'
    r"|-?\d+|[A-Za-z_.][\w.]*:?|[^\s]"
)


class Type(NamedTuple):
    """A type. ``kind``: i, f, p, v (a vector), s (a struct), a (an array) or void. ``size``: bits, or elements.
    ``inner``: the types of elements. ``name``: of a float.
    """

    kind: str
    size: int
    inner: tuple[Type, ...] = ()
    name: str = ""

    @property
    def bytes(self) -> int:
        """The size in memory."""
        if self.kind in "va":
            return self.size * self.inner[0].bytes
        if self.kind == "s":
            return sum(each.bytes for each in self.inner)
        return max(self.size, 8) // 8


FLOATS = {"half": ("f16", 16), "bfloat": ("bf16", 16), "float": ("f32", 32), "double": ("f64", 64)}
VOID = Type("void", 0)


class Name(NamedTuple):
    """A value that an instruction or an argument gives."""

    text: str


class Constant(NamedTuple):
    """A constant, as it is written: a word, a number or a list of constants."""

    word: Any


Operand = Name | Constant
Typed = tuple[Type, Operand]


@dataclass
class Instruction:
    """An instruction. ``flags``: what else the text says."""

    op: str
    name: str
    type: Type
    operands: list[Typed]
    flags: dict[str, Any] = field(default_factory=dict)


@dataclass
class Function:
    """A function: the names of its arguments, and its blocks in the order of the text."""

    arguments: list[Typed]
    blocks: dict[str, list[Instruction]]


class Line:
    """The tokens of a line, read from left to right."""

    def __init__(self, text: str) -> None:
        self.tokens = _TOKEN.findall(text)
        self.at = 0

    def peek(self, ahead: int = 0) -> str:
        place = self.at + ahead
        return self.tokens[place] if place < len(self.tokens) else ""

    def next(self) -> str:
        self.at += 1
        return str(self.tokens[self.at - 1])

    def take(self, *words: str) -> bool:
        """Take the next token if it is one of these."""
        if self.peek() in words:
            self.at += 1
            return True
        return False

    def expect(self, word: str) -> None:
        found = self.next()
        assert found == word, (found, word, self.tokens)

    # --- types ---

    def type(self) -> Type:
        word = self.next()
        if word == "void":
            return VOID
        if word in FLOATS:
            name, bits = FLOATS[word]
            return Type("f", bits, (), name)
        if word == "ptr":
            space = 0
            if self.take("addrspace"):
                self.expect("(")
                space = int(self.next())
                self.expect(")")
            return Type("p", 64, (), str(space))
        if word in "<[":
            count = int(self.next())
            self.expect("x")
            inner = self.type()
            self.expect(">" if word == "<" else "]")
            return Type("v" if word == "<" else "a", count, (inner,))
        if word == "{":
            parts: list[Type] = []
            while not self.take("}"):
                parts.append(self.type())
                self.take(",")
            return Type("s", len(parts), tuple(parts))
        assert re.fullmatch(r"i\d+", word), (word, self.tokens)
        return Type("i", int(word[1:]))

    # --- operands ---

    def operand(self) -> Operand:
        word = self.next()
        if word[0] == "%":
            return Name(word)
        if word == "splat":
            self.expect("(")
            _, value = self.typed()
            self.expect(")")
            return Constant(("splat", value))
        if word in "<{[":
            found = []
            while not self.take(">", "}", "]"):
                found.append(self.typed()[1])
                self.take(",")
            return Constant(found)
        if word == "getelementptr":
            while self.peek() != "(":
                self.next()
            self.expect("(")
            base = self.type()
            self.expect(",")
            parts = [self.typed()]
            while self.take(","):
                parts.append(self.typed())
            self.expect(")")
            return Constant(("address", base, parts))
        if word == "ptrtoint":
            self.expect("(")
            inner = self.typed()
            self.expect("to")
            self.type()
            self.expect(")")
            return Constant(("integer", inner))
        return Constant(word)

    def typed(self) -> Typed:
        type_ = self.type()
        while self.peek() in _ATTRIBUTES or (self.peek(1) == "(" and self.peek() in ("range", "captures", "align")):
            if self.next() in ("range", "captures"):
                while self.next() != ")":
                    pass
        return type_, self.operand()


_ATTRIBUTES = frozenset(
    [
        "noundef",
        "nofree",
        "readnone",
        "readonly",
        "writeonly",
        "nocapture",
        "inreg",
        "zeroext",
        "signext",
        "noalias",
        "nonnull",
        "immarg",
    ]
)
_FLAGS = frozenset(
    [
        "nuw",
        "nsw",
        "exact",
        "disjoint",
        "nneg",
        "inbounds",
        "fast",
        "nnan",
        "ninf",
        "nsz",
        "arcp",
        "contract",
        "afn",
        "reassoc",
        "samesign",
        "volatile",
    ]
)
_BINARY = frozenset(
    [
        "add",
        "sub",
        "mul",
        "udiv",
        "sdiv",
        "urem",
        "srem",
        "and",
        "or",
        "xor",
        "shl",
        "lshr",
        "ashr",
        "fadd",
        "fsub",
        "fmul",
        "fdiv",
        "frem",
        "icmp",
        "fcmp",
    ]
)
_CASTS = frozenset(
    [
        "zext",
        "sext",
        "trunc",
        "bitcast",
        "ptrtoint",
        "inttoptr",
        "addrspacecast",
        "fpext",
        "fptrunc",
        "sitofp",
        "uitofp",
        "fptosi",
        "fptoui",
    ]
)


def _instruction(text: str) -> Instruction:
    line = Line(text)
    name = ""
    if line.peek(1) == "=":
        name = line.next()
        line.next()
    line.take("tail", "musttail", "notail")
    op = line.next()
    flags: dict[str, Any] = {}
    if op == "call":
        return _call(line, name)
    if op in ("br", "switch", "ret"):
        return _end(line, op)
    if op == "phi":
        type_ = line.type()
        edges = []
        while line.take("["):
            value = line.operand()
            line.expect(",")
            edges.append((value, line.next()))
            line.expect("]")
            line.take(",")
        return Instruction(op, name, type_, [], {"edges": edges})
    while line.peek() in _FLAGS:
        flags[line.next()] = True
    if op in ("icmp", "fcmp"):
        flags["rule"] = line.next()
    if op in _BINARY:
        type_ = line.type()
        first = line.operand()
        line.expect(",")
        return Instruction(op, name, type_, [(type_, first), (type_, line.operand())], flags)
    if op in _CASTS:
        given = line.typed()
        line.expect("to")
        return Instruction(op, name, line.type(), [given], flags)
    if op == "getelementptr":
        flags["element"] = line.type()
        line.expect(",")
    if op == "load":
        type_ = line.type()
        line.expect(",")
        return Instruction(op, name, type_, [line.typed()], flags)
    if op == "atomicrmw":
        flags["rule"] = line.next()
    if op == "fence":
        return Instruction(op, name, VOID, [])
    operands = [line.typed()]
    while line.take(","):
        if line.peek() in ("align", "!") or line.peek().isdigit():
            if op in ("insertvalue", "extractvalue") and line.peek().isdigit():
                flags["place"] = int(line.next())
            break
        operands.append(line.typed())
    return Instruction(op, name, operands[0][0], operands, flags)


def _call(line: Line, name: str) -> Instruction:
    while line.peek() in _ATTRIBUTES | _FLAGS or line.peek() in ("range", "ptx_kernel"):
        if line.next() == "range":
            while line.next() != ")":
                pass
    type_ = line.type()
    flags: dict[str, Any] = {}
    op = "call"
    if line.take("asm"):
        op = "asm"
        line.take("sideeffect")
        flags["text"] = line.next()[1:-1].replace("\\0A", "\n").replace("\\09", " ")
        line.expect(",")
        flags["constraints"] = line.next()[1:-1]
    else:
        flags["callee"] = line.next()[1:]
    line.expect("(")
    operands = []
    while not line.take(")"):
        if line.peek() == "metadata":
            while line.peek() not in ",)":
                line.next()
        else:
            operands.append(line.typed())
        line.take(",")
    return Instruction(op, name, type_, operands, flags)


def _end(line: Line, op: str) -> Instruction:
    if op == "ret":
        return Instruction(op, "", VOID, [])
    if line.take("label"):
        return Instruction(op, "", VOID, [], {"labels": [line.next()]})
    value = line.typed()
    line.expect(",")
    line.expect("label")
    labels = [line.next()]
    if op == "br":
        line.expect(",")
        line.expect("label")
        labels.append(line.next())
        return Instruction(op, "", VOID, [value], {"labels": labels})
    line.expect("[")
    cases = []
    while not line.take("]"):
        cases.append(line.typed())
        line.expect(",")
        line.expect("label")
        labels.append(line.next())
    return Instruction(op, "", VOID, [value, *cases], {"labels": labels})


def kernel_of(text: str) -> Function:
    """Return the kernel of a module."""
    lines = text.splitlines()
    start = next(k for k, line in enumerate(lines) if re.match(r"define .*(ptx_kernel|amdgpu_kernel)", line))
    line = Line(lines[start][lines[start].index("@") :])
    line.next()
    line.expect("(")
    arguments: list[Typed] = []
    while not line.take(")"):
        type_ = line.type()
        while line.peek()[0] != "%":
            line.next()
        arguments.append((type_, Name(line.next())))
        line.take(",")
    blocks: dict[str, list[Instruction]] = {}
    label = f"%{len(arguments)}"
    for raw in lines[start + 1 :]:
        if raw.startswith("}"):
            break
        text = (
            re.sub(r", ![\w.]+ !\d+|, !\w+ !\{\}|\s*;.*$| #\d+(?=,|$)", "", raw)
            if '"' not in raw
            else re.sub(r", !dbg !\d+| #\d+", "", raw)
        )
        if not text.strip():
            continue
        if not raw.startswith(" "):
            label = "%" + raw.split(":")[0]
            blocks[label] = []
            continue
        blocks.setdefault(label, []).append(_instruction(text.strip()))
    return Function(arguments, blocks)
