"""Batches: a function runs for many lanes at once.

A value over lanes (`halfulp.interp.values.lanes`) has an entry for each lane. `run` tells how lanes part and join,
`frames` what they are in between, `compiler` and `flow_order` how a function is prepared for that. `compiled_lanes`
runs a whole function as machine code, `blocked_lanes` large batches in parts, and `lane_by_lane` functions with ops
that do not know of lanes.
"""
