"""The pass pipelines of the command line."""

from __future__ import annotations

from halfulp.command.options.programs import PassOptions
from halfulp.conformance.oracles.oracle import Unavailable
from halfulp.conformance.oracles.pass_pipeline import PassPipeline, find_mlir_opt
from halfulp.interp.ir.errors import InputError


def pass_pipeline(pipeline: str, arguments: PassOptions) -> PassPipeline:
    """Return the pipeline of the mlir-opt that the options name. Raise InputError if it is not available."""
    try:
        return PassPipeline(find_mlir_opt(arguments.mlir_opt), pipeline)
    except Unavailable as reason:
        raise InputError(str(reason), hint="--mlir-opt=PATH names another program") from None
