"""The checks of a target of TOSA. The words are those of `tosa-validate` of LLVM 24, which were recorded."""

from collections.abc import Sequence

import pytest
from amounts import thinned
from tables import each_row

import halfulp as hu
from halfulp.conformance.oracles.mlir_opt import find_bindings
from halfulp.interp.dialects.tosa.compliance import rows_of

DRAFT = "1.1.draft,pro_int,pro_fp"


def _function(line: str, arguments: str) -> str:
    return f"func.func @f({arguments}) {{\n{line}\nreturn\n}}\n"


def _unary(name: str, before: str, after: str, shape: str = "4x") -> str:
    one, other = f"tensor<{shape}{before}>", f"tensor<{shape}{after}>"
    return _function(f"%0 = tosa.{name} %a : ({one}) -> {other}", f"%a: {one}")


def _messages(program: str, target: str) -> list[str]:
    return [error.message.rstrip("\n") for error in hu.tosa_problems(program, target)]


_NEEDED = "to be specified in the target environment"
_UNARY = _unary("exp", "bf16", "bf16")
_ARGMAX = _function("%0 = tosa.argmax %a {axis = 0 : i32} : (tensor<4xf16>) -> tensor<i64>", "%a: tensor<4xf16>")
_GATHER = _function(
    "%0 = tosa.gather %a, %b : (tensor<1x4x8xi8>, tensor<1x4xi32>) -> tensor<1x4x8xi8>",
    "%a: tensor<1x4x8xi8>, %b: tensor<1x4xi32>",
)
_TABLE = _function(
    "%0 = tosa.table %a, %b : (tensor<4xi8>, tensor<256xi8>) -> tensor<4xi8>", "%a: tensor<4xi8>, %b: tensor<256xi8>"
)


def _pool(kernel: int) -> str:
    return _function(
        f"%0 = tosa.max_pool2d %a {{kernel = array<i64: {kernel}, 1>, pad = array<i64: 0, 0, 0, 0>, "
        f"stride = array<i64: 1, 1>}} : (tensor<1x{kernel}x4x1xf32>) -> tensor<1x1x4x1xf32>",
        f"%a: tensor<1x{kernel}x4x1xf32>",
    )


def _reshape(size: int) -> str:
    constant = f'%s = "tosa.const_shape"() <{{values = dense<{size}> : tensor<1xindex>}}> : () -> !tosa.shape<1>'
    return _function(
        f"{constant}\n%0 = tosa.reshape %a, %s : (tensor<4xf32>, !tosa.shape<1>) -> tensor<4xf32>", "%a: tensor<4xf32>"
    )


def _choice(condition: str) -> str:
    return _function(
        f"%0 = tosa.cond_if {condition} : tensor<i1> -> tensor<f32> {{\ntosa.yield %a : tensor<f32>\n}} else {{\n"
        "tosa.yield %a : tensor<f32>\n}",
        "%a: tensor<f32>, %c: tensor<i1>",
    )


