"""Modules and functions of PyTorch as modules: `hu.from_torch`, and their results beside torch's."""

import functools
import inspect
import math
import re
from collections.abc import Callable
from importlib import import_module
from typing import Any, Literal, TypeVar

import numpy as np
import pytest

import halfulp as hu
from halfulp.conformance.oracles import mlir_opt
from halfulp.importing import torch_programs
from halfulp.importing.torch_graphs import user_frames
from halfulp.interp.ir.base import NameLoc, file_position

TORCH = [pytest.mark.torch, pytest.mark.torch_mlir, pytest.mark.filterwarnings("ignore")]
DIALECTS: tuple[Literal["stablehlo", "linalg"], ...] = ("stablehlo", "linalg")
Test = TypeVar("Test", bound=Callable[..., None])


def torch() -> Any:
    return import_module("torch")


def block() -> Any:
    """A module with a module in it, weights that are the same everywhere, and a constant argument."""

    class Block(torch().nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.up = torch().nn.Linear(2, 2)

        def forward(self, x: Any, times: int, more: dict[str, Any]) -> dict[str, Any]:
            y = self.up(x) * times
            return {"sum": y + more["y"][0], "times": times, "parts": (y, None)}

    class Net(torch().nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.layers = torch().nn.ModuleList([Block()])

        def forward(self, x: Any, times: int, more: dict[str, Any]) -> Any:
            return self.layers[0](x, times, more)

    net = Net().eval()
    with torch().no_grad():
        net.layers[0].up.weight.copy_(torch().tensor([[1.0, 2.0], [3.0, 4.0]]))
        net.layers[0].up.bias.copy_(torch().tensor([0.5, 0.25]))
    return net


def arguments() -> tuple[Any, ...]:
    return torch().tensor([[1.0, 2.0]]), 3, {"y": [torch().tensor([[10.0, 20.0]])]}


def applied(*marks: Any) -> Callable[[Test], Test]:
    return lambda test: functools.reduce(lambda found, mark: mark(found), marks, test)


def test_absent_packages_are_named_with_the_command_that_installs_them(monkeypatch: pytest.MonkeyPatch) -> None:
    for absent in ("torch", "torch_mlir"):
        with monkeypatch.context() as patch:
            patch.setattr(
                "halfulp.importing.common.find_spec", lambda name, absent=absent: None if name == absent else object()
            )
            with pytest.raises(hu.Unsupported, match=f"needs the Python package {absent}, ") as caught:
                hu.from_torch(lambda x: x, np.float32(1))
            assert absent.replace("_", "-") in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"to": "onnx"}, "to is 'onnx', but must be one of stablehlo, linalg, tosa"),
        ({"weights": "inputs"}, "weights is 'inputs', but must be one of constants, arguments, state"),
    ],
)
def test_values_that_options_do_not_have(options: dict[str, Any], message: str) -> None:
    with pytest.raises(hu.errors.InputError, match=message):
        hu.from_torch(lambda x: x, np.float32(1), **options)


def test_arguments_of_the_function_are_bound_before() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'axis': bind arguments by name before the call"):
        hu.from_torch(lambda x, axis: x, np.float32(1), axis=1)
    with pytest.raises(hu.TypeMismatch, match="takes a module or function of torch and its arguments, not int"):
        hu.from_torch(3)


def test_the_frames_of_a_trace_that_users_know() -> None:
    trace = 'File "/a/net.py", line 3, in forward\n  f(x)\nFile "/lib/torch/nn.py", line 9, in g\n'
    assert user_frames(trace, ["/lib/torch/"]) == [("/a/net.py", 3)]
    assert user_frames(trace, ["/lib/torch/", "/a/"]) == [("/lib/torch/nn.py", 9)]
    trace += 'File "/lib/torch/fx/proxy.py", line 287, in create_node\n'
    assert user_frames(trace, ["/lib/torch/", "/a/"]) == [("/lib/torch/nn.py", 9)]


