"""Names of tile operations: the kinds of `#iree_gpu`, and instructions spelled as in PTX."""

from __future__ import annotations

import re
from collections.abc import Mapping

from halfulp.fp_formats.aliases import did_you_mean
from halfulp.fp_formats.formats import FORMATS
from halfulp.interp.ir.errors import InputError, Unsupported
from halfulp.semantics.matrix_units.accumulator import PREFIX, Accumulator
from halfulp.semantics.matrix_units.chips import MODELS, as_model, model_hint, unmodelled
from halfulp.semantics.matrix_units.kinds import KINDS, TileOp, holds, operation_of

SPELLING = "mma.m16n8k16.f32.f16.f16.f32"
"""The spelling of an instruction: its shape, and the types of D, A, B and C."""

_WORDS: Mapping[str, str] = {
    "e4m3": "f8E4M3FN",
    "e5m2": "f8E5M2",
    "e3m2": "f6E3M2FN",
    "e2m3": "f6E2M3FN",
    "e2m1": "f4E2M1FN",
    "ue8m0": "f8E8M0FNU",
    "ue4m3": "f8E4M3FN",
    "s8": "i8",
    "s32": "i32",
}
_TYPES = (*FORMATS, *(f"i{width}" for width in range(1, 65)))
_NAME = re.compile(
    r"(?P<unit>mma|wgmma|tcgen05|mfma)\.m(?P<m>\d{1,4})n(?P<n>\d{1,4})k(?P<k>\d{1,9})"
    r"\.(?P<d>\w+)\.(?P<a>\w+)\.(?P<b>\w+)(?:\.(?P<c>(?!ue)\w+))?(?:\.(?P<scale>ue\w+)\.block(?P<block>\d{1,3}))?"
)
_ATTRIBUTE = re.compile(r"#iree_gpu\.(?:virtual_)?mma_layout<\s*(\w+)\s*(?:,.*)?>")
_LIKE_A_TILE = re.compile(r"#iree_gpu\.|(mma|wgmma|tcgen05|mfma)\.m\d|[A-Z]")
_MOST_K = 4096


def operation_named(kind: str, a_type: str | None = None, b_type: str | None = None) -> TileOp:
    """Return the operation of a kind such as ``MFMA_F32_16x16x16_F16``, or of an instruction such as `SPELLING`.

    A kind may stand in its attribute, ``#iree_gpu.mma_layout<…>``. An instruction is mma, wgmma, tcgen05 or mfma. Its
    types are written as in PTX or in MLIR, D's first; C's may be left out if it is equal to D's. For a scaled
    instruction, the type of the scales and the number of elements that share one follow:
    ``mma.m16n8k64.f32.e2m1.e2m1.f32.ue4m3.block16``. ``a_type``, ``b_type``: the element types of A and B, for scaled
    kinds without fixed types. Raises InputError.
    """
    kind = str(kind)  # an object that is not text does not name an operation
    if written := _ATTRIBUTE.fullmatch(kind.strip()):
        kind = written[1]
    if kind in KINDS:
        return _of_kind(kind, a_type, b_type)
    if a_type is not None or b_type is not None:
        raise InputError(f"'{kind}' has its own element types: leave out the types of A and B")
    found = _NAME.fullmatch(kind)
    if found is None:
        near = did_you_mean(kind, KINDS)
        hint = near or f"a kind such as MFMA_F32_16x16x16_F16, or an instruction such as {SPELLING}"
        raise InputError(f"no tile operation is called '{kind}'", hint=hint)
    d, a, b, c = (_type(kind, found[name] or found["d"]) for name in "dabc")
    shape = int(found["m"]), int(found["n"]), int(found["k"])
    scale, block = found["scale"], int(found["block"] or 0)
    if not shape[0] or not shape[1]:
        raise InputError(f"'{kind}' has no elements: M is {shape[0]}, and N is {shape[1]}")
    if not 0 < shape[2] <= _MOST_K or (scale and (not block or shape[2] % block)):
        raise InputError(
            f"'{kind}' has {shape[2]} elements along K{f' in blocks of {block}' if scale else ''}",
            hint=f"give 1 to {_MOST_K:,} elements{', in whole blocks' if scale else ''}",
        )
    for name, narrow in (("A", a), ("B", b), ("C", c)):
        if not _fits(narrow, d):
            raise InputError(f"'{kind}': {name}'s {narrow} has values that D's type {d} does not have")
    return TileOp(kind, a, b, c, d, shape, 1, found["unit"], _type(kind, scale) if scale else "", block)


def names_tile(name: str) -> bool:
    """Tell whether a name is that of a tile operation, valid or not, rather than of an op."""
    return _LIKE_A_TILE.match(name.strip()) is not None


def _of_kind(kind: str, a_type: str | None, b_type: str | None) -> TileOp:
    row = KINDS[kind]
    given = []
    for name, own, chosen in (("a_type", row.types[0], a_type), ("b_type", row.types[1], b_type)):
        if own and chosen not in (None, own):
            raise InputError(f"{name} is '{chosen}', but {kind} has {own}")
        if not own and chosen is None:
            raise InputError(f"{kind} does not fix the types of A and B", hint=f"name it: {name}='f8E4M3FN'")
        element = own or _type(kind, str(chosen))
        if not own and not _fits(element, row.types[2]):
            raise InputError(f"{name} is '{element}', but must be a float type whose values {row.types[2]} has, too")
        given.append(element)
    return operation_of(row, *given)


def _type(kind: str, word: str) -> str:
    name = _WORDS.get(word, word)
    if name not in _TYPES:
        raise InputError(f"'{kind}': '{word}' is not an element type", hint=did_you_mean(word, (*_WORDS, *_TYPES)))
    return name


def _fits(narrow: str, wide: str) -> bool:
    """Tell whether every value of one type is a value of another type, in which matrix units add."""
    if narrow not in FORMATS or wide not in FORMATS:
        return narrow not in FORMATS and wide not in FORMATS and int(narrow[1:]) <= int(wide[1:])
    return wide in ("f16", "bf16", "f32", "f64") and holds(wide, narrow)


def model_for(given: object, op: TileOp | None = None) -> str:
    """Return a model of tile operations as text: "exact", "ieee", "chip:<name>", or an `Accumulator` in its text form.

    Raises Unsupported for a chip without a model, InputError for anything else, and for an accumulator that does not go
    with the types of ``op``.
    """
    try:
        model = as_model(given)
        if op is not None and model.startswith(PREFIX):
            Accumulator.from_text(model).check((op.a, op.b), op.d, op.scale)
    except ValueError as error:
        if isinstance(given, Accumulator) or str(given).startswith(PREFIX):
            raise InputError(str(error)) from None
        if unmodelled(str(given)) is not None:
            raise Unsupported(str(error), hint=model_hint(str(given))) from None
        hint = model_hint(str(given)) or f"choose one of {', '.join(MODELS)}, or an accumulator: {PREFIX}bits=25"
        raise InputError(f"no model is called '{given}'", hint=hint) from None
    return model
