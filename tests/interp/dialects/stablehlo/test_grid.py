"""Collective ops on a grid of processes, beside results by hand."""

from __future__ import annotations

import numpy as np
import pytest
from tables import each_row

import halfulp as hu
from halfulp.interp.ir.errors import HalfulpError


def run_grid(
    op: str, results: str, programs: str, count: int, given: str = "tensor<4xi64>", before: str = ""
) -> list[list[int]]:
    """Run a function with one op on [1, 2, 3, 4], [11, 12, 13, 14] ... in each process; return all results."""
    values = " ".join(
        f"%v{k} = stablehlo.constant dense<[{', '.join(str(10 * k + n) for n in range(1, 5))}]> : {given}"
        for k in range(count)
    )
    names, types = ", ".join(f"%v{k}" for k in range(count)), ", ".join([given] * count)
    made = ", ".join([results] * count)
    text = f"""module {{
      func.func private @p(%a: {given}) -> {results} {{ {before} %r = {op} return %r : {results} }}
      func.func @main() -> ({made}) {{
        {values}
        %r:{count} = "interpreter.run_parallel"({names}) {{programs = {programs}}} : ({types}) -> ({made})
        return {", ".join(f"%r#{k}" for k in range(count))} : {made}
      }}
    }}"""
    return [value.numpy().reshape(-1).tolist() for value in hu.run(text, function="main")]


ADD = "({ ^bb0(%x: tensor<i64>, %y: tensor<i64>): %s = stablehlo.add %x, %y : tensor<i64> stablehlo.return %s : tensor<i64> })"
LINE, GROUPS = "tensor<4xi64>", "replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>"
FOUR = "[[@p], [@p], [@p], [@p]]"


@pytest.mark.parametrize(
    ("op", "result", "expected"),
    [
        (
            f'"stablehlo.all_reduce"(%a) {ADD} {{{GROUPS}}} : ({LINE}) -> {LINE}', LINE,
            [[12, 14, 16, 18]] * 2 + [[52, 54, 56, 58]] * 2,
        ),
        (
            f'"stablehlo.reduce_scatter"(%a) {ADD} {{{GROUPS}, scatter_dimension = 0 : i64}} : ({LINE}) -> tensor<2xi64>',
            "tensor<2xi64>", [[12, 14], [16, 18], [52, 54], [56, 58]],
        ),
        (
            f'"stablehlo.all_gather"(%a) {{{GROUPS}, all_gather_dim = 0 : i64}} : ({LINE}) -> tensor<8xi64>',
            "tensor<8xi64>", [[1, 2, 3, 4, 11, 12, 13, 14]] * 2 + [[21, 22, 23, 24, 31, 32, 33, 34]] * 2,
        ),
        (
            f'"stablehlo.all_to_all"(%a) {{{GROUPS}, split_dimension = 0 : i64, concat_dimension = 0 : i64, '
            f"split_count = 2 : i64}} : ({LINE}) -> {LINE}", LINE,
            [[1, 2, 11, 12], [3, 4, 13, 14], [21, 22, 31, 32], [23, 24, 33, 34]],
        ),
        (
            f'"stablehlo.collective_permute"(%a) {{source_target_pairs = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>}} : '
            f"({LINE}) -> {LINE}", LINE, [[0] * 4, [1, 2, 3, 4], [11, 12, 13, 14], [0] * 4],
        ),
        (
            f'"stablehlo.collective_broadcast"(%a) {{replica_groups = dense<[[2, 1]]> : tensor<1x2xi64>}} : ({LINE}) -> '
            f"{LINE}", LINE, [[0] * 4, [21, 22, 23, 24], [21, 22, 23, 24], [0] * 4],
        ),
        ("stablehlo.replica_id : tensor<ui32>", "tensor<ui32>", [[0], [1], [2], [3]]),
        ("stablehlo.partition_id : tensor<ui32>", "tensor<ui32>", [[0], [0], [0], [0]]),
    ],
)  # fmt: skip
def test_processes_exchange_values(op: str, result: str, expected: list[list[int]]) -> None:
    assert run_grid(op, result, FOUR, 4) == expected


def test_partitions_form_groups_of_their_own() -> None:
    op = f'"stablehlo.all_reduce"(%a) {ADD} {{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}} : ({LINE}) -> {LINE}'
    found = run_grid(op, LINE, "[[@p, @p], [@p, @p]]", 4)
    assert found == [[22, 24, 26, 28], [42, 44, 46, 48]] * 2


