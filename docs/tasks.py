"""The Python API by task: which public names serve it, and an example of each. `generate.py` makes the page of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Task(NamedTuple):
    """What a user wants to do: a heading, a sentence with links, and the public names with their examples.

    An example is a program after ``import halfulp as hu`` and ``import numpy as np``. The page shows it with what it
    prints. A class that calls return, a table and an error need none. ``needs``: Python packages of extras that the
    examples need. Without them the page keeps what is printed there.
    """

    title: str
    intro: str
    names: Mapping[str, str]
    needs: tuple[str, ...] = ()


TASKS = (
    Task(
        "Make values and convert them",
        "A `Value` is an array of numbers of one MLIR type. See [Recipes](recipes.md) and [Float formats](formats.md).",
        {
            "convert": """
print(hu.convert([0.3, 465, -0.0], "f8E4M3FN"))
print(hu.convert(0.3, "float8_e4m3fn", rounding="up").item())
""",
            "Value": """
v = hu.Value.from_numpy(np.array([0.5, 1.5], np.float32))
w = hu.Value.from_bits([0x3FC0, 0x4000], "bf16")
print(v + 1, v[0], w.tolist(), np.maximum(v, 1.0))
""",
        },
    ),
    Task(
        "Ask about a format",
        "[Float formats](formats.md) lists all formats, and [Recipes](recipes.md) shows how to choose one.",
        {
            "float_format": """
f8 = hu.float_format("float8_e4m3fn")
print(f8, f8.bits, f8.max_value, f8.min_normal_value, f8.min_positive_value)
""",
            "float_formats": """
print([name for name, fmt in hu.float_formats.items() if fmt.bits == 8])
""",
            "FloatFormat": """
my6 = hu.FloatFormat("my6", exponent_bits=3, mantissa_bits=2, bias=3)
print(hu.convert([0.1, 0.125, 20], my6))
""",
            "register.format": """
hu.register.format(hu.FloatFormat("e3m4x", exponent_bits=3, mantissa_bits=4, bias=3))
print(hu.convert([0.1, 20], "e3m4x"), hu.convert(0.1, "binary8p4se"))
""",
            "fixed.FixedFormat": """
print(hu.fixed.FixedFormat(8, 4, rounding="AC_RND_CONV", overflow="AC_SAT"))
""",
            "fixed.array": """
x = hu.fixed.array([0.3, -1.7, 100.0], hu.fixed.FixedFormat(8, 4, rounding="AC_RND_CONV", overflow="AC_SAT"))
print(x, x.codes)
""",
            "fixed.FixedArray": """
x = hu.fixed.array([0.5, -1.25], hu.fixed.FixedFormat(6, 3))
print(x * x, (x + x).to(hu.fixed.FixedFormat(4, 3)).numpy())
""",
            "quant.requantize": """
print(hu.quant.requantize([1000, -1000, 10**6], *hu.quant.multiplier(0.0625), "cmsis-nn"))
""",
            "quant.multiplier": """
print(hu.quant.multiplier(0.0625))
""",
            "p3109.eval": """
print(hu.p3109.eval("Add", [200.0, 3.0], [100.0, 0.1], type="binary8p4se", rounding="ToOdd", saturation="SatFinite"))
""",
            "p3109.kappa": """
print(hu.p3109.kappa(lambda x: hu.eval("math.exp", x), "Exp", "binary8p3se"))
""",
            "register.NanEncoding": """
print(hu.float_format("f8E4M3FN").nan is hu.register.NanEncoding.ALL_ONES)
""",
            "ulp": """
print(hu.ulp([1.0, 300.0], "f8E4M3FN"))
""",
            "next_up": """
print(hu.next_up(1.0, "bf16"))
""",
            "next_down": """
print(hu.next_down(1.0, "bf16"))
""",
            "neighbours": """
print(hu.neighbours(0.3, "f8E4M3FN"))
""",
            "all_values": """
print(hu.all_values("f4E2M1FN"))
""",
        },
    ),
    Task(
        "Measure errors",
        "[Errors and scales](measuring.md) explains the figures. [Recipes](recipes.md#find-the-error) shows how to "
        "compare with a result of your own. `hu.accuracy` measures a whole function, `hu.program_accuracy` a program.",
        {
            "error": """
