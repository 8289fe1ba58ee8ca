"""Pictures of rounding: number lines, staircases, errors, formats compared, one rounding explained.

Each function returns a matplotlib ``Figure`` that is not part of pyplot's state, so it works without a display. With
``ax=`` it draws into your axes and returns their figure. In a notebook a picture has light or dark colours, as the
notebook has; ``dark=True`` or ``False`` chooses them. The pictures show halfulp's own conversions: exact values and the
points between them, never NumPy's casts or samples.

Needs matplotlib: ``pip install '.[plot]'`` in the folder with the sources of halfulp.
"""

from halfulp.plot.comparison import comparison
from halfulp.plot.coordinates import short_text
from halfulp.plot.errors import relative_error
from halfulp.plot.figures import ending_of, save
from halfulp.plot.functions import MOST_ARGUMENTS, function
from halfulp.plot.kappas import accuracy
from halfulp.plot.lines import MOST_MARKS, number_line
from halfulp.plot.quantisation import MOST_ROWS, ChannelErrors, quantisation_error, quantisation_errors
from halfulp.plot.roundings import explanation
from halfulp.plot.sensitivities import sensitivities
from halfulp.plot.steps import MOST_STEPS, staircase

__all__ = [
    "MOST_ARGUMENTS",
    "MOST_MARKS",
    "MOST_ROWS",
    "MOST_STEPS",
    "ChannelErrors",
    "accuracy",
    "comparison",
    "ending_of",
    "explanation",
    "function",
    "number_line",
    "quantisation_error",
    "quantisation_errors",
    "relative_error",
    "save",
    "sensitivities",
    "short_text",
    "staircase",
]
