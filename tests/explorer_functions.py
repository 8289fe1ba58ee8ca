"""The functions of the page of ``halfulp formats --explore``: run this file to write ``api/explorer/functions.json``."""

import json
from pathlib import Path

from halfulp.explorer.decisions import function_tables

STORED = Path(__file__).parents[1] / "api" / "explorer" / "functions.json"


def text() -> str:
    """Return the text of the file."""
    return json.dumps(function_tables(), separators=(",", ":")) + "\n"


if __name__ == "__main__":
    STORED.write_text(text(), encoding="utf-8")