print(hu.error([0.1, 0.3, 500.0], to="f8E4M3FN"))
""",
            "accuracy": """
# Rounded twice: to f16 first, and from there to f8E5M2.
found = hu.accuracy("exp", "f8E5M2", lambda x: np.exp(x.astype(np.float16)).astype(x.dtype))
print(found.wrong, found.wrong_special, found.max_ulp)
print(found.example_text(found.tally.worst))
""",
            "program_accuracy": """
text = \"\"\"func.func @f(%x: f16) -> f16 {
  %0 = math.exp %x : f16
  %1 = arith.divf %x, %0 : f16
  return %1 : f16
}\"\"\"
found = hu.program_accuracy(text, 3.0)
print(found.runs[0].max_ulp)
""",
            "compare_formats": """
print(hu.compare_formats(np.linspace(0.001, 3, 1000), ["f4E2M1FN", "f8E4M3FN", "f8E5M2", "bf16"]))
""",
            "quant.suggest_scale": """
x = np.linspace(-1, 1, 1000) ** 3
print(hu.quant.suggest_scale(x, "f4E2M1FN", "mse"))
""",
        },
    ),
    Task(
        "Add and multiply",
        "The order of the additions and the type of the sum are arguments. Operators of `Value` compute one op each.",
        {
            "sum": """
x = hu.convert(np.full(1000, 0.1), "bf16")
print(hu.sum(x), hu.sum(x, acc="f32"), hu.sum(x, order="pairwise"))
""",
            "Accumulator": """
unit = hu.Accumulator(group=4, bits=12, rounding="toward_zero")
print(hu.dot(hu.convert([1.5, 2.5], "bf16"), hu.convert([0.5, 4.0], "bf16"), acc="f32", mma=unit))
""",
            "dot": """
print(hu.dot(hu.convert([1.5, 2.5], "bf16"), hu.convert([0.5, 4.0], "bf16"), acc="f32"))
""",
            "matmul": """
a = hu.convert([[1.0, 2.0], [3.0, 4.0]], "f8E4M3FN")
print(hu.matmul(a, a, acc="f32"))
""",
        },
    ),
    Task(
        "Find out which chip computed",
        "Chips add in different ways. Therefore results can show which chip computed them. See [Matrix"
        " units](matrix-units.md#find-the-chip-that-gave-a-result).",
        {
            "which_chip": """
a, b, d = [1.0, 2**-13], [1.0, -(2**-12)], [1 - 2**-24]
print([name for match in hu.which_chip(a, b, None, d, type="f16", acc="f32").chips for name in match.names])
""",
            "tell_apart": """
print(hu.tell_apart("chip:a100", "chip:h100", type="f16", count=2))
""",
            "fit_accumulator": """
a, b, d = [[1.0, 2**-6], [1.0, 1.25]], [[1.0, 2**-6], [1.0, 0.5]], [1.0, 1.625]  # 1 + 2^-12 gives 1
found = hu.fit_accumulator(a, b, None, d, type="f8E5M2", acc="f16")
print(found.explained, "bits" in found.open, len(found.next) > 0)
""",
        },
    ),
    Task(
        "Round a function of your own",
        "Compute any function of exact real numbers, and round the result once. See "
        "[Recipes](recipes.md#round-a-function-of-your-own).",
        {
            "round": """
x = hu.convert([-1.0, 0.5, 100.0], "bf16")
print(hu.round(lambda x: x / (1 + (-x).exp()), x))
print(hu.round("x / (1 + exp(-x))", x, to="f8E4M3FN", rounding="downward"))
""",
            "round_rows": """
x = hu.convert([[1.0, 2.0, 3.0], [0.5, 0.5, 0.5]], "bf16")
print(hu.round_rows("softmax", x))
print(hu.round_rows("layer_norm", x, eps="1e-5", to="f32"))
""",
            "Real": """
tenth = hu.Real("0.1")
print(hu.round(lambda x: tenth * x - x / 10, 3.0), hu.round(lambda x: 0.1 * x - x / 10, 3.0))
""",
        },
    ),
    Task(
        "Quantise",
        "[Recipes](recipes.md#quantise-per-channel) shows how to quantise per channel and in blocks. The rules are in "
        "[Quantising](quantizing.md).",
        {
            "quant.type": """
