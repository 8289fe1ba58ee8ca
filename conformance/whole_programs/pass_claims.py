"""The passes of mlir-opt 22 that keep programs on halfulp's dialects, and the random programs that test each.

Every such pass claims that the program after it refines the program before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

MODULES, FUNCTIONS = "builtin.module({})", "builtin.module(func.func({}))"

ANY = ("mixed", "structured")
TENSORS = ("structured", "generalized")
MEMORY = ("bufferized", "loops", "affine", "vectorized")
LOOPS = ("mixed", "loops")
PARALLEL = ("parallel-loops",)
AFFINE = ("affine", "vectorized")
VECTORS = ("mixed", "vectorized")


@dataclass(frozen=True)
class Claim:
    """A pass and the programs that test it. ``form``: where it runs in a pipeline."""

    name: str
    starts: tuple[str, ...]
    form: str = MODULES

    @property
    def pipeline(self) -> str:
        """Return the pipeline with the pass alone."""
        return self.form.format(self.name)


def rows(starts: tuple[str, ...], *names: str, form: str = MODULES) -> Iterator[tuple[str, Claim]]:
    """Yield the rows of a table of claims, for passes that are tested with the same programs."""
    for name in names:
        yield name.partition("{")[0], Claim(name, starts, form)


CLAIMS: Mapping[str, Claim] = MappingProxyType(
    dict(
        [
            *rows(
                (*ANY, "loops", "affine", "vectorized", "branches"),
                "canonicalize",
                "cse",
                "sccp",
                "int-range-optimizations",
                "loop-invariant-code-motion",
                "control-flow-sink",
                "remove-dead-values",
            ),
            *rows(ANY, "inline", "loop-invariant-subset-hoisting", "symbol-dce", "topological-sort"),
            *rows(("mixed", "loops", "branches"), "mem2reg", "sroa"),
            *rows(
                (*ANY, "loops"),
                "arith-expand{include-bf16=true include-f8e8m0=true}",
                "arith-int-range-narrowing{int-bitwidths-supported=8,16,32}",
                "arith-emulate-unsupported-floats{source-types=bf16,f8E4M3FN,f8E5M2 target-type=f32}",
                "arith-emulate-wide-int{widest-int-supported=32}",
                "arith-unsigned-when-equivalent",
                "convert-arith-to-apfloat",
                "convert-math-to-apfloat",
                "convert-math-to-funcs{convert-ctlz=true}",
                "convert-math-to-libm",
                "math-expand-ops",
                "math-extend-to-supported-types",
                "math-sincos-fusion",
                "math-uplift-to-fma",
            ),
            *rows(("mixed",), "lower-quant-ops", "normalize-quant-types", form=FUNCTIONS),
            *rows(
                AFFINE,
                "affine-data-copy-generate",
                "affine-loop-coalescing",
                "affine-loop-invariant-code-motion",
                "affine-loop-normalize",
                "affine-loop-tile",
                "affine-loop-unroll",
                "affine-loop-unroll-jam",
                "affine-parallelize",
                "affine-pipeline-data-transfer",
                "affine-scalrep",
                "affine-simplify-min-max",
                "affine-simplify-structures",
                "affine-super-vectorize{virtual-vector-size=4}",
                form=FUNCTIONS,
            ),
            *rows(
                AFFINE,
                "affine-expand-index-ops",
                "affine-expand-index-ops-as-affine",
                "affine-fold-memref-alias-ops",
                "affine-loop-fusion",
                "lower-affine",
            ),
            *rows(LOOPS, "affine-raise-from-memref", form=FUNCTIONS),
            *rows(
                LOOPS,
                "convert-scf-to-cf",
                "scf-for-loop-canonicalization",
                "scf-for-loop-peeling",
                "scf-for-loop-range-folding",
                "scf-for-loop-specialization",
                "scf-for-to-while",
            ),
            *rows(
                PARALLEL,
                "scf-parallel-for-to-nested-fors",
                "scf-parallel-loop-fusion",
                "scf-parallel-loop-specialization",
                "scf-parallel-loop-tiling",
            ),
            *rows(("mixed", "branches"), "lift-cf-to-scf"),
            *rows(
                ("mixed", *MEMORY),
                "expand-realloc",
                "expand-strided-metadata",
                "flatten-memref",
                "fold-memref-alias-ops",
                "generate-runtime-verification",
                "memref-emulate-wide-int{widest-int-supported=32}",
                "memref-expand",
                "normalize-memrefs",
                "reify-result-shapes",
                "resolve-ranked-shaped-type-result-dims",
                "resolve-shaped-type-result-dims",
            ),
            *rows(
                ("mixed", "bufferized", "loops"),
                "buffer-deallocation-pipeline",
                "buffer-results-to-out-params",
                "drop-equivalent-buffer-results",
                "ownership-based-buffer-deallocation",
            ),
            *rows(
                ("mixed", "bufferized", "loops"),
                "buffer-hoisting",
                "buffer-loop-hoisting",
                "optimize-allocation-liveness",
                "promote-buffers-to-stack",
                form=FUNCTIONS,
            ),
            *rows(
                TENSORS,
                "convert-elementwise-to-linalg",
                "convert-tensor-to-linalg",
                "eliminate-empty-tensors",
                "empty-tensor-to-alloc-tensor",
                "fold-tensor-subset-ops",
                "linalg-fold-into-elementwise",
                "linalg-fold-unit-extent-dims",
                "linalg-fuse-elementwise-ops",
                "linalg-generalize-named-ops",
                "linalg-inline-scalar-operands",
                "linalg-specialize-generic-ops",
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
                "convert-vector-to-scf",
                "lower-vector-mask",
                "lower-vector-multi-reduction",
                "lower-vector-to-from-elements-to-shuffle-tree",
                form=FUNCTIONS,
            ),
        ]
    )
)
"""The claims by the names of their passes."""
