"""The dialects: one file or folder each, in which each op is one declaration (`halfulp.interp.declare.registry`)."""