@applied(*TORCH)
@pytest.mark.parametrize("to", DIALECTS)
def test_nested_arguments_and_results_are_flat(to: Any) -> None:
    net, given = block(), arguments()
    module = hu.from_torch(net, *given, to=to)
    total, product = hu.run(module, given[0], given[2]["y"][0])
    # 3 · (x · weightᵀ + bias), and 10, 20 more
    assert (total.tolist(), product.tolist()) == ([[26.5, 53.75]], [[16.5, 33.75]])
    found = hu.compare(net, *given)
    assert [each.name for each in found.outputs] == ["['sum']", "['parts'][0]"]
    assert found.different == 0
    assert str(found).startswith("Net: halfulp beside torch\n")
    with pytest.raises(hu.TypeMismatch, match=r"argument 1 of @main \(more\['y'\]\[0\]\)"):
        hu.run(module, given[0], np.float32(1))


@applied(*TORCH)
def test_results_of_torch_are_judged_by_the_bounds_of_tosa() -> None:
    class Near(torch().nn.Module):  # type: ignore[misc]
        """A tanh that torch exports, and that computes another number in an element."""

        def __init__(self, error: float) -> None:
            super().__init__()
            self.error = error

        def forward(self, x: Any) -> Any:
            y = torch().tanh(x)
            return y if torch().compiler.is_exporting() else y + torch().tensor([0.0, self.error])

    # At 0.5, an error of 4 (3 + 2 / 2) units of f32, times the magnitude of the result, 0.46, is allowed: 8.8e-7.
    x = torch().tensor([0.25, 0.5])
    for error, ok in ((0.0, True), (7e-7, True), (1.1e-6, False)):
        found = hu.compare(Near(error), x, bounds="tosa")
        assert [(each.rule, each.ok) for each in found.verdicts] == [("tanh", ok)]
        assert ("torch is within the bounds of TOSA" if ok else "(rule tanh): 1 of 2 elements") in repr(found)
    assert hu.compare(Near(0.0), x).verdicts == ()
    # A convolution between transposes, a move, and an op that is two operators.
    layers = torch().nn
    net = layers.Sequential(layers.Conv2d(1, 2, 3), layers.Flatten(), layers.Linear(8, 2)).eval()
    ops = hu.compare(net, torch().ones(1, 1, 4, 4), bounds="tosa").ops
    rules = [[(verdict.op, verdict.rule, verdict.ok) for verdict in op.verdicts] for op in ops]
    assert rules[0] == [("tosa.conv2d", "dot-product", True)]
    assert rules[1] == [("tosa.reshape", "exact", True)]
    assert "these compute: tosa.matmul, tosa.add" in str(ops[2])
    assert [op.name for op in ops] == ["conv2d", "flatten", "linear"]
    with pytest.raises(hu.HalfulpError, match="bounds is 'ulp'"):
        hu.compare(Near(0.0), x, bounds="ulp")  # type: ignore[arg-type]


@applied(*TORCH)
def test_arrays_and_values_are_arguments() -> None:
    low = hu.convert([1.5, 2], "bf16")
    (found,) = hu.run(hu.from_torch(lambda x, y: x + y, low, low.numpy()), low, low)
    assert (str(found.type), found.tolist()) == ("tensor<2xbf16>", [3, 4])


@applied(*TORCH)
@pytest.mark.parametrize("to", DIALECTS)
def test_ops_and_weights_have_the_names_and_lines_of_the_program(to: Any) -> None:
    net, given = block(), arguments()
    module = hu.from_torch(net, *given, to=to)
    forward = type(net.layers[0]).forward
    line = inspect.getsourcelines(forward)[1] + 1
    product = next(op for op in module.walk() if op.name in ("stablehlo.dot", "linalg.matmul"))
    assert isinstance(product.location, NameLoc)
    assert product.location.name == "layers.0.up"
    place = file_position(product.location)
    assert place is not None
    assert (place.file, place.line) == (__file__, line)
    assert "layers.0.up.weight" in {op.results[0].label for op in module.walk() if len(op.results) == 1}
    errors = str(hu.trace(net, *given, shadow=True).errors)
    assert f"test_torch_programs.py:{line}" in str(hu.rank(net, *given, formats="f8E4M3FN")), errors


