"""Checks of other people's vectors: every planted error is found and named, and nothing else is reported."""

import io
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from amounts import amounts, thinned
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import each_row

import halfulp as hu
from halfulp.conformance.comparing.op_case import op_case
from halfulp.conformance.vectors.columns import Chunk, Column, Role, VectorSet, format_of, type_of
from halfulp.conformance.vectors.comparison import differing
from halfulp.conformance.vectors.computation import Computation, OpComputation, ProgramComputation
from halfulp.conformance.vectors.formats import format_named, read_vectors, write_vectors
from halfulp.conformance.vectors.formats.format import Notes, Options
from halfulp.conformance.vectors.formats.mlir import function_of_case
from halfulp.conformance.vectors.packing import FORMAT_NAMES
from halfulp.conformance.vectors.recipe import Recipe
from halfulp.conformance.vectors.row_check import (
    Check,
    VectorChecker,
    _scalar_function,
    exact_result,
    one_row_function,
    remarks,
    signed_result,
)
from halfulp.conformance.vectors.sampling import CONTROLS
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, codes_to_ints, ints_to_codes
from halfulp.fp_formats.policy import Flags
from halfulp.golden.vectors import Vectors
from halfulp.interp.ir.errors import InputError
from halfulp.semantics.profile import Profile

ADD = OpComputation(op_case("arith.addf", "f8E4M3FN"))
MULTIPLY = OpComputation(op_case("arith.mulf", "f16"))
TO_INTEGER = OpComputation(op_case("arith.fptosi", "f16", "i8"))
QUANTISE = OpComputation(op_case("quant.qcast", "f32", "!quant.uniform<i8:f32:1, {0.5:3, 0.25:-1, 2.0}>"))
NO_SIGNED_ZERO = OpComputation(op_case("arith.addf", "f16", fastmath="nsz"))
DIVIDE_INTEGERS = OpComputation(op_case("arith.divsi", "i8"))
PROGRAM = ProgramComputation(
    "func.func @f(%a: f16, %b: f16) -> (f16, i1) {\n  %0 = arith.mulf %a, %b : f16\n  %1 = arith.addf %0, %a : f16\n"
    "  %2 = arith.cmpf olt, %0, %1 : f16\n  return %1, %2 : f16, i1\n}\n",
    "f",
)

TWO_FORMATS = ProgramComputation(
    "func.func @f(%a: f32, %b: f16) -> (f32, f16) {\n  %0 = arith.mulf %a, %a : f32\n  %1 = arith.mulf %b, %b : f16\n"
    "  return %0, %1 : f32, f16\n}\n",
    "f",
)


@cache
def rows_of(computation: OpComputation | ProgramComputation, count: int = 3000) -> Chunk:
    """Corners and random rows of a computation, as its recipe makes them."""
    corners = Recipe(computation, "1", count=count).vectors().gather()
    random = Recipe(computation, "random", count=count - count % 3).vectors().gather()
    return tuple(np.concatenate(pair) for pair in zip(corners, random, strict=True))


def check(computation: Computation, chunk: Chunk, columns: tuple[Column, ...] | None = None, **options: Any) -> Check:
    columns = columns or computation.inputs + computation.outputs
    return VectorChecker(computation, columns, **options).read([chunk])


def changed(chunk: Chunk, place: int, row: int, code: int, width: int) -> Chunk:
    """Return the chunk with another code in one place."""
    made = [codes.copy() for codes in chunk]
    made[place][row] = ints_to_codes([code], width, (1,))[0]
    return tuple(made)


def code_in(chunk: Chunk, columns: tuple[Column, ...], place: int, row: int) -> int:
    return codes_to_ints(chunk[place][row : row + 1], columns[place].width)[0]


def made_by(computation: OpComputation | ProgramComputation, other: Computation) -> Chunk:
    """Return the rows of one computation with the results and flags of another: a device that computes something else."""
    right = rows_of(computation)
    inputs = right[: len(computation.inputs)]
    wrong = other.compute(inputs).outputs
    names = [column.name for column in other.outputs]
    outputs = [
        wrong[names.index(column.name)] if column.role in (Role.RESULT, Role.FLAGS) else codes
        for column, codes in zip(computation.outputs, right[len(inputs) :], strict=True)
    ]
    return inputs + tuple(outputs)