def test_a_program_outside_of_a_grid_is_one_process() -> None:
    text = f"""func.func @f(%a: {LINE}) -> {LINE} {{
      %r = "stablehlo.all_reduce"(%a) {ADD} {{replica_groups = dense<[[0]]> : tensor<1x1xi64>}} : ({LINE}) -> {LINE}
      return %r : {LINE} }}"""
    (found,) = hu.run(text, np.arange(4))
    assert found.numpy().tolist() == [0, 1, 2, 3]
    with pytest.raises(hu.Unsupported, match="needs more than one process"):
        hu.run(text.replace("[[0]]> : tensor<1x1", "[[0, 1]]> : tensor<1x2"), np.arange(4))


def test_processes_that_wait_for_each_other_are_an_error() -> None:
    text = """module {
      func.func private @p(%t: !stablehlo.token) -> tensor<2xi64> {
        %r, %u = "stablehlo.recv"(%t) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>} :
          (!stablehlo.token) -> (tensor<2xi64>, !stablehlo.token)
        return %r : tensor<2xi64>
      }
      func.func @main() -> (tensor<2xi64>, tensor<2xi64>) {
        %t = stablehlo.create_token : !stablehlo.token
        %r:2 = "interpreter.run_parallel"(%t, %t) {programs = [[@p], [@p]]} : (!stablehlo.token, !stablehlo.token) ->
          (tensor<2xi64>, tensor<2xi64>)
        return %r#0, %r#1 : tensor<2xi64>, tensor<2xi64>
      }
    }"""
    with pytest.raises(HalfulpError, match="wait for each other"):
        hu.run(text, function="main")


@each_row(
    ("[[@q]]", 'Function "q" not found'),
    ("[[@p], [@p]]", "Number of inputs (1) should match the sum of the number of inputs of all programs (2)"),
    ("[[@p, @none]]", "Number of results (1) should match the sum of the number of results of all programs (2)"),
    ("[[@p]], infeed = []", "infeed attribute is optional or should not be empty"),
    ("[[@p]], infeed = [@q]", 'Function "q" not found'),
    ("[[@p]], infeed = [@two]", 'Function "two" should return 1 tensor but returns 2'),
    ("[[@p]], infeed = [@none]",
     "Function \"none\" should return a tensor type, but instead returns '!stablehlo.token'"),
)  # fmt: skip
def test_a_wrong_grid_is_told_in_the_words_of_stablehlo(programs: str, message: str) -> None:
    text = f"""module {{
      func.func private @p(tensor<i64>) -> tensor<i64>
      func.func private @two() -> (tensor<i64>, tensor<i64>)
      func.func private @none() -> !stablehlo.token
      func.func @main(%a: tensor<i64>) {{
        %r = "interpreter.run_parallel"(%a) {{programs = {programs}}} : (tensor<i64>) -> tensor<i64>
        return
      }}
    }}"""
    with pytest.raises(hu.VerifyError) as caught:
        hu.parse(text)
    assert caught.value.message == message


def test_a_composite_is_its_decomposition() -> None:
    text = """module {
      func.func @double(%a: tensor<i32>) -> tensor<i32> { %r = stablehlo.add %a, %a : tensor<i32> return %r : tensor<i32> }
      func.func @main(%a: tensor<i32>) -> tensor<i32> {
        %r = stablehlo.composite "my.double" %a {decomposition = @double} : (tensor<i32>) -> tensor<i32>
        return %r : tensor<i32>
      }
    }"""
    assert int(hu.run(text, np.int32(21), function="main")[0].numpy()) == 42


def test_upper_halves_of_products() -> None:
    for type_, dtype, pairs in (
        ("ui8", np.uint8, [(255, 255, 254), (16, 16, 1), (3, 5, 0)]),
        ("i8", np.int8, [(-128, -128, 64), (-1, 1, -1), (127, 127, 63)]),
        ("ui64", np.uint64, [(2**64 - 1, 2**64 - 1, 2**64 - 2)]),
    ):
        kind = f"tensor<{type_}>"
        text = f"func.func @f(%a: {kind}, %b: {kind}) -> {kind} {{ %r = chlo.mulhi %a, %b : {kind}, {kind} -> {kind} "
        for a, b, upper in pairs:
            (found,) = hu.run(f"{text} return %r : {kind} }}", dtype(a), dtype(b))
            assert int(found.numpy()) == upper


def body(ops: str, made: str = "%s") -> str:
    return f"({{ ^bb0(%x: tensor<i64>, %y: tensor<i64>): {ops} stablehlo.return {made} : tensor<i64> }})"


