"""The signatures of functions as they are written: arguments and results, with their attributes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from halfulp.interp.ir.attributes import ArrayAttr, DictionaryAttr
from halfulp.interp.ir.base import Attribute, Location, Type
from halfulp.interp.ir.operations import Operation
from halfulp.interp.ir.types import FunctionType
from halfulp.interp.text.op_parser import Argument, OpParser, OpPrinter


class Signature:
    """The arguments and results of a function with their attributes, as they are read.

    ``name``: the op, for messages. ``variadic``: whether ``...`` may be the last argument.
    """

    def __init__(self, p: OpParser, name: str, variadic: bool = False) -> None:
        self.name = name
        self.variadic = False
        self.arguments: list[Argument] = []
        self.inputs: list[Type] = []
        self.input_attributes: list[DictionaryAttr] = []
        self.results: list[Type] = []
        self.result_attributes: list[DictionaryAttr] = []
        p.expect("(")
        if p.tokens[p.pos] != ")":
            self._argument_or_dots(p, variadic)
            while not self.variadic and p.take(","):
                self._argument_or_dots(p, variadic)
        p.expect(")")
        if p.take("->"):
            self._results(p)

    def attributes(self) -> dict[str, Attribute]:
        """Return the properties ``arg_attrs`` and ``res_attrs``, each only if there is an attribute."""
        written = {"arg_attrs": self.input_attributes, "res_attrs": self.result_attributes}
        return {
            name: ArrayAttr(tuple(dictionaries))
            for name, dictionaries in written.items()
            if any(dictionary.entries for dictionary in dictionaries)
        }

    def _argument_or_dots(self, p: OpParser, variadic: bool) -> None:
        if variadic and p.take("..."):
            self.variadic = True
        else:
            self._argument(p)

    def _argument(self, p: OpParser) -> None:
        at = p.pos
        named = p.tokens[at][:1] == "%" and len(p.tokens[at]) > 1
        if self.inputs and named != bool(self.arguments):
            expected = "SSA identifier" if self.arguments else "type instead of SSA identifier"
            p.wrong(self.name, f"expected {expected}")
        if named:
            if "#" in p.tokens[at]:
                p.unnumbered(at)
            p.pos += 1
            p.expect(":")
        self.inputs.append(p.type())
        self.input_attributes.append(_dictionary(p))
        location: Location | int | None = None
        if p.tokens[p.pos] == "loc":
            location = p.deferrable_location()
        if named:
            self.arguments.append(Argument(at, self.inputs[-1], location))

    def _results(self, p: OpParser) -> None:
        if p.tokens[p.pos] != "(":
            self.results.append(p.non_function_type())
            self.result_attributes.append(DictionaryAttr(()))
            return
        p.pos += 1
        while p.tokens[p.pos] != ")":
            self.results.append(p.type())
            self.result_attributes.append(_dictionary(p))
            if not p.take(","):
                break
        p.expect(")")


def _dictionary(p: OpParser) -> DictionaryAttr:
    return DictionaryAttr.of(p.optional_dictionary())


def print_signature(
    printer: OpPrinter, operation: Operation, types: Sequence[Type], results: Sequence[Type], variadic: bool = False
) -> str:
    """Print ``(%a: i32, …) -> i32`` of a function, with the attributes of the arguments and results."""
    region, properties = operation.regions[0], operation.properties
    inputs = [printer.type(input) for input in types]
    if region.blocks:
        inputs = [
            f"{printer.name(argument)}: {input}"
            for argument, input in zip(region.blocks[0].arguments, inputs, strict=True)
        ]
    # As in MLIR, the attributes of arguments of a body have aliases only where others need these.
    spelled = _without_counting(printer) if region.blocks else printer.attribute
    inputs = _with_attributes(spelled, inputs, properties.get("arg_attrs"))
    if region.blocks:
        inputs = [
            input + printer.location_of_argument(argument)
            for argument, input in zip(region.blocks[0].arguments, inputs, strict=True)
        ]
    text = f"({', '.join([*inputs, '...'] if variadic else inputs)})"
    return text + print_results(printer, results, properties.get("res_attrs"))


def print_results(printer: OpPrinter, types: Sequence[Type], attributes: Attribute | None) -> str:
    """Print `` -> type`` or `` -> (types)``, and nothing for no results."""
    if not types:
        return ""
    results = _with_attributes(printer.attribute, [printer.type(type) for type in types], attributes)
    bare = len(results) == 1 and not isinstance(types[0], FunctionType) and attributes is None
    return f" -> {results[0]}" if bare else f" -> ({', '.join(results)})"


def print_inputs(printer: OpPrinter, types: Sequence[Type], attributes: Attribute | None) -> str:
    """Print ``(types)`` of the operands of a call."""
    return f"({', '.join(_with_attributes(printer.attribute, [printer.type(type) for type in types], attributes))})"


def _without_counting(printer: OpPrinter) -> Callable[[Attribute], str]:
    return lambda attribute: attribute.spell_nested(printer.names)


def _with_attributes(spelled: Callable[[Attribute], str], texts: list[str], attributes: Attribute | None) -> list[str]:
    if not isinstance(attributes, ArrayAttr):
        return texts
    return [
        f"{text} {spelled(dictionary)}" if isinstance(dictionary, DictionaryAttr) and dictionary.entries else text
        for text, dictionary in zip(texts, attributes.elements, strict=True)
    ]
