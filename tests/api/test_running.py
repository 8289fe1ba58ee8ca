"""`run`: results, entries, arguments, options, and what host functions return."""

import inspect
import re
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import pytest

import halfulp as hu
from halfulp.command.calls import FunctionResultOptions
from halfulp.running import CallKeywords, RunKeywords, RunOptions, TraceKeywords
from halfulp.semantics.matrix_units.accumulator import Accumulator

ADD = """
func.func @main(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %0 = arith.addf %x, %y : tensor<2xf32>
  return %0 : tensor<2xf32>
}
"""


def test_run_from_text_returns_a_tuple_of_values() -> None:
    results = hu.run(ADD, np.array([1, 2], np.float32), np.array([3, 4], np.float32))
    assert isinstance(results, tuple)
    assert results[0].numpy().tolist() == [4, 6]
    assert str(results[0].type) == "tensor<2xf32>"


def test_results_have_the_shapes_they_have() -> None:
    text = "func.func @main(%x: tensor<?x?xi8>) -> tensor<?x?xi8> { return %x : tensor<?x?xi8> }"
    (result,) = hu.run(text, np.zeros((2, 3), np.int8))
    assert str(result.type) == "tensor<2x3xi8>"
    assert result == hu.Value.from_numpy(np.zeros((2, 3), np.int8))


CONSTANTS = {
    "elements": "dense<[1, 2]> : tensor<2xi32>",
    "a splat": "dense<1> : tensor<2xi32>",
    "a blob": 'dense<"0x0100000002000000"> : tensor<2xi32>',
    "a resource": "dense_resource<blob> : tensor<2xi32>",
    "limbs": "dense<[1, 2]> : tensor<2xi100>",
    "complex": "dense<[(1.0, 2.0), (3.0, 4.0)]> : tensor<2xcomplex<f32>>",
    "index": "dense<[1, 2]> : tensor<2xindex>",
    "nothing": "dense<> : tensor<0xi32>",
}


@pytest.mark.parametrize("name", CONSTANTS)
@pytest.mark.parametrize("index_width", [64, 32])
def test_a_result_cannot_be_made_a_way_into_the_constants(name: str, index_width: Any) -> None:
    constant = CONSTANTS[name]
    type_ = constant.split(" : ")[1]
    module = hu.parse(
        f"func.func @main() -> {type_} {{\n  %0 = arith.constant {constant}\n  return %0 : {type_}\n}}\n"
        '{-# dialect_resources: {builtin: {blob: "0x040000000100000002000000"}} #-}'
    )
    (value,) = hu.run(module, index_width=index_width)
    expected = value.bits.copy()
    array: Any = value.bits
    while isinstance(array, np.ndarray):
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.setflags(write=True)
        array = array.base
    if name != "complex":
        # Where the natural array needs other bits, it is the caller's own.
        with suppress(ValueError):
            natural = value.numpy()
            natural.setflags(write=True)
            natural[...] = 7
    (again,) = hu.run(module, index_width=index_width)
    assert np.array_equal(again.bits, expected)


def test_entry() -> None:
    text = """
    func.func @a() -> i8 { %0 = arith.constant 1 : i8
      return %0 : i8 }
    func.func @b() -> i8 { %0 = arith.constant 2 : i8
      return %0 : i8 }
    func.func private @c()
    module @m { func.func @f() -> i8 { %0 = arith.constant 3 : i8
      return %0 : i8 } }
    """
    assert [hu.run(text, function=name)[0].item() for name in ("a", "@b", "@m::@f", "m::f")] == [1, 2, 3, 3]
    with pytest.raises(
        hu.errors.InputError, match=r"missing the name of the function: the functions are @a, @b, @c, @m::@f"
    ):
        hu.run(text)
    with pytest.raises(hu.errors.InputError, match="no function 'z'"):
        hu.run(text, function="z")
    with pytest.raises(hu.errors.InputError, match="the module has no functions"):
        hu.run("module {}")
    only = "func.func private @p() { return }\nfunc.func @q() { return }\nfunc.func private @d()"
    assert hu.run(only) == ()
    several = "func.func @compare() { return }\nfunc.func @main() -> i8 { %0 = arith.constant 4 : i8\n return %0 : i8 }"
    assert hu.run(several)[0].item() == 4  # what JAX makes for a comparator that a custom call names is public


