"""Run functions: compile them to steps on slots, execute frames, and tell listeners.

Every block is compiled once to segments of steps (`compiler`); a run executes them on an explicit stack of frames
(`frames`), with limits and events (`settings`). `batch` runs a function for many lanes at once.
"""
