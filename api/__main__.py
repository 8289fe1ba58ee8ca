"""``python -m halfulp``: the command line."""

from __future__ import annotations

import sys

from halfulp.command.main import main

if __name__ == "__main__":
    sys.exit(main())
