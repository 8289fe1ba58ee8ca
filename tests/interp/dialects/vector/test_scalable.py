"""Ops whose scalable and fixed vectors fit one another for vscale=1 alone: MLIR accepts them, no other run has a result."""

import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from amounts import amounts
from command import Command

import halfulp as hu
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation
from halfulp.interp.ir.types import code_layout, runtime_shape, shape_conflict
from halfulp.interp.text.printer import Printer

OPS = Path(__file__).parents[3] / "corpora/corpus/ops"

CONTRACT = """\
#in = affine_map<(i, j) -> (i, j)>
#out = affine_map<(i, j) -> (i)>
func.func @f(%a: vector<[4]x8xf32>, %b: vector<[4]x8xf32>) -> vector<4xf32> {
  %z = arith.constant dense<0.0> : vector<4xf32>
  %r = vector.contract {indexing_maps = [#in, #in, #out], iterator_types = ["parallel", "reduction"], kind = #vector.kind<add>}
      %a, %b, %z : vector<[4]x8xf32>, vector<[4]x8xf32> into vector<4xf32>
  return %r : vector<4xf32>
}"""


def test_a_contraction_to_a_fixed_vector_is_refused_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = Command(capsys)
    program = tmp_path / "program.mlir"
    program.write_text(CONTRACT)
    code, _, message = command("run", str(program), "--vscale=2", "--input=8x8xf32=1", "--input=8x8xf32=1")
    assert code == 3
    assert "'vector.contract': vector<[4]x8xf32>, vector<[4]x8xf32>, vector<4xf32>" in message
    assert "do not fit with vscale=2: invalid accumulator/result vector shape, expected: 'vector<8xf32>'" in message
    code, out, _ = command("run", str(program), "--vscale=1", "--input=4x8xf32=1", "--input=4x8xf32=1")
    assert (code, out) == (0, "result[0]: 4xf32=8 8 8 8\n")
    assert command("diff", str(program), str(program), "--vscale=2")[0] == 3


def test_an_op_that_no_input_reaches_does_not_matter() -> None:
    body = CONTRACT.partition("{\n")[2].rpartition("  return")[0]
    text = CONTRACT.partition("func.func")[0] + (
        "func.func @f(%c: i1, %a: vector<[4]x8xf32>, %b: vector<[4]x8xf32>) -> i1 {\n"
        f"  scf.if %c {{\n{body}  }}\n  return %c : i1\n}}"
    )
    ones = np.ones((8, 8), np.float32)
    assert hu.run(text, False, ones, ones, vscale=2)[0].item() is False
    with pytest.raises(hu.Unsupported, match=r"vector\.contract.*vscale=2"):
        hu.run(text, True, ones, ones, vscale=2)


# Ops that ran, and gave a vector of another size than that of its type, or that ended as undefined behaviour.
SILENT = (
    ("vector.bitcast %a : vector<[4]x8xf32> to vector<4x[16]xf16>", "vector<[4]x8xf32>", "vector<4x[16]xf16>"),
    ("vector.transpose %a, [1, 0] : vector<[4]x8xf32> to vector<8x4xf32>", "vector<[4]x8xf32>", "vector<8x4xf32>"),
    ('"llvm.shufflevector"(%a, %a) <{mask = array<i32: 0, 3>}> : (vector<4xf32>, vector<4xf32>) -> vector<[2]xf32>',
     "vector<4xf32>", "vector<[2]xf32>"),
    ("llvm.fptosi %a : vector<[4]xf32> to vector<4xi32>", "vector<[4]xf32>", "vector<4xi32>"),
    ("llvm.fptosi %a : vector<4xf32> to vector<[4]xi32>", "vector<4xf32>", "vector<[4]xi32>"),
)  # fmt: skip


@pytest.mark.parametrize(("op", "given", "result"), SILENT)
def test_a_result_of_another_size_is_refused(op: str, given: str, result: str) -> None:
    text = f"func.func @f(%a: {given}) -> {result} {{\n  %r = {op}\n  return %r : {result}\n}}"
    shape = runtime_shape(hu.parse(text).body[0].regions[0].blocks[0].arguments[0].type, 2)
    assert shape is not None
    with pytest.raises(hu.Unsupported, match=re.escape(op.partition(" ")[0].partition('"(')[0].strip('"'))):
        hu.run(text, np.zeros(shape, np.float32), vscale=2)


