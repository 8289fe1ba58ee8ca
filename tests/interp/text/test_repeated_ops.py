"""Ops on lines like an earlier one: what is read is what the general parser reads, in every detail."""

import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Barrier, Thread

import pytest
from amounts import thinned
from corpora import fuzz_text
from corpora.corpus import entries
from tables import each_row

from halfulp.interp.bytecode.writer import write_bytecode
from halfulp.interp.declare.declarations import ANY, Dialect
from halfulp.interp.declare.registry import Registry, default_registry
from halfulp.interp.ir.attributes import StringAttr
from halfulp.interp.ir.errors import HalfulpError, ParseError
from halfulp.interp.ir.operations import Operation
from halfulp.interp.loading import parse_module, read_bytecode
from halfulp.interp.text import lexer, parser
from halfulp.interp.text.lexer import tokenize, tokenize_lines

PROGRAM = """!t = i32
func.func @f(%a: i32, %b: i32, %x: f32, %y: f32, %i: index, %v: vector<4xf32>) -> i32 {
  %0 = arith.addi %a, %b : i32
  %1 = arith.addi %0, %a overflow<nsw> : i32
  %2 = arith.addi %1, %0 {k} : !t loc("here")
  %3 = arith.addf %x, %y : f32
  %4 = arith.addf %3, %y to_nearest_even fastmath<nnan> : f32
  %5 = arith.addf %v, %v : vector<4xf32>
  %6 = arith.cmpi slt, %2, %0 : i32
  %7 = arith.cmpi ult, %i, %i : index
  %8 = arith.cmpi slt, %a, %b : !t
  %9 = arith.select %6, %3, %4 : f32
  %10 = arith.extf %9 : f32 to f64
  %11 = arith.extf %5 : vector<4xf32> to vector<4xf64>
  %12 = arith.negf %10 : f64
  %13 = math.fma %12, %10, %12 : f64
  %14 = index.add %i, %i
  %15 = index.add %14, %i {k = 1 : i8}
  %16, %17 = arith.addui_extended %2, %0 : i32, i1
  %18:2 = arith.addui_extended %16, %2 : i32, i1
  cf.br ^after(%18#0 : i32)
^after(%c: i32):
  %19 = arith.addi %c, %18#0 : i32
  %20 = arith.shrui %19, %c exact : i32
  %21 = arith.shrui %20, %19 : i32
  return %21 : i32
}
"""


