"""The known dialects, by name. A dialect of halfulp is imported when a program first names it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from halfulp.fp_formats.aliases import asking, nearest
from halfulp.interp.declare.declarations import Dialect, OpDefinition
from halfulp.interp.ir.dialect_attributes import AttributeDefinition, EnumDefinition
from halfulp.interp.ir.errors import Unsupported

# --- upstream ---------------------------------------------------------------------------------------------------------
#
# Facts about the dialects of MLIR 22, also for ops that halfulp does not declare.

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
# fmt: off
SYMBOL_TABLES = frozenset((
    "emitc.class", "emitc.file", "gpu.module", "irdl.dialect", "shape.function_library", "spirv.module",
    "test.symbol_scope", "test.symbol_scope_isolated", "transform.with_pdl_patterns",
))
# fmt: on


def is_upstream(op: str) -> bool:
    """Tell whether the op of that full name is of a dialect of MLIR 22."""
    return op.partition(".")[0] in DIALECTS


# --- op names ---------------------------------------------------------------------------------------------------------
#
# Hints for names of ops that are not known.


class Renamed(NamedTuple):
    """The new names of an op that MLIR renamed, and a note on the difference between them."""

    names: tuple[str, ...]
    note: str


_NAN_RULES = "MLIR renamed {} in 2023; {} returns a NaN operand, {} ignores it"
RENAMED: Mapping[str, Renamed] = {
    "arith.maxf": Renamed(
        ("arith.maximumf", "arith.maxnumf"), _NAN_RULES.format("arith.maxf", "arith.maximumf", "arith.maxnumf")
    ),
    "arith.minf": Renamed(
        ("arith.minimumf", "arith.minnumf"), _NAN_RULES.format("arith.minf", "arith.minimumf", "arith.minnumf")
    ),
}


def number_family(mnemonic: str) -> str | None:
    """Return the kind of numbers an op computes with, by MLIR's suffixes: f for floats, i, si or ui for integers."""
    last = mnemonic.rpartition(".")[2]
    if last.endswith("f"):
        return "float"
    return "integer" if last.endswith("i") else None


def op_hint(name: str, dialects: Mapping[str, Dialect], functions: Collection[str] = ()) -> str | None:
    """Return a hint for the name of an op that is not known, with or without its dialect; None if no known name is
    near.

    ``functions``: the names of functions that are not ops of a dialect.
    """
    dialect, dot, mnemonic = name.partition(".")
    if not dot:
        return _hint_without_dialect(name, dialects, functions)
    if name in RENAMED:
        return _renamed(name)
    if mnemonic in functions:
        return asking([mnemonic])
    if dialect not in dialects:
        # A dialect of MLIR is not misspelled.
        near = () if is_upstream(name) else nearest(dialect, dialects)
        names = (f"{other}.{mnemonic}" for other in near)
        return asking(full for full in names if _is_op(full, dialects)) or unknown_dialect(dialect, dialects)
    known = [op.partition(".")[2] for op in dialects[dialect].ops]
    return asking(f"{dialect}.{near}" for near in nearest(mnemonic, known, number_family))


def unknown_dialect(dialect: str, dialects: Iterable[str]) -> str:
    """Return a hint for an op whose dialect is not known. ``dialects``: the names of the known ones."""
    return f"halfulp evaluates no op of the dialect {dialect}; it knows the dialects {', '.join(dialects)}"


def _is_op(name: str, dialects: Mapping[str, Dialect]) -> bool:
    return name in RENAMED or name in dialects[name.partition(".")[0]].ops


def _renamed(name: str) -> str:
    renamed = RENAMED[name]
    return f"{asking(renamed.names)} {renamed.note}"


def _hint_without_dialect(mnemonic: str, dialects: Mapping[str, Dialect], functions: Iterable[str]) -> str | None:
    exact = [f"{dialect}.{mnemonic}" for dialect in dialects if _is_op(f"{dialect}.{mnemonic}", dialects)]
    if exact:
        return _renamed(exact[0]) if exact[0] in RENAMED else asking(exact)
    known: dict[str, list[str]] = {}
    for op in (op for dialect in dialects.values() for op in dialect.ops):
        known.setdefault(op.partition(".")[2], []).append(op)
    known.update((name, [name]) for name in functions)
    near = nearest(mnemonic, known, number_family)
    return asking([name for each in near for name in known[each]][:3])


# --- registry ---------------------------------------------------------------------------------------------------------

_ROOT = "halfulp.interp.dialects"

