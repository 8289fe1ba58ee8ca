"""The coverage of the corpus: each production of the language's grammar, and each optional part of each op.

`PRODUCTIONS` lists, in words of this project, the grammar of the builtin and quant dialects and of the syntax around them, as
MLIR's documents give it; each row has a test on a parsed module. The parts of an op come from its declaration. A count of zero is a gap in
the corpus.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from halfulp.fp_formats.formats import FORMATS
from halfulp.interp.declare.declarations import Arity, OpDefinition
from halfulp.interp.declare.operands import SEGMENTS, all_operands, spread
from halfulp.interp.declare.parameters import Group, read_format
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import base as lo
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.affine_expressions import AffineConstant, AffineExpr, Binary, Symbol
from halfulp.interp.ir.attributes import Attribute
from halfulp.interp.ir.dialect_attributes import parts
from halfulp.interp.ir.operations import BlockArgument, Module, Operation
from halfulp.interp.ir.types import Type
from halfulp.interp.text.lexer import tokenize

_STRING_OR_COMMENT = re.compile(r'("(?:[^"\\\n]|\\.)*")|//[^\n]*')

# The dialects of MLIR whose ops are counted.
# fmt: off
DIALECTS = (
    "affine", "builtin", "arith", "bufferization", "cf", "complex", "func", "index", "math", "memref", "quant", "scf",
    "shape", "tensor", "ub", "vector",
)
# fmt: on


class Facts:
    """One parsed module, taken apart."""

    def __init__(self, module: Module, text: str) -> None:
        self.module = module
        self.operations = list(module.walk())
        self.tokens = tokenize(text)
        # Strings are emptied and comments removed, so that a search in the text finds syntax only.
        self.code = _STRING_OR_COMMENT.sub(lambda match: '""' if match[1] else "", text)

    @cached_property
    def things(self) -> list[Attribute | Type]:
        """Return every attribute, location and type in the module, nested ones included."""
        stack: list[Attribute | Type] = []
        for operation in self.operations:
            stack += [*operation.properties.values(), *operation.attributes.values(), operation.location]
            if operation.raw_properties is not None:
                stack.append(operation.raw_properties)
            stack += (result.type for result in operation.results)
            for argument in _arguments(operation):
                stack += [argument.type, argument.location]
        found = []
        while stack:
            thing = stack.pop()
            found.append(thing)
            stack += parts(thing)
            if isinstance(thing, at.FloatAttr):
                stack.append(thing.type)
            elif isinstance(thing, at.DenseArrayAttr):
                stack.append(thing.element)
            elif isinstance(thing, ty.QuantizedType) and thing.expressed is not None:
                stack.append(thing.expressed)
        return found

    @cached_property
    def expressions(self) -> list[AffineExpr]:
        """Return every affine expression in the maps and sets of the module."""
        stack: list[AffineExpr] = []
        for thing in self.things:
            if isinstance(thing, at.AffineMapAttr):
                stack += thing.results
            elif isinstance(thing, at.IntegerSetAttr):
                stack += (expression for expression, _ in thing.constraints)
        found = []
        while stack:
            expression = stack.pop()
            found.append(expression)
            if isinstance(expression, Binary):
                stack += (expression.lhs, expression.rhs)
        return found


def _arguments(operation: Operation) -> Iterator[BlockArgument]:
    for region in operation.regions:
        for block in region.blocks:
            yield from block.arguments


Test = Callable[[Facts], bool]


@dataclass(frozen=True, slots=True)
class Production:
    """A row of the table: its section of the document, its name, and a test whether a module uses it."""

    section: str
    what: str
    used: Test


def _any(kind: type | tuple[type, ...], test: Callable[..., bool] = lambda thing: True) -> Test:
    return lambda facts: any(isinstance(thing, kind) and test(thing) for thing in facts.things)


def _expression(test: Callable[[AffineExpr], bool]) -> Test:
    return lambda facts: any(test(expression) for expression in facts.expressions)


def _binary(operator: str, by: type[AffineExpr]) -> Test:
    return _expression(lambda e: isinstance(e, Binary) and e.operator == operator and isinstance(e.rhs, by))


def _code(pattern: str) -> Test:
    compiled = re.compile(pattern)
    return lambda facts: compiled.search(facts.code) is not None


def _operation(test: Callable[[Operation], bool]) -> Test:
    return lambda facts: any(test(operation) for operation in facts.operations)


def _token(test: Callable[[str], bool]) -> Test:
    return lambda facts: any(test(token) for token in facts.tokens)


def _width(attribute: at.IntegerAttr) -> int:
    return attribute.type.width if isinstance(attribute.type, ty.IntegerType) else 0


def _integer(signedness: str) -> Callable[[ty.IntegerType], bool]:
    return lambda type_: type_.signedness == signedness


def _elements(test: Callable[[Type], bool]) -> Test:
    return _any(at.DenseElementsAttr, lambda a: test(a.type.element))


def _float_rows() -> Iterator[Production]:
    for name in FORMATS:
        yield Production("Types", f"the float type {name}", _any(ty.FloatType, lambda t, n=name: t.format.name == n))
        yield Production(
            "FloatAttr", f"a number of type {name}", _any(at.FloatAttr, lambda a, n=name: a.type.format.name == n)
        )


PRODUCTIONS: tuple[Production, ...] = tuple(
    Production(section, what, used)
    for section, rows in {
        "AffineMapAttr": {
            "a map": _any(at.AffineMapAttr),
            "no dimensions": _any(at.AffineMapAttr, lambda a: not a.dimensions),
            "symbols": _any(at.AffineMapAttr, lambda a: a.symbols > 0),
            "no results": _any(at.AffineMapAttr, lambda a: not a.results),
            "several results": _any(at.AffineMapAttr, lambda a: len(a.results) > 1),
            "a constant": _expression(lambda e: isinstance(e, AffineConstant)),
            "a negative constant": _expression(lambda e: isinstance(e, AffineConstant) and e.value < 0),
            "a symbol": _expression(lambda e: isinstance(e, Symbol)),
            "a sum": _expression(lambda e: isinstance(e, Binary) and e.operator == "+"),
            "a difference": _code(r"affine_map<[^>]*> \([^>]*d0 - "),
            "unary minus": _code(r"affine_map<[^>]*>? \([^>]*-[ds(]"),
            "parentheses": _code(r"affine_map<[^>]*> \(\("),
            "a product with a constant": _binary("*", AffineConstant),
            "a product with a symbol (semi-affine)": _binary("*", Symbol),
            "floordiv by a constant": _binary("floordiv", AffineConstant),
            "floordiv by a symbol (semi-affine)": _binary("floordiv", Symbol),
            "ceildiv by a constant": _binary("ceildiv", AffineConstant),
            "ceildiv by a symbol (semi-affine)": _binary("ceildiv", Symbol),
            "mod by a constant": _binary("mod", AffineConstant),
            "mod by a symbol (semi-affine)": _binary("mod", Symbol),
        },
        "IntegerSetAttr": {
            "a set": _any(at.IntegerSetAttr),
            "an equality": _any(at.IntegerSetAttr, lambda a: any(equal for _, equal in a.constraints)),
            "an inequality": _any(at.IntegerSetAttr, lambda a: any(not equal for _, equal in a.constraints)),
            "symbols": _any(at.IntegerSetAttr, lambda a: a.symbols > 0),
            "no dimensions": _any(at.IntegerSetAttr, lambda a: not a.dimensions),
            "at most": _code(r"affine_set<[^<]*<="),
        },
        "ArrayAttr": {
            "an empty array": _any(at.ArrayAttr, lambda a: not a.elements),
            "one element": _any(at.ArrayAttr, lambda a: len(a.elements) == 1),
            "several elements": _any(at.ArrayAttr, lambda a: len(a.elements) > 1),
            "an array in an array": _any(at.ArrayAttr, lambda a: any(isinstance(e, at.ArrayAttr) for e in a.elements)),
        },
        "DenseArrayAttr": {
            "no elements": _any(at.DenseArrayAttr, lambda a: not a.codes),
            "integers": _any(at.DenseArrayAttr, lambda a: isinstance(a.element, ty.IntegerType) and a.element != ty.I1),
            "bools": _any(at.DenseArrayAttr, lambda a: a.element == ty.I1),
            "floats": _any(at.DenseArrayAttr, lambda a: isinstance(a.element, ty.FloatType)),
            "in the custom form of an op, without its type": _code(r"weights\(\["),
        },
        "DenseIntOrFPElementsAttr": {
            "a tensor": _any(at.DenseElementsAttr, lambda a: isinstance(a.type, ty.TensorType)),
            "a vector": _any(at.DenseElementsAttr, lambda a: isinstance(a.type, ty.VectorType)),
            "integers": _elements(lambda t: isinstance(t, ty.IntegerType) and t != ty.I1),
            "floats": _elements(lambda t: isinstance(t, ty.FloatType)),
            "index": _elements(lambda t: isinstance(t, ty.IndexType)),
            "i1": _elements(lambda t: t == ty.I1),
            "complex floats": _elements(
                lambda t: isinstance(t, ty.ComplexType) and isinstance(t.element, ty.FloatType)
            ),
            "complex integers": _elements(
                lambda t: isinstance(t, ty.ComplexType) and isinstance(t.element, ty.IntegerType)
            ),
            "a splat": _any(at.DenseElementsAttr, lambda a: a.splat),
            "a bare literal": _code(r"dense<-?[0-9.]+(?:e[-+]?\d+)?>"),
            "a list": _code(r"dense<\[-?[0-9]"),
            "a list of lists": _code(r"dense<\[\[-?[0-9]"),
            "an empty list": _code(r"dense<\[\]>"),
            "nothing": _code(r"dense<>"),
            "bools as literals": _code(r"dense<\[?(?:true|false)"),
            "a float by its bits": _code(r"dense<\[+0x[0-9A-F]+[^>]*> : \w+<\d+xf"),
            "a hexadecimal blob": lambda facts: any(
                token.startswith('"0x') and before == "<" and name == "dense"
                for name, before, token in zip(facts.tokens, facts.tokens[1:], facts.tokens[2:], strict=False)
            ),
            "rank zero": _any(at.DenseElementsAttr, lambda a: a.type.shape == ()),
            "rank three": _any(at.DenseElementsAttr, lambda a: len(a.type.shape or ()) == 3),
            "no elements": _any(at.DenseElementsAttr, lambda a: 0 in (a.type.shape or ())),
            "wider than 64 bits": _elements(lambda t: isinstance(t, ty.IntegerType) and t.width > 64),
        },
        "DenseResourceElementsAttr": {
            "a resource": _any(at.DenseResourceAttr),
            "a key in quotes": _any(at.DenseResourceAttr, lambda a: " " in a.key),
            "a dialect's section": lambda facts: bool(facts.module.resources.dialect),
            "an external section": lambda facts: bool(facts.module.resources.external),
            "a bool": lambda facts: any(
                isinstance(value, bool)
                for group in facts.module.resources.external.values()
                for value in group.values()
            ),
            "a string": lambda facts: any(
                isinstance(value, str) for group in facts.module.resources.external.values() for value in group.values()
            ),
            "a key without a blob": lambda facts: any(
                isinstance(thing, at.DenseResourceAttr) and facts.module.resources.blob(thing.key) is None
                for thing in facts.things
            ),
        },
        "DenseStringElementsAttr": {
            "a splat": _any(at.DenseStringAttr, lambda a: a.splat),
            "a list": _any(at.DenseStringAttr, lambda a: len(a.values) > 1),
        },
        "DictionaryAttr": {
            "an empty dictionary": _any(at.DictionaryAttr, lambda a: not a.entries),
            "a named value": _any(
                at.DictionaryAttr, lambda a: any(not isinstance(v, at.UnitAttr) for _, v in a.entries)
            ),
            "a name alone": _any(at.DictionaryAttr, lambda a: any(isinstance(v, at.UnitAttr) for _, v in a.entries)),
            "a name in quotes": _any(at.DictionaryAttr, lambda a: any(" " in name for name, _ in a.entries)),
        },
        "FloatAttr": {
            "a literal alone": _code(r"= -?\d+\.\d*(?:[eE][-+]?\d+)?[,}]"),
            "a literal with a type": _code(r"= -?\d+\.\d*(?:[eE][-+]?\d+)? : \w"),
            "bits with a type": _code(r"= 0x[0-9A-Fa-f]+ : (?:f|bf|tf)\d"),
            "an exponent": _code(r"\d\.\d*[eE][-+]?\d"),
            "infinity": _any(at.FloatAttr, lambda a: a.type.format.infinity_code == a.code),
            "a NaN with a payload": _any(
                at.FloatAttr, lambda a: a.type.format.is_nan(a.code) and a.code != a.type.format.nan_code
            ),
        },
        "IntegerAttr": {
            "a literal alone": _code(r"= -?\d+[,}]"),
            "a literal of an integer type": _code(r"= -?\d+ : i\d"),
            "a literal of type index": _code(r"= -?\d+ : index"),
            "hexadecimal": _code(r"= -?0x[0-9a-fA-F]+ : i"),
            "true": _code(r"\btrue\b"),
            "false": _code(r"\bfalse\b"),
            "a signed type": _any(at.IntegerAttr, lambda a: getattr(a.type, "signedness", "") == "signed"),
            "an unsigned type": _any(at.IntegerAttr, lambda a: getattr(a.type, "signedness", "") == "unsigned"),
            "wider than 64 bits": _any(at.IntegerAttr, lambda a: _width(a) > 64),
        },
        "OpaqueAttr": {
            "data in a dialect's brackets": _any(at.OpaqueAttr, lambda a: a.body.startswith("<")),
            "a mnemonic": _any(at.OpaqueAttr, lambda a: a.body.startswith(".") and "<" not in a.body),
            "a mnemonic with data": _any(at.OpaqueAttr, lambda a: a.body.startswith(".") and "<" in a.body),
            "a type": _any(at.OpaqueAttr, lambda a: a.type is not None),
        },
        "SparseElementsAttr": {
            "a tensor": _any(at.SparseElementsAttr, lambda a: isinstance(a.type, ty.TensorType)),
            "a vector": _any(at.SparseElementsAttr, lambda a: isinstance(a.type, ty.VectorType)),
            "no elements": _code(r"sparse<>"),
            "strings": _any(at.SparseElementsAttr, lambda a: isinstance(a.values, at.DenseStringAttr)),
        },
        "StringAttr": {
            "a string": _any(at.StringAttr),
            "a typed string": _any(at.StringAttr, lambda a: a.type is not None),
            "an escape": _token(lambda token: token[:1] == '"' and "\\" in token),
            "bytes that are no text": _any(at.StringAttr, lambda a: any("\udc80" <= c <= "\udcff" for c in a.value)),
        },
        "SymbolRefAttr": {
            "a flat reference": _any(at.SymbolRefAttr, lambda a: not a.nested),
            "a nested reference": _any(at.SymbolRefAttr, lambda a: len(a.nested) > 0),
            "a name in quotes": _token(lambda token: token.startswith('@"')),
        },
        "TypeAttr": {"a type": _any(at.TypeAttr)},
        "UnitAttr": {"unit": _code(r"\bunit\b"), "left out": _code(r"\{[\w.]+[,}]")},
        "StridedLayoutAttr": {
            "strides": _any(at.StridedLayoutAttr, lambda a: len(a.strides) > 1),
            "no strides": _any(at.StridedLayoutAttr, lambda a: not a.strides),
            "a dynamic stride": _any(at.StridedLayoutAttr, lambda a: None in a.strides),
            "an offset": _any(at.StridedLayoutAttr, lambda a: bool(a.offset)),
            "a dynamic offset": _any(at.StridedLayoutAttr, lambda a: a.offset is None),
        },
        "CallSiteLoc": {"callee and caller": _any(lo.CallSiteLoc)},
        "FileLineColRange": {
            "a line and a column": _any(lo.FileLineCol, lambda a: a.line > 0),
            "a line alone": _code(r'loc\(""\s*:\d+\)'),
            "a range on one line": _code(r"to :\d"),
            "a range over lines": _code(r"to \d+:\d"),
        },
        "FusedLoc": {
            "several places": _any(lo.FusedLoc, lambda a: len(a.locations) > 1),
            "metadata": _any(lo.FusedLoc, lambda a: a.metadata is not None),
            "no places": _code(r"fused(?:<[^>]*>)?\[\]"),
        },
        "NameLoc": {
            "a name": _any(lo.NameLoc, lambda a: isinstance(a.child, lo.UnknownLoc)),
            "a name of a place": _any(lo.NameLoc, lambda a: not isinstance(a.child, lo.UnknownLoc)),
        },
        "OpaqueLoc": {"what it is printed as: its other location": _any(lo.NameLoc)},
        "UnknownLoc": {"unknown": _code(r"loc\(unknown\)")},
        "DistinctAttribute": {
            "of an attribute": _any(at.DistinctAttr, lambda a: not isinstance(a.attribute, at.UnitAttr)),
            "of nothing": _any(at.DistinctAttr, lambda a: isinstance(a.attribute, at.UnitAttr)),
        },
        "ComplexType": {
            "of floats": _any(ty.ComplexType, lambda t: isinstance(t.element, ty.FloatType)),
            "of integers": _any(ty.ComplexType, lambda t: isinstance(t.element, ty.IntegerType)),
        },
        "FunctionType": {
            "no inputs": _any(ty.FunctionType, lambda t: not t.inputs),
            "no results": _any(ty.FunctionType, lambda t: not t.results),
            "one result": _any(ty.FunctionType, lambda t: len(t.results) == 1),
            "several results": _any(ty.FunctionType, lambda t: len(t.results) > 1),
            "a function as the result": _any(
                ty.FunctionType, lambda t: len(t.results) == 1 and isinstance(t.results[0], ty.FunctionType)
            ),
        },
        "IndexType": {"index": _any(ty.IndexType)},
        "IntegerType": {
            "signless": _any(ty.IntegerType, _integer("signless")),
            "signed": _any(ty.IntegerType, _integer("signed")),
            "unsigned": _any(ty.IntegerType, _integer("unsigned")),
            "zero bits": _any(ty.IntegerType, lambda t: t.width == 0),
            "1024 bits": _any(ty.IntegerType, lambda t: t.width == 1024),
        },
        "MemRefType": {
            "static": _any(ty.MemRefType, lambda t: bool(t.shape) and None not in t.shape),
            "dynamic": _any(ty.MemRefType, lambda t: t.shape is not None and None in t.shape),
            "rank zero": _any(ty.MemRefType, lambda t: t.shape == ()),
            "a strided layout": _any(ty.MemRefType, lambda t: isinstance(t.layout, at.StridedLayoutAttr)),
            "an affine layout": _any(ty.MemRefType, lambda t: isinstance(t.layout, at.AffineMapAttr)),
            "a memory space": _any(ty.MemRefType, lambda t: t.shape is not None and t.memory_space is not None),
            "a layout and a memory space": _any(ty.MemRefType, lambda t: bool(t.layout and t.memory_space)),
        },
        "NoneType": {"none": _any(ty.NoneType)},
        "OpaqueType": {
            "data in a dialect's brackets": _any(ty.OpaqueType, lambda t: t.body.startswith("<")),
            "a mnemonic": _any(ty.OpaqueType, lambda t: t.body.startswith(".") and "<" not in t.body),
            "a mnemonic with data": _any(ty.OpaqueType, lambda t: t.body.startswith(".") and "<" in t.body),
        },
        "RankedTensorType": {
            "static": _any(ty.TensorType, lambda t: bool(t.shape) and None not in t.shape),
            "dynamic": _any(ty.TensorType, lambda t: t.shape is not None and None in t.shape),
            "rank zero": _any(ty.TensorType, lambda t: t.shape == ()),
            "a dimension of zero": _any(ty.TensorType, lambda t: t.shape is not None and 0 in t.shape),
            "an encoding": _any(ty.TensorType, lambda t: t.encoding is not None),
        },
        "TupleType": {
            "empty": _any(ty.TupleType, lambda t: not t.elements),
            "one part": _any(ty.TupleType, lambda t: len(t.elements) == 1),
            "several parts": _any(ty.TupleType, lambda t: len(t.elements) > 1),
        },
        "UnrankedMemRefType": {
            "without a memory space": _any(ty.MemRefType, lambda t: t.shape is None and t.memory_space is None),
            "with a memory space": _any(ty.MemRefType, lambda t: t.shape is None and t.memory_space is not None),
        },
        "UnrankedTensorType": {"unranked": _any(ty.TensorType, lambda t: t.shape is None)},
        "VectorType": {
            "fixed": _any(ty.VectorType, lambda t: bool(t.shape) and not t.scalable),
            "scalable": _any(ty.VectorType, lambda t: any(t.scalable)),
            "mixed": _any(ty.VectorType, lambda t: any(t.scalable) and not all(t.scalable)),
            "rank zero": _any(ty.VectorType, lambda t: not t.shape),
            "of integers": _any(ty.VectorType, lambda t: isinstance(t.element, ty.IntegerType)),
            "of floats": _any(ty.VectorType, lambda t: isinstance(t.element, ty.FloatType)),
            "of index": _any(ty.VectorType, lambda t: isinstance(t.element, ty.IndexType)),
        },
        "quant: types": {
            "per layer": _any(ty.UniformQuantizedType, lambda t: t.axis is None and t.block_sizes is None),
            "per channel": _any(ty.UniformQuantizedType, lambda t: t.axis is not None),
            "sub-channel": _any(ty.UniformQuantizedType, lambda t: bool(t.block_sizes)),
            "sub-channel of one block": _any(ty.UniformQuantizedType, lambda t: t.block_sizes == ()),
            "signed storage": _any(ty.UniformQuantizedType, lambda t: t.storage_signed),
            "unsigned storage": _any(ty.UniformQuantizedType, lambda t: not t.storage_signed),
            "bounds": _code(r"quant\.uniform<[iu]\d+<-?\d"),
            "a zero point": _any(ty.UniformQuantizedType, lambda t: any(t.zero_points)),
            "no zero point": _any(ty.UniformQuantizedType, lambda t: 0 in t.zero_points),
            "any, of no expressed type": _any(ty.AnyQuantizedType, lambda t: t.expressed is None),
            "any, of an expressed type": _any(ty.AnyQuantizedType, lambda t: t.expressed is not None),
            "calibrated": _any(ty.CalibratedQuantizedType),
        },
        "Syntax": {
            "an implicit module": lambda facts: facts.module.operation.source is None,
            "an explicit module": lambda facts: facts.module.operation.source is not None,
            "a module in a module": _operation(lambda op: op.name == "builtin.module" and op.parent_op is not None),
            "an operation in quotes": _operation(lambda op: op.definition is None),
            "a registered operation in generic form": _operation(
                lambda op: op.definition is not None and written_generically(op)
            ),
            "properties": _code(r"<\{\w"),
            "no properties between the brackets": _code(r"<\{\}>"),
            "attributes": _operation(lambda op: bool(op.attributes)),
            "several regions": _operation(lambda op: len(op.regions) > 1),
            "an empty region": _operation(lambda op: any(not r.blocks for r in op.regions)),
            "several blocks": _operation(lambda op: any(len(r.blocks) > 1 for r in op.regions)),
            "arguments of a block": _operation(lambda op: any(b.arguments for r in op.regions for b in r.blocks[1:])),
            "a successor": _operation(lambda op: bool(op.successors)),
            "a successor with operands": _operation(lambda op: any(values for _, values in op.successors)),
            "several results under one name": _code(r"%[\w.$-]+:\d"),
            "several names": _code(r"%[\w.$-]+(?::\d+)?, %[\w.$-]+(?::\d+)? ="),
            "part of a name": _code(r"%[\w.$-]+#\d"),
            "a location": _code(r"\bloc\("),
            "a location of an argument": _code(r"%\w+: [\w<>.]+ loc\("),
            "an alias of an attribute": _code(r"(?m)^#[\w$.-]+ = "),
            "an alias of a type": _code(r"(?m)^![\w$.-]+ = "),
            "an alias of a location, defined after its use": _code(r"(?s)loc\(#.*\n#[\w$.-]+ = loc"),
            "a comment": lambda facts: "//" in (facts.module.text or ""),
            "resources": _code(r"\{-#"),
            "a value used before its definition": _code(r"(?s)\(%later\).*%later ="),
        },
    }.items()
    for what, used in rows.items()
) + tuple(_float_rows())


def written_generically(operation: Operation) -> bool:
    """Tell whether the text of an operation was in generic form, in quotes."""
    source = operation.source
    return source is not None and source.text[source.token_offsets[operation.token]] == '"'


def productions(modules: list[Facts]) -> dict[tuple[str, str], int]:
    """Count the modules that use each production."""
    return {(row.section, row.what): sum(row.used(facts) for facts in modules) for row in PRODUCTIONS}


# --- ops --------------------------------------------------------------------------------------------------------------

# Parts that cannot be seen or cannot exist, and why.
NOT_COUNTED: dict[tuple[str, str, bool], str] = {
    ("ub.poison", "value", True): "the attribute has one value only, which is never printed",
    ("builtin.unrealized_conversion_cast", "outputs", False): "a conversion to nothing is rejected",
    ("vector.from_elements", "elements", False): "a vector has at least one element",
    ("vector.to_elements", "elements", False): "a vector has at least one element",
    ("memref.distinct_objects", "operands", False): "the op has at least one operand",
    ("memref.distinct_objects", "results", False): "the op has at least one operand",
    ("memref.dma_start", "discardable attributes", True): "mlir-opt cannot read what it prints",
    ("affine.dma_start", "discardable attributes", True): "mlir-opt does not print them",
    ("affine.dma_wait", "discardable attributes", True): "mlir-opt does not print them",
    ("memref.dma_start", "operands", False): "the op has at least four operands",
    ("memref.prefetch", "discardable attributes", True): "mlir-opt cannot read what it prints",
    ("memref.load", "invariant", True): "the property is newer than MLIR 22",
    ("vector.create_mask", "operands", False): "a vector of rank zero takes one operand too",
    **{
        ("scf.parallel", name, False): "a loop without dimensions is rejected"
        for name in ("lowerBound", "upperBound", "step")
    },
    **{
        (f"affine.{name}", part, False): "the maps are among the attributes, and a memref among the operands"
        for name in ("dma_start", "dma_wait")
        for part in ("discardable attributes", "operands")
    },
    ("affine.delinearize_index", "multi_index", False): "mlir-opt cannot read what it prints",
    ("affine.linearize_index", "disjoint", False): "the flag is always there, as true or false",
    ("tensor.concat", "inputs", False): "a concatenation of nothing is rejected",
    ("tensor.scatter", "unique", False): "it is rejected",
    ("shape.assuming_all", "inputs", False): "it is rejected",
    ("shape.cstr_broadcastable", "shapes", False): "it is rejected",
    **{
        (f"shape.{name}", "shapes", False): "mlir-opt cannot read what it prints"
        for name in ("any", "broadcast", "cstr_eq", "is_broadcastable", "shape_eq")
    },
    ("shape.from_extents", "extents", False): "mlir-opt cannot read what it prints",
    ("shape.reduce", "initVals", False): "mlir-opt cannot read what it prints",
    ("shape.reduce", "result", False): "mlir-opt cannot read what it prints",
    ("shape.yield", "operands", False): "it stands in a shape.reduce without results only",
}


def parts_of(operation: Operation, definition: OpDefinition) -> dict[str, bool]:
    """Return each optional part of an op, and whether this op has it."""
    found = {"discardable attributes": bool(operation.attributes)}
    for prop in definition.properties:
        if (implied := prop.implied) is not None:
            found[prop.name] = operation.properties.get(prop.name) != implied
        elif prop.optional:
            found[prop.name] = prop.name in operation.properties
    operands = all_operands(operation)
    segments = operation.properties.get(SEGMENTS)
    sizes = segments.values if isinstance(segments, at.DenseArrayAttr) else spread(definition.operands, len(operands))
    for slot, size in zip(definition.operands, sizes or (), strict=False):
        if slot.arity is not Arity.ONE:
            found[slot.name] = size > 0
    shares = spread(definition.results, len(operation.results)) or ()
    for slot, size in zip(definition.results, shares, strict=False):
        if slot.arity is not Arity.ONE:
            found[slot.name] = size > 0
    for index, region in enumerate(definition.regions):
        if (definition.name, region.name) in MAY_BE_EMPTY:
            found[region.name] = bool(operation.regions[index].blocks)
    if definition.name == "arith.select":
        found["a condition per element"] = operation.operands[0].type != ty.I1
    return found


# Regions that may have no block.
MAY_BE_EMPTY = {("func.func", "body"), ("scf.if", "elseRegion")}


def groups_of(definition: OpDefinition) -> list[str]:
    """Return the names that decide whether the optional groups of an op's declared format are printed."""
    if definition.assembly is None:
        return []
    names = []
    for element in read_format(definition.assembly):
        if isinstance(element, Group):
            anchor = element.elements[element.anchor]
            names.append(str(getattr(anchor, "name", "")))
    return names


