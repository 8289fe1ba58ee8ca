"""Generated modules print and read back as themselves: no value, NaN payload or location changes."""

import math
import random
import re
import string
from typing import Any

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
from amounts import amounts

from halfulp.fp_formats.formats import FORMATS
from halfulp.interp.bytecode.encoding import MAX_VERSION, NATIVE_PROPERTIES
from halfulp.interp.bytecode.writer import write_bytecode
from halfulp.interp.declare.declarations import Schema
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import base as lo
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Block, BlockArgument, Module, Operation, Region, SSAValue
from halfulp.interp.loading import parse_module, read_bytecode
from halfulp.interp.text.parser import parse_attribute, parse_type
from halfulp.interp.text.printer import print_module

# --- types and attributes -------------------------------------------------------------------------------------------------

floats = st.sampled_from([ty.FloatType(format) for format in FORMATS.values()])
widths = st.one_of(st.sampled_from([1, 8, 16, 32, 64, 128, 1024]), st.integers(1, 300))
integers = st.builds(ty.IntegerType, widths, st.sampled_from(["signless", "signless", "signed", "unsigned"]))
numbers = st.one_of(floats, integers, st.just(ty.INDEX))
names = st.one_of(
    st.text(string.ascii_letters + string.digits + "_$.", min_size=1, max_size=8),
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=5),
)
text = st.text(st.characters(codec="utf-8"), max_size=12)
raw = st.binary(max_size=8).map(lambda data: data.decode("utf-8", "surrogateescape"))
dimension = st.one_of(st.none(), st.integers(0, 5))


def _of(element: Any, shape: Any) -> Any:
    return st.builds(ty.TensorType, shape, element)


opaque_types = st.builds(ty.OpaqueType, st.just("foo"), st.sampled_from([".bar", ".bar<1, [x]>", '<"y > z">']))
simple_types = st.one_of(
    numbers,
    st.builds(ty.ComplexType, st.one_of(floats, integers)),
    st.just(ty.NoneType()),
    opaque_types,
    st.builds(ty.VectorType, st.lists(st.integers(1, 4), max_size=3).map(tuple), numbers),
    st.integers(1, 3).flatmap(
        lambda rank: st.builds(
            ty.VectorType,
            st.tuples(*[st.integers(1, 4)] * rank),
            numbers,
            st.tuples(*[st.booleans()] * rank),
        )
    ),
)


@st.composite
def quantized(draw: st.DrawFn) -> ty.Type:
    width, signed = draw(st.integers(2, 32)), draw(st.booleans())
    lowest, highest = ty.storage_bounds(width, signed)
    low = draw(st.integers(lowest, highest - 1))
    high = draw(st.integers(low + 1, highest))
    expressed = draw(st.sampled_from([ty.F(name) for name in ("f16", "bf16", "f32", "f64")]))
    count = draw(st.integers(1, 3))
    scale = st.floats(2.0**-14, 60000.0).map(lambda value: float(np.float64(value)))
    scales = tuple(draw(scale) for _ in range(count))
    zeros = tuple(draw(st.integers(lowest, highest)) for _ in range(count))
    if count == 1 and draw(st.booleans()):
        return ty.UniformQuantizedType(width, signed, low, high, expressed, scales, zeros)
    return ty.UniformQuantizedType(width, signed, low, high, expressed, scales, zeros, axis=draw(st.integers(0, 3)))


shapes = st.lists(dimension, max_size=3).map(tuple)
types = st.recursive(
    simple_types,
    lambda inner: st.one_of(
        st.builds(ty.TupleType, st.lists(inner, max_size=4).map(tuple)),
        st.builds(ty.FunctionType, st.lists(inner, max_size=2).map(tuple), st.lists(inner, max_size=2).map(tuple)),
        _of(st.one_of(numbers, opaque_types), st.one_of(st.none(), shapes)),
        st.builds(ty.TensorType, shapes, numbers, st.builds(at.StringAttr, text)),
        st.builds(ty.MemRefType, st.one_of(st.none(), shapes), numbers),
    ),
    max_leaves=6,
)


def width_of(type_: ty.Type) -> int:
    return type_.format.bits if isinstance(type_, ty.FloatType) else getattr(type_, "width", 64)


@st.composite
def integer_attrs(draw: st.DrawFn) -> at.Attribute:
    type_ = draw(st.one_of(integers, st.just(ty.INDEX)))
    return at.IntegerAttr(at.integer_of_code(draw(st.integers(0, 2 ** width_of(type_) - 1)), type_), type_)


