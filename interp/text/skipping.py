"""Read files with ops of an unknown form. The functions with such ops are skipped, and so are such ops outside of
functions.

A skipped part becomes an op that has no operands, keeps the text, and has the name that is not known. The meaning of
the other parts does not depend on it: a function is isolated from what is around it, and no reference finds such an op
by name. A program that reaches the op stops there, as at any op that halfulp does not run.
"""

from __future__ import annotations

from collections.abc import Sequence

from halfulp.interp.declare.declarations import OpDefinition, Trait
from halfulp.interp.declare.registry import Registry
from halfulp.interp.ir.attributes import StringAttr
from halfulp.interp.ir.errors import UnknownOp
from halfulp.interp.ir.operations import SKIPPED, Block, Module, Operation, Region
from halfulp.interp.text.op_parser import Argument
from halfulp.interp.text.parser import Parser

_OPENING = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}
_GOES_ON = frozenset(("{", "(", "->", ":", ",", "=", "attributes", "loc"))
"""Tokens that continue an op at the start of a line."""


class SkippingParser(Parser):
    """A parser that skips parts whose syntax it does not know. ``skipped``: the errors, one for each part."""

    def __init__(self, text: str, filename: str, registry: Registry, allow_unregistered: bool) -> None:
        super().__init__(text, filename, registry, allow_unregistered)
        self.skipped: list[UnknownOp] = []
        self.inside = False

    def region(self, owner: str, arguments: Sequence[Argument] = (), dialect: str | None = None) -> Region:
        """Read a region. If it is the body of a function and an op in it is not known, the body is skipped."""
        if self.inside or not _is_function(self.registry.find(owner)):
            return super().region(owner, arguments, dialect)
        at, depth, known = self.pos, self.depth, len(self.values)
        around = self.blocks, self.undefined_blocks, self.default_dialect
        forward, deferred, pending = dict(self.forward), len(self.deferred_locations), len(self.pending)
        self.inside = True
        try:
            return super().region(owner, arguments, dialect)
        except UnknownOp as error:
            self.blocks, self.undefined_blocks, self.default_dialect = around
            self.forward, self.depth, self.pos = forward, depth, _after_brackets(self.tokens, at)
            del self.deferred_locations[deferred:], self.pending[pending:]
            while len(self.values) > known:
                self.values.popitem()
            block = Block()
            for argument in arguments:
                block.add_argument(argument.type, self.tokens[argument.token][1:])
            block.append(self._kept(error, at))
            return Region([block])
        finally:
            self.inside = False

    def _uncached(self, at: int) -> Operation:
        try:
            return super()._uncached(at)
        except UnknownOp as error:
            is_named = self.tokens[at - 1] == "=" if at else False
            if self.inside or is_named or self._definition(self.tokens[at])[0] is not None:
                raise
            self.pos = self._after_op(at)
            return self._kept(error, at)

    def _kept(self, error: UnknownOp, start: int) -> Operation:
        """Return the op that stands for the tokens from ``start`` up to the current one."""
        self.skipped.append(error)
        text = self.source.text[self.offset(start) : self.offset(self.pos - 1) + len(self.tokens[self.pos - 1])]
        return Operation(error.op or "", attributes={SKIPPED: StringAttr(text)}, location=error.location)

    def _after_op(self, at: int) -> int:
        """Return the token after an op: the first token on a new line that cannot continue the op."""
        depth, text = 0, self.source.text
        for place in range(at + 1, len(self.tokens)):
            token = self.tokens[place]
            before = self.offset(place - 1) + len(self.tokens[place - 1])
            new_line = "\n" in text[before : self.offset(place)]
            if not token or (depth == 0 and (token == "}" or (new_line and token not in _GOES_ON))):
                return place
            depth += _OPENING.get(token, 0)
        return len(self.tokens)


def has_function(module: Module) -> bool:
    """Tell whether a module has a function with a body that was not skipped."""
    bodies = (region.blocks for op in module.walk() if _is_function(op.definition) for region in op.regions)
    return any(blocks and SKIPPED not in blocks[0].operations[0].attributes for blocks in bodies)


def _is_function(definition: OpDefinition | None) -> bool:
    if definition is None or Trait.SYMBOL_TABLE in definition.traits:
        return False
    return {Trait.SYMBOL, Trait.ISOLATED_FROM_ABOVE} <= set(definition.traits)


def _after_brackets(tokens: Sequence[str], at: int) -> int:
    """Return the token after the bracket that closes the one at ``at``, or the end of the file."""
    depth = 0
    for place in range(at, len(tokens)):
        depth += _OPENING.get(tokens[place], 0)
        if depth == 0:
            return place + 1
    return len(tokens) - 1
