"""Draw pictures of rounding: number lines, staircases, errors, comparisons of formats, explanations of one rounding.

Each function returns a matplotlib ``Figure`` that is not part of pyplot's state, so it works without a display. With
``ax=`` it draws into your axes and returns their figure. In a notebook a picture has light or dark colours, as the
notebook has; ``dark=True`` or ``False`` chooses them. The pictures show halfulp's own conversions: exact values and the
points between them, never NumPy's casts or samples.

Needs matplotlib: ``pip install '.[plot]'`` in the folder with the sources of halfulp.
"""

from halfulp.accuracies import MOST_ARGUMENTS
from halfulp.accuracies import draw_accuracy as accuracy
from halfulp.accuracies import draw_function as function
from halfulp.drawing.figures import ending_of, save
from halfulp.drawing.formats import MOST_MARKS, MOST_STEPS, short_text
from halfulp.drawing.formats import draw_number_line as number_line
from halfulp.drawing.formats import draw_relative_error as relative_error
from halfulp.drawing.formats import draw_staircase as staircase
from halfulp.explanations.drawing import draw_explanation as explanation
from halfulp.measuring.comparing import draw_comparison as comparison
from halfulp.quantizing.errors import MOST_ROWS, ChannelErrors, quantisation_errors
from halfulp.quantizing.errors import draw_quantisation_error as quantisation_error
from halfulp.sensitivities.sensitivity import draw_sensitivities as sensitivities

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
