"""One op on a list of element codes, through every way halfulp has of computing it.

Each way, called an *implementation*, gives one outcome per element: the result's code, "poison", or "undefined" for undefined behaviour.
All implementations must agree with what a test expects, so that one table of cases checks the specification, the array kernels,
the executor on every kind of container, and `hu.eval`.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import halfulp as hu
from halfulp.fp_formats.formats import codes_to_ints, ints_to_codes
from halfulp.interp.ir.dialect_attributes import EnumDefinition
from halfulp.interp.ir.operations import Operation
from halfulp.interp.ir.types import element_type, element_width
from halfulp.interp.run.evaluators import Elementwise
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.coerce import as_type
from halfulp.interp.values.value import Value
from halfulp.semantics.kernel import Fault, FaultKind
from halfulp.semantics.profile import as_profile

Outcome = int | str
Columns = Sequence[Sequence[int]]

CONTAINERS: dict[str, Callable[[str, int], str]] = {
    "vector": lambda element, n: f"vector<{n}x{element}>",
    "vector of rank 2": lambda element, n: f"vector<1x{n}x{element}>",
    "tensor": lambda element, n: f"tensor<{n}x{element}>",
    "tensor of rank 3": lambda element, n: f"tensor<{n}x1x1x{element}>",
    "dynamic tensor": lambda element, n: f"tensor<?x{element}>",
    "unranked tensor": lambda element, n: f"tensor<*x{element}>",
}


def width_of(element: str) -> int:
    width = element_width(as_type(element))
    assert width is not None
    return width


def value(codes: Sequence[int], type_: str, shape: tuple[int, ...]) -> Value:
    """Return a value of a type from its codes."""
    parsed = as_type(type_)
    width = element_width(element_type(parsed))
    assert width is not None
    return Value(parsed, ints_to_codes(list(codes), width, shape))


def outcomes_of(found: Value) -> list[Outcome]:
    """Return the elements of a result, in row-major order."""
    width = element_width(found.element_type)
    assert width is not None
    outcomes: list[Outcome] = list(codes_to_ints(found.bits, width))
    for place, index in enumerate(np.ndindex(found.shape)):
        origin = found.origin(*index)
        if origin is not None:
            outcomes[place] = "undefined" if origin.reason.startswith("undefined behaviour") else "poison"
    return outcomes


def function(body: str, operands: Sequence[str], results: Sequence[str], container: Callable[[str], str] = str) -> str:
    """Return a module with a function around one op; ``{0}``, ``{1}``, … and ``{r}`` in ``body`` are the types."""
    inputs = [container(element) for element in operands]
    outputs = [container(element) for element in results]
    text = body.format(*inputs, r=outputs[0])
    arguments = ", ".join(f"%{chr(97 + k)}: {type_}" for k, type_ in enumerate(inputs))
    pack, joined = (f":{len(results)}" if len(results) > 1 else ""), ", ".join(outputs)
    names = ", ".join(f"%x#{k}" for k in range(len(results))) if pack else "%x"
    return f"func.func @f({arguments}) -> ({joined}) {{\n  %x{pack} = {text}\n  return {names} : {joined}\n}}\n"


def only_op(module: hu.Module) -> Operation:
    """Return the op of a module that `function` made."""
    op: Operation = module.body[0].regions[0].blocks[0].operations[0]
    return op


def kernel_implementations(
    op: Operation, columns: Columns, widths: Sequence[int], profile: str
) -> dict[str, list[Outcome]]:
    """Return the scalar and the array kernel of an op, called without any IR."""
    assert op.definition is not None
    assert isinstance(op.definition.evaluate, Elementwise)
    kernel = op.definition.evaluate.build(op, Settings(profile=as_profile(profile)))
    kind = {FaultKind.POISON: "poison", FaultKind.UNDEFINED: "undefined"}
    alone: list[Outcome] = []
    for row in zip(*columns, strict=True):
        found = kernel.scalar(*row)
        first = found[0] if isinstance(found, tuple) else found
        alone.append(kind[first.kind] if isinstance(first, Fault) else first)
    count = len(columns[0])
    arrays = [ints_to_codes(list(c), w, (count,)) for c, w in zip(columns, widths, strict=True)]
    for array in arrays:
        array.flags.writeable = False
    outcome = kernel.array(*arrays)
    result = element_width(element_type(op.results[0].type))
    assert result is not None
    together: list[Outcome] = list(codes_to_ints(outcome.results[0], result))
    for fault, mask in reversed(outcome.faults):
        for place in np.flatnonzero(np.broadcast_to(mask, (count,))):
            together[place] = kind[fault.kind]
    return {"scalar kernel": alone, "array kernel": together}


def keywords(op: Operation) -> dict[str, Any]:
    """Return the properties of an op as `hu.eval` takes them."""
    assert op.definition is not None
    given: dict[str, Any] = {}
    for declared in op.definition.properties:
        attribute = op.properties.get(declared.name)
        if attribute is None:
            continue
        if not isinstance(declared.kind, EnumDefinition):
            given[declared.name] = True
            continue
        number: int = attribute.value  # type: ignore[attr-defined]
        cases = declared.kind.cases
        if declared.kind.flags:
            words = [word for word, bit in cases.items() if bit and bit & (bit - 1) == 0 and number & bit]
            given[declared.name] = ",".join(words) or "none"
        else:
            given[declared.name] = next(word for word, case in cases.items() if case == number)
    return given


def every_implementation(
    body: str,
    operands: Sequence[str],
    results: Sequence[str],
    columns: Columns,
    profile: str = "spec",
    containers: Sequence[str] = tuple(CONTAINERS),
) -> dict[str, list[Outcome]]:
    """Return the outcomes of the first result of ``body`` on columns of operand codes, by implementation.

    ``body`` is the op with its operands named %a, %b, … and its types written {0}, {1}, … and {r}.
    """
    count = len(columns[0])
    widths = [width_of(element) for element in operands]
    scalars = hu.load(function(body, operands, results))
    op = only_op(scalars)
    implementations: dict[str, list[Outcome]] = {}
    assert op.definition is not None
    if isinstance(op.definition.evaluate, Elementwise):
        implementations.update(kernel_implementations(op, columns, widths, profile))
    alone: list[Outcome] = []
    evaluated: list[Outcome] = []
    for row in zip(*columns, strict=True):
        given = [value([code], element, ()) for code, element in zip(row, operands, strict=True)]
        alone += outcomes_of(hu.run(scalars, *given, profile=profile, on_ub="poison")[0])
        found = hu.eval(op.name, *given, to=results[0], profile=profile, on_ub="poison", **keywords(op))
        evaluated += outcomes_of(found[0] if isinstance(found, tuple) else found)
    implementations["run on scalars"], implementations["eval"] = alone, evaluated
    for name in containers:
        wrap = CONTAINERS[name]
        module = hu.load(function(body, operands, results, lambda element, wrap=wrap: wrap(element, count)))  # type: ignore[misc]
        shape = {"vector of rank 2": (1, count), "tensor of rank 3": (count, 1, 1)}.get(name, (count,))
        arguments = [value(c, wrap(t, count), shape) for c, t in zip(columns, operands, strict=True)]
        implementations[f"run on a {name}"] = outcomes_of(
            hu.run(module, *arguments, profile=profile, on_ub="poison")[0]
        )
    return implementations


def check(
    body: str,
    operands: Sequence[str],
    results: Sequence[str],
    columns: Columns,
    expected: Sequence[Outcome],
    profile: str = "spec",
    containers: Sequence[str] = tuple(CONTAINERS),
) -> None:
    """Assert that every implementation gives the expected outcomes."""
    for implementation, found in every_implementation(body, operands, results, columns, profile, containers).items():
        wrong = [
            f"{[hex(c[k]) for c in columns]}: {_hex(got)}, expected {_hex(want)}"
            for k, (got, want) in enumerate(zip(found, expected, strict=True))
            if got != want
        ]
        assert not wrong, f"{implementation} of {body} on {operands}: {'; '.join(wrong[:5])}"


def _hex(outcome: Outcome) -> str:
    return outcome if isinstance(outcome, str) else hex(outcome)