COMPUTATIONS: tuple[OpComputation | ProgramComputation, ...] = (
    ADD,
    MULTIPLY,
    TO_INTEGER,
    QUANTISE,
    NO_SIGNED_ZERO,
    DIVIDE_INTEGERS,
    PROGRAM,
)


@pytest.mark.parametrize("computation", COMPUTATIONS, ids=str)
def test_what_is_right_has_no_mismatch(computation: OpComputation | ProgramComputation) -> None:
    rows = rows_of(computation)
    found = check(computation, rows)
    assert (found.rows, found.differing, found.mismatches, found.problem) == (len(rows[0]), 0, [], None)
    assert found.digest == VectorSet(computation.inputs + computation.outputs, [rows]).digest()


@pytest.mark.long
@pytest.mark.parametrize("examples", amounts(20, 60))
def test_a_flipped_bit_is_found_unless_it_counts_for_nothing(examples: int) -> None:
    @settings(max_examples=examples, deadline=None)
    @given(data=st.data())
    def flip(data: st.DataObject) -> None:
        computation = data.draw(st.sampled_from(COMPUTATIONS))
        columns, rows = computation.inputs + computation.outputs, rows_of(computation, 300)
        places = [k for k, column in enumerate(columns) if column.role not in (Role.OPERAND, Role.RANDOM)]
        place = data.draw(st.sampled_from(places))
        row = data.draw(st.integers(0, len(rows[0]) - 1))
        bit = data.draw(st.integers(0, columns[place].width - 1))
        wrong = changed(rows, place, row, code_in(rows, columns, place, row) ^ (1 << bit), columns[place].width)
        found = check(computation, wrong)
        # By hand, from the columns of the right rows: poison hides its result, and the flags where all results are poison.
        column = columns[place]
        marks = [k for k, c in enumerate(columns) if c.role is Role.POISON]
        poison = [
            bool(rows[k][row]) and columns[k].of in ("", column.name) for k in marks if columns[k].role is Role.POISON
        ]
        hidden = column.role is Role.RESULT and any(poison)
        hidden |= column.role is Role.FLAGS and bool(marks) and all(bool(rows[k][row]) for k in marks)
        for k, c in enumerate(columns):
            if c.role is Role.OPEN and column.role is Role.RESULT and c.of in ("", column.name):
                hidden |= bool(code_in(rows, columns, k, row) >> bit & 1)
        assert found.differing == (not hidden)
        if not hidden:
            (mismatch,) = found.mismatches
            assert (mismatch.row, mismatch.columns) == (row, (column.name,))
            assert sum(found.kinds.values()) >= 1

    flip()


@pytest.mark.long
@pytest.mark.parametrize("format", FORMAT_NAMES)
def test_one_wrong_bit_is_found_in_every_format(format: str) -> None:
    computation: OpComputation = ADD if format != "runs" else OpComputation(op_case("arith.truncf", "f16", "f8E4M3FN"))
    if format == "mlir":
        computation = replace(computation, flags=False)
    columns = computation.inputs + computation.outputs
    rows = rows_of(computation, 300) if format != "runs" else Recipe(computation, "exhaustive").vectors().gather()
    place, row = len(computation.inputs), 123
    wrong = changed(rows, place, row, code_in(rows, columns, place, row) ^ 4, 8)
    for chunk, mismatches in ((rows, 0), (wrong, 1)):
        file = io.BytesIO()
        write_vectors(
            VectorSet(columns, [chunk]), file, format, options=Options(function=function_of_case(computation.case))
        )
        file.seek(0)
        notes = Notes()
        vectors = read_vectors(file, format, columns, Options(notes=notes))
        found = VectorChecker(computation, vectors.columns, notes=notes).read(vectors)
        assert (found.rows, found.differing, found.problem) == (len(rows[0]), mismatches, None)
        if mismatches:
            (mismatch,) = found.mismatches
            assert mismatch.row == row
            assert mismatch.got[0] == mismatch.expected[0] ^ 4
            # The line is the one that a person finds the row in.
            lines = file.getvalue().splitlines()
            if format in ("testfloat", "readmemh", "csv", "jsonl", "c", "sv", "coe"):
                assert mismatch.line is not None
                assert f"{mismatch.got[0]:02X}".encode() in lines[mismatch.line - 1]
                assert lines[mismatch.line - 1] != lines[mismatch.line]
            if format == "testfloat":
                assert mismatch.line == row + 1
            assert format_named(format).name == format


