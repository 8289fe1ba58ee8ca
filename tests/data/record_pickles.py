"""Record ``pickles_0_1.json``: pickles of halfulp 0.1 as it was before its modules moved to folders of their own.

Run it with the halfulp of commit 45e3d14: ``python record_pickles.py > pickles_0_1.json``. Each entry holds the pickle
in base64, and the text of the object (of a format and a profile the name).
"""

from __future__ import annotations

import base64
import json
import pickle
import sys
from typing import Any

import numpy as np

import halfulp as hu
from halfulp.interp.spelling import parse_value
from halfulp.interp.text.parser import parse_attribute
from halfulp.interp.values import as_type

TYPES = {
    "vector type": "vector<4x[2]xbf16>",
    "tensor type with an encoding": "tensor<4xf32, dense<[1, 2]> : tensor<2xi8>>",
    "unranked tensor type": "tensor<*xindex>",
    "memref type": "memref<?x4xf32, affine_map<(d0, d1)[s0] -> (d0 * s0 + d1)>, 3>",
    "memref type with an opaque space": "memref<2xf32, #gpu.address_space<workgroup>>",
    "function type": "(i32, tuple<i1, none>) -> complex<f64>",
    "quantised type": "!quant.uniform<i8:f32:{0:1}, {1.5:3}>",
    "any quantised type": "!quant.any<i8<-16:7>:f32>",
    "calibrated type": "!quant.calibrated<f32<-1.0:1.0>>",
    "opaque type": "!llvm.ptr",
}


def failure(text: str, *arguments: Any) -> Exception:
    """Return the error of a run."""
    try:
        hu.run(text, *arguments)
    except hu.HalfulpError as error:
        return error
    raise AssertionError("it runs")


def objects() -> dict[str, Any]:
    """Return the objects to pickle, by name."""
    named: dict[str, Any] = {name: as_type(spelling) for name, spelling in TYPES.items()}
    named["tensor of f8E4M3FN with poison"] = parse_value(as_type("tensor<2x3xf8E4M3FN>"), "1 nan poison 448 -0 poison")
    named["scalar of f128"] = hu.Value.from_numpy(1.5, "f128")
    named["vector"] = parse_value(as_type("vector<2x2xi7>"), "1 -2 3 -64")
    named["quantised tensor"] = hu.Value.from_bits(
        np.array([1, 255], np.uint8), "tensor<2x!quant.uniform<i8:f32, 1.5>>"
    )
    named["quantised tensor with a scale for each channel"] = hu.Value.from_bits(
        np.array([[1, 255]], np.uint8), "tensor<1x2x!quant.uniform<i8:f32:1, {1.5, 2.0:3}>>"
    )
    x = np.array([[1.5, 2.0], [-3.0, 0.25]], np.float32)
    named["buffer"] = hu.Buffer.from_numpy(x)
    named["strided buffer"] = hu.Buffer.from_numpy(x, "memref<2x2xf32, strided<[4, 1], offset: 1>>")
    divide = "func.func @f(%a: i32) -> i32 {\n %0 = arith.divui %a, %a : i32\n return %0 : i32 }"
    named["ParseError"] = failure("func.func @f( {")
    named["VerifyError"] = failure("func.func @f(%a: i32) -> i64 {\n return %a : i32 }")
    named["UndefinedBehavior"] = failure(divide, 0)
    named["TypeMismatch"] = failure(divide, 0.5)
    named["enum attribute"] = parse_attribute("#arith.fastmath<nnan>")
    named["format"] = hu.float_format("f4E2M1FN")
    named["profile"] = next(iter(hu.profiles.values()))
    return named


if __name__ == "__main__":
    pickles = {
        name: {"pickle": base64.b64encode(pickle.dumps(each, 4)).decode(), "text": getattr(each, "name", str(each))}
        for name, each in objects().items()
    }
    json.dump(pickles, sys.stdout, indent=1)
    sys.stdout.write("\n")
