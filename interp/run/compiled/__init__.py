"""Functions as machine code, by llvmlite, for runs without poison and errors.

Compiled code cannot handle poison, undefined behaviour or errors. It stops where one of these would occur. Memory then
gets its contents from before the call, and the executor runs the function from its start. So results, errors and their
places are those of the executor.
"""
