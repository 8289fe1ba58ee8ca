"""`halfulp.codegen.constraints` and the command of that name: what is given, what is taken from the module, what is wrong."""

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tables import each_row

import halfulp as hu
from halfulp.codegen.constraints import Dims
from halfulp.command.main import main
from halfulp.interp.ir.base import FileLineCol
from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.loading import parse_module
from halfulp.interp.text.printer import print_module

# The document's asserts, on a problem whose first dimension is a constant.
MATMUL = """\
func.func @matmul(%N: index) attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [64, 1, 1] subgroup_size = 64>} {
  %M = arith.constant 128 : index
  %root = arith.constant {root_op = #iree_codegen.root_op<set = 0>, lowering_config = #iree_gpu.lowering_config<{mma = "b", workgroup = [64, 32]}>} 1 : i32
  iree_codegen.smt.constraints target = <set = 0>, pipeline = #iree_gpu.pipeline<VectorDistribute>,
    knobs = {mma = #iree_codegen.smt.one_of_knob<"mma_idx", ["a", "b"]>,
             workgroup = [#iree_codegen.smt.int_knob<"wg_m">, #iree_codegen.smt.int_knob<"wg_n">]} dims(%M, %N) {
  ^bb0(%m: !smt.int, %n: !smt.int):
    %x = iree_codegen.smt.knob "wg_m" : !smt.int
    %y = iree_codegen.smt.knob "wg_n" : !smt.int
    %mma = iree_codegen.smt.knob "mma_idx" : !smt.int
    %c128 = smt.int.constant 128
    %zero = smt.int.constant 0
    %eq = smt.eq %m, %c128 : !smt.int
    iree_codegen.smt.assert %eq, "dim_0 == 128" : !smt.bool
    %lt = smt.int.cmp lt %x, %y
    iree_codegen.smt.assert %lt, "wg_x ({}) < wg_y ({})", %x, %y : !smt.bool, !smt.int, !smt.int
    %rest = smt.int.mod %n, %y
    %tiles = smt.eq %rest, %zero : !smt.int
    iree_codegen.smt.assert %tiles, "{} is a multiple of {}", %n, %y : !smt.bool, !smt.int, !smt.int
  }
  return
}
"""
# Two sets, the second with other dimensions and knobs.
TWO = """\
func.func @one(%M: index, %N: index) {
  iree_codegen.smt.constraints target = <set = 0>, pipeline = #iree_codegen.no_pipeline, knobs = {a = #iree_codegen.smt.int_knob<"tile">} dims(%M) {
  ^bb0(%m: !smt.int):
    %a = iree_codegen.smt.knob "tile" : !smt.int
    %0 = smt.int.cmp le %a, %m
    iree_codegen.smt.assert %0, "{} <= {}", %a, %m : !smt.bool, !smt.int, !smt.int
  }
  return
}
func.func @two(%M: index, %N: index) {
  iree_codegen.smt.constraints target = <set = 3>, pipeline = #iree_codegen.no_pipeline, knobs = {} dims(%M, %N) {
  ^bb0(%m: !smt.int, %k: !smt.int):
    %0 = smt.int.cmp le %m, %k
    iree_codegen.smt.assert %0, "{} <= {}", %m, %k : !smt.bool, !smt.int, !smt.int
  }
  return
}
"""


def texts(source: str, **given: Any) -> list[str]:
    return [f"{verdict.verdict}: {verdict.text}" for found in hu.iree.constraints(source, **given) for verdict in found.verdicts]  # fmt: skip


# --- the function -----------------------------------------------------------------------------------------------------