def test_a_shuffle_of_a_scalable_vector_repeats_its_first_element() -> None:
    """The mask of LLVM's scalable shuffles is 0 for each element of the result, of which there are vscale times more."""
    text = """llvm.func @f(%a: vector<[4]xf32>) -> vector<[4]xf32> {
      %r = llvm.shufflevector %a, %a [0, 0, 0, 0] : vector<[4]xf32>
      llvm.return %r : vector<[4]xf32>
    }"""
    (value,) = hu.run(text, np.arange(1, 13, dtype=np.float32), vscale=3)
    assert value.numpy().tolist() == [1.0] * 12


# --- every op of the corpus -------------------------------------------------------------------------------------------


def toggled(types: Sequence[ty.Type], most: int) -> Iterator[list[ty.Type]]:
    """Yield the types with up to ``most`` dimensions of vectors scalable instead of fixed, or fixed instead of scalable."""
    vectors = [(number, type_) for number, type_ in enumerate(types) if isinstance(type_, ty.VectorType)]
    places = [(number, axis) for number, type_ in vectors for axis in range(len(type_.shape))]
    for count in range(1, most + 1):
        for some in combinations(places, count):
            new = list(types)
            for number, axis in some:
                old = new[number]
                assert isinstance(old, ty.VectorType)
                flags = list(old.scalable or (False,) * len(old.shape))
                flags[axis] = not flags[axis]
                new[number] = ty.VectorType(old.shape, old.element, tuple(flags))
            yield new


def alone(op: Operation, types: Sequence[ty.Type]) -> str:
    """Return a function of one op with other types."""
    root = op
    while root.parent_op is not None:
        root = root.parent_op
    printer = Printer(True, False, {})
    printer.number(root)
    generic = printer.operation(op)
    properties = generic[generic.index("<{") : generic.rindex("}>") + 2] if "<{" in generic else ""
    inputs, results = types[: len(op.operands)], types[len(op.operands) :]
    operands = ", ".join(f"%{number}" for number in range(len(inputs)))
    parameters = ", ".join(f"%{number}: {type_}" for number, type_ in enumerate(inputs))
    given, made = (", ".join(map(str, some)) for some in (inputs, results))
    named = ", ".join(f"%r#{number}" for number in range(len(results)))
    head = f"%r:{len(results)} = " if results else ""
    end = f"{named} : {made}" if results else ""
    return (
        f"func.func @f({parameters}) -> ({made}) {{\n"
        f'  {head}"{op.name}"({operands}) {properties} : ({given}) -> ({made})\n  return {end}\n}}'
    )


def programs(most: int) -> Iterator[tuple[str, list[ty.Type], list[ty.Type]]]:
    """Yield each op on vectors alone, scalable dimensions put in, with the types of operands and results."""
    seen: set[str] = set()
    for path in sorted(OPS.glob("*/*.mlir")):
        for part in path.read_text().split("// -----"):
            try:
                module = hu.parse(part)
            except hu.HalfulpError:
                continue
            for op in module.walk():
                types = [value.type for value in (*op.operands, *op.results)]
                if op.regions or op.successors or not any(isinstance(type_, ty.VectorType) for type_ in types):
                    continue
                if op.definition is None or op.name.endswith((".return", ".yield", ".call", ".print")):
                    continue
                for new in toggled(types, most):
                    text = alone(op, new)
                    if text not in seen and any(getattr(type_, "scalable", ()) for type_ in new):
                        seen.add(text)
                        yield text, new[: len(op.operands)], new[len(op.operands) :]


def zeros(type_: ty.Type) -> hu.Value | None:
    """Return zeros with the sizes of vscale=2; None where a value has no bits."""
    element = ty.element_type(type_)
    dtype, trailing = code_layout(element)
    if trailing or dtype.hasobject:
        return None
    shape = tuple(16 if size is None else size for size in runtime_shape(type_, 2) or ())
    return hu.Value.from_bits(np.zeros(shape, dtype), element)


@pytest.mark.long
@pytest.mark.parametrize("most", amounts(1, long=3))
def test_every_op_has_results_of_its_type_or_is_refused(most: int) -> None:
    """MLIR's verifiers decide what is a program. One that runs gives what its types say, and nothing ends in an error of
    NumPy.
    """
    outcomes = dict.fromkeys(("invalid", "refused", "ran"), 0)
    for text, inputs, results in programs(most):
        try:
            module = hu.parse(text)
        except hu.HalfulpError:
            outcomes["invalid"] += 1
            continue
        arguments = [zeros(type_) for type_ in inputs]
        if None in arguments:
            continue
        try:
            values = hu.run(module, *arguments, vscale=2)
        except (hu.Unsupported, hu.UndefinedBehavior):
            outcomes["refused"] += 1
            continue
        outcomes["ran"] += 1
        for value, type_ in zip(values, results, strict=True):
            assert shape_conflict(type_, value.shape, 2) is None, text
    assert min(outcomes.values()) > 20, outcomes
