"""The corpus against what mlir-opt 22 makes of it (tests/corpora/recorder.py says how that was recorded)."""

import re
import subprocess
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest
from amounts import amounts
from command import PATIENCE
from corpora import recorder
from corpora.corpus import (
    DELIBERATE,
    EXPECTED_FAILURES,
    SEPARATOR,
    CorpusEntry,
    CorpusRecord,
    digest,
    entries,
    recorded,
)
from corpora.text_coverage import NOT_COUNTED, Facts, groups_of, ops, productions

from halfulp.interp.declare.registry import default_registry
from halfulp.interp.ir.base import Location
from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.ir.operations import Module, Operation
from halfulp.interp.loading import parse_module
from halfulp.interp.text.printer import print_module

FORMS: Mapping[str, Mapping[str, Any]] = {
    "custom": {},
    "generic": {"generic": True},
    "custom_debug": {"debug_info": True},
    "generic_debug": {"generic": True, "debug_info": True},
}
KNOWN = {**DELIBERATE, **EXPECTED_FAILURES}

# What mlir-opt cannot read although it prints it.
UNREADABLE = {
    "attributes/sparse.mlir#8": "one coordinate for several values",
    "ops/cf/cf.mlir#10": "9223372036854775808 for a case value of -2^63",
    "ops/vector/vector.mlir#17": "after a bare vector.print it takes the name of the next result for an operand",
}

# Ops that print the body in line, or not at all.
INLINE = ("vector.mask", *(f"linalg.{name}" for name in ("broadcast", "map", "reduce", "transpose")))

# Terminators that are not printed where they have no operands.
IMPLIED = (
    "affine.yield",
    "memref.alloca_scope.return",
    "scf.forall.in_parallel",
    "scf.yield",
    "shape.assuming_yield",
)

# The ops whose custom forms leave out the locations of arguments.
LOOPS = ("affine.for", "affine.parallel", "scf.for", "scf.forall", "scf.parallel", "scf.while")

# Every op that issue text and documents ask for.
REQUIRED = {
    "builtin": "module unrealized_conversion_cast",
    "func": "func call call_indirect constant return",
    "cf": "assert br cond_br switch",
    "ub": "poison unreachable",
    "quant": "qcast dcast scast",
    "scf": "if for while condition yield execute_region",
    "tensor": "empty splat from_elements extract insert dim cast",
    "vector": (
        "bitcast broadcast compressstore constant_mask contract create_mask deinterleave expandload extract "
        "extract_strided_slice fma from_elements gather insert insert_strided_slice interleave load mask maskedload "
        "maskedstore multi_reduction outerproduct print reduction scalable.extract scalable.insert scan scatter "
        "shape_cast shuffle step store to_elements transfer_read transfer_write transpose type_cast vscale yield"
    ),
    "arith": (
        "addf addi addui_extended andi bitcast ceildivsi ceildivui cmpf cmpi constant divf divsi divui extf extsi extui "
        "floordivsi fptosi fptoui index_cast index_castui maximumf maxnumf maxsi maxui minimumf minnumf minsi minui mulf "
        "muli mulsi_extended mului_extended negf ori remf remsi remui scaling_extf scaling_truncf select shli shrsi shrui "
        "sitofp subf subi truncf trunci uitofp xori convertf subui_extended flush_denormals"
    ),
}


def printed(module: Module, form: str) -> str:
    # mlir-opt ends its output with one more newline than the module has.
    return print_module(module, **FORMS[form]) + "\n"


@cache
def modules() -> Mapping[str, Module | HalfulpError]:
    """Return every module of the corpus as it reads, or the error."""
    found: dict[str, Module | HalfulpError] = {}
    for entry in entries():
        try:
            found[entry.name] = parse_module(entry.text, "<stdin>")
        except HalfulpError as error:
            found[entry.name] = error
    return found


def accepted() -> list[tuple[CorpusEntry, Module, CorpusRecord]]:
    """Return the modules that both sides accept, with what mlir-opt prints for them."""
    found = []
    for entry in entries():
        module = modules()[entry.name]
        if not entry.newer and isinstance(module, Module) and recorded()[entry.name].error is None:
            found.append((entry, module, recorded()[entry.name]))
    return found