@st.composite
def codes_of(draw: st.DrawFn, type_: ty.Type) -> int:
    """Return a bit pattern; for a float often a NaN with a payload, an infinity, a zero or a subnormal."""
    width = width_of(type_)
    code = draw(st.integers(0, 2**width - 1))
    if isinstance(type_, ty.FloatType) and draw(st.booleans()):
        format = type_.format
        extremes = [format.max_code, format.min_normal_code, 1, format.infinity_code or 0, format.nan_code or 0]
        code = draw(st.sampled_from(extremes)) ^ draw(st.sampled_from([0, 1, 1 << (width - 1)]))
    return code


float_attrs = floats.flatmap(lambda type_: st.builds(at.FloatAttr, codes_of(type_), st.just(type_)))


@st.composite
def dense_attrs(draw: st.DrawFn) -> at.Attribute:
    element = draw(numbers)
    shape = tuple(draw(st.lists(st.integers(0, 3), max_size=3)))
    count = math.prod(shape)
    width = width_of(element)
    codes = [draw(codes_of(element)) for _ in range(1 if draw(st.booleans()) else count)] if count else []
    splat = len(set(codes)) == 1
    make = ty.VectorType if shape and 0 not in shape and draw(st.booleans()) else ty.TensorType
    dtype = next(
        d for d, bits in ((np.uint8, 8), (np.uint16, 16), (np.uint32, 32), (np.uint64, 1 << 30)) if width <= bits
    )
    limbs = -(-width // 64)
    if width > 64:
        array = np.array([[(c >> 64 * i) & (2**64 - 1) for i in range(limbs)] for c in codes], np.uint64)
    else:
        array = np.array(codes, dtype)
    if splat:
        array = array[:1] if width <= 64 else array.reshape(-1, limbs)[:1]
        array = array.reshape(() if width <= 64 else (limbs,))
    else:
        array = array.reshape(shape if width <= 64 else (*shape, limbs))
    return at.DenseElementsAttr(make(shape, element), array, splat)


array_attrs = st.one_of(floats, st.sampled_from([ty.IntegerType(width) for width in (1, 8, 16, 32, 64, 128)])).filter(
    lambda type_: width_of(type_) == 1 or width_of(type_) % 8 == 0
)
symbols = st.builds(at.SymbolRefAttr, names, st.lists(names, max_size=2).map(tuple))
leaves = st.one_of(
    integer_attrs(),
    float_attrs,
    dense_attrs(),
    array_attrs.flatmap(
        lambda t: st.builds(at.DenseArrayAttr, st.just(t), st.lists(codes_of(t), max_size=4).map(tuple))
    ),
    st.builds(at.StringAttr, st.one_of(text, raw)),
    symbols,
    st.builds(at.TypeAttr, types),
    st.just(at.UnitAttr()),
    st.builds(at.StridedLayoutAttr, st.lists(st.one_of(st.none(), st.integers(-4, 9)), max_size=3).map(tuple)),
)
attributes = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(at.ArrayAttr, st.lists(inner, max_size=4).map(tuple)),
        st.builds(at.DictionaryAttr.of, st.dictionaries(names, inner, max_size=3)),
    ),
    max_leaves=6,
)

# An empty name of a file is printed as `-`; equal ends are printed as no range.
file_names = text.filter(lambda name: bool(name) and name != "-")
places = st.builds(lo.FileLineCol, file_names, st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1))
locations = st.recursive(
    st.one_of(
        st.just(lo.UnknownLoc()),
        places,
        places,
        st.builds(lambda f, a, b, c, d: lo.FileRange(f, a, b, a + c, b + d), file_names, *[st.integers(1, 99)] * 4),
        st.builds(lo.NameLoc, names),
    ),
    lambda inner: st.one_of(
        st.builds(lo.NameLoc, names, inner),
        st.builds(lo.CallSiteLoc, inner, inner),
        st.builds(
            lo.FusedLoc,
            st.lists(places, min_size=2, max_size=3, unique=True).map(tuple),
            st.one_of(st.none(), integer_attrs()),
        ),
    ),
    max_leaves=4,
)


@hypothesis.given(types)
def test_a_type_reads_back(type_: ty.Type) -> None:
    assert parse_type(str(type_)) == type_


@hypothesis.given(quantized())
def test_a_quantised_type_reads_back(type_: ty.Type) -> None:
    assert parse_type(str(type_)) == type_


