"""``halfulp translate --check``: how halfulp and MLIR read and print a file."""

import json
from pathlib import Path
from typing import Any

import pytest
from command import Command
from fake_mlir_opt import FakeOpt

from halfulp.conformance.oracles import oracle
from halfulp.conformance.oracles.mlir_opt import find_mlir_opt

SUM = """\
func.func @f(%arg0: i32) -> i32 {
  %0 = arith.addi %arg0, %arg0 : i32
  return %0 : i32
}
"""
PRINTED = "module {\n" + "".join(f"  {line}\n" for line in SUM.splitlines()) + "}\n"
GENERIC = '"builtin.module"() ({\n}) : () -> ()\n'


def test_the_outcome_of_each_part(command: Command, fake_opt: FakeOpt, write: Any, tmp_path: Path) -> None:
    """The fake mlir-opt prints the same text for each part: the first is right but for the generic form."""
    (tmp_path / "custom").write_text(PRINTED)
    (tmp_path / "generic").write_text(GENERIC)
    opt = fake_opt(
        'cat > given\ngrep -q wrong given && { echo "<stdin>:1:1: error: no" >&2; exit 1; }\n'
        f'for last; do true; done\n[ "$last" = --mlir-print-op-generic ] && cat {tmp_path}/generic || cat {tmp_path}/custom\n',
        "24.1.0",
    )
    path = write("a.mlir", "\n// -----\n".join([SUM, SUM.replace("addi", "wrong"), SUM.replace("f(", "wrong(")]))
    code, out, _ = command("translate", "--check", path, "--split-input-file", opt)
    assert code == 1
    assert out.splitlines() == [
        "a.mlir:1: other generic form",
        '  halfulp: "func.func"() <{function_type = (i32) -> i32, sym_name = "f"}> ({',
        "  MLIR: }) : () -> ()",
        "a.mlir:12: accepted, but MLIR rejects",
        "  MLIR: no",
        "my-opt 24.1.0: 3 modules: 1 rejected, other message, 1 other generic form, 1 accepted, but MLIR rejects",
    ]
    record = json.loads(command("translate", "--check", path, "--json", opt)[1].splitlines()[0])
    assert (record["tool"], record["version"], record["place"]) == ("my-opt", "24.1.0", "a.mlir:1")


def test_a_crash_is_one_line(command: Command, fake_opt: FakeOpt, write: Any) -> None:
    code, out, _ = command("translate", "--check", write("a.mlir", SUM), fake_opt("kill -SEGV $$"))
    assert code == 1
    assert "a.mlir:1: MLIR failed\n  crash: my-opt ended with -11" in out


@pytest.mark.parametrize(
    "mlir", [pytest.param("22", marks=pytest.mark.mlir), pytest.param("24", marks=pytest.mark.torch_mlir)]
)
def test_real_mlir(mlir: str, command: Command, write: Any) -> None:
    tool = find_mlir_opt(mlir)
    code, out, _ = command("translate", "--check", write("a.mlir", SUM), f"--mlir={mlir}")
    assert (code, out) == (0, f"{tool.name} {tool.version}: 1 module: 1 same text\n")
    token = "func.func @f() {\n  %0 = stablehlo.create_token : !stablehlo.token\n  return\n}\n"
    code, out, _ = command("translate", "--check", write("b.mlir", token), f"--mlir={mlir}")
    assert (code, out.splitlines()[0]) == (3, "b.mlir:1: op of another dialect")


@pytest.mark.torch_mlir
def test_resources_of_one_module_do_not_rename_those_of_the_next(command: Command, write: Any) -> None:
    with_resource = (
        '"a.b"() {c = dense_resource<d> : tensor<1xi8>} : () -> ()\n'
        '{-#\n  dialect_resources: {\n    builtin: {\n      d: "0x0100000007"\n    }\n  }\n#-}\n'
    )
    assert command("translate", "--check", write("a.mlir", with_resource), "--mlir=24")[0] == 0
    assert command("translate", "--check", write("a.mlir", with_resource), "--mlir=24")[0] == 0


@pytest.mark.torch_mlir
def test_ops_are_verified_by_the_wheel(command: Command) -> None:
    version = oracle("mlir-fold", "24").version
    op = ("verify", "arith.mulf", "--type", "f4E2M1FN", "--against", "mlir-fold", "--mlir=24")
    code, out, _ = command(*op)
    assert code == 0
    assert f"arith.mulf f4E2M1FN against mlir-fold {version}, every input:" in out


def test_what_takes_no_mlir(command: Command) -> None:
    code, _, err = command("verify", "arith.addf", "--type", "f16", "--against", "exact", "--mlir=24")
    assert code == 2
    assert err.startswith("error: --mlir is for mlir-expand, mlir-fold, ")
