"""``halfulp explain`` on the command line: titles, results and refusals."""

import re

import pytest
from command import Command
from tables import each_row


@pytest.mark.parametrize("value", ["0.3", "-0.3", "-inf", "-nan", "-1e-5", "-.5", "1/3", "-1/3", "0x2A", "f32=0.3"])
def test_explain(value: str, command: Command) -> None:
    code, out, err = command("explain", value, "f8E4M3FN", "--rounding=upward")
    assert (code, err) == (0, "")
    assert out.startswith(f"{value} in f8E4M3FN, upward, profile spec\n")


@each_row(
    (False, {}, False),
    (True, {}, True),
    (True, {"NO_COLOR": "1"}, False),
    (True, {"TERM": "dumb"}, False),
    (False, {"FORCE_COLOR": "1"}, True),
    (False, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
)
def test_fields_have_colours_on_a_terminal(
    terminal: bool, variables: dict[str, str], coloured: bool, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"TERM": "xterm", **variables}.items():
        monkeypatch.setenv(name, value)
    plain = command("explain", "arith.addf", "f80", "0.1", "1", "--json")[1]
    monkeypatch.setattr("sys.stdout.isatty", lambda: terminal)
    for words in (["0.3", "f8E4M3FN"], ["arith.addf", "f8E4M3FN", "0.1", "0.2"]):
        out = command("explain", *words)[1]
        assert ("\x1b" in out) == coloured
        fields = r"0x2A  \x1b[31m0\x1b[0m \x1b[32m0101\x1b[0m \x1b[36m010\x1b[0m"
        named = r"sign \x1b[31m0\x1b[0m, exponent \x1b[32m0101\x1b[0m (2^-2), significand \x1b[36m010\x1b[0m"
        assert all((text.encode().decode("unicode_escape") in out) == coloured for text in (fields, named))
        assert "0x2A  0 0101 010" in re.sub(r"\x1b\[\d+m", "", out)
    monkeypatch.setattr("sys.stderr.isatty", lambda: terminal)
    product = ("--a=1 0.5 0*14", "--b=1 1024 0*14", "--c=0.1")
    dot = command("explain", "dot", "mma.m16n8k16.f32.f16.f16.f32", "--mma=chip:h100", *product)[1]
    aligned = "\x1b[31m+\x1b[0m\x1b[36m0.0000000000001100110011001\x1b[0m|\x1b[31m10011001101\x1b[0m "
    assert (aligned in dot) == coloured
    err = command("run", "f.mlir", "--output=@y.txt")[2]
    assert err.startswith("\x1b[31merror\x1b[0m: " if coloured else "error: ")
    assert ("\n\x1b[32mhint\x1b[0m: " in err) == coloured
    # JSON has none.
    assert command("explain", "arith.addf", "f80", "0.1", "1", "--json")[1] == plain


@each_row(
    (["0x7F : f8E4M3FN"], "0x7F : f8E4M3FN in f8E4M3FN, ", "a bit pattern is not rounded"),
    (["0x7F", ":", "f8E4M3FN"], "0x7F : f8E4M3FN in f8E4M3FN, ", "value     nan"),
    (["arith.addf", "f8E4M3FN", "1.4", "-2.2"], "arith.addf on f8E4M3FN, ", "1.375 + -2.25 = -0.875"),
    (["arith.truncf", "f8E4M3FN", "465", "--from=f32", "--rounding=downward"], "arith.truncf ", "result    0x7E"),
    (["arith.cmpf", "f16", "1", "nan", "--attr=predicate=ult"], "arith.cmpf predicate=ult on f16 to i1, ", "true"),
    (["quant.qcast", "!quant.uniform<i8:f32, 0.5:3>", "1.3"], "quant.qcast on f32 to !quant", "5.599999904632568"),
    (["arith.addi", "i8", "100", "100", "--attr=overflow=nsw"], "arith.addi overflow=nsw on i8, ", "it wraps, - 2^8"),
    (["arith.divsi", "i8", "1", "0"], "arith.divsi on i8, ", "the behaviour is undefined"),
    (["exp", "bf16", "0.1"], "exp on bf16, ", "77 bits: [1.1052788501931530981 +/- "),
    (["math.powf", "f32", "2", "0.5", "--rounding=upward"], "math.powf rounding=upward on f32, ", "1.41421356"),
    (
        ["fmadd", "f32", "1.5", "0.3", "2.5", "--from=f8E4M3FN,f8E4M3FN,f32"],
        "fmadd on f8E4M3FN, f32 to f32",
        "exact     1.5 * 0.3125 + 2.5 = 2.96875",
    ),
    (["arith.trunci", "i8", "300", "--from=i16"], "arith.trunci on i16 to i8, ", "300 becomes 44"),
    (["arith.addf", "f8E4M3FN", "0.1", "0.2"], "arith.addf on f8E4M3FN, ", "total     +0.4 ulp against 0.3"),
    (["0.3", "f8E4M3FN", "--rounding=stochastic"], "0.3 in f8E4M3FN, stochastic, ", "probability"),
    (["0.3", "f16", "--rounding=SR", "--random=5", "--random-bits=8"], "0.3 in f16, stochastic, ", "5 / 2^8"),
    (
        ["0.3", "f16", "--rounding=SR", "--random-bits=8", "--profile=spec,stochastic=p3109_a"],
        "0.3 in f16, stochastic, ",
        "* 2^8) + random is at least 2^8",
    ),
)
def test_explain_bits_and_ops(arguments: list[str], title: str, words: str, command: Command) -> None:
    code, out, err = command("explain", *arguments)
    assert (code, err) == (0, "")
    assert out.startswith(title)
    assert words in out


@each_row(
    (["x", "f32"], 2, "error: <value>: 'x' is not a number"),
    (["1", "f33"], 2, "<type>:1:1: error: "),
    (["1", "i32"], 3, "not to 'i32'"),
    (["f33=1", "f32"], 2, "<value>:1:1: error: "),
    (["1", "f32", "--rounding=nonsense"], 2, "nonsense"),
    (["1", "f32", "--random=5"], 2, "can be used only with rounding="),
    (["1", "f32", "--rounding=stochastic", "--random=5"], 2, "without a width"),
    (["1", "f32", "--rounding=stochastic", "--random=5", "--random-bits=2"], 2, "must be 0 to 3"),
    (["1", "f32", "--rounding=half_up"], 2, "ties away from zero in Java"),
    (["1", "f32", "--profile=x"], 2, "unknown profile 'x'"),
    ([], 2, "usage: "),
    (["1"], 2, "'1' has no type"),
    (["1", "2", "f32"], 2, "not 1 2 f32"),
    (["1", "f32", "--from=f64"], 2, "--from can be used only with an op"),
    (["arith.addf"], 2, "the type is missing"),
    (["arith.addf", "f32", "1"], 2, "arith.addf takes 2 operands, but 1 is given"),
    (["arith.addf", "f33", "1", "2"], 2, "<type>:1:1: error: "),
    (["arith.truncf", "f16", "1", "--from=f33"], 2, "<from>:1:1: error: "),
    (["math.sincos", "f32", "1"], 3, "math.sincos has no explanation; "),
    (["arith.select", "i8", "1", "2", "3"], 3, "halfulp explain --list names all of them"),
    (["exp", "bf16"], 2, "exp takes 1 operand, but 0 are given"),
    (["arith.addi", "i8", "1", "2", "--from=i4"], 2, "is not a cast"),
    (["fmadd", "f32", "1", "2", "--from=f16,f16,f32"], 2, "--from=f16,f16,f32 has 3 types, but 2 are given"),
    (["arith.add", "f32", "1", "2"], 3, "no op named 'arith.add'"),
    (["arith.addf", "f32", "1", "x"], 2, "'x' is not a number"),
    (["arith.addf", "f32", "1", "2", "--attr=fastmath=x"], 2, "must be one of"),
    (["arith.cmpf", "f32", "1", "2"], 2, "needs predicate"),
    (["arith.truncf", "f64", "1"], 2, "are cast incompatible"),
    (["arith.remf", "f32", "1", "2", "--rounding=upward"], 2, "has no property 'rounding'"),
    (["quant.qcast", "!quant.uniform<i8:f32:0, {0.5, 0.25}>", "1"], 2, "--channel) is 0 to 1"),
    (["quant.qcast", "f32", "1"], 3, "is a !quant.uniform type"),
)
def test_explain_refuses(arguments: list[str], code: int, message: str, command: Command) -> None:
    got, out, err = command("explain", *arguments)
    assert (got, out) == (code, "")
    assert message in err


def test_every_op_with_an_explanation_is_listed(command: Command) -> None:
    code, out, err = command("explain", "--list")
    assert (code, err) == (0, "")
    names = out.split()
    assert {"arith.addf", "arith.addi", "quant.qcast", "math.exp", "exp10"} <= set(names)
    assert len(names) == len(set(names)) > 100
    assert "arith.select" not in names


# --- eval -------------------------------------------------------------------------------------------------------------
#
# ``halfulp eval``: one op on typed inputs.


@each_row(
    # SEMANTICS, "Known answers".
    (["arith.addf", "--input=f8E4M3FN=1.375", "--input=f8E4M3FN=2.25"], "f8E4M3FN=3.5"),
    (["arith.addf", "--input=f8E4M3FN=1.375", "--input=2.25"], "f8E4M3FN=3.5"),
    (["arith.truncf", "--input=f32=464", "--to=f8E4M3FN"], "f8E4M3FN=448"),
    (["arith.truncf", "--input=f32=465", "--to=f8E4M3FN"], "f8E4M3FN=nan"),
    (["arith.truncf", "--input=f32=465", "--to=f8E4M3FN", "--attr", "rounding=toward_zero"], "f8E4M3FN=448"),
    (["arith.truncf", "--input=3xf32=1.25 2.5 5", "--to=f4E2M1FN"], "3xf4E2M1FN=1 2 4"),
    (["arith.truncf", "--input=3xf32=1.25 2.5 5", "--to=3xf4E2M1FN"], "3xf4E2M1FN=1 2 4"),
    (["arith.truncf", "--input=f64=-431.99999999999994", "--to=f8E4M3FN"], "f8E4M3FN=-416"),
    (["arith.mulf", "--input=bf16=0x3F81", "--input=0x3FC0"], "bf16=1.516"),  # 0x3FC2 is 1.515625
    (["arith.remf", "--input=f32=-4", "--input=2"], "f32=-0"),
    (["arith.fptosi", "--input=f32=3.5", "--to=i32"], "i32=3"),
    (["arith.sitofp", "--input=i1=true", "--to=f32"], "f32=-1"),
    (["arith.floordivsi", "--input=i8=7", "--input=-2"], "i8=-4"),
    (["arith.addi", "--input=i8=127", "--input=1"], "i8=-128"),
    (["arith.addi", "--input=i8=127", "--input=1", "--attr", "overflow=nsw"], "i8=poison"),
    (["arith.divsi", "--input=i8=7", "--input=2", "--attr", "exact"], "i8=poison"),
    (["arith.divsi", "--input=i8=7", "--input=2", "--attr=exact=false"], "i8=3"),
    (["arith.cmpi", "--input=i8=-1", "--input=1", "--attr", "predicate=slt"], "i1=true"),
    (["arith.cmpi", "--input=i8=-1", "--input=1", "--attr", "predicate=ult"], "i1=false"),
    (["arith.addf", "--input=f32=nan", "--input=1", "--attr", "fastmath=ninf,nnan"], "f32=poison"),
    (["arith.select", "--input=i1=true", "--input=i8=1", "--input=2"], "i8=1"),
    (["arith.constant", "--attr", "value=1.5 : f16"], "f16=1.5"),
    (["arith.divsi", "--input=i8=7", "--input=0", "--on-ub=poison"], "i8=poison"),
    (["arith.truncf", "--input=f32=1000", "--to=f8E4M3FN", "--profile=ocp-saturate"], "f8E4M3FN=448"),
    (["quant.qcast", "--input=2xf32=1 -3", "--to=!quant.uniform<i8:f32, 0.5>"], None),
)
def test_eval(arguments: list[str], printed: str | None, command: Command) -> None:
    printed = printed or "2x!quant.uniform<i8:f32, 5.000000e-01>=2 -6"
    code, out, err = command("eval", *arguments)
    assert (code, out) == (0, f"result[0]: {printed}\n")
    assert err.startswith("note: ") == ("poison" in printed)


# The rules of IEEE 754-2019, clause 7.
FLAGGED = [
    (["fmadd", "--input=f8E4M3FN=1.5", "--input=f8E4M3FN=2.5", "--input=f32=3"], "f32=6.75", "none"),
    (["arith.divf", "--input=f32=1", "--input=3"], "f32=0.33333334", "inexact"),
    (["arith.divf", "--input=4xf16=1 0 5 65504", "--input=3 0 0 0.5"], "4xf16=0.3333 nan inf inf", "4xi8=1 16 8 5"),
]


@pytest.mark.parametrize(("arguments", "result", "flags"), FLAGGED)
def test_flags_of_an_op(arguments: list[str], result: str, flags: str, command: Command) -> None:
    printed = f"result[0]: {result}\nflags: {flags}\n"
    assert command("eval", *arguments, "--flags") == (0, printed, "")


def test_eval_of_an_op_with_two_results(command: Command) -> None:
    code, out, _ = command("eval", "arith.addui_extended", "--input=i8=255", "--input=1")
    assert (code, out) == (0, "result[0]: i8=0\nresult[1]: i1=true\n")


@each_row(
    (["arith.nonsense", "--input=i8=1"], 3, "no op named 'arith.nonsense'"),
    (["func.return"], 3, "'func.return' cannot be run alone"),
    (["arith.addf", "--input=1", "--input=2"], 2, "<input 0>: '1' has no type"),
    (["arith.addf", "--input=f32=1", "--input=f64=2"], 2, "error: "),
    (["arith.addf", "--input=f32=1"], 2, "expected 2 operands, but found 1"),
    (["arith.addf", "--input=i32=1", "--input=1"], 2, "floating-point"),
    (["arith.truncf", "--input=f32=1"], 2, "--to"),
    (["arith.truncf", "--input=f32=1", "--to=f64"], 2, "error: "),
    (["arith.truncf", "--input=f32=1", "--to=f33"], 2, "--to:1:1: error: "),
    (["arith.addf", "--input=f32=1", "--input=1", "--attr=fastmath=nonsense"], 2, "must be one of none, reassoc"),
    (["arith.addf", "--input=f32=1", "--input=1", "--attr=nonsense=1"], 2, "has no property 'nonsense'"),
    (["arith.addf", "--input=f32=1", "--input=1", "--attr==1"], 2, "--attr NAME"),
    (["arith.addf", "--input=f32=1", "--input=1", "--attr=fastmath"], 2, "fastmath"),
    (["arith.divsi", "--input=i8=1", "--input=0"], 4, "error: arith.divsi: undefined behaviour: division by zero"),
    (["arith.addi", "--input=i8=127", "--input=1", "--attr=overflow=nsw", "--forbid-poison"], 4, "signed overflow"),
    (["arith.addi", "--input=i8=1", "--input=1", "--expected_output=3"], 1, "expected 3 (0x03), got 2 (0x02)"),
    (["arith.addi", "--input=i8=1", "--input=1", "--output=@/dev/null", "--output=@x"], 2, "has 1 results"),
    (["arith.constant", "--attr", "value=<"], 2, "<attr value>:1:1: error: "),
    (["arith.addi", "--input=i8=1", "--input=1", "--flags"], 3, "'arith.addi' has no exception flags"),
    (["arith.truncf", "--input=f32=1", "--to=f16", "--to=bf16"], 2, "argument --to: may be given only once"),
)
def test_eval_refuses(arguments: list[str], code: int, message: str, command: Command) -> None:
    got, _, err = command("eval", *arguments)
    assert got == code
    assert message in err
    assert not err.startswith("unknown")
