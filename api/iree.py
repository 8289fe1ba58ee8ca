"""Read the tuning data of IREE's kernels: the constraints of their knobs, and the workgroups that they start."""

from halfulp.codegen.constraints import constraints
from halfulp.codegen.workgroups import Workgroups, workgroups

__all__ = ["Workgroups", "constraints", "workgroups"]
