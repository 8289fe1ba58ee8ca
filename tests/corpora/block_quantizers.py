"""Compare the recipes of block scaling with quantisers that were not written here, and count the differences.

    PYTHONPATH=tests python -m corpora.block_quantizers CHECKOUT… [--blocks N] [--record FOLDER]

A checkout is a folder of microsoft/microxcaling, of pytorch/ao (or one where torchao is installed), or of
NVIDIA/TransformerEngine: the program recognises it by a file in it, and needs torch. It quantises N difficult blocks
with each recipe and element type, on both sides. A known difference is a row in
`corpora.block_quirks` that predicts the other side's bits. The program prints how many blocks each
row changes, and how many differ without a row, and exits with 1 if there are any of these. ``--record`` writes some of
the blocks, with the answers, for the tests. Give one torchao at a time: two of them do not fit into one process.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
from corpora.block_inputs import Case, blocks_of
from corpora.block_quirks import QUIRKS, Quirk, Reply, differing, ours, predicted

from halfulp.semantics.block_scaling import MX_ELEMENTS

Quantizer = Callable[[npt.NDArray[np.float32], Case], Reply]


@dataclass(frozen=True)
class Emulator:
    """A quantiser to compare with: its checkouts have the file ``marker``, with ``text`` in it."""

    name: str
    marker: str
    text: str
    cases: tuple[Case, ...]
    load: Callable[[Path], Quantizer]


@dataclass
class Count:
    """What one case gives: ``explained`` by the name of the row, in blocks, as ``blocks`` and ``unexplained``."""

    blocks: int
    equal: int
    explained: dict[str, int]
    unexplained: int


def compare(quantizer: Quantizer, quirks: Sequence[Quirk], case: Case, count: int) -> Count:
    """Quantise ``count`` blocks on both sides and count the differences."""
    total = Count(0, 0, {}, 0)
    for x in blocks_of(case, count):
        theirs = quantizer(x, case)
        answer = ours(x, case)
        predictions, changed = predicted(x, case, answer, quirks)
        total.blocks += len(x)
        total.equal += len(x) - int(differing(theirs, answer, case).sum())
        total.unexplained += int(differing(theirs, predictions, case).sum())
        for name, blocks in changed.items():
            total.explained[name] = total.explained.get(name, 0) + int(blocks.sum())
    return total


# --- the emulators ----------------------------------------------------------------------------------------------------


def _imported(name: str) -> Any:
    """Import what only this program needs: PyTorch, and modules of a checkout."""
    return import_module(name)


def _torchao(root: Path) -> Quantizer:
    sys.path.insert(0, str(root))
    torch = _imported("torch")
    mx, nvfp4, kernels, config = (
        _imported(f"torchao.prototype.mx_formats.{name}") for name in ("mx_tensor", "nvfp4_tensor", "kernels", "config")
    )
    dtypes = {
        "f8E5M2": torch.float8_e5m2,
        "f8E4M3FN": torch.float8_e4m3fn,
        "f6E3M2FN": "fp6_e3m2",
        "f6E2M3FN": "fp6_e2m3",
        "f4E2M1FN": torch.float4_e2m1fn_x2,
    }

    def codes(tensor: Any, shape: tuple[int, ...], packed: bool) -> npt.NDArray[np.uint8]:
        found = kernels.unpack_uint4(tensor) if packed else tensor
        return np.asarray(found.view(torch.uint8).numpy()).reshape(shape)

    def quantize(x: npt.NDArray[np.float32], case: Case) -> Reply:
        packed, given = case.element == "f4E2M1FN", torch.from_numpy(x.copy())
        if case.recipe == "nvfp4":
            tensor = nvfp4.per_tensor_amax_to_scale(given.abs().max()) if case.two_levels else None
            scales, elements = nvfp4.nvfp4_quantize(given, case.rules.block, tensor)
            of_all = None if tensor is None else tensor.numpy().view(np.uint32)
            return Reply(codes(scales, (len(x),), False), codes(elements, x.shape, packed), of_all)
        mode = config.ScaleCalculationMode[case.recipe.upper()]
        scales, elements = mx.to_mx(given, dtypes[case.element], case.rules.block, mode)
        return Reply(codes(scales, (len(x),), False), codes(elements, x.shape, packed))

    return quantize


def _microxcaling(root: Path) -> Quantizer:
    sys.path.insert(0, str(root))
    torch, ops = _imported("torch"), _imported("mx.mx_ops")
    names = {
        "f8E5M2": "fp8_e5m2",
        "f8E4M3FN": "fp8_e4m3",
        "f6E3M2FN": "fp6_e3m2",
        "f6E2M3FN": "fp6_e2m3",
        "f4E2M1FN": "fp4_e2m1",
        "i8": "int8",
    }
    rounds = {"to_nearest_even": "even", "to_nearest_away": "nearest", "toward_zero": "floor"}

    def quantize(x: npt.NDArray[np.float32], case: Case) -> Reply:
        found = ops._quantize_mx(
            torch.from_numpy(x.copy()),
            8,
            names[case.element],
            axes=[-1],
            block_size=case.rules.block,
            round=rounds[case.rounding],
        )
        return Reply(values=found.numpy().view(np.uint32))

    return quantize


def _transformer_engine(root: Path) -> Quantizer:
    """Load the reference alone: the package around it needs CUDA, so empty modules stand for what it imports."""
    home = "transformer_engine.pytorch.custom_recipes"
    tensors = ModuleType("transformer_engine.pytorch.quantized_tensor")
    tensors.__dict__.update(QuantizedTensorStorage=object, Quantizer=object)
    formats = ModuleType(f"{home}.reference_utils")
    formats.__dict__["Fp4Formats"] = type("Fp4Formats", (), {"E2M1": None})
    package = ModuleType(home)
    package.__path__ = [str(root / "transformer_engine/pytorch/custom_recipes")]
    gemm = ModuleType(f"{home}.gemm")
    gemm.__dict__["GEMMType"] = type("GEMMType", (), {"FPROP": None})
    gemm.__dict__["MMParams"] = object
    package.__dict__.update(gemm=gemm, reference_utils=formats)
    for name, module in {
        "transformer_engine": ModuleType("transformer_engine"),
        "transformer_engine.pytorch": ModuleType("transformer_engine.pytorch"),
        tensors.__name__: tensors,
        home: package,
        gemm.__name__: gemm,
        formats.__name__: formats,
    }.items():
        sys.modules[name] = module
    torch, reference = _imported("torch"), _imported(f"{home}.reference_nvfp4")

    def quantize(x: npt.NDArray[np.float32], case: Case) -> Reply:
        given = torch.from_numpy(x.copy())
        packed, scales = reference.NVFP4QuantizerRef._quantize_blockwise_reference(
            given, given.abs().max(), case.rules.block, 1, pow_2_scales=False, eps=0.0
        )
        pairs = packed.numpy()
        elements = np.stack([pairs & 15, pairs >> 4], axis=-1).reshape(x.shape)
        return Reply(scales.view(torch.uint8).numpy().ravel(), elements)

    return quantize


_FLOATS = tuple(name for name in MX_ELEMENTS if name != "i8")
_MODES = ("to_nearest_even", "to_nearest_away", "toward_zero")
_TORCHAO = (
    *(Case(recipe, element) for recipe in ("floor", "ceil", "even", "rceil") for element in _FLOATS),
    Case("nvfp4", "f4E2M1FN"),
    Case("nvfp4", "f4E2M1FN", two_levels=False),
)


def _with_specials(cases: Sequence[Case]) -> tuple[Case, ...]:
    return (*cases, *(replace(case, special=True) for case in cases if case.rounding == "to_nearest_even"))


EMULATORS = (
    Emulator(
        "torchao-0.18", "torchao/prototype/mx_formats/mx_tensor.py", "satfinite", _with_specials(_TORCHAO), _torchao
    ),
    Emulator("torchao", "torchao/prototype/mx_formats/mx_tensor.py", "", _with_specials(_TORCHAO), _torchao),
    Emulator(
        "microxcaling",
        "mx/mx_ops.py",
        "",
        _with_specials([Case("floor", element, mode) for element in MX_ELEMENTS for mode in _MODES]),
        _microxcaling,
    ),
    Emulator(
        "TransformerEngine",
        "transformer_engine/pytorch/custom_recipes/reference_nvfp4.py",
        "",
        _with_specials([Case("nvfp4-te", "f4E2M1FN")]),
        _transformer_engine,
    ),
)


def emulator_of(checkout: Path) -> Emulator:
    """Return the emulator that a folder holds. Raises ValueError if it holds none."""
    for emulator in EMULATORS:
        marker = checkout / emulator.marker
        if marker.is_file() and emulator.text in marker.read_text(encoding="utf-8"):
            return emulator
    markers = sorted({emulator.marker for emulator in EMULATORS})
    raise ValueError(f"{checkout} is not a known checkout: it has none of {', '.join(markers)}")


# --- the command ------------------------------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare, print the counts as JSON lines, and return 1 if a difference has no row."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("checkouts", nargs="+", type=Path)
    parser.add_argument("--blocks", type=int, default=100_000, help="blocks for each recipe and element type")
    parser.add_argument("--record", type=Path, help="write blocks and answers to EMULATOR.npz in this folder")
    options = parser.parse_args(arguments)
    failed = False
    for checkout in options.checkouts:
        emulator, recorded = emulator_of(checkout), dict[str, npt.NDArray[Any]]()
        quantizer, quirks = emulator.load(checkout.resolve()), QUIRKS[emulator.name]
        for case in emulator.cases:
            count = compare(quantizer, quirks, case, options.blocks)
            failed |= count.unexplained > 0
            print(json.dumps({"emulator": emulator.name, "case": str(case), **vars(count)}), flush=True)
            if options.record is not None:
                recorded |= _sample(emulator.name, quantizer, quirks, case)
        if options.record is not None:
            np.savez_compressed(options.record / emulator.name, **recorded)  # type: ignore[arg-type]
    return int(failed)


_SAMPLE = 24
"""Blocks of a case that are recorded, at most."""

_SEARCHED = 100_000
"""Blocks among which tensors to record are searched."""


def _sample(name: str, quantizer: Quantizer, quirks: Sequence[Quirk], case: Case) -> dict[str, npt.NDArray[Any]]:
    """Return a few blocks of a case with the answers: some that each row changes, and some that none does.

    Blocks with a tensor scale are recorded with their whole tensor: the first, and one that each row changes.
    """
    whole = case.rules.raises is None and case.two_levels
    found, seen = dict[str, npt.NDArray[Any]](), set[str]()
    for index, x in enumerate(blocks_of(case, _SEARCHED if whole else 1)):
        theirs = quantizer(x, case)
        _, changed = predicted(x, case, ours(x, case), quirks)
        if index and changed.keys() <= seen:
            continue
        seen |= changed.keys()
        rows = [np.flatnonzero(mask)[:6] for mask in changed.values()] + [np.arange(0, len(x), len(x) // 16)]
        chosen = np.arange(len(x)) if whole else np.unique(np.concatenate(rows))[:_SAMPLE]
        parts = {"x": x.view(np.uint32), **{key: value for key, value in vars(theirs).items() if value is not None}}
        key = json.dumps([name, *astuple(case), index])
        found |= {f"{key}/{part}": codes[chosen] if codes.ndim else codes for part, codes in parts.items()}
    return found


if __name__ == "__main__":
    sys.exit(main())