def test_arguments_that_do_not_fit_name_argument_expected_and_given() -> None:
    x = np.ones(2, np.float32)
    with pytest.raises(hu.TypeMismatch, match=r"@main takes 2 arguments \(tensor<2xf32>, tensor<2xf32>\), but 1 is"):
        hu.run(ADD, x)
    with pytest.raises(
        hu.TypeMismatch, match=r"argument 1 of @main: expected 'tensor<2xf32>', got an array of dtype int64"
    ):
        hu.run(ADD, x, np.array([1, 2]))
    # The name that an argument has in the user's program, as JAX writes it, stands beside its number.
    named = "func.func @f(%a: f32, %b: f32 loc(\"p['w']\")) { return }"
    with pytest.raises(hu.TypeMismatch, match=re.escape("argument 1 of @f (p['w']): expected 'f32', got 'f16'")):
        hu.run(named, 1.0, hu.convert(1, "f16"))
    with pytest.raises(hu.TypeMismatch, match="argument 0 of @f: expected 'f32'"):
        hu.run(named, x, 1.0)


def test_options_are_checked() -> None:
    x = np.ones(2, np.float32)
    with pytest.raises(ValueError, match="unknown profile 'nonsense'"):
        hu.run(ADD, x, x, profile="nonsense")
    with pytest.raises(ValueError, match="on_ub"):
        hu.run(ADD, x, x, on_ub="ignore")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="index_width"):
        hu.run(ADD, x, x, index_width=16)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="denormals is 'flush', but must be one of ieee"):
        hu.run(ADD, x, x, profile="spec,denormals=flush")


def test_profiles_by_name_spelling_and_object() -> None:
    text = "func.func @main(%x: f32) -> f8E4M3FN { %0 = arith.truncf %x : f32 to f8E4M3FN\n return %0 : f8E4M3FN }"
    for profile in ("ocp-saturate", "spec,conversion_overflow=saturate", hu.Profile(conversion_overflow="saturate")):
        assert int(hu.run(text, 1000.0, profile=profile)[0].bits) == 0x7E
    assert int(hu.run(text, 1000.0)[0].bits) == 0x7F


def test_what_a_host_function_returns_is_copied_and_narrowed() -> None:
    kept = np.zeros(2, np.int8)

    def count() -> Any:
        kept[:] += 1
        return kept

    text = """
    func.func private @count() -> tensor<2xi8>
    func.func private @position() -> index
    func.func @main() -> (tensor<2xi8>, tensor<2xi8>, index) {
      %0 = call @count() : () -> tensor<2xi8>
      %1 = call @count() : () -> tensor<2xi8>
      %2 = call @position() : () -> index
      return %0, %1, %2 : tensor<2xi8>, tensor<2xi8>, index
    }"""
    one, two, index = hu.run(text, externals={"count": count, "position": lambda: -1}, index_width=32)
    assert one.numpy().tolist() == [1, 1]
    assert two.numpy().tolist() == [2, 2]
    assert int(index.bits) == 2**32 - 1
    with pytest.raises(
        hu.TypeMismatch, match="result 0 of the function bound to @position: 1099511627776 does not fit"
    ):
        hu.run(text, externals={"count": count, "position": lambda: 2**40}, index_width=32)


def test_an_unknown_location_is_left_out_of_an_error() -> None:
    """JAX's functions have none."""
    module = hu.load("func.func @f(%a: i32) {\n  return\n} loc(unknown)")
    with pytest.raises(hu.TypeMismatch) as caught:
        hu.run(module)
    assert str(caught.value) == "error: @f takes 1 argument (i32), but 0 are given"


# --- run options ------------------------------------------------------------------------------------------------------
#
# The options of a run: one dataclass, and what the API, type checkers and the command line show of it.

