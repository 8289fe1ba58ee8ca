"""StableHLO's attributes and types in the bytecode that its tools write, which is not a portable artifact."""

import base64
import json

from tree import ROOT

import halfulp as hu
from halfulp.interp.bytecode.index import Container, schema_of
from halfulp.interp.bytecode.writer import write_bytecode

RECORD = json.loads((ROOT / "tests" / "data" / "stablehlo" / "attributes.json").read_text(encoding="utf-8"))


def test_a_file_with_every_code_reads_as_its_text_and_is_written_byte_for_byte() -> None:
    """The file is that of jaxlib 0.12 for the text."""
    data = base64.b64decode(RECORD["bytecode"])
    module = hu.read_bytecode(data)
    assert hu.print_module(module) == RECORD["text"]
    producer = Container(data).producer
    schema = schema_of(producer)
    assert schema is not None
    assert write_bytecode(module, 6, schema, producer) == data


def test_a_future_is_read_from_its_code_and_written_as_text() -> None:
    module = hu.parse("func.func private @f(!stablehlo.future<tensor<2xf32>>)")
    data = hu.write_bytecode(module)
    assert b"!stablehlo.future<tensor<2xf32>>" in data
    assert hu.print_module(hu.read_bytecode(data)) == hu.print_module(module)
