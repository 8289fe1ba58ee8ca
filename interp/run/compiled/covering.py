"""What compiled code does not cover."""

from __future__ import annotations


class NotCompiled(Exception):
    """A function holds something that compiled code does not cover; the message says what."""
