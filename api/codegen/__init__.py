"""Answers for compilers: verdicts on constraints, numbers of workgroups, names of tile operations."""
