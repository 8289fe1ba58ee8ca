"""Programs around `iree_codegen.inner_tiled`, and operands for them."""

from typing import Any

import numpy as np

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS
from halfulp.interp.values.value import Value
from halfulp.semantics.matrix_units.kinds import TileKind

MFMA = "MFMA_F32_32x32x8_F16"
SEED = 20261121


def program(
    spec: str,
    kind: str,
    operands: tuple[tuple[str, tuple[int | None, ...]], ...],
    *,
    container: str = "tensor",
    distributed: bool = False,
    opaque: bool = False,
    permutations: tuple[tuple[int, ...], ...] | None = None,
    parallel: str | None = None,
) -> str:
    """Return a function around one op. ``spec``: the loops of the operands' outer axes, as in ``mk,kn->mn``.

    ``kind``: the attribute without its dialect. ``parallel``: loops that are declared so; by default those of C.
    """
    inputs, output = spec.split("->")
    maps = [*inputs.split(","), output]
    loops = sorted(set(spec) - set(",->"))
    parallel = output if parallel is None else parallel
    types = [
        f"{container}<{''.join('?x' if size is None else f'{size}x' for size in shape)}{element}>"
        for element, shape in operands
    ]
    spelled = ", ".join(f"affine_map<({', '.join(loops)}) -> ({', '.join(map_)})>" for map_ in maps)
    iterators = ", ".join(f"#linalg.iterator_type<{'parallel' if loop in parallel else 'reduction'}>" for loop in loops)
    flags = f"distributed = {str(distributed).lower()}, opaque = {str(opaque).lower()}"
    arrays = ", ".join(f"array<i64: {', '.join(map(str, order))}>" for order in permutations or ())
    names = [f"%{number}" for number in range(len(types))]
    return f"""func.func @main({", ".join(f"{n}: {t}" for n, t in zip(names, types, strict=True))}) -> {types[-1]} {{
  %r = iree_codegen.inner_tiled ins({", ".join(names[:-1])}) outs({names[-1]}) {{
    indexing_maps = [{spelled}], iterator_types = [{iterators}], kind = #iree_gpu.{kind},
    semantics = #iree_gpu.mma_semantics<{flags}>{f", permutations = [{arrays}]" if arrays else ""}
  }} : {", ".join(types[:-1])} into {types[-1]}
  return %r : {types[-1]}
}}"""


def small(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> Any:
    """Integers of which every product and sum is exact in every order."""
    return rng.integers(-4, 5, shape).astype(dtype)


def random_codes(rng: np.random.Generator, element: str, shape: tuple[int, ...]) -> Value:
    """Any finite codes. No infinity or NaN: chips would not all say what becomes of them."""
    if element not in FORMATS:
        bits = int(element[1:])
        return Value.from_bits(rng.integers(0, 1 << bits, shape, np.uint64).astype(f"u{bits // 8}"), element)
    fmt = FORMATS[element]
    finite = [code for code in range(1 << fmt.bits) if scalar.value(fmt, code) is not None] if fmt.bits <= 8 else None
    if finite is not None:
        codes = rng.choice(np.array(finite, np.uint8), shape)
    else:
        codes = rng.integers(0, fmt.max_code + 1, shape, np.uint64).astype(fmt.storage_dtype)
        codes |= (rng.integers(0, 2, shape).astype(fmt.storage_dtype)) << fmt.storage_dtype.type(fmt.bits - 1)
    return Value.from_bits(codes, element)


# The examples of the dialect's document.
DOCUMENT = """func.func @main(%lhs: {a}, %rhs: {b}, %acc: {c}) -> {c} {{
  %0 = iree_codegen.inner_tiled ins(%lhs, %rhs) outs(%acc) {{
    indexing_maps = [
      affine_map<(m, n, k) -> (m, k)>,
      affine_map<(m, n, k) -> (n, k)>,
      affine_map<(m, n, k) -> (m, n)>
    ],
    iterator_types = [
      #linalg.iterator_type<parallel>,
      #linalg.iterator_type<parallel>,
      #linalg.iterator_type<reduction>
    ],
    kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_F16>,
    semantics = #iree_gpu.mma_semantics<distributed = {distributed}, opaque = false>{permutations}
  }} : {a}, {b}
    into {c}
  return %0 : {c}
}}"""
UNDISTRIBUTED = DOCUMENT.format(
    a="tensor<?x?x32x8xf16>",
    b="tensor<?x?x32x8xf16>",
    c="tensor<?x?x32x32xf32>",
    distributed="false",
    permutations=",\n    permutations = [array<i64: 0, 1>, array<i64: 1, 0>, array<i64: 0, 1>]",
)
ONE_LANE = DOCUMENT.format(
    a="tensor<?x?x4xf16>", b="tensor<?x?x4xf16>", c="tensor<?x?x16xf32>", distributed="true", permutations=""
)


def whole(kind: TileKind, rng: np.random.Generator, lead: tuple[int, ...] = ()) -> list[Value]:
    """Random operands of a kind."""
    elements = [*(kind.types[:2] if kind.block is None else ("f8E4M3FN", "f4E2M1FN")), kind.types[2]]
    if kind.block is not None:
        elements[2:2] = ["f8E8M0FNU", "f8E8M0FNU"]
    return [
        random_codes(rng, element, (*lead, *shape))
        for element, shape in zip(elements, kind.operand_shapes, strict=True)
    ]


def attribute_of(kind: TileKind, col_major: bool = False) -> str:
    flag = ", col_major = true" if col_major else ""
    if kind.block is None:
        return f"{kind.attribute}<{kind.name}{flag}>"
    types = "lhs_elem_type = f8E4M3FN, rhs_elem_type = f4E2M1FN, acc_elem_type = f32"
    return f"{kind.attribute}<intrinsic = {kind.name}, {types}{flag}>"


def described(values: list[Value]) -> tuple[tuple[str, tuple[int, ...]], ...]:
    return tuple((str(value.element_type), value.shape) for value in values)


def spec_of(kind: TileKind, lead: str) -> str:
    return ",".join([lead] * (len(kind.operand_shapes) - 1)) + f"->{lead}"


def computed(kind: TileKind) -> bool:
    return not kind.name.startswith("VDMFMA")