HIDDEN = {"casts", "recorder", "write"}
"""Settings that users do not give."""
GIVEN_OTHERWISE = {"profile", "externals", "listeners"}
"""Options that callers give in another form than the dataclass holds."""
PROGRAM = "func.func @f(%x: f32) -> f32 { return %x : f32 }"
TAKERS: dict[Any, Any] = {hu.run: RunKeywords, hu.trace: TraceKeywords, hu.iree.workgroups: CallKeywords}


def test_the_keywords_are_those_of_the_dataclass() -> None:
    assert set(RunKeywords.__annotations__) | HIDDEN == {field.name for field in fields(RunOptions)}
    names = {"Accumulator": Accumulator}  # its module is imported for type checkers alone
    hints, options = get_type_hints(RunKeywords, localns=names), get_type_hints(RunOptions, localns=names)
    assert {name: hints[name] for name in hints.keys() - GIVEN_OTHERWISE} == {
        name: options[name] for name in hints.keys() - GIVEN_OTHERWISE
    }


@pytest.mark.parametrize("function", TAKERS, ids=lambda function: function.__name__)
def test_signatures_and_docstrings_show_the_options(function: Any) -> None:
    shown = inspect.signature(function).parameters
    defaults = RunOptions()
    for name in TAKERS[function].__annotations__:
        assert shown[name].kind is inspect.Parameter.KEYWORD_ONLY
        assert f"``{name}``: " in function.__doc__
        if name not in GIVEN_OTHERWISE:
            assert shown[name].default == getattr(defaults, name)
    assert "{options}" not in function.__doc__
    assert all(parameter.kind is not inspect.Parameter.VAR_KEYWORD for parameter in shown.values())


@pytest.mark.parametrize("function", TAKERS, ids=lambda function: function.__name__)
@pytest.mark.parametrize("name", ["nonsense", *sorted(HIDDEN)])
def test_other_keywords_are_refused(function: Any, name: str) -> None:
    with pytest.raises(TypeError, match=rf"{function.__name__}\(\) got an unexpected keyword argument '{name}'"):
        function(PROGRAM, 1.0, **{name: None})


def test_a_value_that_is_no_choice_is_refused() -> None:
    with pytest.raises(ValueError, match="on_ub is 'ignore', but must be 'raise' or 'poison'"):
        hu.run(PROGRAM, 1.0, on_ub="ignore")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"bits=25 \(did you mean `chip:hopper`\?\)$"):
        hu.run(PROGRAM, 1.0, mma="chip:hoper")


def test_the_command_line_has_the_same_choices_and_no_defaults_of_its_own() -> None:
    options = {field.name: field for field in fields(RunOptions)}
    offered = {field.name: field for field in fields(FunctionResultOptions) if field.name in options}
    assert {"on_ub", "index_width", "vscale", "batch", "mma", "swizzle", "check_hints", "max_steps"} <= set(offered)
    for name, field in offered.items():
        choices = field.metadata["keywords"].get("choices", ())
        assert tuple(choices) == (() if name == "mma" else options[name].metadata["choices"])
        assert field.default in (None, False, "spec")


# --- loading ----------------------------------------------------------------------------------------------------------
#
# `load`: paths, text and bytes.


def test_load_takes_a_path_text_or_bytes(tmp_path: Path) -> None:
    file = tmp_path / "kernel.mlir"
    file.write_text(ADD)
    printed = hu.print_module(hu.load(ADD))
    for source in (file, str(file), ADD.encode()):
        assert hu.print_module(hu.load(source)) == printed
    assert hu.load(str(file)).filename == str(file)


def test_load_says_what_it_cannot_read(tmp_path: Path) -> None:
    with pytest.raises(hu.errors.InputError, match="cannot read 'missing.mlir': No such file"):
        hu.load("missing.mlir")
    with pytest.raises(hu.errors.InputError, match="Is a directory"):
        hu.load(tmp_path)
    with pytest.raises(hu.errors.InputError, match="null"):
        hu.load("a\0b")
    with pytest.raises(hu.errors.BytecodeError, match=r"<bytes>: error: .* \(at byte \d+\)"):
        hu.load(b"ML\xefR\x0d")
    with pytest.raises(hu.errors.ParseError):
        hu.load(b"\xff\xfe\x00")


