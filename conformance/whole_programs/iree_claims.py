"""The passes of iree-opt 3.13 that keep functions on halfulp's dialects, and the random programs that test each.

They are passes of IREE. It registers many of MLIR's passes too: `pass_claims` has these. Not in this table are passes
that change the types of functions on purpose, and those that make ops of IREE's dialects.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from halfulp.conformance.whole_programs.pass_claims import FUNCTIONS, LOOPS, MEMORY, VECTORS, Claim, rows

# IREE's LLVM does not have linalg.add and its kind any more: the programs on tensors are linalg.generic.
_TENSORS = ("generalized",)

IREE_CLAIMS: Mapping[str, Claim] = MappingProxyType(
    dict(
        [
            *rows(
                ("mixed", "generalized", "loops", "branches"),
                "iree-codegen-canonicalize",
                "iree-codegen-config-tracking-canonicalize",
                "iree-flow-canonicalize",
                "iree-util-apply-patterns",
                "iree-util-drop-compiler-hints",
                "iree-util-ipo",
                "iree-util-lift-cfg-to-scf",
                "iree-util-optimize-int-arithmetic",
                "iree-util-strip-debug-ops",
            ),
            *rows(
                ("mixed", "generalized", "loops"),
                "iree-codegen-math-transform",
                "iree-convert-bf16-arith-to-f32",
                "iree-llvmcpu-expand-f16-op-to-f32",
            ),
            *rows(
                ("mixed", "generalized", "loops"),
                "iree-codegen-replace-slow-min-max-ops",
                "iree-convert-unsupported-float-arith",
                "iree-llvmcpu-unfuse-fma-pass",
                form=FUNCTIONS,
            ),
            *rows(
                _TENSORS,
                "iree-codegen-decompose-linalg-generic",
                "iree-codegen-fold-tensor-extract-op",
                "iree-codegen-propagate-reshapes-by-expansion",
                "iree-dispatch-creation-bubble-up-expand-shapes",
                "iree-dispatch-creation-elementwise-op-fusion",
                "iree-dispatch-creation-fold-unit-extent-dims",
                "iree-dispatch-creation-sink-reshapes",
                "iree-dispatch-creation-split-reduction-ops",
                "iree-dispatch-creation-transpose-generic-ops",
                "iree-global-opt-cleanup-numeric-narrowing",
                "iree-global-opt-decompose-concat",
                "iree-global-opt-detach-elementwise-from-named-ops",
                "iree-global-opt-erase-unused-linalg-operands",
                "iree-global-opt-expand-tensor-shapes",
                "iree-global-opt-infer-numeric-narrowing",
                "iree-global-opt-optimize-numerics",
                "iree-global-opt-raise-special-ops",
                "iree-global-opt-simplify-pack-unpack",
                "iree-preprocessing-convert-1x1-filter-conv2d-to-matmul",
                "iree-preprocessing-convert-conv-to-channels-last",
                "iree-preprocessing-pad-linalg-ops",
                "iree-preprocessing-transpose-matmul-pass",
            ),
            *rows(
                _TENSORS,
                "iree-codegen-convolution-to-igemm",
                "iree-codegen-decompose-convolution-to-lower-dim-ops",
                "iree-codegen-decompose-pack-unpack-ops",
                "iree-codegen-decompose-softmax",
                "iree-codegen-generic-vectorization",
                "iree-codegen-insert-batch-dim-for-batchless-conv",
                "iree-codegen-optimize-tensor-insert-extract-slices",
                "iree-codegen-rematerialize-parallel-ops",
                "iree-codegen-type-propagation",
                "iree-codegen-vectorize-tensor-pad",
                "iree-convert-accgemm-to-gemm",
                "iree-dispatch-creation-collapse-dimensions",
                "iree-dispatch-creation-fuse-multi-use-elementwise-producer",
                "iree-global-opt-fuse-dequantization-matmul",
                "iree-global-opt-generalize-linalg-named-ops",
                "iree-global-opt-loop-invariant-code-motion",
                "iree-global-opt-propagate-linalg-transpose",
                "iree-global-opt-quantized-conv-to-conv",
                "iree-global-opt-quantized-matmul-to-matmul",
                "iree-global-opt-remove-zero-extent-tensors",
                "iree-linalg-ext-to-loops",
                "iree-llvmcpu-split-reduction",
                "iree-preprocessing-generalize-linalg-matmul-experimental",
                form=FUNCTIONS,
            ),
            *rows(
                (*LOOPS, "affine"),
                "iree-affine-expand-index-ops",
                "iree-codegen-decompose-affine-ops",
                "iree-codegen-normalize-loop-bounds",
            ),
            *rows(
                (*LOOPS, "affine"),
                "iree-codegen-affinemin-scf-canonicalization",
                "iree-codegen-canonicalize-scf-for",
                "iree-codegen-fold-affinemin-in-distributed-loops",
                "iree-codegen-forall-to-for",
                "iree-codegen-remove-single-iteration-loop",
                "iree-codegen-unroll-annotated-loops",
                "iree-llvmcpu-peel",
                form=FUNCTIONS,
            ),
            *rows(
                MEMORY,
                "iree-codegen-decompose-memrefs",
                "iree-codegen-emulate-narrow-type",
                "iree-codegen-expand-strided-metadata",
                "iree-codegen-fold-memref-alias-ops",
                "iree-codegen-vectorize-memref-copy",
            ),
            *rows(
                MEMORY,
                "iree-codegen-erase-dead-alloc-and-stores",
                "iree-codegen-fold-memref-copy-into-dps-ops",
                "iree-codegen-hoist-statically-bound-allocations",
                "iree-codegen-memrefcopy-to-linalg",
                "iree-codegen-pad-dynamic-alloc",
                "iree-codegen-propagate-constant-offsets",
                form=FUNCTIONS,
            ),
            *rows(
                VECTORS,
                "iree-codegen-drop-vector-unit-dims",
                "iree-codegen-fission-transfer-ops-in-control-flow",
                "iree-codegen-hoist-vector-extract-insert-slice",
                "iree-codegen-materialize-vector-masking",
                "iree-codegen-optimize-vector-transfer",
                "iree-codegen-split-full-partial-transfer",
                "iree-codegen-vector-transfer-lowering",
                "iree-llvmcpu-mmt4d-vector-lowering",
                "iree-llvmcpu-vector-shape-cast-lowering",
                "iree-llvmcpu-vector-transpose-lowering",
                "iree-llvmcpu-virtual-vector-lowering",
                form=FUNCTIONS,
            ),
        ]
    )
)
"""The claims by the names of their passes."""