@contextmanager
def without_memory() -> Iterator[None]:
    """Search each line for tokens, and remember no op."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lexer, "tokenize_lines", lambda text: (tokenize(text), {}))
        yield


def outcome(text: str) -> object:
    """All that a module consists of, or its error."""
    try:
        module = parse_module(text)
    except HalfulpError as error:
        return type(error), str(error), str(error.location), error.hint, [(str(at), note) for at, note in error.notes]
    numbers: dict[object, int] = {}

    def described(op: Operation) -> object:
        for value in (*op.results, *(a for region in op.regions for block in region.blocks for a in block.arguments)):
            numbers[value] = len(numbers)
        attributes = [(name, type(a), str(a)) for kept in (op.properties, op.attributes) for name, a in kept.items()]
        return (
            (op.name, op.definition, len(op.properties), attributes, str(op.location)),
            [(result.type, result.name, result.index, result.owner is op) for result in op.results],
        )

    ops = list(module.walk())
    facts = [described(op) for op in ops]
    return facts, [[numbers[value] for value in op.operands] for op in ops]


def same_outcome(text: str) -> bool:
    """Read a text both ways. Return True if it was accepted."""
    with without_memory():
        expected = outcome(text)
    found = outcome(text)
    assert found == expected, text
    return isinstance(found, tuple) and len(found) == 2


GENERIC = """!t = i32
"func.func"() <{function_type = (i32, f32) -> (), sym_name = "f"}> ({
^bb0(%a: i32, %x: f32):
  %0 = "arith.addi"(%a, %a) : (i32, i32) -> i32
  %1 = "arith.addi"(%0, %a) <{overflowFlags = #arith.overflow<nsw>}> : (i32, i32) -> i32
  %2 = "arith.addi"(%1, %0) : (i32, i32) -> i32
  %3 = "arith.addi"(%2, %0) {k} : (i32, i32) -> i32
  %4 = "arith.addi"(%3, %2) <{overflowFlags = #arith.overflow<nsw>}> : (i32, i32) -> i32
  %5 = "arith.addi"(%4, %3) <{overflowFlags = #arith.overflow<nsw>}> : (!t, i32) -> i32
  %6 = "arith.negf"(%x) : (f32) -> f32
  %7 = "arith.negf"(%6) : (f32) -> f32 loc("there")
  %8:2 = "t.two"() : () -> (i32, !llvm.ptr)
  %9:2 = "t.two"() : () -> (i32, !llvm.ptr)
  %10 = "t.one"(%8#1) : (!llvm.ptr) -> !llvm.ptr
  %11 = "t.one"(%9#1) : (!llvm.ptr) -> !llvm.ptr
  %12 = "t.one"(%9#1) <"raw"> : (!llvm.ptr) -> !llvm.ptr
  "t.none"(%9#0, %8#0, %0) : (i32, i32, i32) -> ()
  "t.none"(%9#0, %8#0, %1) : (i32, i32, i32) -> ()
  "cf.br"()[^bb1] : () -> ()
^bb1:
  "func.return"() : () -> ()
}) : () -> ()
"""


@pytest.mark.parametrize("program", [PROGRAM, GENERIC])
def test_a_program_is_read_alike(program: str) -> None:
    assert same_outcome(program)


LINES = (
    "%{} = arith.addi %a, %b : i32",
    "%{} = arith.cmpi slt, %a, %b : i32",
    "%{} = arith.extf %x : f32 to f64",
    "%{} = index.add %i, %j",
    '%{} = "arith.addi"(%a, %b) <{{overflowFlags = #arith.overflow<nsw>}}> : (i32, i32) -> i32',
    '"t.none"(%a) : (i32) -> ()',
)


LONGER = (
    "%{} = arith.constant 1 : index",
    "memref.store %x, %m[%i, %j] : memref<8x8xf32, strided<[?, 1], offset: ?>>",
    "%{} = memref.load %m[%j, %i] : memref<8x8xf32, strided<[?, 1], offset: ?>>",
    "%{} = arith.select %c, %x, %y : f32",
    "%{} = affine.load %m[%i, symbol(%j) + 1] : memref<8x8xf32, strided<[?, 1], offset: ?>>",
    '%{} = llvm.extractvalue %s[1] {{k = "100 %"}} : !llvm.struct<(ptr, array<2 x i64>)> loc("here":1:2)',
)
HEAD = (
    "func.func @f(%a: i32, %b: i32, %c: i1, %x: f32, %y: f32, %i: index, %j: index, "
    "%m: memref<8x8xf32, strided<[?, 1], offset: ?>>, %s: !llvm.struct<(ptr, array<2 x i64>)>) {\n"
)


@pytest.mark.long
@pytest.mark.parametrize("line", thinned([*LINES, *LONGER], 7))
def test_each_token_of_a_later_op_may_be_another(line: str) -> None:
    """The first two lines are whole; a damaged third one must be refused, or read as without them."""
    before = HEAD + "".join(f"  {line.format(number)}\n" for number in range(2))
    tokens = tokenize(line.format(2))[:-2]
    others = [*dict.fromkeys(tokens), "", "%x", "%u", "{", "{k}", "i64", "loc", "%", "<", "sge", "i32, i32", "->"]
    accepted = 0
    for place in range(len(tokens)):
        for other in others:
            damaged = " ".join((*tokens[:place], other, *tokens[place + 1 :]))
            accepted += same_outcome(f"{before}  {damaged}\n  return\n}}")
    assert accepted >= len(tokens), accepted  # a token may be replaced by itself
    assert accepted < 3 * len(tokens), accepted


POINTER = '%p = "t.make"() : () -> !llvm.ptr\n'


@each_row(
    # What follows an op is part of it.
    "func.func @f(%i: index) {\n %0 = index.add %i, %i\n %1 = index.add %i, %i {k}\n return\n}",
    "func.func @f(%i: index) {\n %0 = index.add %i, %i\n %1 = index.add %i, %i loc(unknown)\n return\n}",
    # A type that begins like a known one.
    f'{POINTER}"t.a"(%p) : (!llvm.ptr) -> ()\n"t.a"(%p) : (!llvm.ptr) -> !llvm.ptr<3>',
    f'{POINTER}%0 = "t.a"(%p) : (!llvm.ptr) -> !llvm.ptr\n%1 = "t.a"(%p) : (!llvm.ptr) -> !llvm.ptr<3>',
    '%0 = "t.a"() : () -> !llvm.ptr\n%1 = "t.a"() : () -> !llvm.ptr<3>',
    # Regions, attributes, successors and an attribute in angle brackets are not kept.
    '"t.r"() ({\n"t.x"() : () -> ()\n}) : () -> ()\n' * 2,
    '"t.r"() {k = 1 : i8} : () -> ()\n' * 2,
    '"t.r"() <{k = 1 : i8}> : () -> ()\n' * 2,
    '"t.r"() ({\n "t.b"()[^a] : () -> ()\n^a:\n "t.b"()[^a] : () -> ()\n}) : () -> ()',
    # A name that is not a name, one that is taken, and results that are not there.
    "func.func @f(%a: i32) {\n %0 = arith.addi %a, %a : i32\n % = arith.addi %a, %a : i32\n return\n}",
    "func.func @f(%a: i32) {\n %0 = arith.addi %a, %a : i32\n %0 = arith.addi %a, %a : i32\n return\n}",
    '"t.none"() : () -> ()\n"t.none"() : () -> ()\n%0 = "t.none"() : () -> ()',
    # The end of the text.
    "func.func @f(%a: i32) {\n %0 = arith.addi %a, %a : i32\n %1 = arith.addi %a, %a",
    "func.func @f(%a: i32) {\n %0 = arith.addi %a, %a : i32\n %1 = arith.addi %a, %a :",
)
def test_what_differs_is_read_in_the_general_way(text: str) -> None:
    same_outcome(text)


def registry_with(mnemonic: str, assembly: str, *operands: str) -> Registry:
    dialect = Dialect("k")
    dialect.op(mnemonic, assembly, operands=dict.fromkeys(operands, ANY))
    registry = Registry(default_registry().dialects.values())
    registry.register(dialect)
    return registry


def test_the_order_of_operands_is_that_of_the_declaration() -> None:
    assembly = "$second `,` $first attr-dict `:` type($second) `,` type($first)"
    registry = registry_with("swap", assembly, "first", "second")
    body = "  k.swap %a, %b : i32, f32\n" * 3
    module = parse_module(f"func.func @f(%a: i32, %b: f32) {{\n{body}  return\n}}", registry=registry)
    function = module.body[0].regions[0].blocks[0]
    assert [op.operands for op in function.operations[:3]] == [function.arguments[::-1]] * 3


def test_a_type_of_one_token_may_go_on() -> None:
    registry = registry_with("keep", "$in attr-dict `:` type($in)", "in")
    text = f"{POINTER}k.keep %p : !llvm.ptr\nk.keep %p : !llvm.ptr\n"
    assert len(parse_module(text, registry=registry).body) == 3
    with pytest.raises(ParseError, match=r"different type than prior uses: '!llvm.ptr<3>' vs '!llvm.ptr'"):
        parse_module(f"{text}k.keep %p : !llvm.ptr<3>", registry=registry)


def test_most_ops_are_read_like_an_earlier_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the first op on a line of its kind is read by the general parser."""
    general: Counter[str] = Counter()
    unlike = parser.Parser._unlike

    def counting(p: parser.Parser, at: int) -> Operation:
        general[p.tokens[at]] += 1
        return unlike(p, at)

    monkeypatch.setattr(parser.Parser, "_unlike", counting)
    lines = (*LINES, *LONGER)
    body = "".join(f"  {line.format(f'r{n}_{k}')}\n" for n in range(5) for k, line in enumerate(lines))
    # The last one is followed by a name, as the others are.
    parse_module(f"{HEAD}{body}  %end = ub.poison : i1\n  return\n}}")
    assert {name: count for name, count in general.items() if count > 1} == {}
    assert len(general) == len(lines) + len(("func.func", "ub.poison", "return"))


def test_names_may_be_used_before_they_are_defined() -> None:
    assert same_outcome(
        "func.func @f(%a: i32) {\n  cf.br ^b\n^c:\n  %0 = arith.addi %a, %a : i32\n  %1 = arith.addi %2, %0 : i32\n"
        "  return\n^b:\n  %2 = arith.addi %a, %a : i32\n  cf.br ^c\n}"
    )


def test_types_that_begin_alike() -> None:
    body = "".join(f'  %{n} = "t.make"() : () -> {t}\n  %r{n} = arith.negf %{n} : {t}\n' for n, t in enumerate(TYPES))
    assert same_outcome(body * 1)


TYPES = ("tensor<2xf32, #t.a>", "tensor<2xf32, #t.b>", "vector<[4]xf32>", "tensor<?x2xf32>", "tensor<2xf32>", "f32")


@each_row(
    # An op goes on in the next line, or the next line begins another op.
    "index.add %i, %i\nindex.add %i, %i\n{k}",
    "index.add %i, %i\nindex.add %i, %i\nloc(unknown)\nindex.add %i, %i",
    '"t.a"(%p) : (!llvm.ptr) -> ()\n"t.b"() : () -> !llvm.ptr\n"t.b"() : () -> !llvm.ptr\n<3>\nindex.add %i, %i',
    # A value is given twice: as one symbol of an affine map, or as two operands.
    "affine.apply affine_map<()[a, b] -> (a + b)>()[%i, %j]\naffine.apply affine_map<()[a, b] -> (a + b)>()[%i, %i]",
    "%{} = affine.load %m[%i, %j] : memref<8x8xf32>\n%{} = affine.load %m[%i, %i] : memref<8x8xf32>",
    "%{} = affine.load %m[%i, %i] : memref<8x8xf32>\n%{} = affine.load %m[%i, %j] : memref<8x8xf32>",
    "index.add %i, %i\nindex.add %i, %j\nindex.add %j, %j",
    # A name of a result with a number, a name in a string and one in a comment.
    '%{}:2 = "t.t"() : () -> (i32, i32)\n%{}:2 = "t.t"() : () -> (i32, i32)',
    '"t.n"() {k = "%i"} : () -> ()\n"t.n"() {k = "%j"} : () -> ()',
    "index.add %i, %i // %i\nindex.add %i, %j // %j",
    '"t.n"() {k = "%i // "} : () -> ()\n"t.n"() {k = "%j // "} : () -> ()',
    # Types of values that a line does not tell.
    '"t.u"(%i) : (index) -> ()\n"t.u"(%p) : (index) -> ()\n"t.u"(%j) : (index) -> ()',
    # Two ops on a line, and a part of one.
    "index.add %i, %i index.add %i, %j\nindex.add %j, %i index.add %i, %i",
    "index.add\n%i, %i\nindex.add\n%i, %i",
    # A location by an alias that is defined later.
    "%{} = index.add %i, %j loc(#early)\n%{} = index.add %j, %i loc(#late)\n%{} = index.add %j, %i loc(#late2)",
    "index.add %i, %j loc(#early)\nindex.add %j, %i\nindex.add %j, %i\nloc(#early)\nindex.add %j, %i loc(#none)",
    "index.add %i, %i loc(#late)\nindex.add %i, %i loc(#late)\nindex.add %i, %j loc(#late)",
)
def test_lines_that_are_alike_in_part(text: str) -> None:
    numbered = text
    while "%{}" in numbered:
        numbered = numbered.replace("%{}", f"%n{len(numbered)}", 1)
    arguments = "%i: index, %j: index, %m: memref<8x8xf32>, %p: !llvm.ptr"
    lines = [numbered.replace("%n", f"%r{number}_") for number in range(3)]
    body = f"func.func @f({arguments}) {{\n" + "\n".join(lines) + "\nreturn\n}\n"
    text_ends = ("<3>", "(#none)")
    accepted = same_outcome(f'#early = loc("y")\n{body}#late = loc("x")\n#late2 = loc("z")\n')
    assert accepted == (not text.endswith(text_ends) and "%p) : (index)" not in text)


def test_ops_that_are_alike_have_attributes_of_their_own() -> None:
    line = "  %{} = arith.addi %a, %a {{k = 1 : i8}} : i32\n"
    text = "func.func @f(%a: i32) {\n" + "".join(line.format(n) for n in range(4)) + "  return\n}"
    data = write_bytecode(parse_module(text))
    for module in (parse_module(text), read_bytecode(data)):
        second, third = module.body[0].regions[0].blocks[0].operations[1:3]
        second.properties["overflowFlags"] = StringAttr("changed")
        second.attributes.clear()
        assert str(third.properties["overflowFlags"]) == "#arith.overflow<none>"
        assert [*third.attributes] == ["k"]
        assert not second.attributes


def test_each_depth_of_brackets_is_counted() -> None:
    """What is read at little depth may be nested too deep elsewhere."""
    type_ = "tuple<" * 60 + "i1" + ">" * 60
    line = f'"t.t"() : () -> {type_}\n'
    text = line * 3 + '"t.r"() ({\n' * 50 + line + "}) : () -> ()\n" * 50
    assert not same_outcome(text)
    with pytest.raises(ParseError, match="nesting is deeper than 100 levels"):
        parse_module(text)


PLACES = """
 index.add %i, %j loc(#a)
 index.add %i, %j  loc(#b1)
index.add %i, %j loc(#1b)
index.add %i, %j loc(#1) loc(#2)
index.add %i, %j // loc(#3)
"x loc(#4)" loc(#5)) loc(#)
loc(#6)
 loc(#7)
"""


@each_row("", "\n", "%a\r\n %b // %c\n\n", '"%a\n%b"', "%0a %a#1 %b#x\n" * 3, " x // %\n" * 3, PLACES)
def test_tokens_of_lines_are_those_of_the_text(text: str) -> None:
    tokens, _ = tokenize_lines(text)
    assert tokens[-2:] == ["", ""]
    assert [*filter(None, tokens)] == [*filter(None, tokenize(text))]


def test_tokens_of_the_corpus() -> None:
    for entry in entries():
        assert [*filter(None, tokenize_lines(entry.text)[0])] == [*filter(None, tokenize(entry.text))], entry.name


def test_modules_of_the_corpus() -> None:
    for entry in random.Random(3).sample(entries(), 60):
        same_outcome(entry.text)


@pytest.mark.exhaustive
def test_damaged_modules_of_the_corpus() -> None:
    for entry in entries():
        same_outcome(entry.text)
    accepted = sum(same_outcome(fuzz_text.mutant(41, number)) for number in range(20_000))
    assert accepted > 500


def test_an_op_that_may_end_before_a_name() -> None:
    """``vector.print`` has an operand on the next line, or none: two names apart from what follows them."""
    text = """func.func @f(%v: vector<4xf32>) {
      vector.print
      %0 = arith.constant 1 : i32
      vector.print
      %v : vector<4xf32>
      vector.print
      %1, %2 = arith.addui_extended %0, %0 : i32, i1
      vector.print
      %3:2 = arith.addui_extended %0, %0 : i32, i1
      return
    }"""
    assert same_outcome(text)
    assert same_outcome(text.replace("      %v : vector<4xf32>\n", ""))


def test_threads_may_ask_for_places_at_once() -> None:
    """Types are split into tokens while they are read, and places counted when somebody asks."""
    lines = [f'  %{i} = "t.a"() : () -> memref<{i + 1}x4xf32, strided<[?, 1]>>' for i in range(400)]
    text = "\n".join(["func.func @f() {", *lines, "  return", "}"])
    expected = [str(op.location) for op in parse_module(text, verify=False).walk()]
    module, found, together = parse_module(text, verify=False), [], Barrier(4, timeout=60)

    def ask() -> None:
        together.wait()
        found.append([str(op.location) for op in module.walk()])

    threads = [Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


def test_properties_in_a_dictionary_keep_their_order() -> None:
    for names in (["nontemporal = true", "alignment = 8"], ["alignment = 8", "nontemporal = true"]):
        text = f"""func.func @f(%m: memref<4xf32>, %i: index) {{
          %0 = memref.load %m[%i] {{{", ".join(names)}}} : memref<4xf32>
          return
        }}"""
        (op,) = [each for each in parse_module(text).walk() if each.name == "memref.load"]
        assert list(op.properties) == [name.partition(" ")[0] for name in names]
