"""The enums of the llvm dialect (`LLVMEnums.td`): linkage, calling conventions, flags, predicates, orderings."""

from __future__ import annotations

from halfulp.interp.dialects.arith.ops import CMPF_PREDICATE, CMPI_PREDICATE
from halfulp.interp.ir.dialect_attributes import EnumDefinition

LINKAGE = EnumDefinition(
    "LLVM linkage types",
    {
        "external": 0, "available_externally": 1, "linkonce": 2, "linkonce_odr": 3, "weak": 4, "weak_odr": 5,
        "appending": 6, "internal": 7, "private": 8, "extern_weak": 9, "common": 10,
    },
    mnemonic="llvm.linkage",
)  # fmt: skip
CALLING = EnumDefinition(
    "Calling Conventions",
    {
        "ccc": 0, "fastcc": 8, "coldcc": 9, "cc_10": 10, "cc_11": 11, "anyregcc": 13, "preserve_mostcc": 14,
        "preserve_allcc": 15, "swiftcc": 16, "cxx_fast_tlscc": 17, "tailcc": 18, "cfguard_checkcc": 19,
        "swifttailcc": 20, "x86_stdcallcc": 64, "x86_fastcallcc": 65, "arm_apcscc": 66, "arm_aapcscc": 67,
        "arm_aapcs_vfpcc": 68, "msp430_intrcc": 69, "x86_thiscallcc": 70, "ptx_kernelcc": 71, "ptx_devicecc": 72,
        "spir_funccc": 75, "spir_kernelcc": 76, "intel_ocl_bicc": 77, "x86_64_sysvcc": 78, "win64cc": 79,
        "x86_vectorcallcc": 80, "hhvmcc": 81, "hhvm_ccc": 82, "x86_intrcc": 83, "avr_intrcc": 84, "avr_signalcc": 85,
        "avr_builtincc": 86, "amdgpu_vscc": 87, "amdgpu_gscc": 88, "amdgpu_pscc": 89, "amdgpu_cscc": 90,
        "amdgpu_kernelcc": 91, "x86_regcallcc": 92,
        "amdgpu_hscc": 93, "msp430_builtincc": 94, "amdgpu_lscc": 95, "amdgpu_escc": 96, "aarch64_vectorcallcc": 97,
        "aarch64_sve_vectorcallcc": 98, "wasm_emscripten_invokecc": 99, "amdgpu_gfxcc": 100, "m68k_intrcc": 101,
    },
    mnemonic="llvm.cconv",
)  # fmt: skip
TAIL_CALL = EnumDefinition(
    "Tail Call Kind", {"none": 0, "tail": 1, "musttail": 2, "notail": 3}, mnemonic="llvm.tailcallkind"
)
FASTMATH = EnumDefinition(
    "LLVM fastmath flags",
    {"none": 0, "nnan": 1, "ninf": 2, "nsz": 4, "arcp": 8, "contract": 16, "afn": 32, "reassoc": 64, "fast": 127},
    mnemonic="llvm.fastmath",
    flags=True,
    separator=", ",
)
OVERFLOW = EnumDefinition(
    "LLVM integer overflow flags",
    {"none": 0, "nsw": 1, "nuw": 2},
    storage_width=32,
    flags=True,
    separator=", ",
)
NO_WRAP = EnumDefinition(
    "::mlir::LLVM::GEPNoWrapFlags",
    {"none": 0, "inbounds_flag": 1, "nusw": 2, "nuw": 4, "inbounds": 3},
    storage_width=32,
    flags=True,
    separator="|",
)
ORDERING = EnumDefinition(
    "Atomic ordering for LLVM's memory model",
    {
        "not_atomic": 0, "unordered": 1, "monotonic": 2, "acquire": 4, "release": 5, "acq_rel": 6, "seq_cst": 7,
    },
    storage_width=64,
)  # fmt: skip
ATOMIC_OPERATION = EnumDefinition(
    "llvm.atomicrmw binary operations",
    {
        "xchg": 0, "add": 1, "sub": 2, "_and": 3, "nand": 4, "_or": 5, "_xor": 6, "max": 7, "min": 8, "umax": 9,
        "umin": 10, "fadd": 11, "fsub": 12, "fmax": 13, "fmin": 14, "uinc_wrap": 15, "udec_wrap": 16, "usub_cond": 17,
        "usub_sat": 18, "fmaximum": 19, "fminimum": 20,
    },
    storage_width=64,
)  # fmt: skip
UNNAMED_ADDRESS = EnumDefinition(
    "LLVM GlobalValue UnnamedAddr", {"": 0, "local_unnamed_addr": 1, "unnamed_addr": 2}, storage_width=64
)
VISIBILITY = EnumDefinition("LLVM GlobalValue Visibility", {"": 0, "hidden": 1, "protected": 2}, storage_width=64)
INTEGER_PREDICATE = EnumDefinition("llvm.icmp comparison predicate", CMPI_PREDICATE.cases, storage_width=64)
FLOAT_PREDICATE = EnumDefinition(
    "llvm.fcmp comparison predicate",
    {{"false": "_false", "true": "_true"}.get(name, name): number for name, number in CMPF_PREDICATE.cases.items()},
    storage_width=64,
)