print(hu.quant.type("i8", "f32", scale=0.1, zero_point=3))
""",
            "quant.pack": """
blocks = hu.quant.pack(np.array([-8.0, 7.0, 0.5, 3.25] * 8, np.float32), "Q4_0")
print(blocks, blocks.scales, blocks.dequantize()[:4])
""",
            "quant.unpack": """
words = np.array([[0x76543210]], np.int32)
layer = hu.quant.unpack("awq", words, words, np.array([[0.5] * 8], np.float16))
print(layer, layer.elements, layer.dequantize())
""",
            "quant.hadamard": """
x = np.array([100.0] + [0.0] * 15, np.float32)
print(hu.quant.hadamard(x), hu.quantize_blocks(hu.quant.hadamard(x), recipe="nvfp4-te").scales)
""",
            "quantize": """
print(hu.quantize(np.array([0.05, 1.0, 100.0], np.float32), 0.1))
""",
            "dequantize": """
q = hu.quantize(np.array([0.05, 1.0, 100.0], np.float32), 0.1)
print(hu.dequantize(q))
""",
            "quantize_blocks": """
x = np.array([6.5, 1.25, -0.3, 0.01] * 8, np.float32)
blocks = hu.quantize_blocks(x, "f4E2M1FN", recipe="rceil")
print(blocks.scales, blocks.dequantize()[:4])
""",
        },
    ),
    Task(
        "Read and write weights",
        "[Files of tensors](inputs.md#files-of-tensors) lists the kinds of files.",
        {
            "write_tensors": """
hu.write_tensors("/tmp/golden.npz", {"x": np.array([0.5, 1.5], np.float32), "y": hu.convert([0.3, 465], "bf16")})
print(np.load("/tmp/golden.npz")["x"])
""",
            "open_tensors": """
x, y = np.array([0.5, 1.5], np.float32), hu.convert([0.3, 465], "f8E4M3FN")
hu.write_tensors("/tmp/golden.safetensors", {"x": x, "y": y})
tensors = hu.open_tensors("/tmp/golden.safetensors")
print(tensors)
print(tensors["y"], tensors.types["x"])
""",
        },
    ),
    Task(
        "Run ops and programs",
        "[Running programs](running.md) describes arguments, batches and speed. [Ops](ops.md) lists all ops.",
        {
            "eval": """
print(hu.eval("arith.addf", 1.375, 2.25, type="f8E4M3FN"))
print(hu.eval("arith.cmpf", 1.0, float("nan"), type="f16", predicate="ult"))
""",
            "run": '''
program = """
func.func @main(%x: tensor<3xf32>) -> tensor<3xf8E4M3FN> {
  %0 = arith.truncf %x : tensor<3xf32> to tensor<3xf8E4M3FN>
  return %0 : tensor<3xf8E4M3FN>
}"""
(result,) = hu.run(program, np.array([0.3, 464, 465], np.float32))
print(result)
''',
            "load": """
module = hu.load("func.func @main(%x: f32) -> f32 { return %x : f32 }")
print(hu.run(module, np.float32(0.5)))
""",
            "Module": """
module = hu.load("func.func @main(%x: f32) -> f32 { return %x : f32 }")
print([op.name for op in module.walk()])
""",
            "Buffer": '''
program = """
func.func @main(%m: memref<2xf32>) {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1.5 : f32
  memref.store %1, %m[%0] : memref<2xf32>
  return
}"""
memory = hu.Buffer.from_numpy(np.zeros(2, np.float32))
hu.run(program, memory)
print(memory.numpy())
''',
            "Listener": """

class Names(hu.Listener):
    def op_did_run(self, op, operands, results):
        print(op.name, *results)


program = "func.func @main(%x: f32) -> f32 { %0 = arith.negf %x : f32  return %0 : f32 }"
hu.run(program, np.float32(1.5), listeners=[Names()])
""",
        },
    ),
    Task(
        "Run programs in other languages",
        "[From JAX](from-jax.md) and [From PyTorch](from-pytorch.md) say what to install, and what the lowering "
        "decides.",
        {
            "from_jax": """
import jax.numpy as jnp

