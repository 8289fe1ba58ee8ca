"""A folder that keeps the answers of slow programs, so that each question is asked once."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Answers:
    """The answers of a program of this version: each is JSON in a file of the folder."""

    folder: Path
    version: str

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)

    def kept(self, question: Any, ask: Callable[[], Any]) -> Any:
        """Return the answer to a question from the folder, or ask and keep it. Both are JSON values."""
        key = hashlib.sha256(json.dumps([self.version, question]).encode()).hexdigest()
        path = self.folder / key
        if not path.exists():
            path.write_text(json.dumps(ask()))
        return json.loads(path.read_text())
