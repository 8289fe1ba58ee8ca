"""The process in which a test runs the command line: started for it alone, or forked from one that has started.

    python -I command_process.py run PIPE MODULE [ARGUMENT ...]
    python -I command_process.py serve SOCKET

Python, NumPy and halfulp take a third of a second to start, and most commands take much less. So `serve` starts a process that
loads and prepares what commands share, and then forks for each command that it is asked for.
"""

import atexit
import gc
import json
import os
import runpy
import socket
import sys
import warnings

PROGRAM = "func.func @f(%x: f32) -> f32 { %0 = arith.addf %x, %x : f32 return %0 : f32 }"


def tell_memory(pipe: int) -> None:
    """Write the most kilobytes that this process had in memory. The kernel's `ru_maxrss` is at least its parent's."""
    with open("/proc/self/status") as status:
        os.write(pipe, next(line.split()[1] for line in status if line.startswith("VmHWM:")).encode())


def run(pipe: int, module: str, arguments: list[str]) -> None:
    """Run a module as a program; the exit handlers tell its memory where the system knows it."""
    if os.path.exists("/proc/self/status"):
        atexit.register(tell_memory, pipe)
    sys.argv[1:] = arguments
    sys.path.append(os.path.dirname(os.path.abspath(__file__)))
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def serve(asking: socket.socket) -> None:
    """Fork for each command that the socket brings, and say how it ended; return in the child, and run the command."""
    import halfulp.command.main

    halfulp.run(PROGRAM, 1.0)
    gc.freeze()
    while True:
        size, files, _, _ = socket.recv_fds(asking, 8, 4)
        if not size:
            return
        asked = json.loads(asking.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of threads: those of NumPy's libraries have nothing to do
            child = os.fork()
        if not child:
            break
        for file in files:
            os.close(file)
        asking.sendall(child.to_bytes(8, "big"))
        _, status, usage = os.wait4(child, 0)
        ended = json.dumps([status, usage.ru_utime + usage.ru_stime, usage.ru_maxrss]).encode()
        asking.sendall(len(ended).to_bytes(8, "big") + ended)
    asking.close()
    for stream, file in enumerate(files[:3]):
        os.dup2(file, stream)
        os.close(file)
    os.environ.clear()
    os.environ.update(asked["environment"])
    os.chdir(asked["directory"])
    run(files[3], asked["module"], asked["arguments"])


if __name__ == "__main__":
    what, number, *rest = sys.argv[1:]
    if what == "run":
        run(int(number), rest[0], rest[1:])
    else:
        serve(socket.socket(fileno=int(number)))