@each_row(
    (_UNARY, "1.0,8k", []),
    (_UNARY, "strict", [f"'tosa.exp' op illegal: requires any of [bf16] profiles/extensions {_NEEDED}"]),
    (_UNARY, "strict,bf16", []),
    (
        _UNARY,
        "bf16,pro_int",
        ["use of extension 'bf16' requires any of profiles: [pro_fp] to be enabled in the target"],
    ),
    (
        _UNARY,
        "mxfp",
        ["extension 'mxfp' is not compatible with the target version 1.0, minimum required version is 1.1.draft"],
    ),
    (
        _unary("exp", "f32", "f32"),
        "pro_int,strict",
        [f"'tosa.exp' op illegal: requires any of [pro_fp] profiles/extensions {_NEEDED}"],
    ),
    (
        _ARGMAX,
        "strict",
        [
            "'tosa.argmax' op illegal: requires specification version compatible with 1.1.draft (got 1.0) and requires "
            f"any of [int64] profiles/extensions {_NEEDED}"
        ],
    ),
    (_ARGMAX, f"{DRAFT},strict,int64", []),
    (_GATHER, "pro_fp,strict,1.1.draft", []),
    (
        _unary("abs", "i8", "i8"),
        "",
        [
            "'tosa.abs' op illegal: operation operand/result data types did not align with any profile or extension, "
            "got (i8,i8), did you mean (i32,i32)? Otherwise, please refer to the 'supported data types' for 'tosa.abs' "
            "in the specification."
        ],
    ),
    (_unary("abs", "f64", "f64"), "", ["'tosa.abs' op is not profile-aligned: element type 'f64' is not legal"]),
    (
        _unary("abs", "f32", "f32", "1x1x1x1x1x1x1x"),
        "",
        ["'tosa.abs' op failed level check: operand rank(shape) <= MAX_RANK"],
    ),
    (_unary("abs", "f32", "f32", "1x1x1x1x1x1x1x"), "none", []),
    (
        _unary("abs", "f32", "f32", "?x"),
        "",
        [
            "'tosa.abs' op failed level check: operand shape dimension cannot be dynamic when targeting TOSA "
            "specification version 1.0 or below"
        ],
    ),
    (_unary("abs", "f32", "f32", "?x"), DRAFT, []),
    (
        _unary("abs", "f32", "f32", "1073741824x"),
        "",
        ["'tosa.abs' op failed level check: operand tensor size (in bytes) <= (1 << MAX_LOG2_SIZE - 1)"],
    ),
    (_pool(8192), "", []),
    (_pool(9000), "", ["'tosa.max_pool2d' op failed level check: kernel <= MAX_KERNEL (8192), got 9000"]),
    (_TABLE, "", ["'tosa.table' op expected compile time resolvable constant, but got variable value for operand #1"]),
    (_TABLE, "dynamic", []),
    (_reshape(-1), "", []),
    (
        _reshape(-1),
        "strict",
        [
            "'tosa.reshape' op shape input contains inferable dimension (-1) which does not conform to the TOSA "
            "specification"
        ],
    ),
    (_choice("%c"), "strict", [f"'tosa.cond_if' op illegal: requires any of [controlflow] profiles/extensions {_NEEDED}"]),
    (
        _choice("%c"),
        "strict,controlflow",
        [
            "'tosa.cond_if' op is not conformant to the TOSA specification. It requires the 'then' region is isolated "
            "from above."
        ],
    ),
)  # fmt: skip
def test_words_are_those_of_tosa_validate(program: str, target: str, expected: list[str]) -> None:
    assert _messages(program, target) == expected


def test_a_module_names_its_target() -> None:
    words = 'specification_version = "1.1.draft", level = "8k", profiles = [pro_fp], extensions = [bf16, int64]'
    module = f"module attributes {{tosa.target_env = #tosa.target_env<{words}>}} {{\n{_UNARY}}}"
    assert _messages(module, "module,strict") == []
    assert _messages(module.replace("bf16, ", ""), "module,strict") != []
    assert _messages(module, " module, strict ") == []
    for words, message in (
        ("fp32", "'fp32' is not part of a target of TOSA"),
        ("1.0,8k,1.1.draft", "has one version, not 1.0 and 1.1.draft"),
        ("8k,none", "has one level, not 8k and none"),
    ):
        with pytest.raises(hu.errors.InputError, match=message):
            hu.tosa_problems(module, words)


_BINARY = ("add", "sub", "maximum", "pow", "bitwise_and", "logical_and", "intdiv")
_UNARIES = ("abs", "exp", "cast", "clz", "bitwise_not", "logical_not", "identity")


def _programs() -> list[str]:
    """Return a program for each row of some ops whose types are all there is to them."""
    found = []
    for name in (*_UNARIES, *_BINARY):
        for row in rows_of(f"tosa.{name}"):
            if any(type_.startswith("bs:") for type_ in row.types):
                continue
            types = [f"tensor<4x{'!tosa.' * (type_ == 'mxint8')}{type_}>" for type_ in row.types]
            names = ["%a", "%b"][: len(types) - 1]
            line = f"%0 = tosa.{name} {', '.join(names)} : ({', '.join(types[:-1])}) -> {types[-1]}"
            arguments = ", ".join(f"{each}: {type_}" for each, type_ in zip(names, types, strict=False))
            found.append(_function(line, arguments))
    return found


def _asked(target: Sequence[str], program: str) -> list[str]:
    version, profiles, extensions = target
    attach = f"tosa-attach-target{{specification_version={version} level=8k"
    attach += f" profiles={profiles}" * bool(profiles) + f" extensions={extensions}" * bool(extensions)
    passes = f"builtin.module({attach}}},tosa-validate{{strict-op-spec-alignment=true}})"
    done = find_bindings().finished([f"--pass-pipeline={passes}"], program, 60)
    return [line.partition("error: ")[2] for line in done.said.splitlines() if "error: " in line]


@pytest.mark.torch_mlir
@pytest.mark.parametrize("program", thinned(_programs(), 20))
def test_rows_are_those_of_llvm_24(program: str) -> None:
    for target in (("1.0", "pro_int", ""), ("1.1.draft", "pro_fp", "bf16"), ("1.1.draft", "pro_int,pro_fp", "")):
        words = ",".join(filter(None, (*target, "strict")))
        assert _messages(program, words) == _asked(target, program), target