@pytest.mark.long
@hypothesis.given(attributes)
def test_an_attribute_reads_back(attribute: at.Attribute) -> None:
    assert parse_attribute(str(attribute)) == attribute


@hypothesis.given(locations)
def test_a_location_reads_back(location: lo.Location) -> None:
    read = parse_attribute(f"loc({location})")
    assert read == location
    assert str(read) == str(location)


# --- modules --------------------------------------------------------------------------------------------------------------


@st.composite
def modules(draw: st.DrawFn) -> Module:
    """Unregistered operations in nested regions, with values of every type used by those after them."""

    def operation(known: list[SSAValue], depth: int) -> Operation:
        regions = []
        for _ in range(draw(st.integers(0, 2)) if depth else 0):
            regions.append(region(list(known), depth - 1))
        made = Operation(
            f"keep.{draw(st.sampled_from('abc'))}",
            operands=draw(st.lists(st.sampled_from(known), max_size=3)) if known else [],
            result_types=draw(st.lists(types, max_size=3)),
            attributes=draw(st.dictionaries(names, leaves, max_size=2)),
            regions=regions,
            location=draw(locations),
        )
        made.raw_properties = draw(
            st.none() | leaves | st.dictionaries(names, leaves, max_size=2).map(at.DictionaryAttr.of)
        )
        known += made.results
        return made

    def region(known: list[SSAValue], depth: int) -> Region:
        block = Block()
        for type_ in draw(st.lists(types, max_size=2)):
            block.add_argument(type_, location=draw(locations))
        known += block.arguments
        for _ in range(draw(st.integers(1, 3))):
            block.append(operation(known, depth))
        made = Region()
        made.append(block)
        return made

    body = Block()
    known: list[SSAValue] = []
    for _ in range(draw(st.integers(0, 4))):
        body.append(operation(known, 2))
    registry_module = parse_module("module {}").operation
    registry_module.regions = [Region([body])]
    registry_module.regions[0].parent = registry_module
    registry_module.location = draw(locations)
    return Module(registry_module)


def rows(module: Module) -> list[Any]:
    """Everything in a module, values by number."""
    numbers: dict[SSAValue, int] = {}

    def number(value: SSAValue) -> int:
        return numbers.setdefault(value, len(numbers))

    def argument(value: BlockArgument) -> Any:
        return number(value), value.type, value.location

    return [
        (
            operation.name,
            [number(value) for value in operation.operands],
            [(number(result), result.type) for result in operation.results],
            operation.properties,
            operation.raw_properties,
            operation.attributes,
            operation.location,
            [[[argument(a) for a in block.arguments] for block in region.blocks] for region in operation.regions],
        )
        for operation in module.walk()
    ]


# Without shrinking, which takes minutes here: the text of the module is small enough to be looked at.
PHASES = [hypothesis.Phase.reuse, hypothesis.Phase.generate]
EXAMPLES = amounts(15, 60)


@pytest.mark.long
@pytest.mark.parametrize("examples", EXAMPLES)
def test_a_module_reads_back_whole(examples: int) -> None:
    @hypothesis.settings(max_examples=examples, phases=PHASES)
    @hypothesis.given(modules(), st.booleans())
    def check(module: Module, generic: bool) -> None:
        printed = print_module(module, generic=generic, debug_info=True)
        hypothesis.note(printed)
        again = parse_module(printed)
        assert rows(again) == rows(module)
        assert print_module(again, generic=generic, debug_info=True) == printed
        bare = print_module(module, generic=generic)
        assert print_module(parse_module(bare), generic=generic) == bare

    check()


@pytest.mark.long
@pytest.mark.parametrize("examples", EXAMPLES)
def test_a_module_reads_back_whole_from_bytecode(examples: int) -> None:
    @hypothesis.settings(max_examples=examples, phases=PHASES)
    @hypothesis.given(modules(), st.integers(0, MAX_VERSION), st.sampled_from(Schema))
    def check(module: Module, version: int, schema: Schema) -> None:
        hypothesis.note(print_module(module, generic=True, debug_info=True))
        if version < NATIVE_PROPERTIES:
            for operation in module.walk():
                operation.raw_properties = None
        data = write_bytecode(module, version, schema)
        again = read_bytecode(data)
        assert rows(again) == rows(module)
        assert write_bytecode(again, version, schema) == data

    check()


# --- bits, seen by mlir-opt ---------------------------------------------------------------------------------------------------


