"""Values and buffers at run time: their layout, their text, and how they are made of what a user gives."""

from halfulp.interp import former_names

# This was a module, whose ``_unpickle`` pickles of halfulp 0.1 name.
__getattr__ = former_names.finding_in("values.value")
