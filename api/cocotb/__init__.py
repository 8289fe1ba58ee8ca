"""halfulp in a test bench of cocotb: expected results, a scoreboard, stimulus and coverage.

`Reference` and `Scoreboard` need no simulator. `Scoreboard.watch` runs in one, and needs the extra ``cocotb``.
"""

from halfulp.cocotb.scoreboard import Reference, Scoreboard

__all__ = ["Reference", "Scoreboard"]
