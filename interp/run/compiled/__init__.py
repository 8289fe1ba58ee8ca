"""Functions as machine code, by llvmlite: the clean path alone.

Compiled code knows neither poison nor undefined behaviour nor the reasons of errors. Where it meets anything of that
kind it stops; memory is then put back, and the executor runs the function from its start. So results, errors and their
places are those of the executor.
"""
