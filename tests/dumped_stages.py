"""Dumps as mlir-opt 22.1.8 prints them with --mlir-print-ir-after-all, of a function that three passes change."""

HEADER = "// -----// IR Dump After {} ({}) //----- //\n"

ADD = """\
func.func @f(%arg0: i8, %arg1: i8) -> i8 {
  %0 = arith.addi %arg0, %arg1 : i8
  return %0 : i8
}

"""

SWAPPED = ADD.replace("%arg0, %arg1", "%arg1, %arg0")
WRONG = ADD.replace("addi", "subi")


def dump(name: str, argument: str, body: str) -> str:
    """Return what mlir-opt prints after a pass."""
    return HEADER.format(name, argument) + body


def in_module(body: str) -> str:
    """Return a function in a module."""
    return "module {\n" + "".join(f"  {line}\n" for line in body.rstrip().splitlines()) + "}\n\n"