@applied(*TORCH)
def test_lines_of_functions_that_a_function_calls() -> None:
    def helper(x: Any) -> Any:
        return torch().exp(x)

    module = hu.from_torch(lambda x: helper(x), np.array([1], np.float32))
    (found,) = (op for op in module.walk() if op.name == "stablehlo.exponential")
    place = file_position(found.location)
    assert place is not None
    assert place.line == inspect.getsourcelines(helper)[1] + 1


@applied(*TORCH)
def test_weights_are_arguments_in_the_order_of_the_state() -> None:
    net, given = block(), arguments()
    module = hu.from_torch(net, *given, weights="arguments")
    labels = [each.label for each in module.body[0].regions[0].blocks[0].arguments]
    assert labels == ["layers.0.up.weight", "layers.0.up.bias", "x", "more['y'][0]"]
    weight, bias = net.state_dict().values()
    total, _ = hu.run(module, 2 * weight, bias, given[0], given[2]["y"][0])
    assert total.tolist() == [[41.5, 86.75]]


@applied(*TORCH)
@pytest.mark.parametrize("to", DIALECTS)
def test_open_sizes(to: Any) -> None:
    # To torch a size of 1 is not open.
    net, given = block(), torch().utils._pytree.tree_map_only(torch().Tensor, lambda x: x.repeat(2, 1), arguments())
    rows = {0: torch().export.Dim("rows")}
    shapes: Any
    for shapes in ((rows, None, {"y": [rows]}), {"x": rows, "more": {"y": [rows]}}):
        module = hu.from_torch(net, *given, to=to, dynamic_shapes=shapes)
        x = np.array([[1, 2], [0, 1], [1, 0]], np.float32)
        assert hu.run(module, x, x)[0].tolist() == [[17.5, 35.75], [7.5, 13.75], [5.5, 9.75]]
    with pytest.raises(hu.errors.InputError, match="dynamic_shapes of the arguments must have 3 entries"):
        hu.from_torch(net, *given, dynamic_shapes=(rows,))


@applied(*TORCH)
def test_a_program_of_torch_export() -> None:
    given = arguments()
    program = torch().export.export(block(), given)
    for to in DIALECTS:
        (total, _) = hu.run(hu.from_torch(program, to=to), given[0], given[2]["y"][0])
        assert total.tolist() == [[26.5, 53.75]]
    assert hu.run(program, *given)[0].tolist() == [[26.5, 53.75]]
    assert hu.compare(program, *given).different == 0
    with pytest.raises(hu.errors.InputError, match="has its arguments: give only"):
        hu.from_torch(program, *given)


@applied(*TORCH)
def test_what_cannot_be_lowered_is_named_with_its_line() -> None:
    def f(x: Any) -> Any:
        return torch().linalg.svd(x)[1]

    with pytest.raises(hu.Unsupported, match=r"failed to legalize operation 'torch\.aten\._linalg_svd'") as caught:
        hu.from_torch(f, np.ones((2, 2), np.float32))
    place = file_position(caught.value.location)  # type: ignore[arg-type]
    assert place is not None
    assert (place.file, place.line) == (__file__, inspect.getsourcelines(f)[1] + 1)
    layer = torch().nn.Linear(3, 2)
    with pytest.raises(RuntimeError, match="same dtype"):
        layer(torch().ones(1, 3, dtype=torch().float64))
    with pytest.raises(
        hu.TypeMismatch, match="Linear: torch computes linear of operands of one dtype, not float64, float32"
    ):
        hu.run(layer, np.ones((1, 3)))