x = np.array([0.5, 1.0, 2.0], np.float32)
module = hu.from_jax(lambda x: x / jnp.max(x), x)
print(hu.run(module, x))
""",
            "from_onnx": '''
import onnx

model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
relu (float[4] x) => (float[4] y) { y = Relu(x) }
""")
onnx.save(model, "/tmp/relu.onnx")
module = hu.from_onnx("/tmp/relu.onnx")
print(hu.run(module, np.array([-1, 0, 1, 2], np.float32)))
''',
            "from_stablehlo": '''
module = hu.from_stablehlo("""
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.multiply %x, %x : tensor<2xf32>
  return %0 : tensor<2xf32>
}""")
print(hu.run(module, np.array([0.5, 3], np.float32)))
''',
            "from_torch": """
import torch

module = hu.from_torch(torch.nn.Softmax(dim=-1), np.array([0.5, 1.0, 2.0], np.float32))
print(hu.run(module, np.array([0.5, 1.0, 2.0], np.float32)))
""",
            "torch_mode": """
import torch

with hu.torch_mode() as seen:
    torch.softmax(torch.linspace(-1, 1, 64) @ torch.eye(64), -1)
print(seen)
""",
            "compare": """
import jax.numpy as jnp

a = np.linspace(0, 1, 512, dtype=np.float32).reshape(2, 256)
print(hu.compare(lambda a: jnp.dot(a.astype(jnp.bfloat16), a.T.astype(jnp.bfloat16)), a))
""",
        },
        needs=("jax", "onnx", "torch", "torch_mlir"),
    ),
    Task(
        "Run kernels of Triton",
        "[From Triton](from-triton.md) says what to install, and what targets decide.",
        {
            "launch": """
import triton
import triton.language as tl


@triton.jit
def squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(y_ptr + i, x * x + 0.1, mask=i < n)


x, y = np.array([1, 2, 3], np.float32), np.zeros(3, np.float32)
hu.launch(squares[(2,)], x, y, 3, BLOCK=2)
print(y)
""",
            "triton_mode": """
import triton
import triton.language as tl


@triton.jit
def doubled(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y_ptr + i, 2 * tl.load(x_ptr + i, mask=i < n), mask=i < n)


def twice(x):
    y = np.empty_like(x)
    doubled[(1,)](x, y, x.size, BLOCK=tl.constexpr(4))
    return y


with hu.triton_mode("cuda:90"):
    print(twice(np.array([1, 2, 3], np.float32)))
""",
            "from_triton": """
import triton
import triton.language as tl


@triton.jit
def squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(y_ptr + i, x * x + 0.1, mask=i < n)


module = hu.from_triton(squares, "*fp32:16, *fp32:16, i32", {"BLOCK": 128}, target="cuda:90")
print([op.name for op in module.walk() if op.name.startswith("tt.")])
""",
            "compare_targets": """
import triton
import triton.language as tl


@triton.jit
def squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(y_ptr + i, x * x + 0.1, mask=i < n)


x, y = np.array([0.58, 0.82, 3], np.float32), np.zeros(3, np.float32)
print(hu.compare_targets(squares[(2,)], x, y, 3, targets=[None, "cuda:90"], BLOCK=2))
""",
            "same_order": """
import triton
import triton.language as tl


@triton.jit
def total(x_ptr, y_ptr, BLOCK: tl.constexpr):
    tl.store(y_ptr, tl.sum(tl.load(x_ptr + tl.arange(0, BLOCK))))


few, many = (
    hu.from_triton(total, "*fp32:16, *fp32:16", {"BLOCK": 1024}, target="cuda:90", num_warps=warps) for warps in (4, 8)
)
print(hu.same_order(few, many).same)
""",
        },
        needs=("triton",),
    ),
    Task(
        "Choose the rules",
        "Each choice is a field of a [profile](profiles.md).",
        {
            "profile": """
with hu.profile("ocp-saturate"):
    print(hu.convert(500, "f8E4M3FN"))
print(hu.convert(500, "f8E4M3FN"))
""",
            "Profile": """
print(hu.profiles["ocp-saturate"].conversion_overflow)
""",
            "profiles": """
print(list(hu.profiles))
""",
            "semantics_version": """
print(hu.semantics_version)
""",
        },
    ),
    Task(
        "Make golden vectors, and check results",
        "[Test benches](test-benches.md) has more examples. [Golden vectors](vector-files.md) describes the files.",
        {
            "vectors": """
vectors = hu.vectors("arith.addf", "f8E4M3FN", models=["B3"])
print(vectors)
print(vectors[0].operands, vectors[0].result, vectors[0].flags)
print(vectors["result"][:4])
""",
            "check": """
vectors = hu.vectors("arith.mulf", "f16")
device = hu.eval("arith.mulf", vectors["a"], vectors["b"], rounding="toward_zero")
report = hu.check(vectors, device)
print(report.equal, report.differing, report.cause)
""",
            "tosa_problems": '''