def patterns(rng: random.Random, width: int, format: Any = None) -> list[int]:
    codes = [rng.getrandbits(width) for _ in range(40)] + [0, 1, (1 << width) - 1, 1 << (width - 1)]
    if format is not None:
        codes += [code for code in (format.max_code, format.infinity_code, format.nan_code) if code is not None]
        if format.infinity_code is not None:
            codes += [format.infinity_code | rng.getrandbits(format.mantissa_bits) for _ in range(20)]
    if getattr(format, "explicit_integer_bit", False):
        # The folder of MLIR changes patterns whose integer bit contradicts the exponent: only proper numbers and NaNs.
        top = 1 << 63
        codes = [code | top if (code >> 64) & 0x7FFF else code & ~top for code in codes]
    return codes


@pytest.mark.parametrize("name", FORMATS)
def test_float_bits_survive(name: str, mlir_opt: Any) -> None:
    """Scalars and dense elements, by halfulp's printer and through arith.bitcast in mlir-opt."""
    rng = random.Random(name)
    format = FORMATS[name]
    width = format.bits
    codes = patterns(rng, width, format)
    size = -(-width // 8)
    blob = b"".join(code.to_bytes(size, "little") for code in codes).hex().upper()
    kinds = {"elements": f"[{', '.join(f'0x{code:X}' for code in codes)}]", "blob": f'"0x{blob}"'}
    lines = [f"  %s{i} = arith.constant 0x{code:0{2 * size}X} : {name}" for i, code in enumerate(codes)]
    lines += [f"  %b{i} = arith.bitcast %s{i} : {name} to i{width}" for i in range(len(codes))]
    lines += [f'  "keep.s"(%b{i}) : (i{width}) -> ()' for i in range(len(codes))]
    for kind, literal in kinds.items():
        lines.append(f"  %{kind} = arith.constant dense<{literal}> : tensor<{len(codes)}x{name}>")
        lines.append(
            f"  %i{kind} = arith.bitcast %{kind} : tensor<{len(codes)}x{name}> to tensor<{len(codes)}xi{width}>"
        )
        lines.append(f'  "keep.d"(%i{kind}) : (tensor<{len(codes)}xi{width}>) -> ()')
    printed = print_module(parse_module("func.func @f() {\n" + "\n".join(lines) + "\n  return\n}\n"))
    flags = ("--allow-unregistered-dialect", "--canonicalize", "--mlir-print-elementsattrs-with-hex-if-larger=-1")
    folded = parse_module(mlir_opt(printed, *flags))
    scalars, elements = [], []
    for operation in folded.walk():
        if operation.name in ("keep.s", "keep.d"):
            constant = operation.operands[0].owner  # type: ignore[attr-defined]
            assert constant.name == "arith.constant", "the bitcast was not folded"
            value = constant.properties["value"]
            if isinstance(value, at.IntegerAttr):
                scalars.append(value.code)
            else:
                elements.append(at.python_codes(value.array(), wide=width > 64))
    assert scalars == codes
    assert elements == [codes, codes]


@pytest.mark.parametrize("width", [1, 3, 8, 13, 64, 65, 128, 1024])
def test_integer_bits_survive(width: int, mlir_opt: Any) -> None:
    codes = patterns(random.Random(width), width)
    half = 1 << (width - 1)
    values = [code if width == 1 else (code & (half - 1)) - (code & half) for code in codes]
    source = f'"keep.d"() {{a = dense<{values}> : tensor<{len(codes)}xi{width}>}} : () -> ()\n'
    source += "".join(f'"keep.s"() {{a = {value} : i{width}}} : () -> ()\n' for value in values)
    if width != 1:
        size = -(-width // 8)
        blob = b"".join(code.to_bytes(size, "little") for code in codes).hex()
        source += f'"keep.d"() {{a = dense<"0x{blob}"> : tensor<{len(codes)}xi{width}>}} : () -> ()\n'
    printed = print_module(parse_module(source))
    flags = ("--allow-unregistered-dialect", "--mlir-print-elementsattrs-with-hex-if-larger=-1")
    output = mlir_opt(printed, *flags)
    spelled = [str(bool(value)).lower() if width == 1 else str(value) for value in values]
    found = re.findall(r"dense<\[(.*)\]>", output)
    assert found == [", ".join(spelled)] * (1 if width == 1 else 2)
    assert re.findall(r'"keep.s"\(\) \{a = (-?\w+)', output) == spelled