def test_what_is_not_given_is_taken_from_the_module() -> None:
    (found,) = hu.iree.constraints(MATMUL)
    assert found.dims == (("%m", 128), ("%n", None))
    assert found.knobs == (("mma_idx", 1), ("wg_m", 64), ("wg_n", 32))
    assert (found.function, found.target, found.unconfigured, found.verdict) == ("matmul", 0, None, "FAILS")
    holds, fails, unknown = found.verdicts
    assert str(holds) == "<string>:14:5: holds: dim_0 == 128"
    assert str(fails) == "<string>:16:5: FAILS: wg_x (64) < wg_y (32)"
    assert str(unknown) == "<string>:19:5: unknown: ? is a multiple of 32 (dimension %n is not given)"
    assert [verdict.values for verdict in found.verdicts] == [(), (64, 32), (None, 32)]
    assert repr(found) == (
        "<set 0 of @matmul: holds: dim_0 == 128; FAILS: wg_x (64) < wg_y (32); unknown: ? is a multiple of 32>"
    )
    assert repr(fails) == "<FAILS: wg_x (64) < wg_y (32)>"
    assert str(found).splitlines() == [str(verdict) for verdict in found.verdicts]
    assert pickle.loads(pickle.dumps(found)) == found
    assert hash(found) == hash(hu.iree.constraints(MATMUL)[0])


def test_what_is_given_comes_first() -> None:
    for dims in ([64, 96], (64, np.int32(96)), {"m": 64, "%n": 96}, {0: 64, 1: 96}, {"0": 64, "n": 96}):
        assert texts(MATMUL, dims=dims, knobs={"wg_m": 16}) == [
            "FAILS: dim_0 == 128",
            "holds: wg_x (16) < wg_y (32)",
            "holds: 96 is a multiple of 32",
        ]
    # None, and fewer dimensions, leave it to the module.
    given: tuple[Dims, ...] = ([None, 100], {"n": 100, "m": None})
    for some in given:
        assert texts(MATMUL, dims=some)[::2] == ["holds: dim_0 == 128", "FAILS: 100 is a multiple of 32"]
    assert texts(MATMUL, dims=[64])[0] == "FAILS: dim_0 == 128"


def test_models() -> None:
    """-8 = 3 * -3 + 1 by SMT-LIB, but -8 - 3 * -2 = -2 by C++; 2^64 is 0 in 64 bits."""
    text = MATMUL.replace("{} is a multiple of {}", "{} {}").replace("%n, %y : !smt.bool", "%n, %rest : !smt.bool")
    for model, rest in (("smt", 1), ("solver", 1), ("iree", -2), ("smt,arithmetic=int64", -2)):
        assert texts(text, model=model, dims={"n": -8}, knobs={"wg_n": 3})[2] == f"FAILS: -8 {rest}"
    assert texts(text, dims={"n": 1 << 64}, knobs={"wg_n": 3})[2] == f"FAILS: {1 << 64} 1"
    with pytest.raises(
        hu.errors.InputError, match=r"dimension %n is 18446744073709551616, which does not fit in the model's 64"
    ):
        texts(text, dims={"n": 1 << 64}, model="iree")
    with pytest.raises(ValueError, match="the model is 'z3', but must be one of smt, solver, iree"):
        texts(text, model="z3")


def test_options_of_a_knob_by_index_or_spelling() -> None:
    for value, index in ((0, 0), (1, 1), ('"a"', 0), ('"b"', 1)):
        (found,) = hu.iree.constraints(MATMUL, knobs={"mma_idx": value})
        assert dict(found.knobs)["mma_idx"] == index


def test_a_configuration_that_does_not_fit_gives_no_knob() -> None:
    text = MATMUL.replace("workgroup = [64, 32]", "workgroup = [64]")
    (found,) = hu.iree.constraints(text)
    assert found.unconfigured == "workgroup is [64], not an array of 2"
    assert found.knobs == (("mma_idx", None), ("wg_m", None), ("wg_n", None))
    assert [verdict.verdict for verdict in found.verdicts] == ["holds", "unknown", "unknown"]
    assert found.verdicts[1].because == ("knob wg_m is not given", "knob wg_n is not given")
    (found,) = hu.iree.constraints(text, model="iree")
    assert {verdict.because for verdict in found.verdicts} == {("workgroup is [64], not an array of 2",)}


