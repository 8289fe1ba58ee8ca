"""The pipelines through which programs on tensors go down to LLVM's dialect: the passes of mlir-opt 22, by ways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

BUFFERS = (
    "func.func(linalg-generalize-named-ops)",
    "one-shot-bufferize{bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map "
    "allow-return-allocs-from-loops}",
    "canonicalize",
    "cse",
)
BRANCHES = (
    "buffer-deallocation-pipeline",
    "expand-strided-metadata",
    "lower-affine",
    "math-expand-ops{ops=round,copysign}",
    "arith-expand",
    "convert-scf-to-cf",
)
LLVM = (
    "convert-vector-to-llvm",
    "convert-math-to-llvm",
    "convert-math-to-libm",
    "convert-to-llvm",
    "reconcile-unrealized-casts",
)
WAYS: Mapping[str, tuple[str, ...]] = {
    "loops": ("func.func(convert-linalg-to-loops)",),
    "parallel loops": ("func.func(convert-linalg-to-parallel-loops)",),
    "vectors": (
        "func.func(convert-linalg-to-affine-loops)",
        "func.func(affine-super-vectorize{virtual-vector-size=8})",
        "convert-vector-to-scf",
    ),
}


def passes(way: str, llvm: bool = True) -> tuple[str, ...]:
    """Return the passes of a way, down to branches, or to LLVM's dialect."""
    return (*BUFFERS, *WAYS[way], *BRANCHES, *(LLVM if llvm else ()))


def pipeline(names: Sequence[str]) -> str:
    """Return the pipeline of some passes on a module."""
    return f"builtin.module({','.join(names)})"