def mesh(sizes: dict[str, int], ids: str = "") -> str:
    axes = ", ".join(f'#stablehlo.mesh_axis<name = "{name}", size = {size}>' for name, size in sizes.items())
    return f"#stablehlo.mesh<axes = [{axes}]{ids and f', device_ids = dense<{ids}> : tensor<4xi64>'}>"


ONES, TWOS, THREES, FOURS = ([10 * k + n for n in range(1, 5)] for k in range(4))
SUM = body("%s = stablehlo.add %x, %y : tensor<i64>")


def test_bodies_groups_and_futures() -> None:
    """Bodies of several ops, or on wider elements; groups by axes of a mesh; no groups at all; ops that are started."""
    twice = body("%d = stablehlo.add %y, %y : tensor<i64> %s = stablehlo.add %x, %d : tensor<i64>")
    channel = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>"
    whole, none, wide = [64, 68, 72, 76], "replica_groups = dense<> : tensor<0x0xi64>", "tensor<8xi64>"

    def along(axes: list[str], over: str) -> str:
        listed = ", ".join(f"#stablehlo.axis_ref<name = {axis}>" for axis in axes)
        groups = f"replica_groups = #stablehlo.replica_group_mesh_axes<mesh = {over}, axes = [{listed}]>"
        return f'"stablehlo.all_gather"(%a) {{all_gather_dim = 0 : i64, {groups}}} : ({LINE}) -> {wide}'

    two_by_two, line = mesh({"x": 2, "y": 2}), mesh({"x": 4}, "[3, 2, 1, 0]")
    future = f"!stablehlo.future<{LINE}>"
    started = (
        f'"stablehlo.async_start"(%a) ({{ ^bb0(%b: {LINE}): %c = "stablehlo.all_reduce"(%b) {SUM} {{{GROUPS}}} : '
        f"({LINE}) -> {LINE} stablehlo.return %c : {LINE} }}) : ({LINE}) -> {future} "
        f'%d = "stablehlo.async_done"(%f) : ({future}) -> {LINE}'
    )
    for op, result, programs, given, expected in (
        (f'"stablehlo.all_reduce"(%a) {twice} {{{GROUPS}}} : ({LINE}) -> {LINE}', LINE, FOUR, LINE,
         [[23, 26, 29, 32]] * 2 + [[83, 86, 89, 92]] * 2),
        (f'"stablehlo.all_reduce"(%a) {SUM} {{{GROUPS}}} : (tensor<4xi32>) -> {LINE}', LINE, FOUR, "tensor<4xi32>",
         [[12, 14, 16, 18]] * 2 + [[52, 54, 56, 58]] * 2),
        (f'"stablehlo.all_reduce"(%a) {body("", "%x")} {{{GROUPS}}} : ({LINE}) -> {LINE}', LINE, FOUR, LINE,
         [ONES] * 2 + [THREES] * 2),
        (f'"stablehlo.cross-replica-sum"(%a) {{{GROUPS}}} : ({LINE}) -> {LINE}', LINE, FOUR, LINE,
         [[12, 14, 16, 18]] * 2 + [[52, 54, 56, 58]] * 2),
        (along(['"x"'], two_by_two), wide, FOUR, LINE, [ONES + THREES, TWOS + FOURS] * 2),
        (along(['"y"'], two_by_two), wide, FOUR, LINE, [ONES + TWOS] * 2 + [THREES + FOURS] * 2),
        (along(['"x", sub_axis_info = (1)2'], line), wide, FOUR, LINE,
         [THREES + ONES, FOURS + TWOS] * 2),
        (along(['"x", sub_axis_info = (2)2'], line), wide, FOUR, LINE,
         [TWOS + ONES] * 2 + [FOURS + THREES] * 2),
        (f'"stablehlo.all_reduce"(%a) {SUM} {{{none}}} : ({LINE}) -> {LINE}', LINE, FOUR, LINE, [whole] * 4),
        (f'"stablehlo.collective_broadcast"(%a) {{{none}, {channel}}} : ({LINE}) -> {LINE}', LINE,
         "[[@p, @p, @p, @p]]", LINE, [ONES] * 4),
        (f"stablehlo.optimization_barrier %d : {LINE}", LINE, FOUR, LINE, [[12, 14, 16, 18]] * 2 + [[52, 54, 56, 58]] * 2),
    ):  # fmt: skip
        before = f"%f = {started}" if "%d" in op.split(" ")[1] else ""
        assert run_grid(op, result, programs, 4, given, before) == expected, op
