"""Features of newer MLIR: read, printed, and refused for MLIR 22."""

import pytest

from halfulp.interp.declare.declarations import Schema
from halfulp.interp.ir.attributes import DenseElementsAttr
from halfulp.interp.ir.errors import ParseError, Unsupported
from halfulp.interp.ir.types import QuantileType, UniformQuantizedType
from halfulp.interp.loading import parse_module
from halfulp.interp.run.program import CompiledModule
from halfulp.interp.run.settings import Settings
from halfulp.interp.text.parser import parse_type
from halfulp.interp.text.printer import print_module

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
    for blob, schema in (("010001", Schema.MLIR22), ("05", Schema.MLIR22), ("0100", Schema.LLVM24)):
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
    with pytest.raises(Unsupported, match="no settled meaning"):
        CompiledModule(module, Settings()).function(function)
