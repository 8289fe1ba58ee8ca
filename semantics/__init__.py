"""The meaning of each op on plain bit patterns, without any IR."""