program = """
func.func @f(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = tosa.reciprocal %x : (tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}"""
print(len(hu.tosa_problems(program, "pro_fp,strict")), len(hu.tosa_problems(program, "pro_int,strict")))
''',
            "tosa_verdict": '''
program = """
func.func @f(%x: tensor<3xf16>) -> tensor<3xf16> {
  %0 = tosa.reciprocal %x : (tensor<3xf16>) -> tensor<3xf16>
  return %0 : tensor<3xf16>
}"""
x, device = np.array([3, 5, 7], np.float16), np.array([0.3335, 0.2, 0.1425], np.float16)
(verdict,) = hu.tosa_verdict(program, x, results=device)
print(verdict.rule, verdict.ok, verdict.wrong)
''',
        },
    ),
    Task(
        "Find the pass that changed a result",
        "[The pass that changed a result](bisect.md) has more examples.",
        {
            "bisect": """
before = "func.func @f(%x: f32) -> f32 { %0 = arith.divf %x, %x : f32 return %0 : f32 }"
after = "func.func @f(%x: f32) -> f32 { %0 = arith.constant 1.0 : f32 return %0 : f32 }"
print(hu.bisect(before, 0.0, stages=[after]).results[1].judgement)
""",
        },
    ),
    Task(
        "Explain a result",
        "[Explain a result](explain.md), [Pictures](plots.md), [Traces](trace.md) and [The explore page](explore.md) "
        "have more examples.",
        {
            "explain": """
print(hu.explain(0.3, "f4E2M1FN"))
""",
            "explore": """
print(hu.explore(0.3, "f8E4M3FN", beside="f8E5M2"))
""",
            "explain_op": """
print(hu.explain_op("arith.mulf", 1.5, 1.5, type="f4E2M1FN"))
""",
            "explain_dot": """
row, column = [1, 2**-24] + [0] * 14, [1, 2**14] + [0] * 14
explanation = hu.explain_dot("MFMA_F32_16x16x16_F16", row, column, 0, "chip:cdna2")
print(str(explanation).splitlines()[0])
""",
            "trace": '''
program = """
func.func @main(%x: f32) -> f8E4M3FN {
  %0 = arith.addf %x, %x : f32
  %1 = arith.truncf %0 : f32 to f8E4M3FN
  return %1 : f8E4M3FN
}"""
print(hu.trace(program, np.float32(0.3)))
''',
            "exception_flags": '''
program = """
func.func @main(%x: tensor<2xf32>) -> tensor<2xf16> {
  %0 = arith.mulf %x, %x : tensor<2xf32>
  %1 = arith.truncf %0 : tensor<2xf32> to tensor<2xf16>
  return %1 : tensor<2xf16>
}"""
print(hu.exception_flags(program, np.array([3.0, 300.0], np.float32)))
''',
            "sensitivity": '''
program = """
func.func @f(%x: f32, %y: f32) -> f32 {
  %0 = arith.addf %x, %y : f32
  %1 = arith.subf %0, %x : f32
  return %1 : f32
}"""
print(hu.sensitivity(program, 1.0, 1e-5, formats=["f64"]))
''',
            "rank": '''
program = """
func.func @f(%w: tensor<2x2xf32>, %x: tensor<2xf32>) -> tensor<2xf32> {
  %zero = arith.constant dense<0.0> : tensor<2xf32>
  %y = linalg.matvec ins(%w, %x : tensor<2x2xf32>, tensor<2xf32>) outs(%zero : tensor<2xf32>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}"""
