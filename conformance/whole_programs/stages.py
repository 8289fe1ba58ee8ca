"""The stages through which programs on tensors are lowered: the passes of mlir-opt that lead to each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

_NAMED = "func.func(linalg-generalize-named-ops)"
_BUFFERS = (
    # A loop that carries tensors gets a new buffer in each round.
    "one-shot-bufferize{bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map "
    "allow-return-allocs-from-loops},canonicalize,cse"
)
_LOOPS = "func.func(convert-linalg-to-loops)"
# Without arith-expand, whose comparisons and selects lose the signs of zeros in minimum and maximum.
_BRANCHES = "buffer-deallocation-pipeline,expand-strided-metadata,lower-affine,convert-scf-to-cf"

STAGES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "generalized": (_NAMED,),
        "fused": (_NAMED, "linalg-fuse-elementwise-ops", "canonicalize", "cse"),
        "bufferized": (_BUFFERS,),
        "loops": (_BUFFERS, _LOOPS),
        "parallel-loops": (_BUFFERS, "func.func(convert-linalg-to-parallel-loops)"),
        "affine": (_BUFFERS, "func.func(convert-linalg-to-affine-loops)"),
        "vectorized": (
            _BUFFERS,
            # affine-super-vectorize of mlir-opt 22 makes an op that is not valid of a store in a loop of one iteration,
            # if the place does not depend on the loop (llvm/llvm-project#131135).
            "func.func(convert-linalg-to-affine-loops,affine-loop-normalize{promote-single-iter},"
            "affine-super-vectorize{virtual-vector-size=8})",
        ),
        "branches": (_BUFFERS, _LOOPS, _BRANCHES),
    }
)
"""The passes of each stage, by its name, from tensors down to branches. Each begins with the program on tensors."""

RUNNERS = ("loops", "parallel-loops", "vectorized")
"""The stages from which mlir-runner runs programs."""


def pipeline(stage: str, before: Sequence[str] = (), after: Sequence[str] = ()) -> str:
    """Return the pipeline of a stage, with passes that run before and after those of the stage."""
    return f"builtin.module({','.join((*before, *STAGES[stage], *after))})"
