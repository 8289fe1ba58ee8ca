"""The kernels: what each op computes on plain bit patterns, without any IR."""
