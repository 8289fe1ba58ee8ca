"""The kernels: what each op computes on plain bit patterns, without any IR."""

SEMANTICS_VERSION = 8
"""The version of halfulp's results: raised whenever any result changes, and written into every golden file."""