def test_functions_and_sets() -> None:
    assert [(one.function, one.target) for one in hu.iree.constraints(TWO)] == [("one", 0), ("two", 3)]
    assert texts(TWO, dims={"m": 8, "k": 4}, knobs={"tile": 8}) == ["holds: 8 <= 8", "FAILS: 8 <= 4"]
    assert texts(TWO, dims=[1, 2], target=3) == texts(TWO, dims=[1, 2], function="two") == ["holds: 1 <= 2"]
    assert texts(TWO, dims=[9], knobs={"tile": 8}, function="@one", target=0) == ["holds: 8 <= 9"]
    outside = "iree_codegen.smt.constraints target = <set = 5>, pipeline = #iree_codegen.no_pipeline, knobs = {} dims() {\n^bb0:\n}"  # fmt: skip
    (found,) = hu.iree.constraints(outside)
    assert (found.function, found.verdict, repr(found)) == (None, "holds", "<set 5: no asserts>")


def test_functions_of_nested_modules() -> None:
    nested = f"module @a {{\n{TWO}\n}}\nmodule @b {{\n{TWO}\n}}"
    assert len(hu.iree.constraints(nested)) == 4
    (found,) = hu.iree.constraints(nested, function="b::@two", dims=None)
    assert isinstance(found.location, FileLineCol)
    assert (found.function, found.location.line > 1) == ("two", True)
    with pytest.raises(
        hu.errors.InputError, match="no function @two has constraints; there are some in @a::@one, @a::@two"
    ):
        hu.iree.constraints(nested, function="two")


def test_modules_paths_and_bytecode(tmp_path: Path) -> None:
    path = tmp_path / "two.mlir"
    path.write_text(TWO)
    data = hu.write_bytecode(hu.load(TWO), schema="llvm24")
    for source in (hu.load(TWO), path, str(path), data, print_module(parse_module(TWO), generic=True)):
        found = hu.iree.constraints(source, dims={0: 8}, knobs={"tile": 9})
        assert [verdict.text for one in found for verdict in one.verdicts] == ["9 <= 8", "8 <= ?"]
    # Bytecode has no names of values.
    assert [name for name, _ in hu.iree.constraints(data)[1].dims] == ["0", "1"]
    assert hu.iree.constraints(data)[0].verdicts[0].because == ("knob tile is not given", "dimension 0 is not given")


@each_row(
    ({"knobs": {"tils": 1}}, hu.errors.InputError, "there is no knob tils; there are tile\nhint: did you mean `tile`?"),
    ({"dims": {"q": 1}}, hu.errors.InputError, "there is no dimension q; there are %m, %k"),
    ({"dims": {"%0": 1}}, hu.errors.InputError, "there is no dimension %0; there are %m, %k"),
    ({"dims": {2: 1}}, hu.errors.InputError, "there is no dimension 2; there are %m, %k"),
    ({"dims": {-1: 1}}, hu.errors.InputError, "there is no dimension -1; there are %m, %k"),
    ({"dims": [1, 2]}, hu.errors.InputError, "2 dimensions are given, but the constraints of set 0 have 1 (%m)"),
    ({"dims": {"m": 1, 0: 1}}, hu.errors.InputError, "dimension %m is given twice"),
    ({"dims": [1.0]}, hu.TypeMismatch, "dimension %m is 1.0, but must be an integer"),
    ({"dims": [True]}, hu.TypeMismatch, "dimension %m is True, but must be an integer"),
    ({"dims": "8"}, hu.TypeMismatch, "dimension %m is '8', but must be an integer"),
    ({"dims": 8}, hu.TypeMismatch, "dims is 8, but must be a list of numbers, or a dict from names to numbers"),
    ({"dims": [10**50], "model": "iree"}, hu.errors.InputError, "dimension %m is 1000000000000000"),
    ({"dims": [1 << 9000]}, hu.errors.InputError, "dimension %m has more than 8192 bits"),
    ({"knobs": {"tile": None}}, hu.TypeMismatch, "knob tile is None, but must be an integer"),
    ({"knobs": {"tile": "8"}}, hu.TypeMismatch, "knob tile is '8', but must be an integer"),
    (
        {"function": "ones"},
        hu.errors.InputError,
        "no function @ones has constraints; there are some in @one, @two\nhint: did you mean `@one`?",
    ),
    ({"target": 1}, hu.errors.InputError, "there are no constraints of set 1, only of 0, 3"),
    ({"target": 0, "function": "two"}, hu.errors.InputError, "there are no constraints of set 0, only of 3"),
)
def test_what_is_given_wrongly(given: dict[str, Any], error: type[HalfulpError], message: str) -> None:
    with pytest.raises(error) as caught:
        hu.iree.constraints(TWO, **given)
    assert message in str(caught.value)


