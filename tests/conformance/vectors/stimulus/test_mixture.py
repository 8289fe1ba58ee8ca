"""Mixtures: every stretch has its shares, whatever the parts are, and metadata makes the same rows again."""

import json
import pickle
from collections import Counter
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import halfulp as hu
from halfulp.conformance.comparing.op_case import op_case
from halfulp.conformance.vectors.computation import Computation, OpComputation, ProgramComputation
from halfulp.conformance.vectors.op_inputs import rows_of_models
from halfulp.conformance.vectors.recipe import Recipe, recipe_of, recipe_of_spec
from halfulp.conformance.vectors.rows import Rows, interleaved, of_tuples, repeating, spread, turns_in
from halfulp.conformance.vectors.stimulus.grammar import parts_of
from halfulp.conformance.vectors.stimulus.mixture import Mixture
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, Codes
from halfulp.interp.ir.errors import HalfulpError, InputError, TypeMismatch, Unsupported

ADD = OpComputation(op_case("arith.addf", "bf16"))
FMA = OpComputation(op_case("math.fma", "f8E4M3FN"))
TENSORS = ProgramComputation(
    "func.func @f(%x: tensor<2xf32>, %y: f32) -> f32 { func.return %y : f32 }", "f", keep_ub=False
)


def recipe(spelling: str, computation: Computation = ADD, n: int | None = None, **more: Any) -> Recipe:
    return Recipe(computation, None, (), count=n, operands=Mixture.named(spelling), **more)


def rows(spelling: str, computation: Computation = ADD, n: int | None = None, **more: Any) -> list[tuple[int, ...]]:
    table = recipe(spelling, computation, n, **more).rows
    return list(zip(*(codes.tolist() for codes in table.part(0, table.count)), strict=True))


