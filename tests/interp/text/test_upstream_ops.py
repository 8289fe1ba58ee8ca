"""Ops of MLIR that halfulp does not declare: read and printed in generic form as mlir-opt 22 does."""

from collections.abc import Callable

import pytest

import halfulp as hu
from halfulp.interp.text.printer import print_module

# Maps and sets have aliases, in properties too: those of regions first, then of types, then of attributes by name. An
# attribute in <…> of an op that MLIR does not know has no alias of its own, but uses those that there are.
ALIASES = {
    "loops and sets": """\
#map = affine_map<(d0, d1) -> (d0 + d1)>
#map1 = affine_map<(d0) -> (d0 * 2)>
#map2 = affine_map<() -> (0)>
#map3 = affine_map<(d0) -> (d0)>
#set = affine_set<(d0) : (d0 - 4 >= 0)>
"builtin.module"() ({
  "func.func"() <{function_type = (index) -> (), sym_name = "f"}> ({
  ^bb0(%arg0: index):
    "affine.for"(%arg0) <{lowerBoundMap = #map2, operandSegmentSizes = array<i32: 0, 1, 0>, step = 1 : index, upperBoundMap = #map3}> ({
    ^bb0(%arg1: index):
      "affine.if"(%arg1) <{condition = #set}> ({
        %0 = "affine.apply"(%arg1, %arg0) <{map = #map}> : (index, index) -> index
        %1 = "affine.min"(%arg1) <{map = #map1}> : (index) -> index
        "affine.yield"() : () -> ()
      }, {
      }) : (index) -> ()
      "affine.yield"() : () -> ()
    }) : (index) -> ()
    "func.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
""",
    "maps in types": """\
#map = affine_map<(d0) -> (d0 + 2)>
#map1 = affine_map<(d0) -> (d0 * 3)>
#map2 = affine_map<(d0) -> (d0 * 5)>
"builtin.module"() ({
  "func.func"() <{function_type = (memref<4xf32, #map>, memref<4xf32, #map1>) -> (), sym_name = "f"}> ({
  ^bb0(%arg0: memref<4xf32, #map>, %arg1: memref<4xf32, #map1>):
    "memref.copy"(%arg1, %arg0) {first = #map2, second = #map} : (memref<4xf32, #map1>, memref<4xf32, #map>) -> ()
    "func.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
""",
    "a list of maps": """\
#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> (d1, d0)>
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>, sym_name = "f"}> ({
  ^bb0(%arg0: tensor<2x2xf32>, %arg1: tensor<2x2xf32>):
    %0 = "linalg.generic"(%arg0, %arg1) <{indexing_maps = [#map, #map1], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg2: f32, %arg3: f32):
      "linalg.yield"(%arg2) : (f32) -> ()
    }) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    "func.return"(%0) : (tensor<2x2xf32>) -> ()
  }) : () -> ()
}) : () -> ()
""",
    "ops that MLIR does not know": """\
#map = affine_map<(d0) -> (d0 + 1)>
#map1 = affine_map<(d0) -> (d0 + 2)>
"builtin.module"() ({
  "unknown.one"() <{first = affine_map<(d0) -> (d0)>, second = #map1}> ({
    "unknown.two"() {inner = #map} : () -> ()
  }) {outer = #map1} : () -> ()
}) : () -> ()
""",
    "attributes of other dialects": """\
#di_file = #llvm.di_file<"foo.c" in "/dir/">
#sparse = #sparse_tensor.encoding<{ map = (d0) -> (d0 : compressed) }>
#di_compile_unit = #llvm.di_compile_unit<id = distinct[0]<>, sourceLanguage = DW_LANG_C, file = #di_file, isOptimized = false, emissionKind = None>
#di_label = #llvm.di_label<scope = #di_compile_unit, name = "a \\22#di_file\\22 b">
"builtin.module"() ({
  "func.func"() <{function_type = (!sparse_tensor.storage_specifier<#sparse>) -> (), sym_name = "f"}> ({
  ^bb0(%arg0: !sparse_tensor.storage_specifier<#sparse>):
    "unknown.one"() {b = #di_label, c = #other.text<#map>} : () -> ()
    "func.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
""",
    "types that begin alike": """\
"builtin.module"() ({
  %0 = "unknown.one"() : () -> !llvm.ptr
  %1 = "unknown.one"() : () -> !llvm.ptr<3>
  %2 = "unknown.one"() : () -> vector<4x!llvm.ptr<3>>
}) : () -> ()
""",
    "distinct attributes": """\
"builtin.module"() ({
  "unknown.one"() <{p = distinct[0]<>}> ({
    "unknown.two"() {q = distinct[1]<>, r = distinct[0]<>} : () -> ()
  }) {z = distinct[2]<>} : () -> ()
}) : () -> ()
""",
}

# Calls inside the region of an op that halfulp does not declare: of functions around it, or in its own symbol table.
CALLS = {
    "a loop": """\
#map = affine_map<() -> (0)>
#map1 = affine_map<(d0) -> (d0)>
"builtin.module"() ({
  "func.func"() <{function_type = () -> (), sym_name = "g", sym_visibility = "private"}> ({
  }) : () -> ()
  "func.func"() <{function_type = (index) -> (), sym_name = "f"}> ({
  ^bb0(%arg0: index):
    "affine.for"(%arg0) <{lowerBoundMap = #map, operandSegmentSizes = array<i32: 0, 1, 0>, step = 1 : index, upperBoundMap = #map1}> ({
    ^bb0(%arg1: index):
      "func.call"() <{callee = @g}> : () -> ()
      "affine.yield"() : () -> ()
    }) : (index) -> ()
    "func.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
""",
    "a symbol table": """\
"builtin.module"() ({
  "gpu.module"() <{sym_name = "m"}> ({
    "func.func"() <{function_type = () -> (), sym_name = "g", sym_visibility = "private"}> ({
    }) : () -> ()
    "func.func"() <{function_type = () -> (), sym_name = "f"}> ({
      "func.call"() <{callee = @g}> : () -> ()
      "func.return"() : () -> ()
    }) : () -> ()
  }) : () -> ()
}) : () -> ()
""",
}
TEXTS = ALIASES | CALLS


@pytest.mark.parametrize("name", TEXTS)
def test_the_generic_form_is_printed_as_it_is_read(name: str) -> None:
    assert print_module(hu.load(TEXTS[name]), generic=True) == TEXTS[name]


@pytest.mark.parametrize("name", TEXTS)
def test_mlir_opt_prints_the_same(name: str, mlir_opt: Callable[..., str]) -> None:
    options = ("--allow-unregistered-dialect", "--mlir-print-op-generic")
    assert mlir_opt(TEXTS[name], *options).strip() == TEXTS[name].strip()


@pytest.mark.parametrize("name", CALLS)
def test_ops_of_mlir_need_no_permission(name: str) -> None:
    """mlir-opt knows them, so that they are not unregistered."""
    assert hu.parse(CALLS[name], allow_unregistered=False)
    with pytest.raises(hu.errors.ParseError, match="unregistered dialect"):
        hu.parse('"unknown.one"() : () -> ()', allow_unregistered=False)


@pytest.mark.parametrize("element", ["!llvm.void", "!smt.int", "!unknown.type", "!llvm.struct<(i32)>"])
def test_other_types_are_no_elements_of_vectors(element: str) -> None:
    with pytest.raises(hu.errors.ParseError, match="VectorElementTypeInterface instance"):
        hu.parse(f"func.func private @f(vector<4x{element}>)")
