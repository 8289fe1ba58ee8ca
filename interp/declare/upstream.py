"""Facts about the dialects of MLIR 22, also for ops that halfulp does not declare."""

from __future__ import annotations

# What `mlir-opt-22 --show-dialects` lists.
# fmt: off
DIALECTS = frozenset((
    "acc", "affine", "amdgpu", "amx", "arith", "arm_neon", "arm_sme", "arm_sve", "async", "bufferization", "builtin",
    "cf", "complex", "dlti", "emitc", "func", "gpu", "index", "irdl", "linalg", "llvm", "math", "memref",
    "ml_program", "mpi", "nvgpu", "nvvm", "omp", "pdl", "pdl_interp", "ptr", "quant", "rocdl", "scf", "shape",
    "shard", "smt", "sparse_tensor", "spirv", "tensor", "test", "test_dyn", "test_irdl_to_cpp", "tosa", "transform",
    "ub", "vector", "wasmssa", "x86vector", "xegpu", "xevm",
))
# fmt: on

# Their ops that are symbol tables, as far as halfulp declares none of them.
SYMBOL_TABLES = frozenset(
    (
        "emitc.class",
        "emitc.file",
        "gpu.module",
        "irdl.dialect",
        "llvm.comdat",
        "spirv.module",
        "test.symbol_scope",
        "test.symbol_scope_isolated",
        "transform.with_pdl_patterns",
    )
)


def is_upstream(op: str) -> bool:
    """Tell whether the op of that full name is of a dialect of MLIR 22."""
    return op.partition(".")[0] in DIALECTS
