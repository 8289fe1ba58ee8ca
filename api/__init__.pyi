# Made from the table of public names in __init__.py by tests/public_names.py.

from collections.abc import Mapping

from halfulp import errors as errors
from halfulp import fixed as fixed
from halfulp import iree as iree
from halfulp import p3109 as p3109
from halfulp import plot as plot
from halfulp import quant as quant
from halfulp import register as register
from halfulp.accuracies import accuracy as accuracy
from halfulp.accuracies import program_accuracy as program_accuracy
from halfulp.aten.mode import torch_mode as torch_mode
from halfulp.bisecting import bisect as bisect
from halfulp.chips.fitting import fit_accumulator as fit_accumulator
from halfulp.chips.telling import tell_apart as tell_apart
from halfulp.chips.which import which_chip as which_chip
from halfulp.converting import convert as convert
from halfulp.evaluating import eval as eval
from halfulp.exact_reals.calling import round as round
from halfulp.exact_reals.rows import round_rows as round_rows
from halfulp.explanations.dot import explain_dot as explain_dot
from halfulp.explanations.explaining import explain as explain
from halfulp.explanations.explaining import explain_op as explain_op
from halfulp.explorer.notebook import explore as explore
from halfulp.fp_formats.aliases import float_format as float_format
from halfulp.fp_formats.formats import ALL_FORMATS as float_formats
from halfulp.fp_formats.formats import FloatFormat as FloatFormat
from halfulp.fp_formats.reals.expressions import Real as Real
from halfulp.golden.checking import check as check
from halfulp.golden.tosa import tosa_problems as tosa_problems
from halfulp.golden.tosa import tosa_verdict as tosa_verdict
from halfulp.golden.vectors import vectors as vectors
from halfulp.importing.comparison import compare as compare
from halfulp.importing.kernels import from_triton as from_triton
from halfulp.importing.kernels import launch as launch
from halfulp.importing.kernels import triton_mode as triton_mode
from halfulp.importing.lowering import from_jax as from_jax
from halfulp.importing.lowering import from_onnx as from_onnx
from halfulp.importing.lowering import from_stablehlo as from_stablehlo
from halfulp.importing.orders import same_order as same_order
from halfulp.importing.targets import compare_targets as compare_targets
from halfulp.importing.torch_programs import from_torch as from_torch
from halfulp.interp.ir.errors import BytecodeError as BytecodeError
from halfulp.interp.ir.errors import HalfulpError as HalfulpError
from halfulp.interp.ir.errors import ParseError as ParseError
from halfulp.interp.ir.errors import TypeMismatch as TypeMismatch
from halfulp.interp.ir.errors import UndefinedBehavior as UndefinedBehavior
from halfulp.interp.ir.errors import Unsupported as Unsupported
from halfulp.interp.ir.errors import VerifyError as VerifyError
from halfulp.interp.ir.operations import Module as Module
from halfulp.interp.loading import parse_module as parse
from halfulp.interp.run.settings import Listener as Listener
from halfulp.interp.text.printer import print_module as print_module
from halfulp.interp.values.buffers import Buffer as Buffer
from halfulp.interp.values.value import Value as Value
from halfulp.loading import load as load
from halfulp.loading import read_bytecode as read_bytecode
from halfulp.loading import write_bytecode as write_bytecode
from halfulp.loading import write_portable as write_portable
from halfulp.measuring.comparing import compare_formats as compare_formats
from halfulp.measuring.errors import error as error
from halfulp.measuring.spacing import all_values as all_values
from halfulp.measuring.spacing import neighbours as neighbours
from halfulp.measuring.spacing import next_down as next_down
from halfulp.measuring.spacing import next_up as next_up
from halfulp.measuring.spacing import ulp as ulp
from halfulp.quantizing.blocks import quantize_blocks as quantize_blocks
from halfulp.quantizing.types import dequantize as dequantize
from halfulp.quantizing.types import quantize as quantize
from halfulp.running import run as run
from halfulp.semantics import SEMANTICS_VERSION as semantics_version
from halfulp.semantics.matrix_units.accumulator import Accumulator as Accumulator
from halfulp.semantics.profile import PROFILES as profiles
from halfulp.semantics.profile import Profile as Profile
from halfulp.semantics.profile import profile as profile
from halfulp.sensitivities.ranking import rank as rank
from halfulp.sensitivities.sensitivity import sensitivity as sensitivity
from halfulp.summing import dot as dot
from halfulp.summing import matmul as matmul
from halfulp.summing import sum as sum
from halfulp.tensors.opening import open_tensors as open_tensors
from halfulp.tensors.opening import write_tensors as write_tensors
from halfulp.traces.error_report import exception_flags as exception_flags
from halfulp.traces.trace import trace as trace

__version__: str
_EXPORTS: Mapping[str, str]

def _home(name: str) -> tuple[str, str]: ...

__all__ = [
    "Accumulator",
    "Buffer",
    "BytecodeError",
    "FloatFormat",
    "HalfulpError",
    "Listener",
    "Module",
    "ParseError",
    "Profile",
    "Real",
    "TypeMismatch",
    "UndefinedBehavior",
    "Unsupported",
    "Value",
    "VerifyError",
    "accuracy",
    "all_values",
    "bisect",
    "check",
    "compare",
    "compare_formats",
    "compare_targets",
    "convert",
    "dequantize",
    "dot",
    "error",
    "errors",
    "eval",
    "exception_flags",
    "explain",
    "explain_dot",
    "explain_op",
    "explore",
    "fit_accumulator",
    "fixed",
    "float_format",
    "float_formats",
    "from_jax",
    "from_onnx",
    "from_stablehlo",
    "from_torch",
    "from_triton",
    "iree",
    "launch",
    "load",
    "matmul",
    "neighbours",
    "next_down",
    "next_up",
    "open_tensors",
    "p3109",
    "parse",
    "plot",
    "print_module",
    "profile",
    "profiles",
    "program_accuracy",
    "quant",
    "quantize",
    "quantize_blocks",
    "rank",
    "read_bytecode",
    "register",
    "round",
    "round_rows",
    "run",
    "same_order",
    "semantics_version",
    "sensitivity",
    "sum",
    "tell_apart",
    "torch_mode",
    "tosa_problems",
    "tosa_verdict",
    "trace",
    "triton_mode",
    "ulp",
    "vectors",
    "which_chip",
    "write_bytecode",
    "write_portable",
    "write_tensors",
]
