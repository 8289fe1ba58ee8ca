"""The proof that halfulp is right: comparison with other implementations."""

import os

# A checkout also holds corpora/, which the wheel leaves out. Its modules are found here as well, so that
# `python -m halfulp.conformance.corpus` and its like stay what they were before they moved into that folder.
_CORPORA = os.path.join(__path__[0], "corpora")
if os.path.isdir(_CORPORA):
    __path__.append(_CORPORA)