@pytest.mark.parametrize("shares", [[70, 20, 10], [1, 1], [5, 3, 2, 1], [97, 3], [1]])
@pytest.mark.parametrize("unit", [1, 4])
def test_turns_are_even(shares: list[int], unit: int) -> None:
    """Over any stretch, each part is within one unit of its share for each part; each row of each part comes once."""
    tables = [of_tuples([(1000 * k + j,) for j in range(900)], [16]) for k in range(len(shares))]
    count = 400
    found = interleaved(tables, shares, count, unit)
    whole = found.part(0, count)[0].tolist()
    parts = [code // 1000 for code in whole]
    for k, share in enumerate(shares):
        assert [code % 1000 for code in whole if code // 1000 == k] == list(range(parts.count(k)))
        for start in range(0, count, 37 * unit):
            for stop in range(start, count, 29 * unit):
                wanted = Fraction((stop - start) * share, sum(shares))
                assert abs(parts[start:stop].count(k) - wanted) <= 2 * unit
    assert turns_in(shares, count, unit) == [parts.count(k) for k in range(len(shares))]
    for start, stop in ((0, unit), (unit * 3, unit * 50), (unit * 7, unit * 8), (unit * 9, unit * 9)):
        assert found.part(start, stop)[0].tolist() == whole[start:stop]


def test_short_tables_start_again_and_models_are_spread() -> None:
    short = of_tuples([(k,) for k in range(3)], [8])
    long = of_tuples([(100 + k,) for k in range(20)], [8])
    assert interleaved([short, long], [1, 1], 12).part(0, 12)[0].tolist()[::2] == [0, 1, 2, 0, 1, 2]
    for size in (1, 2, 3, 10, 997, 1000):
        order = spread(of_tuples([(k,) for k in range(size)], [16])).part(0, size)[0].tolist()
        assert sorted(order) == list(range(size))
        tenth = sorted(order[: size // 10])
        assert all(after - before <= 6 * 10 for before, after in pairwise(tenth))


@pytest.mark.parametrize("count", [1, 3, 7])
def test_a_short_table_is_made_at_most_twice_for_a_part(count: int) -> None:
    """However often it starts again: one call for each time would be as slow as one for each row."""
    calls = []

    def make(start: int, stop: int) -> tuple[Codes, ...]:
        calls.append((start, stop))
        return (np.arange(start, stop, dtype=np.uint8),)

    rows = repeating(Rows((8,), count, make), 1000)
    for start, stop in ((0, 1000), (5, 7), (6, 9), (13, 13), (990, 1000), (3, 3 + count)):
        calls.clear()
        assert rows.part(start, stop)[0].tolist() == [k % count for k in range(start, stop)]
        assert len(calls) <= 2
        assert all(0 <= begin <= end <= count for begin, end in calls)


def test_each_part_has_its_rows() -> None:
    spelling = "uniform:low=1,high=2@60,corners@15,B3@25"
    found = rows(spelling, n=2000)
    table = rows_of_models(ADD.case, ["B3"])
    models = set(zip(*(codes.tolist() for codes in table.part(0, table.count)), strict=True))
    kinds: Counter[str] = Counter()
    for row in found:
        values = [scalar.value(FORMATS["bf16"], code) for code in row]
        drawn = all(value is not None and 1 <= value <= 2 for value in values)
        kinds["drawn" if drawn else "model" if row in models else "corner"] += 1
    assert abs(kinds["drawn"] - 1200) < 40
    assert abs(kinds["model"] - 500) < 40
    told = recipe(spelling, n=2000).inputs()["operands"]["parts"]
    assert [(part["operands"], part["percent"], part["rows"]) for part in told] == [
        ("uniform:low=1,high=2", 60, 1200), ("corners", 15, 300), ("B3", 25, 500),
    ]  # fmt: skip
    assert models <= set(rows("normal@50,B3@50", n=2 * len(models)))


def test_half_of_the_operands_of_corners_are_corners() -> None:
    from halfulp.conformance.vectors.testfloat_levels import FloatKind

    listed = set(FloatKind(FORMATS["bf16"]).corners(1, False))
    codes = [code for row in rows("corners", n=4000) for code in row]
    assert 0.48 < sum(code in listed for code in codes) / len(codes) < 0.7


@pytest.mark.parametrize(
    ("spelling", "told"),
    [
        ("", "a source is missing"),
        ("normal@50,", "the shares are 50 = 50 percent"),
        ("normal@50,corners@60", "the shares are 50 + 60 = 110 percent, but must be 100"),
        ("normal@0,corners@100", "'normal' has a share of 0 percent"),
        ("normal@60,corners", "'corners' has no share"),
        ("a=normal@70;b=corners@30", "the share '@70' belongs to one operand, but a share counts whole rows"),
        ("a=normal@70,corners@30;b=corners", "the share '@30' belongs to one operand"),
        ("normal@ 62.5 ;corners@37.5", "the share '@ 62.5' belongs to one operand"),
        ("normal@-5,corners@105", "'normal@-5,corners': a share is a percentage"),
        ("normal,corners", "'normal,corners' is not one source"),
        ("normal@x", "'normal@x': a share is a percentage"),
        ("normal:scale=0.5@x", "scale=0.5@x is not a finite number"),
        ("a=normal;a=normal", "two sources for 'a'"),
        ("a=normal;normal", "a source has no operand"),
        ("a=normal", "the operand 'b' has no source: the operands are a, b"),
        ("a=normal;b=normal;d=normal", "there is no operand 'd'"),
        ("a=B1;b=normal", "models, 'hard' and 'exhaustive' can be used only for all operands"),
        ("B99", "unknown model 'B99'"),
        ("B22", "B22 does not apply"),
        ("normal:scale=1,scale=2", "'scale' is given twice"),
        ("normal:sclae=1", "'normal' has no parameter 'sclae'"),
        ("normal:scale=nan", "scale=nan is not a finite number"),
        ("normal:scale=1e999", "scale=1e999 is not a finite number"),
        ("normal:scale=-1", "scale < 0"),
        ("student_t:df=0", "student_t does not take df=0"),
        ("student_t:scale=-1", "scale must not be negative"),
        ("binomial:n=1.5", "n must be an integer"),
        ("power_of_two:low=3,high=2", "low and high must be integers"),
        ("normal:block=4", "a block of rows needs spread=K"),
        ("normal:hold=0", "hold=0: a positive integer"),
        ("normal:round=sideways", "round: "),
        ("normal:round=stochastic", "operands cannot be rounded stochastically"),
        ("normal:saturate=1", "'saturate' takes no value"),
        ("weighted:scale=1", "'weighted' has no parameter 'scale': it takes none"),
        ("rows.csv", "does not end in .npy, .npz, .safetensors, .txt"),
        ("no.npy", "cannot read 'no.npy': No such file"),
        ("array:sha256=12", "an array must be given for one operand"),
        ("normal@33.333333,corners@66.666667", "the shares have too many digits"),
        (",".join(f"normal:loc={k}@1" for k in range(100)), "a mixture of 100 parts is too long"),
    ],
)
def test_texts_that_name_no_operands(spelling: str, told: str) -> None:
    with pytest.raises(InputError) as error:
        rows(spelling, n=10)
    assert told in str(error.value)


def test_suggestions() -> None:
    for spelling, hint in (("nromal", "did you mean `normal`?"), ("normal:sclae=1", "did you mean `scale`?")):
        with pytest.raises(InputError) as error:
            rows(spelling, n=1)
        assert error.value.hint == hint


def test_a_count_is_needed_where_there_is_no_end(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="these operands need a count"):
        rows("normal")
    with pytest.raises(InputError, match="these operands need a count"):
        rows("B1@50,B3@50")
    np.save(tmp_path / "x.npy", np.arange(10, dtype=np.uint16).reshape(5, 2))
    assert len(rows(f"{tmp_path}/x.npy")) == 5
    assert len(rows(f"{tmp_path}/x.npy", n=3)) == 3
    assert len(rows(f"{tmp_path}/x.npy", n=30)) == 5


def test_what_does_not_go_together(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="both say what the operands are"):
        _ = Recipe(ADD, "1", operands=Mixture.named("normal")).rows
    with pytest.raises(Unsupported, match="quantised types"):
        rows("random", OpComputation(op_case("quant.qcast", "f32", "!quant.uniform<i8:f32, 0.5>")), n=1)
    with pytest.raises(InputError, match="not for programs"):
        rows("B1", TENSORS, n=1)
    np.savez(tmp_path / "x.npz", a=np.zeros(3, np.uint16), b=np.zeros(4, np.uint16))
    with pytest.raises(InputError, match="different numbers of rows: a 3, b 4"):
        rows(f"{tmp_path}/x.npz")
    with pytest.raises(InputError, match="different numbers of rows: a has 3, b has 4"):
        rows(f"a={tmp_path}/x.npz:array=a;b={tmp_path}/x.npz:array=b")
    with pytest.raises(InputError, match=r"has no array 'c' for this operand: it has a, b"):
        rows(f"{tmp_path}/x.npz", FMA)
    with pytest.raises(InputError, match="has no array 'aa'"):
        rows(f"{tmp_path}/x.npz:array=aa,sample", n=1)
    np.save(tmp_path / "x.npy", np.zeros(4, np.uint16))
    with pytest.raises(InputError, match="is one array, but the operands are a, b") as error:
        rows(f"{tmp_path}/x.npy")
    assert "sample" in str(error.value.hint)
    np.save(tmp_path / "none.npy", np.zeros((0, 2), np.uint16))
    with pytest.raises(InputError, match="has no elements"):
        rows(f"{tmp_path}/none.npy")


def test_elements_at_random_places(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(50, dtype=np.uint16).reshape(5, 10))
    found = rows(f"{tmp_path}/x.npy:sample", n=3000)
    assert {code for row in found for code in row} == set(range(50))
    assert len(set(found)) > 1500  # each operand takes its own elements
    table = recipe(f"{tmp_path}/x.npy:sample", n=3000).rows
    assert list(zip(*(codes.tolist() for codes in table.part(1000, 1010)), strict=True)) == found[1000:1010]
    assert rows(f"{tmp_path}/x.npy:sample", n=3000, seed=1) != found
    np.savez(tmp_path / "x.npz", a=np.arange(9, dtype=np.uint16), b=np.arange(9, dtype=np.uint16) + 100)
    pairs = rows(f"{tmp_path}/x.npz:sample", n=300)
    assert set(pairs) == {(k, k + 100) for k in range(9)}  # whole rows


def test_arguments_of_several_elements(tmp_path: Path) -> None:
    x, y = np.arange(6, dtype=np.float32).reshape(3, 2), np.arange(3, dtype=np.float32) + 10
    np.savez(tmp_path / "x.npz", arg0=x, arg1=y)
    found = np.array(rows(f"{tmp_path}/x.npz", TENSORS), np.uint32).view(np.float32)
    assert found.tolist() == [[0, 1, 10], [2, 3, 11], [4, 5, 12]]
    assert np.array(rows(f"arg0={tmp_path}/x.npz;arg1=uniform:low=5,high=6", TENSORS)).shape == (3, 3)
    with pytest.raises(HalfulpError, match=r"has the shape \[3\], but a row has 2 operands: arg0_0, arg0_1"):
        rows(f"arg0={tmp_path}/x.npz:array=arg1;arg1=normal", TENSORS)


SCALED = {"arith.scaling_truncf": ("f32", "f4E2M1FN"), "arith.scaling_extf": ("f4E2M1FN", "f32")}


@pytest.mark.parametrize("op", list(SCALED))
@pytest.mark.parametrize("spelling", ["uniform:low=1,high=4", "uniform:low=1,high=4,block=16,spread=3", "weighted",
                                      "a=uniform:low=1,high=4;b=power_of_two", "weighted@50,uniform:low=1,high=4@50"])  # fmt: skip
def test_blocks_share_their_scale(op: str, spelling: str) -> None:
    source, result = SCALED[op]
    computation = OpComputation(op_case(op, [source, "f8E8M0FNU"], result))
    found = rows(spelling, computation, 160, block=16)
    scales = [scale for _, scale in found]
    assert scales == [scale for scale in scales[::16] for _ in range(16)]
    assert len(set(scales)) > 2
    if spelling.startswith("uniform"):
        # What the op makes of an element is the number of the distribution: 1 to 4, up to rounding.
        for element, scale in found:
            factor, value = Fraction(2) ** (scale - 127), scalar.value(FORMATS[source], element)
            assert value is not None
            assert 1 <= (value / factor if op == "arith.scaling_truncf" else value) <= 4
    with pytest.raises(InputError, match="block=4 is given"):
        rows("normal:block=4,spread=2", computation, 160, block=16)


def test_the_metadata_makes_the_same_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.arange(50, dtype=np.uint16))
    made = recipe("normal@50,a=x.npy;b=x.npy:sample@30,B3@20", n=500, seed=4)
    again = pickle.loads(pickle.dumps(made))
    document = {"source": ADD.source(), "profile": {"name": "spec", "fields": {}}, "inputs": made.inputs()}
    text = json.loads(json.dumps(document))
    wanted = made.vectors().digest()
    assert again.vectors().digest() == wanted
    assert recipe_of(text).vectors().digest() == wanted
    assert len(text["inputs"]["operands"]["files"][0]["sha256"]) == 64
    # The file has moved to the folder of the metadata.
    (tmp_path / "beside").mkdir()
    (tmp_path / "x.npy").rename(tmp_path / "beside" / "x.npy")
    assert recipe_of(text, "beside/set.json").vectors().digest() == wanted
    with pytest.raises(InputError, match=r"^error: set\.json: .*come from 'x\.npy', which does not exist") as missing:
        recipe_of(text, "set.json")
    assert text["inputs"]["operands"]["files"][0]["sha256"] in str(missing.value.hint)
    np.save("x.npy", np.arange(51, dtype=np.uint16))
    with pytest.raises(InputError, match="is not the file that the operands came from"):
        recipe_of(text, "set.json")
    spec = {
        "source": {"op": "arith.addf", "operands": "bf16"},
        "inputs": {"operands": "x.npy:sample", "options": {"count": 5}},
    }
    assert recipe_of_spec(json.dumps(spec), "spec.json").rows.count == 5


def test_parts_can_be_made_alone() -> None:
    made = recipe("normal@50,corners@30,B3@20", n=3000).rows
    whole = made.part(0, 3000)
    for start, stop in ((0, 1), (999, 1001), (2500, 3000)):
        assert [codes.tolist() for codes in made.part(start, stop)] == [codes[start:stop].tolist() for codes in whole]


def test_a_comma_in_parameters_does_not_end_a_part() -> None:
    parts = parts_of("normal:loc=1,scale=2@62.5, a=uniform:low=0,high=2;b=weighted@37.5")
    assert [(part.text, part.share) for part in parts] == [
        ("normal:loc=1,scale=2", Fraction(125, 2)), ("a=uniform:low=0,high=2;b=weighted", Fraction(75, 2)),
    ]  # fmt: skip


def test_more_rows_for_each_bucket() -> None:
    few, many = (set(rows(f"M1{each}", FMA)) for each in ("", ":each=20"))
    assert len(few) < 100
    assert len(many) > 500
    with pytest.raises(InputError, match="each=0: a positive integer"):
        rows("M1:each=0", FMA)


def test_rows_of_a_matrix_have_its_shape_or_none(tmp_path: Path) -> None:
    """The transposed matrix has as many elements, but at other places."""
    text = "func.func @f(%x: tensor<2x3xf16>) -> tensor<2x3xf16> { func.return %x : tensor<2x3xf16> }"
    matrix = ProgramComputation(text, "f", keep_ub=False)
    array = np.arange(24, dtype=np.uint16).reshape(4, 2, 3)
    path = tmp_path / "x.npy"
    for shaped in (array, array.reshape(4, 6)):
        np.save(path, shaped)
        assert rows(f"arg0={path}", matrix) == [tuple(row) for row in array.reshape(4, 6).tolist()]
    for shaped in (array.transpose(0, 2, 1), array.reshape(4, 6, 1), array.reshape(2, 2, 6)):
        np.save(path, shaped)
        with pytest.raises(TypeMismatch, match="but a row has 6 operands") as error:
            rows(f"arg0={path}", matrix)
        assert error.value.hint == "a row has the shape [2, 3]"
        given: dict[str, Any] = {"arg0": shaped.view(np.float16)}
        with pytest.raises(TypeMismatch, match="'arg0' has 6 elements in a row") as error:
            hu.vectors(text, operands=given)
        assert error.value.hint == "a row has the shape [2, 3]"
