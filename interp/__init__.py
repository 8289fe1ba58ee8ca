"""MLIR in, values out: the IR, its text form, the dialects and the executor."""

from halfulp.interp import former_names

former_names.register()