def stateful() -> Any:
    """A module that writes a buffer, a part of another one, and its argument, assigns a buffer that is not saved and an
    attribute, and reads all of them.
    """

    class Counter(torch().nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.seen: Any
            self.register_buffer("seen", torch().zeros(2), persistent=False)
            self.register_buffer("calls", torch().tensor(3))
            self.last = torch().tensor([7.0, 7.0])

        def forward(self, x: Any) -> Any:
            self.calls.add_(1)
            self.seen = self.seen + x
            old, self.last = self.last, x * 2
            return self.seen + old

    class Net(torch().nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.counter = Counter()
            self.register_buffer("cache", torch().zeros(3, 2))
            self.weight = torch().nn.Parameter(torch().tensor([1.0, 10.0]))

        def forward(self, x: Any, place: Any, out: Any) -> Any:
            self.cache.index_copy_(0, place, x[None])
            out[1] = x * self.weight
            return self.cache.sum(0), {"old": self.counter(x)}

    return Net()


NAMES = ["cache", "counter.calls", "counter.seen", "counter.last", "out"]
"""What the module above writes: what it saves, what it does not, and its argument."""


@applied(*TORCH)
@pytest.mark.parametrize("to", [*DIALECTS, "tosa"])
def test_new_values_of_what_a_program_writes_are_its_last_results(to: Any) -> None:
    net, given = stateful(), (torch().tensor([1.0, 2.0]), torch().tensor([2]), torch().zeros(2, 2))
    module = hu.from_torch(net, *given, to=to)
    assert re.findall(r'halfulp.result_info = "([^"]*)"', hu.print_module(module)) == NAMES
    found = [value.tolist() for value in hu.run(module, *given)]
    assert found[:2] == [[1, 2], [8, 9]]
    assert found[2:] == [[[0, 0], [0, 0], [1, 2]], 4, [1, 2], [2, 4], [[0, 0], [1, 20]]]
    # As arguments, the state of one step is that of the next.
    module = hu.from_torch(net, *given, to=to, weights="state")
    labels = [each.label for each in module.body[0].regions[0].blocks[0].arguments]
    assert labels == [*NAMES[:4], "x", "place", "out"]
    _, _, *state, out = hu.run(
        module, np.zeros((3, 2), np.float32), np.int64(3), *np.array([[0, 0], [7, 7]], np.float32), *given
    )
    found = [value.tolist() for value in hu.run(module, *state, given[0], np.array([0]), out)]
    assert found[:2] == [[2, 4], [4, 8]]
    assert found[2:] == [[[1, 2], [0, 0], [1, 2]], 5, [2, 4], [2, 4], [[0, 0], [1, 20]]]


@applied(*TORCH)
def test_writing_programs_beside_torch_and_as_exported() -> None:
    net, given = stateful(), (torch().tensor([1.0, 2.0]), torch().tensor([2]), torch().zeros(2, 2))
    report = hu.compare(net, *given)
    assert [each.name for each in report.outputs] == ["[0]", "[1]['old']", *NAMES]
    assert report.different == 0
    # Neither the module nor the arguments changed.
    assert (net.counter.calls.item(), net.counter.seen.tolist(), net.counter.last.tolist()) == (3, [0, 0], [7, 7])
    assert (net.cache.tolist(), given[2].tolist()) == ([[0, 0]] * 3, [[0, 0]] * 2)
    # torch.export itself loses what a module inside of a module assigns.
    del net.counter
    net.forward = lambda x, out: (net.cache.add_(x), out.mul_(2))[0] * net.weight
    program = torch().export.export(net, (given[0], torch().ones(2, 2)))
    report = hu.compare(program, given[0], torch().ones(2, 2))
    assert [(each.name, each.different) for each in report.outputs] == [("", 0), ("cache", 0), ("out", 0)]
    module = hu.from_torch(program, weights="arguments")
    assert [each.label for each in module.body[0].regions[0].blocks[0].arguments] == ["weight", "cache", "x", "out"]


@applied(*TORCH)
@pytest.mark.parametrize("to", ["stablehlo", *(pytest.param(to, marks=pytest.mark.long) for to in ("linalg", "tosa"))])
def test_batch_norm_in_training(to: Any) -> None:
    nn = torch().nn
    net = nn.Sequential(nn.BatchNorm1d(2, eps=1e-30, momentum=0.5), nn.BatchNorm1d(2, eps=1e-30).eval())
    x = torch().tensor([[1.0, 2.0], [3.0, 6.0]])
    module = hu.from_torch(net, x, to=to)
    y, mean, variance, batches = (value.tolist() for value in hu.run(module, x))
    # The means are 2 and 4, the variances 1 and 4 of the batch, and 2 and 8 as an estimate. The second norm is frozen.
    assert y == [[-1, -1], [1, 1]]
    assert (mean, variance, batches) == ([1, 2], [1.5, 4.5], 1)
    assert [each.training for each in net] == [True, False]
    assert hu.compare(net, x, bounds="tosa" if to == "tosa" else None).different == 0


@applied(*TORCH)
@pytest.mark.parametrize("to", [*DIALECTS, "tosa"])
def test_ops_that_torch_mlir_computes_wrongly(to: Any) -> None:
    """linalg of torch-mlir drops a padding whose sizes add to 0, and StableHLO runs out of memory at slices. All compare
    constant floats with the bits of an integer, and give a remainder of constants the sign of the dividend; StableHLO
    does so for all remainders. linalg compares with numbers that torch rounds to f32. fmod is made of a rounded
    quotient.
    """

    def f(x: Any, y: Any) -> Any:
        out = x.clone()
        out[1:] = y
        constants = torch().ones(2) == 1, torch().full((1,), 3.0) < 2
        return torch().nn.functional.pad(x, (1, -1), value=9.0), out, *constants, x / 10 == 0.1, x * 2**24 > 2**24 + 1

    x, y = np.array([1, 2, 3], np.float32), np.array([7, 8], np.float32)
    found = hu.run(hu.from_torch(f, x, y, to=to), x, y)
    rounded = [[True, False, False], [False, True, True]]
    assert [value.tolist() for value in found] == [[9, 1, 2], [1, 7, 8], [True, True], [False], *rounded]

    def remainders(x: Any) -> Any:
        seven, yes = torch().full((300,), -7), torch().full((2,), True)
        return seven[:2] % 3, yes + 1 > 1, seven.double()[0] - 0.1, x % -3, -x % torch().full((3,), 2.0)

    found = hu.run(hu.from_torch(remainders, x, to=to), x)
    assert [value.tolist() for value in found] == [[2, 2], [True] * 2, -7 - 0.1, [-2, -1, 0], [1, 0, 1]]
    if to != "tosa":
        a = np.array([2.5, -2.5, -0.0, np.inf, 7], np.float32)
        quotients = hu.run(hu.from_torch(lambda x: torch().fmod(x, -0.1), a, to=to), a)
        exact = [math.fmod(each, np.float32(-0.1)) if np.isfinite(each) else np.nan for each in a]
        np.testing.assert_array_equal(np.asarray(quotients[0].numpy()), np.array(exact, np.float32))
        assert np.signbit(quotients[0].numpy()).tolist()[1:3] == [True, True]


@applied(*TORCH)
@pytest.mark.parametrize("to", [*DIALECTS, "tosa"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_numbers_beside_narrow_floats_are_those_of_f32(dtype: str, to: Any) -> None:
    """PyTorch computes these in f32, with the number rounded to f32, and rounds the result; torch-mlir rounds 0.1 to the
    dtype. In linalg, it adds booleans as integers of one bit.
    """

    def f(x: Any) -> Any:
        functions = torch().nn.functional
        return x * 0.1, x / 0.1, functions.leaky_relu(x), functions.elu(x, 0.3) > -0.1

    x = torch().linspace(-3, 3, 301).to(getattr(torch(), dtype))
    found = hu.run(hu.from_torch(f, x, to=to), x)
    assert [value.tolist() for value in found] == [each.tolist() for each in f(x)]
    if to != "tosa":
        yes = np.array([True, False])
        assert hu.run(hu.from_torch(lambda x: x + True, yes, to=to), yes)[0].tolist() == [True, True]


@applied(*TORCH)
def test_weights_that_two_modules_share() -> None:
    nn = torch().nn
    net = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False))
    net[1].weight = net[0].weight
    x = torch().tensor([[1.0, 2.0]])
    module = hu.from_torch(net, x, weights="arguments")
    (found,) = hu.run(module, np.array([[1, 1], [0, 1]], np.float32), np.array([[2, 0], [0, 3]], np.float32), x)
    assert found.tolist() == [[4, 18]]


WRONG: dict[str, tuple[Callable[[Any], Any], str]] = {
    "a class": (lambda x: hu.from_torch(torch().nn.Linear, x), r"Linear is a class.*Linear\(…\)"),
    "too few": (lambda x: hu.from_torch(lambda x, y: x, x), r"does not take 1 argument: missing .*'y'"),
    "too many": (lambda x: hu.from_torch(torch().nn.ReLU(), x, x), "ReLU.* does not take 2 arguments: too many"),
    "sparse": (lambda x: hu.from_torch(lambda x: x, x.to_sparse()), r"x is a tensor of the kind .*x.to_dense\(\)"),
    "no values": (lambda x: hu.run(torch().nn.ReLU(), x.to("meta")), "has no values"),
    "objects": (lambda x: hu.from_torch(lambda x: x, np.array([None])), "the dtype object, which torch does not"),
    "no tensor": (lambda x: hu.from_torch(lambda x: None, x), "returns no tensor"),
    "a set": (lambda x: hu.from_torch(lambda x: {x}, x), "returns tensors in a set, which torch does not open"),
    "dropout": (lambda x: hu.from_torch(torch().nn.Dropout(), x, to="tosa"), r"draws random numbers.*eval\(\)"),
    "mask": (lambda x: hu.from_torch(lambda x: x[x > 0], x), r"aten.index.Tensor is known only in a run.*torch\.where"),
    "gradient": (
        lambda x: hu.from_torch(torch().func.grad(lambda x: (x * x).sum()), x),
        "cannot trace the gradients.*make_fx",
    ),
    "an unknown argument": (
        lambda x: hu.from_torch(lambda x: x, x, dynamic_shapes={0: None}),  # type: ignore[dict-item]
        "the key 0, but the arguments are x",
    ),
    "an unknown axis": (
        lambda x: hu.from_torch(lambda x: x, x, dynamic_shapes=({2: torch().export.Dim("n")},)),
        "has the axes 2, but the rank is 2",
    ),
}


@applied(*TORCH)
@pytest.mark.parametrize("name", WRONG)
def test_wrong_input(name: str) -> None:
    call, message = WRONG[name]
    with pytest.raises(hu.HalfulpError) as caught:
        call(torch().ones(2, 2))
    assert re.search(message, str(caught.value), re.DOTALL)


@applied(*TORCH)
def test_errors_of_torch_have_a_note(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(Exception, match="data-dependent") as caught:
        hu.from_torch(lambda x: x if x.sum() > 0 else -x, torch().ones(2))
    assert "torch.where" in " ".join(caught.value.__notes__)
    with pytest.raises(RuntimeError):
        hu.from_torch(torch().nn.Linear(2, 2), torch().ones(3))
    assert capfd.readouterr().err == ""


@applied(*TORCH)
def test_passes_that_never_answer_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_programs, "SECONDS", 0.05)
    # A child that is not asked does not answer, however fast it is.
    monkeypatch.setattr(mlir_opt._Child, "send", lambda child, request: None)
    with pytest.raises(hu.errors.LimitExceeded, match=r"did not end in 0\.05 s"):
        hu.from_torch(lambda x: x + 1, np.array([1], np.float32))


@applied(*TORCH)
def test_a_module_of_torch_in_another_place_is_named_with_what_takes_it() -> None:
    model = torch().nn.Linear(2, 2).eval()
    with pytest.raises(hu.TypeMismatch, match="takes a function of JAX, not a Linear of torch") as caught:
        hu.from_jax(model, np.float32(1))
    assert "hu.from_torch(model, x)" in (caught.value.hint or "")
    with pytest.raises(hu.TypeMismatch, match="reads a file, not a torch module") as caught:
        hu.from_onnx(model)
    assert "hu.from_torch(model, x)" in (caught.value.hint or "")
    with pytest.raises(hu.TypeMismatch, match="TorchScript") as caught:
        hu.run(torch().jit.script(model), torch().ones(1, 2))
    assert "torch.jit.script" in (caught.value.hint or "")