@pytest.mark.long
@pytest.mark.parametrize(
    ("computation", "other", "name"),
    [
        (ADD, OpComputation(op_case("arith.addf", "f8E4M3FN", rounding="toward_zero")), "rounding=toward_zero"),
        (ADD, OpComputation(op_case("arith.addf", "f8E4M3FN", rounding="upward")), "rounding=upward"),
        (MULTIPLY, replace(MULTIPLY, profile=Profile(denormals="flush_results")), "denormals=flush_results"),
        (
            MULTIPLY,
            replace(MULTIPLY, profile=Profile(denormals="flush_both", denormal_zero="positive")),
            "denormals=flush_both,denormal_zero=positive",
        ),
        (MULTIPLY, replace(MULTIPLY, profile=Profile(nan_result="canonical")), "nan_result=canonical"),
        (MULTIPLY, replace(MULTIPLY, profile=Profile(nan_result="negative")), "nan_result=negative"),
        (MULTIPLY, replace(MULTIPLY, profile=Profile(tininess="before")), "tininess=before"),
        (
            replace(TO_INTEGER, profile=Profile(float_to_int="saturate")),
            replace(TO_INTEGER, profile=Profile(float_to_int="saturate_nan_max")),
            "float_to_int=saturate_nan_max",
        ),
        (
            QUANTISE,
            replace(QUANTISE, profile=Profile(qcast_rounding="to_nearest_away")),
            "qcast_rounding=to_nearest_away",
        ),
        (
            OpComputation(op_case("arith.maximumf", "f16")),
            OpComputation(op_case("arith.maxnumf", "f16")),
            "arith.maxnumf",
        ),
        (
            OpComputation(op_case("arith.cmpf", "f16", predicate="olt")),
            OpComputation(op_case("arith.cmpf", "f16", predicate="ult")),
            "predicate=ult",
        ),
        (PROGRAM, replace(PROGRAM, profile=Profile(denormals="flush_results")), "denormals=flush_results"),
        (TWO_FORMATS, replace(TWO_FORMATS, profile=Profile(denormals_f32="flush_both")), "denormals_f32=flush_both"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_another_semantics_is_named(
    computation: OpComputation | ProgramComputation, other: Computation, name: str
) -> None:
    found = check(computation, made_by(computation, other), most=3)
    assert found.differing > 1
    assert found.examined == found.differing
    assert len(found.mismatches) == min(found.differing, 3)
    assert all(name in mismatch.as_if for mismatch in found.mismatches)
    (told,) = [told for told in found.explanations if told.name == name]
    # What the device computes explains every row, those that are right too.
    assert (told.rows, told.equal) == (found.differing, found.controls)
    best = found.explanations[0]
    assert (best.rows, best.equal) == (told.rows, told.equal)
    assert 0 < found.controls <= CONTROLS


@pytest.mark.long
def test_swapped_operands_are_named() -> None:
    computation = OpComputation(op_case("arith.divf", "f16"))
    rows = rows_of(computation)
    found = check(computation, (rows[1], rows[0], *rows[2:]))
    told = found.explanations[0]
    assert (told.name, told.rows, told.equal) == ("arith.divf(b, a)", found.examined, found.controls)


@pytest.mark.long
def test_random_bits_that_a_device_ignores() -> None:
    computation = OpComputation(op_case("arith.truncf", "f32", "bf16"), random_bits=16)
    plain = OpComputation(computation.case)
    rows = rows_of(computation)
    found = check(computation, rows[:2] + plain.compute(rows[:1]).outputs)
    names = {told.name for told in found.explanations if told.rows == found.differing}
    assert "rounding=to_nearest_even" in names
    assert "rounding=toward_zero" not in names


@pytest.mark.long
def test_poison_and_open_bits_count_for_nothing() -> None:
    for computation, place in ((TO_INTEGER, 1), (NO_SIGNED_ZERO, 2)):
        columns, rows = computation.inputs + computation.outputs, rows_of(computation)
        mark = next(k for k, column in enumerate(columns) if column.role in (Role.POISON, Role.OPEN))
        if columns[mark].role is Role.POISON:
            free = np.where(rows[mark] != 0, 0xFF, 0).astype(rows[place].dtype)
        else:
            free = rows[mark]
        assert (free != 0).sum() > 5
        made = list(rows)
        made[place] = rows[place] ^ free
        assert check(computation, tuple(made)).differing == 0
        # The same in a file that has no column for them.
        kept = [k for k, column in enumerate(columns) if column.role not in (Role.POISON, Role.OPEN)]
        bare = check(computation, tuple(made[k] for k in kept), tuple(columns[k] for k in kept))
        assert bare.differing == 0
        # A wrong mark is an error of the file.
        made[mark] = rows[mark].copy()
        made[mark][7] ^= 1
        assert check(computation, tuple(made)).differing == 1


def test_undefined_rows_are_counted_and_not_compared() -> None:
    inputs = tuple(np.array(column, np.uint8) for column in ([6, 5, 0x80, 9], [2, 0, 0xFF, 3]))
    outputs = tuple(np.array([3, 77, 78, 3], column) for column in (np.uint8,))
    found = check(DIVIDE_INTEGERS, inputs + outputs)
    assert (found.rows, found.compared, found.undefined, found.differing) == (4, 2, 2, 0)


def test_a_row_within_bounds_counts_once() -> None:
    """It is not counted as within the bounds if it is undefined, or if its flags are wrong."""
    asked: list[int] = []

    def within(inputs: Chunk, outputs: Chunk, rows: Any) -> Any:
        asked.extend(np.flatnonzero(rows).tolist())
        return rows

    columns = DIVIDE_INTEGERS.inputs + tuple(each for each in DIVIDE_INTEGERS.outputs if each.role is Role.RESULT)
    codes = tuple(np.array(each, np.uint8) for each in ([7, 7, 0x80, 6], [0, 2, 0xFF, 3], [1, 9, 1, 2]))
    found = VectorChecker(DIVIDE_INTEGERS, columns, within=within).read([codes])
    assert (found.rows, found.undefined, found.within, found.differing, asked) == (4, 2, 1, 0, [1])
    computation = replace(MULTIPLY, flags=True)
    operands = tuple(np.array([0x3C00] * 3, np.uint16) for _ in range(2))
    result, flags = np.array([0x3C00, 0x3C01, 0x3C01], np.uint16), np.array([0, 0, 1], np.uint8)
    found = VectorChecker(computation, computation.inputs + computation.outputs, within=within).read(
        [(*operands, result, flags)]
    )
    assert (found.within, found.differing) == (1, 1)


@pytest.mark.long
def test_any_nan_for_a_nan() -> None:
    rows = rows_of(MULTIPLY)
    fmt = FORMATS["f16"]
    nans = [k for k, code in enumerate(rows[2].tolist()) if fmt.is_nan(code)]
    made = [codes.copy() for codes in rows]
    made[2][nans] = 0xFFFF
    strict = check(MULTIPLY, tuple(made))
    assert 0 < strict.differing <= len(nans)
    assert set(strict.kinds) == {"another NaN"}
    assert check(MULTIPLY, tuple(made), any_nan=True).differing == 0
    made[2][nans[0]] = 0x7C00
    number = check(MULTIPLY, tuple(made), any_nan=True)
    assert (number.differing, number.mismatches[0].row) == (1, nans[0])
    assert number.kinds == {"a number instead of NaN": 1}


@pytest.mark.long
def test_flags_are_compared_by_name_and_can_be_ignored() -> None:
    rows = rows_of(ADD)
    row = int(np.flatnonzero(rows[3] == 1)[0])
    wrong = changed(rows, 3, row, 0x11, 5)
    found = check(ADD, wrong)
    assert found.mismatches[0].columns == ("flags",)
    assert found.kinds == {"invalid raised": 1}
    assert check(ADD, changed(rows, 3, row, 0, 5)).kinds == {"inexact not raised": 1}
    assert check(ADD, wrong, ignored=frozenset({Role.FLAGS})).differing == 0


@pytest.mark.parametrize(
    ("type", "expected", "got", "remark"),
    [
        ("f16", 0x0000, 0x8000, "the sign of zero"),
        ("f16", 0x3C00, 0xBC00, "the other sign"),
        ("f16", 0x7C00, 0x7BFF, "the largest finite value instead of infinity"),
        ("f16", 0x7C00, 0x7000, "a finite value instead of infinity"),
        ("f16", 0xFBFF, 0xFC00, "infinity instead of the largest finite value"),
        ("f16", 0x0001, 0x0000, "zero instead of a subnormal"),
        ("f16", 0x3C00, 0x3C01, "off by one ulp away from zero"),
        ("f16", 0xBC00, 0xBBFF, "off by one ulp toward zero"),
        ("f16", 0x3C00, 0x3C05, "off by several ulp away from zero"),
        ("f16", 0x7E00, 0x7E01, "another NaN"),
        ("f16", 0x7E00, 0x3C00, "a number instead of NaN"),
        ("f16", 0x3C00, 0xFE00, "NaN instead of a number"),
        ("f80", 0x3FFF8000000000000000, 0x3FFF8000000000000001, "off by one ulp away from zero"),
        ("f8E8M0FNU", 0x7F, 0x80, "off by one ulp away from zero"),
        ("f8E4M3FNUZ", 0x80, 0x7F, "a number instead of NaN"),
        ("f16", 0x3C00, 0xBC01, "the other sign, and another value"),
        ("f16", 0x0001, 0x8000, "zero instead of a subnormal"),
        ("i8", 0xFF, 0x00, "off by one"),
        ("i8", 0x10, 0x20, "another value"),
    ],
)
def test_what_a_wrong_result_looks_like(type: str, expected: int, got: int, remark: str) -> None:
    width = 80 if type == "f80" else 16 if type == "f16" else 8
    column = Column("result", width, type, Role.RESULT)
    right, found = (ints_to_codes([code], width, (1,)) for code in (expected, got))
    assert [words for words, _ in remarks(column, type_of(column), right, found)] == [remark]


@each_row(
    ("arith.fptosi", 0x7F, 0x80, "the smallest integer instead of the largest"),
    ("fcvt_to_si", 0x80, 0x7F, "the largest integer instead of the smallest"),
    ("arith.fptosi", 0xFF, 0x00, "off by one"),
    ("arith.fptoui", 0x7F, 0x80, "off by one"),
    ("arith.fptoui", 0xFF, 0x00, "the smallest integer instead of the largest"),
)
def test_from_one_end_of_a_range_to_the_other_is_not_one_step(op: str, expected: int, got: int, remark: str) -> None:
    signed = signed_result(OpComputation(op_case(op, "f16", "i8")))
    column = Column("result", 8, "i8", Role.RESULT)
    right, found = (ints_to_codes([code], 8, (1,)) for code in (expected, got))
    assert [words for words, _ in remarks(column, type_of(column), right, found, signed)] == [remark]


def test_exact_results() -> None:
    third = exact_result(op_case("arith.divf", "f16"), (0x3C00, 0x4200))
    assert third == Fraction(1, 3)
    assert exact_result(op_case("arith.divf", "f16"), (0x3C00, 0x0000)) is None
    assert exact_result(op_case("arith.mulf", "f8E4M3FN"), (0x3B, 0xC1)) == -Fraction(11, 8) * Fraction(9, 4)
    assert exact_result(op_case("arith.uitofp", "i8", "f16"), (0xFF,)) == 255
    assert exact_result(op_case("arith.fptosi", "f16", "i8"), (0xC100,)) == Fraction(-5, 2)
    assert exact_result(op_case("arith.cmpf", "f16", predicate="olt"), (0, 0)) is None


@pytest.mark.long
def test_parameters_along_an_axis_need_whole_groups_of_rows() -> None:
    rows = rows_of(QUANTISE)
    checker = VectorChecker(QUANTISE, QUANTISE.inputs + QUANTISE.outputs)
    assert checker.period == 3
    # Whatever chunks the rows come in, each row has the parameters of its place; a last group may lack rows.
    pieces = [tuple(codes[start : start + 100] for codes in rows) for start in range(0, 1000, 100)]
    assert (checker.read(pieces).rows, checker.found.differing) == (1000, 0)
    shifted = check(QUANTISE, tuple(codes[1:] for codes in rows))
    assert shifted.differing > 100


def test_unknown_digits_are_mismatches_where_they_count() -> None:
    text = b"3C00 01 00\n7C00 xx 10\n4000 0X 00\n4200 zz 00\n4400 04 xx\n"
    columns = tuple(column for column in TO_INTEGER.inputs + TO_INTEGER.outputs if column.role is not Role.POISON)
    notes = Notes()
    vectors = read_vectors(io.BytesIO(text), "testfloat", columns, Options(notes=notes))
    found = VectorChecker(TO_INTEGER, columns, notes=notes, most=9).read(vectors)
    # The second row is poison: infinity is no i8.
    assert (found.rows, found.poison, found.differing, found.unknown, found.problem) == (5, 1, 3, 3, None)
    assert [(mismatch.row, mismatch.line) for mismatch in found.mismatches] == [(2, 3), (3, 4), (4, 5)]
    assert [mismatch.got[:2] for mismatch in found.mismatches] == [("0X", 0), ("zz", 0), (4, "xx")]
    assert found.kinds == {"unknown digits": 3}
    with pytest.raises(InputError, match="is not a code"):
        list(read_vectors(io.BytesIO(text), "testfloat", columns))


def test_open_bits_may_be_unknown() -> None:
    rows = rows_of(NO_SIGNED_ZERO)
    columns = NO_SIGNED_ZERO.inputs + NO_SIGNED_ZERO.outputs
    row = int(np.flatnonzero(rows[-1])[0])
    words = [f"{code_in(rows, columns, k, row):04X}" for k in range(3)]
    flags = code_in(rows, columns, 3, row)
    for result, differs in (("X" + words[2][1:], 1), (words[2], 0), ("8" + words[2][1:], 0), ("0" + words[2][1:], 0)):
        text = f"{words[0]} {words[1]} {result} {flags:02X}\n".encode()
        notes = Notes()
        vectors = read_vectors(io.BytesIO(text), "testfloat", columns[:4], Options(notes=notes))
        assert VectorChecker(NO_SIGNED_ZERO, columns[:4], notes=notes).read(vectors).differing == differs, result


@pytest.mark.long
def test_lines_are_told_among_comments_and_other_spacing() -> None:
    rows = rows_of(ADD, 900)
    columns = ADD.inputs + ADD.outputs
    lines = []
    for k in range(900):
        word = "".join(f"{code_in(rows, columns, place, k):02x}" for place in range(4))
        lines += ["// here", ""] * (k % 7 == 3) + [word if k % 5 else f"  {word.upper()} // row"]
    wrong = next(k for k, line in enumerate(lines) if k > 700 and len(line) == 8)
    lines[wrong] = lines[wrong][:4] + f"{int(lines[wrong][4:6], 16) ^ 1:02x}" + lines[wrong][6:]
    notes = Notes()
    vectors = read_vectors(io.BytesIO("\n".join(lines).encode()), "readmemh", columns, Options(notes=notes))
    found = VectorChecker(ADD, columns, notes=notes).read(vectors)
    assert (found.rows, found.differing) == (900, 1)
    assert found.mismatches[0].line == wrong + 1


@pytest.mark.long
def test_what_came_before_an_error_counts() -> None:
    text = b"3B 41 46 01\n7E 7E 7F 05\n3B 41 47 01\n3B 41\n3B 41 40 01\n"
    columns = ADD.inputs + ADD.outputs
    found = VectorChecker(ADD, columns).read(read_vectors(io.BytesIO(text), "testfloat", columns))
    assert (found.rows, found.differing) == (3, 1)
    assert isinstance(found.problem, InputError)
    assert "2 words for 4 columns" in str(found.problem)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (ADD.inputs, "no results"),
        (ADD.outputs, "no column a, b"),
        ((*ADD.inputs, Column("sum", 8, "f8E4M3FN", Role.RESULT)), "column 'sum'"),
        ((*ADD.inputs, Column("result", 16, "f16", Role.RESULT)), "16 bits"),
    ],
)
def test_columns_that_do_not_fit(columns: tuple[Column, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        VectorChecker(ADD, columns)


@pytest.mark.long
def test_the_rows_of_the_recipe_stand_in_while_operands_are_its_own() -> None:
    recipe = Recipe(ADD, "1", count=3000)
    rows = recipe.vectors().gather()
    computed: list[int] = []

    class Counting(OpComputation):
        def compute(self, inputs: Chunk) -> Any:
            computed.append(len(inputs[0]))
            return super().compute(inputs)

    computation = Counting(ADD.case)
    assert check(computation, rows, foreseen=recipe.chunks()).strayed is None
    assert computed == []
    wrong = check(computation, changed(rows, 2, 2000, 0x7E, 8), foreseen=recipe.chunks())
    assert (wrong.differing, wrong.mismatches[0].row) == (1, 2000)
    other = changed(rows, 0, 1234, code_in(rows, computation.inputs + computation.outputs, 0, 1234) ^ 1, 8)
    found = check(computation, other, foreseen=recipe.chunks())
    assert (found.strayed, found.reordered) == (1234, False)
    order = np.random.default_rng(1).permutation(3000)
    found = check(computation, tuple(codes[order] for codes in rows), foreseen=recipe.chunks(size=100))
    assert (found.strayed is not None, found.reordered, found.differing) == (True, True, 0)
    twice = check(computation, tuple(codes[order % 2999] for codes in rows), foreseen=recipe.chunks())
    assert (twice.reordered, twice.differing) == (False, 0)
    longer = tuple(np.concatenate([codes, codes[:5]]) for codes in rows)
    found = check(computation, longer, foreseen=recipe.chunks())
    assert (found.strayed, found.reordered, found.differing) == (3000, False, 0)


def test_differing_by_hand() -> None:
    """Against a comparison of one row at a time, with masks of all kinds."""
    columns = (
        Column("a", 8, "i8", Role.OPERAND),
        Column("low", 16, "f16", Role.RESULT),
        Column("high", 80, "f80", Role.RESULT),
        Column("flags", 5, "i5", Role.FLAGS),
        Column("poison_low", 1, "i1", Role.POISON, "low"),
        Column("poison_high", 1, "i1", Role.POISON, "high"),
        Column("open", 80, "i80", Role.OPEN, "high"),
    )
    rng = np.random.Generator(np.random.PCG64(1))
    wide = FORMATS["f80"]
    lows, highs = (0x7E00, 0x7E01, 0x3C00, 0xFE00), (0x7FFFC000000000000000, 0x7FFFC000000000000001, 0x3FFF8 << 60)

    def row() -> tuple[int, ...]:
        pick: npt.NDArray[Any] = rng.integers(0, 12, 7)
        opened = (0, 1, 1 << 79)[pick[6] % 3]
        poison = (int(pick[4] % 3 == 0), int(pick[5] % 3 == 0))
        return (0, lows[pick[1] % 4], highs[pick[2] % 3], int(pick[3] % 2), *poison, opened)

    def chunk(rows: list[tuple[int, ...]]) -> Chunk:
        return tuple(ints_to_codes([r[k] for r in rows], c.width, (len(rows),)) for k, c in enumerate(columns))

    expected = [row() for _ in range(500)]
    actual = [(*row()[:4], *right[4:]) for right in expected]
    for any_nan in (False, True):
        wanted = []
        for right, other in zip(expected, actual, strict=True):
            low = not right[4] and right[1] != other[1]
            low &= not (any_nan and FORMATS["f16"].is_nan(right[1]) and FORMATS["f16"].is_nan(other[1]))
            high = not right[5] and bool((right[2] ^ other[2]) & ~right[6])
            high &= not (any_nan and wide.is_nan(right[2]) and wide.is_nan(other[2]))
            flags = right[3] != other[3] and not (right[4] and right[5])
            wanted.append(low or high or flags)
        assert differing(columns, chunk(expected), chunk(actual), any_nan).tolist() == wanted
        assert 50 < sum(wanted) < 450


def test_the_oracle_of_these_tests_is_the_specification() -> None:
    """A computation gives what the specification says, so that the rows above are right to begin with."""
    fmt = FORMATS["f8E4M3FN"]
    rows = rows_of(ADD)
    for k in range(0, len(rows[0]), 17):
        right = scalar.add(fmt, int(rows[0][k]), int(rows[1][k]))
        assert (right.code, right.flags) == (int(rows[2][k]), int(rows[3][k]))
    assert format_of(ADD.outputs[0]) == fmt
    assert int(Flags.INVALID) == 0x10


# --- one row ----------------------------------------------------------------------------------------------------------
#
# One row alone has the outputs that it has in an array, and buckets are counted as they are hit.

CASES: list[tuple[str, Any, dict[str, Any]]] = [
    ("arith.addf", "f8E4M3FN", {}),
    ("arith.subf", "f8E5M2", {"rounding": "upward"}),
    ("arith.mulf", "f6E3M2FN", {}),
    ("arith.divf", "f16", {"profile": "spec,denormals=flush_both"}),
    ("arith.divf", "f4E2M1FN", {}),
    ("arith.remf", "bf16", {}),
    ("math.fma", "f8E4M3FN", {"rounding": "downward"}),
    ("arith.maximumf", "f8E4M3FN", {}),
    ("arith.minimumf", "f16", {}),
    ("math.clampf", "f8E4M3FN", {}),
    ("arith.negf", "f8E8M0FNU", {}),
    ("arith.cmpf", "f8E5M2", {"predicate": "ole"}),
    ("arith.truncf", "f32", {"to": "f8E4M3FN", "rounding": "toward_zero"}),
    ("arith.extf", "f8E5M2", {"to": "f16"}),
    ("arith.sitofp", "i16", {"to": "f8E4M3FN"}),
    ("arith.uitofp", "i8", {"to": "f4E2M1FN"}),
    ("arith.fptosi", "f16", {"to": "i8"}),
    ("arith.fptoui", "f16", {"to": "i8", "profile": "spec,float_to_int=saturate"}),
    ("math.sqrt", "f8E4M3FN", {}),
    ("math.tanh", "f16", {}),
    ("math.roundeven", "bf16", {}),
    ("arith.addf", "f80", {}),
    ("arith.addf", "f8E4M3FN", {"fastmath": "nnan"}),
    ("arith.divsi", "i8", {"keep_ub": True}),
    ("arith.addi", "i8", {"overflow": "nsw"}),
    ("arith.mulsi_extended", "i8", {}),
]
BY_ARRAYS: list[tuple[str, Any, dict[str, Any]]] = [
    ("arith.addf", "f8E4M3FN", {"fastmath": "nsz"}),
    ("arith.minnumf", "f16", {}),
    ("arith.truncf", "f32", {"to": "f8E4M3FN", "rounding": "stochastic", "random_bits": 4}),
    ("func.func @f(%x: f16) -> f16 { %0 = math.exp %x : f16 return %0 : f16 }", None, {}),
]


def outputs(vectors: Vectors) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return the codes of the inputs and the outputs of each row."""
    columns = [
        codes_to_ints(codes, column.width)
        for codes, column in zip(vectors.columns_as_codes.values(), vectors.columns, strict=True)
    ]
    inputs = len(vectors.computation.inputs)
    return [(row[:inputs], row[inputs:]) for row in zip(*columns, strict=True)]


@pytest.mark.parametrize(
    ("op", "type", "options"), thinned(CASES + BY_ARRAYS, 4, rows=True), ids=lambda part: str(part).partition("(")[0]
)
def test_a_row_alone_is_the_row_of_an_array(op: str, type: Any, options: dict[str, Any]) -> None:
    vectors = hu.vectors(op, type, level="weighted", n=400, seed=5, **options)
    function = one_row_function(vectors.computation)
    roles = [column.role for column in vectors.computation.outputs]
    for inputs, expected in outputs(vectors):
        found = function(inputs)
        assert not found.undefined or vectors.computation.keep_ub
        poison = any(code for code, role in zip(expected, roles, strict=True) if role is Role.POISON)
        for role, code, right in zip(roles, found.outputs, expected, strict=True):
            if role is Role.POISON or not poison:
                assert code == right, (inputs, found, expected)


@pytest.mark.parametrize(("op", "type", "options"), CASES[:21])
def test_most_ops_need_no_arrays(op: str, type: Any, options: dict[str, Any]) -> None:
    computation = hu.vectors(op, type, n=1, **options).computation
    assert op == "math.clampf" or _scalar_function(computation) is not None  # type: ignore[arg-type]


def test_undefined_behaviour_is_told() -> None:
    function = one_row_function(hu.vectors("arith.divsi", "i8").computation)
    assert function((7, 0)).undefined
    assert function((0x80, 0xFF)).undefined  # -128 / -1
    assert function((7, 0xFE)) == ((0xFD,), False)  # 7 / -2 = -3
