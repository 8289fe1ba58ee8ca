"""What to write instead of names that halfulp lacks: old ones, and those of NumPy, ml_dtypes and torch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from halfulp.fp_formats.aliases import did_you_mean, known_as, with_hint

_ADVICE = {
    "array asarray tensor as_tensor cast astype Array Tensor float_quantize": (
        'hu.convert(x, "bf16") makes a Value of numbers, arrays and tensors'
    ),
    "from_pytorch from_module from_model to_mlir": (
        "hu.from_torch(model, x) and hu.from_jax(f, x) make a module; hu.run(model, x), hu.trace, hu.sensitivity and "
        'hu.compare take a torch module or a function of JAX; hu.convert(x, "bf16") makes a Value of tensors'
    ),
    "zeros ones full arange linspace eye empty": 'hu.convert(np.{name}(...), "bf16") makes a Value',
    "from_numpy": "hu.Value.from_numpy(x) keeps the type of the array; hu.convert(x, type) rounds",
    "from_bits frombuffer from_bytes view bitcast": 'hu.Value.from_bits(codes, "bf16") makes a Value of bit patterns',
    "finfo dtype Format info max_value": 'hu.float_format("f8E4M3FN") has the fields and the limits of a float type',
    "iinfo": "np.iinfo(np.int8) has the limits of integers",
    "formats list_formats float_types types dtypes": "hu.float_formats is the table of all float types",
    "Minifloat minifloat custom_format": 'hu.FloatFormat("my6", 3, 2, 3) makes a format of your own',
    "nan NaN inf Inf": "write np.nan and np.inf: every call takes them",
    "random rand randn seed manual_seed": (
        'np.random.default_rng(0) makes random numbers; hu.convert(x, "bf16", rounding="stochastic", seed=1) rounds at '
        "random"
    ),
    "save savez savetxt dump tobytes": (
        'v.bits is an array of unsigned integers to keep in a file; hu.Value.from_bits(bits, "bf16") reads it back'
    ),
    (
        "load_file safe_open load_tensors load_safetensors load_gguf load_npz open_safetensors read_tensors read_gguf "
        "read_safetensors safetensors gguf open_file"
    ): ('hu.open_tensors("model.safetensors") opens files of tensors: safetensors, gguf, npz, pt, arrow and parquet'),
    "save_file save_tensors save_safetensors save_npz": (
        'hu.write_tensors("y.safetensors", {"y": v}) writes them by name'
    ),
    "to_numpy numpy": "v.numpy() is an array of NumPy",
    "nextafter next_after": "hu.next_up and hu.next_down give the next value of a format",
    "spacing eps epsilon": 'hu.ulp(x, "bf16") is the distance between the values of a format at x',
    "mse rmse sqnr snr ulp_error ulp_diff allclose isclose assert_allclose array_equal max_error": (
        "hu.error(v, reference=w) measures how far two arrays are apart, hu.error(x, to=type) what rounding costs; "
        "v == w tells whether all bits are equal"
    ),
    "best_format": 'hu.compare_formats(x, ["bf16", "f8E4M3FN"]) compares formats on your data',
    "mean average cumsum var std": "hu.sum(v) / v.size is a mean: hu.sum adds in an order that you choose",
    "norm": "hu.dot(v, v) is the square of the norm",
    "einsum inner outer tensordot mm bmm linear": (
        "hu.dot and hu.matmul multiply and add; v.transpose and v.reshape arrange the operands"
    ),
    "calibrate amax scale find_scale": 'hu.quant.suggest_scale(x, "f8E4M3FN") suggests a scale',
    "qdq fake_quantize": "hu.dequantize(hu.quantize(x, type)) gives the values that are left after quantising",
    "awq gptq unpack_awq unpack_gptq dequantize_awq dequantize_gptq dequantize_gemm": (
        'hu.quant.unpack("awq", qweight, qzeros, scales).dequantize() gives the weights of a layer of AWQ or GPTQ'
    ),
    "quantize_mx mx_quantize quantize_nvfp4 to_mx mx": (
        'hu.quantize_blocks(x, "f4E2M1FN", recipe=...) makes blocks as MX and NVFP4 have them'
    ),
    "set_rounding set_rounding_mode rounding rounding_mode fesetround": (
        'rounding= is an argument of a call: hu.convert(x, "bf16", rounding="up")'
    ),
    "set_profile config set_config options seterr errstate": (
        'with hu.profile("ocp-saturate"): sets the rules of all calls inside it'
    ),
    "set_printoptions printoptions": "print(v.numpy()) follows np.set_printoptions",
    "add": "v + w adds two Values",
    "subtract sub": "v - w subtracts two Values",
    "multiply mul": "v * w multiplies two Values",
    "divide div true_divide": "v / w divides two Values",
    "mod fmod remainder": 'hu.eval("arith.remf", v, w) is the remainder of a division, as C\'s fmod',
    "abs fabs absolute": "abs(v) works on a Value",
    "isnan maximum minimum where concatenate equal less greater negative": "np.{name} works on a Value",
    "max min amin": "np.max(v) and np.min(v) work on a Value",
    "sqrt exp log tanh sin cos tan exp2 log2 log10 log1p expm1 cbrt sinh cosh floor ceil trunc": (
        'np.{name}(v) works on a Value, and hu.eval("{name}", v) on anything else'
    ),
    "square rint reciprocal": "np.{name}(v) works on a Value",
    "rsqrt erf erfc sigmoid silu gelu softplus mish logit exp10 sinpi cospi tgamma lgamma": (
        'hu.eval("{name}", v) works'
    ),
    "power pow": "v ** w works on a Value",
    "softmax log_softmax logsumexp layer_norm rms_norm": 'hu.round_rows("{name}", x) rounds each result once',
    "version VERSION": "hu.__version__ is the version, hu.semantics_version that of the results",
    "execute simulate interpret compile jit": "hu.run(program, x) runs a module, MLIR text or a file",
    "Trace": "hu.trace(program, x) runs a module and returns a Trace",
    "open read from_file": 'hu.load("file.mlir") reads a program',
}

INSTEAD: Mapping[str, str] = MappingProxyType(
    {name: advice.replace("{name}", name) for names, advice in _ADVICE.items() for name in names.split()}
)
"""What to write instead of each name."""

_MOVED = {
    "AssertionFailed DocumentWarning InputError LimitExceeded": "errors.{name}",
    "Workgroups constraints workgroups": "iree.{name}",
    "FixedArray FixedFormat": "fixed.{name}",
    "fixed": "fixed.array",
    "p3109": "p3109.eval",
    "kappa": "p3109.kappa",
    "quantized": "quant.type",
    "quantize_multiplier": "quant.multiplier",
    "hadamard requantize suggest_scale": "quant.{name}",
    "register_cast": "register.cast",
    "register_dialect": "register.dialect",
    "register_external": "register.external",
    "register_format": "register.format",
    "register_op": "register.op",
    "Dialect NanEncoding Trait": "register.{name}",
}

MOVED: Mapping[str, str] = MappingProxyType(
    {name: new.replace("{name}", name) for names, new in _MOVED.items() for name in names.split()}
)
"""The new names of public names that were renamed."""


def not_callable(name: str) -> TypeError:
    """Return the error for a call of ``hu.NAME``, where ``name`` is that of a module. If a function had this name in an
    earlier version, the error gives its new name.
    """
    hint = f"call hu.{MOVED[name]}(…)" if name in MOVED else None
    return TypeError(with_hint(f"hu.{name} is a module, and not a function", hint))


def unknown_name(name: str, public: Iterable[str]) -> AttributeError:
    """Return the error for a name that halfulp does not have. If it is known which name to write instead, the error
    says so.
    """
    if name in MOVED:
        hint = f"its name is hu.{MOVED[name]}"
    elif name.startswith("_"):
        hint = None
    else:
        hint = INSTEAD.get(name) or _type_hint(name) or did_you_mean(name, public)
    return AttributeError(with_hint(f"module 'halfulp' has no attribute {name!r}", hint))


def _type_hint(name: str) -> str | None:
    """Return how to write a type, if a name is that of a type."""
    try:
        known = known_as(name)
    except ValueError as error:
        return str(error)
    return known and f'types are text: hu.convert(x, "{known}"), hu.float_format("{known}")'