@pytest.mark.parametrize("value", [2, -1, '"c"', "c"])
def test_options_that_do_not_exist(value: Any) -> None:
    with pytest.raises(hu.errors.InputError) as caught:
        hu.iree.constraints(MATMUL, knobs={"mma_idx": value})
    assert f'knob mma_idx is {value!r}, which is none of its options: 0: "a", 1: "b"' in str(caught.value)


def test_modules_without_constraints() -> None:
    with pytest.raises(hu.errors.InputError, match=r"<string> has no op iree_codegen\.smt\.constraints"):
        hu.iree.constraints("func.func @f() { return }")
    with pytest.raises(hu.errors.ParseError):
        hu.iree.constraints("func.func @f( {")


def test_an_error_lists_only_the_first_names() -> None:
    knobs = ", ".join(f'k{number} = #iree_codegen.smt.int_knob<"k{number}">' for number in range(5000))
    text = TWO.replace("knobs = {}", f"knobs = {{{knobs}}}")
    with pytest.raises(hu.errors.InputError) as caught:
        hu.iree.constraints(text, knobs={"other": 1})
    assert len(str(caught.value)) < 300
    assert str(caught.value).endswith(", …")


@pytest.mark.long
def test_many_ops_and_asserts() -> None:
    body = "".join(f"%p{k} = smt.and %p{k - 1}, %p{k - 1}\nsmt.assert %p{k}\n" for k in range(1, 20_000))
    text = TWO.replace("%0 = smt.int.cmp le %m, %k", f"%p0 = smt.int.cmp le %m, %k\n%0 = smt.not %p0\n{body}")
    found = hu.iree.constraints(text, target=3)[0].verdicts
    assert len(found) == 20_000
    assert {verdict.because for verdict in found} == {("dimension %m is not given", "dimension %k is not given")}


