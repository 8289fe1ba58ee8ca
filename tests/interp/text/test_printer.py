"""Reading and printing against recorded runs of mlir-opt 22 (tests/data/record_mlir_text.py says how)."""

import importlib.util
import json
import random
from typing import Any

import pytest
from tables import each_row
from tree import ROOT

from halfulp.fp_formats.formats import FORMATS
from halfulp.interp.declare.declarations import Schema
from halfulp.interp.ir.attributes import ArrayAttr, DenseElementsAttr, FloatAttr
from halfulp.interp.ir.errors import HalfulpError, ParseError, TypeMismatch, Unsupported
from halfulp.interp.ir.types import FloatType, QuantileType, UniformQuantizedType
from halfulp.interp.loading import parse_module
from halfulp.interp.run.program import CompiledModule
from halfulp.interp.run.settings import Settings
from halfulp.interp.text.parser import parse_attribute, parse_type
from halfulp.interp.text.printer import print_module

DATA = ROOT / "tests" / "data"
FORMS: dict[str, dict[str, Any]] = {
    "custom": {},
    "generic": {"generic": True},
    "custom_debug": {"debug_info": True},
    "generic_debug": {"generic": True, "debug_info": True},
}


def recorder() -> Any:
    spec = importlib.util.spec_from_file_location("record_mlir_text", DATA / "record_mlir_text.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SOURCES: list[str] = recorder().sources()
RESULTS: list[dict[str, str]] = json.loads((DATA / "mlir_text.json").read_text(encoding="utf-8"))["results"]


def on_op(attribute: str) -> str:
    return f'"test.op"() {{a = {attribute}}} : () -> ()\n'


# Programs that mlir-opt accepts against a rule of a document are printed as it prints them.
pytestmark = pytest.mark.filterwarnings("ignore::halfulp.interp.ir.errors.DocumentWarning")

NEGATIVE = "negative literal not valid for the unsigned type 'f8E8M0FNU'"

# Where halfulp rejects, on purpose, what mlir-opt accepts: the message, and why.
STRICTER = {
    on_op("-1.0 : f8E8M0FNU"): (NEGATIVE, "mlir-opt gives the code of another number"),
    on_op("-0.0 : f8E8M0FNU"): (NEGATIVE, "mlir-opt gives the code of another number"),
    on_op("dense<-1.0> : tensor<1xf8E8M0FNU>"): (NEGATIVE, "mlir-opt gives the code of another number"),
    on_op("!quant.uniform<i8:f32:{0:1,0:2}, {1.0}>"): (
        "quantized dimension 0 is named twice in the block sizes",
        "an axis cannot have two block sizes",
    ),
    on_op("dense<(1,2)> : tensor<2xi32>"): (
        "parsed complex elements, but type ('tensor<2xi32>') has none",
        "mlir-opt takes the parts of a complex number for two integers",
    ),
}

SWITCH = "func.func @f({}) {{ cf.switch %{} : {}, [{}] ^a: return }}"
TRUNCATED = "mlir-opt silently takes the low bits for the case"
for _cases in ("default: ^a, 300: ^a, 1: ^a", "default: ^a, 255: ^a, -128: ^a, -129: ^a"):
    STRICTER[SWITCH.format("%c: i1, %x: i8, %f: f32", "x", "i8", f" {_cases} ")] = (
        "the case value does not fit the type 'i8' of the flag",
        TRUNCATED,
    )

# Where halfulp accepts what mlir-opt rejects, and why.
WIDER = {
    SWITCH.format("%f: i64", "f", "i64", "default: ^a, -1: ^a, 18446744073709551615: ^a"): (
        "mlir-opt prints -1 : i64 this way, and cannot read it"
    ),
}

# Where halfulp reports something else first.
OTHERWISE = {
    '"arith.addf"() <{foo = 1}> : () -> ()': (
        "<stdin>:1:17: error: 'arith.addf' op has no property 'foo'",
        "mlir-opt drops a property it does not know",
    ),
}

# Where the printed text differs on purpose: what is printed, and why.
SIGNS = "mlir-opt holds the type for another one than what it prints; newer MLIR prints it as it is"
WRAPS = "mlir-opt wraps around at 64 bits, and prints what it cannot read"
NESTED_SUM = "mlir-opt prints what it reads back as another expression, and the text must be a fixed point"
PRINTED = {
    on_op('dense<"0x0FFF"> : tensor<2xi4>'): (
        "a = dense<-1> : tensor<2xi4>}",
        "bits beyond the width are no part of the value, and the text must be a fixed point",
    ),
    on_op("!quant.uniform<si8:f32, 1.0>"): ("<si8:f32, 1.000000e+00>}", SIGNS),
    on_op("!quant.uniform<ui8:f32, 1.0>"): ("<ui8:f32, 1.000000e+00>}", SIGNS),
    on_op("dense<0> : tensor<2xi0>"): ("a = dense<0> : tensor<2xi0>}", "a splat stays one"),
    on_op("0x1 : f80"): ("a = 0x1 : f80}", "the decimal spelling would be read back, through f64, as zero"),
    on_op("affine_map<(d0) -> (d0 + 9223372036854775807 + 1)>"): ("(d0 + 9223372036854775807 + 1)>", WRAPS),
    on_op("affine_map<(d0) -> (d0 * 9223372036854775807 * 2)>"): ("((d0 * 9223372036854775807) * 2)>", WRAPS),
    on_op("affine_map<(d0) -> ((d0 + 1) + (d0 + 2))>"): ("-> (d0 * 2 + 3)>", NESTED_SUM),
    on_op("affine_map<(d0, d1) -> ((d0 + 1) + (d1 + 2))>"): ("-> (d0 + d1 + 3)>", NESTED_SUM),
    SWITCH.format("%f: i128", "f", "i128", "default: ^a, -1: ^a, 5: ^b").replace("return }", "return ^b: return }"): (
        "340282366920938463463374607431768211455: ^bb1",
        "mlir-opt prints the low 64 bits only",
    ),
    next(source for source in SOURCES if 'loc("a":1:2 to :2)\n' in source): (
        '"t.a"() : () -> ()',
        "a range that ends where it begins is one location, whether its end has a line or not",
    ),
}

# A range that ends where it begins is printed as that place: beside the place itself it had an alias of its own.
NOT_FIXED = {source for source in SOURCES if 'loc("a":1:2 to :2)\n' in source}


def cases(errors: bool) -> list[tuple[str, dict[str, str]]]:
    return [row for row in zip(SOURCES, RESULTS, strict=True) if ("error" in row[1]) == errors]


def test_the_record_is_large_and_belongs_to_these_sources() -> None:
    assert len(SOURCES) == len(RESULTS) > 500
    assert sum("error" in result for result in RESULTS) > 150
    assert set(STRICTER) | set(WIDER) | set(OTHERWISE) | set(PRINTED) <= set(SOURCES)


@pytest.mark.long
@each_row(*cases(errors=False))
def test_what_mlir_opt_accepts_is_printed_byte_for_byte(source: str, result: dict[str, str]) -> None:
    if source in STRICTER:
        with pytest.raises(HalfulpError) as caught:
            parse_module(source)
        assert caught.value.message == STRICTER[source][0]
        return
    module = parse_module(source, "<stdin>")
    differ = False
    for form, arguments in FORMS.items():
        # mlir-opt ends its output with one more newline than the module has.
        printed = print_module(module, **arguments) + "\n"
        if source in PRINTED:
            assert PRINTED[source][0] in printed or "generic" in form
            differ |= printed != result[form]
        else:
            assert printed == result[form]
    assert differ == (source in PRINTED)


@pytest.mark.long
@each_row(*cases(errors=False), every=4)
def test_printing_is_a_fixed_point(source: str, result: dict[str, str]) -> None:
    if source in STRICTER:
        return
    module = parse_module(source)
    for form, arguments in FORMS.items():
        printed = print_module(module, **arguments)
        again = parse_module(printed)
        assert (print_module(again, **arguments) == printed) == (source not in NOT_FIXED or "debug" not in form)
    assert print_module(parse_module(print_module(module, generic=True))) == print_module(module)


@each_row(*cases(errors=True))
def test_what_mlir_opt_rejects_is_rejected_at_the_same_place(source: str, result: dict[str, str]) -> None:
    if source in WIDER:
        printed = print_module(parse_module(source))
        assert print_module(parse_module(printed)) == printed
        return
    with pytest.raises(HalfulpError) as caught:
        parse_module(source, "<stdin>")
    first = str(caught.value).splitlines()[0]
    if source in OTHERWISE:
        assert first == OTHERWISE[source][0]
    else:
        assert first.partition(" error: ")[0] == result["error"].partition(" error: ")[0]


# Messages of the language itself and of the ops are mlir-opt's own; those below say more, or say it in other words.
def test_most_messages_are_those_of_mlir_opt() -> None:
    same = 0
    others = []
    for source, result in zip(SOURCES, RESULTS, strict=True):
        if "error" in result and source not in OTHERWISE and source not in WIDER:
            with pytest.raises(HalfulpError) as caught:
                parse_module(source, "<stdin>")
            first = str(caught.value).splitlines()[0]
            same += first == result["error"]
            if first != result["error"]:
                others.append((result["error"], first))
    assert same > 5 * len(others), others


@pytest.mark.long
def test_every_float_code_reads_back() -> None:
    rng = random.Random(20)
    for format in FORMATS.values():
        codes = range(1 << format.bits) if format.bits <= 8 else [rng.getrandbits(format.bits) for _ in range(400)]
        for code in codes:
            attribute = FloatAttr(code, FloatType(format))
            assert parse_attribute(str(attribute)) == attribute


@pytest.mark.mlir
def test_the_record_is_what_the_tool_says() -> None:
    record = recorder().record
    for index in range(0, len(SOURCES), 12):
        assert record(SOURCES[index]) == RESULTS[index], SOURCES[index]


def test_float_spellings_are_those_of_mlir_opt(mlir_opt: Any) -> None:
    """Random bit patterns of every format, and decimals of every length, spelled by the real printer."""
    rng = random.Random(22)
    attributes: list[Any] = []
    for format in FORMATS.values():
        type = FloatType(format)
        count = 256 if format.bits <= 8 else 300
        codes = [rng.getrandbits(format.bits) for _ in range(count)] + [format.max_code, format.min_normal_code, 1]
        # The tool prints what its own parser reads differently for some f80 and f128 numbers: there halfulp prints bits.
        attributes += [FloatAttr(code % (1 << format.bits), type) for code in codes]
        for digits in range(1, 12):
            number = f"{rng.randrange(10**digits)}.{rng.randrange(10**digits)} : {type}"
            attributes.append(parse_attribute(number))
    source = "".join(
        f'"test.op"() {{a = 0x{attribute.code:X} : {attribute.type}}} : () -> ()\n' for attribute in attributes
    )
    printed = mlir_opt(source, "--allow-unregistered-dialect").splitlines()[1 : 1 + len(attributes)]
    wide = 0
    for attribute, line in zip(attributes, printed, strict=True):
        theirs = line.strip().removeprefix('"test.op"() {a = ').removesuffix("} : () -> ()")
        if theirs != str(attribute):
            assert attribute.type.format.name in ("f80", "f128")
            assert parse_attribute(theirs) != attribute
            wide += 1
    assert wide < 700


LITERALS: dict[str, Any] = {
    "i1": lambda k: "true" if k % 3 else "false",
    "i4": lambda k: k % 16 - 8,
    "ui8": lambda k: k,
    "i17": lambda k: 7 * k - 300,
    "i65": lambda k: k - 3,
    "i128": lambda k: -k,
    "index": lambda k: k - 5,
    "f4E2M1FN": lambda k: f"{k % 6}.0",
    "bf16": lambda k: f"{k}.0",
    "tf32": lambda k: f"{k}.5",
    "f32": lambda k: f"-{k}.5",
    "f80": lambda k: f"{k}.5",
    "f128": lambda k: f"-{k}.25",
    "complex<f32>": lambda k: f"({k}.0,1.0)",
    "complex<i3>": lambda k: f"({k % 3},-1)",
}


@pytest.mark.parametrize("element", LITERALS)
def test_more_than_a_hundred_elements_are_printed_as_a_blob(element: str, mlir_opt: Any) -> None:
    for count in (100, 101, 130):
        values = ", ".join(str(LITERALS[element](k)) for k in range(count))
        source = on_op(f"dense<[{values}]> : tensor<{count}x{element}>")
        module = parse_module(source)
        printed = print_module(module)
        assert printed + "\n" == mlir_opt(source, "--allow-unregistered-dialect")
        assert ('"0x' in printed) == (count > 100)
        again = parse_module(printed)
        assert again.body[0].attributes == module.body[0].attributes
        newer = print_module(module, schema=Schema.LLVM24)
        assert (newer == printed) == (count <= 100 or element != "i1")
        assert parse_module(newer, schema=Schema.LLVM24).body[0].attributes == module.body[0].attributes


def test_a_blob_needs_more_than_a_hundred_elements_that_differ() -> None:
    assert str(parse_attribute(f"dense<{[7] * 1000}> : tensor<1000xi32>")) == "dense<7> : tensor<1000xi32>"
    attribute = parse_attribute(f"dense<{list(range(1000))}> : tensor<1000xi16>")
    assert isinstance(attribute, DenseElementsAttr)
    assert str(attribute).startswith('dense<"0x000001000200')
    assert attribute.literal() == str(list(range(1000)))


def test_the_type_of_a_default_literal_is_elided_in_arrays_only() -> None:
    array = parse_attribute("[1 : i64, 2.0 : f64, 3 : i32]")
    assert isinstance(array, ArrayAttr)
    assert str(array) == "[1, 2.000000e+00, 3 : i32]"
    assert [str(element) for element in array.elements] == ["1 : i64", "2.000000e+00 : f64", "3 : i32"]


# --- two schemas ------------------------------------------------------------------------------------------------------

FUNCTION = "func.func @f(%a: {0}, %b: {0}) {{\n  {1}\n  return\n}}"

NEWER = {
    "op": (("f32", "%0 = arith.flush_denormals %a : f32"), "the op 'arith.flush_denormals'"),
    "property": (("f32", "%0 = arith.addf %a, %b upward : f32"), "the property 'roundingmode' of 'arith.addf'"),
    "flag": (("i8", "%0 = arith.extui %a nneg : i8 to i16"), "the property 'nonNeg' of 'arith.extui'"),
    "storage": (
        ("f32", "%0 = quant.qcast %a : f32 to !quant.uniform<f8E4M3FN:f32, 1.0>"),
        "the type '!quant.uniform<f8E4M3FN:f32, 1.000000e+00>'",
    ),
    "quantile": (("!quant.quantile<ui4:f16, {-1.0, 1.0}>", '"t.a"() {x = i1} : () -> ()'), "the type '!quant.quantile"),
    "nested": (
        ("i8", '"t.a"() {x = [tuple<tensor<2x!quant.any<f8E5M2>>>]} : () -> ()'),
        "the type '!quant.any<f8E5M2>'",
    ),
}


@pytest.mark.parametrize("name", NEWER)
def test_what_mlir_22_lacks_is_refused_for_it(name: str) -> None:
    parts, what = NEWER[name]
    module = parse_module(FUNCTION.format(*parts), "in")
    assert print_module(parse_module(print_module(module))) == print_module(module)
    with pytest.raises(Unsupported) as caught:
        print_module(module, schema=Schema.MLIR22)
    assert caught.value.message.startswith(what)
    assert caught.value.message.endswith(" does not exist in MLIR 22")
    assert caught.value.location is not None


def test_what_mlir_22_has_is_printed_alike() -> None:
    module = parse_module(FUNCTION.format("f32", "%0 = arith.addf %a, %b : f32"))
    assert print_module(module, schema=Schema.MLIR22) == print_module(module)


def test_both_layouts_of_i1_blobs() -> None:
    text = '"t.a"() {{x = dense<"0x{}"> : tensor<{}xi1>}} : () -> ()'

    def elements(blob: str, count: int, schema: Schema) -> list[int]:
        attribute = parse_module(text.format(blob, count), schema=schema).body[0].attributes["x"]
        assert isinstance(attribute, DenseElementsAttr)
        return [int(code) for code in attribute.array()]

    assert elements("05", 3, Schema.MLIR22) == [1, 0, 1]
    assert elements("010001", 3, Schema.LLVM24) == [1, 0, 1]
    assert elements("FF", 9, Schema.MLIR22) == [1] * 9
    assert elements("01", 9, Schema.LLVM24) == [1] * 9
    assert elements("010001", 3, Schema.MLIR22) == [1, 0, 1]  # as StableHLO prints it
    for blob, schema in (
        ("0100", Schema.MLIR22),
        ("010002", Schema.MLIR22),
        ("05", Schema.MLIR22),
        ("0100", Schema.LLVM24),
    ):
        with pytest.raises(ParseError, match="data size is invalid"):
            elements(blob, 3 if blob != "05" else 9, schema)


def test_newer_quantised_storage() -> None:
    plain = parse_type("!quant.uniform<f8E4M3FN:f32, 2.0>")
    assert isinstance(plain, UniformQuantizedType)
    assert (plain.storage_width, plain.storage_min, plain.storage_max) == (8, -448, 448)
    table = parse_type("!quant.uniform<!quant.quantile<ui4:f16, {-1.0,0.0,1.0}>:f32:0, {2.0,3.0:1}>")
    assert isinstance(table, UniformQuantizedType)
    assert isinstance(table.storage, QuantileType)
    assert (table.storage.values, table.storage_max) == ((-1.0, 0.0, 1.0), 2)
    for text in (
        "!quant.uniform<f8E4M3FN<-100:100>:f32, 2.000000e+00>",
        "!quant.any<f8E5M2:f32>",
        "!quant.quantile<ui4:f16, {-1.000000e+00,1.000000e+00}, <0:1>>",
    ):
        assert str(parse_type(text)) == text
    for text in ("!quant.uniform<f32:f32, 1.0>", "!quant.quantile<index:f16, {1.0}>", "!quant.quantile<i4:f16, {}>"):
        with pytest.raises(ParseError):
            parse_type(text)


def test_casts_of_newer_storage_are_not_executed() -> None:
    module = parse_module(FUNCTION.format("f32", "%0 = quant.qcast %a : f32 to !quant.uniform<f8E4M3FN:f32, 1.0>"))
    function = module.lookup("f")
    assert function is not None
    with pytest.raises(Unsupported, match="are not defined yet"):
        CompiledModule(module, Settings()).function(function)


def test_what_is_not_a_module_is_not_printed() -> None:
    with pytest.raises(TypeMismatch, match="print_module takes a module, not a str") as caught:
        print_module("func.func @f() { return }")  # type: ignore[arg-type]
    assert "hu.load" in (caught.value.hint or "")
