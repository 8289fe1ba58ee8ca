"""``halfulp explain`` on the command line: titles, results and refusals."""

from __future__ import annotations

import pytest
from command_calls import Command


@pytest.mark.parametrize("value", ["0.3", "-0.3", "-inf", "-nan", "-1e-5", "-.5", "1/3", "-1/3", "0x2A", "f32=0.3"])
def test_explain(value: str, command: Command) -> None:
    code, out, err = command("explain", value, "f8E4M3FN", "--rounding=upward")
    assert (code, err) == (0, "")
    assert out.startswith(f"{value} in f8E4M3FN, upward, profile spec\n")


@pytest.mark.parametrize(
    ("arguments", "title", "words"),
    [
        (["0x7F : f8E4M3FN"], "0x7F : f8E4M3FN in f8E4M3FN, ", "a bit pattern is not rounded"),
        (["0x7F", ":", "f8E4M3FN"], "0x7F : f8E4M3FN in f8E4M3FN, ", "value     nan"),
        (["arith.addf", "f8E4M3FN", "1.4", "-2.2"], "arith.addf on f8E4M3FN, ", "1.375 + -2.25 = -0.875"),
        (["arith.truncf", "f8E4M3FN", "465", "--from=f32", "--rounding=downward"], "arith.truncf ", "result    0x7E"),
        (["arith.cmpf", "f16", "1", "nan", "--attr=predicate=ult"], "arith.cmpf predicate=ult on f16 to i1, ", "true"),
        (["quant.qcast", "!quant.uniform<i8:f32, 0.5:3>", "1.3"], "quant.qcast on f32 to !quant", "5.599999904632568"),
        (
            ["arith.addi", "i8", "100", "100", "--attr=overflow=nsw"],
            "arith.addi overflow=nsw on i8, ",
            "it wraps, - 2^8",
        ),
        (["arith.divsi", "i8", "1", "0"], "arith.divsi on i8, ", "the behaviour is undefined"),
        (["exp", "bf16", "0.1"], "exp on bf16, ", "77 bits: [1.1052788501931530981 +/- "),
        (["math.powf", "f32", "2", "0.5", "--rounding=upward"], "math.powf rounding=upward on f32, ", "1.41421356"),
        (["arith.trunci", "i8", "300", "--from=i16"], "arith.trunci on i16 to i8, ", "300 becomes 44"),
        (["arith.addf", "f8E4M3FN", "0.1", "0.2"], "arith.addf on f8E4M3FN, ", "total     +0.4 ulp against 0.3"),
        (["0.3", "f8E4M3FN", "--rounding=stochastic"], "0.3 in f8E4M3FN, stochastic, ", "probability"),
        (["0.3", "f16", "--rounding=SR", "--random=5", "--random-bits=8"], "0.3 in f16, stochastic, ", "5 / 2^8"),
        (
            ["0.3", "f16", "--rounding=SR", "--random-bits=8", "--profile=spec,stochastic=p3109_a"],
            "0.3 in f16, stochastic, ",
            "* 2^8) + random is at least 2^8",
        ),
    ],
)
def test_explain_bits_and_ops(arguments: list[str], title: str, words: str, command: Command) -> None:
    code, out, err = command("explain", *arguments)
    assert (code, err) == (0, "")
    assert out.startswith(title)
    assert words in out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["x", "f32"], 2, "error: <value>: 'x' is not a number"),
        (["1", "f33"], 2, "<type>:1:1: error: "),
        (["1", "i32"], 3, "not to 'i32'"),
        (["f33=1", "f32"], 2, "<value>:1:1: error: "),
        (["1", "f32", "--rounding=nonsense"], 2, "nonsense"),
        (["1", "f32", "--random=5"], 2, "go with rounding="),
        (["1", "f32", "--rounding=stochastic", "--random=5"], 2, "without a width"),
        (["1", "f32", "--rounding=stochastic", "--random=5", "--random-bits=2"], 2, "must be 0 to 3"),
        (["1", "f32", "--rounding=half_up"], 2, "ties away from zero in Java"),
        (["1", "f32", "--profile=x"], 2, "unknown profile 'x'"),
        ([], 2, "usage: "),
        (["1"], 2, "'1' has no type"),
        (["1", "2", "f32"], 2, "not 1 2 f32"),
        (["1", "f32", "--from=f64"], 2, "--from goes with an op"),
        (["arith.addf"], 2, "which type?"),
        (["arith.addf", "f32", "1"], 2, "arith.addf takes 2 operands, but 1 is given"),
        (["arith.addf", "f33", "1", "2"], 2, "<type>:1:1: error: "),
        (["arith.truncf", "f16", "1", "--from=f33"], 2, "<from>:1:1: error: "),
        (["math.sincos", "f32", "1"], 3, "math.sincos has no explanation; "),
        (["arith.select", "i8", "1", "2", "3"], 3, "halfulp explain --list names all of them"),
        (["exp", "bf16"], 2, "exp takes 1 operand, but 0 are given"),
        (["arith.addi", "i8", "1", "2", "--from=i4"], 2, "is not a cast"),
        (["arith.add", "f32", "1", "2"], 3, "no op named 'arith.add'"),
        (["arith.addf", "f32", "1", "x"], 2, "'x' is not a number"),
        (["arith.addf", "f32", "1", "2", "--attr=fastmath=x"], 2, "must be one of"),
        (["arith.cmpf", "f32", "1", "2"], 2, "needs predicate"),
        (["arith.truncf", "f64", "1"], 2, "are cast incompatible"),
        (["arith.remf", "f32", "1", "2", "--rounding=upward"], 2, "has no property 'rounding'"),
        (["quant.qcast", "!quant.uniform<i8:f32:0, {0.5, 0.25}>", "1"], 2, "--channel) is 0 to 1"),
        (["quant.qcast", "f32", "1"], 3, "is a !quant.uniform type"),
    ],
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