# --- the command ------------------------------------------------------------------------------------------------------


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs the command on a text; gives exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def run(text: str, *arguments: str) -> tuple[int, str, str]:
        Path("file.mlir").write_text(text)
        code = main(["iree", "constraints", "file.mlir", *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def test_a_line_for_each_assert(run: Any) -> None:
    code, out, err = run(MATMUL)
    assert code == 1
    assert out == (
        "file.mlir:14:5: holds: dim_0 == 128\n"
        "file.mlir:16:5: FAILS: wg_x (64) < wg_y (32)\n"
        "file.mlir:19:5: unknown: ? is a multiple of 32 (dimension %n is not given)\n"
    )
    assert err == ""


def test_knobs_and_dimensions_on_the_command_line(run: Any) -> None:
    code, out, _ = run(MATMUL, "--knob", "wg_m=16", "--knob=wg_n=32", "--dim", "128", "--dim", "256")
    assert code == 0
    assert [line.split(": ", 1)[1] for line in out.splitlines()] == [
        "holds: dim_0 == 128",
        "holds: wg_x (16) < wg_y (32)",
        "holds: 256 is a multiple of 32",
    ]
    for dims in (["n=256"], ["%n=256"], ["1=256"], ["128", "n=256"], [" n = 256 "]):
        options = [part for dim in dims for part in ("--dim", dim)]
        assert run(MATMUL, "--knob", "wg_m=16", *options) == (code, out, "")
    # The order of what has a name is free; -8 is -1 tile of 32 and a remainder of 24.
    assert run(MATMUL, "--dim", "-8", "--dim", "n=-8", "--knob", 'mma_idx="a"')[1].splitlines()[::2] == [
        "file.mlir:14:5: FAILS: dim_0 == 128",
        "file.mlir:19:5: FAILS: -8 is a multiple of 32",
    ]


def test_what_is_unknown_is_no_failure(run: Any) -> None:
    arguments = ("--knob", "wg_m=16")
    assert run(MATMUL, *arguments)[0] == 0
    assert run(MATMUL, *arguments, "--strict")[0] == 1
    assert run(MATMUL, *arguments, "--dim", "n=64", "--strict")[0] == 0
    assert run(MATMUL, "--dim", "n=64", "--strict")[0] == 1


def test_sets_and_functions_on_the_command_line(run: Any) -> None:
    code, out, err = run(TWO, "--dim", "m=8", "--knob", "tile=9")
    assert (code, out) == (
        1,
        "file.mlir:6:5: FAILS: 9 <= 8\nfile.mlir:14:5: unknown: 8 <= ? (dimension %k is not given)\n",
    )
    assert err == ""
    assert run(TWO, "--dim", "8", "--dim", "9", "--set", "3") == (0, "file.mlir:14:5: holds: 8 <= 9\n", "")
    assert run(TWO, "--dim", "8", "--knob", "tile=1", "--function", "one") == (0, "file.mlir:6:5: holds: 1 <= 8\n", "")


def test_models_on_the_command_line(run: Any) -> None:
    code, out, err = run(MATMUL, "--model", "iree", "--dim", "n=64")
    assert (code, out.splitlines()[2], err) == (1, "file.mlir:19:5: holds: 64 is a multiple of 32", "")
    code, out, err = run(MATMUL.replace("[64, 32]", "[64, 32, 0]"), "--model", "iree")
    assert code == 0
    why = " (workgroup is [64, 32, 0], not an array of 2)"
    assert all(line.split(": ")[1] == "unknown" and line.endswith(why) for line in out.splitlines())
    code, out, err = run(MATMUL.replace(", workgroup = [64, 32]", ""), "--model", "iree")
    assert (code, out) == (2, "")
    message = "file.mlir:4:3: error: the configuration does not fit the knobs: the configuration has no workgroup"
    assert err.splitlines()[0] == message
    code, out, err = run(MATMUL.replace("smt.int.mod %n, %y", "smt.int.abs %n"), "--model", "iree")
    assert (code, out) == (3, "")
    assert err.splitlines()[0] == (
        "file.mlir:17:13: error: IREE's evaluator of constraints does not handle smt.int.abs"
    )


def test_what_is_remarkable_is_said_on_stderr(run: Any) -> None:
    code, out, err = run(MATMUL.replace(", workgroup = [64, 32]", ""))
    assert (code, len(out.splitlines())) == (0, 3)
    assert err == ("file.mlir:4:3: note: no knob is taken from the module: the configuration has no workgroup\n")
    nothing = "iree_codegen.smt.constraints target = <set = 5>, pipeline = #iree_codegen.no_pipeline, knobs = {} dims() {\n^bb0:\n}"  # fmt: skip
    assert run(nothing) == (0, "", "file.mlir:1:1: note: these constraints assert nothing\n")
    assert run(nothing, "--diagnostics", "json") == (0, "", "")


def test_an_assert_stays_on_its_line(run: Any) -> None:
    code, out, _ = run(TWO.replace('"{} <= {}", %a', r'"{}\0A<=\1B[1m {}", %a'), "--knob", "tile=1", "--dim", "m=2", "--set", "0")  # fmt: skip
    assert (code, out) == (0, "file.mlir:6:5: holds: 1 <=\N{REPLACEMENT CHARACTER}[1m 2\n")


@each_row(
    (["--knob", "tile"], "--knob tile: write --knob NAME=VALUE"),
    (["--knob", "=1"], "--knob =1: write --knob NAME=VALUE"),
    (["--knob", "tile="], "--knob tile=: write --knob NAME=VALUE"),
    (["--knob", "tile=1", "--knob", "tile=1"], "--knob tile is given twice"),
    (["--knob", "tile=x"], "knob tile is 'x', but must be an integer"),
    (["--knob", "tile=1.5"], "knob tile is '1.5', but must be an integer"),
    (["--knob", "tile=\N{SUPERSCRIPT TWO}"], "but must be an integer"),
    (["--knob", "title=1"], "there is no knob title; there are tile\nhint: did you mean `tile`?"),
    (["--knob", "tile=" + "9" * 5000], "but must be an integer"),
    (["--dim", "x"], "--dim x: write --dim NUMBER or --dim NAME=NUMBER"),
    (["--dim", "="], "--dim =: write --dim NUMBER or --dim NAME=NUMBER"),
    (["--dim", "=1"], "--dim =1: write --dim NUMBER or --dim NAME=NUMBER"),
    (["--dim", "1x"], "--dim 1x: write --dim NUMBER or --dim NAME=NUMBER"),
    (["--dim", "1", "--dim", "2"], "2 dimensions are given, but the constraints of set 0 have 1 (%m)"),
    (["--dim", "m=1", "--dim", "m=1"], "--dim m is given twice"),
    (["--dim", "m=1", "--dim", "%m=1"], "dimension %m is given twice"),
    (["--dim", "q=1"], "there is no dimension q; there are %m, %k"),
    (["--set", "7"], "there are no constraints of set 7, only of 0, 3"),
    (["--set", "x"], "argument --set: 'x' is not a number"),
    (
        ["--function", "tow"],
        "no function @tow has constraints; there are some in @one, @two\nhint: did you mean `@two`?",
    ),
    (["--model", "ire"], "--model: the model is 'ire', but must be one of smt, solver, iree"),
    (["--model", "smt,lookup_miss=first"], "--model: lookup_miss is 'first', but must be one of unknown, last"),
)
def test_wrong_use(arguments: list[str], message: str, run: Any) -> None:
    code, out, err = run(TWO, *arguments)
    assert (code, out) == (2, "")
    assert message in err


def test_files_that_cannot_be_read(run: Any) -> None:
    assert run("func.func @f( {")[0] == 2
    code, out, err = run("func.func @f() { return }")
    assert (code, out, err) == (2, "", "error: file.mlir has no op iree_codegen.smt.constraints\n")
    assert main(["iree", "constraints", "missing.mlir"]) == 2


def test_errors_as_json(run: Any) -> None:
    code, out, err = run(TWO, "--dim", "1", "--dim", "2", "--diagnostics", "json")
    assert (code, out) == (2, "")
    assert json.loads(err)["message"].startswith("2 dimensions are given")


def test_verdicts_as_json(run: Any) -> None:
    code, out, _ = run(MATMUL, "--json")
    assert code == 1
    assert [json.loads(line) for line in out.splitlines()] == [
        {
            "function": "matmul",
            "set": 0,
            "location": f"file.mlir:{line}:5",
            "verdict": verdict,
            "text": text,
            "values": values,
            "because": because,
        }
        for line, verdict, text, values, because in (
            (14, "holds", "dim_0 == 128", [], []),
            (16, "FAILS", "wg_x (64) < wg_y (32)", [64, 32], []),
            (19, "unknown", "? is a multiple of 32", [None, 32], ["dimension %n is not given"]),
        )
    ]
