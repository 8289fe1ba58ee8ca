"""Where halfulp treats a module of the corpus otherwise than mlir-opt 22: on purpose, or not yet as it should.

Every row is checked: a module named here that is treated as mlir-opt treats it fails the tests, as does one that is
treated otherwise and is not named.
"""

from __future__ import annotations

from collections.abc import Mapping

_WIDE = "mlir-opt prints a decimal that it reads back, through f64, as another number: halfulp prints the bits"
_INFINITE = "a literal beyond f64 overflows as any other does; mlir-opt makes it 0 (LLVM issue 185351)"

# Deliberate: the reason.
DELIBERATE: Mapping[str, str] = {
    "attributes/dense_array.mlir#13": _WIDE,
    "attributes/dense_elements.mlir#15": _WIDE,
    "attributes/float.mlir#0": _INFINITE,
    "attributes/float.mlir#2": _INFINITE,
    "attributes/float.mlir#4": _INFINITE,
    "attributes/float.mlir#35": _WIDE,
    "invalid/attributes.mlir#13": "mlir-opt takes the parts of a complex number for two numbers",
    "syntax/lenient.mlir#10": "mlir-opt drops the high bits of a case value that does not fit the flag",
    "syntax/lenient.mlir#17": "mlir-opt drops a property that the op does not have",
}

# Not yet as it should be: what is wrong.
EXPECTED_FAILURES: Mapping[str, str] = {
    "attributes/dense_resource.mlir#1": "blobs are printed in the order in which they are first named",
    "attributes/location.mlir#18": "an empty file name is printed as -",
    "attributes/string.mlir#7": "a string of type none has no type",
    "invalid/attributes.mlir#78": "the place of a set where a map should be",
    "invalid/attributes.mlir#83": "the place of a missing stride",
    "invalid/attributes.mlir#85": "the place of a missing offset",
    "invalid/syntax.mlir#99": "the place of a missing case value",
    "invalid/syntax.mlir#117": "the place of an attribute of the wrong kind in a custom form",
    "invalid/syntax.mlir#123": "a function sees the names around it, and is forbidden to use them",
    "invalid/syntax.mlir#124": "a function sees the names around it, and may not define them again",
    "invalid/types.mlir#32": "a memref of an unregistered type is accepted",
    "invalid/types.mlir#39": "an attribute of an unregistered dialect is accepted as a memory space",
    "invalid/verify.mlir#140": "a cast of an unranked tensor",
    "invalid/verify.mlir#163": "the place of an attribute of the wrong kind in a custom form",
    "invalid/verify.mlir#164": "the place of an attribute of the wrong kind in a custom form",
    "invalid/verify.mlir#165": "the place of an attribute of the wrong kind in a custom form",
    "invalid/verify.mlir#166": "the place of an attribute of the wrong kind in a custom form",
    "newer/arith.mlir#22": "arith.maximumnumf is not declared",
    "newer/arith.mlir#23": "arith.minimumnumf is not declared",
    "syntax/generic.mlir#7": "empty properties of an unregistered op are kept",
    "syntax/lenient.mlir#6": "a comma after the element type of a tensor",
    "syntax/lenient.mlir#21": "a property of the custom form that its dictionary names, too",
}