x, y = np.array([[1.1, 2], [0, 4]], np.float32), np.array([1, 1], np.float32)
print(hu.rank(program, x, y, formats=["bf16", "mxfp8"]))
''',
            "plot": """
figure = hu.plot.staircase("f8E4M3FN", 380, 480)
print(figure.axes[0].get_ylabel())
""",
        },
    ),
    Task(
        "Read and write programs",
        "These functions read and write MLIR text and [bytecode](bytecode.md).",
        {
            "parse": """
module = hu.parse("func.func @f(%x: f32) -> f32 { return %x : f32 }")
function = module.lookup("f")
print(function.name if function else "no function @f")
""",
            "print_module": """
print(hu.print_module(hu.load("func.func @f(%x: f32) -> f32 { return %x : f32 }")))
""",
            "write_portable": """
module = hu.load("func.func @f(%x: f32) -> f32 { return %x : f32 }")
print(hu.write_portable(module, "1.9.0")[5:21])
""",
            "write_bytecode": """
module = hu.load("func.func @f(%x: f32) -> f32 { return %x : f32 }")
print(hu.write_bytecode(module)[:4])
""",
            "read_bytecode": """
module = hu.load("func.func @f(%x: f32) -> f32 { return %x : f32 }")
again = hu.read_bytecode(hu.write_bytecode(module))
print(hu.print_module(again) == hu.print_module(module))
""",
        },
    ),
    Task(
        "Add formats, ops and functions",
        "[Adding formats and ops](extending.md) has whole examples.",
        {
            "register.op": """
same = hu.register.Trait.SAME_OPERANDS_AND_RESULT_TYPE
hu.register.op("mine.twice", lambda x: 2 * x.numpy(), operands=["x"], traits=[same])
print(hu.eval("mine.twice", np.array([5, 7], np.int32)))
""",
            "register.dialect": """
dialect = hu.register.Dialect("toy")
dialect.op("nothing", "attr-dict")
hu.register.dialect(dialect)
print(hu.print_module(hu.parse("toy.nothing")))
""",
            "register.cast": '''