@dataclass(slots=True)
class OpCount:
    """Counts for one op: the modules in which it is in each form, and has or lacks each part."""

    custom: int
    generic: int
    present: Counter[str]
    absent: Counter[str]

    def gaps(self, name: str) -> list[str]:
        """Return the parts that no module shows."""
        definition = default_registry().find(name)
        written = definition is not None and (definition.custom or definition.assembly)
        found = ["custom form"] if written and not self.custom else []
        found += [] if self.generic else ["generic form"]
        for part in sorted({*self.present, *self.absent}):
            for has, counts in ((True, self.present), (False, self.absent)):
                if not counts[part] and (name, part, has) not in NOT_COUNTED:
                    found.append(f"{part} {'present' if has else 'absent'}")
        return found


def ops(modules: list[Facts]) -> dict[str, OpCount]:
    """Count the uses of every op of `DIALECTS`."""
    dialects = map(default_registry().dialects.__getitem__, DIALECTS)
    counts = {name: OpCount(0, 0, Counter(), Counter()) for dialect in dialects for name in dialect.ops}
    for facts in modules:
        seen: set[tuple[str, str, bool]] = set()
        for operation in facts.operations:
            name = operation.name
            if operation.definition is None or operation.source is None or name not in counts:
                continue
            seen.add((name, "", written_generically(operation)))
            seen.update((name, part, has) for part, has in parts_of(operation, operation.definition).items())
        for name, part, has in seen:
            count = counts[name]
            if part:
                (count.present if has else count.absent)[part] += 1
            elif has:
                count.generic += 1
            else:
                count.custom += 1
    return counts


def report(modules: list[Facts]) -> str:
    """Return both tables as text."""
    lines = [f"{count:5}  {section}: {what}" for (section, what), count in productions(modules).items()]
    lines += ["", f"{'custom':>6} {'generic':>7}  op; modules with / without each part"]
    for name, count in sorted(ops(modules).items()):
        parts_text = ", ".join(
            f"{part} {count.present[part]}/{count.absent[part]}" for part in sorted({*count.present, *count.absent})
        )
        lines.append(f"{count.custom:6} {count.generic:7}  {name}: {parts_text}")
    return "\n".join(lines)
