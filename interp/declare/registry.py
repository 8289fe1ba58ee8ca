"""The known dialects, by name. A dialect of halfulp is imported when a program first names it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any

from halfulp.interp.declare.declarations import Dialect, OpDefinition
from halfulp.interp.declare.op_names import op_hint
from halfulp.interp.ir.dialect_attributes import AttributeDefinition
from halfulp.interp.ir.errors import Unsupported

_ROOT = "halfulp.interp.dialects"

# The module of each dialect of halfulp: it defines a variable of the dialect's name.
MODULES: Mapping[str, str] = {
    "builtin": f"{_ROOT}.builtin.ops",
    "arith": f"{_ROOT}.arith.ops",
    "cf": f"{_ROOT}.cf.ops",
    "func": f"{_ROOT}.func.ops",
    "quant": f"{_ROOT}.quant.ops",
    "scf": f"{_ROOT}.scf.ops",
    "tensor": f"{_ROOT}.tensor.ops",
    "ub": f"{_ROOT}.ub",
    "vector": f"{_ROOT}.vector.ops",
    "affine": f"{_ROOT}.affine.ops",
    "gpu": f"{_ROOT}.gpu",
    "halfulp": f"{_ROOT}.halfulp.ops",
    "check": f"{_ROOT}.check",
    "flow": f"{_ROOT}.flow",
    "util": f"{_ROOT}.util",
    "iree_codegen": f"{_ROOT}.iree_codegen.ops",
    "iree_cpu": f"{_ROOT}.iree_cpu",
    "iree_gpu": f"{_ROOT}.iree_gpu",
    "bufferization": f"{_ROOT}.bufferization.ops",
    "complex": f"{_ROOT}.complex.ops",
    "index": f"{_ROOT}.index.ops",
    "linalg": f"{_ROOT}.linalg.ops",
    "math": f"{_ROOT}.math.ops",
    "memref": f"{_ROOT}.memref.ops",
    "shape": f"{_ROOT}.shape.ops",
    "smt": f"{_ROOT}.smt.ops",
    "llvm": f"{_ROOT}.llvm.ops",
}

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
        """Return the dialect of that name, or ``default`` where there is none."""
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
        """Return the dialect of that name, which is ``dialect`` if there was none."""
        present: Dialect | None = self.get(dialect.name)
        if present is None:
            present = self._loaded[dialect.name] = dialect
            self._added.append(dialect.name)
        return present


class Registry:
    """The dialects that parsing, verifying and running know. `default_registry()` has those of halfulp.

    ``modules``: dialects to import on demand, see `Dialects`.
    """

    def __init__(self, dialects: Iterable[Dialect] = (), modules: Mapping[str, str] | None = None) -> None:
        self.dialects = Dialects(modules or {})
        for dialect in dialects:
            self.register(dialect)

    def register(self, dialect: Dialect) -> None:
        """Add a dialect, or its ops to a dialect of the same name. Raises ValueError for an op that is there."""
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

    def attribute_of_code(self, dialect: str, code: int) -> AttributeDefinition | None:
        """Return the definition of the attribute of a dialect that has that number in bytecode, or None."""
        known = self.dialects.get(dialect)
        definitions = () if known is None else known.attributes.values()
        return next((definition for definition in definitions if definition.code == code), None)

    def is_complete(self, dialect: str) -> bool:
        """Tell whether all ops of a dialect are declared, so that another op of it is an error."""
        known = self.dialects.get(dialect)
        return known is not None and not known.partial

    def lookup(self, name: str) -> OpDefinition | None:
        """Return the declaration of the op of that full name, or of the function of that bare name, or None.

        A bare name is that of an op of math ("exp"), or of a function that MLIR has no op for ("sigmoid"). No program
        can name such a function: `find` does not know it.
        """
        return self.find(name) if "." in name else self.find(f"math.{name}") or functions().get(name)

    def require(self, name: str) -> OpDefinition:
        """Return the declaration that `lookup` finds. Raises Unsupported where there is none."""
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