hu.register.cast(["i8", "i8"], "i16", lambda low, high: low.item() + 256 * high.item())
program = """
func.func @main(%low: i8, %high: i8) -> i16 {
  %0 = builtin.unrealized_conversion_cast %low, %high : i8, i8 to i16
  return %0 : i16
}"""
print(hu.run(program, 1, 2))
''',
            "register.external": """
hu.register.external("host_square", lambda n: n.item() ** 2)
print(hu.run("func.func private @host_square(i32) -> i32", 5, function="host_square"))
""",
            "register.Dialect": """
dialect = hu.register.Dialect("toys")
print(dialect.op("nothing", "attr-dict").name)
""",
            "register.Trait": """
print([trait.value for trait in hu.register.Trait][:3])
""",
        },
    ),
    Task(
        "Work with tuned kernels",
        "[IREE's codegen dialect](codegen.md) shows such programs.",
        {
            "iree.constraints": """
(found,) = hu.iree.constraints("examples/tuning.mlir", knobs={"wg_m": 32, "wg_n": 48, "mma_idx": 1}, dims=[128, 256])
for verdict in found.verdicts:
    print(verdict)
""",
            "iree.workgroups": """
print(hu.iree.workgroups("examples/dispatch.mlir", 1000, 4096, 64))
""",
            "iree.Workgroups": """
print(hu.iree.workgroups("examples/dispatch.mlir", 1000, 4096, 64).count)
""",
        },
    ),
    Task(
        "Catch errors",
        "Every error of halfulp is a `HalfulpError`. Wrong arguments raise `ValueError` and `TypeError`, as in NumPy; "
        "`TypeMismatch` is both a `HalfulpError` and a `TypeError`. [Error codes](error-codes.md) has an "
        "example of each kind.",
        {
            "HalfulpError": """
try:
    hu.eval("arith.divsi", np.int8(1), np.int8(0))
except hu.HalfulpError as error:
    print(type(error).__name__, error.code, error.exit_code)
""",
            "errors.AssertionFailed": "",
            "BytecodeError": "",
            "errors.DocumentWarning": "",
            "errors.InputError": "",
            "errors.LimitExceeded": "",
            "ParseError": "",
            "TypeMismatch": "",
            "UndefinedBehavior": "",
            "Unsupported": "",
            "VerifyError": "",
        },
    ),
)
"""All tasks, in the order of the page."""


SPELLED = {
    "MapLayout": "the places of elements in memory, for an affine map that strides cannot describe",
    "Allocation": "the memory that buffers share; `hu.Buffer.allocate` and `from_numpy` make it",
    "AttributeKind": "a class of attributes; the result is an object of this class",
    "Attribute, DialectAttr, SymbolRefAttr": "an attribute of MLIR; `Module.lookup` takes `@a::@b` also as text",
    "Axes, Figure": "classes of matplotlib",
    "Bits": "`bitstring.Bits`",
    "Block, Site, TracedValue": "parts of a program or a trace: listeners get them, and steps have them",
    "By": '`"op"`, `"kind"` or `"tensor"`',
    "Blocks": "an integer, or sizes by dimension: `{1: 16}`",
    "Codes, PoisonIds, Marks, Origins": "the arrays of a `Value`; `hu.Value.from_bits` makes a value from integers",
    "Accuracy": "what `hu.accuracy` returns",
    "Signature": "the types of a kernel of Triton: a text with commas, a sequence, or a mapping from names",
    "RunErrors": "the errors of each op of a run with `shadow=True`",
    "Bisection, StageResult": "what `hu.bisect` returns, and an element of its `results`",
    "BoundsName": '`"tosa"`',
    "TosaVerdict": "what `hu.tosa_verdict` returns",
    "FormatComparison": "what `hu.compare_formats` returns",
    "Dims": 'numbers in their order, or by name: `[128, None]`, `{"m": 128}`',
    "ProgramAccuracy": "what `hu.program_accuracy` returns",
    "Sensitivity": "what `hu.sensitivity` returns: see [Sensitivity](sensitivity.md)",
    "FormatRanking": "what `hu.rank` returns: see [Sensitivity](sensitivity.md#weights-and-ops-in-small-formats)",
    "OpError, Ranking, StoryStep": (
        "parts of the results of `Trace.worst` and `Trace.explain_error`: see [Errors](errors.md)"
    ),
    "Metric": '`"ulp"`, `"sqnr"`, `"relative"` or `"absolute"`: how errors are measured and ranked',
    "Lower": '`"stablehlo"`, a program as it is, or `"iree"`, lowered to `linalg` by the compiler of IREE',
    "Step": "an element of `Trace.steps`: see [Traces](trace.md)",
    "To": '`"stablehlo"`, `"linalg"` or `"tosa"`',
    "Weights": '`"constants"` or `"arguments"`',
    "Timeline": "a picture that notebooks show; `save` writes it to a file",
    "Example": "a measured argument with its results, such as `hu.accuracy(…).tally.worst`",
    "External": "a Python function",
    "FpFusion": '`"on"` or `"off"`',
    "Flushing": "which subnormals become zero",
    "Saturation": "whether infinities, and numbers beyond the largest value, become the largest value",
    "IndexWidth": "64 or 32",
    "LevelName": '`"1"`, `"2"`, `"exhaustive"`, `"random"`, `"weighted"` or `"hard"`',
    "Location": "a place in a program; its text is `file:line:col`",
    "Masked": '`"poison"` or None',
    "Number": "an integer, a float or a fraction; for explanations, text as well",
    "OnUb": '`"raise"` or `"poison"`',
    "Overflow": '`"wrap"`, `"saturate"` or `"poison"`',
    "Property, TypeConstraint": "parts of the declaration of an op: see [Adding formats and ops](extending.md)",
    "Registry": "the dialects to use; None: the dialects of halfulp",
    "Resources": "the blobs of a file; `hu.load` reads them",
    "Rounding": 'the name of a rounding mode: `"to_nearest_even"`, `"RNE"` ([Semantics](semantics.md#rounding))',
    "Schema": "22 or 24, the version of MLIR",
    "SmtModel": '`"smt"`, `"solver"` or `"iree"`',
    "Unmarked": '`"refuse"`, `"drop"` or `"canonical"`',
    "Runnable": "a `Module`, a `Source`, a function of JAX or a module of torch",
    "Source": "a path, text of MLIR, or bytes of bytecode",
    "Swizzle": '`"hint"` or `"physical"`; for a buffer, the permutation of its rows',
    "ty.Type, TypeName, ty.MemRefType, ty.UniformQuantizedType": (
        "a type, or its name: MLIR's name, or one of [the other names](formats.md)"
    ),
}
"""The words in signatures that are not public names, and what to give for them."""