def difference(entry: CorpusEntry) -> str | None:
    """Say how halfulp treats a module differently from mlir-opt."""
    module = modules()[entry.name]
    if entry.newer:
        return str(module) if isinstance(module, HalfulpError) else None
    record = recorded()[entry.name]
    if record.error is not None:
        if isinstance(module, Module):
            return f"accepted, mlir-opt says {record.error}"
        place, _, message = str(module).splitlines()[0].partition(" error: ")
        return None if place == "<stdin>:{}:{}:".format(*record.error[:2]) else f"{place} {message}: {record.error}"
    if isinstance(module, HalfulpError):
        return f"rejected: {module}"
    for form, theirs in record.printed.items():
        ours = printed(module, form)
        if ours != theirs:
            lines = zip(ours.splitlines(), theirs.splitlines(), strict=False)
            return f"{form}: " + next((f"{a!r} instead of {b!r}" for a, b in lines if a != b), "more or fewer lines")
    return None


def test_the_corpus_is_large_and_every_module_is_another() -> None:
    bodies = {"\n".join(line for line in e.text.splitlines() if not line.startswith("//")).strip() for e in entries()}
    assert len(entries()) > 1400
    assert sum(not entry.invalid for entry in entries()) > 800
    assert (
        len(entries()) - len(bodies) <= 2
    )  # an empty file with and without a comment; a name used again after a split


def test_the_record_is_about_these_modules() -> None:
    assert recorded().keys() == {entry.name for entry in entries() if not entry.newer}
    assert not [e.name for e in entries() if not e.newer and recorded()[e.name].digest != digest(e.text)]
    rejected = {name for name, record in recorded().items() if record.error is not None}
    assert rejected == {entry.name for entry in entries() if entry.invalid}


@pytest.mark.long
def test_every_module_is_treated_as_mlir_opt_treats_it() -> None:
    """Accepted where it accepts, printed byte for byte in all four forms; rejected at the same line and column."""
    assert not DELIBERATE.keys() & EXPECTED_FAILURES.keys()
    found = {entry.name: problem for entry in entries() if (problem := difference(entry)) is not None}
    unexpected = {name: problem for name, problem in found.items() if name not in KNOWN}
    passing = KNOWN.keys() - found.keys()
    assert not unexpected, unexpected
    assert not passing, f"these rows are to be removed: {sorted(passing)}"


@pytest.mark.long
def test_messages_mean_the_same() -> None:
    """Most messages are mlir-opt's own; the others share its words."""
    same = other = 0
    for entry in entries():
        error = modules()[entry.name]
        if entry.invalid and isinstance(error, HalfulpError) and entry.name not in KNOWN:
            theirs = recorded()[entry.name].error
            assert theirs is not None
            if error.message == theirs[2]:
                same += 1
            else:
                other += 1
    assert same > 5 * other, (same, other)


@pytest.mark.long
def test_printing_is_a_fixed_point() -> None:
    for entry in entries():
        module = modules()[entry.name]
        if isinstance(module, Module) and not entry.invalid:
            # The custom form loses the locations of what is inside of vector.mask.
            lossy = {"custom_debug"} if "vector.mask" in entry.text else set()
            for form in FORMS.keys() - lossy:
                text = printed(module, form)
                assert printed(parse_module(text), form) == text, entry.name


def operations(module: Module, elided: bool = False) -> list[tuple[Any, ...]]:
    """Return a module as plain comparable rows: names, types, attributes, locations, uses.

    ``elided``: the custom form leaves out some terminators, the locations of what a loop carries, and those of what is
    inside of vector.mask: without these.
    """
    numbers: dict[Any, int] = {}
    rows: list[tuple[Any, ...]] = []

    def values(them: Any) -> tuple[int, ...]:
        return tuple(numbers.setdefault(value, len(numbers)) for value in them)

    def walk(operation: Operation) -> None:
        carried = operation.regions[0].blocks[0] if elided and operation.name in LOOPS else None
        blocks = [block for region in operation.regions for block in region.blocks]
        rows.append(
            (
                operation.name,
                values(operation.operands),
                tuple(
                    (numbers.setdefault(block, len(numbers)), values(passed)) for block, passed in operation.successors
                ),
                values(operation.results),
                tuple(result.type for result in operation.results),
                {name: spelled(value) for name, value in operation.properties.items()},
                spelled(operation.raw_properties),
                {name: spelled(value) for name, value in operation.attributes.items()},
                None if elided and without_location(operation) else str(operation.location),
                [len(region.blocks) for region in operation.regions],
                [
                    (values(b.arguments), [(a.type, None if b is carried else str(a.location)) for a in b.arguments])
                    for b in blocks
                ],
            )
        )
        for block in blocks:
            numbers.setdefault(block, len(numbers))
            for inner in block.operations:
                walk(inner)

    walk(module.operation)
    return rows


