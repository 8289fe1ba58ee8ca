"""The passes of mlir-opt 22 and iree-opt 3.13 that keep programs on halfulp's dialects, and the random programs that
test each.

Every such pass claims that the program after it refines the program before it. The table of iree-opt does not have
passes that change the types of functions on purpose, passes that make ops of IREE's dialects, and the passes of MLIR,
which iree-opt also has. Programs on tensors are lowered to stages first.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from halfulp.conformance.oracles.tool import Tool

# --- stages -----------------------------------------------------------------------------------------------------------
#
# The passes of mlir-opt that lead from programs on tensors to each stage.

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


# --- claims -----------------------------------------------------------------------------------------------------------

MODULES, FUNCTIONS = "builtin.module({})", "builtin.module(func.func({}))"

ANY = ("mixed", "structured")
TENSORS = ("structured", "generalized")
MEMORY = ("bufferized", "loops", "affine", "vectorized")
LOOPS = ("mixed", "loops")
PARALLEL = ("parallel-loops",)
AFFINE = ("affine", "vectorized")
VECTORS = ("mixed", "vectorized")
TOSA = ("tosa",)


@dataclass(frozen=True)
class Claim:
    """A pass and the programs that test it. ``form``: the text of a pipeline, in which the name of the pass replaces
    ``{}``.
    """

    name: str
    starts: tuple[str, ...]
    form: str = MODULES

    @property
    def pipeline(self) -> str:
        """The pipeline that consists of this pass only."""
        return self.form.format(self.name)


def rows(starts: tuple[str, ...], *names: str, form: str = MODULES) -> Iterator[tuple[str, Claim]]:
    """Yield rows of a table of claims: one for each pass in ``names``, all tested with the programs of ``starts``."""
    for name in names:
        yield name.partition("{")[0], Claim(name, starts, form)


CLAIMS: Mapping[str, Claim] = MappingProxyType(
    dict(
        [
            *rows((*ANY, "loops", "affine", "vectorized", "branches", *TOSA), "canonicalize"),
            *rows(
                (*ANY, "loops", "affine", "vectorized", "branches"),
                "cse", "sccp", "int-range-optimizations", "loop-invariant-code-motion",
                "control-flow-sink", "remove-dead-values",
            ),
            *rows(ANY, "inline", "loop-invariant-subset-hoisting", "symbol-dce", "topological-sort"),
            *rows(("mixed", "loops", "branches"), "mem2reg", "sroa"),
            *rows(
                (*ANY, "loops"),
                "arith-expand{include-bf16=true include-f8e8m0=true}",
                "arith-int-range-narrowing{int-bitwidths-supported=8,16,32}",
                "arith-emulate-unsupported-floats{source-types=bf16,f8E4M3FN,f8E5M2 target-type=f32}",
                "arith-emulate-wide-int{widest-int-supported=32}", "arith-unsigned-when-equivalent",
                "convert-arith-to-apfloat", "convert-math-to-apfloat", "convert-math-to-funcs{convert-ctlz=true}",
                "convert-math-to-libm", "math-expand-ops", "math-extend-to-supported-types", "math-sincos-fusion",
                "math-uplift-to-fma",
            ),
            *rows(("mixed",), "lower-quant-ops", "normalize-quant-types", form=FUNCTIONS),
            *rows(
                AFFINE,
                "affine-data-copy-generate", "affine-loop-coalescing", "affine-loop-invariant-code-motion",
                "affine-loop-normalize", "affine-loop-tile", "affine-loop-unroll", "affine-loop-unroll-jam",
                "affine-parallelize", "affine-pipeline-data-transfer", "affine-scalrep", "affine-simplify-min-max",
                "affine-simplify-structures", "affine-super-vectorize{virtual-vector-size=4}",
                form=FUNCTIONS,
            ),
            *rows(
                AFFINE,
                "affine-expand-index-ops", "affine-expand-index-ops-as-affine", "affine-fold-memref-alias-ops",
                "affine-loop-fusion", "lower-affine",
            ),
            *rows(LOOPS, "affine-raise-from-memref", form=FUNCTIONS),
            *rows(
                LOOPS,
                "convert-scf-to-cf", "scf-for-loop-canonicalization", "scf-for-loop-peeling",
                "scf-for-loop-range-folding", "scf-for-loop-specialization", "scf-for-to-while",
            ),
            *rows(
                PARALLEL,
                "scf-parallel-for-to-nested-fors", "scf-parallel-loop-fusion", "scf-parallel-loop-specialization",
                "scf-parallel-loop-tiling",
            ),
            *rows(("mixed", "branches"), "lift-cf-to-scf"),
            *rows(
                ("mixed", *MEMORY),
                "expand-realloc", "expand-strided-metadata", "flatten-memref", "fold-memref-alias-ops",
                "generate-runtime-verification", "memref-emulate-wide-int{widest-int-supported=32}", "memref-expand",
                "normalize-memrefs", "reify-result-shapes", "resolve-ranked-shaped-type-result-dims",
                "resolve-shaped-type-result-dims",
            ),
            *rows(
                ("mixed", "bufferized", "loops"),
                "buffer-deallocation-pipeline", "buffer-results-to-out-params", "drop-equivalent-buffer-results",
                "ownership-based-buffer-deallocation",
            ),
            *rows(
                ("mixed", "bufferized", "loops"),
                "buffer-hoisting", "buffer-loop-hoisting", "optimize-allocation-liveness",
                "promote-buffers-to-stack",
                form=FUNCTIONS,
            ),
            *rows(
                TENSORS,
                "convert-elementwise-to-linalg", "convert-tensor-to-linalg", "eliminate-empty-tensors",
                "empty-tensor-to-alloc-tensor", "fold-tensor-subset-ops", "linalg-fold-into-elementwise",
                "linalg-fold-unit-extent-dims", "linalg-fuse-elementwise-ops", "linalg-generalize-named-ops",
                "linalg-inline-scalar-operands", "linalg-specialize-generic-ops",
                "one-shot-bufferize{bufferize-function-boundaries allow-return-allocs-from-loops}",
                "simplify-depthwise-conv",
            ),
            *rows(TENSORS, "linalg-detensorize", form=FUNCTIONS),
            *rows(("bufferized",), "convert-linalg-to-loops", form=FUNCTIONS),
            *rows(
                ("bufferized",), "convert-linalg-to-affine-loops", "convert-linalg-to-parallel-loops", form=FUNCTIONS
            ),
            *rows(
                VECTORS,
                "convert-vector-to-scf", "lower-vector-mask", "lower-vector-multi-reduction",
                "lower-vector-to-from-elements-to-shuffle-tree",
                form=FUNCTIONS,
            ),
            *rows(
                TOSA,
                "tosa-infer-shapes", "tosa-layerwise-constant-fold", "tosa-make-broadcastable",
                "tosa-optional-decompositions", "tosa-reduce-transposes",
                "tosa-to-arith{include-apply-rescale=true}", "tosa-to-linalg", "tosa-to-linalg-named", "tosa-to-scf",
                "tosa-to-tensor",
                form=FUNCTIONS,
            ),
            *rows(TOSA, "tosa-to-linalg-pipeline"),
        ]
    )
)  # fmt: skip
"""The claims about the passes of mlir-opt, by the names of the passes."""

# --- passes of iree-opt -----------------------------------------------------------------------------------------------

# IREE's LLVM does not have linalg.add and its kind any more: the programs on tensors are linalg.generic.
_TENSORS = ("generalized",)

IREE_CLAIMS: Mapping[str, Claim] = MappingProxyType(
    dict(
        [
            *rows(
                ("mixed", "generalized", "loops", "branches"),
                "iree-codegen-canonicalize", "iree-codegen-config-tracking-canonicalize", "iree-flow-canonicalize",
                "iree-util-apply-patterns", "iree-util-drop-compiler-hints", "iree-util-ipo",
                "iree-util-lift-cfg-to-scf", "iree-util-optimize-int-arithmetic", "iree-util-strip-debug-ops",
            ),
            *rows(
                ("mixed", "generalized", "loops"),
                "iree-codegen-math-transform", "iree-convert-bf16-arith-to-f32", "iree-llvmcpu-expand-f16-op-to-f32",
            ),
            *rows(
                ("mixed", "generalized", "loops"),
                "iree-codegen-replace-slow-min-max-ops", "iree-convert-unsupported-float-arith",
                "iree-llvmcpu-unfuse-fma-pass",
                form=FUNCTIONS,
            ),
            *rows(
                _TENSORS,
                "iree-codegen-decompose-linalg-generic", "iree-codegen-fold-tensor-extract-op",
                "iree-codegen-propagate-reshapes-by-expansion", "iree-dispatch-creation-bubble-up-expand-shapes",
                "iree-dispatch-creation-elementwise-op-fusion", "iree-dispatch-creation-fold-unit-extent-dims",
                "iree-dispatch-creation-sink-reshapes", "iree-dispatch-creation-split-reduction-ops",
                "iree-dispatch-creation-transpose-generic-ops", "iree-global-opt-cleanup-numeric-narrowing",
                "iree-global-opt-decompose-concat", "iree-global-opt-detach-elementwise-from-named-ops",
                "iree-global-opt-erase-unused-linalg-operands", "iree-global-opt-expand-tensor-shapes",
                "iree-global-opt-infer-numeric-narrowing", "iree-global-opt-optimize-numerics",
                "iree-global-opt-raise-special-ops", "iree-global-opt-simplify-pack-unpack",
                "iree-preprocessing-convert-1x1-filter-conv2d-to-matmul",
                "iree-preprocessing-convert-conv-to-channels-last", "iree-preprocessing-pad-linalg-ops",
                "iree-preprocessing-transpose-matmul-pass",
            ),
            *rows(
                _TENSORS,
                "iree-codegen-convolution-to-igemm", "iree-codegen-decompose-convolution-to-lower-dim-ops",
                "iree-codegen-decompose-pack-unpack-ops", "iree-codegen-decompose-softmax",
                "iree-codegen-generic-vectorization", "iree-codegen-insert-batch-dim-for-batchless-conv",
                "iree-codegen-optimize-tensor-insert-extract-slices", "iree-codegen-rematerialize-parallel-ops",
                "iree-codegen-type-propagation", "iree-codegen-vectorize-tensor-pad", "iree-convert-accgemm-to-gemm",
                "iree-dispatch-creation-collapse-dimensions",
                "iree-dispatch-creation-fuse-multi-use-elementwise-producer",
                "iree-global-opt-fuse-dequantization-matmul", "iree-global-opt-generalize-linalg-named-ops",
                "iree-global-opt-loop-invariant-code-motion", "iree-global-opt-propagate-linalg-transpose",
                "iree-global-opt-quantized-conv-to-conv", "iree-global-opt-quantized-matmul-to-matmul",
                "iree-global-opt-remove-zero-extent-tensors", "iree-linalg-ext-to-loops",
                "iree-llvmcpu-split-reduction", "iree-preprocessing-generalize-linalg-matmul-experimental",
                form=FUNCTIONS,
            ),
            *rows(
                (*LOOPS, "affine"),
                "iree-affine-expand-index-ops", "iree-codegen-decompose-affine-ops",
                "iree-codegen-normalize-loop-bounds",
            ),
            *rows(
                (*LOOPS, "affine"),
                "iree-codegen-affinemin-scf-canonicalization", "iree-codegen-canonicalize-scf-for",
                "iree-codegen-fold-affinemin-in-distributed-loops", "iree-codegen-forall-to-for",
                "iree-codegen-remove-single-iteration-loop", "iree-codegen-unroll-annotated-loops",
                "iree-llvmcpu-peel",
                form=FUNCTIONS,
            ),
            *rows(
                MEMORY,
                "iree-codegen-decompose-memrefs", "iree-codegen-emulate-narrow-type",
                "iree-codegen-expand-strided-metadata", "iree-codegen-fold-memref-alias-ops",
                "iree-codegen-vectorize-memref-copy",
            ),
            *rows(
                MEMORY,
                "iree-codegen-erase-dead-alloc-and-stores", "iree-codegen-fold-memref-copy-into-dps-ops",
                "iree-codegen-hoist-statically-bound-allocations", "iree-codegen-memrefcopy-to-linalg",
                "iree-codegen-pad-dynamic-alloc", "iree-codegen-propagate-constant-offsets",
                form=FUNCTIONS,
            ),
            *rows(
                VECTORS,
                "iree-codegen-drop-vector-unit-dims", "iree-codegen-fission-transfer-ops-in-control-flow",
                "iree-codegen-hoist-vector-extract-insert-slice", "iree-codegen-materialize-vector-masking",
                "iree-codegen-optimize-vector-transfer", "iree-codegen-split-full-partial-transfer",
                "iree-codegen-vector-transfer-lowering", "iree-llvmcpu-mmt4d-vector-lowering",
                "iree-llvmcpu-vector-shape-cast-lowering", "iree-llvmcpu-vector-transpose-lowering",
                "iree-llvmcpu-virtual-vector-lowering",
                form=FUNCTIONS,
            ),
        ]
    )
)  # fmt: skip
"""The claims about the passes of iree-opt, by the names of the passes."""

# --- the claims of a tool ---------------------------------------------------------------------------------------------

ALL_CLAIMS: Mapping[str, Claim] = {**CLAIMS, **IREE_CLAIMS}


def claims_of(tool: Tool) -> tuple[Claim, ...]:
    """Return the claims that ``--pass=all`` selects. iree-opt reports the version of LLVM, so the tool is recognised by
    its name.
    """
    return tuple((IREE_CLAIMS if "iree" in os.path.basename(tool.path) else CLAIMS).values())


def claim_named(name: str) -> Claim:
    """Return the claim about a pass. A pass that is not in the tables, with or without options, is tested on all
    kinds.
    """
    known = ALL_CLAIMS.get(name.partition("{")[0])
    if known is None:
        return Claim(name, ANY)
    return replace(known, name=name) if "{" in name else known
