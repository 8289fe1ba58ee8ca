"""What to write instead of the attributes that a `Value` lacks, but that users of NumPy and torch try first."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from halfulp.fp_formats.suggestions import with_hint

_ADVICE = {
    "to type_as cast": '.astype("f32") converts to another type',
    "float": '.astype("f32") converts, float(v) makes a number of one element',
    "half": '.astype("f16") converts',
    "double": '.astype("f64") converts',
    "bfloat16": '.astype("bf16") converts',
    "int long short": '.astype("i32") converts, int(v) makes a number of one element',
    "detach cpu cuda requires_grad device values to_numpy array": ".numpy() is an array of NumPy",
    "mean average": "hu.sum(v) / v.size is a mean: hu.sum adds in an order that you choose",
    "cumsum prod cumprod": "hu.sum(v) adds in an order that you choose; a loop over the elements makes other totals",
    "var std": '.numpy(), or .astype("f64").numpy(), is an array on which NumPy computes {name}',
    "argmax argmin sort argsort ptp": ".numpy() is an array on which NumPy sorts and compares",
    "norm": "hu.dot(v, v) is the square of the norm",
    "matmul mm bmm": "v @ w and hu.matmul(v, w) multiply matrices",
    "dot": "hu.dot(v, w) multiplies and adds",
    "add sub mul div add_ mul_": "v + w, v - w, v * w and v / w compute",
    "abs": "abs(v) works",
    "isnan": "np.isnan(v) works",
    "clip clamp": "np.clip(v, low, high) limits the elements",
    "round": 'np.rint(v) rounds to integers of the same type, hu.convert(v, "i32") to i32',
    "ceil floor trunc": "np.{name}(v) works",
    "sqrt exp exp2 log log2 log10 log1p expm1 sin cos tan sinh cosh tanh square reciprocal": "np.{name}(v) works",
    "rsqrt sigmoid erf erfc": 'hu.eval("{name}", v) works',
    "pow": "v ** w works",
    "nonzero": "np.nonzero(v) works on a comparison",
    "view": 'hu.eval("arith.bitcast", v, to="i16") reads the bits as another type; .bits has them as unsigned integers',
    "tobytes data nbytes hex save tofile": ".bits is an array of unsigned integers, which has tobytes() and nbytes",
    "unsqueeze": "np.expand_dims(v, axis) adds a dimension",
    "t permute swapaxes mT": ".transpose(...) changes the order of the dimensions",
    "numel": ".size is the number of elements",
    "dim": ".ndim is the number of dimensions",
    "clone": "a Value never changes, so that no copy is needed; .numpy().copy() is an array that may change",
    "fill put itemset copy_ zero_": "a Value never changes; .numpy().copy() is an array that may change",
    "isna dropna masked_array filled mask": ".masked() is a masked array of NumPy, .poisoned its mask: True for poison",
    "format": ".type is the type; hu.float_format(...) has the fields of a float type",
    "quantize dequantize": "hu.{name} works on a Value",
    "index count": ".tolist() is a list of Python numbers",
    "itemsize": ".bits.itemsize is the size of one element as it is kept",
}

INSTEAD: Mapping[str, str] = MappingProxyType(
    {name: advice.replace("{name}", name) for names, advice in _ADVICE.items() for name in names.split()}
)
"""What to write instead of each attribute."""


def unknown_attribute(name: str) -> AttributeError:
    """Return the error for an attribute that a Value lacks, with what to write instead where that is known."""
    return AttributeError(with_hint(f"'Value' object has no attribute {name!r}", INSTEAD.get(name)))