def without_location(operation: Operation) -> bool:
    around = operation.parent_op
    inline = around is not None and around.name in INLINE
    return inline or (operation.name in IMPLIED and not operation.operands)


def spelled(attribute: Any) -> Any:
    """Distinct attributes are equal to nothing but themselves: they are compared by their spelling, less the number.
    So are locations: a range that ends where it begins is printed as a place.
    """
    text = str(attribute)
    if isinstance(attribute, Location):
        return text
    return re.sub(r"distinct\[\d+\]", "distinct", text) if "distinct[" in text else attribute


@pytest.mark.long
def test_debug_info_of_mlir_opt_reads_as_the_same_module_with_its_locations() -> None:
    checked = 0
    for entry, module, record in accepted():
        if entry.name in KNOWN:
            continue
        for form in ("custom_debug", "generic_debug"):
            again = parse_module(record.printed[form])
            elided = form == "custom_debug"
            assert operations(again, elided) == operations(module, elided), entry.name
            checked += 1
    assert checked > 1500


@pytest.mark.long
@pytest.mark.parametrize("step", amounts(5, long=1))
def test_the_generic_form_of_mlir_opt_reads_as_the_same_module(step: int) -> None:
    for entry, module, record in list(accepted())[::step]:
        if entry.name not in KNOWN:
            assert printed(parse_module(record.printed["generic"]), "custom") == printed(module, "custom"), entry.name


# --- coverage -----------------------------------------------------------------------------------------------------------


@cache
def facts() -> list[Facts]:
    return [
        Facts(module, entry.text)
        for entry in entries()
        if not entry.invalid and isinstance(module := modules()[entry.name], Module)
    ]


@pytest.mark.long
def test_every_production_is_used() -> None:
    counts = productions(facts())
    assert len(counts) > 200
    assert not [row for row, count in counts.items() if not count]


@pytest.mark.added
def test_every_op_stands_in_every_form_with_and_without_each_part() -> None:
    counts = ops(facts())
    for dialect, names in REQUIRED.items():
        assert {f"{dialect}.{name}" for name in names.split()} <= counts.keys()
    gaps = {name: missing for name, count in counts.items() if (missing := count.gaps(name))}
    assert not gaps, (
        "write a file with these forms into tests/corpora/corpus/ops/, and run `PYTHONPATH=tests python -m corpora.recorder`; ops that MLIR 22 lacks belong into newer/"
    )


@pytest.mark.long
def test_every_optional_group_of_a_declared_format_is_among_the_parts() -> None:
    counts = ops(facts())
    seen = 0
    for name, count in counts.items():
        definition = default_registry().find(name)
        assert definition is not None
        for group in groups_of(definition):
            assert group in {*count.present, *count.absent}, (name, group)
            seen += 1
    assert seen > 40
    assert {name for name, _, _ in NOT_COUNTED} <= counts.keys()


# --- live -----------------------------------------------------------------------------------------------------------------


@pytest.mark.mlir
def test_the_record_is_what_the_tool_says() -> None:
    some = [entry for entry in entries() if not entry.newer][::24]
    assert {entry.name: recorder.record(entry.text) for entry in some} == {e.name: recorded()[e.name] for e in some}


@pytest.mark.mlir
def test_what_halfulp_prints_is_the_same_module_to_mlir_opt() -> None:
    """Each form of each module, read by mlir-opt, has the generic form of the original; one run per form."""
    splits = [entry.name for entry in entries() if '"// -----' in entry.text]
    for form in ("custom", "generic"):
        skipped = {*KNOWN, *splits, *UNREADABLE}
        cases = [(entry, module, record) for entry, module, record in accepted() if entry.name not in skipped]
        text = SEPARATOR.join(printed(module, form) for _, module, _ in cases)
        command = [recorder.TOOL, *recorder.FLAGS, "--split-input-file", "--mlir-print-op-generic"]
        done = subprocess.run(command, input=text.encode(), capture_output=True, check=False, timeout=PATIENCE)
        assert done.returncode == 0, done.stderr.decode()[:2000]
        results = done.stdout.decode().removesuffix("\n").split("// -----\n")
        for (entry, _, record), result in zip(cases, results, strict=True):
            assert result.strip() == record.printed["generic"].strip(), entry.name
