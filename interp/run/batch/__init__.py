"""Batches: a function runs for many lanes at once.

A value over lanes (`halfulp.interp.values.lanes`) has an entry for each lane. `run` tells how lanes part and join, and
`frames` what they are in between. `compiler` prepares a function for that. `program` runs a batch: all lanes at once,
large batches in parts, a whole function as machine code, or one lane after the other if an op cannot run in lanes.
"""
