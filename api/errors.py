"""The errors and warnings of halfulp. All errors are of the class `HalfulpError`."""

from halfulp.interp.ir.errors import (
    AssertionFailed,
    BytecodeError,
    DocumentWarning,
    HalfulpError,
    InputError,
    LimitExceeded,
    ParseError,
    TypeMismatch,
    UndefinedBehavior,
    Unsupported,
    VerifyError,
)

__all__ = [
    "AssertionFailed",
    "BytecodeError",
    "DocumentWarning",
    "HalfulpError",
    "InputError",
    "LimitExceeded",
    "ParseError",
    "TypeMismatch",
    "UndefinedBehavior",
    "Unsupported",
    "VerifyError",
]