# The dialects of halfulp.
# fmt: off
_NAMES = (
    "builtin", "arith", "cf", "func", "quant", "scf", "tensor", "ub", "vector", "affine", "gpu", "halfulp", "check",
    "flow", "util", "iree_codegen", "iree_cpu", "iree_gpu", "bufferization", "complex", "index", "linalg", "math",
    "memref", "shape", "smt", "llvm", "stablehlo", "chlo", "interpreter", "sdy", "tt", "ttg",
    "ttng", "amdg", "rocdl", "gluon", "tti", "nvws", "nvg", "nvvm", "tosa",
)
# fmt: on
# The modules of those that are not in the file ops.py of their own folder.
_FILES = {
    "ub": "ub",
    "gpu": "iree_gpu",
    "check": "check",
    "flow": "flow",
    "util": "util",
    "iree_cpu": "iree_cpu",
    "iree_gpu": "iree_gpu",
    "chlo": "stablehlo.chlo_ops",
    "interpreter": "stablehlo.interpreter",
    **{name: f"triton.{name}" for name in ("tt", "ttg", "ttng", "amdg")},
    **dict.fromkeys(("tti", "nvws", "nvg", "nvvm"), "triton.internal"),
    "rocdl": "triton.amdg",
    "gluon": "triton.ttg",
}

# The module of each dialect: it defines a variable of the dialect's name.
MODULES: Mapping[str, str] = {name: f"{_ROOT}.{_FILES.get(name, f'{name}.ops')}" for name in _NAMES}

# The module of the functions that have no op: it defines the variable FUNCTIONS, a mapping from name to declaration.
_FUNCTIONS = f"{_ROOT}.math.functions"


class Dialects(Mapping[str, Dialect]):
    """Dialects by name.

    ``modules`` maps a name to the module that defines a variable of that name; it is imported on first use.
    """

    def __init__(self, modules: Mapping[str, str]) -> None:
        self._modules = modules
        self._loaded: dict[str, Dialect] = {}
        self._added: list[str] = []

    def __getitem__(self, name: str) -> Dialect:
        known = self._loaded.get(name)
        if known is None:
            known = self._loaded[name] = getattr(import_module(self._modules[name]), name)
        return known

    def get(self, name: str, default: Any = None) -> Any:
        """Return the dialect of that name, or ``default`` if there is none."""
        known = self._loaded.get(name)
        return known or (self[name] if name in self._modules else default)

    def __contains__(self, name: object) -> bool:
        return name in self._loaded or name in self._modules

    def __iter__(self) -> Iterator[str]:
        yield from self._modules
        yield from self._added

    def __len__(self) -> int:
        return len(self._modules) + len(self._added)

    def add(self, dialect: Dialect) -> Dialect:
        """Return the dialect of that name; if there is none, add ``dialect`` and return it."""
        present: Dialect | None = self.get(dialect.name)
        if present is None:
            present = self._loaded[dialect.name] = dialect
            self._added.append(dialect.name)
        return present


class Registry:
    """The dialects for parsing, verifying and running. `default_registry()` returns those of halfulp.

    ``modules``: dialects to import on demand, see `Dialects`.
    """

    def __init__(self, dialects: Iterable[Dialect] = (), modules: Mapping[str, str] | None = None) -> None:
        self.dialects = Dialects(modules or {})
        for dialect in dialects:
            self.register(dialect)

    def register(self, dialect: Dialect) -> None:
        """Register a dialect, or add its ops to a dialect of the same name. Raises ValueError for an op that exists
        already.
        """
        present = self.dialects.add(dialect)
        if present is dialect:
            return
        clash = present.ops.keys() & dialect.ops.keys()
        if clash:
            raise ValueError(f"op {min(clash)} is already registered")
        present.ops.update(dialect.ops)
        present.enums.update(dialect.enums)
        present.attributes.update(dialect.attributes)
        present.types.update(dialect.types)

    def find(self, name: str) -> OpDefinition | None:
        """Return the declaration of the op of that full name, or None."""
        dialect = self.dialects.get(name.partition(".")[0])
        return None if dialect is None else dialect.ops.get(name)

    def attribute_of_code(self, dialect: str, code: int) -> AttributeDefinition | EnumDefinition | None:
        """Return the definition of the attribute of a dialect that has that number in bytecode, or None."""
        known = self.dialects.get(dialect)
        definitions = () if known is None else (*known.attributes.values(), *known.enums.values())
        return next((definition for definition in definitions if definition.code == code), None)

    def is_complete(self, dialect: str) -> bool:
        """Tell whether all ops of a dialect are declared, so that another op of it is an error."""
        known = self.dialects.get(dialect)
        return known is not None and not known.partial

    def lookup(self, name: str) -> OpDefinition | None:
        """Return the declaration of the op of that full name, or of the function of that bare name, or None.

        A bare name is that of an op of math ("exp"), or of a function for which MLIR has no op ("sigmoid"). No program
        can name such a function, so `find` does not know it.
        """
        return self.find(name) if "." in name else self.find(f"math.{name}") or functions().get(name)

    def require(self, name: str) -> OpDefinition:
        """Return the declaration that `lookup` finds. Raises Unsupported if there is none."""
        found = self.lookup(name)
        if found is None:
            raise Unsupported(f"no op named '{name}' is registered", hint=op_hint(name, self.dialects, functions()))
        return found


def functions() -> Mapping[str, OpDefinition]:
    """Return the declarations of the functions that MLIR has no op for, by their bare names."""
    found: Mapping[str, OpDefinition] = import_module(_FUNCTIONS).FUNCTIONS
    return found


@cache
def default_registry() -> Registry:
    """Return the registry with the dialects of halfulp, to which a program may add its own."""
    return Registry(modules=MODULES)