# --- ops of users -----------------------------------------------------------------------------------------------------


def test_a_users_own_op() -> None:
    hu.register.op(
        "test_own.scale",
        lambda x, factor: x.numpy() * factor.value,
        operands=["x"],
        assembly="$x attr-dict `:` type($result)",
        traits=[hu.register.Trait.SAME_OPERANDS_AND_RESULT_TYPE],
    )
    text = """func.func @main(%x: tensor<2xi32>) -> tensor<2xi32> {
      %0 = test_own.scale %x {factor = 3 : i32} : tensor<2xi32>
      return %0 : tensor<2xi32>
    }"""
    module = hu.parse(text)
    assert hu.run(module, np.array([1, 2], np.int32))[0].numpy().tolist() == [3, 6]
    assert "test_own.scale %arg0 {factor = 3 : i32} : tensor<2xi32>" in hu.print_module(module)
    with pytest.raises(ValueError, match=r"test_own\.scale is already registered"):
        hu.register.op("test_own.scale", lambda x: x, operands=["x"])
    with pytest.raises(ValueError, match=r"does not have the form dialect\.mnemonic"):
        hu.register.op("scale", lambda x: x)


def test_a_users_op_that_returns_the_wrong_thing() -> None:
    hu.register.op("test_own.wrong", lambda x: np.zeros(3), operands=["x"])
    text = 'func.func @main(%x: i8) -> i8 { %0 = "test_own.wrong"(%x) : (i8) -> i8\n return %0 : i8 }'
    with pytest.raises(hu.TypeMismatch, match=r"result 0 of the function behind 'test_own.wrong': expected 'i8'"):
        hu.run(text, 1)


def test_a_users_conversion() -> None:
    hu.register.cast("!test.pair", "i16", lambda pair: pair)
    hu.register.cast(["i8", "i8"], "i16", lambda low, high: np.int16(low.item() + 256 * high.item()))
    text = """func.func @main(%a: i8, %b: i8) -> i16 {
      %0 = builtin.unrealized_conversion_cast %a, %b : i8, i8 to i16
      return %0 : i16
    }"""
    assert hu.run(text, 1, 2)[0].item() == 513


def test_a_declaration_bound_to_a_python_function() -> None:
    text = """
    func.func private @host(i32, tensor<2xf32>) -> (i32, tensor<2xf32>)
    func.func @main(%n: i32, %x: tensor<2xf32>) -> (i32, tensor<2xf32>) {
      %0:2 = call @host(%n, %x) : (i32, tensor<2xf32>) -> (i32, tensor<2xf32>)
      return %0#0, %0#1 : i32, tensor<2xf32>
    }"""
    x = np.array([1, 2], np.float32)
    with pytest.raises(hu.Unsupported, match="'@host' is a declaration without a body"):
        hu.run(text, 1, x)
    bound = {"host": lambda n, t: (n.item() + 1, t.numpy() * np.float32(2))}
    n, y = hu.run(text, 1, x, externals=bound)
    assert (n.item(), y.numpy().tolist()) == (2, [2, 4])
    with pytest.raises(hu.TypeMismatch, match=r"bound to @host returned 1 values; 2 are declared"):
        hu.run(text, 1, x, externals={"host": lambda n, t: n})
    hu.register.external("test_host_square", lambda n: n.item() ** 2)
    assert hu.run("func.func private @test_host_square(i32) -> i32", 5, function="test_host_square")[0].item() == 25


def test_unregistered_ops_are_kept_and_unsupported_to_run() -> None:
    text = 'func.func @main(%x: i8) -> i8 {\n  %0 = "foo.bar"(%x) {a = 1 : i8} : (i8) -> i8\n  return %0 : i8\n}'
    module = hu.load(text)
    assert '"foo.bar"(%arg0) {a = 1 : i8} : (i8) -> i8' in hu.print_module(module)
    with pytest.raises(hu.Unsupported, match=r"cannot execute 'foo.bar': no registered dialect") as caught:
        hu.run(module, 1)
    assert caught.value.exit_code == 3
    assert str(caught.value).startswith("<string>:2:8: error")
