"""Which claims are those of a program that runs passes: of mlir-opt, or of iree-opt."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace

from halfulp.conformance.oracles.tool import Tool
from halfulp.conformance.whole_programs.iree_claims import IREE_CLAIMS
from halfulp.conformance.whole_programs.pass_claims import ANY, CLAIMS, Claim

ALL_CLAIMS: Mapping[str, Claim] = {**CLAIMS, **IREE_CLAIMS}


def claims_of(tool: Tool) -> tuple[Claim, ...]:
    """Return the claims that ``--pass=all`` stands for. iree-opt tells the version of its LLVM, so its name counts."""
    return tuple((IREE_CLAIMS if "iree" in os.path.basename(tool.path) else CLAIMS).values())


def claim_named(name: str) -> Claim:
    """Return the claim of a pass. One that is not in the tables, with or without options, is tested on all kinds."""
    known = ALL_CLAIMS.get(name.partition("{")[0])
    if known is None:
        return Claim(name, ANY)
    return replace(known, name=name) if "{" in name else known
